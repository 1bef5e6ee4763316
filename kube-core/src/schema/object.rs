//! Objects, maps and tuples: `properties` or `additionalProperties`, never both, and one schema for all items.

use serde_json::{Value, json};

use super::{FieldPath, Node, SchemaError, keywords::PRESERVE, node::fragment, unite::unite};

/// Rewrites the children of a node, and says once what kind of object or list it is.
///
/// - Fields beside a map of others (`#[serde(flatten)]` of a map): declared fields, the others kept unknown.
/// - A map of anything: an object that keeps what is in it.
/// - A map with keys that are not strings (`patternProperties`): a map; what its keys look like is left unsaid.
/// - A tuple or an array of one type: a list; of several: refused, unless they make one type.
pub(super) fn object(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    properties(node, at)?;
    map_values(node, at)?;
    separate(node);
    items(node, at)
}

fn properties(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let Some(Value::Object(fields)) = node.get_mut("properties") else { return Ok(()) };
    for (name, field) in fields.iter_mut() {
        *field = Value::Object(fragment(field.take(), &at.field(name))?);
    }
    Ok(())
}

fn map_values(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let mut kinds: Vec<Value> = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .filter_map(|keyword| node.remove(*keyword))
        .collect();
    if let Some(Value::Object(patterns)) = node.remove("patternProperties") {
        kinds.extend(patterns.into_iter().map(|(_, schema)| schema));
    }
    // `false` forbids other keys; the server drops them, which is its way for every object.
    kinds.retain(|schema| *schema != Value::Bool(false));
    let mut values: Option<Node> = None;
    for kind in kinds {
        if kind == Value::Bool(true) || kind == json!({}) {
            node.insert(PRESERVE.into(), json!(true));
            return Ok(());
        }
        let kind = fragment(kind, &at.value())?;
        values = Some(match values {
            None => kind,
            Some(others) => unite(others, &kind, &at.value())?,
        });
    }
    if let Some(values) = values {
        node.insert("additionalProperties".into(), Value::Object(values));
    }
    Ok(())
}

/// Where fields and a map meet in one node, the fields stay and what else comes is kept unread.
pub(super) fn separate(node: &mut Node) {
    let fields = node.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    if fields && node.remove("additionalProperties").is_some() {
        node.insert(PRESERVE.into(), json!(true));
    }
}

fn items(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let rest = node.remove("additionalItems");
    let mut items = match node.remove("prefixItems") {
        Some(Value::Array(places)) => {
            // After the places of a tuple, `items` speaks of the rest of the list.
            let rest = node.remove("items").or(rest).filter(|rest| !rest.is_boolean());
            places
                .into_iter()
                .chain(rest)
                .map(|place| fragment(place, &at.item()))
                .collect::<Result<Vec<_>, _>>()?
        }
        _ => match node.remove("items") {
            Some(Value::Bool(false)) => vec![fragment(Value::Bool(true), &at.item())?],
            Some(items) => vec![fragment(items, &at.item())?],
            None => return Ok(()),
        },
    }
    .into_iter();
    if let Some(first) = items.next() {
        let one = items.try_fold(first, |all, place| unite(all, &place, &at.item()))?;
        node.insert("items".into(), Value::Object(one));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(schema: Value) -> Result<Value, String> {
        let Value::Object(mut node) = schema else { panic!("not an object") };
        object(&mut node, &FieldPath::root()).map_err(|error| error.to_string())?;
        Ok(Value::Object(node))
    }

    #[test]
    fn fields_or_a_map_never_both() {
        let text = json!({ "type": "string" });
        let rows = [
            (
                json!({ "properties": { "a": text }, "additionalProperties": false }),
                json!({ "properties": { "a": text } }),
            ),
            (json!({ "additionalProperties": false }), json!({})),
            (json!({ "additionalProperties": text }), json!({ "additionalProperties": text })),
            (json!({ "additionalProperties": true }), json!({ PRESERVE: true })),
            (json!({ "additionalProperties": {} }), json!({ PRESERVE: true })),
            (
                json!({ "properties": { "a": text }, "additionalProperties": text }),
                json!({ "properties": { "a": text }, PRESERVE: true }),
            ),
            (
                json!({ "properties": { "a": text }, "unevaluatedProperties": true }),
                json!({ "properties": { "a": text }, PRESERVE: true }),
            ),
            (
                json!({ "properties": {}, "additionalProperties": text }),
                json!({ "properties": {}, "additionalProperties": text }),
            ),
            (
                json!({ "patternProperties": { "^\\d+$": text }, "additionalProperties": false }),
                json!({ "additionalProperties": text }),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(rewritten(schema), Ok(expected));
        }
    }

    #[test]
    fn items_have_one_schema() {
        let (text, int) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        let rows = [
            (json!({ "items": text }), json!({ "items": text })),
            (
                json!({ "prefixItems": [text, text], "minItems": 2, "maxItems": 2 }),
                json!({ "items": text, "minItems": 2, "maxItems": 2 }),
            ),
            (
                json!({ "prefixItems": [text, int], "items": false }),
                json!({ "items": { "x-kubernetes-int-or-string": true } }),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(rewritten(schema), Ok(expected));
        }
        let error = rewritten(json!({ "prefixItems": [text, { "type": "boolean" }] })).unwrap_err();
        assert!(error.starts_with("[]: may be string or boolean"), "{error}");
    }
}
