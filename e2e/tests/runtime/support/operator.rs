//! Controllers of tests: running ones, what they did, and one that keeps a Secret for each ConfigMap.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube_client::Api;
use kube_core::{ObjectKey, PatchParams, Resource, ResourceExt};
use kube_runtime::{Action, Caches, Context, Controller, ControllerError, Reconciler};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ours, soon, text_of};

/// A controller that runs until the test ends it.
#[must_use = "end it, so that its failures are the test's"]
pub(crate) struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    pub(crate) fn start<K, R>(controller: Controller<K>, caches: &Caches, reconciler: R) -> Self
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        R: Reconciler<K>,
    {
        let (stop, caches) = (CancellationToken::new(), caches.clone());
        let until = stop.clone();
        let task = tokio::spawn(async move { controller.run(&caches, reconciler, until).await });
        Self { stop, task }
    }

    /// Stops it, in order.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        soon("the controller to end", self.task).await.unwrap().unwrap();
    }
}

/// Which keys were reconciled how often. A clone is the same count.
#[derive(Clone, Default)]
pub(crate) struct Runs {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    counts: BTreeMap<ObjectKey, u32>,
    running: HashSet<ObjectKey>,
    overlaps: Vec<ObjectKey>,
}

impl Runs {
    /// Counts a run, which lasts until what is returned is dropped.
    pub(crate) fn begin(&self, key: &ObjectKey) -> Run {
        let mut inner = self.inner.lock().unwrap();
        *inner.counts.entry(key.clone()).or_default() += 1;
        if !inner.running.insert(key.clone()) {
            // Told to whoever asks for counts: a panic in a reconcile is one more failed reconcile, and no failed test.
            inner.overlaps.push(key.clone());
        }
        drop(inner);
        Run { runs: self.clone(), key: key.clone() }
    }

    /// All runs so far.
    pub(crate) fn total(&self) -> u32 {
        self.counts(|counts| counts.values().sum())
    }

    /// The runs of each name.
    pub(crate) fn by_name(&self) -> BTreeMap<String, u32> {
        self.counts(|counts| counts.iter().map(|(key, count)| (key.name().to_owned(), *count)).collect())
    }

    fn counts<T>(&self, read: impl FnOnce(&BTreeMap<ObjectKey, u32>) -> T) -> T {
        let inner = self.inner.lock().unwrap();
        assert_eq!(inner.overlaps, [], "run twice at once");
        read(&inner.counts)
    }
}

/// A run that is not over.
pub(crate) struct Run {
    runs: Runs,
    key: ObjectKey,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.runs.inner.lock().unwrap().running.remove(&self.key);
    }
}

/// The Secret that belongs to a ConfigMap: of the same name, with the same text.
pub(crate) fn secret_of(map: &ConfigMap) -> Secret {
    let mut metadata = ours(map.name());
    metadata.owner_references = map.controller_owner_ref(&()).map(|owner| vec![owner]);
    let text = ByteString(text_of(map).as_bytes().to_vec());
    Secret { metadata, data: Some([("text".to_owned(), text)].into()), ..Secret::default() }
}

/// Applies the Secret of a ConfigMap. Writes nothing where it is as it should be.
pub(crate) async fn keep_secret(map: Arc<ConfigMap>, context: Context) -> Result<Action, kube_client::Error> {
    if !map.is_deleting() {
        let api = Api::<Secret>::namespaced(context.client, map.namespace().unwrap_or_default());
        let params = PatchParams::apply("keeper").force();
        api.apply(map.name(), &secret_of(&map), &params).await?;
    }
    Ok(Action::AwaitChange)
}
