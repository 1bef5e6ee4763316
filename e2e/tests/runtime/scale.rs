//! Many objects, and what they cost.

use std::{
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, clock};
use kube_core::{Patch, PatchParams, WriteParams};
use kube_e2e::{Cluster, Make};
use kube_runtime::{Action, Caches, Context, Controller, Keep};
use serde_json::json;

use crate::support::{Running, Runs, Wire, map, maps, our_maps, soon, text_data};

const OBJECTS: usize = 20_000;
const UPDATES: usize = 1_000;

/// The page size of a watcher.
const PAGE: usize = 500;

/// Writes under way at the same time: enough to keep the server busy, fewer than the streams of one connection.
const IN_FLIGHT: usize = 64;

/// A server without the controllers that would look at each of the objects too; on a cluster that exists, that one.
async fn cluster() -> Cluster {
    match Make::from_env().unwrap() {
        Make::ControlPlane => Cluster::control_plane().start().await.unwrap(),
        _ => Cluster::from_env().await.unwrap(),
    }
}

fn name(index: usize) -> String {
    format!("map-{index:05}")
}

/// Says how long something took, past the capture of the test harness.
fn say(what: &str, number: usize, since: Instant) {
    let took: Duration = clock::now() - since;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = number as f64 / took.as_secs_f64();
    let _ = writeln!(std::io::stderr(), "scale: {what}: {:.2} s, {rate:.0}/s", took.as_secs_f64());
}

async fn create_all(api: &Api<ConfigMap>) {
    stream::iter(0..OBJECTS)
        .map(|index| async move { api.create(&map(&name(index), "old"), &WriteParams::default()).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await
        .unwrap();
}

async fn update_some(api: &Api<ConfigMap>) {
    let patch = &Patch::Merge(json!({ "data": text_data("new") }));
    stream::iter((0..OBJECTS).step_by(OBJECTS / UPDATES))
        .map(|index| async move { api.patch(&name(index), patch, &PatchParams::default()).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await
        .unwrap();
}

fn at_least(runs: &Runs, expected: usize) -> Result<(), String> {
    let total = runs.total() as usize;
    if total >= expected { Ok(()) } else { Err(format!("{total} runs")) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_objects_are_listed_in_pages_and_each_is_reconciled_once() {
    let cluster = cluster().await;
    let namespace = cluster.namespace("scale").await.unwrap();
    let api = maps(&cluster.client().unwrap(), &namespace);
    let start = clock::now();
    create_all(&api).await;
    say("20,000 ConfigMaps created", OBJECTS, start);

    let (wire, client) = Wire::new(cluster.client().unwrap());
    let caches = Caches::new(client);
    let start = clock::now();
    let store = caches.store(&our_maps(&namespace), Keep::Bytes);
    soon("the list", store.synced()).await;
    say("listed in pages of 500", OBJECTS, start);
    assert_eq!(store.len(), OBJECTS);
    assert_eq!(wire.lists("configmaps"), OBJECTS / PAGE);

    let runs = Runs::default();
    let reconcile = {
        let runs = runs.clone();
        move |_: Arc<ConfigMap>, context: Context| {
            let run = runs.begin(&context.key);
            async move {
                drop(run);
                Ok::<_, std::convert::Infallible>(Action::AwaitChange)
            }
        }
    };
    let start = clock::now();
    let controller = Running::start(Controller::new(our_maps(&namespace)), &caches, reconcile);
    cluster.eventually("a run of each", async || at_least(&runs, OBJECTS)).await;
    say("each reconciled", OBJECTS, start);
    assert!(runs.by_name().values().all(|count| *count == 1), "some ran more than once");

    let start = clock::now();
    update_some(&api).await;
    cluster.eventually("a run of each change", async || at_least(&runs, OBJECTS + UPDATES)).await;
    say("1,000 changed, each seen", UPDATES, start);
    let twice = runs.by_name().values().filter(|count| **count == 2).count();
    assert_eq!((twice, runs.total() as usize), (UPDATES, OBJECTS + UPDATES));
    assert_eq!(wire.lists("configmaps"), OBJECTS / PAGE, "no further list");
    controller.end().await;
}
