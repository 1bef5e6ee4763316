//! Finds the header of one object while walking to its end.
//!
//! In: a [`Scanner`] before an object. Out: a [`Walk`], which holds places only: where the object lies, where the fields
//! of its metadata are, and which pieces (`metadata.managedFields`) to leave out of the copy. Nothing is copied here, so
//! that a line's type may still come after its object.
//!
//! Keys are compared after unescaping (`"\u006detadata"` is `metadata`). Of a key that comes twice the last counts, as in
//! `serde_json`'s `Value` and in encoding/json's maps; a later `metadata` replaces the whole of an earlier one, and every
//! `managedFields` of every one is cut. A field that is null counts as absent.
//!
//! What is wrong with an object that is JSON (no name, a number for a uid) does not stop the walk: the next object is
//! found all the same. Whether that matters is decided by who finishes the walk.

use std::{borrow::Cow, ops::Range};

use super::{
    error::{ScanError, ScanFault},
    json::{Raw, Scanner, Str},
};

/// Bytes being scanned, with the answer whether they are text: UTF-8 is checked once for the whole frame, and only where
/// that fails piece by piece, so that the objects beside a broken one are not lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    text: Option<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, text: std::str::from_utf8(bytes).ok() }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// One piece as text.
    pub(super) fn text(&self, range: Range<usize>) -> Result<&'a str, ScanError> {
        if let Some(piece) = self.text.and_then(|text| text.get(range.clone())) {
            return Ok(piece);
        }
        std::str::from_utf8(&self.bytes[range.clone()])
            .map_err(|error| ScanError::new(ScanFault::InvalidUtf8, range.start + error.valid_up_to()))
    }

    /// A key, unescaped.
    pub(super) fn key(&self, key: Str) -> Cow<'a, [u8]> {
        let bytes = &self.bytes[key.start..key.end];
        if !key.escaped {
            return Cow::Borrowed(bytes);
        }
        // A key that no text can hold is none of the keys that are looked for.
        unescape(&self.bytes[key.start - 1..=key.end])
            .map_or(Cow::Borrowed(bytes), |text| Cow::Owned(text.into_bytes()))
    }

    /// A value that should be a string: its text, unescaped.
    pub(super) fn string(&self, value: Raw, what: &'static str) -> Result<Cow<'a, str>, ScanError> {
        if self.bytes[value.start] != b'"' {
            return Err(ScanError::new(ScanFault::NotAString(what), value.start));
        }
        let text = self.text(value.start + 1..value.end - 1)?;
        if !value.escaped {
            return Ok(Cow::Borrowed(text));
        }
        unescape(&self.bytes[value.start..value.end])
            .map(Cow::Owned)
            .ok_or_else(|| ScanError::new(ScanFault::Unreadable(what), value.start))
    }

    /// The same for a field that may be absent.
    pub(super) fn string_or_empty(
        &self,
        value: Option<Raw>,
        what: &'static str,
    ) -> Result<Cow<'a, str>, ScanError> {
        value.map_or(Ok(Cow::Borrowed("")), |value| self.string(value, what))
    }

    pub(super) fn is_null(&self, value: Raw) -> bool {
        self.bytes[value.start] == b'n'
    }
}

fn unescape(quoted: &[u8]) -> Option<String> {
    serde_json::from_slice(quoted).ok()
}

/// Where the fields of an object's metadata are; `None` = absent or null.
#[derive(Debug, Default)]
pub(super) struct Meta {
    pub(super) name: Option<Raw>,
    pub(super) namespace: Option<Raw>,
    pub(super) uid: Option<Raw>,
    pub(super) resource_version: Option<Raw>,
    pub(super) generation: Option<Raw>,
    pub(super) deletion_timestamp: Option<Raw>,
    pub(super) labels: Option<Raw>,
    pub(super) annotations: Option<Raw>,
    pub(super) owner_references: Option<Raw>,
    pub(super) finalizers: Option<Raw>,
}

/// What one walk over an object found.
#[derive(Debug)]
pub(super) struct Walk {
    /// From its first byte to after its last.
    pub(super) span: Range<usize>,
    /// `None`: no metadata, or null.
    pub(super) meta: Option<Meta>,
    /// Pieces to leave out, in order, apart from or next to each other, each with the comma that goes with it.
    pub(super) cuts: Vec<Range<usize>>,
    /// The value is no object, or its metadata is none.
    pub(super) misfit: Option<ScanError>,
    /// What in it no decoder will take, outside of the cuts.
    pub(super) unfit: Option<ScanError>,
    /// The same inside of them.
    pub(super) unfit_in_cuts: Option<ScanError>,
}

/// Walks over one value that should be an object.
///
/// # Errors
/// Only if it is not JSON, and so has no end.
pub(super) fn walk(scanner: &mut Scanner<'_>, source: Source<'_>) -> Result<Walk, ScanError> {
    let first = scanner.token()?;
    let start = scanner.at();
    let mut walk = Walk {
        span: start..start,
        meta: None,
        cuts: Vec::new(),
        misfit: None,
        unfit: None,
        unfit_in_cuts: None,
    };
    // What was unfit before this object is not this object's.
    scanner.take_unfit();
    if first == b'{' {
        scanner.bump();
        let mut first = true;
        while let Some(key) = scanner.key(first)? {
            first = false;
            if &*source.key(key) == b"metadata" {
                walk_metadata(scanner, source, &mut walk)?;
            } else {
                scanner.value(1)?;
            }
        }
    } else {
        scanner.value(0)?;
        walk.misfit = Some(ScanError::new(ScanFault::NotAnObject("the object"), start));
    }
    walk.span.end = scanner.at();
    walk.unfit = walk.unfit.or(scanner.take_unfit());
    Ok(walk)
}

fn walk_metadata(scanner: &mut Scanner<'_>, source: Source<'_>, walk: &mut Walk) -> Result<(), ScanError> {
    walk.meta = None;
    walk.misfit = None;
    if scanner.token()? != b'{' {
        let value = scanner.value(1)?;
        if !source.is_null(value) {
            walk.misfit = Some(ScanError::new(ScanFault::NotAnObject("metadata"), value.start));
        }
        return Ok(());
    }
    scanner.bump();
    walk.unfit = walk.unfit.take().or(scanner.take_unfit());
    let mut meta = Meta::default();
    let mut cutter = Cutter::default();
    let mut first = true;
    while let Some(key) = scanner.key(first)? {
        first = false;
        cutter.key(key.start - 1, &mut walk.cuts);
        let name = source.key(key);
        let value = scanner.value(2)?;
        let cut = &*name == b"managedFields";
        cutter.value(value.end, cut, &mut walk.cuts);
        let unfit = if cut { &mut walk.unfit_in_cuts } else { &mut walk.unfit };
        *unfit = unfit.take().or(scanner.take_unfit());
        if let Some(field) = meta.field(&name) {
            *field = (!source.is_null(value)).then_some(value);
        }
    }
    cutter.end(&mut walk.cuts);
    walk.meta = Some(meta);
    Ok(())
}

impl Meta {
    fn field(&mut self, key: &[u8]) -> Option<&mut Option<Raw>> {
        Some(match key {
            b"name" => &mut self.name,
            b"namespace" => &mut self.namespace,
            b"uid" => &mut self.uid,
            b"resourceVersion" => &mut self.resource_version,
            b"generation" => &mut self.generation,
            b"deletionTimestamp" => &mut self.deletion_timestamp,
            b"labels" => &mut self.labels,
            b"annotations" => &mut self.annotations,
            b"ownerReferences" => &mut self.owner_references,
            b"finalizers" => &mut self.finalizers,
            _ => return None,
        })
    }
}

/// Decides which comma goes with a member that is cut: the one before it; if nothing is kept before it the one after
/// it; if it stands alone none.
#[derive(Default)]
struct Cutter {
    kept: bool,
    /// The end of the member before.
    end: usize,
    /// A cut at the head of the object that reaches up to the next key, if there is one.
    head: Option<usize>,
    key: usize,
}

impl Cutter {
    fn key(&mut self, at: usize, cuts: &mut Vec<Range<usize>>) {
        if let Some(start) = self.head.take() {
            cuts.push(start..at);
        }
        self.key = at;
    }

    fn value(&mut self, end: usize, cut: bool, cuts: &mut Vec<Range<usize>>) {
        match (cut, self.kept) {
            (true, true) => cuts.push(self.end..end),
            (true, false) => self.head = Some(self.key),
            (false, _) => self.kept = true,
        }
        self.end = end;
    }

    fn end(self, cuts: &mut Vec<Range<usize>>) {
        if let Some(start) = self.head {
            cuts.push(start..self.end);
        }
    }
}
