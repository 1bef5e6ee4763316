//! The server's rules of structural schemas, as a check of the result. Every schema that leaves this module passes it.

use serde_json::{Map, Value, json};

use super::{
    FieldPath, Node, Problem, SchemaError,
    defaults::fits,
    keywords::{INT_OR_STRING, PRESERVE, VALIDATIONS, VALUE_KEYWORDS},
};

const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Checks the rules of structural schemas:
///
/// 1. every node has one `type`, or is int-or-string, or preserves unknown fields; lists have `items`;
/// 2. inside `allOf`, `anyOf`, `oneOf` and `not` there are restrictions of values only;
/// 3. every field and item named there is declared outside too;
/// 4. no `$ref`, `const`, `uniqueItems` or other keyword that Kubernetes does not have;
/// 5. never `properties` beside `additionalProperties`;
/// 6. defaults fit their own schema.
///
/// # Errors
/// The first rule broken, with the path of the field.
///
/// ```
/// let schema = serde_json::json!({ "type": "object", "properties": { "a": { "description": "no type" } } });
/// let error = kube_core::schema::check(&schema).unwrap_err();
/// assert!(error.to_string().starts_with("a: is not structural: no `type`"));
/// ```
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    check_at(schema, &FieldPath::root())
}

pub(super) fn check_at(schema: &Value, at: &FieldPath) -> Result<(), SchemaError> {
    let node = node_of(schema, at)?;
    keywords(node, at)?;
    shape(node, at)?;
    extensions(node, at)?;
    for (name, field) in children(node, "properties") {
        check_at(field, &at.field(name))?;
    }
    for (keyword, at) in [("items", at.item()), ("additionalProperties", at.value())] {
        if let Some(child) = node.get(keyword) {
            check_at(child, &at)?;
        }
    }
    junctors(node, node, at)?;
    match node.get("default") {
        Some(default) => fits(default, node)
            .map_err(|reason| at.error(Problem::Default { default: default.to_string(), reason })),
        None => Ok(()),
    }
}

fn broken(at: &FieldPath, rule: impl Into<String>) -> SchemaError {
    at.error(Problem::NotStructural(rule.into()))
}

fn node_of<'a>(schema: &'a Value, at: &FieldPath) -> Result<&'a Node, SchemaError> {
    schema.as_object().ok_or_else(|| broken(at, format!("{schema} is not a schema")))
}

fn children<'a>(node: &'a Node, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    node.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

fn keywords(node: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let known = |keyword: &str| {
        VALUE_KEYWORDS.contains(&keyword)
            || JUNCTORS.contains(&keyword)
            || keyword.starts_with("x-kubernetes-")
            || matches!(
                keyword,
                "type"
                    | "properties"
                    | "additionalProperties"
                    | "items"
                    | "required"
                    | "not"
                    | "nullable"
                    | "description"
                    | "default"
                    | "example"
                    | "externalDocs"
            )
    };
    match node.keys().find(|keyword| !known(keyword)) {
        Some(keyword) => Err(broken(at, format!("`{keyword}` is no keyword of Kubernetes"))),
        None => Ok(()),
    }
}

fn shape(node: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let on = |keyword: &str| node.get(keyword) == Some(&Value::Bool(true));
    match node.get("type") {
        Some(Value::String(name)) => {
            if !["string", "integer", "number", "boolean", "array", "object"].contains(&name.as_str()) {
                return Err(broken(at, format!("`{name}` is no type")));
            }
            if on(INT_OR_STRING) {
                return Err(broken(at, "int-or-string has no `type`"));
            }
            if name == "array" && !node.contains_key("items") {
                return Err(broken(at, "a list needs `items`"));
            }
        }
        Some(other) => return Err(broken(at, format!("`type` is {other}, not one name"))),
        None if on(INT_OR_STRING) || on(PRESERVE) => {}
        None => return Err(broken(at, "no `type`, and neither int-or-string nor open")),
    }
    if on(INT_OR_STRING) && on(PRESERVE) {
        return Err(broken(at, "int-or-string has no unknown fields to preserve"));
    }
    let fields = children(node, "properties").next().is_some();
    if fields && node.contains_key("additionalProperties") {
        return Err(broken(at, "`properties` beside `additionalProperties`"));
    }
    Ok(())
}

fn extensions(node: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let is = |name: &str| node.get("type") == Some(&json!(name));
    if node.contains_key("x-kubernetes-list-type") && !is("array") {
        return Err(broken(at, "`x-kubernetes-list-type` belongs on a list"));
    }
    if node.contains_key("x-kubernetes-map-type") && !is("object") {
        return Err(broken(at, "`x-kubernetes-map-type` belongs on an object"));
    }
    if node.contains_key("x-kubernetes-embedded-resource") {
        let said = node.contains_key(PRESERVE) || children(node, "properties").next().is_some();
        if !is("object") || !said {
            return Err(broken(at, "an embedded resource is an object with fields, or open"));
        }
    }
    let Some(keys) = node.get("x-kubernetes-list-map-keys").and_then(Value::as_array) else { return Ok(()) };
    if node.get("x-kubernetes-list-type") != Some(&json!("map")) {
        return Err(broken(at, "`x-kubernetes-list-map-keys` needs `x-kubernetes-list-type: map`"));
    }
    let empty = Map::new();
    let items = node.get("items").and_then(Value::as_object).unwrap_or(&empty);
    let declared = |key: &Value| children(items, "properties").any(|(name, _)| key == name);
    match keys.iter().find(|key| !declared(key)) {
        Some(key) => Err(broken(at, format!("the list's map key {key} is no field of its items"))),
        None => Ok(()),
    }
}

/// `node` is checked as a branch; `declared` is what is said outside for the same value.
fn junctors(node: &Node, declared: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    let lists = JUNCTORS.iter().filter_map(|keyword| node.get(*keyword)?.as_array()).flatten();
    for branch in lists.chain(node.get("not")) {
        let branch = node_of(branch, at)?;
        nested(branch, declared, at)?;
    }
    Ok(())
}

fn nested(branch: &Node, declared: &Node, at: &FieldPath) -> Result<(), SchemaError> {
    for keyword in branch.keys() {
        let allowed = VALUE_KEYWORDS.contains(&keyword.as_str())
            || JUNCTORS.contains(&keyword.as_str())
            || matches!(keyword.as_str(), "required" | "properties" | "items" | "not");
        if !allowed {
            let place = if keyword == VALIDATIONS { "a rule" } else { "a keyword" };
            return Err(broken(
                at,
                format!("`{keyword}` is {place} that may not stand inside allOf, anyOf, oneOf or not"),
            ));
        }
    }
    for (name, field) in children(branch, "properties") {
        let at = at.field(name);
        let outside = declared.get("properties").and_then(|fields| fields.get(name)?.as_object());
        let Some(outside) = outside else {
            return Err(broken(&at, "is named in a branch and not declared outside"));
        };
        if name == "metadata" {
            return Err(broken(&at, "a branch may not speak of `metadata`"));
        }
        nested(node_of(field, &at)?, outside, &at)?;
    }
    if let Some(items) = branch.get("items") {
        let at = at.item();
        let Some(Value::Object(outside)) = declared.get("items") else {
            return Err(broken(&at, "is named in a branch and not declared outside"));
        };
        nested(node_of(items, &at)?, outside, &at)?;
    }
    junctors(branch, declared, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_checked() {
        let text = json!({ "type": "string" });
        let with = |field: Value| json!({ "type": "object", "properties": { "a": field } });
        let rows = [
            (with(text.clone()), ""),
            (with(json!({ INT_OR_STRING: true })), ""),
            (with(json!({ PRESERVE: true })), ""),
            (with(json!({})), "a: is not structural: no `type`"),
            (with(json!({ "type": ["string", "null"] })), "a: is not structural: `type` is"),
            (with(json!({ "type": "null" })), "a: is not structural: `null` is no type"),
            (with(json!({ "type": "array" })), "a: is not structural: a list needs `items`"),
            (with(json!({ "type": "string", "const": "x" })), "a: is not structural: `const` is no keyword"),
            (with(json!({ "$ref": "#/x" })), "a: is not structural: `$ref` is no keyword"),
            (
                with(json!({ "type": "array", "items": text, "uniqueItems": true })),
                "a: is not structural: `uniqueItems`",
            ),
            (
                with(json!({ "type": "object", "properties": { "b": text }, "additionalProperties": text })),
                "a: is not structural: `properties` beside",
            ),
            (
                with(json!({ "type": "string", "anyOf": [{ "type": "string" }] })),
                "a: is not structural: `type` is a keyword that may not",
            ),
            (
                with(json!({ "type": "object", "oneOf": [{ "x-kubernetes-validations": [] }] })),
                "a: is not structural: `x-kubernetes-validations` is a rule",
            ),
            (
                with(json!({ "type": "object", "oneOf": [{ "properties": { "b": {} } }] })),
                "a.b: is not structural: is named in a branch",
            ),
            (
                with(json!({ "type": "string", "default": 1 })),
                "a: the default 1 does not fit its schema: 1 is of type integer",
            ),
            (
                with(json!({ "type": "object", "additionalProperties": { "type": "array", "items": {} } })),
                "a{}[]: is not structural: no `type`",
            ),
            (
                with(json!({ "type": "string", "x-kubernetes-list-type": "set" })),
                "a: is not structural: `x-kubernetes-list-type` belongs",
            ),
            (
                with(
                    json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }),
                ),
                "a: is not structural: the list's map key \"k\"",
            ),
        ];
        for (schema, message) in rows {
            let found = check(&schema).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(found.starts_with(message) && (found.is_empty() == message.is_empty()), "{found}");
        }
    }
}
