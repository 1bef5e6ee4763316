//! Reads YAML without ever repeating what it read: the text holds tokens and keys, and errors end up in logs.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

/// Decodes `text`; an empty one as the default value. The error says where and what was expected, not what was there.
pub(super) fn parse<T: DeserializeOwned + Default>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options::<Option<T>>(text, options)
        .map(Option::unwrap_or_default)
        .map_err(|error| describe(error.without_snippet()))
}

fn describe(error: &Error) -> String {
    let what = match error {
        Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } => {
            format!("expected {expected}")
        }
        Error::Unexpected { expected, .. } => format!("expected {expected}"),
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        Error::DuplicateMappingKey { .. } => "a field is there twice".to_owned(),
        Error::MultipleDocuments { .. } => "more than one document".to_owned(),
        Error::Eof { .. } => "the text ends too early".to_owned(),
        Error::InvalidScalar { ty, .. } => format!("expected {ty}"),
        _ => "not valid YAML".to_owned(),
    };
    match error.location() {
        Some(location) => format!("line {}, column {}: {what}", location.line(), location.column()),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use crate::Kubeconfig;

    #[test]
    fn an_error_says_where_and_never_what_was_there() {
        for (text, place) in [
            ("users:\n- name: u\n  user: s3cr\n", "line 3"),
            ("users:\n- name: u\n  user:\n    token: [s3cr]\n", "line 4"),
            ("users:\n- name: u\n  user:\n    token: \"s3cr\n", "line"),
            ("current-context: a\ncurrent-context: s3cr\n", "line 2"),
            ("clusters: s3cr\n", "line 1"),
            ("a: 1\n---\ns3cr: 2\n", "document"),
            ("{s3cr: [\n", "line"),
            ("\tusers: s3cr\n", "line"),
            ("s3cr", "line 1"),
        ] {
            let error = Kubeconfig::from_yaml(text).expect_err(text).to_string();
            assert!(!error.contains("s3cr") && error.contains(place), "{text:?}: {error}");
        }
    }
}
