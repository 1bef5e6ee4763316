//! What the runtime promises, on a real server: watches, controllers, finalizers, stops and elections.
//!
//! `cargo test -p kube-e2e --features cluster --test runtime`
//!
//! | To show that | Open |
//! |---|---|
//! | a store stays equal to the server, whatever happens to it | `watches.rs` |
//! | 20,000 objects are no trouble | `scale.rs` |
//! | controllers repair, converge and come to rest | `controllers.rs` |
//! | rights and kinds may come late, and go | `absences.rs` |
//! | finalizers do their work and harm nobody | `finalizers.rs` |
//! | a process ends in order on a signal | `stops.rs` |
//! | one replica leads | `leaders.rs` |
//!
//! Every test has a namespace, or a server, of its own. The suite runs on any make of a cluster (`KUBE_E2E_CLUSTER`);
//! tests that hurt the server are left out, loudly, where there is no control over it.

mod absences;
mod controllers;
mod finalizers;
mod leaders;
mod scale;
mod stops;
mod support;
mod watches;
