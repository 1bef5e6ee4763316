//! Decides when to list, watch, resume, relist and back off for one resource, and which events come out of it.
//!
//! In: [`Input`], facts from the wire and the clock. Out: [`Output`], orders to whoever does the I/O, and the [`Event`]s
//! that a store is fed with.
//!
//! ```text
//!   Idle ──Started──▶ Listing ──last page──▶ Opening ──answered──▶ Watching
//!                      ▲   ▲                  ▲   ▲                 │ │ │
//!                      │   │                  │   └─── clean end ───┘ │ │
//!                      │   └──────── 410 ─────│───────────────────────┘ │
//!                      └─────── Waiting ──────┘◀─── fault, silence ─────┘
//!                      (delay over: the same step)
//! ```
//! A 410, a fault or silence leads away from `Listing` and `Opening` in the same way as from `Watching`.
//!
//! The rules, each of them a test in `tests.rs`:
//! - A list is taken in pages; the watch starts from the resourceVersion of its last page and resumes from the version of
//!   the last event or bookmark. Versions are opaque: they are copied, never compared.
//! - A version that is gone (410) relists at once, but only once in a row. A continue token that is gone starts the list
//!   over: [`MAX_RESTARTS`] times from its first page, then once without pages. Every list begins with [`Event::Init`] and
//!   only a complete one ends with [`Event::InitDone`], so a consumer that swaps at `InitDone` never shows half a list.
//! - Any other failure (403, 404, 429, 5xx, broken connections, lines that cannot be read) does the same step again after a
//!   growing, jittered delay, never earlier than the server asked for, and never forgets what was known.
//! - What worked resets the delay: a page, an event, a bookmark, a watch that lived for a while. A connection that was
//!   merely accepted does not, or a server that accepts and drops would be asked in a tight loop. A problem that was
//!   reported is over ([`Output::Recovered`]) when a list is complete or a watch works.
//! - An answer without a resourceVersion is no list: what it says of the set is not believed.
//! - Every request has a deadline here, because a connection that was cut without a word never reports anything.
//!
//! Why a machine and not one async function: what happens on 403, 410 or 429, in which phase and how often in a row, has to
//! be tested without a server, and the table of those cases is larger than the code.
//!
//! It does not send, decode, sleep or keep objects: requests and lines are the driver's, the set of objects is the cache's,
//! and both time and the seed of its jitter are arguments.

use std::{fmt, time::Duration};

use kube_core::{Status, backoff::Curve};

mod driver;
mod machine;
mod state;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use driver::{Sink, WatchDriver};
pub use machine::Machine;
pub use state::{MAX_BAD_LINES, MAX_RESTARTS, MAX_RETRY_AFTER};
pub use stream::{WatchError, WatchStream, watch};

/// How a watcher paces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most objects on one page of a list (`limit`). Default 500, what `kubectl` asks for: a page of large objects stays at
    /// a few MiB, and 50,000 objects are 100 requests. 0 asks for the whole list in one answer.
    pub page_size: u32,
    /// How long the server is asked to keep a watch open (`timeoutSeconds`, rounded up to whole seconds). Default 290 s:
    /// below the 5 minutes after which common load balancers drop what they think is idle.
    pub watch_timeout: Duration,
    /// How much later than `watch_timeout` a watch is given up by us when the server has not ended it. Default 30 s, room
    /// for a busy server and a slow line. A connection that died without a word is noticed this way at the latest.
    pub watch_margin: Duration,
    /// How long a page of a list, or the head of the answer to a watch, may take. Default 75 s: the server itself gives up
    /// after 60 s (its `--request-timeout`) and its answer should win over our silence.
    pub reply_timeout: Duration,
    /// A watch that lived this long counts as a success even if it brought nothing, and what was reported before it as
    /// over. Default 5 s: longer than a broken proxy takes to accept and drop, shorter than any watch of a healthy server.
    pub healthy_after: Duration,
    /// Delay after a number of failures in a row, before jitter. Default [`Curve::watch`], 800 ms doubling to 30 s.
    pub backoff: Curve,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            page_size: 500,
            watch_timeout: Duration::from_secs(290),
            watch_margin: Duration::from_secs(30),
            reply_timeout: Duration::from_secs(75),
            healthy_after: Duration::from_secs(5),
            backoff: Curve::watch(),
        }
    }
}

/// A fact for [`Machine::handle`]. Facts that the machine's phase did not ask for change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<T> {
    /// The watcher shall begin.
    Started,
    /// One page of the list that was ordered came in whole.
    PageReceived {
        /// Its objects, in the server's order.
        items: Vec<T>,
        /// `metadata.resourceVersion` of the list. Where it is empty the answer was no list, and counts as a failed one.
        resource_version: String,
        /// `metadata.continue`; none, or empty, on the last page.
        continue_token: Option<String>,
    },
    /// The list that was ordered failed: no connection, an error as the answer, a body that cannot be read.
    ListFailed(Fault),
    /// The watch that was ordered was answered with success; its lines follow.
    WatchOpened,
    /// The open watch brought a line. An object whose line could be cut but that does not fit its type comes this way too.
    WatchEvent(WireEvent<T>),
    /// The open watch brought a line that cannot be cut into an event: a fault of the stream, not of an object.
    BadLine {
        /// What is wrong with it, for people.
        message: String,
    },
    /// The watch ended in order: the last chunk of its body was read.
    WatchEnded,
    /// The watch could not be opened, or broke.
    WatchFailed(Fault),
    /// Time has passed. Any other fact says so as well, by its `now`.
    Woke,
    /// Nobody needs this watcher any more.
    Stopped,
}

/// One line of a watch, as the server means it (API concepts, "Efficient detection of changes").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireEvent<T> {
    /// `ADDED`: the object is new, or new to the selector.
    Added {
        /// The object.
        item: T,
        /// Its `metadata.resourceVersion`.
        resource_version: String,
    },
    /// `MODIFIED`: the object changed.
    Modified {
        /// The object.
        item: T,
        /// Its `metadata.resourceVersion`.
        resource_version: String,
    },
    /// `DELETED`: the object is gone, or left the selector.
    Deleted {
        /// Its last known state.
        item: T,
        /// `metadata.resourceVersion` of the deletion.
        resource_version: String,
    },
    /// `BOOKMARK`: nothing changed up to this version.
    Bookmark {
        /// The version to resume from.
        resource_version: String,
        /// The bookmark closes the initial events of a streamed list. The watches ordered here do not ask for initial
        /// events, so this changes nothing.
        initial_events_end: bool,
    },
    /// `ERROR`: the server's last line of a watch that it cannot continue.
    Error(Fault),
}

/// An order from [`Machine::poll`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<T> {
    /// Send a list request. It carries no `resourceVersion`: unset asks for the most recent state, which is what the first
    /// list and every recovery need; a continue token brings its own version.
    List {
        /// `continue`: the page after the one that brought the token; none: the first page.
        continue_token: Option<String>,
        /// `limit`; none: the whole list.
        limit: Option<u32>,
    },
    /// Send a watch request, with bookmarks.
    OpenWatch {
        /// `resourceVersion` to continue after.
        resource_version: String,
        /// `timeoutSeconds`.
        timeout_seconds: u32,
    },
    /// Give up the request in flight, list or watch: drop its connection or stream and report nothing more of it.
    Cancel,
    /// Hand this to the store.
    Emit(Event<T>),
    /// Log this and show it as the watcher's problem.
    Report(Problem),
    /// Show no problem any more: a list is complete, or a watch works.
    Recovered,
}

/// What a consumer sees: `Init InitApply* InitDone (Apply | Delete)*`, and at any point all over again from `Init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// A list begins. What an unfinished list before it brought is void; the last complete set stays valid.
    Init,
    /// An object of the list.
    InitApply(T),
    /// The list is complete: the objects since `Init` are all there are.
    InitDone,
    /// An object was added or changed.
    Apply(T),
    /// An object was removed; its last known state.
    Delete(T),
}

/// Something went wrong, and this is what is done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was going on.
    pub during: Request,
    /// What happened.
    pub fault: Fault,
    /// How many failures in a row have been waited for, this one included. 0: the reaction needs no wait.
    pub failures: u32,
    /// How long until the next request.
    pub delay: Duration,
}

/// The two requests of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page of a list.
    List,
    /// A watch.
    Watch,
}

/// A failure, reduced to what decides the reaction to it and a text for people. The full error stays with the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub cause: Cause,
    /// The same for people; decides nothing.
    pub message: String,
    /// The earliest time to try again, as the server wants it (`Retry-After`, else `details.retryAfterSeconds`). At most
    /// [`MAX_RETRY_AFTER`] of it is honoured.
    pub retry_after: Option<Duration>,
}

/// What kind of failure it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The server answered with an error, or sent one as the last line of a watch.
    Answered {
        /// HTTP code of the answer or code of its status; 0 if unknown.
        code: u16,
        /// `reason` of the status, `Expired` for instance; empty if unknown.
        reason: String,
    },
    /// No answer, or a broken one: refused, reset, no name, no TLS session, a body that stopped in the middle.
    Unreachable,
    /// What was ordered did not come before its deadline. The machine finds this out itself; a driver may report it too.
    TimedOut,
    /// The bytes are no list, or no event.
    Garbled,
    /// The server keeps accepting watches and ending them at once. Found out by the machine.
    ClosedAtOnce,
    /// The watch's own task panicked, which is a bug. It begins anew; found out by the cache.
    Panicked,
}

impl Fault {
    /// A fault without a wish of the server about when to try again.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), retry_after: None }
    }

    /// The same fault, not to be tried again before `delay` has passed.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay), ..self }
    }
}

impl From<&Status> for Fault {
    fn from(status: &Status) -> Self {
        let cause = Cause::Answered { code: status.code, reason: status.reason.clone() };
        let retry_after = status.retry_after_seconds().map(|seconds| Duration::from_secs(seconds.into()));
        Self { cause, message: status.message.clone(), retry_after }
    }
}

impl fmt::Display for Problem {
    /// What failed, why, and when it is tried again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let during = match self.during {
            Request::List => "list",
            Request::Watch => "watch",
        };
        write!(f, "{during} failed: {}; next try in {:?}", self.fault, self.delay)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Answered { code, reason } if reason.is_empty() => write!(f, "{code}")?,
            Cause::Answered { code, reason } => write!(f, "{code} {reason}")?,
            Cause::Unreachable => f.write_str("unreachable")?,
            Cause::TimedOut => f.write_str("timed out")?,
            Cause::Garbled => f.write_str("unreadable")?,
            Cause::ClosedAtOnce => f.write_str("closed at once")?,
            Cause::Panicked => f.write_str("panicked")?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}
