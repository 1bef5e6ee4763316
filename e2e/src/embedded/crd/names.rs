//! Names in definitions and objects: what they may look like, and what the server says of those that may not.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern that is compiled once.
struct Rule {
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(pattern: &'static str) -> Self {
        Self { pattern, compiled: OnceLock::new() }
    }

    fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&format!("^(?:{})$", self.pattern)).ok());
        compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
    }
}

static SUBDOMAIN: Rule = Rule::new(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
static LABEL: Rule = Rule::new("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
static LABEL_1035: Rule = Rule::new("[a-z]([-a-z0-9]*[a-z0-9])?");
static NAME_PART: Rule = Rule::new("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]");
static LABEL_VALUE: Rule = Rule::new("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?");

/// A DNS subdomain (RFC 1123): names of objects and groups.
pub(in crate::embedded) fn is_subdomain(text: &str) -> Result<(), String> {
    if text.len() > 253 {
        return Err("must be no more than 253 bytes".to_owned());
    }
    if SUBDOMAIN.matches(text) {
        return Ok(());
    }
    Err(format!(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
         end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{}')",
        SUBDOMAIN.pattern
    ))
}

/// A DNS label (RFC 1123): names of namespaces and services.
pub(in crate::embedded) fn is_label(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        return Err("must be no more than 63 bytes".to_owned());
    }
    if LABEL.matches(text) {
        return Ok(());
    }
    Err(format!(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
         alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{}')",
        LABEL.pattern
    ))
}

/// A DNS label (RFC 1035): plurals, versions.
pub(super) fn is_label_1035(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        return Err("must be no more than 63 bytes".to_owned());
    }
    if LABEL_1035.matches(text) {
        return Ok(());
    }
    Err(format!(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
         and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{}')",
        LABEL_1035.pattern
    ))
}

/// A kind: a DNS label but for upper case.
pub(super) fn is_kind(text: &str) -> Result<(), String> {
    is_label_1035(&text.to_lowercase())
        .map_err(|detail| format!("may have mixed case, but should otherwise match: {detail}"))
}

/// The key of a label or annotation: a name, perhaps with a domain before it.
pub(in crate::embedded) fn is_label_key(text: &str) -> Result<(), String> {
    let name = match text.split_once('/') {
        Some((prefix, name)) => {
            if prefix.is_empty() {
                return Err("prefix part must be non-empty".to_owned());
            }
            is_subdomain(prefix).map_err(|detail| format!("prefix part {detail}"))?;
            name
        }
        None => text,
    };
    if name.is_empty() {
        return Err("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Err("name part must be no more than 63 bytes".to_owned());
    }
    if NAME_PART.matches(name) {
        return Ok(());
    }
    Err(format!(
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{}')",
        NAME_PART.pattern
    ))
}

/// The value of a label.
pub(in crate::embedded) fn is_label_value(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        return Err("must be no more than 63 bytes".to_owned());
    }
    if LABEL_VALUE.matches(text) {
        return Ok(());
    }
    Err(format!(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
         with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{}')",
        LABEL_VALUE.pattern
    ))
}
