//! The loop around the election: sends its requests, runs the application's work while this replica leads.
//!
//! In: a client, settings, the work, a stop token. Out: [`Elector::run`]'s result, and [`Elector::state`].
//! In a loop: carry out the orders, say where things stand, wait for one fact, hand it in. The work runs as a task of its
//! own, so that work which is slow to yield does not keep the Lease from being renewed.
//! Decides nothing; every rule is the [`Election`]'s.

#[cfg(test)]
mod tests;

use kube_client::{Client, clock};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    election::{Election, Ending, Input, Output, Role, Standing, StepDown},
    error::Error,
    io::LeaseIo,
    settings::Settings,
    term::Term,
};

/// Contends for one Lease and runs the application's work while it holds it.
#[derive(Debug)]
pub struct Elector {
    client: Client,
    settings: Settings,
    stop: CancellationToken,
    state: watch::Sender<Standing>,
}

/// How a run ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It was asked to stop before it ever led.
    NeverLed,
    /// It led until its work ended, by itself or because it was asked to stop.
    Led {
        /// What the work returned.
        output: T,
        /// Whether the Lease was handed back. If not, the next leader may have to wait for it to run out.
        released: bool,
    },
}

impl Elector {
    /// An elector for the Lease that the settings name.
    ///
    /// The client should be one of the elector's own: requests that queue behind the application's, or behind its rate limit,
    /// are renewals that come late.
    ///
    /// # Errors
    /// Settings that cannot be kept: [`Error::Settings`].
    pub fn new(client: Client, settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let outside = Standing { role: Role::Outside, record: None, term: None, fault: None };
        Ok(Self { client, settings, stop: CancellationToken::new(), state: watch::Sender::new(outside) })
    }

    /// Takes the application's stop token: once it is cancelled, the elector stops.
    #[must_use]
    pub fn stop_on(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// The token that stops this elector when it is cancelled: the work is told to end, and when it has, the Lease is handed
    /// back.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// The settings, with the identity that is on the Lease while this replica leads.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Who leads, as far as this replica knows, and what its own part is. Changes with every renewal.
    pub fn state(&self) -> watch::Receiver<Standing> {
        self.state.subscribe()
    }

    /// Contends until this replica leads, then runs `work` until it ends, is asked to stop or loses the lead.
    ///
    /// The work is called once, with its [`Term`] and a token. The token is cancelled when the work has to end: because the
    /// elector was asked to stop (then the Lease is renewed until the work has ended) or because the lead is lost (then the term
    /// has ended already, and the work is aborted at its next `.await` if it still runs when the Lease runs out).
    /// The work should ask [`Term::is_current`] before each act that only a leader may do.
    ///
    /// Dropping the future aborts the work and leaves the Lease to run out.
    ///
    /// # Errors
    /// [`Error::Lost`] when the lead was lost; the elector may be run again. [`Error::WorkPanicked`] when the work panicked.
    /// A request that fails is not an error: see [`Standing::fault`].
    pub async fn run<W, F>(&mut self, work: W) -> Result<Outcome<F::Output>, Error>
    where
        W: FnOnce(Term, CancellationToken) -> F + Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Settings { namespace, name, identity, .. } = &self.settings;
        let span = tracing::info_span!("elect", lease = %format_args!("{namespace}/{name}"), %identity);
        let driver = LeaderDriver {
            election: Election::new(self.settings.clone(), clock::seed())?,
            io: LeaseIo::new(self.client.clone(), namespace, name)?,
            stop: self.stop.clone(),
            stopping: false,
            state: &self.state,
            start: Some(work),
            work: JoinSet::new(),
            work_stop: CancellationToken::new(),
            result: None,
        };
        let (ending, result) = driver.run().instrument(span).await;
        match (ending, result) {
            (Ending::Lost(loss), _) => {
                let Settings { namespace, name, .. } = self.settings.clone();
                Err(Error::Lost { namespace, name, loss })
            }
            (_, None) => Ok(Outcome::NeverLed),
            (ending, Some(Ok(output))) => Ok(Outcome::Led { output, released: ending == Ending::Released }),
            (_, Some(Err(message))) => Err(Error::WorkPanicked { message }),
        }
    }
}

/// What is left of the work: what it returned, or how it failed.
type WorkResult<T> = Result<T, String>;

#[must_use = "an election does nothing until it is run"]
struct LeaderDriver<'a, W, T> {
    election: Election,
    io: LeaseIo,
    stop: CancellationToken,
    stopping: bool,
    state: &'a watch::Sender<Standing>,
    /// The work that has not started yet.
    start: Option<W>,
    /// The work that runs: one task, aborted when this is dropped.
    work: JoinSet<T>,
    work_stop: CancellationToken,
    result: Option<WorkResult<T>>,
}

impl<W, F> LeaderDriver<'_, W, F::Output>
where
    W: FnOnce(Term, CancellationToken) -> F + Send + 'static,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    async fn run(mut self) -> (Ending, Option<WorkResult<F::Output>>) {
        let mut fact = Input::Started;
        loop {
            self.election.handle(clock::now(), clock::wall(), fact);
            while let Some(order) = self.election.poll() {
                if let Output::Ended(ending) = order {
                    return (ending, self.result.take());
                }
                self.perform(order);
            }
            let standing = self.election.standing();
            self.state.send_if_modified(|last| std::mem::replace(last, standing) != *last);
            fact = self.next_fact().await;
        }
    }

    fn perform(&mut self, order: Output) {
        let due = self.election.answer_due();
        match order {
            Output::ReadLease => self.io.read(due),
            Output::CreateLease(record) => self.io.create(&record, due),
            Output::PutLease { record, resource_version } => self.io.put(&record, &resource_version, due),
            Output::Lead(term) => self.lead(term),
            Output::StepDown(why) => {
                match why {
                    StepDown::Stop => tracing::info!("asked to stop: the leader's work is told to end"),
                    StepDown::Lost(loss) => tracing::error!(%loss, "the lead is lost"),
                }
                self.work_stop.cancel();
            }
            Output::AbortWork => {
                tracing::error!("the leader's work did not end in time and is aborted");
                self.work.abort_all();
            }
            // Taken by the loop.
            Output::Ended(_) => {}
        }
    }

    fn lead(&mut self, term: Term) {
        tracing::info!(fencing_token = term.fencing_token(), "leading");
        let Some(work) = self.start.take() else { return };
        let stop = self.work_stop.clone();
        // Called inside the task, so that a panic of the call is a panic of the work.
        self.work.spawn(async move { work(term, stop).await }.in_current_span());
    }

    async fn next_fact(&mut self) -> Input {
        let wake = self.election.deadline();
        tokio::select! {
            biased;
            fact = self.io.next_fact() => fact,
            Some(ended) = self.work.join_next() => {
                self.result = Some(ended.map_err(failure));
                Input::WorkEnded
            }
            () = self.stop.cancelled(), if !self.stopping => {
                self.stopping = true;
                Input::StopRequested
            }
            () = clock::sleep_until(wake) => Input::Woke,
        }
    }
}

/// Whoever looks at the state of an elector that does not run, or whose run was dropped, sees that it takes no part, and
/// what is left of its term is not current any more.
impl<W, T> Drop for LeaderDriver<'_, W, T> {
    fn drop(&mut self) {
        let standing = self.election.standing();
        if let Some(term) = &standing.term {
            term.end();
        }
        self.work_stop.cancel();
        self.state.send_replace(Standing { role: Role::Outside, term: None, ..standing });
    }
}

/// Why the work has no result, in words.
fn failure(error: JoinError) -> String {
    let message = match error.try_into_panic() {
        Ok(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "a panic without a message".to_owned()),
        Err(_) => return "aborted".to_owned(),
    };
    tracing::error!(message, "the leader's work panicked");
    message
}
