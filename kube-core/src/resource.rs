//! What makes a Rust type a Kubernetes resource: its kind, its place in the API, its metadata.
//!
//! Every object type of `k8s-openapi` is a [`Resource`] as it is, and so is what `kube-derive` makes. A type whose kind is
//! known only at run time ([`crate::DynamicObject`]) carries an [`ApiResource`] beside it, as its
//! [`Resource::Dynamic`] part. Scopes are types, so that a client can refuse a namespaced handle for a cluster-scoped kind
//! at compile time.

use std::{borrow::Cow, collections::BTreeMap, fmt};

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::ObjectKey;

/// The scope of kinds whose objects live in a namespace.
pub type NamespaceScope = k8s_openapi::NamespaceResourceScope;
/// The scope of kinds whose objects belong to the cluster as a whole.
pub type ClusterScope = k8s_openapi::ClusterResourceScope;
/// The scope of types whose kind, and so whose scope, is known at run time only ([`ApiResource::namespaced`]).
#[derive(Debug, Clone, Copy)]
pub struct DynamicScope {}

/// A type whose values are objects of one Kubernetes kind.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::Resource;
///
/// let resource = Deployment::api_resource(&());
/// assert_eq!(resource.to_string(), "deployments.apps/v1");
/// assert!(resource.namespaced);
/// ```
pub trait Resource {
    /// What has to be known at run time to address the kind: `()` where the type says it all.
    type Dynamic: Clone + Send + Sync + 'static;
    /// [`NamespaceScope`], [`ClusterScope`] or [`DynamicScope`].
    type Scope;

    /// The kind and its place in the API.
    fn api_resource(dynamic: &Self::Dynamic) -> ApiResource;
    /// The object's metadata.
    fn meta(&self) -> &ObjectMeta;
    /// The object's metadata, to change it.
    fn meta_mut(&mut self) -> &mut ObjectMeta;
}

/// Tells whether a scope of `k8s-openapi` is that of a namespaced kind.
pub trait StaticScope {
    /// True for kinds whose objects live in a namespace.
    const NAMESPACED: bool;
}

impl StaticScope for NamespaceScope {
    const NAMESPACED: bool = true;
}

impl StaticScope for ClusterScope {
    const NAMESPACED: bool = false;
}

impl<K> Resource for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta>,
    <K as k8s_openapi::Resource>::Scope: StaticScope,
{
    type Dynamic = ();
    type Scope = <K as k8s_openapi::Resource>::Scope;

    fn api_resource((): &()) -> ApiResource {
        ApiResource {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            kind: Cow::Borrowed(K::KIND),
            plural: Cow::Borrowed(K::URL_PATH_SEGMENT),
            namespaced: <Self::Scope as StaticScope>::NAMESPACED,
        }
    }

    fn meta(&self) -> &ObjectMeta {
        self.metadata()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.metadata_mut()
    }
}

/// A kind and its place in the API. Cheap to clone for types known at compile time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Version within the group, such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind, such as `Deployment`.
    pub kind: Cow<'static, str>,
    /// Plural name, the path segment of the kind, such as `deployments`.
    pub plural: Cow<'static, str>,
    /// Whether objects of the kind live in a namespace.
    pub namespaced: bool,
}

impl ApiResource {
    /// Names a kind. Use [`ApiResource::of`] where there is a type for it.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
        namespaced: bool,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        }
    }

    /// The kind of a type that is known at compile time.
    pub fn of<K: Resource<Dynamic = ()>>() -> Self {
        K::api_resource(&())
    }

    /// The `apiVersion` of its objects: `v1` in the core group, else `group/version`.
    pub fn api_version(&self) -> Cow<'static, str> {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version).into()
        }
    }
}

impl fmt::Display for ApiResource {
    /// `pods/v1` in the core group, else `deployments.apps/v1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, "/{}", self.version)
    }
}

/// Short ways to what most objects have. Absent fields read as empty.
pub trait ResourceExt: Resource {
    /// The name; empty while the object has none (before `generateName` was resolved).
    fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    /// The namespace.
    fn namespace(&self) -> Option<&str> {
        self.meta().namespace.as_deref()
    }

    /// The uid; absent until the server has stored the object.
    fn uid(&self) -> Option<&str> {
        self.meta().uid.as_deref()
    }

    /// The resource version: an opaque string, to be sent back and never compared for order.
    fn resource_version(&self) -> Option<&str> {
        self.meta().resource_version.as_deref()
    }

    /// The generation: grows when the desired state changes.
    fn generation(&self) -> Option<i64> {
        self.meta().generation
    }

    /// The labels.
    fn labels(&self) -> &BTreeMap<String, String> {
        self.meta().labels.as_ref().unwrap_or(&EMPTY)
    }

    /// The annotations.
    fn annotations(&self) -> &BTreeMap<String, String> {
        self.meta().annotations.as_ref().unwrap_or(&EMPTY)
    }

    /// The finalizers.
    fn finalizers(&self) -> &[String] {
        self.meta().finalizers.as_deref().unwrap_or_default()
    }

    /// The owner references.
    fn owner_references(&self) -> &[OwnerReference] {
        self.meta().owner_references.as_deref().unwrap_or_default()
    }

    /// Whether deletion has been asked for: the object stays until its finalizers are gone.
    fn is_deleting(&self) -> bool {
        self.meta().deletion_timestamp.is_some()
    }

    /// Namespace and name.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// The reference that makes a child belong to this object as its one controller (`controller: true`,
    /// `blockOwnerDeletion: true`), so that the garbage collector deletes the child with it.
    /// `None` until the object has a name and a uid.
    fn controller_owner_ref(&self, dynamic: &Self::Dynamic) -> Option<OwnerReference> {
        let resource = Self::api_resource(dynamic);
        Some(OwnerReference {
            api_version: resource.api_version().into_owned(),
            kind: resource.kind.into_owned(),
            name: self.meta().name.clone()?,
            uid: self.meta().uid.clone()?,
            controller: Some(true),
            block_owner_deletion: Some(true),
        })
    }
}

impl<K: Resource + ?Sized> ResourceExt for K {}

static EMPTY: BTreeMap<String, String> = BTreeMap::new();

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        core::v1::{Namespace, Pod},
        rbac::v1::ClusterRole,
    };

    use super::*;

    #[test]
    fn built_in_types_know_their_place() {
        let rows = [
            (ApiResource::of::<Pod>(), "pods/v1", "v1", true),
            (ApiResource::of::<Namespace>(), "namespaces/v1", "v1", false),
            (
                ApiResource::of::<ClusterRole>(),
                "clusterroles.rbac.authorization.k8s.io/v1",
                "rbac.authorization.k8s.io/v1",
                false,
            ),
        ];
        for (resource, text, api_version, namespaced) in rows {
            assert_eq!(resource.to_string(), text);
            assert_eq!(resource.api_version(), api_version);
            assert_eq!(resource.namespaced, namespaced);
        }
    }

    #[test]
    fn an_owner_reference_needs_a_uid() {
        let mut namespace = Namespace::default();
        namespace.meta_mut().name = Some("a".into());
        assert_eq!(namespace.controller_owner_ref(&()), None);
        namespace.meta_mut().uid = Some("u1".into());
        let reference = namespace.controller_owner_ref(&()).unwrap();
        assert_eq!((reference.kind.as_str(), reference.controller), ("Namespace", Some(true)));
        assert_eq!(namespace.key(), ObjectKey::cluster("a"));
    }
}
