//! Kubernetes resources as types, and requests to the API server as plain values.
//!
//! This crate never does I/O: no socket, no task, no clock. What it makes is an [`http::Request`] with a relative URI, which
//! `kube-client` (or anything else) sends, and what it reads are the bytes that came back.
//!
//! ```text
//!   your type ──▶ Resource ──▶ ApiResource ─┐
//!                                           ├─▶ Endpoint ──▶ http::Request<Vec<u8>>  ──▶ (a client)
//!   ListParams, WatchParams, Patch, ... ────┘
//!
//!   (a client) ──▶ bytes ──▶ ObjectList<K>, WatchEvent<K>, Status, DynamicObject, PartialObjectMeta
//! ```
//!
//! | Room | What is in it |
//! |---|---|
//! | resource | [`Resource`], [`ResourceExt`], [`ApiResource`], the scopes |
//! | key | [`ObjectKey`] (namespace and name), [`ObjectRef`] (with the kind) |
//! | params | [`ListParams`], [`WatchParams`], [`GetParams`], [`WriteParams`], [`PatchParams`], [`DeleteParams`] |
//! | request | [`Endpoint`]: one builder for each verb; [`RequestError`] |
//! | object | [`ObjectList`], [`DynamicObject`], [`PartialObjectMeta`], [`TypeMeta`] |
//! | status, watch | [`Status`], [`WatchEvent`] |
//! | crd, `schema` | `CustomResource`, structural schemas (feature `schema`) |
//! | [`backoff`] | delays between tries |
//!
//! # Example
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_core::{ApiResource, Endpoint, ListParams};
//!
//! let pods = Endpoint::new(&ApiResource::of::<Pod>(), Some("shop"))?;
//! let request = pods.list(&ListParams::default().labels("app=web"))?;
//! assert_eq!(request.method(), "GET");
//! assert_eq!(request.uri(), "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb");
//! # Ok::<(), kube_core::RequestError>(())
//! ```
//!
//! # Features
//! | Feature | Default | What it adds |
//! |---|---|---|
//! | `schema` | off | the module `schema`, `CustomResource` and the schemars dependency; `kube-derive` needs it |
//!
//! The version of the Kubernetes API is chosen by the final program, with a feature of `k8s-openapi` (`v1_37`, say).

pub use http;
pub use k8s_openapi;

pub mod backoff;
#[cfg(feature = "schema")]
mod crd;
mod key;
mod object;
mod params;
mod request;
mod resource;
#[cfg(feature = "schema")]
pub mod schema;
mod status;
mod watch;

#[cfg(feature = "schema")]
pub use crd::CustomResource;
pub use key::{ObjectKey, ObjectRef};
pub use object::{DynamicObject, ListMeta, ObjectList, PartialObjectMeta, TypeMeta};
pub use params::{
    DeleteParams, FieldValidation, GetParams, ListParams, Patch, PatchParams, Preconditions, Propagation,
    ResourceVersionMatch, WatchParams, WriteParams,
};
pub use request::{Endpoint, RequestError};
pub use resource::{
    ApiResource, ClusterScope, DynamicScope, NamespaceScope, ObjectMeta, OwnerReference, Resource,
    ResourceExt, StaticScope,
};
pub use status::{Status, StatusCause, StatusDetails};
pub use watch::{Bookmark, INITIAL_EVENTS_END, WatchEvent};

/// What the macros of `kube-derive` name in the code they write. Not for people: it changes without notice.
#[cfg(feature = "schema")]
#[doc(hidden)]
pub mod __derive {
    pub use k8s_openapi;
    pub use schemars;
    pub use serde;
    pub use serde_json;

    pub use crate::crd::expect_type;
}
