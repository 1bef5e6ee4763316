//! Decodes an object as the server decodes it into a type.
//!
//! In: JSON, as bytes or as a value, and a shape. Out: the object, and the fields that were given in vain: unknown, or given
//! twice; or the text of the error.
//! One pass over the text, for the order of complaints is that of the text. A wrong value is remembered and reading goes
//! on, for the first one is told at the end, unless a scalar that reads itself (a time, a quantity) fails before: that
//! one is told at once. Null is nothing. Zeros that the type would not write are nothing either, and zeros that it always
//! writes are there in the end.
//! Whether a field in vain is an error or a warning is left to others.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

use super::{ObjectShape, Scalar, Shape, Types, dependent, scalar};

/// Complaints about fields beyond this number are not told.
const MOST_PROBLEMS: usize = 100;

/// An object, as far as it was understood.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Decoded {
    pub(in super::super) value: Value,
    /// Such as `unknown field "spec.colour"`, in the words and the order of the server.
    pub(in super::super) problems: Vec<String>,
}

/// Why there is no object.
#[derive(Debug)]
pub(in super::super) enum DecodeError {
    /// It is not JSON.
    Syntax(serde_json::Error),
    /// A value does not fit its type. The text is the server's.
    Type(String),
}

/// Decodes the body of a request.
///
/// # Errors
/// See [`DecodeError`].
pub(in super::super) fn decode(types: &Types, shape: &Shape, body: &[u8]) -> Result<Decoded, DecodeError> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let decoded = run(types, shape, &mut deserializer)?;
    deserializer.end().map_err(DecodeError::Syntax)?;
    Ok(decoded)
}

/// Decodes an object that a patch has made.
///
/// # Errors
/// Only [`DecodeError::Type`].
pub(in super::super) fn decode_value(
    types: &Types,
    shape: &Shape,
    value: Value,
) -> Result<Decoded, DecodeError> {
    run(types, shape, value)
}

fn run<'de, D: Deserializer<'de, Error = serde_json::Error>>(
    types: &Types,
    shape: &Shape,
    deserializer: D,
) -> Result<Decoded, DecodeError> {
    let mut report = Report::default();
    let place = Place { owner: type_name(types, shape), is_field: false, go_type: None };
    let value = Seed { types, shape, place, report: &mut report }.deserialize(deserializer);
    if let Some(text) = report.fatal {
        return Err(DecodeError::Type(text));
    }
    let value = value.map_err(DecodeError::Syntax)?;
    match report.first {
        Some(text) => Err(DecodeError::Type(text)),
        None => Ok(Decoded { value, problems: report.problems }),
    }
}

/// What is known so far, and where reading is.
#[derive(Default)]
struct Report {
    problems: Vec<String>,
    told: HashSet<String>,
    /// The first value of a wrong type.
    first: Option<String>,
    /// The error that ended reading.
    fatal: Option<String>,
    /// `spec.containers[0].name`, as in complaints about fields.
    path: String,
    /// `spec.containers.name`, as in errors about types: no places in lists, no keys of maps, but embedded structs.
    type_path: String,
}

impl Report {
    fn problem(&mut self, what: &str) {
        if self.problems.len() < MOST_PROBLEMS {
            let problem = format!("{what} field {:?}", self.path);
            if self.told.insert(problem.clone()) {
                self.problems.push(problem);
            }
        }
    }

    /// Goes into something and comes back.
    fn within<T>(&mut self, step: &str, type_step: &str, inner: impl FnOnce(&mut Self) -> T) -> T {
        let (path, type_path) = (self.path.len(), self.type_path.len());
        for (path, step) in [(&mut self.path, step), (&mut self.type_path, type_step)] {
            if !path.is_empty() && !step.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        let result = inner(self);
        self.path.truncate(path);
        self.type_path.truncate(type_path);
        result
    }
}

/// What errors call the place that is read.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The struct whose field it is, or that it is itself.
    owner: &'a str,
    /// It is a field, and not the whole.
    is_field: bool,
    /// The name of its type, if the shape does not tell it.
    go_type: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// The place of items, within a list or map.
    fn item(self) -> Self {
        let item = |name: &'a str| name.strip_prefix("[]").or_else(|| name.strip_prefix("map[string]"));
        Self { go_type: self.go_type.and_then(item), ..self }
    }
}

/// Reads a value of a shape.
struct Seed<'a, 'r> {
    types: &'a Types,
    shape: &'a Shape,
    place: Place<'a>,
    report: &'r mut Report,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seed<'_, '_> {
    /// Notes a value of a wrong type.
    fn wrong(self, what: &str) -> Value {
        if self.report.first.is_none() {
            let name = match self.place.go_type {
                Some(name) => name.to_owned(),
                None => go_type(self.types, self.shape),
            };
            let place = if self.place.is_field {
                format!("struct field {}.{}", self.place.owner, self.report.type_path)
            } else {
                "value".into()
            };
            self.report.first = Some(format!("json: cannot unmarshal {what} into Go {place} of type {name}"));
        }
        Value::Null
    }

    fn scalar<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        match self.types.resolve(self.shape) {
            Shape::Any => Ok(value),
            Shape::Scalar(scalar) => match scalar::read(*scalar, value) {
                Ok(value) => Ok(value),
                Err(scalar::Wrong::Type(what)) => Ok(self.wrong(&what)),
                Err(scalar::Wrong::Kept(text)) => {
                    self.report.first.get_or_insert(text);
                    Ok(Value::Null)
                }
                Err(scalar::Wrong::Fatal(text)) => {
                    self.report.fatal = Some(text);
                    Err(E::custom("a value of a wrong type"))
                }
            },
            _ => {
                let what = scalar::kind(&value);
                Ok(self.wrong(what))
            }
        }
    }

    /// What a list or an object is where neither fits.
    fn nested<E: serde::de::Error>(self, empty: Value) -> Result<Value, E> {
        // It judges the whole text of its value.
        if *self.types.resolve(self.shape) == Shape::Scalar(Scalar::Quantity) {
            return self.scalar(empty);
        }
        let what = scalar::kind(&empty);
        Ok(self.wrong(what))
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.scalar(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let any = Shape::Any;
        let item = match self.types.resolve(self.shape) {
            Shape::List { item, .. } => item,
            Shape::Any => &any,
            _ => {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                return self.nested(Value::Array(Vec::new()));
            }
        };
        let Self { types, place, report, .. } = self;
        let mut items = Vec::new();
        loop {
            let value = report.within(&format!("[{}]", items.len()), "", |report| {
                list.next_element_seed(Seed { types, shape: item, place: place.item(), report })
            })?;
            match value {
                Some(value) => items.push(present(types, item, value)),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let any = Shape::Any;
        let value_shape = match self.types.resolve(self.shape) {
            Shape::Object(object) => return self.object(object, map),
            Shape::Map { value, .. } => value,
            Shape::Any => &any,
            _ => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return self.nested(Value::Object(Map::new()));
            }
        };
        let Self { types, place, report, .. } = self;
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            report.within(&key.clone(), "", |report| {
                if values.contains_key(&key) {
                    report.problem("duplicate");
                }
                let seed = Seed { types, shape: value_shape, place: place.item(), report };
                let value = map.next_value_seed(seed)?;
                values.insert(key, present(types, value_shape, value));
                Ok::<_, A::Error>(())
            })?;
        }
        Ok(values.into())
    }
}

/// Null among items stands for a zero.
fn present(types: &Types, shape: &Shape, value: Value) -> Value {
    if value.is_null() { unset(types, shape) } else { value }
}

/// What is made of a value that nobody has set.
fn unset(types: &Types, shape: &Shape) -> Value {
    match types.resolve(shape) {
        Shape::Object(object) => {
            let mut fields = Map::new();
            settle(types, shape, object, &mut fields);
            fields.into()
        }
        other => types.zero(other),
    }
}

impl Seed<'_, '_> {
    fn object<'de, A: MapAccess<'de>>(self, object: &ObjectShape, mut map: A) -> Result<Value, A::Error> {
        let Self { types, report, .. } = self;
        let owner = type_name(types, self.shape);
        let owner = if owner.is_empty() { self.place.owner } else { owner };
        let mut fields = Map::new();
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let (names, shape) = (object.names.get(name.as_str()), object.fields.get(name.as_str()));
            let embedded = names.and_then(|names| names.embedded.as_deref());
            let type_step = embedded.map_or_else(|| name.clone(), |embedded| format!("{embedded}.{name}"));
            report.within(&name.clone(), &type_step, |report| {
                let Some(shape) = shape else {
                    if object.preserve_unknown {
                        fields.insert(name, map.next_value()?);
                    } else {
                        report.problem("unknown");
                        map.next_value::<IgnoredAny>()?;
                    }
                    return Ok(());
                };
                if !seen.insert(name.clone()) {
                    report.problem("duplicate");
                }
                let go_type = names.and_then(|names| names.go_type.as_deref());
                let place = Place { owner, is_field: true, go_type };
                let value = map.next_value_seed(Seed { types, shape, place, report })?;
                // Null leaves the field as it is.
                if !value.is_null() {
                    fields.insert(name, value);
                }
                Ok::<_, A::Error>(())
            })?;
        }
        settle(types, self.shape, object, &mut fields);
        Ok(fields.into())
    }
}

/// Takes away the zeros that the type does not write, sets what the server sets, and adds the zeros that it always writes.
fn settle(types: &Types, shape: &Shape, object: &ObjectShape, fields: &mut Map<String, Value>) {
    fields.retain(|name, value| {
        let name = name.as_str();
        match object.fields.get(name).map(|shape| types.resolve(shape)) {
            None | Some(Shape::Any) => true,
            // Storage knows no empty list, only none.
            Some(Shape::List { .. } | Shape::Map { .. }) => !is_zero(value),
            Some(_) => !is_zero(value) || object.kept.iter().any(|kept| **kept == *name),
        }
    });
    for (name, value) in &object.sets {
        fields.entry(&**name).or_insert_with(|| value.clone());
    }
    for name in &object.nulls {
        fields.entry(&**name).or_insert(Value::Null);
    }
    for name in &object.zeros {
        if let Some(shape) = object.fields.get(name)
            && !fields.contains_key(&**name)
        {
            fields.insert(name.to_string(), unset(types, shape));
        }
    }
    if let Shape::Ref(id) = shape {
        let unset = |name: &str| object.fields.get(name).map_or(Value::Null, |shape| unset(types, shape));
        dependent::set(types.name(*id), fields, unset);
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// `Pod` of `core.v1.Pod`; empty for a shape without a name.
fn type_name<'a>(types: &'a Types, shape: &Shape) -> &'a str {
    match shape {
        Shape::Ref(id) => types.name(*id).rsplit('.').next().unwrap_or_default(),
        _ => "",
    }
}

/// What errors call the type of a shape, if nobody has given it another name.
fn go_type(types: &Types, shape: &Shape) -> String {
    match shape {
        Shape::Any | Shape::Object(_) => "map[string]interface {}".into(),
        Shape::Scalar(scalar) => scalar::go_type(*scalar).into(),
        // `v1.Pod` of `core.v1.Pod`.
        Shape::Ref(id) => {
            let name = types.name(*id);
            name.split_once('.').map_or(name, |(_, rest)| rest).into()
        }
        Shape::Map { value, .. } => format!("map[string]{}", go_type(types, value)),
        Shape::List { item, .. } => format!("[]{}", go_type(types, item)),
    }
}
