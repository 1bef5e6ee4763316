//! Status, scale, and any other subresource by name.
//!
//! A subresource is read and written by the same requests as its object, with other content: a `Scale`, an `Eviction`, a
//! `TokenRequest`; only `status` has the object itself. So the general methods name the types of what is sent and of what
//! comes back.

use std::borrow::Cow;

use k8s_openapi::api::autoscaling::v1::Scale;
use kube_core::{GetParams, Patch, PatchParams, RequestError, Resource, WriteParams};
use serde::{Serialize, de::DeserializeOwned};

use super::{Api, Placed};
use crate::Error;

const STATUS: &str = "status";
const SCALE: &str = "scale";

impl<K: Resource + DeserializeOwned> Api<K, Placed> {
    /// Gets an object through its status.
    pub async fn get_status(&self, name: &str) -> Result<K, Error> {
        self.get_subresource(STATUS, name).await
    }

    /// Changes the status by a patch, in the form of the whole object (`{"status": {...}}`). Everything but the status is
    /// left as it is.
    pub async fn patch_status<T: Serialize>(
        &self,
        name: &str,
        patch: &Patch<T>,
        params: &PatchParams,
    ) -> Result<K, Error> {
        self.patch_subresource(STATUS, name, patch, params).await
    }

    /// Replaces the status by that of `object`. With its resource version inside, only if it has not changed since.
    pub async fn replace_status(&self, name: &str, object: &K, params: &WriteParams) -> Result<K, Error>
    where
        K: Serialize,
    {
        let endpoint = self.endpoint()?.subresource(STATUS);
        let request = endpoint.replace(name, endpoint.body("replace status of", object)?, params)?;
        self.client().request(request).await
    }
}

impl<K: Resource> Api<K, Placed> {
    /// Gets the scale.
    pub async fn get_scale(&self, name: &str) -> Result<Scale, Error> {
        self.get_subresource(SCALE, name).await
    }

    /// Changes the scale by a patch, such as `{"spec": {"replicas": 3}}`.
    pub async fn patch_scale<T: Serialize>(
        &self,
        name: &str,
        patch: &Patch<T>,
        params: &PatchParams,
    ) -> Result<Scale, Error> {
        self.patch_subresource(SCALE, name, patch, params).await
    }

    /// Replaces the scale.
    pub async fn replace_scale(
        &self,
        name: &str,
        scale: &Scale,
        params: &WriteParams,
    ) -> Result<Scale, Error> {
        self.replace_subresource(SCALE, name, scale, params).await
    }

    /// Gets a subresource.
    pub async fn get_subresource<R: DeserializeOwned>(
        &self,
        subresource: impl Into<Cow<'static, str>>,
        name: &str,
    ) -> Result<R, Error> {
        let request = self.endpoint()?.subresource(subresource).get(name, &GetParams::default())?;
        self.client().request(request).await
    }

    /// Posts to a subresource: an eviction, a binding, a token request. The body must name its own type.
    pub async fn create_subresource<T: Serialize, R: DeserializeOwned>(
        &self,
        subresource: impl Into<Cow<'static, str>>,
        name: &str,
        body: &T,
        params: &WriteParams,
    ) -> Result<R, Error> {
        let body = self.json("create", body)?;
        let request = self.endpoint()?.subresource(subresource).create_subresource(name, body, params)?;
        self.client().request(request).await
    }

    /// Replaces a subresource. The body must name its own type.
    pub async fn replace_subresource<T: Serialize, R: DeserializeOwned>(
        &self,
        subresource: impl Into<Cow<'static, str>>,
        name: &str,
        body: &T,
        params: &WriteParams,
    ) -> Result<R, Error> {
        let body = self.json("replace", body)?;
        let request = self.endpoint()?.subresource(subresource).replace(name, body, params)?;
        self.client().request(request).await
    }

    /// Changes a subresource by a patch.
    pub async fn patch_subresource<T: Serialize, R: DeserializeOwned>(
        &self,
        subresource: impl Into<Cow<'static, str>>,
        name: &str,
        patch: &Patch<T>,
        params: &PatchParams,
    ) -> Result<R, Error> {
        let request = self.endpoint()?.subresource(subresource).patch(name, patch, params)?;
        self.client().request(request).await
    }

    /// What a subresource holds has a type of its own, which is not the handle's to fill in.
    fn json<T: Serialize>(&self, verb: &'static str, body: &T) -> Result<Vec<u8>, RequestError> {
        serde_json::to_vec(body).map_err(|source| RequestError::Serialize {
            verb,
            resource: Box::new(self.resource().clone()),
            source,
        })
    }
}
