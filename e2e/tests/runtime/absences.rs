//! Rights and kinds that are not there yet, or not any more: what does not need them works, what needs them waits, says
//! so, and goes on by itself when they come.

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    rbac::v1::{Role, RoleBinding},
};
use kube_client::Api;
use kube_core::{DynamicObject, PatchParams, ResourceExt, WriteParams};
use kube_e2e::{Cluster, TestNamespace};
use kube_runtime::{
    Action, Caches, Context, Controller, Health, Keep, Query, Subscription,
    watcher::{Cause, Request},
};
use serde_json::json;

use crate::support::{
    Definition, Running, Runs, Wire, keep_secret, map, maps, our_maps, quick, same, shared, stored,
};

/// Gives a user these rights on ConfigMaps and Secrets of a namespace, and no others.
async fn grant(cluster: &Cluster, namespace: &TestNamespace, user: &str, secrets: &[&str]) {
    let client = cluster.client().unwrap();
    let on = |kind: &str, verbs: &[&str]| json!({ "apiGroups": [""], "resources": [kind], "verbs": verbs });
    let mut rules = vec![on("configmaps", &["get", "list", "watch"])];
    // A rule without verbs is not accepted.
    rules.extend((!secrets.is_empty()).then(|| on("secrets", secrets)));
    let role: Role =
        serde_json::from_value(json!({ "metadata": { "name": "e2e" }, "rules": rules })).unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "e2e" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "e2e" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    }))
    .unwrap();
    let params = PatchParams::apply("e2e").force();
    Api::namespaced(client.clone(), namespace).apply("e2e", &role, &params).await.unwrap();
    Api::namespaced(client, namespace).apply("e2e", &binding, &params).await.unwrap();
}

/// A reconciler that only counts.
fn counting<K: Send + Sync + 'static>(
    runs: &Runs,
) -> impl Fn(Arc<K>, Context) -> std::future::Ready<Result<Action, std::convert::Infallible>> + use<K> {
    let runs = runs.clone();
    move |_, context| {
        drop(runs.begin(&context.key));
        std::future::ready(Ok(Action::AwaitChange))
    }
}

/// Whether a watch is refused like this, for the second time at least.
fn refused(health: &Health, during: Request, code: u16) -> Result<String, String> {
    let problem = health.problem.as_ref().ok_or("no problem")?;
    let answered = matches!(&problem.fault.cause, Cause::Answered { code: found, .. } if *found == code);
    if answered && problem.during == during && problem.failures >= 2 {
        Ok(problem.to_string())
    } else {
        Err(format!("{problem:?}"))
    }
}

#[tokio::test]
async fn a_controller_without_rights_to_a_kind_waits_says_so_and_starts_when_they_come() {
    let cluster = shared().await;
    let namespace = cluster.namespace("rights").await.unwrap();
    // Nobody of this name has rights from elsewhere.
    let user = format!("user-of-{}", namespace.name());
    let all = ["get", "list", "watch", "create", "patch"];
    grant(cluster, &namespace, &user, &[]).await;
    let admin = cluster.client().unwrap();
    maps(&admin, &namespace).create(&map("a", "text"), &WriteParams::default()).await.unwrap();

    let (wire, client) = Wire::new(cluster.client_for(&user).unwrap());
    let caches = Caches::with_config(client, quick());
    let secrets = Query::<Secret>::all().within(&*namespace);
    let store = caches.store(&secrets, Keep::Bytes);
    let (needs, needs_not) = (Runs::default(), Runs::default());
    let waiting = Running::start(Controller::new(our_maps(&namespace)).owns(secrets), &caches, {
        let needs = needs.clone();
        move |map: Arc<ConfigMap>, context: Context| {
            drop(needs.begin(&context.key));
            keep_secret(map, context)
        }
    });
    let other = Running::start(Controller::new(our_maps(&namespace)), &caches, counting(&needs_not));

    let health = store.health();
    let told =
        cluster.eventually("403 for a list", async || refused(&health.borrow(), Request::List, 403)).await;
    for word in ["list", "secrets", &user] {
        assert!(told.contains(word), "{word} is not in {told:?}");
    }
    cluster.eventually("the controller that needs no Secrets to run", async || needs_not.total() == 1).await;
    assert_eq!((needs.total(), health.borrow().synced), (0, false));

    grant(cluster, &namespace, &user, &all).await;
    let kept = Api::<Secret>::namespaced(admin.clone(), &namespace);
    cluster.eventually("the Secret", async || kept.get("a").await).await;
    cluster.eventually("no problem", async || same(&health.borrow().problem, &None)).await;
    assert!(health.borrow().synced && needs.total() > 0);

    // Rights that go again close no watch that is open. One that breaks then is not opened, and the set stays.
    let lists = wire.lists("secrets");
    grant(cluster, &namespace, &user, &[]).await;
    let asks = Api::<Secret>::namespaced(cluster.client_for(&user).unwrap(), &namespace);
    let refuses = async || asks.get("a").await.is_err_and(|error| error.is_forbidden());
    cluster.eventually("the server to know that the rights are gone", refuses).await;
    wire.cut_watches();
    cluster.eventually("broken watches", async || health.borrow().problem.is_some()).await;
    wire.mend();
    cluster.eventually("403 for a watch", async || refused(&health.borrow(), Request::Watch, 403)).await;
    assert_eq!((store.len(), health.borrow().synced), (1, true));
    kept.delete("a", &kube_core::DeleteParams::default()).await.unwrap();
    grant(cluster, &namespace, &user, &all).await;
    let second = cluster.eventually("the Secret again", async || kept.get("a").await).await;
    cluster
        .eventually("the store to have it", async || {
            same(&stored(&store)["a"], second.metadata.resource_version.as_ref().unwrap())
        })
        .await;
    assert_eq!(wire.lists("secrets"), lists, "resumed, not listed");
    waiting.end().await;
    other.end().await;
}

#[tokio::test]
async fn a_kind_may_arrive_after_its_controller_and_go_and_come_again() {
    let cluster = shared().await;
    let namespace = cluster.namespace("kinds").await.unwrap();
    let client = cluster.client().unwrap();
    let definition = Definition::new(cluster);
    let query = Query::<DynamicObject>::dynamic(definition.resource());
    let objects = Api::dynamic(client.clone(), definition.resource().clone(), Some(&namespace));
    let create = async |name: &str| {
        objects.create(&definition.object(name), &WriteParams::default()).await.unwrap();
    };
    let caches = Caches::with_config(client.clone(), quick());
    let store = caches.store(&query, Keep::Bytes);
    let subscription = caches.subscribe(query.target(), Arc::default());
    let (late, early) = (Runs::default(), Runs::default());
    let of_late = Running::start(Controller::new(query.clone()), &caches, counting(&late));
    let of_early = Running::start(Controller::new(our_maps(&namespace)), &caches, counting(&early));
    let health = store.health();

    cluster.eventually("404", async || refused(&health.borrow(), Request::List, 404)).await;
    maps(&client, &namespace).create(&map("a", ""), &WriteParams::default()).await.unwrap();
    cluster.eventually("the controller of another kind to run", async || early.total() == 1).await;
    assert_eq!((late.total(), health.borrow().synced), (0, false));

    definition.install().await;
    create("one").await;
    cluster.eventually("a run", async || same(&late.by_name(), &[("one".to_owned(), 1)].into())).await;
    assert_eq!(told(&subscription), ["one is there"]);
    assert_eq!(health.borrow().problem, None);

    definition.remove().await;
    cluster.eventually("404", async || refused(&health.borrow(), Request::Watch, 404)).await;
    assert_eq!((told(&subscription), store.len()), (vec!["one is gone".to_owned()], 0));

    definition.install().await;
    create("two").await;
    cluster.eventually("a run of the new one", async || late.by_name().contains_key("two")).await;
    let server = objects.list(&kube_core::ListParams::default()).await.unwrap();
    assert_eq!(server.items.len(), 1);
    assert_eq!(stored(&store)["two"], server.items[0].resource_version().unwrap());
    assert_eq!(told(&subscription), ["two is there"]);
    cluster.eventually("no problem", async || same(&health.borrow().problem, &None)).await;
    of_late.end().await;
    of_early.end().await;
}

fn told(subscription: &Subscription) -> Vec<String> {
    let deltas = subscription.take();
    let tell = |delta: &kube_runtime::Delta| {
        format!("{} is {}", delta.key().name(), if delta.new.is_some() { "there" } else { "gone" })
    };
    deltas.iter().map(tell).collect()
}
