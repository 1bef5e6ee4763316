//! Replaces every reference by what it refers to.
//!
//! In: a schema with `$ref`s into itself. Out: the same schema without any. A `$ref` beside other keywords becomes an
//! `allOf` of its target, which `merge` resolves.
//!
//! A type that contains itself has no finite form. It is an error that names the types on the way around, unless one edge
//! of the cycle carries `x-kubernetes-preserve-unknown-fields: true`: there the schema is cut with an open object.

use serde_json::{Map, Value, json};

use super::{FieldPath, Node, Problem, SchemaError, keywords::PRESERVE};

/// Most nodes of an inlined schema. A definition is stored as one object of at most 1.5 MiB (etcd's request limit), and no
/// node takes less than 15 bytes; a type over it uses one big type in too many places.
const MAX_NODES: usize = 100_000;

pub(super) fn inline(root: &Value, at: &FieldPath) -> Result<Value, SchemaError> {
    Inliner { root, entered: Vec::new(), nodes: 0 }.schema(root, false, at)
}

struct Inliner<'a> {
    root: &'a Value,
    /// The references being followed, outermost first.
    entered: Vec<Entered>,
    nodes: usize,
}

struct Entered {
    reference: String,
    /// The edge that led here was opened by its author.
    open: bool,
}

impl Inliner<'_> {
    /// `open`: a node between here and the last reference carries `x-kubernetes-preserve-unknown-fields`.
    fn schema(&mut self, schema: &Value, open: bool, at: &FieldPath) -> Result<Value, SchemaError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(at.error(Problem::TooLarge { limit: MAX_NODES }));
        }
        let Value::Object(node) = schema else { return Ok(schema.clone()) };
        let open = open || node.get(PRESERVE) == Some(&Value::Bool(true));
        let mut out = Map::new();
        for (keyword, value) in node {
            let value = match (keyword.as_str(), value) {
                ("$ref" | "$defs" | "definitions", _) => continue,
                ("properties" | "patternProperties", Value::Object(fields)) => {
                    self.fields(fields, open, at)?
                }
                ("items" | "additionalItems", value) => self.schema(value, open, &at.item())?,
                ("additionalProperties" | "unevaluatedProperties", value) => {
                    self.schema(value, open, &at.value())?
                }
                ("not", value) => self.schema(value, open, at)?,
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => self.list(list, open, at)?,
                ("prefixItems", Value::Array(list)) => self.list(list, open, &at.item())?,
                (_, other) => other.clone(),
            };
            out.insert(keyword.clone(), value);
        }
        match node.get("$ref") {
            None => Ok(Value::Object(out)),
            Some(Value::String(reference)) => self.reference(reference, out, open, at),
            Some(other) => Err(at.error(Problem::malformed("$ref", "a string", other))),
        }
    }

    fn fields(&mut self, fields: &Node, open: bool, at: &FieldPath) -> Result<Value, SchemaError> {
        fields
            .iter()
            .map(|(name, field)| Ok((name.clone(), self.schema(field, open, &at.field(name))?)))
            .collect::<Result<Map<_, _>, _>>()
            .map(Value::Object)
    }

    fn list(&mut self, list: &[Value], open: bool, at: &FieldPath) -> Result<Value, SchemaError> {
        list.iter()
            .map(|schema| self.schema(schema, open, at))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array)
    }

    fn reference(
        &mut self,
        reference: &str,
        beside: Node,
        open: bool,
        at: &FieldPath,
    ) -> Result<Value, SchemaError> {
        let target =
            if let Some(start) = self.entered.iter().position(|entered| entered.reference == reference) {
                let around = self.entered.get(start..).unwrap_or_default();
                if !open && !around.iter().skip(1).any(|entered| entered.open) {
                    let types = around
                        .iter()
                        .map(|entered| &*entered.reference)
                        .chain([reference])
                        .map(type_name)
                        .collect();
                    return Err(at.error(Problem::Cycle { types }));
                }
                json!({ "type": "object", PRESERVE: true })
            } else {
                let target = resolve(self.root, reference)
                    .ok_or_else(|| at.error(Problem::UnknownReference(reference.to_owned())))?;
                self.entered.push(Entered { reference: reference.to_owned(), open });
                let target = self.schema(target, false, at)?;
                self.entered.pop();
                target
            };
        if beside.is_empty() {
            return Ok(target);
        }
        let mut node = beside;
        match node.entry("allOf").or_insert_with(|| json!([])) {
            Value::Array(members) => members.insert(0, target),
            other => return Err(at.error(Problem::malformed("allOf", "a list", other))),
        }
        Ok(Value::Object(node))
    }
}

fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}

fn decoded(pointer: &str) -> String {
    percent_encoding::percent_decode_str(pointer).decode_utf8_lossy().into_owned()
}

/// The last segment of a reference: schemars files each type under its name.
fn type_name(reference: &str) -> String {
    let last = reference.rsplit('/').next().unwrap_or(reference);
    decoded(last).replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(schema: &Value) -> Result<Value, String> {
        inline(schema, &FieldPath::root()).map_err(|error| error.to_string())
    }

    #[test]
    fn references_are_replaced_and_keywords_beside_them_kept() {
        let rows = [
            (
                json!({ "$ref": "#/$defs/A", "$defs": { "A": { "type": "string" } } }),
                json!({ "type": "string" }),
            ),
            (
                json!({ "properties": { "a": { "$ref": "#/$defs/A", "description": "d" } }, "$defs": { "A": { "type": "string" } } }),
                json!({ "properties": { "a": { "description": "d", "allOf": [{ "type": "string" }] } } }),
            ),
            (
                json!({ "items": { "$ref": "#/$defs/a~1b%20c" }, "$defs": { "a/b c": { "type": "string" } } }),
                json!({ "items": { "type": "string" } }),
            ),
            // Values are not schemas: what looks like a reference in a default stays.
            (
                json!({ "default": { "$ref": "x" }, "enum": [{ "$ref": "y" }] }),
                json!({ "default": { "$ref": "x" }, "enum": [{ "$ref": "y" }] }),
            ),
        ];
        for (schema, expected) in rows {
            assert_eq!(inlined(&schema), Ok(expected));
        }
    }

    #[test]
    fn a_cycle_is_named_by_its_types() {
        let rows = [
            (
                json!({ "$ref": "#/$defs/Node", "$defs": {
                    "Node": { "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } } },
                } }),
                "children[]: the type contains itself (Node -> Node); ",
            ),
            (
                json!({ "$ref": "#/$defs/Top", "$defs": {
                    "Top": { "properties": { "a": { "$ref": "#/$defs/A" } } },
                    "A": { "properties": { "b": { "anyOf": [{ "$ref": "#/$defs/B" }, { "type": "null" }] } } },
                    "B": { "additionalProperties": { "$ref": "#/$defs/A" } },
                } }),
                "a.b{}: the type contains itself (A -> B -> A); ",
            ),
            (json!({ "$ref": "#/$defs/Lost" }), "(the type itself): `$ref: #/$defs/Lost` leads nowhere"),
        ];
        for (schema, message) in rows {
            let error = inlined(&schema).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn an_open_edge_cuts_the_cycle() {
        let open = json!({ "type": "object", PRESERVE: true });
        let direct = json!({ "$ref": "#/$defs/N", "$defs": {
            "N": { "properties": { "next": { "$ref": "#/$defs/N", PRESERVE: true } } },
        } });
        assert_eq!(
            inlined(&direct),
            Ok(json!({ "properties": { "next": { PRESERVE: true, "allOf": [open] } } }))
        );
        // Any edge of the cycle will do, and what lies between the field and the reference does not matter.
        let mutual = json!({ "$ref": "#/$defs/A", "$defs": {
            "A": { "properties": { "b": { "type": "array", "items": { "$ref": "#/$defs/B" }, PRESERVE: true } } },
            "B": { "properties": { "a": { "$ref": "#/$defs/A" } } },
        } });
        assert_eq!(
            inlined(&mutual),
            Ok(
                json!({ "properties": { "b": { "type": "array", PRESERVE: true, "items": { "properties": { "a": open } } } } })
            )
        );
    }

    #[test]
    fn a_type_that_doubles_at_each_level_is_refused() {
        let mut types: Map<String, Value> = (0..40)
            .map(|i| {
                let next = json!({ "$ref": format!("#/$defs/T{}", i + 1) });
                (format!("T{i}"), json!({ "properties": { "l": next, "r": next } }))
            })
            .collect();
        types.insert("T40".into(), json!({ "type": "string" }));
        let error = inlined(&json!({ "$ref": "#/$defs/T0", "$defs": types })).unwrap_err();
        assert!(error.contains("more than 100000 nodes"), "{error}");
    }
}
