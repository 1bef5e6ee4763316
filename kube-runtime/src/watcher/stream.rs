//! A watcher alone: its events as a typed stream, for those who keep no cache.
//!
//! In: a query. Out: [`Event`]s in order, decoded on the reader's thread, with errors as items. A reader that falls behind
//! holds up its own watch and nothing else. The stream never ends by itself; dropping it ends the watch.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use futures::{Stream, ready};
use kube_client::Client;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Config, Event, Problem, Sink, WatchDriver};
use crate::{
    cache::{Keep, Misfit, Slot},
    query::Query,
    scan::Scanned,
};

/// Batches that may wait for the reader: one being read and one behind it, so that neither side idles.
const BATCHES: usize = 2;

/// What a watch stream reports besides events. The watch goes on after either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// A request failed; it is made again after a delay. A reader that is behind is told the newest only.
    #[error("{0}")]
    Problem(Problem),
    /// An object does not fit its type, be it in a list, after a change or in its removal. Who keeps a set of objects takes
    /// the one with this key out of it; it is told again once it fits.
    #[error(transparent)]
    Misfit(Arc<Misfit>),
}

/// Watches the objects of a query: lists them, then follows them for as long as the stream is held. Needs a tokio runtime.
///
/// ```no_run
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::ResourceExt;
/// use kube_runtime::{Query, watcher};
///
/// # async fn run(client: kube_client::Client) {
/// let mut pods = watcher::watch(client, &Query::<Pod>::all(), watcher::Config::default());
/// while let Some(event) = pods.next().await {
///     match event {
///         Ok(watcher::Event::Apply(pod)) => println!("{}", pod.key()),
///         Ok(_) => {}
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// # }
/// ```
pub fn watch<K>(client: Client, query: &Query<K>, config: Config) -> WatchStream<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    let (send, batches) = mpsc::channel(BATCHES);
    let stop = CancellationToken::new();
    let driver = WatchDriver::new(client, query.target().clone(), config, Channel { send, problem: None });
    tokio::spawn(driver.run(stop.clone()));
    WatchStream { batches, batch: Vec::new().into_iter(), _stop: stop.drop_guard(), kind: PhantomData }
}

/// The events of a watch. Made by [`watch`].
#[must_use = "the watch ends when its stream is dropped"]
pub struct WatchStream<K> {
    batches: mpsc::Receiver<Vec<Item>>,
    batch: vec::IntoIter<Item>,
    _stop: DropGuard,
    kind: PhantomData<fn() -> K>,
}

type Item = Result<Event<Scanned>, Problem>;

impl<K: DeserializeOwned + Send + Sync + 'static> Stream for WatchStream<K> {
    type Item = Result<Event<Arc<K>>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.batch.next() {
                return Poll::Ready(Some(item.map_err(WatchError::Problem).and_then(decode)));
            }
            match ready!(self.batches.poll_recv(cx)) {
                Some(batch) => self.batch = batch.into_iter(),
                // The driver runs until the guard in here is dropped; a runtime that is shutting down may end it earlier.
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<K> fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchStream")
    }
}

fn decode<K: DeserializeOwned + Send + Sync + 'static>(
    event: Event<Scanned>,
) -> Result<Event<Arc<K>>, WatchError> {
    let decode = |scanned| Slot::new(scanned).decode(Keep::Bytes).map_err(WatchError::Misfit);
    Ok(match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(decode(object)?),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(decode(object)?),
        Event::Delete(object) => Event::Delete(decode(object)?),
    })
}

/// The sink of a stream.
struct Channel {
    send: mpsc::Sender<Vec<Item>>,
    /// The newest problem that the reader was not told, because it is behind: told with the next batch. Those before it
    /// would pile up for as long as it is away, and are over.
    problem: Option<Problem>,
}

impl Sink for Channel {
    async fn accept(&mut self, events: Vec<Event<Scanned>>) {
        let batch = self.problem.take().map(Err).into_iter().chain(events.into_iter().map(Ok)).collect();
        // The reader is gone: the driver is told to stop as well.
        let _ = self.send.send(batch).await;
    }

    fn report(&mut self, problem: Problem) {
        self.problem = Some(problem);
        if let Ok(permit) = self.send.try_reserve() {
            permit.send(self.problem.take().map(Err).into_iter().collect());
        }
    }

    /// The events that follow say it.
    fn recovered(&mut self) {}
}
