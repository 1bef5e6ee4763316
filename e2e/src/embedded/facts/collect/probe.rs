//! Learns of every field what no document tells, by sending it to the server and reading what the server makes of it.
//!
//! In: schemas and the places where objects can be created. Out: [`Learnt`] for each field of each type that an object can
//! hold: what errors call its Go type, in which embedded struct it is, and when it is written.
//! Each type is reached by one [`Way`], the shortest. A wrong value at the end of a way brings an error with the names; an
//! empty object and one of zeros bring, in the audit log, the object as the server understood it. What is not the same on
//! other ways to the type is no fact of the type, and left to rules. Every request is a dry run, and most are refused
//! besides; what counts is written before that.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, io,
    path::Path,
};

use http::{Request, header::CONTENT_TYPE};
use kube_client::{Client, Error};
use serde_json::{Map, Value, json};

use super::types::{Schemas, innermost, is_zero, reference};

/// Type and field.
pub(super) type FieldKey = (String, String);

/// What is learnt of a field.
#[derive(Clone, Debug, Default)]
pub(super) struct Learnt {
    /// The Go type in errors, such as `v1.RestartPolicy`.
    pub(super) go_type: Option<String>,
    /// The struct that is embedded in the type, and has the field.
    pub(super) embedded: Option<String>,
    /// What is made of it when it is absent; unknown where no object could be seen.
    pub(super) seen: Option<Seen>,
    /// Whether it is written when it is set to zero.
    pub(super) kept: bool,
}

/// What the server makes of an absent field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) absent: Absent,
    /// What it is set to. Of scalars only, for whether a struct is set depends on others; and no time, for that is now.
    pub(super) sets: Option<Value>,
    /// It was not written at all.
    is_absent: bool,
}

/// What is written for an absent field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    Nothing,
    Null,
    /// The zero of its type.
    Zero,
}

/// Where objects can be created.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// Such as `/api/v1/namespaces/default/pods`.
    pub(super) path: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) type_name: String,
}

/// How to reach a type: a kind, and what to go through in its objects.
#[derive(Clone, Debug)]
struct Way {
    root: Root,
    steps: Vec<Step>,
    /// The path in errors.
    error_path: Vec<String>,
}

#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Item,
    Value,
}

/// What the server makes of these when they are absent depends on other fields.
const DEPENDENT: [(&str, &str); 5] = [
    ("core.v1.Container", "imagePullPolicy"),
    ("core.v1.EphemeralContainer", "imagePullPolicy"),
    ("core.v1.ImageVolumeSource", "pullPolicy"),
    ("core.v1.ServiceSpec", "internalTrafficPolicy"),
    ("core.v1.Volume", "emptyDir"),
];

/// The one key of maps, and a name that nothing refuses.
const KEY: &str = "k";

impl Way {
    /// An object with `leaf` at the end of the way.
    fn nest(&self, leaf: Value) -> Value {
        let mut value = self.steps.iter().rev().fold(leaf, |inner, step| match step {
            Step::Field(name) => json!({ name: inner }),
            Step::Item => json!([inner]),
            Step::Value => json!({ KEY: inner }),
        });
        if let Value::Object(fields) = &mut value {
            fields.insert("apiVersion".into(), self.root.api_version.clone().into());
            fields.insert("kind".into(), self.root.kind.clone().into());
        }
        value
    }

    /// What is at the end of the way.
    fn follow<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Item => value.get(0),
            Step::Value => value.get(KEY),
        })
    }

    fn beyond(&self, field: &str, mut schema: &Value, learnt: &Learnt) -> Self {
        let mut way = self.clone();
        way.steps.push(Step::Field(field.into()));
        way.error_path.extend(learnt.embedded.clone());
        way.error_path.push(field.into());
        loop {
            if let Some(items) = schema.get("items") {
                way.steps.push(Step::Item);
                schema = items;
            } else if let Some(values) = schema.get("additionalProperties") {
                way.steps.push(Step::Value);
                schema = values;
            } else {
                return way;
            }
        }
    }

    async fn send(&self, client: &Client, leaf: Value, probe: &str) -> Result<Option<String>, Error> {
        let uri = format!("{}?dryRun=All&fieldManager={probe}", self.root.path);
        let body = self.nest(leaf).to_string().into_bytes();
        let request = Request::post(uri).header(CONTENT_TYPE, "application/json").body(body);
        match client.request_bytes(request.map_err(|error| Error::Service(error.into()))?).await {
            Ok(_) => Ok(None),
            Err(Error::Api(error)) => Ok(Some(error.status.message)),
            Err(error) => Err(error),
        }
    }
}

/// Sends all probes.
pub(super) async fn learn(
    client: &Client,
    schemas: &Schemas,
    roots: Vec<Root>,
    audit_log: &Path,
) -> Result<BTreeMap<FieldKey, Learnt>, Error> {
    let mut learnt = BTreeMap::new();
    let mut probes = Vec::new();
    let mut again = Vec::new();
    let mut seen = BTreeSet::new();
    let mut todo: VecDeque<(String, Way)> = VecDeque::new();
    for root in roots {
        let type_name = root.type_name.clone();
        todo.push_back((type_name, Way { root, steps: Vec::new(), error_path: Vec::new() }));
    }
    while let Some((type_name, way)) = todo.pop_front() {
        if !seen.insert(type_name.clone()) {
            way.send(client, json!({}), &format!("again-{}", again.len())).await?;
            again.push((type_name, way));
            continue;
        }
        for (field, schema) in schemas.properties(&type_name) {
            let names = names(client, &way, schemas, field, schema).await?;
            if let Some(inner) = reference(innermost(schema)) {
                todo.push_back((inner.into(), way.beyond(field, schema, &names)));
            }
            learnt.insert((type_name.clone(), field.into()), names);
        }
        let number = probes.len();
        way.send(client, json!({}), &format!("empty-{number}")).await?;
        way.send(client, zeros(schemas, &type_name, &way), &format!("zeros-{number}")).await?;
        probes.push((type_name, way));
    }
    let understood = understood(audit_log).map_err(|error| Error::Service(error.into()))?;
    let object =
        |what, number, way: &Way| way.follow(understood.get(&format!("{what}-{number}"))?)?.as_object();
    for (number, (type_name, way)) in probes.iter().enumerate() {
        let (Some(empty), Some(zeros)) = (object("empty", number, way), object("zeros", number, way)) else {
            continue;
        };
        for (field, schema, learnt) in fields_of(schemas, type_name, way, &mut learnt) {
            let zero = zeros.get(field);
            let seen = judge(schemas, schema, empty.get(field));
            learnt.kept = seen.absent != Absent::Zero && zero.is_some_and(|value| seen.keeps(value));
            learnt.seen = Some(seen);
        }
    }
    for (number, (type_name, way)) in again.iter().enumerate() {
        let Some(empty) = object("again", number, way) else { continue };
        for (field, schema, learnt) in fields_of(schemas, type_name, way, &mut learnt) {
            if learnt.seen.as_ref().is_some_and(|seen| *seen != judge(schemas, schema, empty.get(field))) {
                learnt.forget();
            }
        }
    }
    for (type_name, field) in DEPENDENT {
        if let Some(learnt) = learnt.get_mut(&(type_name.into(), field.into())) {
            learnt.forget();
        }
    }
    Ok(learnt)
}

/// The fields of a type, but for those of a whole object that tell its type: who decodes it knows.
fn fields_of<'a>(
    schemas: &'a Schemas,
    type_name: &str,
    way: &Way,
    learnt: &'a mut BTreeMap<FieldKey, Learnt>,
) -> Vec<(&'a str, &'a Value, &'a mut Learnt)> {
    let first = (type_name.to_owned(), String::new());
    let of_type = learnt.range_mut(first..).take_while(|((name, _), _)| name == type_name);
    let is_told = |field: &str| way.steps.is_empty() && matches!(field, "apiVersion" | "kind");
    of_type
        .filter(|((_, field), _)| !is_told(field))
        .filter_map(|((name, field), learnt)| {
            let (field, schema) = schemas.properties(name).find(|(known, _)| known == field)?;
            Some((field, schema, learnt))
        })
        .collect()
}

/// What was made of an absent field.
fn judge(schemas: &Schemas, schema: &Value, empty: Option<&Value>) -> Seen {
    // The zero of a struct need not look like one, for defaults fill it.
    let is_struct = schema.get("default").is_some_and(Value::is_object);
    let expression = schemas.expression(schema);
    let is_zero = |value: &Value| is_deeply_zero(value) || (expression == "quantity" && value == "0");
    let absent = match empty {
        Some(Value::Null) => Absent::Null,
        Some(value) if is_zero(value) || is_struct => Absent::Zero,
        _ => Absent::Nothing,
    };
    let is_settable = |value: &&Value| {
        let depends = value.is_object() || value.is_array() || matches!(&*expression, "time" | "micro-time");
        !depends && !is_zero(value)
    };
    Seen { absent, sets: empty.filter(is_settable).cloned(), is_absent: empty.is_none() }
}

impl Seen {
    /// Whether a zero is kept, if this came of it.
    fn keeps(&self, zero: &Value) -> bool {
        !zero.is_null() && (self.is_absent || is_deeply_zero(zero) || *zero == "0")
    }
}

impl Learnt {
    /// What is made of the field when it is absent is no fact of its type.
    fn forget(&mut self) {
        if let Some(seen) = &mut self.seen {
            self.kept |= seen.absent == Absent::Zero;
            (seen.absent, seen.sets) = (Absent::Nothing, None);
        }
    }
}

fn is_deeply_zero(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_deeply_zero),
        value => is_zero(value),
    }
}

/// Finds out what errors call a field.
async fn names(
    client: &Client,
    way: &Way,
    schemas: &Schemas,
    field: &str,
    schema: &Value,
) -> Result<Learnt, Error> {
    let expression = schemas.expression(schema);
    let wrong = match &*expression {
        "any" | "quantity" => return Ok(Learnt::default()),
        "int32" | "int64" | "number" => json!("x"),
        "int-or-string" => json!(true),
        _ => json!(1),
    };
    if way.steps.is_empty() && matches!(field, "apiVersion" | "kind") {
        return Ok(Learnt::default());
    }
    let Some(message) = way.send(client, json!({ field: wrong }), "names").await? else {
        return Ok(Learnt::default());
    };
    let told = message.split_once("into Go struct field ").and_then(|(_, rest)| rest.split_once(" of type "));
    let Some((place, go_type)) = told else { return Ok(Learnt::default()) };
    // Struct, the way here, perhaps an embedded struct, and the field.
    let place: Vec<_> = place.split('.').skip(1 + way.error_path.len()).collect();
    Ok(Learnt {
        go_type: (go_type != go_name(&expression)).then(|| go_type.into()),
        embedded: (place.len() > 1).then(|| place[..place.len() - 1].join(".")),
        ..Learnt::default()
    })
}

/// What errors call a type, if nobody has given it another name.
fn go_name(expression: &str) -> String {
    if let Some(item) = expression.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return format!("[]{}", go_name(item));
    }
    if let Some(value) = expression.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return format!("map[string]{}", go_name(value));
    }
    match expression {
        "boolean" => "bool".into(),
        "number" => "float64".into(),
        "int-or-string" => "int32".into(),
        "time" | "micro-time" => "string".into(),
        "bytes" => "[]uint8".into(),
        // `v1.Pod` of `core.v1.Pod`.
        name => name.split_once('.').map_or(name, |(_, rest)| rest).into(),
    }
}

/// An object of the type with all fields set to zero, as far as zero can be written.
fn zeros(schemas: &Schemas, type_name: &str, way: &Way) -> Value {
    let mut zeros = Map::new();
    for (field, schema) in schemas.properties(type_name) {
        if way.steps.is_empty() && matches!(field, "apiVersion" | "kind") {
            continue;
        }
        let expression = schemas.expression(schema);
        let zero = match &*expression {
            "any" | "time" | "micro-time" => continue,
            "string" | "bytes" => json!(""),
            "boolean" => json!(false),
            "int32" | "int64" | "number" | "int-or-string" => json!(0),
            "quantity" => json!("0"),
            list if list.starts_with('[') => json!([]),
            _ => json!({}),
        };
        zeros.insert(field.into(), zero);
    }
    zeros.into()
}

/// The objects in the audit log, by the field manager of their request.
fn understood(audit_log: &Path) -> io::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for line in fs::read_to_string(audit_log)?.lines() {
        let mut event: Value = serde_json::from_str(line)?;
        let manager = event["requestURI"]
            .as_str()
            .and_then(|uri| uri.split_once("fieldManager="))
            .map(|(_, name)| name);
        if let Some(manager) = manager.map(ToOwned::to_owned) {
            objects.insert(manager, event["requestObject"].take());
        }
    }
    Ok(objects)
}
