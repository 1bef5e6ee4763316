//! What can be wrong with bytes that should hold a Kubernetes object.

use kube_core::ObjectKey;

/// Why bytes could not be scanned: what is wrong, where, and of which object if that is known.
///
/// Plain data, comparable and cheap to clone, so that a machine can hold it and a test can name it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what} at byte {offset}", match key { Some(key) => format!("object {key}: "), None => String::new() })]
pub struct ScanError {
    /// What is wrong.
    pub what: ScanFault,
    /// Where, in bytes from the start of what was given to the scan (for an accessor of
    /// [`Scanned`](super::Scanned): from the start of the slot's text).
    pub offset: usize,
    /// The object it is about, where its name could still be read.
    pub key: Option<ObjectKey>,
}

impl ScanError {
    pub(super) fn new(what: ScanFault, offset: usize) -> Self {
        Self { what, offset, key: None }
    }

    pub(super) fn of(mut self, key: &ObjectKey) -> Self {
        self.key = Some(key.clone());
        self
    }

    /// Whether the bytes are not JSON (cut short, garbled), so that nothing after them can be trusted: a fault of the
    /// stream and not of one object. Text that is not UTF-8 is no such fault; where its object ends is known.
    pub fn is_malformed(&self) -> bool {
        match self.what {
            ScanFault::UnexpectedEnd
            | ScanFault::UnexpectedByte(_)
            | ScanFault::ControlCharacter
            | ScanFault::BadEscape
            | ScanFault::BadNumber
            | ScanFault::TrailingBytes => true,
            ScanFault::InvalidUtf8
            | ScanFault::TooDeep
            | ScanFault::LoneSurrogate
            | ScanFault::NumberOutOfRange
            | ScanFault::NotAnObject(_)
            | ScanFault::NotAString(_)
            | ScanFault::NotAnArray(_)
            | ScanFault::Missing(_)
            | ScanFault::SlashIn(..)
            | ScanFault::TooLarge
            | ScanFault::Unreadable(_)
            | ScanFault::UnknownType(_) => false,
        }
    }
}

/// The kinds of [`ScanError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanFault {
    /// The text stops inside a value.
    #[error("the text ends inside a value")]
    UnexpectedEnd,
    /// A byte that JSON does not allow at its place.
    #[error("unexpected byte {:?}", char::from(*.0))]
    UnexpectedByte(u8),
    /// A byte below 0x20 inside a string.
    #[error("a control character inside a string")]
    ControlCharacter,
    /// A backslash that no escape of JSON begins with.
    #[error("a bad escape in a string")]
    BadEscape,
    /// A number that JSON does not know, such as `01` or `1.`.
    #[error("a bad number")]
    BadNumber,
    /// Something other than white space after the value.
    #[error("bytes after the end of the value")]
    TrailingBytes,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// JSON, but nested deeper than a decoder follows (127 levels).
    #[error("nested too deep to decode")]
    TooDeep,
    /// JSON, but half of a surrogate pair stands alone in an escape, which no string of text can hold.
    #[error("half a surrogate pair in a string")]
    LoneSurrogate,
    /// JSON, but a number that is beyond an `f64`.
    #[error("a number out of range")]
    NumberOutOfRange,
    /// The named part should be a JSON object.
    #[error("{0} is not a JSON object")]
    NotAnObject(&'static str),
    /// The named field should be a string.
    #[error("{0} is not a string")]
    NotAString(&'static str),
    /// The named field should be an array.
    #[error("{0} is not an array")]
    NotAnArray(&'static str),
    /// The named field is absent, null or empty and is needed.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The named field (its value follows) holds a '/', which would make the object's key ambiguous.
    #[error("{0} {1:?} contains '/'")]
    SlashIn(&'static str, Box<str>),
    /// The object is larger than 4 GiB.
    #[error("the object is larger than 4 GiB")]
    TooLarge,
    /// The named field does not have the form it has in every Kubernetes object.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// A watch line of a type this version does not know.
    #[error("unknown watch event type {0:?}")]
    UnknownType(Box<str>),
}
