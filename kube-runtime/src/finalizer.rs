//! Decides which edit puts a finalizer on an object, or takes it off, without touching anybody else's.
//!
//! In: an object's metadata as last seen, and our finalizer's name. Out: a JSON patch (for [`kube_core::Patch::Json`]),
//! or nothing where there is nothing to do.
//!
//! Every edit tests what it relies on: that this is still the same object (its uid), and that the list, or our place in
//! it, is as we saw it. When that is no longer true the server refuses the whole patch with 422, nothing has changed,
//! and the newer object, which is on its way through the watch, triggers the next try. An answer of 404 means that the
//! object is gone: done, no error.
//!
//! Why a patch and not replacing the object: a replaced list brings back what another controller took out of it, and a
//! test of the resource version fails for every change of status or labels. Why places are tested one by one for
//! removal: an entry of others that came or went after ours does not concern us, and one before ours fails the test.
//!
//! [`finalize`] performs the edits around a reconciler's work. None of this knows what cleaning up means.

mod run;

use kube_core::ObjectMeta;
use serde_json::{Value, json};

pub use run::{FinalizerError, finalize};

const LIST: &str = "/metadata/finalizers";

/// Whether the object carries our finalizer.
pub fn is_present(meta: &ObjectMeta, name: &str) -> bool {
    list(meta).iter().any(|entry| entry == name)
}

/// The patch that adds our finalizer, as the last entry.
///
/// `None` if it is there already, or if the object is being deleted: the server refuses new finalizers then.
pub fn add_patch(meta: &ObjectMeta, name: &str) -> Option<Value> {
    if meta.deletion_timestamp.is_some() || is_present(meta, name) {
        return None;
    }
    let mut operations = same_object(meta);
    match list(meta) {
        // The server drops an empty list, and to it, a missing field passes a test for null.
        [] => operations.extend([
            json!({ "op": "test", "path": LIST, "value": null }),
            json!({ "op": "add", "path": LIST, "value": [name] }),
        ]),
        // The whole list, because nothing smaller says that ours was not added meanwhile.
        entries => operations.extend([
            json!({ "op": "test", "path": LIST, "value": entries }),
            json!({ "op": "add", "path": format!("{LIST}/-"), "value": name }),
        ]),
    }
    Some(Value::Array(operations))
}

/// The patch that removes every copy of our finalizer. `None` if there is none.
pub fn remove_patch(meta: &ObjectMeta, name: &str) -> Option<Value> {
    if !is_present(meta, name) {
        return None;
    }
    let mut operations = same_object(meta);
    // From the end, so that the places that are still to come stay what they were.
    for (place, _) in list(meta).iter().enumerate().rev().filter(|(_, entry)| *entry == name) {
        let path = format!("{LIST}/{place}");
        operations.push(json!({ "op": "test", "path": path, "value": name }));
        operations.push(json!({ "op": "remove", "path": path }));
    }
    Some(Value::Array(operations))
}

fn list(meta: &ObjectMeta) -> &[String] {
    meta.finalizers.as_deref().unwrap_or_default()
}

/// An object that was deleted and made again under the same name is another one: it was not cleaned up after.
fn same_object(meta: &ObjectMeta) -> Vec<Value> {
    let test = |uid| json!({ "op": "test", "path": "/metadata/uid", "value": uid });
    meta.uid.as_ref().map(test).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "websites.example.dev/cleanup";

    /// The object as the server has it. It drops an empty list.
    fn document(finalizers: &Value) -> Value {
        match finalizers.as_array() {
            Some(list) if !list.is_empty() => json!({ "metadata": { "uid": "u1", "finalizers": list } }),
            _ => json!({ "metadata": { "uid": "u1" } }),
        }
    }

    /// The same as we saw it, an empty list and null included.
    fn meta(finalizers: &Value) -> ObjectMeta {
        serde_json::from_value(json!({ "uid": "u1", "finalizers": finalizers })).expect("metadata")
    }

    /// What the server makes of it: all of the patch or nothing. It takes an absent field for null in a test.
    fn apply(patch: &Value, finalizers: &Value) -> Option<Value> {
        let mut document = document(finalizers);
        let absent = document.pointer(LIST).is_none();
        let mut operations = patch.as_array().expect("a list of operations").clone();
        operations
            .retain(|op| !(absent && op["op"] == "test" && op["path"] == LIST && op["value"].is_null()));
        let patch: json_patch::Patch =
            serde_json::from_value(Value::Array(operations)).expect("a JSON patch");
        json_patch::patch(&mut document, &patch).ok()?;
        let list = document["metadata"]["finalizers"].take();
        Some(if list == json!([]) { Value::Null } else { list })
    }

    #[test]
    fn adding_and_removing_touch_only_our_entry() {
        for (seen, after_add, after_removal) in [
            (json!(null), Some(json!([OURS])), None),
            (json!([]), Some(json!([OURS])), None),
            (json!(["other"]), Some(json!(["other", OURS])), None),
            (json!([OURS]), None, Some(json!(null))),
            (json!(["a", OURS, "b"]), None, Some(json!(["a", "b"]))),
            (json!([OURS, OURS]), None, Some(json!(null))),
            (json!([OURS, "a", OURS, "b", OURS]), None, Some(json!(["a", "b"]))),
        ] {
            let applied =
                |patch: Option<Value>| patch.map(|patch| apply(&patch, &seen).expect("nothing changed"));
            assert_eq!(applied(add_patch(&meta(&seen), OURS)), after_add, "adding to {seen}");
            assert_eq!(applied(remove_patch(&meta(&seen), OURS)), after_removal, "removing from {seen}");
        }
    }

    #[test]
    fn an_edit_of_a_list_that_changed_meanwhile_is_refused_or_harmless() {
        let refused = None;
        for (edit, seen, now, left) in [
            ("add", json!(null), json!(["other"]), refused.clone()),
            ("add", json!(null), json!([OURS]), refused.clone()),
            ("add", json!(["a"]), json!(["other", "a"]), refused.clone()),
            ("add", json!(["a"]), json!(["a", OURS]), refused.clone()),
            ("add", json!(["a"]), json!(null), refused.clone()),
            ("remove", json!([OURS]), json!(["other", OURS]), refused.clone()),
            ("remove", json!(["a", OURS]), json!([OURS]), refused.clone()),
            ("remove", json!([OURS]), json!(null), refused.clone()),
            ("remove", json!([OURS, OURS]), json!(["other", OURS, OURS]), refused.clone()),
            ("remove", json!([OURS]), json!([OURS, "other"]), Some(json!(["other"]))),
            ("remove", json!([OURS, "a"]), json!([OURS, "other"]), Some(json!(["other"]))),
        ] {
            let patch = match edit {
                "add" => add_patch(&meta(&seen), OURS),
                _ => remove_patch(&meta(&seen), OURS),
            };
            let patch = patch.expect("there is something to do");
            assert_eq!(apply(&patch, &now), left, "{edit}: saw {seen}, met {now}");
        }
    }

    #[test]
    fn an_object_made_again_under_the_same_name_is_left_alone() {
        for (seen, patch) in [
            (json!([OURS]), remove_patch as fn(&ObjectMeta, &str) -> Option<Value>),
            (json!(null), add_patch),
            (json!(["a"]), add_patch),
        ] {
            let mut before = meta(&seen);
            before.uid = Some("u0".to_owned());
            let patch = patch(&before, OURS);
            assert_eq!(apply(&patch.expect("there is something to do"), &seen), None, "{seen}");
        }
    }

    #[test]
    fn nothing_is_added_to_an_object_that_is_being_deleted() {
        let mut meta = meta(&json!(["other"]));
        meta.deletion_timestamp = serde_json::from_value(json!("2024-05-01T12:00:00Z")).expect("a time");
        assert_eq!(add_patch(&meta, OURS), None);
    }
}
