//! Decodes JSON of an answer. UTF-8 is checked once for the whole, which is faster than serde's check of each string.

use serde::de::{DeserializeOwned, Error};

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?)
}
