//! The queue against a naive one, over random histories.
//!
//! The model keeps what it knows in plain maps and looks through all of them each time. It shares the delays and the
//! random numbers with the queue, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use kube_core::backoff;
use proptest::prelude::*;

use super::*;

const KEYS: u8 = 6;

/// 512 histories of up to 1,000 facts: about 250,000 steps in each test run, within a few seconds.
const HISTORIES: u32 = 512;

#[derive(Default)]
struct Model {
    concurrency: usize,
    open: bool,
    stopped: bool,
    told: bool,
    /// Place in line and reason.
    ready: BTreeMap<u8, (u64, Reason)>,
    /// Reason, what was triggered meanwhile, whether it was forgotten.
    running: BTreeMap<u8, (Reason, Vec<Trigger>, bool)>,
    delayed: BTreeMap<u8, (Instant, u64, Reason)>,
    failures: BTreeMap<u8, u32>,
    places: u64,
    passed_over: u32,
}

impl Model {
    fn place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    fn is_listed(reason: Reason) -> bool {
        reason == Reason::Triggered(Trigger::Listed)
    }

    fn enqueue(&mut self, key: u8, reason: Reason) {
        let place = self.place();
        self.ready.insert(key, (place, reason));
    }

    fn wake(&mut self, now: Instant) {
        let mut due: Vec<_> =
            self.delayed.iter().filter(|(_, timer)| timer.0 <= now).map(|(k, t)| (*t, *k)).collect();
        due.sort_by_key(|((due, place, _), _)| (*due, *place));
        for ((_, _, reason), key) in due {
            self.delayed.remove(&key);
            self.enqueue(key, reason);
        }
    }

    fn trigger(&mut self, key: u8, by: Trigger) {
        let reason = Reason::Triggered(by);
        if let Some((_, triggers, _)) = self.running.get_mut(&key) {
            return triggers.push(by);
        }
        self.delayed.remove(&key);
        let waits =
            self.ready.get(&key).is_some_and(|(_, old)| !Self::is_listed(*old) || by == Trigger::Listed);
        if !waits {
            self.enqueue(key, reason);
        }
    }

    fn finish(&mut self, now: Instant, key: u8, outcome: Outcome, curve: &Curve, rng: &mut fastrand::Rng) {
        let Some((reason, triggers, forgotten)) = self.running.remove(&key) else { return };
        let before = self.failures.remove(&key).unwrap_or(0);
        let failed = matches!(outcome, Outcome::Failed { .. }) && !forgotten;
        if failed {
            let counts = before == 0 || reason == Reason::Retried;
            self.failures.insert(key, before + u32::from(counts));
        }
        if self.stopped {
            return;
        }
        let live = triggers.iter().find(|by| **by != Trigger::Listed);
        if let Some(by) = live.or(triggers.first()) {
            return self.enqueue(key, Reason::Triggered(*by));
        }
        let (delay, reason) = match outcome {
            _ if forgotten => return,
            Outcome::AwaitChange => return,
            Outcome::RequeueAfter(delay) => (delay, Reason::Requeued),
            Outcome::Failed { retry_after } => {
                let least = curve.delay(self.failures[&key]).max(retry_after.unwrap_or_default());
                (backoff::jitter(least, rng), Reason::Retried)
            }
        };
        if delay.is_zero() {
            self.enqueue(key, reason);
        } else {
            let place = self.place();
            self.delayed.insert(key, (now + delay, place, reason));
        }
    }

    fn forget(&mut self, key: u8) {
        self.ready.remove(&key);
        self.delayed.remove(&key);
        self.failures.remove(&key);
        if let Some((_, triggers, forgotten)) = self.running.get_mut(&key) {
            triggers.clear();
            *forgotten = true;
        }
    }

    fn handle(&mut self, now: Instant, input: Input<u8>, curve: &Curve, rng: &mut fastrand::Rng) {
        self.wake(now);
        match input {
            Input::Triggered { .. } | Input::TriggeredAll { .. } if self.stopped => {}
            Input::Triggered { key, by } => self.trigger(key, by),
            Input::TriggeredAll { keys, by } => keys.into_iter().for_each(|key| self.trigger(key, by)),
            Input::Finished { key, outcome } => self.finish(now, key, outcome, curve, rng),
            Input::Forgotten { key } => self.forget(key),
            Input::Opened => self.open = true,
            Input::Woke => {}
            Input::Stopped => {
                self.stopped = true;
                self.ready.clear();
                self.delayed.clear();
            }
        }
    }

    fn poll(&mut self) -> Option<Seen> {
        if self.stopped {
            let end = self.running.is_empty() && !self.told;
            self.told |= end;
            return end.then_some(Seen::End);
        }
        if !self.open || (self.concurrency > 0 && self.running.len() >= self.concurrency) {
            return None;
        }
        let first = |listed: bool| {
            let lane = self.ready.iter().filter(|(_, (_, reason))| Self::is_listed(*reason) == listed);
            lane.min_by_key(|(_, (place, _))| *place).map(|(key, _)| *key)
        };
        let (live, listed) = (first(false), first(true));
        let key = match (live, listed) {
            (Some(_), Some(listed)) if self.passed_over == LIVE_STARTS_IN_A_ROW => listed,
            (Some(live), _) => live,
            (None, listed) => listed?,
        };
        self.passed_over = if listed.is_none() || listed == Some(key) { 0 } else { self.passed_over + 1 };
        let (_, reason) = self.ready.remove(&key)?;
        self.running.insert(key, (reason, Vec::new(), false));
        Some(Seen::Start(key, reason, 1 + self.failures.get(&key).unwrap_or(&0)))
    }
}

#[derive(Debug, PartialEq)]
enum Seen {
    Start(u8, Reason, u32),
    End,
}

/// The queue, the model, and what is owed: both get every fact and must give the same orders.
struct Pair {
    now: Instant,
    curve: Curve,
    rng: fastrand::Rng,
    queue: Queue<u8>,
    model: Model,
    running: BTreeSet<u8>,
    /// Keys triggered and not started since.
    owed: BTreeSet<u8>,
}

impl Pair {
    fn new(concurrency: usize, seed: u64) -> Self {
        let curve = Curve::new(Duration::from_millis(8), Duration::from_millis(100));
        #[expect(clippy::disallowed_methods, reason = "a zero for the test's own time")]
        let now = Instant::now();
        Self {
            now,
            rng: fastrand::Rng::with_seed(seed),
            queue: Queue::new(Config { concurrency, curve: curve.clone() }, seed),
            curve,
            model: Model { concurrency, ..Model::default() },
            running: BTreeSet::new(),
            owed: BTreeSet::new(),
        }
    }

    fn fact(&mut self, input: Input<u8>) {
        match &input {
            Input::Triggered { key, .. } if !self.model.stopped => drop(self.owed.insert(*key)),
            Input::TriggeredAll { keys, .. } if !self.model.stopped => self.owed.extend(keys),
            Input::Forgotten { key } => drop(self.owed.remove(key)),
            Input::Finished { key, .. } => drop(self.running.remove(key)),
            Input::Stopped => self.owed.clear(),
            Input::Triggered { .. } | Input::TriggeredAll { .. } | Input::Opened | Input::Woke => {}
        }
        self.model.handle(self.now, input.clone(), &self.curve, &mut self.rng);
        self.queue.handle(self.now, input);
        self.compare();
    }

    /// Takes one order out of both.
    fn order(&mut self) -> bool {
        let has_orders = self.queue.has_orders();
        let seen = self.queue.poll(self.now).map(|order| match order {
            Output::Start { key, reason, attempt, .. } => {
                assert!(self.running.insert(key), "{key} runs twice at once");
                self.owed.remove(&key);
                Seen::Start(key, reason, attempt)
            }
            Output::Drained => Seen::End,
        });
        assert_eq!(seen.is_some(), has_orders);
        assert_eq!(seen, self.model.poll());
        self.compare();
        seen.is_some()
    }

    fn compare(&self) {
        let model = &self.model;
        assert_eq!(self.queue.depth(), model.ready.len());
        assert_eq!(self.queue.running(), model.running.len());
        assert_eq!(self.queue.running(), self.running.len());
        assert_eq!(self.queue.delayed(), model.delayed.len());
        assert_eq!(self.queue.deadline(), model.delayed.values().map(|timer| timer.0).min());
        if !model.stopped {
            assert_eq!(self.queue.failing(), model.failures.len());
        }
    }

    /// Lets everything come to its end: every owed key must run, and nothing may be left.
    fn settle(&mut self) {
        self.fact(Input::Opened);
        loop {
            while self.order() {}
            if let Some(key) = self.running.first().copied() {
                self.fact(Input::Finished { key, outcome: Outcome::AwaitChange });
            } else if let Some(deadline) = self.queue.deadline() {
                self.now = self.now.max(deadline);
                self.fact(Input::Woke);
            } else {
                break;
            }
        }
        assert!(self.owed.is_empty(), "lost: {:?}", self.owed);
        assert_eq!((self.queue.depth(), self.queue.running(), self.queue.failing()), (0, 0, 0));
    }
}

/// Numbers made into facts, and not strategies of strategies: those draw a new generator for each choice, which is
/// most of the time of a test that is not optimized.
fn facts() -> impl Strategy<Value = Input<u8>> {
    (0..1000_u16, 0..KEYS, 0..4_u8, 0..80_u64).prop_map(|(kind, key, which, ms)| fact(kind, key, which, ms))
}

fn fact(kind: u16, key: u8, which: u8, ms: u64) -> Input<u8> {
    let delay = Duration::from_millis(ms);
    let by = match which {
        0 => Trigger::Listed,
        1 => Trigger::Changed,
        2 => Trigger::Related,
        _ => Trigger::Requested,
    };
    let outcome = match which {
        0 => Outcome::AwaitChange,
        1 => Outcome::RequeueAfter(delay),
        2 => Outcome::Failed { retry_after: ms.is_multiple_of(4).then_some(delay) },
        _ => Outcome::Failed { retry_after: None },
    };
    match kind {
        0..350 => Input::Triggered { key, by },
        350..390 => Input::TriggeredAll { keys: vec![key, key / 2, key, KEYS - 1 - key], by },
        390..740 => Input::Finished { key, outcome },
        740..760 => Input::Finished { key, outcome: Outcome::RequeueAfter(Duration::ZERO) },
        760..820 => Input::Forgotten { key },
        820..840 => Input::Opened,
        840..999 => Input::Woke,
        // Once in a thousand: what follows is short.
        _ => Input::Stopped,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: HISTORIES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_gives_the_orders_of_the_naive_queue_and_loses_no_key(
        concurrency in 0_usize..4,
        seed: u64,
        history in prop::collection::vec((0_u64..20, facts(), 0_usize..4), 0..1000),
    ) {
        let mut pair = Pair::new(concurrency, seed);
        for (ms, fact, orders) in history {
            pair.now += Duration::from_millis(ms);
            pair.fact(fact);
            (0..orders).any(|_| !pair.order());
        }
        pair.settle();
    }
}
