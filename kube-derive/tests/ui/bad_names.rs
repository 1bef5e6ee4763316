use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "example", version = "1.0", kind = "web-site", plural = "Websites", shortname = "w b")]
struct WebsiteSpec {
    replicas: i32,
}

fn main() {}
