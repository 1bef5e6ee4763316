//! Limits how long a request may take, from sending it to the end of its answer's body.
//!
//! In: a request, perhaps with a [`TimeLimit`] of its own among its extensions. Out: its answer, or [`TimedOut`] in place
//! of the answer or of the rest of its body.
//!
//! Why per request and not per connection: a watch or a followed log is silent for minutes and healthy; a unary request
//! that takes as long is lost. One number cannot serve both.
//!
//! What it leaves to others: noticing that a connection is dead (`connect`).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tower::{Layer, Service};

use crate::{Body, BoxError, Error, TimedOut};

/// The time for a unary request. An admission webhook may hold a write for up to 30 s, so the server's answer ("the
/// webhook did not answer") must win; and a lost request should not hold up a reconcile much longer than that.
pub const UNARY_LIMIT: Duration = Duration::from_secs(32);

/// An extension of a request: its own limit instead of the layer's; `None` for no limit at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit(pub Option<Duration>);

/// Makes [`LimitTime`].
#[derive(Clone, Copy, Debug)]
pub struct TimeLimitLayer {
    limit: Option<Duration>,
}

impl TimeLimitLayer {
    /// With this limit for requests that bring none of their own; `None` for no limit.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for TimeLimitLayer {
    type Service = LimitTime<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitTime { inner, limit: self.limit }
    }
}

/// Limits how long a request may take.
#[derive(Clone, Debug)]
pub struct LimitTime<S> {
    inner: S,
    limit: Option<Duration>,
}

impl<S, B, R> Service<Request<B>> for LimitTime<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limit = request.extensions().get::<TimeLimit>().map_or(self.limit, |own| own.0);
        let Some(limit) = limit else {
            return self.inner.call(request).map_ok(|answer| answer.map(Body::new)).err_into().boxed();
        };
        let timed_out =
            TimedOut { method: request.method().clone(), path: request.uri().path().to_owned(), limit };
        let deadline = Instant::now() + limit;
        let answer = self.inner.call(request);
        async move {
            match timeout_at(deadline, answer).await {
                Ok(answer) => Ok(answer.map_err(Into::into)?.map(|body| {
                    let deadline = Box::pin(sleep_until(deadline));
                    Body::new(LimitedBody { body: Body::new(body), deadline, timed_out })
                })),
                Err(_) => Err(Error::from(timed_out).into()),
            }
        }
        .boxed()
    }
}

/// A body that ends with an error at its deadline. What has arrived by then is handed out first.
struct LimitedBody {
    body: Body,
    deadline: Pin<Box<Sleep>>,
    timed_out: TimedOut,
}

impl http_body::Body for LimitedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        match self.deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(Error::from(self.timed_out.clone()).into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::StreamExt;
    use tower::{ServiceExt, service_fn};

    use super::*;

    /// What comes of an answer whose head takes so many seconds, and then each of its two chunks; and after how long.
    async fn outcome(own: Option<TimeLimit>, head: u64, chunk: u64) -> (String, u64) {
        let start = Instant::now();
        let server = service_fn(move |_: Request<()>| async move {
            tokio::time::sleep(Duration::from_secs(head)).await;
            let chunks = futures::stream::iter(["a", "b"]).then(move |text| async move {
                tokio::time::sleep(Duration::from_secs(chunk)).await;
                Ok::<_, Infallible>(Bytes::from(text))
            });
            Ok::<_, Infallible>(Response::new(Body::from_stream(chunks)))
        });
        let mut request = Request::get("/x?y=z").body(()).unwrap();
        if let Some(own) = own {
            request.extensions_mut().insert(own);
        }
        let layer = TimeLimitLayer::new(Some(Duration::from_secs(10)));
        let answer = async { layer.layer(server).oneshot(request).await?.into_body().bytes().await };
        let text = match answer.await.map_err(Error::from_service) {
            Ok(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Err(error) => error.to_string(),
        };
        (text, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_covers_head_and_body_and_a_request_may_bring_its_own() {
        let ten = "GET /x: not done within 10s";
        let rows = [
            (None, 1, 1, "ab", 3),
            (None, 60, 0, ten, 10),
            (None, 1, 8, ten, 10),
            (None, 1, 60, ten, 10),
            (Some(TimeLimit(None)), 100, 100, "ab", 300),
            (Some(TimeLimit(Some(Duration::from_secs(20)))), 1, 8, "ab", 17),
            (Some(TimeLimit(Some(Duration::from_secs(2)))), 1, 8, "GET /x: not done within 2s", 2),
        ];
        for (own, head, chunk, text, seconds) in rows {
            assert_eq!(outcome(own, head, chunk).await, (text.to_owned(), seconds), "{own:?} {head} {chunk}");
        }
    }
}
