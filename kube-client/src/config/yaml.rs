//! Reads YAML without ever repeating what it read: the text holds tokens and keys, and errors end up in logs.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

/// Most events (a scalar, the start or the end of a list or map) that aliases may stand for in all. A kubeconfig of a
/// thousand entries has some ten thousand when every one of them is an alias; a text of a few hundred bytes whose aliases
/// stand for aliases has billions. Nesting, nodes and the length of the text have the parser's own limits.
const MAX_REPLAYED: usize = 100_000;

/// Decodes `text`; an empty one as the default value. The error says where and what was expected, not what was there.
pub(super) fn parse<T: DeserializeOwned + Default>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPLAYED },
    };
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
            ("current-context: \"s3cr\0\"\n", "line 1"),
            ("users: &s3cr [*s3cr]\n", "line 1"),
            ("users: *s3cr\n", "line 1"),
        ] {
            let error = Kubeconfig::from_yaml(text).expect_err(text).to_string();
            assert!(!error.contains("s3cr") && error.contains(place), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_small_text_does_not_become_a_large_value() {
        let ten = |i: usize| vec![format!("*x{i}"); 10].join(", ");
        let levels: Vec<String> = (1..12).map(|i| format!("x{i}: &x{i} [{}]\n", ten(i - 1))).collect();
        let laughs = format!("x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n{}", levels.concat());
        let nested = format!("x: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        let levels: Vec<String> = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let indented = levels.concat();
        for text in [laughs, nested, indented] {
            assert!(Kubeconfig::from_yaml(&text).is_err(), "{}...", &text[..40]);
        }
    }

    #[test]
    fn one_alias_for_each_of_a_thousand_users_is_no_bomb() {
        // The parser takes a text with more than ten aliases for each anchor for a bomb.
        let anchors: Vec<String> = (0..100).map(|i| format!("- {{name: &n{i} u{i}}}\n")).collect();
        let text = format!(
            "base: &base {{token: t, extra: [a, b, c]}}\nusers:\n{}{}",
            "- {name: u, user: *base}\n".repeat(1000),
            anchors.concat()
        );
        assert_eq!(Kubeconfig::from_yaml(&text).unwrap().users.len(), 1100);
    }
}
