//! Decides which watch hears of a change, and as what.
//!
//! In: a [`Change`] and what a watch selects. Out: a line for it, or none. An object that comes into a selection is ADDED for it and one
//! that leaves it is DELETED, whatever happened to the object itself (API concepts, "Efficient detection of changes").
//! A watch that does not read is ended when too much waits for it, as the real server does, and comes back by itself.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::channel::mpsc;
use serde_json::json;

use super::{
    selector::{Fields, Labels},
    storage::{Change, Resource, Stored},
};

/// Most lines that wait for a watch that does not read: as much as a burst of writes makes while its reader decodes the last one.
const MAX_WAITING: usize = 16_384;

/// What a watch or a list is about.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) resource: Resource,
    /// `None`: all of them.
    pub(super) namespace: Option<String>,
    pub(super) labels: Labels,
    pub(super) fields: Fields,
}

impl Selection {
    /// Whether an object is in it.
    pub(super) fn has(&self, stored: &Stored) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| *stored.namespace == *namespace)
            && self.labels.matches(&stored.labels)
            && (self.fields.is_empty() || self.fields.matches(|path| field(stored, path)))
    }
}

/// The value of a field, as field selectors compare it: a text; empty if it is not there.
fn field(stored: &Stored, path: &str) -> String {
    match path {
        "metadata.name" => return stored.name.to_string(),
        "metadata.namespace" => return stored.namespace.to_string(),
        _ => {}
    }
    let Ok(object) = serde_json::from_slice::<serde_json::Value>(&stored.bytes) else { return String::new() };
    let value = path.split('.').fold(&object, |value, key| &value[key]);
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Turns the bytes of an object into those of the form that was asked for.
pub(super) type Represent = Arc<dyn Fn(&Bytes) -> Bytes + Send + Sync>;

/// Tells open watches apart.
#[derive(Clone, Debug)]
pub(super) struct WatchId(Arc<()>);

/// An open watch.
pub(super) struct Watcher {
    id: WatchId,
    selection: Selection,
    represent: Represent,
    bookmarks: bool,
    send: mpsc::Sender<Bytes>,
}

impl Watcher {
    /// A watch, and the lines that it brings.
    pub(super) fn new(
        selection: Selection,
        represent: Represent,
        bookmarks: bool,
    ) -> (Self, mpsc::Receiver<Bytes>) {
        let (send, lines) = mpsc::channel(MAX_WAITING);
        (Self { id: WatchId(Arc::new(())), selection, represent, bookmarks, send }, lines)
    }

    pub(super) fn id(&self) -> WatchId {
        self.id.clone()
    }

    pub(super) fn is(&self, id: &WatchId) -> bool {
        Arc::ptr_eq(&self.id.0, &id.0)
    }

    /// Tells it of a change. False: it is over, because nobody reads it any more.
    pub(super) fn tell(&mut self, change: &Change) -> bool {
        match self.line(change) {
            Some(line) => self.send(line),
            None => !self.send.is_closed(),
        }
    }

    /// The line for an object that was there when it began.
    pub(super) fn first_line(&self, stored: &Stored) -> Bytes {
        frame("ADDED", &(self.represent)(&stored.bytes))
    }

    /// Tells it how far it has come.
    pub(super) fn bookmark(&mut self, api_version: &str, kind: &str, revision: u64) -> bool {
        match self.bookmark_line(api_version, kind, revision, false) {
            Some(line) => self.send(line),
            None => !self.send.is_closed(),
        }
    }

    /// The line that says how far it has come, where it wants to know.
    pub(super) fn bookmark_line(
        &self,
        api_version: &str,
        kind: &str,
        revision: u64,
        initial_events_end: bool,
    ) -> Option<Bytes> {
        if !self.bookmarks {
            return None;
        }
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "resourceVersion": revision.to_string() } });
        if initial_events_end {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        Some(frame("BOOKMARK", &(self.represent)(&object.to_string().into())))
    }

    /// The line for a change, if it is any of this watch's business.
    pub(super) fn line(&self, change: &Change) -> Option<Bytes> {
        if change.resource != self.selection.resource {
            return None;
        }
        let was = change.old.as_ref().filter(|stored| self.selection.has(stored));
        let is = change.new.as_ref().filter(|stored| self.selection.has(stored));
        let (event, stored) = match (was, is, &change.new) {
            (None, Some(new), _) => ("ADDED", new.clone()),
            (Some(_), Some(new), _) => ("MODIFIED", new.clone()),
            // It left the selection: its last state in it, at the version of the change.
            (Some(old), None, Some(new)) => ("DELETED", Arc::new(old.at(new.revision))),
            (Some(_), None, None) => ("DELETED", change.last.clone()?),
            (None, None, _) => return None,
        };
        Some(frame(event, &(self.represent)(&stored.bytes)))
    }

    fn send(&mut self, line: Bytes) -> bool {
        self.send.try_send(line).is_ok()
    }
}

fn frame(event: &str, object: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(event.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    line.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods() -> Resource {
        Resource { group: "".into(), plural: "pods".into() }
    }

    fn stored(namespace: &str, label: &str, revision: u64) -> Arc<Stored> {
        let object = json!({
            "metadata": { "name": "a", "resourceVersion": revision.to_string() }, "spec": { "nodeName": "n1" }
        });
        Arc::new(Stored {
            namespace: namespace.into(),
            name: "a".into(),
            revision,
            labels: [("app".to_owned(), label.to_owned())].into(),
            bytes: object.to_string().into(),
        })
    }

    fn change(old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) -> Change {
        let last = new.is_none().then(|| stored("d", "web", 9));
        Change { resource: pods(), revision: 9, old, new, last }
    }

    fn told(namespace: Option<&str>, labels: &str, fields: &str, change: &Change) -> String {
        let selection = Selection {
            resource: pods(),
            namespace: namespace.map(str::to_owned),
            labels: Labels::parse(labels).unwrap(),
            fields: Fields::parse(fields).unwrap(),
        };
        let (watcher, _lines) = Watcher::new(selection, Arc::new(Bytes::clone), true);
        watcher.line(change).map_or_else(String::new, |line| {
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            format!("{}@{}", line["type"], line["object"]["metadata"]["resourceVersion"]).replace('"', "")
        })
    }

    #[test]
    fn coming_and_leaving_a_selection_are_told_as_such() {
        let (web, db) =
            (|revision| Some(stored("d", "web", revision)), |revision| Some(stored("d", "db", revision)));
        for (old, new, line) in [
            (None, web(9), "ADDED@9"),
            (web(8), web(9), "MODIFIED@9"),
            (web(8), None, "DELETED@9"),
            (db(8), web(9), "ADDED@9"),
            (web(8), db(9), "DELETED@9"),
            (db(8), db(9), ""),
            (db(8), None, ""),
        ] {
            assert_eq!(told(None, "app=web", "", &change(old, new)), line);
        }
    }

    #[test]
    fn namespaces_and_fields_select_too() {
        let change = change(None, Some(stored("d", "web", 9)));
        assert_eq!(told(Some("d"), "", "", &change), "ADDED@9");
        assert_eq!(told(Some("e"), "", "", &change), "");
        assert_eq!(told(None, "", "spec.nodeName=n1,metadata.namespace=d", &change), "ADDED@9");
        assert_eq!(told(None, "", "spec.nodeName=n2", &change), "");
    }

    #[test]
    fn a_watch_that_nobody_reads_is_over() {
        let selection = Selection {
            resource: pods(),
            namespace: None,
            labels: Labels::default(),
            fields: Fields::default(),
        };
        let change = change(None, Some(stored("d", "web", 9)));
        let (mut watcher, lines) = Watcher::new(selection.clone(), Arc::new(Bytes::clone), true);
        drop(lines);
        assert!(!watcher.tell(&change));
        let (mut watcher, _lines) = Watcher::new(selection, Arc::new(Bytes::clone), true);
        let told = (0..=MAX_WAITING + 1).take_while(|_| watcher.tell(&change)).count();
        assert!((MAX_WAITING..=MAX_WAITING + 1).contains(&told));
    }
}
