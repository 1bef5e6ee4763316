//! A controller repairs what was damaged, ends where it should wherever it began, and then leaves things alone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube_client::{Api, clock};
use kube_core::{DeleteParams, Patch, PatchParams, ResourceExt, WriteParams};
use kube_derive::CustomResource;
use kube_runtime::{
    Action, Caches, Context, Controller, Query,
    conditions::{condition, set_condition},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{
    Definition, Running, Runs, Wire, keep_secret, listed, map, maps, our_maps, quick, same, secret_of,
    shared, text_data,
};

fn keeper(namespace: &str) -> Controller<ConfigMap> {
    Controller::new(our_maps(namespace)).owns(Query::<Secret>::all().within(namespace))
}

/// Text and owner of a Secret: what must be right.
type Kept = (Option<Vec<u8>>, Option<String>);

fn kept(secret: &Secret) -> Kept {
    let text = secret.data.as_ref().and_then(|data| data.get("text"));
    let owner = secret.owner_references().first();
    (text.map(|text| text.0.clone()), owner.map(|owner| owner.uid.clone()))
}

fn all_kept(secrets: &BTreeMap<String, Secret>) -> BTreeMap<String, Kept> {
    secrets.iter().map(|(name, secret)| (name.clone(), kept(secret))).collect()
}

#[tokio::test]
async fn a_child_that_was_deleted_or_edited_by_hand_is_repaired() {
    let cluster = shared().await;
    let namespace = cluster.namespace("repair").await.unwrap();
    let client = cluster.client().unwrap();
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    let primary = maps(&client, &namespace).create(&map("a", "text"), &WriteParams::default()).await.unwrap();
    let expected = kept(&secret_of(&primary));
    let caches = Caches::new(client.clone());
    let controller = Running::start(keeper(&namespace), &caches, keep_secret);
    let repaired = async |what: &str, old: Option<&Secret>| {
        cluster
            .eventually(what, async || {
                let secret = secrets.get_opt("a").await.unwrap().ok_or("no Secret".to_owned())?;
                same(&kept(&secret), &expected)?;
                let unlike = old.is_none_or(|old| old.uid() != secret.uid());
                if unlike { Ok(secret) } else { Err("the old one".to_owned()) }
            })
            .await
    };
    let first = repaired("the first Secret", None).await;

    secrets.delete("a", &DeleteParams::default()).await.unwrap();
    let second = repaired("another Secret", Some(&first)).await;

    for (what, patch) in [
        ("its text", json!({ "data": { "text": "ZGVmYWNlZA==" } })),
        ("its data", json!({ "data": null })),
        ("its owner", json!({ "metadata": { "ownerReferences": null } })),
    ] {
        secrets.patch("a", &Patch::Merge(patch), &PatchParams::default()).await.unwrap();
        let secret = repaired(what, None).await;
        assert_eq!(secret.uid(), second.uid(), "{what}");
    }
    controller.end().await;
}

/// One random act of somebody. What it meets may not be there; then it does nothing.
async fn act(maps: &Api<ConfigMap>, secrets: &Api<Secret>, rng: &mut fastrand::Rng) {
    let (name, text) = (format!("primary-{}", rng.u8(..20)), rng.u32(..).to_string());
    let data = Patch::Merge(json!({ "data": text_data(&text) }));
    let orphan = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
    let write = PatchParams::default();
    let found = match rng.u8(..10) {
        0..=2 => maps.create(&map(&name, &text), &WriteParams::default()).await.map(drop),
        3 | 4 => maps.patch(&name, &data, &write).await.map(drop),
        5 => maps.delete(&name, &DeleteParams::default()).await.map(drop),
        6 => secrets.delete(&name, &DeleteParams::default()).await.map(drop),
        7 => secrets.patch(&name, &orphan, &write).await.map(drop),
        _ => {
            let defaced = Patch::Merge(json!({ "data": { "text": null, "more": "eA==" } }));
            secrets.patch(&name, &defaced, &write).await.map(drop)
        }
    };
    if let Err(error) = found {
        assert!(error.is_not_found() || error.is_already_exists(), "{error}");
    }
}

#[tokio::test]
async fn wherever_it_begins_and_whatever_happens_it_ends_where_it_should() {
    let cluster = shared().await;
    let namespace = cluster.namespace("convergence").await.unwrap();
    let client = cluster.client().unwrap();
    let maps = maps(&client, &namespace);
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    let seed = clock::seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..50 {
        act(&maps, &secrets, &mut rng).await;
    }
    let runs = Runs::default();
    let reconcile = {
        let runs = runs.clone();
        move |map: Arc<ConfigMap>, context: Context| {
            let run = runs.begin(&context.key);
            async move {
                let kept = keep_secret(map, context).await;
                drop(run);
                kept
            }
        }
    };
    let controller = Running::start(keeper(&namespace), &Caches::new(client.clone()), reconcile);
    for _ in 0..300 {
        act(&maps, &secrets, &mut rng).await;
    }
    cluster
        .eventually(&format!("every Secret to be as its ConfigMap wants it (seed {seed})"), async || {
            let expected: BTreeMap<String, Secret> =
                listed(&maps).await.iter().map(|(name, map)| (name.clone(), secret_of(map))).collect();
            // Those of ConfigMaps that are gone are the garbage collector's.
            same(&all_kept(&listed(&secrets).await), &all_kept(&expected))
        })
        .await;
    controller.end().await;
}

/// How high it should be.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "runtime.e2e.test", version = "v1", kind = "Gauge", namespaced, status = GaugeStatus)]
struct GaugeSpec {
    level: i32,
}

/// How high it is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GaugeStatus {
    observed_generation: Option<i64>,
    level: i32,
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// Writes the status at every run, whether it changed or not: the server takes a write that changes nothing as none.
async fn gauge(gauge: Arc<Gauge>, context: Context) -> Result<Action, kube_client::Error> {
    let mut status = gauge.status.clone().unwrap_or_default();
    status.observed_generation = gauge.generation();
    status.level = gauge.spec.level;
    let ready = condition("Ready", Some(true), "Measured", "", gauge.generation(), clock::wall());
    set_condition(&mut status.conditions, ready);
    let api = Api::<Gauge>::namespaced(context.client, gauge.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(gauge.name(), &patch, &PatchParams::default()).await?;
    Ok(Action::AwaitChange)
}

/// Real time, for nothing tells that something will not happen: a controller that wakes itself does so within some
/// milliseconds, again and again.
const REST: Duration = Duration::from_secs(2);

#[tokio::test]
async fn its_own_status_does_not_wake_a_controller_for_ever() {
    const GAUGES: i32 = 20;
    let cluster = shared().await;
    let definition = Definition::of::<Gauge>(cluster);
    definition.install().await;
    let namespace = cluster.namespace("rest").await.unwrap();
    let (wire, client) = Wire::new(cluster.client().unwrap());
    let caches = Caches::with_config(client, quick());
    let runs = Runs::default();
    let reconcile = {
        let runs = runs.clone();
        move |object: Arc<Gauge>, context: Context| {
            let run = runs.begin(&context.key);
            async move {
                let told = gauge(object, context).await;
                drop(run);
                told
            }
        }
    };
    let query = Query::<Gauge>::all().within(&*namespace);
    let controller = Running::start(Controller::new(query), &caches, reconcile);
    let api = Api::<Gauge>::namespaced(cluster.client().unwrap(), &namespace);
    for level in 0..GAUGES {
        let gauge = Gauge::new(format!("gauge-{level}"), GaugeSpec { level });
        api.create(&gauge, &WriteParams::default()).await.unwrap();
    }
    let rests = async |expected: u32| {
        let resting = async || {
            let before = (runs.total(), wire.writes());
            tokio::time::sleep(REST).await;
            same(&(runs.total(), wire.writes()), &before)
        };
        cluster.eventually("nothing to happen any more", resting).await;
        // One for the object, one for the status that the first has written.
        assert_eq!((runs.total(), wire.writes()), (expected, expected as usize));
    };
    rests(2 * GAUGES.unsigned_abs()).await;
    for gauge in api.list(&kube_core::ListParams::default()).await.unwrap() {
        let status = gauge.status.clone().unwrap();
        assert_eq!((status.observed_generation, status.level), (gauge.generation(), gauge.spec.level));
    }

    let patch = Patch::Merge(json!({ "spec": { "level": 99 } }));
    api.patch("gauge-0", &patch, &PatchParams::default()).await.unwrap();
    rests(2 * GAUGES.unsigned_abs() + 2).await;
    assert_eq!(api.get("gauge-0").await.unwrap().status.unwrap().level, 99);
    controller.end().await;
}
