//! A scripted API server for the tests of the drivers: lists that are set, watches that are fed, a log of what was asked.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response};
use kube_client::{Body, BoxError, Client};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What the server says to a request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// This code and body.
    Answer(u16, String),
    /// Nothing, for ever.
    Silence,
}

#[derive(Clone, Default)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// What to answer a list of this path with.
    lists: HashMap<String, Reply>,
    /// What to refuse the next watches of this path with, the last first.
    refusals: HashMap<String, Vec<Reply>>,
    /// The open watches, and whether each had a line already.
    watches: HashMap<String, mpsc::UnboundedSender<Result<Bytes, BoxError>>>,
    /// `LIST path` and `WATCH path rv`, in order.
    log: Vec<String>,
}

impl Server {
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        Client::new(
            tower::service_fn(move |request: Request<Body>| {
                let server = server.clone();
                let uri = request.uri().clone();
                async move { Ok::<_, Infallible>(server.answer(&uri).await) }
            }),
            "default",
        )
    }

    /// From now on a list of `path` has these objects.
    pub(crate) fn list(&self, path: &str, version: &str, objects: &[Value]) {
        let body = json!({ "kind": "List", "metadata": { "resourceVersion": version }, "items": objects });
        self.reply(path, Reply::Answer(200, body.to_string()));
    }

    /// From now on a list of `path` is answered with this.
    pub(crate) fn reply(&self, path: &str, reply: Reply) {
        self.state.lock().unwrap().lists.insert(path.to_owned(), reply);
        self.changed.notify_waiters();
    }

    /// The next watch of `path` is answered with this.
    pub(crate) fn refuse_watch(&self, path: &str, reply: Reply) {
        self.state.lock().unwrap().refusals.entry(path.to_owned()).or_default().push(reply);
    }

    /// Sends a line on the open watch of `path`.
    pub(crate) async fn event(&self, path: &str, kind: &str, object: &Value) {
        self.raw(path, Ok(format!("{}\n", json!({ "type": kind, "object": object })).into())).await;
    }

    /// Sends bytes, or breaks the connection, on the open watch of `path`; waits for one to be there.
    pub(crate) async fn raw(&self, path: &str, chunk: Result<Bytes, BoxError>) {
        let watch = self.watch_of(path).await;
        watch.unbounded_send(chunk).expect("the watch is open");
    }

    /// Ends the open watch of `path` in order.
    pub(crate) async fn end(&self, path: &str) {
        let watch = self.watch_of(path).await;
        self.state.lock().unwrap().watches.remove(path);
        watch.close_channel();
    }

    /// What was asked, in order.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    /// Waits until that many requests were asked.
    pub(crate) async fn asked(&self, count: usize) -> Vec<String> {
        self.until(|state| (state.log.len() >= count).then(|| state.log.clone())).await
    }

    async fn watch_of(&self, path: &str) -> mpsc::UnboundedSender<Result<Bytes, BoxError>> {
        self.until(|state| state.watches.get(path).filter(|watch| !watch.is_closed()).cloned()).await
    }

    async fn until<T>(&self, mut found: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(value) = found(&self.state.lock().unwrap()) {
                return value;
            }
            changed.await;
        }
    }

    async fn answer(&self, uri: &http::Uri) -> Response<Body> {
        let path = uri.path().to_owned();
        let query: HashMap<String, String> = uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let reply = if query.contains_key("watch") {
            let version = query.get("resourceVersion").cloned().unwrap_or_default();
            let mut state = self.state.lock().unwrap();
            state.log.push(format!("WATCH {path} {version}"));
            if let Some(reply) = state.refusals.get_mut(&path).and_then(Vec::pop) {
                reply
            } else {
                let (send, receive) = mpsc::unbounded();
                state.watches.insert(path, send);
                drop(state);
                self.changed.notify_waiters();
                return Response::new(Body::from_stream(receive));
            }
        } else {
            self.state.lock().unwrap().log.push(format!("LIST {path}"));
            self.changed.notify_waiters();
            self.until(|state| match state.lists.get(&path) {
                None => Some(Reply::Answer(404, "404 page not found\n".into())),
                Some(Reply::Silence) => None,
                Some(reply) => Some(reply.clone()),
            })
            .await
        };
        self.changed.notify_waiters();
        match reply {
            Reply::Answer(code, body) => {
                Response::builder().status(code).body(Body::from(body)).expect("a valid response")
            }
            Reply::Silence => std::future::pending().await,
        }
    }
}

/// A ConfigMap with this name, version, and further metadata.
pub(crate) fn config_map(name: &str, version: &str, metadata: &Value) -> Value {
    let mut all =
        json!({ "namespace": "d", "name": name, "uid": format!("uid-{name}"), "resourceVersion": version });
    if let (Some(all), Some(more)) = (all.as_object_mut(), metadata.as_object()) {
        all.extend(more.clone());
    }
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": all })
}
