//! Custom kinds that together use every shape of Rust types that has a form in a definition.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    num::NonZeroU32,
    path::PathBuf,
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::{EnvVar, PodTemplateSpec, ResourceRequirements},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, Time},
        util::intstr::IntOrString,
    },
};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Enums of every tagging.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Enumerated", namespaced)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnumeratedSpec {
    pub(crate) plain: Size,
    /// Described here.
    pub(crate) documented: Phase,
    pub(crate) maybe: Option<Size>,
    pub(crate) maybe_documented: Option<Phase>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<Size>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) by_name: BTreeMap<String, Phase>,
    pub(crate) maybe_sizes: Option<Vec<Option<Size>>>,
    pub(crate) maybe_by_name: Option<BTreeMap<String, Option<Phase>>>,
    pub(crate) source: Source,
    pub(crate) maybe_source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sources: Vec<Source>,
    pub(crate) action: Action,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) actions: Vec<Action>,
    pub(crate) adjacent: Option<Adjacent>,
    pub(crate) target: Option<Target>,
    pub(crate) port: Option<Port>,
    #[serde(flatten)]
    pub(crate) mode: Mode,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Size {
    Small,
    Large,
}

/// Where it stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not yet.
    Pending,
    /// Now, "at last".
    #[serde(rename = "ready-now")]
    Ready,
    Failed,
}

/// Tagged from outside.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Source {
    /// From git.
    Git {
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    Bucket(Bucket),
    Inline(String),
    Nothing {},
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    pub(crate) size: Size,
}

/// Tagged from inside.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Action {
    /// Runs something.
    Run {
        command: Vec<String>,
        quiet: bool,
    },
    Wait {
        seconds: u16,
        quiet: bool,
    },
    /// Of a field that two variants have, each takes its own values, or none.
    Grow {
        to: Option<Size>,
    },
    Move {
        to: Option<Phase>,
    },
    Put(Bucket),
    Stop,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
pub(crate) enum Adjacent {
    A { x: u8 },
    B { y: String },
    Unit,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(untagged)]
pub(crate) enum Target {
    Name { name: String },
    Port { port: u16 },
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(untagged)]
pub(crate) enum Port {
    Number(i32),
    Name(String),
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Mode {
    Fast { factor: f64 },
    Safe { retries: i8 },
}

/// Numbers of every width, and the other scalars.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Numeric", namespaced)]
pub(crate) struct NumericSpec {
    pub(crate) u8: u8,
    pub(crate) u16: u16,
    pub(crate) u32: u32,
    pub(crate) u64: u64,
    pub(crate) usize: usize,
    pub(crate) i8: i8,
    pub(crate) i16: i16,
    pub(crate) i32: i32,
    pub(crate) i64: i64,
    pub(crate) isize: isize,
    pub(crate) i128: i128,
    pub(crate) f32: f32,
    pub(crate) f64: f64,
    pub(crate) some: NonZeroU32,
    pub(crate) maybe: Option<u32>,
    #[schemars(range(min = 1, max = 10))]
    pub(crate) ranged: u32,
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(crate) above: i64,
    #[schemars(extend("multipleOf" = 2))]
    pub(crate) even: i32,
    pub(crate) letter: char,
    pub(crate) yes: bool,
    pub(crate) pair: (u8, u8),
    pub(crate) bytes: [u8; 4],
    pub(crate) set: BTreeSet<String>,
    #[schemars(length(min = 1, max = 8), regex(pattern = "^[a-z]+$"))]
    pub(crate) slug: String,
    #[schemars(email)]
    pub(crate) email: Option<String>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) time: Option<Duration>,
}

/// Objects within objects, maps, and types of Kubernetes itself.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Nested", namespaced)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NestedSpec {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) deep: BTreeMap<String, BTreeMap<String, Vec<Bucket>>>,
    pub(crate) by_number: BTreeMap<u16, bool>,
    pub(crate) inner: Inner,
    pub(crate) maybe_inner: Option<Inner>,
    pub(crate) boxed: Option<Box<Inner>>,
    pub(crate) any: Value,
    pub(crate) maybe_any: Option<Value>,
    pub(crate) anything: BTreeMap<String, Value>,
    pub(crate) flat_text: FlatText,
    pub(crate) keywords: Option<Keywords>,
    /// A cycle, opened by hand.
    pub(crate) tree: Option<Tree>,
    #[serde(flatten)]
    pub(crate) flat: Flat,
}

/// Fields with the names of keywords.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Keywords {
    pub(crate) r#type: String,
    pub(crate) r#enum: Vec<Size>,
    #[serde(rename = "$ref")]
    pub(crate) reference: Option<Size>,
    pub(crate) properties: BTreeMap<String, String>,
    pub(crate) required: bool,
    pub(crate) nullable: Option<bool>,
    #[serde(rename = "oneOf")]
    pub(crate) one_of: Option<Box<Inner>>,
    pub(crate) default: Option<Value>,
    #[serde(rename = "odd/name with.dots")]
    pub(crate) odd: Option<String>,
}

/// In the middle.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Inner {
    /// The name.
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) buckets: Vec<Bucket>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct FlatText {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) extras: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Flat {
    pub(crate) known: String,
    #[serde(flatten)]
    pub(crate) extras: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub(crate) children: Vec<Tree>,
}

/// What operators take over from Kubernetes.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Embedding", namespaced, status = EmbeddingStatus)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmbeddingSpec {
    pub(crate) port: IntOrString,
    pub(crate) memory: Option<Quantity>,
    pub(crate) since: Option<Time>,
    pub(crate) selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<EnvVar>,
    pub(crate) resources: Option<ResourceRequirements>,
    pub(crate) template: Option<PodTemplateSpec>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmbeddingStatus {
    pub(crate) observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

/// Everything has a default, which the server fills in.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Defaulted", namespaced, plural = "defaulteds")]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DefaultedSpec {
    pub(crate) count: u32,
    pub(crate) ratio: f64,
    pub(crate) text: String,
    pub(crate) on: bool,
    pub(crate) size: Size,
    pub(crate) list: Vec<String>,
    pub(crate) map: BTreeMap<String, i32>,
    pub(crate) none: Option<String>,
    pub(crate) some: Option<Size>,
    pub(crate) limits: Limits,
    pub(crate) port: IntOrString,
    pub(crate) any: Value,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) cpu: u8,
    pub(crate) note: Option<String>,
    #[serde(default = "two")]
    pub(crate) burst: u8,
}

fn two() -> u8 {
    2
}

impl Default for DefaultedSpec {
    fn default() -> Self {
        Self {
            count: 3,
            ratio: 0.5,
            text: "say \"hi\"\n".into(),
            on: true,
            size: Size::Large,
            list: vec!["a".into()],
            map: [("k".to_owned(), 1)].into(),
            none: None,
            some: Some(Size::Small),
            limits: Limits { cpu: 1, note: None, burst: 2 },
            port: IntOrString::String("http".into()),
            any: serde_json::json!({ "a": [1, "b"] }),
        }
    }
}

/// Rules beyond what a schema can say.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "api.e2e.example.dev", version = "v1", kind = "Ruled", namespaced, derive(PartialEq))]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "self.min <= self.max", "message": "min is at most \"max\"" },
]))]
pub(crate) struct RuledSpec {
    pub(crate) min: i32,
    pub(crate) max: i32,
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self % 2 == 0", "messageExpression": "'odd, and ' + (self < 0 ? 'under' : 'over') + ' zero'", "reason": "FieldValueForbidden" },
    ]))]
    pub(crate) even: Option<i32>,
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self == oldSelf", "message": "is fixed" }]))]
    pub(crate) fixed: String,
    #[schemars(length(max = 10), extend("x-kubernetes-validations" = [
        { "rule": "self.all(x, self.exists_one(y, y == x))", "message": "each name once" },
    ]))]
    pub(crate) names: Vec<ShortName>,
}

/// Rules over lists have a cost, which grows with what an item may hold.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(transparent)]
pub(crate) struct ShortName(#[schemars(length(max = 20))] String);

impl From<&str> for ShortName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl Ruled {
    pub(crate) fn good(name: &str) -> Self {
        let names = vec!["x".into(), "y".into()];
        Self::new(name, RuledSpec { min: 1, max: 2, even: Some(4), fixed: "f".into(), names })
    }
}

/// Everything that a definition says beside its schema.
///
/// In two paragraphs.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "api.e2e.example.dev",
    version = "v1alpha1",
    kind = "Presented",
    namespaced,
    plural = "presentables",
    singular = "presentable",
    shortname = "pres",
    category = "e2e",
    status = PresentedStatus,
    scale(
        spec_replicas_path = ".spec.size.replicas",
        status_replicas_path = ".status.readyReplicas",
        label_selector_path = ".status.selector"
    )
)]
#[kube(printcolumn(name = "Replicas", type = "integer", json_path = ".spec.size.replicas"))]
#[kube(printcolumn(
    name = "Ready",
    type = "string",
    json_path = ".status.conditions[?(@.type=='Ready')].status",
    description = "Whether it is ready."
))]
#[kube(printcolumn(name = "Since", type = "date", json_path = ".metadata.creationTimestamp", priority = 1))]
pub(crate) struct PresentedSpec {
    pub(crate) size: Replicas,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub(crate) struct Replicas {
    pub(crate) replicas: u16,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PresentedStatus {
    pub(crate) ready_replicas: i32,
    pub(crate) selector: Option<String>,
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}
