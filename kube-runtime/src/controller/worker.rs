//! Runs one reconcile to its end, whatever that is, and reports exactly one outcome for it.
//!
//! In: a key's slot, a reconciler. Out: an [`Ended`] on a channel. A panic is a failure of that key; a guard reports for a task that
//! is cancelled, so that a key's mark in the queue is always freed. Does not decide what follows from an outcome.

use std::{error::Error, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use kube_core::ObjectKey;
use serde::de::DeserializeOwned;
use tokio::{sync::mpsc, task::JoinSet};
use tracing::Instrument;

use super::{Action, Context, Reconciler};
use crate::{
    cache::{Keep, Slot},
    error::{causes, chain, panic_message},
    queue::Outcome,
    watcher::MAX_RETRY_AFTER,
};

/// The end of a run.
pub(super) struct Ended {
    pub(super) key: ObjectKey,
    pub(super) outcome: Outcome,
}

/// The running reconciles of a controller.
pub(super) struct Workers<R> {
    reconciler: Arc<R>,
    kind: String,
    tasks: JoinSet<()>,
    ended: mpsc::UnboundedSender<Ended>,
    inbox: mpsc::UnboundedReceiver<Ended>,
}

impl<R> Workers<R> {
    pub(super) fn new(reconciler: R, kind: String) -> Self {
        // Bounded by the queue's concurrency: a key reports once for each start.
        let (ended, inbox) = mpsc::unbounded_channel();
        Self { reconciler: Arc::new(reconciler), kind, tasks: JoinSet::new(), ended, inbox }
    }

    /// Starts a reconcile of what is in the slot, whose cache has this policy.
    pub(super) fn start<K>(&mut self, slot: Arc<Slot>, keep: Keep, context: Context)
    where
        K: DeserializeOwned + Send + Sync + 'static,
        R: Reconciler<K>,
    {
        let reconciler = self.reconciler.clone();
        let span = tracing::info_span!("reconcile", kind = self.kind, object = %context.key, reason = %context.reason,
            attempt = context.attempt);
        let report = Report { key: Some(context.key.clone()), ended: self.ended.clone() };
        self.tasks.spawn(
            async move {
                // Declared before the reconcile's future, and so dropped after it.
                let report = report;
                let outcome = run(&*reconciler, &slot, keep, context).await;
                report.done(outcome);
            }
            .instrument(span),
        );
        // Ended tasks would pile up in the set otherwise.
        while self.tasks.try_join_next().is_some() {}
    }

    /// The next run that ends.
    pub(super) async fn next_ended(&mut self) -> Ended {
        // A sender is held here, so the channel does not close.
        match self.inbox.recv().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }

    /// A run that has ended already.
    pub(super) fn try_ended(&mut self) -> Option<Ended> {
        self.inbox.try_recv().ok()
    }

    /// Cancels what still runs, at its next await, and waits until it is gone.
    pub(super) async fn cancel(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Waits until the tasks, all of which have reported, are gone.
    pub(super) async fn join(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Reports a run's end, also when its task is dropped on the way.
struct Report {
    key: Option<ObjectKey>,
    ended: mpsc::UnboundedSender<Ended>,
}

impl Report {
    fn done(mut self, outcome: Outcome) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: Outcome) {
        if let Some(key) = self.key.take() {
            // The receiver is gone only when the controller is.
            let _ = self.ended.send(Ended { key, outcome });
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.send(Outcome::Failed { retry_after: None });
    }
}

async fn run<K, R>(reconciler: &R, slot: &Slot, keep: Keep, context: Context) -> Outcome
where
    K: DeserializeOwned + Send + Sync + 'static,
    R: Reconciler<K>,
{
    // All that is the author's: the type's decoding, the reconcile, the words of its error.
    let reconcile = async {
        // One that does not fit its type was told by the slot, and is left alone until it changes.
        let Ok(object) = slot.decode::<K>(keep) else { return Outcome::AwaitChange };
        match reconciler.reconcile(object, context).await {
            Ok(Action::AwaitChange) => Outcome::AwaitChange,
            Ok(Action::RequeueAfter(delay)) => Outcome::RequeueAfter(delay),
            Err(error) => {
                let error: Box<dyn Error + Send + Sync> = error.into();
                tracing::warn!(error = chain(&*error), "reconcile failed");
                Outcome::Failed { retry_after: retry_after(&*error) }
            }
        }
    };
    AssertUnwindSafe(reconcile).catch_unwind().await.unwrap_or_else(|panic| {
        tracing::error!(panic = panic_message(&*panic), "reconcile panicked");
        Outcome::Failed { retry_after: None }
    })
}

/// How long the server wants to be left alone, if a refusal is among the error's causes. Not longer than a watcher would
/// heed it, and for the same reason.
fn retry_after(error: &(dyn Error + 'static)) -> Option<Duration> {
    let asked = causes(error).find_map(|cause| cause.downcast_ref::<kube_client::Error>()?.retry_after())?;
    Some(asked.min(MAX_RETRY_AFTER))
}
