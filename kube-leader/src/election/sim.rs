//! Several elections, one fake Lease, no real time: never do two terms stand at once, and in the end somebody leads.
//!
//! Each run is decided by its seed: requests and answers are delayed, lost or refused, processes are stopped for a while, crash
//! and come back, wall clocks are an hour apart, work ends late or has to be aborted. The simulation jumps to the next
//! event; a failure prints the seed and the last events. The elections are the shipped ones.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    fmt::Debug,
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};

use super::{Election, Ending, Fault, Input, Output, StepDown};
use crate::{
    record::{Record, Seen},
    settings::Settings,
    term::Term,
};

/// How long faults happen, and how long afterwards everybody is left alone.
const FAULTS: u64 = 240_000;
const CALM: u64 = 60_000;

/// Far more than a run takes: a machine that asks to be woken and does nothing then would go round for ever.
const MAX_STEPS: u32 = 100_000;

#[derive(Clone, Debug)]
enum Request {
    Read,
    Create(Record),
    Put(Record, String),
}

/// What happens to a process; `life` counts its starts, so that what was meant for an earlier one is dropped.
#[derive(Clone, Debug)]
enum Event {
    Arrive { process: usize, life: u32, id: u64, request: Request },
    Answer { process: usize, life: u32, id: u64, input: Input },
    WorkDone { process: usize, life: u32 },
    Stop { process: usize, life: u32 },
    Crash { process: usize, life: u32 },
    Freeze { process: usize, until: u64 },
    Start { process: usize },
}

#[derive(Default)]
struct Process {
    life: u32,
    election: Option<Election>,
    /// The request on its way: its id and whether it is a write.
    flight: Option<(u64, bool)>,
    working: bool,
    terms: Vec<Term>,
    frozen_until: u64,
}

/// The API server, as far as one Lease goes.
#[derive(Default)]
struct Store {
    lease: Option<Record>,
    version: u64,
    /// Breaks the contract on purpose: every record that is read declares this duration.
    declares: Option<Duration>,
}

impl Store {
    fn seen(&self) -> Option<Seen> {
        let mut record = self.lease.clone()?;
        record.lease_duration = self.declares.or(record.lease_duration);
        Some(Seen { record, resource_version: self.version.to_string() })
    }

    fn answer(&mut self, request: Request) -> Input {
        let record = match request {
            Request::Read => return Input::LeaseSeen(self.seen()),
            Request::Create(_) if self.lease.is_some() => return Input::WriteFailed(Fault::Conflict),
            Request::Put(..) if self.lease.is_none() => return Input::WriteFailed(Fault::NotFound),
            Request::Put(_, version) if version != self.version.to_string() => {
                return Input::WriteFailed(Fault::Conflict);
            }
            Request::Create(record) | Request::Put(record, _) => record,
        };
        self.version += 1;
        self.lease = Some(record);
        Input::Written(self.seen().expect("written just above"))
    }
}

struct Sim {
    rng: fastrand::Rng,
    base: Instant,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    pending: std::collections::HashMap<u64, Event>,
    next: u64,
    store: Store,
    processes: Vec<Process>,
    last_token: Option<u32>,
    leads: u32,
    trace: VecDeque<String>,
}

impl Sim {
    fn new(seed: u64, processes: usize) -> Self {
        let mut sim = Self {
            rng: fastrand::Rng::with_seed(seed),
            base: kube_client::clock::now(),
            now: 0,
            events: BinaryHeap::new(),
            pending: std::collections::HashMap::new(),
            next: 0,
            store: Store::default(),
            processes: (0..processes).map(|_| Process::default()).collect(),
            last_token: None,
            leads: 0,
            trace: VecDeque::new(),
        };
        for process in 0..processes {
            let start = sim.rng.u64(0..5_000);
            sim.at(start, Event::Start { process });
        }
        sim
    }

    fn at(&mut self, ms: u64, event: Event) {
        self.next += 1;
        self.pending.insert(self.next, event);
        self.events.push(Reverse((ms, self.next)));
    }

    fn instant(&self, ms: u64) -> Instant {
        self.base + Duration::from_millis(ms)
    }

    fn faulty(&mut self, percent: u8) -> bool {
        self.now < FAULTS && self.rng.u8(0..100) < percent
    }

    fn delay(&mut self) -> u64 {
        if self.faulty(4) { self.rng.u64(1_000..9_000) } else { self.rng.u64(1..200) }
    }

    fn note(&mut self, what: impl Debug) {
        if self.trace.len() == 60 {
            self.trace.pop_front();
        }
        self.trace.push_back(format!("{:>7} {what:?}", self.now));
    }

    /// Runs to the end, or to the first broken invariant.
    fn run(mut self) -> Result<u32, String> {
        let mut steps = 0;
        while let Some(ms) = self.next_time().filter(|ms| *ms <= FAULTS + CALM) {
            steps += 1;
            if steps > MAX_STEPS {
                return Err(format!("no end at {ms} ms: {:?}", self.trace.back()));
            }
            self.now = ms;
            self.happen();
            if let Err(broken) = self.check() {
                let trace: Vec<String> = self.trace.into_iter().collect();
                return Err(format!("{broken}\n{}", trace.join("\n")));
            }
        }
        self.now = FAULTS + CALM;
        if self.current().is_empty() {
            return Err(format!("nobody leads in the end: {:?}", self.trace));
        }
        Ok(self.leads)
    }

    /// The next moment at which something is due: an event, an answer that is given up, a wake.
    fn next_time(&self) -> Option<u64> {
        let wakes = self.processes.iter().filter_map(|process| self.wake_of(process));
        wakes.chain(self.events.peek().map(|Reverse((ms, _))| *ms)).min()
    }

    fn wake_of(&self, process: &Process) -> Option<u64> {
        let election = process.election.as_ref()?;
        let at = [election.deadline(), election.answer_due()].into_iter().flatten().min()?;
        // Rounded up: no wake is early.
        let ms = at.saturating_duration_since(self.base).as_nanos().div_ceil(1_000_000);
        Some(u64::try_from(ms).expect("a short run").max(process.frozen_until))
    }

    fn happen(&mut self) {
        while let Some(Reverse((ms, id))) =
            self.events.peek().copied().filter(|Reverse((ms, _))| *ms <= self.now)
        {
            self.events.pop();
            let event = self.pending.remove(&id).expect("an event is pending until it happens");
            self.note((ms, &event));
            self.event(event);
        }
        for index in 0..self.processes.len() {
            if self.wake_of(&self.processes[index]).is_some_and(|ms| ms <= self.now) {
                self.wake(index);
            }
        }
    }

    fn wake(&mut self, index: usize) {
        let now = self.instant(self.now);
        let process = &mut self.processes[index];
        let due = process.election.as_ref().and_then(Election::answer_due).is_some_and(|due| due <= now);
        match process.flight.take_if(|_| due) {
            Some((_, true)) => self.tell(index, Input::WriteFailed(Fault::TimedOut)),
            Some((_, false)) => self.tell(index, Input::ReadFailed(Fault::TimedOut)),
            None => self.tell(index, Input::Woke),
        }
    }

    fn event(&mut self, event: Event) {
        if let Event::Answer { process, .. } | Event::WorkDone { process, .. } | Event::Stop { process, .. } =
            event
        {
            let until = self.processes[process].frozen_until;
            if until > self.now {
                self.at(until, event);
                return;
            }
        }
        match event {
            Event::Arrive { process, life, id, request } => self.arrive(process, life, id, request),
            Event::Answer { process, life, id, input } if self.lives(process, life) => {
                if self.processes[process].flight.take_if(|(flight, _)| *flight == id).is_some() {
                    self.tell(process, input);
                }
            }
            Event::WorkDone { process, life } if self.lives(process, life) => {
                self.processes[process].working = false;
                self.tell(process, Input::WorkEnded);
            }
            Event::Stop { process, life } if self.lives(process, life) => {
                self.tell(process, Input::StopRequested);
            }
            Event::Crash { process, life } if self.lives(process, life) => self.die(process),
            Event::Freeze { process, until } => self.processes[process].frozen_until = until,
            Event::Start { process } => self.start(process),
            Event::Answer { .. } | Event::WorkDone { .. } | Event::Stop { .. } | Event::Crash { .. } => {}
        }
    }

    fn lives(&self, process: usize, life: u32) -> bool {
        self.processes[process].life == life && self.processes[process].election.is_some()
    }

    fn start(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.life += 1;
        let life = process.life;
        let settings = Settings::new("ns", "lease", format!("p{index}-{life}"));
        process.election = Some(Election::new(settings, self.rng.u64(..)).expect("the defaults"));
        let begin = self.now;
        if begin < FAULTS {
            let (stop, crash) = (self.rng.u64(20_000..120_000), self.rng.u64(20_000..200_000));
            if begin + stop < FAULTS {
                self.at(begin + stop, Event::Stop { process: index, life });
            }
            if begin + crash < FAULTS {
                self.at(begin + crash, Event::Crash { process: index, life });
            }
            let (freeze, length) = (self.rng.u64(5_000..60_000), self.rng.u64(1_000..30_000));
            if begin + freeze < FAULTS {
                self.at(begin + freeze, Event::Freeze { process: index, until: begin + freeze + length });
            }
        }
        self.tell(index, Input::Started);
    }

    /// The process is no more, and comes back as another run. Its terms died with it.
    fn die(&mut self, index: usize) {
        let process = &mut self.processes[index];
        (process.election, process.flight, process.working) = (None, None, false);
        process.terms.clear();
        let back = self.now + self.rng.u64(100..8_000);
        self.at(back, Event::Start { process: index });
    }

    fn arrive(&mut self, process: usize, life: u32, id: u64, request: Request) {
        let write = !matches!(request, Request::Read);
        let input = if self.faulty(8) {
            let fault = Fault::Refused { code: 500 };
            if write { Input::WriteFailed(fault) } else { Input::ReadFailed(fault) }
        } else {
            self.store.answer(request)
        };
        if !self.faulty(8) {
            let back = self.now + self.delay();
            self.at(back, Event::Answer { process, life, id, input });
        }
    }

    fn tell(&mut self, index: usize, input: Input) {
        self.note((index, &input));
        let now = self.instant(self.now);
        // The wall clocks of the processes are hours apart.
        let skew = SignedDuration::from_hours(i64::try_from(index).expect("few") * 3 - 3);
        let wall = Timestamp::UNIX_EPOCH
            + SignedDuration::from_hours(500_000)
            + skew
            + Duration::from_millis(self.now);
        let Some(election) = self.processes[index].election.as_mut() else { return };
        election.handle(now, wall, input);
        while let Some(order) = self.processes[index].election.as_mut().and_then(Election::poll) {
            self.note((index, &order));
            self.perform(index, order);
        }
    }

    fn perform(&mut self, index: usize, order: Output) {
        match order {
            Output::ReadLease => self.send(index, Request::Read),
            Output::CreateLease(record) => self.send(index, Request::Create(record)),
            Output::PutLease { record, resource_version } => {
                self.send(index, Request::Put(record, resource_version));
            }
            Output::Lead(term) => {
                assert!(self.last_token < Some(term.fencing_token()), "a token is used once: {term:?}");
                self.last_token = Some(term.fencing_token());
                self.leads += 1;
                self.processes[index].terms.push(term);
                self.processes[index].working = true;
                if self.faulty(30) {
                    let ends = self.now + self.rng.u64(1_000..60_000);
                    self.work_done(index, ends);
                }
            }
            // Some work does not listen, and has to be aborted when the lead is lost.
            Output::StepDown(StepDown::Lost(_)) if self.faulty(30) => {}
            Output::StepDown(_) => {
                let ends = self.now + self.rng.u64(1..2_000);
                self.work_done(index, ends);
            }
            Output::AbortWork => {
                self.processes[index].working = false;
                self.work_done(index, self.now);
            }
            Output::Ended(Ending::Lost(_) | Ending::NothingHeld | Ending::Released | Ending::Abandoned) => {
                self.die(index);
            }
        }
    }

    fn work_done(&mut self, process: usize, ms: u64) {
        let life = self.processes[process].life;
        self.at(ms, Event::WorkDone { process, life });
    }

    fn send(&mut self, process: usize, request: Request) {
        let id = self.next;
        let write = !matches!(request, Request::Read);
        let before = self.processes[process].flight.replace((id, write));
        assert!(before.is_none(), "two requests on their way");
        let life = self.processes[process].life;
        if !self.faulty(8) {
            let there = self.now + self.delay();
            self.at(there, Event::Arrive { process, life, id, request });
        }
    }

    /// The terms that stand now, of all processes, frozen ones included.
    fn current(&self) -> Vec<&Term> {
        let now = self.instant(self.now);
        self.processes.iter().flat_map(|process| &process.terms).filter(|term| term.is_current(now)).collect()
    }

    fn check(&self) -> Result<(), String> {
        let current = self.current();
        if current.len() > 1 {
            return Err(format!("two terms stand at {} ms: {current:?}", self.now));
        }
        // A frozen process does nothing; any other has no work left by the time another leads.
        let at_work = |process: &&Process| process.working && process.frozen_until <= self.now;
        let working: Vec<&Term> =
            self.processes.iter().filter(at_work).filter_map(|process| process.terms.last()).collect();
        if working.len() > 1 {
            return Err(format!("the work of two terms runs at {} ms: {working:?}", self.now));
        }
        Ok(())
    }
}

#[test]
fn never_do_two_terms_stand_at_once_and_in_the_end_somebody_leads() {
    let mut leads = 0;
    for seed in 0..150 {
        for processes in [2, 3] {
            match Sim::new(seed, processes).run() {
                Ok(led) => leads += led,
                Err(broken) => panic!("seed {seed}, {processes} processes: {broken}"),
            }
        }
    }
    assert!(leads > 1_000, "the schedules must make the lead change hands: {leads} times");
}

#[test]
fn the_simulation_sees_a_double_leader_where_the_lease_lies_about_its_duration() {
    let found = (0..50).any(|seed| {
        let mut sim = Sim::new(seed, 2);
        sim.store.declares = Some(Duration::from_secs(1));
        sim.run().is_err_and(|broken| broken.starts_with("two terms"))
    });
    assert!(found);
}
