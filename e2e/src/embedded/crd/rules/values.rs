//! Values as rules see them: only what the schema declares, under names that CEL can write.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use cel::objects::{Key, Map};
use serde_json::Value;

use crate::embedded::crd::schema::{Additional, Kind, Node};

/// Words of CEL, which cannot be names of fields.
const RESERVED: [&str; 20] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];

/// A value for CEL. `is_object`: it has apiVersion, kind and metadata, declared or not.
pub(super) fn to_cel(node: &Node, value: &Value, is_object: bool) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(yes) => cel::Value::Bool(*yes),
        Value::Number(number) => match (node.kind, number.as_i64()) {
            (Kind::Number, _) | (_, None) => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            (_, Some(number)) => cel::Value::Int(number),
        },
        Value::String(text) => string(&node.format, text),
        Value::Array(list) => {
            let open = Node::default();
            let items = node.items.as_deref().unwrap_or(&open);
            cel::Value::List(Arc::new(list.iter().map(|item| to_cel(items, item, items.embedded)).collect()))
        }
        Value::Object(fields) => {
            let mut map = HashMap::new();
            for (name, value) in fields {
                let Some((name, value)) = field(node, name, value, is_object) else { continue };
                map.insert(Key::String(Arc::new(name)), value);
            }
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    }
}

fn field(node: &Node, name: &str, value: &Value, is_object: bool) -> Option<(String, cel::Value)> {
    if is_object && name == "metadata" {
        return Some((name.to_owned(), metadata(value)));
    }
    if is_object && ["apiVersion", "kind"].contains(&name) {
        return Some((name.to_owned(), to_cel(&Node::default(), value, false)));
    }
    match (node.properties.get(name), &node.additional) {
        // A field that is null is one that is not there.
        (Some(_), _) if value.is_null() => None,
        (Some(field), _) => Some((escape(name)?, to_cel(field, value, field.embedded))),
        // Keys of maps are values, not names.
        (None, Additional::Schema(field)) => Some((name.to_owned(), to_cel(field, value, field.embedded))),
        (None, _) if node.kind == Kind::Unsaid => {
            Some((name.to_owned(), to_cel(&Node::default(), value, false)))
        }
        (None, _) => None,
    }
}

/// Rules may look at an object's name and at nothing else of its metadata.
fn metadata(value: &Value) -> cel::Value {
    let names = ["name", "generateName"].into_iter().filter_map(|name| {
        let text = value.get(name)?.as_str()?;
        Some((Key::String(Arc::new(name.to_owned())), cel::Value::String(Arc::new(text.to_owned()))))
    });
    cel::Value::Map(Map { map: Arc::new(names.collect()) })
}

fn string(format: &str, text: &str) -> cel::Value {
    let parsed = match format {
        "date-time" | "datetime" => {
            chrono::DateTime::parse_from_rfc3339(text).ok().map(cel::Value::Timestamp)
        }
        "date" => {
            let midnight = format!("{text}T00:00:00Z");
            chrono::DateTime::parse_from_rfc3339(&midnight).ok().map(cel::Value::Timestamp)
        }
        "byte" => STANDARD.decode(text).ok().map(|bytes| cel::Value::Bytes(Arc::new(bytes))),
        "duration" => text
            .parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|duration| i64::try_from(duration.as_nanos()).ok())
            .map(|nanos| cel::Value::Duration(chrono::Duration::nanoseconds(nanos))),
        _ => None,
    };
    parsed.unwrap_or_else(|| cel::Value::String(Arc::new(text.to_owned())))
}

/// The name of a field in CEL; none if it has none.
pub(super) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    let fits = escaped.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && escaped.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    fits.then_some(escaped)
}
