//! Leaving: with nothing in hand, in doubt, and with a lead to hand back.

use super::*;

#[test]
fn an_election_that_is_stopped_before_it_holds_anything_ends_at_once() {
    script(&[(0, StopRequested, &[Ended(Ending::NothingHeld)]), (1, Started, &[])]);
    script(&[
        (0, Started, &[ReadLease]),
        (1, StopRequested, &[Ended(Ending::NothingHeld)]),
        (2, absent(), &[]),
    ]);
    script(&[
        (0, Started, &[ReadLease]),
        (1, saw(other(0, 0), "1"), &[]),
        (2, StopRequested, &[Ended(Ending::NothingHeld)]),
        (99_000, Woke, &[]),
    ]);
}

#[test]
fn a_candidate_that_is_stopped_while_it_writes_hands_back_what_it_won() {
    let begun: [(u64, Input, &[Output]); 3] = [
        (0, Started, &[ReadLease]),
        (1, saw(released(0, 0), "1"), &[put(me(1, 1, 1), "1")]),
        (2, StopRequested, &[]),
    ];
    let mut won = script(&begun);
    won.rows(&[
        (3, wrote(me(1, 1, 1), "2"), &[put(released(3, 1), "2")]),
        (4, wrote(released(3, 1), "3"), &[Ended(Ending::Released)]),
    ]);
    let mut beaten = script(&begun);
    beaten.rows(&[
        (3, WriteFailed(Fault::Conflict), &[ReadLease]),
        (4, saw(other(2, 1), "2"), &[Ended(Ending::NothingHeld)]),
    ]);
    let mut unanswered = script(&begun);
    unanswered.rows(&[
        (5_001, WriteFailed(Fault::TimedOut), &[ReadLease]),
        (5_002, saw(me(1, 1, 1), "2"), &[put(released(5_002, 1), "2")]),
        (5_003, wrote(released(5_002, 1), "3"), &[Ended(Ending::Released)]),
    ]);
}

#[test]
fn a_candidate_that_is_stopped_in_doubt_looks_once_more() {
    script(&[
        (0, Started, &[ReadLease]),
        (1, absent(), &[CreateLease(me(1, 1, 0))]),
        (2, WriteFailed(Fault::Unreachable), &[]),
        (3, StopRequested, &[ReadLease]),
        (4, saw(me(1, 1, 0), "1"), &[put(released(4, 0), "1")]),
        (5, wrote(released(4, 0), "2"), &[Ended(Ending::Released)]),
    ]);
}

#[test]
fn a_stopped_leader_renews_until_its_work_has_ended_and_then_hands_back() {
    let mut run = leader();
    run.rows(&[
        (1_000, StopRequested, &[stop()]),
        (1_001, StopRequested, &[]),
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, wrote(me(0, 2_000, 0), "2"), &[]),
    ]);
    assert!(run.term_stands(11_999));
    run.rows(&[
        (3_000, WorkEnded, &[put(released(3_000, 0), "2")]),
        (3_001, wrote(released(3_000, 0), "3"), &[Ended(Ending::Released)]),
    ]);
    assert!(!run.term_stands(3_000));
}

#[test]
fn work_that_ends_by_itself_is_followed_by_the_release() {
    let mut run = leader();
    run.rows(&[(1_000, WorkEnded, &[put(released(1_000, 0), "1")])]);
    assert!(!run.term_stands(1_000), "withdrawn before the release is sent");
    run.rows(&[(1_001, wrote(released(1_000, 0), "2"), &[Ended(Ending::Released)])]);
}

#[test]
fn the_release_waits_for_the_renewal_that_is_on_its_way() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, StopRequested, &[stop()]),
        (2_002, WorkEnded, &[]),
        (2_003, wrote(me(0, 2_000, 0), "2"), &[put(released(2_003, 0), "2")]),
    ]);
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_002, WorkEnded, &[]),
        (2_003, WriteFailed(REFUSED), &[]),
        (4_000, Woke, &[ReadLease]),
        (4_001, saw(me(0, 2_000, 0), "2"), &[put(released(4_001, 0), "2")]),
    ]);
}

#[test]
fn the_release_is_guarded_by_what_is_on_the_lease() {
    let mut run = leader();
    run.rows(&[
        (1_000, WorkEnded, &[put(released(1_000, 0), "1")]),
        (1_001, WriteFailed(Fault::Conflict), &[ReadLease]),
        (1_002, saw(me(0, 0, 0), "2"), &[put(released(1_002, 0), "2")]), // touched: still ours
        (1_003, WriteFailed(Fault::TimedOut), &[]),
        (3_002, Woke, &[ReadLease]),
        (3_003, saw(other(3_000, 1), "4"), &[Ended(Ending::NothingHeld)]), // it had landed
    ]);
    let mut gone = leader();
    gone.rows(&[
        (1_000, WorkEnded, &[put(released(1_000, 0), "1")]),
        (1_001, WriteFailed(Fault::NotFound), &[Ended(Ending::NothingHeld)]),
    ]);
}

#[test]
fn a_release_that_cannot_be_made_is_given_up_when_the_deadline_would_have_passed() {
    let mut run = leader();
    run.rows(&[
        (1_000, WorkEnded, &[put(released(1_000, 0), "1")]),
        (6_000, WriteFailed(Fault::TimedOut), &[ReadLease]),
        (9_999, Woke, &[]),
        (10_000, Woke, &[Ended(Ending::Abandoned)]),
        (10_001, saw(me(0, 0, 0), "1"), &[]),
    ]);
}

#[test]
fn a_lead_that_is_lost_while_the_work_ends_is_told_and_not_released() {
    let mut run = leader();
    run.rows(&[
        (1_000, StopRequested, &[stop()]),
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (7_000, WriteFailed(Fault::TimedOut), &[ReadLease]),
        (10_000, Woke, &[lost(Loss::DeadlinePassed)]),
        (10_500, WorkEnded, &[Ended(Ending::Lost(Loss::DeadlinePassed))]),
    ]);
}
