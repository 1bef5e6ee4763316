//! Writes kubeconfig files: one cluster, one user, one context.
//!
//! In: an address, what to trust, who to be. Out: YAML text that kubectl, the control plane's own programs and
//! `kube_client` read. Certificates are inside the file, so it can be copied anywhere on the machine.

use std::{fmt, fmt::Write as _, fs, io, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{Error, Identity};

/// The name of the cluster, the user and the context in every file written here.
pub(crate) const NAME: &str = "kube-e2e";

/// How a client says who it is.
#[derive(Clone)]
pub enum Credential {
    /// By a client certificate.
    Certificate(Identity),
    /// By a bearer token. Not printed by `Debug`.
    Token(String),
    /// Not at all: the server sees `system:anonymous`.
    Anonymous,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(identity) => f.debug_tuple("Certificate").field(identity).finish(),
            Self::Token(_) => f.write_str("Token(..)"),
            Self::Anonymous => f.write_str("Anonymous"),
        }
    }
}

/// The text of a kubeconfig file for `server`, trusting only `ca_pem`.
pub fn kubeconfig_yaml(server: &str, ca_pem: &str, credential: &Credential) -> String {
    let mut yaml = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {NAME}\n\
         clusters:\n- name: {NAME}\n  cluster:\n    server: {server}\n    certificate-authority-data: {}\n\
         contexts:\n- name: {NAME}\n  context:\n    cluster: {NAME}\n    user: {NAME}\n\
         users:\n- name: {NAME}\n  user:",
        STANDARD.encode(ca_pem)
    );
    match credential {
        Credential::Certificate(identity) => {
            let fields = [
                ("client-certificate-data", &identity.certificate_pem),
                ("client-key-data", &identity.key_pem),
            ];
            for (field, pem) in fields {
                // Writing to a String cannot fail.
                let _ = write!(yaml, "\n    {field}: {}", STANDARD.encode(pem));
            }
            yaml.push('\n');
        }
        Credential::Token(token) => {
            // JSON's quotes are YAML's quotes, and a token may hold anything.
            let _ = writeln!(yaml, "\n    token: {}", serde_json::Value::from(token.as_str()));
        }
        Credential::Anonymous => yaml.push_str(" {}\n"),
    }
    yaml
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let write = || -> io::Result<()> {
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        io::Write::write_all(&mut file, text.as_bytes())
    };
    write().map_err(Error::io(format!("write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_as_the_credential_says() {
        let identity = Identity { certificate_pem: "C".into(), key_pem: "K".into() };
        for (credential, user) in [
            (
                Credential::Certificate(identity),
                "user:\n    client-certificate-data: Qw==\n    client-key-data: Sw==\n",
            ),
            (Credential::Token("a\"b".into()), "user:\n    token: \"a\\\"b\"\n"),
            (Credential::Anonymous, "user: {}\n"),
        ] {
            let yaml = kubeconfig_yaml("https://127.0.0.1:1", "CA", &credential);
            assert!(yaml.ends_with(user), "{credential:?}: {yaml}");
            assert!(
                yaml.contains("server: https://127.0.0.1:1\n    certificate-authority-data: Q0E=\n"),
                "{yaml}"
            );
        }
    }
}
