//! Holds every object of the embedded server, and what happened to them lately.
//!
//! In: writes of whole objects as bytes. Out: revisions, the present objects in key order, and the [`Change`]s since a revision.
//! One counter numbers all writes, as etcd's does; a window of past changes answers watches that resume, and what is older
//! than the window is gone (410). Plain and synchronous: no lock, no clock, no task. Objects are kept as the bytes that
//! go over the wire, so a list is a concatenation and a watch line a frame around them.
//! Who may write, what an object must look like, and waking watchers are left to others.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Bound,
    sync::Arc,
};

use bytes::Bytes;

/// Most changes that are remembered for watches that resume: a few minutes of a busy test.
const WINDOW: usize = 100_000;

/// Group and plural name: what an object is stored under, whatever version it was written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Resource {
    pub(super) group: Arc<str>,
    pub(super) plural: Arc<str>,
}

/// An object as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Namespace, empty for cluster-scoped objects, and name.
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    /// The revision of the write that made it what it is: its resource version.
    pub(super) revision: u64,
    /// Its labels, for selectors.
    pub(super) labels: BTreeMap<String, String>,
    /// The whole object as JSON, resource version included.
    pub(super) bytes: Bytes,
}

impl Stored {
    /// The same object at another revision.
    pub(super) fn at(&self, revision: u64) -> Self {
        let bytes = match serde_json::from_slice::<serde_json::Value>(&self.bytes) {
            Ok(mut object) => {
                object["metadata"]["resourceVersion"] = revision.to_string().into();
                object.to_string().into()
            }
            // What is stored was written by this server, so it is JSON.
            Err(_) => self.bytes.clone(),
        };
        Self { revision, bytes, ..self.clone() }
    }
}

/// One write.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) resource: Resource,
    pub(super) revision: u64,
    pub(super) old: Option<Arc<Stored>>,
    /// The object after it; none if it was removed.
    pub(super) new: Option<Arc<Stored>>,
    /// The object as it was at its removal, with the revision of the removal.
    pub(super) last: Option<Arc<Stored>>,
}

/// A version that is no longer remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expired {
    /// The oldest revision from which a watch may still start.
    pub(super) oldest: u64,
}

/// `(namespace, name)`: namespaces in order, and names in order within them, as the server lists.
type Key = (Arc<str>, Arc<str>);
type Objects = BTreeMap<Key, Arc<Stored>>;

#[derive(Debug)]
pub(super) struct Storage {
    revision: u64,
    objects: HashMap<Resource, Objects>,
    history: VecDeque<Arc<Change>>,
    /// Changes up to this revision are forgotten.
    compacted: u64,
}

impl Default for Storage {
    fn default() -> Self {
        // A real server has written before anybody comes; 0 and 1 mean something else as resource versions.
        Self { revision: 1, objects: HashMap::new(), history: VecDeque::new(), compacted: 1 }
    }
}

impl Storage {
    /// The revision of the last write.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that the next write will have.
    pub(super) fn next_revision(&self) -> u64 {
        self.revision + 1
    }

    pub(super) fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        self.objects.get(resource)?.get(&key(namespace, name))
    }

    /// Every object there is, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Resource, &Arc<Stored>)> {
        self.objects
            .iter()
            .flat_map(|(resource, objects)| objects.values().map(move |stored| (resource, stored)))
    }

    /// The objects of a resource after `after`, in order: of one namespace, or of all.
    pub(super) fn list<'a>(
        &'a self,
        resource: &Resource,
        namespace: Option<&'a str>,
        after: Option<(&str, &str)>,
    ) -> impl Iterator<Item = &'a Arc<Stored>> {
        let start = match (after, namespace) {
            (Some((namespace, name)), _) => Bound::Excluded(key(namespace, name)),
            (None, Some(namespace)) => Bound::Included(key(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        self.objects
            .get(resource)
            .into_iter()
            .flat_map(move |objects| objects.range((start.clone(), Bound::Unbounded)))
            .map(|(_, stored)| stored)
            .take_while(move |stored| namespace.is_none_or(|namespace| *stored.namespace == *namespace))
    }

    /// The objects of a resource as they were after a revision: for the later pages of a list.
    ///
    /// # Errors
    /// The revision is older than what is remembered.
    pub(super) fn at(&self, resource: &Resource, revision: u64) -> Result<Vec<Arc<Stored>>, Expired> {
        if revision < self.compacted {
            return Err(Expired { oldest: self.compacted });
        }
        let mut objects = self.objects.get(resource).cloned().unwrap_or_default();
        let start = self.history.partition_point(|change| change.revision <= revision);
        for change in self.history.range(start..).rev().filter(|change| change.resource == *resource) {
            match (&change.old, &change.new) {
                (Some(old), _) => _ = objects.insert((old.namespace.clone(), old.name.clone()), old.clone()),
                (None, Some(new)) => _ = objects.remove(&(new.namespace.clone(), new.name.clone())),
                (None, None) => {}
            }
        }
        Ok(objects.into_values().collect())
    }

    /// Stores an object, whose bytes carry [`Storage::next_revision`] as their resource version.
    pub(super) fn put(&mut self, resource: &Resource, stored: Stored) -> Arc<Change> {
        self.revision += 1;
        debug_assert_eq!(stored.revision, self.revision, "an object carries the revision of its write");
        let new = Arc::new(stored);
        let objects = self.objects.entry(resource.clone()).or_default();
        let old = objects.insert((new.namespace.clone(), new.name.clone()), new.clone());
        self.record(Change {
            resource: resource.clone(),
            revision: self.revision,
            old,
            new: Some(new),
            last: None,
        })
    }

    /// Removes an object. `last` is its last state, whose bytes carry [`Storage::next_revision`].
    pub(super) fn remove(&mut self, resource: &Resource, last: Stored) -> Option<Arc<Change>> {
        let old = self.objects.get_mut(resource)?.remove(&(last.namespace.clone(), last.name.clone()))?;
        self.revision += 1;
        debug_assert_eq!(last.revision, self.revision, "a removal carries its revision");
        let last = Some(Arc::new(last));
        Some(self.record(Change {
            resource: resource.clone(),
            revision: self.revision,
            old: Some(old),
            new: None,
            last,
        }))
    }

    /// What happened to a resource after a revision.
    ///
    /// # Errors
    /// The revision is older than what is remembered.
    pub(super) fn since(
        &self,
        resource: &Resource,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Change>>, Expired> {
        if revision < self.compacted {
            return Err(Expired { oldest: self.compacted });
        }
        let start = self.history.partition_point(|change| change.revision <= revision);
        Ok(self.history.range(start..).filter(move |change| change.resource == *resource))
    }

    /// Whether the state at a revision can still be told from the present one.
    pub(super) fn is_expired(&self, revision: u64) -> bool {
        revision < self.compacted
    }

    /// Forgets all changes up to now.
    pub(super) fn compact(&mut self) {
        self.history.clear();
        self.compacted = self.revision;
    }

    fn record(&mut self, change: Change) -> Arc<Change> {
        let change = Arc::new(change);
        self.history.push_back(change.clone());
        if self.history.len() > WINDOW
            && let Some(forgotten) = self.history.pop_front()
        {
            self.compacted = forgotten.revision;
        }
        change
    }
}

fn key(namespace: &str, name: &str) -> Key {
    (Arc::from(namespace), Arc::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> Resource {
        Resource { group: "".into(), plural: "pods".into() }
    }

    fn stored(storage: &Storage, namespace: &str, name: &str) -> Stored {
        Stored {
            namespace: namespace.into(),
            name: name.into(),
            revision: storage.next_revision(),
            labels: BTreeMap::new(),
            bytes: Bytes::new(),
        }
    }

    fn filled(names: &[(&str, &str)]) -> Storage {
        let mut storage = Storage::default();
        for (namespace, name) in names {
            let stored = stored(&storage, namespace, name);
            storage.put(&pods(), stored);
        }
        storage
    }

    fn names<'a>(objects: impl Iterator<Item = &'a Arc<Stored>>) -> Vec<String> {
        objects.map(|stored| format!("{}/{}", stored.namespace, stored.name)).collect()
    }

    #[test]
    fn objects_are_listed_in_order_of_namespace_and_name_from_any_place() {
        let storage = filled(&[("b", "z"), ("a-1", "c"), ("a", "y"), ("a", "x"), ("", "node")]);
        assert_eq!(names(storage.list(&pods(), None, None)), ["/node", "a/x", "a/y", "a-1/c", "b/z"]);
        assert_eq!(names(storage.list(&pods(), Some("a"), None)), ["a/x", "a/y"]);
        assert_eq!(names(storage.list(&pods(), Some("a"), Some(("a", "x")))), ["a/y"]);
        assert_eq!(names(storage.list(&pods(), None, Some(("a", "y")))), ["a-1/c", "b/z"]);
        assert_eq!(names(storage.list(&pods(), Some("c"), None)), Vec::<String>::new());
    }

    #[test]
    fn a_watch_resumes_from_a_revision_until_it_is_forgotten() {
        let mut storage = filled(&[("a", "x"), ("a", "y")]);
        let before = storage.revision();
        let last = stored(&storage, "a", "x");
        storage.remove(&pods(), last);
        let since = |storage: &Storage, revision| {
            storage
                .since(&pods(), revision)
                .map(|changes| changes.map(|c| (c.revision, c.new.is_some())).collect::<Vec<_>>())
        };
        assert_eq!(since(&storage, before), Ok(vec![(before + 1, false)]));
        assert_eq!(since(&storage, storage.revision()), Ok(vec![]));
        storage.compact();
        assert_eq!(since(&storage, before), Err(Expired { oldest: before + 1 }));
        assert_eq!(since(&storage, before + 1), Ok(vec![]));
        assert!(storage.is_expired(before) && !storage.is_expired(before + 1));
    }

    #[test]
    fn the_past_can_be_listed_until_it_is_forgotten() {
        let mut storage = filled(&[("a", "x"), ("a", "y")]);
        let then = storage.revision();
        let last = stored(&storage, "a", "x");
        storage.remove(&pods(), last);
        let new = stored(&storage, "a", "z");
        storage.put(&pods(), new);
        assert_eq!(names(storage.at(&pods(), then).unwrap().iter()), ["a/x", "a/y"]);
        assert_eq!(names(storage.at(&pods(), then + 1).unwrap().iter()), ["a/y"]);
        storage.compact();
        assert!(storage.at(&pods(), then).is_err());
    }

    #[test]
    fn removing_what_is_not_there_is_no_write() {
        let mut storage = filled(&[("a", "x")]);
        let revision = storage.revision();
        let last = stored(&storage, "a", "never");
        assert!(storage.remove(&pods(), last).is_none());
        assert_eq!(storage.revision(), revision);
    }

    #[test]
    fn resources_do_not_see_each_other() {
        let storage = filled(&[("a", "x")]);
        let secrets = Resource { group: "".into(), plural: "secrets".into() };
        assert!(storage.get(&secrets, "a", "x").is_none());
        assert_eq!(storage.since(&secrets, 1).unwrap().count(), 0);
    }
}
