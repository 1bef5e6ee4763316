//! Answers one request for a resource: from a verb on a place to a response.
//!
//! In: a kind, a place, the query, the head and the body of a request. Out: an [`Answer`]. What each verb does with the storage is
//! told by `read` and `write`; here is how requests say what they want, and how answers say what came of it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, header, request::Parts};
use kube_client::{Body, clock};
use serde_json::{Value, json};

use super::{
    admit::{self, Vain},
    bookmarks,
    errors::{ApiStatus, FieldError, Subject},
    kinds::{Custom, Kind},
    meta::Stamp,
    patch::{self, Typing, Writer},
    read, reply,
    route::{Place, Query},
    scale,
    selector::{Fields, Labels},
    server::{Answer, Embedded, MAX_BODY, State, now},
    shape::{Shape, decode},
    storage::Storage,
    table,
    watch::{Represent, Selection},
    write::{self, Deleted, Deletion, Write, Written},
};

/// How long a watch stays open that does not say.
const WATCH_TIMEOUT: Duration = Duration::from_mins(30);

/// The patches of custom kinds. The real server names them to who sends another.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// One request for a resource.
pub(super) struct Call<'a> {
    pub(super) server: &'a Embedded,
    pub(super) kind: &'a Kind,
    pub(super) place: &'a Place,
    pub(super) query: &'a Query,
    pub(super) parts: &'a Parts,
    pub(super) body: &'a Bytes,
}

impl Call<'_> {
    pub(super) fn answer(&self) -> Answer {
        match self.place.subresource.as_str() {
            "" | "status" | "finalize" => {}
            "scale" => return self.scale(),
            other => return Err(ApiStatus::not_served(&format!("{}/{other}", self.kind.resource.plural))),
        }
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
        Ok(reply::respond(200, self.represent()(&stored.bytes)))
    }

    fn list(&self) -> Answer {
        let selection = self.selection()?;
        let own = (self.kind.api_version(), self.kind.list_kind());
        let (api_version, list_kind) = if self.wants_metadata() {
            ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".to_owned())
        } else {
            own
        };
        let state = self.server.lock();
        let names = (api_version.as_str(), list_kind.as_str());
        let columns = self.columns();
        let represent = if columns.is_some() { Arc::new(Bytes::clone) } else { self.represent() };
        let body = read::list(&state.storage, self.kind, &selection, self.query, &represent, names)?;
        drop(state);
        let Some(custom) = columns else { return Ok(reply::respond(200, body)) };
        let list: Value = serde_json::from_slice(&body).unwrap_or_default();
        let objects = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let table = table::of(&custom.version().columns, &list["metadata"], objects, clock::wall());
        Ok(reply::respond(200, table.to_string().into()))
    }

    fn watch(&self) -> Answer {
        let selection = self.selection()?;
        let mut state = self.server.lock();
        let (watcher, first, lines) =
            read::watch(&state.storage, self.kind, selection, self.query, self.represent())?;
        let id = watcher.id();
        state.watchers.push(watcher);
        drop(state);
        // 0 is as good as none.
        let seconds = self.query.get("timeoutSeconds").parse().ok().filter(|seconds| *seconds > 0);
        let timeout = seconds.map_or(WATCH_TIMEOUT, Duration::from_secs);
        let (server, kind) = (self.server.clone(), self.kind.clone());
        let lines = bookmarks::until(lines, timeout, move || server.bookmark(&kind, &id));
        let lines = stream::iter(first).chain(lines);
        let body = Body::from_stream(lines.map(Ok::<_, Infallible>));
        Ok(reply::stream(200, body))
    }

    fn create(&self) -> Answer {
        let (object, warnings) = self.object()?;
        let mut state = self.server.lock();
        let mut written = self.write(&mut state, |write, storage| write.create(storage, object))?;
        written.warnings.splice(0..0, warnings);
        Ok(self.respond_with(201, &written))
    }

    fn update(&self) -> Answer {
        let (object, warnings) = self.object()?;
        let mut state = self.server.lock();
        let mut written =
            self.write(&mut state, |write, storage| write.change(storage, &self.place.name, |_| Ok(object)))?;
        written.warnings.splice(0..0, warnings);
        Ok(self.respond_with(200, &written))
    }

    fn patch(&self) -> Answer {
        if self.is_apply() {
            return self.apply();
        }
        let mut state = self.server.lock();
        let written = self.write(&mut state, |write, storage| {
            write.change(storage, &self.place.name, |before| self.patched(self.kind.shape(), before))
        })?;
        Ok(self.respond_with(200, &written))
    }

    /// What the patch of this request makes of an object.
    fn patched(&self, shape: &Shape, before: &Value) -> Result<Value, ApiStatus> {
        let types = self.kind.types();
        let mut object = before.clone();
        let patched = match self.media_type() {
            "application/json-patch+json" => {
                patch::json_patch(&mut object, self.body, self.is_strict()).map(drop)
            }
            "application/merge-patch+json" => {
                patch::parse(self.body).and_then(|body| patch::merge_patch(&mut object, body))
            }
            "application/strategic-merge-patch+json" if self.kind.as_custom().is_none() => {
                patch::parse(self.body).and_then(|body| patch::strategic(types, shape, &mut object, body))
            }
            _ if self.kind.as_custom().is_some() => return Err(ApiStatus::unsupported_body(&CUSTOM_PATCHES)),
            _ => return Err(ApiStatus::unsupported_patch()),
        };
        patched.map_err(|error| reply::patch_error(&error, MAX_BODY))?;
        Ok(object)
    }

    fn apply(&self) -> Answer {
        let mut state = self.server.lock();
        let exists =
            state.storage.get(&self.kind.resource, &self.place.namespace, &self.place.name).is_some();
        let now = now();
        let typing = self.kind.typing(&self.place.subresource);
        let api_version = self.kind.api_version();
        let (code, written) = if exists || !self.place.subresource.is_empty() {
            let written = self.write_as(&mut state, "", |write, storage| {
                write.change(storage, &self.place.name, |before| {
                    self.applied(typing, &api_version, Some(before), &now)
                })
            })?;
            (200, written)
        } else {
            let object = self.applied(typing, &api_version, None, &now)?;
            (201, self.write_as(&mut state, "", |write, storage| write.create(storage, object))?)
        };
        Ok(self.respond_with(code, &written))
    }

    /// What the apply of this request makes of an object.
    fn applied(
        &self,
        typing: Typing<'_>,
        api_version: &str,
        live: Option<&Value>,
        now: &str,
    ) -> Result<Value, ApiStatus> {
        let manager = self.query.get("fieldManager");
        if manager.is_empty() {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(ApiStatus::invalid(
                Subject { group: "meta.k8s.io", kind: "PatchOptions", name: "" },
                &[error],
            ));
        }
        // JSON is YAML, and what clients of this workspace send; other YAML is refused in words.
        let applied: Value = serde_json::from_slice(self.body)
            .map_err(|error| ApiStatus::bad_request(format!("error decoding YAML: {error}")))?;
        let writer = Writer { manager, api_version, subresource: &self.place.subresource, time: now };
        let merged = patch::apply(typing, live, &applied, writer, self.query.is("force"));
        merged.map_err(|error| reply::apply_error(&error))
    }

    fn scale(&self) -> Answer {
        let scaling = self.kind.scaling().ok_or_else(ApiStatus::no_such_resource)?;
        let (shape, now, manager) = (scale::shape(), now(), self.manager());
        let mut state = self.server.lock();
        if self.place.verb == "get" {
            let stored = state.storage.get(&self.kind.resource, &self.place.namespace, &self.place.name);
            let stored = stored.ok_or_else(|| ApiStatus::not_found(self.kind.on(&self.place.name)))?;
            let scale = scale::of(self.kind, &scaling, &write::parse(stored)?)?;
            return Ok(reply::respond(200, scale.to_string().into()));
        }
        let is_apply = self.place.verb == "patch" && self.is_apply();
        let edit = |old: &Value| match self.place.verb {
            "update" => self.parsed(),
            "patch" if is_apply => {
                let typing =
                    Typing { kind: "Scale", types: self.kind.types(), shape: &shape, reset: scale::RESET };
                self.applied(typing, scale::VERSION, Some(old), &now)
            }
            "patch" => self.patched(&shape, old),
            _ => Err(ApiStatus::method_not_allowed()),
        };
        let manager = if is_apply { "" } else { &manager };
        let writer = Writer { manager, api_version: scale::VERSION, subresource: "scale", time: &now };
        let written = self.write_as(&mut state, "", |write, storage| {
            write.change(storage, &self.place.name, |before| {
                scale::edited(self.kind, &scaling, before, writer, edit)
            })
        })?;
        let scale = scale::of(self.kind, &scaling, &written.object)?;
        Ok(reply::respond(200, scale.to_string().into()))
    }

    fn delete(&self) -> Answer {
        let how = self.deletion()?;
        let mut state = self.server.lock();
        let mut gone = None;
        self.write(&mut state, |write, storage| match write.delete(storage, &self.place.name, &how)? {
            Deleted::Marked(written) => Ok(written),
            Deleted::Gone(written) => {
                gone = Some(());
                Ok(written)
            }
        })
        .map(|written| match gone {
            Some(()) => {
                let uid = super::meta::text(&written.object, "uid").to_owned();
                let status = ApiStatus::deleted(self.kind.on(&self.place.name), &uid);
                reply::respond(200, status.body.to_string().into())
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
        Ok(reply::respond(200, list.to_string().into()))
    }

    /// Makes a write in the name of who asks, and tells the watches.
    fn write(
        &self,
        state: &mut State,
        make: impl FnOnce(Write<'_>, &mut Storage) -> Result<Written, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        self.write_as(state, &self.manager(), make)
    }

    /// Who writes, as it says itself.
    fn manager(&self) -> String {
        let manager = patch::manager_of(self.query.get("fieldManager"), self.header(header::USER_AGENT));
        if manager.is_empty() { "unknown".to_owned() } else { manager }
    }

    fn media_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    fn is_apply(&self) -> bool {
        self.media_type().starts_with("application/apply-patch+")
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
            dry_run: self.is_dry_run(),
            vain: self.vain(),
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

    /// Whether nothing is to come of it. Deletions say so in their options as well.
    fn is_dry_run(&self) -> bool {
        let options = || serde_json::from_slice::<Value>(self.body).unwrap_or_default();
        self.query.get("dryRun") == "All"
            || (self.place.verb.starts_with("delete")
                && options()["dryRun"].as_array().is_some_and(|dry| dry.iter().any(|stage| stage == "All")))
    }

    /// Whether fields that are given in vain matter.
    fn is_strict(&self) -> bool {
        self.vain() != Vain::Ignore
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

    fn parsed(&self) -> Result<Value, ApiStatus> {
        serde_json::from_slice(self.body).map_err(|error| {
            ApiStatus::bad_request(format!(
                "{} in version {:?} cannot be handled: {error}",
                self.kind.name(),
                self.place.version
            ))
        })
    }

    /// The object of the body, and what it says in vain: what its kind does not know, or what is said twice, which only the text
    /// can tell.
    fn object(&self) -> Result<(Value, Vec<String>), ApiStatus> {
        let parsed = self.parsed()?;
        if !self.kind.is_kind_of(&parsed) {
            // Whoever looks at the type says so.
            return Ok((parsed, Vec::new()));
        }
        let decoded = decode(self.kind.types(), self.kind.shape(), self.body);
        let (object, problems) = match (decoded, self.kind.as_custom()) {
            (Ok(decoded), None) => (decoded.value, decoded.problems),
            (Err(error), None) => return Err(admit::undecodable(self.kind, &error)),
            (decoded, Some(custom)) => {
                // The schema has its own words for what is of a wrong type.
                let problems = decoded.map(|decoded| decoded.problems).unwrap_or_default();
                let twice = problems.into_iter().filter(|problem| problem.starts_with("duplicate"));
                let mut object = parsed;
                let unknown = match custom.version().schema.decode_error(&object) {
                    None => admit::unknown(custom, &mut object),
                    Some(_) => Vec::new(),
                };
                (object, twice.chain(unknown).collect())
            }
        };
        admit::in_vain(self.kind, self.vain(), problems).map(|warnings| (object, warnings))
    }

    fn vain(&self) -> Vain {
        Vain::read(self.query.get("fieldValidation"))
    }

    fn deletion(&self) -> Result<Deletion, ApiStatus> {
        let options: Value = if self.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(self.body).map_err(|error| {
                ApiStatus::bad_request(format!("the delete options cannot be read: {error}"))
            })?
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let preconditions = &options["preconditions"];
        let propagation = text(&options["propagationPolicy"])
            .unwrap_or_else(|| self.query.get("propagationPolicy").to_owned());
        Ok(Deletion {
            uid: text(&preconditions["uid"]),
            resource_version: text(&preconditions["resourceVersion"]),
            propagation,
        })
    }

    fn wants_metadata(&self) -> bool {
        self.header(header::ACCEPT).contains("as=PartialObjectMetadata")
    }

    /// Who knows the columns of the table that is asked for; nobody if none is, or if this kind is not shown as one.
    fn columns(&self) -> Option<&Arc<Custom>> {
        self.kind.as_custom().filter(|_| self.header(header::ACCEPT).contains("as=Table"))
    }

    fn represent(&self) -> Represent {
        if self.wants_metadata() {
            return Arc::new(read::metadata_only);
        }
        match self.columns().cloned() {
            None => Arc::new(Bytes::clone),
            Some(custom) => Arc::new(move |bytes| {
                let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
                let columns = &custom.version().columns;
                let table =
                    table::of(columns, &object["metadata"], std::slice::from_ref(&object), clock::wall());
                table.to_string().into()
            }),
        }
    }

    fn respond_with(&self, code: u16, written: &Written) -> Response<Body> {
        let mut response = reply::respond(code, self.represent()(&written.object.to_string().into()));
        reply::warn(&mut response, &written.warnings);
        response
    }

    fn header(&self, name: header::HeaderName) -> &str {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
