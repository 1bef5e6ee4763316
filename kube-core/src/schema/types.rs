//! `type`, `const`, `enum` and null: one type per node, null as `nullable`.

use serde_json::{Value, json};

use super::{FieldPath, Node, Problem, SchemaError, keywords::INT_OR_STRING};

/// Rewrites what a node says about its own type.
///
/// `["string", "null"]` becomes a nullable string, integer with string becomes int-or-string, `const` an `enum` of one, and
/// a null in an `enum` makes it nullable.
pub(super) fn types(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    if let Some(constant) = node.remove("const") {
        node.insert("enum".into(), json!([constant]));
    }
    null_out_of_enum(node, at)?;
    match node.remove("type") {
        None => infer(node),
        Some(Value::String(one)) => one_type(node, vec![one], at)?,
        Some(Value::Array(list)) => {
            let names: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if names.len() != list.len() || names.is_empty() {
                return Err(at.error(Problem::malformed(
                    "type",
                    "a name or a list of names",
                    &Value::Array(list),
                )));
            }
            one_type(node, names, at)?;
        }
        Some(other) => return Err(at.error(Problem::malformed("type", "a name or a list of names", &other))),
    }
    if node.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
        node.remove("type");
        node.remove("format");
    }
    Ok(())
}

/// Whether null is the only value: a branch of `anyOf` that schemars writes for `Option`.
pub(super) fn is_null(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("null"))
        || schema.get("const") == Some(&Value::Null)
        || schema.get("enum").is_some_and(|values| *values == json!([null]))
}

fn null_out_of_enum(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let Some(values) = node.get_mut("enum") else { return Ok(()) };
    let Value::Array(list) = values else {
        return Err(at.error(Problem::malformed("enum", "a list", values)));
    };
    let before = list.len();
    list.retain(|value| !value.is_null());
    match (list.is_empty(), before > list.len()) {
        (true, true) => return Err(at.error(Problem::OnlyNull)),
        (true, false) => return Err(at.error(Problem::NoValues)),
        (false, true) => {
            node.insert("nullable".into(), json!(true));
        }
        (false, false) => {}
    }
    Ok(())
}

fn one_type(node: &mut Node, mut names: Vec<String>, at: &FieldPath) -> Result<(), SchemaError> {
    if names.iter().any(|name| name == "null") {
        names.retain(|name| name != "null");
        if names.is_empty() {
            return Err(at.error(Problem::OnlyNull));
        }
        node.insert("nullable".into(), json!(true));
    }
    names.dedup();
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [one @ ("string" | "integer" | "number" | "boolean" | "array" | "object")] => {
            node.insert("type".into(), json!(one));
        }
        [other] => {
            let expected = "string, integer, number, boolean, array or object";
            return Err(at.error(Problem::malformed("type", expected, &json!(other))));
        }
        ["integer", "number"] | ["number", "integer"] => {
            node.insert("type".into(), json!("number"));
        }
        ["integer", "string"] | ["string", "integer"] => {
            node.insert(INT_OR_STRING.into(), json!(true));
        }
        _ => return Err(at.error(Problem::MixedTypes { types: names })),
    }
    Ok(())
}

/// The type that a node without one can only mean. Hand-written parts leave it out.
fn infer(node: &mut Node) {
    let has = |keyword: &str| node.contains_key(keyword);
    let name = if has("properties") || has("additionalProperties") || has("patternProperties") {
        Some("object")
    } else if has("items") || has("prefixItems") {
        Some("array")
    } else if let Some(Value::Array(values)) = node.get("enum") {
        type_of_all(values)
    } else {
        None
    };
    if let Some(name) = name {
        node.insert("type".into(), json!(name));
    }
}

fn type_of_all(values: &[Value]) -> Option<&'static str> {
    let mut names = values.iter().map(type_of);
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

/// The schema type of a value.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(schema: Value) -> Result<Value, String> {
        let Value::Object(mut node) = schema else { panic!("not an object") };
        types(&mut node, &FieldPath::root()).map_err(|error| error.to_string())?;
        Ok(Value::Object(node))
    }

    #[test]
    fn a_node_gets_one_type() {
        let rows = [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (json!({ "type": ["string"] }), json!({ "type": "string" })),
            (json!({ "type": ["integer", "string"], "format": "int32" }), json!({ INT_OR_STRING: true })),
            (
                json!({ "type": ["string", "integer", "null"] }),
                json!({ INT_OR_STRING: true, "nullable": true }),
            ),
            (json!({ "type": ["integer", "number"] }), json!({ "type": "number" })),
            (json!({ "type": "string", INT_OR_STRING: true }), json!({ INT_OR_STRING: true })),
            (json!({ "const": "a" }), json!({ "type": "string", "enum": ["a"] })),
            (
                json!({ "enum": ["a", null], "type": ["string", "null"] }),
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
            ),
            (json!({ "enum": ["a", 1] }), json!({ "enum": ["a", 1] })),
            (json!({ "properties": {} }), json!({ "type": "object", "properties": {} })),
            (json!({ "items": true }), json!({ "type": "array", "items": true })),
            (json!({ "minimum": 1 }), json!({ "minimum": 1 })),
        ];
        for (schema, expected) in rows {
            assert_eq!(typed(schema), Ok(expected));
        }
    }

    #[test]
    fn what_has_no_single_type_is_refused() {
        let rows = [
            (json!({ "type": "null" }), "null is its only value"),
            (json!({ "const": null }), "null is its only value"),
            (json!({ "type": ["string", "boolean"] }), "may be string or boolean"),
            (json!({ "type": "text" }), "`type` must be string, integer"),
            (json!({ "type": 3 }), "`type` must be a name or a list of names, not 3"),
            (json!({ "enum": [] }), "has no values"),
        ];
        for (schema, message) in rows {
            let error = typed(schema).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
