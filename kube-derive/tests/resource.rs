//! The resource as a Rust type and as JSON.

use kube_core::{
    ApiResource, ClusterScope, CustomResource as _, NamespaceScope, ObjectList, ObjectMeta, Resource,
    ResourceExt as _,
};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A website.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "example.dev", version = "v1", kind = "Website", namespaced, status = WebsiteStatus, derive = "PartialEq")]
struct WebsiteSpec {
    replicas: i32,
    html: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
struct WebsiteStatus {
    ready_replicas: i32,
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "example.dev", version = "v1alpha1", kind = "Region", derive(Default, PartialEq))]
#[derive(Default, PartialEq)]
struct RegionSpec {
    name: String,
}

/// Names that generated code could use for itself.
mod odd_names {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Wire", status = D)]
    pub(super) struct S {
        pub(super) length: i32,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    pub(super) struct D {
        pub(super) live: bool,
    }
}

#[test]
fn names_are_the_users_to_choose() {
    let wire: odd_names::Wire =
        serde_json::from_value(json!({ "spec": { "length": 3 }, "status": { "live": true } })).unwrap();
    assert_eq!((wire.spec.length, wire.status.unwrap().live), (3, true));
}

fn website() -> Website {
    Website::new("blog", WebsiteSpec { replicas: 2, html: None })
}

#[test]
fn a_new_object_has_its_name_and_spec() {
    let site = website();
    assert_eq!(site.name(), "blog");
    assert_eq!(site.status, None);
    assert_eq!(site.key().to_string(), "blog");
    assert_eq!(Region::default().spec.name, "");
}

#[test]
fn its_place_in_the_api_is_known_at_compile_time() {
    fn namespaced<K: Resource<Dynamic = (), Scope = NamespaceScope>>() -> ApiResource {
        ApiResource::of::<K>()
    }
    fn cluster<K: Resource<Dynamic = (), Scope = ClusterScope>>() -> ApiResource {
        ApiResource::of::<K>()
    }
    assert_eq!(namespaced::<Website>(), ApiResource::new("example.dev", "v1", "Website", "websites", true));
    assert_eq!(cluster::<Region>(), ApiResource::new("example.dev", "v1alpha1", "Region", "regions", false));
    assert_eq!((Website::CRD_NAME, Region::CRD_NAME), ("websites.example.dev", "regions.example.dev"));
}

#[test]
fn api_version_and_kind_are_always_written() {
    let mut site = website();
    let without = json!({
        "apiVersion": "example.dev/v1", "kind": "Website", "metadata": { "name": "blog" }, "spec": { "replicas": 2, "html": null },
    });
    assert_eq!(serde_json::to_value(&site).unwrap(), without);
    // Fields come in the order people expect, and only once.
    assert!(
        serde_json::to_string(&site)
            .unwrap()
            .starts_with(r#"{"apiVersion":"example.dev/v1","kind":"Website","metadata""#)
    );

    site.status = Some(WebsiteStatus { ready_replicas: 1 });
    let mut with = without;
    with["status"] = json!({ "readyReplicas": 1 });
    assert_eq!(serde_json::to_value(&site).unwrap(), with);
    assert_eq!(serde_json::from_value::<Website>(with).unwrap(), site);
}

#[test]
fn objects_are_read_with_gaps_and_with_more_than_is_known() {
    let rows = [
        json!({ "spec": { "replicas": 2 } }),
        json!({ "metadata": null, "spec": { "replicas": 2 }, "status": null }),
        json!({ "apiVersion": "example.dev/v1", "spec": { "replicas": 2, "later": 1 }, "extra": [] }),
    ];
    for row in rows {
        let site: Website = serde_json::from_value(row).unwrap();
        assert_eq!((site.spec.replicas, &site.metadata, &site.status), (2, &ObjectMeta::default(), &None));
    }
    let list = json!({ "kind": "WebsiteList", "metadata": {}, "items": [{ "metadata": { "name": "a" }, "spec": { "replicas": 1 } }] });
    let list: ObjectList<Website> = serde_json::from_value(list).unwrap();
    assert_eq!(list.items[0].name(), "a");
}

#[test]
fn another_kind_or_version_is_refused() {
    let read = |value: Value| serde_json::from_value::<Website>(value).unwrap_err().to_string();
    let rows = [
        (
            json!({ "kind": "Pod", "apiVersion": "v1", "spec": { "replicas": 1 } }),
            "this is a Pod, not a Website",
        ),
        (
            json!({ "kind": "Website", "apiVersion": "example.dev/v2", "spec": { "replicas": 1 } }),
            "this Website is of example.dev/v2, not of example.dev/v1",
        ),
        (json!({ "kind": "Website" }), "missing field `spec`"),
    ];
    for (value, message) in rows {
        assert_eq!(read(value), message);
    }
}

/// A status with a parameter, a renamed crate, and a spec that is no struct with named fields.
mod elsewhere {
    use super::*;

    pub(super) mod my {
        pub(crate) use kube_core as core;
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    pub(super) struct Progress<T> {
        phase: T,
    }

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Job", status = "Progress<String>")]
    #[kube(crates(kube_core = "self::my::core"))]
    pub(super) struct JobSpec {
        pub(super) steps: Vec<String>,
    }
}

#[test]
fn a_renamed_crate_and_a_status_with_parameters_will_do() {
    let job = elsewhere::Job::new("a", elsewhere::JobSpec { steps: vec![] });
    let text = serde_json::to_string(&job).unwrap();
    let read: elsewhere::Job = serde_json::from_str(&text).unwrap();
    assert_eq!(read.spec.steps, job.spec.steps);
    let definition = serde_json::to_value(elsewhere::Job::crd()).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["properties"]["status"]["properties"], json!({ "phase": { "type": "string" } }));
}
