//! The verbs, through the client that everybody uses.

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace},
};
use kube_client::{Api, Client, Deleted};
use kube_core::{
    DeleteParams, GetParams, ListParams, ObjectMeta, Patch, PatchParams, Preconditions, ResourceExt,
    WatchEvent, WatchParams, WriteParams,
};
use serde_json::{Value, json};

use super::Embedded;

fn server() -> (Embedded, Client) {
    let server = Embedded::new(1);
    let client = server.client();
    (server, client)
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

fn map(name: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn labelled(name: &str, app: &str) -> ConfigMap {
    let mut map = map(name);
    map.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
    map
}

fn params() -> WriteParams {
    WriteParams::default()
}

#[tokio::test]
async fn an_object_is_created_read_replaced_and_deleted() {
    let (_, client) = server();
    let maps = maps(&client);
    let created = maps.create(&map("a"), &params()).await.unwrap();
    assert!(created.uid().is_some() && created.metadata.creation_timestamp.is_some());
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert!(maps.create(&map("a"), &params()).await.unwrap_err().is_already_exists());

    let mut changed = created.clone();
    changed.data = Some([("k".to_owned(), "v".to_owned())].into());
    let replaced = maps.replace("a", &changed, &params()).await.unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    assert_eq!(replaced.uid(), created.uid());
    assert!(
        maps.replace("a", &changed, &params()).await.unwrap_err().is_conflict(),
        "made from an older state"
    );

    let other = Preconditions { uid: Some("other".into()), resource_version: None };
    let careful = DeleteParams { preconditions: Some(other), ..DeleteParams::default() };
    assert!(maps.delete("a", &careful).await.unwrap_err().is_conflict());
    assert!(matches!(maps.delete("a", &DeleteParams::default()).await.unwrap(), Deleted::Status(_)));
    assert!(maps.get_with("a", &GetParams::default()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_none() {
    let (_, client) = server();
    let maps = maps(&client);
    let created = maps.create(&map("a"), &params()).await.unwrap();
    let same = maps.replace("a", &created, &params()).await.unwrap();
    assert_eq!(same.resource_version(), created.resource_version());
    let patch = Patch::Merge(json!({ "metadata": { "labels": null } }));
    let same = maps.patch("a", &patch, &PatchParams::default()).await.unwrap();
    assert_eq!(same.resource_version(), created.resource_version());
}

#[tokio::test]
async fn names_are_generated_and_refused() {
    let (_, client) = server();
    let mut nameless = map("x");
    nameless.metadata.name = None;
    assert!(maps(&client).create(&nameless, &params()).await.unwrap_err().is_invalid());
    nameless.metadata.generate_name = Some("web-".into());
    let created = maps(&client).create(&nameless, &params()).await.unwrap();
    assert!(created.name().starts_with("web-") && created.name().len() == 9, "{}", created.name());
    let nowhere = Api::<ConfigMap>::namespaced(client.clone(), "nowhere");
    let error = nowhere.create(&map("a"), &params()).await.unwrap_err();
    assert!(error.to_string().contains(r#"namespaces "nowhere" not found"#), "{error}");
    let namespaces = Api::<Namespace>::cluster(client).list(&ListParams::default()).await.unwrap();
    assert_eq!(namespaces.items.len(), 4);
}

#[tokio::test]
async fn lists_are_selected_and_come_in_pages_of_one_state() {
    let (server, client) = server();
    let maps = maps(&client);
    for name in ["a", "b", "c", "d", "e"] {
        maps.create(&labelled(name, if name < "c" { "web" } else { "db" }), &params()).await.unwrap();
    }
    let names = |list: &kube_core::ObjectList<ConfigMap>| {
        list.items.iter().map(|map| map.name().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let list = |params: ListParams| {
        let maps = maps.clone();
        async move { maps.list(&params).await }
    };
    assert_eq!(names(&list(ListParams::default().labels("app=db")).await.unwrap()), "c d e");
    assert_eq!(names(&list(ListParams::default().fields("metadata.name=b")).await.unwrap()), "b");
    assert_eq!(list(ListParams::default().fields("data.k=b")).await.unwrap_err().code(), Some(400));

    let first = list(ListParams::default().limit(2)).await.unwrap();
    assert_eq!((names(&first).as_str(), first.metadata.remaining_item_count), ("a b", Some(3)));
    maps.delete("c", &DeleteParams::default()).await.unwrap();
    maps.create(&map("bb"), &params()).await.unwrap();
    let next = ListParams::default().limit(5).continue_at(first.metadata.continue_token.clone());
    let second = list(next.clone()).await.unwrap();
    assert_eq!((names(&second).as_str(), second.metadata.continue_token.as_str()), ("c d e", ""));
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
    server.compact();
    assert!(list(next).await.unwrap_err().is_gone());
}

#[tokio::test]
async fn a_watch_brings_what_happened_since_its_version_and_what_happens() {
    let (server, client) = server();
    let maps = maps(&client);
    let created = maps.create(&labelled("a", "web"), &params()).await.unwrap();
    let version = created.resource_version().unwrap().to_owned();
    let relabel = |app: &str| Patch::Merge(json!({ "metadata": { "labels": { "app": app } } }));
    maps.patch("a", &relabel("db"), &PatchParams::default()).await.unwrap();
    let all = maps.watch(&WatchParams::default(), &version).await.unwrap();
    let web = maps.watch(&WatchParams::default().labels("app=web"), &version).await.unwrap();
    maps.patch("a", &relabel("web"), &PatchParams::default()).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let told = |event: Result<WatchEvent<ConfigMap>, kube_client::Error>| match event.unwrap() {
        WatchEvent::Added(_) => "added",
        WatchEvent::Modified(_) => "modified",
        WatchEvent::Deleted(_) => "deleted",
        _ => "other",
    };
    assert_eq!(all.map(told).take(3).collect::<Vec<_>>().await, ["modified", "modified", "deleted"]);
    assert_eq!(web.map(told).take(3).collect::<Vec<_>>().await, ["deleted", "added", "deleted"]);
    server.compact();
    assert!(maps.watch(&WatchParams::default(), &version).await.unwrap_err().is_gone());
}

#[tokio::test]
async fn a_streamed_list_ends_with_its_bookmark() {
    let (_, client) = server();
    maps(&client).create(&map("a"), &params()).await.unwrap();
    let streamed = WatchParams { send_initial_events: true, ..WatchParams::default() };
    let mut events = maps(&client).watch(&streamed, "").await.unwrap();
    assert!(matches!(events.next().await.unwrap().unwrap(), WatchEvent::Added(_)));
    assert!(
        matches!(events.next().await.unwrap().unwrap(), WatchEvent::Bookmark(bookmark) if bookmark.initial_events_end)
    );
    assert!(events.next().now_or_never().is_none());
}

fn deployment(replicas: i32) -> Deployment {
    let object = json!({
        "metadata": { "name": "web" },
        "spec": { "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
                  "template": { "metadata": { "labels": { "app": "web" } },
                                "spec": { "containers": [{ "name": "web", "image": "nginx" }] } } }
    });
    serde_json::from_value(object).unwrap()
}

#[tokio::test]
async fn spec_and_status_are_written_apart_and_generations_are_those_of_the_spec() {
    let (_, client) = server();
    let deployments = Api::<Deployment>::namespaced(client, "default");
    let created = deployments.create(&deployment(1), &params()).await.unwrap();
    assert_eq!(created.generation(), Some(1));
    let status = Patch::Merge(json!({ "spec": { "replicas": 9 }, "status": { "replicas": 1 } }));
    let told = deployments.patch_status("web", &status, &PatchParams::default()).await.unwrap();
    assert_eq!((told.spec.replicas, told.generation()), (Some(1), Some(1)));
    let both = Patch::Merge(json!({ "spec": { "replicas": 2 }, "status": { "replicas": 9 } }));
    let scaled = deployments.patch("web", &both, &PatchParams::default()).await.unwrap();
    assert_eq!((scaled.spec.replicas, scaled.generation()), (Some(2), Some(2)));
    assert_eq!(scaled.status.unwrap().replicas, Some(1));
}

#[tokio::test]
async fn apply_creates_owns_conflicts_and_changes_nothing_when_nothing_differs() {
    let (_, client) = server();
    let deployments = Api::<Deployment>::namespaced(client, "default");
    let mine = PatchParams::apply("mine");
    let applied = deployments.apply("web", &deployment(1), &mine).await.unwrap();
    assert_eq!(applied.metadata.managed_fields.as_ref().unwrap()[0].manager.as_deref(), Some("mine"));
    let again = deployments.apply("web", &deployment(1), &mine).await.unwrap();
    assert_eq!(again.resource_version(), applied.resource_version());

    let other = PatchParams::apply("other");
    let error = deployments.apply("web", &deployment(3), &other).await.unwrap_err();
    assert!(error.is_conflict());
    let causes = error.api().unwrap().status.details.clone().unwrap().causes;
    assert!(causes.iter().any(|cause| cause.field == ".spec.replicas"), "{causes:?}");
    let forced = deployments.apply("web", &deployment(3), &other.force()).await.unwrap();
    assert_eq!((forced.spec.replicas, forced.generation()), (Some(3), Some(2)));
}

#[tokio::test]
async fn finalizers_hold_an_object_and_deleting_ones_take_no_new_ones() {
    let (_, client) = server();
    let maps = maps(&client);
    let mut held = map("a");
    held.metadata.finalizers = Some(vec!["example.dev/hold".into()]);
    maps.create(&held, &params()).await.unwrap();
    let Deleted::Object(marked) = maps.delete("a", &DeleteParams::default()).await.unwrap() else {
        panic!("it has a finalizer")
    };
    assert!(marked.is_deleting());
    let finalizers = |list: Value| Patch::Merge(json!({ "metadata": { "finalizers": list } }));
    let more = finalizers(json!(["example.dev/hold", "example.dev/more"]));
    assert!(maps.patch("a", &more, &PatchParams::default()).await.unwrap_err().is_invalid());
    maps.patch("a", &finalizers(Value::Null), &PatchParams::default()).await.unwrap();
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let (_, client) = server();
    maps(&client).create(&map("a"), &params().dry_run()).await.unwrap();
    assert_eq!(maps(&client).get_opt("a").await.unwrap(), None);
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "sites.demo.test" },
        "spec": {
            "group": "demo.test", "scope": "Namespaced", "names": { "kind": "Site", "plural": "sites" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": {
                        "replicas": { "type": "integer", "maximum": 9, "default": 1 }
                    } },
                    "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } }
                } } }
            }]
        }
    })
}

#[tokio::test]
async fn a_definition_is_served_at_once_and_its_objects_go_with_it() {
    let (_, client) = server();
    let resource = kube_core::ApiResource::new("demo.test", "v1", "Site", "sites", true);
    let sites = Api::<kube_core::DynamicObject>::dynamic(client.clone(), resource.clone(), Some("default"));
    assert!(sites.list(&ListParams::default()).await.unwrap_err().is_not_found());
    let of_definitions = kube_core::ApiResource::new(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    );
    let definitions = Api::<kube_core::DynamicObject>::dynamic(client, of_definitions, None);
    let crd: kube_core::DynamicObject = serde_json::from_value(definition()).unwrap();
    let made = definitions.create(&crd, &params()).await.unwrap();
    assert_eq!(made.data["status"]["acceptedNames"]["listKind"], "SiteList");

    let mut site = kube_core::DynamicObject::new("a", &resource);
    site.data = json!({ "spec": { "colour": "red" }, "status": { "ready": true } });
    let created = sites.create(&site, &params()).await.unwrap();
    assert_eq!(created.data, json!({ "spec": { "replicas": 1 } }), "defaulted, pruned, without a status");
    assert_eq!(created.generation(), Some(1));
    let ready = Patch::Merge(json!({ "status": { "ready": true }, "spec": { "replicas": 5 } }));
    let told = sites.patch_status("a", &ready, &PatchParams::default()).await.unwrap();
    assert_eq!(told.data, json!({ "spec": { "replicas": 1 }, "status": { "ready": true } }));

    let many = Patch::Merge(json!({ "spec": { "replicas": 10 } }));
    let error = sites.patch("a", &many, &PatchParams::default()).await.unwrap_err();
    assert!(error.is_invalid() && error.to_string().contains("spec.replicas"), "{error}");

    definitions.delete("sites.demo.test", &DeleteParams::default()).await.unwrap();
    assert!(sites.get("a").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn fields_that_nobody_knows_are_warned_of_or_refused() {
    let (_, client) = server();
    let strict = WriteParams { field_validation: Some(kube_core::FieldValidation::Strict), ..params() };
    let resource = kube_core::ApiResource::of::<ConfigMap>();
    let maps = Api::<kube_core::DynamicObject>::dynamic(client, resource.clone(), Some("default"));
    let mut odd = kube_core::DynamicObject::new("a", &resource);
    odd.data = json!({ "colour": "red" });
    let error = maps.create(&odd, &strict).await.unwrap_err();
    assert!(error.to_string().contains("unknown field \"colour\""), "{error}");
    assert_eq!(maps.create(&odd, &params()).await.unwrap().data, json!({}));
}

async fn ask(client: &Client, method: &str, path: &str, content_type: &str, body: &str) -> (u16, Value) {
    let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = client.send(request.body(body.as_bytes().to_vec().into()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn what_a_body_says_twice_or_in_vain_is_refused_where_asked() {
    let (_, client) = server();
    let body = r#"{ "metadata": { "name": "a" }, "data": { "k": "a" }, "data": { "k": "b" }, "x": 1 }"#;
    let maps = "/api/v1/namespaces/default/configmaps?fieldValidation=";
    let (code, status) = ask(&client, "POST", &format!("{maps}Strict"), "application/json", body).await;
    let expected = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
                    duplicate field \"data\", unknown field \"x\"";
    assert_eq!((code, status["message"].as_str().unwrap()), (400, expected));
    let (code, created) = ask(&client, "POST", &format!("{maps}Warn"), "application/json", body).await;
    assert_eq!((code, &created["data"]), (201, &json!({ "k": "b" })));
}

#[tokio::test]
async fn a_deployment_is_scaled_by_its_scale_and_a_slash_is_one_however_it_is_written() {
    let (_, client) = server();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let body = json!({
        "metadata": { "name": "a" },
        "spec": { "selector": { "matchLabels": { "app": "a" } }, "template": {
            "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [{ "name": "a", "image": "b" }] } } }
    });
    assert_eq!(ask(&client, "POST", deployments, "application/json", &body.to_string()).await.0, 201);
    let scale = format!("{deployments}/a%2Fscale");
    let (code, found) = ask(&client, "GET", &scale, "", "").await;
    assert_eq!(
        (code, &found["spec"], &found["status"]["selector"]),
        (200, &json!({ "replicas": 1 }), &json!("app=a"))
    );
    let merge = "application/merge-patch+json";
    let (code, status) = ask(&client, "PATCH", &scale, merge, r#"{ "spec": { "replicas": -2 } }"#).await;
    let expected = "Scale.autoscaling \"a\" is invalid: spec.replicas: Invalid value: -2: must be greater than or equal to 0";
    assert_eq!((code, status["message"].as_str().unwrap()), (422, expected));
    let (code, found) = ask(&client, "PATCH", &scale, merge, r#"{ "spec": { "replicas": null } }"#).await;
    assert_eq!((code, &found["spec"]), (200, &json!({})));
    let (_, stored) = ask(&client, "GET", &format!("{deployments}/a"), "", "").await;
    assert_eq!((&stored["spec"]["replicas"], &stored["metadata"]["generation"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn a_place_takes_its_own_verbs_only() {
    let (_, client) = server();
    maps(&client).create(&map("a"), &params()).await.unwrap();
    for (method, path, code) in [
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/configmaps", 200),
        ("POST", "/api/v1/namespaces/default/configmaps/a", 405),
        ("DELETE", "/api/v1/namespaces/default/pods/a/status", 405),
        ("POST", "/api/v1/namespaces/default/pods/a/status", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status", 404),
    ] {
        let request =
            http::Request::builder().method(method).uri(path).body(kube_client::Body::empty()).unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), code, "{method} {path}");
    }
    assert!(maps(&client).get_opt("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_watch_that_begins_with_more_than_may_wait_loses_nothing() {
    let (_, client) = server();
    let count = 20_000;
    for i in 0..count {
        maps(&client).create(&map(&format!("m{i}")), &params()).await.unwrap();
    }
    let streamed = WatchParams { send_initial_events: true, ..WatchParams::default() };
    let events = maps(&client).watch(&streamed, "").await.unwrap();
    maps(&client).create(&map("later"), &params()).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).take(count + 2).collect().await;
    assert!(matches!(&events[count], WatchEvent::Bookmark(bookmark) if bookmark.initial_events_end));
    assert!(matches!(&events[count + 1], WatchEvent::Added(map) if map.name() == "later"));
}

#[tokio::test]
async fn a_deletion_asked_for_anew_replaces_the_one_before() {
    let (_, client) = server();
    let maps = maps(&client);
    let mut held = map("a");
    held.metadata.finalizers = Some(vec!["example.dev/hold".into()]);
    maps.create(&held, &params()).await.unwrap();
    let left = async |how: DeleteParams| match maps.delete("a", &how).await.unwrap() {
        Deleted::Object(map) => map.finalizers().join(" "),
        Deleted::Status(_) => "gone".into(),
    };
    assert_eq!(left(DeleteParams::foreground()).await, "example.dev/hold foregroundDeletion");
    assert_eq!(left(DeleteParams::default()).await, "example.dev/hold foregroundDeletion");
    let background = DeleteParams { grace_period_seconds: Some(30), ..DeleteParams::background() };
    assert_eq!(left(background).await, "example.dev/hold");
    let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("a", &none, &PatchParams::default()).await.unwrap();
    assert_eq!(maps.get_opt("a").await.unwrap(), None, "no grace holds what is no pod");
}
