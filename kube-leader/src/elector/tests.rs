//! The driver against a fake server, on tokio's paused clock: what only the loop around the election can get wrong.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use kube_client::Body;
use kube_core::http::{Method, Request, Response};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

use super::*;
use crate::{Fault, Loss};

/// How the fake server behaves towards writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Well,
    RefuseWrites,
    NeverAnswer,
}

/// One Lease behind a service, as strict about its fields as the real server.
#[derive(Clone)]
struct Server(Arc<Mutex<Stored>>);

struct Stored {
    lease: Option<Value>,
    version: u64,
    mood: Mood,
    /// Method and holder of each write that was accepted.
    writes: Vec<(Method, String)>,
}

impl Server {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Stored { lease: None, version: 0, mood: Mood::Well, writes: Vec::new() })))
    }

    fn holding(lease: Value) -> Self {
        let server = Self::new();
        server.store(lease);
        server
    }

    fn with<T>(&self, act: impl FnOnce(&mut Stored) -> T) -> T {
        act(&mut self.0.lock().expect("no test panics while it holds this"))
    }

    fn store(&self, lease: Value) {
        self.with(|stored| stored.store(lease));
    }

    fn mood(&self, mood: Mood) {
        self.with(|stored| stored.mood = mood);
    }

    fn spec(&self) -> Value {
        self.with(|stored| stored.lease.as_ref().map_or(Value::Null, |lease| lease["spec"].clone()))
    }

    fn holder(&self) -> String {
        self.spec()["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                sleep(Duration::from_millis(1)).await;
                if server.with(|stored| stored.mood) == Mood::NeverAnswer {
                    return pending().await;
                }
                let method = request.method().clone();
                let path = request.uri().path().to_owned();
                let body = request.into_body().bytes().await?;
                let (code, answer) = server.with(|stored| stored.answer(&method, &path, &body));
                let response = Response::builder().status(code).body(Body::from(answer.to_string()));
                Ok::<_, kube_client::BoxError>(response?)
            }
        });
        Client::new(service, "default")
    }

    fn elector(&self, identity: &str) -> Elector {
        Elector::new(self.client(), Settings::new("shop", "web", identity)).expect("the default times")
    }
}

impl Stored {
    fn store(&mut self, mut lease: Value) {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease);
    }

    fn answer(&mut self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        let leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";
        assert_eq!(path.strip_suffix("/web").unwrap_or(path), leases);
        let refusal =
            |code: u16, reason: &str| (code, json!({"kind": "Status", "code": code, "reason": reason}));
        if *method == Method::GET {
            return self.lease.clone().map_or_else(|| refusal(404, "NotFound"), |lease| (200, lease));
        }
        if self.mood == Mood::RefuseWrites {
            return refusal(500, "InternalError");
        }
        let mut lease: Value = serde_json::from_slice(body).expect("JSON");
        let version = self.lease.as_ref().map(|lease| lease["metadata"]["resourceVersion"].clone());
        match (method.as_str(), version) {
            ("POST", Some(_)) => return refusal(409, "AlreadyExists"),
            ("PUT", None) => return refusal(404, "NotFound"),
            ("PUT", Some(version)) if lease["metadata"]["resourceVersion"] != version => {
                return refusal(409, "Conflict");
            }
            _ => {}
        }
        let six_digits = |time: &Value| {
            let text = time.as_str().unwrap_or_default();
            text.len() == "2026-03-01T12:00:00.000000Z".len() && text.ends_with('Z')
        };
        let spec = &lease["spec"];
        if !six_digits(&spec["acquireTime"]) || !six_digits(&spec["renewTime"]) {
            return refusal(400, "BadRequest");
        }
        if spec["leaseDurationSeconds"].as_u64().is_none_or(|seconds| seconds < 1) {
            return refusal(422, "Invalid");
        }
        if *method == Method::POST {
            // As an admission webhook may.
            lease["metadata"]["labels"] = json!({"cost-centre": "7"});
        }
        let spec = &lease["spec"];
        self.writes.push((method.clone(), spec["holderIdentity"].as_str().unwrap_or_default().to_owned()));
        self.store(lease);
        (200, self.lease.clone().expect("stored just above"))
    }
}

fn held_by(holder: &str, seconds: u64) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": 4},
    })
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Work that notes when it begins, when it is told to end, and that it has ended.
#[derive(Clone, Default)]
struct Work {
    begun: Arc<AtomicBool>,
    told: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    term: Arc<Mutex<Option<Term>>>,
}

impl Work {
    async fn until_told(self, term: Term, stop: CancellationToken) -> &'static str {
        *self.term.lock().expect("not poisoned") = Some(term);
        self.begun.store(true, SeqCst);
        stop.cancelled().await;
        self.told.store(true, SeqCst);
        sleep(Duration::from_millis(300)).await;
        self.ended.store(true, SeqCst);
        "done"
    }

    fn term(&self) -> Term {
        self.term.lock().expect("not poisoned").clone().expect("it has begun")
    }
}

type Running = JoinHandle<Result<Outcome<&'static str>, Error>>;

/// Runs an elector whose work goes on until it is told to end.
fn start(mut elector: Elector) -> (Running, Work, CancellationToken) {
    let (work, stop) = (Work::default(), elector.stop_token());
    let own = work.clone();
    let running = tokio::spawn(async move { elector.run(|term, stop| own.until_told(term, stop)).await });
    (running, work, stop)
}

fn lost(loss: Loss) -> Error {
    Error::Lost { namespace: "shop".into(), name: "web".into(), loss }
}

#[tokio::test(start_paused = true)]
async fn work_begins_once_the_lease_is_written_and_its_end_hands_the_lease_back() {
    let server = Server::new();
    let seen = server.clone();
    let outcome = server
        .elector("a")
        .run(|term, _| async move {
            assert_eq!(seen.holder(), "a");
            assert!(term.is_current(clock::now()));
            sleep(seconds(60)).await;
            assert!(term.is_current(clock::now()), "renewed all the time");
            term.fencing_token()
        })
        .await;
    assert_eq!(outcome, Ok(Outcome::Led { output: 0, released: true }));
    let spec = server.spec();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    let labels = server.with(|stored| stored.lease.as_ref().map(|lease| lease["metadata"]["labels"].clone()));
    assert_eq!(
        labels,
        Some(json!({"cost-centre": "7"})),
        "kept, though the server added it to our own write"
    );
    let writes = server.with(|stored| stored.writes.clone());
    assert_eq!(writes.first(), Some(&(Method::POST, "a".to_owned())));
    assert!((29..=33).contains(&writes.len()), "a renewal each 2 s: {}", writes.len());
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_work_before_the_lease_is_handed_back() {
    let server = Server::new();
    let (running, work, stop) = start(server.elector("a"));
    sleep(seconds(5)).await;
    assert!(work.begun.load(SeqCst) && !work.told.load(SeqCst));
    stop.cancel();
    sleep(Duration::from_millis(200)).await;
    assert!(work.told.load(SeqCst) && !work.ended.load(SeqCst));
    assert_eq!(server.holder(), "a", "not while the work runs");
    assert!(work.term().is_current(clock::now()));
    let outcome = running.await.expect("no panic");
    assert_eq!(outcome, Ok(Outcome::Led { output: "done", released: true }));
    assert!(work.ended.load(SeqCst) && !work.term().is_current(clock::now()));
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_stopped_never_leads() {
    let server = Server::holding(held_by("other", 3_600));
    let (running, work, stop) = start(server.elector("a"));
    sleep(seconds(60)).await;
    stop.cancel();
    assert_eq!(running.await.expect("no panic"), Ok(Outcome::NeverLed));
    assert!(!work.begun.load(SeqCst));
    assert_eq!(server.holder(), "other");
}

#[tokio::test(start_paused = true)]
async fn writes_that_fail_or_hang_cost_the_lead_within_the_renew_deadline() {
    for mood in [Mood::RefuseWrites, Mood::NeverAnswer] {
        let server = Server::new();
        let (running, work, _stop) = start(server.elector("a"));
        sleep(Duration::from_millis(10)).await;
        assert!(work.begun.load(SeqCst));
        server.mood(mood);
        sleep(Duration::from_millis(9_900)).await;
        assert!(work.term().is_current(clock::now()) && !work.told.load(SeqCst));
        sleep(Duration::from_millis(100)).await;
        assert!(!work.term().is_current(clock::now()) && work.told.load(SeqCst));
        assert_eq!(running.await.expect("no panic"), Err(lost(Loss::DeadlinePassed)));
        assert!(work.ended.load(SeqCst), "joined");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stolen_lease_is_noticed_at_the_next_renewal() {
    let server = Server::new();
    let (running, work, _stop) = start(server.elector("a"));
    sleep(seconds(1)).await;
    server.store(held_by("thief", 15));
    sleep(Duration::from_millis(1_100)).await;
    assert!(work.told.load(SeqCst) && !work.term().is_current(clock::now()));
    assert_eq!(running.await.expect("no panic"), Err(lost(Loss::Taken { by: "thief".into() })));
    assert_eq!(server.holder(), "thief");
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_listen_is_aborted_when_the_lease_is_over() {
    let server = Server::new();
    let (mut elector, began) = (server.elector("a"), clock::now());
    let breaking = server.clone();
    let outcome = elector
        .run(move |_, _| async move {
            breaking.mood(Mood::RefuseWrites);
            pending::<()>().await;
        })
        .await;
    assert_eq!(outcome, Err(lost(Loss::DeadlinePassed)));
    let took = clock::now() - began;
    assert!((seconds(15)..Duration::from_millis(15_100)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_is_an_error_and_the_lease_is_handed_back() {
    let server = Server::new();
    let fail = std::hint::black_box(true);
    let (mut one, mut other) = (server.elector("a"), server.elector("b"));
    let before = one.run(move |_, _| {
        assert!(!fail, "no work {}", 7);
        pending::<()>()
    });
    assert_eq!(before.await, Err(Error::WorkPanicked { message: "no work 7".into() }));
    assert_eq!(server.holder(), "");
    let within = other.run(move |_, _| async move {
        sleep(seconds(3)).await;
        assert!(!fail, "broken");
    });
    assert_eq!(within.await, Err(Error::WorkPanicked { message: "broken".into() }));
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_successor_leads_within_one_retry_and_never_beside_its_predecessor() {
    let server = Server::new();
    let (first, first_work, stop) = start(server.elector("a"));
    sleep(seconds(1)).await;
    let (second, second_work, stop_second) = start(server.elector("b"));
    sleep(seconds(60)).await;
    assert!(first_work.begun.load(SeqCst) && !second_work.begun.load(SeqCst));
    stop.cancel();
    first.await.expect("no panic").expect("released");
    assert!(!second_work.begun.load(SeqCst));
    sleep(Duration::from_millis(2_450)).await;
    assert!(second_work.begun.load(SeqCst));
    assert_eq!((first_work.term().fencing_token(), second_work.term().fencing_token()), (0, 1));
    stop_second.cancel();
    second.await.expect("no panic").expect("released");
}

#[tokio::test(start_paused = true)]
async fn what_the_record_does_not_hold_is_kept_and_bad_times_do_not_matter() {
    let mut lease = held_by("gone", 3);
    lease["metadata"]["labels"] = json!({"team": "x"});
    lease["spec"]["preferredHolder"] = json!("b");
    lease["spec"]["renewTime"] = json!("not a time");
    lease["spec"]["later"] = json!({"deep": [1, 2]});
    let server = Server::holding(lease);
    let (running, work, stop) = start(server.elector("a"));
    sleep(seconds(8)).await;
    assert_eq!(work.term().fencing_token(), 5);
    stop.cancel();
    running.await.expect("no panic").expect("released");
    let lease = server.with(|stored| stored.lease.clone()).expect("kept");
    assert_eq!(lease["metadata"]["labels"], json!({"team": "x"}));
    assert_eq!(lease["spec"]["preferredHolder"], "b");
    assert_eq!(lease["spec"]["later"], json!({"deep": [1, 2]}));
}

#[tokio::test(start_paused = true)]
async fn the_state_tells_who_leads_what_this_replica_is_and_what_fails() {
    let server = Server::holding(held_by("other", 3));
    let elector = server.elector("a");
    let state = elector.state();
    assert_eq!(state.borrow().role, Role::Outside);
    server.mood(Mood::RefuseWrites);
    let (running, _work, stop) = start(elector);
    let now = || {
        let standing = state.borrow().clone();
        let holder = standing.record.map(|record| record.holder).unwrap_or_default();
        (standing.role, holder, standing.term.map(|term| term.fencing_token()), standing.fault)
    };
    sleep(seconds(1)).await;
    assert_eq!(now(), (Role::Candidate, "other".into(), None, None));
    sleep(Duration::from_millis(2_100)).await;
    assert_eq!(now(), (Role::Candidate, "other".into(), None, Some(Fault::Refused { code: 500 })));
    server.mood(Mood::Well);
    sleep(seconds(3)).await;
    assert_eq!(now(), (Role::Leader, "a".into(), Some(5), None));
    stop.cancel();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(now(), (Role::Leaving, "a".into(), Some(5), None));
    running.await.expect("no panic").expect("released");
    assert_eq!(now(), (Role::Outside, String::new(), None, None));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_neither_work_nor_a_term() {
    let server = Server::new();
    let elector = server.elector("a");
    let state = elector.state();
    let (running, work, _stop) = start(elector);
    sleep(seconds(1)).await;
    assert!(work.term().is_current(clock::now()));
    running.abort();
    sleep(seconds(1)).await;
    assert!(!work.term().is_current(clock::now()) && !work.ended.load(SeqCst));
    assert_eq!(state.borrow().role, Role::Outside);
    assert_eq!(server.holder(), "a", "it runs out by itself");
}

#[tokio::test(start_paused = true)]
async fn an_elector_that_lost_can_be_run_again_in_a_later_term() {
    let server = Server::new();
    let mut elector = server.elector("a");
    let runs = Arc::new(AtomicU32::new(0));
    let mut tokens = Vec::new();
    while runs.load(SeqCst) < 2 {
        let (own, breaking) = (runs.clone(), server.clone());
        let outcome = elector
            .run(move |term, stop| async move {
                if own.fetch_add(1, SeqCst) == 0 {
                    breaking.mood(Mood::RefuseWrites);
                    stop.cancelled().await;
                }
                term.fencing_token()
            })
            .await;
        server.mood(Mood::Well);
        match outcome {
            Ok(Outcome::Led { output, .. }) => tokens.push(output),
            other => assert!(other.is_err_and(|error| error.is_lost())),
        }
    }
    assert_eq!(tokens, [1]);
}

#[tokio::test]
async fn settings_that_cannot_be_kept_are_refused_at_the_start() {
    let settings = Settings::new("shop", "web", "a").times(seconds(10), seconds(10), seconds(2));
    let refused =
        Elector::new(Server::new().client(), settings).expect_err("no room between deadline and lease");
    assert!(matches!(refused, Error::Settings(_)));
    let source = std::error::Error::source(&refused).expect("what to change").to_string();
    assert!(source.contains("make the deadline shorter or the lease longer"), "{source}");
}
