//! `printcolumn(...)`: one column of kubectl.

use darling::{Error, FromMeta, Result, util::SpannedValue};

const TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];
const FORMATS: [&str; 8] = ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];

/// A column as written.
#[derive(FromMeta)]
pub(super) struct Written {
    name: String,
    #[darling(rename = "type")]
    kind: SpannedValue<String>,
    json_path: Option<SpannedValue<String>>,
    jsonpath: Option<SpannedValue<String>>,
    format: Option<SpannedValue<String>>,
    description: Option<String>,
    #[darling(default)]
    priority: i32,
}

/// A column, checked.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) json_path: String,
    pub(crate) format: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) priority: i32,
}

impl Written {
    pub(super) fn checked(self) -> Result<Column> {
        let Self { name, kind, json_path, jsonpath, format, description, priority } = self;
        one_of("column type", &kind, &TYPES)?;
        if let Some(format) = &format {
            one_of("column format", format, &FORMATS)?;
        }
        let json_path = match (json_path, jsonpath) {
            (Some(path), None) | (None, Some(path)) => path,
            (Some(_), Some(twice)) => {
                return Err(Error::custom("`jsonpath` is the same as `json_path`: write one")
                    .with_span(&twice.span()));
            }
            (None, None) => {
                let text = "the column needs `json_path`, such as `json_path = \".spec.replicas\"`";
                return Err(Error::custom(text).with_span(&kind.span()));
            }
        };
        if !json_path.starts_with('.') {
            let text = format!("a column's path starts with a dot: `.{}`", json_path.trim_start_matches('$'));
            return Err(Error::custom(text).with_span(&json_path.span()));
        }
        Ok(Column {
            name,
            kind: kind.to_string(),
            json_path: json_path.to_string(),
            format: format.map(|format| format.to_string()),
            description,
            priority,
        })
    }
}

/// Refuses a word that is not in the list, with the words that are.
fn one_of(what: &str, value: &SpannedValue<String>, words: &[&str]) -> Result<()> {
    if words.contains(&value.as_str()) {
        return Ok(());
    }
    // Names that people bring from Rust and JSON.
    let meant = match value.to_lowercase().as_str() {
        "int" | "i32" | "i64" | "u32" | "u64" | "usize" => Some("integer"),
        "float" | "double" | "f32" | "f64" => Some("number"),
        "str" | "text" => Some("string"),
        "bool" => Some("boolean"),
        "datetime" | "date-time" | "timestamp" | "age" | "time" => Some("date"),
        _ => None,
    };
    let meant = meant
        .filter(|meant| words.contains(meant))
        .map_or_else(String::new, |meant| format!(" Did you mean `{meant}`?"));
    let text = format!("`{}` is no {what}.{meant} Write one of {}", **value, words.join(", "));
    Err(Error::custom(text).with_span(&value.span()))
}
