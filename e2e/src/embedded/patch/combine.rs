//! Lays an applied object over the live one.
//!
//! In: two values of one shape. Out: the live one with what the applied one says. Leaves are taken from the
//! applied side, maps are joined by key, and lists whose items are told apart are joined by item, in an order
//! that keeps both lists' as far as it can: the applied items in their order, and each live item where it was
//! among its neighbours.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    super::shape::{Shape, Types},
    set::Element,
    typed::{self, Fields, Form, Items, form},
};

/// The live value with the applied one over it. `None`: nothing is left, an empty map or list of nothing but
/// absent parts.
pub(super) fn combine(
    types: &Types,
    shape: &Shape,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Option<Value> {
    let pick = || applied.or(live).cloned();
    match form(types, shape, applied.or(live)) {
        Form::Map(known) => {
            let empty = |value| typed::fields(value).is_none_or(Map::is_empty);
            // An empty map is taken as it is, so that it stays apart from no map.
            if known.is_atomic() || (empty(live) && empty(applied)) {
                return pick();
            }
            combine_fields(types, known, live, applied)
        }
        Form::List(list) => {
            if list.is_atomic() || (typed::items(live).is_empty() && typed::items(applied).is_empty()) {
                return pick();
            }
            let items = combine_items(types, list, typed::items(live), typed::items(applied));
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Form::Leaf(_) => pick(),
    }
}

fn combine_fields(
    types: &Types,
    known: Fields<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Option<Value> {
    let (live, applied) = (typed::fields(live), typed::fields(applied));
    let names: BTreeSet<&String> =
        live.into_iter().flatten().chain(applied.into_iter().flatten()).map(|(name, _)| name).collect();
    let fields: Map<_, _> = names
        .into_iter()
        .filter_map(|name| {
            let (live, applied) = (live.and_then(|f| f.get(name)), applied.and_then(|f| f.get(name)));
            let value = match known.get(name) {
                Some(shape) => combine(types, shape, live, applied),
                // The live object may hold what the type does not know any more.
                None => applied.or(live).cloned(),
            };
            Some((name.clone(), value?))
        })
        .collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// The server's order: walk both lists, take live-only items as they come, and make sure that the items of
/// both appear in the applied order.
fn combine_items(types: &Types, list: Items<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let keyed = |items: &[Value]| -> Vec<Element> {
        items.iter().filter_map(|item| list.element(types, item).ok()).collect()
    };
    let (live_keys, applied_keys) = (keyed(live), keyed(applied));
    // A live item that is there twice is not joined with an applied one: the applied one replaces both.
    let live_item = |key: &Element| {
        let mut found = live_keys.iter().zip(live).filter(|(other, _)| *other == key);
        match (found.next(), found.next()) {
            (Some((_, item)), None) => Some(item),
            _ => None,
        }
    };
    let applied_item =
        |key: &Element| applied_keys.iter().position(|other| other == key).map(|at| &applied[at]);
    let mut shared = applied_keys.iter().filter(|key| live_keys.contains(key));
    let mut next = shared.next();
    let mut done: Vec<&Element> = Vec::new();
    let mut out = Vec::with_capacity(live.len().max(applied.len()));
    let (mut l, mut r) = (0, 0);
    while l < live_keys.len() || r < applied_keys.len() {
        if let (Some(mine), Some(theirs)) = (live_keys.get(l), applied_keys.get(r)) {
            if mine == theirs {
                out.extend(combine(types, list.item, live_item(mine), applied_item(mine)));
                done.push(theirs);
                (l, r) = (l + 1, r + 1);
                next = shared.next();
                continue;
            }
            if applied_item(mine).is_some() && next.is_some_and(|next| next != mine) {
                // Shared, but its turn is later: it comes where the applied list has it.
                l += 1;
                continue;
            }
        }
        if let Some(mine) = live_keys.get(l) {
            if applied_item(mine).is_none() {
                out.extend(combine(types, list.item, Some(&live[l]), None));
                l += 1;
                continue;
            }
            if done.contains(&mine) {
                l += 1;
            }
        }
        if let Some(theirs) = applied_keys.get(r) {
            out.extend(combine(types, list.item, live_item(theirs), applied_item(theirs)));
            done.push(theirs);
            r += 1;
            if next == Some(theirs) {
                next = shared.next();
            }
        }
    }
    out
}
