//! Turns the chosen cluster and user into a [`Config`]: checks what they say and opens what they name.
//!
//! The rules: `*-data` beats the file, which is then not opened; `tokenFile` beats `token`; a CA together with
//! `insecure-skip-tls-verify` is an error, for one of the two is not meant; a field that asks for something this version
//! cannot do is an error, for leaving it out would reach another server or be another user; a token for a server at
//! `http://` is an error, for everybody on the way would read it, unless there is no way (a server on this machine).

use std::path::{Path, PathBuf};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Uri;
use secrecy::{ExposeSecret, SecretString};

use super::{
    Auth, Config, ConfigError, DEFAULT_NAMESPACE, Entry,
    kubeconfig::{Cluster, OtherFields, User},
    resolve::{Resolved, set},
};
use crate::{Identity, TlsConfig, Trust, file};

/// Fields of a user that change who it is, and that this version cannot act on.
const USER_NOT_SUPPORTED: [&str; 8] =
    ["exec", "auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"];

pub(super) fn open(resolved: &Resolved<'_>) -> Result<Config, ConfigError> {
    let cluster_entry = Entry::Cluster(resolved.cluster_name.to_owned());
    let cluster_url = server_url(resolved.cluster, &cluster_entry)?;
    let trust = trust(resolved.cluster, &cluster_entry)?;
    let (identity, auth) = match resolved.user {
        Some((name, user)) => {
            let entry = Entry::User(name.to_owned());
            supported(&user.other, &USER_NOT_SUPPORTED, &entry)?;
            (identity(user, &entry)?, auth(user))
        }
        None => (None, Auth::None),
    };
    check_token_is_hidden(&cluster_url, &auth, &cluster_entry)?;
    let server_name = set(resolved.cluster.tls_server_name.as_deref()).map(str::to_owned);
    let tls = TlsConfig { trust, identity, server_name };
    // A server name that cannot be one is better found now, with the entry's name, than at the first connection.
    tls.check_server_name().map_err(|source| ConfigError::Tls {
        entry: cluster_entry,
        field: "tls-server-name",
        source,
    })?;
    Ok(Config {
        default_namespace: resolved.namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned(),
        tls,
        auth,
        ..Config::new(cluster_url)
    })
}

fn server_url(cluster: &Cluster, entry: &Entry) -> Result<Uri, ConfigError> {
    if set(cluster.proxy_url.as_deref()).is_some() {
        return Err(ConfigError::NotSupported { entry: entry.clone(), field: "proxy-url" });
    }
    let invalid = |problem: String| ConfigError::Invalid { entry: entry.clone(), field: "server", problem };
    let text = set(cluster.server.as_deref()).ok_or_else(|| invalid("is not set".to_owned()))?;
    let url: Uri = text.parse().map_err(|error| invalid(format!("is not a URL: {error}")))?;
    match (url.scheme_str(), url.authority()) {
        (Some("https" | "http"), Some(authority)) if authority.as_str().contains('@') => {
            Err(invalid("must not contain a user name or password".to_owned()))
        }
        (Some("https" | "http"), Some(_)) => Ok(url),
        // The text stays out of the error: it may have a password where a host was meant.
        _ => Err(invalid("must start with https:// or http://".to_owned())),
    }
}

fn check_token_is_hidden(server: &Uri, auth: &Auth, entry: &Entry) -> Result<(), ConfigError> {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    if server.scheme_str() != Some("http") || here || matches!(auth, Auth::None) {
        return Ok(());
    }
    Err(ConfigError::Invalid {
        entry: entry.clone(),
        field: "server",
        problem:
            "starts with http://, so that everybody on the way could read the user's token; use https://"
                .to_owned(),
    })
}

fn trust(cluster: &Cluster, entry: &Entry) -> Result<Trust, ConfigError> {
    const DATA: &str = "certificate-authority-data";
    let data = set(cluster.certificate_authority_data.as_deref());
    let bundle = pem(data, DATA, cluster.certificate_authority.as_deref(), entry)?;
    match (bundle, cluster.insecure_skip_tls_verify == Some(true)) {
        (Some(_), true) => Err(ConfigError::Invalid {
            entry: entry.clone(),
            field: "insecure-skip-tls-verify",
            problem: "is set together with a certificate authority; remove one of them".to_owned(),
        }),
        (Some(bundle), false) => Trust::from_pem(&bundle).map_err(|source| ConfigError::Tls {
            entry: entry.clone(),
            field: if data.is_some() { DATA } else { "certificate-authority" },
            source,
        }),
        (None, true) => Ok(Trust::Anything),
        (None, false) => Ok(Trust::Platform),
    }
}

fn identity(user: &User, entry: &Entry) -> Result<Option<Identity>, ConfigError> {
    let certificate = pem(
        user.client_certificate_data.as_deref(),
        "client-certificate-data",
        user.client_certificate.as_deref(),
        entry,
    )?;
    let key_data = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
    let key = pem(key_data, "client-key-data", user.client_key.as_deref(), entry)?;
    let half = |field, missing| ConfigError::Invalid {
        entry: entry.clone(),
        field,
        problem: format!("is set without {missing}"),
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => Identity::from_pem(&certificate, &key)
            .map(Some)
            .map_err(|source| ConfigError::Tls { entry: entry.clone(), field: "client certificate", source }),
        (Some(_), None) => Err(half("client-certificate", "client-key")),
        (None, Some(_)) => Err(half("client-key", "client-certificate")),
        (None, None) => Ok(None),
    }
}

fn auth(user: &User) -> Auth {
    let file = user.token_file.as_ref().filter(|path| !path.as_os_str().is_empty());
    let token = user.token.as_ref().map(|token| token.expose_secret().trim());
    match (file, set(token)) {
        (Some(path), _) => Auth::TokenFile(PathBuf::from(path)),
        (None, Some(token)) => Auth::Token(SecretString::from(token)),
        (None, None) => Auth::None,
    }
}

/// The PEM text of a field that exists as data and as a file.
fn pem(
    data: Option<&str>,
    field: &'static str,
    file: Option<&Path>,
    entry: &Entry,
) -> Result<Option<Vec<u8>>, ConfigError> {
    if let Some(data) = set(data) {
        return decode_base64(data).map(Some).ok_or_else(|| ConfigError::Invalid {
            entry: entry.clone(),
            field,
            problem: "is not base64".to_owned(),
        });
    }
    let Some(path) = file.filter(|path| !path.as_os_str().is_empty()) else { return Ok(None) };
    match file::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

/// Base64 with the line breaks that YAML block scalars bring.
fn decode_base64(data: &str) -> Option<Vec<u8>> {
    let compact: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(compact).ok()
}

fn supported(fields: &OtherFields, refused: &[&'static str], entry: &Entry) -> Result<(), ConfigError> {
    let means_something = |value: &serde_json::Value| match value {
        serde_json::Value::Null => false,
        serde_json::Value::String(text) => !text.is_empty(),
        serde_json::Value::Array(items) => !items.is_empty(),
        serde_json::Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let found =
        refused.iter().find(|field| fields.get(**field).is_some_and(|value| means_something(&value.0)));
    match found {
        Some(field) => Err(ConfigError::NotSupported { entry: entry.clone(), field }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
