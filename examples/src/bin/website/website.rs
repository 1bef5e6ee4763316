//! The types that people write.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of HTML, served by a number of pods under one address.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "example.dev", version = "v1", kind = "Website", namespaced, status = WebsiteStatus, shortname = "web")]
#[kube(printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"))]
#[kube(printcolumn(
    name = "Ready",
    type = "string",
    json_path = ".status.conditions[?(@.type=='Ready')].status"
))]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// How many pods serve it.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The image of the web server. It serves `/usr/share/nginx/html` on port 80.
    #[serde(default = "default_image")]
    pub image: String,
    /// The page.
    pub html: String,
}

fn default_image() -> String {
    "nginx:stable".into()
}

/// What the operator knows of it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// The generation that the rest is about.
    pub observed_generation: Option<i64>,
    /// How many pods are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// `Ready`: as many pods as asked for serve the page.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
