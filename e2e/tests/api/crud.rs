//! Every verb on every sort of kind: built in and custom, in a namespace and without, typed, dynamic and metadata only.

use std::fmt::Debug;

use k8s_openapi::api::{core::v1::ConfigMap, rbac::v1::ClusterRole};
use kube_client::{Api, Deleted};
use kube_core::{
    ApiResource, DeleteParams, DynamicObject, ListParams, OwnerReference, Patch, PatchParams, Resource,
    ResourceExt, WriteParams,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    common::{Place, config_map, labels, named},
    kinds::{Gadget, Realm},
};

/// The objects of one kind, and how one is made.
struct Life<'a, K: Resource> {
    api: Api<K>,
    make: &'a dyn Fn(&str) -> K,
    /// What all of its objects are labelled with, and nobody else's.
    label: String,
    names: [String; 2],
}

impl<K: Resource + Serialize + DeserializeOwned + Clone + Debug> Life<'_, K> {
    fn make(&self, name: &str) -> K {
        let mut object = (self.make)(name);
        object.meta_mut().labels = Some([("life".to_owned(), self.label.clone())].into());
        object
    }

    fn mine(&self) -> ListParams {
        ListParams::default().labels(format!("life={}", self.label))
    }

    async fn names(&self) -> Vec<String> {
        self.api
            .list(&self.mine())
            .await
            .unwrap()
            .into_iter()
            .map(|object| object.name().to_owned())
            .collect()
    }

    async fn whole(&self) {
        self.begin().await;
        self.change().await;
        self.end().await;
    }

    /// Create, get, list.
    async fn begin(&self) {
        let [first, second] = &self.names;
        assert!(self.api.get(first).await.unwrap_err().is_not_found());
        assert!(self.api.get_opt(first).await.unwrap().is_none());
        let created = self.api.create(&self.make(first), &WriteParams::default()).await.unwrap();
        assert_eq!((created.name(), created.namespace()), (first.as_str(), self.api.namespace()));
        assert!(created.uid().is_some() && created.resource_version().is_some());

        let error = self.api.create(&self.make(first), &WriteParams::default()).await.unwrap_err();
        assert!(error.is_already_exists() && !error.is_conflict(), "{error}");
        assert!(error.to_string().contains(&format!("{first:?} already exists")), "{error}");

        assert_eq!(self.api.get(first).await.unwrap().uid(), created.uid());
        self.api.create(&self.make(second), &WriteParams::default()).await.unwrap();
        assert_eq!(self.names().await, [first.as_str(), second]);
    }

    /// Replace, patch, apply.
    async fn change(&self) {
        let name = &self.names[0];
        let old = self.api.get(name).await.unwrap();
        let mut changed = old.clone();
        changed.meta_mut().annotations = Some([("step".to_owned(), "replaced".to_owned())].into());
        let new = self.api.replace(name, &changed, &WriteParams::default()).await.unwrap();
        assert_eq!(new.annotations()["step"], "replaced");
        assert_ne!(new.resource_version(), old.resource_version());

        let stale = self.api.replace(name, &old, &WriteParams::default()).await.unwrap_err();
        assert!(stale.is_conflict() && !stale.is_already_exists(), "{stale}");
        assert_eq!(self.api.get(name).await.unwrap().resource_version(), new.resource_version());

        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "step": "patched" } } }));
        let patched = self.api.patch(name, &patch, &PatchParams::default()).await.unwrap();
        assert_eq!(patched.annotations()["step"], "patched");
        assert_eq!(patched.uid(), old.uid());

        let mut wanted = self.make(name);
        wanted.meta_mut().annotations = Some([("applied".to_owned(), "yes".to_owned())].into());
        let params = PatchParams::apply("e2e-life").force();
        let applied = self.api.apply(name, &wanted, &params).await.unwrap();
        assert_eq!(applied.annotations()["applied"], "yes");
        assert_eq!(applied.annotations()["step"], "patched", "fields of others stay");
    }

    /// Delete, delete collection.
    async fn end(&self) {
        let [first, second] = &self.names;
        self.api.delete(first, &DeleteParams::default()).await.unwrap();
        assert!(self.api.get_opt(first).await.unwrap().is_none());
        assert!(self.api.delete(first, &DeleteParams::default()).await.unwrap_err().is_not_found());
        assert_eq!(self.names().await, [second.as_str()], "the other one stays");

        self.api.create(&self.make(first), &WriteParams::default()).await.unwrap();
        let deleted = self.api.delete_collection(&DeleteParams::default(), &self.mine()).await.unwrap();
        if let Deleted::Object(deleted) = deleted {
            let names: Vec<&str> = deleted.items.iter().map(ResourceExt::name).collect();
            assert_eq!(names, [first.as_str(), second]);
        }
        assert_eq!(self.names().await, [] as [String; 0]);
    }
}

/// A life in the test's namespace.
async fn live<K>(place: &Place, api: Api<K>, make: &dyn Fn(&str) -> K)
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let names = ["a", "b"].map(|name| place.unique(name));
    Life { api, make, label: place.unique("life"), names }.whole().await;
}

fn owned<K: Resource>(mut object: K, owner: &OwnerReference) -> K {
    object.meta_mut().owner_references = Some(vec![owner.clone()]);
    object
}

#[tokio::test]
async fn a_built_in_kind_in_a_namespace() {
    let place = Place::new("crud").await;
    live(&place, place.api(), &|name| config_map(name, "a", "1")).await;
}

#[tokio::test]
async fn a_built_in_kind_of_the_cluster() {
    let place = Place::new("crud").await;
    let owner = place.owner().await;
    let role = |name: &str| owned(ClusterRole { metadata: named(name), ..ClusterRole::default() }, &owner);
    live(&place, Api::cluster(place.client.clone()), &role).await;
}

#[tokio::test]
async fn a_custom_kind_in_a_namespace() {
    let place = Place::new("crud").await;
    place.define::<Gadget>().await;
    live(&place, place.api(), &|name| Gadget::of(name, 1)).await;
}

#[tokio::test]
async fn a_custom_kind_of_the_cluster() {
    let place = Place::new("crud").await;
    place.define::<Realm>().await;
    let owner = place.owner().await;
    let realm = |name: &str| owned(Realm::of(name, "onward"), &owner);
    live(&place, Api::cluster(place.client.clone()), &realm).await;
}

/// An object known at run time only.
fn dynamic(resource: &ApiResource, name: &str, spec: &serde_json::Value) -> DynamicObject {
    let mut object = DynamicObject::new(name, resource);
    object.data["spec"] = spec.clone();
    object
}

#[tokio::test]
async fn kinds_known_at_run_time_only() {
    let place = Place::new("crud").await;
    place.define::<Gadget>().await;
    place.define::<Realm>().await;
    let owner = place.owner().await;

    let gadget = ApiResource::of::<Gadget>();
    let api = Api::dynamic(place.client.clone(), gadget.clone(), Some(&place.namespace));
    live(&place, api, &|name| dynamic(&gadget, name, &json!({ "replicas": 1 }))).await;

    let realm = ApiResource::of::<Realm>();
    let api = Api::dynamic(place.client.clone(), realm.clone(), None);
    live(&place, api, &|name| owned(dynamic(&realm, name, &json!({ "motto": "onward" })), &owner)).await;
}

#[tokio::test]
async fn typed_and_dynamic_see_the_same_object() {
    let place = Place::new("crud").await;
    place.define::<Gadget>().await;
    let resource = ApiResource::of::<Gadget>();
    let dynamic = Api::dynamic(place.client.clone(), resource, Some(&place.namespace));
    let typed: Api<Gadget> = place.api();
    let created = typed.create(&Gadget::of("a", 2), &WriteParams::default()).await.unwrap();
    let mut seen = dynamic.get("a").await.unwrap();
    assert_eq!(
        (seen.types.api_version.as_str(), seen.types.kind.as_str()),
        ("api.e2e.example.dev/v1", "Gadget")
    );
    assert_eq!((seen.uid(), &seen.data), (created.uid(), &json!({ "spec": { "replicas": 2 } })));

    seen.data["spec"]["replicas"] = json!(3);
    dynamic.replace("a", &seen, &WriteParams::default()).await.unwrap();
    assert_eq!(typed.get("a").await.unwrap().spec.replicas, 3);
    // An item of a list comes without its type, and can be sent back all the same.
    let mut item = dynamic.list(&ListParams::default()).await.unwrap().items.remove(0);
    item.data["spec"]["replicas"] = json!(4);
    dynamic.replace("a", &item, &WriteParams::default()).await.unwrap();
    assert_eq!(typed.get("a").await.unwrap().spec.replicas, 4);
}

#[tokio::test]
async fn metadata_only_brings_no_more_and_changes_no_more() {
    let place = Place::new("crud").await;
    place.define::<Gadget>().await;
    place.api().create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    place.api().create(&Gadget::of("a", 2), &WriteParams::default()).await.unwrap();
    let resource = ApiResource::of::<Gadget>();

    metadata_only(place.api::<ConfigMap>()).await;
    metadata_only(place.api::<Gadget>()).await;
    metadata_only(Api::dynamic(place.client.clone(), resource, Some(&place.namespace))).await;

    let kept = place.api::<ConfigMap>().get("a").await.unwrap();
    assert_eq!(kept.data.unwrap()["k"], "v");
    let kept = place.api::<Gadget>().get("a").await.unwrap();
    assert_eq!((kept.spec.replicas, kept.labels()["by"].as_str()), (2, "patch"));
}

async fn metadata_only<K: Resource + DeserializeOwned + Debug>(api: Api<K>) {
    let api = api.metadata_only();
    let got = api.get("a").await.unwrap();
    assert_eq!((got.name(), got.types.kind.as_str()), ("a", "PartialObjectMetadata"));
    let listed = api.list(&ListParams::default().fields("metadata.name=a")).await.unwrap();
    assert_eq!(listed.types.kind, "PartialObjectMetadataList");
    assert_eq!(listed.items[0].uid(), got.uid());
    let patch = Patch::Merge(labels(&json!({ "by": "patch" })));
    let patched = api.patch("a", &patch, &PatchParams::default()).await.unwrap();
    assert_eq!(patched.labels()["by"], "patch");
}
