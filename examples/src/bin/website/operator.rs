//! The reconciler: makes what is there into what should be there, and tells the status.

use std::{fmt::Debug, sync::Arc};

use k8s_openapi::NamespaceResourceScope;
use kube_client::{Api, Client, clock};
use kube_core::{Patch, PatchParams, Resource, ResourceExt};
use kube_runtime::{
    Action, Context, Reconciler,
    conditions::is_condition_true,
    events::{Recorder, Severity},
    finalizer::{FinalizerError, finalize},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    children::{self, READY},
    website::Website,
};

/// The name under which the operator writes, and that of its lease.
pub const MANAGER: &str = "website-operator";

/// Keeps a website from vanishing before the operator has said goodbye.
pub const FINALIZER: &str = "websites.example.dev/cleanup";

/// Reconciles websites.
pub struct WebsiteOperator {
    recorder: Recorder,
}

impl WebsiteOperator {
    /// `instance` tells replicas of the operator apart in events.
    pub fn new(client: Client, instance: &str) -> Self {
        Self { recorder: Recorder::new(client, MANAGER, instance) }
    }

    /// Applies every child, then says how it stands. Server-side apply writes nothing where nothing differs, so this may run as
    /// often as it likes.
    async fn apply(&self, site: &Website, client: Client) -> Result<Action, kube_client::Error> {
        apply(&client, &children::page(site)).await?;
        let deployment = apply(&client, &children::deployment(site)).await?;
        apply(&client, &children::service(site)).await?;

        let status = children::status(site, &deployment, clock::wall());
        if site.status.as_ref() != Some(&status) {
            let patch = Patch::Merge(json!({ "status": status }));
            websites(client, site).patch_status(site.name(), &patch, &PatchParams::default()).await?;
            let was_ready = site.status.as_ref().is_some_and(|old| is_condition_true(&old.conditions, READY));
            if is_condition_true(&status.conditions, READY) && !was_ready {
                let note = format!("served by {} pods", status.ready_replicas);
                self.recorder.publish(site, Severity::Normal, "Ready", "Reconcile", &note).await;
            }
        }
        Ok(Action::AwaitChange)
    }

    /// What has no owner reference would be cleaned up here: a DNS entry, a bucket. The children go by themselves.
    async fn cleanup(&self, site: &Website) {
        self.recorder
            .publish(site, Severity::Normal, "Deleted", "Cleanup", "the website is taken down")
            .await;
    }
}

impl Reconciler<Website> for WebsiteOperator {
    type Error = FinalizerError<kube_client::Error>;

    async fn reconcile(&self, site: Arc<Website>, context: Context) -> Result<Action, Self::Error> {
        let api = websites(context.client.clone(), &site);
        finalize(
            &api,
            FINALIZER,
            site,
            async |site: Arc<Website>| self.apply(&site, context.client).await,
            async |site: Arc<Website>| {
                self.cleanup(&site).await;
                Ok(())
            },
        )
        .await
    }
}

fn websites(client: Client, site: &Website) -> Api<Website> {
    Api::namespaced(client, site.namespace().unwrap_or_default())
}

/// Applies a child. Its fields are the operator's: somebody else's edits of them are taken back.
async fn apply<K>(client: &Client, child: &K) -> Result<K, kube_client::Error>
where
    K: Resource<Dynamic = (), Scope = NamespaceResourceScope> + Serialize + DeserializeOwned + Debug,
{
    let api = Api::<K>::namespaced(client.clone(), child.namespace().unwrap_or_default());
    api.apply(child.name(), child, &PatchParams::apply(MANAGER).force()).await
}
