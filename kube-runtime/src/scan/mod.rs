//! Decides where each object in a frame of bytes ends, who it is, and which of its bytes are kept.
//!
//! ```text
//!   line  ──▶ scan_line ───▶ WatchLine ┐            ┌ key        namespace/name
//!   lines ──▶ scan_batch ──▶ in order  ├──▶ Scanned ┤ header     places of uid, resourceVersion, labels, owners, ...
//!   body  ──▶ scan_list ───▶ ListPage  │            └ text       the object's own bytes, managedFields cut out
//!   bytes ──▶ scan_object ─────────────┘                            └▶ decoded later, by its first reader
//! ```
//!
//! In: bytes as they came, UTF-8 or not, JSON or not. Out: values, or a [`ScanError`] that is data. Everything is one
//! forward pass (`json.rs` finds ends, `walk.rs` finds places, `scanned.rs` copies) and holds no state between calls.
//!
//! Why not decode at once: most of what a watch brings is never read, and decoding a 4.5 KB Pod takes ten times as long
//! as this pass and eight times the memory. Why not `serde_json` with borrowed structs: it must visit `managedFields` and
//! the rest as values to skip them, and cannot copy around a part in the same pass.
//!
//! An object is found and keyed even where it cannot be decoded ([`Scanned::unfit`]), and one that cannot be keyed is
//! an error for itself only: the page or the watch around it goes on. Only bytes that are not JSON at all spoil their
//! line, or their page, for these have no end to go on from.
//!
//! Splitting a stream into lines, deciding what a fault means for the watch, and decoding are left to the watcher and
//! the cache.

mod batch;
mod error;
mod items;
mod json;
mod line;
mod list;
mod scanned;
#[cfg(test)]
mod tests;
mod walk;

pub use error::{ScanError, ScanFault};
pub use line::WatchLine;
pub use list::ListPage;
pub use scanned::{Header, OwnerRef, Scanned};

use json::Scanner;
use walk::{Source, walk};

/// What to keep of an object. The functions beside it use the default; its methods of the same names use it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Keep `metadata.managedFields`. Off by default: it is a quarter of a typical object, and only server-side apply's
    /// bookkeeping reads it.
    pub keep_managed_fields: bool,
}

/// Scans exactly one object, with white space around it.
///
/// # Errors
/// If the bytes are not one JSON object in UTF-8, or it has no name that makes a key.
pub fn scan_object(bytes: &[u8], options: ScanOptions) -> Result<Scanned, ScanError> {
    let source = Source::new(bytes);
    let mut scanner = Scanner::new(bytes);
    let object = walk(&mut scanner, source)?;
    scanner.end()?;
    scanned::finish(object, source, options.keep_managed_fields)
}

/// Scans one line of a watch, `{"type":"ADDED","object":{...}}`, the two in either order. A line end is white space.
pub fn scan_line(line: &[u8]) -> WatchLine {
    ScanOptions::default().scan_line(line)
}

/// Scans lines of a watch, in parallel where it is worth it. The results are in order; blank lines have none.
pub fn scan_batch<L: AsRef<[u8]> + Sync>(lines: &[L]) -> Vec<WatchLine> {
    ScanOptions::default().scan_batch(lines)
}

/// Scans a page of a list, in parallel where it is worth it. Items are in order, each with its own result.
///
/// # Errors
/// If the body is not one JSON object, or its `metadata` or `items` is neither null nor what it should be.
pub fn scan_list(body: &[u8]) -> Result<ListPage, ScanError> {
    ScanOptions::default().scan_list(body)
}
