//! Adds the `Authorization` header: none, a fixed token, or the token of a file that is rotated.
//!
//! In: a request. Out: the same with credentials, or [`CredentialError`] and nothing sent. A request that brings a header
//! of its own keeps it. Which token counts, and when the file is read again, is decided in `token`.

use std::{
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{HeaderValue, Request, header};
use secrecy::ExposeSecret;
use tokio::sync::Mutex;
use tower::{Layer, Service};

use super::token::{TokenCache, bearer};
use crate::{Auth, BoxError, CredentialError, Error, clock, file};

/// Makes [`AddAuth`].
#[derive(Clone, Debug)]
pub struct AuthLayer {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    None,
    Fixed(HeaderValue),
    /// Shared by all clones of a client, so that the file is read once a minute and not once a minute for each.
    File(Arc<TokenFile>),
}

#[derive(Debug)]
struct TokenFile {
    path: PathBuf,
    cache: Mutex<TokenCache>,
}

impl TokenFile {
    async fn header(&self) -> Result<HeaderValue, CredentialError> {
        // Held while reading: requests that come meanwhile need the token too, and one reading is enough for all.
        let mut cache = self.cache.lock().await;
        if let Some(header) = cache.current(clock::now()) {
            return Ok(header);
        }
        let path = self.path.clone();
        let text = tokio::task::spawn_blocking(move || file::read_text(&path));
        let text = text.await.unwrap_or_else(|stopped| Err(stopped.into()));
        cache.read(clock::now(), &self.path, text)
    }
}

impl AuthLayer {
    /// For these credentials.
    ///
    /// # Errors
    /// A token that no header can carry. A token file is not read yet.
    pub fn new(auth: &Auth) -> Result<Self, CredentialError> {
        let source = match auth {
            Auth::None => Source::None,
            Auth::Token(token) => Source::Fixed(bearer(token.expose_secret())?),
            Auth::TokenFile(path) => {
                Source::File(Arc::new(TokenFile { path: path.clone(), cache: Mutex::default() }))
            }
        };
        Ok(Self { source })
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = AddAuth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AddAuth { inner, source: self.source.clone() }
    }
}

/// Adds credentials to every request.
#[derive(Clone, Debug)]
pub struct AddAuth<S> {
    inner: S,
    source: Source,
}

impl<S, B> Service<Request<B>> for AddAuth<S>
where
    S: Service<Request<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    S::Response: Send,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The service that was asked whether it is ready is the one to call.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let file = match &self.source {
            _ if request.headers().contains_key(header::AUTHORIZATION) => None,
            Source::None => None,
            Source::Fixed(value) => {
                request.headers_mut().insert(header::AUTHORIZATION, value.clone());
                None
            }
            Source::File(file) => Some(Arc::clone(file)),
        };
        let Some(file) = file else { return inner.call(request).err_into().boxed() };
        async move {
            let value = file.header().await.map_err(|error| BoxError::from(Error::from(error)))?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
            inner.call(request).await.map_err(Into::into)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use tower::{ServiceExt, service_fn};

    use super::*;

    /// The `Authorization` header that arrives.
    async fn sent(layer: &AuthLayer, request: Request<()>) -> Result<String, Error> {
        let echo = service_fn(|request: Request<()>| async move {
            Ok::<_, Infallible>(match request.headers().get(header::AUTHORIZATION) {
                Some(value) => value.to_str().unwrap().to_owned(),
                None => "none".to_owned(),
            })
        });
        layer.layer(echo).oneshot(request).await.map_err(Error::from_service)
    }

    #[tokio::test]
    async fn credentials_are_added_unless_the_request_brings_its_own() {
        for (auth, expected) in [(Auth::None, "none"), (Auth::Token("abc".into()), "Bearer abc")] {
            let layer = AuthLayer::new(&auth).unwrap();
            assert_eq!(sent(&layer, Request::new(())).await.unwrap(), expected);
            let own = Request::builder().header(header::AUTHORIZATION, "own").body(()).unwrap();
            assert_eq!(sent(&layer, own).await.unwrap(), "own");
        }
        assert!(matches!(AuthLayer::new(&Auth::Token("a\nb".into())), Err(CredentialError::UnusableToken)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rotated_file_is_seen_after_a_minute_and_a_lost_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let layer = AuthLayer::new(&Auth::TokenFile(path.clone())).unwrap();
        let send = || sent(&layer, Request::new(()));

        let error = send().await.unwrap_err();
        assert!(matches!(error, Error::Credential(CredentialError::ReadToken { .. })), "{error:?}");

        std::fs::write(&path, "abc\n").unwrap();
        assert_eq!(send().await.unwrap(), "Bearer abc");

        std::fs::write(folder.path().join("next"), "def\n").unwrap();
        std::fs::rename(folder.path().join("next"), &path).unwrap();
        assert_eq!(send().await.unwrap(), "Bearer abc");
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(send().await.unwrap(), "Bearer def");

        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(send().await.unwrap(), "Bearer def");
    }

    #[test]
    fn debug_shows_no_token() {
        let layer = AuthLayer::new(&Auth::Token("s3cr".into())).unwrap();
        assert!(!format!("{layer:?}").contains("s3cr"));
    }
}
