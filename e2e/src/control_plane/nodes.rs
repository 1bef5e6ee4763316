//! Nodes that exist only as objects. kwok makes them ready and keeps their leases alive.

use http::{Request, header::CONTENT_TYPE};
use kube_client::Client;
use serde_json::{Value, json};

use super::get;
use crate::Error;

/// Creates `node-0` to `node-<count - 1>`. Room is not said: kwok then gives each more than any test fills.
pub(super) async fn create(client: &Client, count: u32) -> Result<(), Error> {
    for number in 0..count {
        let mut request = Request::new(node(&name(number)).to_string().into_bytes());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = http::Uri::from_static("/api/v1/nodes");
        request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        client.request_bytes(request).await?;
    }
    Ok(())
}

/// The nodes among the first `count` on which no pod would be placed yet.
pub(super) async fn unready(client: &Client, count: u32) -> Result<Vec<String>, Error> {
    let list: Value = client.request(get("/api/v1/nodes")).await?;
    let nodes = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready: Vec<_> =
        nodes.iter().filter(|node| is_ready(node)).map(|node| &node["metadata"]["name"]).collect();
    Ok((0..count).map(name).filter(|name| !ready.iter().any(|ready| *ready == name)).collect())
}

fn name(number: u32) -> String {
    format!("node-{number}")
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
    })
}

/// Ready by its condition, and without a taint that the controller manager still has to take away.
fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready =
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    ready && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ready_when_its_condition_says_so_and_no_taint_is_left() {
        let conditions = |status: &str| json!([{ "type": "DiskPressure", "status": "True" }, { "type": "Ready", "status": status }]);
        for (node, expected) in [
            (json!({}), false),
            (json!({ "status": { "conditions": conditions("False") } }), false),
            (json!({ "status": { "conditions": conditions("True") } }), true),
            (json!({ "status": { "conditions": conditions("True") }, "spec": { "taints": [] } }), true),
            (
                json!({ "status": { "conditions": conditions("True") }, "spec": { "taints": [{ "key": "k" }] } }),
                false,
            ),
        ] {
            assert_eq!(is_ready(&node), expected, "{node}");
        }
    }
}
