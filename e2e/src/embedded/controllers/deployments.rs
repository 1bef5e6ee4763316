//! Makes a Deployment's `ReplicaSets`: one for each template that it had, of sizes that the strategy allows.
//!
//! In: a Deployment; its `ReplicaSets`, read from the server and not from the cache, so that none is made twice. Out: `ReplicaSets`, their
//! sizes ([`sizes`], pure), the status. The rules are those of "Deployments" in the Kubernetes documentation. Old `ReplicaSets` are
//! kept for ever; progress deadlines and collisions of hashes are not looked for.

use std::sync::Arc;

use k8s_openapi::{
    api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec},
    apimachinery::pkg::{apis::meta::v1::Condition, util::intstr::IntOrString},
};
use kube_client::{Api, Error, clock};
use kube_core::{ListParams, ObjectMeta, Patch, ResourceExt};
use kube_runtime::{
    Action, Context,
    conditions::{condition, set_condition},
};
use serde_json::{Value, json};

use super::{super::server::LETTERS, is_controlled_by, patching, selector, writing};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

pub(super) async fn reconcile(deployment: Arc<Deployment>, context: Context) -> Result<Action, Error> {
    let namespace = deployment.namespace().unwrap_or_default();
    let api = Api::<ReplicaSet>::namespaced(context.client.clone(), namespace);
    let labels = selector(deployment.spec.selector.match_labels.as_ref());
    let mut sets = api.list(&ListParams::default().labels(labels)).await?.items;
    sets.retain(|set| is_controlled_by(set, &*deployment));
    sets.sort_by_key(revision);

    let hash = hash(&serde_json::to_value(&deployment.spec.template).unwrap_or_default().to_string());
    let place = sets.iter().position(|set| set.labels().get(HASH) == Some(&hash));
    let new = place.map(|place| sets.remove(place));
    let scaled = deployment.is_deleting() || (deployment.spec.paused == Some(true) && new.is_none());
    let strategy = Strategy::of(&deployment);
    if !scaled {
        let old: Vec<Size> = sets.iter().map(Size::of).collect();
        let (wanted, olds) = sizes(&strategy, new.as_ref().map(Size::of).unwrap_or_default(), &old);
        let last = sets.last().map_or(0, revision);
        let number = new.as_ref().map_or(0, revision).max(last + 1);
        match &new {
            None => _ = api.create(&replica_set(&deployment, &hash, wanted, number), &writing()).await?,
            Some(set) => resize(&api, set, wanted, number).await?,
        }
        for (set, wanted) in sets.iter().zip(olds) {
            resize(&api, set, wanted, revision(set)).await?;
        }
        if deployment.annotations().get(REVISION) != Some(&number.to_string()) {
            let patch = json!({ "metadata": { "annotations": { REVISION: number.to_string() } } });
            let deployments = Api::<Deployment>::namespaced(context.client.clone(), namespace);
            deployments.patch(deployment.name(), &Patch::Merge(patch), &patching()).await?;
        }
    }
    let status = status(&deployment, &strategy, new.as_ref(), &sets, clock::wall());
    let deployments = Api::<Deployment>::namespaced(context.client, namespace);
    deployments
        .patch_status(deployment.name(), &Patch::Merge(json!({ "status": status })), &patching())
        .await?;
    Ok(Action::AwaitChange)
}

async fn resize(api: &Api<ReplicaSet>, set: &ReplicaSet, wanted: i32, number: i64) -> Result<(), Error> {
    if set.spec.replicas == Some(wanted) && revision(set) == number {
        return Ok(());
    }
    let metadata = json!({ "uid": set.uid(), "annotations": { REVISION: number.to_string() } });
    let patch = json!({ "metadata": metadata, "spec": { "replicas": wanted } });
    api.patch(set.name(), &Patch::Merge(patch), &patching()).await.map(drop)
}

fn revision(set: &ReplicaSet) -> i64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn replica_set(deployment: &Deployment, hash: &str, replicas: i32, number: i64) -> ReplicaSet {
    let hashed = (HASH.to_owned(), hash.to_owned());
    let mut template = deployment.spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.extend([hashed.clone()]);
    let labels = labels.clone();
    let mut selector = deployment.spec.selector.clone();
    selector.match_labels.get_or_insert_default().extend([hashed]);
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.name())),
            labels: Some(labels),
            annotations: Some([(REVISION.to_owned(), number.to_string())].into()),
            owner_references: deployment.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(replicas),
            min_ready_seconds: deployment.spec.min_ready_seconds,
            selector,
            template: Some(template),
        },
        status: None,
    }
}

/// FNV-1a in letters that fit a label.
fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut rest = hash;
    let letters = LETTERS.len() as u64;
    let mut next = || {
        let letter = usize::try_from(rest % letters).unwrap_or_default();
        rest /= letters;
        char::from(LETTERS[letter])
    };
    (0..9).map(|_| next()).collect()
}

/// How many Pods there shall be, and how many more or less while templates change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strategy {
    replicas: i32,
    recreate: bool,
    surge: i32,
    unavailable: i32,
}

impl Strategy {
    fn of(deployment: &Deployment) -> Self {
        let replicas = deployment.spec.replicas.unwrap_or(1);
        let strategy = deployment.spec.strategy.as_ref();
        let recreate = strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate");
        if recreate {
            return Self { replicas, recreate, surge: 0, unavailable: replicas };
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let surge = share(rolling.and_then(|rolling| rolling.max_surge.as_ref()), replicas, true);
        let unavailable =
            share(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), replicas, false);
        // With neither, nothing could ever change.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        Self { replicas, recreate, surge, unavailable: unavailable.min(replicas) }
    }
}

/// A number, or a share in percent; 25% where nothing is said.
fn share(given: Option<&IntOrString>, of: i32, up: bool) -> i32 {
    let percent = match given {
        Some(IntOrString::Int(number)) => return *number,
        Some(IntOrString::String(text)) => text.trim_end_matches('%').parse().unwrap_or(0),
        None => 25,
    };
    let hundredths = of * percent;
    if up { (hundredths + 99) / 100 } else { hundredths / 100 }
}

/// A `ReplicaSet`, as far as its size goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    wanted: i32,
    present: i32,
    available: i32,
}

impl Size {
    fn of(set: &ReplicaSet) -> Self {
        let wanted = set.spec.replicas.unwrap_or(1);
        let status = set.status.as_ref();
        let available = status.and_then(|status| status.available_replicas).unwrap_or(0);
        // What it shall lose is not counted on any more.
        Self { wanted, present: status.map_or(0, |status| status.replicas), available: available.min(wanted) }
    }
}

/// The next sizes of the new set and of the old ones, the oldest first.
fn sizes(strategy: &Strategy, new: Size, old: &[Size]) -> (i32, Vec<i32>) {
    if strategy.recreate {
        let gone = old.iter().all(|set| set.wanted == 0 && set.present == 0);
        return (if gone { strategy.replicas } else { new.wanted }, vec![0; old.len()]);
    }
    let total = new.wanted + old.iter().map(|set| set.wanted).sum::<i32>();
    let room = (strategy.replicas + strategy.surge - total).max(0);
    let wanted = if new.wanted >= strategy.replicas {
        strategy.replicas
    } else {
        (new.wanted + room).min(strategy.replicas)
    };

    let least = strategy.replicas - strategy.unavailable;
    let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
    let mut olds: Vec<i32> = old.iter().map(|set| set.wanted).collect();
    // What is not available is not missed, as long as the new set's own troubles leave enough.
    let mut spare = (total - least - (new.wanted - new.available)).max(0);
    for (size, set) in olds.iter_mut().zip(old) {
        let sick = (set.wanted - set.available).min(spare);
        (*size, spare) = (*size - sick, spare - sick);
    }
    let mut spare = (available - least).clamp(0, spare);
    for size in &mut olds {
        let less = (*size).min(spare);
        (*size, spare) = (*size - less, spare - less);
    }
    (wanted, olds)
}

fn status(
    deployment: &Deployment,
    strategy: &Strategy,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
    now: jiff::Timestamp,
) -> Value {
    let all = || new.into_iter().chain(old);
    let sum = |count: fn(&ReplicaSet) -> Option<i32>| all().filter_map(count).sum::<i32>();
    let replicas = sum(|set| set.status.as_ref().map(|status| status.replicas));
    let ready = sum(|set| set.status.as_ref()?.ready_replicas);
    let available = sum(|set| set.status.as_ref()?.available_replicas);
    let updated = new.and_then(|set| set.status.as_ref()).map_or(0, |status| status.replicas);
    // 0 is not written.
    let count = |count: i32| if count == 0 { Value::Null } else { count.into() };

    let enough = available >= strategy.replicas - strategy.unavailable;
    let done = updated == strategy.replicas && replicas == updated && available == updated;
    let (has, reason) = if enough {
        ("has", "MinimumReplicasAvailable")
    } else {
        ("does not have", "MinimumReplicasUnavailable")
    };
    let name = new.map_or("", |set| set.name());
    let (progress, verb) = if done {
        ("NewReplicaSetAvailable", "has successfully progressed")
    } else {
        ("ReplicaSetUpdated", "is progressing")
    };
    let (enough_now, progress_now) = (
        condition(
            "Available",
            Some(enough),
            reason,
            format!("Deployment {has} minimum availability."),
            None,
            now,
        ),
        condition("Progressing", Some(true), progress, format!("ReplicaSet \"{name}\" {verb}."), None, now),
    );
    // Conditions of the same fields but for the time of the last update, which nobody reads.
    let present = deployment.status.as_ref().and_then(|status| status.conditions.as_ref());
    let present = serde_json::to_value(present).unwrap_or_default();
    let mut conditions: Vec<Condition> = serde_json::from_value(present).unwrap_or_default();
    set_condition(&mut conditions, enough_now);
    set_condition(&mut conditions, progress_now);
    json!({
        "observedGeneration": deployment.generation(), "replicas": count(replicas), "updatedReplicas": count(updated),
        "readyReplicas": count(ready), "availableReplicas": count(available),
        "unavailableReplicas": count((strategy.replicas.max(replicas) - available).max(0)), "conditions": conditions
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(wanted: i32, available: i32) -> Size {
        Size { wanted, present: wanted, available }
    }

    #[test]
    fn a_new_template_comes_as_the_strategy_has_room_and_old_ones_go_as_it_can_spare_them() {
        let rolling = |surge, unavailable| Strategy { replicas: 4, recreate: false, surge, unavailable };
        let recreate = Strategy { replicas: 4, recreate: true, surge: 0, unavailable: 4 };
        for (strategy, new, old, expected) in [
            (rolling(1, 1), size(0, 0), &[][..], (4, vec![])),
            (rolling(1, 1), size(6, 6), &[], (4, vec![])),
            (rolling(1, 1), size(0, 0), &[size(4, 4)], (1, vec![3])),
            (rolling(1, 1), size(1, 0), &[size(3, 3)], (2, vec![3])),
            (rolling(1, 1), size(2, 1), &[size(3, 3)], (2, vec![2])),
            (rolling(1, 0), size(1, 0), &[size(4, 4)], (1, vec![4])),
            (rolling(1, 0), size(1, 1), &[size(4, 4)], (1, vec![3])),
            (rolling(1, 1), size(1, 1), &[size(1, 0), size(3, 3)], (1, vec![0, 2])),
            (rolling(1, 1), size(4, 4), &[size(1, 1)], (4, vec![0])),
            (recreate, size(0, 0), &[size(4, 4)], (0, vec![0])),
            (recreate, size(0, 0), &[Size { wanted: 0, present: 1, available: 0 }], (0, vec![0])),
            (recreate, size(0, 0), &[size(0, 0)], (4, vec![0])),
        ] {
            assert_eq!(sizes(&strategy, new, old), expected, "{strategy:?} {new:?} {old:?}");
        }
    }

    #[test]
    fn surge_is_rounded_up_and_what_may_be_missing_down() {
        for (given, of, up, expected) in [
            (None, 2, true, 1),
            (None, 2, false, 0),
            (Some(IntOrString::Int(3)), 2, false, 3),
            (Some(IntOrString::String("50%".into())), 5, true, 3),
            (Some(IntOrString::String("50%".into())), 5, false, 2),
        ] {
            assert_eq!(share(given.as_ref(), of, up), expected, "{given:?} of {of}");
        }
    }
}
