//! One line of a watch: what happened, to which object.
//!
//! In: the bytes of a line, with or without its line end. Out: a [`WatchLine`], always: what cannot be understood is
//! [`WatchLine::Bad`]. `type` and `object` are taken in either order, in one pass over the line, because walking the
//! object finds places only and the copy is made when both are known. Splitting a stream into lines, and what a fault
//! means for the watch, are left to the watcher.

use std::{borrow::Cow, collections::BTreeMap};

use kube_core::{INITIAL_EVENTS_END, Status};

use super::{
    ScanOptions,
    error::{ScanError, ScanFault},
    json::Scanner,
    scanned::{Scanned, finish, key_of},
    walk::{Source, Walk, walk},
};

/// What one line of a watch says (API concepts, "Efficient detection of changes").
#[derive(Debug, Clone, PartialEq)]
pub enum WatchLine {
    /// The object appeared, or came into the selection.
    Added(Scanned),
    /// The object changed.
    Modified(Scanned),
    /// The object is gone, or left the selection. Its last state.
    Deleted(Scanned),
    /// No change: only how far the watch has come.
    Bookmark {
        /// The version to resume from, an opaque string, never empty.
        resource_version: String,
        /// Whether the initial events of a streaming list are complete with it.
        initial_events_end: bool,
    },
    /// The watch failed; nothing follows. An object that has neither code nor reason counts as an internal error (500).
    Error(Status),
    /// The line could not be understood.
    Bad {
        /// Why. [`ScanError::is_malformed`] tells a garbled stream from one object without a proper name, or a line of
        /// a type that a later server may send.
        error: ScanError,
        /// The version of the line's object, where it could be read: the watch has come this far.
        resource_version: Option<String>,
    },
}

impl ScanOptions {
    /// Scans one line of a watch; see [`scan_line`](super::scan_line).
    pub fn scan_line(self, line: &[u8]) -> WatchLine {
        let source = Source::new(line);
        match split(source) {
            Ok((kind, Some(object))) => understand(source, kind, object, self),
            Ok((_, None)) => bad(ScanError::new(ScanFault::Missing("object"), 0)),
            Err(error) => bad(error),
        }
    }
}

/// The type and the object of a line. The type is `Err` where it is absent or no string.
type Parts<'a> = (Result<Cow<'a, str>, ScanError>, Option<Walk>);

fn split(source: Source<'_>) -> Result<Parts<'_>, ScanError> {
    let mut scanner = Scanner::new(source.bytes());
    if scanner.token()? != b'{' {
        let start = scanner.at();
        scanner.value(0)?;
        scanner.end()?;
        return Err(ScanError::new(ScanFault::NotAnObject("the line"), start));
    }
    scanner.bump();
    let mut kind = Err(ScanError::new(ScanFault::Missing("type"), 0));
    let mut object = None;
    let mut first = true;
    while let Some(key) = scanner.key(first)? {
        first = false;
        match &*source.key(key) {
            b"type" => kind = source.string(scanner.value(1)?, "type"),
            b"object" => object = Some(walk(&mut scanner, source)?),
            _ => _ = scanner.value(1)?,
        }
    }
    scanner.end()?;
    Ok((kind, object))
}

fn understand(
    source: Source<'_>,
    kind: Result<Cow<'_, str>, ScanError>,
    object: Walk,
    options: ScanOptions,
) -> WatchLine {
    let resource_version = resource_version(source, &object);
    let keep = options.keep_managed_fields;
    let result = kind.and_then(|kind| match &*kind {
        "ADDED" => finish(object, source, keep).map(WatchLine::Added),
        "MODIFIED" => finish(object, source, keep).map(WatchLine::Modified),
        "DELETED" => finish(object, source, keep).map(WatchLine::Deleted),
        "BOOKMARK" => bookmark(source, &object),
        "ERROR" => Ok(WatchLine::Error(status(&source.bytes()[object.span]))),
        other => {
            let error = ScanError::new(ScanFault::UnknownType(other.into()), 0);
            Err(match key_of(&object, source) {
                Ok(key) => error.of(&key),
                Err(_) => error,
            })
        }
    });
    result.unwrap_or_else(|error| WatchLine::Bad {
        error,
        resource_version: resource_version.filter(|version| !version.is_empty()).map(Cow::into_owned),
    })
}

fn resource_version<'a>(source: Source<'a>, object: &Walk) -> Option<Cow<'a, str>> {
    source.string(object.meta.as_ref()?.resource_version?, "metadata.resourceVersion").ok()
}

fn bookmark(source: Source<'_>, object: &Walk) -> Result<WatchLine, ScanError> {
    if let Some(misfit) = &object.misfit {
        return Err(misfit.clone());
    }
    let meta = object.meta.as_ref();
    let raw = meta.and_then(|meta| meta.resource_version);
    let resource_version = source.string_or_empty(raw, "metadata.resourceVersion")?.into_owned();
    if resource_version.is_empty() {
        return Err(ScanError::new(ScanFault::Missing("metadata.resourceVersion"), object.span.start));
    }
    let annotations: BTreeMap<Cow<'_, str>, serde_json::Value> = meta
        .and_then(|meta| meta.annotations)
        .and_then(|raw| serde_json::from_slice(&source.bytes()[raw.start..raw.end]).ok())
        .unwrap_or_default();
    let initial_events_end = annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
    Ok(WatchLine::Bookmark { resource_version, initial_events_end })
}

/// An error that cannot be read is an error all the same.
fn status(object: &[u8]) -> Status {
    match serde_json::from_slice::<Status>(object) {
        Ok(status) if status.code != 0 || !status.reason.is_empty() => status,
        Ok(_) | Err(_) => Status::from_response(500, object),
    }
}

fn bad(error: ScanError) -> WatchLine {
    WatchLine::Bad { error, resource_version: None }
}
