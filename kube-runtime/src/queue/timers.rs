//! Keeps at most one waiting time per entry and says which is due.
//!
//! In: an entry number and the moment it is due; later, perhaps, its removal. Out: the entries that are due, in the
//! order of their moments, and those of one moment in the order they were armed.
//!
//! Why exact removal and not generations: a timer that was replaced is gone, so the number of timers is never more
//! than the number of waiting keys, and a stale wake cannot exist. One sleep for the whole queue
//! ([`Timers::next`]) takes the place of one sleep for each key.

use std::{collections::BTreeMap, time::Instant};

/// Names one armed timer. The second part tells timers of one moment apart, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub(super) due: Instant,
    number: u64,
}

pub(super) struct Timers {
    waiting: BTreeMap<Timer, usize>,
    /// The first of `waiting`, at hand because every input asks for it.
    next: Option<Instant>,
    armed: u64,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { waiting: BTreeMap::new(), next: None, armed: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The earliest moment at which something is due.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn arm(&mut self, due: Instant, id: usize) -> Timer {
        self.armed += 1;
        let timer = Timer { due, number: self.armed };
        self.waiting.insert(timer, id);
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
        timer
    }

    pub(super) fn disarm(&mut self, timer: Timer) {
        self.waiting.remove(&timer);
        if self.next == Some(timer.due) {
            self.look_ahead();
        }
    }

    /// Takes out the first timer that is due at `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(Timer, usize)> {
        if self.next? > now {
            return None;
        }
        let first = self.waiting.pop_first();
        self.look_ahead();
        first
    }

    /// Takes out every entry, due or not.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = usize> + use<> {
        self.next = None;
        std::mem::take(&mut self.waiting).into_values()
    }

    fn look_ahead(&mut self) {
        self.next = self.waiting.first_key_value().map(|(timer, _)| timer.due);
    }
}
