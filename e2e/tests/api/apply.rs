//! Server-side apply: fields have managers, and the answer says whose they are.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_client::Api;
use kube_core::{
    ApiResource, DynamicObject, ListParams, Patch, PatchParams, Resource, ResourceExt as _, WriteParams,
};
use serde_json::json;

use crate::{
    common::{Place, config_map, named, reads},
    kinds::{Colour, Gadget, Part},
    patch::{deployment, images},
};

/// What a manager has applied, as the server keeps it.
fn managed<K: Resource>(object: &K, manager: &str) -> Option<ManagedFieldsEntry> {
    let entries = object.meta().managed_fields.iter().flatten();
    let mut mine = entries.filter(|entry| entry.manager.as_deref() == Some(manager));
    mine.find(|entry| entry.operation.as_deref() == Some("Apply") && entry.subresource.is_none()).cloned()
}

#[tokio::test]
async fn typed_objects_are_created_and_then_only_changed_where_they_differ() {
    let place = Place::new("apply").await;
    place.define::<Gadget>().await;
    let mut gadget = Gadget::of("a", 1);
    gadget.spec.parts = vec![Part { name: "p".into(), count: 1 }];
    let mut more = gadget.clone();
    more.spec.replicas = 2;
    twice(&place.api(), &gadget, &more).await;
    twice(&place.api(), &config_map("a", "k", "v"), &config_map("a", "k", "w")).await;
    let containers = |image: &str| json!([{ "name": "web", "image": image }]);
    twice(&place.api(), &deployment("a", &containers("web:1")), &deployment("a", &containers("web:2"))).await;
}

async fn twice<K>(api: &Api<K>, object: &K, changed: &K)
where
    K: Resource + serde::Serialize + serde::de::DeserializeOwned,
{
    let params = PatchParams::apply("e2e-apply");
    let created = api.apply("a", object, &params).await.unwrap();
    let entry = managed(&created, "e2e-apply").unwrap();
    assert_eq!(entry.api_version.as_deref(), Some(&*api.resource().api_version()));

    // The controllers of a deployment write too, to its status and annotations.
    let generation = |object: &K| object.generation().unwrap_or_default();
    let same = api.apply("a", object, &params).await.unwrap();
    assert_eq!(same.uid(), created.uid());
    assert_eq!(generation(&same), generation(&created));
    assert_eq!(managed(&same, "e2e-apply").unwrap(), entry, "not even the time of the entry changed");

    let new = api.apply("a", changed, &params).await.unwrap();
    assert_ne!(new.resource_version(), created.resource_version());
    assert_eq!(new.uid(), created.uid());
}

#[tokio::test]
async fn what_differs_in_nothing_keeps_its_resource_version() {
    let place = Place::new("apply").await;
    place.define::<Gadget>().await;
    let (maps, gadgets) = (place.api::<ConfigMap>(), place.api::<Gadget>());
    let params = PatchParams::apply("e2e-apply");
    let map = maps.apply("a", &config_map("a", "k", "v"), &params).await.unwrap();
    let gadget = gadgets.apply("a", &Gadget::of("a", 1), &params).await.unwrap();
    for _ in 0..2 {
        assert_eq!(maps.apply("a", &config_map("a", "k", "v"), &params).await.unwrap(), map);
        assert_eq!(gadgets.apply("a", &Gadget::of("a", 1), &params).await.unwrap(), gadget);
        // What was read can be applied as it is: its managed fields are left out.
        let read = maps.get("a").await.unwrap();
        assert!(read.metadata.managed_fields.is_some());
        let again = ConfigMap { metadata: named("a"), ..read };
        assert_eq!(maps.apply("a", &again, &params).await.unwrap(), map);
    }
}

#[tokio::test]
async fn two_managers_conflict_until_one_takes_over() {
    let place = Place::new("apply").await;
    place.define::<Gadget>().await;
    let (one, two) = (PatchParams::apply("e2e-one"), PatchParams::apply("e2e-two"));
    let gadgets = place.api::<Gadget>();
    let mut red = Gadget::of("a", 1);
    red.spec.colour = Some(Colour::Red);
    let mut green = Gadget::of("a", 2);
    green.spec.colour = Some(Colour::Green);
    let before = gadgets.apply("a", &red, &one).await.unwrap();

    let error = gadgets.apply("a", &green, &two).await.unwrap_err();
    assert!(error.is_conflict() && !error.is_already_exists(), "{error}");
    reads(&error.to_string(), &["PATCH", "gadgets/a", "409", "e2e-one", ".spec.colour", ".spec.replicas"]);
    let status = &error.api().unwrap().status;
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let mut fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    fields.sort_unstable();
    assert_eq!(fields, [".spec.colour", ".spec.replicas"]);
    for cause in causes {
        assert_eq!(cause.reason, "FieldManagerConflict");
        reads(&cause.message, &["e2e-one"]);
    }
    assert_eq!(gadgets.get("a").await.unwrap(), before, "a conflict changes nothing");

    let taken = gadgets.apply("a", &green, &two.force()).await.unwrap();
    assert_eq!((taken.spec.replicas, taken.spec.colour), (2, Some(Colour::Green)));
    assert!(managed(&taken, "e2e-two").is_some());
    assert!(managed(&taken, "e2e-one").is_none(), "nothing is left to the first");
    let error = gadgets.apply("a", &red, &one).await.unwrap_err();
    reads(&error.to_string(), &["e2e-two"]);
}

#[tokio::test]
async fn managers_of_different_fields_share_an_object_and_give_up_what_they_leave_out() {
    let place = Place::new("apply").await;
    place.define::<Gadget>().await;
    let resource = ApiResource::of::<Gadget>();
    let gadgets: Api<DynamicObject> =
        Api::dynamic(place.client.clone(), resource.clone(), Some(&place.namespace));
    let apply = async |manager: &str, spec: serde_json::Value| {
        let mut object = DynamicObject::new("a", &resource);
        object.data["spec"] = spec;
        gadgets.apply("a", &object, &PatchParams::apply(manager)).await.unwrap().data["spec"].clone()
    };
    let part = |name: &str, count: i32| json!({ "name": name, "count": count });
    apply("e2e-one", json!({ "replicas": 1, "parts": [part("x", 1)] })).await;
    // The items of a map list have managers of their own.
    assert_eq!(
        apply("e2e-two", json!({ "colour": "red", "parts": [part("y", 2)] })).await,
        json!({ "replicas": 1, "colour": "red", "parts": [part("x", 1), part("y", 2)] })
    );
    assert_eq!(
        apply("e2e-one", json!({ "replicas": 1 })).await,
        json!({ "replicas": 1, "colour": "red", "parts": [part("y", 2)] })
    );
    assert_eq!(apply("e2e-two", json!({})).await["colour"], json!(null));
}

#[tokio::test]
async fn a_built_in_list_with_keys_is_shared_too() {
    let place = Place::new("apply").await;
    let deployments = place.api::<Deployment>();
    let containers = json!([{ "name": "web", "image": "web:1" }]);
    deployments.apply("a", &deployment("a", &containers), &PatchParams::apply("e2e-one")).await.unwrap();
    let sidecar = Patch::Apply(json!({
        "spec": { "template": { "spec": { "containers": [{ "name": "log", "image": "log:1" }] } } },
    }));
    let both = deployments.patch("a", &sidecar, &PatchParams::apply("e2e-two")).await.unwrap();
    let names: Vec<String> = images(&both).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["web", "log"]);
}

#[tokio::test]
async fn a_plain_write_has_the_manager_it_names() {
    let place = Place::new("apply").await;
    let maps = place.api::<ConfigMap>();
    let map = maps.create(&config_map("a", "k", "v"), &WriteParams::manager("e2e-writer")).await.unwrap();
    let entries = map.metadata.managed_fields.unwrap_or_default();
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((entry.manager.as_deref(), entry.operation.as_deref()), (Some("e2e-writer"), Some("Update")));

    let error =
        maps.apply("a", &config_map("a", "k", "w"), &PatchParams::apply("e2e-one")).await.unwrap_err();
    reads(&error.to_string(), &["409", "e2e-writer", ".data.k"]);
    // Without a name, the server takes one from the user agent.
    let map = maps.create(&config_map("b", "k", "v"), &WriteParams::default()).await.unwrap();
    let manager = map.metadata.managed_fields.unwrap_or_default()[0].manager.clone().unwrap_or_default();
    assert!(!manager.is_empty());
    let listed = maps.list(&ListParams::default().fields("metadata.name=b")).await.unwrap();
    assert_eq!(listed.items.len(), 1);
}
