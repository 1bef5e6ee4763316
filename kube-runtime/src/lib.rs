//! From watch events to reconciles: watcher, cache, queue, controller.
//!
//! This crate never clones an object on its way, never decodes one that nobody reads, and never reads a clock in a decision.
//!
//! ```text
//!   server ──bytes──▶ scan ──▶ watcher ──events──▶ cache ──deltas──▶ controller ──▶ queue ──▶ your Reconciler
//!                     (ends,   (list, watch,       (slots,           (which keys     (which     (decoded once,
//!                     headers)  resume, back off)   one set)          it concerns)    runs next)  Arc<K>)
//! ```
//!
//! | Room | What is in it |
//! |---|---|
//! | controller | [`Controller`], [`Reconciler`], [`Action`], [`Context`] |
//! | cache | [`Caches`], [`Store`], [`Slot`], [`Keep`], [`Subscription`], [`Delta`], [`Health`] |
//! | [`queue`] | [`queue::Queue`]: what runs next (pure) |
//! | [`watcher`] | [`watcher::Machine`]: what to ask the server for (pure) |
//! | [`scan`] | bytes to slots (pure) |
//! | query | [`Query`], [`Target`], [`Namespaceable`]: what to watch |
//! | [`finalizer`], [`conditions`], [`events`] | what most reconcilers need |
//! | [`stop`] | when to end |
//!
//! # Example
//! A controller that keeps one label on every ConfigMap. Reconcilers look at what is, and do nothing when all is well.
//! ```no_run
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_core::{Patch, PatchParams, ResourceExt};
//! use kube_runtime::{Action, Caches, Context, Controller, Query, stop};
//!
//! async fn reconcile(map: Arc<ConfigMap>, context: Context) -> Result<Action, kube_client::Error> {
//!     if map.labels().get("seen").is_none_or(|value| value != "yes") {
//!         let api = Api::<ConfigMap>::namespaced(context.client, map.namespace().unwrap_or("default"));
//!         let patch = Patch::Merge(serde_json::json!({ "metadata": { "labels": { "seen": "yes" } } }));
//!         api.patch(map.name(), &patch, &PatchParams::default()).await?;
//!     }
//!     Ok(Action::AwaitChange)
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let caches = Caches::new(Client::infer().await?);
//! Controller::new(Query::<ConfigMap>::all()).run(&caches, reconcile, stop::on_signal()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A panic in a reconciler is an error of that object; this needs the default `panic = "unwind"`.

mod cache;
pub mod conditions;
mod controller;
mod error;
pub mod events;
pub mod finalizer;
mod query;
pub mod queue;
pub mod scan;
pub mod stop;
#[cfg(test)]
mod testing;
pub mod watcher;

pub use cache::{Caches, Delta, Health, Keep, Misfit, Slot, Store, Subscription};
pub use controller::{Action, Context, Controller, ControllerError, Reconciler};
pub use query::{Namespaceable, Query, Target};
