//! Whether a definition is right, and what is filled in before it is asked.
//!
//! In: a definition as JSON. Out: field errors in the order of the real server, and warnings.
//! The real server works on an older form of definitions, where what all versions share stands at the top; its paths show it
//! (`spec.validation.openAPIV3Schema`), and so do these.

use serde_json::{Map, Value, json};

use super::{
    columns, formats,
    names::{is_kind, is_label_1035, is_subdomain},
    structural,
};
use crate::embedded::errors::FieldError;

const APPROVAL: &str = "api-approved.kubernetes.io";
const APPROVAL_RULE: &str = "https://github.com/kubernetes/enhancements/pull/1111";

/// Fills in defaults, and starts the status of a new definition.
pub(in crate::embedded) fn prepare_create(definition: &mut Value) {
    default(definition);
    let storage = versions(definition).iter().find(|version| version["storage"] == true);
    let mut status = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" } });
    status["storedVersions"] = storage.map_or(Value::Null, |version| json!([version["name"]]));
    definition["status"] = status;
}

/// Fills in defaults, and keeps the status but for a new storage version.
pub(in crate::embedded) fn prepare_update(definition: &mut Value, old: &Value) {
    default(definition);
    definition["status"] = old["status"].clone();
    let storage = versions(definition).iter().find(|version| version["storage"] == true);
    let Some(name) = storage.map(|version| version["name"].clone()) else { return };
    match &mut definition["status"]["storedVersions"] {
        Value::Array(stored) if stored.contains(&name) => {}
        Value::Array(stored) => stored.push(name),
        none => *none = json!([name]),
    }
}

fn default(definition: &mut Value) {
    let spec = &mut definition["spec"];
    if !spec.is_object() {
        *spec = json!({});
    }
    if !spec["names"].is_object() {
        spec["names"] = json!({ "plural": "", "kind": "" });
    }
    let kind = text(&spec["names"], "kind").to_owned();
    if !kind.is_empty() {
        for (key, value) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
            if text(&spec["names"], key).is_empty() {
                spec["names"][key] = json!(value);
            }
        }
    }
    if !spec["conversion"].is_object() {
        spec["conversion"] = json!({ "strategy": "None" });
    }
    if spec["preserveUnknownFields"] == false
        && let Value::Object(spec) = spec
    {
        spec.remove("preserveUnknownFields");
    }
    for version in spec["versions"].as_array_mut().into_iter().flatten() {
        let Value::Object(version) = version else { continue };
        for key in ["served", "storage"] {
            version.entry(key).or_insert(Value::Bool(false));
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn versions(definition: &Value) -> &[Value] {
    array(&definition["spec"]["versions"])
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with a new definition.
pub(in crate::embedded) fn validate(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = &definition["metadata"]["name"];
    if let Err(detail) = is_subdomain(name.as_str().unwrap_or_default()) {
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
    let (plural, group) = (text(&definition["spec"]["names"], "plural"), text(&definition["spec"], "group"));
    if *name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
    spec(definition, &mut errors);
    stored_versions(definition, &mut errors);
    approval(definition, &mut errors);
    errors
}

/// What is wrong with a definition after an update of its spec.
pub(in crate::embedded) fn validate_update(definition: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    spec(definition, &mut errors);
    let established = array(&old["status"]["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let mut immutable = vec!["/spec/group", "/spec/names/plural"];
    if established {
        immutable.extend(["/spec/scope", "/spec/names/kind"]);
    }
    for pointer in immutable {
        let (new, old) = (definition.pointer(pointer), old.pointer(pointer));
        if new != old {
            let path = pointer[1..].replace('/', ".");
            errors.push(FieldError::invalid(path, new.unwrap_or(&Value::Null), "field is immutable"));
        }
    }
    stored_versions(definition, &mut errors);
    errors
}

fn spec(definition: &Value, errors: &mut Vec<FieldError>) {
    let spec = &definition["spec"];
    let group = text(spec, "group");
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Err(detail) = is_subdomain(group) {
        errors.push(FieldError::invalid("spec.group", &json!(group), detail));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &json!(group), detail));
    }
    match text(spec, "scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let supported = ["Cluster", "Namespaced"];
            errors.push(FieldError::not_supported("spec.scope", &json!(other), &supported));
        }
    }
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    let shared = Shared::of(versions(definition));
    each_version(versions(definition), &shared, errors);
    all_versions(spec, errors);
    names(&spec["names"], errors);
    if let Some(first) = versions(definition).first() {
        let at = |shared: bool, path: &'static str| shared.then_some(path);
        parts(
            first,
            &[
                at(shared.schema, "spec.validation.openAPIV3Schema"),
                at(shared.subresources, "spec.subresources"),
                at(shared.columns, "spec.additionalPrinterColumns"),
                at(shared.selectable, "spec.selectableFields"),
            ],
            errors,
        );
    }
    conversion(&spec["conversion"], errors);
}

/// What is the same in all versions.
#[expect(clippy::struct_excessive_bools, reason = "one for each part, and all combinations occur")]
struct Shared {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    fn of(versions: &[Value]) -> Self {
        let same = |key: &str| versions.iter().all(|version| version[key] == versions[0][key]);
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

fn each_version(versions: &[Value], shared: &Shared, errors: &mut Vec<FieldError>) {
    for (index, version) in versions.iter().enumerate() {
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(at, ""));
        }
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        if let Err(detail) = is_label_1035(text(version, "name")) {
            errors.push(FieldError::invalid(format!("{path}.name"), &version["name"], detail));
        }
        if version["deprecated"] != true && version["deprecationWarning"].is_string() {
            let detail = "can only be set for deprecated versions";
            let at = format!("{path}.deprecationWarning");
            errors.push(FieldError::invalid(at, &version["deprecationWarning"], detail));
        }
        let at = |shared: bool, key: &str| (!shared).then(|| format!("{path}.{key}"));
        let paths = [
            at(shared.schema, "schema.openAPIV3Schema"),
            at(shared.subresources, "subresources"),
            at(shared.columns, "additionalPrinterColumns"),
            at(shared.selectable, "selectableFields"),
        ];
        parts(version, &paths.each_ref().map(|path| path.as_deref()), errors);
    }
}

/// Schema, subresources, columns and selectable fields of a version, each if it has a path here.
fn parts(version: &Value, paths: &[Option<&str>; 4], errors: &mut Vec<FieldError>) {
    let schema = &version["schema"]["openAPIV3Schema"];
    if let (Some(path), true) = (paths[0], schema.is_object()) {
        errors.extend(structural::check_schema(schema, path));
    }
    if let Some(path) = paths[1] {
        columns::subresources(&version["subresources"], path, errors);
    }
    if let Some(path) = paths[2] {
        columns::columns(array(&version["additionalPrinterColumns"]), path, errors);
    }
    if let Some(path) = paths[3] {
        columns::selectable(array(&version["selectableFields"]), schema, path, errors);
    }
}

fn all_versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = array(&spec["versions"]);
    let invalid = |detail: &str| {
        let mut error = FieldError::invalid("spec.versions", &spec["versions"], detail);
        if !versions.is_empty() {
            error.value = Some(shown_versions(versions));
        }
        error
    };
    let twice = versions
        .iter()
        .enumerate()
        .any(|(index, version)| versions[..index].iter().any(|other| other["name"] == version["name"]));
    if twice {
        errors.push(invalid("must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        errors.push(invalid("must have exactly one version marked as storage version"));
    }
    if let Some(first) = versions.first()
        && !text(first, "name").is_empty()
        && let Err(detail) = is_label_1035(text(first, "name"))
    {
        errors.push(FieldError::invalid("spec.version", &first["name"], detail));
    }
}

/// Versions as the server's own struct prints them. What they share stands elsewhere and is null here.
fn shown_versions(versions: &[Value]) -> String {
    let all: Vec<_> = versions
        .iter()
        .map(|version| {
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\
                 \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
                version["name"],
                version["served"] == true,
                version["storage"] == true,
                version["deprecated"] == true,
                version["deprecationWarning"],
            )
        })
        .collect();
    format!("[{}]", all.join(","))
}

fn names(names: &Value, errors: &mut Vec<FieldError>) {
    let at = |key: &str| format!("spec.names.{key}");
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(names, key).is_empty() {
            errors.push(FieldError::required(at(key), ""));
        }
    }
    for (key, rule) in [
        ("plural", is_label_1035 as fn(&str) -> Result<(), String>),
        ("singular", is_label_1035),
        ("kind", is_kind),
        ("listKind", is_kind),
    ] {
        let name = text(names, key);
        if !name.is_empty()
            && let Err(detail) = rule(name)
        {
            errors.push(FieldError::invalid(at(key), &json!(name), detail));
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(at("listKind"), &json!(kind), detail));
    }
    for key in ["shortNames", "categories"] {
        for (index, name) in array(&names[key]).iter().enumerate() {
            if let Err(detail) = is_label_1035(name.as_str().unwrap_or_default()) {
                errors.push(FieldError::invalid(format!("{}[{index}]", at(key)), name, detail));
            }
        }
    }
}

fn conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    let at = |key: &str| format!("spec.conversion.{key}");
    let (client, reviews) =
        (&conversion["webhook"]["clientConfig"], &conversion["webhook"]["conversionReviewVersions"]);
    match text(conversion, "strategy") {
        "Webhook" => {
            if !client.is_object() {
                let detail = "required when strategy is set to Webhook";
                errors.push(FieldError::required(at("webhookClientConfig"), detail));
            }
            if array(reviews).is_empty() {
                errors.push(FieldError::required(at("conversionReviewVersions"), ""));
            }
        }
        "None" => {
            let detail = "should not be set when strategy is not set to Webhook";
            if client.is_object() {
                errors.push(FieldError::forbidden(at("webhookClientConfig"), detail));
            }
            if !array(reviews).is_empty() {
                errors.push(FieldError::forbidden(at("conversionReviewVersions"), detail));
            }
        }
        "" => errors.push(FieldError::required(at("strategy"), "")),
        other => {
            let supported = ["None", "Webhook"];
            errors.push(FieldError::not_supported(at("strategy"), &json!(other), &supported));
        }
    }
}

fn stored_versions(definition: &Value, errors: &mut Vec<FieldError>) {
    let stored = &definition["status"]["storedVersions"];
    if array(stored).is_empty() {
        let detail = "must have at least one stored version";
        errors.push(FieldError::invalid("status.storedVersions", stored, detail));
        return;
    }
    let versions = versions(definition);
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !array(stored).contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(version, "name"));
            errors.push(FieldError::invalid("status.storedVersions", stored, detail));
        }
    }
    for (index, name) in array(stored).iter().enumerate() {
        if versions.iter().all(|version| version["name"] != *name) {
            let version = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {version} and removes {version} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("status.storedVersions[{index}]"), name, detail));
        }
    }
}

/// Groups of the project itself are for APIs that were approved.
fn approval(definition: &Value, errors: &mut Vec<FieldError>) {
    let group = text(&definition["spec"], "group");
    let protected = ["k8s.io", "kubernetes.io"]
        .into_iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    if !protected {
        return;
    }
    let at = format!("metadata.annotations[{APPROVAL}]");
    let annotation = &definition["metadata"]["annotations"][APPROVAL];
    match annotation.as_str().unwrap_or_default() {
        "" => {
            let detail =
                format!("protected groups must have approval annotation \"{APPROVAL}\", see {APPROVAL_RULE}");
            errors.push(FieldError::required(at, detail));
        }
        value if value.starts_with("unapproved") || value.contains("://") => {}
        _ => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting with \
                 \"unapproved\", see {APPROVAL_RULE}"
            );
            errors.push(FieldError::invalid(at, annotation, detail));
        }
    }
}

/// What the server warns of in a definition that it accepts.
pub(in crate::embedded) fn warnings(definition: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for version in versions(definition) {
        if let Some(schema) = version["schema"]["openAPIV3Schema"].as_object() {
            schema_warnings(schema, &mut all);
        }
    }
    all.sort();
    all.dedup();
    all
}

fn schema_warnings(schema: &Map<String, Value>, all: &mut Vec<String>) {
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && !format.is_empty()
        && !formats::is_known(format)
    {
        all.push(format!("unrecognized format \"{format}\""));
    }
    let item =
        schema.get("items").and_then(|items| items.get("type")).and_then(Value::as_str).unwrap_or_default();
    if schema.get("x-kubernetes-list-type") == Some(&json!("set")) && ["array", "object"].contains(&item) {
        all.push(format!(
            "x-kubernetes-list-type: set for items of type \"{item}\" is not supported by server-side apply or CEL \
             validation rules"
        ));
    }
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parts = fields.map(|(_, field)| field);
    for part in parts.chain(schema.get("items")).chain(schema.get("additionalProperties")) {
        if let Some(part) = part.as_object() {
            schema_warnings(part, all);
        }
    }
}
