//! What can be wrong with a configuration.

use std::{fmt, path::PathBuf};

use crate::TlsError;

/// Why no configuration came out. Each one says which entry of which kind to mend; none shows a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// None of the places where a kubeconfig may be has one.
    #[error("no kubeconfig found (looked at: {}); set KUBECONFIG or write one there", Paths(.looked_at))]
    NoKubeconfig {
        /// Where was looked.
        looked_at: Vec<PathBuf>,
    },
    /// A file exists, or was asked for by name, and cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A kubeconfig that is not one.
    #[error("{} is not a kubeconfig: {message}", .path.as_ref().map_or("the text".into(), |path| path.display().to_string()))]
    Yaml {
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// Where and what.
        message: String,
    },
    /// No context was asked for and the kubeconfig names none.
    #[error("the kubeconfig sets no current-context; set one, or ask for a context by name")]
    NoCurrentContext,
    /// The context does not exist.
    #[error("the kubeconfig has no context {context:?} (it has: {})", Names(.known))]
    ContextNotFound {
        /// The context that was asked for, or `current-context`.
        context: String,
        /// The contexts that exist.
        known: Vec<String>,
    },
    /// The context exists and names no cluster.
    #[error("context {context:?} names no cluster")]
    ContextWithoutCluster {
        /// The context.
        context: String,
    },
    /// The context's cluster does not exist, or has no content.
    #[error("context {context:?} names cluster {cluster:?}, which the kubeconfig does not define")]
    ClusterNotFound {
        /// The context.
        context: String,
        /// The cluster it names.
        cluster: String,
    },
    /// The context's user does not exist, or has no content.
    #[error("context {context:?} names user {user:?}, which the kubeconfig does not define")]
    UserNotFound {
        /// The context.
        context: String,
        /// The user it names.
        user: String,
    },
    /// A field of the chosen entry makes no sense.
    #[error("{entry}: {field} {problem}")]
    Invalid {
        /// The entry, such as `cluster "c"`.
        entry: Entry,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate or key of the chosen entry cannot be used.
    #[error("{entry}: {field} cannot be used")]
    Tls {
        /// The entry.
        entry: Entry,
        /// The field, or the file in a pod.
        field: &'static str,
        /// Why.
        source: TlsError,
    },
    /// The chosen entry uses something that this version cannot do.
    #[error("{entry}: {field} is not supported yet")]
    NotSupported {
        /// The entry.
        entry: Entry,
        /// The field.
        field: &'static str,
    },
    /// This process does not run in a pod, or the pod's environment is not complete.
    #[error(
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must both be set (missing: {missing})"
    )]
    NotInCluster {
        /// Which of the two is missing or empty.
        missing: &'static str,
    },
    /// Neither way to infer a configuration worked.
    #[error("no configuration found. As a kubeconfig: {kubeconfig}. In a cluster: {in_cluster}")]
    Infer {
        /// Why there is none from a kubeconfig.
        kubeconfig: Box<ConfigError>,
        /// Why there is none from a pod's environment.
        in_cluster: Box<ConfigError>,
    },
}

/// The entry of a kubeconfig that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// The cluster of this name.
    Cluster(String),
    /// The user of this name.
    User(String),
    /// Not a kubeconfig: the environment and files of a pod.
    Pod,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(name) => write!(f, "cluster {name:?}"),
            Self::User(name) => write!(f, "user {name:?}"),
            Self::Pod => f.write_str("in-cluster configuration"),
        }
    }
}

struct Paths<'a>(&'a [PathBuf]);

impl fmt::Display for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.0.iter().map(|path| path.display().to_string()).collect();
        f.write_str(if paths.is_empty() { "no home directory" } else { "" })?;
        f.write_str(&paths.join(", "))
    }
}

struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "" })?;
        // The names come from a file: line breaks and what a terminal obeys are shown escaped.
        let names: Vec<_> = self.0.iter().map(|name| name.escape_debug().to_string()).collect();
        f.write_str(&names.join(", "))
    }
}
