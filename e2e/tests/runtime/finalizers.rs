//! Finalizers: the cleanup comes before the end, nobody's finalizer is harmed by another's, and what is owned goes too.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client};
use kube_core::{DeleteParams, ListParams, Patch, PatchParams, ResourceExt, WriteParams};
use kube_runtime::{
    Action, Caches, Context, Controller, Reconciler,
    finalizer::{FinalizerError, finalize},
};
use serde_json::json;

use crate::support::{Running, keep_secret, listed, map, maps, our_maps, same, shared};

/// A reconciler that keeps a Secret for each ConfigMap, and at its end looks whether it is still there.
struct Finalizing {
    finalizer: &'static str,
    cleaned: Cleaned,
}

/// How often each name was cleaned up while it was still held by the finalizer.
type Cleaned = Arc<Mutex<BTreeMap<String, u32>>>;

impl Finalizing {
    fn start(finalizer: &'static str, namespace: &str, caches: &Caches) -> (Running, Cleaned) {
        let cleaned = Cleaned::default();
        let reconciler = Self { finalizer, cleaned: cleaned.clone() };
        (Running::start(Controller::new(our_maps(namespace)), caches, reconciler), cleaned)
    }

    async fn clean_up(&self, client: &Client, map: &ConfigMap) -> Result<(), kube_client::Error> {
        let there = maps(client, map.namespace().unwrap()).get_opt(map.name()).await?;
        let held = |there: &ConfigMap| {
            let finalized = there.finalizers().iter().any(|name| name == self.finalizer);
            there.uid() == map.uid() && there.is_deleting() && finalized
        };
        // A cleanup may come twice: somebody else's change may wake the controller before it has seen its own.
        if there.is_some_and(|there| held(&there)) {
            *self.cleaned.lock().unwrap().entry(map.name().to_owned()).or_default() += 1;
        }
        Ok(())
    }
}

impl Reconciler<ConfigMap> for Finalizing {
    type Error = FinalizerError<kube_client::Error>;

    async fn reconcile(&self, map: Arc<ConfigMap>, context: Context) -> Result<Action, Self::Error> {
        let api = maps(&context.client, map.namespace().unwrap_or_default());
        let client = context.client.clone();
        finalize(
            &api,
            self.finalizer,
            map,
            async |map: Arc<ConfigMap>| keep_secret(map, context).await,
            async |map: Arc<ConfigMap>| self.clean_up(&client, &map).await,
        )
        .await
    }
}

const ONE: &str = "e2e.test/one";
const TWO: &str = "e2e.test/two";

async fn finalizers(api: &Api<ConfigMap>) -> BTreeMap<String, Vec<String>> {
    let finalizers = |map: &ConfigMap| {
        let mut finalizers = map.finalizers().to_vec();
        finalizers.sort();
        finalizers
    };
    listed(api).await.iter().map(|(name, map)| (name.clone(), finalizers(map))).collect()
}

#[tokio::test]
async fn an_object_is_cleaned_up_before_it_goes_and_what_it_owns_goes_after_it() {
    let cluster = shared().await;
    let namespace = cluster.namespace("cleanup").await.unwrap();
    let client = cluster.client().unwrap();
    let maps = maps(&client, &namespace);
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    let (controller, cleaned) = Finalizing::start(ONE, &namespace, &Caches::new(client));
    maps.create(&map("a", "text"), &WriteParams::default()).await.unwrap();
    cluster.eventually("its Secret", async || secrets.get("a").await).await;
    assert_eq!(finalizers(&maps).await["a"], [ONE], "the finalizer goes on before anything is done");

    maps.delete("a", &DeleteParams::background()).await.unwrap();
    cluster.eventually("its end", async || maps.get_opt("a").await.unwrap().is_none()).await;
    assert_eq!(*cleaned.lock().unwrap(), [("a".to_owned(), 1)].into());
    // By the cluster's own garbage collector.
    cluster.eventually("the end of its Secret", async || secrets.get_opt("a").await.unwrap().is_none()).await;
    controller.end().await;
}

#[tokio::test]
async fn two_finalizers_of_two_controllers_do_each_other_no_harm() {
    let cluster = shared().await;
    let namespace = cluster.namespace("two-finalizers").await.unwrap();
    let client = cluster.client().unwrap();
    let maps = maps(&client, &namespace);
    // Two processes, as far as the server can tell.
    let (first, one) = Finalizing::start(ONE, &namespace, &Caches::new(client));
    let (second, two) = Finalizing::start(TWO, &namespace, &Caches::new(cluster.client().unwrap()));
    let names: Vec<String> = (0..20).map(|index| format!("map-{index}")).collect();
    for name in &names {
        maps.create(&map(name, ""), &WriteParams::default()).await.unwrap();
    }
    let both = |names: &[String]| -> BTreeMap<String, Vec<String>> {
        names.iter().map(|name| (name.clone(), vec![ONE.to_owned(), TWO.to_owned()])).collect()
    };
    cluster.eventually("both on each", async || same(&finalizers(&maps).await, &both(&names))).await;

    // A third party's, which somebody takes off by hand at the end.
    let foreign =
        Patch::Json(json!([{ "op": "add", "path": "/metadata/finalizers/0", "value": "e2e.test/foreign" }]));
    maps.patch("map-0", &foreign, &PatchParams::default()).await.unwrap();
    maps.delete_collection(&DeleteParams::background(), &ListParams::default()).await.unwrap();
    cluster
        .eventually("only the foreign one to be left", async || {
            let foreign = vec!["e2e.test/foreign".to_owned()];
            same(&finalizers(&maps).await, &[("map-0".to_owned(), foreign)].into())
        })
        .await;
    let off = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("map-0", &off, &PatchParams::default()).await.unwrap();
    cluster.eventually("the end of all", async || listed(&maps).await.is_empty()).await;
    for cleaned in [one, two] {
        let cleaned: Vec<String> = cleaned.lock().unwrap().keys().cloned().collect();
        let mut expected = names.clone();
        expected.sort();
        assert_eq!(cleaned, expected);
    }
    first.end().await;
    second.end().await;
}

#[tokio::test]
async fn a_namespace_goes_with_finalized_objects_in_it() {
    let cluster = shared().await;
    let namespace = cluster.namespace("going").await.unwrap();
    let client = cluster.client().unwrap();
    let maps = maps(&client, &namespace);
    let (controller, cleaned) = Finalizing::start(ONE, &namespace, &Caches::new(client.clone()));
    for name in ["a", "b", "c"] {
        maps.create(&map(name, ""), &WriteParams::default()).await.unwrap();
    }
    cluster
        .eventually("the finalizers", async || {
            finalizers(&maps).await.values().filter(|finalizers| *finalizers == &[ONE]).count() == 3
        })
        .await;
    namespace.delete().await.unwrap();
    let namespaces = Api::<Namespace>::cluster(client);
    let gone = async || namespaces.get_opt(namespace.name()).await.unwrap().is_none();
    cluster.eventually("the end of the namespace", gone).await;
    assert_eq!(cleaned.lock().unwrap().keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    controller.end().await;
}
