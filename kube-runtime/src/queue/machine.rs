//! The queue's states and transitions; the module above says what they are for.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    time::{Duration, Instant},
};

use foldhash::fast::FixedState;
use kube_core::backoff;

use super::{
    Config, Input, Outcome, Output, Reason, Trigger,
    line::{Arena, Line},
    timers::{Timer, Timers},
};

/// Live starts after which one listed key gets its turn, if any waits. With 4, a first list of n objects is through
/// after 5 n starts under a full load of live work, and a live change waits for one start more than without.
pub const LIVE_STARTS_IN_A_ROW: u32 = 4;

/// The longest time a key waits. A year is beyond the life of any process, and adding it to a clock cannot overflow.
pub const LONGEST_DELAY: Duration = Duration::from_hours(365 * 24);

/// Keys kept room for after a burst has drained, see the arena's constant of the same purpose.
const KEPT_KEYS: usize = 1024;

/// Decides which key runs next, which waits, and until when. The module says the rules.
///
/// Facts go in with [`handle`](Self::handle); orders are then taken out with [`poll`](Self::poll) until it has none.
/// [`deadline`](Self::deadline) says by when the next input (any, or [`Input::Woke`]) is wanted. The other methods
/// report. Time is an argument and does not go backwards; randomness comes from the seed alone, so a history of
/// inputs gives the same orders again. Every input may be repeated, and one that does not fit changes nothing.
///
/// `K` is cloned once for each new entry and once for each start, so it should be cheap to clone.
pub struct Queue<K> {
    config: Config,
    rng: fastrand::Rng,
    phase: Phase,
    /// From key to entry. Never iterated, so that the order of a hash decides nothing.
    ids: HashMap<K, usize, FixedState>,
    entries: Arena<KeyEntry<K>>,
    live: Line,
    listed: Line,
    /// In the order of their starts.
    running: Line,
    timers: Timers,
    /// Live starts in a row that passed a listed key over.
    live_starts: u32,
}

/// What the queue as a whole waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first full list of every source.
    Sources,
    /// The next fact.
    Facts,
    /// The end of the runs under way.
    Runs,
    /// Nothing: the driver knows that it is over.
    Nothing,
}

struct KeyEntry<K> {
    key: K,
    /// Failures that raised the delay, since the last success.
    failures: u32,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// In the line of its reason.
    Ready { reason: Reason, since: Instant },
    /// In the line of running keys.
    Running { reason: Reason, since: Instant, again: Option<Trigger>, forgotten: bool },
    /// In the timers.
    Delayed { timer: Timer, then: Reason },
}

/// The line in which work of a reason waits. Timers are live work: they are promises, and few.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    Live,
    Listed,
}

const fn lane_of(reason: Reason) -> Lane {
    match reason {
        Reason::Triggered(Trigger::Listed) => Lane::Listed,
        Reason::Triggered(Trigger::Changed | Trigger::Related | Trigger::Requested)
        | Reason::Requeued
        | Reason::Retried => Lane::Live,
    }
}

impl<K: Hash + Eq + Clone> Queue<K> {
    /// A queue that waits for [`Input::Opened`]. The seed decides the jitter of retries, and how keys are hashed.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config,
            rng: fastrand::Rng::with_seed(seed),
            phase: Phase::Sources,
            ids: HashMap::with_hasher(FixedState::with_seed(seed)),
            entries: Arena::new(),
            live: Line::new(),
            listed: Line::new(),
            running: Line::new(),
            timers: Timers::new(),
            live_starts: 0,
        }
    }

    /// Takes in one fact. Whatever is due at `now` becomes ready first.
    pub fn handle(&mut self, now: Instant, input: Input<K>) {
        self.wake(now);
        match input {
            Input::Triggered { key, by } => self.trigger(now, key, by),
            Input::TriggeredAll { keys, by } => {
                // The keys of a second list are mostly here already.
                let new = keys.len().saturating_sub(self.ids.len());
                self.ids.reserve(new);
                self.entries.reserve(new);
                for key in keys {
                    self.trigger(now, key, by);
                }
            }
            Input::Finished { key, outcome } => self.finish(now, key, outcome),
            Input::Forgotten { key } => self.forget(key),
            Input::Opened => self.open(),
            Input::Woke => {}
            Input::Stopped => self.stop(),
        }
    }

    /// The next order, if there is one. `now` only measures how long a key waited.
    pub fn poll(&mut self, now: Instant) -> Option<Output<K>> {
        match self.phase {
            Phase::Sources | Phase::Nothing => None,
            Phase::Facts => self.start(now),
            Phase::Runs => (self.running.len() == 0).then(|| {
                self.phase = Phase::Nothing;
                Output::Drained
            }),
        }
    }

    /// The earliest moment at which a waiting key is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Whether [`poll`](Self::poll) has an order.
    pub fn has_orders(&self) -> bool {
        match self.phase {
            Phase::Sources | Phase::Nothing => false,
            Phase::Facts => self.depth() > 0 && self.has_room(),
            Phase::Runs => self.running.len() == 0,
        }
    }

    /// Keys that would start now if nothing held them back.
    pub fn depth(&self) -> usize {
        self.live.len() + self.listed.len()
    }

    /// Keys whose run has not finished.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Keys that wait for their time.
    pub fn delayed(&self) -> usize {
        self.timers.len()
    }

    /// Keys whose last run failed. Looks at every entry, so it is for status pages and scrapes.
    pub fn failing(&self) -> usize {
        self.entries.values().filter(|entry| entry.failures > 0).count()
    }

    /// How long the first of the ready keys has been waiting: the longest of both lanes, but for keys that a change
    /// moved from the listed lane to the end of the other.
    pub fn longest_wait(&self, now: Instant) -> Option<Duration> {
        let heads = [self.live.first(), self.listed.first()];
        heads.into_iter().flatten().filter_map(|id| self.entries[id].waited(now)).max()
    }

    /// The key that has been running the longest, and for how long.
    pub fn longest_run(&self, now: Instant) -> Option<(&K, Duration)> {
        let entry = &self.entries[self.running.first()?];
        match entry.state {
            State::Running { since, .. } => Some((&entry.key, now.saturating_duration_since(since))),
            State::Ready { .. } | State::Delayed { .. } => None,
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some((timer, id)) = self.timers.pop(now) {
            if let State::Delayed { then, .. } = self.entries[id].state {
                self.make_ready(id, then, timer.due);
            }
        }
    }

    fn trigger(&mut self, now: Instant, key: K, by: Trigger) {
        if !self.takes_work() {
            return;
        }
        let reason = Reason::Triggered(by);
        let id = match self.ids.entry(key) {
            Entry::Vacant(vacant) => {
                let state = State::Ready { reason, since: now };
                let id = self.entries.insert(KeyEntry { key: vacant.key().clone(), failures: 0, state });
                vacant.insert(id);
                self.make_ready(id, reason, now);
                return;
            }
            Entry::Occupied(occupied) => *occupied.get(),
        };
        match &mut self.entries[id].state {
            State::Ready { reason: old, since } => {
                if lane_of(*old) == Lane::Listed && lane_of(reason) == Lane::Live {
                    let since = *since;
                    self.listed.unlink(&mut self.entries, id);
                    self.make_ready(id, reason, since);
                }
            }
            State::Running { again, .. } => *again = Some(again.map_or(by, |old| more_urgent(old, by))),
            State::Delayed { timer, .. } => {
                self.timers.disarm(*timer);
                self.make_ready(id, reason, now);
            }
        }
    }

    fn start(&mut self, now: Instant) -> Option<Output<K>> {
        if !self.has_room() {
            return None;
        }
        let id = self.next_ready()?;
        let entry = &mut self.entries[id];
        let State::Ready { reason, since } = entry.state else { return None };
        entry.state = State::Running { reason, since: now, again: None, forgotten: false };
        let order = Output::Start {
            key: entry.key.clone(),
            reason,
            attempt: entry.failures.saturating_add(1),
            waited: now.saturating_duration_since(since),
        };
        self.running.push(&mut self.entries, id);
        Some(order)
    }

    fn next_ready(&mut self) -> Option<usize> {
        let listed_waits = self.listed.len() > 0;
        if listed_waits && self.live_starts >= LIVE_STARTS_IN_A_ROW || self.live.len() == 0 {
            let id = self.listed.pop(&mut self.entries)?;
            self.live_starts = 0;
            return Some(id);
        }
        // Only starts that pass a listed key over count: an idle hour earns that lane nothing.
        self.live_starts = if listed_waits { self.live_starts + 1 } else { 0 };
        self.live.pop(&mut self.entries)
    }

    fn finish(&mut self, now: Instant, key: K, outcome: Outcome) {
        let drops_all = !self.takes_work();
        let Entry::Occupied(occupied) = self.ids.entry(key) else { return };
        let id = *occupied.get();
        let entry = &mut self.entries[id];
        let State::Running { reason, again, forgotten, .. } = entry.state else { return };
        // What a forgotten key's run asks for was meant for the object that is gone.
        let outcome = if forgotten { Outcome::AwaitChange } else { outcome };
        entry.failures = failures_after(entry.failures, reason, outcome);
        let failures = entry.failures;
        self.running.unlink(&mut self.entries, id);
        if let Some(by) = again.filter(|_| !drops_all) {
            return self.make_ready(id, Reason::Triggered(by), now);
        }
        match outcome {
            Outcome::RequeueAfter(delay) if !drops_all => self.delay(now, id, delay, Reason::Requeued),
            Outcome::Failed { retry_after } if !drops_all => {
                let least = retry_after.unwrap_or_default().min(LONGEST_DELAY);
                let delay = backoff::jitter(self.config.curve.delay(failures).max(least), &mut self.rng);
                self.delay(now, id, delay, Reason::Retried);
            }
            Outcome::AwaitChange | Outcome::RequeueAfter(_) | Outcome::Failed { .. } => {
                occupied.remove();
                self.entries.remove(id);
                self.give_back();
            }
        }
    }

    fn forget(&mut self, key: K) {
        let Entry::Occupied(occupied) = self.ids.entry(key) else { return };
        let id = *occupied.get();
        let entry = &mut self.entries[id];
        entry.failures = 0;
        match &mut entry.state {
            State::Ready { reason, .. } => match lane_of(*reason) {
                Lane::Live => self.live.unlink(&mut self.entries, id),
                Lane::Listed => self.listed.unlink(&mut self.entries, id),
            },
            State::Delayed { timer, .. } => self.timers.disarm(*timer),
            State::Running { again, forgotten, .. } => {
                (*again, *forgotten) = (None, true);
                return;
            }
        }
        occupied.remove();
        self.entries.remove(id);
        self.give_back();
    }

    fn open(&mut self) {
        match self.phase {
            Phase::Sources => self.phase = Phase::Facts,
            Phase::Facts | Phase::Runs | Phase::Nothing => {}
        }
    }

    fn stop(&mut self) {
        if !self.takes_work() {
            return;
        }
        self.phase = Phase::Runs;
        let mut waiting: Vec<_> = self.timers.take_all().collect();
        for line in [&mut self.live, &mut self.listed] {
            waiting.extend(std::iter::from_fn(|| line.pop(&mut self.entries)));
        }
        for id in waiting {
            self.ids.remove(&self.entries.remove(id).key);
        }
        self.give_back();
    }

    const fn takes_work(&self) -> bool {
        match self.phase {
            Phase::Sources | Phase::Facts => true,
            Phase::Runs | Phase::Nothing => false,
        }
    }

    const fn has_room(&self) -> bool {
        self.config.concurrency == 0 || self.running.len() < self.config.concurrency
    }

    /// Puts an entry that is in no line and no timer into the line of its reason.
    fn make_ready(&mut self, id: usize, reason: Reason, since: Instant) {
        self.entries[id].state = State::Ready { reason, since };
        match lane_of(reason) {
            Lane::Live => self.live.push(&mut self.entries, id),
            Lane::Listed => self.listed.push(&mut self.entries, id),
        }
    }

    /// The same for later; what is due now does not pass through a timer.
    fn delay(&mut self, now: Instant, id: usize, delay: Duration, then: Reason) {
        if delay.is_zero() {
            return self.make_ready(id, then, now);
        }
        let timer = self.timers.arm(now + delay.min(LONGEST_DELAY), id);
        self.entries[id].state = State::Delayed { timer, then };
    }

    /// Returns the memory of a burst once nothing is left of it.
    fn give_back(&mut self) {
        if self.ids.is_empty() && self.ids.capacity() > 2 * KEPT_KEYS {
            self.ids.shrink_to(KEPT_KEYS);
        }
    }
}

impl<K> KeyEntry<K> {
    fn waited(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Ready { since, .. } => Some(now.saturating_duration_since(since)),
            State::Running { .. } | State::Delayed { .. } => None,
        }
    }
}

/// How many failures a key has after a run. One that a trigger started before the delay was over does not count, or
/// an object with many events would reach the longest delay within seconds.
fn failures_after(before: u32, reason: Reason, outcome: Outcome) -> u32 {
    match (outcome, reason) {
        (Outcome::AwaitChange | Outcome::RequeueAfter(_), _) => 0,
        (Outcome::Failed { .. }, Reason::Retried) => before.saturating_add(1),
        (Outcome::Failed { .. }, Reason::Triggered(_) | Reason::Requeued) => before.max(1),
    }
}

/// Of two triggers for one run, the one that decides its lane; of two in the same lane, the first.
fn more_urgent(old: Trigger, new: Trigger) -> Trigger {
    match (lane_of(Reason::Triggered(old)), lane_of(Reason::Triggered(new))) {
        (Lane::Listed, Lane::Live) => new,
        (Lane::Live | Lane::Listed, _) => old,
    }
}
