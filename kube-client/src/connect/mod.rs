//! The connections to the server: pooled, HTTP/2 where the server has it, noticed when they die.
//!
//! In: [`Config`]. Out: [`Transport`], a service from requests with a whole URI to responses.
//!
//! A connection can die without a word (a pulled cable, a firewall that forgot it). A watch waits without sending
//! anything, so nobody would notice; therefore the client asks: with pings on HTTP/2, with TCP keepalive on HTTP/1.1.
//! Both take at most [`PING_INTERVAL`] + [`PING_TIMEOUT`] = 40 s.
//!
//! What it leaves to others: how long a request may take (`layer`), trying again, credentials.

mod fault;
mod resolver;

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tower::{Service, util::ServiceExt};

use self::{fault::ConnectTimedOut, resolver::Resolver};
use crate::{Body, BoxError, Config, Error, TlsError};

pub use fault::{ConnectError, ConnectFault};

/// How long a connection may be silent before it is asked whether it is alive.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long it may take to answer. With the interval, below the 45 s within which a dead connection must be noticed.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes that the server may send on one stream ahead of its reader. A first list is tens of megabytes: with HTTP/2's own
/// 64 KiB the server would stop for a round trip after each 64 KiB; 4 MiB keep a 1 Gbit/s path with 30 ms busy.
const STREAM_WINDOW: u32 = 4 << 20;
/// The same for all streams of a connection together: room for 256 streams (more than servers allow at once) with full
/// windows, so that a watch whose reader is slow never holds up another request. It is a promise, not an allocation.
const CONNECTION_WINDOW: u32 = 256 * STREAM_WINDOW;
/// How long an unused connection is kept: past the pause between two rounds of a quiet controller, below the idle limits
/// of usual load balancers.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

type Https = HttpsConnector<HttpConnector<Resolver>>;

/// The pool of connections, as a service. Errors are [`Error::Connect`] and [`Error::Broken`]. Clones share the pool.
#[derive(Clone, Debug)]
pub struct Transport {
    pool: Pool<TimedConnector, Body>,
}

impl Transport {
    /// Connections as `config` wants them; none is opened yet.
    ///
    /// # Errors
    /// TLS settings that cannot be used.
    pub fn new(config: &Config) -> Result<Self, TlsError> {
        let mut tcp = HttpConnector::new_with_resolver(Resolver::default());
        tcp.enforce_http(false); // The connector around it speaks TLS.
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(config.connect_timeout));
        tcp.set_keepalive(Some(PING_INTERVAL));
        tcp.set_keepalive_interval(Some(PING_TIMEOUT / 4));
        tcp.set_keepalive_retries(Some(4));
        // Keepalive does not run while sent data waits for its acknowledgement; this limit is for that case.
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(PING_INTERVAL + PING_TIMEOUT));

        let builder =
            HttpsConnectorBuilder::new().with_tls_config(config.tls.client_config()?).https_or_http();
        let builder = match config.tls.check_server_name()? {
            Some(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
            None => builder,
        };
        let https = builder.enable_all_versions().wrap_connector(tcp);
        // TCP has its own limit; the one around both must leave TLS its own share.
        let connector = TimedConnector { https, limit: config.connect_timeout.saturating_mul(2) };
        let pool = Pool::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(true)
            .build(connector);
        Ok(Self { pool })
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = server_of(request.uri());
        let answer = self.pool.request(request);
        async move {
            match answer.await {
                Ok(response) => Ok(response.map(|body| broken_bodies(body, server))),
                Err(error) => Err(explain(server, error).into()),
            }
        }
        .boxed()
    }
}

fn explain(server: String, error: hyper_util::client::legacy::Error) -> Error {
    let fault = fault::classify(&error);
    // With TLS 1.3 a client has finished its handshake before the server looks at its certificate.
    let refused = fault == Some(ConnectFault::ClientCertificate);
    if error.is_connect() || refused {
        let fault = fault.unwrap_or(ConnectFault::Other);
        Error::Connect(ConnectError { server, fault, source: error.into() })
    } else {
        Error::Broken { server, source: error.into() }
    }
}

fn broken_bodies(body: hyper::body::Incoming, server: String) -> Body {
    use http_body_util::BodyExt;
    Body::new(body.map_err(move |source| Error::Broken { server: server.clone(), source: source.into() }))
}

/// Scheme, host and port; not the user name and password that an authority may have in front.
fn server_of(uri: &Uri) -> String {
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default())
}

/// Limits the time for TCP and TLS together: a server that accepts and then says nothing would hold a watch for ever.
#[derive(Clone, Debug)]
struct TimedConnector {
    https: Https,
    limit: Duration,
}

impl Service<Uri> for TimedConnector {
    type Response = <Https as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.https.clone().oneshot(uri);
        let limit = self.limit;
        async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(outcome) => outcome,
                Err(_) => Err(ConnectTimedOut(limit).into()),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
