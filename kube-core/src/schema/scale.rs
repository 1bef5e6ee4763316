//! Whether the paths of a scale subresource lead to fields that can hold what it reads and writes.
//!
//! The server takes any path, and then answers every request for the scale with an error, or drops the replicas that were
//! set: a wrong path shows only in a running cluster. Here it is an error of the definition.

use serde_json::Value;

use super::{FieldPath, Problem, Scale, SchemaError};

/// Checks each path of `scale` against the schema of the whole resource.
pub(super) fn check_scale(root: &Value, scale: &Scale) -> Result<(), SchemaError> {
    let spec = (".spec.", "an integer field under `.spec`", "integer");
    let status = (".status.", "an integer field under `.status`", "integer");
    check_path(root, "spec_replicas_path", scale.spec_replicas_path, &[spec])?;
    check_path(root, "status_replicas_path", scale.status_replicas_path, &[status])?;
    let selector = "a string field under `.status` or `.spec`";
    scale.label_selector_path.map_or(Ok(()), |path| {
        check_path(
            root,
            "label_selector_path",
            path,
            &[(".status.", selector, "string"), (".spec.", selector, "string")],
        )
    })
}

fn check_path(
    root: &Value,
    attribute: &'static str,
    json_path: &str,
    places: &[(&str, &'static str, &str)],
) -> Result<(), SchemaError> {
    let expected = places.first().map_or("a field", |place| place.1);
    let problem = |found: String| {
        FieldPath::root().field(json_path.trim_start_matches('.')).error(Problem::Scale {
            attribute,
            json_path: json_path.to_owned(),
            expected,
            found,
        })
    };
    let Some((_, _, wanted)) = places.iter().find(|(prefix, ..)| json_path.starts_with(prefix)) else {
        return Err(problem("the path leads elsewhere".into()));
    };
    let mut node = root;
    let mut walked = String::new();
    for name in json_path.trim_start_matches('.').split('.') {
        let fields = node.get("properties").and_then(Value::as_object);
        let Some(next) = fields.and_then(|fields| fields.get(name)) else {
            let names: Vec<&str> = fields.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let has = if names.is_empty() {
                "no declared fields".to_owned()
            } else {
                format!("only {}", names.join(", "))
            };
            let parent = if walked.is_empty() { "the resource" } else { &walked };
            return Err(problem(format!("there is no `{name}`: {parent} has {has}")));
        };
        walked = format!("{walked}.{name}");
        node = next;
    }
    match node.get("type").and_then(Value::as_str) {
        Some(found) if found == *wanted => Ok(()),
        found => Err(problem(format!("that field is of type {}", found.unwrap_or("anything")))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_names_a_declared_field_of_the_right_type() {
        let root = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": { "replicas": { "type": "integer" }, "name": { "type": "string" },
                      "size": { "type": "object", "properties": { "count": { "type": "integer" } } } } },
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" }, "selector": { "type": "string" } } },
        } });
        let (spec, status) = (".spec.replicas", ".status.replicas");
        let rows = [
            (spec, status, None, ""),
            (".spec.size.count", status, Some(".status.selector"), ""),
            (spec, status, Some(".spec.name"), ""),
            (
                ".spec.replica_count",
                status,
                None,
                "there is no `replica_count`: .spec has only name, replicas, size",
            ),
            (".spec.name", status, None, "that field is of type string"),
            (".status.replicas", status, None, "the path leads elsewhere"),
            (spec, ".spec.replicas", None, "the path leads elsewhere"),
            (spec, ".status.ready", None, "there is no `ready`: .status has only replicas, selector"),
            (spec, status, Some(".status.replicas"), "that field is of type integer"),
            (".spec.name.x", status, None, "there is no `x`: .spec.name has no declared fields"),
        ];
        for (spec_replicas_path, status_replicas_path, label_selector_path, found) in rows {
            let scale = Scale { spec_replicas_path, status_replicas_path, label_selector_path };
            let message = check_scale(&root, &scale).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.ends_with(found) && message.is_empty() == found.is_empty(), "{message}");
        }
    }
}
