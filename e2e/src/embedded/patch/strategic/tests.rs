//! The merge of one field `f` of each way to merge, as observed on the real server.

use serde_json::json;

use super::{
    super::super::shape::{ListKind, ObjectShape, Scalar},
    *,
};

const STRING: Shape = Shape::Scalar(Scalar::String);

fn list(item: Shape, patch: Option<PatchKey>) -> Shape {
    Shape::List { item: Box::new(item), kind: ListKind::Atomic, patch }
}

/// `m`: a map, `o`: an object with the same fields, `r`: one that is replaced, `p`: a plain list, `s`: a
/// merged list of strings, `l`: a list of objects merged by `name`, `bad`: one merged by nothing.
fn shape(depth: u8) -> Shape {
    let mut object = ObjectShape::default();
    let by = |key: Option<&str>| Some(PatchKey { merge_key: key.map(Into::into) });
    object.fields.insert("name".into(), STRING);
    object.fields.insert("m".into(), Shape::Map { value: Box::new(STRING), atomic: false });
    object.fields.insert("p".into(), list(STRING, None));
    object.fields.insert("s".into(), list(STRING, by(None)));
    if depth > 0 {
        object.fields.insert("o".into(), shape(depth - 1));
        object.fields.insert("r".into(), shape(depth - 1));
        object.fields.insert("l".into(), list(shape(depth - 1), by(Some("name"))));
        object.fields.insert("bad".into(), list(shape(depth - 1), by(None)));
    }
    object.replaced.push("r".into());
    Shape::Object(Box::new(object))
}

fn merged(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut document = document.clone();
    strategic(&Types::default(), &shape(2), &mut document, patch.clone()).map(|()| document)
}

#[track_caller]
fn table(rows: &[(Value, Value, Value)]) {
    for (document, patch, expected) in rows {
        assert_eq!(merged(document, patch), Ok(expected.clone()), "{document} {patch}");
    }
}

#[test]
fn objects_are_merged_and_plain_lists_replaced() {
    table(&[
        (json!({ "m": { "a": "1" } }), json!({ "m": { "b": "2" } }), json!({ "m": { "a": "1", "b": "2" } })),
        (json!({ "m": { "a": "1" } }), json!({ "m": { "a": null } }), json!({ "m": {} })),
        (json!({ "m": { "a": "1" } }), json!({ "m": null }), json!({})),
        (json!({}), json!({ "m": { "a": null, "b": "1" } }), json!({ "m": { "b": "1" } })),
        (
            json!({ "o": { "p": ["a"], "name": "n" } }),
            json!({ "o": { "p": ["b"] } }),
            json!({ "o": { "p": ["b"], "name": "n" } }),
        ),
        (
            json!({ "r": { "p": ["a"], "name": "n" } }),
            json!({ "r": { "p": ["b"] } }),
            json!({ "r": { "p": ["b"] } }),
        ),
        (json!({ "m": { "a": "1" } }), json!({ "m": 3 }), json!({ "m": 3 })),
        (json!({ "name": "a" }), json!(null), json!({ "name": "a" })),
    ]);
}

#[test]
fn directives_replace_and_delete() {
    table(&[
        (
            json!({ "m": { "a": "1" } }),
            json!({ "m": { "$patch": "replace", "b": "2" } }),
            json!({ "m": { "b": "2" } }),
        ),
        (json!({ "m": { "a": "1" } }), json!({ "m": { "$patch": "delete" } }), json!({ "m": {} })),
        (json!({}), json!({ "m": { "$patch": "delete" } }), json!({})),
        (
            json!({}),
            json!({ "o": { "m": { "$patch": "replace", "a": "1" }, "name": "n" } }),
            json!({ "o": { "name": "n" } }),
        ),
        (
            json!({ "o": { "name": "n", "p": ["a"] } }),
            json!({ "o": { "$retainKeys": ["p", "m"], "m": {} } }),
            json!({ "o": { "p": ["a"], "m": {} } }),
        ),
        (json!({ "name": "n" }), json!({ "$patch": "delete" }), json!({})),
    ]);
}

#[test]
fn lists_of_scalars_are_sets() {
    table(&[
        (json!({ "s": ["a", "b"] }), json!({ "s": ["c", "a"] }), json!({ "s": ["c", "a", "b"] })),
        (
            json!({ "s": ["a", "b"] }),
            json!({ "$deleteFromPrimitiveList/s": ["a", "x"] }),
            json!({ "s": ["b"] }),
        ),
        (
            json!({ "s": ["a", "b"] }),
            json!({ "$deleteFromPrimitiveList/s": ["a"], "s": ["c"] }),
            json!({ "s": ["c", "b"] }),
        ),
        (json!({}), json!({ "$deleteFromPrimitiveList/s": ["a"] }), json!({})),
        (json!({}), json!({ "$deleteFromPrimitiveList/s": ["a"], "s": ["a", "b"] }), json!({ "s": ["b"] })),
        (json!({ "p": ["a", "b"] }), json!({ "$deleteFromPrimitiveList/p": ["a"] }), json!({ "p": ["b"] })),
        (json!({ "s": ["a", "b"] }), json!({ "$setElementOrder/s": ["b", "a"] }), json!({ "s": ["b", "a"] })),
        (
            json!({ "s": ["a", "b"] }),
            json!({ "$setElementOrder/s": ["c", "b"], "s": ["c"] }),
            json!({ "s": ["c", "a", "b"] }),
        ),
        (json!({}), json!({ "$setElementOrder/s": ["a"] }), json!({})),
    ]);
}

#[test]
fn lists_of_objects_are_merged_by_their_key() {
    let abc = json!({ "l": [{ "name": "a" }, { "name": "b" }, { "name": "c" }] });
    table(&[
        (
            json!({ "l": [{ "name": "a", "p": ["1"] }, { "name": "b" }] }),
            json!({ "l": [{ "name": "a", "m": {} }, { "name": "n" }] }),
            json!({ "l": [{ "name": "a", "p": ["1"], "m": {} }, { "name": "n" }, { "name": "b" }] }),
        ),
        (
            abc.clone(),
            json!({ "l": [{ "name": "b", "$patch": "delete" }] }),
            json!({ "l": [{ "name": "a" }, { "name": "c" }] }),
        ),
        (abc.clone(), json!({ "l": [{ "name": "x", "$patch": "delete" }] }), abc.clone()),
        (
            abc.clone(),
            json!({ "l": [{ "name": "z" }, { "$patch": "replace" }] }),
            json!({ "l": [{ "name": "z" }] }),
        ),
        (
            abc.clone(),
            json!({ "$setElementOrder/l": [{ "name": "c" }, { "name": "a" }] }),
            json!({ "l": [{ "name": "b" }, { "name": "c" }, { "name": "a" }] }),
        ),
        (
            abc.clone(),
            json!({ "$setElementOrder/l": [{ "name": "a" }, { "name": "n" }],
                    "l": [{ "name": "n" }, { "name": "b", "$patch": "delete" }] }),
            json!({ "l": [{ "name": "a" }, { "name": "c" }, { "name": "n" }] }),
        ),
        (
            json!({}),
            json!({ "l": [{ "name": "a", "m": null }, { "name": "b", "$patch": "delete" }] }),
            json!({ "l": [{ "name": "a" }] }),
        ),
        (
            abc.clone(),
            json!({ "$setElementOrder/l": [{ "name": "a" }],
                    "l": [{ "$patch": "replace" }, { "name": "a" }] }),
            json!({ "l": [{ "name": "a" }] }),
        ),
        (
            json!({ "l": [{ "name": "a", "l": [{ "name": "x" }] }] }),
            json!({ "l": [{ "name": "a", "l": [{ "name": "y" }] }] }),
            json!({ "l": [{ "name": "a", "l": [{ "name": "y" }, { "name": "x" }] }] }),
        ),
    ]);
}

#[test]
fn directives_that_make_no_sense_are_refused_in_the_words_of_the_server() {
    let bad = |text: &str| PatchError::BadRequest(text.into());
    let internal = |text: &str| PatchError::Internal(text.into());
    let document = json!({ "m": {}, "s": ["a"], "l": [{ "name": "a" }], "bad": [{}], "o": { "name": "n" } });
    for (patch, error) in [
        (json!([]), bad("json: cannot unmarshal array into Go value of type map[string]interface {}")),
        (json!({ "m": { "$patch": "wat" } }), internal("unknown patch type: wat in map: map[$patch:wat]")),
        (
            json!({ "l": [{ "name": "a", "$patch": "wat" }] }),
            internal("unknown patch type: wat in map: map[$patch:wat name:a]"),
        ),
        (
            json!({ "l": [{ "name": "a", "$patch": "merge" }] }),
            internal("merging lists cannot yet be specified in the patch"),
        ),
        (
            json!({ "l": [{ "m": {} }] }),
            internal("map: map[m:map[]] does not contain declared merge key: name"),
        ),
        (
            json!({ "l": [{ "$patch": "delete" }] }),
            internal("map: map[$patch:delete] does not contain declared merge key: name"),
        ),
        (json!({ "l": ["a"] }), internal("list element types are not identical: [[map[name:a]] [a]]")),
        (json!({ "$setElementOrder/l": ["a"] }), internal("value for key 0 is not a map")),
        (json!({ "$setElementOrder/l": "a" }), internal("expected a []interface {}, but received a string")),
        (
            json!({ "$setElementOrder/z": [] }),
            internal("unable to find api field in struct struct for the json field \"z\""),
        ),
        (json!({ "$setElementOrder/p": [], "p": [] }), internal("no elements in any of the given slices")),
        (json!({ "bad": [{}] }), internal("cannot merge lists without merge key for struct")),
        (json!({ "o": { "$retainKeys": ["m"], "name": "x" } }), bad("invalid patch format of retainKeys")),
        (json!({ "o": { "$retainKeys": "m" } }), bad("invalid patch format of retainKeys")),
        (json!({ "$deleteFromPrimitiveList": ["a"] }), bad("invalid patch format of primitive list")),
        (json!({ "$setElementOrder": ["a"] }), bad("invalid patch format of setElementOrder list")),
        (
            json!({ "$setElementOrder/s": ["b"], "s": ["c"] }),
            internal("The order in patch list:\n[c]\n doesn't match $setElementOrder list:\n[b]\n"),
        ),
        (
            json!({ "$setElementOrder/l": [{ "name": "a" }],
                    "l": [{ "name": "a" }, { "$patch": "replace" }] }),
            internal(
                "The order in patch list:\n[map[name:a] map[$patch:replace]]\n \
                 doesn't match $setElementOrder list:\n[map[name:a]]\n",
            ),
        ),
    ] {
        assert_eq!(merged(&document, &patch), Err(error), "{patch}");
    }
}
