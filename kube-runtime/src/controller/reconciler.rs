//! What a controller's author writes: a [`Reconciler`], and the [`Action`] it answers with.

use std::{error::Error, sync::Arc, time::Duration};

use kube_client::Client;
use kube_core::ObjectKey;

use crate::{cache::Caches, queue::Reason};

/// Brings the world into the state that an object asks for.
///
/// It is given the object as the cache has it now, and is called again whenever something that concerns the object changed.
/// So it looks at what is, not at what happened, and does nothing when all is well. A key never runs twice at once.
///
/// Every `Fn(Arc<K>, Context) -> Future<Output = Result<Action, E>>` is one.
pub trait Reconciler<K>: Send + Sync + 'static {
    /// Why it failed. Retried after a growing delay, and logged with its sources. A [`kube_client::Error`] among these that
    /// says when to try again (`Retry-After`) is heeded, up to 5 minutes.
    type Error: Into<Box<dyn Error + Send + Sync>>;

    /// Reconciles one object. Dropped in the middle (at its next await) when the controller stops and the grace is over.
    fn reconcile(
        &self,
        object: Arc<K>,
        context: Context,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send;
}

impl<K, F, Fut, E> Reconciler<K> for F
where
    F: Fn(Arc<K>, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, E>> + Send,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    type Error = E;

    fn reconcile(&self, object: Arc<K>, context: Context) -> impl Future<Output = Result<Action, E>> + Send {
        self(object, context)
    }
}

/// What a reconcile has at hand besides its object.
#[derive(Clone, Debug)]
pub struct Context {
    /// The client.
    pub client: Client,
    /// The process's caches, to read other kinds from.
    pub caches: Caches,
    /// The object's key.
    pub key: ObjectKey,
    /// What made it run.
    pub reason: Reason,
    /// 1, or more after failures.
    pub attempt: u32,
}

/// When to run again, if nothing changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// When something changes.
    AwaitChange,
    /// After this time. The newest run decides: an earlier request for another time is void.
    RequeueAfter(Duration),
}
