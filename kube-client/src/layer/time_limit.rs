//! Limits how long a request may take, from sending it to the end of its answer's body.
//!
//! In: a request, perhaps with a [`TimeLimit`] of its own among its extensions. Out: its answer, or [`TimedOut`] in place
//! of the answer or of the rest of its body.
//!
//! Why per request and not per connection: a watch or a followed log is silent for minutes and healthy; a unary request
//! that takes as long is lost. One number cannot serve both. The refusal of a stream is no stream: the layer's own limit
//! holds for its body, lest a server that sends it a byte at a time be waited for without end.
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
use http::{Request, Response, StatusCode};
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
        let unary = self.limit;
        let limit = request.extensions().get::<TimeLimit>().map_or(unary, |own| own.0);
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let deadline = Deadline::after(limit);
        let answer = self.inner.call(request).err_into::<BoxError>();
        async move {
            let answer = match deadline {
                None => answer.await?,
                Some(Deadline { at, limit }) => match timeout_at(at, answer).await {
                    Ok(answer) => answer?,
                    Err(_) => return Err(Error::from(TimedOut { method, path, limit }).into()),
                },
            };
            let deadline = match Deadline::after(unary) {
                Some(refusal) if is_refusal(answer.status()) => Some(refusal.or_earlier(deadline)),
                _ => deadline,
            };
            Ok(answer.map(|body| match deadline {
                None => Body::new(body),
                Some(Deadline { at, limit }) => Body::new(LimitedBody {
                    body: Body::new(body),
                    deadline: Box::pin(sleep_until(at)),
                    timed_out: TimedOut { method, path, limit },
                }),
            }))
        }
        .boxed()
    }
}

/// Whether it is neither success nor the start of another protocol, whose connection goes on.
fn is_refusal(status: StatusCode) -> bool {
    !status.is_success() && !status.is_informational()
}

/// When a limit is over.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// `limit` from now on; `None` without a limit, and for one that is over later than time can be told.
    fn after(limit: Option<Duration>) -> Option<Self> {
        let limit = limit?;
        Some(Self { at: Instant::now().checked_add(limit)?, limit })
    }

    fn or_earlier(self, other: Option<Self>) -> Self {
        other.filter(|other| other.at < self.at).unwrap_or(self)
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

    /// What comes of an answer with this code whose head takes so many seconds, and then each of its two chunks; and after
    /// how long.
    async fn outcome(own: Option<TimeLimit>, code: u16, head: u64, chunk: u64) -> (String, u64) {
        let start = Instant::now();
        let server = service_fn(move |_: Request<()>| async move {
            tokio::time::sleep(Duration::from_secs(head)).await;
            let chunks = futures::stream::iter(["a", "b"]).then(move |text| async move {
                tokio::time::sleep(Duration::from_secs(chunk)).await;
                Ok::<_, Infallible>(Bytes::from(text))
            });
            let answer = Response::builder().status(code).body(Body::from_stream(chunks));
            Ok::<_, Infallible>(answer.unwrap())
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
            (Some(TimeLimit(Some(Duration::MAX))), 100, 100, "ab", 300),
            (None, 60, 0, ten, 10),
            (None, 1, 8, ten, 10),
            (None, 1, 60, ten, 10),
            (Some(TimeLimit(None)), 100, 100, "ab", 300),
            (Some(TimeLimit(Some(Duration::from_secs(20)))), 1, 8, "ab", 17),
            (Some(TimeLimit(Some(Duration::from_secs(2)))), 1, 8, "GET /x: not done within 2s", 2),
        ];
        for (own, head, chunk, text, seconds) in rows {
            let found = outcome(own, 200, head, chunk).await;
            assert_eq!(found, (text.to_owned(), seconds), "{own:?} {head} {chunk}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_refusal_of_a_stream_is_no_stream() {
        let limit = |seconds| Some(TimeLimit(Some(Duration::from_secs(seconds))));
        let rows = [
            (Some(TimeLimit(None)), 100, 1, "ab", 102),
            (Some(TimeLimit(None)), 100, 60, "GET /x: not done within 10s", 110),
            (limit(300), 100, 60, "GET /x: not done within 10s", 110),
            (limit(105), 100, 60, "GET /x: not done within 105s", 105),
        ];
        for (own, head, chunk, text, seconds) in rows {
            let found = outcome(own, 403, head, chunk).await;
            assert_eq!(found, (text.to_owned(), seconds), "{own:?} {head} {chunk}");
        }
    }
}
