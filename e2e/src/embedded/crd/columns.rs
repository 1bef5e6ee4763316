//! Printer columns, subresources and selectable fields of a definition: whether they are right.

use serde_json::{Map, Value, json};

use crate::embedded::errors::FieldError;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
/// Most selectable fields of a version.
const MAX_SELECTABLE: usize = 8;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn simple_path(found: &str, path: &str, errors: &mut Vec<FieldError>) -> bool {
    let fits = found.starts_with('.');
    if !fits {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(path, &json!(found), detail));
    }
    fits
}

pub(super) fn columns(columns: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for (index, column) in columns.iter().enumerate() {
        let at = |key: &str| format!("{path}[{index}].{key}");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        let kind = text(column, "type");
        let one_of = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::required(at("type"), one_of));
        } else if !COLUMN_TYPES.contains(&kind) {
            errors.push(FieldError::invalid(at("type"), &json!(kind), one_of));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(at("format"), &json!(format), detail));
        }
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(at("JSONPath"), "")),
            found => {
                simple_path(found, &at("JSONPath"), errors);
            }
        }
    }
}

pub(super) fn subresources(subresources: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    for (key, prefix) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let at = format!("{path}.scale.{key}");
        match text(scale, key) {
            "" => errors.push(FieldError::required(at, "")),
            found => {
                if simple_path(found, &at, errors) && !found.starts_with(&format!("{prefix}.")) {
                    let detail = format!("should be a json path under {prefix}");
                    errors.push(FieldError::invalid(at, &json!(found), detail));
                }
            }
        }
    }
    let selector = text(scale, "labelSelectorPath");
    let at = format!("{path}.scale.labelSelectorPath");
    if !selector.is_empty()
        && simple_path(selector, &at, errors)
        && !selector.starts_with(".spec.")
        && !selector.starts_with(".status.")
    {
        let detail = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid(at, &json!(selector), detail));
    }
}

pub(super) fn selectable(fields: &[Value], schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if fields.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(path, fields.len(), MAX_SELECTABLE));
    }
    let mut seen = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let found = text(field, "jsonPath");
        if found.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        match field_schema(schema, found) {
            Err(why) => {
                let detail = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(&at, &json!(found), detail));
            }
            Ok(field) => {
                let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
                if !["string", "boolean", "integer"].contains(&kind) {
                    let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                                  formats are allowed.";
                    errors.push(FieldError::invalid(&at, &json!(found), detail));
                }
            }
        }
        if seen.contains(&found) {
            errors.push(FieldError::duplicate(at, &json!(found)));
        }
        seen.push(found);
    }
}

/// The schema at a path of names.
fn field_schema<'a>(schema: &'a Value, path: &str) -> Result<&'a Map<String, Value>, String> {
    let Some(names) = path.strip_prefix('.') else {
        let first = path.split(['.', '[']).next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {first}"));
    };
    if path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    names
        .split('.')
        .try_fold(schema, |schema, name| schema.get("properties")?.get(name))
        .and_then(Value::as_object)
        .ok_or_else(|| "does not refer to a valid field".to_owned())
}
