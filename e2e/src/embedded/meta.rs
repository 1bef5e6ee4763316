//! Decides what becomes of an object's metadata when it is written.
//!
//! In: the object as sent, the one that is stored, and what the server adds (a uid, the time). Out: the object with the metadata that
//! it is stored with, or what is wrong with it. The rules are those of the API conventions ("Metadata") and hold for every
//! kind. Specs, statuses and versions of other fields are left to others.

use serde_json::{Map, Value, json};

/// What a write has to know of its surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'a> {
    pub(super) uid: &'a str,
    pub(super) now: &'a str,
}

/// The metadata of an object; made if it is not there.
pub(super) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("just made")
}

/// A text of the metadata; empty if it is not there.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Gives a new object what every new object has.
pub(super) fn born(object: &mut Value, namespace: &str, stamp: Stamp<'_>) {
    let metadata = metadata(object);
    for field in
        ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"]
    {
        metadata.remove(field);
    }
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), namespace.into());
    }
    metadata.insert("uid".into(), stamp.uid.into());
    metadata.insert("creationTimestamp".into(), stamp.now.into());
    tidy(metadata);
}

/// Gives a changed object the metadata that a write cannot change.
pub(super) fn kept(object: &mut Value, stored: &Value) {
    let metadata = metadata(object);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
    ] {
        match stored["metadata"].get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    for field in ["name", "namespace"] {
        if let Some(value) = stored["metadata"].get(field) {
            metadata.insert(field.into(), value.clone());
        }
    }
    metadata.remove("selfLink");
    tidy(metadata);
}

/// Whether two states differ in more than metadata and status: then the generation grows.
pub(super) fn is_new_generation(stored: &Value, object: &Value) -> bool {
    let rest = |value: &Value| -> Vec<(String, Value)> {
        let own = ["apiVersion", "kind", "metadata", "status"];
        let fields = value.as_object().into_iter().flatten();
        fields.filter(|(key, _)| !own.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    // A deletion mark is a change of what is wanted.
    rest(stored) != rest(object)
}

/// The server leaves out what is empty.
fn tidy(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "managedFields"] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_object_gets_its_identity_from_the_server() {
        let mut object = json!({
            "metadata": { "name": "a", "uid": "mine", "resourceVersion": "7", "deletionTimestamp": "x", "labels": {},
                          "finalizers": ["f"], "namespace": "other" }
        });
        born(&mut object, "d", Stamp { uid: "u", now: "t" });
        assert_eq!(
            object["metadata"],
            json!({ "name": "a", "namespace": "d", "uid": "u", "creationTimestamp": "t", "finalizers": ["f"] })
        );
        born(&mut object, "", Stamp { uid: "u", now: "t" });
        assert_eq!(object["metadata"].get("namespace"), None);
    }

    #[test]
    fn a_write_cannot_change_who_an_object_is() {
        let stored =
            json!({ "metadata": { "name": "a", "uid": "u", "creationTimestamp": "t", "generation": 3 } });
        let mut object =
            json!({ "metadata": { "uid": "other", "deletionTimestamp": "now", "labels": { "a": "b" } } });
        kept(&mut object, &stored);
        let expected = json!({ "name": "a", "uid": "u", "creationTimestamp": "t", "generation": 3, "labels": { "a": "b" } });
        assert_eq!(object["metadata"], expected);
    }

    #[test]
    fn the_generation_is_that_of_what_is_wanted() {
        let stored = json!({ "metadata": { "labels": {} }, "spec": { "a": 1 }, "status": { "b": 1 } });
        for (object, new) in [
            (
                json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "a": 1 }, "status": { "b": 2 } }),
                false,
            ),
            (json!({ "spec": { "a": 2 }, "status": { "b": 1 } }), true),
            (json!({ "spec": { "a": 1 }, "data": {} }), true),
        ] {
            assert_eq!(is_new_generation(&stored, &object), new, "{object}");
        }
    }
}
