//! Waiting in tests for what a cluster does in its own time.

use std::{fmt::Display, future::Future, panic::Location, time::Duration};

use tokio::time::{sleep, timeout_at};

/// How often somebody looks. Short against what a person notices, long against one request.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a look at the cluster may return: what was waited for, or what was there instead.
pub trait Look {
    /// What was waited for.
    type Found;

    /// `Err` says what was seen instead, for the message of a test that fails.
    fn look(self) -> Result<Self::Found, String>;
}

impl<T> Look for Option<T> {
    type Found = T;

    fn look(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".into())
    }
}

impl<T, E: Display> Look for Result<T, E> {
    type Found = T;

    fn look(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}

impl Look for bool {
    type Found = ();

    fn look(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("not so".into()) }
    }
}

/// Looks again and again until `look` finds what it looks for, and returns that.
///
/// `look` returns an `Option`, a `bool`, or a `Result` whose error says what was there instead; errors do not end the
/// waiting. `what` completes the sentence "waited for ...".
///
/// ```
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let mut seen = 0;
/// let found = kube_e2e::eventually(Duration::from_secs(5), "three replicas", async || {
///     seen += 1;
///     if seen == 3 { Ok(seen) } else { Err(format!("{seen} replicas")) }
/// })
/// .await;
/// assert_eq!(found, 3);
/// # });
/// ```
///
/// # Panics
/// When `within` is over. The message says what was seen last, and where this was called.
#[track_caller]
pub fn eventually<L: Look>(
    within: Duration,
    what: &str,
    look: impl AsyncFnMut() -> L,
) -> impl Future<Output = L::Found> {
    let caller = Location::caller();
    async move {
        match wait_for(within, what, look).await {
            Ok(found) => found,
            Err(error) => panic!("{error} (at {caller})"),
        }
    }
}

/// What was waited for did not come about in time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("waited {} s for {what}; last seen: {last}", .within.as_secs_f32())]
pub struct NotSeen {
    /// What was waited for.
    pub what: String,
    /// For how long.
    pub within: Duration,
    /// What was there instead.
    pub last: String,
}

/// Like [`eventually`], for programs: an error instead of a panic.
///
/// # Errors
/// When `within` is over.
pub async fn wait_for<L: Look>(
    within: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> L,
) -> Result<L::Found, NotSeen> {
    let deadline = tokio::time::Instant::from_std(kube_client::clock::now()) + within;
    let mut last = "nothing, for the first look did not return".to_owned();
    // The clock is asked too: a look that is ready at once is never cut short by its timeout.
    while kube_client::clock::now() < deadline.into_std() {
        match timeout_at(deadline, look()).await.map(Look::look) {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(seen)) => last = seen,
            Err(_) => break,
        }
        sleep(LOOK_EVERY).await;
    }
    Err(NotSeen { what: what.to_owned(), within, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_found_ends_the_waiting() {
        let started = kube_client::clock::now();
        let mut looks = 0;
        let found = eventually(Duration::from_mins(1), "a fourth look", async || {
            looks += 1;
            (looks == 4).then_some(looks)
        });
        assert_eq!(found.await, 4);
        assert_eq!(kube_client::clock::now() - started, 3 * LOOK_EVERY);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "eventually.rs:")]
    async fn a_failure_says_where() {
        eventually(Duration::from_secs(1), "it", async || false).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "last seen: 2 pods")]
    async fn a_failure_says_what_was_seen_last() {
        eventually(Duration::from_secs(1), "3 pods", async || Err::<(), _>("2 pods")).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "waited 1 s for an answer")]
    async fn a_look_that_hangs_is_given_up() {
        eventually(Duration::from_secs(1), "an answer", async || std::future::pending::<bool>().await).await;
    }
}
