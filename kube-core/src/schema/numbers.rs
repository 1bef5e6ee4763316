//! Formats and bounds: the ones Kubernetes knows, with the range of the Rust type kept where its format has to go.
//!
//! The server warns of a format it does not know, so schemars' `uint32` and the like become the narrowest Kubernetes
//! format that holds them, and bounds where that is wider than the Rust type.

use serde_json::{Number, Value, json};

use super::{FieldPath, Node, Problem, SchemaError};

/// schemars' integer formats: the Kubernetes format, and the bounds that the type has and the format has not.
const INTEGERS: [(&str, &str, Option<i64>, Option<i64>); 12] = [
    ("int8", "int32", Some(-128), Some(127)),
    ("int16", "int32", Some(-32_768), Some(32_767)),
    ("int32", "int32", None, None),
    ("int64", "int64", None, None),
    // JSON integers of the API server have 64 bits: what is wider in Rust is not wider there.
    ("int128", "int64", None, None),
    ("int", "int64", None, None),
    ("uint8", "int32", Some(0), Some(255)),
    ("uint16", "int32", Some(0), Some(65_535)),
    ("uint32", "int64", Some(0), Some(4_294_967_295)),
    ("uint64", "int64", Some(0), None),
    ("uint128", "int64", Some(0), None),
    ("uint", "int64", Some(0), None),
];

/// String formats that the API server checks, as go-openapi names them, dashes left out.
///
/// `duration` is missing on purpose: Kubernetes means Go's `1h30m` by it, and Rust's types write ISO 8601 (`PT1H30M`),
/// which the server would refuse.
const STRINGS: [&str; 23] = [
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
    "datetime",
];

/// Rewrites `format`, `exclusiveMinimum` and `exclusiveMaximum`. The node's type is settled.
pub(super) fn numbers(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    exclusive(node, "exclusiveMinimum", "minimum", f64::ge, at)?;
    exclusive(node, "exclusiveMaximum", "maximum", f64::le, at)?;
    let Some(format) = node.remove("format") else { return Ok(()) };
    let Value::String(format) = format else {
        return Err(at.error(Problem::malformed("format", "a string", &format)));
    };
    let kept = match node.get("type").and_then(Value::as_str) {
        Some("integer") => {
            let Some((_, kept, minimum, maximum)) = INTEGERS.iter().find(|(name, ..)| *name == format) else {
                return Ok(());
            };
            bound(node, "minimum", *minimum, f64::max);
            bound(node, "maximum", *maximum, f64::min);
            Some(*kept)
        }
        Some("number") => ["float", "double"].into_iter().find(|known| *known == format),
        Some("string") | None => {
            let plain = format.replace('-', "");
            // The two names of Kubernetes' own kind are written with their dashes.
            let known =
                STRINGS.contains(&plain.as_str()) || matches!(&*format, "k8s-short-name" | "k8s-long-name");
            known.then_some(format.as_str())
        }
        Some(_) => None,
    };
    if let Some(kept) = kept {
        node.insert("format".into(), json!(kept));
    }
    Ok(())
}

/// Sets a bound, unless the node has a tighter one.
fn bound(node: &mut Node, keyword: &str, limit: Option<i64>, tighter: fn(f64, f64) -> f64) {
    let Some(limit) = limit else { return };
    let given = node.get(keyword).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "the limits of the table are under 2^53")]
    let as_float = limit as f64;
    // Equal or looser: the table's own integer, not the float of the comparison.
    if given.is_none_or(|given| tighter(given, as_float).to_bits() == as_float.to_bits()) {
        node.insert(keyword.to_owned(), json!(limit));
    }
}

/// The draft's `exclusiveMinimum: 3` is `minimum: 3, exclusiveMinimum: true` in Kubernetes.
fn exclusive(
    node: &mut Node,
    keyword: &str,
    bound: &str,
    tighter: fn(&f64, &f64) -> bool,
    at: &FieldPath,
) -> Result<(), SchemaError> {
    match node.get(keyword) {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            node.remove(keyword);
        }
        Some(Value::Number(limit)) => {
            let limit = limit.clone();
            let value = |number: &Number| number.as_f64();
            let given = node.get(bound).and_then(Value::as_number).and_then(value);
            let stands = value(&limit).zip(given).is_none_or(|(limit, given)| tighter(&limit, &given));
            if stands {
                node.insert(bound.to_owned(), Value::Number(limit));
                node.insert(keyword.to_owned(), json!(true));
            } else {
                node.remove(keyword);
            }
        }
        Some(other) => return Err(at.error(Problem::malformed(keyword, "a number", other))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(schema: Value) -> Result<Value, String> {
        let Value::Object(mut node) = schema else { panic!("not an object") };
        numbers(&mut node, &FieldPath::root()).map_err(|error| error.to_string())?;
        Ok(Value::Object(node))
    }

    #[test]
    fn formats_are_those_of_kubernetes_and_ranges_those_of_the_type() {
        let integer = |format: &str| json!({ "type": "integer", "format": format });
        let rows = [
            (integer("uint8"), json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 255 })),
            (
                integer("uint16"),
                json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 }),
            ),
            (
                integer("uint32"),
                json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32 }),
            ),
            (integer("uint64"), json!({ "type": "integer", "format": "int64", "minimum": 0 })),
            (integer("uint"), json!({ "type": "integer", "format": "int64", "minimum": 0 })),
            (
                integer("int8"),
                json!({ "type": "integer", "format": "int32", "minimum": -128, "maximum": 127 }),
            ),
            (integer("int"), json!({ "type": "integer", "format": "int64" })),
            (integer("int64"), integer("int64")),
            (integer("mine"), json!({ "type": "integer" })),
            (
                json!({ "type": "integer", "format": "uint32", "minimum": 1 }),
                json!({ "type": "integer", "format": "int64", "minimum": 1, "maximum": 4_294_967_295_u32 }),
            ),
            (
                json!({ "type": "integer", "format": "uint8", "minimum": 0, "maximum": 10 }),
                json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 10 }),
            ),
            (json!({ "type": "number", "format": "float" }), json!({ "type": "number", "format": "float" })),
            (json!({ "type": "number", "format": "decimal" }), json!({ "type": "number" })),
            (
                json!({ "type": "string", "format": "date-time" }),
                json!({ "type": "string", "format": "date-time" }),
            ),
            (json!({ "type": "string", "format": "byte" }), json!({ "type": "string", "format": "byte" })),
            (
                json!({ "type": "string", "format": "k8s-short-name" }),
                json!({ "type": "string", "format": "k8s-short-name" }),
            ),
            (json!({ "type": "string", "format": "duration" }), json!({ "type": "string" })),
            (json!({ "type": "string", "format": "ip" }), json!({ "type": "string" })),
            (json!({ "type": "object", "format": "x" }), json!({ "type": "object" })),
        ];
        for (schema, expected) in rows {
            assert_eq!(numbered(schema), Ok(expected));
        }
    }

    #[test]
    fn exclusive_bounds_are_flags() {
        let rows = [
            (json!({ "exclusiveMinimum": 3 }), json!({ "minimum": 3, "exclusiveMinimum": true })),
            (
                json!({ "exclusiveMinimum": 3, "minimum": 3 }),
                json!({ "minimum": 3, "exclusiveMinimum": true }),
            ),
            (json!({ "exclusiveMinimum": 3, "minimum": 4 }), json!({ "minimum": 4 })),
            (
                json!({ "exclusiveMaximum": 3.5, "maximum": 9 }),
                json!({ "maximum": 3.5, "exclusiveMaximum": true }),
            ),
            (
                json!({ "minimum": 1, "exclusiveMinimum": true }),
                json!({ "minimum": 1, "exclusiveMinimum": true }),
            ),
            (json!({ "minimum": 1, "exclusiveMinimum": false }), json!({ "minimum": 1 })),
        ];
        for (schema, expected) in rows {
            assert_eq!(numbered(schema), Ok(expected));
        }
    }
}
