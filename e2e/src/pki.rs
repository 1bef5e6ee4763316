//! The keys and certificates of one cluster: its own authority, its server, its users, its service accounts.
//!
//! In: names. Out: PEM text. Nothing here touches a file or the network.
//!
//! Every cluster has its own authority with its own name, so that a client of one is refused by every other: what a
//! test of "wrong CA" needs is a second [`Pki`]. Keys are ECDSA P-256: made in under a millisecond, and
//! kube-apiserver takes them for TLS and for signing service account tokens alike. (To check those tokens it wants the
//! public half: a private key in PKCS #8 is refused there, unless it is RSA.)
//!
//! Kubernetes reads a client certificate's common name as the user and its organisation as a group. rcgen writes at most
//! one organisation, so a user with several groups comes by token (`ControlPlaneBuilder::user`).

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::Error;

/// The names and addresses at which the API server may be reached.
const SERVER_NAMES: [&str; 7] = [
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The group whose members may do everything, whatever RBAC says.
pub const MASTERS: &str = "system:masters";

/// A certificate and its private key.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, PEM.
    pub certificate_pem: String,
    /// The private key, PEM (PKCS #8). Not printed by `Debug`.
    pub key_pem: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// One certificate authority and what it has signed.
pub struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    serving: Identity,
    service_accounts: KeyPair,
}

impl fmt::Debug for Pki {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pki").field("ca_pem", &self.ca_pem()).finish_non_exhaustive()
    }
}

/// When a certificate is good.
#[derive(Clone, Copy)]
enum Validity {
    /// From long ago until long after.
    Always,
    /// For one day of the past.
    Past,
}

impl Pki {
    /// Makes an authority, a serving certificate for `127.0.0.1`, `::1`, `localhost` and the in-cluster names, and the
    /// key of the service accounts.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new() -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut params =
            params(&format!("kube-e2e {:016x}", kube_client::clock::seed()), None, Validity::Always);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, key)?;
        let serving = sign_serving(&authority, Validity::Always)?;
        Ok(Self { authority, serving, service_accounts: KeyPair::generate()? })
    }

    /// The authority's certificate, PEM.
    pub fn ca_pem(&self) -> String {
        self.authority.pem()
    }

    /// The API server's certificate and key.
    pub fn serving(&self) -> &Identity {
        &self.serving
    }

    /// The private key that signs service account tokens, PEM.
    pub fn service_account_key_pem(&self) -> String {
        self.service_accounts.serialize_pem()
    }

    /// The public key that checks service account tokens, PEM.
    pub fn service_account_public_key_pem(&self) -> String {
        self.service_accounts.public_key_pem()
    }

    /// A client certificate of `system:masters`.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub fn admin(&self) -> Result<Identity, Error> {
        self.user("admin", Some(MASTERS))
    }

    /// A client certificate for any user, in a group. The user needs not exist: RBAC alone says what it may do.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn user(&self, name: &str, group: Option<&str>) -> Result<Identity, Error> {
        sign_client(&self.authority, name, group, Validity::Always)
    }

    /// Like [`user`](Self::user), but the certificate's last day is long past.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub fn expired_user(&self, name: &str, group: Option<&str>) -> Result<Identity, Error> {
        sign_client(&self.authority, name, group, Validity::Past)
    }

    /// Like [`serving`](Self::serving), but the certificate's last day is long past.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub fn expired_serving(&self) -> Result<Identity, Error> {
        sign_serving(&self.authority, Validity::Past)
    }
}

/// A bearer token that nobody can guess.
///
/// # Errors
/// When the system gives no random numbers.
pub(crate) fn token() -> Result<String, Error> {
    // The public half of a key that nobody keeps: what makes keys is the only source of secrets that is at hand here.
    Ok(URL_SAFE_NO_PAD.encode(KeyPair::generate()?.public_key_raw()))
}

fn sign_serving(
    authority: &CertifiedIssuer<'static, KeyPair>,
    validity: Validity,
) -> Result<Identity, Error> {
    let names: Vec<String> = SERVER_NAMES.iter().map(|&name| name.into()).collect();
    let mut params = params("kube-apiserver", None, validity);
    params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    sign(authority, params)
}

fn sign_client(
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    group: Option<&str>,
    validity: Validity,
) -> Result<Identity, Error> {
    let mut params = params(name, group, validity);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    sign(authority, params)
}

fn sign(
    authority: &CertifiedIssuer<'static, KeyPair>,
    mut params: CertificateParams,
) -> Result<Identity, Error> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok(Identity { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
}

fn params(name: &str, group: Option<&str>, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    (params.not_before, params.not_after) = match validity {
        Validity::Always => (date_time_ymd(2000, 1, 1), date_time_ymd(2100, 1, 1)),
        Validity::Past => (date_time_ymd(2000, 1, 1), date_time_ymd(2000, 1, 2)),
    };
    params
}
