//! Finds certificates and private keys in PEM texts, past whatever else is in them.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject};

use super::TlsError;

/// All certificates, in order.
pub(super) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    // The parser's errors repeat lines of the text. A key may be among them, so they go no further.
    let found = CertificateDer::pem_slice_iter(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| TlsError::BrokenPem)?;
    if found.is_empty() { Err(TlsError::NoCertificate) } else { Ok(found) }
}

/// The first private key.
pub(super) fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(text) => Err(TlsError::EncryptedKey),
        Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey),
        Err(_) => Err(TlsError::BrokenPem),
    }
}

/// Encrypted PKCS #8 has a label of its own (RFC 7468, 11); the older forms say it in a header (RFC 1421, 4.6.1.1).
fn is_encrypted(text: &[u8]) -> bool {
    let has = |needle: &[u8]| memchr::memmem::find(text, needle).is_some();
    has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || (has(b"Proc-Type:") && has(b"ENCRYPTED"))
}
