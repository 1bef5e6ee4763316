//! Decides what a subscriber that has not looked for a while is told: the net change of each key.
//!
//! In: changes, as they happen. Out: one [`Delta`] for each key, from what the subscriber was last told to what is now, in the
//! order in which the keys first changed. So a slow subscriber costs memory for the keys that changed, never for the
//! changes, and holds up nobody. An object that came and went in between is told as a removal, and owners that it had only
//! in between are told too: somebody may have known it from elsewhere (a reconcile that made or adopted it), and has to be
//! woken. Does not lock or wake; the cache does.

use std::{collections::HashMap, mem, sync::Arc};

use foldhash::fast::RandomState;
use kube_core::ObjectKey;

use super::{Slot, diff::Change};

/// The net change of one key.
#[derive(Clone, Debug)]
pub struct Delta {
    /// The state that the subscriber was last told of; none if it knew of no such object. A removal that is all that
    /// happened has the object's last state, which may be newer.
    pub old: Option<Arc<Slot>>,
    /// The state now; none if the object is gone. An object that came and went unseen has its last state as `old`.
    pub new: Option<Arc<Slot>>,
    /// States between the two that had other owners than both. One of each set of owners, in order.
    pub between: Vec<Arc<Slot>>,
    /// Whether the object was there when the subscription began, or came with the first full list, and has not changed
    /// since.
    pub initial: bool,
}

impl Delta {
    /// The key.
    ///
    /// # Panics
    /// Never: one of the two states is there.
    pub fn key(&self) -> &ObjectKey {
        self.new.as_ref().or(self.old.as_ref()).expect("a delta has a state").key()
    }

    /// Takes a further change. What the subscriber knew stays.
    fn add(&mut self, old: Option<Arc<Slot>>, new: Option<Arc<Slot>>) {
        // Of an object that it never saw, the last state takes the place of what it knew.
        if self.old.is_none() && new.is_none() {
            self.old = old;
        }
        if let Some(passed) = mem::replace(&mut self.new, new) {
            let owners = passed.owner_references();
            let told = self.old.iter().chain(&self.new).chain(&self.between);
            if !owners.is_empty() && told.map(|slot| slot.owner_references()).all(|told| told != owners) {
                self.between.push(passed);
            }
        }
    }
}

/// What has not been told yet.
#[derive(Default)]
pub(super) struct Mailbox {
    deltas: Vec<Delta>,
    places: HashMap<ObjectKey, usize, RandomState>,
}

impl Mailbox {
    /// The present objects, as the first thing the subscriber is told.
    pub(super) fn begin(&mut self, slots: impl Iterator<Item = Arc<Slot>>) {
        for slot in slots {
            if !self.places.contains_key(slot.key()) {
                self.push(Delta { old: None, new: Some(slot), between: Vec::new(), initial: true });
            }
        }
    }

    /// Adds a change. `initial`: it is part of the first full list.
    pub(super) fn add(&mut self, change: Change, initial: bool) {
        let (old, new) = match change {
            Change::Applied { old, new } => (old, Some(new)),
            Change::Removed { last } => (Some(last), None),
        };
        let key = new.as_ref().or(old.as_ref()).expect("a change has a state").key();
        match self.places.get(key) {
            Some(place) => {
                let delta = &mut self.deltas[*place];
                delta.add(old, new);
                delta.initial &= initial;
            }
            None => self.push(Delta { old, new, between: Vec::new(), initial }),
        }
    }

    /// Everything that has not been told; nothing is left.
    pub(super) fn take(&mut self) -> Vec<Delta> {
        // Not cleared but replaced: the table of a first list would stay, and each later `clear` would go through all of it.
        self.places = HashMap::default();
        mem::take(&mut self.deltas)
    }

    fn push(&mut self, delta: Delta) {
        self.places.insert(delta.key().clone(), self.deltas.len());
        self.deltas.push(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cache::testing::slot,
        scan::{ScanOptions, scan_object},
    };

    fn at(version: &str) -> Arc<Slot> {
        Arc::new(slot("a", "u", version))
    }

    fn told(mailbox: &mut Mailbox) -> Vec<String> {
        let version =
            |slot: &Option<Arc<Slot>>| slot.as_ref().map_or("-".into(), |s| s.resource_version().to_owned());
        mailbox
            .take()
            .iter()
            .map(|d| format!("{}>{}{}", version(&d.old), version(&d.new), if d.initial { "!" } else { "" }))
            .collect()
    }

    fn applied(old: Option<&str>, new: &str) -> Change {
        Change::Applied { old: old.map(at), new: at(new) }
    }

    fn removed(last: &str) -> Change {
        Change::Removed { last: at(last) }
    }

    #[test]
    fn changes_of_a_key_become_their_net_change() {
        let rows: Vec<(Vec<Change>, &str)> = vec![
            (vec![applied(None, "1")], "->1"),
            (vec![applied(None, "1"), applied(Some("1"), "2")], "->2"),
            (vec![applied(Some("1"), "2"), applied(Some("2"), "3")], "1>3"),
            (vec![applied(Some("1"), "2"), removed("3")], "1>-"),
            (vec![removed("1"), applied(None, "2")], "1>2"),
            (vec![applied(None, "1"), removed("2")], "2>-"), // came and went: a removal
        ];
        for (changes, net) in rows {
            let mut mailbox = Mailbox::default();
            for change in changes {
                mailbox.add(change, false);
            }
            assert_eq!(told(&mut mailbox), [net]);
            assert!(told(&mut mailbox).is_empty(), "told once");
        }
    }

    #[test]
    fn owners_that_an_object_had_only_in_between_are_told() {
        let owned = |version: usize, owner: &str| {
            let owners = if owner == "." { String::new() } else { format!(r#"{{"name":"{owner}"}}"#) };
            let text = format!(
                r#"{{"metadata":{{"name":"a","resourceVersion":"{version}","ownerReferences":[{owners}]}}}}"#
            );
            Arc::new(Slot::new(scan_object(text.as_bytes(), ScanOptions::default()).unwrap()))
        };
        // The owner of the object at first and after each change; "." is none, "-" is no object. Then the changes, counted
        // from 0, after which it had an owner that is told as one in between.
        for (owners, between) in [
            ("p p", ""),
            ("p q p", "1"),
            ("p q r", "1"),
            ("p q -", "1"),         // adopted, then deleted
            ("p q p q r p", "1 4"), // each once
            ("p . p", ""),
            ("- p q", "1"),
            ("- p -", ""), // told as its last state
        ] {
            let states = owners.split(' ').enumerate();
            let states: Vec<_> =
                states.map(|(version, owner)| (owner != "-").then(|| owned(version, owner))).collect();
            let mut mailbox = Mailbox::default();
            for pair in states.windows(2) {
                let [old, new] = pair else { unreachable!("windows of two") };
                let change = match new.clone() {
                    Some(new) => Change::Applied { old: old.clone(), new },
                    None => Change::Removed { last: old.clone().unwrap() },
                };
                mailbox.add(change, false);
            }
            let deltas = mailbox.take();
            let told: Vec<_> = deltas[0].between.iter().map(|slot| slot.resource_version()).collect();
            assert_eq!(told.join(" "), between, "{owners}");
        }
    }

    #[test]
    fn a_late_subscriber_begins_with_the_present_state() {
        let mut mailbox = Mailbox::default();
        mailbox.begin([at("1")].into_iter());
        assert_eq!(told(&mut mailbox), ["->1!"]);
        mailbox.begin([at("1")].into_iter());
        mailbox.add(applied(Some("1"), "2"), false);
        assert_eq!(told(&mut mailbox), ["->2"], "a change since then is live");
    }

    #[test]
    fn the_memory_of_a_burst_is_given_back() {
        let mut mailbox = Mailbox::default();
        mailbox.begin((0..10_000).map(|i| Arc::new(slot(&format!("n{i}"), "u", "1"))));
        assert_eq!(mailbox.take().len(), 10_000);
        assert_eq!(mailbox.places.capacity(), 0);
    }
}
