//! What readers and subscribers see of one writer.

use futures::FutureExt;

use super::{testing::scanned, *};
use crate::watcher::{Cause, Fault, Request};

fn shared() -> (Arc<Shared>, Writer) {
    let target = Target {
        resource: kube_core::ApiResource::new("", "v1", "ConfigMap", "configmaps", true),
        namespace: None,
        labels: None,
        fields: None,
    };
    let shared = Shared::new(target, Keep::Bytes);
    (shared.clone(), Writer::new(shared))
}

fn feed(writer: &mut Writer, events: Vec<Event<Scanned>>) {
    writer.accept(events).now_or_never().expect("a cache never waits");
}

fn names(shared: &Shared) -> Vec<String> {
    let mut names: Vec<_> = shared.objects.read().keys().map(ToString::to_string).collect();
    names.sort();
    names
}

fn told(subscriber: &Subscriber) -> Vec<String> {
    let mut told: Vec<_> = subscriber
        .mailbox
        .lock()
        .take()
        .iter()
        .map(|d| format!("{}{}", if d.new.is_some() { "+" } else { "-" }, d.key()))
        .collect();
    told.sort();
    told
}

#[test]
fn a_list_becomes_visible_whole() {
    let (shared, mut writer) = shared();
    feed(&mut writer, vec![Event::Init, Event::InitApply(scanned("a", "u", "1"))]);
    assert!(names(&shared).is_empty() && !shared.health.borrow().synced);
    feed(&mut writer, vec![Event::InitApply(scanned("b", "v", "1")), Event::InitDone]);
    assert_eq!(names(&shared), ["a", "b"]);
    assert!(shared.health.borrow().synced);

    feed(&mut writer, vec![Event::Init, Event::InitApply(scanned("c", "w", "2"))]);
    assert_eq!(names(&shared), ["a", "b"], "the old complete set until the new one is complete");
    feed(&mut writer, vec![Event::Init, Event::InitApply(scanned("a", "u", "1")), Event::InitDone]);
    assert_eq!(names(&shared), ["a"], "a list that began anew voids what came before");
}

#[test]
fn a_relist_tells_subscribers_the_difference_only() {
    let (shared, mut writer) = shared();
    let subscriber = shared.subscribe(Arc::new(Notify::new()));
    let list = |names: &[&str]| {
        let objects = names.iter().map(|name| Event::InitApply(scanned(name, "u", "1")));
        std::iter::once(Event::Init).chain(objects).chain([Event::InitDone]).collect()
    };
    feed(&mut writer, list(&["a", "b"]));
    assert_eq!(told(&subscriber), ["+a", "+b"]);
    feed(&mut writer, list(&["a", "c"]));
    assert_eq!(told(&subscriber), ["+c", "-b"]);
    feed(&mut writer, list(&["a", "c"]));
    assert!(told(&subscriber).is_empty());
}

#[test]
fn a_late_subscriber_is_told_the_present_then_changes() {
    let (shared, mut writer) = shared();
    feed(&mut writer, vec![Event::Init, Event::InitApply(scanned("a", "u", "1")), Event::InitDone]);
    let wake = Arc::new(Notify::new());
    let subscriber = shared.subscribe(wake.clone());
    assert!(wake.notified().now_or_never().is_some(), "woken for the present state");
    assert_eq!(told(&subscriber), ["+a"]);
    feed(&mut writer, vec![Event::Delete(scanned("a", "u", "2"))]);
    assert!(wake.notified().now_or_never().is_some());
    assert_eq!(told(&subscriber), ["-a"]);
}

#[test]
fn a_dropped_subscriber_costs_nothing() {
    let (shared, mut writer) = shared();
    drop(shared.subscribe(Arc::new(Notify::new())));
    feed(&mut writer, vec![Event::Apply(scanned("a", "u", "1"))]);
    assert!(shared.subscribers.lock().is_empty());
}

#[test]
fn a_problem_is_shown_until_it_is_over_and_wakes_who_waits() {
    let (shared, mut writer) = shared();
    let wake = Arc::new(Notify::new());
    let _subscriber = shared.subscribe(wake.clone());
    let _ = wake.notified().now_or_never();
    let problem = Problem {
        during: Request::List,
        fault: Fault::new(Cause::Unreachable, "refused"),
        failures: 1,
        delay: std::time::Duration::from_secs(1),
    };
    writer.report(problem.clone());
    assert!(wake.notified().now_or_never().is_some());
    assert_eq!(*shared.health.borrow(), Health { synced: false, problem: Some(problem) });
    writer.recovered();
    assert!(wake.notified().now_or_never().is_some());
    feed(&mut writer, vec![Event::Init, Event::InitDone]);
    assert!(wake.notified().now_or_never().is_some());
    assert_eq!(*shared.health.borrow(), Health { synced: true, problem: None });
}

#[test]
fn a_reader_that_holds_a_set_sees_no_later_change() {
    let (shared, mut writer) = shared();
    feed(&mut writer, vec![Event::Init, Event::InitApply(scanned("a", "u", "1")), Event::InitDone]);
    let held = shared.objects.read().clone();
    feed(&mut writer, vec![Event::Apply(scanned("b", "v", "2"))]);
    assert_eq!(held.len(), 1);
    assert_eq!(names(&shared), ["a", "b"]);
}

#[test]
fn events_of_one_turn_are_taken_in_their_order() {
    let (shared, mut writer) = shared();
    let apply = |version| Event::Apply(scanned("a", "u", version));
    let list = [Event::Init, Event::InitApply(scanned("a", "u", "2")), Event::InitDone];
    feed(&mut writer, std::iter::once(apply("1")).chain(list).collect());
    assert_eq!(shared.objects.read()["a"].resource_version(), "2");
}
