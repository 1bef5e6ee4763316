//! What an elector is told: which Lease, under which name, and the three times. Refused here when they cannot be kept.
//!
//! In: values of the application. Out: the same values, checked, or a [`SettingsError`] that says what to change.
//! The three times stand in an order that safety rests on:
//!
//! ```text
//! 0 ............ retry_period 2 s ............ renew_deadline 10 s ............ lease_duration 15 s
//! renewal sent   the next renewal is sent      the leader has stopped leading   another may take the Lease
//! ```
//!
//! Why at the start and not at use: an elector with a deadline behind its lease looks healthy until the day two of them
//! lead. Reads no host name and draws no random number: [`Settings::new`] takes the identity; the elector can make one.

use std::time::Duration;

/// Share of the retry period that is added at random, so that candidates do not ask in step.
pub(crate) const JITTER: f64 = 0.2;

/// Which Lease is contended for, by whom, and in which times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The namespace of the Lease. It must exist; the identity's account needs `get`, `create` and `update` on leases.
    pub namespace: String,
    /// The name of the Lease: the same for every replica that contends.
    pub name: String,
    /// The name of this run of this replica. Compared whole. It should be new in each run (see
    /// [`default_identity`](crate::default_identity)): a Lease that bears it but was not written by this run is waited
    /// out like anyone else's.
    pub identity: String,
    /// How long others wait for this leader after it was last seen to renew. Whole seconds, as the Lease stores it.
    /// Default 15 s: a crash is taken over after this; shorter makes each pause of the API server a change of leader.
    pub lease_duration: Duration,
    /// How long this leader leads after the last successful renewal was sent. Default 10 s: 5 s less than the lease, the
    /// room for requests on their way and for clocks that run at slightly different speeds.
    pub renew_deadline: Duration,
    /// The time between two renewals, and between two looks of a candidate (which adds up to 20 %). Default 2 s: four
    /// tries within the deadline.
    pub retry_period: Duration,
}

impl Settings {
    /// Settings with the default times: 15 s, 10 s, 2 s.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// Sets the three times: see the fields of the same names.
    #[must_use]
    pub fn times(
        mut self,
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Self {
        self.lease_duration = lease_duration;
        self.renew_deadline = renew_deadline;
        self.retry_period = retry_period;
        self
    }

    /// Checks that these settings can be kept.
    ///
    /// # Errors
    /// The first thing that has to be changed.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (field, value) in
            [("namespace", &self.namespace), ("name", &self.name), ("identity", &self.identity)]
        {
            if value.trim().is_empty() {
                return Err(SettingsError::Empty { field });
            }
        }
        for (field, value, longest) in [("namespace", &self.namespace, 63), ("name", &self.name, 253)] {
            // A namespace is one DNS label, a Lease's name may be several.
            let dots = if field == "name" { usize::MAX } else { 1 };
            let fits =
                value.len() <= longest && value.split('.').count() <= dots && value.split('.').all(is_label);
            if !fits {
                return Err(SettingsError::NotAName { field, value: value.clone() });
            }
        }
        let (lease, deadline, retry) = (self.lease_duration, self.renew_deadline, self.retry_period);
        let storable =
            lease.subsec_nanos() == 0 && (1..=i32::MAX.unsigned_abs().into()).contains(&lease.as_secs());
        if !storable {
            return Err(SettingsError::LeaseNotWholeSeconds { lease });
        }
        if retry.is_zero() {
            return Err(SettingsError::NoRetryPeriod);
        }
        if deadline >= lease {
            return Err(SettingsError::DeadlineNotBeforeLease { deadline, lease });
        }
        let longest_retry =
            Duration::try_from_secs_f64(retry.as_secs_f64() * (1.0 + JITTER)).unwrap_or(Duration::MAX);
        if deadline <= longest_retry {
            return Err(SettingsError::RetryTooLong { deadline, longest_retry });
        }
        Ok(())
    }
}

/// Lower-case letters, digits and `-`, beginning and ending with a letter or digit.
fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
        && bytes.first().copied().is_some_and(plain)
        && bytes.last().copied().is_some_and(plain)
}

/// Why settings were refused. Each message says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A name that must be given was empty or blank.
    #[error("the {field} of the leader election is empty: set it")]
    Empty {
        /// The field of [`Settings`].
        field: &'static str,
    },
    /// The server would refuse a Lease of this name, or in a namespace of it.
    #[error(
        "{value:?} cannot be the {field} of the leader election's lease: use lower-case letters, digits and '-'"
    )]
    NotAName {
        /// The field of [`Settings`].
        field: &'static str,
        /// What was given.
        value: String,
    },
    /// The Lease stores its duration as a number of seconds of at least 1.
    #[error("lease_duration is {lease:?}: make it a whole number of seconds, at least 1 s")]
    LeaseNotWholeSeconds {
        /// The duration that was given.
        lease: Duration,
    },
    /// Without a time between two tries, the API server would be asked without pause.
    #[error("retry_period is zero: make it a part of renew_deadline, such as a fifth")]
    NoRetryPeriod,
    /// A leader must stop before another may start.
    #[error(
        "renew_deadline ({deadline:?}) is not before lease_duration ({lease:?}): make the deadline shorter or the lease longer"
    )]
    DeadlineNotBeforeLease {
        /// The deadline that was given.
        deadline: Duration,
        /// The lease duration that was given.
        lease: Duration,
    },
    /// A leader must be able to try again before it gives up.
    #[error(
        "renew_deadline ({deadline:?}) is not after the longest retry ({longest_retry:?}, retry_period + 20 %): make the retry period shorter or the deadline longer"
    )]
    RetryTooLong {
        /// The deadline that was given.
        deadline: Duration,
        /// The retry period with the whole jitter.
        longest_retry: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(lease: u64, deadline: u64, retry: u64) -> Result<(), SettingsError> {
        let ms = Duration::from_millis;
        Settings::new("ns", "lease", "me").times(ms(lease), ms(deadline), ms(retry)).check()
    }

    #[test]
    fn a_lease_outlives_its_deadline_and_a_deadline_its_longest_retry() {
        let ms_of = Duration::from_millis;
        let behind = |deadline, lease| {
            Err(SettingsError::DeadlineNotBeforeLease { deadline: ms_of(deadline), lease: ms_of(lease) })
        };
        let long = |deadline, retry| {
            Err(SettingsError::RetryTooLong { deadline: ms_of(deadline), longest_retry: ms_of(retry) })
        };
        let uneven = |lease| Err(SettingsError::LeaseNotWholeSeconds { lease: ms_of(lease) });
        for (lease, deadline, retry, expected) in [
            (15_000, 10_000, 2_000, Ok(())),
            (1_000, 600, 100, Ok(())),
            (10_000, 10_000, 2_000, behind(10_000, 10_000)),
            (10_000, 15_000, 2_000, behind(15_000, 10_000)),
            (15_000, 2_400, 2_000, long(2_400, 2_400)),
            (15_000, 2_401, 2_000, Ok(())),
            (1_500, 1_000, 200, uneven(1_500)),
            (0, 0, 0, uneven(0)),
            (15_000, 10_000, 0, Err(SettingsError::NoRetryPeriod)),
        ] {
            assert_eq!(ms(lease, deadline, retry), expected, "{lease} / {deadline} / {retry}");
        }
    }

    #[test]
    fn a_time_beyond_all_bounds_is_refused_and_no_panic() {
        let seconds = Duration::from_secs;
        let settings = Settings::new("ns", "lease", "me").times(seconds(15), seconds(10), Duration::MAX);
        assert!(matches!(settings.check(), Err(SettingsError::RetryTooLong { .. })));
    }

    #[test]
    fn names_are_not_blank() {
        for (namespace, name, identity, field) in
            [("", "lease", "me", "namespace"), ("ns", " ", "me", "name"), ("ns", "lease", "\t", "identity")]
        {
            let refused = Settings::new(namespace, name, identity).check();
            assert_eq!(refused, Err(SettingsError::Empty { field }));
        }
    }

    #[test]
    fn the_lease_and_its_namespace_have_names_that_the_server_takes() {
        let long = "n".repeat(64);
        for (namespace, name, refused) in [
            ("shop", "web-operator", None),
            ("0", "web.example.dev", None),
            ("shop", long.as_str(), None),
            (long.as_str(), "web", Some("namespace")),
            ("a.b", "web", Some("namespace")),
            ("shop", "Web", Some("name")),
            ("shop", "web/x", Some("name")),
            ("shop", "..", Some("name")),
            (".", "web", Some("namespace")),
            ("-a", "web", Some("namespace")),
            ("a-", "web", Some("namespace")),
        ] {
            let field = match Settings::new(namespace, name, "me").check() {
                Ok(()) => None,
                Err(SettingsError::NotAName { field, .. }) => Some(field),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(field, refused, "{namespace}/{name}");
        }
    }
}
