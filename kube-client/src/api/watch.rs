//! A watch as a stream of decoded events.
//!
//! In: parameters and the resource version to start from. Out: events in order. A line that does not fit the type is an
//! error of its own and the stream goes on; a broken connection, a limit that passed or a line that is too long ends it.
//! The end without an error is the server's: it closes every watch after `timeoutSeconds`.
//!
//! What it leaves to others: resuming, relisting, backing off. Whoever wants that wants `kube-runtime`'s watcher, which
//! reads [`Client::stream`](crate::Client::stream) and decodes late.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::{Stream, StreamExt};
use http::Method;
use kube_core::{Resource, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;

use super::Api;
use crate::{Error, LineStream, decode::decode};

impl<K: Resource + DeserializeOwned, P> Api<K, P> {
    /// Watches from a resource version (of a list, or of the last event seen); empty for the present objects as `Added`
    /// and then their changes.
    ///
    /// It ends by itself after `timeoutSeconds`, and with [`Error::Timeout`] 15 s later if the server has gone silent;
    /// without `timeoutSeconds` it ends when the server wants it to.
    ///
    /// # Errors
    /// [`Error::is_gone`] when the version is too old, which may also come as a [`WatchEvent::Error`] whose status
    /// [`is_gone`](kube_core::Status::is_gone); [`Error::is_forbidden`] without the right to watch.
    pub async fn watch(&self, params: &WatchParams, resource_version: &str) -> Result<EventStream<K>, Error> {
        let request = self.endpoint()?.watch(params, resource_version)?;
        let path = request.uri().path().to_owned();
        let lines = self.client().stream(request).await?.lines();
        Ok(EventStream { lines, path, kind: PhantomData })
    }
}

/// The events of a watch, decoded. See [`Api::watch`].
pub struct EventStream<K> {
    lines: LineStream,
    path: String,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned> Stream for EventStream<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(line) = ready!(self.lines.poll_next_unpin(cx)) else { return Poll::Ready(None) };
        Poll::Ready(Some(line.and_then(|line| decode(&line, &Method::GET, &self.path))))
    }
}

impl<K> fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("path", &self.path).finish_non_exhaustive()
    }
}
