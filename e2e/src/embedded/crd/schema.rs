//! A schema of a custom resource, read once.
//!
//! In: `openAPIV3Schema` as JSON, which `structural` has found right. Out: a tree of [`Node`]s with compiled patterns, on which
//! values are pruned, defaulted and checked. The same node type serves the branches of `allOf`, `anyOf`, `oneOf` and `not`,
//! which say less. What is written wrong is read as not said: saying so is `structural`'s.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::super::shape::{ListKind, ObjectShape, Scalar, Shape, Types};
use super::{formats, rules::Rule};

/// One schema.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "keywords of a schema, each said or not")]
pub(super) struct Node {
    /// `string`, `integer`, ...; `int-or-string` stands for the extension. Empty in branches, and where all is open.
    pub(super) kind: Kind,
    /// Empty if it is one that the server does not know.
    pub(super) format: String,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) limits: Limits,
    /// The source, and the pattern if it can be compiled.
    pub(super) pattern: Option<(String, Option<Regex>)>,
    pub(super) one_of_values: Vec<Value>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    /// `x-kubernetes-preserve-unknown-fields`
    pub(super) open: bool,
    /// `x-kubernetes-embedded-resource`
    pub(super) embedded: bool,
    pub(super) list: List,
    /// `x-kubernetes-map-type: atomic`
    pub(super) atomic_map: bool,
    /// `x-kubernetes-validations`
    pub(super) rules: Vec<Rule>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Unsaid,
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
    IntOrString,
}

/// What `additionalProperties` says.
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Unsaid,
    /// `true` or `false`
    Allowed(bool),
    Schema(Box<Node>),
}

/// `x-kubernetes-list-type`
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
}

impl Kind {
    fn read(schema: &Map<String, Value>) -> Self {
        if is_true(schema, "x-kubernetes-int-or-string") {
            return Self::IntOrString;
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("array") => Self::Array,
            Some("boolean") => Self::Boolean,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("object") => Self::Object,
            Some("string") => Self::String,
            _ => Self::Unsaid,
        }
    }

    /// The types as errors list them.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Unsaid => "",
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
            Self::IntOrString => "integer,string",
        }
    }
}

impl Node {
    /// Reads a schema; what is no schema is one that says nothing.
    pub(super) fn read(schema: &Value) -> Self {
        let empty = Map::new();
        let schema = schema.as_object().unwrap_or(&empty);
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut node = Self {
            kind: Kind::read(schema),
            format: Some(text("format")).filter(|format| formats::is_known(format)).unwrap_or_default(),
            nullable: is_true(schema, "nullable"),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            properties: fields(schema, "properties"),
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
                Some(other @ Value::Object(_)) => Additional::Schema(Box::new(Self::read(other))),
                _ => Additional::Unsaid,
            },
            items: schema.get("items").map(|items| Box::new(Self::read(items))),
            required: strings(schema, "required"),
            limits: Limits::read(schema),
            pattern: schema
                .get("pattern")
                .and_then(Value::as_str)
                .filter(|pattern| !pattern.is_empty())
                .map(|pattern| (pattern.to_owned(), Regex::new(pattern).ok())),
            one_of_values: list(schema, "enum").to_vec(),
            all_of: list(schema, "allOf").iter().map(Self::read).collect(),
            any_of: list(schema, "anyOf").iter().map(Self::read).collect(),
            one_of: list(schema, "oneOf").iter().map(Self::read).collect(),
            not: schema.get("not").filter(|not| not.is_object()).map(|not| Box::new(Self::read(not))),
            open: is_true(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded: is_true(schema, "x-kubernetes-embedded-resource"),
            list: match text("x-kubernetes-list-type").as_str() {
                "set" => List::Set,
                "map" => List::Map(strings(schema, "x-kubernetes-list-map-keys")),
                _ => List::Atomic,
            },
            atomic_map: text("x-kubernetes-map-type") == "atomic",
            rules: list(schema, "x-kubernetes-validations").iter().map(Rule::read).collect(),
        };
        if node.embedded {
            node.embed();
        }
        node
    }

    /// An embedded object says of what kind it is.
    fn embed(&mut self) {
        let typed = |kind| Self { kind, ..Self::default() };
        for (name, kind) in [("apiVersion", Kind::String), ("kind", Kind::String), ("metadata", Kind::Object)]
        {
            self.properties.entry(name.to_owned()).or_insert_with(|| typed(kind));
        }
        for name in ["apiVersion", "kind"] {
            if !self.required.iter().any(|required| required == name) {
                self.required.push(name.to_owned());
            }
        }
    }

    /// The schema of a field; none if it is not known.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match (self.properties.get(name), &self.additional) {
            (Some(node), _) => Some(node),
            (None, Additional::Schema(node)) => Some(node),
            (None, _) => None,
        }
    }

    /// What patches and server-side apply need to know.
    pub(super) fn shape(&self, types: &Types) -> Shape {
        match self.kind {
            Kind::Array => self.list_shape(types),
            Kind::Boolean => Shape::Scalar(Scalar::Boolean),
            Kind::Integer => Shape::Scalar(Scalar::Int64),
            Kind::Number => Shape::Scalar(Scalar::Number),
            Kind::String => Shape::Scalar(Scalar::String),
            Kind::IntOrString => Shape::Scalar(Scalar::IntOrString),
            Kind::Object => match &self.additional {
                Additional::Schema(value) => {
                    Shape::Map { value: Box::new(value.shape(types)), atomic: self.atomic_map }
                }
                Additional::Allowed(true) => {
                    Shape::Map { value: Box::new(Shape::Any), atomic: self.atomic_map }
                }
                _ => Shape::Object(Box::new(self.object_shape(types))),
            },
            Kind::Unsaid => Shape::Any,
        }
    }

    fn list_shape(&self, types: &Types) -> Shape {
        let item = self.items.as_ref().map_or(Shape::Any, |items| items.shape(types));
        let kind = match &self.list {
            List::Atomic => ListKind::Atomic,
            List::Set => ListKind::Set,
            List::Map(keys) => ListKind::Map(keys.iter().map(|key| key.as_str().into()).collect()),
        };
        Shape::List { item: Box::new(item), kind, patch: None }
    }

    pub(super) fn object_shape(&self, types: &Types) -> ObjectShape {
        let mut shape = ObjectShape {
            fields: self
                .properties
                .iter()
                .map(|(name, node)| (name.as_str().into(), node.shape(types)))
                .collect(),
            required: self.required.iter().map(|name| name.as_str().into()).collect(),
            preserve_unknown: self.open,
            atomic: self.atomic_map,
            defaults: self
                .properties
                .iter()
                .filter_map(|(name, node)| Some((name.as_str().into(), node.default.clone()?)))
                .collect(),
            ..ObjectShape::default()
        };
        if self.embedded
            && let Some(id) = types.id("meta.v1.ObjectMeta")
        {
            shape.fields.insert("metadata".into(), Shape::Ref(id));
        }
        shape
    }
}

impl Limits {
    fn read(schema: &Map<String, Value>) -> Self {
        let float = |key: &str| schema.get(key).and_then(Value::as_f64);
        let whole = |key: &str| schema.get(key).and_then(Value::as_i64);
        Self {
            minimum: float("minimum"),
            maximum: float("maximum"),
            exclusive_minimum: is_true(schema, "exclusiveMinimum"),
            exclusive_maximum: is_true(schema, "exclusiveMaximum"),
            multiple_of: float("multipleOf"),
            min_length: whole("minLength"),
            max_length: whole("maxLength"),
            min_items: whole("minItems"),
            max_items: whole("maxItems"),
            min_properties: whole("minProperties"),
            max_properties: whole("maxProperties"),
        }
    }
}

pub(super) fn is_true(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

pub(super) fn list<'a>(schema: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn strings(schema: &Map<String, Value>, key: &str) -> Vec<String> {
    list(schema, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn fields(schema: &Map<String, Value>, key: &str) -> BTreeMap<String, Node> {
    let fields = schema.get(key).and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, field)| (name.clone(), Node::read(field))).collect()
}
