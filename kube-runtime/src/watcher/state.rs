//! What a watcher waits for, what it remembers of its luck, and how it reacts to a fault.

use std::{
    cmp::Ordering,
    mem,
    time::{Duration, Instant},
};

use super::{Cause, Fault};

/// How often one list starts over from its first page because its continue token expired, before it is asked for without
/// pages. Three: a token lives for minutes, so that a list which outlives it three times is too slow for paging.
pub const MAX_RESTARTS: u32 = 3;

/// How many lines in a row may be unreadable before the set is listed anew. A line that is damaged on the way comes out
/// right when the watch resumes; one that the server keeps sending stands in front of all later events for good.
pub const MAX_BAD_LINES: u32 = 3;

/// The longest wish of a server that is honoured: 5 minutes. A larger one is a mistake more often than a plan, and the
/// watcher would be blind for as long.
pub const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

/// What the machine waits for.
#[derive(Debug)]
pub(super) enum State {
    /// For the order to begin.
    Idle,
    /// For a page of the list, not longer than `until`.
    Listing { page: Page, until: Instant },
    /// For the head of the answer to a watch, not longer than `until`.
    Opening { resource_version: String, until: Instant },
    /// For lines of an open watch, or its end.
    Watching(Watch),
    /// For the time to do `then`.
    Waiting { then: Step, until: Instant },
    /// For nothing.
    Stopped,
}

impl State {
    /// When this state ends even if nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Listing { until, .. } | Self::Opening { until, .. } | Self::Waiting { until, .. } => {
                Some(*until)
            }
            Self::Watching(watch) => Some(watch.healthy_at.map_or(watch.until, |at| at.min(watch.until))),
            Self::Idle | Self::Stopped => None,
        }
    }
}

/// What to ask the server for next.
#[derive(Debug)]
pub(super) enum Step {
    List(Page),
    Watch { resource_version: String },
}

/// An open watch.
#[derive(Debug)]
pub(super) struct Watch {
    /// Where it is resumed: the list's version, then that of the last event or bookmark.
    pub(super) resource_version: String,
    /// From when on it counts as a success even if it brings nothing; none once it does, which an event brings about too.
    pub(super) healthy_at: Option<Instant>,
    /// When it is given up although the server did not end it.
    pub(super) until: Instant,
}

/// A page of a list. `restarts` says how often the list has been started over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// The first of several.
    First { restarts: u32 },
    /// A later one.
    Next { continue_token: String, restarts: u32 },
    /// All of it at once, the last resort.
    Whole { restarts: u32 },
}

impl Page {
    /// The first page of a new list.
    pub(super) const NEW_LIST: Self = Self::First { restarts: 0 };

    /// Whether its arrival opens a list, rather than carrying one on.
    pub(super) fn opens_list(&self) -> bool {
        matches!(self, Self::First { .. } | Self::Whole { .. })
    }

    /// The page after this one. A whole list has one only with a server that sets limits of its own.
    pub(super) fn following(self, continue_token: String) -> Self {
        let (Self::First { restarts } | Self::Next { restarts, .. } | Self::Whole { restarts }) = self;
        Self::Next { continue_token, restarts }
    }

    /// Where the list starts over when this page's token has expired. None where there was no token to expire, or where
    /// every way to start over has been tried: then the list is lost, and how soon the next one may begin is a matter of
    /// [`Streak::gone`].
    pub(super) fn start_over(&self) -> Option<Self> {
        let Self::Next { restarts, .. } = self else { return None };
        match restarts.cmp(&MAX_RESTARTS) {
            Ordering::Less => Some(Self::First { restarts: restarts + 1 }),
            Ordering::Equal => Some(Self::Whole { restarts: restarts + 1 }),
            Ordering::Greater => None,
        }
    }
}

/// What went wrong in a row. The counts that come out are those to wait for; 0 means to go on at once.
#[derive(Debug, Default)]
pub(super) struct Streak {
    failures: u32,
    gones: u32,
    empty_ends: u32,
    bad_lines: u32,
    /// Whether a problem was reported that is not over yet.
    reported: bool,
}

impl Streak {
    /// The failures that have been waited for so far.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// The same step has to be done again.
    pub(super) fn failed(&mut self) -> u32 {
        self.failures = self.failures.saturating_add(1);
        self.failures
    }

    /// A version is gone. The first time in a row a list is the cure; if it was not, another one as fast is a full list in
    /// a tight loop. The count outlives pages for the same reason.
    pub(super) fn gone(&mut self) -> u32 {
        self.gones = self.gones.saturating_add(1);
        if self.gones == 1 {
            return 0;
        }
        self.failures = self.failures.saturating_add(1).max(self.gones - 1);
        self.failures
    }

    /// A watch ended in order, but early and without having brought anything. Once is chance (the server restarts); from
    /// the second on it is a failure.
    pub(super) fn ended_empty(&mut self) -> u32 {
        self.empty_ends = self.empty_ends.saturating_add(1);
        if self.empty_ends == 1 { 0 } else { self.failed() }
    }

    /// A line could not be read. True: often enough in a row to list anew.
    pub(super) fn bad_line(&mut self) -> bool {
        self.bad_lines += 1;
        self.bad_lines >= MAX_BAD_LINES
    }

    /// A page came in: the server is there. Says nothing about whether its versions can be watched.
    pub(super) fn page_received(&mut self) {
        *self = Self { gones: self.gones, reported: self.reported, ..Self::default() };
    }

    /// A watch works.
    pub(super) fn watch_worked(&mut self) {
        *self = Self { reported: self.reported, ..Self::default() };
    }

    /// A problem is shown from now on.
    pub(super) fn reported(&mut self) {
        self.reported = true;
    }

    /// Whether a problem was shown up to now.
    pub(super) fn recovered(&mut self) -> bool {
        mem::take(&mut self.reported)
    }
}

/// What is done about a fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// What was asked for does not exist any more: a list from its beginning.
    Relist,
    /// The same request again, after the backoff and not before `not_before` has passed.
    Retry { not_before: Duration },
}

/// The one place where faults are judged. No fault ends a watcher: rights may be granted, kinds defined and servers
/// repaired at any time.
pub(super) fn reaction(fault: &Fault) -> Reaction {
    let retry = Reaction::Retry { not_before: fault.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER) };
    match &fault.cause {
        // Over HTTP the code says it; in the lines of a watch, and from servers behind an aggregator, sometimes only the
        // reason does.
        Cause::Answered { code: 410, .. } => Reaction::Relist,
        Cause::Answered { code: _, reason } => match reason.as_str() {
            "Expired" | "Gone" => Reaction::Relist,
            _ => retry,
        },
        Cause::Unreachable | Cause::TimedOut | Cause::Garbled | Cause::ClosedAtOnce | Cause::Panicked => {
            retry
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_one_reaction() {
        let answered = |code, reason: &str| Cause::Answered { code, reason: reason.into() };
        let retry = |seconds| Reaction::Retry { not_before: Duration::from_secs(seconds) };
        for (cause, retry_after, expected) in [
            (answered(410, "Expired"), None, Reaction::Relist),
            (answered(410, "Gone"), None, Reaction::Relist),
            (answered(410, ""), None, Reaction::Relist),
            (answered(0, "Expired"), None, Reaction::Relist),
            (answered(500, "Gone"), None, Reaction::Relist),
            (answered(400, "BadRequest"), None, retry(0)),
            (answered(401, "Unauthorized"), None, retry(0)),
            (answered(403, "Forbidden"), None, retry(0)),
            (answered(404, "NotFound"), None, retry(0)),
            (answered(429, "TooManyRequests"), None, retry(0)),
            (answered(429, "TooManyRequests"), Some(3), retry(3)),
            (answered(500, "InternalError"), None, retry(0)),
            (answered(503, "ServiceUnavailable"), Some(1), retry(1)),
            (answered(503, "ServiceUnavailable"), Some(86_400), retry(300)),
            (answered(504, "Timeout"), None, retry(0)),
            (answered(0, ""), None, retry(0)),
            (Cause::Unreachable, None, retry(0)),
            (Cause::TimedOut, None, retry(0)),
            (Cause::Garbled, None, retry(0)),
            (Cause::ClosedAtOnce, None, retry(0)),
            (Cause::Panicked, None, retry(0)),
        ] {
            let fault = Fault { retry_after: retry_after.map(Duration::from_secs), ..Fault::new(cause, "") };
            assert_eq!(reaction(&fault), expected, "{fault} {retry_after:?}");
        }
    }

    #[test]
    fn a_list_starts_over_three_times_in_pages_and_once_whole() {
        let mut page = Page::NEW_LIST;
        let mut ways = Vec::new();
        while let Some(again) = page.following("t".into()).start_over() {
            ways.push(matches!(again, Page::Whole { .. }));
            page = again;
        }
        assert_eq!(ways, [false, false, false, true]);
        assert_eq!(Page::NEW_LIST.start_over(), None);
    }
}
