//! What several alternatives have in common, as one node: everything any of them may hold is declared, and only what all of
//! them ask for is asked. `nested` says the rest per alternative.

use serde_json::{Value, json};

use super::{
    FieldPath, Node, Problem, SchemaError,
    keywords::{EXTENSIONS, INT_OR_STRING, PRESERVE, VALIDATIONS, is_anything, is_note},
    object::separate,
};

/// The narrowest single node that takes what `left` takes and what `right` takes, as far as a node without branches can.
pub(super) fn unite(left: Node, right: &Node, at: &FieldPath) -> Result<Node, SchemaError> {
    if left == *right {
        return Ok(left);
    }
    if is_anything(&left) || is_anything(right) {
        return Ok(anything(&left, right));
    }
    let mut node = Node::new();
    types(&mut node, &left, right, at)?;
    fields(&mut node, &left, right, at)?;
    for (keyword, at) in [("items", at.item()), ("additionalProperties", at.value())] {
        children(&mut node, keyword, &left, right, &at)?;
    }
    required(&mut node, &left, right);
    values(&mut node, &left, right);
    notes(&mut node, &left, right);
    extensions(&mut node, &left, right, at)?;
    separate(&mut node);
    Ok(node)
}

fn anything(left: &Node, right: &Node) -> Node {
    let mut node = Node::new();
    notes(&mut node, left, right);
    node.insert(PRESERVE.into(), json!(true));
    node
}

fn types(node: &mut Node, left: &Node, right: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let of = |side: &Node| match side.get("type").and_then(Value::as_str) {
        Some(name) => Some(name.to_owned()),
        None => side.contains_key(INT_OR_STRING).then(|| INT_OR_STRING.to_owned()),
    };
    let (left, right) = (of(left), of(right));
    let one = match (left.as_deref(), right.as_deref()) {
        (None, one) | (one, None) => one,
        (Some(left), Some(right)) if left == right => Some(left),
        (Some("integer"), Some("number")) | (Some("number"), Some("integer")) => Some("number"),
        (Some("integer" | INT_OR_STRING), Some("string" | INT_OR_STRING))
        | (Some("string" | INT_OR_STRING), Some("integer" | INT_OR_STRING)) => Some(INT_OR_STRING),
        (Some(left), Some(right)) => {
            let shown = |name: &str| {
                if name == INT_OR_STRING { "integer or string".to_owned() } else { name.to_owned() }
            };
            return Err(at.error(Problem::MixedTypes { types: vec![shown(left), shown(right)] }));
        }
    };
    match one {
        None => {}
        Some(INT_OR_STRING) => {
            node.insert(INT_OR_STRING.into(), json!(true));
        }
        Some(name) => {
            node.insert("type".into(), json!(name));
        }
    }
    Ok(())
}

fn fields(node: &mut Node, left: &Node, right: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let of = |side: &Node| side.get("properties").and_then(Value::as_object).cloned();
    let (left, right) = (of(left), of(right));
    if left.is_none() && right.is_none() {
        return Ok(());
    }
    let (mut left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
    // The server fills in a default whichever variant is meant, and a variant without the field would not be read back.
    for (name, field) in &mut left {
        if let (false, Value::Object(field)) = (right.contains_key(name), field) {
            field.remove("default");
        }
    }
    for (name, mut field) in right {
        let field = match (left.remove(&name), &mut field) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => {
                Value::Object(unite(ours, theirs, &at.field(&name))?)
            }
            (_, Value::Object(theirs)) => {
                theirs.remove("default");
                field
            }
            (_, _) => field,
        };
        left.insert(name, field);
    }
    node.insert("properties".into(), Value::Object(left));
    Ok(())
}

fn children(
    node: &mut Node,
    keyword: &str,
    left: &Node,
    right: &Node,
    at: &FieldPath,
) -> Result<(), SchemaError> {
    let of = |side: &Node| side.get(keyword).and_then(Value::as_object).cloned();
    let one = match (of(left), of(right)) {
        (None, None) => return Ok(()),
        (Some(left), Some(right)) => unite(left, &right, at)?,
        (Some(one), None) | (None, Some(one)) => one,
    };
    node.insert(keyword.to_owned(), Value::Object(one));
    Ok(())
}

fn required(node: &mut Node, left: &Node, right: &Node) {
    let of = |side: &Node| side.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut left, right) = (of(left), of(right));
    left.retain(|name| right.contains(name));
    if !left.is_empty() {
        node.insert("required".into(), Value::Array(left));
    }
}

/// Restrictions of values: what both sides have, in its looser form; and what speaks only of a type that one side has.
fn values(node: &mut Node, left: &Node, right: &Node) {
    if let (Some(Value::Array(left)), Some(Value::Array(right))) = (left.get("enum"), right.get("enum")) {
        let mut all = left.clone();
        all.extend(right.iter().filter(|value| !left.contains(value)).cloned());
        node.insert("enum".into(), Value::Array(all));
    }
    let takes = |side: &Node, types: &[&str]| {
        side.get("type").and_then(Value::as_str).is_none_or(|name| types.contains(&name))
    };
    let kinds: [(&[&str], &[&str]); 4] = [
        (&["integer", "number"], &["minimum", "maximum", "multipleOf"]),
        (&["string"], &["minLength", "maxLength", "pattern"]),
        (&["array"], &["minItems", "maxItems"]),
        (&["object"], &["minProperties", "maxProperties"]),
    ];
    for (types, keywords) in kinds {
        let both = takes(left, types) && takes(right, types);
        for keyword in keywords {
            let value = match (left.get(*keyword), right.get(*keyword)) {
                (Some(left), Some(right)) if both => looser(keyword, left, right),
                (Some(one), None) | (None, Some(one)) if !both => Some(one.clone()),
                _ => None,
            };
            let Some(value) = value else { continue };
            for (bound, flag) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
                let sides: Vec<&Node> =
                    [left, right].into_iter().filter(|side| side.get(bound) == Some(&value)).collect();
                if bound == *keyword && sides.iter().all(|side| side.contains_key(flag)) {
                    node.insert(flag.to_owned(), json!(true));
                }
            }
            node.insert((*keyword).to_owned(), value);
        }
    }
    if left.get("format") == right.get("format")
        && !node.contains_key(INT_OR_STRING)
        && let Some(format) = left.get("format")
    {
        node.insert("format".into(), format.clone());
    }
}

fn looser(keyword: &str, left: &Value, right: &Value) -> Option<Value> {
    if left == right {
        return Some(left.clone());
    }
    let (l, r) = (left.as_f64()?, right.as_f64()?);
    let left_is_looser = match keyword {
        keyword if keyword.starts_with("min") => l < r,
        keyword if keyword.starts_with("max") => l > r,
        _ => return None,
    };
    Some(if left_is_looser { left.clone() } else { right.clone() })
}

fn notes(node: &mut Node, left: &Node, right: &Node) {
    if left.contains_key("nullable") || right.contains_key("nullable") {
        node.insert("nullable".into(), json!(true));
    }
    if let Some(description) = left.get("description").or_else(|| right.get("description")) {
        node.insert("description".into(), description.clone());
    }
    for keyword in left.keys().filter(|keyword| is_note(keyword) && *keyword != "description") {
        if left.get(keyword) == right.get(keyword) {
            node.insert(keyword.clone(), left.get(keyword).cloned().unwrap_or_default());
        }
    }
}

fn extensions(node: &mut Node, left: &Node, right: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    for keyword in EXTENSIONS.into_iter().filter(|keyword| *keyword != INT_OR_STRING) {
        match (keyword, left.get(keyword), right.get(keyword)) {
            (_, None, None) => {}
            (_, Some(left), Some(right)) if left == right => {
                node.insert(keyword.to_owned(), left.clone());
            }
            (PRESERVE, ..) => {
                node.insert(PRESERVE.into(), json!(true));
            }
            (VALIDATIONS, ..) => return Err(at.error(Problem::RuleInVariant)),
            (_, left, right) => {
                let shown = |side: Option<&Value>| side.cloned().unwrap_or_default();
                return Err(at.error(Problem::conflict(keyword, &shown(left), &shown(right))));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn united(left: Value, right: Value) -> Result<Value, String> {
        let (Value::Object(left), Value::Object(right)) = (left, right) else { panic!("not objects") };
        unite(left, &right, &FieldPath::root()).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn either_fits() {
        let object = |fields: Value| json!({ "type": "object", "properties": fields });
        let rows = [
            (
                json!({ "type": "string", "enum": ["a"] }),
                json!({ "type": "string", "enum": ["b"] }),
                json!({ "type": "string", "enum": ["a", "b"] }),
            ),
            (
                json!({ "type": "string", "enum": ["a"] }),
                json!({ "type": "string" }),
                json!({ "type": "string" }),
            ),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 5 }),
                json!({ "type": "integer", "minimum": 0 }),
                json!({ "type": "integer", "minimum": 0 }),
            ),
            (
                json!({ "type": "integer", "format": "int32" }),
                json!({ "type": "number" }),
                json!({ "type": "number" }),
            ),
            (
                json!({ "type": "integer", "minimum": 0, "format": "int32" }),
                json!({ "type": "string", "pattern": "%$" }),
                json!({ INT_OR_STRING: true, "minimum": 0, "pattern": "%$" }),
            ),
            (
                json!({ INT_OR_STRING: true, "pattern": "%$" }),
                json!({ "type": "string" }),
                json!({ INT_OR_STRING: true }),
            ),
            (
                object(json!({ "a": { "type": "string", "default": "x" } })),
                object(json!({ "b": { "type": "integer" } })),
                object(json!({ "a": { "type": "string" }, "b": { "type": "integer" } })),
            ),
            (
                object(json!({ "a": { "type": "string", "default": "x", "description": "one" } })),
                object(json!({ "a": { "type": "string", "default": "x", "description": "two" } })),
                object(json!({ "a": { "type": "string", "default": "x", "description": "one" } })),
            ),
            (
                json!({ "type": "object", "required": ["a", "b"] }),
                json!({ "type": "object", "required": ["b"] }),
                json!({ "type": "object", "required": ["b"] }),
            ),
            (
                object(json!({ "a": { "type": "string" } })),
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, PRESERVE: true }),
            ),
            (json!({ "type": "string" }), json!({ PRESERVE: true }), json!({ PRESERVE: true })),
            (
                json!({ "type": "string", "nullable": true }),
                json!({ "type": "string" }),
                json!({ "type": "string", "nullable": true }),
            ),
            (
                json!({ "minimum": 1, "exclusiveMinimum": true }),
                json!({ "minimum": 1 }),
                json!({ "minimum": 1 }),
            ),
        ];
        for (left, right, expected) in rows {
            assert_eq!(united(left, right), Ok(expected));
        }
    }

    #[test]
    fn what_has_no_common_type_is_named() {
        let rows = [
            (json!({ "type": "string" }), json!({ "type": "object" }), "may be string or object"),
            (
                json!({ "type": "object", "properties": { "x": { "type": "string" } } }),
                json!({ "type": "object", "properties": { "x": { "type": "boolean" } } }),
                "x: may be string or boolean",
            ),
            (json!({ VALIDATIONS: [{ "rule": "a" }] }), json!({ "type": "object" }), "a rule on one variant"),
        ];
        for (left, right, message) in rows {
            let error = united(left, right).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
