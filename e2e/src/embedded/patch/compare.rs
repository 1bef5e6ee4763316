//! What a write changed: the fields that are new, other than before, and gone.
//!
//! In: two states of one object. Out: three sets. An item or key that appears is a new field itself, besides
//! what it holds; so is a struct that was absent. A list that holds an item twice is compared, for that item,
//! as one value: old objects may be like that.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::shape::{Shape, Types},
    set::{Element, Path, Set},
    typed::{self, Fields, Form, Items, form},
};

/// How two states of an object differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) added: Set,
    pub(super) modified: Set,
    pub(super) removed: Set,
}

impl Comparison {
    /// Fields with a value that they did not have before.
    pub(super) fn set(&self) -> Set {
        self.modified.clone().union(&self.added)
    }
}

/// Compares two states of an object.
pub(super) fn compare(types: &Types, shape: &Shape, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { types, path: Vec::new(), found: Comparison::default() };
    walk.value(shape, Some(old), Some(new));
    walk.found
}

struct Walk<'a> {
    types: &'a Types,
    path: Path,
    found: Comparison,
}

impl<'a> Walk<'a> {
    /// At least one side is there.
    fn value(&mut self, shape: &'a Shape, old: Option<&Value>, new: Option<&Value>) {
        let leaf = match (old, new) {
            (Some(before), Some(after)) if typed::differ(self.types, shape, before, after) => {
                self.form(form(self.types, shape, old), old, new);
                self.form(form(self.types, shape, new), old, new)
            }
            _ => self.form(form(self.types, shape, new.or(old)), old, new),
        };
        if !leaf {
            if old.is_none() {
                self.found.added.insert(&self.path);
            } else if new.is_none() {
                self.found.removed.insert(&self.path);
            }
        }
    }

    /// Compares as a form says. True if that was by one look at the whole.
    fn form(&mut self, form: Form<'a>, old: Option<&Value>, new: Option<&Value>) -> bool {
        match form {
            Form::Map(known) => {
                let empty = |value| typed::fields(value).is_none_or(serde_json::Map::is_empty);
                // An empty map and no map are told apart, so neither is looked into.
                if known.is_atomic() || (empty(old) && empty(new)) {
                    return self.leaf(old, new);
                }
                self.fields(known, old, new);
            }
            Form::List(list) => {
                if list.is_atomic() || (typed::items(old).is_empty() && typed::items(new).is_empty()) {
                    return self.leaf(old, new);
                }
                self.items(list, old, new);
            }
            Form::Leaf(_) => return self.leaf(old, new),
        }
        false
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if old != new => self.found.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn fields(&mut self, known: Fields<'a>, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (typed::fields(old), typed::fields(new));
        let get = |side: Option<&'_ serde_json::Map<String, Value>>, name: &str| {
            side.is_some_and(|f| f.contains_key(name))
        };
        let names =
            old.into_iter().flatten().chain(new.into_iter().flatten().filter(|(name, _)| !get(old, name)));
        for (name, _) in names {
            let Some(shape) = known.get(name) else { continue };
            self.path.push(Element::field(name));
            self.value(shape, old.and_then(|f| f.get(name)), new.and_then(|f| f.get(name)));
            self.path.pop();
        }
    }

    fn items(&mut self, list: Items<'a>, old: Option<&Value>, new: Option<&Value>) {
        let mut pairs: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in typed::items(old) {
            if let Ok(element) = list.element(self.types, item) {
                pairs.entry(element).or_default().0.push(item);
            }
        }
        for item in typed::items(new) {
            if let Ok(element) = list.element(self.types, item) {
                pairs.entry(element).or_default().1.push(item);
            }
        }
        for (element, (old, new)) in pairs {
            self.path.push(element);
            match (&old[..], &new[..]) {
                ([] | [_], [] | [_]) => self.value(list.item, old.first().copied(), new.first().copied()),
                ([_, _, ..], [_, _, ..]) => {
                    if old != new {
                        self.found.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], single) => {
                    if let Some(new) = single.first() {
                        self.value(list.item, None, Some(new));
                    }
                    self.found.removed.insert(&self.path);
                }
                (single, _) => {
                    if let Some(old) = single.first() {
                        self.value(list.item, Some(old), None);
                    }
                    self.found.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}
