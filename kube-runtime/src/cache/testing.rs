//! Objects for the tests of the cache and the controller.

use super::Slot;
use crate::scan::{ScanOptions, Scanned, scan_object};

/// An object `name` with this uid and version, as it would come in.
pub(crate) fn scanned(name: &str, uid: &str, version: &str) -> Scanned {
    let text = format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}","resourceVersion":"{version}"}}}}"#);
    scan_object(text.as_bytes(), ScanOptions::default()).unwrap()
}

pub(crate) fn slot(name: &str, uid: &str, version: &str) -> Slot {
    Slot::new(scanned(name, uid, version))
}
