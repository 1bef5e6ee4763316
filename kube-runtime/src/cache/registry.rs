//! One watch and one cache for each target in a process, however many use it.
//!
//! In: targets. Out: leases on running caches. The first user starts the watch's task, later ones get the present state and then
//! changes, the last one to let go ends the task.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
};

use kube_client::Client;
use kube_core::Resource;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Keep, Shared, Store, Subscription, Writer};
use crate::{
    query::{Query, Target},
    watcher::{self, WatchDriver},
};

/// The caches of a process. Cheap to clone.
#[derive(Clone)]
pub struct Caches {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    config: watcher::Config,
    running: Mutex<HashMap<Target, Weak<Lease>>>,
    tasks: TaskTracker,
}

impl Caches {
    /// Caches filled through this client, with the default pace of watches.
    pub fn new(client: Client) -> Self {
        Self::with_config(client, watcher::Config::default())
    }

    /// Caches whose watches have this pace.
    pub fn with_config(client: Client, config: watcher::Config) -> Self {
        let inner = Inner { client, config, running: Mutex::default(), tasks: TaskTracker::new() };
        Self { inner: Arc::new(inner) }
    }

    /// The client that they are filled through.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The objects of a query. Starts its watch if nobody else has; needs a tokio runtime.
    ///
    /// The [`Keep`] policy of the first user of a target holds for all.
    pub fn store<K>(&self, query: &Query<K>, keep: Keep) -> Store<K>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        Store::new(self.lease(query.target(), keep))
    }

    /// The changes of a target, beginning with the objects that are there. `wake` is notified when there are some, and when
    /// the watch's health changes. Starts the watch if nobody else has; needs a tokio runtime.
    pub fn subscribe(&self, target: &Target, wake: Arc<Notify>) -> Subscription {
        let lease = self.lease(target, Keep::default());
        Subscription { subscriber: lease.shared.subscribe(wake), lease }
    }

    /// Waits until the tasks of all watches that nobody uses any more have ended.
    pub async fn closed(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    fn lease(&self, target: &Target, keep: Keep) -> Arc<Lease> {
        let mut running = self.inner.running.lock();
        if let Some(lease) = running.get(target).and_then(Weak::upgrade) {
            return lease;
        }
        running.retain(|_, lease| lease.strong_count() > 0);
        let shared = Shared::new(target.clone(), keep);
        let lease = Arc::new(Lease { shared: shared.clone(), stop: CancellationToken::new() });
        let writer = Writer::new(shared);
        let config = self.inner.config.clone();
        let driver = WatchDriver::new(self.inner.client.clone(), target.clone(), config, writer);
        self.inner.tasks.spawn(driver.run(lease.stop.clone()));
        running.insert(target.clone(), Arc::downgrade(&lease));
        lease
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.inner.running.lock();
        f.debug_set().entries(running.iter().filter(|(_, l)| l.strong_count() > 0).map(|(t, _)| t)).finish()
    }
}

/// The right to a running cache. The last one to go ends the watch.
pub(crate) struct Lease {
    shared: Arc<Shared>,
    stop: CancellationToken,
}

impl Lease {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
