//! A tour: what a person would do with a website, and what they would see.

use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
};
use kube_client::{Api, Client};
use kube_core::{DeleteParams, Patch, PatchParams, ResourceExt, WriteParams};
use kube_e2e::wait_for;
use kube_runtime::conditions::is_condition_true;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    children::READY,
    timeline::Timeline,
    website::{Website, WebsiteSpec},
};

/// How long each step may take. A garbage collector learns of a new kind only every 30 s, and the last step waits for it.
pub const PATIENCE: Duration = Duration::from_secs(90);

const NAME: &str = "blog";

/// Plays the tour; ends early when `stop` is cancelled.
pub async fn play(client: &Client, timeline: &Timeline, stop: &CancellationToken) -> anyhow::Result<()> {
    let tour = Tour {
        sites: Api::default_namespaced(client.clone()),
        pages: Api::default_namespaced(client.clone()),
        deployments: Api::default_namespaced(client.clone()),
        services: Api::default_namespaced(client.clone()),
        timeline,
    };
    tokio::select! {
        played = tour.play() => played,
        () = stop.cancelled() => anyhow::bail!("stopped before the tour was over"),
    }
}

struct Tour<'a> {
    sites: Api<Website>,
    pages: Api<ConfigMap>,
    deployments: Api<Deployment>,
    services: Api<Service>,
    timeline: &'a Timeline,
}

impl Tour<'_> {
    async fn play(&self) -> anyhow::Result<()> {
        self.create().await?;
        self.scale(4).await?;
        self.repair_deleted().await?;
        self.repair_edited().await?;
        self.delete().await
    }

    async fn create(&self) -> anyhow::Result<()> {
        let spec = WebsiteSpec { replicas: 2, image: "nginx:stable".into(), html: "<h1>Hello</h1>".into() };
        self.sites
            .create(&Website::new(NAME, spec), &WriteParams::default())
            .await
            .context("cannot create a Website")?;
        self.timeline.tell("created", "Website blog with 2 replicas");
        self.ready(2).await?;
        self.timeline.tell("ready", "ConfigMap, Deployment and Service are there, 2 of 2 pods are ready");
        Ok(())
    }

    async fn scale(&self, replicas: i32) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        self.sites.patch(NAME, &patch, &PatchParams::default()).await.context("cannot scale the Website")?;
        self.timeline.tell("scaling", &format!("to {replicas} replicas"));
        self.ready(replicas).await?;
        self.timeline.tell("scaled", &format!("{replicas} of {replicas} pods are ready"));
        Ok(())
    }

    async fn repair_deleted(&self) -> anyhow::Result<()> {
        let old = self.deployments.get(NAME).await.context("no Deployment to break")?;
        self.deployments
            .delete(NAME, &DeleteParams::background())
            .await
            .context("cannot delete the Deployment")?;
        self.timeline.tell("breaking", "the Deployment is deleted by hand");
        wait_for(PATIENCE, "a new Deployment", async || match self.deployments.get_opt(NAME).await {
            Ok(Some(new)) if new.uid() != old.uid() => Ok(()),
            Ok(Some(_)) => Err("the old one is still there".to_owned()),
            Ok(None) => Err("there is none".to_owned()),
            Err(error) => Err(error.to_string()),
        })
        .await?;
        self.ready(4).await?;
        self.timeline.tell("repaired", "a new Deployment is there, and its pods are ready");
        Ok(())
    }

    async fn repair_edited(&self) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "data": { "index.html": "defaced" } }));
        self.pages.patch(NAME, &patch, &PatchParams::default()).await.context("cannot edit the ConfigMap")?;
        self.timeline.tell("breaking", "the page is defaced by hand");
        wait_for(PATIENCE, "the page as it was", async || {
            let page = self.pages.get(NAME).await.map_err(|error| error.to_string())?;
            let html = page.data.and_then(|mut data| data.remove("index.html")).unwrap_or_default();
            if html == "<h1>Hello</h1>" { Ok(()) } else { Err(html) }
        })
        .await?;
        self.timeline.tell("repaired", "the page is as it was");
        Ok(())
    }

    async fn delete(&self) -> anyhow::Result<()> {
        self.sites.delete(NAME, &DeleteParams::background()).await.context("cannot delete the Website")?;
        self.timeline.tell(
            "deleting",
            "Website blog (a real garbage collector may take half a minute to learn of a new kind)",
        );
        wait_for(PATIENCE, "everything to be gone", async || {
            let mut left = Vec::new();
            let found = |what: &'static str, found: Result<bool, kube_client::Error>| match found {
                Ok(true) => Some(what.to_owned()),
                Ok(false) => None,
                Err(error) => Some(format!("{what}: {error}")),
            };
            left.extend(found("Website", self.sites.get_opt(NAME).await.map(|o| o.is_some())));
            left.extend(found("ConfigMap", self.pages.get_opt(NAME).await.map(|o| o.is_some())));
            left.extend(found("Deployment", self.deployments.get_opt(NAME).await.map(|o| o.is_some())));
            left.extend(found("Service", self.services.get_opt(NAME).await.map(|o| o.is_some())));
            if left.is_empty() { Ok(()) } else { Err(format!("still there: {}", left.join(", "))) }
        })
        .await?;
        self.timeline.tell("gone", "Website, ConfigMap, Deployment and Service");
        Ok(())
    }

    /// Waits until the website says that it is ready with this many pods.
    async fn ready(&self, replicas: i32) -> anyhow::Result<()> {
        wait_for(PATIENCE, &format!("the Website to be ready with {replicas} pods"), async || {
            let site = self.sites.get(NAME).await.map_err(|error| error.to_string())?;
            let status = site.status.clone().unwrap_or_default();
            let ready = status.observed_generation == site.generation()
                && status.ready_replicas == replicas
                && is_condition_true(&status.conditions, READY);
            if ready { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await?;
        self.services.get(NAME).await.context("the Website is ready without a Service")?;
        Ok(())
    }
}
