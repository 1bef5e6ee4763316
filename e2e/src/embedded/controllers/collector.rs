//! Performs what `gc` decides: hears of every change, keeps the graph, and sends the requests.
//!
//! A request that fails because the object changed is not repeated: the change is heard of and decides anew. Any other
//! failure is decided anew after [`AGAIN`].

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{StreamExt, channel::mpsc};
use kube_client::{Api, Client, Error};
use kube_core::{ApiResource, DeleteParams, DynamicObject, ObjectMeta, Patch, Preconditions};
use serde_json::{Value, json};

use super::{
    gc::{Cascade, Graph, Node, Order},
    patching, writing,
};
use crate::embedded::storage::{Change, Resource, Stored};

/// When a request that failed is sent again: soon for a test, and seldom enough for the log.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs the collector on what it hears, until it is dropped.
pub(super) async fn run(client: Client, mut changes: mpsc::UnboundedReceiver<Arc<Change>>) {
    let (mut graph, mut concerned) = (Graph::default(), BTreeSet::new());
    loop {
        let failed = perform(&client, &graph, &concerned).await;
        let change = tokio::select! {
            change = changes.next() => match change {
                Some(change) => change,
                None => return,
            },
            () = tokio::time::sleep(AGAIN), if !failed.is_empty() => {
                concerned = failed;
                continue;
            }
        };
        concerned = failed;
        // All that waits is taken in at once, so that no order is made from a state that has passed.
        let mut next = Some(change);
        while let Some(change) = next {
            // An object of the name may be another one than before.
            if let Some(old) = change.old.as_ref().and_then(|old| node(&change.resource, old)) {
                concerned.extend(graph.gone(&old.uid));
            }
            if let Some(new) = change.new.as_ref().and_then(|new| node(&change.resource, new)) {
                concerned.extend(graph.seen(new));
            }
            next = changes.try_recv().ok();
        }
    }
}

fn node(resource: &Resource, stored: &Arc<Stored>) -> Option<Node> {
    // What is stored was written by this server, so it is JSON.
    let object: Value = serde_json::from_slice(&stored.bytes).ok()?;
    Some(Node::read(&resource.plural, &object))
}

/// Performs the orders for these objects; gives back those for which it failed.
async fn perform(client: &Client, graph: &Graph, concerned: &BTreeSet<String>) -> BTreeSet<String> {
    let mut failed = BTreeSet::new();
    for uid in concerned {
        for order in graph.decide(uid) {
            match send(client, graph, &order).await {
                Ok(()) => {}
                Err(error) if error.is_not_found() || error.is_conflict() => {}
                Err(error) => {
                    tracing::warn!(%error, ?order, "the garbage collector tries again");
                    failed.insert(uid.clone());
                }
            }
        }
    }
    failed
}

async fn send(client: &Client, graph: &Graph, order: &Order) -> Result<(), Error> {
    let uid = match order {
        Order::Delete(uid, _)
        | Order::Disown(uid, _)
        | Order::RemoveFinalizer(uid, _)
        | Order::Finalise(uid) => uid,
    };
    let Some(node) = graph.get(uid) else { return Ok(()) };
    let api = api(client, node);
    match order {
        Order::Delete(_, cascade) => {
            let params = match cascade {
                Cascade::Background => DeleteParams::background(),
                Cascade::Foreground => DeleteParams::foreground(),
                Cascade::Orphan => DeleteParams::orphan(),
            };
            // Nobody may have become its owner since.
            let version = Some(node.resource_version.clone());
            let same = Preconditions { uid: Some(uid.clone()), resource_version: version };
            api.delete(&node.name, &DeleteParams { preconditions: Some(same), ..params }).await.map(drop)
        }
        Order::Disown(_, owners) => {
            edit(&api, node, |metadata| {
                let references = metadata.owner_references.iter().flatten();
                let kept: Vec<_> = references.filter(|reference| !owners.contains(&reference.uid)).collect();
                json!({ "ownerReferences": kept })
            })
            .await
        }
        Order::RemoveFinalizer(_, finalizer) => {
            edit(&api, node, |metadata| {
                let finalizers = metadata.finalizers.iter().flatten();
                let kept: Vec<_> = finalizers.filter(|own| own != finalizer).collect();
                json!({ "finalizers": kept })
            })
            .await
        }
        Order::Finalise(_) => {
            let mut namespace = api.get(&node.name).await?;
            namespace.data["spec"]["finalizers"] = json!([]);
            api.replace_subresource::<_, Value>("finalize", &node.name, &namespace, &writing())
                .await
                .map(drop)
        }
    }
}

/// Changes the metadata of what the object is now, and of nothing that it has become since.
async fn edit(
    api: &Api<DynamicObject>,
    node: &Node,
    change: impl FnOnce(&ObjectMeta) -> Value,
) -> Result<(), Error> {
    let object = api.get(&node.name).await?;
    let mut metadata = change(&object.metadata);
    metadata["uid"] = node.uid.clone().into();
    metadata["resourceVersion"] = object.metadata.resource_version.into();
    api.patch(&node.name, &Patch::Merge(json!({ "metadata": metadata })), &patching()).await.map(drop)
}

fn api(client: &Client, node: &Node) -> Api<DynamicObject> {
    let (group, version) = node.api_version.split_once('/').unwrap_or(("", &node.api_version));
    let namespace = Some(node.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let (group, version) = (group.to_owned(), version.to_owned());
    let resource =
        ApiResource::new(group, version, node.kind.clone(), node.plural.clone(), namespace.is_some());
    Api::dynamic(client.clone(), resource, namespace)
}
