//! Who owns what after creates and updates, as observed on the real server.

use serde_json::{Value, json};

use super::{
    super::{Typing, Writer, managed, manager_of, of_parent, of_scale, track},
    kinds,
    object::{
        Object,
        Write::{Apply, Create, Merge},
        owners,
    },
};
use crate::embedded::shape::Shape;

#[test]
fn the_creator_owns_what_it_sends() {
    for (mut object, created, owned) in [
        (
            Object::config_map(),
            json!({ "metadata": { "labels": { "l": "1" }, "finalizers": ["a.b/c"] }, "data": { "x": "1" } }),
            ".data .data.x .metadata.finalizers .metadata.labels .metadata.finalizers[=\"a.b/c\"] \
             .metadata.labels.l",
        ),
        (
            Object::deployment(),
            json!({ "spec": {
                "replicas": 1,
                "selector": { "matchLabels": { "a": "b" } },
                "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } },
                "template": { "metadata": {}, "spec": { "containers": [{ "name": "c", "resources": {},
                    "ports": [{ "containerPort": 80, "protocol": "TCP" }], "command": ["x"] }] } }
            }, "status": {} }),
            ".spec.replicas .spec.selector .spec.strategy.rollingUpdate .spec.strategy.type \
             .spec.strategy.rollingUpdate.maxSurge .spec.template.spec.containers[name=\"c\"] \
             .spec.template.spec.containers[name=\"c\"].command \
             .spec.template.spec.containers[name=\"c\"].name \
             .spec.template.spec.containers[name=\"c\"].ports \
             .spec.template.spec.containers[name=\"c\"].resources \
             .spec.template.spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"] \
             .spec.template.spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].containerPort \
             .spec.template.spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].protocol",
        ),
        (
            Object::custom(),
            json!({ "spec": { "size": 1, "tags": ["a"], "rules": [{ "host": "h" }],
                              "free": { "a": { "b": [1, { "c": 2 }] }, "d": {} } } }),
            ".spec .spec.free .spec.rules .spec.size .spec.tags .spec.free.a .spec.free.d \
             .spec.free.a.b .spec.rules[host=\"h\"] .spec.rules[host=\"h\"].host .spec.tags[=\"a\"]",
        ),
    ] {
        object.write(1, "curl", Create(created)).expect("no conflict");
        assert_eq!(object.owners(), [format!("curl Update 01 {owned}")]);
    }
}

#[test]
fn an_update_takes_what_it_changes_and_nothing_else() {
    let mut object = Object::config_map();
    for (second, manager, write, expected) in [
        (
            1,
            "a",
            Create(json!({ "data": { "x": "1", "y": "1" } })),
            vec!["a Update 01 .data .data.x .data.y"],
        ),
        // What is as before stays, and so does the time.
        (2, "b", Merge(json!({ "data": { "x": "1" } })), vec!["a Update 01 .data .data.x .data.y"]),
        (
            3,
            "b",
            Merge(json!({ "data": { "x": "2", "z": "1" } })),
            vec!["a Update 01 .data .data.y", "b Update 03 .data.x .data.z"],
        ),
        // What is gone is nobody's; whoever made it go owns nothing by that.
        (
            4,
            "c",
            Merge(json!({ "data": { "y": null } })),
            vec!["a Update 01 .data", "b Update 03 .data.x .data.z"],
        ),
        (
            5,
            "a",
            Merge(json!({ "immutable": true })),
            vec!["b Update 03 .data.x .data.z", "a Update 05 .data .immutable"],
        ),
        (6, "a", Merge(json!({ "data": null, "immutable": null })), vec![]),
        // Nobody keeps book for an object without owners.
        (7, "a", Merge(json!({ "data": { "x": "1" } })), vec![]),
    ] {
        object.write(second, manager, write).expect("no conflict");
        assert_eq!(object.owners(), expected, "second {second}");
    }
}

#[test]
fn owners_can_be_reset_or_written_but_not_damaged() {
    let entry = |fields: Value| {
        json!([{ "manager": "q", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": fields }])
    };
    let kept = "a Update 01 .data .data.x";
    for (sent, expected) in [
        (json!([{}]), vec![]),
        (json!([]), vec![]),
        (json!(null), vec![kept]),
        (json!([{ "manager": "q", "operation": "Upd" }]), vec![kept]),
        (entry(json!("no set")), vec![kept]),
        (entry(json!({ "f:data": {} })), vec!["q Update -- .data"]),
        (entry(json!({ "q:data": {}, "f:zz": {} })), vec!["q Update -- .zz"]),
    ] {
        let mut object = Object::config_map();
        object.write(1, "a", Create(json!({ "data": { "x": "1" } }))).expect("no conflict");
        object.write(2, "b", Merge(json!({ "metadata": { "managedFields": sent } }))).expect("no conflict");
        assert_eq!(object.owners(), expected, "{sent}");
    }
}

#[test]
fn the_oldest_updates_become_ancient_changes() {
    let mut object = Object::config_map();
    object.write(0, "curl", Create(json!({ "data": { "x": "1" } }))).expect("no conflict");
    object.write(0, "applier", Apply(json!({ "data": { "x": "1" } }))).expect("no conflict");
    for n in 1..=11 {
        object
            .write(n, &format!("m{n}"), Merge(json!({ "data": { format!("f{n}"): "1" } })))
            .expect("no conflict");
    }
    let owners = object.owners();
    assert_eq!(owners.len(), 11);
    assert_eq!(
        owners[..3],
        [
            "applier Apply -- .data.x",
            "ancient-changes Update 02 .data .data.f1 .data.f2 .data.x",
            "m3 Update 03 .data.f3",
        ]
    );
}

#[test]
fn a_status_has_owners_of_its_own() {
    let mut object = Object::deployment();
    object
        .write(1, "a", Create(json!({ "spec": { "replicas": 1 }, "status": { "replicas": 7 } })))
        .expect("no conflict");
    assert_eq!(object.owners(), ["a Update 01 .spec.replicas"]);
    object.subresource = "status";
    let condition = json!([{ "type": "A", "status": "True" }]);
    object
        .write(2, "s", Merge(json!({ "status": { "conditions": condition }, "spec": { "replicas": 9 } })))
        .expect("no conflict");
    object
        .write(3, "t", Apply(json!({ "status": { "conditions": [{ "type": "B", "status": "False" }] } })))
        .expect("no conflict");
    assert_eq!(
        object.owners(),
        [
            "t/status Apply 03 .status.conditions[type=\"B\"] .status.conditions[type=\"B\"].status \
             .status.conditions[type=\"B\"].type",
            "a Update 01 .spec.replicas",
            "s/status Update 02 .status.conditions .status.conditions[type=\"A\"] \
             .status.conditions[type=\"A\"].status .status.conditions[type=\"A\"].type",
        ]
    );
}

#[test]
fn a_scale_shows_and_moves_the_owners_of_the_count() {
    let mut object = Object::deployment();
    object
        .write(1, "creator", Create(json!({ "spec": { "replicas": 1, "paused": true } })))
        .expect("no conflict");
    let mut parent = object.live().clone();
    let managed_fields = of_scale(&parent, &["spec", "replicas"]);
    let mut scale = json!({ "metadata": { "managedFields": managed_fields }, "spec": { "replicas": 1 } });
    assert_eq!(owners(managed::of(&scale)), ["creator Update 01 .spec.replicas"]);
    assert_eq!(scale["metadata"]["managedFields"][0]["apiVersion"], "autoscaling/v1");

    let types = kinds::types();
    let shape = kinds::fields(&[
        ("apiVersion", kinds::STRING),
        ("kind", kinds::STRING),
        ("metadata", Shape::Any),
        ("spec", kinds::fields(&[("replicas", kinds::INTEGER)])),
    ]);
    let before = scale.clone();
    scale["spec"]["replicas"] = 7.into();
    let typing = Typing { kind: "Scale", types: &types, shape: &shape, reset: &[] };
    let writer = Writer {
        manager: "sc",
        api_version: "autoscaling/v1",
        subresource: "scale",
        time: "2026-01-01T00:00:02Z",
    };
    track(typing, Some(&before), &mut scale, writer);
    of_parent(&mut parent, &scale, "apps/v1", &["spec", "replicas"]);
    assert_eq!(
        owners(managed::of(&parent)),
        ["sc/scale Update -- .spec.replicas", "creator Update 01 .spec.paused"]
    );
    assert_eq!(parent["metadata"]["managedFields"][0]["apiVersion"], "apps/v1");
}

#[test]
fn a_writer_without_a_name_has_that_of_its_program() {
    let long = "x".repeat(200);
    for (field_manager, user_agent, manager) in [
        ("me", "kubectl/v1.37", "me"),
        ("", "kubectl/v1.37 (linux/amd64)", "kubectl"),
        ("", "my program", "my program"),
        ("", "a\tb\u{7}c/1", "abc"),
        ("", "", ""),
        ("", &long, &long[..128]),
    ] {
        assert_eq!(manager_of(field_manager, user_agent), manager, "{field_manager} {user_agent}");
    }
    let mut object = Object::config_map();
    object.write(1, "", Create(json!({ "data": { "x": "1" } }))).expect("no conflict");
    assert_eq!(object.owners(), ["unknown Update 01 .data .data.x"]);
}
