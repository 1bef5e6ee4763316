//! Decides what is different about namespaces: they are born active and held, and go in two steps.
//!
//! In: a namespace as it is written. Out: the one that is stored. The hold is in `spec.finalizers`, which only the `finalize`
//! subresource can take off ("Namespaces", lifecycle). Emptying a namespace is left to whoever runs the controllers; without any it
//! stays in `Terminating`, as on a real server that runs alone.

use serde_json::{Value, json};

use super::meta;

/// The label that every namespace has by default.
pub(super) fn default(namespace: &mut Value) {
    let name = meta::text(namespace, "name").to_owned();
    let metadata = meta::metadata(namespace);
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    labels["kubernetes.io/metadata.name"] = name.into();
}

/// The state that a new namespace has.
pub(super) fn born(namespace: &mut Value) {
    let held = namespace["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
    let others = held.into_iter().filter(|finalizer| finalizer != "kubernetes");
    namespace["spec"]["finalizers"] = others.chain(["kubernetes".into()]).collect();
    namespace["status"] = json!({ "phase": "Active" });
}

/// What of a namespace a write to this subresource leaves as it was.
pub(super) fn kept(namespace: &mut Value, before: &Value, subresource: &str) {
    if subresource != "finalize" {
        namespace["spec"] = before["spec"].clone();
    }
}

/// The state of a namespace that shall go.
pub(super) fn marked(namespace: &mut Value) {
    namespace["status"]["phase"] = "Terminating".into();
}

/// Whether something still holds it.
pub(super) fn is_held(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}
