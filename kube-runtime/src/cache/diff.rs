//! Decides what a new full set of objects means against the old one.
//!
//! In: the objects there were, and those of a complete list. Out: the new set, and the [`Change`]s between the two.
//! An object with the same uid and version keeps its slot, and with it what was decoded from it, and makes no change; one
//! that vanished comes out with its last known state; one with another uid is another object: a removal, then an upsert.
//! Does not lock, publish or decode.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;
use kube_core::ObjectKey;

use super::Slot;
use crate::scan::Scanned;

/// The objects of a cache by key.
pub(crate) type Objects = HashMap<ObjectKey, Arc<Slot>, RandomState>;

/// What happened to an object.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// It is there, new or changed.
    Applied { old: Option<Arc<Slot>>, new: Arc<Slot> },
    /// It is gone.
    Removed { last: Arc<Slot> },
}

/// Takes a complete list for the new truth. Of a key that is listed twice, the later entry counts.
pub(crate) fn relist(old: &Objects, listed: Vec<Scanned>) -> (Objects, Vec<Change>) {
    let mut new = Objects::with_capacity_and_hasher(listed.len(), RandomState::default());
    for scanned in listed {
        match old.get(scanned.key()) {
            Some(slot) if same_version(slot, &scanned) => new.insert(slot.key().clone(), slot.clone()),
            // The key's one allocation is shared with every earlier holder of it.
            Some(slot) => new.insert(slot.key().clone(), Arc::new(Slot::new(scanned))),
            None => new.insert(scanned.key().clone(), Arc::new(Slot::new(scanned))),
        };
    }
    let mut changes = Vec::new();
    for (key, last) in old {
        if !new.contains_key(key) {
            changes.push(Change::Removed { last: last.clone() });
        }
    }
    for (key, slot) in &new {
        match old.get(key) {
            Some(last) if Arc::ptr_eq(last, slot) => {}
            Some(last) => upsert(last, slot, &mut changes),
            None => changes.push(Change::Applied { old: None, new: slot.clone() }),
        }
    }
    (new, changes)
}

/// Takes one object from a watch. An event that brings the version that is there already changes nothing.
pub(crate) fn apply(objects: &mut Objects, scanned: Scanned, changes: &mut Vec<Change>) {
    match objects.get_mut(scanned.key()) {
        Some(slot) if same_version(slot, &scanned) => {}
        Some(slot) => {
            let last = std::mem::replace(slot, Arc::new(Slot::new(scanned)));
            upsert(&last, slot, changes);
        }
        None => {
            let slot = Arc::new(Slot::new(scanned));
            objects.insert(slot.key().clone(), slot.clone());
            changes.push(Change::Applied { old: None, new: slot });
        }
    }
}

/// Takes one removal from a watch. The removal carries the last state, newer than the one that was there.
pub(crate) fn remove(objects: &mut Objects, scanned: Scanned, changes: &mut Vec<Change>) {
    if objects.remove(scanned.key()).is_some() {
        changes.push(Change::Removed { last: Arc::new(Slot::new(scanned)) });
    }
}

fn upsert(last: &Arc<Slot>, slot: &Arc<Slot>, changes: &mut Vec<Change>) {
    let old = if last.uid() == slot.uid() {
        Some(last.clone())
    } else {
        changes.push(Change::Removed { last: last.clone() });
        None
    };
    changes.push(Change::Applied { old, new: slot.clone() });
}

/// Versions are opaque, but equal ones of one object are the same state. An object without a version is always new.
fn same_version(slot: &Slot, scanned: &Scanned) -> bool {
    slot.uid() == scanned.uid()
        && slot.resource_version() == scanned.resource_version()
        && !scanned.resource_version().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::testing::scanned;

    /// Objects as `name:uid:version`, in order of their names.
    fn listed(texts: &[&str]) -> Vec<Scanned> {
        let parts = |text: &str| text.split(':').map(str::to_owned).collect::<Vec<_>>();
        texts.iter().map(|text| parts(text)).map(|p| scanned(&p[0], &p[1], &p[2])).collect()
    }

    fn objects(texts: &[&str]) -> Objects {
        relist(&Objects::default(), listed(texts)).0
    }

    fn told(changes: &[Change]) -> Vec<String> {
        let mut told: Vec<_> = changes
            .iter()
            .map(|change| match change {
                Change::Applied { old: None, new } => format!("+{new:?}"),
                Change::Applied { old: Some(old), new } => format!("{}>{new:?}", old.resource_version()),
                Change::Removed { last } => format!("-{last:?}"),
            })
            .collect();
        told.sort();
        told
    }

    #[test]
    fn a_relist_is_a_diff() {
        let rows: &[(&[&str], &[&str], &[&str])] = &[
            (&[], &[], &[]),
            (&[], &["a:u:1"], &["+a@1"]),
            (&["a:u:1"], &["a:u:1"], &[]),
            (&["a:u:1"], &["a:u:2"], &["1>a@2"]),
            (&["a:u:1", "b:v:1"], &["a:u:1"], &["-b@1"]),
            (&["a:u:1"], &["a:w:9"], &["+a@9", "-a@1"]),
            (&["a:u:7"], &["a:u:3"], &["7>a@3"]), // a lower version is the new truth
            (&["a:u:1"], &["a:u:2", "a:u:3"], &["1>a@3"]),
            (&["a:u:"], &["a:u:"], &[">a@"]), // no version: never the same
        ];
        for (old, new, changes) in rows {
            assert_eq!(told(&relist(&objects(old), listed(new)).1), *changes, "{old:?} -> {new:?}");
        }
    }

    #[test]
    fn an_unchanged_object_keeps_its_slot_and_a_changed_one_its_key() {
        let old = objects(&["a:u:1", "b:v:1"]);
        let (new, _) = relist(&old, listed(&["a:u:1", "b:v:2"]));
        assert!(Arc::ptr_eq(&old["a"], &new["a"]));
        let key = |objects: &Objects| objects.get_key_value("b").unwrap().0.as_str().as_ptr();
        assert_eq!(key(&old), key(&new));
    }

    #[test]
    fn watch_events_change_one_object() {
        let mut objects = objects(&["a:u:1"]);
        let mut changes = Vec::new();
        apply(&mut objects, scanned("a", "u", "1"), &mut changes);
        assert_eq!(told(&changes), Vec::<String>::new(), "a replayed event is no change");
        apply(&mut objects, scanned("a", "u", "2"), &mut changes);
        apply(&mut objects, scanned("b", "v", "3"), &mut changes);
        remove(&mut objects, scanned("b", "v", "4"), &mut changes);
        remove(&mut objects, scanned("never", "x", "5"), &mut changes);
        assert_eq!(told(&changes), ["+b@3", "-b@4", "1>a@2"]);
        changes.clear();
        apply(&mut objects, scanned("a", "other", "6"), &mut changes);
        assert_eq!(told(&changes), ["+a@6", "-a@2"]);
        assert_eq!(objects.len(), 1);
    }
}
