//! A resource that brings its own definition.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::{Resource, schema::SchemaError};

/// A custom resource: a type with the definition that makes a server know it. `kube-derive` implements it.
pub trait CustomResource: Resource<Dynamic = ()> {
    /// The name of the definition: `plural.group`.
    const CRD_NAME: &'static str;

    /// The definition, or why the Rust type has none.
    ///
    /// # Errors
    /// [`SchemaError`], with the path of the field, when the type has no structural schema (it contains itself, say), or a
    /// path of its scale subresource names no fitting field.
    fn try_crd() -> Result<CustomResourceDefinition, SchemaError>;

    /// The definition, to be applied to a server.
    ///
    /// # Panics
    /// When there is none ([`CustomResource::try_crd`]). It depends on the type alone, so a test that calls it once is
    /// enough to know that it never will.
    fn crd() -> CustomResourceDefinition {
        match Self::try_crd() {
            Ok(definition) => definition,
            Err(error) => panic!("{}: {error}", Self::CRD_NAME),
        }
    }
}

/// Refuses an object of another kind or version; one that names neither is taken for what was asked for, as the items of a
/// list are.
///
/// # Errors
/// One that names both.
pub fn expect_type<E: serde::de::Error>(
    (api_version, kind): (&str, &str),
    found: (Option<&str>, Option<&str>),
) -> Result<(), E> {
    match found {
        (_, Some(other)) if other != kind => Err(E::custom(format_args!("this is a {other}, not a {kind}"))),
        (Some(other), _) if other != api_version => {
            Err(E::custom(format_args!("this {kind} is of {other}, not of {api_version}")))
        }
        _ => Ok(()),
    }
}
