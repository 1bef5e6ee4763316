//! The server: takes a request, finds out what it is about, and has it answered.
//!
//! In: HTTP requests, as a tower service in this process. Out: responses. Reads and writes go through one lock that is held for the
//! work on one object and never over I/O; a watch is a channel that writes feed under that lock, so that every watch hears of all
//! changes in the one order that there is.

use std::{
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{FutureExt, channel::mpsc, future::BoxFuture};
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt, Limited};
use kube_client::{Body, Client, clock};
use serde_json::{Value, json};
use tower::Service;

use super::{
    admit::Vain,
    call::Call,
    crd,
    discovery::discover,
    errors::ApiStatus,
    kinds::{Custom, Kind},
    meta::Stamp,
    reply,
    route::{Place, Query, Route, route},
    storage::{Change, Resource, Storage},
    watch::{WatchId, Watcher},
    write::{Write, Written},
};

/// Most bytes of a request's body: the real server's limit.
pub(super) const MAX_BODY: usize = 3 * 1024 * 1024;

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The letters of generated names and of hashes: without vowels and what looks like them, so that no words come about.
pub(super) const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// An API server in this process. A clone is the same server.
#[derive(Clone)]
pub struct Embedded {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

pub(super) struct State {
    pub(super) storage: Storage,
    /// The kinds that definitions made.
    customs: Vec<Arc<Custom>>,
    pub(super) watchers: Vec<Watcher>,
    /// Who hears of all changes.
    listeners: Vec<mpsc::UnboundedSender<Arc<Change>>>,
    random: fastrand::Rng,
}

/// What is answered.
pub(super) type Answer = Result<Response<Body>, ApiStatus>;

impl Embedded {
    /// A server with nothing in it but the namespaces that every cluster has. Uids and generated names follow from the seed.
    pub fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let state = State {
            storage: Storage::default(),
            customs: Vec::new(),
            watchers: Vec::new(),
            listeners: Vec::new(),
            random,
        };
        let server = Self { state: Arc::new(Mutex::new(state)) };
        for name in NAMESPACES {
            server.create_namespace(name);
        }
        server
    }

    /// A client whose requests never leave this process.
    pub fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// Forgets all that happened so far: watches and continue tokens from before are gone (410).
    pub fn compact(&self) {
        self.lock().storage.compact();
    }

    /// Every change from now on, of all kinds in one order, after the objects that are there, as if they were new. Without a
    /// bound: who listens is in this process and does nothing else.
    pub(super) fn listen(&self) -> mpsc::UnboundedReceiver<Arc<Change>> {
        let (send, changes) = mpsc::unbounded();
        let mut state = self.lock();
        for (resource, stored) in state.storage.all() {
            let (resource, revision, new) = (resource.clone(), stored.revision, Some(stored.clone()));
            // The receiver is here.
            let _ = send.unbounded_send(Arc::new(Change { resource, revision, old: None, new, last: None }));
        }
        state.listeners.push(send);
        changes
    }

    fn create_namespace(&self, name: &str) {
        let place = Place { version: "v1".into(), plural: "namespaces".into(), ..Place::default() };
        let object = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
            "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" }
        });
        let Some(kind) = Kind::built_in(&place) else { return };
        let mut state = self.lock();
        let (uid, suffix, now) = (state.uid(), state.suffix(), now());
        let write = Write {
            kind: &kind,
            namespace: "",
            subresource: "",
            manager: "kube-apiserver",
            dry_run: false,
            vain: Vain::Ignore,
            stamp: Stamp { uid: &uid, now: &now },
            suffix: &suffix,
        };
        // A new server has no such namespace yet, and the object is right.
        if let Ok(written) = write.create(&mut state.storage, object) {
            state.tell(&written);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in a test must not hide what it was about behind one here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a watch how far it has come.
    pub(super) fn bookmark(&self, kind: &Kind, id: &WatchId) {
        let mut state = self.lock();
        let revision = state.storage.revision();
        if let Some(watcher) = state.watchers.iter_mut().find(|watcher| watcher.is(id)) {
            watcher.bookmark(&kind.api_version(), kind.name(), revision);
        }
    }

    async fn handle(self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => self.answer(&parts, &body.to_bytes()),
            Err(_) => Err(ApiStatus::body_too_large(MAX_BODY)),
        };
        answer.unwrap_or_else(|status| reply::refuse(&status))
    }

    fn answer(&self, parts: &Parts, body: &Bytes) -> Answer {
        let query = Query::of(&parts.uri);
        match route(&parts.method, &parts.uri, &query) {
            None => Err(ApiStatus::method_not_allowed()),
            Some(Route::Other(path)) => Ok(self.other(&path)),
            Some(Route::Resource(place)) => {
                let kind = self.lock().kind(&place).ok_or_else(ApiStatus::no_such_resource)?;
                check_place(&kind, &place)?;
                Call { server: self, kind: &kind, place: &place, query: &query, parts, body }.answer()
            }
        }
    }

    /// What is no resource.
    fn other(&self, path: &str) -> Response<Body> {
        let path = path.trim_end_matches('/');
        if let Some(found) = discover(path, &self.lock().customs) {
            return reply::respond(200, found.to_string().into());
        }
        match path {
            "/healthz" | "/livez" | "/readyz" => Response::new(Body::from("ok")),
            "/version" => {
                let version = json!({
                    "major": "1", "minor": "37", "emulationMajor": "1", "emulationMinor": "37", "minCompatibilityMajor": "1",
                    "minCompatibilityMinor": "36", "gitVersion": "v1.37.2", "gitCommit": "", "gitTreeState": "", "buildDate": "",
                    "goVersion": "", "compiler": "", "platform": "embedded"
                });
                reply::respond(200, version.to_string().into())
            }
            _ => Response::builder()
                .status(StatusCode::NOT_FOUND)
                .body(Body::from("404 page not found\n"))
                .unwrap_or_default(),
        }
    }
}

impl State {
    /// The kind of a place.
    fn kind(&self, place: &Place) -> Option<Kind> {
        let custom = || self.customs.iter().find(|custom| custom.is_at(place)).map(Kind::custom);
        Kind::built_in(place).or_else(custom)
    }

    /// Lets every watch hear of a write.
    pub(super) fn tell(&mut self, written: &Written) {
        if let Some(change) = &written.change {
            self.spread(change);
        }
    }

    fn spread(&mut self, change: &Arc<Change>) {
        self.watchers.retain_mut(|watcher| watcher.tell(change));
        self.listeners.retain(|listener| listener.unbounded_send(change.clone()).is_ok());
    }

    /// Serves what a definition says, from now on; nothing if it is gone.
    pub(super) fn define(&mut self, definition: &Value, gone: bool) {
        let resource = Resource {
            group: Arc::from(definition["spec"]["group"].as_str().unwrap_or_default()),
            plural: Arc::from(definition["spec"]["names"]["plural"].as_str().unwrap_or_default()),
        };
        self.customs.retain(|custom| Kind::custom(custom).resource != resource);
        match crd::Served::read(definition) {
            Some(served) if !gone => self.customs.extend(Custom::versions(served)),
            _ if gone => {
                // Its objects go with it, whatever their finalizers wait for: nobody can see them any more.
                let all: Vec<_> = self.storage.list(&resource, None, None).cloned().collect();
                for stored in all {
                    let last = stored.at(self.storage.next_revision());
                    if let Some(change) = self.storage.remove(&resource, last) {
                        self.spread(&change);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn uid(&mut self) -> String {
        let bits = self.random.u128(..);
        // Version 4, variant 1 (RFC 9562).
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    pub(super) fn suffix(&mut self) -> String {
        (0..5).map(|_| char::from(LETTERS[self.random.usize(..LETTERS.len())])).collect()
    }
}

/// Whether a kind has such a place, and takes the verb there.
fn check_place(kind: &Kind, place: &Place) -> Result<(), ApiStatus> {
    let misplaced = !kind.is_namespaced() && !place.namespace.is_empty();
    let no_such_part = !place.subresource.is_empty() && !kind.has_subresource(&place.subresource);
    if misplaced || no_such_part {
        return Err(ApiStatus::no_such_resource());
    }
    // All namespaces together can be read and nothing else.
    let everywhere = kind.is_namespaced() && place.namespace.is_empty();
    let reads_all = matches!(place.verb, "list" | "watch");
    // Only collections and parts of objects are posted to.
    let posted_to_object = place.verb == "create" && !place.name.is_empty() && place.subresource.is_empty();
    if (everywhere && !reads_all) || posted_to_object || !kind.takes(place.verb, &place.subresource) {
        return Err(ApiStatus::method_not_allowed());
    }
    Ok(())
}

impl Service<Request<Body>> for Embedded {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.clone().handle(request).map(Ok).boxed()
    }
}

/// The time as objects carry it.
pub(super) fn now() -> String {
    clock::wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
