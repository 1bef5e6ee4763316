//! Errors as text.

use std::{error::Error, iter};

/// An error with its causes in one line, for logs.
pub(crate) fn chain(error: &dyn Error) -> String {
    iter::successors(Some(error), |error| Error::source(*error))
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
