//! What the server answers when it cannot do what was asked: the `Status` object, and the field errors inside it.
//!
//! In: the facts (which resource, which field, which value). Out: an [`ApiStatus`], an HTTP code and a body whose message,
//! reason, details and causes are those of the real server. Clients tell cases apart by reason and code and people by
//! the message, so each constructor is one case of the real server and its message a copy of what that one says.
//! Field errors print values as Go does, because the real server prints them with Go's `%q` and `%v`.
//! Which error a request deserves is decided by whoever calls.

use std::fmt;

use serde_json::{Map, Value, json};

/// What is wrong with one field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    /// `spec.containers[0].name`, `metadata.labels[a/b]`
    pub(super) path: String,
    pub(super) reason: FieldReason,
    /// The value as it is printed; none where the reason prints none.
    pub(super) value: Option<String>,
    pub(super) detail: String,
}

/// Kinds of field errors, as the server names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldReason {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    Internal,
    TypeInvalid,
}

impl FieldReason {
    /// The reason of a cause.
    fn code(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The words of a message.
    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    fn new(
        path: impl Into<String>,
        reason: FieldReason,
        value: Option<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), reason, value, detail: detail.into() }
    }

    pub(super) fn not_found(path: impl Into<String>, value: &Value) -> Self {
        Self::new(path, FieldReason::NotFound, Some(shown(value)), "")
    }

    pub(super) fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldReason::Required, None, detail)
    }

    pub(super) fn duplicate(path: impl Into<String>, value: &Value) -> Self {
        Self::new(path, FieldReason::Duplicate, Some(shown(value)), "")
    }

    pub(super) fn invalid(path: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::new(path, FieldReason::Invalid, Some(shown(value)), detail)
    }

    /// The supported values in the order in which the message lists them.
    pub(super) fn not_supported<S: AsRef<str>>(
        path: impl Into<String>,
        value: &Value,
        supported: &[S],
    ) -> Self {
        let supported: Vec<_> = supported.iter().map(|one| quoted(one.as_ref())).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(path, FieldReason::NotSupported, Some(shown(value)), detail)
    }

    pub(super) fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldReason::Forbidden, None, detail)
    }

    /// Longer than `most` bytes.
    pub(super) fn too_long(path: impl Into<String>, most: usize) -> Self {
        Self::new(path, FieldReason::TooLong, None, format!("may not be more than {most} bytes"))
    }

    pub(super) fn too_many(path: impl Into<String>, found: usize, most: usize) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        let detail = format!("must have at most {most} {items}");
        Self::new(path, FieldReason::TooMany, Some(found.to_string()), detail)
    }

    pub(super) fn internal(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldReason::Internal, None, detail)
    }

    pub(super) fn type_invalid(path: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::new(path, FieldReason::TypeInvalid, Some(shown(value)), detail)
    }

    /// The message without the path: what a cause says.
    pub(super) fn body(&self) -> String {
        let mut text = self.reason.words().to_owned();
        for part in self.value.iter().chain((!self.detail.is_empty()).then_some(&self.detail)) {
            text.push_str(": ");
            text.push_str(part);
        }
        text
    }

    fn cause(&self) -> Value {
        json!({ "reason": self.reason.code(), "message": self.body(), "field": self.path })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

/// Several errors as one text: alone as it is, otherwise `[a, b]`; repeated ones once.
pub(super) fn aggregate(errors: &[FieldError]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A value as field errors print it: scalars as Go's `%q` and `%v`, everything else as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.as_i64().is_none() => {
            number.as_f64().map_or_else(|| number.to_string(), shown_float)
        }
        other => other.to_string(),
    }
}

/// A float as Go's `%v`: the shortest digits, with an exponent from a million on.
pub(super) fn shown_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => float.to_string(),
    }
}

/// Text as Go's `%q`.
pub(super) fn quoted(text: &str) -> String {
    use fmt::Write;

    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            control if (control as u32) < 0x20 || control == '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{:02x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// An answer that is a `Status` object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiStatus {
    /// The HTTP code.
    pub(super) code: u16,
    /// The whole object.
    pub(super) body: Value,
}

/// What an error is about: a resource (plural) or a kind, with its group; one object of it if `name` is not empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) group: &'a str,
    /// Plural name of the resource, or the kind: the real server uses either, depending on the error.
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

impl Subject<'_> {
    /// `deployments.apps`, `pods`
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }

    fn details(&self) -> Map<String, Value> {
        [("name", self.name), ("group", self.group), ("kind", self.kind)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect()
    }
}

/// Who was refused what, for [`ApiStatus::denied`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Denied<'a> {
    pub(super) user: &'a str,
    pub(super) verb: &'a str,
    pub(super) subresource: &'a str,
    /// Empty: at the cluster scope.
    pub(super) namespace: &'a str,
}

impl ApiStatus {
    fn failure(code: u16, reason: &str, message: impl Into<String>, details: Option<Value>) -> Self {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message.into(), "reason": reason, "code": code,
        });
        if let Some(details) = details {
            body["details"] = details;
        }
        Self { code, body }
    }

    fn about(code: u16, reason: &str, on: Subject<'_>, message: impl Into<String>) -> Self {
        Self::failure(code, reason, message, Some(Value::Object(on.details())))
    }

    /// Adds a cause to the details.
    fn cause(mut self, cause: Value) -> Self {
        match &mut self.body["details"]["causes"] {
            Value::Array(causes) => causes.push(cause),
            none => *none = json!([cause]),
        }
        self
    }

    pub(super) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub(super) fn reason(&self) -> &str {
        self.body["reason"].as_str().unwrap_or_default()
    }

    /// Seconds for the `Retry-After` header, if the answer has it.
    pub(super) fn retry_after(&self) -> Option<u64> {
        self.body["details"]["retryAfterSeconds"].as_u64()
    }

    /// An object was removed: success, and what it was. `uid` may be empty.
    pub(super) fn deleted(on: Subject<'_>, uid: &str) -> Self {
        let mut details = on.details();
        if !uid.is_empty() {
            details.insert("uid".into(), json!(uid));
        }
        let body = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
        Self { code: 200, body }
    }

    // 400, 401, 403

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message, None)
    }

    pub(super) fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized", None)
    }

    /// `pods "a" is forbidden: why`
    pub(super) fn forbidden(on: Subject<'_>, why: &str) -> Self {
        let name = if on.name.is_empty() { String::new() } else { format!(" {}", quoted(on.name)) };
        Self::about(403, "Forbidden", on, format!("{}{name} is forbidden: {why}", on.qualified()))
    }

    /// The authorizer says no.
    pub(super) fn denied(on: Subject<'_>, denied: Denied<'_>) -> Self {
        let Denied { user, verb, subresource, namespace } = denied;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let place = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quoted(namespace)),
        };
        let why = format!(
            "User {} cannot {verb} resource {} in API group {} {place}",
            quoted(user),
            quoted(&format!("{}{slash}{subresource}", on.kind)),
            quoted(on.group),
        );
        Self::forbidden(on, &why)
    }

    /// The authorizer says no to a path that is no resource.
    pub(super) fn denied_path(user: &str, verb: &str, path: &str) -> Self {
        let message = format!("forbidden: User {} cannot {verb} path {}", quoted(user), quoted(path));
        Self::failure(403, "Forbidden", message, Some(json!({})))
    }

    /// Nothing can be created in a namespace that is going away.
    pub(super) fn namespace_terminating(on: Subject<'_>, namespace: &str) -> Self {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        Self::forbidden(on, &why).cause(json!({
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }))
    }

    // 404, 405, 406, 413, 415

    /// No such object.
    pub(super) fn not_found(on: Subject<'_>) -> Self {
        Self::about(404, "NotFound", on, format!("{} {} not found", on.qualified(), quoted(on.name)))
    }

    /// No such resource in a group and version that exist. (Where they do not, the answer is no status but plain text.)
    pub(super) fn no_such_resource() -> Self {
        Self::failure(404, "NotFound", "the server could not find the requested resource", Some(json!({})))
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::failure(405, "MethodNotAllowed", message, Some(json!({})))
    }

    /// The accepted types in the server's order.
    pub(super) fn not_acceptable(available: &[&str]) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
        Self::failure(406, "NotAcceptable", message, Some(json!({})))
    }

    pub(super) fn body_too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::failure(413, "RequestEntityTooLarge", message, None)
    }

    /// The body of a create or replace has a type that is not understood.
    pub(super) fn unsupported_body(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, "UnsupportedMediaType", message, None)
    }

    /// A patch of a type that is not understood.
    pub(super) fn unsupported_patch() -> Self {
        Self::failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", Some(json!({})))
    }

    // 409, 410, 422

    pub(super) fn already_exists(on: Subject<'_>) -> Self {
        let message = format!("{} {} already exists", on.qualified(), quoted(on.name));
        Self::about(409, "AlreadyExists", on, message)
    }

    pub(super) fn conflict(on: Subject<'_>, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", on.qualified(), quoted(on.name));
        Self::about(409, "Conflict", on, message)
    }

    /// The write was made against another resource version.
    pub(super) fn modified(on: Subject<'_>) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(on, why)
    }

    /// A replace with a uid that is not the object's. `key` is where the object is: `/registry/configmaps/default/a`.
    pub(super) fn other_uid(on: Subject<'_>, key: &str, given: &str, found: &str) -> Self {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: UID in precondition: {given}, UID in object meta: {found}"
        );
        Self::conflict(on, &why)
    }

    /// A delete that names another uid. The subject is the kind, not the resource.
    pub(super) fn delete_other_uid(on: Subject<'_>, given: &str, found: &str) -> Self {
        let why = format!(
            "the UID in the precondition ({given}) does not match the UID in record ({found}). The object might have been \
             deleted and then recreated"
        );
        Self::conflict(on, &why)
    }

    /// A delete that names another resource version. The subject is the kind, not the resource.
    pub(super) fn delete_other_version(on: Subject<'_>, given: &str, found: &str) -> Self {
        let why = format!(
            "the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record ({found}). The \
             object might have been modified"
        );
        Self::conflict(on, &why)
    }

    /// Server-side apply meets fields of others: `(manager, path)`, managers as the server prints them
    /// (`"x" using apps/v1`), grouped by manager.
    pub(super) fn apply_conflicts(conflicts: &[(String, String)]) -> Self {
        let message = match conflicts {
            [(manager, path)] => format!("Apply failed with 1 conflict: conflict with {manager}: {path}"),
            several => {
                let mut lines = Vec::new();
                let mut last = None;
                for (manager, path) in several {
                    if last != Some(manager) {
                        lines.push(format!("conflicts with {manager}:"));
                        last = Some(manager);
                    }
                    lines.push(format!("- {path}"));
                }
                format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
            }
        };
        let causes: Vec<_> = conflicts
            .iter()
            .map(|(manager, path)| {
                json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {manager}"),
                    "field": path,
                })
            })
            .collect();
        Self::failure(409, "Conflict", message, Some(json!({ "causes": causes })))
    }

    /// A resource version that is no longer remembered, or whatever else has expired.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message, None)
    }

    /// A watch from a revision that is no longer remembered.
    pub(super) fn expired_watch(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// A continue token that is too old; `rest` is the token that goes on without consistency.
    pub(super) fn expired_continue(rest: &str) -> Self {
        let mut status = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
             results. Continuing with the provided token results in an inconsistent list - objects that were created, \
             modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
        status.body["metadata"] = json!({ "continue": rest });
        status
    }

    /// The object breaks rules. The subject is the kind, not the resource.
    pub(super) fn invalid(on: Subject<'_>, errors: &[FieldError]) -> Self {
        let message = format!("{} {} is invalid: {}", on.qualified(), quoted(on.name), aggregate(errors));
        errors
            .iter()
            .fold(Self::about(422, "Invalid", on, message), |status, error| status.cause(error.cause()))
    }

    /// A JSON patch that does not apply.
    pub(super) fn patch_failed() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::failure(422, "Invalid", message, Some(json!({})))
    }

    // 429, 5xx

    pub(super) fn too_many_requests(message: impl Into<String>, retry_after: u32) -> Self {
        let details = if retry_after > 0 { json!({ "retryAfterSeconds": retry_after }) } else { json!({}) };
        Self::failure(429, "TooManyRequests", message, Some(details))
    }

    /// An eviction that a budget does not allow. `status` is the budget's second sentence.
    pub(super) fn disruption_budget(cause: impl Into<String>) -> Self {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Self::too_many_requests(message, 0)
            .cause(json!({ "reason": "DisruptionBudget", "message": cause.into() }))
    }

    pub(super) fn internal(message: &str) -> Self {
        let status = Self::failure(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
            Some(json!({})),
        );
        status.cause(json!({ "message": message }))
    }

    /// Something of the real server that this one does not do: said, rather than answered as if it were not there.
    pub(super) fn not_served(what: &str) -> Self {
        Self::failure(501, "NotImplemented", format!("the embedded server does not serve {what}"), None)
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, "ServiceUnavailable", message, None)
    }

    /// A resource version from the future.
    pub(super) fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
        Self::failure(504, "Timeout", message, Some(json!({ "retryAfterSeconds": 1 }))).cause(cause)
    }
}

#[cfg(test)]
#[path = "errors/tests.rs"]
mod tests;
