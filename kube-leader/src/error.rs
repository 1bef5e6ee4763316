//! The one error type of this crate.

use crate::{election::Loss, settings::SettingsError};

/// Why an elector did not start, or why its work had to end.
///
/// A request that fails is none of these: a candidate tries again for ever and a leader until its deadline, and the fault
/// stands in [`Standing::fault`](crate::Standing::fault).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings cannot be kept; its source says what to change.
    #[error("the settings of the leader election were refused")]
    Settings(#[from] SettingsError),
    /// The lead was lost, the work was told so and has ended. The usual answer is to exit, or to run the elector again.
    #[error("lost the lead of lease {namespace}/{name}: {loss}")]
    Lost {
        /// The namespace of the Lease.
        namespace: String,
        /// The name of the Lease.
        name: String,
        /// How.
        loss: Loss,
    },
    /// The work panicked. The Lease was handed back where that was possible.
    #[error("the leader's work panicked: {message}")]
    WorkPanicked {
        /// What the panic said.
        message: String,
    },
}

impl Error {
    /// Whether the lead was lost, so that running the elector again is a way to go on.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}
