//! The rules as tables of (time, fact, orders). `pace` lets a watcher run against a small server in virtual time and
//! looks at when it asks; `random` feeds it anything and holds it to its invariants; `reports` looks at what it tells people.

use std::time::{Duration, Instant};

use super::{Cause, Config, Event, Fault, Input, MAX_RETRY_AFTER, Machine, Output, WireEvent};

mod pace;
mod random;
mod reports;

type In = Input<&'static str>;
type Out = Output<&'static str>;

const CANCEL: Out = Output::Cancel;
const INIT: Out = Output::Emit(Event::Init);
const DONE: Out = Output::Emit(Event::InitDone);

fn item(item: &'static str) -> Out {
    Output::Emit(Event::InitApply(item))
}
fn apply(item: &'static str) -> Out {
    Output::Emit(Event::Apply(item))
}
fn delete(item: &'static str) -> Out {
    Output::Emit(Event::Delete(item))
}
fn list() -> Out {
    Output::List { continue_token: None, limit: Some(500) }
}
fn list_from(token: &str) -> Out {
    Output::List { continue_token: Some(token.into()), limit: Some(500) }
}
fn list_whole() -> Out {
    Output::List { continue_token: None, limit: None }
}
fn watch(version: &str) -> Out {
    Output::OpenWatch { resource_version: version.into(), timeout_seconds: 290 }
}

fn page(version: &str, items: &[&'static str]) -> In {
    Input::PageReceived { items: items.to_vec(), resource_version: version.into(), continue_token: None }
}
fn page_before(token: &str, version: &str, items: &[&'static str]) -> In {
    let continue_token = Some(token.into());
    Input::PageReceived { items: items.to_vec(), resource_version: version.into(), continue_token }
}
fn added(item: &'static str, version: &str) -> In {
    Input::WatchEvent(WireEvent::Added { item, resource_version: version.into() })
}
fn modified(item: &'static str, version: &str) -> In {
    Input::WatchEvent(WireEvent::Modified { item, resource_version: version.into() })
}
fn deleted(item: &'static str, version: &str) -> In {
    Input::WatchEvent(WireEvent::Deleted { item, resource_version: version.into() })
}
fn bookmark(version: &str) -> In {
    let initial_events_end = false;
    Input::WatchEvent(WireEvent::Bookmark { resource_version: version.into(), initial_events_end })
}
fn error_line(fault: Fault) -> In {
    Input::WatchEvent(WireEvent::Error(fault))
}
fn bad_line() -> In {
    Input::BadLine { message: "no end".into() }
}
fn code(code: u16) -> Fault {
    Fault::new(Cause::Answered { code, reason: String::new() }, "")
}
fn gone() -> Fault {
    Fault::new(Cause::Answered { code: 410, reason: "Expired".into() }, "too old")
}
fn reset() -> Fault {
    Fault::new(Cause::Unreachable, "connection reset")
}

/// A moment that tests count milliseconds from.
fn start() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "any moment will do: only differences to it matter")]
    Instant::now()
}

fn drain<T>(machine: &mut Machine<T>) -> Vec<Output<T>> {
    std::iter::from_fn(|| machine.poll()).collect()
}

/// Each row: at this many ms, this fact makes exactly these orders. Reports and their ends are left out: they have their
/// own tests.
fn script(rows: &[(u64, In, &[Out])]) {
    script_with(Config::default(), rows);
}

fn script_with(config: Config, rows: &[(u64, In, &[Out])]) {
    let (start, mut machine) = (start(), Machine::new(config, 1));
    for (number, (ms, input, expected)) in rows.iter().enumerate() {
        machine.handle(start + Duration::from_millis(*ms), input.clone());
        let mut orders = drain(&mut machine);
        orders.retain(|order| !matches!(order, Output::Report(_) | Output::Recovered));
        assert_eq!(&orders, expected, "row {number}, at {ms} ms: {input:?}\n{machine:?}");
    }
}

/// The script of a watcher that has listed `a@100` and whose watch was opened at 10 ms.
fn script_watching(rows: &[(u64, In, &[Out])]) {
    let head: [(u64, In, &[Out]); 3] = [
        (0, Input::Started, &[list()]),
        (5, page("100", &["a"]), &[INIT, item("a"), DONE, watch("100")]),
        (10, Input::WatchOpened, &[]),
    ];
    script(&[&head, rows].concat());
}

// Listing

#[test]
fn pages_become_one_list_and_the_last_page_starts_the_watch() {
    script(&[
        (0, Input::Started, &[list()]),
        (5, page_before("t1", "98", &["a", "b"]), &[INIT, item("a"), item("b"), list_from("t1")]),
        (9, page_before("t2", "99", &["c"]), &[item("c"), list_from("t2")]),
        (12, page("100", &["d"]), &[item("d"), DONE, watch("100")]),
    ]);
}

#[test]
fn an_empty_list_is_complete_and_an_empty_token_is_none() {
    script(&[(0, Input::Started, &[list()]), (5, page("1", &[]), &[INIT, DONE, watch("1")])]);
    script(&[(0, Input::Started, &[list()]), (5, page_before("", "1", &[]), &[INIT, DONE, watch("1")])]);
}

#[test]
fn a_page_size_of_zero_asks_for_everything() {
    script_with(
        Config { page_size: 0, ..Config::default() },
        &[(0, Input::Started, &[list_whole()]), (5, page("1", &["a"]), &[INIT, item("a"), DONE, watch("1")])],
    );
}

#[test]
fn a_list_without_a_version_is_no_list_and_empties_nothing() {
    // Such as `{}` with 200 from something in between: taken for a list, it would say that every object is gone.
    script_watching(&[
        (20, Input::WatchFailed(gone()), &[list()]),
        (30, page("", &[]), &[]),
        (1230, Input::Woke, &[list()]),
        (1240, page_before("t", "20", &["a"]), &[INIT, item("a"), list_from("t")]),
        (1250, page("", &["b"]), &[]),
        (2450, Input::Woke, &[list_from("t")]),
        (2460, page("20", &["b"]), &[item("b"), DONE, watch("20")]),
    ]);
}

#[test]
fn a_failed_page_is_asked_for_again_and_what_came_before_it_stays() {
    for fault in [code(403), code(404), code(429), code(500), code(503), code(504), reset()] {
        script(&[
            (0, Input::Started, &[list()]),
            (5, Input::ListFailed(fault.clone()), &[]),
            (804, Input::Woke, &[]),
            (1205, Input::Woke, &[list()]),
            (1300, page_before("t1", "98", &["a"]), &[INIT, item("a"), list_from("t1")]),
            (1400, Input::ListFailed(fault), &[]),
            (2199, Input::Woke, &[]),
            (2600, Input::Woke, &[list_from("t1")]),
            (2700, page("99", &["b"]), &[item("b"), DONE, watch("99")]),
        ]);
    }
}

#[test]
fn a_failed_relist_emits_nothing_so_that_the_old_set_stays() {
    script_watching(&[
        (20, Input::WatchFailed(gone()), &[list()]),
        (30, Input::ListFailed(code(403)), &[]),
        (1230, Input::Woke, &[list()]),
        (1240, Input::ListFailed(code(404)), &[]),
        (3640, Input::Woke, &[list()]),
        (3650, page("90", &["a"]), &[INIT, item("a"), DONE, watch("90")]),
    ]);
}

#[test]
fn a_token_that_expires_starts_over_three_times_then_without_pages() {
    script(&[
        (0, Input::Started, &[list()]),
        (1, page_before("t1", "10", &["a"]), &[INIT, item("a"), list_from("t1")]),
        (2, page_before("t2", "10", &["b"]), &[item("b"), list_from("t2")]),
        (3, Input::ListFailed(gone()), &[list()]),
        (4, page_before("t3", "20", &["a"]), &[INIT, item("a"), list_from("t3")]),
        (5, Input::ListFailed(gone()), &[list()]),
        (6, page_before("t4", "30", &["a"]), &[INIT, item("a"), list_from("t4")]),
        (7, Input::ListFailed(gone()), &[list()]),
        (8, page_before("t5", "40", &["a"]), &[INIT, item("a"), list_from("t5")]),
        (9, Input::ListFailed(gone()), &[list_whole()]),
        (10, Input::ListFailed(code(500)), &[]),
        (1210, Input::Woke, &[list_whole()]),
        (1220, page("50", &["a", "c"]), &[INIT, item("a"), item("c"), DONE, watch("50")]),
    ]);
}

#[test]
fn a_complete_list_forgets_the_restarts_before_it() {
    let mut rows: Vec<(u64, In, &[Out])> = Vec::new();
    let (expect_page, expect_done) = ([INIT, list_from("t")], [DONE, watch("1")]);
    let (expect_list, ms) = ([list()], 20);
    for _ in 0..3 {
        rows.push((ms, Input::WatchFailed(gone()), &expect_list));
        for _ in 0..3 {
            rows.push((ms, page_before("t", "1", &[]), &expect_page));
            rows.push((ms, Input::ListFailed(gone()), &expect_list));
        }
        rows.push((ms, page_before("t", "1", &[]), &expect_page));
        rows.push((ms, page("1", &[]), &expect_done));
        rows.push((ms, Input::WatchOpened, &[]));
        rows.push((ms, bookmark("1"), &[]));
    }
    script_watching(&rows);
}

#[test]
fn a_page_that_does_not_come_is_given_up_and_asked_for_again() {
    script(&[
        (0, Input::Started, &[list()]),
        (74_999, Input::Woke, &[]),
        (75_000, Input::Woke, &[CANCEL]),
        (76_200, Input::Woke, &[list()]),
        (76_300, page_before("t", "1", &[]), &[INIT, list_from("t")]),
        (151_300, Input::Woke, &[CANCEL]),
        (152_500, Input::Woke, &[list_from("t")]),
    ]);
}

#[test]
fn an_answer_that_came_after_its_deadline_still_is_the_answer() {
    script(&[(0, Input::Started, &[list()]), (80_000, page("1", &[]), &[INIT, DONE, watch("1")])]);
}

// Watching

#[test]
fn events_come_out_as_apply_and_delete_and_bookmarks_do_not() {
    script_watching(&[
        (20, added("b", "101"), &[apply("b")]),
        (21, modified("a", "102"), &[apply("a")]),
        (22, bookmark("105"), &[]),
        (23, deleted("a", "106"), &[delete("a")]),
        (30, Input::WatchEnded, &[watch("106")]),
    ]);
}

#[test]
fn versions_are_opaque_and_echoed_as_they_came() {
    script_watching(&[
        (20, added("b", "0009"), &[apply("b")]),
        (21, Input::WatchEnded, &[watch("0009")]),
        (22, Input::WatchOpened, &[]),
        (23, modified("b", "abc7"), &[apply("b")]),
        (24, Input::WatchEnded, &[watch("abc7")]),
        (25, Input::WatchOpened, &[]),
        (26, modified("b", "7"), &[apply("b")]),
        (27, modified("b", ""), &[apply("b")]),
        (28, Input::WatchEnded, &[watch("7")]),
    ]);
}

#[test]
fn the_first_watch_is_from_the_version_of_the_list_not_of_its_items() {
    script(&[
        (0, Input::Started, &[list()]),
        (5, page("900", &["a@880", "b@12"]), &[INIT, item("a@880"), item("b@12"), DONE, watch("900")]),
    ]);
}

#[test]
fn a_clean_end_resumes_at_once_and_bookmarks_alone_never_wait_or_list() {
    let (resumed, mut rows): (_, Vec<(u64, In, &[Out])>) = ([watch("500")], Vec::new());
    for _ in 0..20 {
        rows.push((20, bookmark("500"), &[]));
        rows.push((20, Input::WatchEnded, &resumed));
        rows.push((20, Input::WatchOpened, &[]));
    }
    script_watching(&rows);
}

#[test]
fn ends_without_an_event_are_failures_from_the_second_quick_one_on() {
    script_watching(&[
        (20, Input::WatchEnded, &[watch("100")]),
        (21, Input::WatchOpened, &[]),
        (22, Input::WatchEnded, &[]),
        (821, Input::Woke, &[]),
        (1222, Input::Woke, &[watch("100")]),
        (1223, Input::WatchEnded, &[]),
        (2822, Input::Woke, &[]),
        (3623, Input::Woke, &[watch("100")]),
        (3624, Input::WatchOpened, &[]),
        (8624, Input::WatchEnded, &[watch("100")]),
        (8625, Input::WatchOpened, &[]),
        (8626, Input::WatchEnded, &[watch("100")]),
    ]);
}

#[test]
fn gone_relists_at_once_and_what_follows_it_on_the_stream_is_void() {
    for fault in [gone(), code(410), Fault::new(Cause::Answered { code: 0, reason: "Gone".into() }, "")] {
        script_watching(&[
            (20, error_line(fault.clone()), &[CANCEL, list()]),
            (20, added("b", "101"), &[]),
            (20, Input::WatchEnded, &[]),
            (30, page("200", &["a"]), &[INIT, item("a"), DONE, watch("200")]),
            (40, Input::WatchOpened, &[]),
            (41, bookmark("201"), &[]),
            (42, Input::WatchFailed(fault.clone()), &[list()]),
        ]);
        script(&[
            (0, Input::Started, &[list()]),
            (5, page("100", &[]), &[INIT, DONE, watch("100")]),
            (6, Input::WatchFailed(fault), &[list()]),
        ]);
    }
}

#[test]
fn gone_relists_at_once_only_once_in_a_row() {
    script_watching(&[
        (20, error_line(gone()), &[CANCEL, list()]),
        (21, Input::ListFailed(gone()), &[]),
        (820, Input::Woke, &[]),
        (1221, Input::Woke, &[list()]),
        // A list alone does not end the row: its version must be worth something to a watch.
        (1222, page("200", &[]), &[INIT, DONE, watch("200")]),
        (1223, Input::WatchFailed(gone()), &[]),
        (2822, Input::Woke, &[]),
        (3623, Input::Woke, &[list()]),
    ]);
}

#[test]
fn a_deleted_object_is_missing_from_the_next_list_and_the_old_set_stands_until_then() {
    script(&[
        (0, Input::Started, &[list()]),
        (1, page("10", &["a", "b"]), &[INIT, item("a"), item("b"), DONE, watch("10")]),
        (2, Input::WatchOpened, &[]),
        (3, Input::WatchFailed(reset()), &[]),
        (1203, Input::Woke, &[watch("10")]),
        (1204, Input::WatchFailed(gone()), &[list()]),
        (1205, page_before("t", "20", &["a"]), &[INIT, item("a"), list_from("t")]),
        (1206, added("c", "21"), &[]),
        (1207, page("20", &["d"]), &[item("d"), DONE, watch("20")]),
    ]);
}

#[test]
fn a_failed_watch_resumes_from_the_same_version_without_a_list() {
    for fault in [code(403), code(404), code(429), code(500), code(503), code(504), reset()] {
        let failures = [error_line(fault.clone()), Input::WatchFailed(fault.clone())]
            .map(|fact| (matches!(fact, Input::WatchFailed(_)), fact));
        for (closed, fact) in failures {
            script_watching(&[
                (20, added("b", "101"), &[apply("b")]),
                (30, fact, if closed { &[] } else { &[CANCEL] }),
                (829, Input::Woke, &[]),
                (1230, Input::Woke, &[watch("101")]),
                (1240, Input::WatchFailed(fault.clone()), &[]),
                (2839, Input::Woke, &[]),
                (3640, Input::Woke, &[watch("101")]),
            ]);
        }
    }
}

#[test]
fn too_many_requests_wait_as_long_as_the_server_asks() {
    let busy = || code(429).retry_after(Duration::from_secs(3));
    script_watching(&[
        (20, Input::WatchEnded, &[watch("100")]),
        (30, Input::WatchFailed(busy()), &[]),
        (3029, Input::Woke, &[]),
        (3430, Input::Woke, &[watch("100")]),
        (3440, Input::WatchFailed(busy()), &[]),
        (6439, Input::Woke, &[]),
        (7240, Input::Woke, &[watch("100")]),
        (7250, Input::WatchOpened, &[]),
        (7260, added("b", "101"), &[apply("b")]),
    ]);
    script(&[
        (0, Input::Started, &[list()]),
        (10, Input::ListFailed(busy()), &[]),
        (3009, Input::Woke, &[]),
        (3410, Input::Woke, &[list()]),
        (3420, Input::ListFailed(code(503).retry_after(MAX_RETRY_AFTER * 10)), &[]),
        (303_419, Input::Woke, &[]),
        (304_220, Input::Woke, &[list()]),
    ]);
}

#[test]
fn a_bad_line_retries_and_the_lines_after_it_are_void() {
    script_watching(&[
        (20, added("b", "101"), &[apply("b")]),
        (21, bad_line(), &[CANCEL]),
        (21, added("c", "103"), &[]),
        (820, Input::Woke, &[]),
        (1221, Input::Woke, &[watch("101")]),
    ]);
}

#[test]
fn a_line_that_stays_bad_is_passed_by_a_list() {
    script_watching(&[
        (20, bad_line(), &[CANCEL]),
        (1220, Input::Woke, &[watch("100")]),
        (1221, Input::WatchOpened, &[]),
        (1222, bad_line(), &[CANCEL]),
        (3622, Input::Woke, &[watch("100")]),
        (3623, Input::WatchOpened, &[]),
        (3624, bad_line(), &[CANCEL]),
        (8424, Input::Woke, &[list()]),
    ]);
    // In between, a watch that worked for a while: those before it do not count.
    script_watching(&[
        (20, bad_line(), &[CANCEL]),
        (1220, Input::Woke, &[watch("100")]),
        (1221, Input::WatchOpened, &[]),
        (1222, bad_line(), &[CANCEL]),
        (3622, Input::Woke, &[watch("100")]),
        (3623, Input::WatchOpened, &[]),
        (8623, bad_line(), &[CANCEL]),
        (9823, Input::Woke, &[watch("100")]),
    ]);
}

#[test]
fn a_silent_watch_is_given_up_after_its_time_and_resumed() {
    script_watching(&[
        (20, added("a", "101"), &[apply("a")]),
        (320_009, Input::Woke, &[]),
        (320_010, Input::Woke, &[CANCEL]),
        (320_809, Input::Woke, &[]),
        (321_210, Input::Woke, &[watch("101")]),
        (321_220, Input::WatchOpened, &[]),
        (321_230, added("b", "102"), &[apply("b")]),
        // The deadline is that of the watch, not of its last event.
        (641_219, added("c", "103"), &[apply("c")]),
        (641_220, added("d", "104"), &[apply("d"), CANCEL]),
    ]);
}

#[test]
fn a_watch_that_is_not_answered_is_given_up() {
    script(&[
        (0, Input::Started, &[list()]),
        (5, page("100", &[]), &[INIT, DONE, watch("100")]),
        (75_004, Input::Woke, &[]),
        (75_005, Input::Woke, &[CANCEL]),
        (76_205, Input::Woke, &[watch("100")]),
    ]);
}

#[test]
fn the_watch_timeout_is_whole_seconds() {
    let millis = Duration::from_millis;
    for (watch_timeout, seconds) in
        [(millis(0), 1), (millis(1), 1), (millis(1000), 1), (millis(1001), 2), (Duration::MAX, u32::MAX)]
    {
        let opened = Output::OpenWatch { resource_version: "1".into(), timeout_seconds: seconds };
        script_with(
            Config { watch_timeout, ..Config::default() },
            &[
                (0, Input::Started, &[list()]),
                (5, page("1", &[]), &[INIT, DONE, opened]),
                (6, Input::WatchOpened, &[]),
                (7, added("a", "2"), &[apply("a")]),
            ],
        );
    }
}

// Phases, stop

#[test]
fn facts_that_the_phase_did_not_ask_for_change_nothing() {
    let facts = |names: &str| -> Vec<In> {
        let all = [
            ("start", Input::Started),
            ("list", page("7", &["x"])),
            ("list", Input::ListFailed(gone())),
            ("open", Input::WatchOpened),
            ("line", added("x", "7")),
            ("line", modified("x", "7")),
            ("line", deleted("x", "7")),
            ("line", bookmark("7")),
            ("line", error_line(gone())),
            ("line", bad_line()),
            ("end", Input::WatchEnded),
            ("end", Input::WatchFailed(gone())),
            ("woke", Input::Woke),
        ];
        all.into_iter().filter(|(name, _)| names.contains(name)).map(|(_, fact)| fact).collect()
    };
    let listed = || vec![Input::Started, page("1", &[])];
    let phases: [(&str, Vec<In>, &str); 6] = [
        ("idle", vec![], "list open line end woke"),
        ("listing", vec![Input::Started], "start open line end woke"),
        ("opening", listed(), "start list line woke"),
        ("watching", [listed(), vec![Input::WatchOpened]].concat(), "start list open woke"),
        ("waiting", vec![Input::Started, Input::ListFailed(reset())], "start list open line end woke"),
        ("stopped", vec![Input::Started, Input::Stopped], "start list open line end woke"),
    ];
    for (phase, way, unasked) in phases {
        for fact in facts(unasked) {
            let (start, mut machine) = (start(), Machine::new(Config::default(), 1));
            for fact in &way {
                machine.handle(start, fact.clone());
            }
            let before = format!("{machine:?}");
            machine.handle(start + Duration::from_millis(1), fact.clone());
            assert_eq!(format!("{machine:?}"), before, "{fact:?} while {phase}");
        }
    }
}

#[test]
fn a_stopped_machine_is_silent() {
    let (start, mut machine) = (start(), Machine::new(Config::default(), 1));
    machine.handle(start, Input::Started);
    machine.handle(start, page("1", &["a"]));
    assert!(machine.has_orders());
    machine.handle(start, Input::Stopped);
    assert_eq!((machine.has_orders(), machine.poll(), machine.deadline()), (false, None, None));
}
