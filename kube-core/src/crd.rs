//! A resource that brings its own definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::Resource;

/// A custom resource: a type with the definition that makes a server know it. `kube-derive` implements it.
pub trait CustomResource: Resource<Dynamic = ()> {
    /// The name of the definition: `plural.group`.
    const CRD_NAME: &'static str;

    /// The definition, to be applied to a server.
    ///
    /// # Panics
    /// When the Rust type has no structural schema (it refers to itself, say). The message names the path of the node.
    fn crd() -> CustomResourceDefinition;
}
