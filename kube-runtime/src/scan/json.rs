//! Decides where a JSON value ends and whether it is JSON.
//!
//! In: bytes and a position. Out: the position after the value, or the first [`ScanError`]. UTF-8 is not looked at here:
//! it is checked once for the whole frame, which for ASCII costs a thirtieth of this scan.
//!
//! Two strictnesses, in one pass. *Grammar* faults end the scan, because nothing after them can be trusted; on these it
//! agrees with `serde_json` skipping a value (`IgnoredAny`). *Unfit* values are JSON which `serde_json` will not decode into
//! a `Value`: nested deeper than 127 levels, half a surrogate pair (`"\ud800"`), numbers beyond `f64` (`1e999`). Their
//! end is as plain as any other's, so the first one is noted ([`Scanner::take_unfit`]) and the scan goes on: one object
//! that cannot be decoded must not hide the healthy ones after it. No fault and nothing unfit = `Value` decodes it.
//!
//! Why not `serde_json`'s own skipper: it gives neither the place of a nested value nor the cut on the way, it follows
//! any depth, and it does not see unfit values, so that a second pass would be needed for each of these.
//!
//! The stack is one bit per open container, so no input can overflow it. What a key means is left to the walkers.

use super::error::{ScanError, ScanFault};

/// Containers that `serde_json` follows into one another; its recursion limit of 128 refuses the 128th.
const MAX_DEPTH: usize = 127;

/// Numbers up to this many bytes and without exponent are always within `f64`, whose largest has 309 digits.
const ALWAYS_IN_RANGE: usize = 300;

type Scan<T> = Result<T, ScanError>;

/// A string: where its text lies between the quotes, and whether that has escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Str {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) escaped: bool,
}

/// A whole value: where it lies, and, if it is a string, whether it has escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) escaped: bool,
}

/// A position moving forward over bytes. Methods consume what they name; white space before it is skipped.
/// After an `Err` the position means nothing.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    unfit: Option<ScanError>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self::from(bytes, 0)
    }

    /// Begins at `at`, which must be the beginning of a token.
    pub(super) fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, unfit: None }
    }

    /// The first unfit value since the last call.
    pub(super) fn take_unfit(&mut self) -> Option<ScanError> {
        self.unfit.take()
    }

    /// The next token's first byte, not consumed.
    #[inline]
    pub(super) fn token(&mut self) -> Scan<u8> {
        let (byte, at) = token(self.bytes, self.at)?;
        self.at = at;
        Ok(byte)
    }

    /// Where the scan stands. After [`Scanner::token`] this is where that token begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Consumes the byte that [`Scanner::token`] has shown.
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// The next key of an object, with its colon; `None` when the object is closed. `first`: nothing of the object but
    /// its brace was consumed.
    #[inline]
    pub(super) fn key(&mut self, first: bool) -> Scan<Option<Str>> {
        let mut byte = self.token()?;
        if byte == b'}' {
            self.at += 1;
            return Ok(None);
        }
        if !first {
            if byte != b',' {
                return Err(unexpected(self.bytes, self.at));
            }
            self.at += 1;
            byte = self.token()?;
        }
        if byte != b'"' {
            return Err(unexpected(self.bytes, self.at));
        }
        let start = self.at + 1;
        let (at, escaped) = string(self.bytes, start, &mut self.unfit)?;
        self.at = colon(self.bytes, at)?;
        Ok(Some(Str { start, end: at - 1, escaped }))
    }

    /// Whether an array has another element, whose value comes next; `false` when the array is closed.
    pub(super) fn element(&mut self, first: bool) -> Scan<bool> {
        match self.token()? {
            b']' => {
                self.at += 1;
                Ok(false)
            }
            _ if first => Ok(true),
            b',' => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(unexpected(self.bytes, self.at)),
        }
    }

    /// Only white space is left.
    pub(super) fn end(&mut self) -> Scan<()> {
        let mut rest = self.bytes[self.at..].iter();
        match rest.position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            None => Ok(()),
            Some(at) => Err(ScanError::new(ScanFault::TrailingBytes, self.at + at)),
        }
    }

    /// One whole value. `outer`: the containers around it that its decoder will see too.
    pub(super) fn value(&mut self, outer: usize) -> Scan<Raw> {
        let first = self.token()?;
        let start = self.at;
        let mut escaped = false;
        self.at = match first {
            b'"' => {
                let (at, has_escapes) = string(self.bytes, start + 1, &mut self.unfit)?;
                escaped = has_escapes;
                at
            }
            b'{' | b'[' => container(self.bytes, start, outer, &mut self.unfit)?,
            _ => scalar(self.bytes, start, first, &mut self.unfit)?,
        };
        Ok(Raw { start, end: self.at, escaped })
    }
}

/// The containers that are open, innermost in the lowest bit: 1 = object, 0 = array. Every 64 levels move out into
/// `outer`, which Kubernetes objects never reach.
#[derive(Default)]
struct Open {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Open {
    #[inline]
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline]
    fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

/// From the opening bracket at `at` to after its closing one.
///
/// The loop has two places: a value is due (top), or a value has just ended (inner loop).
fn container(bytes: &[u8], mut at: usize, outer: usize, unfit: &mut Option<ScanError>) -> Scan<usize> {
    let mut open = Open::default();
    loop {
        let (first, start) = token(bytes, at)?;
        match first {
            b'"' => (at, _) = string(bytes, start + 1, unfit)?,
            b'{' | b'[' => {
                open.push(first == b'{');
                if outer + open.depth > MAX_DEPTH && unfit.is_none() {
                    *unfit = Some(ScanError::new(ScanFault::TooDeep, start));
                }
                let (next, next_at) = token(bytes, start + 1)?;
                if next == first + 2 {
                    // '}' and ']' lie two after their opening brackets: an empty container ends like any value.
                    at = next_at;
                } else if first == b'{' {
                    at = key(bytes, next, next_at, unfit)?;
                    continue;
                } else {
                    at = next_at;
                    continue;
                }
            }
            _ => at = scalar(bytes, start, first, unfit)?,
        }
        loop {
            let (next, next_at) = token(bytes, at)?;
            match next {
                b',' if open.in_object() => {
                    let (quote, quote_at) = token(bytes, next_at + 1)?;
                    at = key(bytes, quote, quote_at, unfit)?;
                    break;
                }
                b',' => {
                    at = next_at + 1;
                    break;
                }
                b'}' if open.in_object() => open.pop(),
                b']' if !open.in_object() => open.pop(),
                _ => return Err(unexpected(bytes, next_at)),
            }
            at = next_at + 1;
            if open.depth == 0 {
                return Ok(at);
            }
        }
    }
}

/// A key and its colon, from its opening quote.
#[inline]
fn key(bytes: &[u8], quote: u8, at: usize, unfit: &mut Option<ScanError>) -> Scan<usize> {
    if quote != b'"' {
        return Err(unexpected(bytes, at));
    }
    let (at, _) = string(bytes, at + 1, unfit)?;
    colon(bytes, at)
}

#[inline]
fn colon(bytes: &[u8], at: usize) -> Scan<usize> {
    match token(bytes, at)? {
        (b':', at) => Ok(at + 1),
        (_, at) => Err(unexpected(bytes, at)),
    }
}

/// The first byte from `at` that is not white space, and its place.
#[inline]
fn token(bytes: &[u8], mut at: usize) -> Scan<(u8, usize)> {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => at += 1,
            Some(&byte) => return Ok((byte, at)),
            None => return Err(ScanError::new(ScanFault::UnexpectedEnd, at)),
        }
    }
}

/// From after the opening quote to after the closing one; and whether there were escapes.
#[inline]
fn string(bytes: &[u8], mut at: usize, unfit: &mut Option<ScanError>) -> Scan<(usize, bool)> {
    let mut escaped = false;
    loop {
        at = stop(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape(bytes, at, unfit)?;
            }
            Some(_) => return Err(ScanError::new(ScanFault::ControlCharacter, at)),
            None => return Err(ScanError::new(ScanFault::UnexpectedEnd, at)),
        }
    }
}

/// The first byte from `at` that is a quote, a backslash or below 0x20; the end of the bytes if there is none.
///
/// Eight bytes a step in one register, since the strings of an object are mostly shorter than what a vector search
/// needs to start up.
#[inline]
fn stop(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5c);
        // A byte's high bit is set where the byte is 0 (or, for the last term, below 0x20). A borrow can set it wrongly
        // only above a byte that was set rightly, and only the lowest is used.
        let hits = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hits = hits & HIGHS;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | ..0x20) {
            break;
        }
        at += 1;
    }
    at
}

/// From the backslash at `at` to after its escape.
fn escape(bytes: &[u8], at: usize, unfit: &mut Option<ScanError>) -> Scan<usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(at + 2),
        Some(b'u') => {}
        Some(_) => return Err(ScanError::new(ScanFault::BadEscape, at)),
        None => return Err(ScanError::new(ScanFault::UnexpectedEnd, at + 1)),
    }
    let whole = match code_unit(bytes, at)? {
        0xD800..=0xDBFF if bytes.get(at + 6..at + 8) == Some(b"\\u") => {
            if matches!(code_unit(bytes, at + 6)?, 0xDC00..=0xDFFF) {
                return Ok(at + 12);
            }
            false
        }
        0xD800..=0xDFFF => false,
        _ => true,
    };
    if !whole && unfit.is_none() {
        *unfit = Some(ScanError::new(ScanFault::LoneSurrogate, at));
    }
    Ok(at + 6)
}

/// The value of `\uXXXX` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Scan<u32> {
    let mut unit = 0;
    for place in at + 2..at + 6 {
        let Some(&byte) = bytes.get(place) else {
            return Err(ScanError::new(ScanFault::UnexpectedEnd, place));
        };
        let Some(digit) = char::from(byte).to_digit(16) else {
            return Err(ScanError::new(ScanFault::BadEscape, at));
        };
        unit = unit << 4 | digit;
    }
    Ok(unit)
}

/// A number or a literal.
fn scalar(bytes: &[u8], at: usize, first: u8, unfit: &mut Option<ScanError>) -> Scan<usize> {
    match first {
        b't' => literal(bytes, at, b"true"),
        b'f' => literal(bytes, at, b"false"),
        b'n' => literal(bytes, at, b"null"),
        b'-' | b'0'..=b'9' => number(bytes, at, unfit),
        _ => Err(unexpected(bytes, at)),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Scan<usize> {
    if bytes[at..].starts_with(word) {
        return Ok(at + word.len());
    }
    let same = bytes[at..].iter().zip(word).take_while(|(byte, due)| byte == due).count();
    match bytes.get(at + same) {
        Some(_) => Err(unexpected(bytes, at + same)),
        None => Err(ScanError::new(ScanFault::UnexpectedEnd, at + same)),
    }
}

fn number(bytes: &[u8], start: usize, unfit: &mut Option<ScanError>) -> Scan<usize> {
    let integer = start + usize::from(bytes[start] == b'-');
    let mut at = digits(bytes, integer)?;
    if bytes[integer] == b'0' && at > integer + 1 {
        return Err(ScanError::new(ScanFault::BadNumber, start));
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    let exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if exponent {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits(bytes, at)?;
    }
    if (exponent || at - start > ALWAYS_IN_RANGE) && unfit.is_none() {
        // Rare, so the decoder itself is asked: no second opinion on rounding can differ from it.
        if serde_json::from_slice::<serde_json::Value>(&bytes[start..at]).is_err() {
            *unfit = Some(ScanError::new(ScanFault::NumberOutOfRange, start));
        }
    }
    Ok(at)
}

/// One digit or more.
fn digits(bytes: &[u8], start: usize) -> Scan<usize> {
    let mut at = start;
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    match bytes.get(at) {
        _ if at > start => Ok(at),
        Some(_) => Err(ScanError::new(ScanFault::BadNumber, at)),
        None => Err(ScanError::new(ScanFault::UnexpectedEnd, at)),
    }
}

#[cold]
fn unexpected(bytes: &[u8], at: usize) -> ScanError {
    match bytes.get(at) {
        Some(&byte) => ScanError::new(ScanFault::UnexpectedByte(byte), at),
        None => ScanError::new(ScanFault::UnexpectedEnd, at),
    }
}

#[cfg(test)]
mod tests;
