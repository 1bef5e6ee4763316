//! A kubeconfig that is missing, broken, or names what is not there: what is read of it, and that it stays as it is.

use std::{fs, path::PathBuf};

use kube_client::{Api, Client, Config, ConfigError, Error, KubeConfigOptions};
use kube_e2e::{Cluster, Credential, Pki, kubeconfig_yaml};

use crate::common::{chain, reads};

fn of(path: PathBuf) -> KubeConfigOptions {
    KubeConfigOptions { path: Some(path), ..KubeConfigOptions::default() }
}

/// What a person reads of a kubeconfig that does not serve.
fn fault(options: &KubeConfigOptions) -> String {
    let config = Config::from_kubeconfig(options).map_err(Error::from);
    chain(&config.and_then(Client::from_config).unwrap_err())
}

/// A good kubeconfig, with something else in the place of a piece of it.
fn spoilt(piece: &str, other: &str) -> String {
    let ca = Pki::new().unwrap();
    let yaml = kubeconfig_yaml("https://127.0.0.1:6443", &ca.ca_pem(), &Credential::Token("t0ken".into()));
    assert!(yaml.contains(piece), "{yaml}");
    yaml.replace(piece, other)
}

#[test]
fn a_kubeconfig_that_does_not_serve_says_what_is_wrong_with_it_and_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (case, text, shown) in [
        ("empty", String::new(), &["current-context"] as &[&str]),
        ("broken", spoilt("contexts:\n", "contexts: [\n"), &["is not a kubeconfig", "line"]),
        ("other", "just a text\n".into(), &["is not a kubeconfig"]),
        ("no-context", spoilt("current-context: kube-e2e\n", ""), &["no current-context", "set one"]),
        (
            "context",
            spoilt("current-context: kube-e2e\n", "current-context: production\n"),
            &["no context \"production\"", "it has: kube-e2e"],
        ),
        (
            "cluster",
            spoilt("    cluster: kube-e2e\n", "    cluster: elsewhere\n"),
            &["context \"kube-e2e\" names cluster \"elsewhere\"", "does not define"],
        ),
        (
            "user",
            spoilt("    user: kube-e2e\n", "    user: nobody\n"),
            &["context \"kube-e2e\" names user \"nobody\"", "does not define"],
        ),
        (
            "server",
            spoilt("server: https://127.0.0.1:6443", "server: 127.0.0.1:6443"),
            &["cluster \"kube-e2e\"", "server", "https://"],
        ),
        (
            "ca",
            spoilt("certificate-authority-data: ", "certificate-authority-data: AAAA"),
            &["cluster \"kube-e2e\"", "certificate-authority-data"],
        ),
        (
            "certificate",
            spoilt("token: \"t0ken\"", "client-certificate: absent.crt\n    client-key: absent.key"),
            &["absent.crt", "No such file"],
        ),
        ("token", spoilt("token: \"t0ken\"", "token: \"t0ken\\n\\n\\u00e9\""), &["token"]),
    ] {
        let path = folder.path().join(case);
        fs::write(&path, &text).unwrap();
        let said = fault(&of(path.clone()));
        reads(&said, shown);
        assert!(!said.contains("t0ken"), "{case}: secrets stay inside: {said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{case}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 11, "nothing else was written");
}

#[test]
fn a_file_that_was_asked_for_and_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent");
    let said = fault(&of(path.clone()));
    reads(&said, &["cannot read", &path.display().to_string(), "No such file"]);
    assert!(!path.exists());
}

#[test]
fn what_is_asked_for_by_name_is_looked_for_and_nothing_else_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, spoilt("t0ken", "t0ken")).unwrap();
    let named = |what: &str| Some(what.to_owned());
    for (options, shown) in [
        (KubeConfigOptions { context: named("x"), ..of(path.clone()) }, "no context \"x\""),
        (KubeConfigOptions { cluster: named("x"), ..of(path.clone()) }, "cluster \"x\""),
        (KubeConfigOptions { user: named("x"), ..of(path.clone()) }, "user \"x\""),
    ] {
        reads(&fault(&options), &[shown]);
    }
    Config::from_kubeconfig(&of(path)).unwrap();
}

#[tokio::test]
async fn the_file_of_the_cluster_serves_with_a_namespace_of_its_own() {
    let cluster = Cluster::shared().await.unwrap();
    let options = KubeConfigOptions {
        path: cluster.kubeconfig_file().unwrap().map(ToOwned::to_owned),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_kubeconfig(&options).unwrap();
    config.default_namespace = "kube-system".into();
    let api: Api<k8s_openapi::api::core::v1::ConfigMap> =
        Api::default_namespaced(Client::from_config(config).unwrap());
    assert_eq!(api.namespace(), Some("kube-system"));
    api.list(&kube_core::ListParams::default()).await.unwrap();
    let absent = Config::from_kubeconfig(&KubeConfigOptions { context: Some("none".into()), ..options });
    assert!(matches!(absent, Err(ConfigError::ContextNotFound { .. })));
}
