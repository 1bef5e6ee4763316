use super::*;

const fn on<'a>(group: &'a str, kind: &'a str, name: &'a str) -> Subject<'a> {
    Subject { group, kind, name }
}

/// Rows: an answer, and what the real server answers in that case (without what all failures have in common).
fn is(found: &ApiStatus, code: u16, reason: &str, message: &str, details: Option<Value>) {
    let mut expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if let Some(details) = details {
        expected["details"] = details;
    }
    assert_eq!(found.body, expected);
    assert_eq!(found.code, code);
}

#[test]
fn what_is_not_there_is_named() {
    is(
        &ApiStatus::not_found(on("", "configmaps", "nope")),
        404,
        "NotFound",
        "configmaps \"nope\" not found",
        Some(json!({ "name": "nope", "kind": "configmaps" })),
    );
    is(
        &ApiStatus::not_found(on("apps", "deployments", "nope")),
        404,
        "NotFound",
        "deployments.apps \"nope\" not found",
        Some(json!({ "name": "nope", "group": "apps", "kind": "deployments" })),
    );
    is(
        &ApiStatus::no_such_resource(),
        404,
        "NotFound",
        "the server could not find the requested resource",
        Some(json!({})),
    );
}

#[test]
fn conflicts_say_with_what() {
    let details = || Some(json!({ "name": "a", "kind": "configmaps" }));
    is(
        &ApiStatus::already_exists(on("", "configmaps", "a")),
        409,
        "AlreadyExists",
        "configmaps \"a\" already exists",
        details(),
    );
    is(
        &ApiStatus::modified(on("", "configmaps", "a")),
        409,
        "Conflict",
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again",
        details(),
    );
    is(
        &ApiStatus::other_uid(on("", "configmaps", "a"), "/registry/configmaps/default/a", "x", "52946dc4"),
        409,
        "Conflict",
        "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, Key: \
         /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: x, UID in object meta: 52946dc4",
        details(),
    );
    is(
        &ApiStatus::delete_other_uid(on("", "ConfigMap", "a"), "xx", "52946dc4"),
        409,
        "Conflict",
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (xx) does not match the UID in \
         record (52946dc4). The object might have been deleted and then recreated",
        Some(json!({ "name": "a", "kind": "ConfigMap" })),
    );
    is(
        &ApiStatus::delete_other_version(on("", "ConfigMap", "a"), "1", "214"),
        409,
        "Conflict",
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match \
         the ResourceVersion in record (214). The object might have been modified",
        Some(json!({ "name": "a", "kind": "ConfigMap" })),
    );
}

#[test]
fn apply_conflicts_are_grouped_by_manager() {
    let x = |path: &str| ("\"x\"".to_owned(), path.to_owned());
    is(
        &ApiStatus::apply_conflicts(&[x(".data.a")]),
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"x\": .data.a",
        Some(
            json!({ "causes": [{ "reason": "FieldManagerConflict", "message": "conflict with \"x\"", "field": ".data.a" }] }),
        ),
    );
    let several = [x(".data.a"), x(".data.b"), ("\"z\" using v1".to_owned(), ".data.c".to_owned())];
    assert_eq!(
        ApiStatus::apply_conflicts(&several).message(),
        "Apply failed with 3 conflicts: conflicts with \"x\":\n- .data.a\n- .data.b\nconflicts with \"z\" using v1:\n- .data.c"
    );
}

#[test]
fn refusals_say_who_may_not_do_what_where() {
    let bob = |verb, subresource, namespace| Denied { user: "bob", verb, subresource, namespace };
    is(
        &ApiStatus::denied(on("", "configmaps", ""), bob("list", "", "default")),
        403,
        "Forbidden",
        "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \
         \"default\"",
        Some(json!({ "kind": "configmaps" })),
    );
    is(
        &ApiStatus::denied(on("apps", "deployments", ""), bob("list", "", "")),
        403,
        "Forbidden",
        "deployments.apps is forbidden: User \"bob\" cannot list resource \"deployments\" in API group \"apps\" at the \
         cluster scope",
        Some(json!({ "group": "apps", "kind": "deployments" })),
    );
    is(
        &ApiStatus::denied(on("", "pods", "x"), bob("get", "log", "default")),
        403,
        "Forbidden",
        "pods \"x\" is forbidden: User \"bob\" cannot get resource \"pods/log\" in API group \"\" in the namespace \
         \"default\"",
        Some(json!({ "name": "x", "kind": "pods" })),
    );
    is(
        &ApiStatus::denied_path("bob", "get", "/foo"),
        403,
        "Forbidden",
        "forbidden: User \"bob\" cannot get path \"/foo\"",
        Some(json!({})),
    );
    is(
        &ApiStatus::forbidden(on("", "namespaces", "kube-system"), "this namespace may not be deleted"),
        403,
        "Forbidden",
        "namespaces \"kube-system\" is forbidden: this namespace may not be deleted",
        Some(json!({ "name": "kube-system", "kind": "namespaces" })),
    );
    let cause = json!({
        "reason": "NamespaceTerminating", "message": "namespace term is being terminated", "field": "metadata.namespace",
    });
    is(
        &ApiStatus::namespace_terminating(on("", "configmaps", "a"), "term"),
        403,
        "Forbidden",
        "configmaps \"a\" is forbidden: unable to create new content in namespace term because it is being terminated",
        Some(json!({ "name": "a", "kind": "configmaps", "causes": [cause] })),
    );
    is(&ApiStatus::unauthorized(), 401, "Unauthorized", "Unauthorized", None);
}

#[test]
fn invalid_objects_have_one_cause_for_each_field() {
    is(
        &ApiStatus::invalid(on("", "Pod", "p"), &[FieldError::required("spec.containers", "")]),
        422,
        "Invalid",
        "Pod \"p\" is invalid: spec.containers: Required value",
        Some(json!({ "name": "p", "kind": "Pod", "causes": [
            { "reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers" },
        ] })),
    );
    let errors =
        [FieldError::required("a", ""), FieldError::forbidden("b", "no"), FieldError::required("a", "")];
    is(
        &ApiStatus::invalid(on("meta.k8s.io", "CreateOptions", ""), &errors),
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: [a: Required value, b: Forbidden: no]",
        Some(json!({ "group": "meta.k8s.io", "kind": "CreateOptions", "causes": [
            { "reason": "FieldValueRequired", "message": "Required value", "field": "a" },
            { "reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "b" },
            { "reason": "FieldValueRequired", "message": "Required value", "field": "a" },
        ] })),
    );
}

#[test]
fn field_errors_print_values_as_go_does() {
    let rows = [
        (FieldError::invalid("a", &json!("x\n\"y\""), "why"), "a: Invalid value: \"x\\n\\\"y\\\"\": why"),
        (FieldError::invalid("a", &json!(-1), "why"), "a: Invalid value: -1: why"),
        (FieldError::invalid("a", &json!(3_000_000.75), "why"), "a: Invalid value: 3.00000075e+06: why"),
        (FieldError::invalid("a", &json!(1e22), "why"), "a: Invalid value: 1e+22: why"),
        (FieldError::invalid("a", &json!(0.25), "why"), "a: Invalid value: 0.25: why"),
        (FieldError::invalid("a", &Value::Null, ""), "a: Invalid value: null"),
        (FieldError::invalid("a", &json!({ "b": 1 }), "why"), "a: Invalid value: {\"b\":1}: why"),
        (
            FieldError::not_supported("fieldValidation", &json!("Foo"), &["", "Ignore"]),
            "fieldValidation: Unsupported value: \"Foo\": supported values: \"\", \"Ignore\"",
        ),
        (
            FieldError::not_supported("dryRun", &json!(["x"]), &["All"]),
            "dryRun: Unsupported value: [\"x\"]: supported values: \"All\"",
        ),
        (FieldError::too_long("f", 128), "f: Too long: may not be more than 128 bytes"),
        (FieldError::too_many("f", 3, 2), "f: Too many: 3: must have at most 2 items"),
        (FieldError::duplicate("f[1]", &json!("a")), "f[1]: Duplicate value: \"a\""),
        (FieldError::not_found("f", &json!("a")), "f: Not found: \"a\""),
        (FieldError::internal("f", "broken"), "f: Internal error: broken"),
    ];
    for (error, text) in rows {
        assert_eq!(error.to_string(), text);
    }
    let kinds = FieldError::type_invalid("a", &json!("object"), "why");
    assert_eq!(kinds.cause()["reason"], "FieldValueTypeInvalid");
}

#[test]
fn what_to_try_again_says_when() {
    let too_large = ApiStatus::too_large_resource_version(99_999_999, 215);
    is(
        &too_large,
        504,
        "Timeout",
        "Timeout: Too large resource version: 99999999, current: 215",
        Some(json!({ "retryAfterSeconds": 1, "causes": [
            { "reason": "ResourceVersionTooLarge", "message": "Too large resource version" },
        ] })),
    );
    assert_eq!(too_large.retry_after(), Some(1));
    assert_eq!(ApiStatus::too_many_requests("slow", 3).retry_after(), Some(3));
    assert_eq!(ApiStatus::disruption_budget("The disruption budget x needs 1").retry_after(), None);
}

#[test]
fn a_delete_says_what_is_gone() {
    assert_eq!(
        ApiStatus::deleted(on("", "configmaps", "a"), "52946dc4").body,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": { "name": "a", "kind": "configmaps", "uid": "52946dc4" },
        })
    );
}

#[test]
fn media_types_and_methods_that_are_not_served() {
    is(
        &ApiStatus::method_not_allowed(),
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        Some(json!({})),
    );
    is(
        &ApiStatus::not_acceptable(&["application/json", "application/yaml"]),
        406,
        "NotAcceptable",
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
        Some(json!({})),
    );
    is(
        &ApiStatus::unsupported_body(&["application/json", "application/yaml"]),
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
        None,
    );
    is(
        &ApiStatus::unsupported_patch(),
        415,
        "UnsupportedMediaType",
        "415: Unsupported Media Type",
        Some(json!({})),
    );
    is(
        &ApiStatus::body_too_large(3_145_728),
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
        None,
    );
    is(
        &ApiStatus::patch_failed(),
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        Some(json!({})),
    );
}

#[test]
fn what_is_forgotten_is_expired() {
    assert_eq!(ApiStatus::expired_watch(1, 215).message(), "too old resource version: 1 (215)");
    let again = ApiStatus::expired_continue("token");
    assert_eq!(
        (again.code, again.reason(), &again.body["metadata"]),
        (410, "Expired", &json!({ "continue": "token" }))
    );
    assert_eq!(ApiStatus::internal("boom").body["details"], json!({ "causes": [{ "message": "boom" }] }));
    assert_eq!(ApiStatus::unavailable("later").code, 503);
    assert_eq!(ApiStatus::bad_request("no").code, 400);
}
