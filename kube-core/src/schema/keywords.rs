//! Which keywords of a JSON Schema Kubernetes has, which may be left out, and which must not be lost in silence.

use serde_json::Value;

use super::{FieldPath, Node, Problem, SchemaError};

/// Keeps fields that the schema does not name.
pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// Takes an integer or a string.
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// CEL rules.
pub(super) const VALIDATIONS: &str = "x-kubernetes-validations";

/// Extensions that the API server reads.
pub(super) const EXTENSIONS: [&str; 7] = [
    PRESERVE,
    INT_OR_STRING,
    VALIDATIONS,
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// Keywords that restrict values and nothing else: all that may stand inside `allOf`, `anyOf`, `oneOf` and `not`, beside
/// `properties`, `items` and those four themselves.
pub(super) const VALUE_KEYWORDS: [&str; 14] = [
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "enum",
];

/// What else stays.
const STRUCTURE: [&str; 14] = [
    "type",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "nullable",
    "description",
    "default",
    "example",
    "externalDocs",
];

/// Keywords that `node` turns into others before this table is read.
const REWRITTEN: [&str; 5] =
    ["const", "prefixItems", "patternProperties", "unevaluatedProperties", "additionalItems"];

/// Restrictions that would be lost, with what to write instead.
const REFUSED: [(&str, &str); 9] = [
    ("if", "; write a CEL rule"),
    ("then", "; write a CEL rule"),
    ("else", "; write a CEL rule"),
    ("dependentSchemas", "; write a CEL rule"),
    ("dependentRequired", "; write a CEL rule (`!has(self.a) || has(self.b)`)"),
    ("dependencies", "; write a CEL rule"),
    ("contains", "; write a CEL rule (`self.exists(x, ...)`)"),
    ("$dynamicRef", ""),
    ("$recursiveRef", ""),
];

/// Drops the keywords that say nothing to the API server (titles, examples, `uniqueItems`, unknown `x-...`), and refuses
/// those whose loss would change what is accepted, misspelt extensions of Kubernetes included.
pub(super) fn sift(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    for keyword in node.keys() {
        if let Some((_, hint)) = REFUSED.iter().find(|(refused, _)| refused == keyword) {
            return Err(at.error(Problem::Unsupported { keyword: keyword.clone(), hint }));
        }
        if keyword.starts_with("x-kubernetes-") && !EXTENSIONS.contains(&keyword.as_str()) {
            let hint = "; extensions are -preserve-unknown-fields, -int-or-string, -validations, -embedded-resource, \
                        -list-type, -list-map-keys and -map-type";
            return Err(at.error(Problem::Unsupported { keyword: keyword.clone(), hint }));
        }
    }
    node.retain(|keyword, value| {
        let keyword = keyword.as_str();
        // A switch that is off says the same as its absence, and the server forbids some of them to be false.
        let off = EXTENSIONS.contains(&keyword) && *value == Value::Bool(false);
        let null_default = keyword == "default" && value.is_null();
        !off && !null_default
            && (EXTENSIONS.contains(&keyword)
                || VALUE_KEYWORDS.contains(&keyword)
                || STRUCTURE.contains(&keyword)
                || REWRITTEN.contains(&keyword))
    });
    Ok(())
}

/// Says nothing about values: no keyword but notes for people.
pub(super) fn is_only_notes(node: &Node) -> bool {
    node.keys().all(|keyword| is_note(keyword))
}

/// Notes for people, and defaults: what a branch may differ in without being another schema.
pub(super) fn is_note(keyword: &str) -> bool {
    matches!(keyword, "description" | "default" | "example" | "externalDocs")
}

/// Null fits, beside what else does.
pub(super) fn is_nullable(node: &Node) -> bool {
    node.get("nullable") == Some(&Value::Bool(true))
}

/// Anything fits: kept as it is, whatever it holds.
pub(super) fn is_anything(node: &Node) -> bool {
    node.get(PRESERVE) == Some(&Value::Bool(true))
        && !node.contains_key("type")
        && !node.contains_key("properties")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sifted(schema: Value) -> Result<Value, String> {
        let Value::Object(mut node) = schema else { panic!("not an object") };
        sift(&mut node, &FieldPath::root()).map_err(|error| error.to_string())?;
        Ok(Value::Object(node))
    }

    #[test]
    fn keywords_are_kept_or_dropped() {
        let rows = [
            (
                json!({ "$schema": "s", "title": "T", "$id": "i", "examples": [1], "type": "string" }),
                json!({ "type": "string" }),
            ),
            (json!({ "uniqueItems": true, "deprecated": true, "readOnly": true, "x-mine": 1 }), json!({})),
            (
                json!({ "description": "d", "default": 1, "pattern": "p" }),
                json!({ "description": "d", "default": 1, "pattern": "p" }),
            ),
            (json!({ "default": null, PRESERVE: false }), json!({})),
            (json!({ "x-kubernetes-map-type": "atomic" }), json!({ "x-kubernetes-map-type": "atomic" })),
        ];
        for (schema, expected) in rows {
            assert_eq!(sifted(schema), Ok(expected));
        }
    }

    #[test]
    fn restrictions_are_not_lost_in_silence() {
        let rows = [
            (
                json!({ "dependentRequired": {} }),
                "`dependentRequired` has no form in Kubernetes; write a CEL rule",
            ),
            (
                json!({ "x-kubernetes-validation": [] }),
                "`x-kubernetes-validation` has no form in Kubernetes; extensions are",
            ),
        ];
        for (schema, message) in rows {
            let error = sifted(schema).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
