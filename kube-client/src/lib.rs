//! A tower service to a Kubernetes API server, and typed access on top of it.
//!
//! This crate never decides what happens next: it does not keep what it read, resume a watch, or run a loop. It finds the
//! server, proves who it is, sends what it is asked to send, and says what came back.
//!
//! ```text
//!   kubeconfig, pod ──▶ Config ──▶ Client::from_config
//!                                        │
//!   Api<K> ── verbs, typed ──▶ Client ───┴─▶ Trace ▶ LimitTime ▶ AddAuth ▶ UseBaseUri ▶ Transport ══▶ API server
//!     ▲                          │                                                      (pool, TLS)
//!     └── objects, events ◀── status checked, bytes, lines ◀───────────────────────────────────┘
//! ```
//!
//! | Room | What is in it |
//! |---|---|
//! | client | [`Client`]: send, check the status, decode (up to [`MAX_ANSWER`]), stream; [`Body`], [`ByteStream`], [`LineStream`] |
//! | api | [`Api`]: every verb on the objects of one kind; its scopes are types |
//! | config | [`Config`], [`Kubeconfig`], [`Auth`]: where the server is and who to be |
//! | tls, connect | [`TlsConfig`], [`Transport`]: what to trust, pooled connections that are noticed when they die |
//! | layer | [`TraceLayer`], [`TimeLimitLayer`], [`AuthLayer`], [`BaseUriLayer`]: each of use alone |
//! | lines | [`LineSplitter`]: where the lines of a byte stream end |
//! | error | [`Error`], [`ApiError`] |
//! | [`clock`] | the one place where time is read |
//!
//! # Example
//! ```no_run
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client, core::{ListParams, PatchParams, ResourceExt}};
//!
//! # async fn example() -> Result<(), kube_client::Error> {
//! let client = Client::infer().await?;
//! let pages: Api<ConfigMap> = Api::default_namespaced(client);
//! let mut page = ConfigMap::default();
//! page.metadata.name = Some("page".into());
//! page.data = Some([("index.html".into(), "hello".into())].into());
//! let page = pages.apply("page", &page, &PatchParams::apply("example").force()).await?;
//! println!("{} is at version {:?}", page.name(), page.resource_version());
//! for page in pages.list(&ListParams::default()).await? {
//!     println!("{}", page.name());
//! }
//! # Ok(()) }
//! ```
//!
//! # Features
//! None. The version of the Kubernetes API is chosen by the final program, with a feature of `k8s-openapi` (`v1_37`, say).
//!
//! Not here yet: exec plugins, OIDC and proxies (choosing a user or cluster that needs one is a [`ConfigError`]; proxies
//! in the environment are not looked at), trying again, discovery, and connections that are upgraded.

pub use kube_core as core;

pub mod clock;

mod api;
mod body;
mod client;
mod config;
mod connect;
mod decode;
mod error;
mod file;
mod layer;
mod lines;
mod retry_after;
mod stack;
mod stream;
#[cfg(test)]
mod testing;
mod tls;

pub use api::{AllNamespaces, Api, Deleted, EventStream, Placed};
pub use body::Body;
pub use client::{Client, MAX_ANSWER};
pub use config::{
    Auth, Cluster, Config, ConfigError, Context, Entry, KubeConfigOptions, Kubeconfig, NamedCluster,
    NamedContext, NamedUser, Opaque, OtherFields, User,
};
pub use connect::{ConnectError, ConnectFault, Transport};
pub use error::{ApiError, BoxError, CredentialError, Error, TimedOut};
pub use layer::{
    AddAuth, AuthLayer, BaseUriLayer, LimitTime, TimeLimit, TimeLimitLayer, Trace, TraceLayer, UNARY_LIMIT,
    UseBaseUri,
};
pub use lines::{LineSplitter, LineTooLong, MAX_LINE};
pub use stream::{ByteStream, LineStream};
pub use tls::{Identity, TlsConfig, TlsError, Trust};
