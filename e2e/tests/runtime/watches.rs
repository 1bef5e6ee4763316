//! A store is what the server has, and its subscribers hear of every difference, whatever happens in between.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, clock};
use kube_core::{DeleteParams, Patch, PatchParams, ResourceExt, WriteParams};
use kube_e2e::{Cluster, Ending};
use kube_runtime::{
    Caches, Delta, Health, Keep, Store, Subscription,
    watcher::{self, Cause, Event, Problem, WatchError},
};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::support::{
    Wire, map, maps, our_maps, own, quick, same, shared, soon, stored, text_data, versions,
};

/// Between two writes of a writer that runs beside the test: a server that is away refuses at once, and the writer
/// would only heat the machine.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// Objects that nobody touches.
const STILL: usize = 30;

fn still(index: usize) -> String {
    format!("still-{index}")
}

/// Creates, changes and deletes at random until it is told to stop; says how many writes succeeded so far.
async fn write_at_random(api: Api<ConfigMap>, done: watch::Sender<u32>, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !done.is_closed() {
        let (name, text) = (format!("busy-{}", rng.u8(..20)), rng.u32(..).to_string());
        let patch = Patch::Merge(json!({ "data": text_data(&text) }));
        // What fails has failed because of the state of the object or of the server; both are meant to be bad.
        let written = match rng.u8(..4) {
            0 => api.delete(&name, &DeleteParams::default()).await.is_ok(),
            1 | 2 => api.create(&map(&name, &text), &WriteParams::default()).await.is_ok(),
            _ => api.patch(&name, &patch, &PatchParams::default()).await.is_ok(),
        };
        done.send_modify(|count| *count += u32::from(written));
        tokio::time::sleep(BETWEEN_WRITES).await;
    }
}

/// What a subscriber makes of what it is told: it must never be surprised, and never miss what is there.
#[derive(Default)]
struct Mirror {
    versions: BTreeMap<String, String>,
}

impl Mirror {
    fn take(&mut self, deltas: Vec<Delta>, store: &Store<ConfigMap>) {
        let version = |slot: &Arc<kube_runtime::Slot>| slot.resource_version().to_owned();
        for delta in deltas {
            let name = delta.key().name().to_owned();
            let (old, new) = (delta.old.as_ref().map(version), delta.new.as_ref().map(version));
            // What is gone is told with its last state, which may be newer than the last that was told.
            if new.is_some() {
                assert_eq!(self.versions.get(&name), old.as_ref(), "{name}");
            }
            match new {
                Some(version) => self.versions.insert(name, version),
                None => self.versions.remove(&name),
            };
        }
        let names = stored(store);
        assert!((0..STILL).all(|index| names.contains_key(&still(index))), "half a set: {names:?}");
    }
}

#[tokio::test]
async fn a_store_stays_equal_to_the_server_through_restarts_of_it() {
    let test = "a_store_stays_equal_to_the_server_through_restarts_of_it";
    let Some(cluster) = own(test).await else { return };
    let control = cluster.control().unwrap();
    let api = maps(&cluster.client().unwrap(), "default");
    for index in 0..STILL {
        api.create(&map(&still(index), ""), &WriteParams::default()).await.unwrap();
    }
    let caches = Caches::with_config(cluster.client().unwrap(), quick());
    let store = caches.store(&our_maps("default"), Keep::Bytes);
    soon("the list", store.synced()).await;
    let wake = Arc::new(Notify::new());
    let subscription = caches.subscribe(store.target(), wake.clone());
    let (mirrored, mut mirror) = watch::channel(Mirror::default());
    let mirroring = tokio::spawn({
        let store = store.clone();
        async move {
            while !mirrored.is_closed() {
                wake.notified().await;
                mirrored.send_modify(|mirror| mirror.take(subscription.take(), &store));
            }
        }
    });
    let seed = clock::seed();
    let (done, mut writes) = watch::channel(0);
    let writing = tokio::spawn(write_at_random(maps(&cluster.client().unwrap(), "default"), done, seed));

    for ending in [Ending::Graceful, Ending::Crash] {
        more(&mut writes, 20).await;
        control.stop_apiserver(ending).await.unwrap();
        control.start_apiserver().await.unwrap();
        more(&mut writes, 20).await;
    }
    drop(writes);
    soon("the writer to end", writing).await.unwrap();

    let server = versions(&api).await;
    cluster
        .eventually(&format!("the store to equal the server (seed {seed})"), async || {
            assert!(!mirroring.is_finished(), "it was surprised");
            same(&stored(&store), &server)?;
            same(&mirror.borrow_and_update().versions, &server)?;
            same(&store.health().borrow().problem, &None)
        })
        .await;
    drop(mirror);
    // The last event it waits for.
    api.create(&map("end", ""), &WriteParams::default()).await.unwrap();
    soon("the mirror to end", mirroring).await.unwrap();
}

/// Waits for so many more writes.
async fn more(writes: &mut watch::Receiver<u32>, number: u32) {
    let so_far = *writes.borrow();
    soon("more writes", writes.wait_for(|count| *count >= so_far + number)).await.unwrap();
}

/// Everything that a subscription was told: `name old -> new`, by whether there is such a state.
fn told(subscription: &Subscription) -> Vec<String> {
    let there = |state: bool| if state { "there" } else { "none" };
    let tell = |delta: &Delta| {
        format!("{} {}>{}", delta.key().name(), there(delta.old.is_some()), there(delta.new.is_some()))
    };
    let mut told: Vec<String> = subscription.take().iter().map(tell).collect();
    told.sort();
    told
}

/// Deletes `a`, changes `b`, leaves `c`, creates `d`.
async fn change(api: &Api<ConfigMap>) {
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let patch = Patch::Merge(json!({ "data": text_data("new") }));
    api.patch("b", &patch, &PatchParams::default()).await.unwrap();
    api.create(&map("d", ""), &WriteParams::default()).await.unwrap();
}

async fn create_abc(api: &Api<ConfigMap>) {
    for name in ["a", "b", "c"] {
        api.create(&map(name, ""), &WriteParams::default()).await.unwrap();
    }
}

/// A store over a wire, with what it was told up to now taken.
async fn watched(cluster: &Cluster, namespace: &str) -> (Wire, Store<ConfigMap>, Subscription) {
    let (wire, client) = Wire::new(cluster.client().unwrap());
    let caches = Caches::with_config(client, quick());
    let store = caches.store(&our_maps(namespace), Keep::Bytes);
    soon("the list", store.synced()).await;
    let subscription = caches.subscribe(store.target(), Arc::default());
    assert_eq!(told(&subscription), ["a none>there", "b none>there", "c none>there"]);
    cluster.eventually("the watch to be sent", async || wire.watches("configmaps") == 1).await;
    (wire, store, subscription)
}

#[tokio::test]
async fn a_version_that_was_compacted_costs_one_list_and_tells_what_happened_meanwhile() {
    let test = "a_version_that_was_compacted_costs_one_list_and_tells_what_happened_meanwhile";
    let Some(cluster) = own(test).await else { return };
    let control = cluster.control().unwrap();
    let api = maps(&cluster.client().unwrap(), "default");
    create_abc(&api).await;
    let (wire, store, subscription) = watched(&cluster, "default").await;
    let (other_wire, client) = Wire::new(cluster.client().unwrap());
    let mut events = watcher::watch(client, &our_maps("default"), quick());
    assert_eq!(until_complete(&mut events).await, ["a", "b", "c"]);

    for wire in [&wire, &other_wire] {
        cluster.eventually("an open watch", async || wire.watches("configmaps") == 1).await;
        wire.cut_watches();
    }
    change(&api).await;
    // The server would serve the old version from its watch cache: the one after the restart has none of it, and etcd
    // does not know it any more either.
    control.compact_etcd().await.unwrap();
    control.restart_apiserver(Ending::Crash).await.unwrap();
    assert_eq!(told(&subscription), [""; 0], "nothing can have come through");
    wire.mend();
    other_wire.mend();

    let gone = soon("410", until_gone(&mut events)).await;
    assert_eq!(gone.failures, 0, "listed at once: {gone}");
    assert_eq!(until_complete(&mut events).await, ["b", "c", "d"]);

    let server = versions(&api).await;
    cluster.eventually("the store to equal the server", async || same(&stored(&store), &server)).await;
    assert_eq!(told(&subscription), ["a there>none", "b there>there", "d none>there"]);
    for wire in [&wire, &other_wire] {
        assert_eq!(wire.lists("configmaps"), 2, "the first, and one for the version that is gone");
    }

    // And it goes on from there.
    api.delete("c", &DeleteParams::default()).await.unwrap();
    cluster.eventually("the deletion of c", async || !stored(&store).contains_key("c")).await;
    assert_eq!(told(&subscription), ["c there>none"]);
    assert_eq!(wire.lists("configmaps"), 2);
    assert_eq!(store.health().borrow().problem, None);
}

#[tokio::test]
async fn a_continue_token_that_was_compacted_begins_the_list_anew_and_shows_no_half_of_it() {
    let test = "a_continue_token_that_was_compacted_begins_the_list_anew_and_shows_no_half_of_it";
    let Some(cluster) = own(test).await else { return };
    let control = cluster.control().unwrap();
    let api = maps(&cluster.client().unwrap(), "default");
    create_abc(&api).await;
    let (wire, client) = Wire::new(cluster.client().unwrap());
    wire.hold_pages();
    let caches = Caches::with_config(client, watcher::Config { page_size: 2, ..quick() });
    let store = caches.store(&our_maps("default"), Keep::Bytes);
    cluster.eventually("the second page to be asked for", async || wire.lists("configmaps") == 2).await;
    change(&api).await;
    control.compact_etcd().await.unwrap();
    control.restart_apiserver(Ending::Crash).await.unwrap();
    assert!(store.is_empty() && !store.health().borrow().synced);

    wire.mend();
    soon("the list", store.synced()).await;
    assert_eq!(stored(&store), versions(&api).await);
    assert_eq!(wire.lists("configmaps"), 4, "two pages of the first try, two of the second");
}

/// Leaves out the problems of a server that is not there, up to the one that the version is gone.
async fn until_gone(events: &mut watcher::WatchStream<ConfigMap>) -> Problem {
    loop {
        match events.next().await.unwrap() {
            Err(WatchError::Problem(problem)) => {
                if matches!(problem.fault.cause, Cause::Answered { code: 410, .. }) {
                    return problem;
                }
            }
            other => panic!("not a problem: {other:?}"),
        }
    }
}

/// The names of the next list.
async fn until_complete(events: &mut watcher::WatchStream<ConfigMap>) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        match soon("an event", events.next()).await.unwrap().unwrap() {
            Event::Init => names.clear(),
            Event::InitApply(map) => names.push(map.name().to_owned()),
            Event::InitDone => return names,
            event => panic!("not part of a list: {event:?}"),
        }
    }
}

#[tokio::test]
async fn a_watch_that_broke_is_taken_up_where_it_was_without_a_list() {
    let cluster = shared().await;
    let namespace = cluster.namespace("broken-watch").await.unwrap();
    let api = maps(&cluster.client().unwrap(), &namespace);
    create_abc(&api).await;
    let (wire, store, subscription) = watched(cluster, &namespace).await;
    let mut health = store.health();

    wire.cut_watches();
    soon("a problem", health.wait_for(|health| health.problem.is_some())).await.unwrap();
    change(&api).await;
    cluster.eventually("another watch", async || wire.watches("configmaps") == 2).await;
    wire.mend();
    let server = versions(&api).await;
    cluster.eventually("the store to equal the server", async || same(&stored(&store), &server)).await;
    assert_eq!(told(&subscription), ["a there>none", "b there>there", "d none>there"]);
    assert_eq!(wire.lists("configmaps"), 1);
    assert_eq!(health.borrow().problem, None);

    // When nothing happens after it was mended, it is mended all the same.
    wire.cut_watches();
    soon("a problem", health.wait_for(|health| health.problem.is_some())).await.unwrap();
    wire.mend();
    cluster
        .eventually("the problem to be over", async || same(&health.borrow_and_update().problem, &None))
        .await;
    assert_eq!(told(&subscription), [""; 0]);
    assert_eq!(wire.lists("configmaps"), 1);
}

#[tokio::test]
async fn a_controller_waits_for_a_server_that_is_away_and_notices_one_that_stands_still() {
    let test = "a_controller_waits_for_a_server_that_is_away_and_notices_one_that_stands_still";
    let Some(cluster) = own(test).await else { return };
    let control = cluster.control().unwrap();
    let second = Duration::from_secs(1);
    let pace =
        watcher::Config { watch_timeout: second, watch_margin: second, reply_timeout: second, ..quick() };
    control.stop_apiserver(Ending::Crash).await.unwrap();
    let caches = Caches::with_config(cluster.client().unwrap(), pace);
    let store = caches.store(&our_maps("default"), Keep::Bytes);
    let mut health = store.health();
    let cause = |health: &Health| health.problem.as_ref().map(|problem| problem.fault.cause.clone());
    soon("a problem", health.wait_for(|health| cause(health) == Some(Cause::Unreachable))).await.unwrap();
    control.start_apiserver().await.unwrap();
    soon("the list", store.synced()).await;

    control.pause_apiserver().await;
    soon("a problem", health.wait_for(|health| cause(health) == Some(Cause::TimedOut))).await.unwrap();
    control.resume_apiserver().await;
    maps(&cluster.client().unwrap(), "default").create(&map("a", ""), &WriteParams::default()).await.unwrap();
    cluster.eventually("what happened since", async || store.len() == 1).await;
    cluster.eventually("no problem", async || same(&cause(&health.borrow()), &None)).await;
}

#[tokio::test]
async fn a_watch_that_the_server_ends_when_it_was_asked_to_is_opened_again_without_a_list() {
    let cluster = shared().await;
    let namespace = cluster.namespace("short-watch").await.unwrap();
    let api = maps(&cluster.client().unwrap(), &namespace);
    let (wire, client) = Wire::new(cluster.client().unwrap());
    // One second is the shortest that a server can be asked for.
    let config = watcher::Config {
        watch_timeout: Duration::from_secs(1),
        healthy_after: Duration::from_millis(100),
        ..quick()
    };
    let caches = Caches::with_config(client, config);
    let store = caches.store(&our_maps(&namespace), Keep::Bytes);
    soon("the list", store.synced()).await;
    cluster.eventually("the third watch", async || wire.watches("configmaps") == 3).await;
    api.create(&map("a", ""), &WriteParams::default()).await.unwrap();
    cluster.eventually("what happened in it", async || store.len() == 1).await;
    cluster.eventually("the fifth", async || wire.watches("configmaps") == 5).await;
    assert_eq!((wire.lists("configmaps"), store.len()), (1, 1));
    assert_eq!(store.health().borrow().problem, None);
}
