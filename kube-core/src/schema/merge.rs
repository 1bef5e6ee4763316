//! Two schemas that both hold for one node, made one: `allOf`, a reference with keywords beside it, a flattened enum.
//!
//! The first is the one closer to the field: its notes and extensions win. What both restrict, the narrower restriction
//! keeps; restrictions that cannot be put into one stay apart in an `allOf` of values.

use serde_json::{Value, json};

use super::{
    FieldPath, Node, Problem, SchemaError,
    keywords::{EXTENSIONS, INT_OR_STRING, PRESERVE, VALIDATIONS, is_anything, is_note},
};

/// The node for which both `near` and `far` hold.
pub(super) fn merge(near: Node, far: Node, at: &FieldPath) -> Result<Node, SchemaError> {
    // "Anything" adds nothing but its openness.
    if is_anything(&near) && !far.is_empty() && far.contains_key("type") && near.len() == 1 {
        let mut node = far;
        node.insert(PRESERVE.into(), json!(true));
        return Ok(node);
    }
    let mut node = near;
    let exclusive = ["exclusiveMinimum", "exclusiveMaximum"];
    for (bound, flag) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        merge_bound(&mut node, &far, bound, flag);
    }
    for (keyword, value) in far {
        if matches!(keyword.as_str(), "minimum" | "maximum") || exclusive.contains(&keyword.as_str()) {
            continue;
        }
        let Some(ours) = node.remove(&keyword) else {
            node.insert(keyword, value);
            continue;
        };
        let merged =
            if ours == value { ours } else { keyword_of_both(&mut node, &keyword, ours, value, at)? };
        node.insert(keyword, merged);
    }
    if node.contains_key(INT_OR_STRING)
        && let Some(narrower) = node.get("type")
    {
        // The other side allows one of the two: that is what is left.
        if !matches!(narrower.as_str(), Some("integer" | "string")) {
            return Err(at.error(Problem::conflict("type", narrower, &json!("integer or string"))));
        }
        node.remove(INT_OR_STRING);
    }
    Ok(node)
}

fn keyword_of_both(
    node: &mut Node,
    keyword: &str,
    ours: Value,
    theirs: Value,
    at: &FieldPath,
) -> Result<Value, SchemaError> {
    let conflict = |ours: &Value, theirs: &Value| Err(at.error(Problem::conflict(keyword, ours, theirs)));
    match (keyword, ours, theirs) {
        ("nullable", ..) => Ok(json!(true)),
        (VALIDATIONS, Value::Array(ours), Value::Array(theirs)) => {
            // The type's own rules first, then what its field adds.
            let mut rules = theirs;
            rules.extend(ours.into_iter().filter(|rule| !rules.contains(rule)).collect::<Vec<_>>());
            Ok(Value::Array(rules))
        }
        (keyword, ours, _) if is_note(keyword) || EXTENSIONS.contains(&keyword) || keyword == "format" => {
            Ok(ours)
        }
        ("type", ours, theirs) => match (ours.as_str(), theirs.as_str()) {
            (Some("integer"), Some("number")) | (Some("number"), Some("integer")) => Ok(json!("integer")),
            _ => conflict(&ours, &theirs),
        },
        ("properties", Value::Object(mut fields), Value::Object(others)) => {
            for (name, other) in others {
                let field = match fields.remove(&name) {
                    None => other,
                    Some(ours) => node_of_both(ours, other, &at.field(&name))?,
                };
                fields.insert(name, field);
            }
            Ok(Value::Object(fields))
        }
        ("items", ours, theirs) => node_of_both(ours, theirs, &at.item()),
        ("additionalProperties", ours, theirs) => node_of_both(ours, theirs, &at.value()),
        ("required" | "allOf", Value::Array(mut ours), Value::Array(theirs)) => {
            for entry in theirs {
                if !ours.contains(&entry) {
                    ours.push(entry);
                }
            }
            Ok(Value::Array(ours))
        }
        ("enum", Value::Array(ours), Value::Array(theirs)) => {
            let both: Vec<Value> = ours.iter().filter(|value| theirs.contains(value)).cloned().collect();
            if both.is_empty() {
                conflict(&Value::Array(ours), &Value::Array(theirs))
            } else {
                Ok(Value::Array(both))
            }
        }
        (keyword, ours, theirs) => {
            if let (Some(left), Some(right)) = (ours.as_f64(), theirs.as_f64()) {
                match keyword {
                    "minLength" | "minItems" | "minProperties" => {
                        return Ok(if left >= right { ours } else { theirs });
                    }
                    "maxLength" | "maxItems" | "maxProperties" => {
                        return Ok(if left <= right { ours } else { theirs });
                    }
                    _ => {}
                }
            }
            apart(node, keyword, theirs);
            Ok(ours)
        }
    }
}

fn node_of_both(ours: Value, theirs: Value, at: &FieldPath) -> Result<Value, SchemaError> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => merge(ours, theirs, at).map(Value::Object),
        (ours, theirs) => Err(at.error(Problem::conflict("schema", &ours, &theirs))),
    }
}

/// Keeps a second restriction of one keyword in `allOf`: patterns, multiples, a second `oneOf`.
fn apart(node: &mut Node, keyword: &str, value: Value) {
    let mut part = Node::new();
    part.insert(keyword.to_owned(), value);
    if let Value::Array(all_of) = node.entry("allOf").or_insert_with(|| json!([])) {
        all_of.push(Value::Object(part));
    }
}

/// The tighter of two bounds, with its own exclusive flag.
fn merge_bound(node: &mut Node, far: &Node, bound: &str, flag: &str) {
    let Some(theirs) = far.get(bound) else { return };
    let closer = match (node.get(bound).and_then(Value::as_f64), theirs.as_f64()) {
        (Some(ours), Some(theirs)) if bound == "minimum" => ours > theirs,
        (Some(ours), Some(theirs)) => ours < theirs,
        _ => false,
    };
    if closer {
        return;
    }
    let same = node.get(bound) == Some(theirs);
    if !same {
        node.remove(flag);
    }
    node.insert(bound.to_owned(), theirs.clone());
    if let Some(exclusive) = far.get(flag) {
        node.insert(flag.to_owned(), exclusive.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(near: Value, far: Value) -> Result<Value, String> {
        let (Value::Object(near), Value::Object(far)) = (near, far) else { panic!("not objects") };
        merge(near, far, &FieldPath::root()).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn both_hold() {
        let rows = [
            (
                json!({ "description": "near" }),
                json!({ "description": "far", "type": "string" }),
                json!({ "description": "near", "type": "string" }),
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
                json!({ "type": "object", "properties": { "b": { "type": "string" } }, "required": ["b", "a"] }),
                json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "required": ["a", "b"] }),
            ),
            (
                json!({ "minimum": 1 }),
                json!({ "minimum": 3, "exclusiveMinimum": true }),
                json!({ "minimum": 3, "exclusiveMinimum": true }),
            ),
            (
                json!({ "minimum": 5 }),
                json!({ "minimum": 3, "exclusiveMinimum": true }),
                json!({ "minimum": 5 }),
            ),
            (
                json!({ "maximum": 5, "exclusiveMaximum": true }),
                json!({ "maximum": 3 }),
                json!({ "maximum": 3 }),
            ),
            (
                json!({ "minLength": 1, "maxLength": 9 }),
                json!({ "minLength": 2, "maxLength": 12 }),
                json!({ "minLength": 2, "maxLength": 9 }),
            ),
            (
                json!({ "pattern": "a" }),
                json!({ "pattern": "b" }),
                json!({ "pattern": "a", "allOf": [{ "pattern": "b" }] }),
            ),
            (json!({ "enum": ["a", "b"] }), json!({ "enum": ["b", "c"] }), json!({ "enum": ["b"] })),
            (
                json!({ "oneOf": [1] }),
                json!({ "oneOf": [2] }),
                json!({ "oneOf": [1], "allOf": [{ "oneOf": [2] }] }),
            ),
            (json!({ "type": "integer" }), json!({ "type": "number" }), json!({ "type": "integer" })),
            (
                json!({ PRESERVE: true }),
                json!({ "type": "object" }),
                json!({ PRESERVE: true, "type": "object" }),
            ),
            (json!({ INT_OR_STRING: true }), json!({ "type": "string" }), json!({ "type": "string" })),
            (
                json!({ VALIDATIONS: [{ "rule": "field" }] }),
                json!({ VALIDATIONS: [{ "rule": "type" }] }),
                json!({ VALIDATIONS: [{ "rule": "type" }, { "rule": "field" }] }),
            ),
        ];
        for (near, far, expected) in rows {
            assert_eq!(merged(near, far), Ok(expected));
        }
    }

    #[test]
    fn what_cannot_both_hold_is_named() {
        let rows = [
            (
                json!({ "type": "string" }),
                json!({ "type": "object" }),
                "differing `type`: \"string\" and \"object\"",
            ),
            (json!({ "enum": ["a"] }), json!({ "enum": ["b"] }), "differing `enum`"),
            (
                json!({ "properties": { "x": { "type": "string" } } }),
                json!({ "properties": { "x": { "type": "array" } } }),
                "x: is declared twice",
            ),
        ];
        for (near, far, message) in rows {
            let error = merged(near, far).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
