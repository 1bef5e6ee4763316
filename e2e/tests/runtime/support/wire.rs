//! A layer between a client and its server: counts what is sent, and cuts watches and lists on demand.

use std::{
    io,
    sync::{Arc, Mutex},
};

use futures::StreamExt as _;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube_client::{Body, Client};
use tokio::sync::watch;

/// One request, in the order of sending.
#[derive(Clone, Debug)]
struct Sent {
    method: Method,
    path: String,
    query: String,
}

impl Sent {
    fn is_watch(&self) -> bool {
        self.query.split('&').any(|pair| pair == "watch=1" || pair == "watch=true")
    }

    fn is_later_page(&self) -> bool {
        self.query.split('&').any(|pair| pair.starts_with("continue="))
    }
}

/// The way from a client to its server, with somebody who listens and may cut it. A clone is the same way.
#[derive(Clone)]
pub(crate) struct Wire {
    sent: Arc<Mutex<Vec<Sent>>>,
    watches_pass: Arc<watch::Sender<bool>>,
    pages_pass: Arc<watch::Sender<bool>>,
}

impl Wire {
    /// A client that sends everything over this wire.
    pub(crate) fn new(client: Client) -> (Self, Client) {
        let open = || Arc::new(watch::Sender::new(true));
        let wire = Self { sent: Arc::default(), watches_pass: open(), pages_pass: open() };
        let namespace = client.default_namespace().to_owned();
        let there = wire.clone();
        let service = tower::service_fn(move |request| {
            let (wire, client) = (there.clone(), client.clone());
            async move { wire.pass(&client, request).await }
        });
        (wire, Client::new(service, namespace))
    }

    /// Breaks every watch, and lets no new one through.
    pub(crate) fn cut_watches(&self) {
        self.watches_pass.send_replace(false);
    }

    /// Lets no page of a list through but the first.
    pub(crate) fn hold_pages(&self) {
        self.pages_pass.send_replace(false);
    }

    /// Lets everything through: first what waits.
    pub(crate) fn mend(&self) {
        self.watches_pass.send_replace(true);
        self.pages_pass.send_replace(true);
    }

    /// How many lists, page by page, of a kind.
    pub(crate) fn lists(&self, plural: &str) -> usize {
        let end = format!("/{plural}");
        self.count(|sent| sent.method == Method::GET && sent.path.ends_with(&end) && !sent.is_watch())
    }

    /// How many watches of a kind, opened or waiting to pass.
    pub(crate) fn watches(&self, plural: &str) -> usize {
        let end = format!("/{plural}");
        self.count(|sent| sent.path.ends_with(&end) && sent.is_watch())
    }

    /// How many requests that change something.
    pub(crate) fn writes(&self) -> usize {
        self.count(|sent| sent.method != Method::GET)
    }

    fn count(&self, which: impl Fn(&Sent) -> bool) -> usize {
        self.sent.lock().unwrap().iter().filter(|sent| which(sent)).count()
    }

    async fn pass(
        self,
        client: &Client,
        request: Request<Body>,
    ) -> Result<http::Response<Body>, kube_client::Error> {
        let sent = Sent {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
        };
        let (is_watch, is_later_page) = (sent.is_watch(), sent.is_later_page());
        self.sent.lock().unwrap().push(sent);
        if is_later_page {
            let _ = self.pages_pass.subscribe().wait_for(|passes| *passes).await;
        }
        if !is_watch {
            return client.send(request).await;
        }
        let mut passes = self.watches_pass.subscribe();
        // The sender is held by `self`.
        let _ = passes.wait_for(|passes| *passes).await;
        let response = client.send(request).await?;
        Ok(response.map(|body| {
            let way = Some((body.into_data_stream(), passes));
            Body::from_stream(futures::stream::unfold(way, |way| async {
                let (mut chunks, mut passes) = way?;
                let cut = async {
                    let _ = passes.wait_for(|passes| !*passes).await;
                };
                tokio::select! {
                    biased;
                    () = cut => Some((Err(io::Error::from(io::ErrorKind::ConnectionReset).into()), None)),
                    chunk = chunks.next() => chunk.map(|chunk| (chunk, Some((chunks, passes)))),
                }
            }))
        }))
    }
}
