//! Keeps as many Pods as a `ReplicaSet` asks for.
//!
//! In: a `ReplicaSet`; its Pods, read from the server and not from the cache, so that none is made twice. Out: Pods, fewer Pods, the
//! status. Pods that match and belong to nobody are not taken over.

use std::{cmp::Reverse, sync::Arc};

use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
use kube_client::{Api, Error};
use kube_core::{DeleteParams, ListParams, ObjectMeta, Patch, ResourceExt};
use kube_runtime::{Action, Context};
use serde_json::json;

use super::{is_controlled_by, patching, selector, writing};

pub(super) async fn reconcile(set: Arc<ReplicaSet>, context: Context) -> Result<Action, Error> {
    let namespace = set.namespace().unwrap_or_default();
    let api = Api::<Pod>::namespaced(context.client.clone(), namespace);
    let labels = selector(set.spec.selector.match_labels.as_ref());
    let mut pods = api.list(&ListParams::default().labels(labels)).await?.items;
    pods.retain(|pod| is_controlled_by(pod, &*set) && is_active(pod));

    let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
    if !set.is_deleting() {
        for _ in pods.len()..wanted {
            match api.create(&pod(&set), &writing()).await {
                // The namespace is on its way out, and the set with it.
                Err(error) if error.is_forbidden() => break,
                created => _ = created?,
            }
        }
        // Those that serve longest stay longest.
        pods.sort_by_key(|pod| (Reverse(is_ready(pod)), pod.metadata.creation_timestamp.clone()));
        for pod in pods.iter().skip(wanted) {
            match api.delete(pod.name(), &DeleteParams::background()).await {
                Err(error) if error.is_not_found() => {}
                deleted => _ = deleted?,
            }
        }
    }
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let status = json!({
        "observedGeneration": set.generation(), "replicas": pods.len(), "fullyLabeledReplicas": pods.len(),
        "readyReplicas": ready, "availableReplicas": ready
    });
    let sets = Api::<ReplicaSet>::namespaced(context.client, namespace);
    match sets.patch_status(set.name(), &Patch::Merge(json!({ "status": status })), &patching()).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(Action::AwaitChange),
    }
}

fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !pod.is_deleting() && !matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn pod(set: &ReplicaSet) -> Pod {
    let template = set.spec.template.clone().unwrap_or_default();
    let metadata = template.metadata.unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", set.name())),
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: set.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}
