//! Group, version, kind and the other names: what the server takes, said at the name that it would refuse.

use darling::{Error, Result, util::SpannedValue};
use syn::{DeriveInput, Ident, spanned::Spanned};

/// A name that has to be there.
pub(super) fn required<'a>(
    name: &str,
    example: &str,
    value: Option<&'a SpannedValue<String>>,
    input: &DeriveInput,
) -> Result<&'a SpannedValue<String>> {
    value.ok_or_else(|| {
        let error = Error::custom(format!("`{name}` is missing: write `#[kube({name} = \"{example}\")]`"));
        match input.attrs.iter().find(|attribute| attribute.path().is_ident("kube")) {
            Some(attribute) => error.with_span(attribute.path()),
            None => error.with_span(&input.ident),
        }
    })
}

/// A domain with at least one dot: groups without one belong to Kubernetes.
pub(super) fn group(value: &SpannedValue<String>) -> Result<String> {
    let domain =
        value.contains('.') && value.len() <= 253 && value.split('.').all(|label| is_label(label, true));
    if domain {
        Ok(value.to_string())
    } else {
        let text = format!(
            "`{}` is no API group: a group is a domain in lower case, such as `example.dev`",
            **value
        );
        Err(Error::custom(text).with_span(&value.span()))
    }
}

/// A DNS label that starts with a letter: versions, plurals, short names.
pub(super) fn label(attribute: &str, value: &SpannedValue<String>) -> Result<String> {
    if is_label(value, false) {
        return Ok(value.to_string());
    }
    let hint = if attribute == "version" {
        "; versions look like `v1`, `v1beta1` or `v2alpha3`".to_owned()
    } else if is_label(&value.to_lowercase(), false) {
        format!("; write `{}`", value.to_lowercase())
    } else {
        String::new()
    };
    let text = format!(
        "`{}` is no {attribute}: it must be lower-case letters, digits and dashes, and start with a letter{hint}",
        **value
    );
    Err(Error::custom(text).with_span(&value.span()))
}

/// A kind is also the name of the struct that is made.
pub(super) fn kind(value: &SpannedValue<String>, spec: &Ident) -> Result<Ident> {
    let span = value.span();
    let camel = value.chars().next().is_some_and(|first| first.is_ascii_uppercase())
        && value.chars().all(|c| c.is_ascii_alphanumeric())
        && value.len() <= 63;
    if !camel {
        let text = format!("`{}` is no kind: a kind is written in camel case, such as `Website`", **value);
        return Err(Error::custom(text).with_span(&span));
    }
    if spec == value.as_str() {
        let text = format!("a struct `{spec}` is made for the kind: name this one `{spec}Spec`");
        return Err(Error::custom(text).with_span(spec));
    }
    Ok(Ident::new(value, span.span()))
}

fn is_label(text: &str, digit_first: bool) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let first =
        text.chars().next().is_some_and(|c| c.is_ascii_lowercase() || (digit_first && c.is_ascii_digit()));
    first && text.len() <= 63 && text.chars().all(inner) && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn spanned(text: &str) -> SpannedValue<String> {
        SpannedValue::new(text.to_owned(), Span::call_site())
    }

    #[test]
    fn names_are_what_the_server_takes() {
        for good in ["v1", "v1beta1", "field-probes", "a"] {
            assert_eq!(label("plural", &spanned(good)).unwrap(), good);
        }
        for (bad, hint) in [("1", ""), ("V1", "; write `v1`"), ("v1.2", ""), ("", ""), ("a-", "")] {
            let error = label("plural", &spanned(bad)).unwrap_err().to_string();
            assert!(error.ends_with(&format!("start with a letter{hint}")), "{error}");
        }
        for good in ["example.dev", "a.b.c", "4you.example.dev"] {
            assert!(group(&spanned(good)).is_ok());
        }
        for bad in ["example", "Example.dev", "a..b", ".dev", "a_b.dev"] {
            assert!(group(&spanned(bad)).is_err());
        }
        let spec = Ident::new("WebsiteSpec", Span::call_site());
        for (name, good) in [
            ("Website", true),
            ("IPPool", true),
            ("website", false),
            ("Web-Site", false),
            ("WebsiteSpec", false),
        ] {
            assert_eq!(kind(&spanned(name), &spec).is_ok(), good, "{name}");
        }
    }
}
