//! One object in a cache: its bytes, and what was decoded from them.
//!
//! In: scanned bytes. Out: `Arc<K>`, decoded by the first reader on the reader's thread, and shared from then on.
//! How long the decoded value stays is the [`Keep`] policy of the cache. An object that does not fit its type is told once,
//! with its key and the path of the field, and every later reader gets the same error without decoding again.
//! Why a lock and not a once-cell: a `Weak` has to be replaced when its value is gone. It is held over the decoding of this
//! one object, so that readers of the same object wait for one decode instead of doing it twice; nobody else waits.

use std::{
    any::{Any, TypeId},
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use kube_core::ObjectKey;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::scan::Scanned;

type Shared = Arc<dyn Any + Send + Sync>;

/// How long a cache keeps what was decoded from an object's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// As long as somebody holds it. The default: what only reconciles read would otherwise cost several times the memory
    /// of the bytes, and is read about once for each change.
    #[default]
    Bytes,
    /// As long as the object has not changed: for stores that are read as a whole.
    Decoded,
}

/// An object that does not fit the type it was read as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} at version {resource_version} does not fit its type: {message}")]
pub struct Misfit {
    /// Which object.
    pub key: ObjectKey,
    /// Its version.
    pub resource_version: String,
    /// The path of the field and what is wrong with it.
    pub message: String,
}

/// One object in a cache. Dereferences to what was [`Scanned`] of it.
pub struct Slot {
    scanned: Scanned,
    decoded: Mutex<Decoded>,
}

enum Decoded {
    Nothing,
    Held(Shared),
    Lent(Weak<dyn Any + Send + Sync>),
    Misfit(TypeId, Arc<Misfit>),
}

impl Slot {
    pub(crate) fn new(scanned: Scanned) -> Self {
        Self { scanned, decoded: Mutex::new(Decoded::Nothing) }
    }

    /// The object as a `K`.
    ///
    /// A slot remembers one type at a time: reading it as another decodes again, and a type that it does not fit stays
    /// remembered.
    ///
    /// # Errors
    /// The object does not fit the type. Logged as a warning the first time.
    pub fn decode<K>(&self, keep: Keep) -> Result<Arc<K>, Arc<Misfit>>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let mut decoded = self.decoded.lock();
        let known = match &*decoded {
            Decoded::Held(value) => Some(value.clone()),
            Decoded::Lent(value) => value.upgrade(),
            Decoded::Misfit(kind, misfit) if *kind == TypeId::of::<K>() => return Err(misfit.clone()),
            Decoded::Nothing | Decoded::Misfit(..) => None,
        };
        if let Some(value) = known.and_then(|value| value.downcast::<K>().ok()) {
            if keep == Keep::Decoded {
                *decoded = Decoded::Held(value.clone());
            }
            return Ok(value);
        }
        match parse::<K>(&self.scanned) {
            Ok(value) => {
                let value = Arc::new(value);
                let shared: Shared = value.clone();
                match (&*decoded, keep) {
                    // Another type's misfit is not forgotten, or it would be told again at its next reader.
                    (Decoded::Misfit(..), _) => {}
                    (_, Keep::Bytes) => *decoded = Decoded::Lent(Arc::downgrade(&shared)),
                    (_, Keep::Decoded) => *decoded = Decoded::Held(shared),
                }
                Ok(value)
            }
            Err(misfit) => {
                tracing::warn!(object = %misfit.key, resource_version = misfit.resource_version, error = misfit.message,
                    "object does not fit its type; it is left out until it changes");
                let misfit = Arc::new(misfit);
                *decoded = Decoded::Misfit(TypeId::of::<K>(), misfit.clone());
                Err(misfit)
            }
        }
    }
}

impl Deref for Slot {
    type Target = Scanned;

    fn deref(&self) -> &Scanned {
        &self.scanned
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key(), self.resource_version())
    }
}

fn parse<K: DeserializeOwned>(scanned: &Scanned) -> Result<K, Misfit> {
    serde_json::from_str(scanned.text()).map_err(|first| {
        // Decoding with a path is slower, so it is done only when something has to be told.
        let again = &mut serde_json::Deserializer::from_str(scanned.text());
        let message = match serde_path_to_error::deserialize::<_, K>(again) {
            Err(error) => error.to_string(),
            Ok(_) => first.to_string(),
        };
        Misfit {
            key: scanned.key().clone(),
            resource_version: scanned.resource_version().to_owned(),
            message,
        }
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::{DynamicObject, ResourceExt};

    use super::*;
    use crate::cache::testing::slot;

    #[test]
    fn readers_share_one_decoded_value_while_it_is_held() {
        let slot = slot("a", "u", "1");
        let one = slot.decode::<ConfigMap>(Keep::Bytes).unwrap();
        assert!(Arc::ptr_eq(&one, &slot.decode(Keep::Bytes).unwrap()));
        let weak = Arc::downgrade(&one);
        drop(one);
        assert!(weak.upgrade().is_none(), "nothing is kept once nobody holds it");
        assert_eq!(slot.decode::<ConfigMap>(Keep::Bytes).unwrap().name(), "a");
    }

    #[test]
    fn a_kept_value_stays() {
        let slot = slot("a", "u", "1");
        let weak = Arc::downgrade(&slot.decode::<ConfigMap>(Keep::Decoded).unwrap());
        assert!(weak.upgrade().is_some());
    }

    #[test]
    fn another_type_reads_the_same_slot() {
        let slot = slot("a", "u", "1");
        assert_eq!(slot.decode::<ConfigMap>(Keep::Decoded).unwrap().name(), "a");
        assert_eq!(slot.decode::<DynamicObject>(Keep::Decoded).unwrap().name(), "a");
    }

    #[test]
    fn a_misfit_names_the_object_and_the_field_and_fits_another_type() {
        let text = br#"{"metadata":{"name":"b","resourceVersion":"7"},"data":{"k":5}}"#;
        let slot = Slot::new(crate::scan::scan_object(text, crate::scan::ScanOptions::default()).unwrap());
        let misfit = slot.decode::<ConfigMap>(Keep::Bytes).unwrap_err();
        assert_eq!((misfit.key.as_str(), misfit.resource_version.as_str()), ("b", "7"));
        assert!(misfit.message.contains("data.k"), "{}", misfit.message);
        assert!(Arc::ptr_eq(&misfit, &slot.decode::<ConfigMap>(Keep::Bytes).unwrap_err()));
        assert!(slot.decode::<DynamicObject>(Keep::Bytes).is_ok());
    }

    #[test]
    fn a_misfit_is_told_once_however_many_types_read_the_slot() {
        let text = br#"{"metadata":{"name":"b"},"data":{"k":5}}"#;
        let slot = Slot::new(crate::scan::scan_object(text, crate::scan::ScanOptions::default()).unwrap());
        let misfit = slot.decode::<ConfigMap>(Keep::Bytes).unwrap_err();
        assert!(slot.decode::<DynamicObject>(Keep::Bytes).is_ok());
        assert!(Arc::ptr_eq(&misfit, &slot.decode::<ConfigMap>(Keep::Bytes).unwrap_err()));
    }

    #[test]
    fn a_value_that_was_lent_is_kept_once_somebody_wants_it_kept() {
        let slot = slot("a", "u", "1");
        let lent = slot.decode::<ConfigMap>(Keep::Bytes).unwrap();
        let weak = Arc::downgrade(&slot.decode::<ConfigMap>(Keep::Decoded).unwrap());
        drop(lent);
        assert!(weak.upgrade().is_some());
    }
}
