//! What it costs to find an object in its bytes, against decoding. The aim is 1 GB/s: 5 us for a Pod of 4.5 KB.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kube_runtime::scan::{ScanOptions, scan_batch, scan_line, scan_list, scan_object};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

/// The least that a cache needs, read by the decoder instead.
#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    metadata: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    name: &'a str,
    resource_version: &'a str,
}

fn one_pod(c: &mut Criterion) {
    let pod = pod(1).to_string();
    let line = format!("{{\"type\":\"MODIFIED\",\"object\":{pod}}}\n");
    let mut group = c.benchmark_group("pod");
    group.throughput(Throughput::Bytes(pod.len() as u64));
    group.bench_function("scan_object", |b| {
        b.iter(|| scan_object(black_box(pod.as_bytes()), ScanOptions::default()));
    });
    group.bench_function("scan_line", |b| b.iter(|| scan_line(black_box(line.as_bytes()))));
    group.bench_function("serde_json skips all of it", |b| {
        b.iter(|| serde_json::from_str::<IgnoredAny>(black_box(&pod)).is_ok());
    });
    group.bench_function("serde_json reads name and version", |b| {
        b.iter(|| {
            let header: Header = serde_json::from_str(black_box(&pod)).expect("the pod decodes");
            header.metadata.name.len() + header.metadata.resource_version.len()
        });
    });
    group.bench_function("serde_json decodes a Value", |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(&pod)));
    });
    group.finish();
}

/// In place below 128 KiB (30 Pods), on all threads above.
fn many_lines(c: &mut Criterion) {
    let mut group = c.benchmark_group("lines");
    for count in [8, 32, 64, 256] {
        let lines: Vec<_> = (0..count)
            .map(|n| format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", pod(n)).into_bytes())
            .collect();
        group.throughput(Throughput::Bytes(lines.iter().map(|line| line.len() as u64).sum()));
        group.bench_function(format!("{count} in place"), |b| {
            b.iter(|| lines.iter().map(|line| scan_line(line)).collect::<Vec<_>>());
        });
        group.bench_function(format!("{count} as a batch"), |b| b.iter(|| scan_batch(black_box(&lines))));
    }
    group.finish();
}

fn page_of_500(c: &mut Criterion) {
    let items: Vec<_> = (0..500).map(pod).collect();
    let body =
        json!({ "kind": "PodList", "metadata": { "resourceVersion": "1" }, "items": items }).to_string();
    let mut group = c.benchmark_group("page of 500");
    group.throughput(Throughput::Bytes(body.len() as u64));
    for threads in [1, rayon::current_num_threads()] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        group.bench_function(format!("{threads} threads"), |b| {
            b.iter(|| pool.install(|| scan_list(black_box(body.as_bytes()))));
        });
    }
    group.finish();
}

/// A Pod of a Deployment as a server with one kubelet gives it: 4.5 KB, a quarter of it managed fields.
fn pod(n: u32) -> Value {
    let tolerations = ["not-ready", "unreachable"].map(|taint| {
        let key = format!("node.kubernetes.io/{taint}");
        json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 })
    });
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(|kind| {
        let since = "2026-01-05T10:11:12Z";
        json!({ "type": kind, "status": "True", "observedGeneration": 1, "lastProbeTime": null, "lastTransitionTime": since })
    });
    json!({
        "metadata": metadata(n),
        "spec": {
            "volumes": [{ "name": "kube-api-access-x7x2l", "projected": { "defaultMode": 420, "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                { "downwardAPI": { "items": [{ "path": "namespace",
                    "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } }] } },
            ] } }],
            "containers": [{
                "name": "web", "image": "images.example.dev/shop/web:1.27.3", "imagePullPolicy": "IfNotPresent",
                "ports": [{ "containerPort": 8080, "protocol": "TCP" }],
                "env": [{ "name": "MODE", "value": "production" }, { "name": "LOG", "value": "info,web=debug" }],
                "resources": {
                    "limits": { "cpu": "500m", "memory": "256Mi" }, "requests": { "cpu": "100m", "memory": "128Mi" },
                },
                "volumeMounts": [{ "name": "kube-api-access-x7x2l", "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount" }],
                "readinessProbe": { "httpGet": { "path": "/readyz", "port": 8080, "scheme": "HTTP" },
                    "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3 },
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default", "serviceAccount": "default", "nodeName": format!("node-{}", n % 40),
            "securityContext": {}, "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": tolerations,
        },
        "status": {
            "phase": "Running", "qosClass": "Burstable", "startTime": "2026-01-05T10:11:10Z",
            "conditions": conditions,
            "hostIP": "10.0.0.17", "hostIPs": [{ "ip": "10.0.0.17" }],
            "podIP": "10.244.3.9", "podIPs": [{ "ip": "10.244.3.9" }],
            "containerStatuses": [{
                "name": "web", "ready": true, "started": true, "restartCount": 0, "lastState": {},
                "state": { "running": { "startedAt": "2026-01-05T10:11:12Z" } },
                "image": "images.example.dev/shop/web:1.27.3",
                "imageID": format!("images.example.dev/shop/web@sha256:{}", "0f1e2d3c4b5a6978".repeat(4)),
                "containerID": format!("containerd://{}", "a0b1c2d3e4f5a6b7".repeat(4)),
            }],
        },
    })
}

fn metadata(n: u32) -> Value {
    json!({
        "name": format!("web-5d8f7c9b6d-{n:05}"), "generateName": "web-5d8f7c9b6d-", "namespace": "shop",
        "uid": format!("9b1f6a1f-0c5c-4a5b-9b1f-{n:012}"), "resourceVersion": (1_000_000 + n).to_string(),
        "generation": 1, "creationTimestamp": "2026-01-05T10:11:10Z",
        "labels": { "app": "web", "pod-template-hash": "5d8f7c9b6d", "tier": "front" },
        "annotations": {
            "kubernetes.io/config.seen": "2026-01-05T10:11:10.123456789Z",
            "example.dev/note": json!({ "a": 1, "b": ["x", "y"] }).to_string(),
        },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8f7c9b6d", "controller": true,
            "uid": "6f1c6f7e-3d6f-4a5b-9b1f-6a1f0c5c7a11", "blockOwnerDeletion": true,
        }],
        "managedFields": [{
            "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-05T10:11:10Z", "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {
                    "f:annotations": { ".": {}, "f:kubernetes.io/config.seen": {} }, "f:generateName": {},
                    "f:labels": { ".": {}, "f:app": {}, "f:pod-template-hash": {}, "f:tier": {} },
                    "f:ownerReferences": { ".": {}, "k:{\"uid\":\"6f1c6f7e-3d6f-4a5b-9b1f-6a1f0c5c7a11\"}": {} },
                },
                "f:spec": {
                    "f:containers": { "k:{\"name\":\"web\"}": {
                        ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:terminationMessagePath": {},
                        "f:env": { ".": {}, "k:{\"name\":\"MODE\"}": { ".": {}, "f:name": {}, "f:value": {} } },
                        "f:ports": { ".": {}, "k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":
                            { ".": {}, "f:containerPort": {}, "f:protocol": {} } },
                        "f:resources": { ".": {}, "f:limits": { ".": {}, "f:cpu": {}, "f:memory": {} } },
                    } },
                    "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                },
            },
        }],
    })
}

criterion_group!(benches, one_pod, many_lines, page_of_500);
criterion_main!(benches);
