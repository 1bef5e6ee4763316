use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::StreamExt;
use http::Response;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        autoscaling::v1::Scale,
        core::v1::{ConfigMap, Namespace, Pod},
    },
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube_core::{
    Bookmark, DeleteParams, ListParams, Patch, PatchParams, ResourceExt, WatchEvent, WatchParams, WriteParams,
};
use serde_json::{Value, json};

use super::*;
use crate::Body;

#[derive(Clone, Debug, PartialEq)]
struct Sent {
    line: String,
    content_type: String,
    body: Value,
}

type Log = Arc<Mutex<Vec<Sent>>>;

/// A client whose server gives one answer to everything, and what it was sent.
fn client(code: u16, answer: &str) -> (Client, Log) {
    let log = Log::default();
    let (sent, answer) = (Arc::clone(&log), answer.to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (sent, answer) = (Arc::clone(&sent), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.bytes().await.unwrap();
            sent.lock().unwrap().push(Sent {
                line: format!("{} {}", parts.method, parts.uri),
                content_type: parts
                    .headers
                    .get("content-type")
                    .map_or(String::new(), |value| value.to_str().unwrap().to_owned()),
                body: if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() },
            });
            let response = Response::builder().status(code).body(Body::from(answer)).unwrap();
            Ok::<_, Infallible>(response)
        }
    });
    (Client::new(service, "shop"), log)
}

fn only(log: &Log) -> Sent {
    let mut sent = std::mem::take(&mut *log.lock().unwrap());
    assert_eq!(sent.len(), 1, "{sent:?}");
    sent.remove(0)
}

fn config_map() -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": "a", "resourceVersion": "7"}, "data": {"k": "v"}}))
        .unwrap()
}

const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;
const JSON: &str = "application/json";

#[tokio::test]
async fn each_verb_is_one_request() {
    let (client, log) = client(200, OBJECT);
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let object = config_map();
    let typed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}, "data": {"k": "v"}});
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    let base = "/api/v1/namespaces/shop/configmaps";
    let check = |line: String, content_type: &str, body: Value| {
        assert_eq!(only(&log), Sent { line, content_type: content_type.to_owned(), body });
    };

    assert_eq!(api.get("a").await.unwrap().name(), "a");
    check(format!("GET {base}/a"), "", Value::Null);
    assert_eq!(api.get_opt("a").await.unwrap().unwrap().name(), "a");
    check(format!("GET {base}/a"), "", Value::Null);
    api.list(&ListParams::default().limit(5)).await.unwrap();
    check(format!("GET {base}?limit=5"), "", Value::Null);
    api.create(&object, &WriteParams::manager("me").dry_run()).await.unwrap();
    check(format!("POST {base}?dryRun=All&fieldManager=me"), JSON, typed.clone());
    api.replace("a", &object, &WriteParams::default()).await.unwrap();
    check(format!("PUT {base}/a"), JSON, typed.clone());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    check(format!("DELETE {base}/a"), JSON, options.clone());
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("x=y")).await.unwrap();
    check(format!("DELETE {base}?labelSelector=x%3Dy"), JSON, options);
    api.replace_status("a", &object, &WriteParams::default()).await.unwrap();
    check(format!("PUT {base}/a/status"), JSON, typed);
    api.get_status("a").await.unwrap();
    check(format!("GET {base}/a/status"), "", Value::Null);
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    api.create_subresource::<_, Value>("eviction", "a", &eviction, &WriteParams::default()).await.unwrap();
    check(format!("POST {base}/a/eviction"), JSON, eviction);

    let (client, log) = self::client(200, "{}");
    let check = |line: &str| assert_eq!(only(&log).line, line);
    Api::<Namespace>::cluster(client.clone()).get("shop").await.unwrap();
    check("GET /api/v1/namespaces/shop");
    Api::<ConfigMap>::all(client.clone()).list(&ListParams::default()).await.unwrap();
    check("GET /api/v1/configmaps");
    let certificates = ApiResource::new("cert.example.dev", "v1", "Certificate", "certificates", true);
    Api::dynamic(client, certificates, Some("shop")).get("web").await.unwrap();
    check("GET /apis/cert.example.dev/v1/namespaces/shop/certificates/web");
}

#[tokio::test]
async fn patches_are_sent_with_their_own_media_type_to_object_status_and_scale() {
    let (client, log) = client(200, "{}");
    let api = Api::<Deployment>::namespaced(client, "shop");
    let object = json!({"spec": {"replicas": 3}});
    let operations = json!([{"op": "remove", "path": "/metadata/labels/x"}]);
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3}});
    let rows = [
        (Patch::Json(operations.clone()), "application/json-patch+json", operations),
        (Patch::Merge(object.clone()), "application/merge-patch+json", object.clone()),
        (Patch::Strategic(object.clone()), "application/strategic-merge-patch+json", object.clone()),
        (Patch::Apply(object), "application/apply-patch+yaml", applied),
    ];
    let path = "PATCH /apis/apps/v1/namespaces/shop/deployments/web";
    for (patch, content_type, body) in rows {
        let params = PatchParams::apply("me");
        let expected = |line: &str| Sent {
            line: format!("{path}{line}?fieldManager=me"),
            content_type: content_type.to_owned(),
            body: body.clone(),
        };
        api.patch("web", &patch, &params).await.unwrap();
        assert_eq!(only(&log), expected(""));
        api.patch_status("web", &patch, &params).await.unwrap();
        assert_eq!(only(&log), expected("/status"));
        let _: Scale = api.patch_scale("web", &patch, &params).await.unwrap();
        assert_eq!(only(&log).line, expected("/scale").line);
    }
}

#[tokio::test]
async fn an_unsupported_patch_kind_surfaces_with_what_the_server_accepts() {
    let message = "the body of the request was in an unknown format - accepted media types include: \
                   application/json-patch+json, application/merge-patch+json";
    let (client, log) = client(415, &json!({"kind": "Status", "code": 415, "message": message}).to_string());
    let api = Api::<ConfigMap>::default_namespaced(client);
    let error = api.patch("a", &Patch::Strategic(json!({})), &PatchParams::default()).await.unwrap_err();
    assert_eq!(error.code(), Some(415));
    assert!(error.to_string().ends_with("application/merge-patch+json"), "{error}");
    only(&log);
}

#[tokio::test]
async fn apply_carries_its_type_and_no_managed_fields_and_force_is_for_apply_only() {
    let (client, log) = client(200, OBJECT);
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let mut object = config_map();
    object.metadata.managed_fields = Some(vec![ManagedFieldsEntry::default()]);
    api.apply("a", &object, &PatchParams::apply("me").force().dry_run()).await.unwrap();
    let sent = only(&log);
    assert_eq!(sent.line, "PATCH /api/v1/namespaces/shop/configmaps/a?dryRun=All&fieldManager=me&force=true");
    assert_eq!(sent.content_type, "application/apply-patch+yaml");
    assert_eq!((&sent.body["apiVersion"], &sent.body["kind"]), (&json!("v1"), &json!("ConfigMap")));
    assert_eq!(sent.body["metadata"], json!({"name": "a", "resourceVersion": "7"}));

    let forced = PatchParams::apply("me").force();
    let error = api.patch("a", &Patch::Merge(json!({})), &forced).await.unwrap_err();
    assert!(matches!(error, Error::Request(RequestError::ForceWithoutApply { .. })), "{error:?}");
    let error = api.apply("a", &object, &PatchParams::default()).await.unwrap_err();
    assert!(matches!(error, Error::Request(RequestError::ApplyWithoutManager { .. })), "{error:?}");
    assert!(log.lock().unwrap().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_conflict_of_apply_keeps_its_causes() {
    let answer = json!({"kind": "Status", "code": 409, "reason": "Conflict", "details": {"causes": [
        {"reason": "FieldManagerConflict", "field": ".data.a", "message": "conflict with \"x\""},
        {"reason": "FieldManagerConflict", "field": ".data.b", "message": "conflict with \"y\""}]}});
    let (client, _) = client(409, &answer.to_string());
    let api = Api::<ConfigMap>::default_namespaced(client);
    let error = api.apply("a", &config_map(), &PatchParams::apply("me")).await.unwrap_err();
    assert!(error.is_conflict() && !error.is_already_exists());
    let causes = &error.api().unwrap().status.details.as_ref().unwrap().causes;
    assert_eq!(causes.iter().map(|cause| &*cause.field).collect::<Vec<_>>(), [".data.a", ".data.b"]);
}

#[tokio::test]
async fn objects_without_a_type_get_that_of_their_kind() {
    let (client, log) = client(200, "{}");
    let certificates = ApiResource::new("cert.example.dev", "v1", "Certificate", "certificates", true);
    let api = Api::dynamic(client, certificates, Some("shop"));
    let item: DynamicObject =
        serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {"x": 1}})).unwrap();
    let expected = json!({"apiVersion": "cert.example.dev/v1", "kind": "Certificate", "metadata": {"name": "web"}, "spec": {"x": 1}});
    api.create(&item, &WriteParams::default()).await.unwrap();
    assert_eq!(only(&log).body, expected);
    api.replace("web", &item, &WriteParams::default()).await.unwrap();
    assert_eq!(only(&log).body, expected);
}

#[tokio::test]
async fn an_empty_name_or_namespace_is_refused_before_anything_is_sent() {
    let (client, log) = client(200, OBJECT);
    let object = config_map();
    let write = WriteParams::default();
    let patch = Patch::Merge(json!({}));
    let bad_name = Api::<ConfigMap>::default_namespaced(client.clone());
    let bad_namespace = Api::<ConfigMap>::namespaced(client, "");
    for (api, name) in [(&bad_name, ""), (&bad_name, ".."), (&bad_namespace, "a")] {
        let errors = [
            api.get(name).await.err(),
            api.get_opt(name).await.err(),
            api.replace(name, &object, &write).await.err(),
            api.patch(name, &patch, &PatchParams::default()).await.err(),
            api.apply(name, &object, &PatchParams::apply("me")).await.err(),
            api.delete(name, &DeleteParams::default()).await.err(),
            api.get_status(name).await.err(),
            api.replace_status(name, &object, &write).await.err(),
            api.patch_status(name, &patch, &PatchParams::default()).await.err(),
            api.get_scale(name).await.err(),
            api.patch_scale(name, &patch, &PatchParams::default()).await.err(),
            api.create_subresource::<_, Value>("eviction", name, &json!({}), &write).await.err(),
            api.replace_subresource::<_, Value>("x", name, &json!({}), &write).await.err(),
        ];
        for (verb, error) in errors.into_iter().enumerate() {
            assert!(matches!(error, Some(Error::Request(_))), "verb {verb} with {name:?}: {error:?}");
        }
    }
    let errors = [
        bad_namespace.list(&ListParams::default()).await.err(),
        bad_namespace.create(&object, &write).await.err(),
        bad_namespace.delete_collection(&DeleteParams::default(), &ListParams::default()).await.err(),
        bad_namespace.watch(&WatchParams::default(), "").await.err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(Error::Request(RequestError::BadNamespace { .. }))), "{error:?}");
    }
    assert!(log.lock().unwrap().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_missing_object_is_none_and_other_errors_stay_errors() {
    for (code, expected) in [(404, Some(None)), (403, None), (500, None)] {
        let (client, _) = client(code, "");
        let found = Api::<ConfigMap>::default_namespaced(client).get_opt("a").await;
        assert_eq!(found.ok(), expected, "{code}");
    }
}

#[tokio::test]
async fn lists_with_gaps_are_empty_ones() {
    for body in [
        r#"{"kind":"ConfigMapList","apiVersion":"v1"}"#,
        r#"{"kind":"ConfigMapList","apiVersion":"v1","items":null,"metadata":null}"#,
        r#"{"items":[]}"#,
    ] {
        let (client, _) = client(200, body);
        let list = Api::<ConfigMap>::default_namespaced(client).list(&ListParams::default()).await.unwrap();
        assert!(list.items.is_empty() && list.metadata.resource_version.is_empty(), "{body}");
    }
    let (client, _) = client(200, r#"{"items":[{"metadata":{"name":"p"},"spec":{"containers":null}}]}"#);
    let list = Api::<Pod>::all(client).list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].spec.as_ref().unwrap().containers, []);
}

#[tokio::test]
async fn a_deletion_answers_an_object_or_a_status() {
    let terminating =
        r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"w"},"status":{"phase":"Terminating"}}"#;
    let (namespaces, _) = client(200, terminating);
    let namespaces = Api::<Namespace>::cluster(namespaces);
    let object = namespaces.delete("w", &DeleteParams::background()).await.unwrap().object().unwrap();
    assert_eq!(object.status.unwrap().phase.as_deref(), Some("Terminating"));

    let done = r#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"w"}}"#;
    let (done, _) = client(200, done);
    let done = Api::<ConfigMap>::default_namespaced(done);
    let one = done.delete("w", &DeleteParams::default()).await.unwrap();
    assert!(matches!(one, Deleted::Status(status) if status.status == "Success"));
    let all = done.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert!(matches!(all, Deleted::Status(_)));

    let (list, _) = client(200, r#"{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]}"#);
    let list = Api::<ConfigMap>::default_namespaced(list);
    let deleted = list.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert_eq!(deleted.object().unwrap().items[0].name(), "a");
}

#[tokio::test]
async fn a_watch_is_a_stream_of_events_and_a_bad_one_does_not_end_it() {
    let lines = concat!(
        r#"{"type":"ADDED","object":{"metadata":{"name":"ä","resourceVersion":"5"}}}"#,
        "\r\n\n",
        r#"{"type":"MODIFIED","object":{"metadata":{"name":7}}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9"}}}"#,
        "\n",
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#,
    );
    // Every cut once, so that one is within the two bytes of a character.
    for cut in 1..lines.len() {
        let chunks = [&lines.as_bytes()[..cut], &lines.as_bytes()[cut..]].map(Bytes::copy_from_slice);
        let service = tower::service_fn(move |_: Request<Body>| {
            let body = Body::from_stream(futures::stream::iter(chunks.clone().map(Ok::<_, Infallible>)));
            async move { Ok::<_, Infallible>(Response::new(body)) }
        });
        let api = Api::<ConfigMap>::default_namespaced(Client::new(service, "shop"));
        let events: Vec<_> = api.watch(&WatchParams::default(), "4").await.unwrap().collect().await;
        let [added, bad, bookmark, gone] = &events[..] else { panic!("{events:?}") };
        assert!(matches!(added, Ok(WatchEvent::Added(object)) if object.name() == "ä"));
        assert!(matches!(bad, Err(Error::Decode { .. })));
        let expected = Bookmark { resource_version: "9".into(), initial_events_end: false };
        assert!(matches!(bookmark, Ok(WatchEvent::Bookmark(bookmark)) if *bookmark == expected));
        assert!(matches!(gone, Ok(WatchEvent::Error(status)) if status.is_gone()));
    }
}

#[tokio::test]
async fn a_refused_watch_is_one_error_and_no_event() {
    let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"});
    let (client, log) = client(403, &serde_json::to_string_pretty(&status).unwrap());
    let api = Api::<ConfigMap>::all(client);
    let error = api.watch(&WatchParams::default(), "5").await.unwrap_err();
    assert!(error.is_forbidden(), "{error:?}");
    let line = only(&log).line;
    assert!(
        line.starts_with("GET /api/v1/configmaps?watch=true&") && line.contains("resourceVersion=5"),
        "{line}"
    );
}

#[tokio::test]
async fn metadata_only_reads_ask_for_less() {
    let accepted = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&accepted);
    let service = tower::service_fn(move |request: Request<Body>| {
        request.headers()["accept"].to_str().unwrap().clone_into(&mut seen.lock().unwrap());
        let body =
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
        async move { Ok::<_, Infallible>(Response::new(Body::from(body))) }
    });
    let api = Api::<Pod>::default_namespaced(Client::new(service, "shop")).metadata_only();
    assert_eq!(api.get("a").await.unwrap().name(), "a");
    assert!(accepted.lock().unwrap().contains("as=PartialObjectMetadata;"), "{accepted:?}");
}
