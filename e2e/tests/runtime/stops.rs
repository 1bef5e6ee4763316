//! How a process with a controller ends when it is told to, and when it is told twice.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube_client::{Api, clock};
use kube_core::WriteParams;
use kube_e2e::{Cluster, TestNamespace};

use crate::support::{Process, map, maps, shared};

const CONCURRENCY: usize = 3;

/// A process with more to reconcile than it does at the same time, each reconcile of this length, when it is busy.
async fn busy(cluster: &Cluster, namespace: &TestNamespace, more: &[&str]) -> Process {
    let maps = maps(&cluster.client().unwrap(), namespace);
    for index in 0..20 {
        maps.create(&map(&format!("map-{index}"), ""), &WriteParams::default()).await.unwrap();
    }
    let process = Process::start(cluster, namespace, "it", more);
    process.says(cluster, "start", CONCURRENCY).await;
    assert_eq!(lease(cluster, namespace).await.holder_identity.as_deref(), Some("it"));
    process
}

async fn lease(cluster: &Cluster, namespace: &TestNamespace) -> LeaseSpec {
    let leases = Api::<Lease>::namespaced(cluster.client().unwrap(), namespace);
    leases.get("slow-operator").await.unwrap().spec.unwrap()
}

#[tokio::test]
async fn on_sigterm_what_runs_ends_nothing_else_begins_and_the_lease_is_handed_back() {
    let cluster = shared().await;
    let namespace = cluster.namespace("sigterm").await.unwrap();
    let mut process = busy(cluster, &namespace, &["--each", "2000"]).await;

    let signalled = clock::now();
    process.signal("TERM");
    let status = process.ended(cluster).await;
    let took = clock::now() - signalled;
    assert_eq!(status.code(), Some(0), "{:?}", process.said());
    assert_eq!(process.said_of("start").len(), CONCURRENCY, "{:?}", process.said());
    assert_eq!(process.said_of("end").len(), CONCURRENCY, "{:?}", process.said());
    assert_eq!(process.said_of("released"), ["released true"]);
    // The reconciles take two seconds; the rest is for a busy machine, and well below the grace.
    assert!(took < Duration::from_secs(10), "{took:?}");
    let lease = lease(cluster, &namespace).await;
    assert_eq!((lease.holder_identity.as_deref(), lease.lease_transitions), (Some(""), Some(0)));
    assert!(lease.renew_time.is_some() && lease.lease_duration_seconds >= Some(1));
}

#[tokio::test]
async fn a_reconcile_that_does_not_end_is_cancelled_after_the_grace_and_the_lease_is_handed_back() {
    let cluster = shared().await;
    let namespace = cluster.namespace("grace").await.unwrap();
    let mut process = busy(cluster, &namespace, &["--each", "3600000", "--grace", "500"]).await;
    process.signal("INT");
    let status = process.ended(cluster).await;
    let said = process.said();
    assert_eq!(status.code(), Some(1), "{said:?}");
    assert!(said.iter().any(|line| line.contains("3 reconciles were cancelled")), "{said:?}");
    assert_eq!(
        (process.said_of("end").len(), process.said_of("released")),
        (0, vec!["released true".into()])
    );
    assert_eq!(lease(cluster, &namespace).await.holder_identity.as_deref(), Some(""));
}

#[tokio::test]
async fn a_second_signal_ends_the_process_at_once() {
    let cluster = shared().await;
    let namespace = cluster.namespace("twice").await.unwrap();
    let mut process = busy(cluster, &namespace, &["--each", "3600000"]).await;
    process.signal("TERM");
    process.says(cluster, "stopping", 1).await;
    let signalled = clock::now();
    process.signal("TERM");
    let status = process.ended(cluster).await;
    let took = clock::now() - signalled;
    assert_eq!(status.code(), Some(1), "{:?}", process.said());
    // At once: the grace is 20 s.
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(process.said_of("released").len(), 0);
}
