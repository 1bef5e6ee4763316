//! The transitions of [`Election`]. The rules and their picture are in the module's doc; each function here is one of them.

use std::{
    collections::VecDeque,
    mem,
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};

use super::{Ending, Fault, Input, Loss, Output, Role, Standing, StepDown, lease_clock::LeaseClock};
use crate::{
    record::{LeaseTime, Record, Seen},
    settings::{JITTER, Settings, SettingsError},
    term::Term,
};

/// One replica's election for one Lease.
///
/// Two kinds of methods: [`handle`](Self::handle) takes a fact, and the others tell what follows from the facts so far. After each
/// fact take all orders with [`poll`](Self::poll), then wait for the next fact or for [`deadline`](Self::deadline), whichever is
/// first. `now` is monotonic and never goes back; every `now` past the deadline counts as a wake, whatever the fact is.
/// An answer to a request that nobody waits for any more changes nothing.
#[derive(Debug)]
pub struct Election {
    settings: Settings,
    rng: fastrand::Rng,
    phase: Phase,
    talk: Talk,
    clock: LeaseClock,
    claim: Option<Claim>,
    fault: Option<Fault>,
    orders: VecDeque<Output>,
}

/// What this replica is, named for what it waits for.
#[derive(Debug)]
enum Phase {
    /// For the start.
    Idle,
    /// For the Lease to be free, and then for the write that takes it.
    Contending,
    /// For the next renewal, until its term is over.
    Leading(Lead),
    /// For the work to end because it was told to stop; renews meanwhile.
    Draining(Lead),
    /// For the work to end because the lead is lost. From `abort_at` another may lead.
    Lost { loss: Loss, term: Term, abort_at: Option<Instant> },
    /// For the Lease to be handed back, until nothing is left of it anyway.
    Releasing { until: Instant },
    /// For nothing.
    Ended,
}

/// A term and the renewal that it rests on.
#[derive(Debug)]
struct Lead {
    term: Term,
    /// When the last successful renewal was sent.
    sent: Instant,
    /// When the lead is over without another.
    until: Instant,
}

/// The state of the exchange with the server: at most one request, or a time for the next.
#[derive(Debug)]
enum Talk {
    /// Nothing to ask.
    Quiet,
    /// When to try again. `trusted`: the version that was last seen is the result of our own write, so that a leader may
    /// write over it without reading first.
    Waiting { until: Instant, trusted: bool },
    /// A read is on its way. `again`: it follows a conflict.
    Reading { sent: Instant, due: Instant, again: bool },
    /// A write is on its way. `again`: it follows a conflict.
    Writing { sent: Instant, due: Instant, again: bool, write: Write },
}

/// What a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    /// To make the Lease, with this replica as its holder.
    Create,
    /// To become the holder, or to stay it.
    Hold,
    /// To hand the Lease back.
    Release,
}

/// What this run writes, or tried to write, as its own hold on the Lease. A record is ours only when all of it is there: the
/// name alone could be another run's.
#[derive(Debug)]
struct Claim {
    transitions: u32,
    acquired: LeaseTime,
    /// A write of it ended without an answer, and may have taken effect.
    doubtful: bool,
}

impl Election {
    /// An election that has not started. The seed decides the jitter.
    ///
    /// # Errors
    /// Settings that cannot be kept.
    pub fn new(settings: Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            rng: fastrand::Rng::with_seed(seed),
            phase: Phase::Idle,
            talk: Talk::Quiet,
            clock: LeaseClock::new(settings.lease_duration),
            claim: None,
            fault: None,
            orders: VecDeque::new(),
            settings,
        })
    }

    /// Takes a fact that became known at `now`. `wall` only fills the times of the records that are written.
    pub fn handle(&mut self, now: Instant, wall: Timestamp, input: Input) {
        self.expire(now);
        match input {
            Input::Started => self.start(now),
            Input::LeaseSeen(sight) => self.lease_seen(now, wall, sight),
            Input::ReadFailed(fault) => self.read_failed(now, fault),
            Input::Written(seen) => self.written(now, wall, seen),
            Input::WriteFailed(fault) => self.write_failed(now, wall, fault),
            Input::Woke => {}
            Input::StopRequested => self.stop(now),
            Input::WorkEnded => self.work_ended(now, wall),
        }
        self.wake(now, wall);
    }

    /// The next order, to be carried out before the next fact is handed in.
    pub fn poll(&mut self) -> Option<Output> {
        self.orders.pop_front()
    }

    /// When [`Input::Woke`] is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Instant> {
        let retry = match self.talk {
            Talk::Waiting { until, .. } => Some(until),
            Talk::Quiet | Talk::Reading { .. } | Talk::Writing { .. } => None,
        };
        let phase = match &self.phase {
            Phase::Leading(lead) | Phase::Draining(lead) => Some(lead.until),
            Phase::Lost { abort_at, .. } => *abort_at,
            Phase::Releasing { until } => Some(*until),
            Phase::Idle | Phase::Contending | Phase::Ended => None,
        };
        [retry, phase].into_iter().flatten().min()
    }

    /// When the request on its way has to be given up and reported as [`Fault::TimedOut`]; `None` when no answer is waited
    /// for. Half the renew deadline, so that one lost answer does not cost the lead, and never more than is left of it.
    pub fn answer_due(&self) -> Option<Instant> {
        match self.talk {
            Talk::Reading { due, .. } | Talk::Writing { due, .. } => Some(due),
            Talk::Quiet | Talk::Waiting { .. } => None,
        }
    }

    /// Where the election stands.
    pub fn standing(&self) -> Standing {
        let (role, term) = match &self.phase {
            Phase::Contending => (Role::Candidate, None),
            Phase::Leading(lead) => (Role::Leader, Some(&lead.term)),
            Phase::Draining(lead) => (Role::Leaving, Some(&lead.term)),
            Phase::Lost { term, .. } => (Role::Leaving, Some(term)),
            Phase::Releasing { .. } => (Role::Leaving, None),
            Phase::Idle | Phase::Ended => (Role::Outside, None),
        };
        Standing { role, record: self.clock.record().cloned(), term: term.cloned(), fault: self.fault }
    }

    // What time does.

    /// Ends what has run out. First at every fact, so that no answer, however good, is taken after its time. A process that
    /// was stopped for long may find several times passed.
    fn expire(&mut self, now: Instant) {
        if let Phase::Leading(lead) | Phase::Draining(lead) = &self.phase
            && now >= lead.until
        {
            self.lose(Loss::DeadlinePassed);
        }
        if let Phase::Lost { abort_at, .. } = &mut self.phase
            && abort_at.take_if(|at| now >= *at).is_some()
        {
            self.orders.push_back(Output::AbortWork);
        }
        if let Phase::Releasing { until } = self.phase
            && now >= until
        {
            self.end(Ending::Abandoned);
        }
    }

    /// Begins the next try when its time has come.
    fn wake(&mut self, now: Instant, wall: Timestamp) {
        let Talk::Waiting { until, trusted } = self.talk else { return };
        if now < until {
            return;
        }
        match self.phase {
            Phase::Leading(_) | Phase::Draining(_) if trusted => self.hold(now, wall, false),
            Phase::Contending | Phase::Leading(_) | Phase::Draining(_) | Phase::Releasing { .. } => {
                self.read(now, false);
            }
            Phase::Idle | Phase::Lost { .. } | Phase::Ended => self.talk = Talk::Quiet,
        }
    }

    // What the application does.

    fn start(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle) {
            self.phase = Phase::Contending;
            self.read(now, false);
        }
    }

    fn stop(&mut self, now: Instant) {
        match mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Idle => self.end(Ending::NothingHeld),
            Phase::Contending => self.stop_contending(now),
            Phase::Leading(lead) => {
                self.phase = Phase::Draining(lead);
                self.orders.push_back(Output::StepDown(StepDown::Stop));
            }
            unchanged
            @ (Phase::Draining(_) | Phase::Lost { .. } | Phase::Releasing { .. } | Phase::Ended) => {
                self.phase = unchanged;
            }
        }
    }

    /// A candidate leaves at once, unless it may have taken the Lease without knowing it yet.
    fn stop_contending(&mut self, now: Instant) {
        let until = now + self.settings.renew_deadline;
        match self.talk {
            Talk::Writing { .. } => self.phase = Phase::Releasing { until },
            Talk::Quiet | Talk::Waiting { .. } | Talk::Reading { .. } => {
                if !self.claim.as_ref().is_some_and(|claim| claim.doubtful) {
                    self.end(Ending::NothingHeld);
                    return;
                }
                self.phase = Phase::Releasing { until };
                if !matches!(self.talk, Talk::Reading { .. }) {
                    self.read(now, false);
                }
            }
        }
    }

    /// The work has been joined: now, and only now, the Lease may be handed back.
    fn work_ended(&mut self, now: Instant, wall: Timestamp) {
        match mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Leading(lead) | Phase::Draining(lead) => {
                lead.term.end();
                self.phase = Phase::Releasing { until: lead.until };
                match self.talk {
                    Talk::Waiting { trusted: true, .. } => self.release(now, wall, false),
                    Talk::Quiet | Talk::Waiting { trusted: false, .. } => self.read(now, false),
                    // Its answer comes first: two requests on their way could land in either order.
                    Talk::Reading { .. } | Talk::Writing { .. } => {}
                }
            }
            Phase::Lost { loss, .. } => self.end(Ending::Lost(loss)),
            unchanged @ (Phase::Idle | Phase::Contending | Phase::Releasing { .. } | Phase::Ended) => {
                self.phase = unchanged;
            }
        }
    }

    // What the server does.

    fn lease_seen(&mut self, now: Instant, wall: Timestamp, sight: Option<Seen>) {
        let Talk::Reading { again, .. } = self.talk else { return };
        self.talk = Talk::Quiet;
        self.fault = None;
        self.clock.saw(now, sight);
        self.judge(now, wall, again);
    }

    fn read_failed(&mut self, now: Instant, fault: Fault) {
        let Talk::Reading { sent, .. } = self.talk else { return };
        self.fault = Some(fault);
        self.retry(now, sent);
    }

    fn written(&mut self, now: Instant, wall: Timestamp, seen: Seen) {
        let Talk::Writing { sent, again, write, .. } = self.talk else { return };
        self.talk = Talk::Quiet;
        self.fault = None;
        self.clock.saw(now, Some(seen));
        if write == Write::Release {
            self.end(Ending::Released);
            return;
        }
        let ours = self.claim_stands();
        match &mut self.phase {
            // The server stored something else than what was sent. There is no use in sending it again at once.
            Phase::Contending if !ours => self.retry(now, sent),
            Phase::Contending => self.won(now, wall, sent, again),
            Phase::Leading(_) | Phase::Draining(_) | Phase::Releasing { .. } if !ours => {
                self.judge(now, wall, again);
            }
            Phase::Leading(lead) | Phase::Draining(lead) => {
                lead.sent = sent;
                lead.until = sent + self.settings.renew_deadline;
                lead.term.extend(lead.until);
                self.renew_next(now, sent);
            }
            Phase::Releasing { .. } => self.release(now, wall, again),
            Phase::Idle | Phase::Lost { .. } | Phase::Ended => {}
        }
    }

    fn write_failed(&mut self, now: Instant, wall: Timestamp, fault: Fault) {
        let Talk::Writing { sent, again, write, .. } = self.talk else { return };
        self.fault = Some(fault);
        if let Some(claim) = &mut self.claim {
            claim.doubtful |= fault.may_have_landed();
        }
        match fault {
            // Once for each try: whoever keeps changing the Lease is met again after the retry period, not at once.
            Fault::Conflict if !again => self.read(now, true),
            Fault::NotFound if !again && write != Write::Create => {
                self.talk = Talk::Quiet;
                self.clock.saw(now, None);
                self.judge(now, wall, true);
            }
            Fault::Conflict
            | Fault::NotFound
            | Fault::Refused { .. }
            | Fault::Unreachable
            | Fault::TimedOut
            | Fault::Garbled => self.retry(now, sent),
        }
    }

    // Decisions.

    /// Decides on what was just seen.
    fn judge(&mut self, now: Instant, wall: Timestamp, again: bool) {
        match &self.phase {
            Phase::Contending => self.contend(now, wall, again),
            Phase::Leading(_) | Phase::Draining(_) => match self.clock.record() {
                // Deleted under the leader: it is made again, and the term goes on.
                _ if self.clock.version().is_none() || self.claim_stands() => self.hold(now, wall, again),
                Some(record) if !record.holder.is_empty() => {
                    let by = record.holder.clone();
                    self.lose(Loss::Taken { by });
                }
                Some(_) | None => self.lose(Loss::Emptied),
            },
            Phase::Releasing { .. } if self.clock.version().is_some() && self.claim_stands() => {
                self.release(now, wall, again);
            }
            Phase::Releasing { .. } => self.end(Ending::NothingHeld),
            Phase::Idle | Phase::Lost { .. } | Phase::Ended => {}
        }
    }

    /// Takes the Lease if it is free, else waits: for the next look, or for the holder's time to run out if that is sooner.
    fn contend(&mut self, now: Instant, wall: Timestamp, again: bool) {
        if self.claim_stands() {
            // A write whose answer was lost has taken effect.
            self.hold(now, wall, again);
            return;
        }
        if let Some(free_at) = self.clock.free_at().filter(|at| now < *at) {
            self.claim = None;
            let until = free_at.min(now + self.jittered_retry());
            self.talk = Talk::Waiting { until, trusted: false };
            return;
        }
        let transitions = self.clock.next_transitions();
        if self.claim.as_ref().is_none_or(|claim| claim.transitions != transitions) {
            self.claim = Some(Claim { transitions, acquired: LeaseTime::at(wall), doubtful: false });
        }
        self.hold(now, wall, again);
    }

    /// A write of the claim succeeded: this replica leads, if the answer came before the lead would be over.
    fn won(&mut self, now: Instant, wall: Timestamp, sent: Instant, again: bool) {
        let until = sent + self.settings.renew_deadline;
        let Some(claim) = self.claim.as_mut().filter(|_| now < until) else {
            self.hold(now, wall, again);
            return;
        };
        claim.doubtful = false;
        let term = Term::new(&self.settings.identity, claim.transitions, sent, until);
        self.orders.push_back(Output::Lead(term.clone()));
        self.phase = Phase::Leading(Lead { term, sent, until });
        self.renew_next(now, sent);
    }

    /// Withdraws the lead. Not one more request: a renewal that fails now would not help, one that succeeds would keep
    /// the successor waiting.
    fn lose(&mut self, loss: Loss) {
        let (Phase::Leading(lead) | Phase::Draining(lead)) = mem::replace(&mut self.phase, Phase::Ended)
        else {
            unreachable!("only a lead is lost: both callers match on it")
        };
        lead.term.end();
        self.talk = Talk::Quiet;
        self.orders.push_back(Output::StepDown(StepDown::Lost(loss.clone())));
        let abort_at = Some(lead.sent + self.settings.lease_duration);
        self.phase = Phase::Lost { loss, term: lead.term, abort_at };
    }

    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Ended;
        self.talk = Talk::Quiet;
        self.orders.push_back(Output::Ended(ending));
    }

    // Requests and times.

    fn read(&mut self, now: Instant, again: bool) {
        self.talk = Talk::Reading { sent: now, due: self.due(now), again };
        self.orders.push_back(Output::ReadLease);
    }

    /// Writes the claim: the first time to become the holder, later to stay it.
    fn hold(&mut self, now: Instant, wall: Timestamp, again: bool) {
        let Some(claim) = &self.claim else {
            unreachable!("a candidate claims before it writes, and a leader keeps its claim")
        };
        let record = Record {
            holder: self.settings.identity.clone(),
            lease_duration: Some(self.settings.lease_duration),
            acquire_time: Some(claim.acquired.clone()),
            renew_time: Some(self.renewal_time(wall)),
            transitions: claim.transitions,
        };
        self.write(now, record, again, Write::Hold);
    }

    /// Hands the Lease back. The record is complete, with a duration of 1 s: the server refuses less.
    fn release(&mut self, now: Instant, wall: Timestamp, again: bool) {
        let record = Record {
            holder: String::new(),
            lease_duration: Some(Duration::from_secs(1)),
            acquire_time: Some(LeaseTime::at(wall)),
            renew_time: Some(self.renewal_time(wall)),
            transitions: self.claim.as_ref().map_or(0, |claim| claim.transitions),
        };
        self.write(now, record, again, Write::Release);
    }

    fn write(&mut self, now: Instant, record: Record, again: bool, write: Write) {
        let (write, order) = match self.clock.version() {
            Some(version) => (write, Output::PutLease { record, resource_version: version.to_owned() }),
            None => (Write::Create, Output::CreateLease(record)),
        };
        self.talk = Talk::Writing { sent: now, due: self.due(now), again, write };
        self.orders.push_back(order);
    }

    /// A time that differs from the one on the Lease, so that each renewal is a change even where the clock was set back.
    fn renewal_time(&self, wall: Timestamp) -> LeaseTime {
        let time = LeaseTime::at(wall);
        let last = self.clock.record().and_then(|record| record.renew_time.as_ref());
        if last == Some(&time) { LeaseTime::at(wall + SignedDuration::from_micros(1)) } else { time }
    }

    /// Whether the record that was last seen is what this run wrote.
    fn claim_stands(&self) -> bool {
        self.claim.as_ref().zip(self.clock.record()).is_some_and(|(claim, record)| {
            record.holder == self.settings.identity
                && record.transitions == claim.transitions
                && record.acquire_time.as_ref() == Some(&claim.acquired)
        })
    }

    /// When a request that is sent now has to be answered.
    fn due(&self, now: Instant) -> Instant {
        let bound = now + self.settings.renew_deadline / 2;
        match &self.phase {
            Phase::Leading(lead) | Phase::Draining(lead) => bound.min(lead.until),
            Phase::Releasing { until } => bound.min(*until),
            Phase::Idle | Phase::Contending | Phase::Lost { .. } | Phase::Ended => bound,
        }
    }

    /// One retry period after the renewal was sent, not after it was answered: slow answers do not make renewals rarer.
    fn renew_next(&mut self, now: Instant, sent: Instant) {
        self.talk = Talk::Waiting { until: now.max(sent + self.settings.retry_period), trusted: true };
    }

    /// After a failure the next try begins with a read. A candidate has time and spreads its tries; a leader has not.
    fn retry(&mut self, now: Instant, sent: Instant) {
        let until = match self.phase {
            Phase::Contending => now + self.jittered_retry(),
            Phase::Leading(_)
            | Phase::Draining(_)
            | Phase::Releasing { .. }
            | Phase::Idle
            | Phase::Lost { .. }
            | Phase::Ended => now.max(sent + self.settings.retry_period),
        };
        self.talk = Talk::Waiting { until, trusted: false };
    }

    fn jittered_retry(&mut self) -> Duration {
        self.settings.retry_period.mul_f64(1.0 + JITTER * self.rng.f64())
    }
}
