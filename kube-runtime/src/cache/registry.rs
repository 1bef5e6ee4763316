//! One watch and one cache for each target in a process, however many use it.
//!
//! In: targets. Out: leases on running caches. The first user starts the watch's task, later ones get the present state and then
//! changes, the last one to let go ends the task.

use std::{
    collections::HashMap,
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::FutureExt;
use kube_client::Client;
use kube_core::Resource;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Keep, Shared, Store, Subscription, Writer};
use crate::{
    error::panic_message,
    query::{Query, Target},
    watcher::{self, Cause, Fault, Problem, Request, Sink, WatchDriver},
};

/// How long a watch that panicked waits before it begins anew: long enough that a panic at every list is a line in the log
/// every half minute and not a load on the server.
const RESTART_AFTER: Duration = Duration::from_secs(30);

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

    /// Waits until no watch's task is left. To be called when every store, subscription and controller has gone: a watch
    /// that is still used runs on, and is waited for.
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
        let (client, config) = (self.inner.client.clone(), self.inner.config.clone());
        let (target_of, stop) = (target.clone(), lease.stop.clone());
        let attempt = {
            let (shared, stop) = (shared.clone(), stop.clone());
            move || {
                let writer = Writer::new(shared.clone());
                WatchDriver::new(client.clone(), target_of.clone(), config.clone(), writer).run(stop.clone())
            }
        };
        let report = move |problem| Writer::new(shared.clone()).report(problem);
        self.inner.tasks.spawn(keep_running(stop, attempt, report));
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

/// Runs a watch until its stop, whatever happens to it: one that panics begins anew, with a list, while readers keep what they
/// had. A cache that silently stood still would be worse than any panic.
async fn keep_running<F>(
    stop: CancellationToken,
    mut attempt: impl FnMut() -> F,
    mut report: impl FnMut(Problem),
) where
    F: Future<Output = ()>,
{
    while let Err(panic) = AssertUnwindSafe(attempt()).catch_unwind().await {
        let message = panic_message(&*panic);
        tracing::error!(panic = message, delay = ?RESTART_AFTER, "a watch panicked and begins anew");
        let fault = Fault::new(Cause::Panicked, message);
        report(Problem { during: Request::Watch, fault, failures: 1, delay: RESTART_AFTER });
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RESTART_AFTER) => {}
        }
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

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_panics_is_told_and_begins_anew() {
        let (attempts, problems) = (Cell::new(0), RefCell::new(Vec::new()));
        let attempt = || async {
            attempts.set(attempts.get() + 1);
            assert_eq!(attempts.get(), 2, "a bug");
        };
        keep_running(CancellationToken::new(), attempt, |problem| problems.borrow_mut().push(problem)).await;
        assert_eq!(attempts.get(), 2);
        let problems = problems.into_inner();
        assert!(
            matches!(&*problems, [one] if one.fault.cause == Cause::Panicked && one.fault.message.contains("a bug"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_the_wait_after_a_panic() {
        let stop = CancellationToken::new();
        let running = keep_running(stop.clone(), || async { panic!("always") }, |_| stop.cancel());
        tokio::time::timeout(Duration::from_secs(1), running).await.expect("it ends at the stop");
    }
}
