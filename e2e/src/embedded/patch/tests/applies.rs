//! What server-side apply makes of an object, as observed on the real server.

use serde_json::{Value, json};

use super::{
    super::{ApplyError, Typing, Writer, apply},
    kinds,
    object::{
        Object,
        Write::{Apply, Create, Force, Merge},
    },
};

#[test]
fn an_applier_owns_what_it_sends_and_takes_out_what_it_does_not_send_any_more() {
    let mut object = Object::config_map();
    let data = |data: Value| json!({ "data": data });
    for (second, manager, write, owners, left) in [
        (
            1,
            "a",
            Apply(data(json!({ "x": "1", "y": "2" }))),
            vec!["a Apply 01 .data.x .data.y"],
            json!({ "x": "1", "y": "2" }),
        ),
        // To agree is to own, without a time; and those without a time are the oldest.
        (
            2,
            "b",
            Apply(data(json!({ "y": "2" }))),
            vec!["b Apply -- .data.y", "a Apply 01 .data.x .data.y"],
            json!({ "x": "1", "y": "2" }),
        ),
        (3, "a", Apply(json!({})), vec!["b Apply -- .data.y"], json!({ "y": "2" })),
        (4, "b", Apply(json!({})), vec![], json!(null)),
    ] {
        object.write(second, manager, write).expect("no conflict");
        assert_eq!(object.owners(), owners, "second {second}");
        assert_eq!(object.live().get("data").unwrap_or(&Value::Null), &left, "second {second}");
    }
}

#[test]
fn what_others_own_with_another_value_is_a_conflict() {
    let mut object = Object::deployment();
    let spec = |replicas: u8, image: &str| {
        let template = json!({ "spec": { "containers": [{ "name": "c", "image": image }] } });
        json!({ "spec": { "replicas": replicas, "template": template } })
    };
    object.write(1, "creator", Create(spec(1, "i"))).expect("no conflict");
    object.write(2, "a", Apply(json!({ "spec": { "replicas": 1 } }))).expect("no conflict");
    for (write, message) in [
        (json!({ "spec": { "replicas": 1 } }), None),
        (
            json!({ "spec": { "replicas": 2 } }),
            Some(
                "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.replicas\n\
                 conflicts with \"creator\" using apps/v1:\n- .spec.replicas",
            ),
        ),
        (
            spec(1, "j"),
            Some(
                "Apply failed with 1 conflict: conflict with \"creator\" using apps/v1: \
                 .spec.template.spec.containers[name=\"c\"].image",
            ),
        ),
    ] {
        let refused = object.write(3, "b", Apply(write.clone())).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), message, "{write}");
    }
    let Err(ApplyError::Conflicts(conflicts)) = object.write(3, "b", Apply(spec(2, "i"))) else {
        panic!("a conflict")
    };
    let causes: Vec<_> = conflicts.iter().map(|conflict| (conflict.message(), conflict.field())).collect();
    let causes: Vec<_> = causes.iter().map(|(message, field)| (message.as_str(), field.as_str())).collect();
    assert_eq!(
        causes,
        [
            ("conflict with \"a\"", ".spec.replicas"),
            ("conflict with \"creator\" using apps/v1", ".spec.replicas")
        ]
    );

    object.write(4, "b", Force(json!({ "spec": { "replicas": 2 } }))).expect("forced");
    assert_eq!(object.live()["spec"]["replicas"], 2);
    assert_eq!(
        object.owners(),
        [
            "b Apply 04 .spec.replicas",
            "creator Update 01 .spec.template.spec.containers[name=\"c\"] \
             .spec.template.spec.containers[name=\"c\"].image \
             .spec.template.spec.containers[name=\"c\"].name",
        ]
    );
}

#[test]
fn lists_are_merged_as_their_kind_says() {
    let rules = |hosts: &[&str]| {
        let rules: Vec<_> = hosts.iter().map(|host| json!({ "host": host })).collect();
        json!({ "spec": { "rules": rules } })
    };
    let hosts = |object: &Object| -> String {
        object.live()["spec"]["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|rule| rule["host"].as_str())
            .collect()
    };
    for (live, applied, merged) in [
        (&["a", "b", "c"][..], &["x"][..], "abcx"),
        (&["a", "b", "c"], &["c", "a"], "bca"),
        (&["a", "b", "c"], &["b", "x", "c"], "abxc"),
        (&["a", "b"], &["b", "a", "x"], "bax"),
        (&["a"], &[], "a"),
    ] {
        let mut object = Object::custom();
        object.write(1, "a", Create(rules(live))).expect("no conflict");
        object.write(2, "b", Apply(rules(applied))).expect("no conflict");
        assert_eq!(hosts(&object), merged, "{live:?} {applied:?}");
    }

    let mut object = Object::custom();
    object
        .write(
            1,
            "a",
            Apply(json!({ "spec": { "tags": ["x", "y"], "free": { "l": [1], "m": { "k": 1 } } } })),
        )
        .expect("no conflict");
    object
        .write(2, "b", Force(json!({ "spec": { "tags": ["z"], "free": { "l": [2], "m": { "j": 1 } } } })))
        .expect("forced");
    object.write(3, "a", Apply(json!({ "spec": { "tags": ["y"] } }))).expect("no conflict");
    assert_eq!(object.live()["spec"], json!({ "tags": ["y", "z"], "free": { "l": [2], "m": { "j": 1 } } }));
}

/// The server's validation finds it, for custom kinds; in built-in ones a null is nothing.
#[test]
fn a_map_that_others_own_is_null_without_its_last_key() {
    let mut object = Object::custom();
    object.write(1, "a", Apply(json!({ "spec": { "free": { "k": 1 } } }))).expect("no conflict");
    object.write(2, "b", Apply(json!({ "spec": { "size": 1, "free": {} } }))).expect("no conflict");
    assert_eq!(object.live()["spec"], json!({ "size": 1, "free": { "k": 1 } }));
    object.write(3, "a", Apply(json!({}))).expect("no conflict");
    assert_eq!(object.live()["spec"], json!({ "size": 1, "free": null }));
}

#[test]
fn what_was_before_anybody_kept_book_has_an_owner_of_its_own() {
    let mut object = Object::config_map();
    object.write(1, "z", Create(json!({ "data": { "q": "1" } }))).expect("no conflict");
    object
        .write(2, "z", Merge(json!({ "data": { "q": "2" }, "metadata": { "managedFields": [{}] } })))
        .expect("no conflict");
    assert_eq!(object.owners(), Vec::<String>::new());
    object.write(3, "b", Apply(json!({ "data": { "q": "2" } }))).expect("no conflict");
    assert_eq!(object.owners(), ["b Apply -- .data.q", "before-first-apply Update 03 .data .data.q"]);
    let refused =
        object.write(4, "b", Apply(json!({ "data": { "q": "3" } }))).map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.q".into())
    );
}

#[test]
fn kubectl_takes_over_from_its_client_side_without_conflicts() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"},"data":{"x":"1","y":"1"}}"#;
    let created =
        json!({ "metadata": { "annotations": { annotation: last } }, "data": { "x": "1", "y": "1" } });
    let mut object = Object::config_map();
    object.write(1, "kubectl-client-side-apply", Create(created)).expect("no conflict");
    object.write(2, "other", Merge(json!({ "data": { "y": "2" } }))).expect("no conflict");
    let wanted = json!({ "data": { "x": "3", "y": "3" } });
    let refused = object.write(3, "kubectl", Apply(wanted)).map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("Apply failed with 1 conflict: conflict with \"other\" using v1: .data.y".into())
    );
    object.write(4, "kubectl", Apply(json!({ "data": { "x": "<3>" } }))).expect("no conflict");
    assert_eq!(object.live()["data"], json!({ "x": "<3>", "y": "2" }));
    assert_eq!(
        object.live()["metadata"]["annotations"][annotation],
        "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"\\u003c3\\u003e\"},\
         \"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"o\"}}\n"
    );
}

#[test]
fn what_does_not_fit_its_type_is_not_applied() {
    let container =
        |container: Value| json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
    let prefix = "failed to create typed patch object (/o; apps/v1, Kind=Deployment): ";
    for (object, fault) in [
        (json!({ "spec": { "zz": 1 } }), ".spec.zz: field not declared in schema"),
        (
            json!({ "spec": { "replicas": "4" } }),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (json!({ "spec": { "paused": "x" } }), ".spec.paused: expected boolean, got &{x}"),
        (json!({ "spec": { "template": [3] } }), ".spec.template: expected map, got &{[3]}"),
        (
            json!({ "spec": { "template": { "spec": { "containers": { "a": null } } } } }),
            ".spec.template.spec.containers: expected list, got &{map[a:<nil>]}",
        ),
        (
            json!({ "metadata": { "labels": { "a": 3 } } }),
            ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:3}",
        ),
        (
            json!({ "spec": { "template": { "spec": { "dnsPolicy": { "a": 1 }, "hostNetwork": 1 } } } }),
            "errors:\n  .spec.template.spec.dnsPolicy: expected string, \
             got &value.valueUnstructured{Value:map[string]interface {}{\"a\":1}}\n  \
             .spec.template.spec.hostNetwork: expected boolean, got &{1}",
        ),
        (
            container(json!("a")),
            ".spec.template.spec.containers: element 0: \
             associative list with keys may not have non-map elements",
        ),
        (
            container(json!(null)),
            ".spec.template.spec.containers: element 0: \
             associative list with keys may not have a null element",
        ),
        (
            container(json!({ "name": "x", "command": [1] })),
            ".spec.template.spec.containers[name=\"x\"].command[0]: \
             expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            container(json!({ "name": "x", "resources": { "limits": { "cpu": [] } } })),
            ".spec.template.spec.containers[name=\"x\"].resources.limits.cpu: expected any scalar, got &{[]}",
        ),
        (
            container(json!({ "name": "c",
                        "ports": [{ "containerPort": 81 }, { "containerPort": 81, "protocol": "TCP" }] })),
            ".spec.template.spec.containers[name=\"c\"].ports: \
             duplicate entries for key [containerPort=81,protocol=\"TCP\"]",
        ),
        (
            json!({ "metadata": { "finalizers": ["a", "a"] } }),
            ".metadata.finalizers: duplicate entries for key [=\"a\"]",
        ),
        (
            json!({ "metadata": { "finalizers": [{}] } }),
            ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
        ),
        (
            json!({ "metadata": { "finalizers": [null] } }),
            ".metadata.finalizers: element 0: \
             associative list without keys has an element that's an explicit null",
        ),
    ] {
        let refused = Object::deployment().write(1, "a", Apply(object.clone()));
        assert_eq!(refused, Err(ApplyError::Untyped(format!("{prefix}{fault}"))), "{object}");
    }
}

#[test]
fn only_the_right_kind_is_applied_and_without_owners() {
    let types = kinds::types();
    let shape = kinds::config_map();
    let typing = Typing { kind: "ConfigMap", types: &types, shape: &shape, reset: &[] };
    let writer = Writer { manager: "a", api_version: "v1", subresource: "", time: "2026-01-01T00:00:00Z" };
    for (applied, message) in [
        (json!({}), "invalid object type: /, Kind="),
        (json!({ "apiVersion": "v1", "kind": "Pod" }), "invalid object type: /v1, Kind=Pod"),
        (
            json!({ "apiVersion": "apps/v1", "kind": "ConfigMap" }),
            "invalid object type: apps/v1, Kind=ConfigMap",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "managedFields": [] } }),
            "metadata.managedFields must be nil",
        ),
    ] {
        let refused = apply(typing, None, &applied, writer, false);
        assert_eq!(refused, Err(ApplyError::BadRequest(message.into())), "{applied}");
    }
    let nulled = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "managedFields": null } });
    assert!(apply(typing, None, &nulled, writer, false).is_ok());
}

#[test]
fn a_write_of_what_is_so_does_not_change_times() {
    let mut object = Object::config_map();
    object.write(1, "a", Apply(json!({ "data": { "x": "1" } }))).expect("no conflict");
    let live = object.live().clone();
    for (what, second, write) in [
        ("the same again", 2, Apply(json!({ "data": { "x": "1" } }))),
        // It is not the server's uid that is merged: what is laid over is put right before the comparison.
        ("nothing of a list", 3, Apply(json!({ "metadata": { "uid": "u" }, "data": { "x": "1" } }))),
    ] {
        object.write(second, "a", write).expect("no conflict");
        assert_eq!(object.live(), &live, "{what}");
    }
}
