//! The owners of a scale: those of its parent's count of replicas, seen through the `scale` subresource.
//!
//! In: the `managedFields` of the parent, and where it counts replicas. Out: the `managedFields` of the scale
//! before a write ([`of_scale`]), and those of the parent after it ([`of_parent`]). In between, the scale is
//! written like any object.

use serde_json::Value;

use super::{
    managed::{self, Entry, Managers},
    set::{Element, Path, Set},
};

/// The version of a scale.
const SCALE: &str = "autoscaling/v1";

/// A path of named fields.
fn path(fields: &[&str]) -> Path {
    fields.iter().map(|name| Element::field(name)).collect()
}

fn set(path: &[Element]) -> Set {
    let mut set = Set::default();
    set.insert(path);
    set
}

/// The `managedFields` of a scale. `replicas` is where the parent counts, such as `["spec", "replicas"]`.
pub(in super::super) fn of_scale(parent: &Value, replicas: &[&str]) -> Value {
    let in_parent = path(replicas);
    let managers: Managers = managed::decode(managed::of(parent))
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, entry)| entry.set.has(&in_parent))
        .map(|(manager, entry)| {
            let set = set(&path(&["spec", "replicas"]));
            (manager, Entry { set, api_version: SCALE.into(), time: entry.time })
        })
        .collect();
    Value::Array(managed::encode(&managers))
}

/// Writes into the parent who owns its count after a write of its scale. `api_version` is the parent's.
pub(in super::super) fn of_parent(parent: &mut Value, scale: &Value, api_version: &str, replicas: &[&str]) {
    let in_parent = path(replicas);
    let mut scale = managed::decode(managed::of(scale)).unwrap_or_default();
    let mut managers = Managers::new();
    for (manager, mut entry) in managed::decode(managed::of(parent)).unwrap_or_default() {
        if entry.set.has(&in_parent) && scale.remove(&manager).is_none() {
            entry.set = entry.set.difference(&set(&in_parent));
        }
        if !entry.set.is_empty() {
            managers.insert(manager, entry);
        }
    }
    for (manager, entry) in scale {
        if entry.set.has(&path(&["spec", "replicas"])) {
            // The server forgets when: an owner through a scale has no time.
            let entry = Entry { set: set(&in_parent), api_version: api_version.into(), time: None };
            managers.insert(manager, entry);
        }
    }
    managed::put(parent, &managers);
}
