//! The kubeconfig file as it is written, and how several become one.
//!
//! In: YAML. Out: [`Kubeconfig`], with every field optional, because what an unused entry leaves out must not spoil the
//! entry that is used (`resolve` says what the chosen one lacks). Fields that are not known here are kept and written
//! back.
//!
//! Merging follows the kubeconfig rules: the first file to set `current-context`, or to define a cluster, user or context
//! of some name, wins; fields of two entries of one name are never mixed. Relative paths are made absolute before, for
//! they belong to the file that wrote them.
//!
//! Secrets (tokens, keys, passwords, also those of a proxy's URL, and everything unknown) do not show in `Debug`. They do
//! in [`Kubeconfig::to_yaml`].
//!
//! What it leaves to others: reading files (`load`), choosing an entry (`resolve`), opening what an entry names
//! (`Config`).

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{ConfigError, yaml};

/// Fields that this crate does not know: kept, written back, and not shown in `Debug`.
pub type OtherFields = BTreeMap<String, Opaque>;

/// A kubeconfig file, or several merged.
///
/// ```
/// use kube_client::Kubeconfig;
///
/// let first = Kubeconfig::from_yaml("current-context: one")?;
/// let second = Kubeconfig::from_yaml("{current-context: two, clusters: [{name: c}]}")?;
/// let both = first.merge(second);
/// assert_eq!(both.current_context.as_deref(), Some("one"));
/// assert_eq!(both.clusters.len(), 1);
/// # Ok::<(), kube_client::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kubeconfig {
    /// The context that is used unless another is asked for.
    #[serde(rename = "current-context", skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The clusters. The first of a name counts.
    #[serde(deserialize_with = "null_as_default")]
    pub clusters: Vec<NamedCluster>,
    /// The users. The first of a name counts.
    #[serde(deserialize_with = "null_as_default")]
    pub users: Vec<NamedUser>,
    /// The contexts. The first of a name counts.
    #[serde(deserialize_with = "null_as_default")]
    pub contexts: Vec<NamedContext>,
    /// `apiVersion`, `kind`, `preferences`, `extensions` and whatever else is there.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// A cluster under its name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedCluster {
    /// The name that contexts use.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The cluster.
    pub cluster: Option<Cluster>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// How to reach a cluster and what to trust.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Cluster {
    /// URL of the API server; a path in it is kept in front of every request's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// File with the certificates to trust, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<PathBuf>,
    /// The same as base64 of the PEM; beats the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// Name to ask for (SNI) and to check the certificate against, instead of the URL's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Take any certificate. Refused together with a CA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Proxy to go through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.server.as_deref().map(without_password))
            .field("certificate_authority", &self.certificate_authority)
            .field("certificate_authority_data", &self.certificate_authority_data)
            .field("tls_server_name", &self.tls_server_name)
            .field("insecure_skip_tls_verify", &self.insecure_skip_tls_verify)
            .field("proxy_url", &self.proxy_url.as_deref().map(without_password))
            .field("other", &self.other)
            .finish()
    }
}

/// A URL without the user name and password that it may have before its host.
fn without_password(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://..@{after}")
        }
        None => url.to_owned(),
    }
}

/// A user under its name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedUser {
    /// The name that contexts use.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The user.
    pub user: Option<User>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// How to say who one is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct User {
    /// Bearer token.
    #[serde(with = "secret", skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretString>,
    /// File with a bearer token, read again once a minute; beats `token`.
    #[serde(rename = "tokenFile", skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// File with the client certificate and its chain, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<PathBuf>,
    /// The same as base64 of the PEM; beats the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_data: Option<String>,
    /// File with the private key of the client certificate, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<PathBuf>,
    /// The same as base64 of the PEM; beats the file.
    #[serde(with = "secret", skip_serializing_if = "Option::is_none")]
    pub client_key_data: Option<SecretString>,
    /// Unknown fields, and for now also `exec`, `auth-provider`, `username`, `password` and impersonation.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// A context under its name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedContext {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The context.
    pub context: Option<Context>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// Which user on which cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Name of the user; without one, requests carry no credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The default namespace; `default` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: OtherFields,
}

impl Kubeconfig {
    /// Reads YAML (or JSON). An empty text is an empty kubeconfig.
    ///
    /// # Errors
    /// [`ConfigError::Yaml`], which tells where and what, and never shows a value of the text.
    pub fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        yaml::parse(text).map_err(|message| ConfigError::Yaml { path: None, message })
    }

    /// Writes YAML, secrets included.
    ///
    /// # Errors
    /// [`ConfigError::Yaml`] for a path that is not text.
    pub fn to_yaml(&self) -> Result<String, ConfigError> {
        serde_saphyr::to_string(self)
            .map_err(|error| ConfigError::Yaml { path: None, message: error.to_string() })
    }

    /// This kubeconfig, and what `next` has in addition: this one's `current-context` and entries win whole.
    #[must_use]
    pub fn merge(mut self, next: Self) -> Self {
        if self.current_context.as_deref().is_none_or(str::is_empty) {
            self.current_context = next.current_context;
        }
        append(&mut self.clusters, next.clusters, |entry| &entry.name);
        append(&mut self.users, next.users, |entry| &entry.name);
        append(&mut self.contexts, next.contexts, |entry| &entry.name);
        for (field, value) in next.other {
            self.other.entry(field).or_insert(value);
        }
        self
    }

    /// Makes the relative paths of all entries start at `directory`, the one of the file that they stand in.
    #[must_use]
    pub fn with_paths_from(mut self, directory: &Path) -> Self {
        let clusters = self.clusters.iter_mut().filter_map(|entry| entry.cluster.as_mut());
        let users = self.users.iter_mut().filter_map(|entry| entry.user.as_mut());
        clusters
            .map(|cluster| &mut cluster.certificate_authority)
            .chain(
                users.flat_map(|user| {
                    [&mut user.token_file, &mut user.client_certificate, &mut user.client_key]
                }),
            )
            .flatten()
            .filter(|path| !path.as_os_str().is_empty())
            // Joining an absolute path gives that path.
            .for_each(|path| *path = directory.join(&path));
        self
    }

    /// Whether it names nothing at all, as an empty file does.
    pub(super) fn is_empty(&self) -> bool {
        self.current_context.as_deref().is_none_or(str::is_empty)
            && self.clusters.is_empty()
            && self.users.is_empty()
            && self.contexts.is_empty()
    }
}

fn append<T>(entries: &mut Vec<T>, next: Vec<T>, name: fn(&T) -> &str) {
    for entry in next {
        if !entries.iter().any(|known| name(known) == name(&entry)) {
            entries.push(entry);
        }
    }
}

/// A value that is kept as it is and not shown in `Debug`: what it means, and so whether it is secret, is not known.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Opaque(pub serde_json::Value);

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

mod secret {
    use secrecy::{ExposeSecret, SecretString};
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde's `with` asks for")]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<SecretString>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(secret) => serializer.serialize_str(secret.expose_secret()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SecretString>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn parse(text: &str) -> Kubeconfig {
        Kubeconfig::from_yaml(text).unwrap()
    }

    #[test]
    fn the_first_file_to_set_something_wins_whole() {
        let a =
            parse("{current-context: one, users: [{name: u, user: {token: A}}], contexts: [{name: one}]}");
        let b = parse(
            "{current-context: two, clusters: [{name: c}], contexts: [{name: two}, {name: one, context: {user: x}}],
              users: [{name: u, user: {token: B, client-certificate: /b.pem}}, {name: v}]}",
        );
        let merged = a.merge(b);
        assert_eq!(merged.current_context.as_deref(), Some("one"));
        let user = merged.users[0].user.as_ref().unwrap();
        assert_eq!(user.token.as_ref().unwrap().expose_secret(), "A");
        assert_eq!(user.client_certificate, None);
        let names = |kind: &str| -> Vec<&str> {
            match kind {
                "users" => merged.users.iter().map(|entry| &*entry.name).collect(),
                _ => merged.contexts.iter().map(|entry| &*entry.name).collect(),
            }
        };
        assert_eq!(names("users"), ["u", "v"]);
        assert_eq!(names("contexts"), ["one", "two"]);
        assert!(merged.contexts[0].context.is_none(), "an entry without content still wins");
    }

    #[test]
    fn an_empty_current_context_counts_as_not_set() {
        let merged = parse("current-context: ''").merge(parse("current-context: two"));
        assert_eq!(merged.current_context.as_deref(), Some("two"));
    }

    #[test]
    fn paths_belong_to_the_file_that_wrote_them() {
        let first = parse("clusters: [{name: c, cluster: {certificate-authority: pki/ca.pem}}]")
            .with_paths_from(Path::new("/x"));
        let second = parse(
            "users: [{name: u, user: {tokenFile: tok, client-certificate: ./c.pem, client-key: /abs/k.pem}},
                     {name: empty, user: {tokenFile: ''}}]",
        )
        .with_paths_from(Path::new("/y"));
        let merged = first.merge(second);
        let cluster = merged.clusters[0].cluster.as_ref().unwrap();
        let user = merged.users[0].user.as_ref().unwrap();
        assert_eq!(cluster.certificate_authority.as_deref(), Some(Path::new("/x/pki/ca.pem")));
        assert_eq!(user.token_file.as_deref(), Some(Path::new("/y/tok")));
        assert_eq!(user.client_certificate.as_deref(), Some(Path::new("/y/./c.pem")));
        assert_eq!(user.client_key.as_deref(), Some(Path::new("/abs/k.pem")));
        let empty = merged.users[1].user.as_ref().unwrap();
        assert_eq!(empty.token_file.as_deref(), Some(Path::new("")), "not set stays not set");
    }

    #[test]
    fn gaps_and_nulls_parse() {
        for text in [
            "",
            "---\n",
            "{}",
            "clusters: null\nusers: ~\ncontexts:\n",
            "contexts: [{name: a, context: {cluster: c, user: null, namespace: ~}}, {name: b}, {context: {}}]",
            "users: [{name: a, user: {auth-provider: {name: x, config: null}, exec: null}}, {name: null, user: ~}]",
            "clusters: [{name: 12, cluster: {server: null}}]\nusers: [{name: u, user: {token: 0123}}]",
        ] {
            Kubeconfig::from_yaml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        assert_eq!(parse("clusters: [{name: 12}]").clusters[0].name, "12");
    }

    #[test]
    fn unknown_fields_survive() {
        let text = r"
apiVersion: v1
kind: Config
preferences: {colors: true}
extensions: [{name: e, extension: {a: 1}}]
clusters: [{name: c, extra: 1, cluster: {server: 's', extensions: [{name: client, extension: {audience: team}}]}}]
users: [{name: u, user: {exec: {command: get, args: [a], env: null}, token: t0k}}]
";
        let again = parse(&parse(text).to_yaml().unwrap());
        assert_eq!(again.other["preferences"].0["colors"], true);
        assert_eq!(again.other["extensions"].0[0]["extension"]["a"], 1);
        assert_eq!(again.clusters[0].other["extra"].0, 1);
        let cluster = again.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.other["extensions"].0[0]["extension"]["audience"], "team");
        let user = again.users[0].user.as_ref().unwrap();
        assert_eq!(user.other["exec"].0["args"][0], "a");
        assert_eq!(user.token.as_ref().unwrap().expose_secret(), "t0k");
    }

    #[test]
    fn debug_shows_no_secret() {
        let text = "users: [{name: u, user: {token: s3cr, client-key-data: s3cr, password: s3cr,
                    auth-provider: {config: {id-token: s3cr}}}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://u:s3cr@h', proxy-url: 'http://u:s3@cr:s3cr@p:3128'}}]";
        let debug = format!("{:?}", parse(text));
        assert!(!debug.contains("s3cr") && debug.contains("password"), "{debug}");
        assert!(debug.contains("https://..@h") && debug.contains("http://..@p:3128"), "{debug}");
    }
}
