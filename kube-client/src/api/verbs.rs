//! Get, list, create, replace, patch, apply, delete.

use kube_core::{DeleteParams, GetParams, ListParams, ObjectList, Patch, PatchParams, Resource, WriteParams};
use serde::{Serialize, de::DeserializeOwned};

use super::{Api, Deleted, Placed, delete};
use crate::Error;

impl<K: Resource + DeserializeOwned> Api<K, Placed> {
    /// Gets an object in its most recent state.
    ///
    /// # Errors
    /// [`Error::is_not_found`] when it is not there.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.get_with(name, &GetParams::default()).await
    }

    /// Gets an object, perhaps in an older state that the server has at hand.
    pub async fn get_with(&self, name: &str, params: &GetParams) -> Result<K, Error> {
        self.send(|endpoint| endpoint.get(name, params)).await
    }

    /// Gets an object in its most recent state; `None` when it is not there.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes an object by a patch. A strategic merge patch is for built-in kinds only: a custom resource answers 415.
    ///
    /// # Errors
    /// [`Error::Request`] for `force` with anything but an apply, and for an apply without a field manager.
    pub async fn patch<T: Serialize>(
        &self,
        name: &str,
        patch: &Patch<T>,
        params: &PatchParams,
    ) -> Result<K, Error> {
        self.send(|endpoint| endpoint.patch(name, patch, params)).await
    }

    /// Deletes an object. The answer is the object where its deletion takes time (finalizers, a grace period), or a
    /// status where it is gone.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Deleted<K>, Error> {
        delete::send(self, |endpoint| endpoint.delete(name, params)).await
    }

    /// Deletes every object of this place that the list parameters select.
    pub async fn delete_collection(
        &self,
        params: &DeleteParams,
        list: &ListParams,
    ) -> Result<Deleted<ObjectList<K>>, Error> {
        delete::send(self, |endpoint| endpoint.delete_collection(params, list)).await
    }
}

impl<K: Resource + Serialize + DeserializeOwned> Api<K, Placed> {
    /// Creates an object, and gives back what was stored.
    ///
    /// # Errors
    /// [`Error::is_already_exists`] when there is one of that name.
    pub async fn create(&self, object: &K, params: &WriteParams) -> Result<K, Error> {
        self.send(|endpoint| endpoint.create(endpoint.body("create", object)?, params)).await
    }

    /// Replaces an object as a whole. With its resource version inside, only if it has not changed since.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when it has changed.
    pub async fn replace(&self, name: &str, object: &K, params: &WriteParams) -> Result<K, Error> {
        self.send(|endpoint| endpoint.replace(name, endpoint.body("replace", object)?, params)).await
    }

    /// Makes the fields of `object` be as they are there, and gives up those that this field manager set before and does
    /// not set any more (server-side apply). Creates the object where there is none.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when another manager owns one of the fields, named in the status' causes, and the
    /// parameters do not force.
    pub async fn apply(&self, name: &str, object: &K, params: &PatchParams) -> Result<K, Error> {
        self.patch(name, &Patch::Apply(object), params).await
    }
}

impl<K: Resource + DeserializeOwned, P> Api<K, P> {
    /// Lists objects: a page, or all where the parameters set no limit.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        self.send(|endpoint| endpoint.list(params)).await
    }
}
