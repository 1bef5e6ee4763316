//! Strategic merge patch: a merge patch that knows which lists to merge, and takes directives.
//!
//! In: a document, a patch and the shape of both. Out: the patched document. Objects are merged by field and
//! lists replaced, but for the lists whose shape has a [`PatchKey`]: those are merged by item. Directives in
//! the patch: `$patch` replaces or deletes an object or an item, `$retainKeys` drops all other fields,
//! `$deleteFromPrimitiveList/LIST` takes items out, `$setElementOrder/LIST` orders. What is new in the
//! document is taken over without its directives and nulls. The order of a merged list is decided in
//! [`order`]. Custom kinds have no such patch; that answer is left to others.

mod order;

use serde_json::{Map, Value};

use self::order::{Keyed, arrange};
use super::{
    super::shape::{PatchKey, Shape, Types},
    PatchError,
    merge::drop_nulls,
    not_a_map,
    typed::{go_type, go_value},
};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Fields = Map<String, Value>;

/// Patches a document.
///
/// # Errors
/// The patch is not an object, or its directives make no sense.
pub(in super::super) fn strategic(
    types: &Types,
    shape: &Shape,
    document: &mut Value,
    patch: Value,
) -> Result<(), PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Ok(()),
        other => return Err(PatchError::BadRequest(not_a_map(&other))),
    };
    let original = match document.take() {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    };
    *document = Value::Object(Merger { types }.objects(shape, original, patch)?);
    Ok(())
}

fn internal<T>(message: String) -> Result<T, PatchError> {
    Err(PatchError::Internal(message))
}

fn bad<T>(what: &str) -> Result<T, PatchError> {
    Err(PatchError::BadRequest(format!("invalid patch format of {what}")))
}

fn no_merge_key<T>(item: &Value, key: &str) -> Result<T, PatchError> {
    internal(format!("map: {} does not contain declared merge key: {key}", go_value(item)))
}

fn list_of(value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::Array(items) => Ok(items),
        other => internal(format!("expected a []interface {{}}, but received a {}", go_type(&other))),
    }
}

/// What the shape says about one field.
struct FieldPatch<'a> {
    /// The shape of the field, or of its items.
    shape: &'a Shape,
    /// Set for lists that are merged.
    list: Option<&'a PatchKey>,
    /// An object that is replaced.
    replaced: bool,
}

impl FieldPatch<'_> {
    fn key(&self) -> Option<&str> {
        self.list.and_then(|list| list.merge_key.as_deref())
    }
}

struct Merger<'a> {
    types: &'a Types,
}

impl<'a> Merger<'a> {
    fn field(&self, shape: &'a Shape, name: &str) -> Result<FieldPatch<'a>, PatchError> {
        let (field, replaced) = match self.types.resolve(shape) {
            Shape::Object(object) => {
                let Some(field) = object.fields.get(name) else {
                    let owner = self.name(shape);
                    return internal(format!(
                        "unable to find api field in struct {owner} for the json field {name:?}"
                    ));
                };
                (field, object.replaced.iter().any(|replaced| **replaced == *name))
            }
            Shape::Map { value, .. } => (&**value, false),
            _ => (&Shape::Any, false),
        };
        Ok(match self.types.resolve(field) {
            Shape::List { item, patch, .. } => FieldPatch { shape: item, list: patch.as_ref(), replaced },
            _ => FieldPatch { shape: field, list: None, replaced },
        })
    }

    /// A type's last name: `PodSpec`.
    fn name(&self, shape: &Shape) -> &str {
        match shape {
            Shape::Ref(id) => self.types.name(*id).rsplit('.').next().unwrap_or_default(),
            _ => "struct",
        }
    }

    fn objects(
        &self,
        shape: &'a Shape,
        mut original: Fields,
        mut patch: Fields,
    ) -> Result<Fields, PatchError> {
        match patch.remove(DIRECTIVE) {
            None => {}
            Some(Value::String(directive)) if directive == "replace" => return Ok(patch),
            Some(Value::String(directive)) if directive == "delete" => return Ok(Fields::new()),
            Some(other) => {
                let text = go_value(&other);
                patch.insert(DIRECTIVE.into(), other);
                return internal(format!(
                    "unknown patch type: {text} in map: {}",
                    go_value(&Value::Object(patch))
                ));
            }
        }
        retain_keys(&mut original, &mut patch)?;
        self.ordered_lists(shape, &mut original, &mut patch)?;
        // The server takes the fields in any order; this is the one in which both lists of a field count.
        let (deletions, others): (Vec<_>, Vec<_>) =
            patch.into_iter().partition(|(name, _)| name.starts_with(DELETE_FROM));
        for (key, value) in others.into_iter().chain(deletions) {
            let (name, is_delete_list) = match key.strip_prefix(DELETE_FROM) {
                None => (key.as_str(), false),
                Some(rest) => match rest.strip_prefix('/') {
                    Some(name) => (name, true),
                    None => return bad("primitive list"),
                },
            };
            if value.is_null() {
                original.remove(name);
                continue;
            }
            match (original.remove(name), value) {
                (Some(Value::Object(before)), Value::Object(patch)) => {
                    let field = self.field(shape, name)?;
                    let merged =
                        if field.replaced { patch } else { self.objects(field.shape, before, patch)? };
                    original.insert(name.into(), Value::Object(merged));
                }
                (Some(Value::Array(before)), Value::Array(patch)) => {
                    let field = self.field(shape, name)?;
                    let merged = self.lists(&field, before, patch, is_delete_list)?;
                    original.insert(name.into(), Value::Array(merged));
                }
                // There is nothing of that kind to take items from.
                (Some(before), _) if is_delete_list => {
                    original.insert(name.into(), before);
                }
                (None, _) if is_delete_list => {}
                (_, mut value) => {
                    drop_nulls(&mut value);
                    if let Some(value) = without_directives(value) {
                        original.insert(name.into(), value);
                    }
                }
            }
        }
        Ok(original)
    }

    fn lists(
        &self,
        field: &FieldPatch<'a>,
        original: Vec<Value>,
        patch: Vec<Value>,
        is_delete_list: bool,
    ) -> Result<Vec<Value>, PatchError> {
        if field.list.is_none() && !is_delete_list {
            return Ok(patch);
        }
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        if is_of_objects(&original, &patch)? {
            let Some(key) = field.key() else {
                return internal("cannot merge lists without merge key for struct".into());
            };
            let (original, patch) = directed_items(original, patch, key)?;
            let server_order = original.clone();
            let merged = self.items(field.shape, original, &patch, key)?;
            return arrange(Keyed(Some(key)), merged, &patch, &server_order);
        }
        if is_delete_list {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: Vec<Value> = Vec::new();
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        arrange(Keyed(None), merged, &patch, &original)
    }

    /// Merges items that have no directive.
    fn items(
        &self,
        shape: &'a Shape,
        mut original: Vec<Value>,
        patch: &[Value],
        key: &str,
    ) -> Result<Vec<Value>, PatchError> {
        for item in patch {
            let Some(fields) = item.as_object() else { continue };
            let Some(value) = fields.get(key) else { return no_merge_key(item, key) };
            match original.iter_mut().find(|other| other.get(key) == Some(value)) {
                Some(found) => {
                    let before = found.take();
                    let Value::Object(before) = before else { continue };
                    *found = Value::Object(self.objects(shape, before, fields.clone())?);
                }
                None => original.push(item.clone()),
            }
        }
        Ok(original)
    }

    /// Merges the lists that the patch wants in an order, and takes them out of the patch.
    fn ordered_lists(
        &self,
        shape: &'a Shape,
        original: &mut Fields,
        patch: &mut Fields,
    ) -> Result<(), PatchError> {
        let orders: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
        for directive in orders {
            let order = list_of(patch.remove(&directive).unwrap_or_default())?;
            let Some(name) = directive[SET_ORDER.len()..].strip_prefix('/') else {
                return bad("setElementOrder list");
            };
            let before = original.get(name).cloned().map(list_of).transpose()?;
            let changes = patch.remove(name).map(list_of).transpose()?;
            let field = self.field(shape, name)?;
            let keyed = Keyed(field.key());
            let mut server_order = before.clone().unwrap_or_default();
            keyed.check_order(changes.as_deref().unwrap_or_default(), &order)?;
            let is_empty = server_order.is_empty() && changes.as_ref().is_none_or(Vec::is_empty);
            if is_empty && (before.is_some() || changes.is_some()) {
                return internal("no elements in any of the given slices".into());
            }
            let merged = match (before, changes) {
                (None, None) => continue,
                (Some(before), None) => before,
                (None, Some(changes)) => changes.into_iter().filter_map(without_directives).collect(),
                (Some(before), Some(changes)) => {
                    let replaces = changes.iter().any(|item| item.get(DIRECTIVE) == Some(&"replace".into()));
                    let merged = self.lists(&field, before, changes, false)?;
                    if !replaces {
                        server_order = keyed.refilled(server_order, &merged);
                    }
                    merged
                }
            };
            let arranged = arrange(keyed, merged, &order, &server_order)?;
            original.insert(name.into(), Value::Array(arranged));
        }
        Ok(())
    }
}

/// Drops the fields that are not to be retained. The patch may not set others than those.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(retained) = retained else { return bad("retainKeys") };
    let is_retained = |name: &str| retained.iter().any(|retained| retained.as_str() == Some(name));
    let is_directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_retained(name)) {
        return bad("retainKeys");
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Carries out the directives of items. Out: what is left of the original, and the items without directives.
fn directed_items(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE) {
            None => rest.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                let Some(value) = item.get(key) else { return no_merge_key(&item, key) };
                original.retain(|other| other.get(key) != Some(value));
            }
            Some(Value::String(directive)) if directive == "replace" => replace = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return internal("merging lists cannot yet be specified in the patch".into());
            }
            Some(other) => {
                return internal(format!(
                    "unknown patch type: {} in map: {}",
                    go_value(other),
                    go_value(&item)
                ));
            }
        }
    }
    Ok(if replace { (rest, Vec::new()) } else { (original, rest) })
}

/// Whether lists are of objects. All items must be of one kind, and none a list.
fn is_of_objects(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut kinds = original.iter().chain(patch).map(go_type);
    let Some(first) = kinds.next() else { return Ok(false) };
    if kinds.any(|other| other != first) {
        let both = Value::Array(vec![Value::Array(original.to_vec()), Value::Array(patch.to_vec())]);
        return internal(format!("list element types are not identical: {}", go_value(&both)));
    }
    if first == go_type(&Value::Array(Vec::new())) {
        return Err(PatchError::Unprocessable);
    }
    Ok(first == go_type(&Value::Object(Map::new())))
}

/// A value without directives. `None`: it is one.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept =
                fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

#[cfg(test)]
mod tests;
