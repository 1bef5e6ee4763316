//! The scale of an object: its count of replicas, as the `scale` subresource shows and takes it.
//!
//! In: a kind with a [`Scaling`], an object of it, and an edit of its scale. Out: the scale, or the object with the count that
//! the edited one says. Owners of the count are carried over in both directions. Checking and storing the object are left
//! to `write`.

use serde_json::{Value, json};

use super::{
    errors::{ApiStatus, FieldError, Subject},
    facts::Facts,
    kinds::Kind,
    meta,
    patch::{self, Typing, Writer},
    shape::{DecodeError, Shape, decode_value},
};

/// The version of scales.
pub(super) const VERSION: &str = "autoscaling/v1";

/// What writing a scale does not write.
pub(super) const RESET: &[&[&str]] = &[&["status"]];

/// Where a kind counts, as names of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    pub(super) spec: Vec<String>,
    pub(super) status: Vec<String>,
    /// Empty: nowhere.
    pub(super) selector: Vec<String>,
}

impl Scaling {
    /// From paths such as `.spec.replicas`.
    pub(super) fn new(spec: &str, status: &str, selector: &str) -> Self {
        let names = |path: &str| path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { spec: names(spec), status: names(status), selector: names(selector) }
    }
}

fn at<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(object, |value, name| &value[name])
}

/// The shape of scales.
pub(super) fn shape() -> Shape {
    Facts::load().types().id("autoscaling.v1.Scale").map_or(Shape::Any, Shape::Ref)
}

/// The scale of an object.
///
/// # Errors
/// A custom object that does not say how many it wants has none.
pub(super) fn of(kind: &Kind, scaling: &Scaling, object: &Value) -> Result<Value, ApiStatus> {
    let wanted = at(object, &scaling.spec).as_i64();
    if kind.as_custom().is_some() && wanted.is_none() {
        let path = format!(".{}", scaling.spec.join("."));
        return Err(ApiStatus::internal(&format!("the spec replicas field {path:?} does not exist")));
    }
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut status = json!({ "replicas": at(object, &scaling.status).as_i64().unwrap_or(0) });
    let selector = match at(object, &scaling.selector) {
        _ if scaling.selector.is_empty() => String::new(),
        Value::String(text) => text.clone(),
        selector => selector_text(selector),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let spec = wanted
        .filter(|wanted| *wanted != 0)
        .map_or_else(|| json!({}), |wanted| json!({ "replicas": wanted }));
    Ok(
        json!({ "apiVersion": VERSION, "kind": "Scale", "metadata": metadata, "spec": spec, "status": status }),
    )
}

/// A label selector as text. That of a controller of the first days is a map of labels alone.
pub(super) fn selector_text(selector: &Value) -> String {
    let is_map_of_labels = selector.as_object().is_some_and(|map| map.values().all(Value::is_string));
    let labels = if is_map_of_labels { selector } else { &selector["matchLabels"] };
    let labels = labels.as_object().into_iter().flatten();
    let mut parts: Vec<(String, String)> = labels
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut values: Vec<&str> = values.collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), text));
    }
    parts.sort();
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// The object with the count that an edit of its scale says. The writer's manager is empty for an apply, which keeps its own book.
pub(super) fn edited(
    kind: &Kind,
    scaling: &Scaling,
    before: &Value,
    writer: Writer<'_>,
    edit: impl FnOnce(&Value) -> Result<Value, ApiStatus>,
) -> Result<Value, ApiStatus> {
    let path: Vec<&str> = scaling.spec.iter().map(String::as_str).collect();
    let mut old = of(kind, scaling, before)?;
    old["metadata"]["managedFields"] = patch::of_scale(before, &path);
    let edited = edit(&old)?;
    let (types, shape) = (Facts::load().types(), shape());
    let decoded = decode_value(types, &shape, edited).map_err(|error| {
        let text = match error {
            DecodeError::Syntax(error) => error.to_string(),
            DecodeError::Type(text) => text,
        };
        ApiStatus::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {text}"))
    })?;
    let mut scale = decoded.value;
    check(before, &scale)?;
    if !writer.manager.is_empty() {
        let typing = Typing { kind: "Scale", types, shape: &shape, reset: RESET };
        patch::track(typing, Some(&old), &mut scale, writer);
    }
    let mut object = before.clone();
    let mut place = &mut object;
    for name in &scaling.spec {
        place = &mut place[name.as_str()];
    }
    *place = scale["spec"]["replicas"].as_i64().unwrap_or(0).into();
    patch::of_parent(&mut object, &scale, &kind.api_version(), &path);
    for field in ["uid", "resourceVersion"] {
        match scale["metadata"].get(field) {
            Some(value) => meta::metadata(&mut object).insert(field.into(), value.clone()),
            None => meta::metadata(&mut object).remove(field),
        };
    }
    Ok(object)
}

fn check(before: &Value, scale: &Value) -> Result<(), ApiStatus> {
    let (name, given) = (meta::text(before, "name"), meta::text(scale, "name"));
    if given != name {
        return Err(ApiStatus::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    match scale["spec"]["replicas"].as_i64() {
        Some(wanted) if wanted < 0 => {
            let error =
                FieldError::invalid("spec.replicas", &wanted.into(), "must be greater than or equal to 0");
            Err(ApiStatus::invalid(Subject { group: "autoscaling", kind: "Scale", name }, &[error]))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_written_in_the_order_of_their_keys() {
        for (selector, text) in [
            (json!({ "app": "a" }), "app=a"),
            (json!({ "matchLabels": { "b": "2", "a": "1" } }), "a=1,b=2"),
            (
                json!({ "matchLabels": { "m": "1" }, "matchExpressions": [
                    { "key": "z", "operator": "In", "values": ["b", "a"] },
                    { "key": "a", "operator": "NotIn", "values": ["b"] },
                    { "key": "n", "operator": "DoesNotExist" },
                    { "key": "o", "operator": "Exists" },
                ] }),
                "a notin (b),m=1,!n,o,z in (a,b)",
            ),
            (json!({}), ""),
        ] {
            assert_eq!(selector_text(&selector), text);
        }
    }
}
