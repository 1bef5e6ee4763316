//! What a request may ask for beside its object: selectors, pages, versions, dry runs, preconditions.
//!
//! Plain values with public fields and the server's own names; defaults are what the server does when nothing is said,
//! except where a field says otherwise. [`crate::Endpoint`] turns them into query strings and bodies.

use serde::Serialize;

/// How long the server is asked to keep a watch open, in seconds. Below 5 minutes, so that load balancers with the usual
/// idle limits do not cut it first.
const WATCH_TIMEOUT_SECONDS: u32 = 290;

/// What to list (API concepts, "Retrieving large results sets in chunks", "Resource versions").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListParams {
    /// Only objects with these labels, such as `app=web,tier!=db`.
    pub label_selector: Option<String>,
    /// Only objects with these field values, such as `metadata.name=web`.
    pub field_selector: Option<String>,
    /// At most so many objects a page; all in one page when absent.
    pub limit: Option<u32>,
    /// The page that this token of an earlier page stands for.
    pub continue_token: Option<String>,
    /// Which state to read; the most recent one when absent.
    pub resource_version: Option<String>,
    /// How `resource_version` is meant.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// Seconds that the server may take.
    pub timeout_seconds: Option<u32>,
}

/// How a list's resource version is meant (API concepts, "resourceVersionMatch parameter").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// State at least as new as the version; any state for version `0`.
    NotOlderThan,
    /// State at exactly the version.
    Exact,
}

impl ResourceVersionMatch {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NotOlderThan => "NotOlderThan",
            Self::Exact => "Exact",
        }
    }
}

impl ListParams {
    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects with these field values.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// At most so many objects a page.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Starts at the page of this token.
    #[must_use]
    pub fn continue_at(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }
}

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchParams {
    /// Only objects with these labels.
    pub label_selector: Option<String>,
    /// Only objects with these field values.
    pub field_selector: Option<String>,
    /// Seconds after which the server ends the watch. Default 290.
    pub timeout_seconds: Option<u32>,
    /// Whether the server sends bookmarks. Default true: without them the version of a quiet kind expires.
    pub bookmarks: bool,
    /// Whether the watch begins with the present objects, ended by a bookmark (streaming list, KEP-3157). Default false.
    /// Asks for bookmarks too: the end is one.
    pub send_initial_events: bool,
}

impl Default for WatchParams {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            timeout_seconds: Some(WATCH_TIMEOUT_SECONDS),
            bookmarks: true,
            send_initial_events: false,
        }
    }
}

impl WatchParams {
    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects with these field values.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }
}

/// Which state of an object to get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetParams {
    /// State at least as new as this version, perhaps from the server's cache; the most recent one when absent.
    pub resource_version: Option<String>,
}

/// How to create or replace an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteParams {
    /// Go through everything but store nothing.
    pub dry_run: bool,
    /// Who writes, as recorded in the object's managed fields; the server makes one up from the user agent when absent.
    pub field_manager: Option<String>,
    /// What becomes of unknown and duplicate fields.
    pub field_validation: Option<FieldValidation>,
}

/// What becomes of unknown and duplicate fields of a written object (API concepts, "Validation for unrecognized fields").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped, with a `Warning` header for each. The server's default.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

impl WriteParams {
    /// Nothing set but who writes.
    pub fn manager(name: impl Into<String>) -> Self {
        Self { field_manager: Some(name.into()), ..Self::default() }
    }

    /// Stores nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// How to patch an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchParams {
    /// Dry run, field manager, field validation. Server-side apply needs a field manager.
    pub write: WriteParams,
    /// Take over fields that another manager owns. Server-side apply only.
    pub force: bool,
}

impl PatchParams {
    /// Server-side apply in the name of this field manager.
    pub fn apply(manager: impl Into<String>) -> Self {
        Self { write: WriteParams::manager(manager), force: false }
    }

    /// Takes over fields that another manager owns: what controllers want for the fields they decide
    /// (API concepts, "Using Server-Side Apply in a controller").
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Stores nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.write.dry_run = true;
        self
    }
}

/// A change to an object, by its media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch<T> {
    /// A list of operations (RFC 6902).
    Json(T),
    /// An object laid over the stored one; null removes (RFC 7386). Lists are replaced whole.
    Merge(T),
    /// Like merge, but lists of built-in types are merged by their keys. Custom resources refuse it (415).
    Strategic(T),
    /// Server-side apply: the fields that this manager wants, and no others.
    Apply(T),
}

impl<T> Patch<T> {
    /// The media type it is sent with.
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json-patch+json",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            Self::Apply(_) => "application/apply-patch+yaml",
        }
    }

    /// What is sent.
    pub fn body(&self) -> &T {
        match self {
            Self::Json(body) | Self::Merge(body) | Self::Strategic(body) | Self::Apply(body) => body,
        }
    }
}

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteParams {
    /// Delete nothing, but say what would happen.
    #[serde(rename = "dryRun", serialize_with = "dry_run_all", skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Seconds that the object gets to end; the kind's own default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    /// What becomes of the objects that it owns; the kind's own default when absent.
    #[serde(rename = "propagationPolicy", skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Propagation>,
    /// Delete only if the object is still this one; else the server answers 409.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
}

/// What becomes of owned objects (API concepts, "Cascading deletion").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// The object goes at once, what it owns afterwards.
    Background,
    /// What it owns goes first.
    Foreground,
    /// What it owns stays.
    Orphan,
}

/// Which object is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The object with this uid, and not a later one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The object as it was at this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

impl DeleteParams {
    /// Owned objects go afterwards.
    pub fn background() -> Self {
        Self { propagation: Some(Propagation::Background), ..Self::default() }
    }

    /// Owned objects go first.
    pub fn foreground() -> Self {
        Self { propagation: Some(Propagation::Foreground), ..Self::default() }
    }

    /// Owned objects stay.
    pub fn orphan() -> Self {
        Self { propagation: Some(Propagation::Orphan), ..Self::default() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn dry_run_all<S: serde::Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    ["All"].serialize(serializer)
}
