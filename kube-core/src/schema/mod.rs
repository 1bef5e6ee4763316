//! Decides what a Rust type looks like in a custom resource definition: schemars' JSON Schema in, Kubernetes' own dialect out.
//!
//! In: a JSON Schema (draft 2020-12, as schemars 1 writes it) as a [`Value`]. Out: the value of `openAPIV3Schema`, or a
//! [`SchemaError`] with the path of the field that cannot be said. Nothing else is read: same schema, same answer.
//!
//! ```text
//!   T: JsonSchema ─▶ schemars ─▶ inline ─▶ node ─────────────▶ finish ─▶ check
//!                                ($ref)    ├ keywords, types,   (what      (the server's rules,
//!                                          │  numbers, object    is still   as a proof)
//!                                          └ branches            open)
//!                                             ├ unite   what all branches share, declared once
//!                                             └ nested  what is left of a branch: values and `required` only
//! ```
//!
//! Why not schemars' own transforms: they see one node at a time and cannot fail. Kubernetes' dialect moves types from
//! branches to their parent, which needs both, and some Rust types have no form at all: their author has to hear which
//! field it is and what to write instead.
//!
//! Left to others: the definition around the schema ([`Definition`]), cost limits of CEL rules and the syntax of patterns
//! (the server's word).
//!
//! # Which rule lives where
//! | Rule | File |
//! |---|---|
//! | references are inlined; a type that contains itself is refused, or cut where its author said so | inline |
//! | keywords kept, dropped, refused | keywords |
//! | `type` lists, `const`, null, `Option` | types |
//! | number and string formats, exclusive bounds | numbers |
//! | maps, flattened maps, `additionalProperties`, tuples | object |
//! | enums: plain, external, internal, adjacent, untagged | branches, unite, nested |
//! | `allOf`, a reference beside other keywords | merge |
//! | CEL rules | rules |
//! | structural rules, defaults | check, defaults |

mod branches;
mod check;
mod defaults;
mod definition;
mod error;
mod finish;
mod inline;
mod keywords;
mod merge;
mod nested;
mod node;
mod numbers;
mod object;
mod rules;
mod scale;
#[cfg(test)]
mod tests;
mod types;
mod unite;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

pub use check::check;
pub use definition::{Definition, PrinterColumn, Scale};
pub use error::{FieldPath, Problem, SchemaError};

/// One node of a schema.
type Node = Map<String, Value>;

/// The structural schema of `T`.
///
/// What the type accepts when it is *read* decides: a field with a default is optional, `Option` is nullable.
///
/// ```
/// use kube_core::schema::structural_schema;
///
/// /// How to greet.
/// #[derive(schemars::JsonSchema)]
/// struct Greeting {
///     text: String,
///     times: Option<u8>,
/// }
///
/// assert_eq!(
///     structural_schema::<Greeting>()?,
///     serde_json::json!({
///         "type": "object",
///         "description": "How to greet.",
///         "required": ["text"],
///         "properties": {
///             "text": { "type": "string" },
///             "times": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 255, "nullable": true },
///         },
///     }),
/// );
/// # Ok::<(), kube_core::schema::SchemaError>(())
/// ```
///
/// # Errors
/// [`SchemaError`] where the type, or one of its fields, has no form in Kubernetes' dialect.
pub fn structural_schema<T: JsonSchema>() -> Result<Value, SchemaError> {
    structural_schema_at::<T>(&FieldPath::root())
}

/// Like [`structural_schema`], for a type that sits at a field of a resource: `at` starts the paths of errors.
///
/// # Errors
/// Those of [`structural_schema`].
pub fn structural_schema_at<T: JsonSchema>(at: &FieldPath) -> Result<Value, SchemaError> {
    let mut generator = SchemaGenerator::default();
    // Not `root_schema_for`: it writes the root in place, so that a cycle through it would come without its name.
    let mut root = generator.subschema_for::<T>().to_value();
    let definitions = generator.take_definitions(true);
    if let Value::Object(node) = &mut root {
        node.insert("$defs".into(), Value::Object(definitions));
    }
    rewrite_at(&root, at)
}

/// Rewrites a JSON Schema into a structural schema.
///
/// # Errors
/// [`SchemaError`] with the path of the offending field.
pub fn rewrite(schema: &Value) -> Result<Value, SchemaError> {
    rewrite_at(schema, &FieldPath::root())
}

fn rewrite_at(schema: &Value, at: &FieldPath) -> Result<Value, SchemaError> {
    let closed = inline::inline(schema, at)?;
    let mut node = node::fragment(closed, at)?;
    finish::finish(&mut node);
    let result = Value::Object(node);
    if result.get("type") != Some(&Value::from("object")) {
        return Err(at.error(Problem::RootIsNotObject));
    }
    check::check_at(&result, at)?;
    Ok(result)
}
