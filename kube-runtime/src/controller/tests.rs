//! A whole controller against a scripted server, on a paused clock.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Instant,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_core::ResourceExt;
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinHandle};

use super::*;
use crate::testing::{Reply, Server, config_map};

const MAPS: &str = "/api/v1/configmaps";
const SECRETS: &str = "/api/v1/secrets";

/// A controller under test: what it runs, and the means to steer it.
struct Rig {
    /// `name attempt` of each run, in order of their starts.
    runs: Arc<Mutex<Vec<String>>>,
    /// Runs that are under way, and the most there were at once, by name.
    at_once: Arc<Mutex<BTreeMap<String, (usize, usize)>>>,
    /// A run needs one to end.
    permits: Arc<Semaphore>,
    stop: CancellationToken,
    controller: JoinHandle<Result<(), ControllerError>>,
}

impl Rig {
    /// Starts a controller of ConfigMaps that own Secrets. A map named `bad...` panics.
    fn start(server: &Server, permits: usize) -> Self {
        let (runs, at_once) =
            (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<BTreeMap<String, (usize, usize)>>>::default());
        let permits = Arc::new(Semaphore::new(permits));
        let stop = CancellationToken::new();
        let reconcile = {
            let (runs, at_once, permits) = (runs.clone(), at_once.clone(), permits.clone());
            move |map: Arc<ConfigMap>, context: Context| {
                let (runs, at_once, permits) = (runs.clone(), at_once.clone(), permits.clone());
                async move {
                    let name = map.name().to_owned();
                    runs.lock().unwrap().push(format!("{name} {}", context.attempt));
                    {
                        let mut at_once = at_once.lock().unwrap();
                        let (now, most) = at_once.entry(name.clone()).or_default();
                        *now += 1;
                        *most = (*most).max(*now);
                    }
                    permits.acquire().await.expect("open").forget();
                    at_once.lock().unwrap().get_mut(&name).expect("entered").0 -= 1;
                    assert!(!name.starts_with("bad"), "a bad one");
                    match map.annotations().get("answer").map(String::as_str) {
                        Some("requeue") => Ok(Action::RequeueAfter(Duration::from_mins(10))),
                        Some("fail") => Err("told to fail"),
                        _ => Ok(Action::AwaitChange),
                    }
                }
            }
        };
        let caches = Caches::new(server.client());
        let token = stop.clone();
        let controller = tokio::spawn(async move {
            Controller::new(Query::<ConfigMap>::all())
                .owns(Query::<Secret>::all())
                .run(&caches, reconcile, token)
                .await
        });
        Self { runs, at_once, permits, stop, controller }
    }

    fn runs(&self) -> Vec<String> {
        self.runs.lock().unwrap().clone()
    }

    /// Lets everything that can happen now happen. Under a paused clock this sleeps for no time at all.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    async fn stopped(self) -> Result<(), ControllerError> {
        self.stop.cancel();
        self.controller.await.expect("the controller does not panic")
    }
}

fn server(maps: &[&str]) -> Server {
    let server = Server::default();
    let maps: Vec<_> = maps.iter().map(|name| config_map(name, "1", &json!({}))).collect();
    server.list(MAPS, "10", &maps);
    server.list(SECRETS, "10", &[]);
    server
}

fn owned_by(name: &str) -> serde_json::Value {
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "u", "controller": true });
    json!({ "ownerReferences": [owner] })
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_every_source_has_its_first_list() {
    let server = server(&["a", "b"]);
    server.reply(SECRETS, Reply::Silence);
    let rig = Rig::start(&server, 100);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(rig.runs().is_empty());
    server.list(SECRETS, "10", &[]);
    rig.settle().await;
    let mut runs = rig.runs();
    runs.sort();
    assert_eq!(runs, ["a 1", "b 1"]);
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_absent_or_forbidden_is_waited_for_and_recovers() {
    for refusal in [Reply::Answer(404, "404 page not found\n".into()), Reply::Answer(403, String::new())] {
        let server = server(&["a"]);
        server.reply(SECRETS, refusal);
        let rig = Rig::start(&server, 100);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(rig.runs().is_empty());
        let asked = server.log().iter().filter(|request| request.contains(SECRETS)).count();
        assert!((3..=12).contains(&asked), "{asked} requests in a minute");
        server.list(SECRETS, "10", &[]);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(rig.runs(), ["a 1"]);
        rig.stopped().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn any_number_of_triggers_during_a_run_make_one_more() {
    let server = server(&["a"]);
    let rig = Rig::start(&server, 0);
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1"]);
    for i in 0..100 {
        server.event(SECRETS, "ADDED", &config_map(&format!("s{i}"), "11", &owned_by("a"))).await;
    }
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1"], "never twice at once");
    rig.permits.add_permits(100);
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1", "a 1"]);
    assert_eq!(rig.at_once.lock().unwrap()["a"], (0, 1));
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deleted_child_concerns_its_owner_and_a_deleted_primary_nobody() {
    let server = server(&["a", "b"]);
    server.list(SECRETS, "10", &[config_map("s", "1", &owned_by("a"))]);
    let rig = Rig::start(&server, 100);
    rig.settle().await;
    rig.runs.lock().unwrap().clear();
    server.event(SECRETS, "DELETED", &config_map("s", "11", &owned_by("a"))).await;
    server.event(MAPS, "DELETED", &config_map("b", "12", &json!({}))).await;
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1"]);
    server.event(SECRETS, "ADDED", &config_map("t", "13", &owned_by("b"))).await;
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1"], "an owner that is not there is nothing to reconcile");
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_of_that_object_alone() {
    let names: Vec<String> = (0..20).map(|i| format!("good{i}")).chain(["bad".into()]).collect();
    let server = server(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let rig = Rig::start(&server, 1000);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let runs = rig.runs();
    assert_eq!(runs.iter().filter(|run| run.starts_with("good")).count(), 20);
    let attempts: Vec<_> = runs.iter().filter_map(|run| run.strip_prefix("bad ")).collect();
    assert_eq!(attempts[..3], ["1", "2", "3"]);
    assert!(attempts.len() < 10, "with growing gaps");
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_is_left_out_until_it_does() {
    let mut odd = config_map("odd", "5", &json!({}));
    odd["data"] = json!({ "k": 7 });
    let server = server(&[]);
    server.list(MAPS, "10", &[odd, config_map("a", "1", &json!({}))]);
    let rig = Rig::start(&server, 100);
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1"]);
    server.event(MAPS, "MODIFIED", &config_map("odd", "11", &json!({}))).await;
    rig.settle().await;
    assert_eq!(rig.runs(), ["a 1", "odd 1"]);
    assert_eq!(server.log().iter().filter(|request| request.contains("WATCH /api/v1/configmaps")).count(), 1);
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requeue_and_failure_come_back_in_their_time() {
    let server = server(&[]);
    let map = |name, answer| config_map(name, "1", &json!({ "annotations": { "answer": answer } }));
    server.list(MAPS, "10", &[map("later", "requeue"), map("broken", "fail")]);
    let rig = Rig::start(&server, 1000);
    tokio::time::sleep(Duration::from_mins(5)).await;
    let later = |runs: &[String]| runs.iter().filter(|run| run.starts_with("later")).count();
    assert_eq!(later(&rig.runs()), 1);
    assert!(rig.runs().contains(&"broken 3".to_owned()));
    tokio::time::sleep(Duration::from_mins(6)).await;
    assert_eq!(later(&rig.runs()), 2);
    rig.stopped().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_running_reconciles_end_and_starts_none() {
    let names: Vec<String> = (0..50).map(|i| format!("m{i}")).collect();
    let server = server(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let rig = Rig::start(&server, 0);
    rig.settle().await;
    assert_eq!(rig.runs().len(), 16, "the default bound");
    let (permits, runs) = (rig.permits.clone(), rig.runs.clone());
    rig.stop.cancel();
    rig.settle().await;
    assert!(!rig.controller.is_finished());
    permits.add_permits(100);
    rig.stopped().await.unwrap();
    assert_eq!(runs.lock().unwrap().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_does_not_end_is_cancelled_when_the_grace_is_over() {
    let server = server(&["a"]);
    let rig = Rig::start(&server, 0);
    rig.settle().await;
    let before = clock::now();
    let result = rig.stopped().await;
    assert_eq!(result, Err(ControllerError::Cancelled { running: 1, grace: GRACE }));
    assert!(clock::now() - before >= GRACE);
}

#[tokio::test(start_paused = true)]
async fn the_last_user_of_a_watch_closes_it() {
    let server = server(&["a"]);
    let caches = Caches::new(server.client());
    let store = caches.store(&Query::<ConfigMap>::all(), Keep::Bytes);
    let again = caches.store(&Query::<ConfigMap>::all(), Keep::Bytes);
    store.synced().await;
    assert_eq!(again.len(), 1);
    server.asked(2).await;
    assert_eq!(server.log(), [format!("LIST {MAPS}"), format!("WATCH {MAPS} 10")]);
    drop(store);
    server.event(MAPS, "ADDED", &config_map("b", "11", &json!({}))).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(again.len(), 2);
    drop(again);
    tokio::time::timeout(Duration::from_secs(1), caches.closed()).await.expect("no task is left");
}

#[tokio::test(start_paused = true)]
async fn changes_are_seen_however_busy_the_reconciles_are() {
    let names: Vec<String> = (0..600).map(|i| format!("m{i}")).collect();
    let server = server(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (stop, late) = (CancellationToken::new(), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let (token, seen, caches) = (stop.clone(), late.clone(), Caches::new(server.client()));
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        seen.fetch_or(map.name() == "late", std::sync::atomic::Ordering::SeqCst);
        async { Ok::<_, std::convert::Infallible>(Action::RequeueAfter(Duration::ZERO)) }
    };
    let controller = tokio::spawn(async move {
        Controller::new(Query::<ConfigMap>::all()).concurrency(0).run(&caches, reconcile, token).await
    });
    server.event(MAPS, "ADDED", &config_map("late", "11", &json!({}))).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert!(late.load(std::sync::atomic::Ordering::SeqCst));
    stop.cancel();
    controller.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn any_grace_can_be_set() {
    let server = server(&[]);
    let (stop, caches) = (CancellationToken::new(), Caches::new(server.client()));
    stop.cancel();
    let reconcile =
        async |_: Arc<ConfigMap>, _: Context| Ok::<_, std::convert::Infallible>(Action::AwaitChange);
    let controller = Controller::new(Query::<ConfigMap>::all()).grace(Duration::MAX);
    controller.run(&caches, reconcile, stop).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failure_waits_as_long_as_the_server_asks() {
    let server = server(&["a"]);
    let (stop, caches) = (CancellationToken::new(), Caches::new(server.client()));
    let runs = Arc::<Mutex<Vec<Instant>>>::default();
    let (token, seen) = (stop.clone(), runs.clone());
    let reconcile = move |_: Arc<ConfigMap>, _: Context| {
        seen.lock().unwrap().push(clock::now());
        let details = kube_core::StatusDetails { retry_after_seconds: Some(30), ..Default::default() };
        let status = kube_core::Status { code: 429, details: Some(details), ..Default::default() };
        let busy = kube_client::ApiError::new(http::Method::GET, "/x", status);
        // However deep the refusal is in what the reconciler makes of it.
        async {
            Err::<Action, _>(crate::finalizer::FinalizerError::<std::convert::Infallible>::Add(busy.into()))
        }
    };
    let controller = tokio::spawn(async move {
        Controller::new(Query::<ConfigMap>::all()).run(&caches, reconcile, token).await
    });
    tokio::time::sleep(Duration::from_mins(5)).await;
    let runs = runs.lock().unwrap().clone();
    let gaps: Vec<_> = runs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((5..=10).contains(&gaps.len()) && gaps.iter().all(|gap| gap.as_secs() >= 30), "{gaps:?}");
    stop.cancel();
    controller.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_works_again_has_no_problem_also_when_nothing_happens() {
    let server = server(&["a"]);
    let caches = Caches::new(server.client());
    let store = caches.store(&Query::<ConfigMap>::all(), Keep::Bytes);
    let mut health = store.health();
    store.synced().await;
    let refused = json!({ "kind": "Status", "code": 403, "reason": "Forbidden" });
    server.event(MAPS, "ERROR", &refused).await;
    health.wait_for(|health| health.problem.is_some()).await.unwrap();
    let cure = health.wait_for(|health| health.problem.is_none());
    tokio::time::timeout(Duration::from_secs(10), cure).await.expect("in time").unwrap();
    assert_eq!(server.log().iter().filter(|request| request.starts_with("LIST")).count(), 1);
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_or_while_being_cancelled_leaves_nothing_behind() {
    let server = server(&["early", "late", "good"]);
    let (stop, caches, runs) =
        (CancellationToken::new(), Caches::new(server.client()), Arc::<Mutex<Vec<String>>>::default());
    let (token, seen) = (stop.clone(), runs.clone());
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        seen.lock().unwrap().push(map.name().to_owned());
        assert_ne!(map.name(), "early");
        async move {
            if map.name() == "late" {
                let _panics = PanicsWhenDropped;
                std::future::pending::<()>().await;
            }
            Ok::<_, std::convert::Infallible>(Action::AwaitChange)
        }
    };
    let controller = tokio::spawn(async move {
        Controller::new(Query::<ConfigMap>::all()).run(&caches, reconcile, token).await
    });
    tokio::time::sleep(Duration::from_secs(10)).await;
    let ran = |name| runs.lock().unwrap().iter().filter(|run| *run == name).count();
    assert!(ran("early") > 2 && ran("late") == 1 && ran("good") == 1, "{:?}", runs.lock().unwrap());
    stop.cancel();
    let result = controller.await.expect("no panic comes out");
    assert_eq!(result, Err(ControllerError::Cancelled { running: 1, grace: GRACE }));
}
