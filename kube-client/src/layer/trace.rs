//! Makes one span for each request: `http{method, path}`. What comes of it is one event at debug level, for whether an
//! answer is good news is the caller's to judge: a routine 404 must not fill logs.

use std::task::{Context, Poll};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use tower::{Layer, Service};
use tracing::Instrument;

use crate::BoxError;

/// Makes [`Trace`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Trace { inner }
    }
}

/// Makes a span for each request. Headers, queries and bodies are left out: they hold tokens and Secrets.
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Trace<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<R>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let span = tracing::debug_span!("http", method = %request.method(), path = request.uri().path());
        let answer = span.in_scope(|| self.inner.call(request));
        async move {
            let outcome = answer.await.map_err(Into::into);
            match &outcome {
                Ok(response) => tracing::debug!(status = response.status().as_u16(), "answered"),
                Err(error) => tracing::debug!(%error, "failed"),
            }
            outcome
        }
        .instrument(span)
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        fmt::Write,
        sync::{Arc, Mutex},
    };

    use tower::{ServiceExt, service_fn};
    use tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span,
    };

    use super::*;

    /// Writes down spans and events with their fields.
    #[derive(Clone, Default)]
    struct Notebook(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            let _ = write!(self.0, " {field}={value:?}");
        }
    }

    impl Subscriber for Notebook {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
            let mut line = Line(span.metadata().name().to_owned());
            span.record(&mut line);
            self.0.lock().unwrap().push(line.0);
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn a_request_is_a_span_and_its_answer_an_event_at_debug_level() {
        let notebook = Notebook::default();
        let not_found = service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(Response::builder().status(404).body(()).unwrap())
        });
        let request =
            Request::get("/api/v1/pods?continue=t0k").header("authorization", "s3cr").body(()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tracing::subscriber::with_default(notebook.clone(), || {
            runtime.block_on(TraceLayer.layer(not_found).oneshot(request)).unwrap();
        });
        let lines = notebook.0.lock().unwrap().clone();
        assert_eq!(lines, ["http method=GET path=\"/api/v1/pods\"", "DEBUG message=answered status=404"]);
    }
}
