//! The answers of the real server, recorded: `tests/definitions.jsonl` for definitions, `tests/objects.jsonl` for objects. A line is a
//! case. Errors are compared without order, for the real server goes through fields in none.

use serde_json::{Value, json};

use super::*;
use crate::embedded::errors::FieldError;

const NOW: &str = "2026-01-01T00:00:00Z";

fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "foos.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "foos", "kind": "Foo" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// `path | message`, sorted.
fn found(errors: &[FieldError]) -> Vec<String> {
    let mut all: Vec<_> = errors.iter().map(|error| format!("{} | {}", error.path, error.body())).collect();
    all.sort();
    all
}

fn expected(row: &Value) -> Vec<String> {
    let text = |error: &Value, index: usize| error[index].as_str().unwrap().to_owned();
    let errors = row["errors"].as_array().unwrap().iter();
    let mut all: Vec<_> = errors.map(|error| format!("{} | {}", text(error, 0), text(error, 1))).collect();
    all.sort();
    all
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Cases where this server answers otherwise, and why.
const DIFFERENT: [(&str, &str); 9] = [
    ("rule {\"rule\": \"self.all(x, self.all(y", "rules are not priced"),
    ("rule {\"rule\": \"self.all(x, x.matches", "rules are not priced"),
    ("rule \"of items\"", "rules are not priced"),
    ("rule {\"rule\": \"self.contains(", "the interpreter has no quantity, url, ip"),
    ("rule self.all(i,v", "the interpreter has no macros of two variables"),
    ("rule self.existsOne(i,v", "the interpreter has no macros of two variables"),
    ("rule self.transformList(", "the interpreter has no macros of two variables"),
    ("rule self.url()", "refused for another reason: no url here"),
    ("rule isURL(self)", "the interpreter has no url"),
];

#[test]
fn definitions_are_judged_as_the_server_does() {
    let mut wrong = Vec::new();
    for row in lines(include_str!("tests/definitions.jsonl")) {
        let mut given = match row.get("definition") {
            Some(given) => given.clone(),
            None => definition(&row["schema"]),
        };
        prepare_create(&mut given);
        let (found, expected) = (found(&validate(&given)), expected(&row));
        let case = row["case"].as_str().unwrap();
        if DIFFERENT.iter().any(|(different, _)| case.starts_with(different)) {
            assert_ne!(found, expected, "{case}: no longer different");
        } else if found != expected {
            wrong.push(format!("{case}\n  server: {expected:#?}\n  here: {found:#?}"));
        }
        let warned = strings(&row["warnings"]);
        let unknown = |text: &&String| !text.starts_with("unknown field");
        let warned: Vec<_> = warned.iter().filter(unknown).cloned().collect();
        if expected.is_empty() && warnings(&given) != warned {
            wrong.push(format!(
                "{}\n  server warns: {warned:?}\n  here: {:?}",
                row["case"],
                warnings(&given)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of the cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn objects_are_pruned_defaulted_and_judged_as_the_server_does() {
    let mut schema = Schema::read(&Value::Null);
    let mut scale = None;
    let mut wrong = Vec::new();
    for row in lines(include_str!("tests/objects.jsonl")) {
        if let Some(given) = row.get("schema") {
            schema = Schema::read(given);
            scale = row.get("scale").map(Scale::read);
            continue;
        }
        let mut object = row["object"].clone();
        if let Value::Object(fields) = &mut object {
            // A subresource, which a create or replace does not reach.
            fields.remove("status");
        }
        let unknown = schema.prune(&mut object);
        schema.default(&mut object);
        let Verdict { mut errors, warnings } = schema.validate(&object, row.get("old"));
        errors.extend(scale.iter().flat_map(|scale| scale.validate(&object)));
        let (found, expected) = (found(&errors), expected(&row));
        if found != expected {
            wrong.push(format!("{}\n  server: {expected:#?}\n  here: {found:#?}", row["object"]));
        }
        let mut warned: Vec<_> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        warned.extend(warnings);
        if warned != strings(&row["warnings"]) {
            wrong.push(format!("{}\n  server warns: {}\n  here: {warned:?}", row["object"], row["warnings"]));
        }
        Schema::write_numbers(&mut object);
        if let Some(stored) = row.get("stored") {
            let Value::Object(fields) = &mut object else { unreachable!() };
            fields.remove("metadata");
            if object != *stored {
                wrong.push(format!("{}\n  server stores: {stored}\n  here: {object}", row["object"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn established(name: &str, kind: &str) -> Value {
    let mut given = definition(&json!({ "type": "object" }));
    given["metadata"]["name"] = json!(format!("{name}.example.com"));
    given["spec"]["names"] = json!({ "plural": name, "kind": kind });
    prepare_create(&mut given);
    accept_names(&mut given, &[], NOW);
    given
}

#[test]
fn a_new_definition_gets_its_names_and_is_established() {
    let mut given = definition(&json!({ "type": "object" }));
    prepare_create(&mut given);
    assert_eq!(
        given["spec"]["names"],
        json!({ "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList" })
    );
    assert_eq!(given["spec"]["conversion"], json!({ "strategy": "None" }));
    assert_eq!(
        given["status"],
        json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": ["v1"] })
    );
    assert!(Served::read(&given).is_none(), "not before its names are accepted");
    accept_names(&mut given, &[], NOW);
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": NOW, "reason": reason, "message": message });
    assert_eq!(
        given["status"],
        json!({
            "conditions": [
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ],
            "acceptedNames": { "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList" },
            "storedVersions": ["v1"],
        })
    );
    let before = given.clone();
    accept_names(&mut given, std::slice::from_ref(&before), "2027-01-01T00:00:00Z");
    assert_eq!(given, before, "a second look changes nothing, itself it is no rival of, and times stay");
}

#[test]
fn names_in_use_are_not_accepted() {
    let first = established("foos", "Foo");
    let mut second = definition(&json!({ "type": "object" }));
    second["metadata"]["name"] = json!("bars.example.com");
    second["spec"]["names"] = json!({ "plural": "bars", "kind": "Foo", "shortNames": ["foos"] });
    prepare_create(&mut second);
    accept_names(&mut second, std::slice::from_ref(&first), NOW);
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "False", "lastTransitionTime": NOW, "reason": reason, "message": message });
    assert_eq!(
        second["status"],
        json!({
            "conditions": [
                condition("NamesAccepted", "ListKindConflict", "\"FooList\" is already in use"),
                condition("Established", "NotAccepted", "not all names are accepted"),
            ],
            "acceptedNames": { "plural": "bars", "kind": "" },
            "storedVersions": ["v1"],
        })
    );
    assert!(Served::read(&second).is_none());
    // Another group has names of its own.
    second["spec"]["group"] = json!("other.com");
    accept_names(&mut second, &[first], NOW);
    assert!(Served::read(&second).is_some());
}

#[test]
fn some_fields_of_a_definition_never_change() {
    let old = established("foos", "Foo");
    let v2 = json!([{ "name": "v2", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }]);
    let rows = [
        ("/spec/scope", json!("Cluster"), "spec.scope: Invalid value: \"Cluster\": field is immutable"),
        ("/spec/group", json!("y.io"), "spec.group: Invalid value: \"y.io\": field is immutable"),
        (
            "/spec/names/plural",
            json!("bars"),
            "spec.names.plural: Invalid value: \"bars\": field is immutable",
        ),
        ("/spec/names/kind", json!("Bar"), "spec.names.kind: Invalid value: \"Bar\": field is immutable"),
        (
            "/spec/versions",
            v2,
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, \
             and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 \
             from status.storedVersions",
        ),
    ];
    for (pointer, value, message) in rows {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        prepare_update(&mut new, &old);
        let errors = validate_update(&new, &old);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [message]);
    }
}

#[test]
fn a_new_storage_version_is_noted() {
    let old = established("foos", "Foo");
    let mut new = old.clone();
    new["status"] = json!({});
    new["spec"]["versions"][0]["storage"] = json!(false);
    let v2 = json!({ "name": "v2", "storage": true, "served": true, "schema": { "openAPIV3Schema": { "type": "object" } } });
    new["spec"]["versions"].as_array_mut().unwrap().push(v2);
    prepare_update(&mut new, &old);
    assert_eq!(validate_update(&new, &old), []);
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(new["status"]["conditions"], old["status"]["conditions"]);
    let served = Served::read(&new).unwrap();
    assert_eq!(served.storage().unwrap().name, "v2");
}

#[test]
fn what_is_served_is_what_the_definition_says() {
    let mut given = definition(&json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "replicas": { "type": "integer" }, "color": { "type": "string" } } },
            "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    }));
    given["spec"]["names"]["shortNames"] = json!(["fo"]);
    given["spec"]["names"]["categories"] = json!(["all"]);
    let version = &mut given["spec"]["versions"][0];
    version["subresources"] = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
    });
    version["additionalPrinterColumns"] =
        json!([{ "name": "Color", "type": "string", "jsonPath": ".spec.color" }]);
    version["selectableFields"] = json!([{ "jsonPath": ".spec.color" }]);
    version["deprecated"] = json!(true);
    prepare_create(&mut given);
    assert_eq!(validate(&given), []);
    accept_names(&mut given, &[], NOW);
    let served = Served::read(&given).unwrap();
    assert_eq!(
        (served.group.as_str(), served.plural.as_str(), served.singular.as_str(), served.kind.as_str()),
        ("example.com", "foos", "foo", "Foo")
    );
    assert_eq!(
        (served.list_kind.as_str(), served.namespaced, served.converts_by_webhook),
        ("FooList", true, false)
    );
    assert_eq!(
        (&served.short_names[..], &served.categories[..]),
        (&["fo".to_owned()][..], &["all".to_owned()][..])
    );
    let version: &Version = served.version("v1").unwrap();
    assert!(version.has_status && version.storage && version.served && served.version("v2").is_none());
    assert_eq!(version.deprecation.as_deref(), Some("example.com/v1 Foo is deprecated"));
    assert_eq!(version.selectable, [".spec.color"]);
    let color = Column {
        name: "Color".into(),
        kind: "string".into(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        path: ".spec.color".into(),
    };
    assert_eq!(version.columns, [color]);
    let mut object = json!({ "spec": { "size": 1 } });
    assert_eq!(version.schema.prune(&mut object), ["spec.size"]);
    let scale = version.scale.as_ref().unwrap();
    assert_eq!((scale.spec_replicas.as_str(), scale.selector.as_deref()), (".spec.replicas", None));
}

#[test]
fn a_kind_without_columns_has_its_age() {
    let served = Served::read(&established("foos", "Foo")).unwrap();
    let column = &served.versions[0].columns[0];
    assert_eq!((column.name.as_str(), column.kind.as_str(), column.priority), ("Age", "date", 0));
    assert_eq!((column.path.as_str(), column.format.as_str()), (".metadata.creationTimestamp", ""));
    assert!(column.description.starts_with("CreationTimestamp is a timestamp"));
}

#[test]
fn an_embedded_object_of_no_kind_is_not_decoded() {
    let schema = Schema::read(&json!({
        "type": "object",
        "properties": { "emb": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        } },
    }));
    let error = |emb: Value| schema.decode_error(&json!({ "emb": emb }));
    assert_eq!(error(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {} })), None);
    assert_eq!(error(json!({ "kind": 1 })).as_deref(), Some("emb.kind: Invalid value: 1: must be a string"));
}

#[test]
fn the_shape_of_a_schema_is_that_of_its_objects() {
    use crate::embedded::shape::{ListKind, ObjectShape, Scalar};

    let schema = Schema::read(&json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "port": { "x-kubernetes-int-or-string": true },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "one": { "type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": true },
            "list": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "integer", "default": 1 } } },
            },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "boolean" } },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
        },
    }));
    let Shape::Object(root) = schema.shape(&Types::default()) else { panic!("no object") };
    let of = |name: &str| &root.fields[name];
    assert_eq!(*of("kind"), Shape::Scalar(Scalar::String));
    assert_eq!(*of("text"), Shape::Scalar(Scalar::String));
    assert_eq!(*of("port"), Shape::Scalar(Scalar::IntOrString));
    assert_eq!(*of("labels"), Shape::Map { value: Box::new(Shape::Scalar(Scalar::String)), atomic: false });
    assert_eq!(*of("any"), Shape::Any);
    let one = ObjectShape { atomic: true, preserve_unknown: true, ..ObjectShape::default() };
    assert_eq!(*of("one"), Shape::Object(Box::new(one)));
    let Shape::List { item, kind, patch: None } = of("list") else { panic!("no list") };
    assert_eq!(*kind, ListKind::Map(vec!["k".into()]));
    let Shape::Object(item) = &**item else { panic!("no object") };
    assert_eq!((&*item.required, &item.defaults["k"]), (&["k".into()][..], &json!(1)));
    let Shape::List { kind: ListKind::Set, .. } = of("set") else { panic!("no set") };
}
