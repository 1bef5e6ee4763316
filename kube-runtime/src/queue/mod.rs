//! Decides which key runs next, which waits, and until when.
//!
//! In: [`Input`] facts: a key was triggered, a run finished, an object is gone, time passed. Out: [`Output`] orders:
//! start this key. [`Queue::deadline`] is the one moment the queue wants to be woken at.
//!
//! ```text
//!            Triggered                 poll                     Finished
//!  (no entry) ------> Ready{live|listed} ----> Running ---+---> (no entry)   await change, forgotten
//!                        ^     ^                          |
//!                        |     +--------------------------+---  triggered meanwhile, or requeue after 0
//!                        +---------- Delayed{due} <-------+---  requeue after, failed
//!                      Triggered, due
//! ```
//! A key has one entry at most, in one of these states, so it never runs twice at once, never waits twice, and has
//! one timer at most. A key with nothing to do and no failures has no entry at all. The queue as a whole is waiting
//! for its sources (nothing starts), open, or stopping (nothing starts any more, running keys finish).
//!
//! The rules:
//! - Any number of triggers during a run make exactly one run after it, which starts after the last of them.
//! - A trigger runs at once and replaces the timer. The newest finished run decides about the next one.
//! - A failure waits for a delay that doubles per failure and carries jitter, reset by success. A run that a trigger
//!   started before that delay was over does not raise it when it fails too: a busy object that fails for a minute
//!   is not punished like one that failed for an hour.
//! - First in, first out, in two lanes: live work before what only the first list brought, but after
//!   [`LIVE_STARTS_IN_A_ROW`] live starts one of the other lane gets its turn.
//! - Work that is due now never passes through a timer.
//!
//! Why a machine and not a channel with workers: coalescing, replacing timers and forgetting need to see every
//! waiting key, and the rules above must be tested without sleeping. Why entries in a slab with links and a hash map
//! only from key to number: an input costs one hash, a start none.
//!
//! Does not run anything, read a clock, hold objects, or know what a key means; the controller's driver does.

mod line;
mod machine;
mod timers;

use std::{fmt, time::Duration};

use kube_core::backoff::Curve;

pub use self::machine::{LIVE_STARTS_IN_A_ROW, LONGEST_DELAY, Queue};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

/// How a [`Queue`] behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many keys may run at the same time. `0` means no limit. Default 16: reconciles
    /// mostly wait for the server, and at 20 ms each this is 800 a second, while a first list of 50,000 objects
    /// does not become 50,000 tasks that all want a connection.
    pub concurrency: usize,
    /// How long a failed key waits, before jitter. Default 200 ms, doubling to 5 minutes. Earlier retries find the
    /// same cause: a cache that lags or a conflict is cured by a watch event, which is a trigger of its own, and
    /// anything else takes seconds. Later ones are felt by people: the cause was repaired, nothing in the object
    /// changed, and the run that would show it is still waiting.
    pub curve: Curve,
}

impl Default for Config {
    fn default() -> Self {
        Self { concurrency: 16, curve: Curve::new(Duration::from_millis(200), Duration::from_mins(5)) }
    }
}

/// What happened. Inputs that do not fit the state change nothing, so a driver may repeat any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<K> {
    /// Something this key depends on changed.
    Triggered {
        /// The key to run.
        key: K,
        /// What changed.
        by: Trigger,
    },
    /// The same change concerns many keys, such as a page of a list. Means what that many `Triggered` mean, in
    /// order, and makes room for all of them in one step.
    TriggeredAll {
        /// The keys to run.
        keys: Vec<K>,
        /// What changed.
        by: Trigger,
    },
    /// The run of this key ended.
    Finished {
        /// The key that ran.
        key: K,
        /// How its run ended.
        outcome: Outcome,
    },
    /// The object behind this key is gone: whatever waits for it is dropped, with its failures. A run under way
    /// finishes, and what it asks for is dropped too, unless the key was triggered again after this.
    Forgotten {
        /// The key whose object is gone.
        key: K,
    },
    /// Every source has delivered its first full list: runs may start.
    Opened,
    /// Time passed. Any input does the same with its `now`, so a late or early wake does no harm.
    Woke,
    /// No new runs. What waits is dropped; what runs finishes, and then the queue is drained. Final.
    Stopped,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<K> {
    /// Run this key, and answer with one [`Input::Finished`].
    Start {
        /// The key to run. It is not started again before it finished.
        key: K,
        /// What made it run.
        reason: Reason,
        /// 1, plus the failures that raised the delay since the last success.
        attempt: u32,
        /// How long the key was ready before it could start.
        waited: Duration,
    },
    /// The queue was stopped and the last run has finished: there will be no more orders. Given once.
    Drained,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to do until something changes.
    AwaitChange,
    /// Run again after this time, exactly, even if nothing changes; zero runs again as soon as others had their
    /// turn. Longer than [`LONGEST_DELAY`] means that.
    RequeueAfter(Duration),
    /// Run again after a backoff.
    Failed {
        /// What the server asked for, if it did: the delay is not shorter than this.
        retry_after: Option<Duration>,
    },
}

/// What changed, for [`Input::Triggered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// An object of the first list, own or related. The only one of low priority.
    Listed,
    /// The object itself.
    Changed,
    /// An object that belongs to it or that it refers to, deletions included.
    Related,
    /// Asked for by a program, not by a watch.
    Requested,
}

/// Why a run starts, for [`Output::Start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Something changed.
    Triggered(Trigger),
    /// An earlier run asked for it.
    Requeued,
    /// An earlier run failed, and its delay is over.
    Retried,
}

impl fmt::Display for Reason {
    /// One word for logs and metrics.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Triggered(Trigger::Listed) => "listed",
            Self::Triggered(Trigger::Changed) => "changed",
            Self::Triggered(Trigger::Related) => "related",
            Self::Triggered(Trigger::Requested) => "requested",
            Self::Requeued => "requeued",
            Self::Retried => "retried",
        })
    }
}
