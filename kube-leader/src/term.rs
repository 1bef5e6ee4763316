//! The proof of leading: made by the election alone, tested when it is used.
//!
//! In: the election's renewals. Out: [`Term`], which the application's work carries to each write.
//! A term is current from the answer of the write that won the Lease until its deadline; each successful renewal moves the
//! deadline, and stepping down ends it for good.
//!
//! Why a deadline and not a flag: a flag is cleared by a task, and a task that is starved, or a process that was stopped for
//! half a minute, clears it too late. A deadline on the monotonic clock has passed by itself, before any task has run.
//! Cannot help a write that was checked and then delayed on its way, nor a machine whose monotonic clock stands still
//! while it sleeps: for those the fencing token goes along with the write and the receiver refuses an older one.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// One stretch of leading by one holder. Only a won election makes one; a clone is the same term.
#[derive(Clone)]
pub struct Term {
    shared: Arc<Shared>,
}

struct Shared {
    holder: String,
    token: u32,
    began: Instant,
    /// Nanoseconds after `began` at which the term is over; 0 once it has been ended.
    until: AtomicU64,
}

impl Term {
    pub(crate) fn new(holder: &str, token: u32, began: Instant, until: Instant) -> Self {
        let shared = Shared { holder: holder.to_owned(), token, began, until: AtomicU64::new(0) };
        let term = Self { shared: Arc::new(shared) };
        term.extend(until);
        term
    }

    /// The number of this term, from the Lease's `leaseTransitions`: a later term of another holder has a greater one.
    /// Stored beside what is written, it lets the receiver refuse the late write of an earlier leader.
    pub fn fencing_token(&self) -> u32 {
        self.shared.token
    }

    /// The identity that leads in this term.
    pub fn holder(&self) -> &str {
        &self.shared.holder
    }

    /// Whether this term still stands at `now` (of the monotonic clock: `kube_client::clock::now()`). To be asked right
    /// before each act that only a leader may do.
    pub fn is_current(&self, now: Instant) -> bool {
        !self.remaining(now).is_zero()
    }

    /// How much of this term is left at `now` if no further renewal succeeds: zero once it is over. A bound for the
    /// timeout of a write.
    pub fn remaining(&self, now: Instant) -> Duration {
        let until = Duration::from_nanos(self.shared.until.load(Ordering::Acquire));
        until.saturating_sub(now.saturating_duration_since(self.shared.began))
    }

    /// Moves the deadline: a renewal has succeeded.
    pub(crate) fn extend(&self, until: Instant) {
        let length = until.saturating_duration_since(self.shared.began).as_nanos();
        self.shared.until.store(u64::try_from(length).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Ends the term for good.
    pub(crate) fn end(&self) {
        self.shared.until.store(0, Ordering::Release);
    }
}

/// The same holder and the same number: two values that stand for one term.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        (self.holder(), self.fencing_token()) == (other.holder(), other.fencing_token())
    }
}

impl Eq for Term {}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Term({:?}, {})", self.holder(), self.fencing_token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_current_until_its_deadline_moves_with_renewals_and_ends_for_every_clone() {
        let start = kube_client::clock::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let term = Term::new("a", 7, at(0), at(10_000));
        let clone = term.clone();
        for (ms, current, left) in
            [(0, true, 10_000), (9_999, true, 1), (10_000, false, 0), (40_000, false, 0)]
        {
            assert_eq!(clone.is_current(at(ms)), current, "at {ms} ms");
            assert_eq!(clone.remaining(at(ms)), Duration::from_millis(left), "at {ms} ms");
        }
        term.extend(at(12_000));
        assert!(clone.is_current(at(11_999)));
        term.end();
        assert!(!clone.is_current(at(0)));
        assert_eq!((clone.fencing_token(), clone.holder()), (7, "a"));
    }
}
