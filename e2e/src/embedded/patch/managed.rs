//! Who owns which fields of an object: its `metadata.managedFields`, decoded.
//!
//! In: the JSON of the entries. Out: [`Managers`], and JSON again, in the server's order. A manager is known
//! by name, operation, version and subresource; one that applies keeps its entry when it goes on with another
//! version. Entries that mean nothing make the whole list mean nothing. Who comes to own what is decided in
//! [`super::track`] and [`super::apply`].

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value, json};

use super::{fields_v1, set::Set};

/// Updates are remembered for this many managers; the oldest of more become one. The server's number.
const MAX_UPDATERS: usize = 10;

/// The name of the manager that the oldest updates become.
const ANCIENT: &str = "ancient-changes";

/// How a manager writes. Appliers come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// What tells a manager from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for those that apply.
    api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    pub(super) fn applier(name: &str, subresource: &str) -> Self {
        let (name, subresource) = (name.to_owned(), subresource.to_owned());
        Self { name, operation: Operation::Apply, api_version: String::new(), subresource }
    }

    /// A writer without a name is `unknown`.
    pub(super) fn updater(name: &str, api_version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name }.to_owned();
        let (api_version, subresource) = (api_version.to_owned(), subresource.to_owned());
        Self { name, operation: Operation::Update, api_version, subresource }
    }
}

/// As in the texts of conflicts: `"kubectl" with subresource "scale" using apps/v1`.
impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// What a manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) set: Set,
    /// The version that it last wrote in.
    pub(super) api_version: String,
    /// RFC 3339, when it last changed something. A manager that applied what was so already has none.
    pub(super) time: Option<String>,
}

/// The managers of an object.
pub(super) type Managers = BTreeMap<Manager, Entry>;

/// The managers of an object with these `managedFields`. `None`: they mean nothing.
pub(super) fn decode(entries: &Value) -> Option<Managers> {
    let Some(entries) = entries.as_array() else {
        return entries.is_null().then(Managers::new);
    };
    entries.iter().map(decode_entry).collect()
}

fn decode_entry(entry: &Value) -> Option<(Manager, Entry)> {
    let text = |field: &str| entry[field].as_str().unwrap_or_default();
    if text("fieldsType") != "FieldsV1" || text("apiVersion").is_empty() {
        return None;
    }
    let manager = match text("operation") {
        "Apply" => Manager::applier(text("manager"), text("subresource")),
        "Update" => Manager {
            name: text("manager").into(),
            ..Manager::updater("-", text("apiVersion"), text("subresource"))
        },
        _ => return None,
    };
    let set = match &entry["fieldsV1"] {
        Value::Null => Set::default(),
        fields => fields_v1::parse(fields)?,
    };
    let time = entry["time"].as_str().map(str::to_owned);
    Some((manager, Entry { set, api_version: text("apiVersion").into(), time }))
}

/// The `managedFields` of managers: those that apply first, then by time (none is oldest) and name.
pub(super) fn encode(managers: &Managers) -> Vec<Value> {
    let mut sorted: Vec<_> = managers.iter().collect();
    sorted.sort_by(|(a, x), (b, y)| {
        let key = |manager: &Manager, entry: &Entry| (manager.operation, entry.time.clone());
        key(a, x).cmp(&key(b, y)).then_with(|| {
            (&a.name, &x.api_version, &a.subresource).cmp(&(&b.name, &y.api_version, &b.subresource))
        })
    });
    sorted.into_iter().map(|(manager, entry)| encode_entry(manager, entry)).collect()
}

fn encode_entry(manager: &Manager, entry: &Entry) -> Value {
    let operation = match manager.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut out = Map::new();
    for (field, value) in [
        ("manager", manager.name.as_str()),
        ("operation", operation),
        ("apiVersion", &entry.api_version),
        ("time", entry.time.as_deref().unwrap_or_default()),
        ("fieldsType", "FieldsV1"),
        ("subresource", &manager.subresource),
    ] {
        if !value.is_empty() {
            out.insert(field.into(), value.into());
        }
    }
    out.insert("fieldsV1".into(), fields_v1::print(&entry.set));
    Value::Object(out)
}

/// Takes the `managedFields` out of an object.
pub(super) fn take(object: &mut Value) -> Value {
    object
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .and_then(|m| m.remove("managedFields"))
        .unwrap_or_default()
}

/// An object without its `managedFields`, which are nobody's fields.
pub(super) fn without(object: &Value) -> Value {
    let mut object = object.clone();
    take(&mut object);
    object
}

/// The `managedFields` of an object.
pub(super) fn of(object: &Value) -> &Value {
    object.get("metadata").and_then(|metadata| metadata.get("managedFields")).unwrap_or(&Value::Null)
}

/// Puts managers into an object.
pub(super) fn put(object: &mut Value, managers: &Managers) {
    take(object);
    if managers.is_empty() {
        return;
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"]["managedFields"] = Value::Array(encode(managers));
}

/// Makes one manager, for each version, of the oldest that updated, so that no more than ten are left.
pub(super) fn cap(managers: &mut Managers) {
    let mut updaters: Vec<Manager> =
        managers.keys().filter(|manager| manager.operation == Operation::Update).cloned().collect();
    let mut left = updaters.len();
    updaters.sort_by(|a, b| (&managers[a].time, a).cmp(&(&managers[b].time, b)));
    let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
    for manager in updaters {
        if left <= MAX_UPDATERS {
            break;
        }
        let version = managers[&manager].api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, manager);
            continue;
        };
        let bucket = Manager::updater(ANCIENT, &version, "");
        if !managers.contains_key(&bucket)
            && let Some(entry) = managers.remove(first)
        {
            managers.insert(bucket.clone(), entry);
        }
        let Some(merged) = managers.remove(&manager) else { continue };
        let Some(entry) = managers.get_mut(&bucket) else { continue };
        entry.set = merged.set.union(&entry.set);
        entry.time = merged.time;
        left -= 1;
    }
}
