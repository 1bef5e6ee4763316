//! Takes fields out of an object, and helps to say which.
//!
//! In: an object and a set of fields. Out: the object without them. Which fields an apply takes out is
//! decided in [`super::apply`].

use serde_json::{Map, Value};

use super::{
    super::shape::{Shape, Types},
    set::{Element, Node, Set},
    typed::{Form, form},
};

/// A value without the fields of a set. What is left empty by that is left out.
pub(super) fn remove(types: &Types, shape: &Shape, value: &Value, gone: &Set) -> Option<Value> {
    match (form(types, shape, Some(value)), value) {
        (Form::Leaf(_), _) => Some(value.clone()),
        (Form::Map(known), Value::Object(fields)) => {
            if known.is_atomic() || fields.is_empty() {
                return None;
            }
            let fields: Map<_, _> = fields
                .iter()
                .filter_map(|(name, value)| match gone.nodes.get(&Element::field(name)) {
                    None => Some((name.clone(), value.clone())),
                    Some(node) if node.member => None,
                    Some(node) => {
                        let value = remove(types, known.get(name)?, value, &node.below);
                        Some((name.clone(), value.unwrap_or(Value::Null)))
                    }
                })
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (Form::List(list), Value::Array(items)) => {
            if list.is_atomic() || items.is_empty() {
                return None;
            }
            let items: Vec<_> = items
                .iter()
                .filter_map(|item| {
                    let node = list.element(types, item).ok().and_then(|element| gone.nodes.get(&element));
                    match node {
                        None => Some(item.clone()),
                        Some(node) if node.member => None,
                        Some(node) => {
                            Some(remove(types, list.item, item, &node.below).unwrap_or(Value::Null))
                        }
                    }
                })
                .collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        _ => None,
    }
}

/// The shape of what an element leads to. `None`: the shape has no such part.
fn step<'a>(types: &'a Types, shape: &'a Shape, element: &Element) -> Option<&'a Shape> {
    match (types.resolve(shape), element) {
        (Shape::Any, _) => Some(shape),
        (_, Element::Field(name)) => match form(types, shape, None) {
            Form::Map(known) => known.get(name),
            _ => None,
        },
        (Shape::List { item, .. }, _) => Some(item),
        _ => None,
    }
}

/// A set, with the named fields that lead to its members as members: what goes without saying, said.
pub(super) fn with_named(types: &Types, shape: &Shape, set: &Set) -> Set {
    let nodes = set.nodes.iter().map(|(element, node)| {
        let named = match (form(types, shape, None), element) {
            (Form::Map(known), Element::Field(name)) => known.names(name),
            _ => false,
        };
        let below = match step(types, shape, element) {
            Some(shape) => with_named(types, shape, &node.below),
            None => node.below.clone(),
        };
        (element.clone(), Node { member: node.member || (named && !node.below.is_empty()), below })
    });
    Set { nodes: nodes.collect() }
}

/// A set that fits its shape: of what is owned as a whole, nobody owns a part.
///
/// Custom resources need this when their schema made a list or map atomic after somebody came to own parts of
/// it.
pub(super) fn fitted(types: &Types, shape: &Shape, set: Set) -> Set {
    let nodes = set.nodes.into_iter().map(|(element, node)| {
        let node = match step(types, shape, &element) {
            None => node,
            Some(shape) => {
                let atomic = match types.resolve(shape) {
                    Shape::Any | Shape::Scalar(_) => false,
                    _ => match form(types, shape, None) {
                        Form::Map(known) => known.is_atomic(),
                        Form::List(list) => list.is_atomic(),
                        Form::Leaf(_) => false,
                    },
                };
                if atomic {
                    Node { member: true, below: Set::default() }
                } else {
                    Node { member: node.member, below: fitted(types, shape, node.below) }
                }
            }
        };
        (element, node)
    });
    Set { nodes: nodes.collect() }
}
