//! Watches: what happened, in order; how far they have come; and a past that is gone.

use std::{fmt, time::Duration};

use futures::StreamExt as _;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, EventStream};
use kube_core::{
    ApiResource, DeleteParams, ListParams, Patch, PatchParams, Resource, ResourceExt as _, WatchEvent,
    WatchParams, WriteParams,
};
use kube_e2e::{Cluster, Ending};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    common::{Place, Wire, config_map, labels, reads},
    kinds::Gadget,
};

/// How long one event may take. They come in milliseconds; this is for a machine that compiles meanwhile.
const SOON: Duration = Duration::from_mins(1);

/// The next event but bookmarks, as `ADDED a`; `END` at the end.
async fn next<K: Resource + DeserializeOwned + fmt::Debug>(events: &mut EventStream<K>) -> String {
    loop {
        let next = tokio::time::timeout(SOON, events.next()).await.expect("an event in time");
        return match next {
            None => "END".into(),
            Some(Ok(WatchEvent::Added(object))) => format!("ADDED {}", object.name()),
            Some(Ok(WatchEvent::Modified(object))) => format!("MODIFIED {}", object.name()),
            Some(Ok(WatchEvent::Deleted(object))) => format!("DELETED {}", object.name()),
            Some(Ok(WatchEvent::Bookmark(_))) => continue,
            Some(Ok(WatchEvent::Error(status))) => panic!("{status:?}"),
            Some(Err(error)) => panic!("{error:?}"),
        };
    }
}

async fn version<K: Resource + DeserializeOwned>(api: &Api<K>) -> String {
    api.list(&ListParams::default().limit(1)).await.unwrap().metadata.resource_version
}

#[tokio::test]
async fn changes_come_in_their_order() {
    let place = Place::new("watch").await;
    place.define::<Gadget>().await;
    in_order(&place.api(), &|name| config_map(name, "k", "v")).await;
    in_order(&place.api(), &|name| Gadget::of(name, 1)).await;
}

async fn in_order<K>(api: &Api<K>, make: &dyn Fn(&str) -> K)
where
    K: Resource + Serialize + DeserializeOwned + fmt::Debug,
{
    let start = version(api).await;
    let mut events = api.watch(&WatchParams::default(), &start).await.unwrap();
    let mut metadata = api.clone().metadata_only().watch(&WatchParams::default(), &start).await.unwrap();
    let change = Patch::Merge(labels(&json!({ "x": "y" })));
    api.create(&make("a"), &WriteParams::default()).await.unwrap();
    api.create(&make("b"), &WriteParams::default()).await.unwrap();
    api.patch("a", &change, &PatchParams::default()).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    api.create(&make("a"), &WriteParams::default()).await.unwrap();
    let expected = ["ADDED a", "ADDED b", "MODIFIED a", "DELETED a", "ADDED a"];
    for expected in expected {
        assert_eq!(next(&mut events).await, expected);
        assert_eq!(next(&mut metadata).await, expected);
    }
    // A second watch from the same version tells the same story.
    let mut again = api.watch(&WatchParams::default(), &start).await.unwrap();
    for expected in expected {
        assert_eq!(next(&mut again).await, expected);
    }
}

#[tokio::test]
async fn an_object_enters_and_leaves_a_selection() {
    let place = Place::new("watch").await;
    let maps = place.api::<ConfigMap>();
    let start = version(&maps).await;
    let mut events = maps.watch(&WatchParams::default().labels("on=yes"), &start).await.unwrap();
    let mut one = maps.watch(&WatchParams::default().fields("metadata.name=b"), &start).await.unwrap();
    maps.create(&config_map("a", "k", "v"), &WriteParams::default()).await.unwrap();
    for (on, expected) in [
        (json!("yes"), "ADDED a"),
        (json!("no"), "DELETED a"),
        (json!("yes"), "ADDED a"),
        (json!(null), "DELETED a"),
    ] {
        let patch = Patch::Merge(labels(&json!({ "on": on })));
        maps.patch("a", &patch, &PatchParams::default()).await.unwrap();
        assert_eq!(next(&mut events).await, expected);
    }
    maps.create(&config_map("b", "k", "v"), &WriteParams::default()).await.unwrap();
    assert_eq!(next(&mut one).await, "ADDED b", "the other object never entered");
}

#[tokio::test]
async fn the_present_can_be_watched_from_nowhere_and_ends_with_a_bookmark_where_asked() {
    let place = Place::new("watch").await;
    place.define::<Gadget>().await;
    let gadgets = place.api::<Gadget>();
    for name in ["a", "b"] {
        gadgets.create(&Gadget::of(name, 1), &WriteParams::default()).await.unwrap();
    }
    let mut events = gadgets.watch(&WatchParams::default(), "").await.unwrap();
    let mut names = [next(&mut events).await, next(&mut events).await];
    names.sort_unstable();
    assert_eq!(names, ["ADDED a", "ADDED b"]);

    let streaming = WatchParams { send_initial_events: true, ..WatchParams::default() };
    let mut events = gadgets.watch(&streaming, "").await.unwrap();
    let mut seen = 0;
    let bookmark = loop {
        match tokio::time::timeout(SOON, events.next()).await.unwrap().unwrap().unwrap() {
            WatchEvent::Added(_) => seen += 1,
            WatchEvent::Bookmark(bookmark) if bookmark.initial_events_end => break bookmark,
            WatchEvent::Bookmark(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(seen, 2);
    gadgets.create(&Gadget::of("c", 1), &WriteParams::default()).await.unwrap();
    assert_eq!(next(&mut events).await, "ADDED c");
    let mut resumed = gadgets.watch(&WatchParams::default(), &bookmark.resource_version).await.unwrap();
    assert_eq!(next(&mut resumed).await, "ADDED c", "the bookmark's version is one to go on from");
}

#[tokio::test]
async fn bookmarks_arrive_and_the_end_in_time_is_no_error() {
    let place = Place::new("watch").await;
    let maps = place.api::<ConfigMap>();
    let start = version(&maps).await;
    // The server sends one shortly before it ends a watch.
    let params = WatchParams { timeout_seconds: Some(4), ..WatchParams::default() };
    let mut with = maps.watch(&params, &start).await.unwrap();
    let mut without = maps.watch(&WatchParams { bookmarks: false, ..params }, &start).await.unwrap();
    let mut bookmarks = 0;
    while let Some(event) = tokio::time::timeout(SOON, with.next()).await.expect("its end") {
        match event.unwrap() {
            WatchEvent::Bookmark(bookmark) => {
                assert!(!bookmark.resource_version.is_empty() && !bookmark.initial_events_end);
                bookmarks += 1;
            }
            // The root certificate is put into every new namespace.
            WatchEvent::Added(map) => assert_eq!(map.name(), "kube-root-ca.crt"),
            other => panic!("{other:?}"),
        }
    }
    assert!(bookmarks > 0);
    while let Some(event) = tokio::time::timeout(SOON, without.next()).await.expect("its end") {
        assert!(!matches!(event.unwrap(), WatchEvent::Bookmark(_)));
    }
}

#[tokio::test]
async fn a_refused_watch_is_one_error() {
    let place = Place::new("watch").await;
    let nobody: Api<ConfigMap> =
        Api::namespaced(place.cluster.client_for("e2e-nobody").unwrap(), &place.namespace);
    let error = nobody.watch(&WatchParams::default(), "").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
    reads(&error.to_string(), &["e2e-nobody", "watch", "configmaps"]);
    let unknown = ApiResource::new("none.e2e.example.dev", "v1", "None", "nones", true);
    let error = Api::dynamic(place.client.clone(), unknown, Some(&place.namespace))
        .watch(&WatchParams::default(), "")
        .await
        .unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let error = place.api::<ConfigMap>().watch(&WatchParams::default(), "nonsense").await.unwrap_err();
    reads(&error.to_string(), &["resourceVersion", "nonsense"]);
}

/// A server that was asked for compression would hold events back until a block of them is full.
#[tokio::test]
async fn the_stream_is_asked_for_and_comes_uncompressed() {
    let place = Place::new("watch").await;
    let (client, wire) = Wire::tap(place.client.clone());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
    maps.create(&config_map("a", "k", &"v".repeat(200_000)), &WriteParams::default()).await.unwrap();
    let mut events = maps.watch(&WatchParams::default().fields("metadata.name=a"), "").await.unwrap();
    assert_eq!(next(&mut events).await, "ADDED a");
    let exchange = wire.exchanges().pop().unwrap();
    assert_eq!(exchange.sent[ACCEPT_ENCODING], "identity");
    assert_eq!(exchange.received.get(CONTENT_ENCODING), None);
    // What makes this worth a test: a server of our own make compresses for one who takes it so.
    assert!(place.cluster.control().is_none() || compressed_when_asked(&client, &maps).await);
}

async fn compressed_when_asked(client: &Client, maps: &Api<ConfigMap>) -> bool {
    let mut request = maps.endpoint().unwrap().watch(&WatchParams::default(), "").unwrap();
    request.headers_mut().insert(ACCEPT_ENCODING, "gzip".parse().unwrap());
    let response = client.send(request.map(kube_client::Body::from)).await.unwrap();
    response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip")
}

/// On a control plane of its own, for the server loses its memory.
#[tokio::test]
async fn a_past_that_was_compacted_is_gone_in_every_form() {
    let shared = Cluster::shared().await.unwrap();
    if shared.control_or_skip("a_past_that_was_compacted_is_gone_in_every_form").is_none() {
        return;
    }
    let cluster = Cluster::control_plane().start().await.unwrap();
    let control = cluster.control().unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client().unwrap(), "default");
    for name in ["a", "b"] {
        maps.create(&config_map(name, "k", "v"), &WriteParams::default()).await.unwrap();
    }
    let first = maps.get("a").await.unwrap().resource_version().unwrap_or_default().to_owned();
    let page = maps.list(&ListParams::default().limit(1)).await.unwrap();
    maps.create(&config_map("c", "k", "v"), &WriteParams::default()).await.unwrap();
    control.compact_etcd().await.unwrap();
    control.restart_apiserver(Ending::Crash).await.unwrap();

    // The client is the one from before: it finds the new server by itself.
    let rest = ListParams::default().limit(1).continue_at(page.metadata.continue_token);
    let error = cluster
        .eventually("an answer to the old page", async || match maps.list(&rest).await {
            Err(error) if error.is_retryable() => Err(error.to_string()),
            other => Ok(other),
        })
        .await
        .unwrap_err();
    assert!(error.is_gone(), "{error}");
    assert_eq!((error.code(), error.api().unwrap().status.reason.as_str()), (Some(410), "Expired"));
    let gone = match maps.watch(&WatchParams::default(), &first).await {
        Err(error) => error.api().unwrap().status.clone(),
        Ok(mut events) => match events.next().await.unwrap().unwrap() {
            WatchEvent::Error(status) => {
                assert!(events.next().await.is_none(), "nothing follows");
                status
            }
            other => panic!("{other:?}"),
        },
    };
    assert!(gone.is_gone() && gone.code == 410, "{gone:?}");
    reads(&gone.message, &["too old resource version"]);
    // What there is now is listed, and can be watched from there.
    let now = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(now.items.iter().filter(|map| map.name().len() == 1).count(), 3);
    let mut events = maps.watch(&WatchParams::default(), &now.metadata.resource_version).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(next(&mut events).await, "DELETED a");
}
