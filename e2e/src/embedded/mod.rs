//! An API server in this process: no installation, ready in milliseconds.
//!
//! ```text
//!   request ──▶ server: route ──▶ kind ──▶ write: type, name, metadata, owners ──▶ storage ──▶ watches
//!                                   └────▶ read: list, page, watch ◀───────────────┘
//! ```
//! What the real server does is right; where this one differs, it is wrong. Verbs and rules are written once for all kinds; what a kind
//! is like is a line in the tables of `facts`.

mod admit;
mod crd;
mod errors;
mod facts;
mod kinds;
mod meta;
mod patch;
mod read;
mod route;
mod selector;
mod server;
mod shape;
mod storage;
#[cfg(test)]
mod tests;
mod watch;
mod write;

#[cfg(feature = "cluster")]
pub use self::facts::{FactTexts, collect_facts};
pub use self::server::Embedded;
