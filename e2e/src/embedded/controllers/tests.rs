//! The controllers on the server, under a paused clock.

use std::{fmt::Debug, time::Duration};

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{ConfigMap, Namespace, Node, Pod},
};
use kube_client::{Api, Client};
use kube_core::{
    DeleteParams, ListParams, ObjectMeta, OwnerReference, Patch, PatchParams, ResourceExt, WriteParams,
};
use serde_json::{Value, json};

use super::{ControllerOptions, Controllers};
use crate::Embedded;

fn cluster() -> (Embedded, Client, Controllers) {
    let server = Embedded::new(1);
    let controllers = server.start_controllers();
    let client = server.client();
    (server, client, controllers)
}

/// Looks every few milliseconds, which pass by themselves when there is nothing to do.
async fn until<T, E: Debug>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>, E>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = look().await.unwrap() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not seen: {what}");
}

fn web(replicas: i32, image: &str) -> Deployment {
    let object = json!({
        "metadata": { "name": "web" },
        "spec": { "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
                  "template": { "metadata": { "labels": { "app": "web" } },
                                "spec": { "containers": [{ "name": "web", "image": image }] } } }
    });
    serde_json::from_value(object).unwrap()
}

fn deployments(client: &Client) -> Api<Deployment> {
    Api::namespaced(client.clone(), "default")
}

async fn pods(client: &Client) -> Vec<Pod> {
    Api::<Pod>::namespaced(client.clone(), "default").list(&ListParams::default()).await.unwrap().items
}

/// `replicas updated ready available` of the status, when the controller has seen the newest spec.
async fn ready(client: &Client, replicas: i32) -> Deployment {
    until(&format!("{replicas} ready replicas"), async || {
        let deployment = deployments(client).get("web").await?;
        let status = deployment.status.clone().unwrap_or_default();
        let all =
            [status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas];
        let seen = status.observed_generation == deployment.generation();
        Ok::<_, kube_client::Error>((seen && all == [Some(replicas); 4]).then_some(deployment))
    })
    .await
}

fn named(name: &str, owner: Option<OwnerReference>) -> ConfigMap {
    let owner_references = owner.map(|owner| vec![owner]);
    let metadata = ObjectMeta { name: Some(name.into()), owner_references, ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

async fn is_gone(maps: &Api<ConfigMap>, name: &str) {
    until(&format!("{name} gone"), async || {
        Ok::<_, kube_client::Error>(maps.get_opt(name).await?.is_none().then_some(()))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_ready_scales_replaces_pods_and_goes_with_all_it_made() {
    let (_server, client, _controllers) = cluster();
    deployments(&client).create(&web(2, "nginx:1"), &WriteParams::default()).await.unwrap();
    let deployment = ready(&client, 2).await;
    let conditions = deployment.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|c| c.type_.as_deref() == Some("Available") && c.status.as_deref() == Some("True"))
    );

    let scale = Patch::Merge(json!({ "spec": { "replicas": 4 } }));
    deployments(&client).patch("web", &scale, &PatchParams::default()).await.unwrap();
    ready(&client, 4).await;
    let before = pods(&client).await;
    assert_eq!(before.len(), 4);
    let api = Api::<Pod>::namespaced(client.clone(), "default");
    api.delete(before[0].name(), &DeleteParams::default()).await.unwrap();
    until("a new pod", async || {
        let now = pods(&client).await;
        let other = now.iter().any(|pod| before.iter().all(|old| old.uid() != pod.uid()));
        Ok::<_, String>((now.len() == 4 && other).then_some(()))
    })
    .await;
    let down = Patch::Merge(json!({ "spec": { "replicas": 1 } }));
    deployments(&client).patch("web", &down, &PatchParams::default()).await.unwrap();
    ready(&client, 1).await;

    deployments(&client).delete("web", &DeleteParams::default()).await.unwrap();
    until("nothing left", async || {
        let sets =
            Api::<ReplicaSet>::namespaced(client.clone(), "default").list(&ListParams::default()).await?;
        Ok::<_, kube_client::Error>((sets.items.is_empty() && pods(&client).await.is_empty()).then_some(()))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_template_rolls_out_and_the_old_set_stays_empty() {
    let (_server, client, _controllers) = cluster();
    deployments(&client).create(&web(3, "nginx:1"), &WriteParams::default()).await.unwrap();
    ready(&client, 3).await;
    let image = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": "nginx:2" }] } } } });
    deployments(&client).patch("web", &Patch::Strategic(image), &PatchParams::default()).await.unwrap();
    let deployment = ready(&client, 3).await;
    assert_eq!(deployment.annotations()["deployment.kubernetes.io/revision"], "2");
    let images: Vec<_> =
        pods(&client).await.into_iter().map(|pod| pod.spec.unwrap().containers[0].image.clone()).collect();
    assert_eq!(images, vec![Some("nginx:2".to_owned()); 3]);
    let sets =
        Api::<ReplicaSet>::namespaced(client, "default").list(&ListParams::default()).await.unwrap().items;
    let mut sizes: Vec<_> = sets.iter().map(|set| set.spec.replicas).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [Some(0), Some(3)]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_runs_on_the_node_after_the_set_delay() {
    let server = Embedded::new(1);
    let options = ControllerOptions { pod_start: Duration::from_mins(10), ..ControllerOptions::default() };
    let _controllers = server.start_controllers_with(&options);
    let client = server.client();
    let template = serde_json::to_value(web(1, "nginx").spec.template).unwrap();
    let object = json!({ "metadata": { "name": "p" }, "spec": template["spec"] });
    let api = Api::<Pod>::namespaced(client.clone(), "default");
    api.create(&serde_json::from_value(object).unwrap(), &WriteParams::default()).await.unwrap();
    let begun = kube_client::clock::now();
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
    tokio::time::sleep(Duration::from_mins(9)).await;
    let pod = api.get("p").await.unwrap();
    assert_eq!((phase(&pod).as_str(), pod.spec.unwrap().node_name.as_deref()), ("Pending", Some("node-0")));
    tokio::time::sleep(Duration::from_mins(2)).await;
    let pod = api.get("p").await.unwrap();
    assert_eq!((phase(&pod).as_str(), pod.status.unwrap().pod_ip.as_deref()), ("Running", Some("10.0.0.1")));
    assert!(kube_client::clock::now() - begun >= Duration::from_mins(10));
    let node = Api::<Node>::cluster(client).get("node-0").await.unwrap();
    assert_eq!(node.status.unwrap().conditions.unwrap()[0].type_, "Ready");
}

#[tokio::test(start_paused = true)]
async fn what_a_custom_object_owns_goes_with_it() {
    let (_server, client, _controllers) = cluster();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "sites.demo.test" },
        "spec": { "group": "demo.test", "scope": "Namespaced", "names": { "kind": "Site", "plural": "sites" },
                  "versions": [{ "name": "v1", "served": true, "storage": true,
                                 "schema": { "openAPIV3Schema": { "type": "object" } } }] }
    });
    let of_definitions = kube_core::ApiResource::new(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    );
    let definitions = Api::<kube_core::DynamicObject>::dynamic(client.clone(), of_definitions, None);
    definitions.create(&serde_json::from_value(definition).unwrap(), &WriteParams::default()).await.unwrap();
    let sites = kube_core::ApiResource::new("demo.test", "v1", "Site", "sites", true);
    let api = Api::<kube_core::DynamicObject>::dynamic(client.clone(), sites.clone(), Some("default"));
    let site =
        api.create(&kube_core::DynamicObject::new("a", &sites), &WriteParams::default()).await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(client, "default");
    maps.create(&named("child", site.controller_owner_ref(&sites)), &WriteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(maps.get_opt("child").await.unwrap().is_some());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    is_gone(&maps, "child").await;
}

#[tokio::test(start_paused = true)]
async fn owners_in_the_foreground_go_last_and_orphans_stay() {
    let (_server, client, _controllers) = cluster();
    let maps = Api::<ConfigMap>::namespaced(client, "default");
    for (owner, child, how) in [("a", "b", DeleteParams::foreground()), ("c", "d", DeleteParams::orphan())] {
        let made = maps.create(&named(owner, None), &WriteParams::default()).await.unwrap();
        let mut child = named(child, made.controller_owner_ref(&()));
        child.metadata.finalizers = Some(vec!["example.dev/hold".into()]);
        maps.create(&child, &WriteParams::default()).await.unwrap();
        maps.delete(owner, &how).await.unwrap();
    }
    is_gone(&maps, "c").await;
    assert!(maps.get("d").await.unwrap().owner_references().is_empty());
    until("the child is asked to go", async || {
        Ok::<_, kube_client::Error>(maps.get("b").await?.is_deleting().then_some(()))
    })
    .await;
    assert!(maps.get("a").await.unwrap().is_deleting(), "it waits for its child");
    let free = Patch::Merge(json!({ "metadata": { "finalizers": Value::Null } }));
    maps.patch("b", &free, &PatchParams::default()).await.unwrap();
    is_gone(&maps, "a").await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_contents_and_waits_for_what_is_held() {
    let (_server, client, _controllers) = cluster();
    let namespaces = Api::<Namespace>::cluster(client.clone());
    let metadata = ObjectMeta { name: Some("shop".into()), ..ObjectMeta::default() };
    let made = namespaces
        .create(&Namespace { metadata, ..Namespace::default() }, &WriteParams::default())
        .await
        .unwrap();
    assert_eq!(made.status.unwrap().phase.as_deref(), Some("Active"));
    let shop = Api::<ConfigMap>::namespaced(client.clone(), "shop");
    let mut held = named("held", None);
    held.metadata.finalizers = Some(vec!["example.dev/hold".into()]);
    shop.create(&held, &WriteParams::default()).await.unwrap();
    shop.create(&named("free", None), &WriteParams::default()).await.unwrap();
    Api::<Deployment>::namespaced(client.clone(), "shop")
        .create(&web(2, "nginx"), &WriteParams::default())
        .await
        .unwrap();

    namespaces.delete("shop", &DeleteParams::default()).await.unwrap();
    is_gone(&shop, "free").await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(namespaces.get("shop").await.unwrap().status.unwrap().phase.as_deref(), Some("Terminating"));
    assert!(shop.create(&named("late", None), &WriteParams::default()).await.unwrap_err().is_forbidden());
    assert!(shop.get("held").await.unwrap().is_deleting());
    let free = Patch::Merge(json!({ "metadata": { "finalizers": Value::Null } }));
    shop.patch("held", &free, &PatchParams::default()).await.unwrap();
    until("the namespace gone", async || {
        Ok::<_, kube_client::Error>(namespaces.get_opt("shop").await?.is_none().then_some(()))
    })
    .await;
    let pods = Api::<Pod>::all(client).list(&ListParams::default()).await.unwrap();
    assert!(pods.items.is_empty());
}

#[tokio::test(start_paused = true)]
async fn controllers_end_when_they_are_dropped_or_left_out() {
    let server = Embedded::new(1);
    let none = ControllerOptions {
        garbage_collector: false,
        deployments: false,
        node: false,
        ..ControllerOptions::default()
    };
    let idle = server.start_controllers_with(&none);
    let stopped = server.start_controllers();
    stopped.stop().await;
    drop(server.start_controllers());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let client = server.client();
    deployments(&client).create(&web(2, "nginx"), &WriteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(pods(&client).await.is_empty());
    drop(idle);
}
