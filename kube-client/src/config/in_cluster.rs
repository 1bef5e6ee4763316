//! The configuration that every pod gets: address from the environment, CA, token and namespace from mounted files
//! ("Accessing the Kubernetes API from a Pod").

use std::path::Path;

use http::Uri;

use super::{Auth, Config, ConfigError, Entry};
use crate::{TlsConfig, Trust, file};

/// Where the kubelet mounts the service account.
pub(super) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

const CA_FILE: &str = "ca.crt";

/// Puts the parts together. `folder` is [`SERVICE_ACCOUNT`] but in tests.
pub(super) fn config(host: Option<&str>, port: Option<&str>, folder: &Path) -> Result<Config, ConfigError> {
    let cluster_url = server_url(host, port)?;
    let read = |name: &str| {
        let path = folder.join(name);
        file::read(&path).map_err(|source| ConfigError::Read { path, source })
    };
    let trust = Trust::from_pem(&read(CA_FILE)?).map_err(|source| ConfigError::Tls {
        entry: Entry::Pod,
        field: CA_FILE,
        source,
    })?;
    // The token is read when the first request needs it, and again as it is rotated; that it is there is checked now.
    read("token")?;
    let namespace = String::from_utf8_lossy(&read("namespace")?).trim().to_owned();
    Ok(Config {
        tls: TlsConfig { trust, ..TlsConfig::default() },
        auth: Auth::TokenFile(folder.join("token")),
        default_namespace: if namespace.is_empty() { super::DEFAULT_NAMESPACE.to_owned() } else { namespace },
        ..Config::new(cluster_url)
    })
}

fn server_url(host: Option<&str>, port: Option<&str>) -> Result<Uri, ConfigError> {
    let set = |value: Option<&str>| value.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned);
    let (host, port) = match (set(host), set(port)) {
        (Some(host), Some(port)) => (host, port),
        (Some(_), None) => return Err(ConfigError::NotInCluster { missing: "KUBERNETES_SERVICE_PORT" }),
        (None, Some(_)) => return Err(ConfigError::NotInCluster { missing: "KUBERNETES_SERVICE_HOST" }),
        (None, None) => return Err(ConfigError::NotInCluster { missing: "both" }),
    };
    let authority = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    Uri::builder().scheme("https").authority(&*authority).path_and_query("/").build().map_err(|_| {
        ConfigError::Invalid {
            entry: Entry::Pod,
            field: "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
            problem: format!("make no address: {authority:?}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_comes_from_the_environment() {
        let rows = [
            (Some("2001:db8::7"), Some("443"), "https://[2001:db8::7]:443/"),
            (Some("[2001:db8::7]"), Some("443"), "https://[2001:db8::7]:443/"),
            (Some("192.0.2.9"), Some("6443"), "https://192.0.2.9:6443/"),
            (Some("kubernetes.default.svc"), Some("443"), "https://kubernetes.default.svc:443/"),
            (None, Some("443"), "missing: KUBERNETES_SERVICE_HOST"),
            (Some(""), Some("443"), "missing: KUBERNETES_SERVICE_HOST"),
            (Some("192.0.2.9"), None, "missing: KUBERNETES_SERVICE_PORT"),
            (None, None, "missing: both"),
            (Some("a b"), Some("443"), "make no address"),
        ];
        for (host, port, expected) in rows {
            let outcome = match server_url(host, port) {
                Ok(url) => url.to_string(),
                Err(error) => error.to_string(),
            };
            assert!(outcome.contains(expected), "{host:?} {port:?}: {outcome}");
            if outcome.starts_with("not in a cluster") {
                assert!(
                    outcome.contains("KUBERNETES_SERVICE_HOST")
                        && outcome.contains("KUBERNETES_SERVICE_PORT")
                );
            }
        }
    }

    #[test]
    fn a_pod_has_a_ca_a_token_and_a_namespace() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = || config(Some("192.0.2.9"), Some("443"), folder.path());
        assert!(outcome().unwrap_err().to_string().ends_with("ca.crt"));

        let key = rcgen::generate_simple_self_signed(["ca.example.test".to_owned()]).unwrap();
        std::fs::write(folder.path().join("ca.crt"), key.cert.pem()).unwrap();
        assert!(outcome().unwrap_err().to_string().ends_with("token"));

        std::fs::write(folder.path().join("token"), "abc\n").unwrap();
        std::fs::write(folder.path().join("namespace"), "shop\n").unwrap();
        let config = outcome().unwrap();
        assert_eq!(config.default_namespace, "shop");
        assert!(matches!(config.auth, Auth::TokenFile(path) if path == folder.path().join("token")));
        assert!(matches!(config.tls.trust, Trust::Only(roots) if roots.len() == 1));

        std::fs::write(folder.path().join("ca.crt"), "no certificate here").unwrap();
        assert!(matches!(outcome().unwrap_err(), ConfigError::Tls { entry: Entry::Pod, .. }));
    }
}
