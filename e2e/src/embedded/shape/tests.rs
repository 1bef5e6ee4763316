//! The texts are those of the real server for the same objects; more objects are compared in `against`.

use serde_json::{Value, json};

use super::{DecodeError, Decoded, decode, decode_value};
use crate::embedded::facts::Facts;

fn try_decode(kind: (&str, &str, &str), body: &str) -> Result<Decoded, String> {
    let facts = Facts::load();
    let kind = facts.kind(kind.0, kind.1, kind.2).unwrap();
    decode(facts.types(), &kind.shape(), body.as_bytes()).map_err(|error| match error {
        DecodeError::Type(text) => text,
        DecodeError::Syntax(error) => format!("syntax: {error}"),
    })
}

const MAP: (&str, &str, &str) = ("", "v1", "ConfigMap");
const SECRET: (&str, &str, &str) = ("", "v1", "Secret");
const POD: (&str, &str, &str) = ("", "v1", "Pod");
const SERVICE: (&str, &str, &str) = ("", "v1", "Service");
const CLAIM: (&str, &str, &str) = ("", "v1", "PersistentVolumeClaim");
const ROLE: (&str, &str, &str) = ("rbac.authorization.k8s.io", "v1", "Role");
const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");
const CRD: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");

#[test]
fn fields_in_vain_are_told_in_the_order_of_the_text() {
    for (kind, body, problems) in [
        (
            MAP,
            r#"{"metadata":{"name":"a","name":"b"},"zz":1,"data":{"a":"1","a":"2"}}"#,
            &["duplicate field \"metadata.name\"", "unknown field \"zz\"", "duplicate field \"data.a\""][..],
        ),
        (MAP, r#"{"Metadata":{},"Data":{}}"#, &["unknown field \"Metadata\"", "unknown field \"Data\""]),
        (MAP, r#"{"metadata":{"name":null},"data":{"a":null}}"#, &[]),
        (
            POD,
            r#"{"spec":{"containers":[{},{"colour":1}]}}"#,
            &["unknown field \"spec.containers[1].colour\""],
        ),
        (
            CRD,
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"zip":1,"properties":{"foo":{"colour":1,
                "properties":{"b.c":{"x":1}},"items":{"zap":1}}}}}}]}}"#,
            &[
                "unknown field \"spec.versions[0].schema.openAPIV3Schema.zip\"",
                "unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.foo.colour\"",
                "unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.foo.properties.b.c.x\"",
            ],
        ),
    ] {
        assert_eq!(try_decode(kind, body).unwrap().problems, problems, "{body}");
    }
}

type Case = ((&'static str, &'static str, &'static str), &'static str, &'static str);

/// Kind, body, and what the error says behind "cannot unmarshal".
const WRONG_TYPES: &[Case] = &[
    (MAP, r#"{"data":{"a":1}}"#, "number into Go struct field ConfigMap.data of type string"),
    (MAP, r#"{"metadata":1}"#, "number into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
    (
        MAP,
        r#"{"metadata":{"labels":[]}}"#,
        "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
    ),
    (
        MAP,
        r#"{"metadata":{"creationTimestamp":{}}}"#,
        "object into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    ),
    (SECRET, r#"{"data":{"a":1}}"#, "number into Go struct field Secret.data of type []uint8"),
    (DEPLOYMENT, r#"{"spec":[]}"#, "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
    (
        DEPLOYMENT,
        r#"{"spec":{"replicas":3000000000}}"#,
        "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ),
    (
        DEPLOYMENT,
        r#"{"spec":{"replicas":1.0}}"#,
        "number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ),
    (
        DEPLOYMENT,
        r#"{"spec":{"paused":"x"}}"#,
        "string into Go struct field DeploymentSpec.spec.paused of type bool",
    ),
    (
        DEPLOYMENT,
        r#"{"spec":{"template":{"spec":{"containers":{"a":1}}}}}"#,
        "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    ),
    (
        DEPLOYMENT,
        r#"{"spec":{"template":{"spec":{"containers":[{"name":1}]}}}}"#,
        "number into Go struct field Container.spec.template.spec.containers.name of type string",
    ),
    (
        SERVICE,
        r#"{"spec":{"ports":[{"targetPort":{}}]}}"#,
        "object into Go struct field ServicePort.spec.ports.targetPort of type int32",
    ),
    (
        SERVICE,
        r#"{"spec":{"ports":[{"targetPort":99999999999}]}}"#,
        "number 99999999999 into Go struct field ServicePort.spec.ports.targetPort of type int32",
    ),
    (
        POD,
        r#"{"spec":{"restartPolicy":1}}"#,
        "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
    ),
    (
        POD,
        r#"{"spec":{"volumes":[{"name":"a","emptyDir":1}]}}"#,
        "number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
    ),
    (
        POD,
        r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":[]}}}]}}"#,
        "array into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
    ),
    (
        POD,
        r#"{"spec":{"containers":[{"resources":{"requests":1}}]}}"#,
        "number into Go struct field ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList",
    ),
    (
        CLAIM,
        r#"{"spec":{"accessModes":[1]}}"#,
        "number into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type v1.PersistentVolumeAccessMode",
    ),
    (
        CLAIM,
        r#"{"spec":{"accessModes":1}}"#,
        "number into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type []v1.PersistentVolumeAccessMode",
    ),
    (
        CRD,
        r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"foo":{"maximum":"x"}}}}}]}}"#,
        "string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.maximum of type float64",
    ),
];

#[test]
fn values_of_a_wrong_type_are_told_in_the_servers_words() {
    for (kind, body, expected) in WRONG_TYPES {
        assert_eq!(try_decode(*kind, body), Err(format!("json: cannot unmarshal {expected}")), "{body}");
    }
}

#[test]
fn of_several_wrong_values_the_first_is_told_unless_one_cannot_read_itself() {
    for (kind, body, expected) in [
        (DEPLOYMENT, r#"{"zz":1,"metadata":{"name":1,"labels":[]}}"#, "ObjectMeta.metadata.name"),
        (DEPLOYMENT, r#"{"metadata":{"name":1,"creationTimestamp":"x"}}"#, "parsing time \"x\""),
        (SECRET, r#"{"data":{"a":"!!!","b":1}}"#, "illegal base64 data at input byte 0"),
        (POD, r#"{"spec":{"containers":[{"resources":{"requests":{"cpu":{}}}}]}}"#, "quantities must match"),
        (
            POD,
            r#"{"spec":{"containers":[{"resources":{"requests":{"cpu":true}}}]}}"#,
            "quantities must match",
        ),
    ] {
        let error = try_decode(kind, body).unwrap_err();
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[test]
fn an_object_is_written_as_its_type_is() {
    for (kind, given, expected) in [
        (
            ROLE,
            json!({"metadata": {"labels": {}, "finalizers": []}, "rules": []}),
            json!({"metadata": {}, "rules": null}),
        ),
        (
            MAP,
            json!({"metadata": {"name": null}, "data": {"a": null}}),
            json!({"metadata": {}, "data": {"a": ""}}),
        ),
        (
            MAP,
            json!({"metadata": {"name": "a"}, "immutable": false}),
            json!({"metadata": {"name": "a"}, "immutable": false}),
        ),
        (
            SECRET,
            json!({"stringData": {"a": "b"}}),
            json!({"metadata": {}, "data": {"a": "Yg=="}, "type": "Opaque"}),
        ),
        (
            CLAIM,
            json!({
                "metadata": {"creationTimestamp": "2020-01-01T00:00:00+01:00"},
                "spec": {"resources": {"requests": {"storage": 1024}}, "storageClassName": "", "volumeName": ""},
            }),
            json!({
                "metadata": {"creationTimestamp": "2019-12-31T23:00:00Z"},
                "spec": {"resources": {"requests": {"storage": "1024"}}, "storageClassName": "", "volumeMode": "Filesystem"},
                "status": {"phase": "Pending"},
            }),
        ),
    ] {
        let facts = Facts::load();
        let shape = facts.kind(kind.0, kind.1, kind.2).unwrap().shape();
        let decoded = decode_value(facts.types(), &shape, given).unwrap();
        // What is written is read as the same.
        let again = decode_value(facts.types(), &shape, decoded.value.clone()).unwrap();
        assert_eq!((&decoded.value, &again.value), (&expected, &expected));
    }
}

#[test]
fn what_is_not_json_is_told_apart_from_what_does_not_fit() {
    for body in ["", "{", "{} x", "{\"data\":{\"a\":}}"] {
        assert!(try_decode(MAP, body).unwrap_err().starts_with("syntax: "), "{body}");
    }
    assert_eq!(
        try_decode(MAP, "[]"),
        Err("json: cannot unmarshal array into Go value of type v1.ConfigMap".into())
    );
}

#[test]
fn free_values_stay_as_they_are() {
    let raw = json!({"empty": {}, "list": [null, 0, ""], "null": null});
    let body =
        json!({"metadata": {"managedFields": [{"fieldsV1": {"f:data": {}}}]}, "data": raw, "revision": 0});
    let decoded = try_decode(("apps", "v1", "ControllerRevision"), &body.to_string()).unwrap();
    assert_eq!((&decoded.value["data"], &decoded.value["revision"]), (&raw, &Value::from(0)));
    assert_eq!(decoded.value["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:data": {}}));
}
