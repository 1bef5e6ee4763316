//! What is known of the Lease, and until when its holder is to be respected.
//!
//! In: each sight of the Lease with the monotonic time of it. Out: [`LeaseClock::free_at`], and what a write needs.
//! A record is in force for the duration that it declares, counted from when it was last seen to change. Its times are the
//! holder's clock and are not looked at: a skewed clock neither loses a live Lease nor keeps a dead one. The price is
//! that a candidate waits one whole duration at first sight. A Lease that vanishes under a holder stays in force as
//! before: whoever deleted it has not stopped the leader. Does not decide what to do about any of it.

use std::time::{Duration, Instant};

use crate::record::{Record, Seen};

#[derive(Clone, Debug)]
pub(super) struct LeaseClock {
    /// Stands in for a duration that a record does not declare: waiting is the safe side.
    undeclared: Duration,
    last: Option<Record>,
    changed_at: Option<Instant>,
    /// The version of the Lease, none while there is no Lease.
    version: Option<String>,
}

impl LeaseClock {
    pub(super) fn new(undeclared: Duration) -> Self {
        Self { undeclared, last: None, changed_at: None, version: None }
    }

    /// Takes a sight of the Lease: what it says, or that it is not there.
    pub(super) fn saw(&mut self, now: Instant, sight: Option<Seen>) {
        let Some(Seen { record, resource_version }) = sight else {
            self.version = None;
            return;
        };
        self.version = Some(resource_version);
        if self.last.as_ref() != Some(&record) {
            self.last = Some(record);
            self.changed_at = Some(now);
        }
    }

    /// When the Lease may be taken: `None` at once, since nobody holds it.
    pub(super) fn free_at(&self) -> Option<Instant> {
        let record = self.last.as_ref().filter(|record| !record.holder.is_empty())?;
        Some(self.changed_at? + record.lease_duration.unwrap_or(self.undeclared))
    }

    /// The record that was last seen, also of a Lease that has vanished since.
    pub(super) fn record(&self) -> Option<&Record> {
        self.last.as_ref()
    }

    /// The version to write over; `None` when the Lease has to be created.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The number of the next holder's term. Counts on from a Lease that has vanished, so that tokens do not go back. Ends
    /// where the field on the server ends: a number that cannot be stored would never be recognised as ours.
    pub(super) fn next_transitions(&self) -> u32 {
        let next = self.last.as_ref().map_or(0, |record| record.transitions.saturating_add(1));
        next.min(i32::MAX.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LeaseTime;

    fn sight(holder: &str, seconds: Option<u64>, renewed: &str) -> Seen {
        let record = Record {
            holder: holder.to_owned(),
            lease_duration: seconds.map(Duration::from_secs),
            renew_time: Some(LeaseTime::read(renewed)),
            ..Record::default()
        };
        Seen { record, resource_version: renewed.to_owned() }
    }

    #[test]
    fn a_record_is_in_force_for_its_own_duration_since_it_was_last_seen_to_change() {
        let start = kube_client::clock::now();
        let mut clock = LeaseClock::new(Duration::from_secs(15));
        assert_eq!(clock.free_at(), None);
        for (seconds, sight, free_at) in [
            (0, None, None),
            (0, Some(sight("a", Some(30), "x")), Some(30)),
            (2, Some(sight("a", Some(30), "x")), Some(30)), // the same: the clock runs on
            (4, Some(sight("a", Some(30), "y")), Some(34)), // changed, though no time in it can be read
            (6, Some(sight("a", Some(3), "y")), Some(9)),   // a shorter duration is a change, and counts
            (8, None, Some(9)),                             // vanished: still in force
            (10, Some(sight("a", None, "y")), Some(25)),    // declares none: the stand-in
            (11, Some(sight("b", Some(15), "y")), Some(26)), // another holder
            (12, Some(sight("", Some(1), "y")), None),      // released
            (13, None, None),
        ] {
            clock.saw(start + Duration::from_secs(seconds), sight);
            let expected = free_at.map(|seconds| start + Duration::from_secs(seconds));
            assert_eq!(clock.free_at(), expected, "at {seconds} s");
        }
    }
}
