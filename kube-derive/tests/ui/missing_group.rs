use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(version = "v1", kind = "Website")]
struct WebsiteSpec {
    replicas: i32,
}

fn main() {}
