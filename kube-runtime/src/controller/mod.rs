//! Runs a reconciler for every object of a kind that something happened to.
//!
//! ```text
//!   caches ──deltas──▶ mapping ──keys──▶ Queue ──start──▶ worker: decode, reconcile
//!                      (mapping.rs)        ▲                (worker.rs)      │
//!                                          └────────── action, error ◀──────┘
//! ```
//! In: a [`Query`] for the primary kind, sources of related objects, a [`Reconciler`]. Out: reconciles, and an end in order. What
//! runs when is the queue's decision, what a change concerns `mapping.rs`'s; both are pure. Nothing runs before every
//! source has its first full list, so no reconciler takes "not listed yet" for "not there".

mod driver;
mod mapping;
mod reconciler;
#[cfg(test)]
mod tests;
mod worker;

use std::{sync::Arc, time::Duration};

use kube_client::clock;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use reconciler::{Action, Context, Reconciler};

use crate::{
    cache::{Caches, Keep},
    query::{Query, Target},
    queue::{self, Queue},
};
use driver::{ControllerDriver, Source};
use mapping::Mapping;
use worker::Workers;

/// Time that running reconciles get to end when the controller stops: well below the 30 s after which a Pod is killed, so
/// that watches, the server and the lease can still be closed in order.
const GRACE: Duration = Duration::from_secs(20);

/// A description of a controller: what it watches, and how it runs. Nothing happens until [`Controller::run`].
///
/// ```no_run
/// use std::{convert::Infallible, sync::Arc};
///
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_runtime::{Action, Caches, Context, Controller, Query, stop};
///
/// # async fn run(client: kube_client::Client) -> Result<(), kube_runtime::ControllerError> {
/// let reconcile = async |deployment: Arc<Deployment>, context: Context| {
///     tracing::info!(key = %context.key, "looking at {:?}", deployment.spec);
///     Ok::<_, Infallible>(Action::AwaitChange)
/// };
/// Controller::new(Query::<Deployment>::all())
///     .owns(Query::<ConfigMap>::all())
///     .run(&Caches::new(client), reconcile, stop::on_signal())
///     .await
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a controller does nothing until it is run"]
pub struct Controller<K> {
    query: Query<K>,
    related: Vec<(Target, Mapping)>,
    queue: queue::Config,
    grace: Duration,
}

impl<K> Controller<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    /// A controller for the objects of this query.
    pub fn new(query: Query<K>) -> Self {
        Self { query, related: Vec::new(), queue: queue::Config::default(), grace: GRACE }
    }

    /// Also watches objects that belong to the primary ones: a change of one, or its removal, concerns the object that its
    /// owner reference with `controller: true` names.
    pub fn owns<C: Resource>(self, query: Query<C>) -> Self {
        self.related(query.into_target(), false)
    }

    /// Like [`Controller::owns`], but a change concerns every owner of the primary kind: for objects that several share.
    pub fn owns_any<C: Resource>(self, query: Query<C>) -> Self {
        self.related(query.into_target(), true)
    }

    /// How many objects may be reconciled at the same time. Default 16; 0 means no limit.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.queue.concurrency = concurrency;
        self
    }

    /// How long running reconciles may take to end when the controller stops. Default 20 s: below the 30 s after which a
    /// Pod is killed.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Runs until `stop`: then no reconcile starts any more, running ones end or are cancelled when the grace is over, and
    /// all of them are gone when this returns. Watches that nobody else uses have been told to end by then;
    /// [`Caches::closed`] waits until they have.
    ///
    /// # Errors
    /// [`ControllerError::Cancelled`] if reconciles had to be cancelled. No failure of a request ends it.
    pub async fn run<R: Reconciler<K>>(
        self,
        caches: &Caches,
        reconciler: R,
        stop: CancellationToken,
    ) -> Result<(), ControllerError> {
        let wake = Arc::new(Notify::new());
        let store = caches.store(&self.query, Keep::Bytes);
        let primary = (self.query.target().clone(), Mapping::Primary);
        let sources = std::iter::once(primary)
            .chain(self.related)
            .map(|(target, mapping)| Source {
                subscription: caches.subscribe(&target, wake.clone()),
                mapping,
            })
            .collect();
        ControllerDriver {
            queue: Queue::new(self.queue, clock::seed()),
            store,
            sources,
            wake,
            workers: Workers::new(reconciler, self.query.target().resource.kind.to_string()),
            caches: caches.clone(),
            grace: self.grace,
        }
        .run(stop)
        .await
    }

    fn related(mut self, target: Target, any: bool) -> Self {
        let owner = self.query.target().resource.clone();
        self.related.push((target, Mapping::Owners { owner, any }));
        self
    }
}

/// Why a controller did not end in order.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControllerError {
    /// Reconciles were still running when the grace was over, and were cancelled.
    #[error("{running} reconciles were cancelled: they had not ended {grace:?} after the stop")]
    Cancelled {
        /// How many.
        running: usize,
        /// The grace they had.
        grace: Duration,
    },
}
