//! How writes and deletions are meant: names that the server makes, dry runs, unknown fields, preconditions, what is owned.

use k8s_openapi::api::{core::v1::ConfigMap, rbac::v1::ClusterRole};
use kube_client::{Api, Deleted};
use kube_core::{
    ApiResource, DeleteParams, DynamicObject, FieldValidation, ListParams, ObjectMeta, Patch, PatchParams,
    Preconditions, ResourceExt, WriteParams,
};
use serde_json::json;

use crate::{
    common::{Place, Wire, config_map, labels, named, reads},
    kinds::Gadget,
};

#[tokio::test]
async fn the_server_makes_a_name_from_a_prefix() {
    let place = Place::new("write").await;
    let maps = place.api::<ConfigMap>();
    let map = ConfigMap {
        metadata: ObjectMeta { generate_name: Some("page-".into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let one = maps.create(&map, &WriteParams::default()).await.unwrap();
    let two = maps.create(&map, &WriteParams::default()).await.unwrap();
    for made in [&one, &two] {
        assert!(made.name().len() > "page-".len() && made.name().starts_with("page-"), "{}", made.name());
        maps.get(made.name()).await.unwrap();
    }
    assert_ne!(one.name(), two.name());
}

#[tokio::test]
async fn a_dry_run_answers_and_leaves_nothing() {
    let place = Place::new("write").await;
    let maps = place.api::<ConfigMap>();
    let dry = WriteParams::default().dry_run();
    let created = maps.create(&config_map("a", "k", "v"), &dry).await.unwrap();
    assert!(created.uid().is_some(), "the server went through all of it");
    assert!(maps.get_opt("a").await.unwrap().is_none());

    let stored = maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    let mut changed = stored.clone();
    changed.data = config_map("a", "k", "other").data;
    let replaced = maps.replace("a", &changed, &dry).await.unwrap();
    assert_eq!(replaced.data.unwrap()["k"], "other");
    let patch = Patch::Merge(labels(&json!({ "x": "y" })));
    let patched = maps.patch("a", &patch, &PatchParams { write: dry, force: false }).await.unwrap();
    assert_eq!(patched.labels()["x"], "y");
    let applied = maps.apply("b", &config_map("b", "k", "v"), &PatchParams::apply("e2e").dry_run()).await;
    assert_eq!(applied.unwrap().name(), "b");
    let delete = DeleteParams { dry_run: true, ..DeleteParams::default() };
    maps.delete("a", &delete).await.unwrap();
    let only = ListParams::default().fields("metadata.name=a");
    maps.delete_collection(&delete, &only).await.unwrap();

    assert_eq!(maps.get("a").await.unwrap(), stored);
    assert!(maps.get_opt("b").await.unwrap().is_none());
}

/// An object with a field that its kind does not have.
fn misspelt(resource: &ApiResource, name: &str, field: &str, value: &serde_json::Value) -> DynamicObject {
    let mut object = DynamicObject::new(name, resource);
    object.data[field] = value.clone();
    object
}

#[tokio::test]
async fn unknown_fields_are_refused_warned_of_or_ignored_as_asked() {
    let place = Place::new("write").await;
    place.define::<Gadget>().await;
    let (client, wire) = Wire::tap(place.client.clone());
    let (map, gadget) = (ApiResource::of::<ConfigMap>(), ApiResource::of::<Gadget>());
    let rows = [
        (&map, misspelt(&map, "a", "dato", &json!({ "k": "v" })), "unknown field \"dato\""),
        (
            &gadget,
            misspelt(&gadget, "a", "spec", &json!({ "replicas": 1, "color": "red" })),
            "unknown field \"spec.color\"",
        ),
    ];
    for (resource, object, shown) in rows {
        let api = Api::dynamic(client.clone(), resource.clone(), Some(&place.namespace));
        let with = |validation| WriteParams { field_validation: Some(validation), ..WriteParams::default() };
        let error = api.create(&object, &with(FieldValidation::Strict)).await.unwrap_err();
        assert_eq!(error.code(), Some(400), "{error}");
        reads(&error.to_string(), &["POST", &resource.plural, "strict decoding error", shown]);
        assert!(api.get_opt("a").await.unwrap().is_none(), "nothing was stored");

        for (validation, warned) in [(FieldValidation::Warn, true), (FieldValidation::Ignore, false)] {
            api.create(&object, &with(validation).dry_run()).await.unwrap();
            let warnings = wire.exchanges().pop().unwrap().warnings();
            assert_eq!(
                warnings.iter().any(|text| text.contains(&shown.replace('"', "\\\""))),
                warned,
                "{warnings:?}"
            );
        }
        let stored = api.create(&object, &with(FieldValidation::Ignore)).await.unwrap();
        assert!(stored.data.pointer("/dato").or(stored.data.pointer("/spec/color")).is_none());
    }
}

#[tokio::test]
async fn a_deletion_answers_a_status_or_the_object_that_is_going() {
    let place = Place::new("write").await;
    place.define::<Gadget>().await;
    let maps = place.api::<ConfigMap>();
    let gadgets = place.api::<Gadget>();
    maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    gadgets.create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    for deleted in [
        maps.delete("a", &DeleteParams::default()).await.map(|deleted| status_of(&deleted)),
        gadgets.delete("a", &DeleteParams::default()).await.map(|deleted| status_of(&deleted)),
    ] {
        assert_eq!(deleted.unwrap(), Some(("Success".to_owned(), "a".to_owned())));
    }

    let mut held = Gadget::of("b", 1);
    held.metadata.finalizers = Some(vec!["e2e.example.dev/hold".into()]);
    gadgets.create(&held, &WriteParams::default()).await.unwrap();
    let going = gadgets.delete("b", &DeleteParams::default()).await.unwrap().object().unwrap();
    assert!(going.is_deleting() && going.finalizers() == ["e2e.example.dev/hold"]);
    assert!(gadgets.get("b").await.unwrap().is_deleting(), "it stays until its finalizers are gone");
    let patch = Patch::Json(json!([{ "op": "remove", "path": "/metadata/finalizers" }]));
    gadgets.patch("b", &patch, &PatchParams::default()).await.unwrap();
    assert!(gadgets.get_opt("b").await.unwrap().is_none());
}

fn status_of<K>(deleted: &Deleted<K>) -> Option<(String, String)> {
    match deleted {
        Deleted::Object(_) => None,
        Deleted::Status(status) => {
            let name = status.details.as_ref().map(|details| details.name.clone()).unwrap_or_default();
            Some((status.status.clone(), name))
        }
    }
}

#[tokio::test]
async fn a_precondition_keeps_another_object_from_being_deleted() {
    let place = Place::new("write").await;
    let maps = place.api::<ConfigMap>();
    let old = maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let new = maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    let given = |uid: Option<&str>, version: Option<&str>| DeleteParams {
        preconditions: Some(Preconditions {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        }),
        ..DeleteParams::default()
    };
    for (params, shown) in [
        (given(old.uid(), None), "the UID in the precondition"),
        (given(new.uid(), old.resource_version()), "the ResourceVersion in the precondition"),
    ] {
        let error = maps.delete("a", &params).await.unwrap_err();
        assert!(error.is_conflict(), "{error}");
        reads(&error.to_string(), &["configmaps", "\"a\"", shown]);
    }
    maps.delete("a", &given(new.uid(), new.resource_version())).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_owned_goes_afterwards_first_or_not_at_all() {
    let place = Place::new("write").await;
    let maps = place.api::<ConfigMap>();
    for name in ["background", "foreground", "orphan"] {
        let owner = maps.create(&config_map(name, "k", "v"), &WriteParams::default()).await.unwrap();
        let mut child = config_map(&format!("{name}-child"), "k", "v");
        child.metadata.owner_references = owner.controller_owner_ref(&()).map(|reference| vec![reference]);
        maps.create(&child, &WriteParams::default()).await.unwrap();
    }
    let background = maps.delete("background", &DeleteParams::background()).await.unwrap();
    assert!(background.object().is_none(), "the owner goes at once");
    for (name, params, finalizer) in [
        ("foreground", DeleteParams::foreground(), "foregroundDeletion"),
        ("orphan", DeleteParams::orphan(), "orphan"),
    ] {
        let going = maps.delete(name, &params).await.unwrap().object().unwrap();
        assert!(going.is_deleting() && going.finalizers() == [finalizer], "{:?}", going.metadata);
    }
    place
        .cluster
        .eventually("the owners and two of their children to be gone", async || {
            let left = maps.list(&ListParams::default().fields("metadata.name!=kube-root-ca.crt")).await;
            let left = left.map_err(|error| error.to_string())?;
            let names: Vec<_> = left.items.iter().map(|map| map.name().to_owned()).collect();
            if names == ["orphan-child"] { Ok(()) } else { Err(names.join(" ")) }
        })
        .await;
    let orphan = maps.get("orphan-child").await.unwrap();
    assert!(orphan.owner_references().is_empty() && !orphan.is_deleting());
}

#[tokio::test]
async fn a_collection_is_deleted_as_far_as_it_is_selected() {
    let place = Place::new("write").await;
    let maps = place.api::<ConfigMap>();
    for (name, value) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut map = config_map(name, "k", "v");
        map.metadata.labels = Some([("l".to_owned(), value.to_owned())].into());
        maps.create(&map, &WriteParams::default()).await.unwrap();
    }
    let selected = ListParams::default().labels("l=x");
    maps.delete_collection(&DeleteParams::default(), &selected).await.unwrap();
    let left = maps.list(&ListParams::default().labels("l")).await.unwrap();
    assert_eq!(left.items.iter().map(ResourceExt::name).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn a_name_is_one_segment_of_the_path_whatever_is_in_it() {
    let place = Place::new("write").await;
    let roles: Api<ClusterRole> = Api::cluster(place.client.clone());
    let owner = place.owner().await;
    for name in ["system:x:y", "with space", "a?b#c", "a&b=c+d", "ünï"] {
        let name = place.unique(name);
        let mut role = ClusterRole { metadata: named(&name), ..ClusterRole::default() };
        role.metadata.owner_references = Some(vec![owner.clone()]);
        roles.create(&role, &WriteParams::default()).await.unwrap();
        assert_eq!(roles.get(&name).await.unwrap().name(), name);
        let patch = Patch::Merge(labels(&json!({ "x": "y" })));
        roles.patch(&name, &patch, &PatchParams::default()).await.unwrap();
        assert_eq!(roles.get(&name).await.unwrap().labels()["x"], "y");
        roles.delete(&name, &DeleteParams::default()).await.unwrap();
        assert!(roles.get_opt(&name).await.unwrap().is_none());
    }
    // Nothing is sent for what would be another path.
    for name in ["", ".", ".."] {
        let error = roles.delete(name, &DeleteParams::default()).await.unwrap_err();
        assert!(matches!(error, kube_client::Error::Request(_)), "{error:?}");
    }
}

#[tokio::test]
async fn what_belongs_to_the_namespace_goes_with_it() {
    let place = Place::new("write").await;
    let roles: Api<ClusterRole> = Api::cluster(place.client.clone());
    let name = place.unique("owned");
    let mut role = ClusterRole { metadata: named(&name), ..ClusterRole::default() };
    role.metadata.owner_references = Some(vec![place.owner().await]);
    roles.create(&role, &WriteParams::default()).await.unwrap();
    place.namespace.delete().await.unwrap();
    place
        .cluster
        .eventually("the role to be gone", async || match roles.get_opt(&name).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err("still there".into()),
            Err(error) => Err(error.to_string()),
        })
        .await;
}
