//! The types in a rule, as far as they follow from the schema: enough to find what the real server most often refuses.
//!
//! In: an expression and the schema of `self`. Out: the errors of a type checker, at their places, and the functions that this
//! server does not have. What a type does not follow for is [`Type::Any`], and passes.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo};
use serde_json::{Map, Value};

use super::{
    compile::{Known, function, is_name},
    values::escape,
};

type Schema = Map<String, Value>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type<'a> {
    Any,
    Scalar(&'static str),
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>),
    /// Declared fields; with `true`, those of every object too.
    Object(&'a Schema, bool),
    /// Of an object's metadata, rules see the names.
    Metadata,
}

impl<'a> Type<'a> {
    pub(super) fn of(schema: &'a Schema, is_object: bool) -> Self {
        let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let part = |key: &str| {
            let part = schema.get(key).and_then(Value::as_object);
            Box::new(part.map_or(Self::Any, |part| Self::of(part, false)))
        };
        if is("x-kubernetes-int-or-string") {
            return Self::Any;
        }
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        match (schema.get("type").and_then(Value::as_str).unwrap_or_default(), format) {
            ("string", "byte") => Self::Scalar("bytes"),
            ("string", "date" | "date-time" | "datetime") => Self::Scalar("google.protobuf.Timestamp"),
            ("string", "duration") => Self::Scalar("google.protobuf.Duration"),
            ("string", _) => Self::Scalar("string"),
            ("integer", _) => Self::Scalar("int"),
            ("number", _) => Self::Scalar("double"),
            ("boolean", _) => Self::Scalar("bool"),
            ("array", _) => Self::List(part("items")),
            ("object", _) if schema.get("additionalProperties").is_some_and(Value::is_object) => {
                Self::Map(part("additionalProperties"))
            }
            ("object", _) => Self::Object(schema, is_object || is("x-kubernetes-embedded-resource")),
            _ => Self::Any,
        }
    }

    fn scalar(&self) -> Option<&'static str> {
        if let Self::Scalar(name) = self { Some(name) } else { None }
    }

    fn is_time(&self) -> bool {
        self.scalar().is_some_and(|name| name.starts_with("google."))
    }

    /// Whether no value is of both types, as far as they are known.
    fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(left), Self::Scalar(right)) => left != right,
            (Self::List(left), Self::List(right)) => left.differs(right),
            (Self::Any, _)
            | (_, Self::Any)
            | (
                Self::Object(..) | Self::Map(_) | Self::Metadata,
                Self::Object(..) | Self::Map(_) | Self::Metadata,
            ) => false,
            _ => true,
        }
    }

    /// The name in errors.
    fn name(&self) -> String {
        match self {
            Self::Any => "dyn".to_owned(),
            Self::Scalar(name) => (*name).to_owned(),
            Self::List(item) => format!("list({})", item.name()),
            Self::Map(value) => format!("map(string, {})", value.name()),
            Self::Object(..) | Self::Metadata => "object".to_owned(),
        }
    }

    /// The type of a field, or what is wrong with asking for it.
    fn field(&self, name: &str) -> Result<Self, String> {
        let undefined = || format!("undefined field '{name}'");
        match self {
            Self::Any => Ok(Self::Any),
            Self::List(_) => Err(format!("type '{}' does not support field selection", self.name())),
            Self::Map(value) => Ok((**value).clone()),
            Self::Scalar(kind) => Err(format!("type '{kind}' does not support field selection")),
            Self::Metadata if ["name", "generateName"].contains(&name) => Ok(Self::Scalar("string")),
            Self::Metadata => Err(undefined()),
            Self::Object(_, true) if name == "metadata" => Ok(Self::Metadata),
            Self::Object(_, true) if ["apiVersion", "kind"].contains(&name) => Ok(Self::Scalar("string")),
            Self::Object(schema, _) => {
                let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                let field = fields.into_iter().find(|(field, _)| escape(field).as_deref() == Some(name));
                let field = field.and_then(|(_, field)| field.as_object()).ok_or_else(undefined)?;
                Ok(Self::of(field, false))
            }
        }
    }
}

/// Goes through an expression.
pub(super) struct Checker<'a> {
    this: Type<'a>,
    old: Type<'a>,
    scope: Vec<(String, Type<'a>)>,
    /// `(place, text)`
    errors: Vec<(u32, String)>,
    /// Functions that are not there.
    pub(super) missing: BTreeSet<String>,
    source: &'a SourceInfo,
}

impl<'a> Checker<'a> {
    /// `old` is the type of `oldSelf`.
    pub(super) fn new(this: Type<'a>, old: Type<'a>, source: &'a SourceInfo) -> Self {
        Self { this, old, scope: Vec::new(), errors: Vec::new(), missing: BTreeSet::new(), source }
    }

    /// The errors as the real server prints them.
    pub(super) fn report(&mut self) -> Option<String> {
        self.errors.sort();
        self.errors.dedup();
        let lines = self.errors.iter().map(|(offset, text)| {
            let before = self.source.source.get(..*offset as usize).unwrap_or_default();
            let line = before.matches('\n').count();
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            let shown = self.source.source.lines().nth(line).unwrap_or_default();
            format!(
                "ERROR: <input>:{}:{}: {text}\n | {shown}\n | {}^",
                line + 1,
                column + 1,
                ".".repeat(column)
            )
        });
        let lines: Vec<_> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn error(&mut self, at: u64, text: String) {
        let offset = self.source.offset_for(at).map_or(0, |(start, _)| start);
        self.errors.push((offset, text));
    }

    pub(super) fn type_of(&mut self, expression: &IdedExpr) -> Type<'a> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name, expression.id),
            Expr::Literal(value) => literal(value),
            Expr::Select(select) => {
                let operand = self.type_of(&select.operand);
                match operand.field(&select.field) {
                    Ok(_) if select.test => Type::Scalar("bool"),
                    Ok(found) => found,
                    Err(text) => {
                        self.error(expression.id, text);
                        Type::Any
                    }
                }
            }
            Expr::Call(call) => self.call(call, expression.id),
            Expr::Comprehension(over) => self.comprehension(over),
            Expr::List(list) => {
                let types: Vec<_> = list.elements.iter().map(|element| self.type_of(element)).collect();
                Type::List(Box::new(same(types)))
            }
            Expr::Map(map) => {
                map.entries.iter().for_each(|entry| self.entry(&entry.expr));
                Type::Any
            }
            Expr::Struct(object) => {
                self.missing.insert(object.type_name.clone());
                object.entries.iter().for_each(|entry| self.entry(&entry.expr));
                Type::Any
            }
            Expr::Unspecified => Type::Any,
        }
    }

    fn name(&mut self, name: &str, at: u64) -> Type<'a> {
        if let Some((_, found)) = self.scope.iter().rev().find(|(one, _)| one == name) {
            return found.clone();
        }
        match name {
            "self" => self.this.clone(),
            "oldSelf" => self.old.clone(),
            name if is_name(name) || name.starts_with('@') => Type::Any,
            name => {
                self.error(at, format!("undeclared reference to '{name}' (in container '')"));
                Type::Any
            }
        }
    }

    fn call(&mut self, call: &CallExpr, at: u64) -> Type<'a> {
        let name = call.func_name.as_str();
        if !name.contains('_') && !name.starts_with('@') {
            match function(name) {
                Known::Here => {}
                Known::Elsewhere => drop(self.missing.insert(name.to_owned())),
                Known::No => self.error(at, format!("undeclared reference to '{name}' (in container '')")),
            }
        }
        let target = call.target.as_ref().map(|target| self.type_of(target));
        let arguments: Vec<_> = call.args.iter().map(|argument| self.type_of(argument)).collect();
        if name == "matches"
            && let Some(argument) = call.args.last()
            && let Expr::Literal(LiteralValue::String(pattern)) = &argument.expr
            && regex::Regex::new(pattern.inner()).is_err()
        {
            self.error(argument.id, "invalid matches argument".to_owned());
        }
        let refused = match &target {
            Some(target) => member(name, target, &arguments),
            None => overload(name, &arguments),
        };
        if refused {
            let names: Vec<_> = arguments.iter().map(Type::name).collect();
            let of = target.as_ref().map(|target| format!("{}.", target.name())).unwrap_or_default();
            let found =
                format!("found no matching overload for '{name}' applied to '{of}({})'", names.join(", "));
            self.error(at, found);
        }
        if let "_&&_" | "_||_" = name {
            for (argument, found) in call.args.iter().zip(&arguments) {
                if *found != Type::Any && *found != Type::Scalar("bool") {
                    self.error(argument.id, format!("expected type 'bool' but found '{}'", found.name()));
                }
            }
        }
        result(name, target.as_ref(), &arguments)
    }

    fn comprehension(&mut self, over: &ComprehensionExpr) -> Type<'a> {
        let range = self.type_of(&over.iter_range);
        let start = self.type_of(&over.accu_init);
        let (first, second) = match range {
            Type::List(item) if over.iter_var2.is_some() => (Type::Scalar("int"), *item),
            Type::List(item) => (*item, Type::Any),
            Type::Map(value) => (Type::Scalar("string"), *value),
            Type::Object(..) => (Type::Scalar("string"), Type::Any),
            _ => (Type::Any, Type::Any),
        };
        let outside = self.scope.len();
        self.scope.push((over.iter_var.clone(), first));
        self.scope.extend(over.iter_var2.clone().map(|name| (name, second)));
        self.scope.push((over.accu_var.clone(), Type::Any));
        self.type_of(&over.loop_cond);
        self.type_of(&over.loop_step);
        self.type_of(&over.result);
        self.scope.truncate(outside);
        // `all` and `exists` start with a bool and end with one, `map` and `filter` with a list.
        if matches!(start, Type::Scalar("bool") | Type::List(_)) { start } else { Type::Any }
    }

    fn entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => {
                self.type_of(&field.value);
            }
            EntryExpr::MapEntry(entry) => {
                self.type_of(&entry.key);
                self.type_of(&entry.value);
            }
        }
    }
}

/// Whether it is plain that an operator or function does not take these.
fn overload(name: &str, arguments: &[Type<'_>]) -> bool {
    if arguments.contains(&Type::Any) {
        return false;
    }
    let is = |found: &Type<'_>, kinds: &[&str]| found.scalar().is_some_and(|kind| kinds.contains(&kind));
    match (name, arguments) {
        ("_==_" | "_!=_", [left, right]) => left.differs(right),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
            let numbers = ["int", "uint", "double"];
            !(is(left, &numbers) && is(right, &numbers)) && (left.differs(right) || left.scalar().is_none())
        }
        ("_+_", [left, right]) => left.scalar().is_some() && !left.is_time() && left.differs(right),
        ("_-_" | "_*_" | "_/_" | "_%_", [left, right]) => {
            is(left, &["string", "bool"]) || is(right, &["string", "bool"])
        }
        ("!_", [one]) => !is(one, &["bool"]),
        ("_?_:_", [when, yes, no]) => !is(when, &["bool"]) || yes.differs(no),
        ("_[_]", [Type::List(_), index]) => is(index, &["string", "bool"]),
        ("size", [one]) => is(one, &["int", "uint", "double", "bool"]),
        _ => false,
    }
}

/// Whether it is plain that a value has no such member function.
fn member(name: &str, target: &Type<'_>, arguments: &[Type<'_>]) -> bool {
    if *target == Type::Any || arguments.contains(&Type::Any) {
        return false;
    }
    let text = target.scalar() == Some("string");
    match name {
        "size" => matches!(target, Type::Scalar("int" | "uint" | "double" | "bool")),
        "startsWith" | "endsWith" | "contains" | "matches" => {
            !text || arguments.iter().any(|argument| argument.scalar() != Some("string"))
        }
        "lowerAscii" | "upperAscii" | "trim" | "substring" | "split" | "replace" | "charAt" | "find"
        | "findAll" => !text,
        "reverse" | "sort" | "distinct" | "slice" | "isSorted" | "sum" | "min" | "max" => {
            !matches!(target, Type::List(_))
        }
        "flatten" => !matches!(target, Type::List(item) if matches!(**item, Type::List(_) | Type::Any)),
        _ => false,
    }
}

fn result<'a>(name: &str, target: Option<&Type<'a>>, arguments: &[Type<'a>]) -> Type<'a> {
    match (name, arguments) {
        (
            "_==_" | "_!=_" | "_&&_" | "_||_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "!_" | "@in" | "startsWith"
            | "endsWith" | "contains" | "matches" | "hasValue" | "isSorted" | "bool",
            _,
        ) => Type::Scalar("bool"),
        ("_?_:_", [_, yes, no]) => same(vec![yes.clone(), no.clone()]),
        ("_[_]", [Type::List(item) | Type::Map(item), _]) => (**item).clone(),
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [left, right]) if left == right && !left.is_time() => {
            left.clone()
        }
        ("size" | "int", _) => Type::Scalar("int"),
        ("string" | "lowerAscii" | "upperAscii" | "trim" | "join" | "find", _) => Type::Scalar("string"),
        ("double", _) => Type::Scalar("double"),
        ("uint", _) => Type::Scalar("uint"),
        ("reverse" | "sort" | "distinct" | "slice", _) => target.cloned().unwrap_or(Type::Any),
        _ => Type::Any,
    }
}

/// The type that all are of.
fn same(types: Vec<Type<'_>>) -> Type<'_> {
    let mut types = types.into_iter();
    let Some(first) = types.next() else { return Type::Any };
    if types.all(|other| other == first) { first } else { Type::Any }
}

fn literal<'a>(value: &LiteralValue) -> Type<'a> {
    match value {
        LiteralValue::Boolean(_) => Type::Scalar("bool"),
        LiteralValue::Bytes(_) => Type::Scalar("bytes"),
        LiteralValue::Double(_) => Type::Scalar("double"),
        LiteralValue::Int(_) => Type::Scalar("int"),
        LiteralValue::String(_) => Type::Scalar("string"),
        LiteralValue::UInt(_) => Type::Scalar("uint"),
        LiteralValue::Null => Type::Scalar("null"),
    }
}
