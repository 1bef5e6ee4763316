//! Server-side apply: what one manager wants to be so, laid over what is.
//!
//! In: the live object, the applied one, and who applies. Out: the merged object with its `managedFields`, or
//! why not. The manager comes to own all that it sends. What it sent before and does not any more is taken
//! out, unless somebody else owns it. A field that somebody else owns with another value is a conflict,
//! unless the manager forces: then the others lose it. Sending what is so already makes one more owner, and
//! no conflict.
//!
//! One shape is used for all versions of a kind: entries in another version are compared as if they were in
//! this one. Among the built-in kinds only `autoscaling` has versions whose fields differ. Defaulting,
//! validation and storage are left to others.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    blank,
    combine::combine,
    compare::compare,
    go_json,
    managed::{self, Entry, Manager, Managers},
    remove::{remove, with_named},
    set::{Path, Set, print},
    track::{Typing, Writer, disown, ownable, update},
    typed::{faults, owned},
};

/// Where the client side of `kubectl apply` remembers what it sent.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The server's limit for all annotations of an object, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The manager that moves from client-side apply without conflicts.
const KUBECTL: &str = "kubectl";

/// Who owned the fields of an object before anybody kept book.
const BEFORE_FIRST: &str = "before-first-apply";

/// Why nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum ApplyError {
    /// The request makes no sense: 400.
    BadRequest(String),
    /// The applied object does not fit its type. The server answers 500 to that.
    Untyped(String),
    /// Others own these fields: 409, with one cause for each.
    Conflicts(Vec<Conflict>),
}

/// A field that somebody else owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Conflict {
    manager: Manager,
    path: Path,
}

impl Conflict {
    /// The message of the cause, whose reason is `FieldManagerConflict`.
    pub(in super::super) fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }

    /// The field of the cause.
    pub(in super::super) fn field(&self) -> String {
        print(&self.path)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(message) | Self::Untyped(message) => f.write_str(message),
            Self::Conflicts(conflicts) => f.write_str(&conflicts_message(conflicts)),
        }
    }
}

fn conflicts_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: {}: {}", only.message(), only.field());
    }
    let mut by_manager: BTreeMap<&Manager, Vec<String>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager.entry(&conflict.manager).or_default().push(format!("- {}", conflict.field()));
    }
    let lines: Vec<_> = by_manager
        .into_iter()
        .map(|(manager, fields)| format!("conflicts with {manager}:\n{}", fields.join("\n")))
        .collect();
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// Applies an object. `live` is the stored one, or none if there is none.
///
/// # Errors The applied object is of another kind, names owners of fields, does not fit its type, or is in
/// conflict with others.
pub(in super::super) fn apply(
    typing: Typing<'_>,
    live: Option<&Value>,
    applied: &Value,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    check_kind(typing, applied, writer)?;
    if !managed::of(applied).is_null() {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    let wrong = faults(typing.types, typing.shape, applied);
    if !wrong.is_empty() {
        return Err(ApplyError::Untyped(untyped_message(applied, &wrong)));
    }
    let blank = blank(typing.types, typing.shape);
    let Some(managers) = managed::decode(managed::of(live.unwrap_or(&blank))) else {
        return Err(ApplyError::Untyped("failed to decode managed fields".into()));
    };
    let bare = live.map_or_else(|| blank.clone(), managed::without);
    let request = Request { typing, blank: &blank, live: &bare, applied, writer };
    let (mut object, managers) = match request.run(managers.clone(), force) {
        Err(ApplyError::Conflicts(conflicts)) if writer.manager == KUBECTL => {
            let conflicts = request.not_applied_before(conflicts);
            if !conflicts.is_empty() {
                return Err(ApplyError::Conflicts(conflicts));
            }
            request.run(managers, true)?
        }
        other => other?,
    };
    if writer.manager == KUBECTL {
        remember_applied(&mut object, applied);
    }
    managed::put(&mut object, &managers);
    Ok(object)
}

fn check_kind(typing: Typing<'_>, applied: &Value, writer: Writer<'_>) -> Result<(), ApplyError> {
    if applied["apiVersion"].as_str() == Some(writer.api_version)
        && applied["kind"].as_str() == Some(typing.kind)
    {
        return Ok(());
    }
    Err(ApplyError::BadRequest(format!("invalid object type: {}", group_version_kind(applied))))
}

/// As the server prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`.
fn group_version_kind(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}

fn untyped_message(applied: &Value, wrong: &[String]) -> String {
    let text = |field: &str| applied["metadata"][field].as_str().unwrap_or_default();
    let faults = match wrong {
        [only] => only.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    let (namespace, name, kind) = (text("namespace"), text("name"), group_version_kind(applied));
    format!("failed to create typed patch object ({namespace}/{name}; {kind}): {faults}")
}

/// One apply.
struct Request<'a> {
    typing: Typing<'a>,
    blank: &'a Value,
    /// Without `managedFields`.
    live: &'a Value,
    applied: &'a Value,
    writer: Writer<'a>,
}

impl Request<'_> {
    fn run(&self, mut managers: Managers, force: bool) -> Result<(Value, Managers), ApplyError> {
        let Self { typing, blank, live, applied, writer } = *self;
        if managers.is_empty() {
            update(typing, blank, live, &mut managers, Writer { manager: BEFORE_FIRST, ..writer });
            managed::cap(&mut managers);
        }
        typing.fit(&mut managers);
        let me = Manager::applier(writer.manager, writer.subresource);
        let last = managers.get(&me).cloned();
        let set = typing.written(owned(typing.types, typing.shape, applied));
        let time = last.as_ref().and_then(|last| last.time.clone());
        let api_version = writer.api_version.to_owned();
        managers.insert(me.clone(), Entry { set, api_version, time });

        let merged = combine(typing.types, typing.shape, Some(live), Some(applied)).unwrap_or_default();
        let object = match last {
            Some(last) => self.prune(&merged, &managers, &last.set),
            None => merged,
        };
        self.settle(&mut managers, &me, &object, force)?;
        if let Some(entry) = managers.get_mut(&me) {
            entry.set = ownable(std::mem::take(&mut entry.set));
            if object != *live {
                entry.time = Some(writer.time.to_owned());
            }
            if entry.set.is_empty() {
                managers.remove(&me);
            }
        }
        Ok((object, managers))
    }

    /// Finds the conflicts, or takes from others what they do not own any more.
    fn settle(
        &self,
        managers: &mut Managers,
        me: &Manager,
        object: &Value,
        force: bool,
    ) -> Result<(), ApplyError> {
        let changes = self.typing.changes(self.live, object);
        let set = changes.set();
        let mut conflicts = Vec::new();
        for (manager, entry) in managers.iter().filter(|(manager, _)| *manager != me) {
            entry.set.intersection(&set).each(&mut |path| {
                conflicts.push(Conflict { manager: manager.clone(), path: path.to_vec() });
            });
        }
        if !conflicts.is_empty() && !force {
            return Err(ApplyError::Conflicts(conflicts));
        }
        disown(managers, Some(me), &set.union(&changes.removed));
        Ok(())
    }

    /// Takes out what this manager applied before (`last`) and nobody owns now.
    fn prune(&self, merged: &Value, managers: &Managers, last: &Set) -> Value {
        let (types, shape) = (self.typing.types, self.typing.shape);
        let all = |object: &Value| with_named(types, shape, &owned(types, shape, object));
        let without = |gone: &Set| remove(types, shape, merged, gone).unwrap_or_default();
        let last = with_named(types, shape, last);
        let whole = all(merged);
        let theirs = managers.values().fold(Set::default(), |all, entry| all.union(&entry.set));
        // All that it applied before goes; what has an owner, and what that is part of, comes back ...
        let kept = all(&without(&last)).union(&with_named(types, shape, &theirs));
        let left = all(&without(&whole.clone().difference(&kept)));
        // ... and so does what went only because it was part of something that went.
        without(&whole.difference(&left).intersection(&last))
    }

    /// The conflicts other than with what `kubectl apply` itself sent when it was still the client's
    /// business.
    fn not_applied_before(&self, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let allowed = self.applied_before().unwrap_or_default();
        conflicts.into_iter().filter(|conflict| !allowed.has(&conflict.path)).collect()
    }

    fn applied_before(&self) -> Option<Set> {
        let text = self.live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
        let before: Value = serde_json::from_str(text).ok()?;
        let (types, shape) = (self.typing.types, self.typing.shape);
        if before["apiVersion"].as_str() != Some(self.writer.api_version)
            || !faults(types, shape, &before).is_empty()
        {
            return None;
        }
        let changes = compare(types, shape, &before, self.live);
        Some(owned(types, shape, &before).difference(&changes.set()).difference(&changes.removed))
    }
}

/// Keeps the memory of client-side apply true, for users who go back.
fn remember_applied(object: &mut Value, applied: &Value) {
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
        return;
    };
    if annotations.get(LAST_APPLIED).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    annotations.insert(LAST_APPLIED.into(), format!("{}\n", go_json(&applied)).into());
    let size: usize =
        annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}
