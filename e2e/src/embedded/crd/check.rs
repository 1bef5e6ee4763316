//! Whether a value is what its schema says, in the words of the real server.
//!
//! In: the value, and on updates what it was. Out: field errors. What did not change is not judged again, so that an object
//! that a stricter schema no longer allows can still be edited elsewhere.
//! The order of checks within a node, and the odd ones among the messages (an integer over a fractional limit, errors without
//! a field), are those of the real server; fields go by name, where the real server has no order.
//! Unique lists, embedded objects and rules are left to `lists` and `rules`.

use serde_json::{Map, Value};

use super::{
    fit::join,
    formats,
    schema::{Additional, Kind, List, Node},
};
use crate::embedded::errors::{FieldError, FieldReason, shown_float};

/// The path of errors that have no field.
pub(super) const NOWHERE: &str = "<nil>";

/// Checks an object. `old` is what it was before an update.
pub(super) fn check(root: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::default();
    node(root, object, old, "", &mut found);
    found.errors
}

#[derive(Default)]
struct Found {
    errors: Vec<FieldError>,
    /// Checks that were made, passed or not. The branch with most of them is the one whose errors are shown.
    made: usize,
}

impl Found {
    fn invalid(&mut self, path: &str, value: &Value, rule: &str) {
        self.errors.push(FieldError::invalid(path, value, format!("{path} in body {rule}")));
    }

    fn without_field(&mut self, text: impl Into<String>) {
        self.errors.push(FieldError::invalid(NOWHERE, &Value::from(""), text));
    }

    fn wrong_type(&mut self, path: &str, wanted: &str, found: &str) {
        let detail = format!("{path} in body must be of type {wanted}: \"{found}\"");
        self.errors.push(FieldError::type_invalid(path, &Value::from(found), detail));
    }

    fn add(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.made += other.made;
    }
}

fn node(schema: &Node, value: &Value, old: Option<&Value>, path: &str, found: &mut Found) {
    if old == Some(value) {
        return;
    }
    types(schema, value, path, found);
    if value.is_null() {
        one_of_values(schema, value, path, found);
        return;
    }
    branches(schema, value, old, path, found);
    match value {
        Value::String(text) => string(schema, text, value, path, found),
        Value::Number(_) => number(schema, value, path, found),
        Value::Array(list) => items(schema, list, old, path, found),
        _ => {}
    }
    one_of_values(schema, value, path, found);
    if let Value::Object(fields) = value {
        object(schema, fields, old, path, found);
    }
    // Types, branches, values and what the kind of value has.
    found.made += if value.is_boolean() { 3 } else { 4 };
}

/// Type and format of a value, as the server's decoder has it.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn is_whole(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    value.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= EXACT)
}

fn types(schema: &Node, value: &Value, path: &str, found: &mut Found) {
    if value.is_null() {
        if schema.kind != Kind::Unsaid && !schema.nullable {
            found.wrong_type(path, schema.kind.words(), "null");
        }
        return;
    }
    let (name, format) = type_of(value);
    let fits = match schema.kind {
        Kind::Unsaid => return,
        Kind::Integer => name == "integer" || (name == "number" && is_whole(value)),
        Kind::Number => name == "number" || name == "integer",
        Kind::IntOrString => name == "integer" || name == "string" || (name == "number" && is_whole(value)),
        kind => kind.words() == name,
    };
    if fits {
        return;
    }
    // Of a value that is neither text nor list, a schema with a format names formats instead of types.
    let formatted = !schema.format.is_empty() && !value.is_string() && !value.is_array();
    let by_other_means = !schema.format.is_empty()
        && !matches!(schema.kind, Kind::Number | Kind::Integer | Kind::IntOrString)
        && (value.is_string() || value.is_array());
    if formatted {
        found.errors.push(FieldError::type_invalid(
            path,
            &Value::from(format),
            format!("{path} in body must be of type {}: \"{format}\"", schema.format),
        ));
    } else if !by_other_means {
        found.wrong_type(path, schema.kind.words(), name);
    }
}

fn one_of_values(schema: &Node, value: &Value, path: &str, found: &mut Found) {
    let same = |one: &Value| one == value || (one.is_number() && one.as_f64() == value.as_f64());
    if schema.one_of_values.is_empty() || schema.one_of_values.iter().any(same) {
        return;
    }
    let supported: Vec<_> = schema
        .one_of_values
        .iter()
        .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
        .collect();
    found.errors.push(FieldError::not_supported(path, value, &supported));
}

fn branches(schema: &Node, value: &Value, old: Option<&Value>, path: &str, found: &mut Found) {
    let tried = |branch: &Node| {
        let mut found = Found::default();
        node(branch, value, old, path, &mut found);
        found
    };
    // The failures of the first branch that came furthest.
    let furthest = |failed: Vec<Found>| {
        failed.into_iter().reduce(|best, next| if next.made > best.made { next } else { best })
    };
    if !schema.any_of.is_empty() {
        let results: Vec<_> = schema.any_of.iter().map(tried).collect();
        if !results.iter().any(|result| result.errors.is_empty()) {
            found.without_field(format!("\"{path}\" must validate at least one schema (anyOf)"));
            found.add(furthest(results).unwrap_or_default());
        }
    }
    if !schema.one_of.is_empty() {
        let results: Vec<_> = schema.one_of.iter().map(tried).collect();
        let passed = results.iter().filter(|result| result.errors.is_empty()).count();
        let text =
            |what: &str| format!("\"{path}\" must validate one and only one schema (oneOf). Found {what}");
        match passed {
            1 => {}
            0 => {
                found.without_field(text("none valid"));
                found.add(furthest(results).unwrap_or_default());
            }
            several => found.without_field(text(&format!("{several} valid alternatives"))),
        }
    }
    if !schema.all_of.is_empty() {
        let results: Vec<_> = schema.all_of.iter().map(tried).collect();
        let passed = results.iter().filter(|result| result.errors.is_empty()).count();
        let all = results.len();
        for result in results {
            found.add(result);
        }
        if passed < all {
            let none = if passed == 0 { ". None validated" } else { "" };
            found.without_field(format!("\"{path}\" must validate all the schemas (allOf){none}"));
        }
    }
    if let Some(not) = &schema.not
        && tried(not).errors.is_empty()
    {
        found.without_field(format!("\"{path}\" must not validate the schema (not)"));
    }
}

fn string(schema: &Node, text: &str, value: &Value, path: &str, found: &mut Found) {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = schema.limits.max_length.filter(|most| length > *most) {
        let error = FieldError {
            path: path.to_owned(),
            reason: FieldReason::TooLong,
            value: None,
            detail: format!("may not be more than {most} bytes"),
        };
        found.errors.push(error);
    } else if let Some(least) = schema.limits.min_length.filter(|least| length < *least) {
        found.invalid(path, value, &format!("should be at least {least} chars long"));
    } else if let Some((pattern, compiled)) = &schema.pattern
        && !compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
    {
        found.invalid(path, value, &format!("should match '{pattern}'"));
    }
    if !formats::fits(&schema.format, text) {
        let detail = format!("{path} in body must be of type {}: {}", schema.format, Value::from(text));
        found.errors.push(FieldError::type_invalid(path, value, detail));
    }
}

fn number(schema: &Node, value: &Value, path: &str, found: &mut Found) {
    let Some(float) = value.as_f64() else { return };
    if let Some(wanted) = out_of_range(schema, value, float) {
        found.without_field(format!("Checked value must be of type {wanted} in {path}"));
    }
    let limits = &schema.limits;
    // The real server compares integers with limits cut to integers.
    let limit = |limit: f64| if value.is_i64() { limit.trunc() } else { limit };
    let text = |limit: f64| if value.is_i64() { format!("{limit:.0}") } else { shown_float(limit) };
    if let Some(factor) = limits.multiple_of.map(limit) {
        if factor <= 0.0 {
            let detail = format!("factor MultipleOf declared for {path} must be positive: {}", text(factor));
            found.errors.push(FieldError::invalid(path, &Value::from(0), detail));
        } else if !is_multiple(float, factor) {
            found.invalid(path, value, &format!("should be a multiple of {}", text(factor)));
        }
    }
    if let Some(most) = limits.maximum.map(limit) {
        if limits.exclusive_maximum && float >= most {
            found.invalid(path, value, &format!("should be less than {}", text(most)));
        } else if float > most {
            found.invalid(path, value, &format!("should be less than or equal to {}", text(most)));
        }
    }
    if let Some(least) = limits.minimum.map(limit) {
        if limits.exclusive_minimum && float <= least {
            found.invalid(path, value, &format!("should be greater than {}", text(least)));
        } else if float < least {
            found.invalid(path, value, &format!("should be greater than or equal to {}", text(least)));
        }
    }
}

fn is_multiple(value: f64, factor: f64) -> bool {
    let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
    (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
}

/// What a number should be that its type and format cannot hold.
fn out_of_range(schema: &Node, value: &Value, float: f64) -> Option<String> {
    let format = schema.format.as_str();
    let fits = match schema.kind {
        Kind::Integer => match format {
            "int32" => is_whole(value) && i32::try_from(whole(value)).is_ok(),
            _ => value.is_i64() || is_whole(value),
        },
        _ => format != "float" || float.abs() <= f64::from(f32::MAX),
    };
    if fits {
        return None;
    }
    let kind = if schema.kind == Kind::Integer { "integer" } else { "number" };
    Some(if format.is_empty() {
        format!("{kind} (default format)")
    } else {
        format!("{kind} with format {format}")
    })
}

#[expect(clippy::cast_possible_truncation, reason = "a whole number under 2^53")]
fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as i64)
}

fn items(schema: &Node, list: &[Value], old: Option<&Value>, path: &str, found: &mut Found) {
    if let Some(items) = &schema.items {
        for (index, item) in list.iter().enumerate() {
            let old = old.and_then(|old| counterpart(&schema.list, item, old));
            node(items, item, old, &format!("{path}[{index}]"), found);
        }
    }
    let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if let Some(least) = schema.limits.min_items.filter(|least| count < *least) {
        found.invalid(path, &Value::from(count), &format!("should have at least {least} items"));
    } else if let Some(most) = schema.limits.max_items.filter(|most| count > *most) {
        found.errors.push(too_many(path, list.len(), most));
    }
}

fn too_many(path: &str, found: usize, most: i64) -> FieldError {
    FieldError::too_many(path, found, usize::try_from(most).unwrap_or_default())
}

/// The item of the old list that an item of the new one was: known only where lists are maps.
pub(super) fn counterpart<'a>(list: &List, item: &Value, old: &'a Value) -> Option<&'a Value> {
    let List::Map(keys) = list else { return None };
    old.as_array()?.iter().find(|old| keys.iter().all(|key| old.get(key) == item.get(key)))
}

fn object(schema: &Node, fields: &Map<String, Value>, old: Option<&Value>, path: &str, found: &mut Found) {
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = schema.limits.min_properties.filter(|least| count < *least) {
        found.invalid(path, &Value::from(count), &format!("should have at least {least} properties"));
        return;
    }
    if let Some(most) = schema.limits.max_properties.filter(|most| count > *most) {
        found.errors.push(too_many(path, fields.len(), most));
        return;
    }
    for (name, value) in fields {
        let at = join(path, name);
        let old = old.and_then(|old| old.get(name));
        match (schema.properties.get(name), &schema.additional) {
            (Some(field), _) => node(field, value, old, &at, found),
            (None, Additional::Schema(field)) => node(field, value, old, &at, found),
            (None, Additional::Allowed(false)) => {
                let detail = format!("{at} in body is a forbidden property");
                found.errors.push(FieldError::invalid(path, &Value::from(name.as_str()), detail));
            }
            (None, _) => {}
        }
    }
    for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
        found.errors.push(FieldError::required(join(path, name), ""));
    }
}
