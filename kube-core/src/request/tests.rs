use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, Pod},
};
use serde_json::{Value, json};

use super::*;
use crate::Preconditions;

fn pods() -> Endpoint {
    Endpoint::new(&ApiResource::of::<Pod>(), Some("d")).unwrap()
}

fn deployments() -> Endpoint {
    Endpoint::new(&ApiResource::of::<Deployment>(), Some("d")).unwrap()
}

fn everywhere() -> Endpoint {
    Endpoint::new(&ApiResource::of::<Pod>(), None).unwrap()
}

fn body(request: &Request<Vec<u8>>) -> Value {
    serde_json::from_slice(request.body()).unwrap()
}

#[test]
fn each_verb_has_its_method_and_target() {
    let namespaces = Endpoint::new(&ApiResource::of::<Namespace>(), None).unwrap();
    let (get, write, delete) = (GetParams::default(), WriteParams::default(), DeleteParams::default());
    let rows = [
        (pods().list(&ListParams::default()), "GET", "/api/v1/namespaces/d/pods"),
        (everywhere().list(&ListParams::default().limit(5)), "GET", "/api/v1/pods?limit=5"),
        (namespaces.get("a", &get), "GET", "/api/v1/namespaces/a"),
        (deployments().get("a", &get), "GET", "/apis/apps/v1/namespaces/d/deployments/a"),
        (deployments().create(vec![], &write), "POST", "/apis/apps/v1/namespaces/d/deployments"),
        (deployments().replace("a", vec![], &write), "PUT", "/apis/apps/v1/namespaces/d/deployments/a"),
        (
            deployments().subresource("scale").replace("a", vec![], &write),
            "PUT",
            "/apis/apps/v1/namespaces/d/deployments/a/scale",
        ),
        (
            pods().subresource("eviction").create_subresource("a", vec![], &write),
            "POST",
            "/api/v1/namespaces/d/pods/a/eviction",
        ),
        (pods().delete("a", &delete), "DELETE", "/api/v1/namespaces/d/pods/a"),
        (
            pods().delete_collection(&delete, &ListParams::default().labels("a in (b,c)")),
            "DELETE",
            "/api/v1/namespaces/d/pods?labelSelector=a+in+%28b%2Cc%29",
        ),
        (
            pods().delete_collection(
                &delete,
                &ListParams { resource_version: Some("0".into()), ..ListParams::default() },
            ),
            "DELETE",
            "/api/v1/namespaces/d/pods?resourceVersion=0",
        ),
        (
            pods().watch(&WatchParams::default(), "0009"),
            "GET",
            "/api/v1/namespaces/d/pods?watch=true&resourceVersion=0009&timeoutSeconds=290&allowWatchBookmarks=true",
        ),
        (
            pods().watch(
                &WatchParams { send_initial_events: true, bookmarks: false, ..WatchParams::default() },
                "",
            ),
            "GET",
            "/api/v1/namespaces/d/pods?watch=true&timeoutSeconds=290&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan",
        ),
    ];
    for (request, method, target) in rows {
        let request = request.unwrap();
        assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), (method, target));
    }
}

#[test]
fn list_parameters_are_spelt_as_the_server_reads_them() {
    let params = ListParams {
        label_selector: Some("app=web".into()),
        field_selector: Some("metadata.name!=x".into()),
        limit: Some(2),
        continue_token: Some("a/b+c=".into()),
        resource_version: Some("abc7".into()),
        resource_version_match: Some(ResourceVersionMatch::Exact),
        timeout_seconds: Some(9),
    };
    assert_eq!(
        pods().list(&params).unwrap().uri().query().unwrap(),
        "labelSelector=app%3Dweb&fieldSelector=metadata.name%21%3Dx&limit=2&continue=a%2Fb%2Bc%3D&resourceVersion=abc7\
         &resourceVersionMatch=Exact&timeoutSeconds=9"
    );
}

#[test]
fn a_name_is_one_path_segment() {
    for (name, path) in [
        ("system:node", "/api/v1/namespaces/d/pods/system%3Anode"),
        ("a?x=1#y", "/api/v1/namespaces/d/pods/a%3Fx%3D1%23y"),
        ("..a", "/api/v1/namespaces/d/pods/..a"),
        ("ü\r\n", "/api/v1/namespaces/d/pods/%C3%BC%0D%0A"),
    ] {
        assert_eq!(pods().get(name, &GetParams::default()).unwrap().uri(), path);
    }
}

#[test]
fn what_is_not_one_segment_is_refused_wherever_it_stands() {
    for part in [".", "..", "a/b", "../a", "/", "a%2Fb", "%2e%2e"] {
        let namespace = Endpoint::new(&ApiResource::of::<Pod>(), Some(part)).unwrap_err();
        assert!(matches!(namespace, RequestError::BadNamespace { .. }), "{part}: {namespace}");
        let kinds = [
            ApiResource::new(part, "v1", "A", "as", true),
            ApiResource::new("g", part, "A", "as", true),
            ApiResource::new("g", "v1", "A", part, true),
        ];
        for kind in kinds {
            let error = Endpoint::new(&kind, Some("d")).unwrap_err();
            assert!(matches!(error, RequestError::BadPart { .. }), "{kind}: {error}");
        }
        let error = pods().subresource(part).delete("a", &DeleteParams::default()).unwrap_err();
        assert!(matches!(error, RequestError::BadPart { part: "subresource", .. }), "{part}: {error}");
    }
    for (group, version, plural) in [("g", "", "as"), ("g", "v1", "")] {
        assert!(Endpoint::new(&ApiResource::new(group, version, "A", plural, true), None).is_err());
    }
    assert!(pods().subresource("").get("a", &GetParams::default()).is_err());
}

#[test]
fn a_name_that_is_not_one_segment_is_refused_by_every_verb() {
    let (get, write, patch) = (GetParams::default(), WriteParams::default(), PatchParams::default());
    for name in ["", ".", "..", "a/status", "../secrets", "a%2Fstatus"] {
        let results = [
            pods().get(name, &get),
            pods().replace(name, vec![], &write),
            pods().patch(name, &Patch::Merge(json!({})), &patch),
            pods().delete(name, &DeleteParams::default()),
            pods().subresource("status").get(name, &get),
            pods().subresource("status").patch(name, &Patch::Merge(json!({})), &patch),
            pods().subresource("eviction").create_subresource(name, vec![], &write),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert!(
                matches!(error, RequestError::EmptyName { .. } | RequestError::BadName { .. }),
                "{error}"
            );
        }
    }
}

#[test]
fn places_that_do_not_fit_are_refused() {
    let pod = ApiResource::of::<Pod>();
    let get = GetParams::default();
    let errors = [
        (Endpoint::new(&pod, Some("")).unwrap_err(), "cannot be the name of a namespace"),
        (Endpoint::new(&pod, Some("..")).unwrap_err(), "cannot be the name of a namespace"),
        (Endpoint::new(&ApiResource::of::<Namespace>(), Some("a")).unwrap_err(), "is cluster-scoped"),
        (everywhere().get("a", &get).unwrap_err(), "live in a namespace"),
        (everywhere().create(vec![], &WriteParams::default()).unwrap_err(), "live in a namespace"),
        (everywhere().delete("a", &DeleteParams::default()).unwrap_err(), "live in a namespace"),
        (
            everywhere().delete_collection(&DeleteParams::default(), &ListParams::default()).unwrap_err(),
            "live in a namespace",
        ),
        (pods().subresource("status").list(&ListParams::default()).unwrap_err(), "not for a subresource"),
        (
            pods().create_subresource("a", vec![], &WriteParams::default()).unwrap_err(),
            "without a subresource",
        ),
    ];
    for (error, text) in errors {
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn each_patch_has_its_media_type_on_objects_and_subresources() {
    let params = PatchParams::apply("me");
    for endpoint in [pods(), pods().subresource("status")] {
        for (patch, media_type) in [
            (Patch::Json(json!([])), "application/json-patch+json"),
            (Patch::Merge(json!({})), "application/merge-patch+json"),
            (Patch::Strategic(json!({})), "application/strategic-merge-patch+json"),
            (Patch::Apply(json!({})), "application/apply-patch+yaml"),
        ] {
            let request = endpoint.patch("a", &patch, &params).unwrap();
            assert_eq!(request.headers()[header::CONTENT_TYPE], media_type);
            assert_eq!(request.method(), "PATCH");
        }
    }
}

#[test]
fn apply_carries_its_type_and_no_managed_fields() {
    let object = json!({ "metadata": { "name": "a", "managedFields": [{}] }, "spec": {} });
    let request = deployments().patch("a", &Patch::Apply(object), &PatchParams::apply("me").force()).unwrap();
    assert_eq!(request.uri().query(), Some("fieldManager=me&force=true"));
    assert_eq!(
        body(&request),
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" }, "spec": {} })
    );
}

#[test]
fn patches_that_the_server_would_refuse_are_refused_here() {
    let force = PatchParams { force: true, ..PatchParams::default() };
    for (patch, params, text) in [
        (Patch::Merge(json!({})), &force, "force is for server-side apply only"),
        (Patch::Apply(json!({})), &PatchParams::default(), "needs a field manager"),
        (Patch::Apply(json!([])), &PatchParams::apply("me"), "must be an object"),
        (Patch::Json(json!({})), &PatchParams::default(), "must be a list of operations"),
        (Patch::Strategic(json!("x")), &PatchParams::default(), "must be an object"),
    ] {
        let error = pods().patch("a", &patch, params).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn write_parameters_are_spelt_as_the_server_reads_them() {
    let params = WriteParams {
        dry_run: true,
        field_manager: Some("me".into()),
        field_validation: Some(FieldValidation::Strict),
    };
    let request = pods().create(vec![], &params).unwrap();
    assert_eq!(request.uri().query(), Some("dryRun=All&fieldManager=me&fieldValidation=Strict"));
}

#[test]
fn delete_options_go_in_the_body() {
    let params = DeleteParams {
        dry_run: true,
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions { uid: Some("u".into()), resource_version: None }),
        ..DeleteParams::foreground()
    };
    assert_eq!(
        body(&pods().delete("a", &params).unwrap()),
        json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"], "gracePeriodSeconds": 0,
            "propagationPolicy": "Foreground", "preconditions": { "uid": "u" }
        })
    );
    assert_eq!(
        body(&pods().delete("a", &DeleteParams::default()).unwrap()),
        json!({ "kind": "DeleteOptions", "apiVersion": "v1" })
    );
}

#[test]
fn metadata_only_asks_for_it() {
    let pods = pods().metadata_only();
    let accept = |request: Request<Vec<u8>>| request.headers()[header::ACCEPT].to_str().unwrap().to_owned();
    assert!(accept(pods.list(&ListParams::default()).unwrap()).contains("as=PartialObjectMetadataList"));
    assert!(accept(pods.get("a", &GetParams::default()).unwrap()).contains("as=PartialObjectMetadata;"));
}

#[test]
fn a_watch_asks_for_an_uncompressed_stream() {
    let request = pods().watch(&WatchParams::default(), "1").unwrap();
    assert_eq!(request.headers()[header::ACCEPT_ENCODING], "identity");
}
