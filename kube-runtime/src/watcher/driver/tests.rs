//! A whole watch against a scripted server, on a paused clock: what goes over the wire, and what comes out.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use serde_json::json;

use crate::{
    query::Query,
    testing::{Reply, Server, config_map},
    watcher::{Config, Event, WatchError, WatchStream, watch},
};

const MAPS: &str = "/api/v1/configmaps";

fn map(name: &str, version: &str) -> serde_json::Value {
    config_map(name, version, &json!({}))
}

/// A watch of all ConfigMaps, of which there is `a` at version 10.
fn start() -> (Server, WatchStream<ConfigMap>) {
    let server = Server::default();
    server.list(MAPS, "10", &[map("a", "3")]);
    let stream = watch(server.client(), &Query::<ConfigMap>::all(), Config::default());
    (server, stream)
}

fn told(item: Result<Event<std::sync::Arc<ConfigMap>>, WatchError>) -> String {
    let version = |map: &ConfigMap| format!("{}@{}", map.name(), map.resource_version().unwrap_or_default());
    match item {
        Ok(Event::Init) => "init".into(),
        Ok(Event::InitApply(map)) => format!("={}", version(&map)),
        Ok(Event::InitDone) => "done".into(),
        Ok(Event::Apply(map)) => format!("+{}", version(&map)),
        Ok(Event::Delete(map)) => format!("-{}", version(&map)),
        Err(WatchError::Problem(problem)) => format!("problem {}", problem.failures),
        Err(WatchError::Misfit(misfit)) => format!("misfit {}@{}", misfit.key, misfit.resource_version),
    }
}

/// The next items.
async fn next(stream: &mut WatchStream<ConfigMap>, count: usize) -> Vec<String> {
    stream.take(count).map(told).collect().await
}

/// The first list.
async fn begin(stream: &mut WatchStream<ConfigMap>) {
    assert_eq!(next(stream, 3).await, ["init", "=a@3", "done"]);
}

fn watches(server: &Server) -> Vec<String> {
    server.log().into_iter().filter_map(|request| request.strip_prefix("WATCH ").map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn lines_are_the_same_however_the_network_cuts_them() {
    let object = config_map("ü", "11", &json!({ "annotations": { "k": "🦀 and \"quotes\"" } }));
    let line = format!("{}\r\n\n", json!({ "type": "ADDED", "object": object }));
    for cut in 1..line.len() {
        let (server, mut stream) = start();
        begin(&mut stream).await;
        let (head, tail) = line.as_bytes().split_at(cut);
        server.raw(MAPS, Ok(head.to_vec().into())).await;
        tokio::task::yield_now().await;
        server.raw(MAPS, Ok(tail.to_vec().into())).await;
        assert_eq!(next(&mut stream, 1).await, ["+ü@11"], "cut at {cut}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_lines_in_one_read_come_out_in_order() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    let lines: Vec<_> = (0..500)
        .map(|i| format!("{}\n", json!({ "type": "MODIFIED", "object": map("a", &i.to_string()) })))
        .collect();
    server.raw(MAPS, Ok(lines.concat().into())).await;
    let expected: Vec<_> = (0..500).map(|i| format!("+a@{i}")).collect();
    assert_eq!(next(&mut stream, 500).await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_last_line_counts_at_a_clean_end_and_not_at_a_broken_one() {
    let line = json!({ "type": "ADDED", "object": map("b", "11") }).to_string();
    let (server, mut stream) = start();
    begin(&mut stream).await;
    server.raw(MAPS, Ok(line.clone().into())).await;
    server.end(MAPS).await;
    assert_eq!(next(&mut stream, 1).await, ["+b@11"]);
    server.asked(3).await;
    assert_eq!(watches(&server), [format!("{MAPS} 10"), format!("{MAPS} 11")]);

    let (server, mut stream) = start();
    begin(&mut stream).await;
    server.raw(MAPS, Ok(line.into())).await;
    server.raw(MAPS, Err("reset".into())).await;
    assert_eq!(next(&mut stream, 1).await, ["problem 1"]);
    server.asked(3).await;
    assert_eq!(watches(&server), [format!("{MAPS} 10"), format!("{MAPS} 10")]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_gone_in_the_stream_makes_one_list() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    server.list(MAPS, "20", &[map("b", "15")]);
    let gone = json!({ "kind": "Status", "code": 410, "reason": "Expired" });
    server.event(MAPS, "ERROR", &gone).await;
    server.end(MAPS).await;
    let told = next(&mut stream, 4).await;
    assert_eq!(told, ["problem 0", "init", "=b@15", "done"]);
    server.asked(4).await;
    assert_eq!(watches(&server), [format!("{MAPS} 10"), format!("{MAPS} 20")]);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_waited_for_and_lose_nothing() {
    let server = Server::default();
    server.list(MAPS, "10", &[map("a", "3")]);
    let busy = json!({ "kind": "Status", "code": 429, "details": { "retryAfterSeconds": 3 } }).to_string();
    server.refuse_watch(MAPS, Reply::Answer(429, busy.clone()));
    server.refuse_watch(MAPS, Reply::Answer(429, busy));
    let before = tokio::time::Instant::now();
    let mut stream = watch(server.client(), &Query::<ConfigMap>::all(), Config::default());
    begin(&mut stream).await;
    assert_eq!(next(&mut stream, 2).await, ["problem 1", "problem 2"]);
    server.event(MAPS, "ADDED", &map("b", "11")).await;
    assert_eq!(next(&mut stream, 1).await, ["+b@11"]);
    assert!(before.elapsed() >= Duration::from_secs(6));
    assert_eq!(server.log().iter().filter(|request| request.starts_with("LIST")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up_and_resumed() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    server.event(MAPS, "ADDED", &map("b", "101")).await;
    assert_eq!(next(&mut stream, 1).await, ["+b@101"]);
    // Nothing more comes, and no end either: the client's own deadline is the only way on.
    assert_eq!(next(&mut stream, 1).await, ["problem 1"]);
    server.asked(3).await;
    server.event(MAPS, "ADDED", &map("c", "102")).await;
    assert_eq!(next(&mut stream, 1).await, ["+c@102"]);
    assert_eq!(watches(&server), [format!("{MAPS} 10"), format!("{MAPS} 101")]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_is_given_up_and_made_again() {
    let server = Server::default();
    server.reply(MAPS, Reply::Silence);
    let mut stream = watch(server.client(), &Query::<ConfigMap>::all(), Config::default());
    assert_eq!(next(&mut stream, 1).await, ["problem 1"]);
    server.list(MAPS, "10", &[map("a", "3")]);
    begin(&mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn one_object_that_does_not_fit_or_has_no_name_stops_nothing() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    let mut odd = map("odd", "11");
    odd["data"] = json!("not a map");
    server.event(MAPS, "ADDED", &odd).await;
    server.event(MAPS, "ADDED", &json!({ "metadata": { "resourceVersion": "12" } })).await;
    server.event(MAPS, "ADDED", &map("b", "13")).await;
    assert_eq!(next(&mut stream, 2).await, ["misfit d/odd@11", "+b@13"]);
    assert_eq!(watches(&server).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_version_to_resume_from() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    for version in ["500", "0009", "abc7"] {
        server.event(MAPS, "BOOKMARK", &json!({ "metadata": { "resourceVersion": version } })).await;
        server.end(MAPS).await;
        let asked = server.log().len();
        server.asked(asked + 1).await;
    }
    assert!(stream.next().now_or_never().is_none(), "no event for a consumer");
    assert_eq!(watches(&server), ["10", "500", "0009", "abc7"].map(|version| format!("{MAPS} {version}")));
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_is_one_problem_however_its_body_looks() {
    let server = Server::default();
    server.list(MAPS, "10", &[map("a", "3")]);
    let pretty =
        serde_json::to_string_pretty(&json!({ "kind": "Status", "code": 403, "reason": "Forbidden" }))
            .unwrap();
    server.refuse_watch(MAPS, Reply::Answer(403, pretty));
    let mut stream = watch(server.client(), &Query::<ConfigMap>::all(), Config::default());
    begin(&mut stream).await;
    assert_eq!(next(&mut stream, 1).await, ["problem 1"]);
    server.event(MAPS, "ADDED", &map("b", "11")).await;
    assert_eq!(next(&mut stream, 1).await, ["+b@11"]);
    assert_eq!(server.log().iter().filter(|request| request.starts_with("LIST")).count(), 1, "no relist");
}

#[tokio::test(start_paused = true)]
async fn what_came_before_a_fault_in_one_read_is_told_before_it() {
    let (server, mut stream) = start();
    begin(&mut stream).await;
    let broken = json!({ "kind": "Status", "code": 500 });
    let line = |kind: &str, object| format!("{}\n", json!({ "type": kind, "object": object }));
    let lines = [line("ADDED", map("b", "11")), line("ERROR", broken)].concat();
    server.raw(MAPS, Ok(lines.into())).await;
    assert_eq!(next(&mut stream, 2).await, ["+b@11", "problem 1"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_machine_judges_how_long_a_request_may_take() {
    let server = Server::default();
    let limits = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, inner) = (limits.clone(), server.client());
    let client = kube_client::Client::new(
        tower::service_fn(move |request: http::Request<kube_client::Body>| {
            seen.lock().unwrap().push(request.extensions().get::<kube_client::TimeLimit>().copied());
            let inner = inner.clone();
            async move { inner.send(request).await }
        }),
        "default",
    );
    server.list(MAPS, "10", &[map("a", "3")]);
    let mut stream = watch(client, &Query::<ConfigMap>::all(), Config::default());
    begin(&mut stream).await;
    server.asked(2).await;
    let none = Some(kube_client::TimeLimit(None));
    assert_eq!(*limits.lock().unwrap(), [none, none], "for the list and for the watch");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_away_while_requests_fail_is_told_the_newest_problem_only() {
    let server = Server::default();
    server.reply(MAPS, Reply::Answer(500, String::new()));
    let mut stream = watch(server.client(), &Query::<ConfigMap>::all(), Config::default());
    tokio::time::sleep(Duration::from_hours(1)).await;
    server.list(MAPS, "10", &[map("a", "3")]);
    let mut told = Vec::new();
    while told.last().is_none_or(|last| last != "done") {
        told.extend(next(&mut stream, 1).await);
    }
    let (problems, list) = told.split_at(told.len() - 3);
    assert_eq!(list, ["init", "=a@3", "done"]);
    assert!(problems.len() <= 4, "{problems:?}");
    let newest = problems.last().and_then(|problem| problem.strip_prefix("problem "));
    assert!(newest.is_some_and(|failures| failures.parse::<u32>().unwrap() > 50), "{problems:?}");
}

#[test]
fn a_line_that_is_too_long_counts_as_one_that_cannot_be_read() {
    let mut lines = kube_client::LineSplitter::with_max(4);
    let (facts, over) = super::read(&mut lines, Some(Ok("longer\n".into())));
    assert!(over && matches!(&facts[..], [crate::watcher::Input::BadLine { .. }]), "{facts:?}");
}
