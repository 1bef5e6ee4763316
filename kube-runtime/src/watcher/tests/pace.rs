//! When a watcher asks: runs against a small server that go from one fact or deadline to the next.

use std::time::Duration;

use super::{
    super::{Config, Input, Machine, Output},
    In, Out, code, drain, gone, list, list_whole, page, page_before, reset, start,
};

/// A server that answers orders with (ms later, fact).
type Server<'a> = &'a mut dyn FnMut(u64, &Out) -> Vec<(u64, In)>;

/// Runs a watcher against `server` from one fact or deadline to the next until `end` ms. Returns the requests with
/// their times.
fn simulate(seed: u64, end: u64, server: Server<'_>) -> Vec<(u64, Out)> {
    let (start, mut machine) = (start(), Machine::new(Config::default(), seed));
    let (mut coming, mut requests) = (vec![(0, Input::Started)], Vec::new());
    loop {
        if let Some(deadline) = machine.deadline() {
            let ms = (deadline - start).as_micros().div_ceil(1000);
            coming.push((u64::try_from(ms).unwrap(), Input::Woke));
        }
        coming.sort_by_key(|(ms, _)| *ms);
        let (now, fact) = coming.remove(0);
        coming.retain(|(_, fact)| *fact != Input::Woke);
        if now > end {
            return requests;
        }
        machine.handle(start + Duration::from_millis(now), fact);
        for order in drain(&mut machine) {
            match order {
                Output::Cancel => coming.clear(),
                Output::List { .. } | Output::OpenWatch { .. } => {
                    coming.extend(server(now, &order).into_iter().map(|(ms, fact)| (now + ms, fact)));
                    requests.push((now, order));
                }
                Output::Emit(_) | Output::Report(_) | Output::Recovered => {}
            }
        }
    }
}

fn gaps(requests: &[(u64, Out)]) -> Vec<u64> {
    requests.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
}

#[test]
fn a_server_that_is_down_is_asked_ever_more_rarely() {
    let requests = simulate(1, 60_000, &mut |_, _| vec![(1, Input::ListFailed(reset()))]);
    let gaps = gaps(&requests);
    assert!((5..=12).contains(&requests.len()), "{requests:?}");
    assert!(gaps.windows(2).all(|pair| pair[0] < pair[1]), "{gaps:?}");
    let hour = simulate(1, 3_600_000, &mut |_, _| vec![(1, Input::ListFailed(reset()))]);
    assert!(self::gaps(&hour).iter().all(|gap| *gap <= 45_002));
}

#[test]
fn a_forbidden_watch_after_a_good_list_neither_lists_again_nor_hurries() {
    let requests = simulate(1, 60_000, &mut |_, order| match order {
        Output::List { .. } => vec![(1, page("1", &["a"]))],
        _ => vec![(1, Input::WatchFailed(code(403)))],
    });
    assert_eq!(requests.iter().filter(|(_, order)| *order == list()).count(), 1);
    assert!((5..=12).contains(&requests.len()), "{requests:?}");
}

#[test]
fn a_server_whose_versions_are_always_gone_is_not_listed_in_a_loop() {
    let requests = simulate(1, 60_000, &mut |_, order| match order {
        Output::List { .. } => vec![(1, page("1", &["a"]))],
        _ => vec![(1, Input::WatchFailed(gone()))],
    });
    assert!((10..=24).contains(&requests.len()), "{requests:?}");
}

#[test]
fn a_mere_connect_does_not_reset_the_delay() {
    let mut server = |_: u64, order: &Out| match order {
        Output::List { .. } => vec![(1, page("1", &[]))],
        _ => vec![(1, Input::WatchOpened), (100, Input::WatchFailed(reset()))],
    };
    let requests = simulate(1, 60_000, &mut server);
    assert!((5..=12).contains(&requests.len()), "{requests:?}");
}

#[test]
fn a_cut_after_a_healthy_minute_waits_the_first_delay() {
    let gaps_of = |seed| {
        let requests = simulate(seed, 620_000, &mut |_, order| match order {
            Output::List { .. } => vec![(0, page("1", &[]))],
            _ => vec![(0, Input::WatchOpened), (60_000, Input::WatchFailed(reset()))],
        });
        gaps(&requests[1..])
    };
    let gaps = gaps_of(1);
    assert_eq!(gaps.len(), 10);
    assert!(gaps.iter().all(|gap| (60_800..=61_201).contains(gap)), "{gaps:?}");
    assert_ne!(gaps, gaps_of(2), "another seed");
    assert_eq!(gaps, gaps_of(1), "the same seed");
}

#[test]
fn a_list_that_is_lost_even_without_pages_begins_anew_at_once_but_only_once() {
    // A server that answers in pages although it was not asked to, and forgets each token at once.
    let mut server = |_: u64, order: &Out| match order {
        Output::List { continue_token: Some(_), .. } => vec![(1, Input::ListFailed(gone()))],
        _ => vec![(1, page_before("t", "1", &[]))],
    };
    let requests = simulate(1, 60_000, &mut server);
    let firsts = requests.iter().filter(|(_, order)| *order == list()).count();
    let wholes = requests.iter().filter(|(_, order)| *order == list_whole()).count();
    assert!((5..=8).contains(&wholes) && firsts <= 4 * (wholes + 1), "{firsts} {wholes}");
}
