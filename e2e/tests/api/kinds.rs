//! Custom kinds of these tests, one of each scope.

use std::collections::BTreeMap;

use kube_core::ObjectMeta;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::named;

/// Something with parts.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "api.e2e.example.dev",
    version = "v1",
    kind = "Gadget",
    namespaced,
    status = GadgetStatus,
    derive(PartialEq),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GadgetSpec {
    /// How many there are.
    #[schemars(range(min = 0, max = 10))]
    pub(crate) replicas: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) colour: Option<Colour>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub(crate) parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) notes: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Colour {
    Red,
    Green,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) count: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GadgetStatus {
    #[serde(default)]
    pub(crate) replicas: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) selector: Option<String>,
}

impl Gadget {
    pub(crate) fn of(name: &str, replicas: i32) -> Self {
        Self::new(name, GadgetSpec { replicas, ..GadgetSpec::default() })
    }
}

/// Something that belongs to the cluster as a whole.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Realm", plural = "realms")]
pub(crate) struct RealmSpec {
    pub(crate) motto: String,
}

impl Realm {
    pub(crate) fn of(name: &str, motto: &str) -> Self {
        Self { metadata: ObjectMeta { ..named(name) }, spec: RealmSpec { motto: motto.into() } }
    }
}
