//! Reads values without parts.
//!
//! In: a scalar's type and a JSON value. Out: the value in the one form in which the server writes it, or what is wrong.

use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use super::{Scalar, quantity, time};

/// Why a value is none of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is this instead: `string`, `number 1.5`.
    Type(String),
    /// A text to remember, if it is the first.
    Kept(String),
    /// A text that ends everything.
    Fatal(String),
}

/// The value in the form in which it is written.
pub(super) fn read(scalar: Scalar, value: Value) -> Result<Value, Wrong> {
    match (scalar, &value) {
        (Scalar::String | Scalar::IntOrString, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Number, Value::Number(_)) => Ok(value),
        (Scalar::Int32 | Scalar::IntOrString, Value::Number(number)) => {
            integer(&value, number.as_i64().filter(|number| i32::try_from(*number).is_ok()))
        }
        (Scalar::Int64, Value::Number(number)) => integer(&value, number.as_i64()),
        (Scalar::Bytes, Value::String(text)) => bytes(text).map(Value::from),
        (Scalar::Time, Value::String(text)) => time::seconds(text).map(Value::from).map_err(Wrong::Fatal),
        (Scalar::MicroTime, Value::String(text)) => time::micros(text).map(Value::from).map_err(Wrong::Fatal),
        (Scalar::Quantity, value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            quantity::canonical(&text).map(Value::from).map_err(|text| Wrong::Fatal(text.into()))
        }
        (_, value) => Err(Wrong::Type(kind(value).into())),
    }
}

fn integer(value: &Value, number: Option<i64>) -> Result<Value, Wrong> {
    number.map(Value::from).ok_or_else(|| Wrong::Type(format!("number {value}")))
}

/// The value of a field that nobody has set.
pub(super) fn zero(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String | Scalar::Bytes => "".into(),
        Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString => 0.into(),
        Scalar::Boolean => false.into(),
        Scalar::Quantity => "0".into(),
        Scalar::Time | Scalar::MicroTime => Value::Null,
    }
}

/// What errors call a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What errors call a type.
pub(super) fn go_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::String | Scalar::Time | Scalar::MicroTime => "string",
        Scalar::Int32 | Scalar::IntOrString => "int32",
        Scalar::Int64 => "int64",
        Scalar::Number => "float64",
        Scalar::Boolean => "bool",
        Scalar::Quantity => "resource.Quantity",
        Scalar::Bytes => "[]uint8",
    }
}

/// Bits that the last digit has too many are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn bytes(text: &str) -> Result<String, Wrong> {
    // Line breaks may stand anywhere.
    let packed: Vec<u8> = text.bytes().filter(|byte| !is_break(*byte)).collect();
    match BASE64.decode(packed) {
        Ok(bytes) => Ok(BASE64.encode(bytes)),
        Err(_) => {
            Err(Wrong::Kept(format!("illegal base64 data at input byte {}", illegal_byte(text.as_bytes()))))
        }
    }
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Where the real decoder gives up.
fn illegal_byte(text: &[u8]) -> usize {
    let next = |from: usize| (from..text.len()).find(|at| !is_break(text[*at]));
    let (mut in_group, mut at) = (0, 0);
    while let Some(digit) = next(at) {
        at = digit + 1;
        match text[digit] {
            byte if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') => {
                in_group = (in_group + 1) % 4;
            }
            b'=' if in_group == 3 => return next(at).unwrap_or(text.len()),
            b'=' if in_group == 2 => {
                return match next(at) {
                    None => text.len(),
                    Some(second) if text[second] == b'=' => next(second + 1).unwrap_or(text.len()),
                    Some(second) => second - 1,
                };
            }
            _ => return digit,
        }
    }
    // The last group is too short.
    text.len() - in_group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_the_server_reads_it() {
        for (text, expected) in
            [("", ""), ("YWJj", "YWJj"), ("YQ==", "YQ=="), ("YQ\n==", "YQ=="), ("YR==", "YQ==")]
        {
            assert_eq!(read(Scalar::Bytes, text.into()), Ok(expected.into()));
        }
        for (text, at) in [
            ("Y", 0),
            ("YQ", 0),
            ("YWI", 0),
            ("YWJjY", 4),
            ("YWJjYQ", 4),
            ("YWJj#", 4),
            ("###", 0),
            ("Y!==", 1),
            ("Y Q==", 1),
            ("=", 0),
            ("Y=", 1),
            ("YQ=", 3),
            ("YQ=x", 2),
            ("YW=I", 2),
            ("YQ==x", 4),
            ("YWI==", 4),
            ("YWI=YWI=", 4),
        ] {
            let text_of_error = format!("illegal base64 data at input byte {at}");
            assert_eq!(read(Scalar::Bytes, text.into()), Err(Wrong::Kept(text_of_error)), "{text}");
        }
    }
}
