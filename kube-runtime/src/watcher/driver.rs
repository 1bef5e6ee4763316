//! Performs what a watcher's [`Machine`] orders, for one target.
//!
//! In: orders. Out: requests through the client, facts back to the machine, events to a [`Sink`]. The loop is a fixed list of
//! verbs and knows no rule: drain the orders, wait for the next facts, hand them over. What arrives in one read of the
//! connection is scanned and handed over as one batch, in order. A request is a future that is held, not awaited, so that
//! a stop or a deadline is never kept waiting; replacing it closes its connection or stream.

use std::mem;

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use http::Request;
use kube_client::{ByteStream, Client, LineSplitter, LineTooLong, TimeLimit, clock};
use kube_core::{Endpoint, ListParams, RequestError, WatchParams};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{Cause, Config, Event, Fault, Input, Machine, Output, Problem, WireEvent};
use crate::{
    error::chain,
    query::Target,
    scan::{ListPage, ScanError, Scanned, WatchLine, scan_batch, scan_list},
};

/// Most orders performed before others on this thread get a turn. An order costs a microsecond or so (an event for the
/// sink, mostly), so this is about a millisecond.
const MAX_ORDERS_PER_TURN: usize = 1024;

/// Where a watcher's events go.
pub(crate) trait Sink: Send + 'static {
    /// Takes the events of one turn, in order.
    fn accept(&mut self, events: Vec<Event<Scanned>>) -> impl Future<Output = ()> + Send;
    /// Something went wrong, and this is what is done about it.
    fn report(&mut self, problem: Problem);
    /// Whatever was reported is over.
    fn recovered(&mut self);
}

/// One watch: a machine, its requests, its sink.
#[must_use = "a driver does nothing until it is run"]
pub(crate) struct WatchDriver<S> {
    machine: Machine<Scanned>,
    requests: Requests,
    sink: S,
}

impl<S: Sink> WatchDriver<S> {
    pub(crate) fn new(client: Client, target: Target, config: Config, sink: S) -> Self {
        let requests = Requests { client, target, in_flight: InFlight::Nothing };
        Self { machine: Machine::new(config, clock::seed()), requests, sink }
    }

    /// Runs until `stop`. Faults never end it.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let span = tracing::info_span!("watch", target = %self.requests.target);
        async {
            self.machine.handle(clock::now(), Input::Started);
            while !stop.is_cancelled() {
                self.drain().await;
                if self.machine.has_orders() {
                    tokio::task::yield_now().await;
                    continue;
                }
                let facts = tokio::select! {
                    biased;
                    () = stop.cancelled() => vec![Input::Stopped],
                    facts = self.requests.next_facts() => facts,
                    () = clock::sleep_until(self.machine.deadline()) => vec![Input::Woke],
                };
                let now = clock::now();
                for fact in facts {
                    self.machine.handle(now, fact);
                }
            }
        }
        .instrument(span)
        .await;
    }

    /// Performs the machine's orders, at most a turn's worth.
    async fn drain(&mut self) {
        let mut events = Vec::new();
        for _ in 0..MAX_ORDERS_PER_TURN {
            match self.machine.poll() {
                None => break,
                Some(Output::Emit(event)) => events.push(event),
                Some(Output::List { continue_token, limit }) => self.requests.list(continue_token, limit),
                Some(Output::OpenWatch { resource_version, timeout_seconds }) => {
                    self.requests.watch(&resource_version, timeout_seconds);
                }
                Some(Output::Cancel) => self.requests.in_flight = InFlight::Nothing,
                Some(Output::Report(problem)) => {
                    tracing::warn!(during = ?problem.during, failures = problem.failures, delay = ?problem.delay,
                        "{}", problem.fault);
                    // What came before it is told before it.
                    self.hand_over(&mut events).await;
                    self.sink.report(problem);
                }
                Some(Output::Recovered) => {
                    tracing::info!("requests work again");
                    self.hand_over(&mut events).await;
                    self.sink.recovered();
                }
            }
        }
        self.hand_over(&mut events).await;
    }

    async fn hand_over(&mut self, events: &mut Vec<Event<Scanned>>) {
        if !events.is_empty() {
            self.sink.accept(mem::take(events)).await;
        }
    }
}

/// The one request of a watch that is under way.
struct Requests {
    client: Client,
    target: Target,
    in_flight: InFlight,
}

enum InFlight {
    Nothing,
    Listing(BoxFuture<'static, Result<ListPage, Fault>>),
    Opening(BoxFuture<'static, Result<ByteStream, Fault>>),
    Watching { stream: ByteStream, lines: LineSplitter },
}

impl Requests {
    fn list(&mut self, continue_token: Option<String>, limit: Option<u32>) {
        let params = ListParams {
            label_selector: self.target.labels.clone(),
            field_selector: self.target.fields.clone(),
            limit,
            continue_token,
            ..ListParams::default()
        };
        let request = prepared(self.endpoint().and_then(|endpoint| endpoint.list(&params)));
        let client = self.client.clone();
        self.in_flight = InFlight::Listing(
            async move {
                let body = client.request_bytes(request?).await.map_err(|e| fault(&e))?;
                scan_list(&body).map_err(garbled)
            }
            .boxed(),
        );
    }

    fn watch(&mut self, resource_version: &str, timeout_seconds: u32) {
        let params = WatchParams {
            label_selector: self.target.labels.clone(),
            field_selector: self.target.fields.clone(),
            timeout_seconds: Some(timeout_seconds),
            ..WatchParams::default()
        };
        let request =
            prepared(self.endpoint().and_then(|endpoint| endpoint.watch(&params, resource_version)));
        let client = self.client.clone();
        self.in_flight =
            InFlight::Opening(async move { client.stream(request?).await.map_err(|e| fault(&e)) }.boxed());
    }

    fn endpoint(&self) -> Result<Endpoint, RequestError> {
        Endpoint::new(&self.target.resource, self.target.namespace.as_deref())
    }

    /// The facts that come in next; never, when nothing is under way. May be dropped and called again: what was received
    /// is kept.
    async fn next_facts(&mut self) -> Vec<Input<Scanned>> {
        match &mut self.in_flight {
            InFlight::Nothing => std::future::pending().await,
            InFlight::Listing(reply) => {
                let page = reply.await;
                self.in_flight = InFlight::Nothing;
                vec![page.map_or_else(Input::ListFailed, page_received)]
            }
            InFlight::Opening(reply) => match reply.await {
                Ok(stream) => {
                    self.in_flight = InFlight::Watching { stream, lines: LineSplitter::new() };
                    vec![Input::WatchOpened]
                }
                Err(fault) => {
                    self.in_flight = InFlight::Nothing;
                    vec![Input::WatchFailed(fault)]
                }
            },
            InFlight::Watching { stream, lines } => {
                let chunk = stream.next().await;
                let (facts, over) = read(lines, chunk);
                if over {
                    self.in_flight = InFlight::Nothing;
                }
                facts
            }
        }
    }
}

/// A request without the client's own time limits. The machine has a deadline for each of its requests, which a user can
/// set; a shorter one below would make that setting a lie (a large page may take longer than a unary request), and would
/// report the same silence under another name.
fn prepared(request: Result<Request<Vec<u8>>, RequestError>) -> Result<Request<Vec<u8>>, Fault> {
    let mut request = request.map_err(garbled)?;
    request.extensions_mut().insert(TimeLimit(None));
    Ok(request)
}

/// The facts of one read of a watch, and whether the watch is over with it.
fn read(
    splitter: &mut LineSplitter,
    chunk: Option<Result<Bytes, kube_client::Error>>,
) -> (Vec<Input<Scanned>>, bool) {
    let mut lines = Vec::new();
    let end = match chunk {
        Some(Ok(bytes)) => {
            splitter.push(bytes);
            loop {
                match splitter.next_line() {
                    Ok(Some(line)) => lines.push(line),
                    Ok(None) => break None,
                    Err(error) => break Some(too_long(error)),
                }
            }
        }
        // A line without its end at a broken end is half a line.
        Some(Err(error)) => Some(Input::WatchFailed(fault(&error))),
        None => match splitter.finish() {
            Ok(last) => {
                // At a clean end, a last line without its newline counts if it is whole.
                lines.extend(
                    last.filter(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()),
                );
                Some(Input::WatchEnded)
            }
            Err(error) => Some(too_long(error)),
        },
    };
    let over = end.is_some();
    let facts = scan_batch(&lines).into_iter().map(line_read).chain(end).collect();
    (facts, over)
}

/// As bad as a line that cannot be read: the same watch would bring it again, and only a list leads past it.
fn too_long(error: LineTooLong) -> Input<Scanned> {
    Input::BadLine { message: error.to_string() }
}

fn page_received(page: ListPage) -> Input<Scanned> {
    let items =
        page.items.into_iter().filter_map(|item| item.map_err(|error| tell_left_out(&error)).ok()).collect();
    Input::PageReceived {
        items,
        resource_version: page.resource_version,
        continue_token: page.continue_token,
    }
}

fn line_read(line: WatchLine) -> Input<Scanned> {
    let versioned = |item: Scanned| (item.resource_version().to_owned(), item);
    Input::WatchEvent(match line {
        WatchLine::Added(item) => {
            let (resource_version, item) = versioned(item);
            WireEvent::Added { item, resource_version }
        }
        WatchLine::Modified(item) => {
            let (resource_version, item) = versioned(item);
            WireEvent::Modified { item, resource_version }
        }
        WatchLine::Deleted(item) => {
            let (resource_version, item) = versioned(item);
            WireEvent::Deleted { item, resource_version }
        }
        WatchLine::Bookmark { resource_version, initial_events_end } => {
            WireEvent::Bookmark { resource_version, initial_events_end }
        }
        WatchLine::Error(status) => WireEvent::Error(Fault::from(&status)),
        // One object that has no name, or cannot be kept, does not stop its kind: the watch has come this far all the same.
        // The removal of such an object could be told by `error.key` alone. It is not: the API server writes no object that
        // has a key and cannot be kept (no UTF-8, a uid that is no string, 4 GiB), so the key would never be of use; and the
        // next list would remove it.
        WatchLine::Bad { error, resource_version: Some(resource_version) } if !error.is_malformed() => {
            tell_left_out(&error);
            WireEvent::Bookmark { resource_version, initial_events_end: false }
        }
        WatchLine::Bad { error, .. } => return Input::BadLine { message: error.to_string() },
    })
}

fn tell_left_out(error: &ScanError) {
    tracing::warn!(%error, "left out: not an object that can be kept under its name");
}

fn garbled(error: impl std::fmt::Display) -> Fault {
    Fault::new(Cause::Garbled, error.to_string())
}

/// What a failed request means to the machine.
fn fault(error: &kube_client::Error) -> Fault {
    let mut fault = match error.api() {
        Some(error) => Fault::from(&error.status),
        None if error.is_timeout() => Fault::new(Cause::TimedOut, chain(error)),
        None => Fault::new(Cause::Unreachable, chain(error)),
    };
    fault.retry_after = error.retry_after().or(fault.retry_after);
    fault
}

#[cfg(test)]
mod tests;
