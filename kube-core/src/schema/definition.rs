//! A custom resource definition around its schemas.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::{FieldPath, Node, Problem, SchemaError, check::check_at, scale::check_scale};

/// A custom resource definition with one version, all but its schemas. `kube-derive` writes it from its attributes.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// API group, such as `example.dev`.
    pub group: &'static str,
    /// The version, such as `v1`.
    pub version: &'static str,
    /// Kind, such as `Website`.
    pub kind: &'static str,
    /// Plural name, the path segment: `websites`.
    pub plural: &'static str,
    /// Singular name: `website`.
    pub singular: &'static str,
    /// Short names for kubectl.
    pub short_names: &'static [&'static str],
    /// Categories, such as `all`.
    pub categories: &'static [&'static str],
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether the server serves this version.
    pub served: bool,
    /// Whether objects are stored in this version.
    pub storage: bool,
    /// What `kubectl explain` says of the kind; empty for nothing.
    pub description: &'static str,
    /// Columns of `kubectl get`, beside the name. None: the server shows the age.
    pub columns: &'static [PrinterColumn],
    /// The scale subresource.
    pub scale: Option<Scale>,
}

/// One column of `kubectl get`.
#[derive(Debug, Clone, Copy)]
pub struct PrinterColumn {
    /// Its title.
    pub name: &'static str,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: &'static str,
    /// Where its value is: `.spec.replicas`.
    pub json_path: &'static str,
    /// A format, such as `int32`.
    pub format: Option<&'static str>,
    /// What it shows.
    pub description: Option<&'static str>,
    /// 0 for always; above it only in wide output.
    pub priority: i32,
}

/// Where the scale subresource finds what it reads and writes.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The replicas wanted: an integer under `.spec`.
    pub spec_replicas_path: &'static str,
    /// The replicas there are: an integer under `.status`.
    pub status_replicas_path: &'static str,
    /// A label selector of the replicas, as text, under `.status` or `.spec`; autoscalers need it.
    pub label_selector_path: Option<&'static str>,
}

impl Definition {
    /// The definition with the structural schemas of the spec and, where there is one, of the status; the status
    /// subresource is there exactly when the status is.
    ///
    /// # Errors
    /// [`SchemaError`] when a schema is not structural, or when a path of the scale subresource does not fit it.
    pub fn with_schemas(
        &self,
        spec: Value,
        status: Option<Value>,
    ) -> Result<CustomResourceDefinition, SchemaError> {
        let has_status = status.is_some();
        let schema = self.root(spec, status);
        check_at(&schema, &FieldPath::root())?;
        if let Some(scale) = &self.scale {
            check_scale(&schema, scale)?;
        }
        let not_one =
            |error: serde_json::Error| FieldPath::root().error(Problem::NotStructural(error.to_string()));
        let schema: JSONSchemaProps = serde_json::from_value(schema).map_err(not_one)?;
        Ok(CustomResourceDefinition {
            metadata: ObjectMeta {
                name: Some(format!("{}.{}", self.plural, self.group)),
                ..ObjectMeta::default()
            },
            spec: CustomResourceDefinitionSpec {
                group: self.group.into(),
                names: self.names(),
                scope: if self.namespaced { "Namespaced" } else { "Cluster" }.into(),
                versions: vec![CustomResourceDefinitionVersion {
                    name: self.version.into(),
                    served: self.served,
                    storage: self.storage,
                    schema: Some(CustomResourceValidation { open_api_v3_schema: Some(schema) }),
                    subresources: self.subresources(has_status),
                    additional_printer_columns: self.columns(),
                    ..CustomResourceDefinitionVersion::default()
                }],
                ..CustomResourceDefinitionSpec::default()
            },
            status: None,
        })
    }

    fn root(&self, spec: Value, status: Option<Value>) -> Value {
        // The server declares apiVersion, kind and metadata itself.
        let mut fields = Node::new();
        fields.insert("spec".into(), spec);
        status.map(|status| fields.insert("status".into(), status));
        let mut root = Node::new();
        if !self.description.is_empty() {
            root.insert("description".into(), json!(self.description));
        }
        root.insert("type".into(), json!("object"));
        root.insert("required".into(), json!(["spec"]));
        root.insert("properties".into(), Value::Object(fields));
        Value::Object(root)
    }

    fn names(&self) -> CustomResourceDefinitionNames {
        let owned =
            |list: &[&str]| (!list.is_empty()).then(|| list.iter().map(|&name| name.to_owned()).collect());
        CustomResourceDefinitionNames {
            kind: self.kind.into(),
            list_kind: Some(format!("{}List", self.kind)),
            plural: self.plural.into(),
            singular: Some(self.singular.into()),
            short_names: owned(self.short_names),
            categories: owned(self.categories),
        }
    }

    fn subresources(&self, status: bool) -> Option<CustomResourceSubresources> {
        let scale = self.scale.map(|scale| CustomResourceSubresourceScale {
            spec_replicas_path: scale.spec_replicas_path.into(),
            status_replicas_path: scale.status_replicas_path.into(),
            label_selector_path: scale.label_selector_path.map(Into::into),
        });
        let status = status.then(|| CustomResourceSubresourceStatus(json!({})));
        (scale.is_some() || status.is_some()).then_some(CustomResourceSubresources { scale, status })
    }

    fn columns(&self) -> Option<Vec<CustomResourceColumnDefinition>> {
        let columns = self.columns.iter().map(|column| CustomResourceColumnDefinition {
            name: column.name.into(),
            type_: column.kind.into(),
            json_path: column.json_path.into(),
            format: column.format.map(Into::into),
            description: column.description.map(Into::into),
            priority: (column.priority != 0).then_some(column.priority),
        });
        (!self.columns.is_empty()).then(|| columns.collect())
    }
}
