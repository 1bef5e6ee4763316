//! Every verb on the objects of one kind.
//!
//! In: a kind, a place, objects and parameters. Out: objects, lists, events. A handle is a [`Client`] and an
//! [`Endpoint`]; requests are built by `kube-core`, which refuses what would not mean what it says (an empty name, an apply
//! without a field manager) before anything is sent.
//!
//! Scopes are types: which constructor a kind has, and which verbs a handle has, is known to the compiler. A handle to
//! all namespaces can list and watch; it has no `get`, because no single object is meant.
//!
//! What it leaves to others: resuming a watch, paging through a list, keeping what was read.

mod delete;
mod subresource;
mod verbs;
mod watch;

use std::{borrow::Cow, fmt, marker::PhantomData};

use http::Request;
use kube_core::{
    ApiResource, ClusterScope, DynamicObject, Endpoint, NamespaceScope, PartialObjectMeta, RequestError,
    Resource,
};
use serde::de::DeserializeOwned;

use crate::{Client, Error};

pub use delete::Deleted;
pub use watch::EventStream;

/// Marks a handle to one place: a namespace, or the cluster for kinds that have no namespace. All verbs.
#[derive(Debug, Clone, Copy)]
pub enum Placed {}

/// Marks a handle to all namespaces: list and watch.
#[derive(Debug, Clone, Copy)]
pub enum AllNamespaces {}

/// A handle to the objects of kind `K` in one place ([`Placed`]) or in all namespaces ([`AllNamespaces`]).
///
/// A kind without a namespace has no namespaced handle:
/// ```compile_fail,E0599
/// # fn example(client: kube_client::Client) {
/// use k8s_openapi::api::core::v1::Node;
/// let nodes = kube_client::Api::<Node>::namespaced(client, "shop");
/// # }
/// ```
/// A kind that lives in namespaces has no cluster-wide handle for single objects:
/// ```compile_fail,E0599
/// # fn example(client: kube_client::Client) {
/// use k8s_openapi::api::core::v1::Pod;
/// let pods = kube_client::Api::<Pod>::cluster(client);
/// # }
/// ```
/// And all namespaces together have no object of a name:
/// ```compile_fail,E0599
/// # async fn example(client: kube_client::Client) {
/// use k8s_openapi::api::core::v1::Pod;
/// let pod = kube_client::Api::<Pod>::all(client).get("web").await;
/// # }
/// ```
pub struct Api<K: Resource, P = Placed> {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    /// `None` when the namespace cannot be one: each verb then says so, so that making a handle need not.
    endpoint: Option<Endpoint>,
    place: PhantomData<fn() -> (K, P)>,
}

impl<K: Resource<Scope = NamespaceScope, Dynamic = ()>> Api<K> {
    /// The objects of a namespace. A name that no namespace can have, such as an empty one, is an error of the first
    /// verb.
    pub fn namespaced(client: Client, namespace: &str) -> Self {
        Self::at(client, K::api_resource(&()), Some(namespace))
    }

    /// The objects of the client's default namespace: the context's, or the pod's.
    pub fn default_namespaced(client: Client) -> Self {
        let namespace = client.default_namespace().to_owned();
        Self::namespaced(client, &namespace)
    }

    /// The objects of all namespaces.
    pub fn all(client: Client) -> Api<K, AllNamespaces> {
        Api::at(client, K::api_resource(&()), None)
    }
}

impl<K: Resource<Scope = ClusterScope, Dynamic = ()>> Api<K> {
    /// The objects of a kind that has no namespace.
    pub fn cluster(client: Client) -> Self {
        Self::at(client, K::api_resource(&()), None)
    }
}

impl Api<DynamicObject> {
    /// The objects of a kind known at run time: in a namespace, or without one for kinds that have none. For a namespaced
    /// kind without a namespace, list and watch mean all namespaces, and the other verbs are errors.
    pub fn dynamic(client: Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        Self::at(client, resource, namespace)
    }
}

impl<K: Resource, P> Api<K, P> {
    /// The same objects, of which only the metadata is read: get, list and watch bring [`PartialObjectMeta`], and the
    /// server leaves out the rest.
    ///
    /// There is no metadata to create or replace an object from:
    /// ```compile_fail,E0599
    /// # async fn example(pods: kube_client::Api<k8s_openapi::api::core::v1::Pod>) -> Result<(), kube_client::Error> {
    /// let pods = pods.metadata_only();
    /// let pod = pods.get("web").await?;
    /// pods.replace("web", &pod, &kube_client::core::WriteParams::default()).await?;
    /// # Ok(()) }
    /// ```
    pub fn metadata_only(self) -> Api<PartialObjectMeta<K>, P> {
        let endpoint = self.endpoint.map(Endpoint::metadata_only);
        Api {
            client: self.client,
            resource: self.resource,
            namespace: self.namespace,
            endpoint,
            place: PhantomData,
        }
    }

    /// The client that requests go through.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace; `None` for kinds that have none, and for all namespaces.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The builder of requests for this kind and place, for requests that have no verb here.
    ///
    /// # Errors
    /// A namespace that cannot be one.
    pub fn endpoint(&self) -> Result<Cow<'_, Endpoint>, RequestError> {
        match &self.endpoint {
            Some(endpoint) => Ok(Cow::Borrowed(endpoint)),
            // It was refused when the handle was made; ask again for the reason.
            None => Endpoint::new(&self.resource, self.namespace.as_deref()).map(Cow::Owned),
        }
    }

    fn at(client: Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        let endpoint = Endpoint::new(&resource, namespace).ok();
        Self { client, resource, namespace: namespace.map(str::to_owned), endpoint, place: PhantomData }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        build: impl FnOnce(&Endpoint) -> Result<Request<Vec<u8>>, RequestError>,
    ) -> Result<T, Error> {
        let request = build(&*self.endpoint()?)?;
        self.client.request(request).await
    }
}

impl<K: Resource, P> Clone for Api<K, P> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            endpoint: self.endpoint.clone(),
            place: PhantomData,
        }
    }
}

impl<K: Resource, P> fmt::Debug for Api<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
