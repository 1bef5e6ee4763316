//! Status and scale: each changes its own part and leaves the rest.

use k8s_openapi::api::{
    apps::v1::Deployment,
    authentication::v1::TokenRequest,
    autoscaling::v1::{Scale, ScaleSpec},
    core::v1::ServiceAccount,
};
use kube_client::Api;
use kube_core::{ListParams, Patch, PatchParams, ResourceExt as _, WriteParams};
use serde_json::json;

use crate::{
    common::{Place, named, reads, typed},
    kinds::{Gadget, GadgetStatus, Realm},
    patch::deployment,
};

#[tokio::test]
async fn the_status_is_written_apart_from_the_rest() {
    let place = Place::new("sub").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    let mut gadget = Gadget::of("a", 1);
    gadget.status = Some(GadgetStatus { replicas: 9, selector: None });
    let created = gadgets.create(&gadget, &WriteParams::default()).await.unwrap();
    assert_eq!(
        (created.status.clone(), created.generation()),
        (None, Some(1)),
        "create leaves the status out"
    );

    let mut both = created.clone();
    both.spec.replicas = 7;
    both.status = Some(GadgetStatus { replicas: 1, selector: Some("a=b".into()) });
    let replaced = gadgets.replace_status("a", &both, &WriteParams::default()).await.unwrap();
    assert_eq!((replaced.spec.replicas, replaced.generation()), (1, Some(1)), "only the status is written");
    assert_eq!(replaced.status, both.status);
    assert!(gadgets.replace_status("a", &both, &WriteParams::default()).await.unwrap_err().is_conflict());

    let patch = Patch::Merge(json!({ "spec": { "replicas": 7 }, "status": { "replicas": 2 } }));
    let patched = gadgets.patch_status("a", &patch, &PatchParams::default()).await.unwrap();
    assert_eq!(patched.spec.replicas, 1);
    assert_eq!(patched.status, Some(GadgetStatus { replicas: 2, selector: Some("a=b".into()) }));

    let mut replace = patched.clone();
    replace.spec.replicas = 3;
    replace.status = None;
    let replaced = gadgets.replace("a", &replace, &WriteParams::default()).await.unwrap();
    assert_eq!((replaced.spec.replicas, replaced.generation()), (3, Some(2)));
    assert_eq!(replaced.status, patched.status, "the rest leaves the status");
    assert_eq!(gadgets.get_status("a").await.unwrap(), replaced);
}

#[tokio::test]
async fn the_status_is_applied_in_the_name_of_a_manager() {
    let place = Place::new("sub").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    gadgets.create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();
    let patch = Patch::Apply(json!({ "status": { "replicas": 1 } }));
    let params = PatchParams::apply("e2e-status");
    let applied = gadgets.patch_status("a", &patch, &params).await.unwrap();
    assert_eq!(applied.status.as_ref().map(|status| status.replicas), Some(1));
    let entries = applied.metadata.managed_fields.clone().unwrap_or_default();
    let mine = entries.iter().find(|entry| entry.manager.as_deref() == Some("e2e-status")).unwrap();
    assert_eq!((mine.operation.as_deref(), mine.subresource.as_deref()), (Some("Apply"), Some("status")));
    assert_eq!(gadgets.patch_status("a", &patch, &params).await.unwrap(), applied);
    let other = gadgets
        .patch_status(
            "a",
            &Patch::Apply(json!({ "status": { "replicas": 2 } })),
            &PatchParams::apply("e2e-other"),
        )
        .await;
    reads(&other.unwrap_err().to_string(), &["gadgets/a/status", "409", "e2e-status", ".status.replicas"]);
}

#[tokio::test]
async fn the_scale_of_a_built_in_and_of_a_custom_kind() {
    let place = Place::new("sub").await;
    place.define::<Gadget>().await;
    let containers = json!([{ "name": "web", "image": "web:1" }]);
    place.api().create(&deployment("a", &containers), &WriteParams::default()).await.unwrap();
    let gadgets = place.api::<Gadget>();
    gadgets.create(&Gadget::of("a", 0), &WriteParams::default()).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "replicas": 4, "selector": "app=a" } }));
    gadgets.patch_status("a", &status, &PatchParams::default()).await.unwrap();

    scaled(&place.api::<Deployment>()).await;
    scaled(&gadgets).await;
    assert_eq!(gadgets.get("a").await.unwrap().spec.replicas, 3);
    let scale = gadgets.get_scale("a").await.unwrap().status.unwrap_or_default();
    assert_eq!((scale.replicas, scale.selector.as_deref()), (4, Some("app=a")));

    let too_many = Patch::Merge(json!({ "spec": { "replicas": 11 } }));
    let error = gadgets.patch_scale("a", &too_many, &PatchParams::default()).await.unwrap_err();
    assert!(error.is_invalid(), "{error}");
    reads(&error.to_string(), &["spec.replicas", "less than or equal to 10"]);
}

async fn scaled<K: kube_core::Resource>(api: &Api<K>) {
    let wanted = |scale: &Scale| scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
    let scale = api.get_scale("a").await.unwrap();
    assert_eq!((wanted(&scale), scale.metadata.name.as_deref()), (0, Some("a")));
    let patch = Patch::Merge(json!({ "spec": { "replicas": 2 } }));
    let patched = api.patch_scale("a", &patch, &PatchParams::default()).await.unwrap();
    assert_eq!(wanted(&patched), 2);
    let changed = Scale { spec: Some(ScaleSpec { replicas: Some(3) }), ..patched.clone() };
    // The controllers write to the object too; without its version the scale is replaced in any case.
    let changed = Scale { metadata: named("a"), ..changed };
    let replaced = api.replace_scale("a", &changed, &WriteParams::default()).await.unwrap();
    assert_eq!(wanted(&replaced), 3);
    let refused = api.replace_scale("a", &patched, &WriteParams::default()).await.unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
}

#[tokio::test]
async fn a_subresource_that_a_kind_does_not_have_is_not_found() {
    let place = Place::new("sub").await;
    place.define::<Realm>().await;
    let realms: Api<Realm> = Api::cluster(place.client.clone());
    let name = place.unique("realm");
    let mut realm = Realm::of(&name, "onward");
    realm.metadata.owner_references = Some(vec![place.owner().await]);
    realms.create(&realm, &WriteParams::default()).await.unwrap();
    assert!(realms.get_scale(&name).await.unwrap_err().is_not_found());
    assert!(realms.get_status(&name).await.unwrap_err().is_not_found());
    assert_eq!(realms.get(&name).await.unwrap().spec.motto, "onward");
}

#[tokio::test]
async fn other_subresources_are_posted_to_by_name() {
    let place = Place::new("sub").await;
    let accounts = place.api::<ServiceAccount>();
    let account = ServiceAccount { metadata: named("robot"), ..ServiceAccount::default() };
    accounts.create(&account, &WriteParams::default()).await.unwrap();
    let request: TokenRequest = typed(json!({ "spec": { "audiences": [], "expirationSeconds": 600 } }));
    let answer: TokenRequest =
        accounts.create_subresource("token", "robot", &request, &WriteParams::default()).await.unwrap();
    assert!(answer.status.and_then(|status| status.token).is_some_and(|token| token.split('.').count() == 3));
    assert_eq!(
        accounts.list(&ListParams::default().fields("metadata.name=robot")).await.unwrap().items.len(),
        1
    );
}
