use std::{fmt::Write as _, net::SocketAddr};

use futures::StreamExt;
use http::Request;
use tokio::{sync::watch, time::Instant};

use super::*;
use crate::{
    Client, TlsConfig, Trust,
    testing::{Ca, Leaf, Server, closed_port, plain_server},
};

const NOW: (i32, i32) = (2020, 2200);

fn config(address: SocketAddr, tls: TlsConfig) -> Config {
    Config { tls, ..Config::new(format!("https://{address}").parse().unwrap()) }
}

async fn get(config: Config) -> Result<String, Error> {
    let client = Client::from_config(config)?;
    let bytes = client.request_bytes(Request::get("/version").body(vec![]).unwrap()).await?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

fn fault(outcome: Result<String, Error>) -> ConnectFault {
    match outcome {
        Err(Error::Connect(error)) => error.fault,
        other => panic!("expected no connection, got {other:?}"),
    }
}

fn trusting(ca: &Ca) -> TlsConfig {
    TlsConfig { trust: ca.trust(), ..TlsConfig::default() }
}

#[tokio::test]
async fn a_certificate_is_judged_by_its_names_its_signer_and_its_dates() {
    use ConnectFault::{Expired, NotYetValid, UnknownAuthority, WrongName};
    let (ca, other) = (Ca::new(), Ca::new());
    let ip = ["127.0.0.1"];
    let rows: [(&str, Leaf, TlsConfig, Option<ConnectFault>); 8] = [
        ("an IP address among the names", ca.leaf(&ip, NOW), trusting(&ca), None),
        ("DNS names only", ca.leaf(&["localhost"], NOW), trusting(&ca), Some(WrongName)),
        ("another CA of the same name", ca.leaf(&ip, NOW), trusting(&other), Some(UnknownAuthority)),
        ("the platform's CAs", ca.leaf(&ip, NOW), TlsConfig::default(), Some(UnknownAuthority)),
        ("expired", ca.leaf(&ip, (2020, 2021)), trusting(&ca), Some(Expired)),
        ("not yet valid", ca.leaf(&ip, (2199, 2200)), trusting(&ca), Some(NotYetValid)),
        (
            "the right CA is the second of a bundle",
            ca.leaf(&ip, NOW),
            TlsConfig {
                trust: Trust::from_pem(format!("{}\ntext between\n{}", other.pem, ca.pem).as_bytes())
                    .unwrap(),
                ..TlsConfig::default()
            },
            None,
        ),
        (
            "anything is trusted",
            ca.leaf(&["localhost"], (2020, 2021)),
            TlsConfig { trust: Trust::Anything, ..TlsConfig::default() },
            None,
        ),
    ];
    for (name, leaf, tls, expected) in rows {
        let address = Server::new(leaf).start().await;
        let outcome = get(config(address, tls)).await;
        match expected {
            None => assert_eq!(
                outcome.unwrap(),
                format!("HTTP/2.0 - 0 {address} /version"),
                "{name}: no SNI for an IP"
            ),
            Some(expected) => assert_eq!(fault(outcome), expected, "{name}"),
        }
    }
}

#[tokio::test]
async fn a_server_name_replaces_the_host_for_tls_only() {
    let ca = Ca::new();
    let dns = || ca.leaf(&["api.example.test"], NOW);
    let rows = [
        (dns(), "api.example.test", Some("api.example.test")),
        (dns(), "other.example.test", None),
        (ca.leaf(&["192.0.2.1"], NOW), "192.0.2.1", Some("-")),
    ];
    for (leaf, name, sni) in rows {
        let address = Server::new(leaf).start().await;
        let tls = TlsConfig { server_name: Some(name.into()), ..trusting(&ca) };
        let outcome = get(config(address, tls)).await;
        match sni {
            Some(sni) => assert_eq!(outcome.unwrap(), format!("HTTP/2.0 {sni} 0 {address} /version")),
            None => assert_eq!(fault(outcome), ConnectFault::WrongName),
        }
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_a_missing_or_foreign_one_is_explained() {
    let (ca, clients, foreign) = (Ca::new(), Ca::new(), Ca::new());
    let identity = |ca: &Ca| Some(ca.leaf(&["user"], NOW).identity());
    for (identity, good) in [(identity(&clients), true), (None, false), (identity(&foreign), false)] {
        let address = Server::new(ca.leaf(&["127.0.0.1"], NOW)).for_clients_of(&clients).start().await;
        let outcome = get(config(address, TlsConfig { identity, ..trusting(&ca) })).await;
        if good {
            assert_eq!(outcome.unwrap(), format!("HTTP/2.0 - 1 {address} /version"));
        } else {
            assert_eq!(fault(outcome), ConnectFault::ClientCertificate);
        }
    }
}

#[tokio::test]
async fn a_path_in_the_servers_url_stays_in_front() {
    let ca = Ca::new();
    let address = Server::new(ca.leaf(&["127.0.0.1"], NOW)).start().await;
    for prefix in ["/k8s/clusters/c-1", "/k8s/clusters/c-1/"] {
        let config = Config {
            tls: trusting(&ca),
            ..Config::new(format!("https://{address}{prefix}").parse().unwrap())
        };
        let answer = get(config).await.unwrap();
        assert_eq!(answer, format!("HTTP/2.0 - 0 {address} /k8s/clusters/c-1/version"));
    }
}

#[tokio::test]
async fn http_1_is_spoken_where_the_server_has_nothing_else() {
    let ca = Ca::new();
    let server = Server { alpn: &[b"http/1.1"], ..Server::new(ca.leaf(&["127.0.0.1"], NOW)) };
    let address = server.start().await;
    let answer = get(config(address, trusting(&ca))).await.unwrap();
    assert_eq!(answer, format!("HTTP/1.1 - 0 {address} /version"));
}

#[tokio::test]
async fn an_error_says_who_what_and_what_to_do_and_its_chain_repeats_nothing() {
    let (ca, other) = (Ca::new(), Ca::new());
    let expired = Server::new(ca.leaf(&["127.0.0.1"], (2020, 2021))).start().await;
    let unknown = Server::new(ca.leaf(&["127.0.0.1"], NOW)).start().await;
    let no_tls = plain_server(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let refused = closed_port().await;
    let rows = [
        (expired, trusting(&ca), ["certificate has expired", "renew it", "Expired"]),
        (
            unknown,
            trusting(&other),
            ["not signed by a trusted authority", "check that certificate-authority", ""],
        ),
        (no_tls, trusting(&ca), ["does not speak TLS", "check the port", ""]),
        (refused, trusting(&ca), ["nothing listens there", "check that the server is up", "refused"]),
    ];
    for (address, tls, parts) in rows {
        let error = get(config(address, tls)).await.unwrap_err();
        let mut chain = vec![error.to_string()];
        let mut source = std::error::Error::source(&error);
        while let Some(next) = source {
            chain.push(next.to_string());
            source = next.source();
        }
        let mut text = String::new();
        for link in &chain {
            let _ = write!(text, "{link}: ");
        }
        assert!(text.starts_with(&format!("cannot connect to https://{address}: ")), "{text}");
        for part in parts {
            assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part}: {text}");
        }
        for pair in chain.windows(2) {
            assert!(!pair[0].contains(&pair[1]), "{chain:?}");
        }
    }
}

#[test]
fn a_server_is_named_without_a_password() {
    for (uri, server) in [
        ("https://u:s3cr@s.example.test:6443/x", "https://s.example.test:6443"),
        ("https://s.example.test", "https://s.example.test"),
        ("http://[2001:db8::7]:80/x?y", "http://[2001:db8::7]:80"),
    ] {
        assert_eq!(server_of(&uri.parse().unwrap()), server);
    }
}

#[test]
fn any_time_to_connect_will_do() {
    let config =
        Config { connect_timeout: Duration::MAX, ..Config::new("https://s.example.test".parse().unwrap()) };
    assert!(
        Transport::new(&Config {
            tls: TlsConfig { trust: Trust::Anything, ..TlsConfig::default() },
            ..config
        })
        .is_ok()
    );
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let address = plain_server(b"").await;
    tokio::time::pause();
    let start = Instant::now();
    let outcome = get(Config { time_limit: None, ..config(address, trusting(&Ca::new())) }).await;
    assert_eq!(fault(outcome), ConnectFault::TimedOut);
    assert!(start.elapsed() <= Duration::from_secs(21), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_watch_on_a_half_open_connection_ends_within_45_seconds() {
    let ca = Ca::new();
    let (mute, muted) = watch::channel(false);
    let server = Server { mute: muted, ..Server::new(ca.leaf(&["127.0.0.1"], NOW)) };
    let address = server.start().await;
    let client = Client::from_config(config(address, trusting(&ca))).unwrap();
    let mut watch = client.stream(Request::get("/watch").body(vec![]).unwrap()).await.unwrap();
    assert_eq!(watch.next().await.unwrap().unwrap(), "line\n");

    mute.send(true).unwrap();
    tokio::time::pause();
    let start = Instant::now();
    let error = watch.next().await.unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Broken { server, .. } if *server == format!("https://{address}")),
        "{error:?}"
    );
    assert!(error.is_retryable());
    assert!(watch.next().await.is_none());
    assert!(start.elapsed() < Duration::from_secs(45), "{:?}", start.elapsed());
}
