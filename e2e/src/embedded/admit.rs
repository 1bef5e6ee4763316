//! Decides what a written object becomes before it is stored: decoded into its kind, filled in, checked.
//!
//! In: the object as sent or as an edit made it, and the one before. Out: the object as it will be stored, and what was given in
//! vain; or why it is refused. Built-in kinds are decoded by the tables of facts, custom ones by the schema of their
//! definition, and definitions become kinds here. Metadata, owners and storing are left to `write`.

use serde_json::Value;

use super::{
    crd,
    errors::ApiStatus,
    kinds::{Custom, Kind},
    meta,
    shape::{DecodeError, decode_value},
    valid,
};

/// What becomes of fields that are given in vain (`fieldValidation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vain {
    Ignore,
    Warn,
    Refuse,
}

impl Vain {
    /// From the query; the server's default is a warning.
    pub(super) fn read(text: &str) -> Self {
        match text {
            "Ignore" => Self::Ignore,
            "Strict" => Self::Refuse,
            _ => Self::Warn,
        }
    }
}

/// Makes an object what will be stored. Gives back warnings.
///
/// `others` are the other definitions, where the object is one.
pub(super) fn admit(
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
    vain: Vain,
    others: &[Value],
    now: &str,
) -> Result<Vec<String>, ApiStatus> {
    let problems = match kind.as_custom() {
        Some(custom) => custom_kind(kind, custom, object, old)?,
        None => built_in(kind, object, old, others, now)?,
    };
    let vain = in_vain(kind, vain, problems.vain)?;
    Ok([vain, problems.warnings].concat())
}

/// What becomes of what is said in vain: warnings, an error, or nothing.
pub(super) fn in_vain(kind: &Kind, vain: Vain, problems: Vec<String>) -> Result<Vec<String>, ApiStatus> {
    match vain {
        Vain::Refuse if !problems.is_empty() => {
            Err(unhandled(kind, &format!("strict decoding error: {}", problems.join(", "))))
        }
        Vain::Ignore => Ok(Vec::new()),
        Vain::Refuse | Vain::Warn => Ok(problems),
    }
}

#[derive(Default)]
struct Problems {
    /// Fields that are unknown, or given twice.
    vain: Vec<String>,
    warnings: Vec<String>,
}

fn built_in(
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
    others: &[Value],
    now: &str,
) -> Result<Problems, ApiStatus> {
    let decoded =
        decode_value(kind.types(), kind.shape(), object.take()).map_err(|error| undecodable(kind, &error))?;
    *object = decoded.value;
    let mut problems = Problems { vain: decoded.problems, ..Problems::default() };
    if kind.is_definition() {
        let errors = match old {
            None => {
                crd::prepare_create(object);
                crd::validate(object)
            }
            Some(old) => {
                crd::prepare_update(object, old);
                crd::validate_update(object, old)
            }
        };
        if !errors.is_empty() {
            return Err(ApiStatus::invalid(kind.of_kind(meta::text(object, "name")), &errors));
        }
        crd::accept_names(object, others, now);
        problems.warnings = crd::warnings(object);
    } else {
        let errors = [valid::metadata(kind, object, old), valid::built_in(kind, object, old)].concat();
        if !errors.is_empty() {
            return Err(ApiStatus::invalid(kind.of_kind(meta::text(object, "name")), &errors));
        }
    }
    Ok(problems)
}

fn custom_kind(
    kind: &Kind,
    custom: &Custom,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Problems, ApiStatus> {
    let version = custom.version();
    if let Some(text) = version.schema.decode_error(object) {
        return Err(unhandled(kind, &text));
    }
    let vain = unknown(custom, object);
    version.schema.default(object);
    let verdict = version.schema.validate(object, old);
    let scale = version.scale.iter().flat_map(|scale| scale.validate(object));
    let metadata = valid::metadata(kind, object, old);
    let errors: Vec<_> = metadata.into_iter().chain(verdict.errors).chain(scale).collect();
    if !errors.is_empty() {
        return Err(ApiStatus::invalid(kind.of_kind(meta::text(object, "name")), &errors));
    }
    crd::Schema::write_numbers(object);
    let warnings = version.deprecation.iter().cloned().chain(verdict.warnings).collect();
    Ok(Problems { vain, warnings })
}

/// Takes out of a custom object what its schema does not know, and says so.
pub(super) fn unknown(custom: &Custom, object: &mut Value) -> Vec<String> {
    let paths = custom.version().schema.prune(object);
    paths.iter().map(|path| format!("unknown field \"{path}\"")).collect()
}

/// What is told of an object that is none of its kind.
pub(super) fn undecodable(kind: &Kind, error: &DecodeError) -> ApiStatus {
    let text = match error {
        DecodeError::Syntax(error) => error.to_string(),
        DecodeError::Type(text) => text.clone(),
    };
    unhandled(kind, &text)
}

/// A body that is none of its kind, and why.
fn unhandled(kind: &Kind, text: &str) -> ApiStatus {
    let (name, version) = (kind.name(), kind.version());
    ApiStatus::bad_request(format!("{name} in version {version:?} cannot be handled as a {name}: {text}"))
}
