//! An API server in this process: no installation, ready in milliseconds.
//!
//! ```text
//!   request ──▶ server: route, kind ──▶ call ──▶ write: type, name, metadata, owners ──▶ storage ──▶ watches
//!                                       └────▶ read: list, page, watch ◀───────────────┘
//! ```
//! The controllers of a cluster (`controllers`) run beside it, through a client like anybody's: deployments get their pods, and what
//! belongs to somebody goes with its owner.
//!
//! What the real server does is right; where this one differs, it is wrong. Verbs and rules are written once for all kinds; what a kind
//! is like is a line in the tables of `facts`.

mod admit;
mod background;
mod bookmarks;
mod call;
mod controllers;
#[allow(
    dead_code,
    unused_imports,
    reason = "access control, webhooks and more tables, the rooms that come next, use the rest"
)]
mod crd;
mod discovery;
#[allow(
    dead_code,
    unused_imports,
    reason = "access control, webhooks and more tables, the rooms that come next, use the rest"
)]
mod errors;
#[allow(
    dead_code,
    unused_imports,
    reason = "access control, webhooks and more tables, the rooms that come next, use the rest"
)]
mod facts;
mod kinds;
mod meta;
mod namespaces;
#[allow(
    dead_code,
    unused_imports,
    reason = "access control, webhooks and more tables, the rooms that come next, use the rest"
)]
mod patch;
mod read;
mod reply;
mod route;
mod scale;
mod selector;
mod server;
#[allow(
    dead_code,
    unused_imports,
    reason = "access control, webhooks and more tables, the rooms that come next, use the rest"
)]
mod shape;
mod storage;
mod table;
#[cfg(test)]
mod tests;
mod valid;
mod watch;
mod write;

pub(crate) use self::background::Background;
#[cfg(feature = "cluster")]
pub use self::facts::{FactTexts, collect_facts};
pub use self::{
    controllers::{ControllerOptions, Controllers},
    server::Embedded,
};
