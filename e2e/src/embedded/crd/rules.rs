//! `x-kubernetes-validations`: rules that authors write in CEL.
//!
//! In: values and the schemas that carry the rules. Out: field errors where a rule says no or cannot be evaluated; on updates also
//! warnings, where a value breaks a rule but did not change. A rule that speaks of `oldSelf` is asked on updates only.
//! The interpreter is the `cel` crate. It checks no types before it runs and lacks Kubernetes' own libraries, so a rule that
//! uses one of those is refused with its definition (`compile`): never skipped, never taken to hold.
//! What is not as in the real server: rules are not priced (that one refuses definitions whose rules may become too expensive),
//! and lists that are sets or maps compare in order.

mod compile;
mod library;
mod types;
mod values;

use std::sync::{Arc, OnceLock};

use cel::{Context, Env, ExecutionError, Program, objects::OptionalValue};
use serde_json::Value;

pub(super) use self::compile::check_rules;
use super::{
    check::{NOWHERE, counterpart},
    fit::join,
    schema::Node,
};
use crate::embedded::errors::{FieldError, FieldReason};

/// One rule, compiled.
#[derive(Debug)]
pub(super) struct Rule {
    /// As written, without space around it.
    text: String,
    /// Empty if none is given.
    message: String,
    message_expression: Option<Program>,
    reason: FieldReason,
    /// Names of fields below the value, which the error is about.
    field_path: Vec<String>,
    /// Without it, a rule about `oldSelf` waits for an update; with it, `oldSelf` is an optional value.
    optional_old: bool,
    uses_old: bool,
    /// None if it does not compile: its definition was refused.
    program: Option<Program>,
}

/// What rules say of an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::embedded) struct Verdict {
    pub(in crate::embedded) errors: Vec<FieldError>,
    /// Rules that the object breaks, and broke before.
    pub(in crate::embedded) warnings: Vec<String>,
}

/// The functions that rules may call.
fn environment() -> Arc<Env> {
    static ENV: OnceLock<Arc<Env>> = OnceLock::new();
    let env = ENV.get_or_init(|| {
        let mut env = Env::stdlib();
        for extension in [cel::extensions::strings, cel::extensions::lists, library::extension] {
            // Fails only where a name is taken, and a test uses each function.
            let _ = env.add_extension(extension);
        }
        Arc::new(env)
    });
    Arc::clone(env)
}

impl Rule {
    /// Reads a rule; what does not compile never says no.
    pub(super) fn read(rule: &Value) -> Self {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let program = compile::program(&text("rule"));
        Self {
            uses_old: program.as_ref().is_some_and(|program| program.references().has_variable("oldSelf")),
            program,
            message: text("message"),
            message_expression: compile::program(&text("messageExpression")),
            reason: match text("reason").as_str() {
                "FieldValueRequired" => FieldReason::Required,
                "FieldValueForbidden" => FieldReason::Forbidden,
                "FieldValueDuplicate" => FieldReason::Duplicate,
                _ => FieldReason::Invalid,
            },
            field_path: compile::field_path(&text("fieldPath")).unwrap_or_default(),
            optional_old: rule.get("optionalOldSelf") == Some(&Value::Bool(true)),
            text: text("rule"),
        }
    }
}

/// Whether a tree of schemas has rules at all.
pub(super) fn has_rules(node: &Node) -> bool {
    !node.rules.is_empty() || children(node).any(has_rules)
}

fn children(node: &Node) -> impl Iterator<Item = &Node> {
    let additional = match &node.additional {
        super::schema::Additional::Schema(value) => Some(&**value),
        _ => None,
    };
    node.properties.values().chain(additional).chain(node.items.as_deref())
}

/// Asks all rules of an object, or of a part of one. `old` is what it was before an update.
pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>, is_object: bool) -> Verdict {
    let mut verdict = Verdict::default();
    visit(node, value, old, "", is_object, &mut verdict);
    verdict
}

fn visit(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &str,
    is_object: bool,
    verdict: &mut Verdict,
) {
    // Rules are for values. That there is none, a rule of the parent can say.
    if value.is_null() {
        return;
    }
    for rule in &node.rules {
        let Some(error) = rule.ask(node, value, old, path, is_object) else { continue };
        if old == Some(value) && !rule.uses_old {
            verdict.warnings.push(error.to_string());
        } else {
            verdict.errors.push(error);
        }
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(field) = node.field(name) {
                    let old = old.and_then(|old| old.get(name));
                    visit(field, value, old, &join(path, name), field.embedded, verdict);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &node.items else { return };
            for (index, item) in list.iter().enumerate() {
                let old = old.and_then(|old| counterpart(&node.list, item, old));
                visit(items, item, old, &format!("{path}[{index}]"), items.embedded, verdict);
            }
        }
        _ => {}
    }
}

impl Rule {
    /// The error if the rule does not hold.
    fn ask(
        &self,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        is_object: bool,
    ) -> Option<FieldError> {
        if self.uses_old && !self.optional_old && old.is_none() {
            return None;
        }
        let program = self.program.as_ref()?;
        let mut context = Context::with_env(environment());
        context.add_variable_from_value("self", values::to_cel(node, value, is_object));
        if self.uses_old || self.message_expression.is_some() {
            let old = old.map(|old| values::to_cel(node, old, is_object));
            match (self.optional_old, old) {
                (true, old) => {
                    let old = old.map_or_else(OptionalValue::none, OptionalValue::of);
                    context.add_variable_from_value("oldSelf", cel::Value::Opaque(Arc::new(old)));
                }
                (false, Some(old)) => context.add_variable_from_value("oldSelf", old),
                (false, None) => {}
            }
        }
        match program.execute(&context) {
            Ok(cel::Value::Bool(true)) => None,
            Ok(cel::Value::Bool(false)) => Some(self.broken(&context, value, path)),
            Ok(other) => Some(self.failed(&format!("{other:?} is not a bool"), value, path)),
            Err(
                ExecutionError::NoSuchOverload(_)
                | ExecutionError::ValuesNotComparable(..)
                | ExecutionError::UnsupportedBinaryOperator(..),
            ) => Some(self.misused(path)),
            Err(error) => Some(self.failed(&words(&error), value, path)),
        }
    }

    fn broken(&self, context: &Context<'_, '_>, value: &Value, path: &str) -> FieldError {
        let detail = self.said(context).unwrap_or_else(|| match self.message.as_str() {
            "" => format!("failed rule: {}", self.text),
            message => message.to_owned(),
        });
        let at = self.field_path.iter().fold(path.to_owned(), |path, name| join(&path, name));
        let at = if at.is_empty() { NOWHERE.to_owned() } else { at };
        // Of objects and lists, and of what a path leads to, no value is shown.
        let shown = self.field_path.is_empty() && !value.is_object() && !value.is_array();
        match self.reason {
            FieldReason::Required => FieldError::required(at, detail),
            FieldReason::Forbidden => FieldError::forbidden(at, detail),
            reason => {
                let mut error = match reason {
                    FieldReason::Duplicate => FieldError::duplicate(at, value),
                    _ => FieldError::invalid(at, value, detail),
                };
                error.value = error.value.filter(|_| shown);
                error
            }
        }
    }

    /// What the message expression makes of it, if that is usable as a message.
    fn said(&self, context: &Context<'_, '_>) -> Option<String> {
        match self.message_expression.as_ref()?.execute(context) {
            Ok(cel::Value::String(text)) => {
                let text = text.trim();
                let usable = !text.is_empty() && !text.contains('\n') && text.len() <= 5 * 1024;
                usable.then(|| text.to_owned())
            }
            _ => None,
        }
    }

    /// What errors call the rule.
    fn name(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }

    /// The values are of types that an operator or function does not take: the rule, not the value, is to blame.
    fn misused(&self, path: &str) -> FieldError {
        let at = if path.is_empty() { NOWHERE } else { path };
        let detail = format!(
            "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {}",
            self.name()
        );
        FieldError::invalid(at, &Value::from(""), detail)
    }

    fn failed(&self, why: &str, value: &Value, path: &str) -> FieldError {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let at = if path.is_empty() { NOWHERE } else { path };
        FieldError::invalid(at, &Value::from(kind), format!("{why} evaluating rule: {}", self.name()))
    }
}

/// Only texts can fail to convert.
fn conversion(to: &str) -> String {
    format!("type conversion error from 'string' to '{to}'")
}

/// An error of evaluation in the real server's words where it has some.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { function, message } => match function.as_str() {
            "timestamp" => conversion("google.protobuf.Timestamp"),
            "duration" => conversion("google.protobuf.Duration"),
            "int" | "uint" | "double" | "bool" => conversion(function),
            "min" | "max" => format!("{function} {message}"),
            _ => message.clone(),
        },
        other => other.to_string(),
    }
}
