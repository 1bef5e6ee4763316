//! Custom resources: from a definition to what is served.
//!
//! In: `CustomResourceDefinition` objects as JSON, and objects of their kinds. Out: whether a definition is right ([`validate`],
//! [`validate_update`]), what is filled in ([`prepare_create`], [`prepare_update`], [`accept_names`]), what it serves
//! ([`Served`]), and what a [`Schema`] makes of an object: pruned, defaulted, checked.
//!
//! ```text
//! definition -> prepare -> validate -> accept_names -> Served -> Version -> Schema: prune, default, validate
//!                              |                                                |
//!                    structural, rules::compile                     fit, check, lists, rules
//! ```
//!
//! All of it is pure, and each message is the real server's. Storage, routing and metadata are left to others,
//! and so is the decoding of definitions: unknown fields of a definition are gone before it comes here.

mod check;
mod columns;
mod definition;
mod fit;
mod formats;
mod lists;
pub(super) mod names;
mod patterns;
mod rules;
mod schema;
mod served;
mod status;
mod structural;

use serde_json::Value;

pub(super) use self::{
    definition::{prepare_create, prepare_update, validate, validate_update, warnings},
    rules::Verdict,
    served::{Column, Scale, Served, Version},
    status::accept_names,
};
use super::{
    errors::{FieldError, FieldReason},
    shape::{Shape, Types},
};

/// The schema of one version.
#[derive(Debug)]
pub(super) struct Schema {
    root: schema::Node,
    has_rules: bool,
}

impl Schema {
    /// Reads `openAPIV3Schema`, which [`validate`] has found right.
    pub(super) fn read(schema: &Value) -> Self {
        let root = schema::Node::read(schema);
        Self { has_rules: rules::has_rules(&root), root }
    }

    /// Removes unknown fields. Returns their paths in the order in which the server lists them.
    pub(super) fn prune(&self, object: &mut Value) -> Vec<String> {
        fit::prune(&self.root, object)
    }

    /// Fills in defaults, and drops the nulls that mean nothing.
    pub(super) fn default(&self, object: &mut Value) {
        fit::default(&self.root, object);
        fit::drop_nulls(&self.root, object);
    }

    /// Numbers as the server writes them, once all is judged: `5.0` is stored as `5`.
    pub(super) fn write_numbers(object: &mut Value) {
        fit::write_numbers(object);
    }

    /// Why the server would not even decode the object: an embedded object whose type is no text. The text of a 400, after
    /// `... cannot be handled as a ...: `.
    pub(super) fn decode_error(&self, object: &Value) -> Option<String> {
        lists::undecodable(&self.root, object).map(|error| error.to_string())
    }

    /// Whether the object is what the schema and its rules say. `old` is the object before an update: what did not change
    /// is not judged again, and rules it breaks as before are warnings.
    pub(super) fn validate(&self, object: &Value, old: Option<&Value>) -> Verdict {
        let mut errors = check::check(&self.root, object, old);
        self.validate_parts(object, old, &mut errors);
        self.validate_rules(object, old, errors)
    }

    /// Lists and objects within: judged if the old object kept these rules.
    fn validate_parts(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        for rule in [lists::embedded, lists::unique] {
            if old.is_none_or(|old| rule(&self.root, old, "").is_empty()) {
                errors.extend(rule(&self.root, object, ""));
            }
        }
    }

    fn validate_rules(&self, object: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Verdict {
        if !self.has_rules {
            return Verdict { errors, warnings: Vec::new() };
        }
        let blocks = |error: &FieldError| {
            use FieldReason::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
            matches!(error.reason, Required | TooLong | TooMany | TypeInvalid | NotSupported)
        };
        if errors.iter().any(blocks) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing errors \
                          to complete validation";
            errors.push(FieldError::invalid(check::NOWHERE, &Value::Null, detail));
            return Verdict { errors, warnings: Vec::new() };
        }
        let mut verdict = rules::check(&self.root, object, old, true);
        errors.append(&mut verdict.errors);
        Verdict { errors, ..verdict }
    }

    /// What patches and server-side apply need to know. The root has the fields that all objects have.
    pub(super) fn shape(&self, types: &Types) -> Shape {
        let mut shape = self.root.object_shape(types);
        for name in ["apiVersion", "kind"] {
            shape.fields.insert(name.into(), Shape::Scalar(super::shape::Scalar::String));
        }
        if let Some(id) = types.id("meta.v1.ObjectMeta") {
            shape.fields.insert("metadata".into(), Shape::Ref(id));
        }
        Shape::Object(Box::new(shape))
    }
}

#[cfg(test)]
mod tests;
