//! The controllers that a cluster has beside its API server, as far as tests of operators need them.
//!
//! ```text
//!   Deployment ──▶ ReplicaSet ──▶ Pod ──▶ bound to node-0, Running, Ready     deployments, replicas, pods
//!   an owner or a namespace that goes ──▶ what goes with it                   gc (pure) ◀─▶ collector
//! ```
//! In: changes of objects. Out: writes through a [`Client`], like anybody's. Those of workloads are ordinary controllers on this
//! workspace's runtime; the collector has to see every kind, also ones that are defined later, and hears of them from the
//! server itself. Each part can be left out. Jobs, `StatefulSets` and `DaemonSets`, and `minReadySeconds`, are not there.

mod collector;
mod deployments;
mod gc;
mod pods;
mod replicas;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, error::Error, future::Future, sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::Pod,
};
use kube_client::Client;
use kube_core::{PatchParams, Resource, ResourceExt, WriteParams};
use kube_runtime::{Action, Caches, Context, Controller, Query};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::server::Embedded;

/// Who writes, as managed fields tell it.
const MANAGER: &str = "kube-controller-manager";

/// How long reconciles get to end when a test is over: none of them has anything to clean up.
const GRACE: Duration = Duration::from_millis(100);

/// Which controllers run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerOptions {
    /// Whether dependents go with their owners, and the contents of a namespace with it. Default true.
    pub garbage_collector: bool,
    /// Whether Deployments make `ReplicaSets`, and these make Pods. Default true.
    pub deployments: bool,
    /// Whether there is a node, `node-0`, on which Pods run. Default true.
    pub node: bool,
    /// How long a Pod takes from its node to Ready. Default 50 ms: long enough to be seen pending, too short to be waited for.
    pub pod_start: Duration,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self { garbage_collector: true, deployments: true, node: true, pod_start: Duration::from_millis(50) }
    }
}

/// Running controllers. They end when this is dropped.
#[derive(Debug)]
#[must_use = "the controllers end when this is dropped"]
pub struct Controllers {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Embedded {
    /// Runs all controllers with their defaults.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start_controllers(&self) -> Controllers {
        self.start_controllers_with(&ControllerOptions::default())
    }

    /// Runs the controllers that are asked for.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start_controllers_with(&self, options: &ControllerOptions) -> Controllers {
        Controllers::start(self, &self.client(), options)
    }
}

impl Controllers {
    /// Hears of changes from the server, and writes through the client.
    fn start(server: &Embedded, client: &Client, options: &ControllerOptions) -> Self {
        let mut controllers = Self { tasks: JoinSet::new(), stop: CancellationToken::new() };
        let caches = Caches::new(client.clone());
        if options.garbage_collector {
            controllers.tasks.spawn(collector::run(client.clone(), server.listen()));
        }
        if options.deployments {
            let deployments = Controller::new(Query::<Deployment>::all()).owns(Query::<ReplicaSet>::all());
            controllers.spawn(&caches, deployments, deployments::reconcile);
            let sets = Controller::new(Query::<ReplicaSet>::all()).owns(Query::<Pod>::all());
            controllers.spawn(&caches, sets, replicas::reconcile);
        }
        if options.node {
            controllers.tasks.spawn(pods::add_node(client.clone()));
            // A start takes its time, and all of them may start at once.
            let pods = Controller::new(Query::<Pod>::all()).concurrency(0);
            let kubelet = pods::Kubelet::new(options.pod_start);
            controllers.spawn(&caches, pods, move |pod, context| kubelet.clone().reconcile(pod, context));
        }
        controllers
    }

    /// Ends them, and waits until they have.
    pub async fn stop(mut self) {
        self.stop.cancel();
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }

    fn spawn<K, F, Fut, E>(&mut self, caches: &Caches, controller: Controller<K>, reconcile: F)
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        F: Fn(Arc<K>, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let (caches, stop) = (caches.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            if let Err(error) = controller.grace(GRACE).run(&caches, reconcile, stop).await {
                tracing::debug!(%error, "a controller ended");
            }
        });
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn writing() -> WriteParams {
    WriteParams::manager(MANAGER)
}

fn patching() -> PatchParams {
    PatchParams { write: writing(), force: false }
}

/// Whether this owner is the one that decides about the object.
fn is_controlled_by(object: &impl Resource, owner: &impl Resource) -> bool {
    let controls = |uid: &str| {
        object.owner_references().iter().any(|own| own.controller == Some(true) && own.uid == uid)
    };
    owner.uid().is_some_and(controls)
}

/// The labels of a selector, as a list takes them. Expressions are left out: what is listed is told apart by its owner.
fn selector(labels: Option<&BTreeMap<String, String>>) -> String {
    let pairs = labels.into_iter().flatten().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}
