//! The requests that tests make of etcd itself, through its JSON gateway.
//!
//! Why by hand over one TCP connection: HTTP/1.0 without TLS, one request, read to the end. A client library for it
//! would be the largest dependency of this crate.

use std::io;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::Error;

/// Where the API server writes what it has compacted, and looks what others have: it then forgets its own snapshots of
/// older lists. Without this, continue tokens from before the compaction would still be served from memory.
const COMPACTED: &str = "compact_rev_key";

/// Forgets every revision before the current one, and returns that one. Done when the history is gone from the disk.
pub(super) async fn compact(port: u16) -> Result<i64, Error> {
    // etcd has no way to ask for a revision but to read something. Its 64-bit numbers are strings in JSON, its bytes base64.
    let read = post(port, "/v3/kv/range", &json!({ "key": STANDARD.encode(COMPACTED) })).await?;
    let revision = read["header"]["revision"].as_str().and_then(|text| text.parse().ok());
    let revision: i64 =
        revision.ok_or_else(|| Error::Etcd { path: "/v3/kv/range", answer: read.to_string() })?;
    let text = revision.to_string();
    let note = json!({ "key": STANDARD.encode(COMPACTED), "value": STANDARD.encode(&text) });
    post(port, "/v3/kv/put", &note).await?;
    post(port, "/v3/kv/compaction", &json!({ "revision": text, "physical": true })).await?;
    Ok(revision)
}

async fn post(port: u16, path: &'static str, body: &Value) -> Result<Value, Error> {
    let answer = exchange(port, &request(path, body)).await.map_err(Error::io("reach etcd"))?;
    parse(&answer).map_err(|answer| Error::Etcd { path, answer })
}

async fn exchange(port: u16, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// HTTP/1.0, because its answers end with the connection and are never sent in chunks.
fn request(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.0\r\nHost: etcd\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The body of a good answer, or everything that a bad one said.
fn parse(answer: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(answer);
    let good = text.split_whitespace().nth(1) == Some("200");
    text.split_once("\r\n\r\n")
        .filter(|_| good)
        .and_then(|(_, body)| serde_json::from_str(body).ok())
        .ok_or_else(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_200_is_a_good_answer() {
        for (answer, expected) in [
            ("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"a\":1}", Some(json!({ "a": 1 }))),
            ("HTTP/1.0 400 Bad Request\r\n\r\n{\"a\":1}", None),
            ("HTTP/1.0 200 OK\r\n\r\n{\"a\":", None),
            ("HTTP/1.0 200 OK\r\n", None),
            ("", None),
        ] {
            assert_eq!(parse(answer.as_bytes()).ok(), expected, "{answer}");
        }
    }

    #[test]
    fn the_length_is_that_of_the_body() {
        let request = request("/p", &json!({ "k": "v" }));
        assert!(request.starts_with("POST /p HTTP/1.0\r\n"), "{request}");
        assert!(request.ends_with("Content-Length: 9\r\n\r\n{\"k\":\"v\"}"), "{request}");
    }
}
