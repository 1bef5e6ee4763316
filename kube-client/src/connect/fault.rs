//! Decides why a connection did not come about, and says what to do about it.
//!
//! In: the chain of errors of a failed attempt. Out: a [`ConnectFault`]. The layers below answer with errors inside of
//! errors; what is found first in the chain counts, from the outside in, and what is not known stays
//! [`ConnectFault::Other`] with the chain as its source.

use std::{error::Error as StdError, fmt, io};

use rustls::{AlertDescription, CertificateError};

use crate::BoxError;

/// No connection came about: nothing was sent to the server.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to {server}: {fault}")]
pub struct ConnectError {
    /// The server, as scheme, host and port.
    pub server: String,
    /// Why, and what to do.
    pub fault: ConnectFault,
    /// What the layers below said.
    #[source]
    pub source: BoxError,
}

/// Why a connection did not come about. Its text says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFault {
    /// The host name has no address.
    UnknownHost,
    /// Nothing listens at the address.
    Refused,
    /// There is no way to the address.
    NoRoute,
    /// No answer in time, to TCP or to TLS.
    TimedOut,
    /// The server's certificate does not chain to a trusted one.
    UnknownAuthority,
    /// The server's certificate has expired.
    Expired,
    /// The server's certificate is not valid yet.
    NotYetValid,
    /// The server's certificate is for other names or addresses.
    WrongName,
    /// The server's certificate was refused for another reason.
    BadCertificate,
    /// The server did not accept the client certificate, or wants one.
    ClientCertificate,
    /// What answers does not speak TLS.
    NotTls,
    /// The connection was closed while it was set up.
    Closed,
    /// Something else; the source says what.
    Other,
}

impl ConnectFault {
    /// Whether the same attempt may succeed later although nobody changes this program's configuration.
    pub(crate) fn may_pass(self) -> bool {
        match self {
            Self::UnknownHost
            | Self::Refused
            | Self::NoRoute
            | Self::TimedOut
            | Self::Expired
            | Self::NotYetValid
            | Self::Closed
            | Self::Other => true,
            Self::UnknownAuthority
            | Self::WrongName
            | Self::BadCertificate
            | Self::ClientCertificate
            | Self::NotTls => false,
        }
    }
}

impl fmt::Display for ConnectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownHost => "the host name has no address; check the server's URL and the DNS",
            Self::Refused => "nothing listens there; check that the server is up and that its URL has the right port",
            Self::NoRoute => "there is no route to it; check the network and the server's URL",
            Self::TimedOut => "no answer in time; check that the server is up and that no firewall drops the connection",
            Self::UnknownAuthority => {
                "its certificate is not signed by a trusted authority; check that certificate-authority is the one of \
                 this cluster"
            }
            Self::Expired => "its certificate has expired; renew it on the server, or check this machine's clock",
            Self::NotYetValid => "its certificate is not valid yet; check the clocks of this machine and of the server",
            Self::WrongName => {
                "its certificate is for other names; use one of them as the URL's host or as tls-server-name"
            }
            Self::BadCertificate => "its certificate cannot be accepted",
            Self::ClientCertificate => {
                "it does not accept the client certificate, or asks for one; check the user's client-certificate"
            }
            Self::NotTls => "what answers does not speak TLS; check the port, or use http:// if this is meant",
            Self::Closed => "the connection was closed while it was set up; check that this is a Kubernetes API server",
            Self::Other => "the connection could not be set up",
        })
    }
}

/// What servers say of a client certificate that they do not accept, or miss (RFC 8446, 6.2).
const CLIENT_CERTIFICATE_ALERTS: [AlertDescription; 9] = [
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::AccessDenied,
    AlertDescription::CertificateRequired,
    AlertDescription::DecryptError, // Signed by another authority of the same name.
];

/// The host name could not be looked up. Made by the resolver, so that this need not be read from a text.
#[derive(Debug, thiserror::Error)]
#[error("the host name could not be looked up")]
pub(super) struct LookupFailed(#[source] pub(super) io::Error);

/// A step of setting up the connection took too long.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {0:?}")]
pub(super) struct ConnectTimedOut(pub(super) std::time::Duration);

/// What the chain of errors means, where it means anything known.
pub(super) fn classify(error: &(dyn StdError + 'static)) -> Option<ConnectFault> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(fault) = classify_one(error) {
            return Some(fault);
        }
        // An I/O error with another error inside names that error's source as its own: look at the inner one too.
        if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref)
            && let Some(fault) = classify(inner)
        {
            return Some(fault);
        }
        next = error.source();
    }
    None
}

fn classify_one(error: &(dyn StdError + 'static)) -> Option<ConnectFault> {
    if error.is::<LookupFailed>() {
        return Some(ConnectFault::UnknownHost);
    }
    if error.is::<ConnectTimedOut>() {
        return Some(ConnectFault::TimedOut);
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return classify_tls(error);
    }
    let error = error.downcast_ref::<io::Error>()?;
    if error.kind() == io::ErrorKind::InvalidData && is_alert_in_words(error) {
        return Some(ConnectFault::ClientCertificate);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(ConnectFault::Refused),
        io::ErrorKind::TimedOut => Some(ConnectFault::TimedOut),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(ConnectFault::NoRoute),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::UnexpectedEof => {
            Some(ConnectFault::Closed)
        }
        _ => None,
    }
}

/// HTTP/2 keeps of an I/O error only its kind and its text. The texts to look for are made, not written down.
fn is_alert_in_words(error: &io::Error) -> bool {
    let text = error.to_string();
    CLIENT_CERTIFICATE_ALERTS.iter().any(|alert| rustls::Error::AlertReceived(*alert).to_string() == text)
}

fn classify_tls(error: &rustls::Error) -> Option<ConnectFault> {
    match error {
        rustls::Error::InvalidCertificate(certificate) => Some(match certificate {
            // The CAs of all clusters have the same name: with the CA of another one, it is the signature that is wrong.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                ConnectFault::UnknownAuthority
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => ConnectFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                ConnectFault::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ConnectFault::WrongName
            }
            _ => ConnectFault::BadCertificate,
        }),
        rustls::Error::AlertReceived(alert) if CLIENT_CERTIFICATE_ALERTS.contains(alert) => {
            Some(ConnectFault::ClientCertificate)
        }
        rustls::Error::InvalidMessage(_) => Some(ConnectFault::NotTls),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_wherever_in_the_chain_it_is() {
        let io = |kind: io::ErrorKind| io::Error::new(kind, "text");
        let tls =
            |error| io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error));
        let rows: Vec<(BoxError, Option<ConnectFault>)> = vec![
            (io(io::ErrorKind::ConnectionRefused).into(), Some(ConnectFault::Refused)),
            (io(io::ErrorKind::HostUnreachable).into(), Some(ConnectFault::NoRoute)),
            (io(io::ErrorKind::UnexpectedEof).into(), Some(ConnectFault::Closed)),
            (Box::new(LookupFailed(io(io::ErrorKind::Other))), Some(ConnectFault::UnknownHost)),
            (
                io::Error::other(LookupFailed(io(io::ErrorKind::Other))).into(),
                Some(ConnectFault::UnknownHost),
            ),
            (Box::new(ConnectTimedOut(std::time::Duration::from_secs(1))), Some(ConnectFault::TimedOut)),
            (tls(CertificateError::UnknownIssuer).into(), Some(ConnectFault::UnknownAuthority)),
            (tls(CertificateError::BadSignature).into(), Some(ConnectFault::UnknownAuthority)),
            (tls(CertificateError::Expired).into(), Some(ConnectFault::Expired)),
            (tls(CertificateError::NotValidYet).into(), Some(ConnectFault::NotYetValid)),
            (tls(CertificateError::NotValidForName).into(), Some(ConnectFault::WrongName)),
            (tls(CertificateError::Revoked).into(), Some(ConnectFault::BadCertificate)),
            (
                io::Error::other(rustls::Error::AlertReceived(AlertDescription::CertificateRequired)).into(),
                Some(ConnectFault::ClientCertificate),
            ),
            (
                io::Error::new(io::ErrorKind::InvalidData, "received fatal alert: UnknownCA").into(),
                Some(ConnectFault::ClientCertificate),
            ),
            (io::Error::other("text").into(), None),
            ("text".into(), None),
        ];
        for (error, expected) in rows {
            assert_eq!(classify(&*error), expected, "{error:?}");
        }
    }
}
