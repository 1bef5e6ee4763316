//! What the server says of a request that failed (or of one that has nothing else to return): the `Status` object.
//!
//! Servers, proxies and load balancers answer with all kinds of bodies. [`Status::from_response`] makes a usable status of
//! any of them; decoding a `Status` tolerates missing and null fields.

use serde::{Deserialize, Deserializer, Serialize};

/// Longest message that is kept of a body that is no `Status`: enough to recognise a proxy's error page by.
const MAX_MESSAGE: usize = 512;

/// The result of a request in the server's words (API conventions, "Response Status Kind").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`; empty where the server did not say.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// What happened, for people.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why, for machines: `NotFound`, `Conflict`, `Expired`, ...
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The HTTP status code; 0 where the server did not say, or said what is no code.
    #[serde(deserialize_with = "code")]
    pub code: u16,
    /// More about it, if the reason has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// Name of the object, or of the resource.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// API group.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind, or plural name, of the object.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Uid of the object.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry for each thing that is wrong: each invalid field, each manager that owns a field in conflict.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds after which to try again; none where the server said what is no number of seconds.
    #[serde(deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// Why, for machines: `FieldValueInvalid`, `FieldManagerConflict`, ...
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong, for people.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Path of the field.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Status {
    /// The status of an answer with this HTTP code and body. Never fails: a body that is no `Status` becomes the message,
    /// trimmed and cut to 512 bytes, and the reason follows from the code.
    pub fn from_response(code: u16, body: &[u8]) -> Self {
        let mut status = Self::parse(body).unwrap_or_else(|| Self {
            status: "Failure".into(),
            message: excerpt(body),
            ..Self::default()
        });
        if status.code == 0 {
            status.code = code;
        }
        if status.reason.is_empty() {
            reason_of(code).clone_into(&mut status.reason);
        }
        status
    }

    fn parse(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let kind: Kind = serde_json::from_slice(body).ok()?;
        if kind.kind == "Status" { serde_json::from_slice(body).ok() } else { None }
    }

    /// The object is not there, or the kind is not (404).
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// The object exists already (409, reason `AlreadyExists`).
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// The write was made against an outdated object, or against fields of another manager (409, other reasons).
    pub fn is_conflict(&self) -> bool {
        self.code == 409 && self.reason != "AlreadyExists"
    }

    /// A resource version or continue token is too old (410, or reason `Expired` or `Gone` with any code).
    pub fn is_gone(&self) -> bool {
        self.code == 410 || self.reason == "Expired" || self.reason == "Gone"
    }

    /// The user may not do this (403).
    pub fn is_forbidden(&self) -> bool {
        self.code == 403
    }

    /// The credentials were not accepted (401).
    pub fn is_unauthorized(&self) -> bool {
        self.code == 401
    }

    /// The object was refused as invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.code == 422
    }

    /// Seconds after which the server wants to be asked again.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details.as_ref()?.retry_after_seconds
    }
}

/// The reason that the API server itself gives with a code (API conventions, "HTTP Status codes").
fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    }
}

fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_MESSAGE + 4)]);
    let text = text.trim();
    if text.len() <= MAX_MESSAGE && body.len() <= MAX_MESSAGE + 4 {
        return text.to_owned();
    }
    let end = (0..=MAX_MESSAGE.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}...", &text[..end])
}

/// A number that makes no sense must not hide the rest of what the server says.
fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    Ok(whole_number(deserializer)?.and_then(|code| code.try_into().ok()).unwrap_or_default())
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(whole_number(deserializer)?.map(|seconds| seconds.try_into().unwrap_or(u32::MAX)))
}

fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(serde_json::Value::deserialize(deserializer)?.as_u64())
}

pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_body_makes_a_status() {
        let html = format!("<html>{}</html>", "x".repeat(200_000));
        let rows: [(u16, &[u8], &str, u16, &str); 8] = [
            (404, b"404 page not found\n", "NotFound", 404, "404 page not found"),
            (403, b"", "Forbidden", 403, ""),
            (
                409,
                br#"{"kind":"Status","message":"changed","reason":"Conflict"}"#,
                "Conflict",
                409,
                "changed",
            ),
            (410, br#"{"kind":"Status","reason":"Expired","code":410,"details":null}"#, "Expired", 410, ""),
            (500, br#"{"kind":"Status","message":null,"code":0}"#, "InternalError", 500, ""),
            (502, b"\xff\xfe bad", "Unknown", 502, "\u{fffd}\u{fffd} bad"),
            (500, br#"{"kind":"Pod"}"#, "InternalError", 500, r#"{"kind":"Pod"}"#),
            (
                429,
                br#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":3}}"#,
                "TooManyRequests",
                429,
                "",
            ),
        ];
        for (code, body, reason, expected_code, message) in rows {
            let status = Status::from_response(code, body);
            assert_eq!((&*status.reason, status.code, &*status.message), (reason, expected_code, message));
        }
        let capped = Status::from_response(502, html.as_bytes());
        assert!(capped.message.len() <= MAX_MESSAGE + 3 && capped.message.ends_with("..."));
    }

    #[test]
    fn a_number_that_makes_no_sense_hides_nothing() {
        for (odd, code, seconds) in [
            (r#""code":-1,"details":{"retryAfterSeconds":-1}"#, 500, None),
            (r#""code":70000,"details":{"retryAfterSeconds":1e9}"#, 500, None),
            (r#""code":"404","details":{"retryAfterSeconds":"3"}"#, 500, None),
            (r#""code":409.0,"details":{"retryAfterSeconds":5000000000}"#, 500, Some(u32::MAX)),
            (r#""code":null,"details":{"retryAfterSeconds":null}"#, 500, None),
            (r#""code":404,"details":{"retryAfterSeconds":0}"#, 404, Some(0)),
        ] {
            let body = format!(r#"{{"kind":"Status","reason":"Odd","message":"m",{odd}}}"#);
            let status = Status::from_response(500, body.as_bytes());
            assert_eq!((&*status.reason, &*status.message), ("Odd", "m"), "{odd}");
            assert_eq!((status.code, status.retry_after_seconds()), (code, seconds), "{odd}");
        }
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let body = "ä".repeat(600);
        let status = Status::from_response(502, body.as_bytes());
        assert!(status.message.chars().all(|c| c == 'ä' || c == '.'), "{}", status.message);
    }

    #[test]
    fn a_conflict_keeps_its_causes() {
        let body =
            br#"{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"details":{"causes":[
            {"reason":"FieldManagerConflict","message":"conflict with \"a\"","field":".spec.x"},
            {"reason":"FieldManagerConflict","message":"conflict with \"b\"","field":".spec.y"}]}}"#;
        let status = Status::from_response(409, body);
        assert!(status.is_conflict() && !status.is_already_exists());
        let fields: Vec<_> = status.details.unwrap().causes.into_iter().map(|c| c.field).collect();
        assert_eq!(fields, [".spec.x", ".spec.y"]);
    }

    #[test]
    fn gone_has_many_forms() {
        for (code, reason, gone) in [
            (410, "Gone", true),
            (410, "", true),
            (0, "Expired", true),
            (500, "Expired", true),
            (404, "NotFound", false),
        ] {
            assert_eq!(
                Status { code, reason: reason.into(), ..Status::default() }.is_gone(),
                gone,
                "{code} {reason}"
            );
        }
    }
}
