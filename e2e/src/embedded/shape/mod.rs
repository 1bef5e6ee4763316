//! What an object may look like: which fields, of which types, and how lists and maps merge.
//!
//! In: an object as JSON and the [`Shape`] of its kind. Out: the object as the server understands it ([`decode`]): without
//! fields that nobody knows, nulls, and zeros that mean nothing, with scalars in their one form; or what is wrong with it.
//! A shape is a value, made from the table of facts for built-in kinds and from its schema for a custom one, so that
//! decoding, the patches and server-side apply are written once. Shapes of built-in types refer to each other by
//! [`TypeId`], for some contain themselves.
//! What a value must be beyond its type (ranges, names, patterns) is left to others.

mod decode;
mod dependent;
mod quantity;
mod scalar;
mod time;

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) use self::decode::{DecodeError, Decoded, decode, decode_value};

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Anything, kept as it is; a leaf for server-side apply.
    Any,
    Scalar(Scalar),
    /// A named type; [`Types::resolve`] tells which.
    Ref(TypeId),
    Object(Box<ObjectShape>),
    /// Any keys, with values of one type.
    Map {
        value: Box<Shape>,
        atomic: bool,
    },
    List {
        item: Box<Shape>,
        kind: ListKind,
        patch: Option<PatchKey>,
    },
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    String,
    Int32,
    Int64,
    Number,
    Boolean,
    IntOrString,
    /// RFC 3339, seconds.
    Time,
    /// RFC 3339, microseconds.
    MicroTime,
    /// A number, or a string of a number with a suffix.
    Quantity,
    /// Base64.
    Bytes,
}

/// How server-side apply tells the items of a list apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Not at all: the list is one value.
    Atomic,
    /// By their value.
    Set,
    /// By the values of these fields.
    Map(Vec<Box<str>>),
}

/// A strategic merge patch merges this list instead of replacing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatchKey {
    /// The field that tells items apart; none for a list of scalars, told apart by their value.
    pub(super) merge_key: Option<Box<str>>,
}

/// An object with known fields. `ObjectShape::default()` knows no field.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ObjectShape {
    pub(super) fields: BTreeMap<Box<str>, Shape>,
    pub(super) required: Vec<Box<str>>,
    /// Unknown fields are kept.
    pub(super) preserve_unknown: bool,
    /// Server-side apply owns it as a whole.
    pub(super) atomic: bool,
    /// Defaults that are part of the type (other than zero): what an absent key field of a list counts as.
    pub(super) defaults: BTreeMap<Box<str>, Value>,
    /// What the server sets fields to that are not set.
    pub(super) sets: BTreeMap<Box<str>, Value>,
    /// Fields that are written as the zero of their type if they are not set.
    pub(super) zeros: Vec<Box<str>>,
    /// Fields that are written as null if they are not set.
    pub(super) nulls: Vec<Box<str>>,
    /// Fields that are written if they are set to zero. Others are then as if they were not set.
    pub(super) kept: Vec<Box<str>>,
    /// What errors call fields, where their shape does not tell.
    pub(super) names: BTreeMap<Box<str>, FieldNames>,
    /// Fields that a strategic merge patch replaces although they are objects.
    pub(super) replaced: Vec<Box<str>>,
}

/// What errors call a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldNames {
    /// Its type, such as `v1.RestartPolicy`.
    pub(super) go_type: Option<Box<str>>,
    /// The part of the path between that of the object and the field.
    pub(super) embedded: Option<Box<str>>,
}

/// A named type of a [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TypeId(u32);

/// The named types that shapes refer to.
#[derive(Debug, Default)]
pub(super) struct Types {
    names: Vec<Box<str>>,
    ids: BTreeMap<Box<str>, TypeId>,
    shapes: Vec<Shape>,
}

impl Types {
    /// The shape behind a reference, or the shape itself; never a [`Shape::Ref`].
    pub(super) fn resolve<'a>(&'a self, mut shape: &'a Shape) -> &'a Shape {
        while let Shape::Ref(id) = shape {
            shape = self.get(*id);
        }
        shape
    }

    /// What a scalar is that nobody has set; null for anything else.
    pub(super) fn zero(&self, shape: &Shape) -> Value {
        match self.resolve(shape) {
            Shape::Scalar(scalar) => scalar::zero(*scalar),
            _ => Value::Null,
        }
    }

    pub(super) fn get(&self, id: TypeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// A type by its short name, such as `meta.v1.ObjectMeta` or `core.v1.PodSpec`.
    pub(super) fn id(&self, name: &str) -> Option<TypeId> {
        self.ids.get(name).copied()
    }

    /// The short name of a type.
    pub(super) fn name(&self, id: TypeId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The id of a name, new if nobody asked for it yet; until [`Types::define`], it is [`Shape::Any`].
    pub(super) fn declare(&mut self, name: &str) -> TypeId {
        if let Some(id) = self.id(name) {
            return id;
        }
        let id = TypeId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        self.shapes.push(Shape::Any);
        id
    }

    pub(super) fn define(&mut self, id: TypeId, shape: Shape) {
        self.shapes[id.0 as usize] = shape;
    }

    /// Gives one field of a type a copy of its own type that is atomic, or is not.
    pub(super) fn override_atomic(&mut self, id: TypeId, field: &str, atomic: bool) {
        let Shape::Object(object) = self.get(id) else { return };
        let Some(mut shape) = object.fields.get(field).map(|shape| self.resolve(shape).clone()) else {
            return;
        };
        match &mut shape {
            Shape::Object(object) => object.atomic = atomic,
            Shape::Map { atomic: is, .. } => *is = atomic,
            _ => return,
        }
        if let Shape::Object(object) = &mut self.shapes[id.0 as usize] {
            object.fields.insert(field.into(), shape);
        }
    }
}

#[cfg(all(test, feature = "cluster"))]
mod against;
#[cfg(test)]
mod tests;
