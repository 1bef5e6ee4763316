//! Whether a schema may stand in a definition: the server's rules of structural schemas, all broken ones at once.
//!
//! In: a schema as JSON and where it stands. Out: field errors. (`kube_core::schema::check` has the shape rules too, for
//! authors: it stops at the first and speaks of fields, not of the definition. Here the real server's words are the point.)
//! Three walks: keywords that Kubernetes does not have and types ([`keywords`]), the skeleton that every value needs
//! ([`skeleton`]), and defaults that fit ([`defaults`]), which are looked at only if all else is right.
//! What a rule may say is left to `rules`.

use serde_json::{Map, Value, json};

use super::{
    check, fit, lists, patterns, rules,
    schema::{Node, is_true, list, strings},
};
use crate::embedded::errors::{FieldError, FieldReason};

type Schema = Map<String, Value>;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords of JSON Schema that are refused by name.
const REFUSED: [(&str, &str); 6] = [
    ("$ref", "$ref is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("id", "id is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
];

/// What is wrong with the schema at `path`.
pub(super) fn check_schema(schema: &Value, path: &str) -> Vec<FieldError> {
    let empty = Map::new();
    let root = schema.as_object().unwrap_or(&empty);
    let mut errors = Vec::new();
    root_only(root, path, &mut errors);
    keywords(root, path, &mut errors);
    if !refuses(root) {
        skeleton(root, path, Place::Root, &mut errors);
        complete(root, root, path, path, &mut errors);
    }
    if errors.is_empty() {
        errors.extend(rules::check_rules(root, path));
    }
    if errors.is_empty() {
        defaults(root, path, true, &mut errors);
    }
    errors
}

/// Whether there is a keyword that leaves nothing else to say.
fn refuses(schema: &Schema) -> bool {
    REFUSED.iter().any(|(keyword, _)| schema.contains_key(*keyword))
        || children(schema, "").iter().any(|(child, _)| refuses(child))
}

/// Whether `$schema` is said anywhere.
fn names_schema(schema: &Schema) -> bool {
    schema.contains_key("$schema") || children(schema, "").iter().any(|(child, _)| names_schema(child))
}

fn root_only(root: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    if names_schema(root) {
        errors.push(FieldError::invalid(path, &json!(""), "OpenAPIV3Schema 'schema' is not supported"));
    }
    match root.get("type").and_then(Value::as_str) {
        Some("object") => {}
        Some("") | None => {
            if !is_true(root, "x-kubernetes-preserve-unknown-fields") {
                errors.push(FieldError::required(format!("{path}.type"), "must not be empty at the root"));
            }
        }
        Some(other) => errors.push(FieldError::invalid(
            format!("{path}.type"),
            &json!(other),
            "must be object at the root",
        )),
    }
    if root.contains_key("additionalProperties") {
        let at = format!("{path}.additionalProperties");
        errors.push(FieldError::forbidden(at, "must not be used at the root"));
    }
}

/// All schemas below one, with their paths; branches too.
fn children<'a>(schema: &'a Schema, path: &str) -> Vec<(&'a Schema, String)> {
    let mut all = Vec::new();
    for (name, field) in fields(schema, "properties") {
        all.push((field, format!("{path}.properties[{name}]")));
    }
    for keyword in ["additionalProperties", "items", "not"] {
        if let Some(child) = schema.get(keyword).and_then(Value::as_object) {
            all.push((child, format!("{path}.{keyword}")));
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in list(schema, keyword).iter().enumerate() {
            if let Some(branch) = branch.as_object() {
                all.push((branch, format!("{path}.{keyword}[{index}]")));
            }
        }
    }
    all
}

fn fields<'a>(schema: &'a Schema, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Schema)> {
    let fields = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name, field.as_object()?)))
}

fn text<'a>(schema: &'a Schema, keyword: &str) -> &'a str {
    schema.get(keyword).and_then(Value::as_str).unwrap_or_default()
}

/// Rules of single keywords, in branches too.
fn keywords(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    let kind = text(schema, "type");
    if is_true(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(at("uniqueItems"), detail));
    }
    if kind == "null" {
        errors.push(not_a_type(at("type"), kind));
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(at("type"), detail));
    } else if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(not_a_type(at("type"), kind));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(at("items"), detail));
    }
    if fields(schema, "properties").next().is_some() && schema.contains_key("additionalProperties") {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(at("additionalProperties"), detail));
    }
    for (keyword, detail) in REFUSED {
        if schema.contains_key(keyword) {
            errors.push(FieldError::forbidden(at(keyword), detail));
        }
    }
    pattern(schema, path, errors);
    extensions(schema, path, errors);
    for (child, path) in children(schema, path) {
        keywords(child, &path, errors);
    }
}

fn not_a_type(path: String, kind: &str) -> FieldError {
    FieldError::not_supported(path, &json!(kind), &TYPES)
}

fn pattern(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let pattern = text(schema, "pattern");
    if let Err(why) = patterns::go_accepts(pattern) {
        let detail = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), &json!(pattern), detail));
    }
}

fn extensions(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    let kind = text(schema, "type");
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = at("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(at, &json!(false), "must be true or undefined"));
    }
    if is_true(schema, "x-kubernetes-int-or-string")
        && is_true(schema, "x-kubernetes-preserve-unknown-fields")
    {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.push(FieldError::invalid(at("x-kubernetes-preserve-unknown-fields"), &json!(true), detail));
    }
    let map_type = text(schema, "x-kubernetes-map-type");
    if !map_type.is_empty() {
        if kind != "object" {
            let detail = "must be object if x-kubernetes-map-type is specified";
            errors.push(type_is(at("type"), kind, detail));
        }
        if !["atomic", "granular"].contains(&map_type) {
            let supported = ["atomic", "granular"];
            errors.push(FieldError::not_supported(at("x-kubernetes-map-type"), &json!(map_type), &supported));
        }
    }
    list_type(schema, path, errors);
}

/// A type that is not the one needed: missing, or another.
fn type_is(path: String, kind: &str, detail: &str) -> FieldError {
    if kind.is_empty() {
        FieldError::required(path, detail)
    } else {
        FieldError::invalid(path, &json!(kind), detail)
    }
}

fn list_type(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    let list_type = text(schema, "x-kubernetes-list-type");
    let keys = strings(schema, "x-kubernetes-list-map-keys");
    if list_type.is_empty() {
        if !keys.is_empty() {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(FieldError::required(at("x-kubernetes-list-type"), detail));
        }
        return;
    }
    if text(schema, "type") != "array" {
        let detail = "must be array if x-kubernetes-list-type is specified";
        errors.push(type_is(at("type"), text(schema, "type"), detail));
    }
    let supported = ["atomic", "set", "map"];
    if !supported.contains(&list_type) {
        errors.push(FieldError::not_supported(at("x-kubernetes-list-type"), &json!(list_type), &supported));
    }
    let empty = Map::new();
    let items = schema.get("items").and_then(Value::as_object).unwrap_or(&empty);
    if ["set", "map"].contains(&list_type) && is_true(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(at("items.nullable"), detail));
    }
    match list_type {
        "set" if text(items, "type") == "object" && text(items, "x-kubernetes-map-type") != "atomic" => {
            let found = items.get("x-kubernetes-map-type").cloned().unwrap_or(Value::Null);
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(FieldError::invalid(at("items.x-kubernetes-map-type"), &found, detail));
        }
        "map" => map_keys(items, &keys, path, errors),
        _ => {}
    }
}

fn map_keys(items: &Schema, keys: &[String], path: &str, errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(at("x-kubernetes-list-map-keys"), detail));
        return;
    }
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(type_is(at("items.type"), text(items, "type"), detail));
        return;
    }
    let twice = keys.iter().enumerate().any(|(index, key)| keys[..index].contains(key));
    if twice {
        let detail = "must not contain duplicate entries";
        errors.push(FieldError::invalid(at("x-kubernetes-list-map-keys"), &json!(keys), detail));
    }
    let required = strings(items, "required");
    for (index, key) in keys.iter().enumerate().filter(|(index, key)| !keys[..*index].contains(key)) {
        let Some((_, field)) = fields(items, "properties").find(|(name, _)| *name == key) else {
            let detail = "entries must all be names of item properties";
            errors.push(FieldError::invalid(at("x-kubernetes-list-map-keys"), &json!(keys), detail));
            continue;
        };
        let of_key = |keyword: &str| at(&format!("items.properties[{key}].{keyword}"));
        let kind = text(field, "type");
        if ["array", "object"].contains(&kind) {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(of_key("type"), &json!(kind), detail));
        }
        if !required.contains(&keys[index]) && !field.contains_key("default") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(of_key("default"), detail));
        }
    }
}

/// Where a schema stands in its object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

/// Rules of the schemas that say of what type each value is; branches only as what must not be said in them.
fn skeleton(schema: &Schema, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    let kind = text(schema, "type");
    let int_or_string = is_true(schema, "x-kubernetes-int-or-string");
    let open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    if kind.is_empty() && !int_or_string && !open && place != Place::Root {
        let of = if place == Place::Item { "array items" } else { "object fields" };
        errors.push(FieldError::required(at("type"), format!("must not be empty for specified {of}")));
    }
    if kind == "array" && !schema.contains_key("items") {
        errors.push(FieldError::required(at("items"), "must be specified"));
    }
    if embedded {
        if !open && fields(schema, "properties").next().is_none() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            errors.push(FieldError::required(at("properties"), detail));
        }
        if !kind.is_empty() && kind != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(at("type"), &json!(kind), detail));
        }
    }
    if embedded || place == Place::Root {
        object_fields(schema, path, place, errors);
    }
    for (name, field) in fields(schema, "properties") {
        skeleton(field, &at(&format!("properties[{name}]")), Place::Field, errors);
    }
    if let Some(value) = schema.get("additionalProperties").and_then(Value::as_object) {
        skeleton(value, &at("additionalProperties"), Place::Field, errors);
    }
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        skeleton(items, &at("items"), Place::Item, errors);
    }
    let types_may = if int_or_string { int_or_string_branches(schema) } else { Vec::new() };
    nested_in(schema, path, place == Place::Root, &types_may, errors);
}

/// The type, version and metadata of an object.
fn object_fields(schema: &Schema, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some((_, field)) = fields(schema, "properties").find(|(found, _)| *found == name) else {
            continue;
        };
        let kind = text(field, "type");
        if kind != wanted {
            let at = format!("{path}.properties[{name}].type");
            errors.push(type_is(at, kind, &format!("must be {wanted}")));
        }
        if name == "metadata" && place == Place::Root {
            metadata(field, &format!("{path}.properties[metadata]"), errors);
        }
    }
}

/// Of metadata, a schema may restrict the name and nothing else.
fn metadata(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    if schema.contains_key("default") {
        let at = format!("{path}.default");
        errors.push(FieldError::forbidden(at, "must not be set in top-level metadata"));
        return;
    }
    let fields_fit =
        fields(schema, "properties").all(|(name, _)| ["name", "generateName"].contains(&name.as_str()));
    let rest =
        |keyword: &String| ["type", "properties", "description", "nullable"].contains(&keyword.as_str());
    if text(schema, "type") == "object" && (!fields_fit || !schema.keys().all(rest)) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// The branches that may name types: `anyOf: [integer, string]`, alone or first within `allOf`.
fn int_or_string_branches(schema: &Schema) -> Vec<&Schema> {
    let pair = json!([{ "type": "integer" }, { "type": "string" }]);
    let holder = match list(schema, "allOf").first() {
        Some(Value::Object(first)) if first.get("anyOf") == Some(&pair) => first,
        _ => schema,
    };
    if holder.get("anyOf") == Some(&pair) {
        list(holder, "anyOf").iter().filter_map(Value::as_object).collect()
    } else {
        Vec::new()
    }
}

/// Branches speak of values only.
fn nested_in(schema: &Schema, path: &str, root: bool, types_may: &[&Schema], errors: &mut Vec<FieldError>) {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in list(schema, keyword).iter().enumerate() {
            if let Some(branch) = branch.as_object() {
                nested(branch, &format!("{path}.{keyword}[{index}]"), root, types_may, errors);
            }
        }
    }
    if let Some(branch) = schema.get("not").and_then(Value::as_object) {
        nested(branch, &format!("{path}.not"), root, types_may, errors);
    }
}

fn nested(branch: &Schema, path: &str, root: bool, types_may: &[&Schema], errors: &mut Vec<FieldError>) {
    let at = |keyword: &str| format!("{path}.{keyword}");
    let mut forbid = |keyword: &str, detail: &str| errors.push(FieldError::forbidden(at(keyword), detail));
    if branch.contains_key("additionalProperties") {
        forbid("additionalProperties", "must be undefined to be structural");
    }
    let said = |keyword: &str| !text(branch, keyword).is_empty();
    if said("type") && !types_may.iter().any(|may| std::ptr::eq(*may, branch)) {
        forbid("type", "must be empty to be structural");
    }
    for keyword in ["description", "title"] {
        if said(keyword) {
            forbid(keyword, "must be empty to be structural");
        }
    }
    if branch.get("default").is_some_and(|default| !default.is_null()) {
        forbid("default", "must be undefined to be structural");
    }
    if !list(branch, "x-kubernetes-validations").is_empty() {
        forbid("x-kubernetes-validations", "must be empty to be structural");
    }
    for keyword in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if is_true(branch, keyword) {
            forbid(keyword, "must be false to be structural");
        }
    }
    for keyword in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if said(keyword) {
            forbid(keyword, "must be undefined to be structural");
        }
    }
    if !list(branch, "x-kubernetes-list-map-keys").is_empty() {
        forbid("x-kubernetes-list-map-keys", "must be empty to be structural");
    }
    for (name, field) in fields(branch, "properties") {
        let path = at(&format!("properties[{name}]"));
        if root && name == "metadata" {
            errors.push(FieldError::forbidden(&path, "must not be specified in a nested context"));
        }
        nested(field, &path, false, types_may, errors);
    }
    if let Some(items) = branch.get("items").and_then(Value::as_object) {
        nested(items, &at("items"), false, types_may, errors);
    }
    nested_in(branch, path, root, types_may, errors);
}

/// What branches of the root name must be declared. (The real server looks at those of the root only.)
fn complete(branch: &Schema, declared: &Schema, said_at: &str, path: &str, errors: &mut Vec<FieldError>) {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| {
        let branches = list(branch, keyword).iter().enumerate();
        branches.map(move |(index, branch)| (branch, format!("{keyword}[{index}]")))
    });
    let not = branch.get("not").map(|not| (not, "not".to_owned()));
    for (branch, keyword) in lists.chain(not) {
        let Some(branch) = branch.as_object() else { continue };
        let said_at = format!("{said_at}.{keyword}");
        complete(branch, declared, &said_at, path, errors);
        complete_fields(branch, declared, &said_at, path, errors);
    }
}

fn complete_fields(
    branch: &Schema,
    declared: &Schema,
    said_at: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let because = |said_at: &str| format!("because it is defined in {said_at}");
    for (name, field) in fields(branch, "properties") {
        let said_at = format!("{said_at}.properties[{name}]");
        let at = format!("{path}.properties[{name}]");
        match fields(declared, "properties").find(|(found, _)| *found == name) {
            Some((_, declared)) => {
                complete(field, declared, &said_at, &at, errors);
                complete_fields(field, declared, &said_at, &at, errors);
            }
            None => errors.push(FieldError::required(at, because(&said_at))),
        }
    }
    if let Some(items) = branch.get("items").and_then(Value::as_object) {
        let said_at = format!("{said_at}.items");
        let at = format!("{path}.items");
        match declared.get("items").and_then(Value::as_object) {
            Some(declared) => {
                complete(items, declared, &said_at, &at, errors);
                complete_fields(items, declared, &said_at, &at, errors);
            }
            None => errors.push(FieldError::required(at, because(&said_at))),
        }
    }
}

/// Defaults are pruned, complete and valid.
fn defaults(schema: &Schema, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let mut node = Node::read(&Value::Object(schema.clone()));
        if root {
            for name in ["apiVersion", "kind"] {
                node.required.push(name.to_owned());
            }
        }
        default_fits(&node, default, &format!("{path}.default"), errors);
    }
    for (name, field) in fields(schema, "properties") {
        defaults(field, &format!("{path}.properties[{name}]"), false, errors);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(child) = schema.get(keyword).and_then(Value::as_object) {
            defaults(child, &format!("{path}.{keyword}"), false, errors);
        }
    }
}

fn default_fits(node: &Node, default: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut pruned = default.clone();
    if !fit::prune(node, &mut pruned).is_empty() {
        errors.push(FieldError::invalid(path, default, "must not have unknown fields"));
        return;
    }
    // Checked as a value that stands alone: its own path is empty, and so is the place where messages name it.
    let mut found = check::check(node, default, None);
    found.extend(lists::embedded(node, default, ""));
    found.extend(lists::unique(node, default, ""));
    let blocked = found.iter().any(|error| error.reason != FieldReason::Invalid);
    if !blocked {
        found.extend(rules::check(node, default, None, node.embedded).errors);
    }
    errors.extend(found.into_iter().map(|mut error| {
        if error.path != check::NOWHERE {
            let dot = if error.path.is_empty() || error.path.starts_with('[') { "" } else { "." };
            error.path = format!("{path}{dot}{}", error.path);
        } else if error.detail.starts_with("failed rule") {
            path.clone_into(&mut error.path);
        }
        error
    }));
}
