use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "example.dev", version = "v1", kind = "Website")]
#[kube(printcolumn(name = "Replicas", type = "int", json_path = ".spec.replicas"))]
#[kube(printcolumn(name = "Html", type = "string"))]
#[kube(printcolumn(name = "Html", type = "string", json_path = "spec.html"))]
struct WebsiteSpec {
    replicas: i32,
}

fn main() {}
