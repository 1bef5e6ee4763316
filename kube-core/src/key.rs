//! Names an object: [`ObjectKey`] within its kind, [`ObjectRef`] with it.
//!
//! A key is one shared string, `namespace/name` or `name`, so that a cache, its indexes, a queue and a worker hold the same
//! allocation and a clone is a reference count. Neither part can contain a slash (they are path segments of the API), so
//! the text splits one way only.

use std::{borrow::Borrow, fmt, sync::Arc};

use crate::ApiResource;

/// Namespace and name of an object within its kind; without a namespace for cluster-scoped kinds.
///
/// Ordered by its text, so keys of one namespace stand together.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of `name` in `namespace`; no namespace, or an empty one, means a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self::namespaced(namespace, name),
            _ => Self::cluster(name),
        }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The key of an object in a namespace.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        Self(Arc::from(text))
    }

    /// The namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The whole text: `namespace/name`, or `name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// One object of any kind: for errors, logs and events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub resource: ApiResource,
    /// Which one of that kind.
    pub key: ObjectKey,
}

impl fmt::Display for ObjectRef {
    /// `Deployment.apps shop/web`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource.kind)?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        write!(f, " {}", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_splits_the_way_it_was_made() {
        for (namespace, name, text) in [
            (Some("shop"), "web", "shop/web"),
            (None, "node-1", "node-1"),
            (Some(""), "node-1", "node-1"),
            (Some("kube-system"), "system:controller:x", "kube-system/system:controller:x"),
        ] {
            let key = ObjectKey::new(namespace, name);
            assert_eq!(key.as_str(), text);
            assert_eq!(key.name(), name);
            assert_eq!(key.namespace(), namespace.filter(|n| !n.is_empty()));
        }
    }

    #[test]
    fn the_key_of_a_cluster_scoped_owner_equals_the_key_of_its_own_watch() {
        assert_eq!(ObjectKey::new(None, "p"), ObjectKey::cluster("p"));
        assert_ne!(ObjectKey::namespaced("ns1", "p"), ObjectKey::cluster("p"));
    }

    #[test]
    fn a_ref_names_kind_group_and_key() {
        let resource = ApiResource::new("apps", "v1", "Deployment", "deployments", true);
        let object = ObjectRef { resource, key: ObjectKey::namespaced("shop", "web") };
        assert_eq!(object.to_string(), "Deployment.apps shop/web");
    }
}
