//! Decides when to read, create, renew, take and release the Lease, and when this replica leads.
//!
//! In: [`Input`] facts, each with the monotonic time at which it became known and the wall-clock time that a write would
//! carry. Out: [`Output`] orders, taken with [`Election::poll`]; one deadline, [`Election::deadline`]; and one bound for the
//! request on its way, [`Election::answer_due`].
//!
//! ```text
//!           Started          won in time             StopRequested             WorkEnded
//!   Idle ------------> Contending ------> Leading -------------------> Draining --------> Releasing
//!                       |   ^   |            |  taken, emptied, deadline  |                  |
//!                       |   +---+            +----------> Lost <----------+                  |
//!                       |  each retry period               | WorkEnded                       |
//!                       |  StopRequested                   v                                 |
//!                       +-------------------------------> Ended <----------------------------+
//! ```
//!
//! Each try is read -> decide -> write. A leader whose last write succeeded skips the read: the write names the version that it
//! saw, and a conflict brings it back to reading.
//!
//! Why a plain value: the rules here are about what happens when answers come late, twice, or never, and when this process is
//! stopped in between. As a table of (time, fact, orders) each of them is one row; as an async function each is a race.
//! Does not send requests, sleep, start the work or read a clock: the elector does that.

mod lease_clock;
mod machine;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use std::fmt;

pub use self::machine::Election;
use crate::{
    record::{Record, Seen},
    term::Term,
};

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The driver runs. Repeating it changes nothing.
    Started,
    /// The read that was ordered was answered: the Lease, or that there is none.
    LeaseSeen(Option<Seen>),
    /// The read that was ordered failed, or was given up at [`Election::answer_due`].
    ReadFailed(Fault),
    /// The write that was ordered succeeded: the Lease as it is now.
    Written(Seen),
    /// The write that was ordered failed, or was given up at [`Election::answer_due`].
    WriteFailed(Fault),
    /// Time has passed. May come at any time; every other input counts as one too.
    Woke,
    /// The application wants to stop. May come at any time and be repeated.
    StopRequested,
    /// The application's work has ended, by itself or because it was told to, and nothing of it runs any more.
    WorkEnded,
}

/// What is to be done. Requests are answered by one input each; never are two of them on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Read the Lease.
    ReadLease,
    /// Create the Lease with this record.
    CreateLease(Record),
    /// Put this record into the Lease, if its version is still this one.
    PutLease {
        /// What the Lease shall say.
        record: Record,
        /// The version that was seen.
        resource_version: String,
    },
    /// Start the work: this replica leads.
    Lead(Term),
    /// Tell the work to end, and say so with [`Input::WorkEnded`] once it has.
    StepDown(StepDown),
    /// End the work by force: from now on another may lead.
    AbortWork,
    /// The election is over; nothing follows.
    Ended(Ending),
}

/// Why the work has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepDown {
    /// The application asked for it. The Lease is renewed until the work has ended, and the term stands as long.
    Stop,
    /// The lead is lost, and the term has ended. May follow a `Stop`.
    Lost(Loss),
}

/// How the lead was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// No renewal succeeded within the renew deadline.
    DeadlinePassed,
    /// Another holder is on the Lease.
    Taken {
        /// Its identity. It is this replica's own when two runs bear one name.
        by: String,
    },
    /// Somebody removed the holder from the Lease.
    Emptied,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadlinePassed => f.write_str("no renewal succeeded within the renew deadline"),
            Self::Taken { by } => write!(f, "{by:?} holds the lease now"),
            Self::Emptied => f.write_str("somebody removed the holder from the lease"),
        }
    }
}

/// How an election ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing of this run is on the Lease.
    NothingHeld,
    /// The Lease was handed back: the next candidate takes it at once.
    Released,
    /// The Lease could not be handed back and runs out by itself.
    Abandoned,
    /// The lead was lost, and the work has ended.
    Lost(Loss),
}

/// Why a request failed, as far as a decision can depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 409: the Lease is not what it was when it was read, or exists already.
    Conflict,
    /// 404: there is no such Lease, or no such namespace.
    NotFound,
    /// Any other status that is not a success.
    Refused {
        /// The HTTP status code.
        code: u16,
    },
    /// No connection, or it broke.
    Unreachable,
    /// No answer in time.
    TimedOut,
    /// An answer that is not a Lease.
    Garbled,
}

impl Fault {
    /// Whether a write that ended like this may have taken effect, or may yet.
    pub fn may_have_landed(self) -> bool {
        match self {
            Self::Conflict | Self::NotFound => false,
            Self::Refused { code } => code >= 500,
            Self::Unreachable | Self::TimedOut | Self::Garbled => true,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("the lease was changed by another"),
            Self::NotFound => f.write_str("no such lease or namespace"),
            Self::Refused { code } => write!(f, "refused with status {code}"),
            Self::Unreachable => f.write_str("the server cannot be reached"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Garbled => f.write_str("the answer is not a lease"),
        }
    }
}

/// Where an election stands: for a status page, a log, a metric. Not for deciding whether to write: that is what
/// [`Term::is_current`] is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What this replica is.
    pub role: Role,
    /// The record of the Lease that was last seen.
    pub record: Option<Record>,
    /// The term of this replica, from the moment it leads until its work has ended.
    pub term: Option<Term>,
    /// Why the last request failed; none while requests succeed.
    pub fault: Option<Fault>,
}

/// What a replica is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It does not lead and would like to.
    Candidate,
    /// It leads.
    Leader,
    /// It led, and its work is being ended or its Lease handed back.
    Leaving,
    /// It takes no part.
    Outside,
}
