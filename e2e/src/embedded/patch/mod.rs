//! Decides what a patch makes of an object, and who owns which of its fields.
//!
//! In: an object as JSON, what was sent, and the [`Shape`](super::shape::Shape) of the kind. Out: the object,
//! or why not. Three kinds of patch say what changes: [`json_patch`], [`merge_patch`] and [`strategic`]. The
//! fourth says what one manager wants: [`apply`]. Any other write is booked by [`track`]. All are pure: no
//! clock, no storage.
//!
//! ```text
//! create, replace, patch:  decode, default -> track -> admission, own fields -> keep_times_of_noop -> store
//! apply:                   apply -> decode, default -> admission, own fields -> keep_times_of_noop -> store
//! ```
//! Written after the observed behaviour of the real server, odd corners included: a test suite that passes
//! here must pass there. Decoding, defaulting, validation and the rules of metadata are left to others.

mod apply;
mod combine;
mod compare;
mod fields_v1;
mod json;
mod managed;
mod merge;
mod remove;
mod scale;
mod set;
mod strategic;
mod track;
mod typed;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(super) use self::{
    apply::{ApplyError, Conflict, apply},
    json::json_patch,
    merge::merge_patch,
    scale::{of_parent, of_scale},
    strategic::strategic,
    track::{Typing, Writer, keep_times_of_noop, manager_of, track},
};
use super::shape::{Shape, Types};

/// Why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatchError {
    /// It is no patch: 400, with this message.
    BadRequest(String),
    /// It does not fit the object: 422, reason `Invalid`, empty details; see [`UNPROCESSABLE`] for the
    /// message.
    Unprocessable,
    /// It has too many operations: 413, with this message.
    TooLarge(String),
    /// The server fails at it: 500, with this message and no reason.
    Internal(String),
}

/// All that the server says about a JSON patch that does not apply.
pub(super) const UNPROCESSABLE: &str = "the server rejected our request due to an error in our request";

impl PatchError {
    fn not_json() -> Self {
        Self::BadRequest("invalid JSON patch".into())
    }
}

/// The body of a merge patch or a strategic one.
///
/// # Errors
/// It is not JSON.
pub(super) fn parse(body: &[u8]) -> Result<Value, PatchError> {
    serde_json::from_slice(body).map_err(|_| PatchError::not_json())
}

/// An object before it has any field, and before defaults: with the fields that are written even if nobody
/// sets them.
fn blank(types: &Types, shape: &Shape) -> Value {
    match types.resolve(shape) {
        Shape::Object(object) => {
            let zero = |name: &str| Some((name.to_owned(), blank(types, object.fields.get(name)?)));
            let zeros = object.zeros.iter().filter_map(|name| zero(name));
            let nulls = object.nulls.iter().map(|name| (name.to_string(), Value::Null));
            Value::Object(zeros.chain(nulls).collect::<Map<_, _>>())
        }
        _ => types.zero(shape),
    }
}

/// JSON as the server writes it: what is special in HTML is escaped.
fn go_json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

/// What kind of JSON a value is, in the server's words.
fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn not_a_map(value: &Value) -> String {
    format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", json_kind(value))
}
