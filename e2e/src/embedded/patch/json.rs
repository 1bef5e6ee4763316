//! JSON patch (RFC 6902) as the server does it, which is not quite as the RFC says.
//!
//! In: a document and the bytes of a patch. Out: the patched document, or that the patch does not apply, of
//! which the server tells no more. Other than in the RFC: `test` of null passes where there is nothing;
//! `replace` of an absent field and `copy` of one write; a missing `value` is null; negative places count
//! from the end; and `test` compares texts, so that `1.0` is not `1`, and a `<` that is not escaped is not
//! the server's, which is.
//!
//! Written out here, and not with a crate for the RFC, for those differences: they touch each of the
//! operations.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Value, value::RawValue};

use super::{PatchError, go_json, json_kind};

/// The most operations of one patch. The server's number.
const MAX_OPERATIONS: usize = 10_000;

/// How many bytes the `copy` operations of one patch may write. The server's number.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// One operation: its fields, not yet read, for `test` is about texts.
type Operation = BTreeMap<String, Box<RawValue>>;

/// An operation failed. The server does not say which.
#[derive(Debug)]
struct Failed;

/// Patches a document. `strict` (field validation `Warn` or `Strict`) checks the form of operations, and
/// returns what is odd about it, in the words that follow `json patch `.
///
/// # Errors
/// The patch is no patch, is too long, or does not apply. Then the document may be patched in part.
pub(in super::super) fn json_patch(
    document: &mut Value,
    patch: &[u8],
    strict: bool,
) -> Result<Vec<String>, PatchError> {
    let operations: Vec<Option<Operation>> = match serde_json::from_slice::<Option<_>>(patch) {
        Ok(operations) => operations.unwrap_or_default(),
        Err(_) => return Err(not_a_patch(patch, strict)),
    };
    let mut odd = Vec::new();
    if strict {
        for (index, operation) in operations.iter().enumerate() {
            check(index, operation.iter().flatten(), &mut odd)?;
        }
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut copied = 0;
    for operation in &operations {
        apply(document, operation.as_ref().ok_or(Failed)?, &mut copied)?;
    }
    Ok(odd)
}

impl From<Failed> for PatchError {
    fn from(_: Failed) -> Self {
        Self::Unprocessable
    }
}

fn not_a_patch(patch: &[u8], strict: bool) -> PatchError {
    let (prefix, list, item) = if strict {
        ("error decoding patch: ", "[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    } else {
        ("", "jsonpatch.Patch", "jsonpatch.Operation")
    };
    let message = match serde_json::from_slice(patch) {
        Err(_) => return PatchError::not_json(),
        Ok(Value::Array(items)) => {
            let odd = items.iter().find(|item| !item.is_object() && !item.is_null());
            format!("json: cannot unmarshal {} into Go value of type {item}", odd.map_or("null", json_kind))
        }
        Ok(other) => format!("json: cannot unmarshal {} into Go value of type {list}", json_kind(&other)),
    };
    PatchError::BadRequest(format!("{prefix}{message}"))
}

fn check<'a>(
    index: usize,
    fields: impl Iterator<Item = (&'a String, &'a Box<RawValue>)>,
    odd: &mut Vec<String>,
) -> Result<(), PatchError> {
    for (name, raw) in fields {
        match name.as_str() {
            "value" => {}
            "op" | "path" | "from" => match serde_json::from_str(raw.get()) {
                Ok(Value::String(_) | Value::Null) | Err(_) => {}
                Ok(other) => {
                    return Err(PatchError::BadRequest(format!(
                        "error decoding patch: json: cannot unmarshal {} into \
                         Go struct field jsonPatchOp.{name} of type string",
                        json_kind(&other)
                    )));
                }
            },
            _ => odd.push(format!("unknown field \"[{index}].{name}\"")),
        }
    }
    Ok(())
}

fn apply(document: &mut Value, operation: &Operation, copied: &mut usize) -> Result<(), Failed> {
    let text = |field: &str| -> Result<String, Failed> {
        serde_json::from_str(operation.get(field).ok_or(Failed)?.get()).map_err(|_| Failed)
    };
    let raw = operation.get("value").map_or("null", |raw| raw.get());
    let value = || serde_json::from_str::<Value>(raw).map_err(|_| Failed);
    let path = text("path");
    match text("op")?.as_str() {
        "add" => add(document, &path?, value()?),
        "remove" => remove(document, &path?).map(drop),
        "replace" => replace(document, &path?, value()?),
        "move" => {
            let value = remove(document, &text("from")?)?;
            add(document, &path?, value)
        }
        "copy" => {
            let value = get(document, &text("from")?)?.cloned().unwrap_or_default();
            *copied += go_json(&value).len();
            if *copied > MAX_COPIED {
                return Err(Failed);
            }
            add(document, &path?, value)
        }
        "test" => {
            let path = path?;
            let found = if path.is_empty() { Some(&*document) } else { get(document, &path)? };
            if same(found.unwrap_or(&Value::Null), raw) { Ok(()) } else { Err(Failed) }
        }
        _ => Err(Failed),
    }
}

/// The steps of a path but the last, and the last. The document as a whole has none.
fn steps(path: &str) -> Result<(impl Iterator<Item = Cow<'_, str>>, Cow<'_, str>), Failed> {
    let (parents, last) = path.rsplit_once('/').ok_or(Failed)?;
    // What is before the first slash is not looked at, as the server does not.
    Ok((parents.split('/').skip(1).map(unescape), unescape(last)))
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// What a step leads to: nothing, for an absent field; a failure, for a place that cannot be.
fn child<'a>(value: &'a Value, step: &str) -> Result<Option<&'a Value>, Failed> {
    match value {
        Value::Object(fields) => Ok(fields.get(step)),
        Value::Array(items) => Ok(items.get(place(step, items.len(), items.len())?)),
        _ => Err(Failed),
    }
}

/// The index that a step means in a list, below `end`.
fn place(step: &str, length: usize, end: usize) -> Result<usize, Failed> {
    let place: i64 = step.parse().map_err(|_| Failed)?;
    let place = if place < 0 {
        usize::try_from(place.unsigned_abs()).ok().and_then(|back| length.checked_sub(back))
    } else {
        usize::try_from(place).ok()
    };
    place.filter(|place| *place < end).ok_or(Failed)
}

fn get<'a>(document: &'a Value, path: &str) -> Result<Option<&'a Value>, Failed> {
    let (parents, last) = steps(path)?;
    let mut parent = document;
    for step in parents {
        parent = child(parent, &step)?.ok_or(Failed)?;
    }
    child(parent, &last)
}

fn parent<'a, 'p>(document: &'a mut Value, path: &'p str) -> Result<(&'a mut Value, Cow<'p, str>), Failed> {
    let (parents, last) = steps(path)?;
    let mut parent = document;
    for step in parents {
        parent = match parent {
            Value::Object(fields) => fields.get_mut(&*step).ok_or(Failed)?,
            Value::Array(items) => {
                let place = place(&step, items.len(), items.len())?;
                &mut items[place]
            }
            _ => return Err(Failed),
        };
    }
    Ok((parent, last))
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    let (parent, last) = parent(document, path)?;
    match parent {
        Value::Object(fields) => {
            fields.insert(last.into_owned(), value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let end = items.len() + 1;
            items.insert(place(&last, end, end)?, value);
        }
        _ => return Err(Failed),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, Failed> {
    let (parent, last) = parent(document, path)?;
    match parent {
        Value::Object(fields) => fields.remove(&*last).ok_or(Failed),
        Value::Array(items) => {
            let place = place(&last, items.len(), items.len())?;
            Ok(items.remove(place))
        }
        _ => Err(Failed),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(Failed);
        }
        *document = value;
        return Ok(());
    }
    let (parent, last) = parent(document, path)?;
    match parent {
        Value::Object(fields) => {
            fields.insert(last.into_owned(), value);
        }
        Value::Array(items) => {
            let place = place(&last, items.len(), items.len())?;
            items[place] = value;
        }
        _ => return Err(Failed),
    }
    Ok(())
}

/// Whether a value is the one of a text, leaf by leaf as the server would write it.
fn same(value: &Value, raw: &str) -> bool {
    match value {
        Value::Object(fields) => {
            let Ok(sent) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else { return false };
            fields.len() == sent.len()
                && fields.iter().all(|(name, value)| sent.get(name).is_some_and(|raw| same(value, raw.get())))
        }
        Value::Array(items) => {
            let Ok(sent) = serde_json::from_str::<Vec<&RawValue>>(raw) else { return false };
            items.len() == sent.len() && items.iter().zip(sent).all(|(item, raw)| same(item, raw.get()))
        }
        leaf => go_json(leaf) == raw.trim(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(document: &Value, patch: &str) -> Result<Value, PatchError> {
        let mut document = document.clone();
        json_patch(&mut document, patch.as_bytes(), true).map(|_| document)
    }

    /// `None`: the server says 422.
    #[test]
    fn operations_do_what_the_server_does() {
        for (document, patch, expected) in [
            (json!({ "a": 1 }), r#"[{"op":"add","path":"/b","value":2}]"#, Some(json!({ "a": 1, "b": 2 }))),
            (json!({ "a": 1 }), r#"[{"op":"add","path":"/a","value":{}}]"#, Some(json!({ "a": {} }))),
            (json!({}), r#"[{"op":"add","path":"/b"}]"#, Some(json!({ "b": null }))),
            (json!({}), r#"[{"op":"add","path":"/a/b","value":2}]"#, None),
            (json!({ "a": "s" }), r#"[{"op":"add","path":"/a/b","value":2}]"#, None),
            (json!({}), r#"[{"op":"add","path":"","value":{}}]"#, None),
            (json!({}), r#"[{"op":"add","value":{}}]"#, None),
            (json!({}), r#"[{"op":"add","path":"b","value":{}}]"#, None),
            (
                json!({ "a": [1, 3] }),
                r#"[{"op":"add","path":"/a/1","value":2}]"#,
                Some(json!({ "a": [1, 2, 3] })),
            ),
            (json!({ "a": [1] }), r#"[{"op":"add","path":"/a/1","value":2}]"#, Some(json!({ "a": [1, 2] }))),
            (json!({ "a": [1] }), r#"[{"op":"add","path":"/a/-","value":2}]"#, Some(json!({ "a": [1, 2] }))),
            (json!({ "a": [1] }), r#"[{"op":"add","path":"/a/-1","value":2}]"#, Some(json!({ "a": [1, 2] }))),
            (json!({ "a": [1] }), r#"[{"op":"add","path":"/a/2","value":2}]"#, None),
            (json!({ "a": [1] }), r#"[{"op":"add","path":"/a/x","value":2}]"#, None),
            (json!({ "a/b~": 1 }), r#"[{"op":"remove","path":"/a~1b~0"}]"#, Some(json!({}))),
            (json!({}), r#"[{"op":"remove","path":"/a"}]"#, None),
            (json!({ "a": [1, 2] }), r#"[{"op":"remove","path":"/a/-2"}]"#, Some(json!({ "a": [2] }))),
            (json!({ "a": [1] }), r#"[{"op":"remove","path":"/a/-"}]"#, None),
            (json!({}), r#"[{"op":"replace","path":"/a","value":1}]"#, Some(json!({ "a": 1 }))),
            (json!({ "a": [1] }), r#"[{"op":"replace","path":"/a/0","value":2}]"#, Some(json!({ "a": [2] }))),
            (json!({ "a": [1] }), r#"[{"op":"replace","path":"/a/1","value":2}]"#, None),
            (json!({ "a": 1 }), r#"[{"op":"replace","path":"","value":{}}]"#, Some(json!({}))),
            (json!({ "a": 1 }), r#"[{"op":"replace","path":"","value":3}]"#, None),
            (json!({ "a": 1 }), r#"[{"op":"move","from":"/a","path":"/b"}]"#, Some(json!({ "b": 1 }))),
            (json!({}), r#"[{"op":"move","from":"/a","path":"/b"}]"#, None),
            (
                json!({ "a": 1 }),
                r#"[{"op":"copy","from":"/a","path":"/b"}]"#,
                Some(json!({ "a": 1, "b": 1 })),
            ),
            (json!({}), r#"[{"op":"copy","from":"/a","path":"/b"}]"#, Some(json!({ "b": null }))),
            (json!({}), r#"[{"op":"copy","path":"/b"}]"#, None),
            (json!({}), r#"[{"op":"shrug","path":"/b"}]"#, None),
            (json!({}), r#"[{"path":"/b"}]"#, None),
            (json!({}), "[null]", None),
            (json!({}), "[]", Some(json!({}))),
            (json!({}), "null", Some(json!({}))),
        ] {
            let expected = expected.ok_or(PatchError::Unprocessable);
            assert_eq!(patched(&document, patch), expected, "{document} {patch}");
        }
    }

    #[test]
    fn a_test_compares_texts() {
        let document = json!({ "a": { "x": 1, "l": ["s", true] }, "lt": "a<b", "n": null });
        for (path, value, passes) in [
            ("/a", r#" { "l" : ["s", true] , "x" : 1 }"#, true),
            ("/a", r#"{"l":["s"],"x":1}"#, false),
            ("/a", r#"{"l":["s",true]}"#, false),
            ("/a/x", "1", true),
            ("/a/x", "1.0", false),
            ("/a/x", r#""1""#, false),
            ("/a/l/-1", "true", true),
            ("/a/l/2", "null", false),
            ("/lt", r#""a\u003cb""#, true),
            ("/lt", r#""a<b""#, false),
            ("/none", "null", true),
            ("/none", "1", false),
            ("/n", "null", true),
            ("/none/x", "null", false),
            ("", r#"{"a":1}"#, false),
        ] {
            let patch = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
            assert_eq!(patched(&document, &patch).is_ok(), passes, "{patch}");
        }
        let without_value = r#"[{"op":"test","path":"/none"}]"#;
        assert!(patched(&document, without_value).is_ok());
    }

    #[test]
    fn what_is_no_patch_is_refused_in_the_words_of_the_server() {
        for (patch, strict, message) in [
            ("x", true, "invalid JSON patch"),
            ("", true, "invalid JSON patch"),
            (
                r#"{"op":"add"}"#,
                true,
                "error decoding patch: json: cannot unmarshal object into Go value of type \
                 []handlers.jsonPatchOp",
            ),
            (r#"{"op":"add"}"#, false, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
            (
                "[3]",
                true,
                "error decoding patch: json: cannot unmarshal number into Go value of type \
                 handlers.jsonPatchOp",
            ),
            (
                r#"[{"op":"add","path":5}]"#,
                true,
                "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path \
                 of type string",
            ),
        ] {
            let refused = json_patch(&mut json!({}), patch.as_bytes(), strict);
            assert_eq!(refused, Err(PatchError::BadRequest(message.into())), "{patch}");
        }
    }

    #[test]
    fn unknown_fields_of_operations_are_told_if_somebody_wants_to_know() {
        let patch = br#"[{"op":"add","path":"/a","value":1,"zz":1,"y":1}]"#;
        let mut document = json!({});
        let odd = json_patch(&mut document, patch, true).expect("a patch");
        assert_eq!(odd, ["unknown field \"[0].y\"", "unknown field \"[0].zz\""]);
        assert_eq!(json_patch(&mut document, patch, false), Ok(vec![]));
    }

    #[test]
    fn patches_are_limited() {
        let operation = r#"{"op":"test","path":"/none","value":null}"#;
        let many = |n: usize| format!("[{}]", vec![operation; n].join(","));
        assert_eq!(patched(&json!({}), &many(MAX_OPERATIONS)), Ok(json!({})));
        let message = "The allowed maximum operations in a JSON patch is 10000, got 10001";
        assert_eq!(patched(&json!({}), &many(MAX_OPERATIONS + 1)), Err(PatchError::TooLarge(message.into())));

        let document = json!({ "a": "x".repeat(MAX_COPIED / 2 - 2) });
        let copy = r#"{"op":"copy","from":"/a","path":"/b"}"#;
        assert!(patched(&document, &format!("[{copy},{copy}]")).is_ok());
        assert_eq!(patched(&document, &format!("[{copy},{copy},{copy}]")), Err(PatchError::Unprocessable));
    }
}
