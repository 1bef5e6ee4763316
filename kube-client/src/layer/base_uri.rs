//! Sends every request to one server, below that server's path prefix.
//!
//! In: a request with a relative URI. Out: the same with scheme, host and port of the server, and its prefix in front of
//! the path. There is exactly one slash where they join, and neither part is decoded or encoded again. An absolute URI is
//! sent to this server as well, for the credentials are meant for no other.

use std::task::{Context, Poll};

use futures::{
    TryFutureExt,
    future::{Either, Ready, ready},
};
use http::{Request, Uri, uri::PathAndQuery};
use tower::{Layer, Service};

use crate::{BoxError, Error};

/// Makes [`UseBaseUri`].
#[derive(Clone, Debug)]
pub struct BaseUriLayer {
    base: Uri,
}

impl BaseUriLayer {
    /// For the server at this URL, with or without a path.
    pub fn new(base: Uri) -> Self {
        Self { base }
    }
}

impl<S> Layer<S> for BaseUriLayer {
    type Service = UseBaseUri<S>;

    fn layer(&self, inner: S) -> Self::Service {
        UseBaseUri { inner, base: self.base.clone() }
    }
}

/// Sends every request to one server.
#[derive(Clone, Debug)]
pub struct UseBaseUri<S> {
    inner: S,
    base: Uri,
}

impl<S, B> Service<Request<B>> for UseBaseUri<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Either<futures::future::ErrInto<S::Future, BoxError>, Ready<Result<S::Response, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match join(&self.base, request.uri()) {
            Ok(uri) => {
                *request.uri_mut() = uri;
                Either::Left(self.inner.call(request).err_into())
            }
            Err(error) => Either::Right(ready(Err(Error::Service(error.into()).into()))),
        }
    }
}

fn join(base: &Uri, relative: &Uri) -> Result<Uri, http::Error> {
    let prefix = base.path().trim_end_matches('/');
    let rest = relative.path_and_query().map_or("/", PathAndQuery::as_str);
    let slash = if rest.starts_with('/') { "" } else { "/" };
    let mut uri = Uri::builder().path_and_query(format!("{prefix}{slash}{rest}"));
    if let Some(scheme) = base.scheme() {
        uri = uri.scheme(scheme.clone());
    }
    if let Some(authority) = base.authority() {
        uri = uri.authority(authority.clone());
    }
    uri.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_kept_with_one_slash_and_its_escapes() {
        let pods = "/api/v1/namespaces/d/pods?limit=5&continue=a%2Fb";
        let rows = [
            ("https://s.example.test", pods, format!("https://s.example.test{pods}")),
            ("https://s.example.test/", pods, format!("https://s.example.test{pods}")),
            ("https://s.example.test:6443", pods, format!("https://s.example.test:6443{pods}")),
            ("https://[2001:db8::7]:443", pods, format!("https://[2001:db8::7]:443{pods}")),
            (
                "https://r.example.test/k8s/clusters/c-1",
                pods,
                format!("https://r.example.test/k8s/clusters/c-1{pods}"),
            ),
            (
                "https://r.example.test/k8s/clusters/c-1/",
                pods,
                format!("https://r.example.test/k8s/clusters/c-1{pods}"),
            ),
            (
                "https://r.example.test/a%2Fb%20c/",
                "/x%2Fy",
                "https://r.example.test/a%2Fb%20c/x%2Fy".to_owned(),
            ),
            ("http://127.0.0.1:8001", "/", "http://127.0.0.1:8001/".to_owned()),
            ("https://s.example.test", "https://other.example.test/x", "https://s.example.test/x".to_owned()),
        ];
        for (base, relative, expected) in rows {
            let joined = join(&base.parse().unwrap(), &relative.parse().unwrap()).unwrap();
            assert_eq!(joined.to_string(), expected, "{base} + {relative}");
        }
    }
}
