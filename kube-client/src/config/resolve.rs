//! Decides which cluster and which user a kubeconfig means.
//!
//! In: a [`Kubeconfig`] and what the caller wants chosen. Out: [`Resolved`], or an error that names the entry to mend.
//!
//! The rules: a context asked for beats `current-context`; a cluster or user asked for beats the context's. Nothing is
//! ever guessed: not the first entry, not localhost, not the cluster this process happens to run in.
//!
//! What it leaves to others: opening the files that the entries name.

use super::{
    ConfigError, Kubeconfig,
    kubeconfig::{Cluster, User},
};

/// What to take from a kubeconfig instead of what it says itself.
#[derive(Clone, Debug, Default)]
pub struct KubeConfigOptions {
    /// The file. Default: the list in `KUBECONFIG`, else `~/.kube/config`.
    pub path: Option<std::path::PathBuf>,
    /// The context. Default: `current-context`.
    pub context: Option<String>,
    /// The cluster. Default: the context's.
    pub cluster: Option<String>,
    /// The user. Default: the context's.
    pub user: Option<String>,
}

/// One cluster, one user, one namespace.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    pub(super) cluster_name: &'a str,
    pub(super) cluster: &'a Cluster,
    /// Name and content; `None` when the context names no user.
    pub(super) user: Option<(&'a str, &'a User)>,
    pub(super) namespace: Option<&'a str>,
}

pub(super) fn resolve<'a>(
    kubeconfig: &'a Kubeconfig,
    options: &'a KubeConfigOptions,
) -> Result<Resolved<'a>, ConfigError> {
    let context_name = set(options.context.as_deref())
        .or(set(kubeconfig.current_context.as_deref()))
        .ok_or(ConfigError::NoCurrentContext)?;
    let entry = kubeconfig.contexts.iter().find(|entry| entry.name == context_name).ok_or_else(|| {
        ConfigError::ContextNotFound {
            context: context_name.to_owned(),
            known: kubeconfig.contexts.iter().map(|entry| entry.name.clone()).collect(),
        }
    })?;
    let context = entry.context.as_ref();

    let cluster_name = set(options.cluster.as_deref())
        .or(set(context.and_then(|context| context.cluster.as_deref())))
        .ok_or_else(|| ConfigError::ContextWithoutCluster { context: context_name.to_owned() })?;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|entry| entry.name == cluster_name)
        .and_then(|entry| entry.cluster.as_ref())
        .ok_or_else(|| ConfigError::ClusterNotFound {
            context: context_name.to_owned(),
            cluster: cluster_name.to_owned(),
        })?;

    let user_name = set(options.user.as_deref()).or(set(context.and_then(|context| context.user.as_deref())));
    let user = user_name
        .map(|name| {
            let entry = kubeconfig.users.iter().find(|entry| entry.name == name);
            let user = entry.and_then(|entry| entry.user.as_ref());
            user.map(|user| (name, user)).ok_or_else(|| ConfigError::UserNotFound {
                context: context_name.to_owned(),
                user: name.to_owned(),
            })
        })
        .transpose()?;

    let namespace = set(context.and_then(|context| context.namespace.as_deref()));
    Ok(Resolved { cluster_name, cluster, user, namespace })
}

/// An empty string means "not set" everywhere in a kubeconfig.
pub(super) fn set(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
current-context: prdo
clusters:
- {name: c1, cluster: {server: 'https://c1.example.test'}}
- {name: c2, cluster: {server: 'https://c2.example.test'}}
- {name: hollow}
users:
- {name: u1, user: {token: t1}}
- {name: hollow}
contexts:
- {name: prod, context: {cluster: c2, user: u1, namespace: shop}}
- {name: anonymous, context: {cluster: c1, user: null, namespace: ''}}
- {name: bare}
- {name: no-cluster, context: {cluster: c9, user: u1}}
- {name: no-user, context: {cluster: c1, user: u9}}
- {name: hollow-cluster, context: {cluster: hollow, user: u1}}
- {name: hollow-user, context: {cluster: c1, user: hollow}}
";

    fn outcome(text: &str, options: &KubeConfigOptions) -> String {
        match resolve(&Kubeconfig::from_yaml(text).unwrap(), options) {
            Ok(Resolved { cluster_name, cluster, user, namespace }) => format!(
                "{cluster_name} {} {} {}",
                cluster.server.as_deref().unwrap_or("-"),
                user.map_or("-", |(name, _)| name),
                namespace.unwrap_or("-")
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_context_names_cluster_user_and_namespace_or_the_error_says_what_is_missing() {
        for (context, expected) in [
            ("prod", "c2 https://c2.example.test u1 shop"),
            ("anonymous", "c1 https://c1.example.test - -"),
            ("bare", "context \"bare\" names no cluster"),
            (
                "no-cluster",
                "context \"no-cluster\" names cluster \"c9\", which the kubeconfig does not define",
            ),
            ("no-user", "context \"no-user\" names user \"u9\", which the kubeconfig does not define"),
            (
                "hollow-cluster",
                "context \"hollow-cluster\" names cluster \"hollow\", which the kubeconfig does not define",
            ),
            (
                "hollow-user",
                "context \"hollow-user\" names user \"hollow\", which the kubeconfig does not define",
            ),
        ] {
            let options = KubeConfigOptions { context: Some(context.into()), ..Default::default() };
            assert_eq!(outcome(TEXT, &options), expected);
        }
    }

    #[test]
    fn a_dangling_current_context_is_never_replaced_by_another_entry() {
        let error = outcome(TEXT, &KubeConfigOptions::default());
        assert!(error.starts_with("the kubeconfig has no context \"prdo\" (it has: prod, "), "{error}");
    }

    #[test]
    fn no_current_context_is_an_error_of_its_own() {
        for text in ["contexts: [{name: prod}]", "{current-context: '', contexts: [{name: prod}]}"] {
            let error = outcome(text, &KubeConfigOptions::default());
            assert_eq!(error, ConfigError::NoCurrentContext.to_string());
        }
    }

    #[test]
    fn what_is_asked_for_beats_the_context() {
        let options = KubeConfigOptions {
            context: Some("no-user".into()),
            cluster: Some("c2".into()),
            user: Some("u1".into()),
            ..Default::default()
        };
        assert_eq!(outcome(TEXT, &options), "c2 https://c2.example.test u1 -");
    }
}
