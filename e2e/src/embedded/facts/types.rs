//! Reads `types.txt`.
//!
//! ```text
//! core.v1.Container                            a type; "atomic" behind it: server-side apply owns it as a whole
//!  name!+ string                               "!" is required, "+" always written, "?" so as null, "*" if set to zero
//!  ports [core.v1.ContainerPort] map=containerPort,protocol merge=containerPort
//! ```
//! A type is a scalar, `any`, the name of a type, `[items]` of a list or `{values}` of a map. Behind it: `set` or `map=KEYS`
//! (how server-side apply tells items apart), `atomic` or `granular` (against what the type says), `merge` or
//! `merge=KEY` or `replace` (strategic merge patches), `go=` and `in=` (what errors call it), `default=JSON` (of the type, as
//! server-side apply has it) and `sets=JSON` (what the server sets where nobody did).

use serde_json::Value;

use super::super::shape::{FieldNames, ListKind, ObjectShape, PatchKey, Scalar, Shape, Types};

/// # Panics
/// On a line that is none of the above.
pub(super) fn parse(text: &'static str) -> Types {
    let mut types = Types::default();
    let mut blocks: Vec<(&str, Vec<Field>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(' '), blocks.last_mut()) {
            (Some(line), Some((_, fields))) => fields.push(Field::parse(line)),
            _ => blocks.push((line, Vec::new())),
        }
    }
    for (head, fields) in &blocks {
        let (name, marks) = head.split_once(' ').unwrap_or((head, ""));
        let mut object = ObjectShape { atomic: marks == "atomic", ..ObjectShape::default() };
        for field in fields {
            field.add_to(&mut object, &mut types);
        }
        let id = types.declare(name);
        types.define(id, Shape::Object(Box::new(object)));
    }
    // Only now are the types defined whose copies these are.
    for (head, fields) in &blocks {
        let id = types.declare(head.split(' ').next().unwrap_or_default());
        for field in fields.iter().filter(|field| field.atomic.is_some()) {
            types.override_atomic(id, field.name, field.atomic == Some(true));
        }
    }
    types
}

/// One line.
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that is there or not")]
struct Field {
    name: &'static str,
    required: bool,
    null: bool,
    zero: bool,
    kept: bool,
    expression: &'static str,
    list: ListKind,
    atomic: Option<bool>,
    patch: Option<PatchKey>,
    replace: bool,
    go_type: Option<&'static str>,
    embedded: Option<&'static str>,
    default: Option<Value>,
    sets: Option<Value>,
}

fn split_json(line: &'static str, key: &str) -> (&'static str, Option<Value>) {
    match line.split_once(key) {
        Some((line, json)) => (line, Some(serde_json::from_str(json).expect("types.txt: a value is JSON"))),
        None => (line, None),
    }
}

impl Field {
    fn parse(line: &'static str) -> Self {
        // Values are JSON, in which there may be spaces; so they come last.
        let (line, sets) = split_json(line, " sets=");
        let (line, default) = split_json(line, " default=");
        let mut words = line.split(' ');
        let marked = words.next().unwrap_or_default();
        let name = marked.trim_end_matches(['!', '?', '+', '*']);
        let marks = &marked[name.len()..];
        let mut field = Self {
            name,
            required: marks.contains('!'),
            null: marks.contains('?'),
            zero: marks.contains('+'),
            kept: marks.contains('*'),
            expression: words.next().unwrap_or_default(),
            list: ListKind::Atomic,
            atomic: None,
            patch: None,
            replace: false,
            go_type: None,
            embedded: None,
            default,
            sets,
        };
        for word in words {
            let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
            match key {
                "set" => field.list = ListKind::Set,
                "map" => {
                    field.list =
                        ListKind::Map(value.unwrap_or_default().split(',').map(Into::into).collect());
                }
                "atomic" => field.atomic = Some(true),
                "granular" => field.atomic = Some(false),
                "merge" => field.patch = Some(PatchKey { merge_key: value.map(Into::into) }),
                "replace" => field.replace = true,
                "go" => field.go_type = value,
                "in" => field.embedded = value,
                _ => panic!("types.txt: {line}"),
            }
        }
        field
    }

    fn add_to(&self, object: &mut ObjectShape, types: &mut Types) {
        let mut shape = expression(self.expression, types);
        if let Shape::List { kind, patch, .. } = &mut shape {
            (*kind, *patch) = (self.list.clone(), self.patch.clone());
        }
        object.fields.insert(self.name.into(), shape);
        if self.required {
            object.required.push(self.name.into());
        }
        if self.null {
            object.nulls.push(self.name.into());
        }
        if self.zero {
            object.zeros.push(self.name.into());
        }
        if self.kept {
            object.kept.push(self.name.into());
        }
        if self.go_type.is_some() || self.embedded.is_some() {
            let names =
                FieldNames { go_type: self.go_type.map(Into::into), embedded: self.embedded.map(Into::into) };
            object.names.insert(self.name.into(), names);
        }
        if self.replace {
            object.replaced.push(self.name.into());
        }
        for (values, value) in [(&mut object.defaults, &self.default), (&mut object.sets, &self.sets)] {
            values.extend(value.clone().map(|value| (self.name.into(), value)));
        }
    }
}

fn expression(text: &str, types: &mut Types) -> Shape {
    if let Some(item) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Shape::List { item: Box::new(expression(item, types)), kind: ListKind::Atomic, patch: None };
    }
    if let Some(value) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return Shape::Map { value: Box::new(expression(value, types)), atomic: false };
    }
    match text {
        "any" => Shape::Any,
        "string" => Shape::Scalar(Scalar::String),
        "int32" => Shape::Scalar(Scalar::Int32),
        "int64" => Shape::Scalar(Scalar::Int64),
        "number" => Shape::Scalar(Scalar::Number),
        "boolean" => Shape::Scalar(Scalar::Boolean),
        "bytes" => Shape::Scalar(Scalar::Bytes),
        "int-or-string" => Shape::Scalar(Scalar::IntOrString),
        "quantity" => Shape::Scalar(Scalar::Quantity),
        "time" => Shape::Scalar(Scalar::Time),
        "micro-time" => Shape::Scalar(Scalar::MicroTime),
        name => Shape::Ref(types.declare(name)),
    }
}
