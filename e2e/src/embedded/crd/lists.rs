//! What schemas promise beyond single values: lists without repetitions, and objects within objects.
//!
//! In: a value and its schema. Out: field errors, one for each value that is there again, and those of the type, name and labels of
//! embedded objects. On updates, both are asked of new values only if the old ones kept the rule.

use serde_json::{Map, Value};

use super::{
    fit::join,
    names::{is_kind, is_label_key, is_label_value},
    schema::{List, Node},
};
use crate::embedded::errors::FieldError;

/// Repetitions in lists that are sets or maps.
pub(super) fn unique(node: &Node, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(node, value, path, &mut |node, value, path| {
        let Value::Array(items) = value else { return };
        match &node.list {
            List::Atomic => {}
            List::Set => repeated(items.iter().cloned().map(Some), path, &mut errors),
            List::Map(keys) => {
                let key_of = |item: &Value| {
                    let fields = item.as_object()?;
                    let keys = keys.iter().filter_map(|key| Some((key.clone(), fields.get(key)?.clone())));
                    Some(Value::Object(keys.collect::<Map<_, _>>()))
                };
                for (index, item) in items.iter().enumerate() {
                    if !item.is_object() && !item.is_null() {
                        let detail = "must be an object for an array of list-type map";
                        errors.push(FieldError::invalid(format!("{path}[{index}]"), item, detail));
                    }
                }
                repeated(items.iter().map(key_of), path, &mut errors);
            }
        }
    });
    errors
}

/// Each repeated value once, where it comes for the second time.
fn repeated(values: impl Iterator<Item = Option<Value>>, path: &str, errors: &mut Vec<FieldError>) {
    let mut seen: Vec<(Value, usize)> = Vec::new();
    for (index, value) in values.enumerate() {
        let Some(value) = value else { continue };
        match seen.iter_mut().find(|(one, _)| *one == value) {
            None => seen.push((value, 1)),
            Some((_, times)) => {
                *times += 1;
                if *times == 2 {
                    errors.push(FieldError::duplicate(format!("{path}[{index}]"), &value));
                }
            }
        }
    }
}

/// Type, name and labels of objects within the object.
pub(super) fn embedded(node: &Node, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(node, value, path, &mut |node, value, path| {
        if let (true, Value::Object(fields)) = (node.embedded, value) {
            embedded_object(fields, path, &mut errors);
        }
    });
    errors
}

/// An embedded object that is none: its type is no text, or its metadata no object.
pub(super) fn undecodable(node: &Node, value: &Value) -> Option<FieldError> {
    let mut error = None;
    visit(node, value, "", &mut |node, value, path| {
        let (true, Value::Object(fields)) = (node.embedded, value) else { return };
        for (name, fits, wanted) in [
            ("apiVersion", Value::is_string as fn(&Value) -> bool, "a string"),
            ("kind", Value::is_string, "a string"),
            ("metadata", Value::is_object, "an object"),
        ] {
            let found = fields.get(name).filter(|found| !found.is_null() && !fits(found));
            if let (None, Some(found)) = (&error, found) {
                error = Some(FieldError::invalid(join(path, name), found, format!("must be {wanted}")));
            }
        }
    });
    error
}

fn embedded_object(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(value @ Value::String(version)) = fields.get("apiVersion") {
        if version.is_empty() {
            errors.push(FieldError::invalid(join(path, "apiVersion"), value, "must not be empty"));
        } else if version.matches('/').count() > 1 {
            let detail = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(join(path, "apiVersion"), value, detail));
        }
    }
    if let Some(value @ Value::String(kind)) = fields.get("kind") {
        if kind.is_empty() {
            errors.push(FieldError::invalid(join(path, "kind"), value, "must not be empty"));
        } else if let Err(detail) = is_kind(kind) {
            errors.push(FieldError::invalid(join(path, "kind"), value, detail));
        }
    }
    let meta = |name: &str| {
        fields.get("metadata").and_then(|meta| meta.get(name)?.as_object()).into_iter().flatten()
    };
    for (name, value) in meta("labels") {
        let at = join(path, "metadata.labels");
        if let Err(detail) = is_label_key(name) {
            errors.push(FieldError::invalid(at.clone(), &Value::from(name.as_str()), detail));
        }
        if let Err(detail) = is_label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(at, value, detail));
        }
    }
    for (name, _) in meta("annotations") {
        if let Err(detail) = is_label_key(&name.to_lowercase()) {
            errors.push(FieldError::invalid(
                join(path, "metadata.annotations"),
                &Value::from(name.as_str()),
                detail,
            ));
        }
    }
}

/// Calls `look` with each part of a value that has a schema: the value first, then its parts.
fn visit(node: &Node, value: &Value, path: &str, look: &mut impl FnMut(&Node, &Value, &str)) {
    look(node, value, path);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(field) = node.field(name) {
                    visit(field, value, &join(path, name), look);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &node.items else { return };
            for (index, item) in list.iter().enumerate() {
                visit(items, item, &format!("{path}[{index}]"), look);
            }
        }
        _ => {}
    }
}
