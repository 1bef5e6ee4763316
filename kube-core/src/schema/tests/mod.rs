//! Rust types as schemars writes them, and what the server gets.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// The schema of `T`'s fields; every result is checked against the rules of structural schemas on its way out.
fn fields<T: JsonSchema>() -> Value {
    let schema = structural_schema::<T>().unwrap();
    check(&schema).unwrap();
    schema["properties"].clone()
}

fn error<T: JsonSchema>() -> String {
    structural_schema::<T>().unwrap_err().to_string()
}

mod enums;
mod random;

mod maps {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct FlatText {
        name: String,
        #[serde(flatten)]
        extras: BTreeMap<String, String>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct FlatAny {
        name: String,
        #[serde(flatten)]
        extras: HashMap<String, Value>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Maps {
        labels: BTreeMap<String, String>,
        anything: BTreeMap<String, Value>,
        by_number: BTreeMap<u16, bool>,
        value: Value,
        /// A documented one.
        documented: Option<Value>,
    }

    #[test]
    fn flattened_maps_keep_unknown_fields() {
        let expected = json!({
            "type": "object",
            "required": ["name"],
            "properties": { "name": { "type": "string" } },
            "x-kubernetes-preserve-unknown-fields": true,
        });
        assert_eq!(structural_schema::<FlatText>().unwrap(), expected);
        assert_eq!(structural_schema::<FlatAny>().unwrap(), expected);
    }

    #[test]
    fn other_maps_have_a_schema_for_their_values() {
        assert_eq!(
            fields::<Maps>(),
            json!({
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "anything": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "by_number": { "type": "object", "additionalProperties": { "type": "boolean" } },
                "value": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
                "documented": { "description": "A documented one.", "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
            })
        );
    }
}

mod recursion {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Tree {
        children: Vec<Tree>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct A {
        b: Option<Box<B>>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct B {
        a: Vec<A>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Open {
        name: String,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        children: Vec<Open>,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        next: Option<Box<Open>>,
    }

    #[test]
    fn a_cycle_is_an_error_with_its_types() {
        assert!(error::<Tree>().starts_with("children[]: the type contains itself (Tree -> Tree)"));
        assert!(error::<A>().starts_with("b.a[]: the type contains itself (A -> B -> A)"));
    }

    #[test]
    fn an_opened_edge_ends_it() {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut nullable = open.clone();
        nullable["nullable"] = json!(true);
        assert_eq!(
            fields::<Open>(),
            json!({ "name": { "type": "string" }, "children": { "type": "array", "items": open }, "next": nullable })
        );
    }
}

mod scalars {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Numbers {
        u8: u8,
        u16: u16,
        u32: u32,
        u64: u64,
        usize: usize,
        i8: i8,
        i64: i64,
        f32: f32,
        f64: f64,
        some: std::num::NonZeroU32,
        maybe: Option<u32>,
        #[schemars(range(min = 1, max = 10))]
        ranged: u32,
        letter: char,
        pair: (u8, u8),
        bytes: [u8; 4],
        set: std::collections::BTreeSet<String>,
    }

    #[test]
    fn numbers_have_kubernetes_formats_and_rust_ranges() {
        let byte = json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 255 });
        assert_eq!(
            fields::<Numbers>(),
            json!({
                "u8": byte,
                "u16": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 },
                "u32": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32 },
                "u64": { "type": "integer", "format": "int64", "minimum": 0 },
                "usize": { "type": "integer", "format": "int64", "minimum": 0 },
                "i8": { "type": "integer", "format": "int32", "minimum": -128, "maximum": 127 },
                "i64": { "type": "integer", "format": "int64" },
                "f32": { "type": "number", "format": "float" },
                "f64": { "type": "number", "format": "double" },
                "some": { "type": "integer", "format": "int64", "minimum": 1, "maximum": 4_294_967_295_u32 },
                "maybe": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32, "nullable": true },
                "ranged": { "type": "integer", "format": "int64", "minimum": 1, "maximum": 10 },
                "letter": { "type": "string", "minLength": 1, "maxLength": 1 },
                "pair": { "type": "array", "items": byte, "minItems": 2, "maxItems": 2 },
                "bytes": { "type": "array", "items": byte, "minItems": 4, "maxItems": 4 },
                "set": { "type": "array", "items": { "type": "string" } },
            })
        );
    }

    #[derive(JsonSchema, Serialize, Deserialize, Default)]
    struct Limits {
        cpu: u8,
        note: Option<String>,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Default)]
    #[serde(default)]
    struct Defaults {
        count: i32,
        label: Option<String>,
        limits: Limits,
    }

    #[test]
    fn defaults_are_kept_and_null_is_none() {
        assert_eq!(
            structural_schema::<Defaults>().unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "count": { "type": "integer", "format": "int32", "default": 0 },
                    "label": { "type": "string", "nullable": true },
                    "limits": {
                        "type": "object",
                        "required": ["cpu"],
                        "properties": {
                            "cpu": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 255 },
                            "note": { "type": "string", "nullable": true },
                        },
                        "default": { "cpu": 0, "note": null },
                    },
                },
            })
        );
    }

    #[derive(JsonSchema, Serialize)]
    struct BadDefault {
        #[schemars(extend("default" = "three"))]
        count: i32,
    }

    #[test]
    fn a_default_that_does_not_fit_is_an_error() {
        assert_eq!(BadDefault { count: 0 }.count, 0);
        assert_eq!(
            error::<BadDefault>(),
            "count: the default \"three\" does not fit its schema: \"three\" is of type string"
        );
    }
}

mod cel {
    use super::*;

    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self.a != \"x\\n\"", "message": "not \"x\"" },
        { "rule": "self.b >= 0", "messageExpression": "'b'", "reason": "FieldValueInvalid", "fieldPath": ".b", "optionalOldSelf": true },
    ]))]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Ruled {
        a: String,
        #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self > 1" }]))]
        b: Option<i32>,
        #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.size() < 9" }]))]
        c: Vec<String>,
        #[schemars(extend("x-kubernetes-validations" = [{ "rule": "has(self.a)" }]))]
        choice: Option<Choice>,
    }

    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "!has(self.b) || self.b.n > 0" }]))]
    #[expect(dead_code, reason = "read by its derive only")]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        A { n: i32 },
        B { n: i32 },
    }

    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.n > 0" }]))]
    #[expect(dead_code, reason = "read by its derive only")]
    struct Payload {
        n: i32,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "read by its derive only")]
    enum RuledVariant {
        A(Payload),
        B { m: i32 },
    }

    #[test]
    fn rules_stay_on_their_node_and_out_of_branches() {
        let schema = structural_schema::<Ruled>().unwrap();
        let at =
            |pointer: &str| schema.pointer(&format!("{pointer}/x-kubernetes-validations")).cloned().unwrap();
        assert_eq!(
            at(""),
            json!([
                { "rule": "self.a != \"x\\n\"", "message": "not \"x\"" },
                { "rule": "self.b >= 0", "messageExpression": "'b'", "reason": "FieldValueInvalid", "fieldPath": ".b", "optionalOldSelf": true },
            ])
        );
        assert_eq!(at("/properties/b"), json!([{ "rule": "self > 1" }]));
        assert_eq!(schema["properties"]["b"]["nullable"], json!(true));
        assert_eq!(at("/properties/c"), json!([{ "rule": "self.size() < 9" }]));
        assert_eq!(
            at("/properties/choice"),
            json!([{ "rule": "!has(self.b) || self.b.n > 0" }, { "rule": "has(self.a)" }])
        );
        assert_eq!(
            schema["properties"]["choice"]["oneOf"],
            json!([{ "required": ["a"] }, { "required": ["b"] }])
        );
    }

    #[test]
    fn a_rule_on_one_variant_is_refused() {
        assert!(error::<RuledVariant>().contains("a rule on one variant would bind all of them"));
    }
}

mod whole_documents {
    use super::*;

    #[test]
    fn a_root_schema_with_definitions_can_be_rewritten_too() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "read by its derive only")]
        struct Outer {
            inner: Inner,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "read by its derive only")]
        struct Inner {
            a: String,
        }
        let schema = schemars::schema_for!(Outer).to_value();
        assert!(schema.get("$defs").is_some() && schema.get("title").is_some());
        assert_eq!(rewrite(&schema), structural_schema::<Outer>());
    }

    #[test]
    fn rewriting_is_idempotent_for_what_has_no_branches() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "read by its derive only")]
        struct Simple {
            a: Option<u32>,
            b: Vec<String>,
            c: BTreeMap<String, Value>,
        }
        let once = structural_schema::<Simple>().unwrap();
        assert_eq!(rewrite(&once), Ok(once));
    }
}
