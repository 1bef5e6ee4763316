//! Reads amounts of resources, and writes them in the form that the server writes.
//!
//! In: a text such as `0.5`, `1500Mi`, `1e3`. Out: the same amount with the largest suffix that needs no fraction.
//! Rules: the documentation of `resource.Quantity` in the API reference; what is kept as it was written was learnt from the
//! server, which keeps a text that its quick check takes for canonical.

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Finer amounts are rounded up.
const FINEST: i32 = -9;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// The text as the server writes it.
pub(super) fn canonical(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let (negative, whole, fraction, suffix) = split(text)?;
    let (format, exponent) = interpret(suffix).ok_or(SUFFIX)?;
    let Ok(digits) = format!("0{whole}{fraction}").parse::<i128>() else { return Ok(text.into()) };
    let scale = -i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let sign = if negative { -1 } else { 1 };
    if format != Format::Binary {
        let scale = exponent.saturating_add(scale);
        let kept = scale % 3 == 0 && scale >= FINEST && digits % 1000 != 0;
        return Ok(if kept { text.into() } else { decimal(sign * digits, scale, format) });
    }
    if fraction.is_empty() && digits % 1024 != 0 && digits < 1 << (62 - exponent) {
        return Ok(text.into());
    }
    let Some(amount) = digits.checked_mul(1 << exponent) else { return Ok(text.into()) };
    let unit = 10_i128.checked_pow(scale.unsigned_abs()).unwrap_or(i128::MAX);
    if amount < unit.saturating_mul(1024) || amount % unit != 0 {
        return Ok(decimal(sign * amount, scale, Format::Decimal));
    }
    let mut amount = (amount / unit).min(i64::MAX.into());
    let mut steps = 0;
    while amount % 1024 == 0 && steps < BINARY.len() {
        amount /= 1024;
        steps += 1;
    }
    let suffix = steps.checked_sub(1).map_or("", |step| BINARY[step].0);
    Ok(format!("{}{suffix}", sign * amount))
}

/// Sign, digits before and after the point, and suffix.
fn split(text: &str) -> Result<(bool, &str, &str, &str), &'static str> {
    if text.is_empty() {
        return Err(FORMAT);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let after = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = unsigned.split_at(after(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(after(rest)),
        None => ("", rest),
    };
    let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FORMAT);
    }
    Ok((text.starts_with('-'), whole, fraction, suffix))
}

fn interpret(suffix: &str) -> Option<(Format, i32)> {
    let named =
        |table: &[(&str, i32)]| table.iter().find(|(name, _)| *name == suffix).map(|(_, exponent)| *exponent);
    if let Some(exponent) = named(&DECIMAL) {
        return Some((Format::Decimal, exponent));
    }
    if let Some(exponent) = named(&BINARY) {
        return Some((Format::Binary, exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Format::Exponent, exponent))
}

/// `amount` times ten to the power of `scale`, with a power of a thousand.
fn decimal(mut amount: i128, mut scale: i32, format: Format) -> String {
    while scale < FINEST {
        amount = amount / 10 + i128::from(amount % 10 > 0);
        scale += 1;
    }
    if amount == 0 {
        return "0".into();
    }
    while amount % 10 == 0 {
        amount /= 10;
        scale += 1;
    }
    while scale % 3 != 0 {
        amount = amount.saturating_mul(10);
        scale -= 1;
    }
    if format == Format::Exponent && scale != 0 {
        return format!("{amount}e{scale}");
    }
    // The real server writes no suffix either where there is none.
    let suffix = DECIMAL.iter().find(|(_, exponent)| *exponent == scale).map_or("", |(suffix, _)| suffix);
    format!("{amount}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_the_largest_suffix_that_needs_no_fraction() {
        for (text, expected) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.0", "1"),
            ("1000.0", "1k"),
            ("1000k", "1M"),
            ("1500k", "1500k"),
            ("1.5k", "1500"),
            ("10000", "10k"),
            ("10001", "10001"),
            ("-2000", "-2k"),
            ("0", "0"),
            ("0Gi", "0"),
            ("m", "0"),
            ("12e2", "1200"),
            ("1e1", "10"),
            ("3e4", "30e3"),
            ("1000e3", "1e6"),
            ("1e100", "10e99"),
            ("1024Mi", "1Gi"),
            ("1500Mi", "1500Mi"),
            ("0.5Gi", "512Mi"),
            ("1.5Mi", "1536Ki"),
            ("0.1Ki", "102400m"),
            ("0.25Ki", "256"),
            ("1.0005Ki", "1024512m"),
            ("9Ei", "9223372036854775807"),
            ("1000E", "1"),
        ] {
            assert_eq!(canonical(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn what_the_quick_check_takes_for_canonical_stays() {
        for text in ["1", "001", "+5", "5.", "5.Gi", "1E3", "1e-3", "3.5e4", "1n", "100E", "1025Ki", "1e30"] {
            assert_eq!(canonical(text), Ok(text.into()));
        }
    }

    #[test]
    fn what_is_no_amount_is_told_in_the_servers_words() {
        for (text, expected) in [
            ("", FORMAT),
            ("zz", FORMAT),
            ("true", FORMAT),
            ("{}", FORMAT),
            ("1x", FORMAT),
            ("1.1.1", FORMAT),
            ("1e5Ki", FORMAT),
            ("1KK", SUFFIX),
            ("1ki", SUFFIX),
            ("1e", SUFFIX),
            ("1Mi5", SUFFIX),
        ] {
            assert_eq!(canonical(text), Err(expected), "{text}");
        }
    }
}
