//! Holds the objects of one watch, tells subscribers what changed, and lets readers read them.
//!
//! ```text
//!   watch's task ──▶ Writer ──┬─ objects: key ──▶ Arc<Slot>  ◀── Store<K>: get, all   (readers)
//!                   (diff.rs) └─ mailboxes: net change of each key ──▶ Subscription   (controllers)
//! ```
//! In: the events of a watcher. Out: complete sets to readers, [`Delta`]s to subscribers, [`Health`] to whoever asks.
//! A list is collected aside and becomes visible whole, by one swap of a pointer, so readers see the old complete set or the
//! new one. Everything that decides is pure (`diff.rs`, `mailbox.rs`, `slot.rs`); here are the locks, and the order in
//! which they are taken: a mailbox, then the objects. None is held over decoding, waking or anybody's work.
//!
//! Why a map behind a lock and not a copy for each reader: a read is one hash and one reference count, and a writer holds the
//! lock for the events of one read from the socket at most.
//! Opening watches, and sharing one cache among controllers, are left to `registry.rs`.

mod diff;
mod mailbox;
mod registry;
mod slot;
mod store;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::{
    fmt, mem,
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};

pub use mailbox::Delta;
pub use registry::Caches;
pub use slot::{Keep, Misfit, Slot};
pub use store::Store;

use crate::{
    query::Target,
    scan::Scanned,
    watcher::{Event, Problem, Sink},
};
use diff::{Change, Objects};
use mailbox::Mailbox;

/// How a cache's watch is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether a first full list has come in. Stays true from then on.
    pub synced: bool,
    /// What went wrong, and what is done about it; none once requests work again.
    pub problem: Option<Problem>,
}

/// What readers, subscribers and the writer of one cache share.
pub(crate) struct Shared {
    target: Target,
    keep: Keep,
    objects: RwLock<Arc<Objects>>,
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
    health: watch::Sender<Health>,
}

struct Subscriber {
    mailbox: Mutex<Mailbox>,
    wake: Arc<Notify>,
}

impl Shared {
    pub(crate) fn new(target: Target, keep: Keep) -> Arc<Self> {
        Arc::new(Self {
            target,
            keep,
            objects: RwLock::default(),
            subscribers: Mutex::default(),
            health: watch::Sender::default(),
        })
    }

    fn subscribe(self: &Arc<Self>, wake: Arc<Notify>) -> Arc<Subscriber> {
        let subscriber = Arc::new(Subscriber { mailbox: Mutex::default(), wake });
        self.subscribers.lock().push(Arc::downgrade(&subscriber));
        {
            // The writer delivers a change after it stored it. Whatever it stores from here on, it delivers after this lock is
            // free; whatever it stored before is in the set that is read under it. Nothing is lost, at worst told twice.
            let mut mailbox = subscriber.mailbox.lock();
            let present = self.objects.read().clone();
            mailbox.begin(present.values().cloned());
        }
        subscriber.wake.notify_one();
        subscriber
    }

    fn deliver(&self, changes: &[Change], initial: bool) {
        let mut subscribers = Vec::new();
        self.subscribers.lock().retain(|subscriber| match subscriber.upgrade() {
            Some(subscriber) => {
                subscribers.push(subscriber);
                true
            }
            None => false,
        });
        for subscriber in subscribers {
            let mut mailbox = subscriber.mailbox.lock();
            for change in changes {
                mailbox.add(change.clone(), initial);
            }
            drop(mailbox);
            subscriber.wake.notify_one();
        }
    }
}

/// The one writer of a cache: takes a watcher's events.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    /// The objects of a list that is not complete yet.
    listing: Option<Vec<Scanned>>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, listing: None }
    }

    fn publish(&mut self, listed: Vec<Scanned>) {
        // This is the only writer: nothing changes between reading the old set and swapping in the new one.
        let old = self.shared.objects.read().clone();
        let (new, changes) = diff::relist(&old, listed);
        *self.shared.objects.write() = Arc::new(new);
        let first = !self.shared.health.borrow().synced;
        self.shared.deliver(&changes, first);
        // After the delivery, so that who sees it synced has been told of everything.
        if first {
            self.shared.health.send_modify(|health| health.synced = true);
            self.wake_all();
        }
    }

    fn change(&mut self, events: Vec<Event<Scanned>>) {
        let mut changes = Vec::new();
        let mut objects = self.shared.objects.write();
        // Copied only if a reader holds the set as a whole at this moment.
        let set = Arc::make_mut(&mut objects);
        for event in events {
            match event {
                Event::Apply(object) => diff::apply(set, object, &mut changes),
                Event::Delete(object) => diff::remove(set, object, &mut changes),
                Event::Init | Event::InitApply(_) | Event::InitDone => {}
            }
        }
        drop(objects);
        if !changes.is_empty() {
            self.shared.deliver(&changes, false);
        }
    }

    fn wake_all(&self) {
        for subscriber in self.shared.subscribers.lock().iter().filter_map(Weak::upgrade) {
            subscriber.wake.notify_one();
        }
    }
}

impl Sink for Writer {
    async fn accept(&mut self, events: Vec<Event<Scanned>>) {
        let mut live = Vec::new();
        for event in events {
            match event {
                Event::Init => self.listing = Some(Vec::new()),
                Event::InitApply(object) => {
                    if let Some(listing) = &mut self.listing {
                        listing.push(object);
                    }
                }
                Event::InitDone => {
                    // What came before the list must not be laid over it.
                    if !live.is_empty() {
                        self.change(mem::take(&mut live));
                    }
                    if let Some(listed) = self.listing.take() {
                        self.publish(listed);
                    }
                }
                Event::Apply(_) | Event::Delete(_) => live.push(event),
            }
        }
        if !live.is_empty() {
            self.change(live);
        }
    }

    fn report(&mut self, problem: Problem) {
        self.shared.health.send_modify(|health| health.problem = Some(problem));
        self.wake_all();
    }

    fn recovered(&mut self) {
        self.shared.health.send_modify(|health| health.problem = None);
        self.wake_all();
    }
}

/// A controller's view of a cache: what changed since it last looked. Holds the watch open.
pub struct Subscription {
    subscriber: Arc<Subscriber>,
    lease: Arc<registry::Lease>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(self.target()).finish()
    }
}

impl Subscription {
    /// What changed since the last call; first of all the objects that were there at the beginning.
    pub fn take(&self) -> Vec<Delta> {
        self.subscriber.mailbox.lock().take()
    }

    /// How the watch is doing.
    pub fn health(&self) -> Health {
        self.lease.shared().health.borrow().clone()
    }

    /// What is watched.
    pub fn target(&self) -> &Target {
        &self.lease.shared().target
    }
}
