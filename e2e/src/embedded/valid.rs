//! Checks objects beyond their types: names and labels of all kinds, and what people get wrong most about built-in ones.
//!
//! In: an object as it would be stored, and the one before. Out: what is wrong with it, in the words and the order of the real server.
//! Custom kinds are checked by their schema besides, and definitions by their own rules alone.

use serde_json::Value;

use super::{crd::names, errors::FieldError, kinds::Kind, meta, scale, selector::Labels};

/// What names of a kind look like.
enum Naming {
    Subdomain,
    Label,
    /// Anything that is one segment of a path.
    Segment,
}

fn naming(kind: &Kind) -> Naming {
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "namespaces" | "services") => Naming::Label,
        ("rbac.authorization.k8s.io", _)
        | ("certificates.k8s.io", "certificatesigningrequests")
        | ("networking.k8s.io", "ipaddresses") => Naming::Segment,
        _ => Naming::Subdomain,
    }
}

/// What is wrong with the metadata of an object. Names are judged when they are given.
pub(super) fn metadata(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = if old.is_none() { name(kind, meta::text(object, "name")) } else { Vec::new() };
    let of = |field: &str| object["metadata"][field].as_object().into_iter().flatten();
    for (key, value) in of("labels") {
        let value = value.as_str().unwrap_or_default();
        let key = names::is_label_key(key).map_err(|detail| (key.as_str(), detail));
        let value = names::is_label_value(value).map_err(|detail| (value, detail));
        let wrong = key.err().into_iter().chain(value.err());
        errors
            .extend(wrong.map(|(text, detail)| FieldError::invalid("metadata.labels", &text.into(), detail)));
    }
    for (key, _) in of("annotations") {
        // The domain may have capitals here.
        if let Err(detail) = names::is_label_key(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", &key.as_str().into(), detail));
        }
    }
    errors
}

fn name(kind: &Kind, name: &str) -> Vec<FieldError> {
    let wrong = |detail: String| FieldError::invalid("metadata.name", &name.into(), detail);
    let found = match naming(kind) {
        Naming::Subdomain => names::is_subdomain(name),
        Naming::Label => names::is_label(name),
        Naming::Segment if name == "." || name == ".." => Err(format!("may not be '{name}'")),
        Naming::Segment => {
            let parts = ['/', '%'].into_iter().filter(|part| name.contains(*part));
            return parts.map(|part| wrong(format!("may not contain '{part}'"))).collect();
        }
    };
    found.err().map(wrong).into_iter().collect()
}

/// What is wrong with the rest of a built-in object.
pub(super) fn built_in(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "pods") => containers(&object["spec"], "spec", &mut errors),
        ("apps", "deployments" | "replicasets") => {
            let spec = &object["spec"];
            if let Some(replicas) = spec["replicas"].as_i64().filter(|replicas| *replicas < 0) {
                let detail = "must be greater than or equal to 0";
                errors.push(FieldError::invalid("spec.replicas", &replicas.into(), detail));
            }
            selector(kind, spec, &mut errors);
            containers(&spec["template"]["spec"], "spec.template.spec", &mut errors);
            if old.is_some_and(|old| old["spec"]["selector"] != spec["selector"]) {
                errors.push(FieldError::invalid("spec.selector", &spec["selector"], "field is immutable"));
            }
        }
        _ => {}
    }
    errors
}

/// What a workload selects has to be what it makes.
fn selector(kind: &Kind, spec: &Value, errors: &mut Vec<FieldError>) {
    let selector = &spec["selector"];
    let text = scale::selector_text(selector);
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else if text.is_empty() {
        let detail = format!("empty selector is invalid for {}", kind.name().to_lowercase());
        errors.push(FieldError::invalid("spec.selector", selector, detail));
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let made = serde_json::from_value(labels.clone()).unwrap_or_default();
    // No selector selects nothing.
    let matches = !selector.is_null() && Labels::parse(&text).is_ok_and(|selector| selector.matches(&made));
    if !matches {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels, detail));
    }
}

fn containers(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    for (place, container) in containers.iter().enumerate() {
        for field in ["name", "image"] {
            if container[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::required(format!("{path}.containers[{place}].{field}"), ""));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::embedded::route::Place;

    fn kind(group: &str, version: &str, plural: &str) -> Kind {
        let place =
            Place { group: group.into(), version: version.into(), plural: plural.into(), ..Place::default() };
        Kind::built_in(&place).unwrap()
    }

    #[test]
    fn names_are_those_of_their_kind() {
        let (maps, namespaces) = (kind("", "v1", "configmaps"), kind("", "v1", "namespaces"));
        let roles = kind("rbac.authorization.k8s.io", "v1", "clusterroles");
        for (kind, name, wrong) in [
            (&maps, "a.b-c", 0),
            (&maps, "A", 1),
            (&namespaces, "a-b", 0),
            (&namespaces, "a.b", 1),
            (&roles, "system:x y", 0),
            (&roles, "a/b%", 2),
            (&roles, "..", 1),
        ] {
            let object = json!({ "metadata": { "name": name } });
            assert_eq!(metadata(kind, &object, None).len(), wrong, "{name}");
            assert!(metadata(kind, &object, Some(&object)).is_empty(), "it has its name already");
        }
    }

    #[test]
    fn a_workload_makes_what_it_selects() {
        let deployments = kind("apps", "v1", "deployments");
        let spec = |selector: Value| {
            let template = json!({ "metadata": { "labels": { "app": "b" } }, "spec": { "containers": [{ "name": "a" }] } });
            json!({ "spec": { "selector": selector, "template": template } })
        };
        let image = "spec.template.spec.containers[0].image";
        let labels = "spec.template.metadata.labels";
        for (selector, expected) in [
            (json!({ "matchLabels": { "app": "b" } }), vec![image]),
            (json!({ "matchLabels": { "app": "a" } }), vec![labels, image]),
            (json!(null), vec!["spec.selector", labels, image]),
            (json!({}), vec!["spec.selector", image]),
        ] {
            let errors = built_in(&deployments, &spec(selector), None);
            assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), expected);
        }
        let (old, new) = (json!({ "matchLabels": { "app": "a" } }), json!({ "matchLabels": { "app": "b" } }));
        let errors = built_in(&deployments, &spec(new), Some(&spec(old)));
        assert_eq!(errors.last().unwrap().detail, "field is immutable");
    }
}
