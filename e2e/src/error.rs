//! What can go wrong with a cluster, by what the person at the keyboard can do about it.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use crate::Make;

/// Why a cluster could not be found, started, used or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program of the control plane is nowhere. Point to it or build it.
    #[error(
        "{program} was not found (looked for {}): set KUBEBUILDER_ASSETS to a folder that has it, \
         or run `cargo run -p kube-e2e --bin cluster -- build`",
        list(.looked)
    )]
    ProgramMissing {
        /// The program's file name.
        program: &'static str,
        /// The files that would have served, in the order of preference.
        looked: Vec<PathBuf>,
    },

    /// The programs could not be built from their Go modules.
    #[error("cannot build {what}: {reason}")]
    Build {
        /// What was being built.
        what: String,
        /// Why it stopped. The compiler's own words went to the terminal before.
        reason: String,
    },

    /// A program ended while it was needed. The end of its log says why.
    #[error("{program} ended ({status}); the end of {}:\n{tail}", log.display())]
    Exited {
        /// The program's file name.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Its whole log, kept after this error.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },

    /// A program runs but did not do what was waited for in time.
    #[error("{program} was not {what} after {} s; last answer: {last}; the end of {}:\n{tail}", waited.as_secs(), log.display())]
    Late {
        /// The program's file name.
        program: &'static str,
        /// What was waited for: "ready", "stopped".
        what: &'static str,
        /// How long was waited.
        waited: Duration,
        /// What was seen instead, the last time somebody looked.
        last: String,
        /// Its whole log, kept after this error.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },

    /// etcd refused a request made by hand.
    #[error("etcd refused {path}: {answer}")]
    Etcd {
        /// The path of the request.
        path: &'static str,
        /// The status line and body of the answer.
        answer: String,
    },

    /// A name of a make that does not exist.
    #[error("{given:?} is no make of a cluster: {hint}")]
    UnknownMake {
        /// The name that was given.
        given: String,
        /// What would serve.
        hint: &'static str,
    },

    /// Something that this make of a cluster does not have. Use another one for it.
    #[error("the {make} make of a cluster has no such thing: {missing}")]
    NotOnThisMake {
        /// The make of the cluster that was asked.
        make: Make,
        /// What was asked for.
        missing: String,
    },

    /// A file or a process of this machine failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, with the file's name.
        action: String,
        /// What the system said.
        source: io::Error,
    },

    /// A key or a certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),

    /// The API server, or the way to it.
    #[error(transparent)]
    Client(#[from] kube_client::Error),
}

impl Error {
    /// For `map_err`: what was tried when the system refused.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", then ")
}
