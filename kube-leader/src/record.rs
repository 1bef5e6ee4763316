//! The Lease on the wire, and the record of it that the election judges.
//!
//! In: the JSON of a Lease. Out: a [`Record`] to decide on, and the same JSON with a new record in it.
//!
//! ```text
//! Lease (JSON) --Document::read--> Document --seen()--> Seen { record, resource_version } --> election
//!                                     |                                                         |
//!      Lease (JSON), all else kept <--+--------------------- put(record, resource_version) <----+
//! ```
//!
//! Why JSON and not the generated type: what this program does not know (labels, a strategy, a preferred holder, fields
//! of a later server) must come out as it went in, and a time that cannot be read must not hide the rest of the record.
//! Times go out with exactly six digits of fraction, which is the only form that the server takes; they come in with any
//! number. Decides nothing: whether a record is in force is the election's business, and no time in it is ever compared
//! with a clock.

use std::{fmt, str::FromStr, time::Duration};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A time in a Lease, to the microsecond. Shown to people and compared for change; never compared with a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseTime {
    /// A point of wall-clock time, in whole microseconds.
    At(Timestamp),
    /// What another program wrote and nobody can read. Kept, because a change of it is still a sign of life.
    Unreadable(String),
}

impl LeaseTime {
    /// The time as a Lease can store it: cut to whole microseconds.
    pub fn at(time: Timestamp) -> Self {
        Self::At(Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time))
    }

    /// Reads an RFC 3339 time with any number of fraction digits and any offset.
    pub fn read(text: &str) -> Self {
        Timestamp::from_str(text).map_or_else(|_| Self::Unreadable(text.to_owned()), Self::at)
    }

    /// The time, where it could be read.
    pub fn timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(*time),
            Self::Unreadable(_) => None,
        }
    }
}

/// As it goes on the wire: UTC with exactly six digits of fraction, zeros included.
impl fmt::Display for LeaseTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => write!(f, "{time:.6}"),
            Self::Unreadable(text) => f.write_str(text),
        }
    }
}

/// Who holds a Lease and on which terms: the part of its spec that the election reads and writes.
///
/// Two records are equal when nothing of this changed between them; labels and other parts of the Lease do not count, so
/// that somebody who keeps touching them does not keep a dead leader alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// `holderIdentity`. Empty or absent on the wire both mean that nobody holds the Lease.
    pub holder: String,
    /// `leaseDurationSeconds`: how long others wait for the holder. `None` where it is absent or below 1.
    pub lease_duration: Option<Duration>,
    /// `acquireTime`: when the holder became the holder, by its clock.
    pub acquire_time: Option<LeaseTime>,
    /// `renewTime`: when the holder last renewed, by its clock.
    pub renew_time: Option<LeaseTime>,
    /// `leaseTransitions`: how often the holder has changed. 0 where it is absent or negative.
    pub transitions: u32,
}

/// A record as it was read, with the version that a write on top of it must name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the Lease said.
    pub record: Record,
    /// `metadata.resourceVersion`, opaque.
    pub resource_version: String,
}

/// A Lease as JSON, with everything in it that this program does not know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document(Map<String, Value>);

impl Document {
    /// A Lease that does not exist yet.
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        let fields = [
            ("apiVersion", json!("coordination.k8s.io/v1")),
            ("kind", json!("Lease")),
            ("metadata", json!({ "namespace": namespace, "name": name })),
        ];
        Self(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
    }

    /// Takes an answer of the server with the record in it. `None` when it is not an object with a resourceVersion:
    /// without one no write on top of it could be guarded.
    pub(crate) fn read(answer: Value) -> Option<(Self, Seen)> {
        let Value::Object(fields) = answer else { return None };
        let resource_version = fields.get("metadata")?.get("resourceVersion")?.as_str()?;
        if resource_version.is_empty() {
            return None;
        }
        let seen =
            Seen { record: record_of(fields.get("spec")), resource_version: resource_version.to_owned() };
        Some((Self(fields), seen))
    }

    /// The Lease with `record` in it, to be written over the version that is named (none: to be created).
    pub(crate) fn put(mut self, record: &Record, resource_version: Option<&str>) -> Value {
        if let Some(version) = resource_version {
            object(&mut self.0, "metadata").insert("resourceVersion".to_owned(), json!(version));
        }
        let spec = object(&mut self.0, "spec");
        spec.insert("holderIdentity".to_owned(), json!(record.holder));
        let seconds = record.lease_duration.map(|duration| duration.as_secs());
        let transitions = i32::try_from(record.transitions).unwrap_or(i32::MAX);
        set(spec, "leaseDurationSeconds", seconds.map(|seconds| json!(seconds)));
        set(spec, "acquireTime", record.acquire_time.as_ref().map(|time| json!(time.to_string())));
        set(spec, "renewTime", record.renew_time.as_ref().map(|time| json!(time.to_string())));
        spec.insert("leaseTransitions".to_owned(), json!(transitions));
        Value::Object(self.0)
    }
}

/// Reads a spec field by field, so that one bad field hides no other.
fn record_of(spec: Option<&Value>) -> Record {
    let field = |name: &str| spec.and_then(|spec| spec.get(name)).filter(|value| !value.is_null());
    let time = |name: &str| {
        field(name).map(|value| match value.as_str() {
            Some(text) => LeaseTime::read(text),
            None => LeaseTime::Unreadable(value.to_string()),
        })
    };
    Record {
        holder: field("holderIdentity").and_then(Value::as_str).unwrap_or_default().to_owned(),
        lease_duration: field("leaseDurationSeconds")
            .and_then(Value::as_u64)
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds.min(i32::MAX.unsigned_abs().into()))),
        acquire_time: time("acquireTime"),
        renew_time: time("renewTime"),
        transitions: field("leaseTransitions")
            .and_then(Value::as_u64)
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or_default(),
    }
}

/// The object under `name`, made where there is none.
fn object<'a>(fields: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("made an object just above")
}

fn set(spec: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(spec.insert(name.to_owned(), value)),
        None => drop(spec.remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_out_with_six_digits_and_come_in_with_any_number_and_any_offset() {
        for (text, expected) in [
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000000Z"),
            ("2026-03-01T12:00:00.1Z", "2026-03-01T12:00:00.100000Z"),
            ("2026-03-01T12:00:00.123Z", "2026-03-01T12:00:00.123000Z"),
            ("2026-03-01T12:00:00.123456Z", "2026-03-01T12:00:00.123456Z"),
            ("2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123456Z"),
            ("2026-03-01T14:00:00.5+02:00", "2026-03-01T12:00:00.500000Z"),
            ("yesterday", "yesterday"),
            ("", ""),
        ] {
            assert_eq!(LeaseTime::read(text).to_string(), expected, "{text}");
        }
        assert_eq!(LeaseTime::read("2026-03-01T12:00:00.5Z"), LeaseTime::read("2026-03-01T12:00:00.500000Z"));
        assert_eq!(LeaseTime::read("yesterday").timestamp(), None);
    }

    #[test]
    fn one_bad_field_hides_no_other() {
        let held = Record { holder: "a".into(), transitions: 3, ..Record::default() };
        let lasting = |seconds| Record { lease_duration: Some(Duration::from_secs(seconds)), ..held.clone() };
        let unreadable = |text: &str| Some(LeaseTime::Unreadable(text.to_owned()));
        for (spec, expected) in [
            (Value::Null, Record::default()),
            (json!({}), Record::default()),
            (json!("text"), Record::default()),
            (json!({"holderIdentity": ""}), Record::default()),
            (json!({"holderIdentity": null, "leaseTransitions": -1}), Record::default()),
            (json!({"holderIdentity": "a", "leaseTransitions": 3}), held.clone()),
            (json!({"holderIdentity": "a", "leaseTransitions": 3, "leaseDurationSeconds": 0}), held.clone()),
            (json!({"holderIdentity": "a", "leaseTransitions": 3, "leaseDurationSeconds": -5}), held.clone()),
            (json!({"holderIdentity": "a", "leaseTransitions": 3, "leaseDurationSeconds": 30}), lasting(30)),
            (
                json!({"holderIdentity": "a", "leaseTransitions": 3, "renewTime": "soon", "acquireTime": 7}),
                Record { renew_time: unreadable("soon"), acquire_time: unreadable("7"), ..held.clone() },
            ),
        ] {
            assert_eq!(record_of(Some(&spec)), expected, "{spec}");
        }
        assert_eq!(record_of(None), Record::default());
    }

    #[test]
    fn a_write_changes_the_record_and_keeps_everything_else() {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "l", "namespace": "n", "resourceVersion": "7", "labels": {"team": "x"}},
            "spec": {"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b", "later": [1]},
            "status": {"later": true},
        });
        let (document, seen) = Document::read(lease).expect("a Lease");
        assert_eq!(seen.resource_version, "7");
        let record = Record {
            holder: "b".into(),
            lease_duration: Some(Duration::from_secs(15)),
            acquire_time: Some(LeaseTime::read("2026-03-01T12:00:00Z")),
            renew_time: Some(LeaseTime::read("2026-03-01T12:00:02.5Z")),
            transitions: 1,
        };
        let written = document.put(&record, Some("7"));
        let expected = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "l", "namespace": "n", "resourceVersion": "7", "labels": {"team": "x"}},
            "spec": {
                "holderIdentity": "b", "leaseDurationSeconds": 15, "leaseTransitions": 1,
                "acquireTime": "2026-03-01T12:00:00.000000Z", "renewTime": "2026-03-01T12:00:02.500000Z",
                "strategy": "OldestEmulationVersion", "preferredHolder": "b", "later": [1],
            },
            "status": {"later": true},
        });
        assert_eq!(written, expected);
        assert_eq!(Document::read(written).expect("a Lease").1.record, record);
    }

    #[test]
    fn a_lease_is_made_with_its_names_and_without_a_version() {
        let made = Document::new("n", "l").put(&Record { holder: "a".into(), ..Record::default() }, None);
        let expected = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "l", "namespace": "n"},
            "spec": {"holderIdentity": "a", "leaseTransitions": 0},
        });
        assert_eq!(made, expected);
    }

    #[test]
    fn an_answer_that_no_write_could_be_guarded_by_is_not_a_lease() {
        for answer in [
            json!(null),
            json!("text"),
            json!({"spec": {"holderIdentity": "a"}}),
            json!({"metadata": {}}),
            json!({"metadata": {"resourceVersion": ""}}),
            json!({"metadata": {"resourceVersion": 7}}),
        ] {
            assert_eq!(Document::read(answer.clone()), None, "{answer}");
        }
    }
}
