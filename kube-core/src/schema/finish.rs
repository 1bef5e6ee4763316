//! Closes what is still open once the whole tree is there: every node gets a type or says that it takes anything.

use serde_json::{Value, json};

use super::{
    Node,
    keywords::{INT_OR_STRING, PRESERVE},
};

/// Finishes a node and all below it.
pub(super) fn finish(node: &mut Node) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
