//! What the tests have in common: clusters, objects, an operator to run, and eyes to look with.

mod definition;
mod operator;
mod process;
mod wire;

use std::{collections::BTreeMap, fmt::Debug, panic::Location, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::{ListParams, ObjectMeta, Resource, ResourceExt, backoff::Curve};
use kube_e2e::{Cluster, Make};
use kube_runtime::{Query, Store, watcher};
use serde::de::DeserializeOwned;

pub(crate) use self::{
    definition::Definition,
    operator::{Running, Runs, keep_secret, secret_of},
    process::Process,
    wire::Wire,
};

/// The label of every object that a test makes. Clusters put objects of their own into each namespace.
pub(crate) const OURS: &str = "e2e=ours";

/// How long a test waits for what tells when it is there.
const PATIENCE: Duration = Duration::from_secs(90);

/// The cluster of all tests that do it no harm.
pub(crate) async fn shared() -> &'static Cluster {
    Cluster::shared().await.unwrap()
}

/// A server of the test's own, which it may hurt; none where there can be no such server.
pub(crate) async fn own(test: &str) -> Option<Cluster> {
    if Make::from_env().unwrap() == Make::ControlPlane {
        return Some(Cluster::control_plane().start().await.unwrap());
    }
    Cluster::from_env().await.unwrap().control_or_skip(test);
    None
}

/// The pace of watches for tests that wait for a retry: the default's 30 s would be most of their time.
pub(crate) fn quick() -> watcher::Config {
    let backoff = Curve::new(Duration::from_millis(100), Duration::from_secs(1));
    watcher::Config { backoff, ..watcher::Config::default() }
}

/// A ConfigMap with a text.
pub(crate) fn map(name: &str, text: &str) -> ConfigMap {
    ConfigMap { metadata: ours(name), data: Some(text_data(text)), ..ConfigMap::default() }
}

/// Its data.
pub(crate) fn text_data(text: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("text".to_owned(), text.to_owned())])
}

/// Its text.
pub(crate) fn text_of(map: &ConfigMap) -> &str {
    map.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str)
}

/// Metadata with a name and our label.
pub(crate) fn ours(name: &str) -> ObjectMeta {
    let (key, value) = OURS.split_once('=').unwrap();
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
        ..ObjectMeta::default()
    }
}

/// Our ConfigMaps of a namespace, to be watched.
pub(crate) fn our_maps(namespace: &str) -> Query<ConfigMap> {
    Query::all().within(namespace).labels(OURS)
}

/// The ConfigMaps of a namespace, to be written.
pub(crate) fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

/// Our objects by name.
pub(crate) async fn listed<K>(api: &Api<K>) -> BTreeMap<String, K>
where
    K: Resource + DeserializeOwned + Debug,
{
    let list = api.list(&ListParams::default().labels(OURS)).await.unwrap();
    list.into_iter().map(|object| (object.name().to_owned(), object)).collect()
}

/// Names and versions of our objects on the server.
pub(crate) async fn versions<K>(api: &Api<K>) -> BTreeMap<String, String>
where
    K: Resource + DeserializeOwned + Debug,
{
    let version = |object: &K| object.resource_version().unwrap_or_default().to_owned();
    listed(api).await.iter().map(|(name, object)| (name.clone(), version(object))).collect()
}

/// Names and versions of the objects in a store.
pub(crate) fn stored<K: DeserializeOwned + Send + Sync + 'static>(
    store: &Store<K>,
) -> BTreeMap<String, String> {
    let slots = store.slots();
    slots.iter().map(|slot| (slot.key().name().to_owned(), slot.resource_version().to_owned())).collect()
}

/// What comes about by itself, or a failed test: as patient as [`Cluster::eventually`], for what tells when it is there.
#[track_caller]
pub(crate) fn soon<T>(what: &str, comes: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let came = tokio::time::timeout(PATIENCE, comes).await;
        came.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for {what} (at {caller})"))
    }
}

/// Equal, or both sides for the message of a wait.
pub(crate) fn same<T: PartialEq + Debug>(what: &T, expected: &T) -> Result<(), String> {
    if what == expected { Ok(()) } else { Err(format!("{what:?} instead of {expected:?}")) }
}
