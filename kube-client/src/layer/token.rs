//! Decides when a token file is read again, and which token counts.
//!
//! In: the time, and what reading the file brought. Out: whether to read, and the header to send.
//!
//! States: no token yet, where every request reads; or a good token, which is sent for [`REREAD`] before the next reading
//! is due. A reading that fails keeps the good token: a file that is being replaced is not there for a moment, and a
//! token stays valid for minutes after its successor was written.
//!
//! What it leaves to others: reading the file (`auth`).

use std::{
    path::Path,
    time::{Duration, Instant},
};

use http::HeaderValue;

use crate::CredentialError;

/// How long a token that was read is used before the file is read again. The kubelet writes a new one when 80 % of the
/// old one's life (at least 10 minutes) are over, so a minute is early enough and costs nothing.
pub(super) const REREAD: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct TokenCache {
    good: Option<HeaderValue>,
    /// When the next reading is due; `None` before the first.
    due: Option<Instant>,
}

impl TokenCache {
    /// The token to send without reading the file; `None` when a reading is due.
    pub(super) fn current(&self, now: Instant) -> Option<HeaderValue> {
        let due = self.due?;
        if now < due { self.good.clone() } else { None }
    }

    /// Takes what a reading brought, and says what to send.
    ///
    /// # Errors
    /// The reading's error, where there is no good token to fall back to.
    pub(super) fn read(
        &mut self,
        now: Instant,
        path: &Path,
        text: std::io::Result<String>,
    ) -> Result<HeaderValue, CredentialError> {
        self.due = Some(now + REREAD);
        let outcome = match text {
            Ok(text) => match text.trim() {
                "" => Err(CredentialError::EmptyToken { path: path.to_owned() }),
                token => bearer(token),
            },
            Err(source) => Err(CredentialError::ReadToken { path: path.to_owned(), source }),
        };
        match (outcome, &self.good) {
            (Ok(header), _) => Ok(self.good.insert(header).clone()),
            (Err(error), Some(good)) => {
                tracing::warn!(%error, "keeping the last good token");
                Ok(good.clone())
            }
            (Err(error), None) => Err(error),
        }
    }
}

/// The header's value, marked so that it does not show in logs and is not kept in compression tables.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, CredentialError> {
    let mut header =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| CredentialError::UnusableToken)?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    enum Step {
        Read(io::Result<String>),
        Current,
    }
    use Step::{Current, Read};

    fn text(text: &str) -> Step {
        Read(Ok(text.to_owned()))
    }

    fn gone() -> Step {
        Read(Err(io::ErrorKind::NotFound.into()))
    }

    #[test]
    fn a_token_is_trimmed_used_for_a_minute_and_kept_when_reading_fails() {
        let start = crate::clock::now();
        let mut cache = TokenCache::default();
        let rows = [
            (0, Current, "due"),
            (0, gone(), "cannot read the token file /t"),
            (0, Current, "due"),
            (0, text(" \n"), "the token file /t is empty"),
            (0, text("a\nb"), "the token has characters that no HTTP header can carry"),
            (1, text("abc\n"), "Bearer abc"),
            (1, Current, "Bearer abc"),
            (60, Current, "Bearer abc"),
            (61, Current, "due"),
            (61, text("def\n"), "Bearer def"),
            (121, gone(), "Bearer def"),
            (130, Current, "Bearer def"),
            (181, text(""), "Bearer def"),
            (241, text("ghi"), "Bearer ghi"),
        ];
        for (second, step, expected) in rows {
            let now = start + Duration::from_secs(second);
            let shown = match step {
                Current => cache.current(now).map_or("due".to_owned(), |header| show(&header)),
                Read(text) => cache
                    .read(now, Path::new("/t"), text)
                    .map_or_else(|error| error.to_string(), |header| show(&header)),
            };
            assert_eq!(shown, expected, "at {second} s");
        }
    }

    fn show(header: &HeaderValue) -> String {
        assert!(header.is_sensitive());
        header.to_str().unwrap().to_owned()
    }
}
