//! The formats of strings that the server checks. Others say nothing.
//!
//! Each is what the real server's registry accepts, as far as tests tell the difference; where that one uses a parser
//! (mail addresses, URIs), a simpler rule stands for it.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::OnceLock,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use regex::Regex;

/// Formats that the real server knows; a definition with another is accepted with a warning.
const KNOWN: [&str; 27] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
];

/// Formats of numbers.
const NUMBERS: [&str; 4] = ["int32", "int64", "float", "double"];

/// Whether the server knows a format, of strings or numbers.
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format) || NUMBERS.contains(&format)
}

/// Whether `text` has the format, or the format is not one that is checked.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        "date-time" | "datetime" => text.parse::<jiff::Timestamp>().is_ok() && text.contains(['T', 't']),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "byte" => STANDARD.decode(text).is_ok(),
        "uri" => is_uri(text),
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "hostname" => text.len() <= 255 && matches(text, format),
        "k8s-short-name" => text.len() <= 63 && matches(text, format),
        "k8s-long-name" => text.len() <= 253 && matches(text, format),
        "isbn" => is_isbn(text, &[10, 13]),
        "isbn10" => is_isbn(text, &[10]),
        "isbn13" => is_isbn(text, &[13]),
        "creditcard" => is_card(text),
        "mac" | "uuid" | "uuid3" | "uuid4" | "uuid5" | "hexcolor" | "rgbcolor" | "ssn" | "bsonobjectid" => {
            matches(text, format)
        }
        _ => true,
    }
}

fn matches(text: &str, format: &str) -> bool {
    static TABLE: OnceLock<Vec<(&str, Regex)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        [
            ("hostname", r"^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$"),
            ("k8s-short-name", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
            ("k8s-long-name", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
            ("mac", r"^([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2}[:-]?)$|^([0-9a-fA-F]{2}[:-]){7}[0-9a-fA-F]{2}$"),
            ("uuid", r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
            ("uuid3", r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
            ("uuid4", r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
            ("uuid5", r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
            ("bsonobjectid", "^[0-9a-fA-F]{24}$"),
            ("ssn", r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
            ("rgbcolor", r"^rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)$"),
            ("hexcolor", r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        ]
        .into_iter()
        .filter_map(|(name, pattern)| Some((name, Regex::new(pattern).ok()?)))
        .collect()
    });
    table.iter().any(|(name, pattern)| *name == format && pattern.is_match(text))
}

/// With a scheme, or a path that starts at the root.
fn is_uri(text: &str) -> bool {
    let with_scheme = text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    (with_scheme || text.starts_with('/')) && !text.contains(' ')
}

/// Ten digits whose weighted sum is a multiple of 11, or 13 of 10; the last of ten may be X.
fn is_isbn(text: &str, lengths: &[usize]) -> bool {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|char| !matches!(char, '-' | ' '))
        .map(|char| if matches!(char, 'X' | 'x') { Some(10) } else { char.to_digit(10) })
        .collect();
    let Some(digits) = digits.filter(|digits| lengths.contains(&digits.len())) else { return false };
    let weighted = |weight: &dyn Fn(u32) -> u32| {
        (0_u32..).zip(&digits).map(|(index, digit)| weight(index) * digit).sum::<u32>()
    };
    match digits.len() {
        10 => digits[..9].iter().all(|digit| *digit < 10) && weighted(&|index| 10 - index).is_multiple_of(11),
        _ => {
            digits.iter().all(|digit| *digit < 10) && weighted(&|index| 1 + index % 2 * 2).is_multiple_of(10)
        }
    }
}

/// 13 to 16 digits with a check digit (Luhn).
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let others = text.chars().filter(|char| !char.is_ascii_digit());
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| if index % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    others.clone().all(|char| matches!(char, '-' | ' '))
        && (13..=16).contains(&digits.len())
        && sum.is_multiple_of(10)
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

/// `1h30m`, `250ms`, `2 days`: numbers with units, as the real server's format has them.
fn is_duration(text: &str) -> bool {
    static PARTS: OnceLock<Option<Regex>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| {
        let units = "ns|us|µs|ms|s|m|h|d|w|nano(second)?s?|micro(second)?s?|milli(second)?s?|sec(ond)?s?|min(ute)?s?|hours?|hrs?|days?|weeks?|wks?";
        Regex::new(&format!(r"^[-+]?(0|(\s*[0-9]*\.?[0-9]+\s*({units}))+)$")).ok()
    });
    parts.as_ref().is_some_and(|parts| parts.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked_as_the_server_does() {
        let rows = [
            ("date", "2020-01-31", "x"),
            ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"),
            ("duration", "1h", "x"),
            ("duration", "1d", "1x"),
            ("ipv4", "1.2.3.4", "::1"),
            ("ipv6", "::1", "1.2.3.4"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("byte", "YQ==", "%"),
            ("uri", "a:b", "foo"),
            ("uri", "https://a.b/c", "x y"),
            ("email", "a@b.c", "x"),
            ("hostname", "a.b", "a_b"),
            ("mac", "00:00:5e:00:53:01", "x"),
            ("uuid", "52946dc4-2deb-4a07-b026-20072b891f70", "x"),
            ("uri", "/a", "/a b"),
            ("isbn", "978-3-16-148410-0", "978-3-16-148410-1"),
            ("isbn10", "0-306-40615-2", "978-3-16-148410-0"),
            ("isbn13", "978-3-16-148410-0", "0-306-40615-2"),
            ("creditcard", "4111111111111111", "4111111111111112"),
            ("ssn", "111-22-3333", "x"),
            ("rgbcolor", "rgb(1,2,3)", "rgb(1,2)"),
            ("hexcolor", "#fff", "#ffff"),
            ("bsonobjectid", "507f1f77bcf86cd799439011", "x"),
            ("k8s-short-name", "a-b", "A"),
            ("k8s-long-name", "a.b", "A"),
        ];
        for (format, right, wrong) in rows {
            assert!(fits(format, right), "{format} {right}");
            assert!(!fits(format, wrong), "{format} {wrong}");
        }
        assert!(fits("ip", "x"), "a format that is not known says nothing");
    }
}
