//! What is left of an alternative once its shape is declared outside: the only form a branch may have in Kubernetes.

use serde_json::{Map, Value};

use super::{
    Node,
    finish::let_null_pass,
    keywords::{VALUE_KEYWORDS, is_nullable},
};

/// What `alternative` asks for beyond `declared`: values, `required`, and the same of its fields and items.
/// Empty when the declaration already says it all.
pub(super) fn nested(alternative: &Node, declared: &Node) -> Node {
    let mut rest = Node::new();
    for keyword in VALUE_KEYWORDS.into_iter().chain(["not", "allOf", "anyOf", "oneOf"]) {
        let Some(value) = alternative.get(keyword) else { continue };
        if declared.get(keyword) != Some(value) {
            rest.insert(keyword.to_owned(), value.clone());
        }
    }
    // A branch has no `nullable` of its own.
    if is_nullable(alternative) {
        let_null_pass(&mut rest);
    }
    // A flag without its bound means nothing, and a bound without its flag something else.
    for (bound, flag) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if (rest.contains_key(bound) || rest.contains_key(flag))
            && let (Some(limit), exclusive) = (alternative.get(bound), alternative.get(flag))
        {
            rest.insert(bound.to_owned(), limit.clone());
            exclusive.map(|exclusive| rest.insert(flag.to_owned(), exclusive.clone()));
        }
    }
    let names = |node: &Node| node.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let common = names(declared);
    let required: Vec<Value> = names(alternative).into_iter().filter(|name| !common.contains(name)).collect();
    if !required.is_empty() {
        rest.insert("required".into(), Value::Array(required));
    }
    let fields = fields(alternative, declared);
    if !fields.is_empty() {
        rest.insert("properties".into(), Value::Object(fields));
    }
    if let (Some(Value::Object(items)), Some(Value::Object(declared))) =
        (alternative.get("items"), declared.get("items"))
    {
        let items = nested(items, declared);
        if !items.is_empty() {
            rest.insert("items".into(), Value::Object(items));
        }
    }
    rest
}

fn fields(alternative: &Node, declared: &Node) -> Map<String, Value> {
    let of = |node: &Node| node.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let declared = of(declared);
    of(alternative)
        .into_iter()
        // The server forbids a branch to speak of a field with this name.
        .filter(|(name, _)| name != "metadata")
        .filter_map(|(name, field)| {
            let declared = declared.get(&name).and_then(Value::as_object).cloned().unwrap_or_default();
            let rest = nested(field.as_object()?, &declared);
            (!rest.is_empty()).then_some((name, Value::Object(rest)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_branch_keeps_values_and_required_and_nothing_else() {
        let declared = json!({
            "type": "object",
            "required": ["kind"],
            "properties": { "kind": { "type": "string", "enum": ["A", "B"] }, "n": { "type": "integer" }, "l": { "items": { "type": "string" } } },
        });
        let rows = [
            (
                json!({ "required": ["kind"], "properties": { "kind": { "type": "string", "enum": ["A"], "description": "d" } } }),
                json!({ "properties": { "kind": { "enum": ["A"] } } }),
            ),
            (
                json!({ "required": ["kind", "n"], "properties": { "n": { "type": "integer", "minimum": 1, "nullable": true, "default": 2 } } }),
                json!({ "required": ["n"], "properties": { "n": { "minimum": 1 } } }),
            ),
            (
                json!({ "properties": { "kind": { "type": "string", "enum": ["A"], "nullable": true } } }),
                json!({ "properties": { "kind": { "allOf": [{ "enum": ["A"] }] } } }),
            ),
            (
                json!({ "properties": { "l": { "items": { "type": "string", "pattern": "p" } } } }),
                json!({ "properties": { "l": { "items": { "pattern": "p" } } } }),
            ),
            (
                json!({ "required": ["metadata"], "properties": { "metadata": { "enum": [1] } } }),
                json!({ "required": ["metadata"] }),
            ),
            (
                json!({ "type": "object", "required": ["kind"], "x-kubernetes-preserve-unknown-fields": true }),
                json!({}),
            ),
        ];
        for (alternative, expected) in rows {
            let (Value::Object(alternative), Value::Object(declared)) = (alternative, &declared) else {
                panic!("not objects")
            };
            assert_eq!(Value::Object(nested(&alternative, declared)), expected);
        }
    }
}
