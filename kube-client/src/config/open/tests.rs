use std::fmt::Write as _;

use super::{
    super::{KubeConfigOptions, Kubeconfig},
    *,
};

/// The outcome of a kubeconfig with one cluster and one user of these fields.
fn outcome(cluster: &str, user: &str) -> Result<Config, ConfigError> {
    let text = format!(
        "current-context: x\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n"
    );
    Config::resolve(&Kubeconfig::from_yaml(&text).unwrap(), &KubeConfigOptions::default())
}

fn message(outcome: Result<Config, ConfigError>) -> String {
    let error = outcome.unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

const SERVER: &str = "server: 'https://c.example.test'";

fn ca_pem() -> String {
    rcgen::generate_simple_self_signed(["ca.example.test".to_owned()]).unwrap().cert.pem()
}

#[test]
fn the_server_must_be_a_whole_url() {
    for (server, expected) in [
        ("'https://c.example.test:6443'", "https://c.example.test:6443/"),
        ("'https://r.example.test/k8s/clusters/c-1/'", "https://r.example.test/k8s/clusters/c-1/"),
        ("'http://127.0.0.1:8001'", "http://127.0.0.1:8001/"),
        ("''", "cluster \"c\": server is not set"),
        ("~", "cluster \"c\": server is not set"),
        ("'c.example.test:6443'", "must start with https://"),
        ("'/path'", "must start with https://"),
        ("'ftp://c.example.test'", "must start with https://"),
        ("'ftp://u:s3cr@c.example.test'", "must start with https://"),
        ("'u:s3cr@c.example.test'", "must start with https://"),
        ("'https://'", "is not a URL"),
        ("'https://a b'", "is not a URL"),
        ("'https://u:s3cr@c.example.test'", "must not contain a user name"),
    ] {
        let outcome = outcome(&format!("server: {server}"), "");
        let text = match outcome {
            Ok(config) => config.cluster_url.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(expected) && !text.contains("s3cr"), "{server}: {text}");
    }
}

#[test]
fn data_beats_the_file_which_is_not_opened() {
    let data = BASE64_STANDARD.encode(ca_pem());
    let cluster = format!("{SERVER}, certificate-authority: /nope.pem, certificate-authority-data: {data}");
    assert!(matches!(outcome(&cluster, "").unwrap().tls.trust, Trust::Only(roots) if roots.len() == 1));

    let only_file = format!("{SERVER}, certificate-authority: /nope.pem");
    assert!(message(outcome(&only_file, "")).starts_with("cannot read /nope.pem"));

    let pair = rcgen::generate_simple_self_signed(["u".to_owned()]).unwrap();
    let user = format!(
        "client-certificate: /nope.crt, client-certificate-data: {}, client-key: /nope.key, client-key-data: {}",
        BASE64_STANDARD.encode(pair.cert.pem()),
        BASE64_STANDARD.encode(pair.signing_key.serialize_pem()),
    );
    assert!(outcome(SERVER, &user).unwrap().tls.identity.is_some());
}

#[test]
fn whitespace_in_base64_is_nothing_and_anything_else_is_an_error_without_the_value() {
    let data = BASE64_STANDARD.encode(ca_pem());
    let lines: Vec<_> = data.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    for wrapped in [lines.join("\\n"), format!("{}\\n", lines.join("\\n")), lines.join(" \\r\\n\\t")] {
        outcome(&format!("{SERVER}, certificate-authority-data: \"{wrapped}\""), "").unwrap();
    }
    let text = message(outcome(&format!("{SERVER}, certificate-authority-data: \"s3cr*{data}\""), ""));
    assert_eq!(text, "cluster \"c\": certificate-authority-data is not base64");
    let text = message(outcome(SERVER, "client-key-data: 's3cr*', client-certificate-data: YQ=="));
    assert_eq!(text, "user \"u\": client-key-data is not base64");
}

#[test]
fn a_bundle_gives_all_its_certificates_and_must_have_one() {
    let bundle = format!("# unrelated\n{}\nsome text between\n{}", ca_pem(), ca_pem());
    let data = BASE64_STANDARD.encode(bundle);
    let config = outcome(&format!("{SERVER}, certificate-authority-data: {data}"), "").unwrap();
    assert!(matches!(config.tls.trust, Trust::Only(roots) if roots.len() == 2));

    let data = BASE64_STANDARD.encode("no certificate");
    let text = message(outcome(&format!("{SERVER}, certificate-authority-data: {data}"), ""));
    assert!(text.starts_with("cluster \"c\": certificate-authority-data cannot be used: "), "{text}");
}

#[test]
fn skipping_verification_together_with_a_ca_is_an_error() {
    let data = BASE64_STANDARD.encode(ca_pem());
    let both = format!("{SERVER}, insecure-skip-tls-verify: true, certificate-authority-data: {data}");
    assert!(message(outcome(&both, "")).contains("insecure-skip-tls-verify is set together"));

    let alone = outcome(&format!("{SERVER}, insecure-skip-tls-verify: true"), "").unwrap();
    assert!(matches!(alone.tls.trust, Trust::Anything));
    let off = outcome(&format!("{SERVER}, insecure-skip-tls-verify: false"), "").unwrap();
    assert!(matches!(off.tls.trust, Trust::Platform));
}

#[test]
fn a_token_file_beats_a_token() {
    for (user, expected) in [
        ("", "None"),
        ("token: ''", "None"),
        ("token: abc", "Token(..)"),
        ("tokenFile: /t, token: abc", "TokenFile(\"/t\")"),
        ("tokenFile: '', token: abc", "Token(..)"),
    ] {
        assert_eq!(format!("{:?}", outcome(SERVER, user).unwrap().auth), expected, "{user}");
    }
}

#[test]
fn a_token_is_not_sent_where_everybody_can_read_it() {
    let refused = Some(
        "cluster \"c\": server starts with http://, so that everybody on the way could read the user's token; \
         use https://",
    );
    for (server, user, expected) in [
        ("http://c.example.test", "token: s3cr", refused),
        ("http://192.0.2.1:8080", "tokenFile: /t", refused),
        ("http://localhost.example.test", "token: s3cr", refused),
        ("HTTP://c.example.test", "token: s3cr", refused),
        ("http://c.example.test", "", None),
        ("https://c.example.test", "token: s3cr", None),
        ("http://127.0.0.1:8001", "token: s3cr", None),
        ("http://[::1]:8001", "token: s3cr", None),
        ("http://localhost", "token: s3cr", None),
    ] {
        let outcome = outcome(&format!("server: '{server}'"), user);
        assert_eq!(outcome.err().map(|error| error.to_string()).as_deref(), expected, "{server} {user}");
    }
}

#[test]
fn half_a_client_certificate_is_an_error() {
    let data = BASE64_STANDARD.encode("x");
    for (user, expected) in [
        (
            format!("client-certificate-data: {data}"),
            "user \"u\": client-certificate is set without client-key",
        ),
        (format!("client-key-data: {data}"), "user \"u\": client-key is set without client-certificate"),
    ] {
        assert_eq!(message(outcome(SERVER, &user)), expected);
    }
}

#[test]
fn what_this_version_cannot_do_is_an_error_and_not_silence() {
    for (cluster, user, expected) in [
        ("proxy-url: 'http://p'", "", Some("cluster \"c\": proxy-url is not supported yet")),
        ("", "exec: {command: get-token}", Some("user \"u\": exec is not supported yet")),
        ("", "auth-provider: {name: oidc}", Some("user \"u\": auth-provider is not supported yet")),
        ("", "username: a, password: b", Some("user \"u\": username is not supported yet")),
        ("", "as: admin", Some("user \"u\": as is not supported yet")),
        ("", "as-groups: [a]", Some("user \"u\": as-groups is not supported yet")),
        ("proxy-url: ''", "exec: null, as: '', as-groups: [], as-user-extra: {}", None),
    ] {
        let outcome = outcome(&format!("{SERVER}, {cluster}"), user);
        assert_eq!(outcome.err().map(|error| error.to_string()).as_deref(), expected, "{cluster} {user}");
    }
}

#[test]
fn an_entry_that_is_not_chosen_may_be_wrong_in_any_way() {
    let text = "
current-context: good
contexts: [{name: good, context: {cluster: c, user: u}}, {name: bad, context: {user: null}}, {name: bare}]
clusters: [{name: c, cluster: {server: 'https://c.example.test'}}, {name: bad, cluster: {certificate-authority-data: '*'}}]
users: [{name: u, user: {token: t}}, {name: bad, user: {exec: {}, client-key-data: '*'}}]
";
    let config =
        Config::resolve(&Kubeconfig::from_yaml(text).unwrap(), &KubeConfigOptions::default()).unwrap();
    assert_eq!(config.cluster_url.host(), Some("c.example.test"));
    assert_eq!(config.default_namespace, "default");
}

#[test]
fn a_server_name_must_be_one() {
    for (name, good) in [("api.example.test", true), ("127.0.0.1", true), ("not a name", false)] {
        let outcome = outcome(&format!("{SERVER}, tls-server-name: {name:?}"), "");
        assert_eq!(outcome.is_ok(), good, "{name}");
    }
}
