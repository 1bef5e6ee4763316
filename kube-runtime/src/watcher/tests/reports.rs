//! What a watcher tells people: problems, their ends, and the words for them.

use std::time::Duration;

use super::{
    super::{Cause, Config, Fault, Input, Machine, Output, Problem, Request},
    In, added, bookmark, code, drain, gone, page, page_before, reset, start,
};

#[test]
fn problems_say_what_happened_and_what_is_done() {
    let (start, mut machine) = (start(), Machine::<&str>::new(Config::default(), 1));
    let mut reports = |facts: Vec<In>| -> Vec<Problem> {
        for fact in facts {
            machine.handle(start, fact);
        }
        let orders = drain(&mut machine).into_iter();
        orders
            .filter_map(|order| if let Output::Report(problem) = order { Some(problem) } else { None })
            .collect()
    };
    assert_eq!(
        reports(vec![Input::Started, page("1", &[]), Input::WatchOpened, bookmark("2"), Input::WatchEnded]),
        []
    );
    let report = reports(vec![Input::WatchFailed(gone())]);
    assert_eq!(
        report,
        [Problem { during: Request::Watch, fault: gone(), failures: 0, delay: Duration::ZERO }]
    );
    let report = reports(vec![Input::ListFailed(reset())]);
    assert_eq!((report[0].during, &report[0].fault, report[0].failures), (Request::List, &reset(), 1));
    assert_eq!(start + report[0].delay, machine.deadline().unwrap());
}

#[test]
fn a_problem_is_over_when_a_list_is_complete_or_a_watch_works() {
    let listed = || vec![(0, Input::Started), (5, page("1", &["a"]))];
    let broken = || [listed(), vec![(10, Input::WatchFailed(reset())), (2000, Input::Woke)]].concat();
    let open = |more: &[(u64, In)]| [broken(), vec![(2010, Input::WatchOpened)], more.to_vec()].concat();
    for (facts, over) in [
        (listed(), false), // nothing was wrong
        (broken(), false),
        (open(&[]), false), // merely connected
        (open(&[(7009, Input::Woke)]), false),
        (open(&[(7010, Input::Woke)]), true), // for a while
        (open(&[(2011, added("b", "2"))]), true),
        (open(&[(2011, bookmark("2"))]), true),
        (open(&[(2011, Input::WatchEnded)]), false),
        (open(&[(7010, Input::WatchEnded)]), true),
        (vec![(0, Input::Started), (1, Input::ListFailed(reset())), (2000, Input::Woke)], false),
        (
            vec![
                (0, Input::Started),
                (1, Input::ListFailed(reset())),
                (2000, Input::Woke),
                (2001, page_before("t", "1", &[])),
            ],
            false,
        ),
        (
            vec![
                (0, Input::Started),
                (1, Input::ListFailed(reset())),
                (2000, Input::Woke),
                (2001, page("1", &[])),
            ],
            true,
        ),
    ] {
        let (start, mut machine) = (start(), Machine::new(Config::default(), 1));
        let told = |(ms, fact): &(u64, In)| {
            machine.handle(start + Duration::from_millis(*ms), fact.clone());
            drain(&mut machine)
        };
        let orders: Vec<_> = facts.iter().flat_map(told).collect();
        let shown = orders.iter().filter(|order| matches!(order, Output::Report(_))).count();
        let ended = orders.iter().filter(|order| **order == Output::Recovered).count();
        assert_eq!(ended == 1, over, "{facts:?}: {orders:?}");
        assert!(ended <= shown, "{facts:?}");
    }
}

#[test]
fn a_fault_reads_as_one_line() {
    let status = kube_core::Status {
        code: 403,
        reason: "Forbidden".into(),
        message: "no".into(),
        ..Default::default()
    };
    for (fault, text) in [
        (Fault::from(&status), "403 Forbidden: no"),
        (code(502), "502"),
        (reset(), "unreachable: connection reset"),
        (Fault::new(Cause::TimedOut, ""), "timed out"),
        (Fault::new(Cause::Garbled, "line 3"), "unreadable: line 3"),
        (Fault::new(Cause::ClosedAtOnce, ""), "closed at once"),
        (Fault::new(Cause::Panicked, "a bug"), "panicked: a bug"),
    ] {
        assert_eq!(fault.to_string(), text);
    }
}
