//! Kinds that exist for one test.

use std::{thread, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::{Api, Client, clock};
use kube_core::{
    ApiResource, CustomResource, DeleteParams, DynamicObject, ListParams, PatchParams, ResourceExt,
};
use kube_e2e::Cluster;
use serde_json::json;

/// A definition that goes with the test, and its objects with it.
pub(crate) struct Definition<'a> {
    cluster: &'a Cluster,
    installed_as: CustomResourceDefinition,
    resource: ApiResource,
}

impl<'a> Definition<'a> {
    /// That of a type.
    pub(crate) fn of<K: CustomResource>(cluster: &'a Cluster) -> Self {
        Self { cluster, installed_as: K::crd(), resource: ApiResource::of::<K>() }
    }

    /// One that nobody else has: a namespaced kind that takes any fields.
    pub(crate) fn new(cluster: &'a Cluster) -> Self {
        let group = format!("g{:x}.e2e.test", clock::seed());
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        });
        let definition = serde_json::from_value(json!({
            "metadata": { "name": format!("gadgets.{group}") },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": { "plural": "gadgets", "kind": "Gadget" },
                "versions": [version],
            },
        }));
        let resource = ApiResource::new(group, "v1", "Gadget", "gadgets", true);
        Self { cluster, installed_as: definition.unwrap(), resource }
    }

    pub(crate) fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// An object of the kind.
    pub(crate) fn object(&self, name: &str) -> DynamicObject {
        DynamicObject::new(name, &self.resource)
    }

    /// Installs it, and waits until the server serves the kind.
    pub(crate) async fn install(&self) {
        let client = self.cluster.client().unwrap();
        let params = PatchParams::apply("e2e").force();
        definitions(&client).apply(self.installed_as.name(), &self.installed_as, &params).await.unwrap();
        let objects = Api::dynamic(client, self.resource.clone(), None);
        let what = format!("{} to be served", self.resource);
        self.cluster.eventually(&what, async || objects.list(&ListParams::default()).await).await;
    }

    /// Removes it, and waits until it is gone.
    pub(crate) async fn remove(&self) {
        let definitions = definitions(&self.cluster.client().unwrap());
        let name = self.installed_as.name();
        definitions.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async || definitions.get_opt(name).await.is_ok_and(|found| found.is_none());
        self.cluster.eventually("the end of the definition", gone).await;
    }
}

impl Drop for Definition<'_> {
    fn drop(&mut self) {
        // As for namespaces: the test's own runtime may be ending, and cannot be waited on from inside.
        let delete = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let client = self.cluster.client().ok()?;
            let name = self.installed_as.name();
            let delete = async { definitions(&client).delete(name, &DeleteParams::default()).await };
            let delete = async { tokio::time::timeout(Duration::from_secs(5), delete).await };
            runtime.block_on(delete).ok()?.ok()
        };
        thread::scope(|scope| {
            // Best effort: it may be gone already.
            let _ = scope.spawn(delete).join();
        });
    }
}

fn definitions(client: &Client) -> Api<CustomResourceDefinition> {
    Api::cluster(client.clone())
}
