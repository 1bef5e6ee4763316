//! One object that was scanned: its key, its header, and its own bytes.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use kube_core::ObjectKey;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use super::{
    error::{ScanError, ScanFault},
    json::Raw,
    walk::{Meta, Source, Walk},
};

/// A range of a slot's text; empty = the field is absent.
///
/// 32 bits, since objects above 4 GiB are refused and a store holds one of these per object and field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

/// What a watch, a store and a queue need of an object without decoding it: mostly places in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    uid: Span,
    resource_version: Span,
    labels: Span,
    annotations: Span,
    owner_references: Span,
    finalizers: Span,
    generation: Option<i64>,
    deleting: bool,
    rare: Option<Box<Rare>>,
}

/// What hardly any object has, out of the way of those without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rare {
    /// Unescaped texts, for strings that are written with escapes.
    uid: Option<Box<str>>,
    resource_version: Option<Box<str>>,
    unfit: Option<ScanError>,
}

/// An object as its own bytes, with its key and header found. Decoding it is left to its first reader.
///
/// The text is exactly one JSON object, owned with no spare capacity and no reference into the frame or page it came in,
/// without `metadata.managedFields` unless asked for. Items of a list have no `apiVersion` and `kind`, and stay so.
#[derive(Clone, PartialEq, Eq)]
pub struct Scanned {
    key: ObjectKey,
    header: Header,
    text: Box<str>,
}

/// An owner reference, as far as finding the owner needs it. Fields that are absent are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerRef {
    /// Group and version of the owner's kind, such as `apps/v1` or `v1`.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// The owner's kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// The owner's name. Its namespace, if its kind has one, is that of the owned object.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The owner's uid.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// Whether this is the one owner that manages the object; absent means it is not.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

impl Scanned {
    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The places of the header's fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// `metadata.uid`; "" if absent.
    pub fn uid(&self) -> &str {
        self.string(self.header.uid, |rare| &rare.uid)
    }

    /// `metadata.resourceVersion`, an opaque string; "" if absent.
    pub fn resource_version(&self) -> &str {
        self.string(self.header.resource_version, |rare| &rare.resource_version)
    }

    /// `metadata.generation`, if it is there and an integer.
    pub fn generation(&self) -> Option<i64> {
        self.header.generation
    }

    /// Whether `metadata.deletionTimestamp` is set: deletion was asked for and waits for finalizers or a grace period.
    pub fn is_deleting(&self) -> bool {
        self.header.deleting
    }

    /// `metadata.labels`, parsed at each call; empty if absent.
    ///
    /// # Errors
    /// [`ScanFault::Unreadable`] if they are not an object of strings.
    pub fn labels(&self) -> Result<BTreeMap<String, String>, ScanError> {
        self.parse(self.header.labels, "metadata.labels")
    }

    /// `metadata.annotations`, parsed at each call; empty if absent.
    ///
    /// # Errors
    /// [`ScanFault::Unreadable`] if they are not an object of strings.
    pub fn annotations(&self) -> Result<BTreeMap<String, String>, ScanError> {
        self.parse(self.header.annotations, "metadata.annotations")
    }

    /// `metadata.finalizers`, parsed at each call; empty if absent.
    ///
    /// # Errors
    /// [`ScanFault::Unreadable`] if they are not an array of strings.
    pub fn finalizers(&self) -> Result<Vec<String>, ScanError> {
        self.parse(self.header.finalizers, "metadata.finalizers")
    }

    /// `metadata.ownerReferences`, parsed at each call; empty if absent.
    ///
    /// An entry that cannot be read is left out, and so is one without a name: it points to no object that could be
    /// queued, and the entries beside it still do.
    pub fn owner_references(&self) -> Vec<OwnerRef> {
        let raw = self.piece(self.header.owner_references);
        if raw.is_empty() {
            return Vec::new();
        }
        let mut owners = serde_json::from_str(raw).unwrap_or_else(|_| readable_owners(raw));
        owners.retain(|owner: &OwnerRef| !owner.name.is_empty());
        owners
    }

    /// The labels as they are written: a JSON object, or "" if absent. Equal texts are equal labels.
    pub fn labels_json(&self) -> &str {
        self.piece(self.header.labels)
    }

    /// The whole object as JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Length of [`Scanned::text`], in bytes.
    pub fn bytes_len(&self) -> usize {
        self.text.len()
    }

    /// What in the object `serde_json`'s `Value` will refuse, although it is JSON: nesting beyond 127 levels, half a
    /// surrogate pair, a number beyond `f64`. Such an object has a key, so it takes its place in a store and can be
    /// deleted; its decoding will fail unless its type skips that part. The offset is that in the scanned bytes.
    pub fn unfit(&self) -> Option<&ScanError> {
        self.header.rare.as_ref()?.unfit.as_ref()
    }

    /// The key, the header and the text, for a store that keeps them its own way.
    pub fn into_parts(self) -> (ObjectKey, Header, Box<str>) {
        (self.key, self.header, self.text)
    }

    fn piece(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn string(&self, span: Span, unescaped: fn(&Rare) -> &Option<Box<str>>) -> &str {
        match self.header.rare.as_deref().and_then(|rare| unescaped(rare).as_deref()) {
            Some(text) => text,
            None => self.piece(span),
        }
    }

    fn parse<T: DeserializeOwned + Default>(&self, span: Span, what: &'static str) -> Result<T, ScanError> {
        let raw = self.piece(span);
        if raw.is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str(raw)
            .map_err(|_| ScanError::new(ScanFault::Unreadable(what), span.start as usize).of(&self.key))
    }
}

impl fmt::Debug for Scanned {
    /// Without the text, which may hold what no log should.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanned")
            .field("key", &self.key)
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
            .field("bytes_len", &self.bytes_len())
            .finish_non_exhaustive()
    }
}

/// The entries of an array of owner references that can be read, where not all can.
fn readable_owners(raw: &str) -> Vec<OwnerRef> {
    let entries: Vec<serde_json::Value> = serde_json::from_str(raw).unwrap_or_default();
    entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect()
}

fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Namespace and name of a walked object.
pub(super) fn key_of(walk: &Walk, source: Source<'_>) -> Result<ObjectKey, ScanError> {
    if let Some(misfit) = &walk.misfit {
        return Err(misfit.clone());
    }
    let Some(meta) = &walk.meta else {
        return Err(ScanError::new(ScanFault::Missing("metadata"), walk.span.start));
    };
    let name = path_part(source, walk, meta.name, "metadata.name")?;
    if name.is_empty() {
        let offset = meta.name.map_or(walk.span.start, |raw| raw.start);
        return Err(ScanError::new(ScanFault::Missing("metadata.name"), offset));
    }
    let namespace = path_part(source, walk, meta.namespace, "metadata.namespace")?;
    Ok(ObjectKey::new(Some(&namespace), &name))
}

/// A name or namespace: both are segments of the object's path, so a slash in them would make the key ambiguous.
fn path_part<'a>(
    source: Source<'a>,
    walk: &Walk,
    value: Option<Raw>,
    what: &'static str,
) -> Result<Cow<'a, str>, ScanError> {
    let text = source.string_or_empty(value, what)?;
    if text.contains('/') {
        let offset = value.map_or(walk.span.start, |raw| raw.start);
        return Err(ScanError::new(ScanFault::SlashIn(what, text.into()), offset));
    }
    Ok(text)
}

/// Copies a walked object into its slot.
pub(super) fn finish(
    walk: Walk,
    source: Source<'_>,
    keep_managed_fields: bool,
) -> Result<Scanned, ScanError> {
    let key = key_of(&walk, source)?;
    let Walk { span, meta, mut cuts, mut unfit, unfit_in_cuts, .. } = walk;
    if keep_managed_fields {
        cuts.clear();
        unfit = unfit.or(unfit_in_cuts);
    }
    let length = span.len() - cuts.iter().map(ExactSizeIterator::len).sum::<usize>();
    if u32::try_from(length).is_err() {
        return Err(ScanError::new(ScanFault::TooLarge, span.start).of(&key));
    }
    let mut text = String::with_capacity(length);
    let mut at = span.start;
    let slot = Slot { start: span.start, cuts: &cuts };
    for cut in slot.cuts {
        text.push_str(source.text(at..cut.start).map_err(|error| error.of(&key))?);
        at = cut.end;
    }
    text.push_str(source.text(at..span.end).map_err(|error| error.of(&key))?);
    let header = header(&meta.unwrap_or_default(), source, &slot, unfit.map(|error| error.of(&key)))
        .map_err(|error| error.of(&key))?;
    Ok(Scanned { key, header, text: text.into_boxed_str() })
}

fn header(
    meta: &Meta,
    source: Source<'_>,
    slot: &Slot<'_>,
    unfit: Option<ScanError>,
) -> Result<Header, ScanError> {
    let mut rare = Rare { unfit, ..Rare::default() };
    let uid = text_field(source, slot, meta.uid, "metadata.uid", &mut rare.uid)?;
    let resource_version = text_field(
        source,
        slot,
        meta.resource_version,
        "metadata.resourceVersion",
        &mut rare.resource_version,
    )?;
    Ok(Header {
        uid,
        resource_version,
        labels: slot.span(meta.labels),
        annotations: slot.span(meta.annotations),
        owner_references: slot.span(meta.owner_references),
        finalizers: slot.span(meta.finalizers),
        generation: meta.generation.and_then(|raw| source.text(raw.start..raw.end).ok()?.parse().ok()),
        deleting: meta.deletion_timestamp.is_some(),
        rare: (rare != Rare::default()).then(|| Box::new(rare)),
    })
}

/// The place of a string's text, or, if it is written with escapes, its unescaped text in `unescaped`.
fn text_field(
    source: Source<'_>,
    slot: &Slot<'_>,
    value: Option<Raw>,
    what: &'static str,
    unescaped: &mut Option<Box<str>>,
) -> Result<Span, ScanError> {
    let Some(raw) = value else { return Ok(Span::default()) };
    match source.string(raw, what)? {
        Cow::Borrowed(_) => {
            Ok(slot.span(Some(Raw { start: raw.start + 1, end: raw.end - 1, escaped: false })))
        }
        Cow::Owned(text) => {
            *unescaped = Some(text.into());
            Ok(Span::default())
        }
    }
}

/// How places in the scanned bytes become places in the slot's text.
struct Slot<'a> {
    start: usize,
    cuts: &'a [std::ops::Range<usize>],
}

impl Slot<'_> {
    fn span(&self, raw: Option<Raw>) -> Span {
        let Some(raw) = raw else { return Span::default() };
        let cut: usize =
            self.cuts.iter().take_while(|cut| cut.end <= raw.start).map(ExactSizeIterator::len).sum();
        // The slot's length fits 32 bits, and so does every place in it.
        let place = |at: usize| u32::try_from(at - self.start - cut).unwrap_or_default();
        Span { start: place(raw.start), end: place(raw.end) }
    }
}
