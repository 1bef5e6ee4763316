//! One page of a list, split into its items.
//!
//! In: the body of a list response. Out: a [`ListPage`]: one result per item, and what the list itself says. `metadata`
//! and `items` are taken in either order; either may be null or absent; of a key that comes twice the last counts.
//! An item that is JSON and yet no proper object is an error in its place, not of the page.

use super::{
    ScanOptions,
    error::{ScanError, ScanFault},
    items::items,
    json::Scanner,
    scanned::Scanned,
    walk::Source,
};

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListPage {
    /// The items, in order.
    pub items: Vec<Result<Scanned, ScanError>>,
    /// `metadata.resourceVersion` of the list, an opaque string; "" if absent.
    pub resource_version: String,
    /// Asks for the next page; `None` on the last.
    pub continue_token: Option<String>,
    /// How many items come after this page, where the server says so.
    pub remaining: Option<u64>,
}

impl ScanOptions {
    /// Scans a page of a list; see [`scan_list`](super::scan_list).
    ///
    /// # Errors
    /// If the body is not one JSON object, or its `metadata` or `items` is neither null nor what it should be.
    pub fn scan_list(self, body: &[u8]) -> Result<ListPage, ScanError> {
        let source = Source::new(body);
        let mut scanner = Scanner::new(body);
        if scanner.token()? != b'{' {
            return Err(ScanError::new(ScanFault::NotAnObject("the list"), scanner.at()));
        }
        scanner.bump();
        let mut page = ListPage::default();
        let mut first = true;
        while let Some(key) = scanner.key(first)? {
            first = false;
            match &*source.key(key) {
                b"metadata" => metadata(&mut scanner, source, &mut page)?,
                b"items" => page.items = items(&mut scanner, source, self)?,
                _ => _ = scanner.value(1)?,
            }
        }
        scanner.end()?;
        Ok(page)
    }
}

fn metadata(scanner: &mut Scanner<'_>, source: Source<'_>, page: &mut ListPage) -> Result<(), ScanError> {
    let (mut resource_version, mut token, mut remaining) = (None, None, None);
    if scanner.token()? == b'{' {
        scanner.bump();
        let mut first = true;
        while let Some(key) = scanner.key(first)? {
            first = false;
            let name = source.key(key);
            let value = scanner.value(2)?;
            let value = (!source.is_null(value)).then_some(value);
            match &*name {
                b"resourceVersion" => resource_version = value,
                b"continue" => token = value,
                b"remainingItemCount" => remaining = value,
                _ => {}
            }
        }
    } else {
        let value = scanner.value(1)?;
        if !source.is_null(value) {
            return Err(ScanError::new(ScanFault::NotAnObject("the list's metadata"), value.start));
        }
    }
    let version = source.string_or_empty(resource_version, "the list's metadata.resourceVersion")?;
    page.resource_version = version.into_owned();
    let token = source.string_or_empty(token, "the list's metadata.continue")?;
    page.continue_token = (!token.is_empty()).then(|| token.into_owned());
    page.remaining = remaining.and_then(|raw| source.text(raw.start..raw.end).ok()?.parse().ok());
    Ok(())
}
