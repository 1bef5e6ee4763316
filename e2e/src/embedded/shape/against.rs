//! The same bodies to the real server, whose audit log has what it made of each.

use std::fmt::Write as _;

use kube_client::Error;
use serde_json::{Map, Value, json};

use super::{DecodeError, Decoded, decode};
use crate::{Cluster, embedded::facts::Facts};

/// A line for each object: version, resource, and what is beside type and name.
const BODIES: &str = include_str!("against.txt");

#[tokio::test]
async fn objects_are_understood_as_the_real_server_understands_them() {
    let cluster = Cluster::control_plane().audit().start().await.unwrap();
    let client = cluster.client().unwrap();
    let facts = Facts::load();
    let mut ours = Vec::new();
    for (number, line) in BODIES.lines().enumerate() {
        let [api_version, plural, body] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let body: Map<String, Value> = serde_json::from_str(body).unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = facts.resource(group, version, plural).unwrap();
        let mut object =
            Map::from_iter([("apiVersion".into(), api_version.into()), ("kind".into(), kind.kind.into())]);
        object.insert("metadata".into(), json!({}));
        object.extend(body);
        object["metadata"]["name"] = "name".into();
        let body = Value::Object(object).to_string();
        let place = if kind.namespaced { "/namespaces/default" } else { "" };
        let root = if group.is_empty() { "api" } else { "apis" };
        let path = format!("/{root}/{api_version}{place}/{plural}?dryRun=All&fieldManager=n{number}");
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body.clone().into_bytes());
        match client.request_bytes(request.unwrap()).await {
            Ok(_) | Err(Error::Api(_)) => {}
            Err(error) => panic!("{error}"),
        }
        ours.push((body.clone(), decode(facts.types(), &kind.shape(), body.as_bytes())));
    }
    let log = std::fs::read_to_string(cluster.control().unwrap().audit_log()).unwrap();
    let mut different = String::new();
    for (number, (body, ours)) in ours.into_iter().enumerate() {
        let is_this = |line: &&str| line.contains(&format!("fieldManager=n{number}\""));
        let mut event: Value = serde_json::from_str(log.lines().find(is_this).unwrap()).unwrap();
        // The generation of a template, which the kind's own rules count and not the type.
        if event["requestObject"]["kind"] == "DaemonSet" {
            event["requestObject"]["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        let theirs = without_empty_lists(&event["requestObject"]);
        let ours = match ours {
            Ok(Decoded { value, .. }) => without_empty_lists(&value),
            Err(DecodeError::Type(text)) => text.into(),
            Err(DecodeError::Syntax(error)) => panic!("{body}: {error}"),
        };
        if ours != theirs {
            let _ = write!(different, "{body}\n  ours   {ours}\n  theirs {theirs}\n");
        }
    }
    assert!(different.is_empty(), "{different}");
}

/// The log is written before storage makes empty lists and maps those that are not set.
fn without_empty_lists(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.iter().map(without_empty_lists).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), without_empty_lists(value))).collect()
        }
        other => other.clone(),
    }
}
