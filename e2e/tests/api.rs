//! The client against a real server: every verb, what it answers, and what a person reads when it refuses.
//!
//! `cargo test -p kube-e2e --features cluster --test api`
//!
//! | module | about |
//! |---|---|
//! | `common`, `kinds` | a place on the cluster for each test, custom kinds of these tests, what went over the wire |
//! | `crud`, `list`, `write` | every verb on every sort of kind; selectors and pages; how writes and deletions are meant |
//! | `patch`, `apply`, `subresource` | patches by media type, server-side apply, status and scale |
//! | `watch` | events in order, bookmarks, selections, the past that is gone |
//! | `access` | who asks, and what they may |
//! | `config`, `connection`, `refused` | bad input: kubeconfig files, connections, objects and definitions |
//! | `derive`, `derive_kinds` | Rust types as definitions that the server takes as they are |
//!
//! Every test runs on any make of cluster, beside the others and beside itself: its objects are in a namespace of its own,
//! and what has no namespace belongs to that namespace, so that the garbage collector takes it away.

#[path = "api/access.rs"]
mod access;
#[path = "api/apply.rs"]
mod apply;
#[path = "api/common.rs"]
mod common;
#[path = "api/config.rs"]
mod config;
#[path = "api/connection.rs"]
mod connection;
#[path = "api/crud.rs"]
mod crud;
#[path = "api/derive.rs"]
mod derive;
#[path = "api/derive_kinds.rs"]
mod derive_kinds;
#[path = "api/kinds.rs"]
mod kinds;
#[path = "api/list.rs"]
mod list;
#[path = "api/patch.rs"]
mod patch;
#[path = "api/refused.rs"]
mod refused;
#[path = "api/subresource.rs"]
mod subresource;
#[path = "api/watch.rs"]
mod watch;
#[path = "api/write.rs"]
mod write;
