//! A certificate authority and a TLS server on a loopback port, for the tests of this crate.

use std::{net::SocketAddr, sync::Arc};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::watch,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{Body, Identity, Trust};

/// A certificate authority. All have the same name, as those of Kubernetes clusters do.
pub(crate) struct Ca {
    pub(crate) pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub(crate) struct Leaf {
    cert: CertificateDer<'static>,
    cert_pem: String,
    key: KeyPair,
}

impl Ca {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "kubernetes");
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        Self { pem: cert.pem(), der: cert.der().clone(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names and IP addresses, valid between the first days of two years.
    pub(crate) fn leaf(&self, names: &[&str], years: (i32, i32)) -> Leaf {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Leaf { cert: cert.der().clone(), cert_pem: cert.pem(), key }
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::from_pem(self.pem.as_bytes()).unwrap()
    }
}

impl Leaf {
    pub(crate) fn identity(&self) -> Identity {
        Identity::from_pem(self.cert_pem.as_bytes(), self.key.serialize_pem().as_bytes()).unwrap()
    }
}

/// How the server behaves.
pub(crate) struct Server {
    pub(crate) leaf: Leaf,
    /// The authority whose client certificates it wants; `None` to want none.
    pub(crate) clients: Option<CertificateDer<'static>>,
    pub(crate) alpn: &'static [&'static [u8]],
    /// Once true, the server leaves its connections alone: it neither reads nor writes nor closes them.
    pub(crate) mute: watch::Receiver<bool>,
}

impl Server {
    pub(crate) fn new(leaf: Leaf) -> Self {
        Self { leaf, clients: None, alpn: &[b"h2", b"http/1.1"], mute: watch::channel(false).1 }
    }

    pub(crate) fn for_clients_of(self, ca: &Ca) -> Self {
        Self { clients: Some(ca.der.clone()), ..self }
    }

    /// Serves until the runtime ends. Answers what it saw: `version sni client-certificates host path`. The path `/watch`
    /// answers a line and then nothing more.
    pub(crate) async fn start(self) -> SocketAddr {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match self.clients {
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                roots.add(ca).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.unwrap())
            }
            None => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::try_from(self.leaf.key.serialize_der()).unwrap();
        let mut config = builder.with_single_cert(vec![self.leaf.cert], key).unwrap();
        config.alpn_protocols = self.alpn.iter().map(|protocol| protocol.to_vec()).collect();

        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mute = self.mute;
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, mute) = (acceptor.clone(), mute.clone());
                tokio::spawn(async move {
                    match acceptor.accept(socket).into_fallible().await {
                        Ok(stream) => serve(stream, mute).await,
                        // Closing at once would reset the connection, and might take the alert away unread.
                        Err((_, mut socket)) => _ = socket.read_to_end(&mut Vec::new()).await,
                    }
                });
            }
        });
        address
    }
}

async fn serve(stream: TlsStream<tokio::net::TcpStream>, mut mute: watch::Receiver<bool>) {
    let (_, tls) = stream.get_ref();
    let sni = tls.server_name().unwrap_or("-").to_owned();
    let certificates = tls.peer_certificates().map_or(0, <[_]>::len);
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let host = match request.headers().get("host") {
            Some(host) => host.to_str().unwrap().to_owned(),
            None => request.uri().authority().unwrap().to_string(),
        };
        let text = format!("{:?} {sni} {certificates} {host} {}", request.version(), request.uri().path());
        let body = match request.uri().path() {
            "/watch" => {
                use futures::StreamExt;
                let line = futures::stream::iter([Ok::<_, std::convert::Infallible>("line\n".into())]);
                Body::from_stream(line.chain(futures::stream::pending()))
            }
            _ => Body::from(text),
        };
        async move { Ok::<_, std::convert::Infallible>(Response::new(body)) }
    });
    let builder = Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    let muted = async move {
        // Without a sender it is never muted.
        if mute.wait_for(|mute| *mute).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = &mut connection => return,
        () = muted => {}
    }
    std::future::pending::<()>().await;
}

/// A server that speaks no TLS: sends the bytes, if any, to everyone who connects, and then waits.
pub(crate) async fn plain_server(greeting: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut sockets = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(greeting).await;
            sockets.push(socket);
        }
    });
    address
}

/// An address that nothing listens on.
pub(crate) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}
