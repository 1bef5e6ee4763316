//! Regular expressions: Go's, which the `regex` crate reads but for a few, and what Go says of those that are wrong.

use regex::Regex;

/// Whether Go would compile a pattern, or what it says instead.
pub(super) fn go_accepts(pattern: &str) -> Result<(), String> {
    if let Some(operator) = nested_repetition(pattern) {
        return Err(format!("invalid nested repetition operator: `{operator}`"));
    }
    Regex::new(pattern).map(drop).map_err(|error| in_words(pattern, &error.to_string()))
}

/// `**` and the like, which Go refuses and the `regex` crate reads as one.
fn nested_repetition(pattern: &str) -> Option<String> {
    let mut last = None;
    let mut chars = pattern.chars();
    let mut in_class = false;
    while let Some(char) = chars.next() {
        let repeats = !in_class && matches!(char, '*' | '+' | '?');
        match (last, repeats) {
            // One `?` after a repetition makes it lazy.
            (Some(before), true) if char == '?' && before != ' ' => last = Some(' '),
            (Some(before), true) => return Some(format!("{before}{char}").trim().to_owned()),
            (None, true) => last = Some(char),
            (_, false) => last = None,
        }
        match char {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            // `(?` is no repetition.
            '(' => {
                let rest = chars.as_str();
                if rest.starts_with('?') {
                    chars.next();
                }
            }
            _ => {}
        }
    }
    None
}

/// The error in Go's words where it is a common one, otherwise as it is.
fn in_words(pattern: &str, error: &str) -> String {
    let from = |start: &str| &pattern[pattern.find(start).unwrap_or_default()..];
    let is = |words: &str| error.contains(words);
    if is("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if is("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if is("unclosed character class") {
        format!("missing closing ]: `{}`", from("["))
    } else if is("look-around") {
        let starts = ["(?<=", "(?<!", "(?=", "(?!"];
        let start = starts.into_iter().find(|start| pattern.contains(start)).unwrap_or("(?=");
        format!("invalid or unsupported Perl syntax: `{start}`")
    } else if is("unclosed capture group name") {
        format!("invalid named capture: `{}`", from("(?P<"))
    } else if is("invalid character class range") {
        let chars: Vec<char> = pattern.chars().collect();
        let range = chars.windows(3).find(|range| range[1] == '-' && range[0] > range[2]);
        format!("invalid character class range: `{}`", range.into_iter().flatten().collect::<String>())
    } else if is("invalid repetition count range") {
        let count = from("{");
        let end = count.find('}').map_or(count.len(), |end| end + 1);
        format!("invalid repeat count: `{}`", &count[..end])
    } else if is("repetition operator missing expression") {
        format!("missing argument to repetition operator: `{}`", pattern.chars().next().unwrap_or('*'))
    } else {
        error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_not_repeated() {
        let rows = [
            ("a**", Some("**")),
            ("a*+", Some("*+")),
            ("a*?", None),
            ("a+?b*", None),
            ("(?:a)?", None),
            (r"\*\*", None),
            ("[*+]*", None),
            ("(?i)a", None),
        ];
        for (pattern, operator) in rows {
            assert_eq!(nested_repetition(pattern).as_deref(), operator, "{pattern}");
        }
    }
}
