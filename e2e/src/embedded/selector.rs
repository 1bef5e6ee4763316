//! Decides which objects a label selector or a field selector means.
//!
//! In: the selector's text, as it stands in a query. Out: a test for objects, or why the text is no selector. The grammar is that of
//! the API concepts ("Labels and Selectors", "Field Selectors"). What a field of an object is worth is looked up by the caller.

use std::collections::BTreeMap;

/// A conjunction of requirements on labels. Empty: everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl Labels {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, for the message of a 400.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        split_outside_parentheses(text)
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(requirement)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::In(values) => value.is_some_and(|value| values.contains(value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::Greater(bound) => number().is_some_and(|number| number > *bound),
                Operator::Less(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

/// A conjunction of field requirements. Empty: everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<FieldRequirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

impl Fields {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, for the message of a 400.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        text.split(',')
            .filter(|part| !part.is_empty())
            .map(field_requirement)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields that it looks at.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|requirement| requirement.path.as_str())
    }

    /// Whether it holds for an object whose fields have these values.
    pub(super) fn matches(&self, value: impl Fn(&str) -> String) -> bool {
        self.0.iter().all(|requirement| (value(&requirement.path) == requirement.value) == requirement.equal)
    }
}

fn field_requirement(part: &str) -> Result<FieldRequirement, String> {
    let (path, value, equal) = if let Some((path, value)) = part.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        (path, value, true)
    } else {
        return Err(format!("invalid selector: '{part}'; can't understand '{part}'"));
    };
    Ok(FieldRequirement { path: path.trim().to_owned(), value: value.trim().to_owned(), equal })
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let wrong = || format!("unable to parse requirement: {part:?}");
    let new = |key: &str, operator| {
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(wrong());
        }
        Ok(Requirement { key: key.to_owned(), operator })
    };
    if let Some(key) = part.strip_prefix('!') {
        return new(key, Operator::Absent);
    }
    if let Some((head, values)) = part.split_once('(') {
        let values = values.strip_suffix(')').ok_or_else(wrong)?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (key, word) = head.trim().rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
        return match word {
            "in" => new(key, Operator::In(values)),
            "notin" => new(key, Operator::NotIn(values)),
            _ => Err(wrong()),
        };
    }
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = part.split_once("!=") {
        return new(key, Operator::NotIn(one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return new(key, Operator::In(one(value)));
    }
    if let Some((key, bound)) = part.split_once('>') {
        return new(key, Operator::Greater(bound.trim().parse().map_err(|_| wrong())?));
    }
    if let Some((key, bound)) = part.split_once('<') {
        return new(key, Operator::Less(bound.trim().parse().map_err(|_| wrong())?));
    }
    new(part, Operator::Exists)
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_selected_by_each_operator() {
        let labels: BTreeMap<String, String> =
            [("app", "web"), ("tier", "front"), ("n", "5")].map(|(k, v)| (k.into(), v.into())).into();
        for (selector, matches) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier=front", true),
            ("app!=web", false),
            ("missing!=web", true),
            ("app in (web, db)", true),
            ("app in (db),tier", false),
            ("app notin (db,web)", false),
            ("missing notin (x)", true),
            ("app", true),
            ("missing", false),
            ("!missing", true),
            ("!app", false),
            ("n>4", true),
            ("n<5", false),
        ] {
            assert_eq!(Labels::parse(selector).unwrap().matches(&labels), matches, "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for selector in ["app in web", "in (a)", "app nearly (a)", "=x", "n>many", "app in (a"] {
            assert!(Labels::parse(selector).is_err(), "{selector}");
        }
        assert!(Fields::parse("metadata.name").is_err());
    }

    #[test]
    fn fields_are_equal_or_not() {
        let value = |path: &str| if path == "metadata.name" { "a".to_owned() } else { String::new() };
        for (selector, matches) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a", true),
            ("metadata.name!=a", false),
            ("spec.nodeName=", true),
            ("metadata.name=a,spec.nodeName=x", false),
        ] {
            assert_eq!(Fields::parse(selector).unwrap().matches(value), matches, "{selector}");
        }
    }
}
