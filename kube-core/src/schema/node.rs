//! One node: which rule comes after which.
//!
//! A *fragment* is a rewritten node that may still lack a type: a branch of `anyOf` often says no more than what its parent
//! leaves open. `finish` closes what is still open when the whole tree is there.

use serde_json::{Value, json};

use super::{
    FieldPath, Node, Problem, SchemaError,
    branches::branches,
    keywords::{PRESERVE, VALIDATIONS, is_note, is_only_notes, sift},
    merge::merge,
    nested::nested,
    numbers::numbers,
    object::{object, separate},
    rules::rules,
    types::{is_null, types},
};

/// Rewrites one schema without references.
pub(super) fn fragment(schema: Value, at: &FieldPath) -> Result<Node, SchemaError> {
    let node = match schema {
        Value::Object(node) => node,
        Value::Bool(true) => Node::new(),
        Value::Bool(false) => return Err(at.error(Problem::NoValues)),
        other => return Err(at.error(Problem::malformed("schema", "an object or a boolean", &other))),
    };
    let open = node.get(PRESERVE) == Some(&json!(true));
    match rewritten(node.clone(), at) {
        // What its author opened need not be said: notes and extensions stay, the shape goes.
        Err(error) if open && error.path == *at && gives_way(&error.problem) => Ok(opened(node)),
        result => result,
    }
}

/// A branch, which may be empty where its parent says the rest.
pub(super) fn branch(schema: Value, at: &FieldPath) -> Result<Node, SchemaError> {
    match schema {
        Value::Object(node) if is_only_notes(&node) => Ok(node),
        other => fragment(other, at),
    }
}

fn rewritten(mut node: Node, at: &FieldPath) -> Result<Node, SchemaError> {
    sift(&mut node, at)?;
    if is_only_notes(&node) {
        // Null included: the server would drop it from a field that is not nullable.
        node.insert(PRESERVE.into(), json!(true));
        node.insert("nullable".into(), json!(true));
        return Ok(node);
    }
    let all_of = take_list(&mut node, "allOf", at)?;
    let one_of = take_list(&mut node, "oneOf", at)?;
    let any_of = take_list(&mut node, "anyOf", at)?;
    types(&mut node, at)?;
    numbers(&mut node, at)?;
    rules(&mut node, at)?;
    object(&mut node, at)?;
    not(&mut node, at)?;
    for member in all_of.into_iter().flatten() {
        let member = branch(member, at)?;
        node = merge(node, member, at)?;
    }
    for (keyword, list) in [("oneOf", one_of), ("anyOf", any_of)] {
        if let Some(list) = list {
            node = branches(node, keyword, list, at)?;
        }
    }
    separate(&mut node);
    Ok(node)
}

fn take_list(node: &mut Node, keyword: &str, at: &FieldPath) -> Result<Option<Vec<Value>>, SchemaError> {
    match node.remove(keyword) {
        None => Ok(None),
        Some(Value::Array(list)) if !list.is_empty() => Ok(Some(list)),
        Some(other) => Err(at.error(Problem::malformed(keyword, "a list of schemas", &other))),
    }
}

/// What is under `not` may only speak of values.
fn not(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let Some(schema) = node.remove("not") else { return Ok(()) };
    if is_null(&schema) {
        return Ok(()); // Nulls are no values here: they are dropped before anything is checked.
    }
    if schema == json!({}) || schema == json!(true) {
        return Err(at.error(Problem::NoValues));
    }
    let values = nested(&branch(schema.clone(), at)?, &Node::new());
    if values.is_empty() {
        return Err(at.error(Problem::malformed(
            "not",
            "a restriction of values, types being fixed",
            &schema,
        )));
    }
    node.insert("not".into(), Value::Object(values));
    Ok(())
}

fn gives_way(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::MixedTypes { .. }
            | Problem::UnitVariants { .. }
            | Problem::Conflict { .. }
            | Problem::OnlyNull
    )
}

fn opened(mut node: Node) -> Node {
    let nullable =
        node.get("type").and_then(Value::as_array).is_some_and(|types| types.contains(&json!("null")))
            || ["oneOf", "anyOf"]
                .iter()
                .filter_map(|keyword| node.get(*keyword)?.as_array())
                .any(|list| list.iter().any(is_null));
    node.retain(|keyword, value| {
        let stays = matches!(keyword.as_str(), "nullable" | PRESERVE | VALIDATIONS) || is_note(keyword);
        stays && !value.is_null()
    });
    if nullable {
        node.insert("nullable".into(), json!(true));
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten_text(schema: Value) -> Result<Value, String> {
        fragment(schema, &FieldPath::root()).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn anything_is_kept_unread() {
        let rows = [
            (json!(true), json!({ PRESERVE: true, "nullable": true })),
            (json!({}), json!({ PRESERVE: true, "nullable": true })),
            (
                json!({ "title": "T", "description": "d" }),
                json!({ "description": "d", PRESERVE: true, "nullable": true }),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(rewritten_text(schema), Ok(expected));
        }
        assert!(rewritten_text(json!(false)).unwrap_err().contains("has no values"));
    }

    #[test]
    fn not_speaks_of_values_only() {
        let rows = [
            (
                json!({ "type": "string", "not": { "const": "a" } }),
                json!({ "type": "string", "not": { "enum": ["a"] } }),
            ),
            (
                json!({ "type": "object", "not": { "required": ["a"] } }),
                json!({ "type": "object", "not": { "required": ["a"] } }),
            ),
            (json!({ "type": "string", "not": { "type": "null" } }), json!({ "type": "string" })),
        ];
        for (schema, expected) in rows {
            assert_eq!(rewritten_text(schema), Ok(expected));
        }
        assert!(rewritten_text(json!({ "not": {} })).unwrap_err().contains("has no values"));
        assert!(
            rewritten_text(json!({ "not": { "type": "string" } })).unwrap_err().contains("`not` must be")
        );
    }

    #[test]
    fn an_open_field_needs_no_single_type() {
        let rows = [
            (
                json!({ PRESERVE: true, "type": ["string", "boolean", "null"], "description": "d" }),
                json!({ PRESERVE: true, "description": "d", "nullable": true }),
            ),
            (
                json!({ PRESERVE: true, "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }),
                json!({ PRESERVE: true }),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(rewritten_text(schema), Ok(expected));
        }
        // The fault of a field inside is not hidden by its opened parent.
        let inner = json!({ PRESERVE: true, "properties": { "a": { "type": ["string", "boolean"] } } });
        assert!(rewritten_text(inner).unwrap_err().starts_with("a: may be string or boolean"));
    }
}
