//! Decodes the JSON of an answer.

use std::any::type_name;

use http::Method;
use serde::de::{DeserializeOwned, Error as _};

use crate::Error;

/// Decodes what the request of this method and path was answered with. UTF-8 is checked once for the whole, which is
/// faster than serde's check of each string.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], method: &Method, path: &str) -> Result<T, Error> {
    std::str::from_utf8(bytes).map_err(serde_json::Error::custom).and_then(serde_json::from_str).map_err(
        |source| Error::Decode {
            method: method.clone(),
            path: path.to_owned(),
            expected: type_name::<T>(),
            source,
        },
    )
}
