//! Carries out the election's requests: one at a time, each until its time is up, each answered by one [`Input`].
//!
//! In: the orders to read, create and put, with the time at which to give up. Out: [`LeaseIo::next_fact`], and the whole Lease as it
//! was last seen, so that what the record does not hold is written back unchanged.
//! Nothing is decided here: a 404 of a read is the fact that there is no Lease, every other failure is a [`Fault`].

use std::{future, time::Instant};

use futures::{FutureExt, future::BoxFuture};
use kube_client::Client;
use kube_core::{ApiResource, Endpoint, GetParams, RequestError, WriteParams, http::Request};
use serde_json::Value;

use crate::{
    election::{Fault, Input},
    record::{Document, Record, Seen},
    settings::SettingsError,
};

pub(crate) struct LeaseIo {
    client: Client,
    endpoint: Endpoint,
    name: String,
    /// A Lease of this name with nothing in it.
    blank: Document,
    last: Option<Document>,
    flight: Option<BoxFuture<'static, Reply>>,
}

enum Reply {
    Read(Result<Option<(Document, Seen)>, Fault>),
    Write(Result<(Document, Seen), Fault>),
}

impl LeaseIo {
    pub(crate) fn new(client: Client, namespace: &str, name: &str) -> Result<Self, SettingsError> {
        let leases = ApiResource::new("coordination.k8s.io", "v1", "Lease", "leases", true);
        let endpoint = Endpoint::new(&leases, Some(namespace))
            .map_err(|_| SettingsError::NotAName { field: "namespace", value: namespace.to_owned() })?;
        Ok(Self {
            client,
            endpoint,
            name: name.to_owned(),
            blank: Document::new(namespace, name),
            last: None,
            flight: None,
        })
    }

    /// Sends a read, to be answered by `due`.
    pub(crate) fn read(&mut self, due: Option<Instant>) {
        let request = self.endpoint.get(&self.name, &GetParams::default());
        let answer = answer(self.client.clone(), request, due);
        self.flight = Some(
            answer
                .map(|answer| match answer {
                    Ok(seen) => Reply::Read(Ok(Some(seen))),
                    Err(Fault::NotFound) => Reply::Read(Ok(None)),
                    Err(fault) => Reply::Read(Err(fault)),
                })
                .boxed(),
        );
    }

    /// Sends a Lease that is to be made.
    pub(crate) fn create(&mut self, record: &Record, due: Option<Instant>) {
        let lease = self.blank.clone().put(record, None);
        let request = self.endpoint.create(lease.to_string().into_bytes(), &WriteParams::default());
        self.write(request, due);
    }

    /// Sends a Lease that is to take the place of the version that is named.
    pub(crate) fn put(&mut self, record: &Record, resource_version: &str, due: Option<Instant>) {
        let document = self.last.as_ref().unwrap_or(&self.blank).clone();
        let lease = document.put(record, Some(resource_version));
        let request =
            self.endpoint.replace(&self.name, lease.to_string().into_bytes(), &WriteParams::default());
        self.write(request, due);
    }

    fn write(&mut self, request: Result<Request<Vec<u8>>, RequestError>, due: Option<Instant>) {
        self.flight = Some(answer(self.client.clone(), request, due).map(Reply::Write).boxed());
    }

    /// The answer to the request on its way; never comes while there is none. Dropping this future loses nothing.
    pub(crate) async fn next_fact(&mut self) -> Input {
        let Some(flight) = &mut self.flight else { return future::pending().await };
        let reply = flight.await;
        self.flight = None;
        match reply {
            Reply::Read(Ok(Some((document, seen)))) => {
                self.last = Some(document);
                Input::LeaseSeen(Some(seen))
            }
            Reply::Read(Ok(None)) => Input::LeaseSeen(None),
            Reply::Read(Err(fault)) => Input::ReadFailed(fault),
            Reply::Write(Ok((document, seen))) => {
                self.last = Some(document);
                Input::Written(seen)
            }
            Reply::Write(Err(fault)) => Input::WriteFailed(fault),
        }
    }
}

/// Sends one request and reads the Lease out of the answer.
async fn answer(
    client: Client,
    request: Result<Request<Vec<u8>>, RequestError>,
    due: Option<Instant>,
) -> Result<(Document, Seen), Fault> {
    let request = request.map_err(|error| {
        tracing::warn!(%error, "a lease request could not be made");
        Fault::Garbled
    })?;
    let method = request.method().clone();
    let exchange = client.request::<Value>(request);
    let exchanged = match due {
        Some(due) => tokio::time::timeout_at(due.into(), exchange).await,
        None => Ok(exchange.await),
    };
    let answer = exchanged
        .map_err(|_| {
            tracing::warn!(%method, "a lease request was not answered in time");
            Fault::TimedOut
        })?
        .map_err(|error| {
            let fault = fault_of(&error);
            match fault {
                // Part of the game: a lease that is not there yet, and candidates that meet.
                Fault::NotFound | Fault::Conflict => tracing::debug!(%method, %fault, "a lease request failed"),
                _ => tracing::warn!(%method, error = &error as &dyn std::error::Error, "a lease request failed"),
            }
            fault
        })?;
    Document::read(answer).ok_or(Fault::Garbled)
}

/// What of an error a decision can depend on.
fn fault_of(error: &kube_client::Error) -> Fault {
    match error.code() {
        Some(409) => Fault::Conflict,
        Some(404) => Fault::NotFound,
        Some(code) => Fault::Refused { code },
        None if error.is_timeout() => Fault::TimedOut,
        None => match error {
            kube_client::Error::Decode { .. } => Fault::Garbled,
            _ => Fault::Unreachable,
        },
    }
}
