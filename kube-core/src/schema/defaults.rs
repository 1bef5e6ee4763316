//! Whether a value fits a structural schema: a default that does not is refused by the server, and so is its definition.
//!
//! Patterns and formats are not looked at: they are Go's, and a default that breaks its own pattern is for the server to say.

use serde_json::{Map, Value};

use super::{
    Node,
    keywords::{INT_OR_STRING, PRESERVE, is_nullable},
    types::type_of,
};

/// Says why `value` does not fit `node`.
pub(super) fn fits(value: &Value, node: &Node) -> Result<(), String> {
    if value.is_null() {
        return if is_nullable(node) { Ok(()) } else { Err("null where the field is not nullable".into()) };
    }
    typed(value, node)?;
    values(value, node)?;
    match value {
        Value::Object(fields) => object(fields, node)?,
        Value::Array(items) => {
            if let Some(Value::Object(schema)) = node.get("items") {
                items.iter().try_for_each(|item| fits(item, schema))?;
            }
        }
        _ => {}
    }
    junctors(value, node)
}

fn typed(value: &Value, node: &Node) -> Result<(), String> {
    let found = type_of(value);
    let fits = match node.get("type").and_then(Value::as_str) {
        Some("number") => matches!(found, "number" | "integer"),
        Some(name) => name == found,
        None if node.contains_key(INT_OR_STRING) => matches!(found, "integer" | "string"),
        None => true,
    };
    if fits { Ok(()) } else { Err(format!("{value} is of type {found}")) }
}

fn object(fields: &Map<String, Value>, node: &Node) -> Result<(), String> {
    let empty = Map::new();
    let declared = node.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let others = node.get("additionalProperties").and_then(Value::as_object);
    // A branch restricts some fields and knows nothing of the others; only a typed node says which fields there are.
    let closed = node.contains_key("type") && !node.contains_key(PRESERVE);
    for (name, value) in fields {
        match (declared.get(name), others) {
            (Some(Value::Object(schema)), _) | (None, Some(schema)) => {
                fits(value, schema).map_err(|reason| format!("`{name}`: {reason}"))?;
            }
            _ if closed => return Err(format!("`{name}` is no field of it")),
            _ => {}
        }
    }
    let required =
        node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| !fields.contains_key(*name)) {
        Some(missing) => Err(format!("`{missing}` is required and missing")),
        None => Ok(()),
    }
}

fn values(value: &Value, node: &Node) -> Result<(), String> {
    if let Some(Value::Array(all)) = node.get("enum")
        && !all.contains(value)
    {
        return Err(format!("{value} is none of {}", Value::Array(all.clone())));
    }
    #[expect(clippy::cast_precision_loss, reason = "lengths are far under 2^53")]
    let (size, least, most) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum"),
        Value::String(text) => (Some(text.chars().count() as f64), "minLength", "maxLength"),
        Value::Array(items) => (Some(items.len() as f64), "minItems", "maxItems"),
        Value::Object(fields) => (Some(fields.len() as f64), "minProperties", "maxProperties"),
        Value::Null | Value::Bool(_) => (None, "", ""),
    };
    let limit = |keyword: &str| node.get(keyword).and_then(Value::as_f64);
    let exclusive = |keyword: &str| value.is_number() && node.get(keyword) == Some(&Value::Bool(true));
    let Some(size) = size else { return Ok(()) };
    if limit(least).is_some_and(|limit| size < limit || (exclusive("exclusiveMinimum") && size <= limit)) {
        return Err(format!("{value} is under its {least}"));
    }
    if limit(most).is_some_and(|limit| size > limit || (exclusive("exclusiveMaximum") && size >= limit)) {
        return Err(format!("{value} is over its {most}"));
    }
    Ok(())
}

fn junctors(value: &Value, node: &Node) -> Result<(), String> {
    let list = |keyword: &str| node.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let passing = |keyword: &str| {
        list(keyword).filter_map(Value::as_object).filter(|schema| fits(value, schema).is_ok()).count()
    };
    if passing("allOf") < list("allOf").count() {
        return Err(format!("{value} breaks one of `allOf`"));
    }
    if list("anyOf").count() > 0 && passing("anyOf") == 0 {
        return Err(format!("{value} fits none of `anyOf`"));
    }
    if list("oneOf").count() > 0 && passing("oneOf") != 1 {
        return Err(format!("{value} fits {} of `oneOf`", passing("oneOf")));
    }
    match node.get("not") {
        Some(Value::Object(not)) if fits(value, not).is_ok() => {
            Err(format!("{value} is what `not` excludes"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_default_fits_its_schema_or_says_why_not() {
        let object =
            json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
        let rows = [
            (json!("x"), json!({ "type": "string" }), ""),
            (json!(1), json!({ "type": "number" }), ""),
            (json!(1.5), json!({ "type": "integer" }), "1.5 is of type number"),
            (json!("50%"), json!({ INT_OR_STRING: true }), ""),
            (json!(null), json!({ "type": "string", "nullable": true }), ""),
            (json!(null), json!({ "type": "string" }), "null where the field is not nullable"),
            (json!("c"), json!({ "type": "string", "enum": ["a", "b"] }), "\"c\" is none of [\"a\",\"b\"]"),
            (
                json!(3),
                json!({ "type": "integer", "minimum": 3, "exclusiveMinimum": true }),
                "3 is under its minimum",
            ),
            (json!("abc"), json!({ "type": "string", "maxLength": 2 }), "\"abc\" is over its maxLength"),
            (
                json!([1, "x"]),
                json!({ "type": "array", "items": { "type": "integer" } }),
                "\"x\" is of type string",
            ),
            (json!({ "a": 1 }), object.clone(), ""),
            (json!({}), object.clone(), "`a` is required and missing"),
            (json!({ "a": 1, "b": 2 }), object, "`b` is no field of it"),
            (
                json!({ "k": 1 }),
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                "`k`: 1 is of type integer",
            ),
            (
                json!({ "a": 1, "b": 2 }),
                json!({ "type": "object", PRESERVE: true, "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
                "{\"a\":1,\"b\":2} fits 2 of `oneOf`",
            ),
            (
                json!("a"),
                json!({ "type": "string", "not": { "enum": ["a"] } }),
                "\"a\" is what `not` excludes",
            ),
        ];
        for (value, schema, reason) in rows {
            let Value::Object(node) = schema else { panic!("not an object") };
            assert_eq!(fits(&value, &node).err().unwrap_or_default(), reason);
        }
    }
}
