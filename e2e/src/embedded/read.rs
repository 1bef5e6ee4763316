//! Answers lists and opens watches.
//!
//! In: a [`Selection`] and what the query says of versions and pages. Out: bytes of a list, or a [`Watcher`] that was told what it missed.
//! A page says at which revision its list was taken, so that the pages of one list are of one state (API concepts, "Retrieving
//! large results sets in chunks"); a state that is no longer remembered is gone (410).

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    errors::ApiStatus,
    kinds::Kind,
    route::Query,
    storage::{Expired, Storage, Stored},
    watch::{Represent, Selection, Watcher},
};

/// Where the next page begins.
#[derive(Serialize, Deserialize)]
struct Token {
    rv: u64,
    namespace: String,
    name: String,
}

impl Token {
    fn write(&self) -> String {
        URL_SAFE_NO_PAD.encode(json!(self).to_string())
    }

    fn read(text: &str) -> Result<Self, ApiStatus> {
        let wrong = || ApiStatus::bad_request("continue key is not valid: illegal base64 data");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        serde_json::from_slice(&bytes).map_err(|_| wrong())
    }
}

/// Answers a list.
pub(super) fn list(
    storage: &Storage,
    kind: &Kind,
    selection: &Selection,
    query: &Query,
    represent: &Represent,
    list_kind: (&str, &str),
) -> Result<Bytes, ApiStatus> {
    let limit: usize = query.get("limit").parse().unwrap_or(0);
    let token = Some(query.get("continue")).filter(|text| !text.is_empty()).map(Token::read).transpose()?;
    let revision = revision_of(storage, query, token.as_ref())?;
    let all: Vec<Arc<Stored>> = if revision == storage.revision() {
        let after = token.as_ref().map(|token| (token.namespace.as_str(), token.name.as_str()));
        storage.list(&kind.resource, selection.namespace.as_deref(), after).cloned().collect()
    } else {
        let past =
            storage.at(&kind.resource, revision).map_err(|expired| gone(storage, token.as_ref(), expired))?;
        let after = |stored: &Stored| {
            token
                .as_ref()
                .is_none_or(|t| (&*stored.namespace, &*stored.name) > (t.namespace.as_str(), t.name.as_str()))
        };
        past.into_iter().filter(|stored| after(stored)).collect()
    };
    let mut selected = all.iter().filter(|stored| selection.has(stored));
    let page: Vec<&Arc<Stored>> =
        selected.by_ref().take(if limit == 0 { usize::MAX } else { limit }).collect();
    let rest = selected.count();
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if let (true, Some(last)) = (rest > 0, page.last()) {
        let next = Token { rv: revision, namespace: last.namespace.to_string(), name: last.name.to_string() };
        metadata["continue"] = next.write().into();
        // Counting what a selector leaves out is not done, as the real server does not.
        if selection.labels.is_empty() && selection.fields.is_empty() {
            metadata["remainingItemCount"] = rest.into();
        }
    }
    let (api_version, list_kind) = list_kind;
    let head = json!({ "apiVersion": api_version, "kind": list_kind, "metadata": metadata }).to_string();
    let mut body = BytesMut::with_capacity(
        page.iter().map(|stored| stored.bytes.len() + 1).sum::<usize>() + head.len() + 16,
    );
    body.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
    body.extend_from_slice(b",\"items\":[");
    for (place, stored) in page.into_iter().enumerate() {
        if place > 0 {
            body.extend_from_slice(b",");
        }
        body.extend_from_slice(&represent(&stored.bytes));
    }
    body.extend_from_slice(b"]}\n");
    Ok(body.freeze())
}

/// The revision that a list shows.
fn revision_of(storage: &Storage, query: &Query, token: Option<&Token>) -> Result<u64, ApiStatus> {
    if let Some(token) = token {
        return if storage.is_expired(token.rv) {
            Err(gone(storage, Some(token), Expired { oldest: 0 }))
        } else {
            Ok(token.rv)
        };
    }
    let asked = version(query.get("resourceVersion"))?;
    match (asked, query.get("resourceVersionMatch")) {
        (Some(asked), "Exact") if storage.is_expired(asked) => {
            Err(ApiStatus::expired(format!("The resourceVersion for the provided list is too old: {asked}")))
        }
        (Some(asked), _) if asked > storage.revision() => {
            Err(ApiStatus::too_large_resource_version(asked, storage.revision()))
        }
        (Some(asked), "Exact") => Ok(asked),
        _ => Ok(storage.revision()),
    }
}

fn gone(storage: &Storage, token: Option<&Token>, expired: Expired) -> ApiStatus {
    match token {
        Some(token) => {
            let rest = Token {
                rv: storage.revision(),
                namespace: token.namespace.clone(),
                name: token.name.clone(),
            };
            ApiStatus::expired_continue(&rest.write())
        }
        None => ApiStatus::expired(format!(
            "The resourceVersion for the provided list is too old: {}",
            expired.oldest
        )),
    }
}

/// A resource version of a query: none, or a number. 0 means "any", and the present state is one.
fn version(text: &str) -> Result<Option<u64>, ApiStatus> {
    if text.is_empty() {
        return Ok(None);
    }
    let number: u64 = text.parse().map_err(|_| {
        ApiStatus::bad_request(format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"))
    })?;
    Ok((number > 0).then_some(number))
}

/// Opens a watch. What happened since its version comes first, in a list of its own: there may be more of it than may ever wait for
/// a reader.
pub(super) fn watch(
    storage: &Storage,
    kind: &Kind,
    selection: Selection,
    query: &Query,
    represent: Represent,
) -> Result<(Watcher, Vec<Bytes>, futures::channel::mpsc::Receiver<Bytes>), ApiStatus> {
    let asked = query.get("resourceVersion");
    let from = version(asked)?;
    let bookmarks = query.is("allowWatchBookmarks");
    let initial = query.is("sendInitialEvents");
    let resource = selection.resource.clone();
    let present: Vec<Arc<Stored>> = if initial || from.is_none() {
        let all = storage.list(&resource, selection.namespace.as_deref(), None);
        all.filter(|stored| selection.has(stored)).cloned().collect()
    } else {
        Vec::new()
    };
    let (watcher, lines) = Watcher::new(selection, represent, bookmarks);
    let first = match from {
        Some(from) if !initial => {
            if from > storage.revision() {
                return Err(ApiStatus::too_large_resource_version(from, storage.revision()));
            }
            let missed =
                storage.since(&resource, from).map_err(|e| ApiStatus::expired_watch(from, e.oldest))?;
            missed.filter_map(|change| watcher.line(change)).collect()
        }
        _ => {
            let end = || watcher.bookmark_line(&kind.api_version(), kind.name(), storage.revision(), true);
            let end = if initial { end() } else { None };
            present.iter().map(|stored| watcher.first_line(stored)).chain(end).collect()
        }
    };
    Ok((watcher, first, lines))
}

/// The metadata of an object, in the form of `PartialObjectMetadata`.
pub(super) fn metadata_only(bytes: &Bytes) -> Bytes {
    let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let partial = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]
    });
    partial.to_string().into()
}
