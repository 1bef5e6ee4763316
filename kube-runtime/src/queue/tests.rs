//! One rule, one table: (milliseconds, fact, orders).

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use super::{
    Outcome::{AwaitChange, Failed, RequeueAfter},
    Reason::{Requeued, Retried, Triggered},
    Trigger::{Changed, Listed, Related, Requested},
    *,
};

type Fact = Input<&'static str>;

#[derive(Debug, PartialEq)]
enum Order {
    /// Start this key for this reason, as this attempt.
    Run(&'static str, Reason, u32),
    End,
}
use Order::{End, Run};

fn at_once(concurrency: usize) -> Config {
    Config { concurrency, curve: Curve::new(Duration::from_secs(1), Duration::from_secs(8)) }
}

/// Any moment does: only differences count.
#[expect(clippy::disallowed_methods, reason = "a zero for the tests' own time")]
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn at(ms: u64) -> Instant {
    *START + Duration::from_millis(ms)
}

fn orders(queue: &mut Queue<&'static str>, now: Instant) -> Vec<Order> {
    let next = || {
        queue.poll(now).map(|order| match order {
            Output::Start { key, reason, attempt, .. } => Run(key, reason, attempt),
            Output::Drained => End,
        })
    };
    let orders = std::iter::from_fn(next).collect();
    assert!(!queue.has_orders(), "polled until there were none");
    orders
}

type Rows = [(u64, Fact, &'static [Order])];

/// Runs the rows and hands the queue back for a look at what is left.
fn script(concurrency: usize, rows: &Rows) -> Queue<&'static str> {
    let mut queue = Queue::new(at_once(concurrency), 1);
    for (row, (ms, fact, expected)) in rows.iter().enumerate() {
        queue.handle(at(*ms), fact.clone());
        assert_eq!(orders(&mut queue, at(*ms)), *expected, "row {row}: {fact:?} at {ms} ms");
    }
    queue
}

fn unlimited(rows: &Rows) -> Queue<&'static str> {
    script(0, rows)
}

fn one_at_a_time(rows: &Rows) -> Queue<&'static str> {
    script(1, rows)
}

fn two_at_once(rows: &Rows) -> Queue<&'static str> {
    script(2, rows)
}

fn entries(queue: &Queue<&'static str>) -> (usize, usize, usize) {
    (queue.depth(), queue.running(), queue.delayed())
}

const fn by(key: &'static str, by: Trigger) -> Fact {
    Input::Triggered { key, by }
}
const fn changed(key: &'static str) -> Fact {
    by(key, Changed)
}
const fn ended(key: &'static str, outcome: Outcome) -> Fact {
    Input::Finished { key, outcome }
}
const fn done(key: &'static str) -> Fact {
    ended(key, AwaitChange)
}
const fn requeue(key: &'static str, ms: u64) -> Fact {
    ended(key, RequeueAfter(Duration::from_millis(ms)))
}
const fn failed(key: &'static str) -> Fact {
    ended(key, Failed { retry_after: None })
}
const fn gone(key: &'static str) -> Fact {
    Input::Forgotten { key }
}
const OPENED: Fact = Input::Opened;
const WOKE: Fact = Input::Woke;
const STOPPED: Fact = Input::Stopped;

#[test]
fn nothing_starts_before_every_source_is_synced() {
    unlimited(&[
        (0, by("a", Listed), &[]),
        (1, by("b", Listed), &[]),
        (2, by("a", Listed), &[]),
        (9, WOKE, &[]),
        (10, OPENED, &[Run("a", Triggered(Listed), 1), Run("b", Triggered(Listed), 1)]),
        (11, OPENED, &[]),
    ]);
}

#[test]
fn triggers_during_a_run_make_exactly_one_run_after_it() {
    let queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (1, by("a", Related), &[]),
        (2, by("a", Related), &[]),
        (3, changed("a"), &[]),
        (4, done("a"), &[Run("a", Triggered(Related), 1)]),
        (5, done("a"), &[]),
        (6, WOKE, &[]),
    ]);
    assert_eq!(entries(&queue), (0, 0, 0));
}

#[test]
fn ready_keys_start_in_the_order_they_came_and_one_key_counts_once() {
    one_at_a_time(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (1, changed("b"), &[]),
        (2, by("c", Related), &[]),
        (3, changed("b"), &[]),
        (4, done("a"), &[Run("b", Triggered(Changed), 1)]),
        (5, changed("a"), &[]),
        (6, done("b"), &[Run("c", Triggered(Related), 1)]),
        (7, done("c"), &[Run("a", Triggered(Changed), 1)]),
    ]);
}

#[test]
fn no_more_keys_run_than_allowed() {
    let queue = two_at_once(&[
        (0, by("a", Listed), &[]),
        (0, Input::TriggeredAll { keys: vec!["b", "c", "d", "b"], by: Listed }, &[]),
        (1, OPENED, &[Run("a", Triggered(Listed), 1), Run("b", Triggered(Listed), 1)]),
        (2, changed("a"), &[]),
        (3, done("b"), &[Run("c", Triggered(Listed), 1)]),
    ]);
    assert_eq!(entries(&queue), (1, 2, 0));
}

#[test]
fn the_newest_finished_run_decides_about_the_timer() {
    let queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, requeue("a", 600_000), &[]),
        (10_000, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (10_000, requeue("a", 600_000), &[]),
        (600_000, WOKE, &[]),
        (609_999, WOKE, &[]),
        (610_000, WOKE, &[Run("a", Requeued, 1)]),
        (610_001, WOKE, &[]),
        (610_002, requeue("a", 50), &[]),
        (610_003, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (610_004, done("a"), &[]),
        (700_000, WOKE, &[]),
    ]);
    assert_eq!((entries(&queue), queue.deadline()), ((0, 0, 0), None));
}

#[test]
fn a_trigger_during_a_run_goes_before_the_runs_own_requeue() {
    unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (1, changed("a"), &[]),
        (2, requeue("a", 100), &[Run("a", Triggered(Changed), 1)]),
        (3, done("a"), &[]),
        (102, WOKE, &[]),
    ]);
}

#[test]
fn a_thousand_requeues_leave_one_timer() {
    let mut queue = Queue::new(at_once(0), 1);
    queue.handle(at(0), OPENED);
    for run in 1..=1000 {
        queue.handle(at(run), changed("a"));
        assert_eq!(orders(&mut queue, at(run)).len(), 1);
        queue.handle(at(run), requeue("a", 60_000));
        assert_eq!((entries(&queue), queue.deadline()), ((0, 0, 1), Some(at(run + 60_000))));
    }
}

#[test]
fn a_wake_before_the_deadline_starts_nothing_and_any_input_after_it_counts_as_one() {
    let queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, requeue("a", 100), &[]),
        (0, changed("b"), &[Run("b", Triggered(Changed), 1)]),
        (0, requeue("b", 50), &[]),
        (49, WOKE, &[]),
        (120, changed("c"), &[Run("b", Requeued, 1), Run("a", Requeued, 1), Run("c", Triggered(Changed), 1)]),
    ]);
    assert_eq!(queue.deadline(), None);
}

#[test]
fn work_that_is_due_now_passes_no_timer_and_lets_others_go_first() {
    one_at_a_time(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, changed("b"), &[]),
        (0, requeue("a", 0), &[Run("b", Triggered(Changed), 1)]),
        (0, done("b"), &[Run("a", Requeued, 1)]),
        (0, requeue("a", 0), &[Run("a", Requeued, 1)]),
    ]);
}

// With jitter a delay of n is due between n and 1.5 n.
#[test]
fn failures_wait_longer_each_time_up_to_a_maximum_until_a_success() {
    unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, failed("a"), &[]),
        (999, WOKE, &[]),
        (1_500, WOKE, &[Run("a", Retried, 2)]),
        (10_000, failed("a"), &[]),
        (11_999, WOKE, &[]),
        (13_000, WOKE, &[Run("a", Retried, 3)]),
        (20_000, failed("a"), &[]),
        (23_999, WOKE, &[]),
        (26_000, WOKE, &[Run("a", Retried, 4)]),
        (30_000, failed("a"), &[]),
        (37_999, WOKE, &[]),
        (42_000, WOKE, &[Run("a", Retried, 5)]),
        (50_000, failed("a"), &[]),
        (57_999, WOKE, &[]),
        (62_000, WOKE, &[Run("a", Retried, 6)]),
        (62_000, done("a"), &[]),
        (70_000, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (70_000, failed("a"), &[]),
        (71_500, WOKE, &[Run("a", Retried, 2)]),
        (71_500, requeue("a", 100), &[]),
        (71_600, WOKE, &[Run("a", Requeued, 1)]),
    ]);
}

#[test]
fn triggers_do_not_raise_the_delay_of_a_failing_key() {
    let mut queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, failed("a"), &[]),
    ]);
    for ms in 1..500 {
        queue.handle(at(ms), changed("a"));
        assert_eq!(orders(&mut queue, at(ms)), [Run("a", Triggered(Changed), 2)]);
        queue.handle(at(ms), failed("a"));
        assert_eq!(orders(&mut queue, at(ms)), []);
        let wait = queue.deadline().expect("a failed key waits").duration_since(at(ms));
        assert!((1000..=1500).contains(&wait.as_millis()), "{wait:?} after {ms} events");
    }
}

#[test]
fn a_trigger_during_a_failing_run_runs_at_once_and_the_failure_still_counts() {
    let queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (1, changed("a"), &[]),
        (2, failed("a"), &[Run("a", Triggered(Changed), 2)]),
        (3, failed("a"), &[]),
        (1_002, WOKE, &[]),
        (1_503, WOKE, &[Run("a", Retried, 2)]),
    ]);
    assert_eq!(queue.failing(), 1);
}

#[test]
fn a_servers_retry_after_is_the_least_delay() {
    let busy = |s| ended("a", Failed { retry_after: Some(Duration::from_secs(s)) });
    unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, busy(6), &[]),
        (5_999, WOKE, &[]),
        (9_000, WOKE, &[Run("a", Retried, 2)]),
        (10_000, busy(0), &[]),
        (11_999, WOKE, &[]),
        (13_000, WOKE, &[Run("a", Retried, 3)]),
    ]);
}

#[test]
fn keys_that_fail_together_do_not_come_back_together() {
    let mut queue = Queue::new(at_once(0), 7);
    queue.handle(at(0), Input::Opened);
    queue.handle(at(0), Input::TriggeredAll { keys: (0..100).collect(), by: Changed });
    while queue.poll(at(0)).is_some() {}
    for key in 0..100 {
        queue.handle(at(0), Input::Finished { key, outcome: Failed { retry_after: None } });
    }
    let mut moments = 0;
    while let Some(deadline) = queue.deadline() {
        queue.handle(deadline, Input::Woke);
        moments += 1;
    }
    assert!(moments > 90, "{moments} different moments for 100 keys");
}

#[test]
fn forgetting_a_waiting_key_drops_entry_timer_and_failures() {
    let queue = one_at_a_time(&[
        (0, OPENED, &[]),
        (0, changed("ready"), &[Run("ready", Triggered(Changed), 1)]),
        (1, changed("a"), &[]),
        (2, by("b", Listed), &[]),
        (3, gone("a"), &[]),
        (4, gone("b"), &[]),
        (5, failed("ready"), &[]),
        (6, gone("ready"), &[]),
        (9_000, WOKE, &[]),
        (9_001, changed("ready"), &[Run("ready", Triggered(Changed), 1)]),
        (9_002, done("ready"), &[]),
    ]);
    assert_eq!((entries(&queue), queue.deadline()), ((0, 0, 0), None));
}

#[test]
fn forgetting_a_running_key_drops_what_its_run_asks_for() {
    for outcome in [
        AwaitChange,
        RequeueAfter(Duration::ZERO),
        RequeueAfter(Duration::from_secs(1)),
        Failed { retry_after: None },
    ] {
        let queue = unlimited(&[
            (0, OPENED, &[]),
            (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
            (1, changed("a"), &[]),
            (2, gone("a"), &[]),
            (3, ended("a", outcome), &[]),
            (9_000, WOKE, &[]),
        ]);
        assert_eq!((entries(&queue), queue.failing()), ((0, 0, 0), 0), "{outcome:?}");
    }
}

#[test]
fn a_key_triggered_after_it_was_forgotten_runs_once_more_without_the_old_failures() {
    unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, failed("a"), &[]),
        (1_500, WOKE, &[Run("a", Retried, 2)]),
        (1_501, gone("a"), &[]),
        (1_502, changed("a"), &[]),
        (1_503, failed("a"), &[Run("a", Triggered(Changed), 1)]),
        (1_504, requeue("a", 10), &[]),
        (1_514, WOKE, &[Run("a", Requeued, 1)]),
    ]);
}

#[test]
fn inputs_that_do_not_fit_change_nothing() {
    let queue = unlimited(&[
        (0, done("a"), &[]),
        (0, gone("a"), &[]),
        (0, OPENED, &[]),
        (1, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (2, requeue("a", 100), &[]),
        (3, failed("a"), &[]),
        (4, done("a"), &[]),
        (5, requeue("b", 0), &[]),
        (102, WOKE, &[Run("a", Requeued, 1)]),
        (103, done("a"), &[]),
        (104, done("a"), &[]),
    ]);
    assert_eq!(entries(&queue), (0, 0, 0));
}

#[test]
fn live_changes_go_before_the_first_list_which_still_moves() {
    let live = Run("l", Triggered(Changed), 1);
    let mut queue = Queue::new(at_once(1), 1);
    queue.handle(at(0), Input::TriggeredAll { keys: vec!["1", "2"], by: Listed });
    queue.handle(at(0), changed("l"));
    queue.handle(at(0), OPENED);
    // "l" is triggered again during each of its runs: live work without an end.
    let mut started = Vec::new();
    for ms in 1..12 {
        let order = orders(&mut queue, at(ms)).remove(0);
        let Run(key, ..) = order else { panic!("{order:?}") };
        assert!(order == live || order == Run(key, Triggered(Listed), 1));
        queue.handle(at(ms), changed("l"));
        queue.handle(at(ms), done(key));
        started.push(key);
    }
    assert_eq!(started, ["l", "l", "l", "l", "1", "l", "l", "l", "l", "2", "l"]);
}

#[test]
fn a_live_change_lifts_a_listed_key_out_of_its_line() {
    one_at_a_time(&[
        (0, OPENED, &[]),
        (0, by("x", Listed), &[Run("x", Triggered(Listed), 1)]),
        (1, by("a", Listed), &[]),
        (2, by("b", Listed), &[]),
        (3, by("b", Requested), &[]),
        (4, by("x", Listed), &[]),
        (5, by("x", Related), &[]),
        (6, done("x"), &[Run("b", Triggered(Requested), 1)]),
        (7, done("b"), &[Run("x", Triggered(Related), 1)]),
        (8, done("x"), &[Run("a", Triggered(Listed), 1)]),
    ]);
}

#[test]
fn after_a_stop_nothing_starts_and_the_end_is_told_when_the_last_run_finished() {
    let queue = two_at_once(&[
        (0, OPENED, &[]),
        (0, changed("t"), &[Run("t", Triggered(Changed), 1)]),
        (0, requeue("t", 50), &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, changed("b"), &[Run("b", Triggered(Changed), 1)]),
        (0, changed("c"), &[]),
        (0, by("d", Listed), &[]),
        (1, changed("a"), &[]),
        (2, STOPPED, &[]),
        (3, changed("e"), &[]),
        (4, changed("b"), &[]),
        (5, OPENED, &[]),
        (6, requeue("a", 0), &[]),
        (60, WOKE, &[]),
        (61, failed("b"), &[End]),
        (62, STOPPED, &[]),
        (63, changed("a"), &[]),
    ]);
    assert_eq!((entries(&queue), queue.deadline()), ((0, 0, 0), None));
}

#[test]
fn a_stop_before_the_start_ends_at_once() {
    unlimited(&[(0, changed("a"), &[]), (1, STOPPED, &[End]), (2, OPENED, &[])]);
}

#[test]
fn the_longest_delay_is_a_year() {
    let queue = unlimited(&[
        (0, OPENED, &[]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (0, ended("a", RequeueAfter(Duration::MAX)), &[]),
        (1, changed("b"), &[Run("b", Triggered(Changed), 1)]),
        (1, ended("b", Failed { retry_after: Some(Duration::MAX) }), &[]),
    ]);
    assert_eq!((queue.delayed(), queue.deadline()), (2, Some(at(0) + LONGEST_DELAY)));
}

#[test]
fn it_tells_how_long_keys_wait_and_run() {
    let mut queue = Queue::new(at_once(1), 1);
    for (ms, fact) in [(0, OPENED), (5, changed("a")), (6, by("b", Listed)), (7, changed("c"))] {
        queue.handle(at(ms), fact);
    }
    assert_eq!(queue.longest_wait(at(10)), Some(Duration::from_millis(5)));
    let Some(Output::Start { key: "a", waited, .. }) = queue.poll(at(11)) else { panic!("a starts first") };
    assert_eq!(waited, Duration::from_millis(6));
    assert_eq!(queue.longest_wait(at(11)), Some(Duration::from_millis(5)));
    assert_eq!(queue.longest_run(at(15)), Some((&"a", Duration::from_millis(4))));
    queue.handle(at(16), requeue("a", 10));
    assert_eq!(queue.longest_run(at(16)), None);
    // A timer's key counts from when it was due, however late the wake is.
    queue.handle(at(30), gone("b"));
    queue.handle(at(30), gone("c"));
    assert_eq!(queue.longest_wait(at(30)), Some(Duration::from_millis(4)));
    // One that a change lifted out of the listed lane counts from its first trigger.
    queue.handle(at(30), gone("a"));
    queue.handle(at(40), by("d", Listed));
    queue.handle(at(45), changed("d"));
    assert_eq!(queue.longest_wait(at(50)), Some(Duration::from_millis(10)));
}

#[test]
fn timers_of_one_moment_fire_in_the_order_they_were_armed() {
    unlimited(&[
        (0, OPENED, &[]),
        (0, changed("b"), &[Run("b", Triggered(Changed), 1)]),
        (0, changed("a"), &[Run("a", Triggered(Changed), 1)]),
        (10, requeue("b", 90), &[]),
        (50, requeue("a", 50), &[]),
        (100, WOKE, &[Run("b", Requeued, 1), Run("a", Requeued, 1)]),
    ]);
}
