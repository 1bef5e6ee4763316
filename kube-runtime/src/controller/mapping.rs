//! Decides which keys a change concerns.
//!
//! In: the net change of one object of one source. Out: [`Effect`]s on the queue. The primary kind's objects concern themselves; a
//! related object concerns its owners, those it had, if only for a moment, and those it has, so that an owner that lost a
//! child hears of it too.
//! Only headers are read: nothing is decoded to find out who has to look. Does not queue anything.

use std::sync::Arc;

use kube_core::{ApiResource, ObjectKey};

use crate::{
    cache::{Delta, Slot},
    queue::Trigger,
};

/// How the objects of a source map to keys of the primary kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// They are of the primary kind.
    Primary,
    /// They belong to objects of this kind, by their owner references.
    Owners {
        owner: ApiResource,
        /// Follow every reference to the kind, and not only that of the controller.
        any: bool,
    },
}

/// What a change does to the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Trigger(ObjectKey, Trigger),
    Forget(ObjectKey),
}

impl Mapping {
    /// Adds the effects of a change to `effects`.
    pub(super) fn effects(&self, delta: &Delta, effects: &mut Vec<Effect>) {
        match self {
            Self::Primary => primary(delta, effects),
            Self::Owners { owner, any } => {
                let trigger = if delta.initial { Trigger::Listed } else { Trigger::Related };
                let start = effects.len();
                for slot in delta.old.iter().chain(&delta.between).chain(&delta.new) {
                    for key in owners(slot, owner, *any) {
                        let effect = Effect::Trigger(key, trigger);
                        if !effects[start..].contains(&effect) {
                            effects.push(effect);
                        }
                    }
                }
            }
        }
    }
}

/// A removal triggers nothing: finalizers are how a reconciler sees it coming. A key that now stands for another object
/// begins anew.
fn primary(delta: &Delta, effects: &mut Vec<Effect>) {
    let replaced = |new: &Arc<Slot>| delta.old.as_ref().is_some_and(|old| old.uid() != new.uid());
    match &delta.new {
        None => effects.push(Effect::Forget(delta.key().clone())),
        Some(new) => {
            if replaced(new) {
                effects.push(Effect::Forget(new.key().clone()));
            }
            let trigger = if delta.initial { Trigger::Listed } else { Trigger::Changed };
            effects.push(Effect::Trigger(new.key().clone(), trigger));
        }
    }
}

/// The keys of a slot's owners of one kind. The version does not matter: an owner is the same object in each of them.
/// A cluster-scoped owner's key has no namespace, whatever the owned object has.
fn owners<'a>(slot: &'a Slot, owner: &'a ApiResource, any: bool) -> impl Iterator<Item = ObjectKey> + 'a {
    let namespace = if owner.namespaced { slot.key().namespace() } else { None };
    slot.owner_references()
        .into_iter()
        .filter(move |reference| {
            let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
            (any || reference.controller) && reference.kind == owner.kind && group == owner.group
        })
        .map(move |reference| ObjectKey::new(namespace, &reference.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{ScanOptions, scan_object};

    fn slot(uid: &str, references: &str) -> Arc<Slot> {
        let text = format!(
            r#"{{"metadata":{{"namespace":"ns1","name":"c","uid":"{uid}","ownerReferences":[{references}]}}}}"#
        );
        Arc::new(Slot::new(scan_object(text.as_bytes(), ScanOptions::default()).unwrap()))
    }

    fn reference(api_version: &str, kind: &str, name: &str, controller: &str) -> String {
        format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"u"{controller}}}"#)
    }

    fn parent(name: &str, controller: &str) -> String {
        reference("demo.test/v1", "Parent", name, controller)
    }

    fn told(mapping: &Mapping, old: Option<Arc<Slot>>, new: Option<Arc<Slot>>, initial: bool) -> Vec<String> {
        let mut effects = Vec::new();
        mapping.effects(&Delta { old, new, between: Vec::new(), initial }, &mut effects);
        let tell = |effect| match effect {
            Effect::Trigger(key, by) => format!("{by:?} {key}"),
            Effect::Forget(key) => format!("forget {key}"),
        };
        effects.into_iter().map(tell).collect()
    }

    const CONTROLLER: &str = r#","controller":true"#;

    fn owners_mapping(namespaced: bool, any: bool) -> Mapping {
        Mapping::Owners { owner: ApiResource::new("demo.test", "v1", "Parent", "parents", namespaced), any }
    }

    #[test]
    fn a_primary_object_concerns_itself() {
        let object = |uid| Some(slot(uid, ""));
        let rows = [
            (None, object("u"), true, vec!["Listed ns1/c"]),
            (None, object("u"), false, vec!["Changed ns1/c"]),
            (object("u"), object("u"), false, vec!["Changed ns1/c"]),
            (object("u"), None, false, vec!["forget ns1/c"]),
            (object("u"), object("w"), false, vec!["forget ns1/c", "Changed ns1/c"]),
        ];
        for (old, new, initial, effects) in rows {
            assert_eq!(told(&Mapping::Primary, old, new, initial), effects);
        }
    }

    #[test]
    fn owners_are_followed_by_controller_reference_or_all() {
        let two = format!("{},{}", parent("p1", ""), parent("p2", r#","controller":null"#));
        let managed = format!("{},{}", parent("p1", ""), parent("p2", CONTROLLER));
        for (references, controller_only, any) in [
            (two, vec![], vec!["Related ns1/p1", "Related ns1/p2"]),
            (managed, vec!["Related ns1/p2"], vec!["Related ns1/p1", "Related ns1/p2"]),
        ] {
            let child = || Some(slot("u", &references));
            assert_eq!(told(&owners_mapping(true, false), None, child(), false), controller_only);
            assert_eq!(told(&owners_mapping(true, true), None, child(), false), any);
        }
    }

    #[test]
    fn a_child_that_moves_or_goes_concerns_the_owner_it_had() {
        let child = |name| Some(slot("u", &parent(name, CONTROLLER)));
        let mapping = owners_mapping(true, false);
        assert_eq!(told(&mapping, child("p1"), child("p2"), false), ["Related ns1/p1", "Related ns1/p2"]);
        assert_eq!(told(&mapping, child("p1"), child("p1"), false), ["Related ns1/p1"]);
        assert_eq!(told(&mapping, child("p1"), None, false), ["Related ns1/p1"]);
        assert_eq!(told(&mapping, None, child("p1"), true), ["Listed ns1/p1"]);
    }

    #[test]
    fn an_owner_that_a_child_had_only_for_a_moment_is_concerned_too() {
        let child = |name| slot("u", &parent(name, CONTROLLER));
        let delta = Delta { old: Some(child("p1")), new: None, between: vec![child("p2")], initial: false };
        let mut effects = Vec::new();
        owners_mapping(true, false).effects(&delta, &mut effects);
        let related = |name| Effect::Trigger(ObjectKey::namespaced("ns1", name), Trigger::Related);
        assert_eq!(effects, ["p1", "p2"].map(related));
    }

    #[test]
    fn a_cluster_scoped_owner_has_no_namespace() {
        let child = Some(slot("u", &parent("p", CONTROLLER)));
        assert_eq!(told(&owners_mapping(false, false), None, child, false), ["Related p"]);
    }

    #[test]
    fn group_and_kind_must_match_and_the_version_need_not() {
        for (api_version, kind, matches) in [
            ("demo.test/v1beta1", "Parent", true),
            ("other.test/v1", "Parent", false),
            ("v1", "Parent", false),
            ("demo.test/v1", "Child", false),
        ] {
            let child = Some(slot("u", &reference(api_version, kind, "p", CONTROLLER)));
            assert_eq!(
                !told(&owners_mapping(true, false), None, child, false).is_empty(),
                matches,
                "{api_version} {kind}"
            );
        }
    }
}
