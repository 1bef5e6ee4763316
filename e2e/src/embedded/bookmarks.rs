//! Decides when a watch is told how far it has come, and when it ends.
//!
//! In: the lines of a watch, and how long it may stay open. Out: the lines, until then. Each minute, and two seconds before
//! its end, somebody is asked to put a bookmark among them: the numbers are the real server's. It is asked for here and written there,
//! because only a lock that no write is under can tell that all before it has been told.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt, channel::mpsc, stream};
use tokio::time::{Sleep, sleep};

/// How long a watch goes without a bookmark.
const EVERY: Duration = Duration::from_mins(1);

/// How long before its end it gets one, so that its reader can take it up from there.
const BEFORE_END: Duration = Duration::from_secs(2);

struct Open<F> {
    lines: mpsc::Receiver<Bytes>,
    timer: Pin<Box<Sleep>>,
    /// What is left when the timer is over; nothing: it is the end.
    left: Duration,
    bookmark: F,
}

/// The lines of a watch, until `timeout` is over or nobody writes any more. `bookmark` is called when one is due.
pub(super) fn until(
    lines: mpsc::Receiver<Bytes>,
    timeout: Duration,
    bookmark: impl FnMut() + Send + 'static,
) -> impl Stream<Item = Bytes> + Send {
    let wait = next(timeout);
    let open = Open { lines, timer: Box::pin(sleep(wait)), left: timeout.saturating_sub(wait), bookmark };
    stream::unfold(open, Open::line)
}

/// How long to wait for the next bookmark; for the end where no more comes.
fn next(left: Duration) -> Duration {
    if left > BEFORE_END { EVERY.min(left.saturating_sub(BEFORE_END)) } else { left }
}

impl<F: FnMut()> Open<F> {
    async fn line(mut self) -> Option<(Bytes, Self)> {
        loop {
            tokio::select! {
                // A busy watch has its bookmarks and its end too.
                biased;
                () = &mut self.timer => {
                    if self.left.is_zero() {
                        return None;
                    }
                    (self.bookmark)();
                    let wait = next(self.left);
                    self.left = self.left.saturating_sub(wait);
                    self.timer = Box::pin(sleep(wait));
                }
                line = self.lines.next() => return line.map(|line| (line, self)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bookmarks_come_each_minute_and_shortly_before_the_end() {
        for (seconds, bookmarks) in [(1, 0), (2, 0), (4, 1), (60, 1), (62, 1), (63, 2), (1_800, 30)] {
            let (_send, lines) = mpsc::channel(1);
            let told = Arc::new(AtomicUsize::new(0));
            let tell = told.clone();
            let begun = kube_client::clock::now();
            let bookmark = move || {
                tell.fetch_add(1, Ordering::Relaxed);
            };
            let lines = until(lines, Duration::from_secs(seconds), bookmark).count().await;
            assert_eq!((lines, told.load(Ordering::Relaxed)), (0, bookmarks), "{seconds} s");
            assert_eq!((kube_client::clock::now() - begun).as_secs(), seconds);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_nobody_writes_to_any_more_ends_after_its_last_line() {
        let (mut send, lines) = mpsc::channel(1);
        send.try_send(Bytes::from_static(b"{}")).unwrap();
        drop(send);
        assert_eq!(until(lines, EVERY, || {}).count().await, 1);
    }
}
