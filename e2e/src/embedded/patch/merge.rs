//! JSON merge patch (RFC 7386) as the server does it.
//!
//! In: a document and a patch. Out: the patched document. Nulls take fields out, also out of objects that are
//! new, and out of those in lists that are new.

use serde_json::Value;

use super::PatchError;

/// Patches a document.
///
/// # Errors
/// The patch is not an object.
pub(in super::super) fn merge_patch(document: &mut Value, patch: Value) -> Result<(), PatchError> {
    match patch {
        Value::Object(_) => {
            merge(document, patch);
            Ok(())
        }
        Value::Null => Err(PatchError::BadRequest("Invalid JSON Patch".into())),
        other => Err(PatchError::BadRequest(format!("error decoding patch: {}", super::not_a_map(&other)))),
    }
}

fn merge(document: &mut Value, patch: Value) {
    match (document, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    fields.remove(&name);
                } else {
                    merge(fields.entry(name).or_insert(Value::Null), value);
                }
            }
        }
        (document, mut patch) => {
            drop_nulls(&mut patch);
            *document = patch;
        }
    }
}

/// Takes the fields that are null out of all objects; items of lists stay.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_says_what_changes() {
        for (document, patch, expected) in [
            (json!({ "a": 1 }), json!({}), json!({ "a": 1 })),
            (json!({ "a": 1 }), json!({ "b": 2 }), json!({ "a": 1, "b": 2 })),
            (json!({ "a": 1 }), json!({ "a": null, "b": null }), json!({})),
            (json!({ "a": { "b": 1, "c": 2 } }), json!({ "a": { "b": null } }), json!({ "a": { "c": 2 } })),
            (json!({ "a": [1, 2] }), json!({ "a": [3] }), json!({ "a": [3] })),
            (json!({ "a": 1 }), json!({ "a": { "b": null, "c": {} } }), json!({ "a": { "c": {} } })),
            (json!({}), json!({ "a": { "b": { "c": null } } }), json!({ "a": { "b": {} } })),
            (json!({}), json!({ "a": [null, { "b": null }] }), json!({ "a": [null, {}] })),
            (json!({ "a": { "b": 1 } }), json!({ "a": "s" }), json!({ "a": "s" })),
        ] {
            let mut patched = document.clone();
            merge_patch(&mut patched, patch.clone()).expect("an object");
            assert_eq!(patched, expected, "{document} {patch}");
        }
    }

    #[test]
    fn only_an_object_is_a_merge_patch() {
        for (patch, message) in [
            (json!(null), "Invalid JSON Patch"),
            (
                json!([]),
                "error decoding patch: json: cannot unmarshal array into Go value of type \
                 map[string]interface {}",
            ),
            (
                json!(3),
                "error decoding patch: json: cannot unmarshal number into Go value of type \
                 map[string]interface {}",
            ),
            (
                json!("s"),
                "error decoding patch: json: cannot unmarshal string into Go value of type \
                 map[string]interface {}",
            ),
        ] {
            let refused = merge_patch(&mut json!({}), patch);
            assert_eq!(refused, Err(PatchError::BadRequest(message.into())));
        }
    }
}
