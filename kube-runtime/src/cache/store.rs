//! Reads a cache as objects of one type.

use std::{fmt, marker::PhantomData, sync::Arc};

use kube_core::ObjectKey;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::{Health, Keep, Misfit, Slot, registry::Lease};
use crate::query::Target;

/// Typed reading access to a cache. Cheap to clone; the watch stays open while one is held.
///
/// Typed, dynamic and metadata-only stores of one target read the same slots. An object that does not fit `K` is there by key
/// ([`Store::contains`], [`Store::slot`]) and is not seen as a `K`.
pub struct Store<K> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned + Send + Sync + 'static> Store<K> {
    pub(super) fn new(lease: Arc<Lease>) -> Self {
        Self { lease, kind: PhantomData }
    }

    pub(crate) fn keep(&self) -> Keep {
        self.lease.shared().keep
    }

    /// The object with this key; `None` if there is none, or if it does not fit `K`.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.try_get(key)?.ok()
    }

    /// The object with this key, if there is one, or why it does not fit `K`.
    pub fn try_get(&self, key: &ObjectKey) -> Option<Result<Arc<K>, Arc<Misfit>>> {
        let slot = self.slot(key)?;
        Some(slot.decode(self.keep()))
    }

    /// Every object that fits `K`, in no order: all of one moment.
    pub fn all(&self) -> Vec<Arc<K>> {
        let keep = self.keep();
        self.slots().iter().filter_map(|slot| slot.decode(keep).ok()).collect()
    }

    /// The undecoded object with this key.
    pub fn slot(&self, key: &ObjectKey) -> Option<Arc<Slot>> {
        self.lease.shared().objects.read().get(key).cloned()
    }

    /// Every object undecoded, in no order: all of one moment.
    pub fn slots(&self) -> Vec<Arc<Slot>> {
        let objects = self.lease.shared().objects.read().clone();
        objects.values().cloned().collect()
    }

    /// Whether there is an object with this key.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.lease.shared().objects.read().contains_key(key)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lease.shared().objects.read().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a first full list has come in. Until then the store is empty, which says nothing.
    pub async fn synced(&self) {
        let mut health = self.lease.shared().health.subscribe();
        // The sender lives as long as the lease, which is held here.
        let _ = health.wait_for(|health| health.synced).await;
    }

    /// How the watch is doing, now and from now on.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.lease.shared().health.subscribe()
    }

    /// What is watched.
    pub fn target(&self) -> &Target {
        &self.lease.shared().target
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { lease: self.lease.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.lease.shared().target).finish()
    }
}
