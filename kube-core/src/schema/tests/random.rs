//! Properties over random schemas: no input makes the rewriter panic, what comes out is structural, and what a branch takes the
//! result takes too.

use proptest::prelude::*;

use super::{super::defaults::fits, *};

/// JSON that looks like a schema: known keywords in random places with random values.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        Just(json!({})),
        Just(json!({ "type": "string", "format": "uuid" })),
        Just(json!({ "type": ["integer", "null"], "format": "uint8", "exclusiveMinimum": 1 })),
        Just(json!({ "const": "a", "description": "d" })),
        Just(json!({ "enum": ["a", null] })),
        Just(json!({ "type": "null" })),
        Just(json!({ "$ref": "#/properties/a" })),
        Just(json!({ "type": 1 })),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..4);
        let fields = || prop::collection::btree_map("[a-d]", inner.clone(), 0..4);
        prop_oneof![
            (fields(), any::<bool>()).prop_map(|(fields, closed)| {
                let required: Vec<String> = fields.keys().take(1).cloned().collect();
                json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": !closed })
            }),
            (inner.clone(), fields())
                .prop_map(|(values, fields)| json!({ "additionalProperties": values, "properties": fields })),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "uniqueItems": true })),
            list().prop_map(|places| json!({ "prefixItems": places })),
            inner.clone().prop_map(|schema| json!({ "not": schema })),
            (prop_oneof![Just("oneOf"), Just("anyOf"), Just("allOf")], list(), any::<bool>()).prop_map(
                |(keyword, list, open)| json!({ keyword: list, "x-kubernetes-preserve-unknown-fields": open })
            ),
        ]
    })
}

/// A field of a branch: its schema.
fn field() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "string", "enum": ["x", "y"] })),
        Just(json!({ "type": "string", "const": "z" })),
        Just(json!({ "type": "integer", "minimum": 0 })),
        Just(json!({ "type": "integer", "maximum": 1 })),
        Just(json!({ "type": ["string", "null"] })),
    ]
}

fn branch() -> impl Strategy<Value = Value> {
    (prop::collection::btree_map("[abc]", field(), 0..4), any::<u8>()).prop_map(|(fields, mask)| {
        let required: Vec<&String> =
            fields.keys().enumerate().filter(|(i, _)| mask & (1 << i) != 0).map(|(_, name)| name).collect();
        json!({ "type": "object", "properties": fields.clone(), "required": required })
    })
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!("x")),
        Just(json!("z")),
        Just(json!("w")),
        Just(json!(0)),
        Just(json!(2)),
        Just(Value::Null)
    ];
    prop::collection::btree_map("[abc]", scalar, 0..4).prop_map(|fields| json!(fields))
}

proptest! {
    #[test]
    fn any_schema_is_rewritten_or_refused(schema in schema()) {
        if let Ok(result) = rewrite(&schema) {
            prop_assert_eq!(check(&result), Ok(()));
        }
    }

    #[test]
    fn what_a_branch_takes_the_result_takes(branches in prop::collection::vec(branch(), 2..4), value in value()) {
        let one = |schema: &Value| rewrite(schema).ok().and_then(|schema| schema.as_object().cloned());
        let taken = branches.iter().filter_map(one).any(|branch| fits(&value, &branch).is_ok());
        let whole = one(&json!({ "anyOf": branches }));
        prop_assert!(whole.is_some());
        let verdict = whole.map_or(Ok(()), |whole| fits(&value, &whole));
        prop_assert!(!taken || verdict.is_ok(), "{:?}", verdict);
    }
}
