//! `oneOf` and `anyOf`: what schemars makes of `Option` and of enums.
//!
//! | Rust | schemars writes | becomes |
//! |---|---|---|
//! | `Option<T>` | `T` or null | `T`, nullable (an enum: see `finish`) |
//! | unit variants | one string each (when documented) | one string `enum`, the docs as a list in its description |
//! | external tags | one object with one field each | all fields, `oneOf` of `required` |
//! | internal and adjacent tags | objects with a constant field | all fields, the tag an `enum`, `oneOf` of tag value and `required` |
//! | untagged | anything | one type with all fields, `anyOf` of values and `required`; several types: refused |
//!
//! Where only some unit variants are documented, schemars puts the others first, and so does the `enum` here: the order of
//! declaration is not in its output. It has no meaning to the server.
//!
//! Kubernetes wants every field declared outside the branches, and no types inside: `unite` makes the declaration,
//! `nested` what remains of each branch. Where a branch asks for nothing beyond it, no branches remain at all.

use serde_json::{Value, json};

use super::{
    FieldPath, Node, Problem, SchemaError,
    keywords::{INT_OR_STRING, PRESERVE, is_only_notes},
    merge::merge,
    nested::nested,
    node::branch,
    types::is_null,
    unite::unite,
};

/// Adds the alternatives under `keyword` to a node whose other keywords are rewritten.
pub(super) fn branches(
    mut node: Node,
    keyword: &str,
    list: Vec<Value>,
    at: &FieldPath,
) -> Result<Node, SchemaError> {
    let count = list.len();
    let mut alternatives: Vec<Node> = list
        .into_iter()
        .filter(|schema| !is_null(schema))
        .map(|schema| branch(schema, at))
        .collect::<Result<_, _>>()?;
    if alternatives.len() < count {
        node.insert("nullable".into(), json!(true));
    }
    if alternatives.len() <= 1 {
        let only = alternatives.pop().ok_or_else(|| at.error(Problem::OnlyNull))?;
        return merge(node, only, at);
    }
    let shaped = node.contains_key("type") || node.contains_key(INT_OR_STRING);
    if !shaped && alternatives.iter().any(is_only_notes) {
        node.insert(PRESERVE.into(), json!(true));
        node.insert("nullable".into(), json!(true));
        return Ok(node);
    }
    refuse_unit_variants(&alternatives, at)?;
    let constants = alternatives.iter().all(is_constant);
    if constants {
        let list = described(&alternatives, |alternative| alternative.get("enum"));
        add_to_description(&mut node, &list);
    } else {
        describe_variants(&mut alternatives);
    }
    for alternative in &mut alternatives {
        alternative.remove("description");
    }

    let mut each = alternatives.iter();
    let first = each.next().cloned().unwrap_or_default();
    let mut declared = each.try_fold(first, |all, one| unite(all, one, at))?;
    let rest =
        if constants || declared.contains_key(INT_OR_STRING) { None } else { rest(&alternatives, &declared) };
    if let Some(rest) = rest {
        // Branches that became equal hold together or not at all, which `oneOf` would never accept.
        let distinct =
            rest.iter().enumerate().all(|(i, one)| rest.iter().skip(i + 1).all(|other| other != one));
        let keyword = if distinct { keyword } else { "anyOf" };
        declared.insert(keyword.to_owned(), Value::Array(rest));
    }
    merge(node, declared, at)
}

/// What each alternative asks for beyond the declaration; `None` when one of them asks for nothing, so that all pass.
fn rest(alternatives: &[Node], declared: &Node) -> Option<Vec<Value>> {
    let rest: Vec<Node> = alternatives.iter().map(|alternative| nested(alternative, declared)).collect();
    let all = rest.iter().all(|rest| !rest.is_empty());
    all.then(|| rest.into_iter().map(Value::Object).collect())
}

/// An alternative that lists its values: a unit variant, or several.
fn is_constant(alternative: &Node) -> bool {
    alternative.contains_key("enum")
        && alternative
            .keys()
            .all(|keyword| matches!(keyword.as_str(), "type" | "enum" | "description" | "nullable"))
        && alternative.get("type").is_some_and(|name| name == "string" || name == "integer")
}

fn refuse_unit_variants(alternatives: &[Node], at: &FieldPath) -> Result<(), SchemaError> {
    let objects = alternatives.iter().any(|alternative| alternative.get("type") == Some(&json!("object")));
    let variants: Vec<String> = alternatives
        .iter()
        .filter(|alternative| is_constant(alternative))
        .filter_map(|alternative| alternative.get("enum")?.as_array())
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    if objects && !variants.is_empty() { Err(at.error(Problem::UnitVariants { variants })) } else { Ok(()) }
}

/// Gives the docs of variants a place outside the branches: the variant's own field, else the tag's description.
fn describe_variants(alternatives: &mut [Node]) {
    if let Some(tag) = tag(alternatives) {
        let list =
            described(alternatives, |alternative| alternative.get("properties")?.get(&tag)?.get("enum"));
        let field = alternatives
            .first_mut()
            .and_then(|first| first.get_mut("properties")?.get_mut(&tag)?.as_object_mut());
        if let Some(field) = field {
            add_to_description(field, &list);
        }
        return;
    }
    for alternative in alternatives {
        let Some(description) = alternative.get("description").cloned() else { continue };
        let Some(Value::Object(fields)) = alternative.get_mut("properties") else { continue };
        let mut all = fields.values_mut();
        if let (Some(Value::Object(only)), None) = (all.next(), all.next()) {
            only.insert("description".into(), description);
        }
    }
}

/// The field that holds one constant in every alternative.
fn tag(alternatives: &[Node]) -> Option<String> {
    let constant = |alternative: &Node, name: &str| {
        let values =
            alternative.get("properties").and_then(|fields| fields.get(name)?.get("enum")?.as_array());
        values.is_some_and(|values| values.len() == 1)
    };
    let fields = alternatives.first()?.get("properties")?.as_object()?;
    fields.keys().find(|name| alternatives.iter().all(|alternative| constant(alternative, name))).cloned()
}

/// One line for each documented alternative: "- `Name`: its docs".
fn described<'a>(alternatives: &'a [Node], values: impl Fn(&'a Node) -> Option<&'a Value>) -> Vec<String> {
    alternatives
        .iter()
        .filter_map(|alternative| {
            let text = alternative.get("description")?.as_str()?;
            let name = match values(alternative)?.as_array()?.first()? {
                Value::String(name) => name.clone(),
                other => other.to_string(),
            };
            Some(format!("- `{name}`: {text}"))
        })
        .collect()
}

fn add_to_description(node: &mut Node, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let own = node.get("description").and_then(Value::as_str).map(str::to_owned);
    let list = lines.join("\n");
    let text = own.map_or_else(|| list.clone(), |own| format!("{own}\n\n{list}"));
    node.insert("description".into(), json!(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branched(keyword: &str, list: &Value) -> Result<Value, String> {
        let list = list.as_array().cloned().unwrap_or_default();
        branches(Node::new(), keyword, list, &FieldPath::root())
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    fn tagged(tag: &str, name: &str, more: &Value) -> Value {
        let mut fields = more.as_object().cloned().unwrap_or_default();
        let mut required: Vec<&str> = vec![tag];
        required.extend(more.as_object().into_iter().flatten().map(|(name, _)| name.as_str()));
        let required = json!(required);
        fields.insert(tag.into(), json!({ "type": "string", "const": name }));
        json!({ "type": "object", "properties": fields, "required": required })
    }

    #[test]
    fn null_is_nullable() {
        let rows = [
            (
                json!([{ "type": "string" }, { "type": "null" }]),
                json!({ "type": "string", "nullable": true }),
            ),
            (
                json!([{ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
                      "properties": { "a": { "type": "string" }, "b": { "type": "string" } } }, { "type": "null" }]),
                json!({ "type": "object", "nullable": true, "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
                     "properties": { "a": { "type": "string" }, "b": { "type": "string" } } }),
            ),
        ];
        for (list, expected) in rows {
            assert_eq!(branched("anyOf", &list), Ok(expected));
        }
        assert!(
            branched("anyOf", &json!([{ "type": "null" }])).unwrap_err().contains("null is its only value")
        );
    }

    #[test]
    fn constants_become_one_enum_with_their_docs() {
        let list = json!([
            { "type": "string", "const": "Pending", "description": "Waits." },
            { "type": "string", "enum": ["Failed"] },
            { "type": "string", "const": "Done", "description": "Over." },
        ]);
        assert_eq!(
            branched("oneOf", &list),
            Ok(
                json!({ "type": "string", "enum": ["Pending", "Failed", "Done"], "description": "- `Pending`: Waits.\n- `Done`: Over." })
            )
        );
    }

    #[test]
    fn external_tags_are_declared_outside() {
        let list = json!([
            { "type": "object", "properties": { "git": { "type": "object", "description": "type" } }, "required": ["git"], "additionalProperties": false, "description": "variant" },
            { "type": "object", "properties": { "bucket": { "type": "string" } }, "required": ["bucket"], "additionalProperties": false },
        ]);
        assert_eq!(
            branched("oneOf", &list),
            Ok(json!({
                "type": "object",
                "properties": { "git": { "type": "object", "description": "variant" }, "bucket": { "type": "string" } },
                "oneOf": [{ "required": ["git"] }, { "required": ["bucket"] }],
            }))
        );
    }

    #[test]
    fn tags_are_one_enum_and_tell_the_branches_apart() {
        let list = json!([
            tagged("kind", "A", &json!({ "a": { "type": "string" }, "c": { "type": "boolean" } })),
            tagged("kind", "B", &json!({ "b": { "type": "integer" }, "c": { "type": "boolean" } })),
        ]);
        assert_eq!(
            branched("oneOf", &list),
            Ok(json!({
                "type": "object",
                "properties": {
                    "kind": { "type": "string", "enum": ["A", "B"] },
                    "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "boolean" },
                },
                "required": ["kind", "c"],
                "oneOf": [
                    { "properties": { "kind": { "enum": ["A"] } }, "required": ["a"] },
                    { "properties": { "kind": { "enum": ["B"] } }, "required": ["b"] },
                ],
            }))
        );
    }

    #[test]
    fn untagged_is_one_type_or_refused() {
        let rows = [
            (
                json!([{ "type": "integer", "format": "int32" }, { "type": "string" }]),
                json!({ INT_OR_STRING: true }),
            ),
            (json!([{ "type": "string", "enum": ["a"] }, { "type": "string" }]), json!({ "type": "string" })),
            (json!([{ "type": "string" }, {}]), json!({ PRESERVE: true, "nullable": true })),
            (
                json!([
                   { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
                   { "type": "object", "properties": { "b": { "type": "string" } }, "required": ["b"] },
                ]),
                json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                     "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            ),
        ];
        for (list, expected) in rows {
            assert_eq!(branched("anyOf", &list), Ok(expected));
        }
        let error = branched(
            "anyOf",
            &json!([{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]),
        )
        .unwrap_err();
        assert!(error.contains("may be string or array"), "{error}");
    }

    #[test]
    fn unit_variants_beside_others_are_refused_with_the_way_out() {
        let list = json!([
            { "type": "string", "enum": ["Nothing"] },
            { "type": "object", "properties": { "some": { "type": "string" } }, "required": ["some"] },
        ]);
        let error = branched("oneOf", &list).unwrap_err();
        assert!(
            error.contains("the variants `Nothing` are plain strings") && error.contains("`Nothing {}`"),
            "{error}"
        );
    }
}
