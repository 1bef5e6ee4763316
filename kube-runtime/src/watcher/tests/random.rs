//! Whatever the facts, in whatever order: what always holds.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{
    super::{Cause, Config, Event, Fault, Input, MAX_RETRY_AFTER, Machine, Output, WireEvent},
    drain, start,
};

/// The request in flight, as a driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    List,
    Opening,
    Open,
}

/// How far the consumer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    PartOfAList,
    All,
}

/// A driver and a consumer that trust nothing.
struct Witness {
    machine: Machine<u32>,
    now: Instant,
    in_flight: Option<Flight>,
    seen: Seen,
    /// Whether a problem is shown.
    problem: bool,
    /// Where a watch has to resume.
    version: String,
    started: bool,
    stopped: bool,
}

impl Witness {
    fn new(seed: u64) -> Self {
        Self {
            machine: Machine::new(Config::default(), seed),
            now: start(),
            in_flight: None,
            seen: Seen::Nothing,
            problem: false,
            version: String::new(),
            started: false,
            stopped: false,
        }
    }

    fn handle(&mut self, later: Duration, input: Input<u32>) -> Vec<Output<u32>> {
        self.now += later;
        self.note(&input);
        self.machine.handle(self.now, input);
        let orders = drain(&mut self.machine);
        for order in &orders {
            self.perform(order);
        }
        self.check_deadline();
        if self.stopped || !self.started {
            assert_eq!(orders, []);
        }
        orders
    }

    /// What the fact means for the request in flight.
    fn note(&mut self, input: &Input<u32>) {
        match (self.in_flight, input) {
            (_, Input::Stopped) => (self.stopped, self.in_flight) = (true, None),
            (_, Input::Started) => self.started = true,
            (Some(Flight::List), Input::PageReceived { resource_version, .. }) => {
                self.in_flight = None;
                // Without a version it is no list.
                if !resource_version.is_empty() {
                    self.version.clone_from(resource_version);
                }
            }
            (Some(Flight::List), Input::ListFailed(_))
            | (Some(Flight::Opening | Flight::Open), Input::WatchEnded | Input::WatchFailed(_)) => {
                self.in_flight = None;
            }
            (Some(Flight::Opening), Input::WatchOpened) => self.in_flight = Some(Flight::Open),
            (Some(Flight::Open), Input::WatchEvent(event)) => self.note_version(event),
            _ => {}
        }
    }

    fn note_version(&mut self, event: &WireEvent<u32>) {
        match event {
            WireEvent::Added { resource_version, .. }
            | WireEvent::Modified { resource_version, .. }
            | WireEvent::Deleted { resource_version, .. }
            | WireEvent::Bookmark { resource_version, .. } => {
                if !resource_version.is_empty() {
                    self.version.clone_from(resource_version);
                }
            }
            WireEvent::Error(_) => {}
        }
    }

    fn perform(&mut self, order: &Output<u32>) {
        match order {
            Output::List { .. } => {
                assert_eq!(self.in_flight.replace(Flight::List), None, "two requests at once");
            }
            Output::OpenWatch { resource_version, .. } => {
                assert_eq!(self.in_flight.replace(Flight::Opening), None, "two requests at once");
                assert_eq!(*resource_version, self.version, "not where it was left");
                assert_ne!(*resource_version, "", "from nowhere");
            }
            Output::Cancel => assert!(self.in_flight.take().is_some(), "nothing to cancel"),
            Output::Emit(event) => self.see(*event),
            Output::Report(problem) => {
                assert!(problem.delay <= MAX_RETRY_AFTER + Duration::from_secs(15), "{problem:?}");
                assert_eq!(problem.delay.is_zero(), problem.failures == 0, "{problem:?}");
                self.problem = true;
            }
            Output::Recovered => assert!(std::mem::take(&mut self.problem), "nothing is over"),
        }
    }

    fn see(&mut self, event: Event<u32>) {
        self.seen = match (event, self.seen) {
            (Event::Init, _) | (Event::InitApply(_), Seen::PartOfAList) => Seen::PartOfAList,
            (Event::InitDone, Seen::PartOfAList) | (Event::Apply(_) | Event::Delete(_), Seen::All) => {
                Seen::All
            }
            (event, seen) => panic!("{event:?} after {seen:?}"),
        };
    }

    /// Once started and until stopped there is always something that will come: an answer or a wake.
    fn check_deadline(&self) {
        let deadline = self.machine.deadline();
        assert_eq!(deadline.is_some(), self.started && !self.stopped);
        if let Some(deadline) = deadline {
            assert!(deadline > self.now, "a deadline that is due has been dealt with");
        }
    }

    /// The next fact from a server that is well.
    fn well(&mut self) -> Vec<Output<u32>> {
        let soon = Duration::from_millis(1);
        let resource_version = "well".to_owned();
        match self.in_flight {
            Some(Flight::List) => self
                .handle(soon, Input::PageReceived { items: vec![1], resource_version, continue_token: None }),
            Some(Flight::Opening) => self.handle(soon, Input::WatchOpened),
            Some(Flight::Open) => {
                self.handle(soon, Input::WatchEvent(WireEvent::Added { item: 7, resource_version }))
            }
            None => {
                let deadline = self.machine.deadline().unwrap_or(self.now);
                self.handle(deadline - self.now, Input::Woke)
            }
        }
    }
}

fn version() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[0-9a-c]{1,4}"]
}

fn fault() -> impl Strategy<Value = Fault> {
    let cause = prop_oneof![
        2 => Just(410), 1 => Just(429), 1 => Just(403), 1 => Just(500)
    ]
    .prop_map(|code| Cause::Answered { code, reason: String::new() });
    let cause = prop_oneof![4 => cause, 1 => Just(Cause::Unreachable), 1 => Just(Cause::Garbled)];
    (cause, proptest::option::of(0..1_000_u64)).prop_map(|(cause, seconds)| Fault {
        retry_after: seconds.map(Duration::from_secs),
        ..Fault::new(cause, "")
    })
}

fn event() -> impl Strategy<Value = WireEvent<u32>> {
    prop_oneof![
        (any::<u32>(), version())
            .prop_map(|(item, resource_version)| WireEvent::Added { item, resource_version }),
        (any::<u32>(), version())
            .prop_map(|(item, resource_version)| WireEvent::Modified { item, resource_version }),
        (any::<u32>(), version())
            .prop_map(|(item, resource_version)| WireEvent::Deleted { item, resource_version }),
        (version(), any::<bool>()).prop_map(|(resource_version, initial_events_end)| WireEvent::Bookmark {
            resource_version,
            initial_events_end
        }),
        fault().prop_map(WireEvent::Error),
    ]
}

fn input() -> impl Strategy<Value = Input<u32>> {
    let page = (proptest::collection::vec(any::<u32>(), 0..3), version(), proptest::option::of("t?"));
    prop_oneof![
        16 => page.prop_map(|(items, resource_version, continue_token)| {
            Input::PageReceived { items, resource_version, continue_token }
        }),
        8 => fault().prop_map(Input::ListFailed),
        16 => Just(Input::WatchOpened),
        16 => event().prop_map(Input::WatchEvent),
        4 => Just(Input::BadLine { message: String::new() }),
        4 => Just(Input::WatchEnded),
        4 => fault().prop_map(Input::WatchFailed),
        16 => Just(Input::Woke),
        1 => Just(Input::Started),
    ]
}

proptest! {
    #[test]
    fn any_facts_keep_the_invariants(
        seed in any::<u64>(),
        facts in proptest::collection::vec((any::<u16>(), input()), 0..80),
        after_the_end in proptest::collection::vec((any::<u16>(), input()), 0..5),
    ) {
        let mut witness = Witness::new(seed);
        witness.handle(Duration::ZERO, Input::Woke);
        witness.handle(Duration::ZERO, Input::Started);
        for (ms, fact) in facts {
            witness.handle(Duration::from_millis(ms.into()), fact);
        }

        // A server that gets well brings every watcher back: list, open, event, with a wait in between at most.
        let live = (0..5).any(|_| witness.well().contains(&Output::Emit(Event::Apply(7))));
        prop_assert!(live, "{:?}", witness.machine);
        prop_assert!(!witness.problem, "{:?}", witness.machine);

        witness.handle(Duration::ZERO, Input::Stopped);
        for (ms, fact) in after_the_end {
            witness.handle(Duration::from_millis(ms.into()), fact);
        }
    }
}
