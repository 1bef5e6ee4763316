//! The server: takes a request, finds out what it is about, and has it answered.
//!
//! In: HTTP requests, as a tower service in this process. Out: responses. Reads and writes go through one lock that is held for the
//! work on one object and never over I/O; a watch is a channel that writes feed under that lock, so that every watch hears of all
//! changes in the one order that there is.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use http::{HeaderMap, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, Limited};
use kube_client::{Body, Client, clock};
use serde_json::{Value, json};
use tower::Service;

use super::{
    admit::Vain,
    crd,
    errors::ApiStatus,
    kinds::{Custom, Kind},
    meta::Stamp,
    patch::{self, ApplyError, PatchError, Typing, Writer},
    read,
    route::{Place, Query, Route, route},
    selector::{Fields, Labels},
    storage::{Resource, Storage},
    watch::{Represent, Selection, Watcher},
    write::{Deleted, Deletion, Write, Written},
};

/// Most bytes of a request's body: the real server's limit.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// How long a watch stays open that does not say.
const WATCH_TIMEOUT: Duration = Duration::from_mins(30);


/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The letters of generated names: without vowels and what looks like them, so that no words come about.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// An API server in this process. A clone is the same server.
#[derive(Clone)]
pub struct Embedded {
    state: Arc<Mutex<State>>,
}

struct State {
    storage: Storage,
    /// The kinds that definitions made.
    customs: Vec<Arc<Custom>>,
    watchers: Vec<Watcher>,
    random: fastrand::Rng,
}

/// What is answered.
type Answer = Result<Response<Body>, ApiStatus>;

impl Embedded {
    /// A server with nothing in it but the namespaces that every cluster has. Uids and generated names follow from the seed.
    pub fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let state = State { storage: Storage::default(), customs: Vec::new(), watchers: Vec::new(), random };
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in a test must not hide what it was about behind one here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn handle(self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => self.answer(&parts, &body.to_bytes()),
            Err(_) => Err(ApiStatus::body_too_large(MAX_BODY)),
        };
        answer.unwrap_or_else(|status| refuse(&status))
    }

    fn answer(&self, parts: &Parts, body: &Bytes) -> Answer {
        let query = Query::of(&parts.uri);
        match route(&parts.method, &parts.uri, &query) {
            None => Err(ApiStatus::method_not_allowed()),
            Some(Route::Other(path)) => other(&path),
            Some(Route::Resource(place)) => {
                let kind = self.lock().kind(&place).ok_or_else(ApiStatus::no_such_resource)?;
                if !place.subresource.is_empty() && !kind.has_subresource(&place.subresource) {
                    return Err(ApiStatus::no_such_resource());
                }
                Call { server: self, kind: &kind, place: &place, query: &query, parts, body }.answer()
            }
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
    fn tell(&mut self, written: &Written) {
        if let Some(change) = &written.change {
            self.watchers.retain_mut(|watcher| watcher.tell(change));
        }
    }

    /// Serves what a definition says, from now on; nothing if it is gone.
    fn define(&mut self, definition: &Value, gone: bool) {
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
                        self.watchers.retain_mut(|watcher| watcher.tell(&change));
                    }
                }
            }
            _ => {}
        }
    }

    fn uid(&mut self) -> String {
        let bits = self.random.u128(..);
        // Version 4, variant 1 (RFC 9562).
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    fn suffix(&mut self) -> String {
        (0..5).map(|_| char::from(LETTERS[self.random.usize(..LETTERS.len())])).collect()
    }
}

/// One request for a resource.
struct Call<'a> {
    server: &'a Embedded,
    kind: &'a Kind,
    place: &'a Place,
    query: &'a Query,
    parts: &'a Parts,
    body: &'a Bytes,
}

impl Call<'_> {
    fn answer(&self) -> Answer {
        match self.place.verb {
            "get" => self.get(),
            "list" => self.list(),
            "watch" => self.watch(),
            "create" => self.create(),
            "update" => self.update(),
            "patch" => self.patch(),
            "delete" => self.delete(),
            _ => self.delete_collection(),
        }
    }

    fn get(&self) -> Answer {
        let state = self.server.lock();
        let stored = state.storage.get(&self.kind.resource, &self.place.namespace, &self.place.name);
        let stored = stored.ok_or_else(|| ApiStatus::not_found(self.kind.on(&self.place.name)))?;
        Ok(respond(200, self.represent()(&stored.bytes)))
    }

    fn list(&self) -> Answer {
        let selection = self.selection()?;
        let own = (self.kind.api_version(), self.kind.list_kind());
        let (api_version, list_kind) = match self.wants_metadata() {
            true => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".to_owned()),
            false => own,
        };
        let state = self.server.lock();
        let names = (api_version.as_str(), list_kind.as_str());
        let body = read::list(&state.storage, self.kind, &selection, self.query, &self.represent(), names)?;
        Ok(respond(200, body))
    }

    fn watch(&self) -> Answer {
        let selection = self.selection()?;
        let mut state = self.server.lock();
        let (watcher, lines) = read::watch(&state.storage, self.kind, selection, self.query, self.represent())?;
        state.watchers.push(watcher);
        drop(state);
        let seconds = self.query.get("timeoutSeconds").parse().map(Duration::from_secs);
        let end = tokio::time::sleep(seconds.unwrap_or(WATCH_TIMEOUT));
        let body = Body::from_stream(lines.map(Ok::<_, Infallible>).take_until(end));
        Ok(json_response(200, body))
    }

    fn create(&self) -> Answer {
        let object = self.object()?;
        let mut state = self.server.lock();
        let written = self.write(&mut state, |write, storage| write.create(storage, object))?;
        Ok(self.respond_with(201, &written))
    }

    fn update(&self) -> Answer {
        let object = self.object()?;
        let mut state = self.server.lock();
        let written =
            self.write(&mut state, |write, storage| write.change(storage, &self.place.name, |_| Ok(object)))?;
        Ok(self.respond_with(200, &written))
    }

    fn patch(&self) -> Answer {
        let content_type = self.header(header::CONTENT_TYPE);
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type.starts_with("application/apply-patch+") {
            return self.apply();
        }
        let (types, shape) = (self.kind.types(), self.kind.shape());
        let mut state = self.server.lock();
        let written = self.write(&mut state, |write, storage| {
            write.change(storage, &self.place.name, |before| {
                let mut object = before.clone();
                let patched = match media_type {
                    "application/json-patch+json" => patch::json_patch(&mut object, self.body, self.is_strict()).map(drop),
                    "application/merge-patch+json" => {
                        patch::parse(self.body).and_then(|body| patch::merge_patch(&mut object, body))
                    }
                    "application/strategic-merge-patch+json" => {
                        patch::parse(self.body).and_then(|body| patch::strategic(types, shape, &mut object, body))
                    }
                    _ => return Err(ApiStatus::unsupported_patch()),
                };
                patched.map_err(|error| patch_error(&error))?;
                Ok(object)
            })
        })?;
        Ok(self.respond_with(200, &written))
    }

    fn apply(&self) -> Answer {
        let manager = self.query.get("fieldManager");
        if manager.is_empty() {
            let error = super::errors::FieldError::required("fieldManager", "is required for apply patch");
            return Err(ApiStatus::invalid(super::errors::Subject { group: "meta.k8s.io", kind: "PatchOptions", name: "" }, &[error]));
        }
        // JSON is YAML, and what clients of this workspace send; other YAML is refused in words.
        let applied: Value = serde_json::from_slice(self.body)
            .map_err(|error| ApiStatus::bad_request(format!("error decoding YAML: {error}")))?;
        let force = self.query.is("force");
        let mut state = self.server.lock();
        let exists = state.storage.get(&self.kind.resource, &self.place.namespace, &self.place.name).is_some();
        let now = now();
        let api_version = self.kind.api_version();
        let make = |live: Option<&Value>| {
            let typing = Typing { kind: self.kind.name(), types: self.kind.types(), shape: self.kind.shape(), reset: self.reset() };
            let writer = Writer { manager, api_version: &api_version, subresource: &self.place.subresource, time: &now };
            patch::apply(typing, live, &applied, writer, force).map_err(|error| apply_error(&error))
        };
        let (code, written) = if exists {
            let written = self.write_as(&mut state, "", |write, storage| {
                write.change(storage, &self.place.name, |before| make(Some(before)))
            })?;
            (200, written)
        } else {
            let object = make(None)?;
            (201, self.write_as(&mut state, "", |write, storage| write.create(storage, object))?)
        };
        Ok(self.respond_with(code, &written))
    }

    fn delete(&self) -> Answer {
        let how = self.deletion()?;
        let mut state = self.server.lock();
        let mut gone = None;
        self.write(&mut state, |write, storage| {
            match write.delete(storage, &self.place.name, &how)? {
                Deleted::Marked(written) => Ok(written),
                Deleted::Gone(written) => {
                    gone = Some(());
                    Ok(written)
                }
            }
        })
        .map(|written| match gone {
            Some(()) => {
                let uid = super::meta::text(&written.object, "uid").to_owned();
                let status = ApiStatus::deleted(self.kind.on(&self.place.name), &uid);
                respond(200, status.body.to_string().into())
            }
            None => self.respond_with(200, &written),
        })
    }

    fn delete_collection(&self) -> Answer {
        let (how, selection) = (self.deletion()?, self.selection()?);
        let mut state = self.server.lock();
        let selected: Vec<_> = state
            .storage
            .list(&self.kind.resource, selection.namespace.as_deref(), None)
            .filter(|stored| selection.has(stored))
            .cloned()
            .collect();
        let mut items = Vec::new();
        for stored in selected {
            let written = self.write(&mut state, |write, storage| {
                let write = Write { namespace: &stored.namespace, ..write };
                write.delete(storage, &stored.name, &how).map(|deleted| match deleted {
                    Deleted::Marked(written) | Deleted::Gone(written) => written,
                })
            })?;
            items.push(written.object);
        }
        let list = json!({
            "apiVersion": self.kind.api_version(), "kind": self.kind.list_kind(),
            "metadata": { "resourceVersion": state.storage.revision().to_string() }, "items": items
        });
        Ok(respond(200, list.to_string().into()))
    }

    /// Makes a write in the name of who asks, and tells the watches.
    fn write(
        &self,
        state: &mut State,
        make: impl FnOnce(Write<'_>, &mut Storage) -> Result<Written, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        let manager = patch::manager_of(self.query.get("fieldManager"), self.header(header::USER_AGENT));
        let manager = if manager.is_empty() { "unknown".to_owned() } else { manager };
        self.write_as(state, &manager, make)
    }

    fn write_as(
        &self,
        state: &mut State,
        manager: &str,
        make: impl FnOnce(Write<'_>, &mut Storage) -> Result<Written, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        let (uid, suffix, now) = (state.uid(), state.suffix(), now());
        let write = Write {
            kind: self.kind,
            namespace: &self.place.namespace,
            subresource: &self.place.subresource,
            manager,
            dry_run: self.query.get("dryRun") == "All",
            vain: Vain::read(self.query.get("fieldValidation")),
            stamp: Stamp { uid: &uid, now: &now },
            suffix: &suffix,
        };
        let written = make(write, &mut state.storage)?;
        if let (true, Some(change)) = (self.kind.is_definition(), &written.change) {
            state.define(&written.object, change.new.is_none());
        }
        state.tell(&written);
        Ok(written)
    }

    /// Whether fields that are given in vain matter.
    fn is_strict(&self) -> bool {
        Vain::read(self.query.get("fieldValidation")) != Vain::Ignore
    }

    fn reset(&self) -> &'static [&'static [&'static str]] {
        match (self.place.subresource.as_str(), self.kind.has_own_status()) {
            ("", true) => &[&["status"]],
            ("status", true) => &[&["spec"], &["metadata"]],
            _ => &[],
        }
    }

    fn selection(&self) -> Result<Selection, ApiStatus> {
        let wrong = |error: String| ApiStatus::bad_request(error);
        let labels = Labels::parse(self.query.get("labelSelector")).map_err(wrong)?;
        let fields = Fields::parse(self.query.get("fieldSelector")).map_err(wrong)?;
        if let Some(path) = fields.paths().find(|path| !self.kind.is_selectable(path)) {
            return Err(ApiStatus::bad_request(format!("field label not supported: {path}")));
        }
        let namespace = Some(self.place.namespace.clone()).filter(|namespace| !namespace.is_empty());
        Ok(Selection { resource: self.kind.resource.clone(), namespace, labels, fields })
    }

    fn object(&self) -> Result<Value, ApiStatus> {
        serde_json::from_slice(self.body).map_err(|error| {
            ApiStatus::bad_request(format!("{} in version {:?} cannot be handled: {error}", self.kind.name(), self.place.version))
        })
    }

    fn deletion(&self) -> Result<Deletion, ApiStatus> {
        let options: Value = if self.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(self.body)
                .map_err(|error| ApiStatus::bad_request(format!("the delete options cannot be read: {error}")))?
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let preconditions = &options["preconditions"];
        let propagation = text(&options["propagationPolicy"]).unwrap_or_else(|| self.query.get("propagationPolicy").to_owned());
        Ok(Deletion {
            uid: text(&preconditions["uid"]),
            resource_version: text(&preconditions["resourceVersion"]),
            propagation,
            grace_period_seconds: options["gracePeriodSeconds"].as_i64(),
        })
    }

    fn wants_metadata(&self) -> bool {
        self.header(header::ACCEPT).contains("as=PartialObjectMetadata")
    }

    fn represent(&self) -> Represent {
        if self.wants_metadata() { Arc::new(read::metadata_only) } else { Arc::new(Bytes::clone) }
    }

    fn respond_with(&self, code: u16, written: &Written) -> Response<Body> {
        let mut response = respond(code, self.represent()(&written.object.to_string().into()));
        for warning in &written.warnings {
            // RFC 7234, 5.5; what cannot be a header is told by nobody else either.
            let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
            if let Ok(value) = header::HeaderValue::try_from(text) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }

    fn header(&self, name: header::HeaderName) -> &str {
        text_of(&self.parts.headers, name)
    }
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

fn text_of(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What is no resource.
fn other(path: &str) -> Answer {
    match path.trim_end_matches('/') {
        "/healthz" | "/livez" | "/readyz" => Ok(Response::new(Body::from("ok"))),
        "/version" => {
            let version = json!({ "major": "1", "minor": "37", "gitVersion": "v1.37.2", "platform": "embedded" });
            Ok(respond(200, version.to_string().into()))
        }
        _ => Ok(Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(Body::from("404 page not found\n"))
            .unwrap_or_default()),
    }
}

fn respond(code: u16, body: Bytes) -> Response<Body> {
    json_response(code, Body::from(body))
}

fn json_response(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn refuse(status: &ApiStatus) -> Response<Body> {
    let mut response = respond(status.code, status.body.to_string().into());
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn patch_error(error: &PatchError) -> ApiStatus {
    match error {
        PatchError::BadRequest(message) => ApiStatus::bad_request(message.clone()),
        PatchError::Unprocessable => ApiStatus::patch_failed(),
        PatchError::TooLarge(_) => ApiStatus::body_too_large(MAX_BODY),
        PatchError::Internal(message) => ApiStatus::internal(message),
    }
}

fn apply_error(error: &ApplyError) -> ApiStatus {
    match error {
        ApplyError::BadRequest(message) => ApiStatus::bad_request(message.clone()),
        ApplyError::Untyped(message) => ApiStatus::internal(message),
        ApplyError::Conflicts(conflicts) => {
            let conflicts: Vec<_> = conflicts
                .iter()
                .map(|c| (c.message().trim_start_matches("conflict with ").to_owned(), c.field()))
                .collect();
            ApiStatus::apply_conflicts(&conflicts)
        }
    }
}

/// The time as objects carry it.
fn now() -> String {
    clock::wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
