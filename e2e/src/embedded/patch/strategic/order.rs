//! The order of a merged list.
//!
//! In: the merged items, the order that the patch wants, and the order in the document. Out: the items in an
//! order that keeps both: the items of the patch as it has them, and the others each before the first of
//! those that it was before.

use serde_json::Value;

use super::{super::PatchError, DIRECTIVE, SET_ORDER, go_value, internal, no_merge_key};

/// How items are told apart: by a field, or by their value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyed<'a>(pub(super) Option<&'a str>);

impl Keyed<'_> {
    fn of(self, item: &Value) -> Option<&Value> {
        match self.0 {
            Some(key) => item.get(key),
            None => Some(item),
        }
    }

    fn index(self, items: &[Value], item: &Value) -> Option<usize> {
        items.iter().position(|other| self.of(other) == self.of(item))
    }

    fn required(self, item: &Value) -> Result<&Value, PatchError> {
        match self.of(item) {
            Some(value) => Ok(value),
            None => no_merge_key(item, self.0.unwrap_or_default()),
        }
    }

    /// The order of the document as the server sees it after a merge: the places of deleted items are taken
    /// by the first new ones.
    ///
    /// That is no intention of theirs, but a list changed while it is read; it shows whenever one apply of a
    /// user swaps an item for another.
    pub(super) fn refilled(self, server_order: Vec<Value>, merged: &[Value]) -> Vec<Value> {
        let length = server_order.len();
        let new = merged.iter().filter(|item| self.index(&server_order, item).is_none()).cloned();
        let new: Vec<_> = new.collect();
        let kept = server_order.into_iter().filter(|item| self.index(merged, item).is_some());
        kept.chain(new).take(length).collect()
    }

    /// Checks that the items of a patch are in the order that it wants.
    pub(super) fn check_order(self, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let deletes = |item: &&Value| item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
        let mut items = patch.iter().filter(|item| !deletes(item)).peekable();
        let mut places = order.iter().peekable();
        while let (Some(item), Some(place)) = (items.peek(), places.peek()) {
            // Other directives are no items, but for one behind the last place, which the server takes for
            // one.
            if item.get(DIRECTIVE).is_some() {
                items.next();
                continue;
            }
            if self.required(item)? == self.required(place)? {
                items.next();
            }
            places.next();
        }
        if items.peek().is_none() {
            return Ok(());
        }
        let print = |items: &[Value]| go_value(&Value::Array(items.to_vec()));
        let (patch, order) = (print(patch), print(order));
        internal(format!("The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"))
    }
}

/// Brings the items of a merged list into order.
pub(super) fn arrange(
    keyed: Keyed<'_>,
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
) -> Result<Vec<Value>, PatchError> {
    if keyed.0.is_some()
        && let Some(place) = patch_order.iter().position(|item| !item.is_object())
    {
        return internal(format!("value for key {place} is not a map"));
    }
    for item in merged.iter().chain(patch_order) {
        keyed.required(item)?;
    }
    let (mut patched, mut others): (Vec<_>, Vec<_>) =
        merged.into_iter().partition(|item| keyed.index(patch_order, item).is_some());
    patched.sort_by_key(|item| keyed.index(patch_order, item));
    others.sort_by_key(|item| keyed.index(server_order, item));
    let mut out = Vec::with_capacity(patched.len() + others.len());
    let (mut patched, mut others) = (patched.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(theirs), Some(other)) = (patched.peek(), others.peek()) {
        let before = matches!(
            (keyed.index(server_order, other), keyed.index(server_order, theirs)),
            (Some(other), Some(theirs)) if other < theirs
        );
        out.extend(if before { others.next() } else { patched.next() });
    }
    out.extend(patched);
    out.extend(others);
    Ok(out)
}
