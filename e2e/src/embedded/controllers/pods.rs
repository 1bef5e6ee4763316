//! Plays scheduler and kubelet: a node on which every Pod that has none soon runs.
//!
//! In: Pods. Out: their node, and after a while a status that says they run and are ready. Nothing runs: no image is looked
//! at and no container ends. Pods that name another node are left to whoever plays that one, and gated ones wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node, Pod};
use kube_client::{Api, Client, Error};
use kube_core::{ObjectMeta, Patch, ResourceExt};
use kube_runtime::{Action, Context};
use serde_json::{Value, json};

use super::{super::server::now, patching, writing};

/// The node.
const NODE: &str = "node-0";

/// Its address: one of those that are for documentation (RFC 5737).
const HOST_IP: &str = "192.0.2.1";

/// Makes the node.
pub(super) async fn add_node(client: Client) {
    if let Err(error) = try_add_node(client).await {
        tracing::warn!(%error, "there is no node");
    }
}

async fn try_add_node(client: Client) -> Result<(), Error> {
    let nodes = Api::<Node>::cluster(client);
    let labels = [("kubernetes.io/hostname".to_owned(), NODE.to_owned())];
    let metadata =
        ObjectMeta { name: Some(NODE.to_owned()), labels: Some(labels.into()), ..ObjectMeta::default() };
    match nodes.create(&Node { metadata, ..Node::default() }, &writing()).await {
        Err(error) if !error.is_already_exists() => return Err(error),
        _ => {}
    }
    let resources = json!({ "cpu": "64", "memory": "256Gi", "pods": "100000" });
    let ready = json!({ "type": "Ready", "status": "True", "reason": "KubeletReady",
        "lastHeartbeatTime": now(), "lastTransitionTime": now() });
    let addresses =
        json!([{ "type": "InternalIP", "address": HOST_IP }, { "type": "Hostname", "address": NODE }]);
    let status = json!({ "status": {
        "capacity": resources, "allocatable": resources, "conditions": [ready], "addresses": addresses
    } });
    nodes.patch_status(NODE, &Patch::Merge(status), &patching()).await.map(drop)
}

/// What makes Pods run.
#[derive(Clone, Debug)]
pub(super) struct Kubelet {
    start: Duration,
    /// How many Pods have an address.
    addresses: Arc<AtomicU32>,
}

impl Kubelet {
    /// One whose Pods are ready after this time.
    pub(super) fn new(start: Duration) -> Self {
        Self { start, addresses: Arc::default() }
    }

    pub(super) async fn reconcile(self, pod: Arc<Pod>, context: Context) -> Result<Action, Error> {
        let api = Api::<Pod>::namespaced(context.client, pod.namespace().unwrap_or_default());
        match self.run(&api, &pod).await {
            // It is gone, or another one of the name is there, which has a turn of its own.
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(Action::AwaitChange),
        }
    }

    async fn run(&self, api: &Api<Pod>, pod: &Pod) -> Result<(), Error> {
        let spec = pod.spec.as_ref();
        let node = spec.and_then(|spec| spec.node_name.as_deref());
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
        let gated =
            spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty());
        if pod.is_deleting() || phase != "Pending" || node.is_some_and(|node| node != NODE) || gated {
            return Ok(());
        }
        let only = json!({ "uid": pod.uid() });
        let bound = json!({ "metadata": only, "spec": { "nodeName": NODE } });
        api.patch(pod.name(), &Patch::Merge(bound), &patching()).await?;
        let begun = now();
        let pending = json!({ "phase": "Pending", "startTime": begun, "hostIP": HOST_IP,
            "conditions": [condition("PodScheduled", &begun)] });
        let pending = json!({ "metadata": only, "status": pending });
        api.patch_status(pod.name(), &Patch::Merge(pending), &patching()).await?;
        tokio::time::sleep(self.start).await;
        let running = json!({ "metadata": only, "status": self.running(pod, &begun, &now()) });
        api.patch_status(pod.name(), &Patch::Merge(running), &patching()).await.map(drop)
    }

    fn running(&self, pod: &Pod, begun: &str, now: &str) -> Value {
        let [_, high, middle, low] =
            self.addresses.fetch_add(1, Ordering::Relaxed).wrapping_add(1).to_be_bytes();
        let ip = format!("10.{high}.{middle}.{low}");
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
            json!({ "name": container.name, "image": container.image.as_deref().unwrap_or_default(), "imageID": "",
                "ready": true, "started": true, "restartCount": 0, "state": { "running": { "startedAt": now } } })
        });
        let conditions = [
            condition("PodScheduled", begun),
            condition("Initialized", begun),
            condition("ContainersReady", now),
            condition("Ready", now),
        ];
        json!({ "phase": "Running", "startTime": begun, "hostIP": HOST_IP, "podIP": ip, "podIPs": [{ "ip": ip }],
            "conditions": conditions, "containerStatuses": containers.collect::<Value>() })
    }
}

fn condition(type_: &str, since: &str) -> Value {
    json!({ "type": type_, "status": "True", "lastTransitionTime": since })
}
