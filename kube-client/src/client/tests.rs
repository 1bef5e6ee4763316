use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use futures::StreamExt;
use http::Uri;
use serde::Deserialize;

use super::*;
use crate::LineTooLong;

type Sent = Arc<Mutex<Vec<(Uri, http::HeaderMap, Option<TimeLimit>)>>>;

/// A client whose server gives one answer to everything, and what it was sent.
fn client(code: u16, headers: &[(&str, &str)], chunks: &[&[u8]]) -> (Client, Sent) {
    let mut answer = Response::builder().status(code);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    let parts = answer.body(()).unwrap().into_parts().0;
    let chunks: Vec<Bytes> = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
    let sent = Sent::default();
    let log = Arc::clone(&sent);
    let service = tower::service_fn(move |request: Request<Body>| {
        let limit = request.extensions().get().copied();
        log.lock().unwrap().push((request.uri().clone(), request.headers().clone(), limit));
        let chunks = futures::stream::iter(chunks.clone().into_iter().map(Ok::<_, Infallible>));
        let response = Response::from_parts(parts.clone(), Body::from_stream(chunks));
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "shop"), sent)
}

fn get(uri: &str) -> Request<Vec<u8>> {
    Request::get(uri).body(vec![]).unwrap()
}

#[tokio::test]
async fn any_status_but_success_is_an_api_error_with_method_path_and_code() {
    let html = format!("<html>{}</html>", "x".repeat(200_000));
    let rows: [(u16, &[u8], u16, &str, &str); 8] = [
        (404, b"404 page not found\n", 404, "NotFound", "404 page not found"),
        (502, html.as_bytes(), 502, "Unknown", "<html>xxx"),
        (403, b"", 403, "Forbidden", ""),
        (
            409,
            br#"{"kind":"Status","reason":"AlreadyExists","message":"there"}"#,
            409,
            "AlreadyExists",
            "there",
        ),
        (500, b"\xff\xfe", 500, "InternalError", "\u{fffd}\u{fffd}"),
        (
            415,
            br#"{"kind":"Status","code":415,"message":"accepted: a, b"}"#,
            415,
            "UnsupportedMediaType",
            "accepted: a, b",
        ),
        (302, b"", 302, "Unknown", ""),
        (101, b"", 101, "Unknown", ""),
    ];
    for (code, body, status, reason, message) in rows {
        let (client, _) = client(code, &[], &[body]);
        let error = client.request_bytes(get("/api/v1/pods?continue=t0k")).await.unwrap_err();
        let api = error.api().unwrap_or_else(|| panic!("{code}: {error:?}"));
        assert_eq!((api.method.as_str(), &*api.path), ("GET", "/api/v1/pods"));
        assert_eq!((api.status.code, &*api.status.reason), (status, reason));
        assert!(
            api.status.message.starts_with(message) && api.status.message.len() < 600,
            "{:?}",
            api.status
        );
        assert_eq!(message.is_empty(), api.status.message.is_empty());
    }
}

#[tokio::test]
async fn the_header_says_when_to_try_again_else_the_body() {
    let hint: &[u8] = br#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":3}}"#;
    let rows: [(Option<&str>, &[u8], Option<u64>); 4] = [
        (Some("1"), b"", Some(1)),
        (Some("1"), hint, Some(1)),
        (Some("soon"), hint, Some(3)),
        (None, b"", None),
    ];
    for (header, body, seconds) in rows {
        let headers: Vec<_> = header.map(|value| ("retry-after", value)).into_iter().collect();
        let (client, _) = client(429, &headers, &[body]);
        let error = client.request_bytes(get("/x")).await.unwrap_err();
        assert_eq!(error.retry_after(), seconds.map(Duration::from_secs));
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn an_answer_that_is_not_the_type_names_request_and_type() {
    #[derive(Debug, Deserialize)]
    struct Version {
        #[expect(dead_code, reason = "read by Debug only")]
        major: String,
    }
    let (good, _) = client(200, &[], &[br#"{"major""#, br#":"1"}"#]);
    assert_eq!(
        format!("{:?}", good.request::<Version>(get("/version")).await.unwrap()),
        r#"Version { major: "1" }"#
    );
    for body in [b"{}".as_slice(), b"\xff", b""] {
        let (client, _) = client(200, &[], &[body]);
        let error = client.request::<Version>(get("/version")).await.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("GET /version: the answer is no ") && text.ends_with("Version"), "{text}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_an_error() {
    let service = tower::service_fn(|_: Request<Body>| async {
        // The same bytes again and again, so that the test needs no more memory than one chunk.
        let chunk = Bytes::from(vec![b' '; 1 << 20]);
        let endless = futures::stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
        Ok::<_, Infallible>(Response::new(Body::from_stream(endless)))
    });
    let client = Client::new(service, "shop");
    let error = client.request_bytes(get("/api/v1/pods?limit=1")).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { max: MAX_ANSWER, .. }) && !error.is_retryable(), "{error:?}");
    assert!(error.to_string().starts_with("GET /api/v1/pods: the answer has more than"), "{error}");
}

#[tokio::test]
async fn a_stream_is_uncompressed_and_has_its_own_limit() {
    let seconds = |seconds| Some(TimeLimit(Some(Duration::from_secs(seconds))));
    let mut own = get("/x?timeoutSeconds=5");
    own.extensions_mut().insert(TimeLimit(Some(Duration::from_secs(1))));
    for (request, limit) in [
        (get("/x?watch=true&timeoutSeconds=290&resourceVersion=5"), seconds(305)),
        (get("/x?watch=true"), Some(TimeLimit(None))),
        (get(&format!("/x?timeoutSeconds={}", u64::MAX)), Some(TimeLimit(Some(Duration::MAX)))),
        (get("/x"), Some(TimeLimit(None))),
        (own, seconds(1)),
    ] {
        let (client, sent) = client(200, &[], &[b"a", b"b"]);
        let chunks: Vec<_> = client.stream(request).await.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(chunks, ["a", "b"]);
        let (_, headers, found) = sent.lock().unwrap().pop().unwrap();
        assert_eq!(headers["accept-encoding"], "identity");
        assert_eq!(found, limit);
    }
    let (client, sent) = client(200, &[], &[]);
    client.request_bytes(get("/x")).await.unwrap();
    assert_eq!(sent.lock().unwrap().pop().unwrap().2, None, "a unary request has the layer's limit");
}

#[tokio::test]
async fn a_refused_stream_is_one_error_and_no_line() {
    let body = b"{\n  \"kind\": \"Status\",\n  \"code\": 403,\n  \"reason\": \"Forbidden\",\n  \"message\": \"no\"\n}\n";
    let (client, _) = client(403, &[], &[body]);
    let error = client.stream(get("/api/v1/pods?watch=true")).await.unwrap_err();
    assert!(error.is_forbidden());
    assert_eq!(error.to_string(), "GET /api/v1/pods: 403 Forbidden: no");
}

#[tokio::test]
async fn lines_do_not_depend_on_chunks_and_a_broken_stream_hands_out_no_half_line() {
    let (whole, _) = client(200, &[], &[b"one\r\n\nt", b"w\xc3", b"\xb6\nlast"]);
    let lines: Vec<_> = whole.stream(get("/x")).await.unwrap().lines().map(Result::unwrap).collect().await;
    assert_eq!(lines, ["one", "twö", "last"]);

    let broken = tower::service_fn(|_: Request<Body>| async {
        let chunks = [Ok(Bytes::from("one\nha")), Err(BoxError::from("cut"))];
        Ok::<_, Infallible>(Response::new(Body::from_stream(futures::stream::iter(chunks))))
    });
    let mut lines = Client::new(broken, "d").stream(get("/x")).await.unwrap().lines();
    assert_eq!(lines.next().await.unwrap().unwrap(), "one");
    assert!(matches!(lines.next().await, Some(Err(Error::Service(_)))));
    assert!(lines.next().await.is_none());
}

#[test]
fn a_line_that_is_too_long_is_an_error_of_its_own() {
    let error = Error::from(LineTooLong { max: 64 });
    assert_eq!(error.to_string(), "a line of the stream is longer than 64 bytes");
}
