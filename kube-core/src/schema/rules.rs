//! CEL rules (`x-kubernetes-validations`): their exact JSON names, and nothing for what is unset.

use serde_json::Value;

use super::{FieldPath, Node, Problem, SchemaError, keywords::VALIDATIONS};

const STRINGS: [&str; 5] = ["rule", "message", "messageExpression", "reason", "fieldPath"];

/// Checks the shape of a node's rules and drops the keys that are null. Their text and their order stay.
pub(super) fn rules(node: &mut Node, at: &FieldPath) -> Result<(), SchemaError> {
    let Some(value) = node.get_mut(VALIDATIONS) else { return Ok(()) };
    let Value::Array(rules) = value else {
        return Err(at.error(Problem::malformed(VALIDATIONS, "a list of rules", value)));
    };
    for rule in rules {
        let Value::Object(fields) = rule else {
            return Err(at.error(Problem::malformed(VALIDATIONS, "a list of objects with `rule`", rule)));
        };
        fields.retain(|_, value| !value.is_null());
        let well_formed = fields.contains_key("rule")
            && fields.iter().all(|(name, value)| match name.as_str() {
                "optionalOldSelf" => value.is_boolean(),
                name => STRINGS.contains(&name) && value.is_string(),
            });
        if !well_formed {
            let expected = "a list of rules: `rule` and, where wanted, message, messageExpression, reason, fieldPath \
                            (strings), optionalOldSelf (true or false)";
            return Err(at.error(Problem::malformed(VALIDATIONS, expected, rule)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ruled(value: &Value) -> Result<Value, String> {
        let mut node = Node::new();
        node.insert(VALIDATIONS.into(), value.clone());
        rules(&mut node, &FieldPath::root()).map_err(|error| error.to_string())?;
        Ok(node.remove(VALIDATIONS).unwrap())
    }

    #[test]
    fn rules_keep_their_order_and_text_and_lose_what_is_unset() {
        let given = json!([{ "rule": "self.a != \"x\\n\"", "message": null, "optionalOldSelf": true }, { "rule": "b" }]);
        let kept = json!([{ "rule": "self.a != \"x\\n\"", "optionalOldSelf": true }, { "rule": "b" }]);
        assert_eq!(ruled(&given), Ok(kept));
    }

    #[test]
    fn misspelt_rules_are_refused() {
        for bad in [
            json!({}),
            json!(["a"]),
            json!([{ "message": "m" }]),
            json!([{ "rule": "a", "field_path": ".b" }]),
            json!([{ "rule": 1 }]),
        ] {
            assert!(ruled(&bad).unwrap_err().contains("`x-kubernetes-validations` must be"));
        }
    }
}
