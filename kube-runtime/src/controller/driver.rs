//! Performs what a controller's queue orders: starts reconciles, and tells the queue what happened meanwhile.
//!
//! In: deltas of the sources, ends of runs, the stop. Out: running reconciles. The queue decides what runs when; this
//! loop drains its orders, waits for the next fact, and hands it over.

use std::{sync::Arc, time::Instant};

use kube_client::clock;
use kube_core::ObjectKey;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    Context, ControllerError, Reconciler,
    mapping::{Effect, Mapping},
    worker::{Ended, Workers},
};
use crate::{
    cache::{Caches, Store, Subscription},
    queue::{Input, LONGEST_DELAY, Outcome, Output, Queue, Trigger},
};

/// Most reconciles started before the sources and ended runs get a turn.
const MAX_ORDERS_PER_TURN: usize = 256;

pub(super) struct Source {
    pub(super) subscription: Subscription,
    pub(super) mapping: Mapping,
}

#[must_use = "a driver does nothing until it is run"]
pub(super) struct ControllerDriver<K, R> {
    pub(super) queue: Queue<ObjectKey>,
    pub(super) store: Store<K>,
    pub(super) sources: Vec<Source>,
    /// Notified by every source.
    pub(super) wake: Arc<Notify>,
    pub(super) workers: Workers<R>,
    pub(super) caches: Caches,
    pub(super) grace: std::time::Duration,
}

/// Where the controller is in its life.
enum Phase {
    /// Not every source has its first full list.
    Syncing,
    Running,
    /// Stopped: running reconciles have until then.
    Stopping(Instant),
}

impl<K, R> ControllerDriver<K, R>
where
    K: DeserializeOwned + Send + Sync + 'static,
    R: Reconciler<K>,
{
    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), ControllerError> {
        let mut phase = Phase::Syncing;
        loop {
            if self.drain() {
                self.workers.join().await;
                return Ok(());
            }
            if self.queue.has_orders() {
                tokio::task::yield_now().await;
            }
            let stopping = match phase {
                Phase::Stopping(until) => Some(until),
                Phase::Syncing | Phase::Running => None,
            };
            tokio::select! {
                biased;
                () = stop.cancelled(), if stopping.is_none() => {
                    let now = clock::now();
                    self.queue.handle(now, Input::Stopped);
                    phase = Phase::Stopping(now + self.grace.min(LONGEST_DELAY));
                }
                ended = self.workers.next_ended() => {
                    self.ended(ended);
                    // Reconciles that end all the time must not keep the sources from being heard.
                    self.collect();
                }
                () = clock::sleep_until(stopping), if stopping.is_some() => {
                    let running = self.queue.running();
                    self.workers.cancel().await;
                    return Err(ControllerError::Cancelled { running, grace: self.grace });
                }
                () = self.wake.notified() => {
                    self.collect();
                    if matches!(phase, Phase::Syncing) && self.synced() {
                        self.queue.handle(clock::now(), Input::Opened);
                        phase = Phase::Running;
                    }
                }
                () = clock::sleep_until(self.queue.deadline()) => {
                    self.queue.handle(clock::now(), Input::Woke);
                }
                () = std::future::ready(()), if self.queue.has_orders() => {}
            }
        }
    }

    /// Performs a turn's worth of orders. True when there will be no more.
    fn drain(&mut self) -> bool {
        for _ in 0..MAX_ORDERS_PER_TURN {
            match self.queue.poll(clock::now()) {
                None => break,
                Some(Output::Drained) => return true,
                Some(Output::Start { key, reason, attempt, waited: _ }) => match self.store.slot(&key) {
                    // Gone meanwhile: nothing to reconcile.
                    None => self.finished(key, Outcome::AwaitChange),
                    Some(slot) => {
                        let (client, caches) = (self.caches.client().clone(), self.caches.clone());
                        let context = Context { client, caches, key, reason, attempt };
                        self.workers.start(slot, self.store.keep(), context);
                    }
                },
            }
        }
        false
    }

    fn ended(&mut self, first: Ended) {
        let mut next = Some(first);
        while let Some(Ended { key, outcome }) = next {
            self.finished(key, outcome);
            next = self.workers.try_ended();
        }
    }

    fn finished(&mut self, key: ObjectKey, outcome: Outcome) {
        self.queue.handle(clock::now(), Input::Finished { key, outcome });
    }

    /// Hands over what changed in the sources.
    fn collect(&mut self) {
        let now = clock::now();
        let mut effects = Vec::new();
        for source in &self.sources {
            for delta in source.subscription.take() {
                source.mapping.effects(&delta, &mut effects);
            }
        }
        // Keys that the same thing happened to, one after the other, go in together: a first list is one input.
        let mut run: Option<(Trigger, Vec<ObjectKey>)> = None;
        for effect in effects {
            match (effect, &mut run) {
                (Effect::Trigger(key, by), Some((same, keys))) if by == *same => keys.push(key),
                (Effect::Trigger(key, by), _) => self.trigger(now, run.replace((by, vec![key]))),
                (Effect::Forget(key), _) => {
                    self.trigger(now, run.take());
                    self.queue.handle(now, Input::Forgotten { key });
                }
            }
        }
        self.trigger(now, run);
    }

    fn trigger(&mut self, now: Instant, run: Option<(Trigger, Vec<ObjectKey>)>) {
        if let Some((by, keys)) = run {
            self.queue.handle(now, Input::TriggeredAll { keys, by });
        }
    }

    fn synced(&self) -> bool {
        self.sources.iter().all(|source| source.subscription.health().synced)
    }
}
