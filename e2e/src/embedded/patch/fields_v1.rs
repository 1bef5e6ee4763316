//! Sets of fields as JSON: the `fieldsV1` of an entry of `managedFields`.
//!
//! A key names an element by its kind: `f:` a field, `k:` the key fields of an item as JSON, `v:` the value
//! of an item as JSON, `i:` a place. A value holds what is below; `.` in it tells that the element itself is
//! a member, which goes without saying where nothing is below. Kinds that nobody knows are dropped.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    go_json,
    set::{Atom, Element, Node, Set},
};

/// A set as JSON.
pub(super) fn print(set: &Set) -> Value {
    Value::Object(print_below(set, false))
}

fn print_below(set: &Set, member: bool) -> Map<String, Value> {
    let mut out = Map::new();
    if member && !set.is_empty() {
        out.insert(".".into(), Value::Object(Map::new()));
    }
    for (element, node) in &set.nodes {
        out.insert(print_element(element), Value::Object(print_below(&node.below, node.member)));
    }
    out
}

fn print_element(element: &Element) -> String {
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Key(fields) => {
            let fields: Map<_, _> =
                fields.iter().map(|(name, value)| (name.to_string(), value.0.clone())).collect();
            format!("k:{}", go_json(&Value::Object(fields)))
        }
        Element::Value(value) => format!("v:{}", go_json(&value.0)),
        Element::Index(index) => format!("i:{index}"),
    }
}

/// The set that JSON means; none if it means no set.
pub(super) fn parse(json: &Value) -> Option<Set> {
    let mut nodes = BTreeMap::new();
    for (key, value) in json.as_object()?.iter().filter(|(key, _)| *key != ".") {
        let below = parse(value)?;
        // An element without anything below is a member, whether "." says so or not.
        let member = below.is_empty() || value.get(".").is_some();
        match parse_element(key) {
            Ok(element) => {
                nodes.insert(element, Node { member, below });
            }
            Err(NoElement::Unknown) => {}
            Err(NoElement::Invalid) => return None,
        }
    }
    Some(Set { nodes })
}

/// Why a key names no element.
enum NoElement {
    /// Its kind may be one of a later version.
    Unknown,
    Invalid,
}

fn parse_element(key: &str) -> Result<Element, NoElement> {
    let invalid = |_| NoElement::Invalid;
    let (kind, rest) = key.split_at_checked(2).ok_or(NoElement::Invalid)?;
    match kind {
        "f:" => Ok(Element::field(rest)),
        "v:" => serde_json::from_str(rest).map(|value| Element::Value(Atom(value))).map_err(invalid),
        "k:" => {
            let fields: Map<String, Value> = serde_json::from_str(rest).map_err(invalid)?;
            // A `Map` is sorted by key.
            Ok(Element::Key(fields.into_iter().map(|(name, value)| (name.into(), Atom(value))).collect()))
        }
        "i:" => rest.parse().map(Element::Index).map_err(|_| NoElement::Invalid),
        kind if kind.ends_with(':') => Err(NoElement::Unknown),
        _ => Err(NoElement::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_parsed_prints_as_before() {
        for fields in [
            json!({}),
            json!({ "f:data": { ".": {}, "f:x": {} }, "f:metadata": { "f:labels": { "f:l": {} } } }),
            json!({ "f:spec": { "f:containers": { "k:{\"name\":\"c\"}": { ".": {}, "f:image": {} } } } }),
            json!({ "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {} } }),
            json!({ "f:metadata": { "f:finalizers": { ".": {}, "v:\"a.b/c\"": {} } } }),
            json!({ "f:set": { "v:1": {}, "v:true": {}, "v:\"a\\u003cb\"": {}, "i:3": {} } }),
        ] {
            assert_eq!(parse(&fields).map(|set| print(&set)), Some(fields.clone()), "{fields}");
        }
    }

    #[test]
    fn what_goes_without_saying_is_not_printed() {
        for (fields, printed) in [
            (json!({ "f:a": { ".": {} } }), json!({ "f:a": {} })),
            (json!({ "f:a": { "q:b": {} } }), json!({ "f:a": {} })),
            (json!({ "q:a": {}, "f:b": {} }), json!({ "f:b": {} })),
            (json!({ ".": {} }), json!({})),
        ] {
            assert_eq!(parse(&fields).map(|set| print(&set)), Some(printed), "{fields}");
        }
    }

    #[test]
    fn other_json_is_no_set() {
        for json in [
            json!(null),
            json!([]),
            json!({ "f": {} }),
            json!({ "x": {} }),
            json!({ "v:": {} }),
            json!({ "k:[]": {} }),
            json!({ "i:x": {} }),
            json!({ "f:a": 3 }),
            json!({ "abc": {} }),
        ] {
            assert_eq!(parse(&json), None, "{json}");
        }
    }
}
