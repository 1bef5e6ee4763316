//! The definition as JSON, exactly as the server gets it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{EnvVar, ResourceRequirements},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, Time},
        util::intstr::IntOrString,
    },
};
use kube_core::{CustomResource as _, schema::check};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A website.
///
/// It is served by nginx.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "example.dev",
    version = "v1",
    kind = "Website",
    namespaced,
    status = WebsiteStatus,
    shortname = "web",
    shortname = "site",
    category = "all",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.readyReplicas",
        label_selector_path = ".status.selector"
    )
)]
#[kube(printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"))]
#[kube(printcolumn(
    name = "Phase",
    type = "string",
    jsonpath = ".status.phase",
    description = "Where it stands.",
    priority = 1
))]
struct WebsiteSpec {
    /// How many pods serve it.
    replicas: i32,
    html: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(rename_all = "camelCase")]
struct WebsiteStatus {
    ready_replicas: i32,
    selector: Option<String>,
    phase: Phase,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
enum Phase {
    /// Not yet.
    Pending,
    /// Now.
    Ready,
}

#[test]
fn every_attribute_is_in_the_definition() {
    assert_eq!(
        serde_json::to_value(Website::crd()).unwrap(),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "websites.example.dev" },
            "spec": {
                "group": "example.dev",
                "names": {
                    "kind": "Website", "listKind": "WebsiteList", "plural": "websites", "singular": "website",
                    "shortNames": ["web", "site"], "categories": ["all"],
                },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "additionalPrinterColumns": [
                        { "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas" },
                        { "name": "Phase", "type": "string", "jsonPath": ".status.phase", "description": "Where it stands.", "priority": 1 },
                    ],
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.readyReplicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "schema": { "openAPIV3Schema": {
                        "description": "A website.\n\nIt is served by nginx.",
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "description": "A website.\n\nIt is served by nginx.",
                                "type": "object",
                                "required": ["replicas"],
                                "properties": {
                                    "replicas": { "description": "How many pods serve it.", "type": "integer", "format": "int32" },
                                    "html": { "type": "string", "nullable": true },
                                },
                            },
                            "status": {
                                "type": "object",
                                "required": ["readyReplicas", "phase"],
                                "properties": {
                                    "readyReplicas": { "type": "integer", "format": "int32" },
                                    "selector": { "type": "string", "nullable": true },
                                    "phase": { "type": "string", "enum": ["Pending", "Ready"], "description": "- `Pending`: Not yet.\n- `Ready`: Now." },
                                },
                            },
                        },
                    } },
                }],
            },
        })
    );
}

fn version<K: kube_core::CustomResource>() -> Value {
    serde_json::to_value(K::crd()).unwrap()["spec"]["versions"][0].clone()
}

fn schema<K: kube_core::CustomResource>() -> Value {
    version::<K>()["schema"]["openAPIV3Schema"].clone()
}

mod names {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Potato")]
    struct PotatoSpec {}

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(
        group = "example.dev",
        version = "v1",
        kind = "FieldProbe",
        plural = "field-probes",
        singular = "field-probe"
    )]
    #[kube(served = false, storage = false, doc = "Said instead.")]
    /// Not said.
    struct ProbeSpec {}

    #[test]
    fn plural_and_singular_are_the_same_everywhere() {
        let rows = [
            (
                Potato::CRD_NAME,
                serde_json::to_value(Potato::crd()).unwrap(),
                kube_core::ApiResource::of::<Potato>(),
                "potatoes",
                "potato",
            ),
            (
                FieldProbe::CRD_NAME,
                serde_json::to_value(FieldProbe::crd()).unwrap(),
                kube_core::ApiResource::of::<FieldProbe>(),
                "field-probes",
                "field-probe",
            ),
        ];
        for (name, definition, resource, plural, singular) in rows {
            assert_eq!(name, format!("{plural}.example.dev"));
            assert_eq!(definition["metadata"]["name"], *name);
            assert_eq!(definition["spec"]["names"]["plural"], *plural);
            assert_eq!(definition["spec"]["names"]["singular"], *singular);
            assert_eq!(resource.plural, plural);
        }
    }

    #[test]
    fn what_is_not_asked_for_is_not_there() {
        let potato = version::<Potato>();
        assert_eq!(
            potato,
            json!({
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "required": ["spec"], "properties": { "spec": { "type": "object" } } } },
            })
        );
        let probe = version::<FieldProbe>();
        assert_eq!((&probe["served"], &probe["storage"]), (&json!(false), &json!(false)));
        assert_eq!(probe["schema"]["openAPIV3Schema"]["description"], "Said instead.");
    }
}

mod scale {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Misnamed", status = ScaleStatus)]
    #[kube(scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"))]
    struct MisnamedSpec {
        replica_count: i32,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    struct ScaleStatus {
        replicas: i32,
    }

    #[test]
    fn a_path_to_no_field_is_an_error_that_names_the_fields() {
        assert_eq!(
            Misnamed::try_crd().unwrap_err().to_string(),
            "spec.replicas: spec_replicas_path `.spec.replicas` must name an integer field under `.spec`; \
             there is no `replicas`: .spec has only replica_count"
        );
    }
}

mod faults {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Tree")]
    struct TreeSpec {
        root: Node,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    struct Node {
        children: Vec<Node>,
    }

    #[test]
    fn a_type_without_a_schema_is_an_error_with_the_path() {
        let error = Tree::try_crd().unwrap_err();
        assert_eq!(error.path.to_string(), "spec.root.children[]");
        assert!(error.to_string().contains("the type contains itself (Node -> Node)"));
    }

    #[test]
    #[should_panic(
        expected = "trees.example.dev: spec.root.children[]: the type contains itself (Node -> Node)"
    )]
    fn crd_panics_with_the_path() {
        let _ = Tree::crd();
    }
}

mod kinds_of_fields {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "example.dev", version = "v1", kind = "Everything", namespaced, status = EverythingStatus)]
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.port != 0", "message": "not \"0\"" }]))]
    struct EverythingSpec {
        size: Option<Size>,
        sources: Vec<Source>,
        action: Action,
        adjacent: Option<Adjacent>,
        target: Target,
        #[serde(flatten)]
        extras: BTreeMap<String, Value>,
        labels: BTreeMap<String, String>,
        port: IntOrString,
        memory: Option<Quantity>,
        env: Vec<EnvVar>,
        resources: ResourceRequirements,
        any: Value,
        small: u8,
        big: Option<u64>,
        #[schemars(extend("exclusiveMinimum" = 0))]
        #[serde(default = "three")]
        count: u32,
        since: Option<Time>,
        nested: Option<Nested>,
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        named: Vec<Named>,
        #[serde(default)]
        limits: Limits,
        #[serde(flatten)]
        mode: Mode,
        #[schemars(length(min = 1, max = 8), regex(pattern = "^[a-z]+$"))]
        slug: String,
        pair: (u8, u8),
    }

    fn three() -> u32 {
        3
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    struct EverythingStatus {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
        conditions: Vec<Condition>,
    }

    /// How big.
    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        /// Fits in a pocket.
        Small,
        Large,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(rename_all = "camelCase")]
    enum Source {
        Git { url: String },
        Bucket { name: String },
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(tag = "kind")]
    enum Action {
        Run { command: String, c: bool },
        Wait { seconds: u16, c: bool },
        Stop,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        A { x: u8 },
        B { y: String },
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(untagged)]
    enum Target {
        Name { name: String },
        Port { port: u16 },
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    struct Nested {
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        next: Option<Box<Nested>>,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    struct Named {
        name: String,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
    struct Limits {
        cpu: u8,
        note: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[serde(rename_all = "camelCase")]
    enum Mode {
        Fast { factor: f64 },
        Safe { retries: i8 },
    }

    #[test]
    fn every_kind_of_field_is_structural() {
        let schema = schema::<Everything>();
        check(&schema).unwrap();
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["x-kubernetes-preserve-unknown-fields"], json!(true));
        assert_eq!(
            spec["x-kubernetes-validations"],
            json!([{ "rule": "self.port != 0", "message": "not \"0\"" }])
        );
        assert_eq!(spec["oneOf"], json!([{ "required": ["fast"] }, { "required": ["safe"] }]));
        assert_eq!(spec["properties"]["port"]["x-kubernetes-int-or-string"], json!(true));
        assert_eq!(spec["properties"]["memory"]["x-kubernetes-int-or-string"], json!(true));
        assert_eq!(spec["properties"]["since"]["format"], json!("date-time"));
        assert_eq!(
            spec["properties"]["count"],
            json!({ "type": "integer", "format": "int64", "minimum": 0.0, "exclusiveMinimum": true, "maximum": 4_294_967_295.0, "default": 3 })
        );
        assert_eq!(
            spec["properties"]["size"],
            json!({ "type": "string", "nullable": true, "allOf": [{ "enum": ["large", "small"] }], "description": "How big.\n\n- `small`: Fits in a pocket." })
        );
    }
}

#[test]
fn definitions_are_stable() {
    let definitions =
        [Website::crd(), Website::crd()].map(|definition| serde_json::to_string(&definition).unwrap());
    assert_eq!(definitions[0], definitions[1]);
}
