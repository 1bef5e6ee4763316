//! Reads and writes times.
//!
//! In: a text. Out: the time in UTC, in whole seconds or in microseconds as its type writes it; or the error in the words
//! of Go's `time.Parse`, which says which element of the layout it could not find.

use std::fmt::Write as _;

use jiff::Timestamp;

/// One element of a layout: what errors call it, and how many digits it has; none for a text that is itself.
type Element = (&'static str, usize);

const DATE_TIME: [Element; 11] = [
    ("2006", 4),
    ("-", 0),
    ("01", 2),
    ("-", 0),
    ("02", 2),
    ("T", 0),
    ("15", 2),
    (":", 0),
    ("04", 2),
    (":", 0),
    ("05", 2),
];

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// `2020-01-02T03:04:05Z`
pub(super) fn seconds(text: &str) -> Result<String, String> {
    // A fraction is read although the layout has none.
    let time = parse(text, SECONDS, |rest| {
        let digits = rest.strip_prefix(['.', ',']).map_or(0, digits);
        Ok(if digits == 0 { rest } else { &rest[1 + digits..] })
    })?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// `2020-01-02T03:04:05.000006Z`
pub(super) fn micros(text: &str) -> Result<String, String> {
    let time = parse(text, MICROS, |rest| match rest.strip_prefix('.') {
        Some(fraction) if digits(fraction) == 6 => Ok(&rest[7..]),
        _ => Err(".000000"),
    })?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn parse(
    text: &str,
    layout: &str,
    fraction: impl Fn(&str) -> Result<&str, &'static str>,
) -> Result<Timestamp, String> {
    let missing = |rest: &str, element: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}")
    };
    let out_of_range = |what: &str| format!("parsing time {text:?}: {what} out of range");
    let mut rest = text;
    let mut time = String::new();
    for (element, digits) in DATE_TIME {
        let (found, after) = take(rest, element, digits).ok_or_else(|| missing(rest, element))?;
        if let Some(what) = range_of(element, found) {
            return Err(out_of_range(what));
        }
        // An hour may have one digit.
        let _ = write!(time, "{found:0>digits$}");
        rest = after;
    }
    let after = fraction(rest).map_err(|element| missing(rest, element))?;
    let zone_length = if after.starts_with('Z') { 1 } else { 6 };
    let (zone, extra) = after.split_at_checked(zone_length).ok_or_else(|| missing(after, "Z07:00"))?;
    let is_offset = |zone: &str| {
        let (sign, offset) = zone.split_at(1);
        matches!(sign, "+" | "-")
            && take(offset, "", 2).is_some()
            && offset[2..].starts_with(':')
            && digits(&offset[3..]) == 2
    };
    if zone != "Z" && !is_offset(zone) {
        return Err(missing(after, "Z07:00"));
    }
    if zone != "Z" && zone[1..3] > *"24" {
        return Err(out_of_range("time zone offset hour"));
    }
    if zone != "Z" && zone[4..6] > *"60" {
        return Err(out_of_range("time zone offset minute"));
    }
    if !extra.is_empty() {
        return Err(format!("parsing time {text:?}: extra text: {extra:?}"));
    }
    let fraction = &rest[..rest.len() - after.len()].replace(',', ".");
    // Of a date that looks right, only the day can be one too many.
    format!("{time}{fraction}{zone}").parse().map_err(|_| out_of_range("day"))
}

/// An element at the start of a text, and the rest.
fn take<'a>(text: &'a str, element: &'a str, digits: usize) -> Option<(&'a str, &'a str)> {
    if digits == 0 {
        return Some((element, text.strip_prefix(element)?));
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exact = text.split_at_checked(digits).filter(|(found, _)| is_number(found));
    let short = || text.split_at_checked(1).filter(|(found, _)| element == "15" && is_number(found));
    exact.or_else(short)
}

fn range_of(element: &str, found: &str) -> Option<&'static str> {
    let number: u32 = found.parse().unwrap_or_default();
    match element {
        "01" if !(1..=12).contains(&number) => Some("month"),
        "02" if !(1..=31).contains(&number) => Some("day"),
        "15" if number > 23 => Some("hour"),
        "04" if number > 59 => Some("minute"),
        "05" if number > 59 => Some("second"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_at_the_precision_of_their_type() {
        for (text, expected) in [
            ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
            ("2020-01-02T03:04:05.9Z", "2020-01-02T03:04:05Z"),
            ("2020-01-01T00:00:00.5+01:00", "2019-12-31T23:00:00Z"),
            ("2020-01-01T1:00:00Z", "2020-01-01T01:00:00Z"),
        ] {
            assert_eq!(seconds(text).as_deref(), Ok(expected));
        }
        assert_eq!(micros("2020-01-01T00:00:00.000006+01:00").as_deref(), Ok("2019-12-31T23:00:00.000006Z"));
    }

    #[test]
    fn what_is_no_time_is_told_in_the_servers_words() {
        let layout = "as \"2006-01-02T15:04:05Z07:00\": cannot parse";
        for (text, expected) in [
            ("foo", format!("parsing time \"foo\" {layout} \"foo\" as \"2006\"")),
            ("", format!("parsing time \"\" {layout} \"\" as \"2006\"")),
            ("2020-01-01", format!("parsing time \"2020-01-01\" {layout} \"\" as \"T\"")),
            ("2020-13-01T00:00:00Z", "parsing time \"2020-13-01T00:00:00Z\": month out of range".into()),
            ("2020-02-30T00:00:00Z", "parsing time \"2020-02-30T00:00:00Z\": day out of range".into()),
            ("2020-01-01T24:00:00Z", "parsing time \"2020-01-01T24:00:00Z\": hour out of range".into()),
            ("2020-01-01T00:00:00Zx", "parsing time \"2020-01-01T00:00:00Zx\": extra text: \"x\"".into()),
            (
                "2020-1-01T00:00:00Z",
                format!("parsing time \"2020-1-01T00:00:00Z\" {layout} \"1-01T00:00:00Z\" as \"01\""),
            ),
            (
                "2020-01-01T00:00:00",
                format!("parsing time \"2020-01-01T00:00:00\" {layout} \"\" as \"Z07:00\""),
            ),
            (
                "2020-01-01T00:00:00z",
                format!("parsing time \"2020-01-01T00:00:00z\" {layout} \"z\" as \"Z07:00\""),
            ),
            (
                "2020-01-01T00:00:00.Z",
                format!("parsing time \"2020-01-01T00:00:00.Z\" {layout} \".Z\" as \"Z07:00\""),
            ),
            (
                "2020-01-01T00:00:00+0100",
                format!("parsing time \"2020-01-01T00:00:00+0100\" {layout} \"+0100\" as \"Z07:00\""),
            ),
            (
                "2020-01-01T00:00:00+25:00",
                "parsing time \"2020-01-01T00:00:00+25:00\": time zone offset hour out of range".into(),
            ),
        ] {
            assert_eq!(seconds(text), Err(expected));
        }
        for (text, rest, element) in [("x", "x", "2006"), ("2020-01-01T00:00:00Z", "Z", ".000000")] {
            let expected =
                format!("parsing time {text:?} as {MICROS:?}: cannot parse {rest:?} as {element:?}");
            assert_eq!(micros(text), Err(expected));
        }
    }
}
