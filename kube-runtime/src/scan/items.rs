//! Takes the items of a list page one by one, on several threads where the page is large.
//!
//! Finding the end of an item costs nearly as much as scanning it, so a pass that only splits would leave little to
//! share out. Instead beginnings are *guessed*: near each even cut of the page, the next place that looks like the
//! opening of the first item. Each thread scans whole items from its guess up to the next one, and then the segments are
//! put together only where one begins exactly at the item where the one before stopped. A guess that was no item (the
//! template in a `StatefulSet` looks like one) is dropped and its share is scanned again from the right place. So a guess
//! can cost time, never a wrong item.

use rayon::prelude::*;

use super::{
    ScanOptions,
    batch::{MIN_SHARE, PARALLEL_FROM},
    error::{ScanError, ScanFault},
    json::Scanner,
    scanned::{Scanned, finish},
    walk::{Source, walk},
};

type Item = Result<Scanned, ScanError>;

/// Whole items one after another.
struct Segment {
    start: usize,
    items: Vec<Item>,
    next: Next,
}

/// Where a segment stopped.
#[derive(Clone, Copy)]
enum Next {
    /// Before another item, which begins here.
    Item(usize),
    /// After the array's closing bracket.
    Closed(usize),
}

/// The array at the scanner, or null.
///
/// # Errors
/// If it is neither, or not JSON.
pub(super) fn items<'a>(
    scanner: &mut Scanner<'a>,
    source: Source<'a>,
    options: ScanOptions,
) -> Result<Vec<Item>, ScanError> {
    if scanner.token()? != b'[' {
        let value = scanner.value(1)?;
        if source.is_null(value) {
            return Ok(Vec::new());
        }
        return Err(ScanError::new(ScanFault::NotAnArray("items"), value.start));
    }
    scanner.bump();
    if !scanner.element(true)? {
        return Ok(Vec::new());
    }
    scanner.token()?;
    let start = scanner.at();
    let (items, end) = whole(source, start, &guesses(source.bytes(), start), options)?;
    *scanner = Scanner::from(source.bytes(), end);
    Ok(items)
}

/// All items from `start`, and where the array ends.
fn whole(
    source: Source<'_>,
    start: usize,
    guesses: &[usize],
    options: ScanOptions,
) -> Result<(Vec<Item>, usize), ScanError> {
    let mut starts = vec![start];
    starts.extend_from_slice(guesses);
    let limit = |i: usize| starts.get(i + 1).copied().unwrap_or(usize::MAX);
    let scan = |i: usize| segment(source, starts[i], limit(i), options);
    let segments: Vec<_> = match guesses {
        [] => vec![scan(0)],
        _ => (0..starts.len()).into_par_iter().map(scan).collect(),
    };
    let mut items = Vec::new();
    let mut at = start;
    for (i, guessed) in segments.into_iter().enumerate() {
        if at >= limit(i) {
            // The segment before ran past all of this one: its guess lay inside an item.
            continue;
        }
        let segment = match guessed {
            _ if starts[i] != at => segment(source, at, limit(i), options)?,
            other => other?,
        };
        debug_assert_eq!(segment.start, at, "segments join");
        if items.is_empty() {
            items = segment.items;
        } else {
            items.extend(segment.items);
        }
        match segment.next {
            Next::Item(next) => at = next,
            Next::Closed(end) => return Ok((items, end)),
        }
    }
    // The last segment has no limit, so it has closed the array or failed; this is for the compiler.
    Err(ScanError::new(ScanFault::UnexpectedEnd, source.bytes().len()))
}

/// Items from `start` on, until one would begin at `limit` or after it.
fn segment(
    source: Source<'_>,
    start: usize,
    limit: usize,
    options: ScanOptions,
) -> Result<Segment, ScanError> {
    let mut scanner = Scanner::from(source.bytes(), start);
    let mut items = Vec::new();
    loop {
        let object = walk(&mut scanner, source)?;
        items.push(finish(object, source, options.keep_managed_fields));
        if !scanner.element(false)? {
            return Ok(Segment { start, items, next: Next::Closed(scanner.at()) });
        }
        scanner.token()?;
        if scanner.at() >= limit {
            return Ok(Segment { start, items, next: Next::Item(scanner.at()) });
        }
    }
}

/// Places after `start`, in order, that look like the beginning of an item; none where the rest is too short to share.
fn guesses(bytes: &[u8], start: usize) -> Vec<usize> {
    let rest = bytes.len() - start;
    if rest < PARALLEL_FROM {
        return Vec::new();
    }
    let threads = rayon::current_num_threads();
    let shares = (rest / MIN_SHARE).min(threads * SHARES_PER_THREAD);
    let Some(opening) = opening(&bytes[start..]).filter(|_| threads > 1) else {
        return Vec::new();
    };
    let finder = memchr::memmem::Finder::new(&opening);
    let mut places: Vec<usize> = Vec::with_capacity(shares);
    for share in 1..shares {
        let from = start + rest / shares * share;
        if places.last().is_some_and(|last| *last >= from) {
            continue;
        }
        let Some(found) = finder.find(&bytes[from..]) else { break };
        places.push(from + found + 1);
    }
    places
}

/// What stands between two items, if the others begin as the first one does: a comma, and `{"` with the first key.
fn opening(first: &[u8]) -> Option<Vec<u8>> {
    let key = first.strip_prefix(b"{\"")?;
    let key = &key[..=memchr::memchr(b'"', key)?];
    Some([b",{\"", key].concat())
}

/// More shares than threads, so that a thread that is late leaves less behind.
const SHARES_PER_THREAD: usize = 4;

#[cfg(test)]
mod tests;
