//! What can be wrong with a schema, and where.

use std::fmt;

/// A field within a type: `spec.containers[].env{}.value`; `[]` stands for an item of a list, `{}` for a value of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(String);

impl FieldPath {
    /// The type itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// A field of this node.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The items of this list.
    #[must_use]
    pub fn item(&self) -> Self {
        Self(format!("{}[]", self.0))
    }

    /// The values of this map.
    #[must_use]
    pub fn value(&self) -> Self {
        Self(format!("{}{{}}", self.0))
    }

    pub(super) fn error(&self, problem: Problem) -> SchemaError {
        SchemaError { path: self.clone(), problem }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(the type itself)" } else { &self.0 })
    }
}

/// A type that has no form in a custom resource definition: which field, and what to change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SchemaError {
    /// The field.
    pub path: FieldPath,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field's schema.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A type contains itself. Definitions have no references, so its schema would have no end.
    #[error(
        "the type contains itself ({}); open one edge of the cycle with \
         `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` on its field", .types.join(" -> ")
    )]
    Cycle {
        /// The types on the way, the first one repeated at the end.
        types: Vec<String>,
    },
    /// A `$ref` that leads nowhere in this document.
    #[error("`$ref: {0}` leads nowhere")]
    UnknownReference(String),
    /// More nodes than a definition can hold.
    #[error(
        "the schema has more than {limit} nodes once its references are inlined; a definition cannot hold it"
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The schema of the whole type is not that of an object.
    #[error("must be a struct, a map or an enum of structs: `type: object`")]
    RootIsNotObject,
    /// No value fits.
    #[error("has no values: an enum without variants, or a schema that is `false`")]
    NoValues,
    /// Only null fits.
    #[error(
        "null is its only value, and the API server drops nulls; use an empty struct (`struct Empty {{}}`)"
    )]
    OnlyNull,
    /// Several types at one node.
    #[error(
        "may be {}: Kubernetes gives a field one type; use a struct, or open the field with \
         `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`", .types.join(" or ")
    )]
    MixedTypes {
        /// The types, in their order.
        types: Vec<String>,
    },
    /// An enum some of whose variants are plain strings, and others objects.
    #[error(
        "the variants {} are plain strings beside variants that are objects: Kubernetes gives a field one type; write them \
         with braces (`{} {{}}`), or tag the enum (`#[serde(tag = \"type\")]`)", quoted(.variants), .variants.first().map_or("", String::as_str)
    )]
    UnitVariants {
        /// Names of the unit variants.
        variants: Vec<String>,
    },
    /// Two schemas that must hold together, or be declared as one, differ.
    #[error("is declared twice with differing `{keyword}`: {left} and {right}")]
    Conflict {
        /// The keyword.
        keyword: String,
        /// Its value in one place.
        left: String,
        /// Its value in the other place.
        right: String,
    },
    /// A CEL rule sits on one variant of an enum.
    #[error(
        "a rule on one variant would bind all of them; put it on the enum, guarded by its tag \
         (`self.type != 'A' || ...`)"
    )]
    RuleInVariant,
    /// A keyword without meaning in Kubernetes.
    #[error("`{keyword}` has no form in Kubernetes{hint}")]
    Unsupported {
        /// The keyword.
        keyword: String,
        /// What to write instead, starting with `; `, or nothing.
        hint: &'static str,
    },
    /// A keyword whose value has the wrong form.
    #[error("`{keyword}` must be {expected}, not {found}")]
    Malformed {
        /// The keyword.
        keyword: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The result breaks a rule of structural schemas.
    #[error("is not structural: {0}")]
    NotStructural(String),
    /// A default that its own schema refuses.
    #[error("the default {default} does not fit its schema: {reason}")]
    Default {
        /// The default, as JSON.
        default: String,
        /// Why it does not fit.
        reason: String,
    },
    /// A path of the scale subresource that names no fitting field.
    #[error("{attribute} `{json_path}` must name {expected}; {found}")]
    Scale {
        /// The attribute, such as `spec_replicas_path`.
        attribute: &'static str,
        /// The path it gives.
        json_path: String,
        /// What must be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl Problem {
    pub(super) fn malformed(keyword: &str, expected: &'static str, found: &serde_json::Value) -> Self {
        Self::Malformed { keyword: keyword.to_owned(), expected, found: found.to_string() }
    }

    pub(super) fn conflict(keyword: &str, left: &serde_json::Value, right: &serde_json::Value) -> Self {
        Self::Conflict { keyword: keyword.to_owned(), left: left.to_string(), right: right.to_string() }
    }
}
