//! What a definition serves, read once: names, versions, and what each version has.

use serde_json::Value;

use super::{
    Schema,
    schema::{list, strings},
};
use crate::embedded::errors::FieldError;

/// A custom resource.
#[derive(Debug)]
pub(in crate::embedded) struct Served {
    pub(in crate::embedded) group: String,
    pub(in crate::embedded) plural: String,
    pub(in crate::embedded) singular: String,
    pub(in crate::embedded) kind: String,
    pub(in crate::embedded) list_kind: String,
    pub(in crate::embedded) short_names: Vec<String>,
    pub(in crate::embedded) categories: Vec<String>,
    pub(in crate::embedded) namespaced: bool,
    /// In the order of the definition, those that are not served too.
    pub(in crate::embedded) versions: Vec<Version>,
    /// Versions differ by more than their name, and a webhook would say how.
    pub(in crate::embedded) converts_by_webhook: bool,
}

/// One version of it.
#[derive(Debug)]
pub(in crate::embedded) struct Version {
    pub(in crate::embedded) name: String,
    pub(in crate::embedded) served: bool,
    pub(in crate::embedded) storage: bool,
    /// What clients of a deprecated version are warned with.
    pub(in crate::embedded) deprecation: Option<String>,
    pub(in crate::embedded) schema: Schema,
    /// Status is a subresource: other writes cannot change it.
    pub(in crate::embedded) has_status: bool,
    pub(in crate::embedded) scale: Option<Scale>,
    pub(in crate::embedded) columns: Vec<Column>,
    /// Paths (`.spec.color`) that field selectors may use.
    pub(in crate::embedded) selectable: Vec<String>,
}

/// Where the scale of an object is: paths like `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Scale {
    pub(in crate::embedded) spec_replicas: String,
    pub(in crate::embedded) status_replicas: String,
    pub(in crate::embedded) selector: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Column {
    pub(in crate::embedded) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`
    pub(in crate::embedded) kind: String,
    pub(in crate::embedded) format: String,
    pub(in crate::embedded) description: String,
    /// Shown by default if it is 0.
    pub(in crate::embedded) priority: i64,
    pub(in crate::embedded) path: String,
}

impl Served {
    /// What a definition serves; none as long as its names are not accepted.
    pub(in crate::embedded) fn read(definition: &Value) -> Option<Self> {
        let established = definition["status"]["conditions"]
            .as_array()?
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        if !established {
            return None;
        }
        let names = definition["status"]["acceptedNames"].as_object()?;
        let spec = definition["spec"].as_object()?;
        let name = |key: &str| names.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (group, kind) = (text(&definition["spec"], "group"), name("kind"));
        Some(Self {
            versions: list(spec, "versions")
                .iter()
                .map(|version| Version::read(version, &group, &kind))
                .collect(),
            group,
            plural: name("plural"),
            singular: name("singular"),
            kind,
            list_kind: name("listKind"),
            short_names: strings(names, "shortNames"),
            categories: strings(names, "categories"),
            namespaced: spec.get("scope").and_then(Value::as_str) == Some("Namespaced"),
            converts_by_webhook: definition["spec"]["conversion"]["strategy"] == "Webhook",
        })
    }

    /// A version that is served.
    pub(in crate::embedded) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.served && version.name == name)
    }

    /// The version in which objects are stored.
    pub(in crate::embedded) fn storage(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

impl Version {
    fn read(version: &Value, group: &str, kind: &str) -> Self {
        let subresources = &version["subresources"];
        let columns = version["additionalPrinterColumns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let selectable = version["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = text(version, "name");
        let warning = version["deprecationWarning"].as_str().map(str::to_owned);
        Self {
            served: version["served"] == true,
            storage: version["storage"] == true,
            deprecation: (version["deprecated"] == true)
                .then(|| warning.unwrap_or_else(|| format!("{group}/{name} {kind} is deprecated"))),
            schema: Schema::read(&version["schema"]["openAPIV3Schema"]),
            has_status: subresources["status"].is_object(),
            scale: subresources["scale"].is_object().then(|| Scale::read(&subresources["scale"])),
            columns: Column::read_all(columns),
            selectable: selectable.iter().map(|field| text(field, "jsonPath")).collect(),
            name,
        }
    }
}

impl Column {
    /// Without columns of its own, a kind has its age.
    fn read_all(columns: &[Value]) -> Vec<Self> {
        if columns.is_empty() {
            return vec![Self {
                name: "Age".into(),
                kind: "date".into(),
                format: String::new(),
                description: "CreationTimestamp is a timestamp representing the server time when this object was created."
                    .into(),
                priority: 0,
                path: ".metadata.creationTimestamp".into(),
            }];
        }
        let read = |column: &Value| Self {
            name: text(column, "name"),
            kind: text(column, "type"),
            format: text(column, "format"),
            description: text(column, "description"),
            priority: column["priority"].as_i64().unwrap_or_default(),
            path: text(column, "jsonPath"),
        };
        columns.iter().map(read).collect()
    }
}

impl Scale {
    pub(super) fn read(scale: &Value) -> Self {
        Self {
            spec_replicas: text(scale, "specReplicasPath"),
            status_replicas: text(scale, "statusReplicasPath"),
            selector: scale["labelSelectorPath"].as_str().filter(|path| !path.is_empty()).map(str::to_owned),
        }
    }

    /// Replicas are numbers of things. Errors name the paths as the definition writes them.
    pub(in crate::embedded) fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for path in [&self.spec_replicas, &self.status_replicas] {
            let Some(replicas) = at(object, path).and_then(Value::as_i64) else { continue };
            let value = Value::from(replicas);
            if replicas < 0 {
                errors.push(FieldError::invalid(path, &value, "should be a non-negative integer"));
            } else if replicas > i64::from(i32::MAX) {
                let detail = format!("should be less than or equal to {}", i32::MAX);
                errors.push(FieldError::invalid(path, &value, detail));
            }
        }
        errors
    }
}

/// The value at a path of names with dots before them.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.strip_prefix('.')?.split('.').try_fold(object, |value, name| value.get(name))
}
