//! Tells people what a controller did, as Kubernetes events on the object (`kubectl describe` shows them).
//!
//! In: what happened to which object. Out: an event object (events.k8s.io/v1), written once for each call. Events are a courtesy: a
//! failure to write one is logged and never fails a reconcile. Report what changed, not that a reconcile ran.

use std::time::Duration;

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube_client::{Api, Client, clock};
use kube_core::{ApiResource, ObjectMeta, Resource, ResourceExt, WriteParams};

use crate::error::chain;

/// Longest note that the server takes, in bytes (events.k8s.io/v1, `note`).
const MAX_NOTE: usize = 1024;

/// Longest name prefix that leaves room for the suffix which the server adds.
const MAX_PREFIX: usize = 200;

/// How long an event may hold up its reconcile.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Whether an event is about the usual or about trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Something that somebody may want to look at.
    Warning,
}

/// Writes events in the name of one controller. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    client: Client,
    controller: String,
    instance: String,
}

impl Recorder {
    /// A recorder for a controller, such as `website-operator`; `instance` tells its replicas apart (the Pod's name, say).
    pub fn new(client: Client, controller: impl Into<String>, instance: impl Into<String>) -> Self {
        Self { client, controller: controller.into(), instance: instance.into() }
    }

    /// Writes an event about an object. `reason` is a word for machines (`Created`), `action` what was done (`Create`),
    /// `note` a sentence for people, cut to 1 KiB.
    pub async fn publish<K>(&self, object: &K, severity: Severity, reason: &str, action: &str, note: &str)
    where
        K: Resource<Dynamic = ()>,
    {
        let event = self.event(object, severity, reason, action, note);
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        let api = Api::<Event>::namespaced(self.client.clone(), namespace);
        let params = WriteParams::default();
        match tokio::time::timeout(TIME_LIMIT, api.create(&event, &params)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(reason, error = chain(&error), "event not written"),
            Err(_) => tracing::debug!(reason, "event not written in time"),
        }
    }

    fn event<K: Resource<Dynamic = ()>>(
        &self,
        object: &K,
        severity: Severity,
        reason: &str,
        action: &str,
        note: &str,
    ) -> Event {
        let resource = ApiResource::of::<K>();
        let own = |text: &str| Some(text.to_owned());
        Event {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}.", cut(object.name(), MAX_PREFIX))),
                // Events live in a namespace; those of cluster-scoped objects in `default`, by convention.
                namespace: own(object.namespace().unwrap_or("default")),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(clock::wall())),
            reporting_controller: own(&self.controller),
            reporting_instance: own(&self.instance),
            type_: own(match severity {
                Severity::Normal => "Normal",
                Severity::Warning => "Warning",
            }),
            reason: own(reason),
            action: own(action),
            note: own(cut(note, MAX_NOTE)),
            regarding: Some(ObjectReference {
                api_version: Some(resource.api_version().into_owned()),
                kind: Some(resource.kind.into_owned()),
                name: own(object.name()),
                namespace: object.meta().namespace.clone(),
                uid: object.meta().uid.clone(),
                resource_version: object.meta().resource_version.clone(),
                field_path: None,
            }),
            ..Event::default()
        }
    }
}

/// The first `max` bytes of a text, to a whole character.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

    use super::*;

    fn recorder() -> Recorder {
        let nobody = tower::service_fn(async |_: http::Request<kube_client::Body>| {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube_client::Body::empty()))
        });
        Recorder::new(Client::new(nobody, "default"), "test-operator", "pod-1")
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_lives_beside_its_object_and_names_it() {
        let metadata = ObjectMeta {
            name: Some("a".into()),
            namespace: Some("shop".into()),
            uid: Some("u".into()),
            ..ObjectMeta::default()
        };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        let event = recorder().event(&map, Severity::Warning, "Broken", "Repair", "it broke");
        assert_eq!(event.metadata.namespace.as_deref(), Some("shop"));
        assert_eq!(event.metadata.generate_name.as_deref(), Some("a."));
        let regarding = event.regarding.unwrap();
        assert_eq!((regarding.kind.as_deref(), regarding.uid.as_deref()), (Some("ConfigMap"), Some("u")));
        assert_eq!(event.type_.as_deref(), Some("Warning"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_of_a_cluster_scoped_object_lives_in_default() {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("shop".into());
        let event = recorder().event(&namespace, Severity::Normal, "Made", "Make", "");
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(event.regarding.unwrap().namespace, None);
    }

    #[test]
    fn a_cut_keeps_whole_characters() {
        for (text, max, cut_to) in [("abc", 5, "abc"), ("abc", 2, "ab"), ("äö", 3, "ä"), ("ä", 1, "")] {
            assert_eq!(cut(text, max), cut_to);
        }
    }
}
