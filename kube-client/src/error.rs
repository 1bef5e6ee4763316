//! The one error of this crate: what happened, to which request, and the questions that callers ask.
//!
//! Variants are told apart by who can do something: the server refused ([`Error::Api`]), it was not reached
//! ([`Error::Connect`], [`Error::Broken`], [`Error::Timeout`]), it broke the contract ([`Error::Decode`],
//! [`Error::TooLarge`], [`Error::Line`]), or the caller asked for something impossible (the others). A text never repeats that of its source;
//! print the whole chain to see all.

use std::{
    fmt::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use http::Method;
use kube_core::{RequestError, Status};

use crate::{ConfigError, ConnectError, ConnectFault, LineTooLong, TlsError};

/// Any error, from any layer.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a request brought no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered, and not with success.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// No connection came about. The request was not sent.
    #[error(transparent)]
    Connect(ConnectError),
    /// The connection broke before the answer was complete. Whether the server acted on the request is not known.
    #[error("the connection to {server} broke")]
    Broken {
        /// The server, as scheme, host and port.
        server: String,
        /// What the layers below said.
        source: BoxError,
    },
    /// The request took longer than its limit. Whether the server acted on it is not known.
    #[error(transparent)]
    Timeout(#[from] TimedOut),
    /// The answer is not what the caller wants to see in it.
    #[error("{method} {path}: the answer is no {expected}")]
    Decode {
        /// Method of the request.
        method: Method,
        /// Path of the request.
        path: String,
        /// The type that was expected.
        expected: &'static str,
        /// Where it differs.
        source: serde_json::Error,
    },
    /// The answer is longer than any that is read in one piece ([`crate::MAX_ANSWER`]).
    #[error(
        "{method} {path}: the answer has more than {max} bytes; list in pages (`limit`), or read it as a stream"
    )]
    TooLarge {
        /// Method of the request.
        method: Method,
        /// Path of the request.
        path: String,
        /// The limit, in bytes.
        max: usize,
    },
    /// A line of a stream is longer than any object. The stream is of no more use.
    #[error(transparent)]
    Line(#[from] LineTooLong),
    /// The request would not mean what it says. Nothing was sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The credentials cannot be had. Nothing was sent.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// There is no usable configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The TLS settings cannot be used.
    #[error("the TLS settings cannot be used")]
    Tls(#[from] TlsError),
    /// A layer that this crate did not make failed.
    #[error("the request could not be made")]
    Service(#[source] BoxError),
}

/// The server's refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// Method of the request.
    pub method: Method,
    /// Path of the request, without its query.
    pub path: String,
    /// What the server said; made up from the HTTP code where it said nothing that can be read.
    pub status: Status,
    /// How long the server wants to be left alone: its `Retry-After` header, else the status' details. As it came; cap
    /// it before waiting.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// A refusal without a hint when to try again but the status' own.
    pub fn new(method: Method, path: impl Into<String>, status: Status) -> Self {
        let retry_after = status.retry_after_seconds().map(|seconds| Duration::from_secs(seconds.into()));
        Self { method, path: path.into(), status, retry_after }
    }
}

impl fmt::Display for ApiError {
    /// `GET /api/v1/namespaces/shop: 404 NotFound: namespaces "shop" not found`
    ///
    /// One line of bounded length, whatever the server sent: `status` has the whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, status, .. } = self;
        write!(f, "{method} {path}: {} {}", status.code, OneLine(&status.reason))?;
        if !status.message.is_empty() {
            write!(f, ": {}", OneLine(&status.message))?;
        }
        // The server says "Unauthorized" and no more, lest it help those who guess.
        if status.is_unauthorized() {
            f.write_str(
                "; the server does not accept who you say you are: check that the user's token or client certificate \
                 is for this cluster and has not expired",
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for ApiError {}

/// A foreign text as part of a line: no line breaks, which would forge lines of a log; no other control characters, which
/// a terminal would obey; and no more than [`MAX_SHOWN`] bytes.
struct OneLine<'a>(&'a str);

/// Longest foreign text that is shown: room for a dozen invalid fields.
const MAX_SHOWN: usize = 2048;

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, c) in self.0.char_indices() {
            if at >= MAX_SHOWN {
                return f.write_str("...");
            }
            match c {
                '\n' | '\r' | '\t' => f.write_char(' ')?,
                c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A request took longer than its limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method} {path}: not done within {limit:?}")]
pub struct TimedOut {
    /// Method of the request.
    pub method: Method,
    /// Path of the request, without its query.
    pub path: String,
    /// The limit.
    pub limit: Duration,
}

/// Why there are no credentials to send.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The token file cannot be read, and never could be.
    #[error("cannot read the token file {}", .path.display())]
    ReadToken {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The token file has nothing in it.
    #[error("the token file {} is empty", .path.display())]
    EmptyToken {
        /// The file.
        path: PathBuf,
    },
    /// The token has characters that no header can carry.
    #[error("the token has characters that no HTTP header can carry")]
    UnusableToken,
}

impl Error {
    /// The server's refusal, if this is one.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }

    /// The HTTP code of the server's refusal.
    pub fn code(&self) -> Option<u16> {
        self.api().map(|error| error.status.code)
    }

    /// The object is not there, or its kind is not (404).
    pub fn is_not_found(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_not_found())
    }

    /// The object exists already (409).
    pub fn is_already_exists(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_already_exists())
    }

    /// The write was made against an outdated object, or against fields of another manager (409).
    pub fn is_conflict(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_conflict())
    }

    /// A resource version or continue token is too old (410, in any of its forms).
    pub fn is_gone(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_gone())
    }

    /// The user may not do this (403).
    pub fn is_forbidden(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_forbidden())
    }

    /// The credentials were not accepted (401).
    pub fn is_unauthorized(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_unauthorized())
    }

    /// The object was refused as invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.api().is_some_and(|error| error.status.is_invalid())
    }

    /// Something took too long: this side's limit, setting up the connection, or the server's own limit (504).
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Timeout(_) => true,
            Self::Connect(error) => error.fault == ConnectFault::TimedOut,
            Self::Api(error) => error.status.code == 504,
            _ => false,
        }
    }

    /// Whether the same request may succeed later although nobody changes it or this program's configuration: 429, 5xx,
    /// a server that is not reached, a connection that broke, a limit that passed. It does not say that sending it again
    /// is harmless: a write may have been done.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api(error) => error.status.code == 429 || error.status.code >= 500,
            Self::Connect(error) => error.fault.may_pass(),
            Self::Broken { .. } | Self::Timeout(_) => true,
            // A rotated file is replaced; what is wrong with it now may be right in a moment.
            Self::Credential(error) => !matches!(error, CredentialError::UnusableToken),
            Self::Decode { .. }
            | Self::TooLarge { .. }
            | Self::Line(_)
            | Self::Request(_)
            | Self::Config(_)
            | Self::Tls(_)
            | Self::Service(_) => false,
        }
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        self.api()?.retry_after
    }

    /// The error of a service: this crate's own as it is, any other as [`Error::Service`].
    pub(crate) fn from_service(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => *own,
            Err(other) => Self::Service(other),
        }
    }
}

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        Self::Api(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(code: u16) -> Error {
        ApiError::new(Method::GET, "/x", Status { code, ..Status::default() }).into()
    }

    fn connect(fault: ConnectFault) -> Error {
        Error::Connect(ConnectError { server: "https://s".into(), fault, source: "x".into() })
    }

    fn timed_out() -> Error {
        TimedOut { method: Method::GET, path: "/x".into(), limit: Duration::from_secs(1) }.into()
    }

    #[test]
    fn every_error_is_retryable_and_a_timeout_or_not() {
        let broken = || Error::Broken { server: "https://s".into(), source: "x".into() };
        let rows = [
            (api(400), false, false),
            (api(401), false, false),
            (api(403), false, false),
            (api(404), false, false),
            (api(409), false, false),
            (api(410), false, false),
            (api(429), true, false),
            (api(500), true, false),
            (api(503), true, false),
            (api(504), true, true),
            (connect(ConnectFault::Refused), true, false),
            (connect(ConnectFault::TimedOut), true, true),
            (connect(ConnectFault::Expired), true, false),
            (connect(ConnectFault::UnknownAuthority), false, false),
            (broken(), true, false),
            (timed_out(), true, true),
            (LineTooLong { max: 1 }.into(), false, false),
            (CredentialError::EmptyToken { path: "/t".into() }.into(), true, false),
            (CredentialError::UnusableToken.into(), false, false),
            (TlsError::NoKey.into(), false, false),
            (ConfigError::NoCurrentContext.into(), false, false),
            (Error::Service("x".into()), false, false),
        ];
        for (error, retryable, timeout) in rows {
            assert_eq!((error.is_retryable(), error.is_timeout()), (retryable, timeout), "{error:?}");
        }
    }

    #[test]
    fn a_refusal_reads_in_one_line() {
        let status = Status {
            code: 404,
            reason: "NotFound".into(),
            message: "pods \"a\" not found".into(),
            ..Status::default()
        };
        let error = Error::from(ApiError::new(Method::GET, "/api/v1/namespaces/d/pods/a", status));
        assert_eq!(error.to_string(), "GET /api/v1/namespaces/d/pods/a: 404 NotFound: pods \"a\" not found");
        assert!(error.is_not_found() && error.code() == Some(404));
    }

    #[test]
    fn what_a_server_says_stays_on_one_line() {
        let long = "ä".repeat(MAX_SHOWN);
        let rows = [
            ("a\r\nERROR b\tc", "a  ERROR b c".to_owned()),
            ("\u{1b}[2J\u{7f}\0", "\\u{1b}[2J\\u{7f}\\u{0}".to_owned()),
            (&*long, format!("{}...", "ä".repeat(MAX_SHOWN / 2))),
        ];
        for (message, shown) in rows {
            let status =
                Status { code: 500, reason: message.into(), message: message.into(), ..Status::default() };
            let error = ApiError::new(Method::GET, "/x", status);
            assert_eq!(error.to_string(), format!("GET /x: 500 {shown}: {shown}"));
        }
    }

    #[test]
    fn a_refused_credential_says_what_to_check() {
        for (code, said) in [(401, true), (403, false), (404, false)] {
            let text = api(code).to_string();
            let hint = text.contains("check that the user's token or client certificate is for this cluster");
            assert_eq!(hint, said, "{text}");
        }
    }

    #[test]
    fn an_own_error_passes_through_foreign_layers_as_itself() {
        assert!(matches!(Error::from_service(Box::new(timed_out())), Error::Timeout(_)));
        assert!(matches!(Error::from_service("x".into()), Error::Service(_)));
    }
}
