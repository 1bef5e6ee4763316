//! Objects and definitions that the server refuses: the answer names the field, and what was stored stays.

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Error};
use kube_core::{
    ApiResource, CustomResource as _, DynamicObject, Patch, PatchParams, ResourceExt as _, StatusCause,
    WriteParams,
};
use serde_json::{Value, json};

use crate::{
    common::{Place, chain, config_map, named, reads, typed},
    derive_kinds::Ruled,
    kinds::Gadget,
};

/// The causes of a 422.
#[track_caller]
fn causes(error: &Error) -> Vec<StatusCause> {
    assert!(error.is_invalid() && !error.is_retryable(), "{error:?}");
    assert_eq!(error.code(), Some(422));
    let details = error.api().unwrap().status.details.clone().unwrap_or_default();
    assert!(!details.causes.is_empty(), "{error:?}");
    details.causes
}

/// A definition that is good but for one value.
fn definition(place: &Place, pointer: &str, value: Value) -> CustomResourceDefinition {
    let mut definition = serde_json::to_value(Gadget::crd()).unwrap();
    let group = format!("{}.example.dev", place.namespace.name());
    definition["spec"]["group"] = json!(group);
    definition["metadata"]["name"] = json!(format!("gadgets.{group}"));
    *definition.pointer_mut(pointer).unwrap() = value;
    typed(definition)
}

#[tokio::test]
async fn a_definition_that_is_refused_says_where_it_is_wrong() {
    const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let place = Place::new("refused").await;
    let definitions: Api<CustomResourceDefinition> = Api::cluster(place.client.clone());
    for (pointer, value, field, shown) in [
        // Not structural: no type.
        (
            format!("{SPEC}/properties/replicas"),
            json!({ "description": "no type" }),
            "openAPIV3Schema.properties[spec].properties[replicas].type",
            "must not be empty for specified object fields",
        ),
        // Not structural: a type inside of a branch.
        (
            format!("{SPEC}/properties/replicas"),
            json!({ "type": "integer", "anyOf": [{ "type": "integer" }] }),
            "openAPIV3Schema.properties[spec].properties[replicas].anyOf[0].type",
            "must be empty to be structural",
        ),
        (
            format!("{SPEC}/properties/replicas"),
            json!({ "type": "integer", "default": "three" }),
            "openAPIV3Schema.properties[spec].properties[replicas].default",
            "must be of type integer",
        ),
        (
            format!("{SPEC}/properties/replicas"),
            json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": "self >" }] }),
            "openAPIV3Schema.properties[spec].properties[replicas].x-kubernetes-validations[0].rule",
            "compilation failed",
        ),
        (
            "/metadata/name".into(),
            json!(place.unique("other.example.dev")),
            "metadata.name",
            "spec.names.plural",
        ),
        ("/spec/names/plural".into(), json!("Gadgets"), "spec.names.plural", "lower case"),
        ("/spec/names/kind".into(), json!(""), "spec.names.kind", "Required"),
        ("/spec/scope".into(), json!("Everywhere"), "spec.scope", "Namespaced"),
        ("/spec/versions/0/storage".into(), json!(false), "spec.versions", "exactly one version"),
    ] {
        let definition = definition(&place, &pointer, value);
        let error = definitions.create(&definition, &WriteParams::default()).await.unwrap_err();
        let causes = causes(&error);
        // Of the only version of a kind the server speaks in a shorter way, which not every release has.
        assert!(causes.iter().any(|cause| cause.field.ends_with(field)), "{field}: {causes:?}");
        reads(&error.to_string(), &["POST", "422 Invalid", definition.name(), field, shown]);
        assert!(definitions.get_opt(definition.name()).await.unwrap().is_none(), "nothing is stored");
    }
}

#[tokio::test]
async fn a_change_of_a_definition_that_is_refused_leaves_the_kind_as_it_was() {
    let place = Place::new("refused").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    gadgets.create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::cluster(place.client.clone());
    let patch =
        Patch::Json(json!([{ "op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/type" }]));
    let error = definitions.patch(Gadget::CRD_NAME, &patch, &PatchParams::default()).await.unwrap_err();
    causes(&error);
    let patch = Patch::Merge(json!({ "spec": { "scope": "Cluster" } }));
    let error = definitions.patch(Gadget::CRD_NAME, &patch, &PatchParams::default()).await.unwrap_err();
    reads(&error.to_string(), &["spec.scope", "immutable"]);
    assert_eq!(gadgets.get("a").await.unwrap().spec.replicas, 1);
}

fn gadget(spec: &Value) -> DynamicObject {
    let mut object = DynamicObject::new("a", &ApiResource::of::<Gadget>());
    object.data["spec"] = spec.clone();
    object
}

#[tokio::test]
async fn an_object_that_does_not_fit_its_schema_is_refused_by_the_name_of_the_field() {
    let place = Place::new("refused").await;
    place.define::<Gadget>().await;
    let resource = ApiResource::of::<Gadget>();
    let api: Api<DynamicObject> = Api::dynamic(place.client.clone(), resource, Some(&place.namespace));
    let good = api.create(&gadget(&json!({ "replicas": 1 })), &WriteParams::default()).await.unwrap();
    for (spec, field, shown) in [
        (json!({ "replicas": "many" }), "spec.replicas", "must be of type integer"),
        (json!({ "replicas": 11 }), "spec.replicas", "less than or equal to 10"),
        (json!({ "replicas": -1 }), "spec.replicas", "greater than or equal to 0"),
        (json!({}), "spec.replicas", "Required value"),
        (json!({ "replicas": 1, "colour": "blue" }), "spec.colour", "supported values: \"red\", \"green\""),
        (json!({ "replicas": 1, "parts": [{ "name": "x" }] }), "spec.parts[0].count", "Required value"),
        (
            json!({ "replicas": 1, "parts": [{ "name": "x", "count": 1 }, { "name": "x", "count": 2 }] }),
            "spec.parts[1]",
            "Duplicate value",
        ),
        (json!({ "replicas": 1, "notes": { "k": 1 } }), "spec.notes.k", "must be of type string"),
    ] {
        let mut changed = good.clone();
        changed.data["spec"] = spec.clone();
        let mut new = gadget(&spec);
        new.metadata = named("b");
        for refused in [
            api.create(&new, &WriteParams::default()).await,
            api.replace("a", &changed, &WriteParams::default()).await,
            api.apply("b", &new, &PatchParams::apply("e2e")).await,
        ] {
            let error = refused.unwrap_err();
            if error.is_invalid() {
                let causes = causes(&error);
                assert!(causes.iter().any(|cause| cause.field == field), "{field}: {causes:?}");
                reads(&error.to_string(), &["gadgets", "422 Invalid", field, shown]);
            } else {
                // Of types and keys an apply says it before the schema is asked, with this code.
                assert_eq!(error.code(), Some(500), "{error}");
                reads(&error.to_string(), &["gadgets/b", field.split('[').next().unwrap_or_default()]);
            }
        }
    }
    assert_eq!(api.get("a").await.unwrap(), good);
    assert!(api.get_opt("b").await.unwrap().is_none());
}

#[tokio::test]
async fn a_rule_that_is_broken_speaks_with_its_own_message() {
    let place = Place::new("refused").await;
    place.define::<Ruled>().await;
    let api = place.api::<Ruled>();
    let good = api.create(&Ruled::good("a"), &WriteParams::default()).await.unwrap();
    for (change, field, shown) in [
        (&(|ruled: &mut Ruled| ruled.spec.min = 9) as &dyn Fn(&mut Ruled), "spec", "min is at most \"max\""),
        (&|ruled| ruled.spec.even = Some(3), "spec.even", "odd, and over zero"),
        (&|ruled| ruled.spec.fixed = "other".into(), "spec.fixed", "is fixed"),
        (&|ruled| ruled.spec.names = vec!["x".into(), "x".into()], "spec.names", "each name once"),
    ] {
        let mut changed = good.clone();
        change(&mut changed);
        let error = api.replace("a", &changed, &WriteParams::default()).await.unwrap_err();
        let causes = causes(&error);
        assert!(causes.iter().any(|cause| cause.field == field), "{field}: {causes:?}");
        reads(&error.to_string(), &["ruleds/a", field, shown]);
    }
    assert_eq!(api.get("a").await.unwrap(), good);
}

#[tokio::test]
async fn a_built_in_object_that_is_invalid_names_every_field() {
    let place = Place::new("refused").await;
    let deployment: Deployment = typed(json!({
        "metadata": { "name": "Bad_Name" },
        "spec": {
            "replicas": -1,
            "selector": { "matchLabels": { "app": "a" } },
            "template": { "metadata": { "labels": { "app": "b" } }, "spec": { "containers": [] } },
        },
    }));
    let error = place.api().create(&deployment, &WriteParams::default()).await.unwrap_err();
    let causes = causes(&error);
    for field in ["metadata.name", "spec.replicas", "spec.template.metadata.labels"] {
        assert!(causes.iter().any(|cause| cause.field == field), "{field}: {causes:?}");
        reads(&error.to_string(), &[field]);
    }
    let details = error.api().unwrap().status.details.clone().unwrap_or_default();
    assert_eq!(
        (details.name.as_str(), details.group.as_str(), details.kind.as_str()),
        ("Bad_Name", "apps", "Deployment")
    );
}

#[tokio::test]
async fn a_kind_or_a_namespace_that_is_not_there_is_not_found() {
    let place = Place::new("refused").await;
    let unknown = ApiResource::new("none.e2e.example.dev", "v1", "None", "nones", true);
    let api: Api<DynamicObject> = Api::dynamic(place.client.clone(), unknown.clone(), Some(&place.namespace));
    let error = api.create(&DynamicObject::new("a", &unknown), &WriteParams::default()).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    reads(&error.to_string(), &["POST", "/apis/none.e2e.example.dev/v1/", "404"]);

    let absent = place.unique("absent");
    let maps: Api<ConfigMap> = Api::namespaced(place.client.clone(), &absent);
    let error = maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    reads(&error.to_string(), &["namespaces", &absent, "not found"]);
}

#[tokio::test]
async fn an_answer_of_another_shape_than_the_type_says_where() {
    let place = Place::new("refused").await;
    place.define::<Gadget>().await;
    place.api::<Gadget>().create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    // The right path with a type for something else.
    let request =
        place.api::<Gadget>().endpoint().unwrap().get("a", &kube_core::GetParams::default()).unwrap();
    let error = place.client.request::<ConfigMap>(request).await.unwrap_err();
    let text = chain(&error);
    assert!(matches!(error, Error::Decode { .. }), "{error:?}");
    reads(&text, &["GET", "gadgets/a", "ConfigMap"]);
}
