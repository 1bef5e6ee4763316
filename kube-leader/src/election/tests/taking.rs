//! Taking the Lease, and waiting for it.

use super::*;

#[test]
fn a_missing_lease_is_created_and_led_only_once_that_succeeded() {
    let run = script(&[
        (0, Started, &[ReadLease]),
        (5, absent(), &[CreateLease(me(5, 5, 0))]),
        (9, Woke, &[]),
        (10, wrote(me(5, 5, 0), "1"), &[lead(0)]),
        (2_004, Woke, &[]),
        (2_005, Woke, &[put(me(5, 2_005, 0), "1")]),
        (2_010, wrote(me(5, 2_005, 0), "2"), &[]),
        (4_005, Woke, &[put(me(5, 4_005, 0), "2")]),
    ]);
    assert_eq!(run.election.standing().role, Role::Leader);
}

#[test]
fn a_lease_without_a_holder_is_taken_at_once() {
    for (unheld, taken) in [
        (Record::default(), me(5, 5, 1)), // made by hand, empty spec
        (released(0, 4), me(5, 5, 5)),    // handed back
        (Record { transitions: 9, ..other(0, 0) }, me(5, 5, 10)),
        // The field has 31 bits on the server: a count that is at its end stays there.
        (Record { transitions: i32::MAX.unsigned_abs(), ..other(0, 0) }, me(5, 5, i32::MAX.unsigned_abs())),
    ] {
        let unheld = Record { holder: String::new(), ..unheld };
        script(&[
            (0, Started, &[ReadLease]),
            (5, saw(unheld, "3"), &[put(taken.clone(), "3")]),
            (6, wrote(taken.clone(), "4"), &[lead(taken.transitions)]),
        ]);
    }
}

#[test]
fn a_held_lease_is_waited_for_and_each_change_starts_the_wait_again() {
    script(&[
        (0, Started, &[ReadLease]),
        (5, saw(other(0, 3), "3"), &[]),
        (2_405, Woke, &[ReadLease]),
        (2_410, saw(other(2_000, 3), "4"), &[]),
        (17_000, Woke, &[ReadLease]), // late, but 14.59 s since the change
        (17_005, saw(other(2_000, 3), "4"), &[]),
        (17_409, Woke, &[]),
        (17_410, Woke, &[ReadLease]), // the holder's time is up before the next retry
        (17_411, saw(other(2_000, 3), "4"), &[put(me(17_411, 17_411, 4), "4")]),
        (17_412, wrote(me(17_411, 17_411, 4), "5"), &[lead(4)]),
    ]);
}

#[test]
fn a_holder_is_respected_for_the_duration_that_it_declares() {
    for (seconds, free_at) in [(30, 30_000), (15, 15_000), (3, 3_000)] {
        let held = record("other", seconds, 0, 0, 0);
        let mut run = script(&[(0, Started, &[ReadLease]), (0, saw(held.clone(), "3"), &[])]);
        run.rows(&[
            (free_at - 1, Woke, &[ReadLease]),
            (free_at - 1, saw(held.clone(), "3"), &[]),
            (free_at, Woke, &[ReadLease]),
            (free_at, saw(held, "3"), &[put(me(free_at, free_at, 1), "3")]),
        ]);
    }
    let undeclared = Record { lease_duration: None, ..other(0, 0) };
    script(&[
        (0, Started, &[ReadLease]),
        (0, saw(undeclared.clone(), "3"), &[]),
        (14_999, Woke, &[ReadLease]),
        (14_999, saw(undeclared, "3"), &[]),
    ]);
}

#[test]
fn no_time_in_a_record_is_compared_with_a_clock() {
    let hour = 3_600_000;
    let at = |text: &str| Record { renew_time: Some(LeaseTime::read(text)), ..other(0, 0) };
    // An hour in the past and changing: never stolen. The records are of another base, far before this replica's time.
    let past = |ms: u64| at(&(wall(ms) - SignedDuration::from_hours(1)).to_string());
    let mut run = script(&[(0, Started, &[ReadLease]), (0, saw(past(0), "1"), &[])]);
    for step in 1..20 {
        run.rows(&[
            (step * 2_400, Woke, &[ReadLease]),
            (step * 2_400, saw(past(step * 2_000), &format!("{step}")), &[]),
        ]);
    }
    // An hour in the future, unreadable or missing, and not changing: taken after the duration.
    let missing = Record { renew_time: None, acquire_time: None, ..other(0, 0) };
    for held in [other(hour, 0), at("soon"), missing] {
        script(&[
            (0, Started, &[ReadLease]),
            (0, saw(held.clone(), "1"), &[]),
            (15_000, Woke, &[ReadLease]),
            (15_000, saw(held, "1"), &[put(me(15_000, 15_000, 1), "1")]),
        ]);
    }
}

#[test]
fn a_touched_label_is_no_sign_of_life() {
    script(&[
        (0, Started, &[ReadLease]),
        (0, saw(other(0, 0), "1"), &[]),
        (14_000, Woke, &[ReadLease]),
        (14_000, saw(other(0, 0), "2"), &[]),
        (15_000, Woke, &[ReadLease]),
        (15_000, saw(other(0, 0), "3"), &[put(me(15_000, 15_000, 1), "3")]),
    ]);
}

#[test]
fn a_lease_that_vanishes_under_a_holder_is_in_force_until_its_time_is_up_and_its_number_goes_on() {
    script(&[
        (0, Started, &[ReadLease]),
        (0, saw(other(0, 6), "1"), &[]),
        (2_400, Woke, &[ReadLease]),
        (2_400, absent(), &[]),
        (14_999, Woke, &[ReadLease]),
        (14_999, absent(), &[]),
        (15_000, Woke, &[ReadLease]),
        (15_000, absent(), &[CreateLease(me(15_000, 15_000, 7))]),
    ]);
}

#[test]
fn a_conflict_is_read_and_judged_at_once_but_only_once_for_each_try() {
    script(&[
        (0, Started, &[ReadLease]),
        (0, absent(), &[CreateLease(me(0, 0, 0))]),
        (1, WriteFailed(Fault::Conflict), &[ReadLease]),
        (2, saw(other(1, 0), "1"), &[]), // another was faster
        (2_402, Woke, &[ReadLease]),
        (2_403, saw(released(2_402, 0), "2"), &[put(me(2_403, 2_403, 1), "2")]),
        (2_404, WriteFailed(Fault::Conflict), &[ReadLease]),
        (2_405, saw(released(2_402, 0), "3"), &[put(me(2_403, 2_405, 1), "3")]),
        (2_406, WriteFailed(Fault::Conflict), &[]), // somebody keeps touching it
        (4_405, Woke, &[]),
        (4_806, Woke, &[ReadLease]),
    ]);
}

#[test]
fn a_candidate_tries_for_ever_with_up_to_a_fifth_of_jitter() {
    for fault in [REFUSED, Fault::Refused { code: 403 }, Fault::Unreachable, Fault::TimedOut, Fault::NotFound]
    {
        let mut run = script(&[(0, Started, &[ReadLease])]);
        let (mut now, mut waits) = (0, Vec::new());
        for _ in 0..50 {
            assert_eq!(run.step(now, ReadFailed(fault)), []);
            assert_eq!(run.election.standing().fault, Some(fault));
            let next = run.deadline().expect("a retry");
            waits.push(next - u128::from(now));
            now = u64::try_from(next).expect("a short test") + 1;
            assert_eq!(run.step(now, Woke), [ReadLease], "{fault}");
        }
        assert!(waits.iter().all(|wait| (2_000..2_400).contains(wait)), "{waits:?}");
        assert!(waits.iter().min() < waits.iter().max(), "{waits:?}");
        run.step(now, saw(other(0, 0), "1"));
        assert_eq!(run.election.standing().fault, None);
    }
}

#[test]
fn a_win_whose_answer_was_lost_is_recognised_and_led_after_one_more_write() {
    script(&[
        (0, Started, &[ReadLease]),
        (1, saw(released(0, 3), "1"), &[put(me(1, 1, 4), "1")]),
        (5_001, WriteFailed(Fault::TimedOut), &[]),
        (7_401, Woke, &[ReadLease]),
        (7_402, saw(me(1, 1, 4), "2"), &[put(me(1, 7_402, 4), "2")]),
        (7_403, wrote(me(1, 7_402, 4), "3"), &[lead(4)]),
    ]);
}

#[test]
fn another_run_under_the_same_name_is_waited_out_like_anyone_else() {
    script(&[
        (0, Started, &[ReadLease]),
        (0, saw(record("me", 15, 3, 3, 4), "1"), &[]),
        (15_000, Woke, &[ReadLease]),
        (15_000, saw(record("me", 15, 3, 3, 4), "1"), &[put(me(15_000, 15_000, 5), "1")]),
    ]);
}

#[test]
fn of_two_runs_under_one_name_that_took_the_same_term_only_the_one_that_wrote_it_leads() {
    script(&[
        (0, Started, &[ReadLease]),
        (1, saw(released(0, 3), "1"), &[put(me(1, 1, 4), "1")]),
        (2, WriteFailed(Fault::Conflict), &[ReadLease]),
        (3, saw(me(0, 0, 4), "2"), &[]), // the other's: it was acquired at another time
        (2_403, Woke, &[ReadLease]),
    ]);
}

#[test]
fn a_win_that_is_answered_after_the_renew_deadline_is_not_led_but_renewed() {
    script(&[
        (0, Started, &[ReadLease]),
        (0, absent(), &[CreateLease(me(0, 0, 0))]),
        (10_000, wrote(me(0, 0, 0), "1"), &[put(me(0, 10_000, 0), "1")]),
        (10_001, wrote(me(0, 10_000, 0), "2"), &[lead(0)]),
    ]);
}
