//! Decides what a website should consist of, and whether it is ready.
//!
//! Pure: objects in, objects out. Each child has the website's name, its labels, and a reference to it as the controlling owner,
//! so that the server's garbage collector takes it away with the website.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, PodSpec, PodTemplateSpec, Service,
            ServicePort, ServiceSpec, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use kube_core::{ObjectMeta, ResourceExt};
use kube_runtime::conditions::{condition, set_condition};

use crate::website::{Website, WebsiteStatus};

/// The condition that says whether the website is served as asked for.
pub const READY: &str = "Ready";

/// The page.
pub fn page(site: &Website) -> ConfigMap {
    let data = BTreeMap::from([("index.html".to_owned(), site.spec.html.clone())]);
    ConfigMap { metadata: metadata(site), data: Some(data), ..ConfigMap::default() }
}

/// The pods that serve it.
pub fn deployment(site: &Website) -> Deployment {
    let volume = Volume {
        name: "page".into(),
        config_map: Some(ConfigMapVolumeSource {
            name: site.name().to_owned(),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    };
    let container = Container {
        name: "web".into(),
        image: Some(site.spec.image.clone()),
        ports: Some(vec![ContainerPort {
            container_port: 80,
            name: Some("http".into()),
            ..ContainerPort::default()
        }]),
        volume_mounts: Some(vec![VolumeMount {
            name: "page".into(),
            mount_path: "/usr/share/nginx/html".into(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(site)), ..ObjectMeta::default() }),
        spec: Some(PodSpec {
            containers: vec![container],
            volumes: Some(vec![volume]),
            ..PodSpec::default()
        }),
    };
    let spec = DeploymentSpec {
        replicas: Some(site.spec.replicas),
        selector: LabelSelector { match_labels: Some(labels(site)), match_expressions: None },
        template,
        ..DeploymentSpec::default()
    };
    Deployment { metadata: metadata(site), spec, ..Deployment::default() }
}

/// The address.
pub fn service(site: &Website) -> Service {
    let port = ServicePort {
        name: Some("http".into()),
        port: 80,
        target_port: Some(IntOrString::String("http".into())),
        ..ServicePort::default()
    };
    let spec =
        ServiceSpec { selector: Some(labels(site)), ports: Some(vec![port]), ..ServiceSpec::default() };
    Service { metadata: metadata(site), spec: Some(spec), ..Service::default() }
}

/// The status that follows from what the Deployment says of itself, after what was said before.
pub fn status(site: &Website, deployment: &Deployment, now: jiff::Timestamp) -> WebsiteStatus {
    let generation = site.generation();
    let seen = deployment.status.clone().unwrap_or_default();
    // Until its own controller has looked at the Deployment as it is now, its numbers are about an older one.
    let current = seen.observed_generation >= deployment.metadata.generation;
    let ready = if current { seen.available_replicas.unwrap_or(0) } else { 0 };
    let served = current && ready >= site.spec.replicas;
    let message = format!("{ready} of {} pods are ready", site.spec.replicas);
    let reason = if served { "PodsReady" } else { "WaitingForPods" };
    let mut conditions = site.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    set_condition(&mut conditions, condition(READY, Some(served), reason, message, generation, now));
    WebsiteStatus { observed_generation: generation, ready_replicas: ready, conditions }
}

fn metadata(site: &Website) -> ObjectMeta {
    ObjectMeta {
        name: Some(site.name().to_owned()),
        namespace: site.metadata.namespace.clone(),
        labels: Some(labels(site)),
        owner_references: site.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn labels(site: &Website) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("app.kubernetes.io/name".into(), "website".into()),
        ("app.kubernetes.io/instance".into(), site.name().into()),
        ("app.kubernetes.io/managed-by".into(), "website-operator".into()),
    ])
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DeploymentStatus;
    use kube_runtime::conditions::is_condition_true;

    use super::*;
    use crate::website::WebsiteSpec;

    fn site() -> Website {
        let spec = WebsiteSpec { replicas: 2, image: "nginx".into(), html: "hi".into() };
        let mut site = Website::new("blog", spec);
        site.metadata.namespace = Some("shop".into());
        site.metadata.uid = Some("u".into());
        site.metadata.generation = Some(3);
        site
    }

    fn now(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn children_belong_to_their_website() {
        let site = site();
        for metadata in [page(&site).metadata, deployment(&site).metadata, service(&site).metadata] {
            assert_eq!(
                (metadata.name.as_deref(), metadata.namespace.as_deref()),
                (Some("blog"), Some("shop"))
            );
            let owner = &metadata.owner_references.unwrap()[0];
            assert_eq!((owner.kind.as_str(), owner.controller), ("Website", Some(true)));
        }
    }

    #[test]
    fn a_website_is_ready_when_its_current_pods_are() {
        let rows = [
            (None, None, 0, false),
            (Some(1), Some(2), 0, false), // about an older Deployment
            (Some(2), Some(1), 1, false),
            (Some(2), Some(2), 2, true),
            (Some(2), Some(3), 3, true), // scaling down
        ];
        for (observed_generation, available_replicas, ready, served) in rows {
            let mut deployment = deployment(&site());
            deployment.metadata.generation = Some(2);
            deployment.status = Some(DeploymentStatus {
                observed_generation,
                available_replicas,
                ..DeploymentStatus::default()
            });
            let status = status(&site(), &deployment, now(0));
            assert_eq!(status.ready_replicas, ready);
            assert_eq!(is_condition_true(&status.conditions, READY), served);
            assert_eq!(status.observed_generation, Some(3));
        }
    }

    #[test]
    fn a_status_that_says_nothing_new_is_the_same() {
        let mut site = site();
        let first = status(&site, &deployment(&site), now(0));
        site.status = Some(first.clone());
        assert_eq!(status(&site, &deployment(&site), now(100)), first);
    }
}
