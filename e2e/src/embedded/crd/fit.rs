//! Makes a value fit its schema before it is checked: unknown fields out, defaults in, nulls away.
//!
//! In: the value as it was sent. Out: the value as it is stored, and the paths of the fields that were unknown, for strict
//! decoding and warnings. The order is the server's: prune, then default, then drop the nulls that are left where neither
//! null is allowed nor a default is given.

use serde_json::{Map, Value};

use super::schema::{Additional, Node};

/// Fields that every object has, whatever its schema says.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of metadata, which embedded objects are held to.
const META_FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Removes what the schema does not know. Returns the paths of removed fields, in their order.
pub(super) fn prune(root: &Node, object: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    prune_at(Some(root), object, true, "", &mut removed);
    removed.sort();
    removed
}

fn prune_at(node: Option<&Node>, value: &mut Value, object: bool, path: &str, removed: &mut Vec<String>) {
    match value {
        Value::Object(fields) => prune_object(node, fields, object, path, removed),
        Value::Array(items) => {
            if node.is_some_and(|node| node.open) {
                return;
            }
            let schema = node.and_then(|node| node.items.as_deref());
            for (index, item) in items.iter_mut().enumerate() {
                let embedded = schema.is_some_and(|schema| schema.embedded);
                prune_at(schema, item, embedded, &format!("{path}[{index}]"), removed);
            }
        }
        _ => {}
    }
}

fn prune_object(
    node: Option<&Node>,
    fields: &mut Map<String, Value>,
    object: bool,
    path: &str,
    removed: &mut Vec<String>,
) {
    fields.retain(|name, value| {
        let at = join(path, name);
        if object && OBJECT_FIELDS.contains(&name.as_str()) {
            // The metadata of the object itself is not the schema's: whoever writes it has decoded it.
            if name == "metadata" && !path.is_empty() {
                prune_metadata(value, &at, removed);
            }
            return true;
        }
        let (known, schema) = match node {
            None => (false, None),
            Some(node) => match (node.field(name), &node.additional) {
                (Some(field), _) => (true, Some(field)),
                (None, Additional::Allowed(_)) => (true, None),
                (None, _) if node.open => return true,
                (None, _) => (false, None),
            },
        };
        if known {
            prune_at(schema, value, schema.is_some_and(|schema| schema.embedded), &at, removed);
        } else {
            removed.push(at);
        }
        known
    });
}

fn prune_metadata(metadata: &mut Value, path: &str, removed: &mut Vec<String>) {
    let Value::Object(fields) = metadata else { return };
    fields.retain(|name, _| {
        let known = META_FIELDS.contains(&name.as_str());
        if !known {
            removed.push(join(path, name));
        }
        known
    });
}

/// Numbers as the server writes them: what is whole has no fraction (`5.0` is `5`).
pub(super) fn write_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            const EXACT: f64 = 9_007_199_254_740_991.0;
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() <= EXACT {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number under 2^53")]
                let whole = float as i64;
                *value = Value::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_numbers),
        _ => {}
    }
}

/// Fills in defaults.
pub(super) fn default(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in &node.properties {
                let Some(default) = &field.default else { continue };
                match fields.get_mut(name) {
                    Some(found) if is_missing(found, field) => found.clone_from(default),
                    Some(_) => {}
                    None => {
                        fields.insert(name.clone(), default.clone());
                    }
                }
            }
            for (name, value) in fields {
                let Some(field) = node.field(name) else { continue };
                default_value(field, value);
            }
        }
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            for item in items {
                default_value(schema, item);
            }
        }
        _ => {}
    }
}

fn default_value(node: &Node, value: &mut Value) {
    if is_missing(value, node)
        && let Some(default) = &node.default
    {
        value.clone_from(default);
    }
    default(node, value);
}

/// Null that is not a value counts as nothing.
fn is_missing(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}

/// Drops the fields that are null and may not be. Nulls in lists stay, for a list has no gaps.
pub(super) fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(field) = node.field(name) else { return true };
            drop_nulls(field, value);
            !is_missing(value, field)
        }),
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            for item in items {
                drop_nulls(schema, item);
            }
        }
        _ => {}
    }
}

/// `path.name`, or `name` at the top.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
