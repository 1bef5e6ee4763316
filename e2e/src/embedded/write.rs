//! Writes objects: create, change, delete, for every kind.
//!
//! In: a kind, a place, an object or an edit of one. Out: the object as it is then, stored, and the [`Change`] that watches hear of.
//! The order is that of the real server: type, name, namespace; metadata; status kept apart; generation; owners of fields;
//! optimistic concurrency; a write that changes nothing is none. Synchronous, under the server's one lock.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    admit::{Vain, admit},
    errors::{ApiStatus, FieldError},
    kinds::Kind,
    meta::{self, Stamp},
    namespaces,
    patch::{Writer, keep_times_of_noop, track},
    storage::{Change, Storage, Stored},
};

/// A write, as far as it is the same for all verbs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'a> {
    pub(super) kind: &'a Kind,
    /// Empty for cluster-scoped kinds.
    pub(super) namespace: &'a str,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    /// Who writes; empty for an apply, which says so itself.
    pub(super) manager: &'a str,
    pub(super) dry_run: bool,
    /// What becomes of fields that are given in vain.
    pub(super) vain: Vain,
    pub(super) stamp: Stamp<'a>,
    /// Five letters for a generated name.
    pub(super) suffix: &'a str,
}

/// What came of a write.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) object: Value,
    /// None if nothing was stored.
    pub(super) change: Option<Arc<Change>>,
    /// For `Warning` headers.
    pub(super) warnings: Vec<String>,
}

/// What came of a deletion.
#[derive(Debug)]
pub(super) enum Deleted {
    /// The object is marked and still there.
    Marked(Written),
    /// It is gone. Its last state.
    Gone(Written),
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub(super) struct Deletion {
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
    /// `Background`, `Foreground` or `Orphan`; empty for the kind's own.
    pub(super) propagation: String,
}

impl Write<'_> {
    /// Books who owns what. An apply has kept its own book, and comes without a manager.
    fn track(&self, before: Option<&Value>, object: &mut Value) {
        if !self.manager.is_empty() {
            let api_version = self.kind.api_version();
            track(self.kind.typing(self.subresource), before, object, self.writer(&api_version));
        }
    }

    fn writer<'a>(&'a self, api_version: &'a str) -> Writer<'a> {
        Writer { manager: self.manager, api_version, subresource: self.subresource, time: self.stamp.now }
    }

    /// Creates an object.
    pub(super) fn create(self, storage: &mut Storage, mut object: Value) -> Result<Written, ApiStatus> {
        self.check_type(&mut object)?;
        if !meta::text(&object, "resourceVersion").is_empty() {
            return Err(ApiStatus::bad_request("resourceVersion should not be set on objects to be created"));
        }
        self.check_namespace(storage, &object)?;
        let name = self.name(&mut object)?;
        if storage.get(&self.kind.resource, self.namespace, &name).is_some() {
            return Err(ApiStatus::already_exists(self.kind.on(&name)));
        }
        meta::born(&mut object, self.namespace, self.stamp);
        if self.kind.has_own_status() && !self.kind.is_born_with_status() {
            remove(&mut object, "status");
        }
        let warnings = self.admit(storage, &mut object, None)?;
        if self.kind.is_namespace() {
            namespaces::default(&mut object);
        }
        self.track(None, &mut object);
        if self.kind.is_namespace() {
            namespaces::born(&mut object);
        }
        if self.kind.counts_generations() {
            object["metadata"]["generation"] = 1.into();
        }
        Ok(Written { warnings, ..self.store(storage, object) })
    }

    /// Changes an object: `edit` makes the new state from the stored one.
    pub(super) fn change(
        self,
        storage: &mut Storage,
        name: &str,
        edit: impl FnOnce(&Value) -> Result<Value, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        let stored = storage
            .get(&self.kind.resource, self.namespace, name)
            .ok_or_else(|| ApiStatus::not_found(self.kind.on(name)))?;
        let before = parse(stored)?;
        let mut object = edit(&before)?;
        self.check_type(&mut object)?;
        self.check_identity(&before, &object, name)?;
        meta::kept(&mut object, &before);
        if self.kind.is_namespace() {
            namespaces::kept(&mut object, &before, self.subresource);
        }
        if self.kind.has_own_status() {
            match self.subresource {
                "status" => object = only_status(&before, &object),
                _ => object = with(&object, "status", before.get("status").cloned()),
            }
        }
        self.check_finalizers(&before, &object, name)?;
        let warnings = self.admit(storage, &mut object, Some(&before))?;
        self.track(Some(&before), &mut object);
        if self.kind.counts_generations() && meta::is_new_generation(&before, &object) {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        keep_times_of_noop(&before, &mut object);
        if object == before {
            return Ok(Written { object, change: None, warnings });
        }
        if is_over(&object) && !self.is_held(&object) {
            return Ok(self.remove(storage, object));
        }
        Ok(Written { warnings, ..self.store(storage, object) })
    }

    /// Deletes an object: at once, or marks it where finalizers have to be waited for.
    pub(super) fn delete(
        self,
        storage: &mut Storage,
        name: &str,
        how: &Deletion,
    ) -> Result<Deleted, ApiStatus> {
        let stored = storage
            .get(&self.kind.resource, self.namespace, name)
            .ok_or_else(|| ApiStatus::not_found(self.kind.on(name)))?;
        let before = parse(stored)?;
        self.check_preconditions(&before, name, how)?;
        let mut object = before.clone();
        let metadata = meta::metadata(&mut object);
        let mut finalizers: Vec<Value> =
            metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted = match how.propagation.as_str() {
            "Orphan" => Some("orphan"),
            "Foreground" => Some("foregroundDeletion"),
            _ => None,
        };
        // What is asked for now replaces what was asked for before.
        if !how.propagation.is_empty() {
            finalizers.retain(|finalizer| finalizer != "orphan" && finalizer != "foregroundDeletion");
        }
        finalizers.extend(wanted.map(Value::from));
        let marked = metadata.contains_key("deletionTimestamp");
        if finalizers.is_empty() && !self.is_held(&before) {
            return Ok(Deleted::Gone(self.remove(storage, object)));
        }
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), finalizers.into());
        }
        if !marked {
            metadata.insert("deletionTimestamp".into(), self.stamp.now.into());
            // Only Pods are given time to end, and those of the simulated node need none.
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
                metadata.insert("generation".into(), (generation + 1).into());
            }
        }
        if self.kind.is_namespace() {
            namespaces::marked(&mut object);
        }
        if object == before {
            return Ok(Deleted::Marked(Written { object, change: None, warnings: Vec::new() }));
        }
        Ok(Deleted::Marked(self.store(storage, object)))
    }

    /// Whether more than its finalizers holds an object.
    fn is_held(&self, object: &Value) -> bool {
        self.kind.is_namespace() && namespaces::is_held(object)
    }

    fn check_preconditions(&self, before: &Value, name: &str, how: &Deletion) -> Result<(), ApiStatus> {
        let (uid, version) = (meta::text(before, "uid"), meta::text(before, "resourceVersion"));
        if let Some(given) = how.uid.as_deref().filter(|given| *given != uid) {
            return Err(ApiStatus::delete_other_uid(self.kind.of_kind(name), given, uid));
        }
        if let Some(given) = how.resource_version.as_deref().filter(|given| *given != version) {
            return Err(ApiStatus::delete_other_version(self.kind.of_kind(name), given, version));
        }
        Ok(())
    }

    /// Decodes, fills in and checks the object.
    fn admit(
        &self,
        storage: &Storage,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<Vec<String>, ApiStatus> {
        let name = meta::text(object, "name").to_owned();
        let others: Vec<Value> = if self.kind.is_definition() {
            let all = storage.list(&self.kind.resource, None, None);
            all.filter(|stored| *stored.name != *name)
                .map(|stored| parse(stored))
                .collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        admit(self.kind, object, old, self.vain, &others, self.stamp.now)
    }

    /// The object is of the kind that the path says; where it does not say, it is now.
    fn check_type(&self, object: &mut Value) -> Result<(), ApiStatus> {
        let (api_version, kind) = (self.kind.api_version(), self.kind.name());
        if !object.is_object() {
            return Err(ApiStatus::bad_request("the body is not a JSON object"));
        }
        match object["apiVersion"].as_str() {
            Some(given) if given != api_version && !given.is_empty() => {
                return Err(ApiStatus::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({api_version})"
                )));
            }
            _ => {}
        }
        match object["kind"].as_str() {
            Some(given) if given != kind && !given.is_empty() => {
                return Err(ApiStatus::bad_request(format!(
                    "{kind} in version \"{}\" cannot be handled as a {given}",
                    api_version.rsplit('/').next().unwrap_or_default()
                )));
            }
            _ => {}
        }
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        Ok(())
    }

    /// New objects go into namespaces that are there and stay.
    fn check_namespace(&self, storage: &Storage, object: &Value) -> Result<(), ApiStatus> {
        let given = meta::text(object, "namespace");
        if !given.is_empty() && given != self.namespace {
            return Err(ApiStatus::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if self.namespace.is_empty() {
            return Ok(());
        }
        let namespaces = super::storage::Resource { group: "".into(), plural: "namespaces".into() };
        let not_found = || {
            ApiStatus::not_found(super::errors::Subject {
                group: "",
                kind: "namespaces",
                name: self.namespace,
            })
        };
        let namespace = storage.get(&namespaces, "", self.namespace).ok_or_else(not_found)?;
        if parse(namespace)?["metadata"].get("deletionTimestamp").is_some() {
            let name = meta::text(object, "name");
            return Err(ApiStatus::namespace_terminating(self.kind.on(name), self.namespace));
        }
        Ok(())
    }

    /// The name of a new object, generated where it only has a prefix.
    fn name(&self, object: &mut Value) -> Result<String, ApiStatus> {
        let given = meta::text(object, "name").to_owned();
        let prefix = meta::text(object, "generateName");
        let name = match (given.is_empty(), prefix.is_empty()) {
            (false, _) => given,
            (true, false) => format!("{prefix}{}", self.suffix),
            (true, true) => {
                let error = FieldError::required("metadata.name", "name or generateName is required");
                return Err(ApiStatus::invalid(self.kind.of_kind(""), &[error]));
            }
        };
        meta::metadata(object).insert("name".into(), name.clone().into());
        Ok(name)
    }

    /// The new state is of the same object, and was made from its present state where it says from which.
    fn check_identity(&self, before: &Value, object: &Value, name: &str) -> Result<(), ApiStatus> {
        let given = meta::text(object, "name");
        if given != name {
            return Err(ApiStatus::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        let (uid, given) = (meta::text(before, "uid"), meta::text(object, "uid"));
        if !given.is_empty() && given != uid {
            let key = format!("/registry/{}/{}/{name}", self.kind.resource.plural, self.namespace);
            return Err(ApiStatus::other_uid(self.kind.on(name), &key, given, uid));
        }
        let (version, given) = (meta::text(before, "resourceVersion"), meta::text(object, "resourceVersion"));
        if !given.is_empty() && given != version {
            return Err(ApiStatus::modified(self.kind.on(name)));
        }
        Ok(())
    }

    /// An object that is on its way out takes no new finalizers.
    fn check_finalizers(&self, before: &Value, object: &Value, name: &str) -> Result<(), ApiStatus> {
        if before["metadata"].get("deletionTimestamp").is_none() {
            return Ok(());
        }
        let list = |value: &Value| value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let (old, new) = (list(before), list(object));
        let added: Vec<&Value> = new.iter().filter(|finalizer| !old.contains(finalizer)).collect();
        if added.is_empty() {
            return Ok(());
        }
        let names: Vec<String> =
            added.iter().map(|name| format!("{:?}", name.as_str().unwrap_or_default())).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        Err(ApiStatus::invalid(
            self.kind.of_kind(name),
            &[FieldError::forbidden("metadata.finalizers", detail)],
        ))
    }

    fn store(&self, storage: &mut Storage, object: Value) -> Written {
        if self.dry_run {
            return Written { object, change: None, warnings: Vec::new() };
        }
        let (object, stored) = self.stored(storage, object);
        let change = storage.put(&self.kind.resource, stored);
        Written { object, change: Some(change), warnings: Vec::new() }
    }

    fn remove(&self, storage: &mut Storage, object: Value) -> Written {
        if self.dry_run {
            return Written { object, change: None, warnings: Vec::new() };
        }
        let (object, stored) = self.stored(storage, object);
        let change = storage.remove(&self.kind.resource, stored);
        Written { object, change, warnings: Vec::new() }
    }

    fn stored(&self, storage: &Storage, mut object: Value) -> (Value, Stored) {
        let revision = storage.next_revision();
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        let labels: BTreeMap<String, String> =
            serde_json::from_value(object["metadata"]["labels"].clone()).unwrap_or_default();
        let stored = Stored {
            namespace: Arc::from(self.namespace),
            name: Arc::from(meta::text(&object, "name")),
            revision,
            labels,
            bytes: object.to_string().into(),
        };
        (object, stored)
    }
}

/// Whether an object that is marked for deletion has nothing left to wait for.
fn is_over(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata.get("deletionTimestamp").is_some()
        && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
}

/// The object of what is stored.
pub(super) fn parse(stored: &Stored) -> Result<Value, ApiStatus> {
    serde_json::from_slice(&stored.bytes).map_err(|error| ApiStatus::internal(&error.to_string()))
}

fn with(object: &Value, field: &str, value: Option<Value>) -> Value {
    let mut object = object.clone();
    match value {
        Some(value) => object[field] = value,
        None => remove(&mut object, field),
    }
    object
}

/// An object as before, but for its status and the book of who owns what.
fn only_status(before: &Value, object: &Value) -> Value {
    let mut kept = with(before, "status", object.get("status").cloned());
    match object["metadata"].get("managedFields") {
        Some(book) => meta::metadata(&mut kept).insert("managedFields".into(), book.clone()),
        None => meta::metadata(&mut kept).remove("managedFields"),
    };
    kept
}

fn remove(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(field);
    }
}
