//! What the server sets in an object where it depends on other fields of the object, or on what the object is part of.
//!
//! In: the name of a type, and the fields of an object that has what the table of facts sets. Out: the rest is set.
//! One function for each type that has such a rule. The rules are those of the API reference, where each of these fields tells
//! its default; what is the same for every object is a fact in the table instead.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Sets what depends on others. `unset` tells what is made of a field that nobody has set.
pub(super) fn set(type_name: &str, fields: &mut Fields, unset: impl Fn(&str) -> Value) {
    match type_name {
        "apps.v1.DaemonSetUpdateStrategy"
        | "apps.v1.DeploymentStrategy"
        | "apps.v1.StatefulSetUpdateStrategy"
            if fields.get("type").is_some_and(|of| of == "RollingUpdate") =>
        {
            fields.entry("rollingUpdate").or_insert_with(|| unset("rollingUpdate"));
        }
        "apps.v1.StatefulSetSpec" => {
            let policy = "persistentVolumeClaimRetentionPolicy";
            fields.entry(policy).or_insert_with(|| unset(policy));
            for claim in
                fields.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten()
            {
                (claim["apiVersion"], claim["kind"]) = ("v1".into(), "PersistentVolumeClaim".into());
            }
        }
        "batch.v1.Job" => set_job(fields),
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            set_pull_policy(fields, "image", "imagePullPolicy");
        }
        "core.v1.ImageVolumeSource" => set_pull_policy(fields, "reference", "pullPolicy"),
        "core.v1.Namespace" => label_namespace(fields),
        "core.v1.NodeStatus" => {
            if let Some(capacity) = fields.get("capacity").cloned() {
                fields.entry("allocatable").or_insert(capacity);
            }
        }
        "core.v1.PersistentVolume" => {
            if let Some(Value::Object(spec)) = fields.get_mut("spec") {
                spec.entry("persistentVolumeReclaimPolicy").or_insert_with(|| "Retain".into());
                spec.entry("volumeMode").or_insert_with(|| "Filesystem".into());
            }
        }
        "core.v1.Pod" => {
            if let Some(Value::Object(spec)) = fields.get_mut("spec") {
                spec.entry("enableServiceLinks").or_insert(true.into());
                request_limits(spec);
            }
        }
        "core.v1.PodSpec" => mirror(fields, "serviceAccountName", "serviceAccount"),
        "core.v1.Secret" => encode_strings(fields),
        "core.v1.ServicePort" => {
            if let Some(port) = fields.get("port").cloned()
                && fields.get("targetPort").is_none_or(|target| *target == 0 || *target == "")
            {
                fields.insert("targetPort".into(), port);
            }
        }
        "core.v1.ServiceSpec" => set_service(fields),
        "core.v1.Volume" if fields.keys().all(|name| name == "name") => {
            fields.insert("emptyDir".into(), unset("emptyDir"));
        }
        "networking.v1.NetworkPolicySpec" => {
            let types =
                if fields.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            fields.entry("policyTypes").or_insert(types);
        }
        "rbac.v1.Subject" => {
            if let Some("User" | "Group") = fields.get("kind").and_then(Value::as_str) {
                fields.entry("apiGroup").or_insert_with(|| "rbac.authorization.k8s.io".into());
            }
        }
        _ => {}
    }
}

/// Images that may change are pulled again.
fn set_pull_policy(fields: &mut Fields, image: &str, policy: &str) {
    let image = fields.get(image).and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let changes = !image.is_empty()
        && !name.contains('@')
        && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    let value = if changes { "Always" } else { "IfNotPresent" };
    fields.entry(policy).or_insert_with(|| value.into());
}

/// A namespace can be selected by its name.
fn label_namespace(fields: &mut Fields) {
    let Some(Value::Object(metadata)) = fields.get_mut("metadata") else { return };
    let Some(name) = metadata.get("name").cloned() else { return };
    if let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| json!({})) {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
}

/// A container asks for what it is limited to.
fn request_limits(spec: &mut Fields) {
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(Value::Object(resources)) = container.get_mut("resources") else { continue };
            let Some(Value::Object(limits)) = resources.get("limits").cloned() else { continue };
            if let Value::Object(requests) = resources.entry("requests").or_insert_with(|| json!({})) {
                for (name, amount) in limits {
                    requests.entry(name).or_insert(amount);
                }
            }
        }
    }
}

/// Two fields of the same meaning; the first counts.
fn mirror(fields: &mut Fields, name: &str, old_name: &str) {
    if let Some(value) = fields.get(name).or_else(|| fields.get(old_name)).cloned() {
        fields.insert(name.into(), value.clone());
        fields.insert(old_name.into(), value);
    }
}

/// Strings are a way to write data, and never read.
fn encode_strings(fields: &mut Fields) {
    let Some(Value::Object(strings)) = fields.remove("stringData") else { return };
    if let Value::Object(data) = fields.entry("data").or_insert_with(|| json!({})) {
        let encoded =
            |(key, text): (String, Value)| (key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
        data.extend(strings.into_iter().map(encoded));
    }
}

/// Only of jobs: those that a cron job will make are left as they are.
fn set_job(fields: &mut Fields) {
    let Some(Value::Object(spec)) = fields.get_mut("spec") else { return };
    let replacement = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    if !spec.contains_key("parallelism") {
        spec.entry("completions").or_insert_with(|| 1.into());
    }
    for (name, value) in [
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("manualSelector", json!(false)),
        ("parallelism", json!(1)),
        ("podReplacementPolicy", json!(replacement)),
        ("suspend", json!(false)),
    ] {
        spec.entry(name).or_insert(value);
    }
}

fn set_service(fields: &mut Fields) {
    let service_type = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if service_type != "ExternalName" {
        fields.entry("internalTrafficPolicy").or_insert_with(|| "Cluster".into());
    }
    if matches!(&*service_type, "NodePort" | "LoadBalancer") {
        fields.entry("externalTrafficPolicy").or_insert_with(|| "Cluster".into());
    }
    if service_type == "LoadBalancer" {
        fields.entry("allocateLoadBalancerNodePorts").or_insert(true.into());
    }
    if fields.get("sessionAffinity").is_some_and(|affinity| affinity == "ClientIP") {
        fields
            .entry("sessionAffinityConfig")
            .or_insert_with(|| json!({"clientIP": {"timeoutSeconds": 10_800}}));
    }
}
