//! Closes what is still open once the whole tree is there: every node gets a type or says that it takes anything, and null
//! passes where it should.

use serde_json::{Value, json};

use super::{
    Node,
    keywords::{INT_OR_STRING, PRESERVE, is_nullable},
};

/// Finishes a node and all below it.
pub(super) fn finish(node: &mut Node) {
    if is_nullable(node) {
        let_null_pass(node);
    }
    let array = node.get("type") == Some(&json!("array"));
    if array {
        let open = node.remove(PRESERVE).is_some();
        let items = node.entry("items").or_insert_with(|| json!({}));
        // Openness of a list is meant for what is in it: the list itself has no unknown fields.
        if let Value::Object(items) = items
            && open
            && items.get("type").is_none_or(|name| name == "object")
            && !items.contains_key(INT_OR_STRING)
        {
            items.insert(PRESERVE.into(), json!(true));
        }
    }
    if node.contains_key(INT_OR_STRING) {
        node.remove(PRESERVE);
    } else if !node.contains_key("type") {
        node.insert(PRESERVE.into(), json!(true));
    }
    if let Some(Value::Array(required)) = node.get_mut("required") {
        let mut seen: Vec<Value> = Vec::new();
        required.retain(|name| {
            let new = !seen.contains(name);
            seen.push(name.clone());
            new
        });
        if required.is_empty() {
            node.remove("required");
        }
    }
    if let Some(Value::Object(fields)) = node.get_mut("properties") {
        fields.values_mut().filter_map(Value::as_object_mut).for_each(finish);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(child)) = node.get_mut(keyword) {
            finish(child);
        }
    }
}

/// Moves an `enum` into a branch, so that null passes, which is what Rust writes for `None`.
///
/// The server asks of null too whether it is one of the values, and does not find it even where it is among them; what is
/// in a branch it does not ask of null. Leaving `nullable` out would be no way: the server drops the null of such a field
/// when an object is created or replaced, but not when it is applied.
pub(super) fn let_null_pass(node: &mut Node) {
    if let Some(values) = node.remove("enum")
        && let Value::Array(branches) = node.entry("allOf").or_insert_with(|| json!([]))
    {
        branches.push(json!({ "enum": values }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_passes_a_nullable_enum() {
        let size = json!({ "type": "string", "enum": ["a"] });
        let nullable = json!({ "type": "string", "enum": ["a"], "nullable": true, "default": "a" });
        let branched =
            json!({ "type": "string", "nullable": true, "default": "a", "allOf": [{ "enum": ["a"] }] });
        let within = |node: &Value| {
            [
                json!({ "type": "object", "properties": { "f": node } }),
                json!({ "type": "array", "items": node }),
                json!({ "type": "object", "additionalProperties": node }),
            ]
        };
        let rows = within(&nullable).into_iter().zip(within(&branched));
        for (schema, expected) in rows.chain(within(&size).into_iter().zip(within(&size))) {
            let Value::Object(mut node) = schema else { panic!("not an object") };
            finish(&mut node);
            assert_eq!(Value::Object(node), expected);
        }
    }

    #[test]
    fn every_node_has_a_type_or_takes_anything() {
        let rows = [
            (json!({ "minimum": 1 }), json!({ "minimum": 1, PRESERVE: true })),
            (json!({ "type": "array" }), json!({ "type": "array", "items": { PRESERVE: true } })),
            (
                json!({ "type": "array", PRESERVE: true, "items": { "type": "object" } }),
                json!({ "type": "array", "items": { "type": "object", PRESERVE: true } }),
            ),
            (json!({ INT_OR_STRING: true, PRESERVE: true }), json!({ INT_OR_STRING: true })),
            (
                json!({ "type": "object", "required": ["a", "b", "a"] }),
                json!({ "type": "object", "required": ["a", "b"] }),
            ),
            (json!({ "type": "object", "required": [] }), json!({ "type": "object" })),
            (
                json!({ "type": "object", "properties": { "a": { "pattern": "p" } }, "additionalProperties": {} }),
                json!({ "type": "object", "properties": { "a": { "pattern": "p", PRESERVE: true } }, "additionalProperties": { PRESERVE: true } }),
            ),
        ];
        for (schema, expected) in rows {
            let Value::Object(mut node) = schema else { panic!("not an object") };
            finish(&mut node);
            assert_eq!(Value::Object(node), expected);
        }
    }
}
