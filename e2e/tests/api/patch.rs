//! Patches by media type: each does what its own rules say, and no other takes its place.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube_core::{ApiResource, Patch, PatchParams, ResourceExt as _, WriteParams};
use serde_json::{Value, json};

use crate::{
    common::{Place, chain, config_map, reads, typed},
    kinds::Gadget,
};

#[tokio::test]
async fn a_json_patch_is_a_list_of_operations_that_all_hold_or_none() {
    let place = Place::new("patch").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    gadgets.create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    let patch = Patch::Json(json!([
        { "op": "test", "path": "/spec/replicas", "value": 1 },
        { "op": "replace", "path": "/spec/replicas", "value": 2 },
        { "op": "add", "path": "/metadata/labels", "value": { "x/y": "z" } },
    ]));
    let patched = gadgets.patch("a", &patch, &PatchParams::default()).await.unwrap();
    assert_eq!((patched.spec.replicas, patched.labels()["x/y"].as_str()), (2, "z"));

    let error = gadgets.patch("a", &patch, &PatchParams::default()).await.unwrap_err();
    assert_eq!(error.code(), Some(422), "{error}");
    reads(&error.to_string(), &["PATCH", "gadgets/a"]);
    assert_eq!(gadgets.get("a").await.unwrap(), patched, "the failed operation took the others along");
}

#[tokio::test]
async fn a_merge_patch_replaces_lists_and_removes_by_null() {
    let place = Place::new("patch").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    let mut gadget = Gadget::of("a", 1);
    gadget.spec.notes = [("k".to_owned(), "v".to_owned())].into();
    gadgets.create(&gadget, &WriteParams::default()).await.unwrap();
    let part = |name: &str, count: i32| json!({ "name": name, "count": count });
    for (patch, parts, colour, note) in [
        (json!({ "spec": { "parts": [part("a", 1)], "colour": "red" } }), "a", Some("red"), Some("v")),
        (json!({ "spec": { "parts": [part("b", 1)], "notes": { "k": null } } }), "b", Some("red"), None),
        (json!({ "spec": { "parts": null, "colour": null } }), "", None, None),
    ] {
        let patched = gadgets.patch("a", &Patch::Merge(patch), &PatchParams::default()).await.unwrap();
        let names: Vec<&str> = patched.spec.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names.join(" "), parts);
        assert_eq!(
            serde_json::to_value(patched.spec.colour).unwrap(),
            colour.map_or(Value::Null, Value::from)
        );
        assert_eq!(patched.spec.notes.get("k").map(String::as_str), note);
    }
}

#[tokio::test]
async fn a_merge_patch_with_a_resource_version_is_refused_once_it_is_old() {
    let place = Place::new("patch").await;
    let maps = place.api::<ConfigMap>();
    let old = maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    let patch = Patch::Merge(json!({
        "metadata": { "resourceVersion": old.resource_version() },
        "data": { "k": "w" },
    }));
    maps.patch("a", &patch, &PatchParams::default()).await.unwrap();
    let error = maps.patch("a", &patch, &PatchParams::default()).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
}

pub(crate) fn deployment(name: &str, containers: &Value) -> Deployment {
    typed(json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": containers },
            },
        },
    }))
}

pub(crate) fn images(deployment: &Deployment) -> Vec<(String, String)> {
    let pod = deployment.spec.template.spec.iter();
    let containers = pod.flat_map(|pod| &pod.containers);
    containers.map(|c| (c.name.clone(), c.image.clone().unwrap_or_default())).collect()
}

#[tokio::test]
async fn a_strategic_patch_merges_lists_of_built_in_kinds_by_their_keys() {
    let place = Place::new("patch").await;
    let deployments = place.api::<Deployment>();
    let containers = json!([{ "name": "web", "image": "web:1" }, { "name": "log", "image": "log:1" }]);
    deployments.create(&deployment("a", &containers), &WriteParams::default()).await.unwrap();
    let patch = |container: Value| {
        Patch::Strategic(json!({ "spec": { "template": { "spec": { "containers": [container] } } } }))
    };
    let of = |name: &str, image: &str| (name.to_owned(), image.to_owned());
    for (container, expected) in [
        (json!({ "name": "web", "image": "web:2" }), vec![of("web", "web:2"), of("log", "log:1")]),
        (json!({ "name": "log", "$patch": "delete" }), vec![of("web", "web:2")]),
    ] {
        let patched = deployments.patch("a", &patch(container), &PatchParams::default()).await.unwrap();
        assert_eq!(images(&patched), expected);
    }
}

#[tokio::test]
async fn a_strategic_patch_of_a_custom_kind_is_refused_and_nothing_else_is_tried() {
    let place = Place::new("patch").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    let created = gadgets.create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    let patch = Patch::Strategic(json!({ "spec": { "replicas": 2 } }));
    for refused in [
        gadgets.patch("a", &patch, &PatchParams::default()).await,
        gadgets.patch_status("a", &patch, &PatchParams::default()).await,
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.code(), Some(415), "{error}");
        // The server says which ones it would take.
        reads(&error.to_string(), &["application/merge-patch+json", "application/apply-patch+yaml"]);
    }
    assert_eq!(gadgets.get("a").await.unwrap(), created);
}

#[tokio::test]
async fn what_could_not_mean_what_it_says_is_not_sent() {
    let place = Place::new("patch").await;
    let maps = place.api::<ConfigMap>();
    let object = json!({ "data": { "k": "v" } });
    let force = PatchParams { force: true, ..PatchParams::default() };
    let kind = ApiResource::of::<ConfigMap>().to_string();
    for (name, patch, params, shown) in [
        ("a", Patch::Merge(object.clone()), &force, "force is for server-side apply only"),
        ("a", Patch::Apply(object.clone()), &PatchParams::default(), "needs a field manager"),
        ("a", Patch::Json(object.clone()), &PatchParams::default(), "must be a list of operations"),
        ("a", Patch::Merge(json!([])), &PatchParams::default(), "must be an object"),
        ("", Patch::Merge(object), &PatchParams::default(), "the name is empty"),
    ] {
        let error = maps.patch(name, &patch, params).await.unwrap_err();
        assert!(matches!(error, kube_client::Error::Request(_)), "{error:?}");
        reads(&chain(&error), &[&kind, shown]);
    }
}
