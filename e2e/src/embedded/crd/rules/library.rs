//! Functions that Kubernetes adds to CEL and that the interpreter does not have: lists, sets, and regular expressions.
//!
//! Those with types of their own (quantities, URLs, addresses, versions) are missing; `compile` refuses rules that use them.

use std::{cmp::Ordering, sync::Arc};

use cel::{
    DeclarationError, Env, ExecutionError, Value,
    common::{
        functions::Function,
        types::{INT_TYPE, LIST_TYPE, STRING_TYPE},
        value::CowVal,
    },
};
use regex::Regex;

type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Declares them.
pub(super) fn extension(env: &mut Env) -> Result<(), DeclarationError> {
    let members: [(&str, Function); 4] = [("isSorted", is_sorted), ("sum", sum), ("min", min), ("max", max)];
    for (name, function) in members {
        env.add_member_overload(name, &format!("list.{name}()"), LIST_TYPE, vec![], function)?;
    }
    env.add_member_overload(
        "indexOf",
        "list.indexOf(any)",
        LIST_TYPE,
        vec![cel::common::types::DYN_TYPE],
        index_of,
    )?;
    env.add_member_overload(
        "lastIndexOf",
        "list.lastIndexOf(any)",
        LIST_TYPE,
        vec![cel::common::types::DYN_TYPE],
        last_index_of,
    )?;
    let sets: [(&str, Function); 3] =
        [("sets.contains", contains), ("sets.equivalent", equivalent), ("sets.intersects", intersects)];
    for (name, function) in sets {
        env.add_overload(name, &format!("{name}(list,list)"), vec![LIST_TYPE, LIST_TYPE], function)?;
    }
    env.add_member_overload("find", "string.find(string)", STRING_TYPE, vec![STRING_TYPE], find)?;
    env.add_member_overload("findAll", "string.findAll(string)", STRING_TYPE, vec![STRING_TYPE], find_all)?;
    let limited = vec![STRING_TYPE, INT_TYPE];
    env.add_member_overload("findAll", "string.findAll(string,int)", STRING_TYPE, limited, find_all)
}

fn values(args: Vec<CowVal<'_, '_>>) -> Result<Vec<Value>, ExecutionError> {
    args.into_iter().map(|argument| Value::try_from(argument.as_ref())).collect()
}

fn answer<'b, 'v>(value: Value) -> Answer<'b, 'v> {
    Ok(CowVal::Owned(value.try_into()?))
}

fn list(value: Option<&Value>) -> &[Value] {
    if let Some(Value::List(list)) = value { list } else { &[] }
}

fn is_sorted<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    let ordered = |pair: &[Value]| pair[0].partial_cmp(&pair[1]).is_some_and(Ordering::is_le);
    answer(Value::Bool(list(args.first()).windows(2).all(ordered)))
}

fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    let mut items = list(args.first()).iter();
    let first = items.next().cloned().unwrap_or(Value::Int(0));
    answer(items.try_fold(first, |sum, item| sum + item.clone())?)
}

fn min<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    extreme("min", args, Ordering::Less)
}

fn max<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    extreme("max", args, Ordering::Greater)
}

fn extreme<'b, 'v>(name: &str, args: Vec<CowVal<'b, 'v>>, wanted: Ordering) -> Answer<'b, 'v> {
    let args = values(args)?;
    let further =
        |best: Value, next: Value| if next.partial_cmp(&best) == Some(wanted) { next } else { best };
    let found = list(args.first()).iter().cloned().reduce(further);
    answer(found.ok_or_else(|| ExecutionError::function_error(name, "called on empty list"))?)
}

fn index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    place(list(args.first()).iter().position(|item| Some(item) == args.get(1)))
}

fn last_index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    place(list(args.first()).iter().rposition(|item| Some(item) == args.get(1)))
}

fn place<'b, 'v>(index: Option<usize>) -> Answer<'b, 'v> {
    answer(Value::Int(index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1)))
}

fn has_all(set: &[Value], of: &[Value]) -> bool {
    of.iter().all(|item| set.contains(item))
}

fn contains<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    answer(Value::Bool(has_all(list(args.first()), list(args.get(1)))))
}

fn equivalent<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    let (left, right) = (list(args.first()), list(args.get(1)));
    answer(Value::Bool(has_all(left, right) && has_all(right, left)))
}

fn intersects<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    let right = list(args.get(1));
    answer(Value::Bool(list(args.first()).iter().any(|item| right.contains(item))))
}

/// The text and the pattern that a function is called with.
fn text_and_pattern(name: &str, args: &[Value]) -> Result<(Arc<String>, Regex), ExecutionError> {
    let [Value::String(text), Value::String(pattern), ..] = args else {
        return Err(ExecutionError::invalid_argument_count(2, args.len()));
    };
    let pattern = Regex::new(pattern).map_err(|error| ExecutionError::function_error(name, error))?;
    Ok((Arc::clone(text), pattern))
}

fn find<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let (text, pattern) = text_and_pattern("find", &values(args)?)?;
    let found = pattern.find(&text).map_or("", |found| found.as_str());
    answer(Value::String(Arc::new(found.to_owned())))
}

fn find_all<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let args = values(args)?;
    let (text, pattern) = text_and_pattern("findAll", &args)?;
    // A negative limit is none.
    let limit = match args.get(2) {
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let found = pattern.find_iter(&text).take(limit);
    let found = found.map(|found| Value::String(Arc::new(found.as_str().to_owned())));
    answer(Value::List(Arc::new(found.collect())))
}
