//! The table of cases, one row for each fact: (milliseconds since the start, fact, orders).
//!
//! The settings are the defaults, 15 s / 10 s / 2 s, and this replica is `me`. A candidate's wait has up to 20 % jitter, so
//! a row at 2,400 ms after the last look is past it for every seed.

mod keeping;
mod leaving;
mod taking;

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::{
    Input::{LeaseSeen, ReadFailed, Started, StopRequested, Woke, WorkEnded, WriteFailed, Written},
    Output::{AbortWork, CreateLease, Ended, Lead, PutLease, ReadLease},
    *,
};
use crate::{record::LeaseTime, settings::Settings};

const REFUSED: Fault = Fault::Refused { code: 500 };

/// An election in virtual time, and the term it won.
struct Run {
    start: Instant,
    election: Election,
    term: Option<Term>,
}

impl Run {
    fn new(settings: Settings) -> Self {
        let election = Election::new(settings, 7).expect("settings of the test");
        Self { start: kube_client::clock::now(), election, term: None }
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn step(&mut self, ms: u64, input: Input) -> Vec<Output> {
        self.election.handle(self.at(ms), wall(ms), input);
        let orders: Vec<Output> = std::iter::from_fn(|| self.election.poll()).collect();
        for order in &orders {
            if let Lead(term) = order {
                self.term = Some(term.clone());
            }
        }
        orders
    }

    fn rows(&mut self, rows: &[(u64, Input, &[Output])]) {
        for (row, (ms, input, expected)) in rows.iter().enumerate() {
            let orders = self.step(*ms, input.clone());
            assert_eq!(orders, *expected, "row {row}: {input:?} at {ms} ms");
        }
    }

    fn term_stands(&self, ms: u64) -> bool {
        self.term.as_ref().expect("it has led").is_current(self.at(ms))
    }

    /// When the next wake is due, in milliseconds.
    fn deadline(&self) -> Option<u128> {
        self.election.deadline().map(|at| (at - self.start).as_millis())
    }

    fn answer_due(&self) -> Option<u128> {
        self.election.answer_due().map(|at| (at - self.start).as_millis())
    }
}

fn defaults() -> Settings {
    Settings::new("ns", "lease", "me")
}

fn script(rows: &[(u64, Input, &[Output])]) -> Run {
    let mut run = Run::new(defaults());
    run.rows(rows);
    run
}

/// The wall clock of this replica. It has nothing to do with the clock of others.
fn wall(ms: u64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(500_000) + Duration::from_millis(ms)
}

/// A record of `holder` that declares `seconds`, acquired and renewed at these milliseconds, in the term of this number.
fn record(holder: &str, seconds: u64, acquired: u64, renewed: u64, transitions: u32) -> Record {
    Record {
        holder: holder.to_owned(),
        lease_duration: Some(Duration::from_secs(seconds)),
        acquire_time: Some(LeaseTime::at(wall(acquired))),
        renew_time: Some(LeaseTime::at(wall(renewed))),
        transitions,
    }
}

fn me(acquired: u64, renewed: u64, transitions: u32) -> Record {
    record("me", 15, acquired, renewed, transitions)
}

fn other(renewed: u64, transitions: u32) -> Record {
    record("other", 15, 0, renewed, transitions)
}

fn released(ms: u64, transitions: u32) -> Record {
    record("", 1, ms, ms, transitions)
}

fn seen(record: Record, version: &str) -> Seen {
    Seen { record, resource_version: version.to_owned() }
}

fn saw(record: Record, version: &str) -> Input {
    LeaseSeen(Some(seen(record, version)))
}

fn wrote(record: Record, version: &str) -> Input {
    Written(seen(record, version))
}

fn absent() -> Input {
    LeaseSeen(None)
}

fn put(record: Record, version: &str) -> Output {
    PutLease { record, resource_version: version.to_owned() }
}

fn lead(token: u32) -> Output {
    let now = kube_client::clock::now();
    Lead(Term::new("me", token, now, now))
}

fn lost(loss: Loss) -> Output {
    Output::StepDown(StepDown::Lost(loss))
}

fn stop() -> Output {
    Output::StepDown(StepDown::Stop)
}

/// A leader of term 0 whose last renewal was sent at 0 ms, with version 1.
fn leader() -> Run {
    script(&[
        (0, Started, &[ReadLease]),
        (0, absent(), &[CreateLease(me(0, 0, 0))]),
        (0, wrote(me(0, 0, 0), "1"), &[lead(0)]),
    ])
}

#[test]
fn facts_that_the_phase_did_not_ask_for_change_nothing() {
    let stray = || {
        [absent(), saw(other(0, 0), "8"), wrote(me(0, 0, 0), "8"), ReadFailed(REFUSED), WriteFailed(REFUSED)]
    };
    for fact in stray().into_iter().chain([Woke, WorkEnded]) {
        let mut idle = Run::new(defaults());
        assert_eq!(idle.step(0, fact.clone()), [], "{fact:?}");
        assert_eq!(idle.step(1, Started), [ReadLease]);
    }
    for fact in stray().into_iter().chain([Started]) {
        let mut run = leader();
        assert_eq!(run.step(1, fact.clone()), [], "{fact:?}");
        assert_eq!(run.step(2_000, Woke), [put(me(0, 2_000, 0), "1")], "{fact:?}");
    }
    let mut reading =
        script(&[(0, Started, &[ReadLease]), (1, Started, &[]), (2, wrote(me(0, 0, 0), "8"), &[])]);
    reading.rows(&[
        (3, WorkEnded, &[]),
        (4, absent(), &[CreateLease(me(4, 4, 0))]),
        (5, saw(other(0, 0), "8"), &[]),
    ]);
}

#[test]
fn settings_that_cannot_be_kept_make_no_election() {
    assert!(Election::new(Settings::new("ns", "lease", ""), 0).is_err());
}

#[test]
fn only_an_answer_that_says_no_rules_out_that_the_write_took_effect() {
    for (fault, expected) in [
        (Fault::Conflict, false),
        (Fault::NotFound, false),
        (Fault::Refused { code: 403 }, false),
        (Fault::Refused { code: 429 }, false),
        (Fault::Refused { code: 500 }, true),
        (Fault::Refused { code: 504 }, true),
        (Fault::Unreachable, true),
        (Fault::TimedOut, true),
        (Fault::Garbled, true),
    ] {
        assert_eq!(fault.may_have_landed(), expected, "{fault}");
    }
}
