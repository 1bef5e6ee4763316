use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Grammar only: what the scanner stops at.
fn grammar(bytes: &[u8]) -> Result<Option<ScanError>, ScanError> {
    let mut scanner = Scanner::new(bytes);
    scanner.value(0)?;
    scanner.end()?;
    Ok(scanner.take_unfit())
}

/// All of it: UTF-8, grammar, and nothing unfit.
fn check(bytes: &[u8]) -> Result<(), ScanFault> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(ScanFault::InvalidUtf8);
    }
    match grammar(bytes) {
        Ok(None) => Ok(()),
        Ok(Some(error)) | Err(error) => Err(error.what),
    }
}

fn agrees(bytes: &[u8]) {
    let value = serde_json::from_slice::<Value>(bytes);
    assert_eq!(check(bytes).is_ok(), value.is_ok(), "{:?} {value:?}", String::from_utf8_lossy(bytes));
    if std::str::from_utf8(bytes).is_ok() {
        let skipped = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
        assert_eq!(
            grammar(bytes).is_ok(),
            skipped.is_ok(),
            "{:?} {skipped:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn json_is_json_and_everything_else_is_named() {
    use ScanFault::*;
    let rows: &[(&[u8], Result<(), ScanFault>)] = &[
        (b"{}", Ok(())),
        (b" \t\r\n[ ] \n", Ok(())),
        (b"null", Ok(())),
        (b"true", Ok(())),
        (b"false", Ok(())),
        (b"\"\"", Ok(())),
        (br#"{"a":{"b":[1,-2.5e+3,"x",null,{}]},"a":[]}"#, Ok(())),
        (br#"[[],[[]],{"a":[]},{}]"#, Ok(())),
        (br#""\"\\\/\b\f\n\r\t\u0041\uD83D\ude00""#, Ok(())),
        ("\"ä😀\u{7f}\"".as_bytes(), Ok(())),
        // numbers
        (b"0", Ok(())),
        (b"-0", Ok(())),
        (b"-0.0e-0", Ok(())),
        (b"1e308", Ok(())),
        (b"1e-999", Ok(())),
        (b"0e999999999999", Ok(())),
        (b"123456789012345678901234567890", Ok(())),
        (b"01", Err(BadNumber)),
        (b"-01", Err(BadNumber)),
        (b"1.", Err(UnexpectedEnd)),
        (b"[1.]", Err(BadNumber)),
        (b"[.5]", Err(UnexpectedByte(b'.'))),
        (b"+1", Err(UnexpectedByte(b'+'))),
        (b"-", Err(UnexpectedEnd)),
        (b"[-]", Err(BadNumber)),
        (b"[1e]", Err(BadNumber)),
        (b"[1e+]", Err(BadNumber)),
        (b"1x", Err(TrailingBytes)),
        (b"1e999", Err(NumberOutOfRange)),
        (b"-1e999", Err(NumberOutOfRange)),
        // strings
        (b"\"a", Err(UnexpectedEnd)),
        (b"\"a\\", Err(UnexpectedEnd)),
        (b"\"a\\u12", Err(UnexpectedEnd)),
        (b"\"a\\x\"", Err(BadEscape)),
        (b"\"a\\u12g4\"", Err(BadEscape)),
        (b"\"a\nb\"", Err(ControlCharacter)),
        (b"\"aaaaaaaaaaaa\x1fb\"", Err(ControlCharacter)),
        (br#""\ud800""#, Err(LoneSurrogate)),
        (br#""\ud800\n""#, Err(LoneSurrogate)),
        (br#""\ud800\u0041""#, Err(LoneSurrogate)),
        (br#""\udc00\ud800""#, Err(LoneSurrogate)),
        (br#""\ud800\u12""#, Err(BadEscape)),
        (b"\"\xff\"", Err(InvalidUtf8)),
        (b"\"\xed\xa0\x80\"", Err(InvalidUtf8)),
        // structure
        (b"", Err(UnexpectedEnd)),
        (b" ", Err(UnexpectedEnd)),
        (b"{", Err(UnexpectedEnd)),
        (b"[", Err(UnexpectedEnd)),
        (b"[1", Err(UnexpectedEnd)),
        (b"[1,", Err(UnexpectedEnd)),
        (b"[1,]", Err(UnexpectedByte(b']'))),
        (b"[,1]", Err(UnexpectedByte(b','))),
        (b"[1 2]", Err(UnexpectedByte(b'2'))),
        (b"[1}", Err(UnexpectedByte(b'}'))),
        (b"[}", Err(UnexpectedByte(b'}'))),
        (b"{]", Err(UnexpectedByte(b']'))),
        (br#"{"a":1]"#, Err(UnexpectedByte(b']'))),
        (br#"{"a":1,}"#, Err(UnexpectedByte(b'}'))),
        (br#"{"a"}"#, Err(UnexpectedByte(b'}'))),
        (br#"{"a" 1}"#, Err(UnexpectedByte(b'1'))),
        (br#"{"a":}"#, Err(UnexpectedByte(b'}'))),
        (b"{a:1}", Err(UnexpectedByte(b'a'))),
        (b"{1:1}", Err(UnexpectedByte(b'1'))),
        (b"{} {}", Err(TrailingBytes)),
        (b"]", Err(UnexpectedByte(b']'))),
        (b"nul", Err(UnexpectedEnd)),
        (b"nulx", Err(UnexpectedByte(b'x'))),
        (b"truE", Err(UnexpectedByte(b'E'))),
        (b"\xef\xbb\xbf{}", Err(UnexpectedByte(0xef))),
        (b"{\x0c}", Err(UnexpectedByte(0x0c))),
    ];
    for (bytes, expected) in rows {
        assert_eq!(&check(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        agrees(bytes);
    }
}

#[test]
fn a_fault_is_placed_where_it_is() {
    for (text, offset) in [
        (r#"{"a":[1,x]}"#, 8),
        (r#"{"a":"b\q"}"#, 7),
        ("[01]", 1),
        ("[1e999]", 1),
        (r#"["\ud800"]"#, 2),
        ("[", 1),
        ("{} x", 3),
    ] {
        let error = match grammar(text.as_bytes()) {
            Ok(unfit) => unfit.unwrap(),
            Err(error) => error,
        };
        assert_eq!(error.offset, offset, "{text} {error}");
    }
}

#[test]
fn depth_is_followed_as_far_as_the_decoder_does_and_the_end_is_found_beyond() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a":"#, "}]")] {
        for levels in [1, 63, 64, 65, 126, 127, 128, 129, 191, 192, 193, 5_000] {
            for inner in ["", "1"] {
                let inner = if open.ends_with(':') && inner.is_empty() { "[]" } else { inner };
                let text = format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
                assert!(grammar(text.as_bytes()).is_ok(), "{levels} of {open}");
                agrees(text.as_bytes());
                let unclosed = &text[..text.len() - 1];
                assert_eq!(grammar(unclosed.as_bytes()).unwrap_err().what, ScanFault::UnexpectedEnd);
            }
        }
    }
    // Containers around the value count only if its decoder will see them.
    let text = "[".repeat(126) + &"]".repeat(126);
    for (outer, unfit) in [(0, false), (1, false), (2, true)] {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.value(outer).unwrap();
        assert_eq!(scanner.take_unfit().is_some(), unfit, "{outer} around");
    }
}

#[test]
fn long_numbers_are_refused_where_the_decoder_refuses_them() {
    for digits in [299, 300, 301, 308, 309, 310, 400, 2_000] {
        for text in
            ["9".repeat(digits), format!("-1{}", "0".repeat(digits - 1)), format!("0.{}", "1".repeat(digits))]
        {
            agrees(text.as_bytes());
        }
    }
}

#[test]
fn a_string_ends_at_its_quote_wherever_that_falls_in_a_word() {
    for length in 0..40 {
        for special in ["", "\\\"", "\\\\", "\\u00e9", "é", "\u{80}", "\u{10ffff}", "!#[]", "\u{7f}"] {
            for at in 0..=length {
                let mut text = "x".repeat(length);
                text.insert_str(at, special);
                let quoted = format!("\"{text}\",");
                let value = Scanner::new(quoted.as_bytes()).value(0).unwrap();
                assert_eq!((value.start, value.end), (0, quoted.len() - 1), "{quoted}");
                assert_eq!(value.escaped, special.starts_with('\\'), "{quoted}");
            }
        }
    }
}

/// Bytes of JSON's own alphabet, so that short random texts are often almost JSON.
fn almost_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"a\":", "\\", "\\u", "\\ud83d", "\\ude00", "\\n",
        "00e9", "0", "1", "-", ".", "5", "e", "E", "+", "e400", "1e308", "true", "false", "null", "t", " ",
        "\n", "\t", "\r", "\u{0}", "é", "😀", "/",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat().into_bytes())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-z\\\\\"é]{0,9}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn near_misses_are_judged_as_the_decoder_judges_them(bytes in almost_json()) {
        agrees(&bytes);
    }

    #[test]
    fn any_bytes_are_judged_as_the_decoder_judges_them(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        agrees(&bytes);
    }

    #[test]
    fn values_pass_and_their_mutations_are_judged_as_the_decoder_judges_them(
        value in any_json(),
        pretty in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
    ) {
        let mut bytes = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        prop_assert_eq!(check(&bytes), Ok(()));
        for (at, byte, edit) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => _ = bytes.remove(at),
                _ => bytes.truncate(at),
            }
        }
        agrees(&bytes);
    }
}
