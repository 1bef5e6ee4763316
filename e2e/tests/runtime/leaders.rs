//! One leader at a time, handed over in order or taken over after a crash; with leases that a real server accepts.

use std::time::{Duration, Instant};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube_client::{Api, Client, clock};
use kube_core::{Patch, PatchParams, WriteParams};
use kube_e2e::Cluster;
use kube_leader::{Elector, Error, Loss, Outcome, Role, Settings, Standing, Term};
use serde_json::json;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::support::{Process, own, same, shared, soon};

/// The times of every election here, and of `slow-operator`'s. Short, for tests wait for a lease to run out.
const LEASE: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(500);

const NAME: &str = "slow-operator";

/// An elector whose work waits until it is told to end.
struct Contender {
    stop: CancellationToken,
    standing: watch::Receiver<Standing>,
    leads: oneshot::Receiver<(Term, Instant)>,
    ended: JoinHandle<Result<Outcome<Instant>, Error>>,
}

impl Contender {
    fn start(client: Client, namespace: &str, identity: &str) -> Self {
        let settings = Settings::new(namespace, NAME, identity).times(LEASE, DEADLINE, RETRY);
        let mut elector = Elector::new(client, settings).unwrap();
        let (stop, standing) = (elector.stop_token(), elector.state());
        let (tell, leads) = oneshot::channel();
        let ended = tokio::spawn(async move {
            elector
                .run(|term, stop| async move {
                    let _ = tell.send((term, clock::now()));
                    stop.cancelled().await;
                    clock::now()
                })
                .await
        });
        Self { stop, standing, leads, ended }
    }

    /// Waits until it has seen who leads.
    async fn sees(&mut self, holder: &str) {
        let seen = |standing: &Standing| standing.record.as_ref().is_some_and(|seen| seen.holder == holder);
        soon(holder, self.standing.wait_for(seen)).await.unwrap();
    }

    async fn leads(&mut self) -> (Term, Instant) {
        soon("the lead", &mut self.leads).await.unwrap()
    }

    /// Stops it, and waits until it has handed the lease back.
    async fn stop(self) {
        self.stop.cancel();
        let ended = soon("the elector to end", self.ended).await.unwrap().unwrap();
        assert!(matches!(ended, Outcome::Led { released: true, .. }), "{ended:?}");
    }
}

fn leases(cluster: &Cluster, namespace: &str) -> Api<Lease> {
    Api::namespaced(cluster.client().unwrap(), namespace)
}

async fn spec(cluster: &Cluster, namespace: &str) -> LeaseSpec {
    leases(cluster, namespace).get(NAME).await.unwrap().spec.unwrap()
}

/// Holder and how often it has changed.
async fn holder(cluster: &Cluster, namespace: &str) -> (String, i32) {
    let spec = spec(cluster, namespace).await;
    (spec.holder_identity.unwrap_or_default(), spec.lease_transitions.unwrap_or_default())
}

#[tokio::test]
async fn one_leads_until_it_hands_over_and_the_count_grows_only_with_the_holder() {
    let cluster = shared().await;
    let namespace = cluster.namespace("leaders").await.unwrap();
    let mut one = Contender::start(cluster.client().unwrap(), &namespace, "one");
    let (first, _) = one.leads().await;
    let mut two = Contender::start(cluster.client().unwrap(), &namespace, "two");
    two.sees("one").await;

    // Renewed several times over longer than a lease, and still the first term of the first holder.
    let began = spec(cluster, &namespace).await;
    let mut renewals = Vec::new();
    cluster
        .eventually("renewals for longer than a lease", async || {
            let now = spec(cluster, &namespace).await;
            renewals.extend(now.renew_time.clone());
            renewals.dedup();
            same(
                &(now.holder_identity, now.acquire_time),
                &(Some("one".into()), began.acquire_time.clone()),
            )?;
            let renewed_for = renewals.last().unwrap().0.duration_since(renewals[0].0);
            if renewed_for > LEASE.try_into().unwrap() { Ok(()) } else { Err(format!("{renewed_for}")) }
        })
        .await;
    assert!(renewals.len() >= 3, "{renewals:?}");
    assert_eq!(holder(cluster, &namespace).await, ("one".into(), 0));
    assert!(first.is_current(clock::now()));
    assert_eq!((two.standing.borrow().role, two.leads.try_recv().is_ok()), (Role::Candidate, false));

    let stopped = clock::now();
    one.stop().await;
    let (second, at) = two.leads().await;
    let took = at - stopped;
    assert!(took < LEASE, "waited for the lease to run out: {took:?}");
    assert!(!first.is_current(clock::now()));
    assert_eq!(holder(cluster, &namespace).await, ("two".into(), 1));
    assert!(second.fencing_token() > first.fencing_token());

    two.stop().await;
    assert_eq!(holder(cluster, &namespace).await, (String::new(), 1));
}

#[tokio::test]
async fn a_lease_that_somebody_made_by_hand_is_taken_at_once() {
    let cluster = shared().await;
    let namespace = cluster.namespace("empty-lease").await.unwrap();
    let metadata = ObjectMeta { name: Some(NAME.into()), ..ObjectMeta::default() };
    let empty = Lease { metadata, spec: None };
    leases(cluster, &namespace).create(&empty, &WriteParams::default()).await.unwrap();
    let mut one = Contender::start(cluster.client().unwrap(), &namespace, "one");
    one.leads().await;
    assert_eq!(holder(cluster, &namespace).await.0, "one");
    one.stop().await;
}

#[tokio::test]
async fn a_leader_that_sees_another_on_the_lease_stops() {
    let cluster = shared().await;
    let namespace = cluster.namespace("taken").await.unwrap();
    let mut one = Contender::start(cluster.client().unwrap(), &namespace, "one");
    let (term, _) = one.leads().await;
    let taken = Patch::Merge(json!({ "spec": { "holderIdentity": "other" } }));
    let at = clock::now();
    leases(cluster, &namespace).patch(NAME, &taken, &PatchParams::default()).await.unwrap();
    let ended = soon("the loss of the lead", one.ended).await.unwrap();
    let by = "other".to_owned();
    assert!(
        matches!(&ended, Err(Error::Lost { loss: Loss::Taken { by: found }, .. }) if *found == by),
        "{ended:?}"
    );
    assert!(!term.is_current(clock::now()));
    assert!(clock::now() - at < DEADLINE, "noticed at the next renewal");
    assert_eq!(holder(cluster, &namespace).await.0, "other", "not taken back");
}

#[tokio::test]
async fn a_process_that_is_killed_is_followed_when_its_lease_has_run_out() {
    let cluster = shared().await;
    let namespace = cluster.namespace("killed").await.unwrap();
    let mut process = Process::start(cluster, &namespace, "process", &[]);
    process.says(cluster, "leading", 1).await;
    let mut two = Contender::start(cluster.client().unwrap(), &namespace, "two");
    two.sees("process").await;
    process.signal("KILL");
    let killed = clock::now();
    assert_eq!(process.ended(cluster).await.code(), None);
    assert_eq!(holder(cluster, &namespace).await, ("process".into(), 0), "nobody handed it back");

    let (_, at) = two.leads().await;
    let took = at - killed;
    // The last renewal was seen at most a period (of each) before the kill; the look after the end is due a period later.
    assert!(took + 3 * RETRY > LEASE, "before the lease ran out: {took:?}");
    assert!(took < LEASE + DEADLINE, "long after it ran out: {took:?}");
    assert_eq!(holder(cluster, &namespace).await, ("two".into(), 1));
    two.stop().await;
}

#[tokio::test]
async fn a_leader_that_cannot_renew_stops_before_its_lease_has_run_out() {
    let Some(cluster) = own("a_leader_that_cannot_renew_stops_before_its_lease_has_run_out").await else {
        return;
    };
    let control = cluster.control().unwrap();
    let mut one = Contender::start(cluster.client().unwrap(), "default", "one");
    let (term, _) = one.leads().await;
    control.pause_apiserver().await;
    let paused = clock::now();
    let ended = soon("the loss of the lead", one.ended).await.unwrap();
    assert!(matches!(ended, Err(Error::Lost { loss: Loss::DeadlinePassed, .. })), "{ended:?}");
    let took = clock::now() - paused;
    assert!(!term.is_current(clock::now()));
    assert!(took < LEASE, "another may lead by now: {took:?}");

    control.resume_apiserver().await;
    let mut again = Contender::start(cluster.client().unwrap(), "default", "one-again");
    let (next, _) = again.leads().await;
    assert!(next.fencing_token() > term.fencing_token());
    again.stop().await;
}
