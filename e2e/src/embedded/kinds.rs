//! Which kinds are served, and what a request may do with each.
//!
//! In: a place. Out: its [`Kind`], or none. Built-in kinds come from the table of facts, custom ones from their definitions.
//! What a kind does beyond its facts is a row in [`COUNTED`], so that verbs are written once.

use std::sync::Arc;

use serde_json::Value;

use super::{
    crd::{Served, Version},
    errors::Subject,
    facts::{Facts, KindFacts},
    patch::Typing,
    route::Place,
    scale::Scaling,
    shape::{Shape, Types},
    storage::Resource,
};

/// A kind, as one version of its group serves it.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    source: Source,
    pub(super) resource: Resource,
}

#[derive(Clone, Debug)]
enum Source {
    BuiltIn { facts: &'static KindFacts, shape: Shape },
    Custom(Arc<Custom>),
}

/// A version of a custom kind.
#[derive(Debug)]
pub(super) struct Custom {
    served: Arc<Served>,
    /// Its place among the versions.
    version: usize,
    shape: Shape,
}

impl Custom {
    /// The versions that a definition serves.
    pub(super) fn versions(served: Served) -> Vec<Arc<Self>> {
        let served = Arc::new(served);
        let versions = 0..served.versions.len();
        let custom = |version: usize| {
            let shape = served.versions[version].schema.shape(Facts::load().types());
            Arc::new(Self { served: served.clone(), version, shape })
        };
        versions.filter(|version| served.versions[*version].served).map(custom).collect()
    }

    pub(super) fn served(&self) -> &Served {
        &self.served
    }

    pub(super) fn version(&self) -> &Version {
        &self.served.versions[self.version]
    }

    /// Whether it is what a place names.
    pub(super) fn is_at(&self, place: &Place) -> bool {
        let (served, version) = (&self.served, self.version());
        served.group == place.group && served.plural == place.plural && version.name == place.version
    }
}

/// The built-in kinds whose generations are counted, as group and plural. Those of custom kinds always are.
const COUNTED: &[(&str, &str)] = &[
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "networkpolicies"),
    ("policy", "poddisruptionbudgets"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
];

impl Kind {
    /// The built-in kind of a place.
    pub(super) fn built_in(place: &Place) -> Option<Self> {
        let facts = Facts::load().resource(&place.group, &place.version, &place.plural)?;
        let resource = Resource { group: Arc::from(facts.group), plural: Arc::from(facts.plural) };
        Some(Self { source: Source::BuiltIn { facts, shape: facts.shape() }, resource })
    }

    /// A custom kind.
    pub(super) fn custom(custom: &Arc<Custom>) -> Self {
        let served = &custom.served;
        let resource = Resource { group: Arc::from(&*served.group), plural: Arc::from(&*served.plural) };
        Self { source: Source::Custom(custom.clone()), resource }
    }

    /// The version of a custom kind, if it is one.
    pub(super) fn as_custom(&self) -> Option<&Arc<Custom>> {
        match &self.source {
            Source::BuiltIn { .. } => None,
            Source::Custom(custom) => Some(custom),
        }
    }

    /// Whether its objects define kinds.
    pub(super) fn is_definition(&self) -> bool {
        *self.resource.group == *"apiextensions.k8s.io"
            && *self.resource.plural == *"customresourcedefinitions"
    }

    /// Whether its objects are what others are in.
    pub(super) fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && *self.resource.plural == *"namespaces"
    }

    pub(super) fn name(&self) -> &str {
        match &self.source {
            Source::BuiltIn { facts, .. } => facts.kind,
            Source::Custom(custom) => &custom.served.kind,
        }
    }

    /// The version within the group.
    pub(super) fn version(&self) -> &str {
        match &self.source {
            Source::BuiltIn { facts, .. } => facts.version,
            Source::Custom(custom) => &custom.version().name,
        }
    }

    pub(super) fn api_version(&self) -> String {
        match &*self.resource.group {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    pub(super) fn is_namespaced(&self) -> bool {
        match &self.source {
            Source::BuiltIn { facts, .. } => facts.namespaced,
            Source::Custom(custom) => custom.served.namespaced,
        }
    }

    /// The kind of a list of its objects.
    pub(super) fn list_kind(&self) -> String {
        match &self.source {
            Source::BuiltIn { facts, .. } => format!("{}List", facts.kind),
            Source::Custom(custom) => custom.served.list_kind.clone(),
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "with the shape, which refers to them, it is a question to the kind"
    )]
    pub(super) fn types(&self) -> &'static Types {
        Facts::load().types()
    }

    pub(super) fn shape(&self) -> &Shape {
        match &self.source {
            Source::BuiltIn { shape, .. } => shape,
            Source::Custom(custom) => &custom.shape,
        }
    }

    pub(super) fn has_subresource(&self, name: &str) -> bool {
        match &self.source {
            Source::BuiltIn { facts, .. } => facts.subresource(name).is_some(),
            Source::Custom(custom) => match name {
                "status" => custom.version().has_status,
                "scale" => custom.version().scale.is_some(),
                _ => false,
            },
        }
    }

    /// Where it counts its replicas, if it can be scaled.
    pub(super) fn scaling(&self) -> Option<Scaling> {
        if let Some(custom) = self.as_custom() {
            let scale = custom.version().scale.as_ref()?;
            let selector = scale.selector.as_deref().unwrap_or_default();
            return Some(Scaling::new(&scale.spec_replicas, &scale.status_replicas, selector));
        }
        // Every built-in kind that has a scale has it in the same place.
        self.has_subresource("scale")
            .then(|| Scaling::new(".spec.replicas", ".status.replicas", ".spec.selector"))
    }

    /// Whether an object says to be of this kind, or does not say.
    pub(super) fn is_kind_of(&self, object: &Value) -> bool {
        let says = |field: &str, own: &str| {
            object[field].as_str().is_none_or(|given| given.is_empty() || given == own)
        };
        object.is_object() && says("apiVersion", &self.api_version()) && says("kind", self.name())
    }

    /// Whether the object, or a part of it, takes a verb, in the words of discovery.
    pub(super) fn takes(&self, verb: &str, subresource: &str) -> bool {
        match (&self.source, subresource) {
            (Source::BuiltIn { facts, .. }, "") => facts.can(verb),
            (Source::BuiltIn { facts, .. }, part) => {
                facts.subresource(part).is_some_and(|part| part.verbs.contains(&verb))
            }
            (Source::Custom(_), "") => true,
            (Source::Custom(_), _) => matches!(verb, "get" | "update" | "patch"),
        }
    }

    /// Whether a new object brings its own status: a node is made by who knows its state.
    pub(super) fn is_born_with_status(&self) -> bool {
        self.resource.group.is_empty() && *self.resource.plural == *"nodes"
    }

    pub(super) fn counts_generations(&self) -> bool {
        self.as_custom().is_some() || COUNTED.contains(&(&*self.resource.group, &*self.resource.plural))
    }

    pub(super) fn has_own_status(&self) -> bool {
        match self.as_custom() {
            Some(custom) => custom.version().has_status,
            None => self.has_subresource("status"),
        }
    }

    /// How ownership of its fields is booked for writes of the object, or of a part of it.
    pub(super) fn typing(&self, subresource: &str) -> Typing<'_> {
        let reset: &[&[&str]] = match (subresource, self.has_own_status()) {
            ("", true) => &[&["status"]],
            ("status", true) => &[&["spec"], &["metadata"]],
            _ => &[],
        };
        Typing { kind: self.name(), types: self.types(), shape: self.shape(), reset }
    }

    /// The fields that a field selector may name, besides the name and the namespace.
    pub(super) fn is_selectable(&self, path: &str) -> bool {
        let own = match &self.source {
            Source::BuiltIn { facts, .. } => facts.selectable.contains(&path),
            Source::Custom(custom) => {
                custom.version().selectable.iter().any(|field| field.trim_start_matches('.') == path)
            }
        };
        own || path == "metadata.name" || (path == "metadata.namespace" && self.is_namespaced())
    }

    /// An error about the resource, or one object of it.
    pub(super) fn on<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject { group: &self.resource.group, kind: &self.resource.plural, name }
    }

    /// The same, for errors that name the kind.
    pub(super) fn of_kind<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject { group: &self.resource.group, kind: self.name(), name }
    }
}
