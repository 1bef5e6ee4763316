//! Decides how long a server asked to be left alone.
//!
//! In: the `Retry-After` header (RFC 9110, 10.2.3: seconds, or a date) and the wall-clock time. Out: a duration. A date in
//! the past means "at once". What cannot be read counts as absent. Capping the wait is left to whoever waits.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

/// The wait that the `Retry-After` header of these headers asks for.
pub(crate) fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    Some(until.duration_since(SystemTime::from(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: jiff::Timestamp = "2026-03-04T10:00:00Z".parse().unwrap();
        let rows = [
            (None, None),
            (Some("0"), Some(0)),
            (Some(" 7 "), Some(7)),
            (Some("86400"), Some(86_400)),
            (Some("Wed, 04 Mar 2026 10:00:30 GMT"), Some(30)),
            (Some("Wednesday, 04-Mar-26 10:01:00 GMT"), Some(60)),
            (Some("Wed, 04 Mar 2026 09:00:00 GMT"), Some(0)),
            (Some("-1"), None),
            (Some("1.5"), None),
            (Some("soon"), None),
        ];
        for (value, seconds) in rows {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(value));
            }
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{value:?}");
        }
    }
}
