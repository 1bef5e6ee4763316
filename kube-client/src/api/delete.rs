//! What a deletion answers: the object, or a status. Which of the two cannot be told from the request, only from the
//! answer's `kind`: the object's own `status` is a map, a status' one a string.

use http::Request;
use kube_core::{Endpoint, RequestError, Resource, Status};
use serde::{Deserialize, de::DeserializeOwned};

use super::Api;
use crate::{Error, decode::decode};

/// The answer to a deletion.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted<T> {
    /// What was deleted, in its last state; or, where deletion takes time, in its state while it is being deleted.
    Object(T),
    /// The server says that it is done, and no more.
    Status(Box<Status>),
}

impl<T> Deleted<T> {
    /// The object, where the server sent it.
    pub fn object(self) -> Option<T> {
        match self {
            Self::Object(object) => Some(object),
            Self::Status(_) => None,
        }
    }
}

pub(super) async fn send<K: Resource, P, T: DeserializeOwned>(
    api: &Api<K, P>,
    build: impl FnOnce(&Endpoint) -> Result<Request<Vec<u8>>, RequestError>,
) -> Result<Deleted<T>, Error> {
    let request = build(&*api.endpoint()?)?;
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let bytes = api.client().request_bytes(request).await?;
    let kind: Kind = decode(&bytes, &method, &path)?;
    if kind.kind.as_deref() == Some("Status") {
        decode(&bytes, &method, &path).map(Deleted::Status)
    } else {
        decode(&bytes, &method, &path).map(Deleted::Object)
    }
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}
