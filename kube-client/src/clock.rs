//! The one place where time and randomness are read, and where drivers wait for a moment.
//!
//! In: a deadline, or nothing. Out: the monotonic time, the wall time, a seed. Every decision takes these as arguments, so
//! that tests choose them; drivers call here. The monotonic clock is tokio's, so that a test with a paused runtime moves it.

use std::{
    hash::{BuildHasher, RandomState},
    time::Instant,
};

/// The monotonic time, as tokio sees it (virtual under a paused runtime).
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The wall-clock time. It jumps: only for timestamps that people and other programs read, never for deciding.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn wall() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Waits until `deadline`; for ever, if there is none. What a driver's loop does with the deadline of its machine.
pub async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// A seed that differs from call to call and from process to process. For jitter, not for secrets.
pub fn seed() -> u64 {
    RandomState::new().hash_one(0)
}
