//! How a value is taken apart for server-side apply: its shape, turned into one of three questions.
//!
//! In: a value and its [`Shape`]. Out: [`Form`], whether it is one leaf, a map with fields of its own or a
//! list whose items are told apart; and for such a list the [`Element`] of each item. Values of no known type
//! are taken apart by what they are: maps into fields, everything else as one leaf.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    super::shape::{ListKind, ObjectShape, Scalar, Shape, Types},
    set::{Atom, Element, Path, Set, print},
};

/// A value's shape for server-side apply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    /// A scalar: owned as a whole.
    Leaf(Option<Scalar>),
    Map(Fields<'a>),
    List(Items<'a>),
}

/// The fields of a map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields<'a> {
    /// Named fields; what other fields are allowed to be is in the shape.
    Object(&'a ObjectShape),
    /// Any keys.
    Any { value: &'a Shape, atomic: bool },
}

/// The items of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    pub(super) item: &'a Shape,
    pub(super) kind: &'a ListKind,
}

static ANY: Shape = Shape::Any;
static ATOMIC: ListKind = ListKind::Atomic;

impl<'a> Fields<'a> {
    /// The shape of one field. `None`: there is no such field.
    pub(super) fn get(self, name: &str) -> Option<&'a Shape> {
        match self {
            Self::Object(object) => {
                object.fields.get(name).or(if object.preserve_unknown { Some(&ANY) } else { None })
            }
            Self::Any { value, .. } => Some(value),
        }
    }

    /// Whether a field goes without saying, as those of a struct do, unlike the keys of a map.
    pub(super) fn names(self, name: &str) -> bool {
        matches!(self, Self::Object(object) if object.fields.contains_key(name))
    }

    pub(super) fn is_atomic(self) -> bool {
        match self {
            Self::Object(object) => object.atomic,
            Self::Any { atomic, .. } => atomic,
        }
    }
}

impl Items<'_> {
    pub(super) fn is_atomic(self) -> bool {
        *self.kind == ListKind::Atomic
    }

    /// How an item is told from the others.
    ///
    /// # Errors
    /// Why it cannot be, in the server's words.
    pub(super) fn element(self, types: &Types, item: &Value) -> Result<Element, String> {
        let ListKind::Map(keys) = self.kind else { return set_element(item) };
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut key: Vec<(Box<str>, Atom)> = keys
            .iter()
            .filter_map(|name| {
                let value = fields.get(&**name).cloned().or_else(|| key_default(types, self.item, name))?;
                Some((name.clone(), Atom(value)))
            })
            .collect();
        if key.is_empty() {
            let keys: Vec<_> = keys.iter().map(|name| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] \
                 (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        key.sort();
        Ok(Element::Key(key))
    }
}

fn set_element(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
        scalar => Ok(Element::Value(Atom(scalar.clone()))),
    }
}

/// What a key field counts as where an item leaves it out: its default, which for a required field is at
/// least the zero value.
fn key_default(types: &Types, item: &Shape, name: &str) -> Option<Value> {
    let Shape::Object(object) = types.resolve(item) else { return None };
    if let Some(value) = object.defaults.get(name) {
        return Some(value.clone());
    }
    if object.preserve_unknown || !object.required.iter().any(|required| **required == *name) {
        return None;
    }
    match types.resolve(object.fields.get(name)?) {
        Shape::Scalar(Scalar::String) => Some("".into()),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Number) => Some(0.into()),
        _ => None,
    }
}

/// The form of a value. A missing value takes whatever form the other side of a comparison has.
pub(super) fn form<'a>(types: &'a Types, shape: &'a Shape, value: Option<&Value>) -> Form<'a> {
    match types.resolve(shape) {
        Shape::Any => match value {
            Some(Value::Object(_) | Value::Null) | None => {
                Form::Map(Fields::Any { value: &ANY, atomic: false })
            }
            Some(Value::Array(_)) => Form::List(Items { item: &ANY, kind: &ATOMIC }),
            Some(_) => Form::Leaf(None),
        },
        Shape::Scalar(scalar) => Form::Leaf(Some(*scalar)),
        Shape::Object(object) => Form::Map(Fields::Object(object)),
        Shape::Map { value, atomic } => Form::Map(Fields::Any { value, atomic: *atomic }),
        Shape::List { item, kind, .. } => Form::List(Items { item, kind }),
        Shape::Ref(_) => unreachable!("resolved"),
    }
}

/// Whether two values of one shape are taken apart differently; only values of no known type can be.
pub(super) fn differ(types: &Types, shape: &Shape, a: &Value, b: &Value) -> bool {
    let kind = |value: &Value| match value {
        Value::Object(_) => 0,
        Value::Array(_) => 1,
        Value::Null => 2,
        _ => 3,
    };
    matches!(types.resolve(shape), Shape::Any) && kind(a) != kind(b)
}

/// The items of a value that ought to be a list.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The fields of a value that ought to be a map.
pub(super) fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// All that somebody who sends this value owns: its leaves, and the items and keys that hold them.
pub(super) fn owned(types: &Types, shape: &Shape, value: &Value) -> Set {
    let mut set = Set::default();
    collect(types, shape, value, &mut Vec::new(), &mut set);
    set
}

fn collect(types: &Types, shape: &Shape, value: &Value, path: &mut Path, set: &mut Set) {
    match form(types, shape, Some(value)) {
        Form::Leaf(_) => set.insert(path),
        Form::Map(known) if known.is_atomic() => set.insert(path),
        Form::List(list) if list.is_atomic() => set.insert(path),
        Form::Map(known) => {
            for (name, value) in fields(Some(value)).into_iter().flatten() {
                path.push(Element::field(name));
                if let Some(shape) = known.get(name) {
                    collect(types, shape, value, path, set);
                }
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !known.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Form::List(list) => {
            let elements: Vec<_> = items(Some(value))
                .iter()
                .filter_map(|item| Some((list.element(types, item).ok()?, item)))
                .collect();
            let mut count = BTreeMap::new();
            for (element, _) in &elements {
                *count.entry(element).or_insert(0_usize) += 1;
            }
            for (element, item) in &elements {
                path.push(element.clone());
                // Of items that cannot be told apart, only that they are there is owned.
                if count[element] == 1 {
                    collect(types, list.item, item, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
    }
}

/// What is wrong with a value that somebody applies: unknown fields, wrong types, items told apart by
/// nothing.
pub(super) fn faults(types: &Types, shape: &Shape, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    validate(types, shape, value, &mut Vec::new(), &mut faults);
    faults
}

fn validate(types: &Types, shape: &Shape, value: &Value, path: &mut Path, faults: &mut Vec<String>) {
    let fault = |path: &Path, text: String| {
        if path.is_empty() { text } else { format!("{}: {text}", print(path)) }
    };
    if value.is_null() {
        return;
    }
    match (form(types, shape, Some(value)), value) {
        (Form::Leaf(scalar), value) => {
            if let Some(text) = scalar_fault(scalar, value) {
                faults.push(fault(path, text));
            }
        }
        (Form::Map(known), Value::Object(values)) => {
            for (name, value) in values {
                path.push(Element::field(name));
                let shape = known.get(name);
                match shape {
                    Some(shape) => validate(types, shape, value, path, faults),
                    None => faults.push(fault(path, "field not declared in schema".into())),
                }
                path.pop();
                // The server tells the first unknown field of an object.
                if shape.is_none() {
                    return;
                }
            }
        }
        (Form::List(list), Value::Array(values)) => {
            let mut seen = BTreeSet::new();
            for (index, value) in values.iter().enumerate() {
                let element = if list.is_atomic() {
                    Element::Index(i64::try_from(index).unwrap_or(i64::MAX))
                } else {
                    match list.element(types, value) {
                        Ok(element) => element,
                        Err(text) => return faults.push(fault(path, format!("element {index}: {text}"))),
                    }
                };
                if !seen.insert(element.clone()) {
                    faults.push(fault(path, format!("duplicate entries for key {element}")));
                }
                path.push(element);
                validate(types, list.item, value, path, faults);
                path.pop();
            }
        }
        (Form::Map(_), value) => {
            faults.push(fault(path, format!("expected map, got &{{{}}}", go_value(value))));
        }
        (Form::List(_), value) => {
            faults.push(fault(path, format!("expected list, got &{{{}}}", go_value(value))));
        }
    }
}

/// Why a value is not of a scalar type.
fn scalar_fault(scalar: Option<Scalar>, value: &Value) -> Option<String> {
    let fits = match scalar {
        Some(Scalar::Int32 | Scalar::Int64 | Scalar::Number) => value.is_number(),
        Some(Scalar::Boolean) => value.is_boolean(),
        Some(Scalar::String | Scalar::Bytes) => value.is_string(),
        Some(Scalar::IntOrString | Scalar::Time | Scalar::MicroTime | Scalar::Quantity) | None => {
            !value.is_object() && !value.is_array()
        }
    };
    (!fits).then(|| match scalar {
        Some(Scalar::Int32 | Scalar::Int64 | Scalar::Number) => {
            format!("expected numeric (int or float), got {}", go_type(value))
        }
        Some(Scalar::Boolean) => format!("expected boolean, got &{{{}}}", go_value(value)),
        Some(Scalar::String | Scalar::Bytes) => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_literal(value))
        }
        _ => format!("expected any scalar, got &{{{}}}", go_value(value)),
    })
}

/// A value's type as the server names it.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as the server prints it: Go's `%v`.
pub(super) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_value).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}:{}", go_value(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_string(),
    }
}

/// A value as source code: Go's `%#v`.
fn go_literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Array(items) => {
            format!("{}{{{}}}", go_type(value), items.iter().map(go_literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name:?}:{}", go_literal(value))).collect();
            format!("{}{{{}}}", go_type(value), fields.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
