//! What a connection trusts and which certificate it shows, and rustls' configuration made of it.
//!
//! In: PEM texts (`pem`), a server name. Out: a [`rustls::ClientConfig`] with the ring provider, TLS 1.2 and 1.3.
//!
//! Kinds of private keys: RSA, P-256, P-384 and Ed25519, in the PEM forms `PRIVATE KEY`, `RSA PRIVATE KEY` and
//! `EC PRIVATE KEY`. P-521 keys are refused: the provider has no such curve.
//!
//! What it leaves to others: opening files (`config`), connections (`connect`), saying why a handshake failed (`connect`).

mod anything;
mod pem;

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};

/// TLS of the connections to one server.
#[derive(Clone, Debug, Default)]
pub struct TlsConfig {
    /// Whose certificates are taken. Default: those that the platform trusts.
    pub trust: Trust,
    /// The client certificate. Default: none.
    pub identity: Option<Identity>,
    /// The name to ask for (SNI) and to check the certificate against, instead of the URL's host; a DNS name or an IP
    /// address. The TCP connection and the Host header still use the URL. Default: the URL's host.
    pub server_name: Option<String>,
}

/// Whose server certificates are taken.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Trust {
    /// Those that the platform trusts.
    #[default]
    Platform,
    /// Those that chain to one of these certificates.
    Only(Vec<CertificateDer<'static>>),
    /// Any certificate: whoever is between here and the server can read and change everything, tokens included.
    Anything,
}

impl Trust {
    /// Trust in every certificate of a PEM bundle, in whatever order, with whatever text between them.
    ///
    /// # Errors
    /// A bundle without a certificate, or with a broken one.
    pub fn from_pem(bundle: &[u8]) -> Result<Self, TlsError> {
        pem::certificates(bundle).map(Self::Only)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform => f.write_str("Platform"),
            Self::Only(roots) => write!(f, "Only({} certificates)", roots.len()),
            Self::Anything => f.write_str("Anything"),
        }
    }
}

/// A client certificate with its chain and its private key.
#[derive(Clone)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
}

impl Identity {
    /// From the PEM texts of certificate (and chain) and key. Unrelated blocks in either are skipped.
    ///
    /// # Errors
    /// No certificate, no key, an encrypted key, or a broken block.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Self { chain: pem::certificates(certificate)?, key: Arc::new(pem::private_key(key)?) })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates, key)", self.chain.len())
    }
}

/// Why there is no TLS to be had with these certificates, keys or names. Never shows a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The text has no `CERTIFICATE` block.
    #[error("no certificate in the PEM text")]
    NoCertificate,
    /// A block cannot be read.
    #[error("the PEM text is broken")]
    BrokenPem,
    /// A certificate cannot be read.
    #[error("a certificate cannot be read")]
    BrokenCertificate(#[source] rustls::Error),
    /// The text has no private key.
    #[error("no private key in the PEM text (expected PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY)")]
    NoKey,
    /// The key has a passphrase.
    #[error("encrypted keys are unsupported; decrypt it first, for example with openssl pkey")]
    EncryptedKey,
    /// The key is not of a kind that can be used, or is not the certificate's.
    #[error(
        "the private key cannot be used with the certificate (usable: RSA, P-256, P-384, Ed25519; P-521 is not)"
    )]
    UnusableKey(#[source] rustls::Error),
    /// The name is neither a DNS name nor an IP address.
    #[error("{0:?} is neither a DNS name nor an IP address")]
    BadServerName(String),
    /// The platform's certificates cannot be found.
    #[error("the platform has no trusted certificates; name a certificate-authority")]
    NoPlatformRoots,
    /// The provider lacks something that TLS 1.2 and 1.3 need.
    #[error("the TLS provider is not complete")]
    Provider(#[source] rustls::Error),
}

impl TlsConfig {
    /// rustls' configuration for these settings. ALPN is left empty, for the connector sets it.
    ///
    /// # Errors
    /// Keys that cannot be used, broken certificates, no platform roots.
    pub fn client_config(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Provider)?;
        let builder = match self.roots()? {
            Some(roots) => builder.with_root_certificates(roots),
            None => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(anything::Anything(provider)))
            }
        };
        match &self.identity {
            Some(Identity { chain, key }) => {
                builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(TlsError::UnusableKey)
            }
            None => Ok(builder.with_no_client_auth()),
        }
    }

    /// The certificates to trust; `None` for any.
    fn roots(&self) -> Result<Option<RootCertStore>, TlsError> {
        let mut roots = RootCertStore::empty();
        match &self.trust {
            Trust::Anything => return Ok(None),
            Trust::Only(certificates) => {
                for certificate in certificates {
                    roots.add(certificate.clone()).map_err(TlsError::BrokenCertificate)?;
                }
            }
            Trust::Platform => {
                // A platform has odd certificates among hundreds; those that can be read count.
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err(TlsError::NoPlatformRoots);
                }
            }
        }
        Ok(Some(roots))
    }

    /// The name that replaces the URL's host.
    pub(crate) fn check_server_name(&self) -> Result<Option<ServerName<'static>>, TlsError> {
        let name = self.server_name.clone();
        name.map(|name| ServerName::try_from(name.clone()).map_err(|_| TlsError::BadServerName(name)))
            .transpose()
    }
}

/// The algorithms that signatures of a handshake are checked with.
fn signatures(provider: &CryptoProvider) -> &rustls::crypto::WebPkiSupportedAlgorithms {
    &provider.signature_verification_algorithms
}

#[cfg(test)]
mod tests;
