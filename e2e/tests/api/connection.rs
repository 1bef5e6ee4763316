//! Servers that cannot be reached or trusted: what is read of it, and that nothing was sent.

use std::{net::TcpListener, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, Config, ConnectFault, Error, KubeConfigOptions, Kubeconfig, Trust};
use kube_core::WriteParams;
use kube_e2e::{Cluster, Credential, Identity, Pki, kubeconfig_yaml};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::mpsc,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::common::{Place, chain, config_map, reads};

/// Creates a config map, which must not work.
async fn fault(config: Config, namespace: &str) -> (ConnectFault, String) {
    let maps: Api<ConfigMap> = Api::namespaced(Client::from_config(config).unwrap(), namespace);
    let error = maps.create(&config_map("lost", "k", "v"), &WriteParams::default()).await.unwrap_err();
    let text = chain(&error);
    match error {
        Error::Connect(error) => (error.fault, text),
        other => panic!("{other:?}"),
    }
}

fn config(server: &str, ca_pem: &str, credential: &Credential) -> Config {
    let yaml = kubeconfig_yaml(server, ca_pem, credential);
    Config::resolve(&Kubeconfig::from_yaml(&yaml).unwrap(), &KubeConfigOptions::default()).unwrap()
}

/// The configuration of the shared cluster.
fn shared(cluster: &Cluster) -> Config {
    let path = cluster.kubeconfig_file().unwrap().map(ToOwned::to_owned);
    Config::from_kubeconfig(&KubeConfigOptions { path, ..KubeConfigOptions::default() }).unwrap()
}

#[tokio::test]
async fn an_unreachable_server_is_named_with_what_to_check() {
    // Taken and given back: nothing listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("https://127.0.0.1:{port}");
    let ca = Pki::new().unwrap();
    let (fault, text) = fault(config(&server, &ca.ca_pem(), &Credential::Anonymous), "default").await;
    assert_eq!(fault, ConnectFault::Refused);
    reads(
        &text,
        &[&format!("cannot connect to {server}"), "nothing listens there", "check that the server is up"],
    );

    let client = Client::from_config(config(&server, &ca.ca_pem(), &Credential::Anonymous)).unwrap();
    let error = Api::<ConfigMap>::namespaced(client, "default").get("a").await.unwrap_err();
    assert!(error.is_retryable(), "it may come up");
}

#[tokio::test]
async fn an_authority_of_another_cluster_is_not_trusted() {
    let place = Place::new("connection").await;
    let mut config = shared(place.cluster);
    config.tls.trust = Trust::from_pem(Pki::new().unwrap().ca_pem().as_bytes()).unwrap();
    let server = config.cluster_url.to_string();
    let (fault, text) = fault(config, &place.namespace).await;
    assert_eq!(fault, ConnectFault::UnknownAuthority);
    reads(
        &text,
        &[server.trim_end_matches('/'), "not signed by a trusted authority", "certificate-authority"],
    );

    // The same server with the right one: what was asked for before has not been done.
    let maps: Api<ConfigMap> =
        Api::namespaced(Client::from_config(shared(place.cluster)).unwrap(), &place.namespace);
    assert!(maps.get_opt("lost").await.unwrap().is_none());
}

#[tokio::test]
async fn a_server_of_another_name_is_not_trusted() {
    let place = Place::new("connection").await;
    let mut config = shared(place.cluster);
    config.tls.server_name = Some("other.example.test".into());
    let (fault, text) = fault(config, &place.namespace).await;
    assert_eq!(fault, ConnectFault::WrongName);
    reads(&text, &["its certificate is for other names", "tls-server-name"]);
}

/// A server with this certificate; what clients send it comes out of the channel.
fn serve(identity: &Identity) -> (String, mpsc::UnboundedReceiver<Vec<u8>>) {
    let chain = CertificateDer::from_pem_slice(identity.certificate_pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).unwrap();
    let tls = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![chain], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut bytes = vec![0; 1024];
            if let Ok(read) = stream.read(&mut bytes).await {
                bytes.truncate(read);
                let _ = sender.send(bytes);
            }
        }
    });
    (format!("https://{address}"), received)
}

#[tokio::test]
async fn an_expired_serving_certificate_is_told_from_a_wrong_one_and_nothing_is_sent() {
    let (pki, other) = (Pki::new().unwrap(), Pki::new().unwrap());
    let token = Credential::Token("s3cret".into());
    for (identity, trusted, expected, shown) in [
        (
            pki.expired_serving().unwrap(),
            &pki,
            ConnectFault::Expired,
            ["its certificate has expired", "renew it on the server", "this machine's clock"],
        ),
        (
            pki.serving().clone(),
            &other,
            ConnectFault::UnknownAuthority,
            ["not signed by a trusted authority", "certificate-authority", "of this cluster"],
        ),
    ] {
        let (server, mut received) = serve(&identity);
        let (fault, text) = fault(config(&server, &trusted.ca_pem(), &token), "default").await;
        assert_eq!(fault, expected, "{text}");
        reads(&text, &[&server]);
        reads(&text, &shown);
        assert!(!text.contains("s3cret"), "{text}");
        assert!(received.try_recv().is_err(), "the token was sent to a server that is not trusted");
    }
}

#[tokio::test]
async fn what_does_not_speak_tls_is_said() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let ca = Pki::new().unwrap();
    let (fault, text) = fault(config(&server, &ca.ca_pem(), &Credential::Anonymous), "default").await;
    assert_eq!(fault, ConnectFault::NotTls);
    reads(&text, &[&server, "does not speak TLS", "check the port"]);
}
