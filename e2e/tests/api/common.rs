//! What every test needs: a place of its own, kinds that are served, and a look at what went over the wire.

use std::{
    error::Error as StdError,
    sync::{Arc, Mutex},
};

use http::{HeaderMap, Request};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, CustomResourceDefinitionCondition,
    },
};
use kube_client::{Api, Body, Client};
use kube_core::{
    ApiResource, CustomResource, ListParams, NamespaceScope, ObjectMeta, OwnerReference, PatchParams,
    Resource, ResourceExt as _,
};
use kube_e2e::{Cluster, TestNamespace};
use serde_json::{Value, json};

/// One test's place on the shared cluster, with a client of the administrator.
pub(crate) struct Place {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: TestNamespace,
    pub(crate) client: Client,
}

impl Place {
    pub(crate) async fn new(prefix: &str) -> Self {
        let cluster = Cluster::shared().await.unwrap();
        let namespace = cluster.namespace(prefix).await.unwrap();
        Self { cluster, namespace, client: cluster.client().unwrap() }
    }

    /// The objects of a kind in the test's namespace.
    pub(crate) fn api<K: Resource<Scope = NamespaceScope, Dynamic = ()>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A name for something outside of the namespace that no other test has.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("{}-{name}", self.namespace.name())
    }

    /// What makes an object outside of the namespace go with it.
    pub(crate) async fn owner(&self) -> OwnerReference {
        let namespaces: Api<Namespace> = Api::cluster(self.client.clone());
        let namespace = namespaces.get(&self.namespace).await.unwrap();
        let reference = namespace.controller_owner_ref(&()).unwrap();
        // Several tests may own one definition, and an object has at most one controller.
        OwnerReference { controller: None, block_owner_deletion: None, ..reference }
    }

    /// Makes the server know a kind until the last test that uses it is over.
    ///
    /// Each test applies the definition as a manager of its own and adds its namespace to the owners: the garbage
    /// collector deletes it when all of them are gone. Tests of other processes, on a cluster that is shared, count too.
    pub(crate) async fn define<K: CustomResource>(&self) {
        self.define_through::<K>(&self.client).await;
    }

    /// As [`define`](Self::define), through another client; with the conditions that the server set.
    pub(crate) async fn define_through<K: CustomResource>(
        &self,
        client: &Client,
    ) -> Vec<CustomResourceDefinitionCondition> {
        let definitions: Api<CustomResourceDefinition> = Api::cluster(client.clone());
        let mut definition = K::crd();
        definition.metadata.owner_references = Some(vec![self.owner().await]);
        let params = PatchParams::apply(self.namespace.name()).force();
        let conditions = self
            .cluster
            .eventually(&format!("{} to be established", K::CRD_NAME), async || {
                let stored = match definitions.apply(K::CRD_NAME, &definition, &params).await {
                    Ok(stored) => stored,
                    Err(error) if error.is_invalid() => panic!("{error}"),
                    Err(error) => return Err(chain(&error)),
                };
                if stored.is_deleting() {
                    return Err("the one of an earlier test, which is going".to_owned());
                }
                let conditions = stored.status.and_then(|status| status.conditions).unwrap_or_default();
                let established = conditions.iter().any(|c| c.type_ == "Established" && c.status == "True");
                if established { Ok(conditions) } else { Err(format!("{conditions:?}")) }
            })
            .await;
        let objects = served(&self.client, ApiResource::of::<K>());
        self.cluster
            .eventually(&format!("{} to be served", K::CRD_NAME), async || {
                objects.list(&ListParams::default().limit(1)).await.map_err(|error| chain(&error))
            })
            .await;
        conditions
    }
}

/// Any kind in the cluster as a whole.
fn served(client: &Client, resource: ApiResource) -> Api<kube_core::DynamicObject> {
    Api::dynamic(client.clone(), resource, None)
}

/// The metadata of an object with a name.
pub(crate) fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }
}

/// A config map with one entry.
pub(crate) fn config_map(name: &str, key: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: named(name),
        data: Some([(key.to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// A typed object from JSON.
pub(crate) fn typed<K: serde::de::DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

/// Labels as JSON for a patch.
pub(crate) fn labels(labels: &Value) -> Value {
    json!({ "metadata": { "labels": labels } })
}

/// Everything that a person reads of an error.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Asserts that a text has all these parts.
#[track_caller]
pub(crate) fn reads(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// What went over the wire for one request.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) sent: HeaderMap,
    pub(crate) received: HeaderMap,
}

impl Exchange {
    /// The server's warnings (RFC 7234, 5.5).
    pub(crate) fn warnings(&self) -> Vec<String> {
        let texts = self.received.get_all("warning").iter();
        texts.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned()).collect()
    }
}

/// The exchanges of a client, in the order of their answers.
#[derive(Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<Vec<Exchange>>>);

impl Wire {
    /// A client that sends through `client`, and what goes over the wire.
    pub(crate) fn tap(client: Client) -> (Client, Self) {
        let wire = Self::default();
        let namespace = client.default_namespace().to_owned();
        let tap = wire.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, tap) = (client.clone(), tap.clone());
            async move {
                let sent = request.headers().clone();
                let response = client.send(request).await?;
                let received = response.headers().clone();
                tap.0.lock().unwrap().push(Exchange { sent, received });
                Ok::<_, kube_client::Error>(response)
            }
        });
        (Client::new(service, namespace), wire)
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.0.lock().unwrap().clone()
    }
}
