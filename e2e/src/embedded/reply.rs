//! Puts answers into HTTP.
//!
//! In: a code and bytes, or why there are none. Out: a response with the headers that clients look at. What the answer says is
//! left to others.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use kube_client::Body;

use super::{
    errors::ApiStatus,
    patch::{ApplyError, PatchError},
};

/// An answer in JSON.
pub(super) fn respond(code: u16, body: Bytes) -> Response<Body> {
    stream(code, Body::from(body))
}

/// The same, whose body comes bit by bit.
pub(super) fn stream(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

/// A refusal.
pub(super) fn refuse(status: &ApiStatus) -> Response<Body> {
    let mut response = respond(status.code, status.body.to_string().into());
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Puts warnings beside an answer.
pub(super) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings {
        // RFC 7234, 5.5; what cannot be a header is told by nobody else either.
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = header::HeaderValue::try_from(text) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// What is told of a patch that is none, or does not fit. `limit` is that of bodies, in bytes.
pub(super) fn patch_error(error: &PatchError, limit: usize) -> ApiStatus {
    match error {
        PatchError::BadRequest(message) => ApiStatus::bad_request(message.clone()),
        PatchError::Unprocessable => ApiStatus::patch_failed(),
        PatchError::TooLarge(_) => ApiStatus::body_too_large(limit),
        PatchError::Internal(message) => ApiStatus::internal(message),
    }
}

/// What is told of an apply that others are in the way of, or that fits nothing.
pub(super) fn apply_error(error: &ApplyError) -> ApiStatus {
    match error {
        ApplyError::BadRequest(message) => ApiStatus::bad_request(message.clone()),
        ApplyError::Untyped(message) => ApiStatus::internal(message),
        ApplyError::Conflicts(conflicts) => {
            let conflicts: Vec<_> = conflicts
                .iter()
                .map(|c| (c.message().trim_start_matches("conflict with ").to_owned(), c.field()))
                .collect();
            ApiStatus::apply_conflicts(&conflicts)
        }
    }
}
