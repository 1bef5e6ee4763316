//! Writes the types of the server's OpenAPI documents as lines.
//!
//! In: schemas by their full name. Out: the text of `types.txt`, of the types that the roots reach.
//! Only what decides how values are decoded, pruned and merged is taken; texts, formats of strings and enumerations
//! are not. The format of a line is told in [`super::super::types`], which reads it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;

use super::probe::{Absent, FieldKey, Learnt};

/// Types that are values without parts in this server's eyes.
const NAMED: [(&str, &str); 4] = [
    ("resource.Quantity", "quantity"),
    ("intstr.IntOrString", "int-or-string"),
    ("meta.v1.Time", "time"),
    ("meta.v1.MicroTime", "micro-time"),
];

/// Objects of any fields, which the documents do not tell from objects of none.
const FREE: [&str; 3] = ["meta.v1.FieldsV1", "meta.v1.Patch", "runtime.RawExtension"];

/// Where the names of the documents begin before what is left of them here.
const PACKAGES: [&str; 6] = [
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apimachinery.pkg.api.",
    "io.k8s.apimachinery.pkg.util.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.api.",
    "io.k8s.",
];

/// `core.v1.Pod` of `io.k8s.api.core.v1.Pod`, and `apiextensions.v1.X` of
/// `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.X`.
pub(super) fn short_name(full: &str) -> &str {
    if let Some((_, rest)) = full.split_once(".pkg.apis.") {
        return rest;
    }
    PACKAGES.iter().find_map(|package| full.strip_prefix(package)).unwrap_or(full)
}

/// All schemas, by their short name.
#[derive(Default)]
pub(super) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Takes the schemas of one document; what another document has said of a type is the same.
    pub(super) fn add(&mut self, document: &mut Value) {
        let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas").map(Value::take)
        else {
            return;
        };
        self.0.extend(schemas.into_iter().map(|(name, schema)| (short_name(&name).to_owned(), schema)));
    }

    /// The fields of a type, with their schemas.
    pub(super) fn properties(&self, name: &str) -> impl Iterator<Item = (&str, &Value)> {
        let fields = self.0.get(name).and_then(|schema| schema["properties"].as_object());
        fields.into_iter().flatten().map(|(field, schema)| (field.as_str(), schema))
    }

    /// The fields of a type.
    pub(super) fn fields(&self, name: &str) -> impl Iterator<Item = &str> {
        self.properties(name).map(|(field, _)| field)
    }

    /// The path of a field, and of the fields within it down to a depth; the items of lists have none.
    pub(super) fn paths(
        &self,
        name: &str,
        field: &str,
        before: String,
        depth: usize,
        paths: &mut Vec<String>,
    ) {
        let path = if before.is_empty() { field.to_owned() } else { before + "." + field };
        if let Some(inner) = reference(&self.0[name]["properties"][field]).filter(|_| depth > 1) {
            for field in self.fields(inner) {
                self.paths(inner, field, path.clone(), depth - 1, paths);
            }
        }
        paths.push(path);
    }

    /// The type of a kind.
    pub(super) fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let is = |of: &Value| of["group"] == group && of["version"] == version && of["kind"] == kind;
        let one = |schema: &Value| {
            schema["x-kubernetes-group-version-kind"]
                .as_array()
                .is_some_and(|kinds| matches!(&kinds[..], [of] if is(of)))
        };
        self.0.iter().find(|(_, schema)| one(schema)).map(|(name, _)| name.as_str())
    }

    /// The text of the types that the roots reach.
    pub(super) fn text(&self, roots: BTreeSet<&str>, learnt: &BTreeMap<FieldKey, Learnt>) -> String {
        let mut text = String::new();
        for name in self.reached(roots) {
            let schema = &self.0[name];
            let _ = writeln!(text, "{name}{}", type_marks(schema));
            for (field, of) in self.properties(name) {
                let learnt = learnt.get(&(name.to_owned(), field.to_owned())).cloned().unwrap_or_default();
                let _ = writeln!(text, " {}", self.field_line(schema, field, of, &learnt));
            }
        }
        text
    }

    fn reached<'a>(&'a self, roots: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut todo: Vec<_> = roots.into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(name) = todo.pop() {
            let Some((name, schema)) = self.0.get_key_value(name) else { continue };
            if !is_structured(name, schema) || !reached.insert(name.as_str()) {
                continue;
            }
            let fields = schema["properties"].as_object().into_iter().flatten();
            todo.extend(fields.filter_map(|(_, of)| reference(innermost(of))));
        }
        reached
    }

    fn field_line(&self, owner: &Value, field: &str, schema: &Value, learnt: &Learnt) -> String {
        let mut line = field.to_owned();
        if owner["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field)) {
            line.push('!');
        }
        let default = schema.get("default");
        // Documents give a zero as the default of what is always written; what was seen is the better witness.
        let documented = if default.is_some_and(is_zero) { Absent::Zero } else { Absent::Nothing };
        line.push_str(match learnt.seen.as_ref().map_or(documented, |seen| seen.absent) {
            Absent::Nothing => "",
            Absent::Null => "?",
            Absent::Zero => "+",
        });
        if learnt.kept {
            line.push('*');
        }
        line.push(' ');
        line.push_str(&self.expression(schema));
        match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                let keys: Vec<_> = schema["x-kubernetes-list-map-keys"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let _ = write!(line, " map={}", keys.join(","));
            }
            Some("set") => line.push_str(" set"),
            _ => {}
        }
        if let Some(kind @ ("atomic" | "granular")) = schema["x-kubernetes-map-type"].as_str() {
            let _ = write!(line, " {kind}");
        }
        // What a client should keep ("retainKeys") it says in its patch; the server needs no fact for it.
        let strategies = schema["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
        if strategies.split(',').any(|strategy| strategy == "merge") {
            line.push_str(" merge");
            if let Some(key) = schema["x-kubernetes-patch-merge-key"].as_str() {
                let _ = write!(line, "={key}");
            }
        } else if strategies == "replace" {
            line.push_str(" replace");
        }
        for (key, name) in [("go", &learnt.go_type), ("in", &learnt.embedded)] {
            if let Some(name) = name {
                let _ = write!(line, " {key}={name}");
            }
        }
        if let Some(default) = default.filter(|default| !is_zero(default)) {
            let _ = write!(line, " default={default}");
        }
        if let Some(value) = learnt.seen.as_ref().and_then(|seen| seen.sets.as_ref()) {
            let _ = write!(line, " sets={value}");
        }
        line
    }

    /// How a type is written.
    pub(super) fn expression(&self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            if let Some((_, scalar)) = NAMED.iter().find(|(named, _)| *named == name) {
                return (*scalar).into();
            }
            return if self.0.get(name).is_some_and(|schema| is_structured(name, schema)) {
                name.into()
            } else {
                "any".into()
            };
        }
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("array"), _) => format!("[{}]", self.expression(&schema["items"])),
            (Some("object"), _) => match schema.get("additionalProperties") {
                Some(values) => format!("{{{}}}", self.expression(values)),
                None => "any".into(),
            },
            (Some("string"), Some("byte")) => "bytes".into(),
            (Some("string"), _) => "string".into(),
            (Some("integer"), Some("int32")) => "int32".into(),
            (Some("integer"), _) => "int64".into(),
            (Some("number"), _) => "number".into(),
            (Some("boolean"), _) => "boolean".into(),
            _ => "any".into(),
        }
    }
}

/// Whether the type is an object of known fields, if only of none.
fn is_structured(name: &str, schema: &Value) -> bool {
    schema["type"] == "object" && schema.get("additionalProperties").is_none() && !FREE.contains(&name)
}

/// `items` of a list, values of a map, or the schema itself.
pub(super) fn innermost(mut schema: &Value) -> &Value {
    while let Some(inner) = schema.get("items").or_else(|| schema.get("additionalProperties")) {
        schema = inner;
    }
    schema
}

/// Documents wrap a reference in `allOf` where something is said beside it.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    let target = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"))?;
    target.as_str()?.strip_prefix("#/components/schemas/").map(short_name)
}

fn type_marks(schema: &Value) -> &'static str {
    if schema["x-kubernetes-map-type"] == "atomic" { " atomic" } else { "" }
}

pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
