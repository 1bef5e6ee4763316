//! Who owns what after a create, a replace or a patch that is not an apply.
//!
//! In: the object before and after, and the [`Writer`]. Out: the object after, with its `managedFields`. The
//! writer comes to own what it changed, and nobody else owns that any more; what is as before stays with who
//! owns it; what is gone is nobody's. A write that changes no value changes no owner, and no time.
//!
//! Before a create there is the blank object of the kind, in which the structs of built-in kinds are there
//! already: they are no new fields. Call this after defaulting and before the rules that set fields on their
//! own (generation, status of a new object, allocated addresses): those have no owner.

use serde_json::Value;

use super::{
    super::shape::{Shape, Types},
    blank,
    compare::{Comparison, compare},
    managed::{self, Entry, Manager, Managers},
    remove::fitted,
    set::Set,
};

/// Fields that nobody owns: they tell which object it is, or are the server's.
const NOBODYS: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The kind of an object, as far as ownership goes.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Typing<'a> {
    /// Such as `Deployment`.
    pub(in super::super) kind: &'a str,
    /// The named types that `shape` refers to.
    pub(in super::super) types: &'a Types,
    pub(in super::super) shape: &'a Shape,
    /// Fields that this way in does not write, whatever is sent, with all that is below: `status` for the
    /// object itself, `spec` for its status.
    pub(in super::super) reset: &'a [&'a [&'a str]],
}

/// Who writes, and how.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Writer<'a> {
    /// The `fieldManager` of the request, or the start of its user agent; [`manager_of`] tells which.
    pub(in super::super) manager: &'a str,
    /// The version that the request is in, such as `apps/v1`.
    pub(in super::super) api_version: &'a str,
    /// Empty for the object itself.
    pub(in super::super) subresource: &'a str,
    /// Now: RFC 3339, in seconds.
    pub(in super::super) time: &'a str,
}

/// The longest name that a user agent gives a manager, in bytes. The server's number.
const MAX_AGENT: usize = 128;

/// The manager of a write: who it says, or the program's name from its user agent (`kubectl/v1.37` is
/// `kubectl`).
pub(in super::super) fn manager_of(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let printable = |c: &char| *c == ' ' || !(c.is_control() || c.is_whitespace());
    let mut name = String::new();
    for c in user_agent.split('/').next().unwrap_or_default().chars().filter(printable) {
        if name.len() + c.len_utf8() > MAX_AGENT {
            break;
        }
        name.push(c);
    }
    name
}

impl Typing<'_> {
    /// Without the fields that this way in does not write.
    pub(super) fn written(&self, set: Set) -> Set {
        set.without_below(&Set::of_fields(self.reset))
    }

    /// What a write changes, of what it may change.
    pub(super) fn changes(&self, before: &Value, after: &Value) -> Comparison {
        let found = compare(self.types, self.shape, before, after);
        Comparison {
            added: self.written(found.added),
            modified: self.written(found.modified),
            removed: self.written(found.removed),
        }
    }

    pub(super) fn fit(&self, managers: &mut Managers) {
        for entry in managers.values_mut() {
            entry.set = fitted(self.types, self.shape, std::mem::take(&mut entry.set));
        }
    }
}

/// Fields that can have an owner.
pub(super) fn ownable(set: Set) -> Set {
    set.difference(&Set::of_fields(NOBODYS))
}

/// Writes into `after` who owns its fields. `before` is none for a create. Both objects come as the server
/// would print them, without nulls for what is absent.
pub(in super::super) fn track(
    typing: Typing<'_>,
    before: Option<&Value>,
    after: &mut Value,
    writer: Writer<'_>,
) {
    let sent = managed::take(after);
    let mut managers = starting_point(before.unwrap_or(&Value::Null), &sent, writer);
    // Who reset the owners of an object, or made it when nobody kept book, does not want them.
    if managers.is_empty() && before.is_some() {
        return;
    }
    match before {
        Some(before) => update(typing, before, after, &mut managers, writer),
        None => update(typing, &blank(typing.types, typing.shape), after, &mut managers, writer),
    }
    managed::cap(&mut managers);
    managed::put(after, &managers);
}

/// The owners before a write: those that it sends, for they can be written like any field, or else those of
/// the stored object.
fn starting_point(before: &Value, sent: &Value, writer: Writer<'_>) -> Managers {
    let stored = || managed::decode(managed::of(before)).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return stored();
    }
    let is_reset = match sent.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    };
    if is_reset {
        return Managers::new();
    }
    managed::decode(sent).filter(|managers| !managers.is_empty()).unwrap_or_else(stored)
}

/// Moves what changed to the writer.
pub(super) fn update(
    typing: Typing<'_>,
    before: &Value,
    after: &Value,
    managers: &mut Managers,
    writer: Writer<'_>,
) {
    typing.fit(managers);
    let changes = typing.changes(before, after);
    let set = changes.set();
    disown(managers, None, &set.clone().union(&changes.removed));
    let set = ownable(set);
    if set.is_empty() {
        return;
    }
    let manager = Manager::updater(writer.manager, writer.api_version, writer.subresource);
    let api_version = writer.api_version.to_owned();
    let time = Some(writer.time.to_owned());
    let set = match managers.remove(&manager) {
        Some(previous) => set.union(&previous.set),
        None => set,
    };
    managers.insert(manager, Entry { set, api_version, time });
}

/// Takes fields from all managers but one. Those that own nothing any more are forgotten.
pub(super) fn disown(managers: &mut Managers, keep: Option<&Manager>, gone: &Set) {
    managers.retain(|manager, entry| {
        if Some(manager) != keep {
            entry.set = std::mem::take(&mut entry.set).difference(gone);
        }
        !entry.set.is_empty()
    });
}

/// Sets back the times of owners if nothing but times differs, so that a write of what is so already is none.
pub(in super::super) fn keep_times_of_noop(before: &Value, after: &mut Value) {
    let timeless = |entries: &Value| -> Vec<Value> {
        let mut entries = entries.as_array().cloned().unwrap_or_default();
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        entries
    };
    let (old, new) = (managed::of(before), managed::of(after));
    if old == new || timeless(old) != timeless(new) {
        return;
    }
    let old = old.clone();
    let mut candidate = after.clone();
    candidate["metadata"]["managedFields"] = old;
    if candidate == *before {
        *after = candidate;
    }
}
