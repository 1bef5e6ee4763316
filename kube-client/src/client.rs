//! A handle to one API server: sends requests, and turns every answer but success into an [`Error`].
//!
//! In: requests with relative URIs, as `kube-core` builds them. Out: a response, its bytes, a decoded value or a stream of
//! chunks. Below is a stack of services, this crate's own ([`Client::from_config`]) or any other ([`Client::new`]).
//!
//! Why the status is checked in one place: a refused watch must be one error with its code, not a line per line of the
//! refusal; and what a proxy in between answers must read like what the server answers.
//!
//! What it leaves to others: kinds and verbs ([`crate::Api`]), layers and connections.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::BodyExt;
use kube_core::Status;
use serde::de::DeserializeOwned;
use tower::{
    Service,
    util::{BoxCloneSyncService, ServiceExt},
};

use crate::{
    ApiError, Body, BoxError, ByteStream, Config, Error, TimeLimit, clock, decode::decode,
    retry_after::retry_after, stack::stack,
};

/// Most bytes read of the body of a refusal. A `Status` has a few kilobytes; of a proxy's page 512 bytes are kept anyway.
const MAX_REFUSAL: usize = 1 << 20;

/// Most bytes that are read of an answer in one piece: 512 MiB.
///
/// Ten times the largest list that is of use unpaged (ten thousand Pods have 45 MB). An answer that does not end must end
/// as an error and not as a process out of memory.
pub const MAX_ANSWER: usize = 512 << 20;

/// How much longer than the server's own limit (`timeoutSeconds`) a stream may take: for the way there, and for a server
/// that is slow to end it. After that the stream is taken for dead.
const STREAM_GRACE: Duration = Duration::from_secs(15);

/// A handle to one API server. A clone is a reference count; all clones share connections and credentials.
///
/// ```
/// use http::{Request, Response};
/// use kube_client::{Body, Client};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// // Any tower service will do, so a test needs no server.
/// let service = tower::service_fn(|request: Request<Body>| async move {
///     Ok::<_, std::convert::Infallible>(Response::new(Body::from(request.uri().path().to_owned())))
/// });
/// let client = Client::new(service, "default");
/// let answer = client.request_bytes(Request::get("/version").body(vec![])?).await?;
/// assert_eq!(answer, "/version");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    service: BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>,
    default_namespace: String,
}

impl Client {
    /// A client for the cluster that the kubeconfig names, or else for the one this process runs in.
    ///
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Config`] says what was tried and what to mend; [`Error::Tls`] for keys that cannot be used.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn infer() -> Result<Self, Error> {
        // Files are read, perhaps over a network; not on a thread that others wait for.
        let config = tokio::task::spawn_blocking(Config::infer);
        let config = config.await.map_err(|stopped| Error::Service(stopped.into()))??;
        Self::from_config(config)
    }

    /// A client with this crate's own layers and connections.
    ///
    /// # Errors
    /// [`Error::Tls`] and [`Error::Credential`] for settings that cannot be used.
    pub fn from_config(config: Config) -> Result<Self, Error> {
        let service = stack(&config)?;
        Ok(Self::new(service, config.default_namespace))
    }

    /// A client on top of any service: another stack of layers, or a mock in a test.
    pub fn new<S, B>(service: S, default_namespace: impl Into<String>) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service
            .map_response(|response: Response<B>| response.map(Body::new))
            .map_err(|error: S::Error| -> BoxError { error.into() });
        let shared = Shared {
            service: BoxCloneSyncService::new(service),
            default_namespace: default_namespace.into(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The namespace of the context, or of the pod.
    pub fn default_namespace(&self) -> &str {
        &self.shared.default_namespace
    }

    /// Sends a request and gives back the response, whatever its status.
    ///
    /// The time limit of unary requests holds, for the body as well, unless the request has a [`TimeLimit`] among its
    /// extensions.
    ///
    /// # Errors
    /// No answer: [`Error::Connect`], [`Error::Broken`], [`Error::Timeout`], [`Error::Credential`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        self.shared.service.clone().oneshot(request).await.map_err(Error::from_service)
    }

    /// Sends a request and gives back the bytes of a successful answer.
    ///
    /// # Errors
    /// [`Error::Api`] for any status but 2xx; [`Error::TooLarge`] for an answer of more than [`MAX_ANSWER`] bytes; and as
    /// [`Client::send`].
    pub async fn request_bytes(&self, request: Request<Vec<u8>>) -> Result<Bytes, Error> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body = self.successful(request).await?.into_body();
        let bytes = body.bytes_up_to(MAX_ANSWER).await.map_err(Error::from_service)?;
        bytes.ok_or(Error::TooLarge { method, path, max: MAX_ANSWER })
    }

    /// Sends a request and decodes a successful answer.
    ///
    /// # Errors
    /// [`Error::Decode`] for an answer that is not a `T`; and as [`Client::request_bytes`].
    pub async fn request<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, Error> {
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let bytes = self.request_bytes(request).await?;
        decode(&bytes, &method, &path)
    }

    /// Sends a request and gives back the chunks of a successful answer as they come: for watches and logs.
    ///
    /// The answer is asked for uncompressed, because compression holds lines back. A request with `timeoutSeconds` in its
    /// query is over 15 s after those at the latest, with [`Error::Timeout`]; one without has no time limit. A
    /// [`TimeLimit`] among the request's extensions beats both.
    ///
    /// # Errors
    /// [`Error::Api`] for any status but 2xx; and as [`Client::send`].
    pub async fn stream(&self, mut request: Request<Vec<u8>>) -> Result<ByteStream, Error> {
        if request.extensions().get::<TimeLimit>().is_none() {
            let limit = stream_limit(request.uri().query());
            request.extensions_mut().insert(TimeLimit(limit));
        }
        request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(ByteStream::new(self.successful(request).await?.into_body()))
    }

    async fn successful(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, Error> {
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let response = self.send(request.map(Body::from)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(method, path, response).await.into())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("default_namespace", &self.shared.default_namespace)
            .finish_non_exhaustive()
    }
}

async fn refusal(method: Method, path: String, response: Response<Body>) -> ApiError {
    let (parts, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    // The status code counts, also when the body breaks off: what has come of it is the message.
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(&data[..data.len().min(MAX_REFUSAL - bytes.len())]);
        }
        if bytes.len() >= MAX_REFUSAL {
            break;
        }
    }
    let mut error = ApiError::new(method, path, Status::from_response(parts.status.as_u16(), &bytes));
    error.retry_after = retry_after(&parts.headers, clock::wall()).or(error.retry_after);
    error
}

/// The time a stream may take, from the `timeoutSeconds` of its query.
fn stream_limit(query: Option<&str>) -> Option<Duration> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, seconds) = pairs.find(|(key, _)| *key == "timeoutSeconds")?;
    Some(Duration::from_secs(seconds.parse().ok()?).saturating_add(STREAM_GRACE))
}

#[cfg(test)]
mod tests;
