//! Where the API server is, what to trust, and who to be.
//!
//! In: kubeconfig files, or the environment of a pod. Out: a [`Config`], with everything that is a file opened and
//! checked but the token file, which is read again while the client runs.
//!
//! ```text
//!   KUBECONFIG, ~/.kube/config ─ load ─▶ Kubeconfig ─ merge ─▶ resolve ─▶ cluster + user ─ open ─┐
//!   a pod's environment and files ─ in_cluster ──────────────────────────────────────────────────┴▶ Config
//! ```
//!
//! Why choosing is apart from opening: which entry counts, and what an incomplete one means, are tables without files.
//! An entry that is not chosen may be wrong in any way. Configuration is read once, at the start, so the files are read
//! with blocking calls; [`crate::Client::infer`] does that off the async threads.
//!
//! What it leaves to others: connections (`connect`), sending the token (`layer`).

mod error;
mod in_cluster;
mod kubeconfig;
mod load;
mod open;
mod resolve;
mod yaml;

use std::{fmt, path::PathBuf, time::Duration};

use http::Uri;
use secrecy::SecretString;

use crate::TlsConfig;

pub use error::{ConfigError, Entry};
pub use kubeconfig::{
    Cluster, Context, Kubeconfig, NamedCluster, NamedContext, NamedUser, Opaque, OtherFields, User,
};
pub use resolve::KubeConfigOptions;

/// The namespace of a context that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// How to reach one API server as one user. Plain values: change what should be different, then
/// [`crate::Client::from_config`].
#[derive(Clone, Debug)]
pub struct Config {
    /// URL of the server. A path in it stays in front of every request's path.
    pub cluster_url: Uri,
    /// The namespace of [`crate::Api::default_namespaced`]. Default `default`.
    pub default_namespace: String,
    /// What to trust and which client certificate to show. Default: the platform's roots, no certificate.
    pub tls: TlsConfig,
    /// The credentials sent with every request. Default: none.
    pub auth: Auth,
    /// Time for a connection to come about: TCP, and then TLS on top, may take so long each. Default 10 s, several
    /// times the retransmission of a lost first packet on a slow path.
    pub connect_timeout: Duration,
    /// Time for a unary request, from sending it to the end of its answer's body; `None` for no limit. Default
    /// [`crate::UNARY_LIMIT`]. Watches and other streams do not count against it.
    pub time_limit: Option<Duration>,
}

/// The credentials of requests. A client certificate is part of [`TlsConfig`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Auth {
    /// None: anonymous, or by client certificate.
    #[default]
    None,
    /// A bearer token.
    Token(SecretString),
    /// A file with a bearer token, read again once a minute, because the kubelet rotates it.
    TokenFile(PathBuf),
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(_) => f.write_str("Token(..)"),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
        }
    }
}

impl Config {
    /// A configuration with nothing but defaults for a server.
    pub fn new(cluster_url: Uri) -> Self {
        Self {
            cluster_url,
            default_namespace: DEFAULT_NAMESPACE.to_owned(),
            tls: TlsConfig::default(),
            auth: Auth::None,
            connect_timeout: Duration::from_secs(10),
            time_limit: Some(crate::UNARY_LIMIT),
        }
    }

    /// The kubeconfig of this process; where there is none at all, the environment of a pod.
    ///
    /// # Errors
    /// A kubeconfig that exists and is wrong is an error, and not a reason to try the other. When there is neither,
    /// [`ConfigError::Infer`] shows both attempts.
    pub fn infer() -> Result<Self, ConfigError> {
        infer(|| Self::from_kubeconfig(&KubeConfigOptions::default()), Self::in_cluster)
    }

    /// What the kubeconfig of this process (or the file in the options) says.
    ///
    /// # Errors
    /// Says which file or entry is wrong.
    pub fn from_kubeconfig(options: &KubeConfigOptions) -> Result<Self, ConfigError> {
        let kubeconfig = match &options.path {
            Some(path) => Kubeconfig::read_file(path)?,
            None => Kubeconfig::read()?,
        };
        Self::resolve(&kubeconfig, options)
    }

    /// What a kubeconfig at hand says ([`KubeConfigOptions::path`] plays no part).
    ///
    /// # Errors
    /// Says which entry is wrong.
    pub fn resolve(kubeconfig: &Kubeconfig, options: &KubeConfigOptions) -> Result<Self, ConfigError> {
        open::open(&resolve::resolve(kubeconfig, options)?)
    }

    /// What the environment of a pod says.
    ///
    /// # Errors
    /// [`ConfigError::NotInCluster`] outside of a pod; [`ConfigError::Read`] for an incomplete service account.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        let var = |name| std::env::var(name).ok();
        let (host, port) = (var("KUBERNETES_SERVICE_HOST"), var("KUBERNETES_SERVICE_PORT"));
        in_cluster::config(host.as_deref(), port.as_deref(), in_cluster::SERVICE_ACCOUNT.as_ref())
    }
}

fn infer(
    from_kubeconfig: impl FnOnce() -> Result<Config, ConfigError>,
    in_cluster: impl FnOnce() -> Result<Config, ConfigError>,
) -> Result<Config, ConfigError> {
    let kubeconfig = match from_kubeconfig() {
        Err(error @ ConfigError::NoKubeconfig { .. }) => error,
        found => return found,
    };
    in_cluster().map_err(|in_cluster| ConfigError::Infer {
        kubeconfig: Box::new(kubeconfig),
        in_cluster: Box::new(in_cluster),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Result<Config, ConfigError> {
        Err(ConfigError::NoKubeconfig { looked_at: vec!["/h/.kube/config".into()] })
    }

    fn outside() -> Result<Config, ConfigError> {
        Err(ConfigError::NotInCluster { missing: "both" })
    }

    #[expect(clippy::unnecessary_wraps, reason = "stands for a fallible step")]
    fn found(host: &'static str) -> Result<Config, ConfigError> {
        Ok(Config::new(Uri::from_static(host)))
    }

    #[test]
    fn the_pods_environment_counts_only_where_there_is_no_kubeconfig() {
        assert_eq!(infer(|| found("https://k"), || found("https://p")).unwrap().cluster_url, "https://k");
        assert_eq!(infer(none, || found("https://p")).unwrap().cluster_url, "https://p");
        let broken = infer(|| Err(ConfigError::NoCurrentContext), || found("https://p")).unwrap_err();
        assert!(matches!(broken, ConfigError::NoCurrentContext), "{broken}");
    }

    #[test]
    fn without_either_both_attempts_are_shown() {
        let error = infer(none, outside).unwrap_err().to_string();
        for part in ["/h/.kube/config", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_token() {
        let config =
            Config { auth: Auth::Token("s3cr".into()), ..Config::new(Uri::from_static("https://k")) };
        assert!(!format!("{config:?}").contains("s3cr"));
    }
}
