//! Keeping the Lease, and noticing that it is lost.

use super::*;

#[test]
fn the_deadline_counts_from_when_the_renewal_was_sent() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (
            6_900,
            wrote(me(0, 2_000, 0), "2"),
            &[
                put(me(0, 6_900, 0), "2"), // one retry period after it was sent is over
            ],
        ),
    ]);
    assert!(run.term_stands(11_999));
    assert!(!run.term_stands(12_000));
    run.rows(&[(11_999, Woke, &[]), (12_000, Woke, &[lost(Loss::DeadlinePassed)])]);
}

#[test]
fn a_leader_whose_every_write_is_refused_steps_down_by_its_deadline() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, WriteFailed(REFUSED), &[]),
        (4_000, Woke, &[ReadLease]),
        (4_001, saw(me(0, 0, 0), "1"), &[put(me(0, 4_001, 0), "1")]),
        (4_002, WriteFailed(REFUSED), &[]),
        (6_001, Woke, &[ReadLease]),
        (6_002, saw(me(0, 0, 0), "1"), &[put(me(0, 6_002, 0), "1")]),
        (6_003, WriteFailed(REFUSED), &[]),
        (8_002, Woke, &[ReadLease]),
        (8_003, saw(me(0, 0, 0), "1"), &[put(me(0, 8_003, 0), "1")]),
        (8_004, WriteFailed(REFUSED), &[]),
        (9_999, Woke, &[]),
    ]);
    assert!(run.term_stands(9_999));
    run.rows(&[
        (10_000, Woke, &[lost(Loss::DeadlinePassed)]),
        (12_000, Woke, &[]),
        (12_500, WorkEnded, &[Ended(Ending::Lost(Loss::DeadlinePassed))]),
        (12_501, StopRequested, &[]),
    ]);
}

#[test]
fn an_answer_after_stepping_down_is_ignored_and_work_that_stays_is_aborted_when_the_lease_is_over() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (7_000, WriteFailed(Fault::TimedOut), &[ReadLease]),
        (10_000, Woke, &[lost(Loss::DeadlinePassed)]),
        (10_001, saw(me(0, 0, 0), "1"), &[]),
        (10_002, wrote(me(0, 2_000, 0), "2"), &[]),
        (14_999, Woke, &[]),
        (15_000, Woke, &[AbortWork]),
        (16_000, Woke, &[]),
        (16_001, WorkEnded, &[Ended(Ending::Lost(Loss::DeadlinePassed))]),
    ]);
    assert!(!run.term_stands(0));
}

#[test]
fn an_answer_that_arrives_with_the_deadline_is_too_late() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (10_000, wrote(me(0, 2_000, 0), "2"), &[lost(Loss::DeadlinePassed)]),
    ]);
}

#[test]
fn a_process_that_was_stopped_for_half_a_minute_does_not_lead_when_it_runs_again() {
    let mut run = leader();
    assert!(!run.term_stands(30_000), "before any fact is handed in");
    run.rows(&[(30_000, Woke, &[lost(Loss::DeadlinePassed), AbortWork]), (30_001, Woke, &[])]);
}

#[test]
fn each_request_has_half_the_deadline_and_never_more_than_is_left_of_it() {
    let mut run = script(&[(0, Started, &[ReadLease])]);
    assert_eq!(run.answer_due(), Some(5_000));
    run.rows(&[(0, absent(), &[CreateLease(me(0, 0, 0))]), (0, wrote(me(0, 0, 0), "1"), &[lead(0)])]);
    assert_eq!(run.answer_due(), None);
    run.rows(&[(2_000, Woke, &[put(me(0, 2_000, 0), "1")])]);
    assert_eq!(run.answer_due(), Some(7_000));
    run.rows(&[(7_000, WriteFailed(Fault::TimedOut), &[ReadLease])]);
    assert_eq!(run.answer_due(), Some(10_000));
    run.rows(&[(8_000, saw(me(0, 0, 0), "1"), &[put(me(0, 8_000, 0), "1")])]);
    assert_eq!(run.answer_due(), Some(10_000));
    run.rows(&[(10_000, Woke, &[lost(Loss::DeadlinePassed)])]);
    assert_eq!(run.answer_due(), None);
}

#[test]
fn a_leader_that_sees_another_on_the_lease_steps_down_at_once() {
    let taken = |by: &str| Loss::Taken { by: by.to_owned() };
    for (found, loss) in [
        (other(2_000, 1), taken("other")),
        (record("me", 15, 1_999, 2_000, 1), taken("me")), // another run of the same name
        (released(2_000, 1), Loss::Emptied),
        (Record::default(), Loss::Emptied),
    ] {
        let mut run = leader();
        run.rows(&[
            (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
            (2_001, WriteFailed(Fault::Conflict), &[ReadLease]),
            (2_002, saw(found, "9"), &[lost(loss.clone())]),
            (2_003, WorkEnded, &[Ended(Ending::Lost(loss))]),
        ]);
        assert!(!run.term_stands(2_002));
    }
}

#[test]
fn a_leader_whose_lease_was_touched_renews_over_the_touch() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, WriteFailed(Fault::Conflict), &[ReadLease]),
        (2_002, saw(me(0, 0, 0), "2"), &[put(me(0, 2_002, 0), "2")]),
        (2_003, WriteFailed(Fault::Conflict), &[]),
        (4_002, Woke, &[ReadLease]),
        (4_003, saw(me(0, 0, 0), "3"), &[put(me(0, 4_003, 0), "3")]),
        (4_004, wrote(me(0, 4_003, 0), "4"), &[]),
    ]);
}

#[test]
fn a_lease_deleted_under_its_leader_is_made_again_in_the_same_term() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, WriteFailed(Fault::NotFound), &[CreateLease(me(0, 2_001, 0))]),
        (2_002, WriteFailed(Fault::NotFound), &[]), // the namespace is gone too
        (4_001, Woke, &[ReadLease]),
        (4_002, absent(), &[CreateLease(me(0, 4_002, 0))]),
        (4_003, wrote(me(0, 4_002, 0), "9"), &[]),
        (6_002, Woke, &[put(me(0, 6_002, 0), "9")]),
    ]);
    assert!(run.term_stands(14_001));
}

#[test]
fn a_lease_deleted_and_taken_under_its_leader_is_lost() {
    let mut run = leader();
    run.rows(&[
        (2_000, Woke, &[put(me(0, 2_000, 0), "1")]),
        (2_001, WriteFailed(Fault::NotFound), &[CreateLease(me(0, 2_001, 0))]),
        (2_002, WriteFailed(Fault::Conflict), &[]),
        (4_001, Woke, &[ReadLease]),
        (4_002, saw(other(2_001, 0), "2"), &[lost(Loss::Taken { by: "other".into() })]),
    ]);
}

#[test]
fn each_renewal_is_a_change_even_when_the_wall_clock_stands_still() {
    let mut run = leader();
    let still = wall(0);
    run.election.handle(run.at(2_000), still, Woke);
    let Some(PutLease { record, .. }) = run.election.poll() else { panic!("a renewal") };
    assert_ne!(record, me(0, 0, 0));
    assert_eq!(record.renew_time, Some(LeaseTime::at(still + SignedDuration::from_micros(1))));
}
