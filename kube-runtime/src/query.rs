//! What to watch: a kind, a place, selectors.

use std::{fmt, marker::PhantomData};

use kube_core::{ApiResource, DynamicScope, NamespaceScope, Resource};

/// Which objects of kind `K` are meant. A description: no client, nothing running.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_runtime::Query;
///
/// let web = Query::<Pod>::all().within("shop").labels("app=web");
/// assert_eq!(web.target().to_string(), "pods/v1 in shop, labels app=web");
/// ```
pub struct Query<K> {
    target: Target,
    kind: PhantomData<fn() -> K>,
}

impl<K: Resource<Dynamic = ()>> Query<K> {
    /// Every object of the kind, in all namespaces.
    pub fn all() -> Self {
        Self::of(ApiResource::of::<K>())
    }
}

impl<K: Resource> Query<K> {
    /// Every object of a kind that is known at run time.
    pub fn dynamic(dynamic: &K::Dynamic) -> Self {
        Self::of(K::api_resource(dynamic))
    }

    fn of(resource: ApiResource) -> Self {
        Self { target: Target { resource, namespace: None, labels: None, fields: None }, kind: PhantomData }
    }
}

/// Scopes whose objects can be in a namespace: that of namespaced kinds, and that of kinds known at run time.
pub trait Namespaceable {}

impl Namespaceable for NamespaceScope {}
impl Namespaceable for DynamicScope {}

impl<K: Resource<Scope: Namespaceable>> Query<K> {
    /// Only objects of this namespace. For a kind known at run time whose objects are in none, the watch reports a problem
    /// and brings nothing.
    #[must_use]
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.target.namespace = Some(namespace.into());
        self
    }
}

impl<K> Query<K> {
    /// Only objects with these labels, such as `app=web`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.target.labels = Some(selector.into());
        self
    }

    /// Only objects with these field values, such as `metadata.name=web`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.target.fields = Some(selector.into());
        self
    }

    /// The same without the type.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The same without the type.
    pub fn into_target(self) -> Target {
        self.target
    }
}

impl<K> Clone for Query<K> {
    fn clone(&self) -> Self {
        Self { target: self.target.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Query<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Query").field(&self.target).finish()
    }
}

/// A [`Query`] without the type: what one watch is about, and so what identifies it in a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The kind.
    pub resource: ApiResource,
    /// The namespace; all of them, or the cluster, when absent.
    pub namespace: Option<String>,
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
}

impl fmt::Display for Target {
    /// `pods/v1 in shop, labels app=web`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        if let Some(labels) = &self.labels {
            write!(f, ", labels {labels}")?;
        }
        if let Some(fields) = &self.fields {
            write!(f, ", fields {fields}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kube_core::DynamicObject;

    use super::*;

    #[test]
    fn a_kind_known_at_run_time_can_be_watched_in_one_namespace() {
        let widgets = ApiResource::new("demo.test", "v1", "Widget", "widgets", true);
        let query = Query::<DynamicObject>::dynamic(&widgets).within("shop").fields("metadata.name=a");
        assert_eq!(query.target().to_string(), "widgets.demo.test/v1 in shop, fields metadata.name=a");
    }
}
