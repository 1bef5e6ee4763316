//! The transitions. What the rules are, and why, is in the module above; what the states are is in `state`.

use std::{
    collections::VecDeque,
    mem,
    time::{Duration, Instant},
};

use kube_core::backoff::jitter;

use super::{
    Cause, Config, Event, Fault, Input, Output, Problem, Request, WireEvent,
    state::{Page, Reaction, State, Step, Streak, Watch, reaction},
};

/// No deadline is further away than this, so that a duration set to "never" cannot overflow an `Instant`: 30 days.
const HORIZON: Duration = Duration::from_hours(30 * 24);

/// One watcher: a list, then watches, for as long as it is wanted.
///
/// How it is used:
/// - [`handle`](Self::handle) takes facts, and is the only method that changes the phase. Then [`poll`](Self::poll) is
///   called until it returns `None`, and the orders are performed in that order. The facts of one read of a watch may be
///   handed in one after the other before that: those after the one that ended the watch are ignored.
/// - [`deadline`](Self::deadline) says when to call `handle` with [`Input::Woke`] if nothing else happens before. Any fact
///   whose `now` is past the deadline counts as that wake too: the fact is taken first (an answer that came late still is
///   an answer), then the deadline, so that a busy stream cannot put off a timer. A wake that is too early changes nothing.
/// - `now` is monotonic: it never goes back from call to call.
/// - There is at most one request in flight. [`Output::List`] and [`Output::OpenWatch`] begin one; it ends with the fact
///   that it failed, was answered (a list) or ended (a watch), or by [`Output::Cancel`]. Once orders were polled, facts
///   about a request that has ended must not be handed in: they would be taken for facts about the next one.
/// - After [`Input::Stopped`] the machine is silent for good, orders that were not polled included. The driver ends its
///   request in flight.
///
/// Items are moved through and never looked at: `T` is what a scan of the wire makes.
#[derive(Debug)]
pub struct Machine<T> {
    config: Config,
    rng: fastrand::Rng,
    streak: Streak,
    state: State,
    orders: VecDeque<Output<T>>,
}

impl<T> Machine<T> {
    /// A watcher that waits for [`Input::Started`]. `seed` makes its jitter: different for each watcher, or all of them come
    /// back to a server that was away at the same moment.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config,
            rng: fastrand::Rng::with_seed(seed),
            streak: Streak::default(),
            state: State::Idle,
            orders: VecDeque::new(),
        }
    }

    /// Takes a fact, which happened at `now` or became known then.
    pub fn handle(&mut self, now: Instant, input: Input<T>) {
        let state = mem::replace(&mut self.state, State::Stopped);
        let state = self.step(now, state, input);
        let due = state.deadline().is_some_and(|deadline| deadline <= now);
        self.state = if due { self.expire(now, state) } else { state };
    }

    /// The next order, in the order in which they are to be performed.
    pub fn poll(&mut self) -> Option<Output<T>> {
        self.orders.pop_front()
    }

    /// Whether [`poll`](Self::poll) has something to return.
    pub fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// When to wake the machine. None before it was started and after it was stopped.
    pub fn deadline(&self) -> Option<Instant> {
        self.state.deadline()
    }

    fn step(&mut self, now: Instant, state: State, input: Input<T>) -> State {
        match (state, input) {
            (State::Stopped, _) | (_, Input::Stopped) => {
                self.orders.clear();
                State::Stopped
            }

            (State::Idle, Input::Started) => self.begin(now, Step::List(Page::NEW_LIST)),

            (
                State::Listing { page, .. },
                Input::PageReceived { items, resource_version, continue_token },
            ) => self.page_received(now, page, items, resource_version, continue_token),
            (State::Listing { page, .. }, Input::ListFailed(fault)) => self.list_failed(now, page, fault),

            (State::Opening { resource_version, .. }, Input::WatchOpened) => {
                self.watch_opened(now, resource_version)
            }
            (State::Opening { resource_version, .. }, Input::WatchEnded) => {
                self.ended_empty(now, resource_version)
            }
            (State::Opening { resource_version, .. }, Input::WatchFailed(fault)) => {
                self.watch_failed(now, resource_version, fault)
            }

            (State::Watching(watch), Input::WatchEvent(event)) => self.watch_event(now, watch, event),
            (State::Watching(watch), Input::BadLine { message }) => self.bad_line(now, watch, message),
            (State::Watching(watch), Input::WatchEnded) => self.watch_ended(now, watch),
            (State::Watching(watch), Input::WatchFailed(fault)) => self.watch_broke(now, watch, fault),

            // What the phase did not ask for. Spelled out, so that a new fact or phase has to be thought about here.
            (state, Input::Woke)
            | (
                state @ (State::Listing { .. }
                | State::Opening { .. }
                | State::Watching(_)
                | State::Waiting { .. }),
                Input::Started,
            )
            | (
                state @ (State::Idle | State::Opening { .. } | State::Watching(_) | State::Waiting { .. }),
                Input::PageReceived { .. } | Input::ListFailed(_),
            )
            | (
                state @ (State::Idle | State::Listing { .. } | State::Watching(_) | State::Waiting { .. }),
                Input::WatchOpened,
            )
            | (
                state @ (State::Idle | State::Listing { .. } | State::Opening { .. } | State::Waiting { .. }),
                Input::WatchEvent(_) | Input::BadLine { .. },
            )
            | (
                state @ (State::Idle | State::Listing { .. } | State::Waiting { .. }),
                Input::WatchEnded | Input::WatchFailed(_),
            ) => state,
        }
    }

    /// The deadline of `state` has passed.
    fn expire(&mut self, now: Instant, state: State) -> State {
        let silent = |message| Fault::new(Cause::TimedOut, message);
        match state {
            State::Waiting { then, .. } => self.begin(now, then),
            State::Listing { page, .. } => {
                self.order(Output::Cancel);
                self.list_failed(now, page, silent("no page before the deadline"))
            }
            State::Opening { resource_version, .. } => {
                self.order(Output::Cancel);
                self.watch_failed(now, resource_version, silent("no answer before the deadline"))
            }
            State::Watching(mut watch) if now < watch.until => {
                self.settle(now, &mut watch);
                State::Watching(watch)
            }
            State::Watching(watch) => {
                self.order(Output::Cancel);
                self.watch_broke(now, watch, silent("not ended by the server when it was due"))
            }
            State::Idle | State::Stopped => state,
        }
    }

    /// Sends the request of `step`.
    fn begin(&mut self, now: Instant, step: Step) -> State {
        let until = after(now, self.config.reply_timeout);
        match step {
            Step::List(page) => {
                let paged = (self.config.page_size > 0).then_some(self.config.page_size);
                let (continue_token, limit) = match &page {
                    Page::First { .. } => (None, paged),
                    Page::Next { continue_token, .. } => (Some(continue_token.clone()), paged),
                    Page::Whole { .. } => (None, None),
                };
                self.order(Output::List { continue_token, limit });
                State::Listing { page, until }
            }
            Step::Watch { resource_version } => {
                let order = Output::OpenWatch {
                    resource_version: resource_version.clone(),
                    timeout_seconds: whole_seconds(self.config.watch_timeout),
                };
                self.order(order);
                State::Opening { resource_version, until }
            }
        }
    }

    fn page_received(
        &mut self,
        now: Instant,
        page: Page,
        items: Vec<T>,
        resource_version: String,
        continue_token: Option<String>,
    ) -> State {
        // A watch from "" would start at whatever is most recent then. And what has no version is no list, whatever its code:
        // an empty object from something in between would say that every object is gone.
        if resource_version.is_empty() {
            let fault = Fault::new(Cause::Garbled, "a list without a resourceVersion");
            return self.list_failed(now, page, fault);
        }
        self.streak.page_received();
        if page.opens_list() {
            self.emit(Event::Init);
        }
        self.orders.extend(items.into_iter().map(|item| Output::Emit(Event::InitApply(item))));
        if let Some(continue_token) = continue_token.filter(|token| !token.is_empty()) {
            return self.begin(now, Step::List(page.following(continue_token)));
        }
        self.recovered();
        self.emit(Event::InitDone);
        self.begin(now, Step::Watch { resource_version })
    }

    fn list_failed(&mut self, now: Instant, page: Page, fault: Fault) -> State {
        match reaction(&fault) {
            Reaction::Retry { not_before } => {
                let failures = self.streak.failed();
                let delay = self.delay(failures, not_before);
                self.go_on(now, Step::List(page), delay, Request::List, fault)
            }
            Reaction::Relist => match page.start_over() {
                Some(page) => self.go_on(now, Step::List(page), Duration::ZERO, Request::List, fault),
                None => self.relist(now, Request::List, fault),
            },
        }
    }

    fn watch_opened(&mut self, now: Instant, resource_version: String) -> State {
        let longest = self.config.watch_timeout.saturating_add(self.config.watch_margin);
        State::Watching(Watch {
            resource_version,
            healthy_at: Some(after(now, self.config.healthy_after)),
            until: after(now, longest),
        })
    }

    fn watch_event(&mut self, now: Instant, mut watch: Watch, event: WireEvent<T>) -> State {
        let (event, resource_version) = match event {
            WireEvent::Added { item, resource_version } | WireEvent::Modified { item, resource_version } => {
                (Some(Event::Apply(item)), resource_version)
            }
            WireEvent::Deleted { item, resource_version } => (Some(Event::Delete(item)), resource_version),
            WireEvent::Bookmark { resource_version, initial_events_end: _ } => (None, resource_version),
            WireEvent::Error(fault) => {
                self.order(Output::Cancel);
                return self.watch_broke(now, watch, fault);
            }
        };
        if watch.healthy_at.take().is_some() {
            self.watch_worked();
        }
        if let Some(event) = event {
            self.emit(event);
        }
        // A watch from "" would start at whatever is most recent then, and what happened before would be lost.
        if !resource_version.is_empty() {
            watch.resource_version = resource_version;
        }
        State::Watching(watch)
    }

    fn bad_line(&mut self, now: Instant, mut watch: Watch, message: String) -> State {
        self.order(Output::Cancel);
        self.settle(now, &mut watch);
        let then = if self.streak.bad_line() {
            Step::List(Page::NEW_LIST)
        } else {
            Step::Watch { resource_version: watch.resource_version }
        };
        let failures = self.streak.failed();
        let delay = self.delay(failures, Duration::ZERO);
        self.go_on(now, then, delay, Request::Watch, Fault::new(Cause::Garbled, message))
    }

    fn watch_ended(&mut self, now: Instant, mut watch: Watch) -> State {
        self.settle(now, &mut watch);
        if watch.healthy_at.is_some() {
            return self.ended_empty(now, watch.resource_version);
        }
        self.begin(now, Step::Watch { resource_version: watch.resource_version })
    }

    fn ended_empty(&mut self, now: Instant, resource_version: String) -> State {
        let then = Step::Watch { resource_version };
        match self.streak.ended_empty() {
            0 => self.begin(now, then),
            failures => {
                let delay = self.delay(failures, Duration::ZERO);
                let fault =
                    Fault::new(Cause::ClosedAtOnce, "watches end in order, but early and without an event");
                self.go_on(now, then, delay, Request::Watch, fault)
            }
        }
    }

    /// An open watch failed.
    fn watch_broke(&mut self, now: Instant, mut watch: Watch, fault: Fault) -> State {
        self.settle(now, &mut watch);
        self.watch_failed(now, watch.resource_version, fault)
    }

    fn watch_failed(&mut self, now: Instant, resource_version: String, fault: Fault) -> State {
        match reaction(&fault) {
            Reaction::Retry { not_before } => {
                let failures = self.streak.failed();
                let delay = self.delay(failures, not_before);
                self.go_on(now, Step::Watch { resource_version }, delay, Request::Watch, fault)
            }
            Reaction::Relist => self.relist(now, Request::Watch, fault),
        }
    }

    /// The version, or the whole list, is gone: a new list, at once if this is the first time in a row.
    fn relist(&mut self, now: Instant, during: Request, fault: Fault) -> State {
        let failures = self.streak.gone();
        let delay = self.delay(failures, Duration::ZERO);
        self.go_on(now, Step::List(Page::NEW_LIST), delay, during, fault)
    }

    /// Reports the fault and does `then` after `delay`.
    fn go_on(&mut self, now: Instant, then: Step, delay: Duration, during: Request, fault: Fault) -> State {
        let failures = if delay.is_zero() { 0 } else { self.streak.failures() };
        self.streak.reported();
        self.order(Output::Report(Problem { during, fault, failures, delay }));
        if delay.is_zero() {
            self.begin(now, then)
        } else {
            State::Waiting { then, until: after(now, delay) }
        }
    }

    /// Gives an open watch credit for the time that it lived.
    fn settle(&mut self, now: Instant, watch: &mut Watch) {
        if watch.healthy_at.take_if(|at| *at <= now).is_some() {
            self.watch_worked();
        }
    }

    fn watch_worked(&mut self) {
        self.streak.watch_worked();
        self.recovered();
    }

    /// Whatever was reported is over.
    fn recovered(&mut self) {
        if self.streak.recovered() {
            self.order(Output::Recovered);
        }
    }

    /// The wait after `failures` in a row: by the curve, not less than `not_before`, and jitter on top of either, since
    /// clients that were told the same `Retry-After` would otherwise come back together.
    fn delay(&mut self, failures: u32, not_before: Duration) -> Duration {
        let delay = self.config.backoff.delay(failures);
        let jitter = jitter(delay, &mut self.rng).saturating_sub(delay);
        delay.max(not_before) + jitter
    }

    fn emit(&mut self, event: Event<T>) {
        self.order(Output::Emit(event));
    }

    fn order(&mut self, order: Output<T>) {
        self.orders.push_back(order);
    }
}

fn after(now: Instant, delay: Duration) -> Instant {
    now + delay.min(HORIZON)
}

/// Rounded up and at least 1: the server takes 0 as "choose yourself".
fn whole_seconds(duration: Duration) -> u32 {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}
