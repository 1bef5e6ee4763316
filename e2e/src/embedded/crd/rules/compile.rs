//! Whether rules may stand in a definition: each is complete, compiles, and is one that this server can evaluate.

use cel::Program;
use serde_json::{Map, Value, json};

use super::{
    environment,
    types::{Checker, Type},
};
use crate::embedded::{
    crd::schema::list,
    errors::{FieldError, FieldReason, quoted},
};

type Schema = Map<String, Value>;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Functions that rules may call, operators aside.
const FUNCTIONS: &str = "size contains startsWith endsWith matches string int uint double bool bytes dyn type duration timestamp \
    getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds \
    of none ofNonZeroValue hasValue value or orValue optMap charAt indexOf lastIndexOf join lowerAscii upperAscii replace \
    split substring trim slice flatten distinct reverse sort range isSorted sum min max equivalent intersects find findAll \
    quote format";

/// Functions and macros that the real server has and this one has not.
const ELSEWHERE: &str = "all exists exists_one existsOne transformList transformMap transformMapEntry optFlatMap named validate \
    quantity isQuantity isInteger asInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub sign url isURL \
    getScheme getHost getHostname getPort getEscapedPath getQuery ip isIP isCanonical family isUnspecified isLoopback \
    isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast cidr isCIDR containsIP containsCIDR masked prefixLength semver \
    isSemver major minor patch";

/// Names that are no variables: types and name spaces.
const NAMES: &str =
    "int uint double bool string bytes list map type null_type optional strings lists sets format google";

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Here,
    /// In the real server.
    Elsewhere,
    No,
}

/// Of a function, which may have a name space before it.
pub(super) fn function(name: &str) -> Known {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_in = |list: &str| list.split_whitespace().any(|one| one == last);
    if is_in(FUNCTIONS) {
        Known::Here
    } else if is_in(ELSEWHERE) {
        Known::Elsewhere
    } else {
        Known::No
    }
}

/// Whether a name stands for a type or a name space.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.split_whitespace().any(|one| one == name)
}

/// Compiles an expression; none for an empty or a wrong one.
pub(super) fn program(text: &str) -> Option<Program> {
    if text.is_empty() { None } else { environment().compile(text).ok() }
}

/// The names in `.spec['a.b'].c`; none if it is no path.
pub(super) fn field_path(mut path: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while !path.is_empty() {
        let (name, rest) = if let Some(rest) = path.strip_prefix("['") {
            rest.split_once("']")?
        } else {
            let rest = path.strip_prefix('.')?;
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        if name.is_empty() {
            return None;
        }
        names.push(name.to_owned());
        path = rest;
    }
    Some(names)
}

/// What is wrong with the rules of a schema and of all below it.
pub(in crate::embedded::crd) fn check_rules(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, path, Place { root: true, uncorrelated: None }, &mut errors);
    errors
}

/// Where a schema stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// It is that of the whole object.
    root: bool,
    /// The list around it whose items are not told apart, so that they have no past.
    uncorrelated: Option<&'a str>,
}

fn visit(schema: &Schema, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let at = format!("{path}.x-kubernetes-validations[{index}]");
        check_rule(schema, rule, &at, place, errors);
    }
    let inside = Place { root: false, ..place };
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(field) = field.as_object() {
            visit(field, &format!("{path}.properties[{name}]"), inside, errors);
        }
    }
    if let Some(value) = schema.get("additionalProperties").and_then(Value::as_object) {
        visit(value, &format!("{path}.additionalProperties"), inside, errors);
    }
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        let told_apart = schema.get("x-kubernetes-list-type") == Some(&json!("map"));
        let uncorrelated = if told_apart { place.uncorrelated } else { place.uncorrelated.or(Some(path)) };
        visit(items, &format!("{path}.items"), Place { root: false, uncorrelated }, errors);
    }
}

fn check_rule(schema: &Schema, rule: &Value, at: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let text = |key: &str| rule.get(key).and_then(Value::as_str);
    let of = |key: &str| format!("{at}.{key}");
    let source = text("rule").unwrap_or_default();
    if source.trim().is_empty() {
        errors.push(FieldError::required(of("rule"), "rule is not specified"));
        return;
    }
    let message = text("message").filter(|message| !message.is_empty());
    match message {
        Some(message) if message.trim().is_empty() => {
            let detail = "must be non-empty if specified";
            errors.push(FieldError::invalid(of("message"), &json!(message), detail));
        }
        Some(message) if message.trim().contains('\n') => {
            let detail = "must not contain line breaks";
            errors.push(FieldError::invalid(of("message"), &json!(message), detail));
        }
        None if source.trim().contains('\n') => {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(of("message"), detail));
        }
        _ => {}
    }
    let expression = text("messageExpression").filter(|expression| !expression.is_empty());
    if expression.is_some_and(|expression| expression.trim().is_empty()) {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(of("messageExpression"), detail));
    }
    if let Some(reason) = text("reason").filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::not_supported(of("reason"), &json!(reason), &REASONS));
    }
    if let Some(path) = text("fieldPath").filter(|path| !path.is_empty())
        && !field_path(path).is_some_and(|names| leads_somewhere(schema, &names))
    {
        errors.push(FieldError::invalid(of("fieldPath"), &json!(path), "must be a valid path"));
    }
    let this = Type::of(schema, place.root);
    let old = if rule["optionalOldSelf"] == true { Type::Any } else { this.clone() };
    let mut uses_old = false;
    match compiled(source, "bool", this.clone(), old.clone()) {
        Ok(program) => uses_old = program.references().has_variable("oldSelf"),
        Err(why) => errors.push(refused(of("rule"), rule, why)),
    }
    if let Some(expression) = expression.filter(|expression| !expression.trim().is_empty())
        && let Err(why) = compiled(expression, "string", this, old)
    {
        errors.push(refused(of("messageExpression"), rule, why));
    }
    if let (true, Some(list)) = (uses_old, place.uncorrelated) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        errors.push(FieldError::invalid(of("rule"), &json!(source), detail));
    }
    if let (Some(optional), false) = (rule.get("optionalOldSelf").filter(|value| !value.is_null()), uses_old)
    {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(of("optionalOldSelf"), optional, detail));
    }
}

/// The whole rule is the value of such an error, in the order of the server's own struct.
fn refused(path: String, rule: &Value, detail: String) -> FieldError {
    let text = |key: &str| go_json(rule.get(key).filter(|value| !value.is_null()).unwrap_or(&json!("")));
    let or_null = |key: &str| go_json(rule.get(key).unwrap_or(&Value::Null));
    let value = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        or_null("reason"),
        text("fieldPath"),
        or_null("optionalOldSelf"),
    );
    FieldError { path, reason: FieldReason::Invalid, value: Some(value), detail }
}

/// JSON as Go writes it, safe inside HTML.
fn go_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn leads_somewhere(schema: &Schema, names: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else { return true };
    let field = schema.get("properties").and_then(|fields| fields.get(first));
    let field = field.or_else(|| schema.get("additionalProperties"));
    field.and_then(Value::as_object).is_some_and(|field| leads_somewhere(field, rest))
}

/// Compiles an expression that must be of a type, `bool` or `string`.
fn compiled(source: &str, wanted: &str, this: Type<'_>, old: Type<'_>) -> Result<Program, String> {
    let failed = |errors: &str| format!("compilation failed: {}", errors.replace("\n| ", "\n | "));
    let program = environment().compile(source).map_err(|errors| failed(&errors.to_string()))?;
    let parsed = environment().parser().parse_with_source_info(source);
    let (expression, places) = parsed.map_err(|errors| failed(&errors.to_string()))?;
    let mut checker = Checker::new(this, old, &places);
    let found = checker.type_of(&expression);
    // What is not there may be what a name stands for, so this comes before names.
    if !checker.missing.is_empty() {
        let functions: Vec<_> = checker.missing.iter().map(|name| quoted(name)).collect();
        return Err(format!(
            "the embedded server cannot evaluate {}: use a real control plane for definitions with this rule",
            functions.join(", ")
        ));
    }
    if let Some(report) = checker.report() {
        return Err(failed(&report));
    }
    let fits =
        matches!(found, Type::Any) || found == Type::Scalar(if wanted == "bool" { "bool" } else { "string" });
    match (fits, wanted) {
        (true, _) => Ok(program),
        (false, "bool") => Err("cel expression must evaluate to a bool".to_owned()),
        (false, _) => Err("messageExpression must evaluate to a string".to_owned()),
    }
}
