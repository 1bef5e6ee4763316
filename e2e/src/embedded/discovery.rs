//! Tells what there is: groups, versions, and the kinds of each.
//!
//! In: a path and the custom kinds. Out: the answer of the real server's unaggregated discovery, or none. Built-in kinds come from
//! the table of facts. Aggregated discovery and `OpenAPI` are not there yet; clients that ask for them fall back on this.

use std::{cmp::Reverse, sync::Arc};

use serde_json::{Value, json};

use super::{
    facts::{Facts, KindFacts, SubresourceFacts},
    kinds::Custom,
};

/// The verbs of a custom kind, in the server's order.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// The verbs of what an object has within.
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What is told at a path.
pub(super) fn discover(path: &str, customs: &[Arc<Custom>]) -> Option<Value> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    match segments.as_slice() {
        ["api"] => {
            Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }))
        }
        ["api", version] => resources("", version, customs),
        ["apis"] => {
            let groups: Vec<Value> =
                groups(customs).iter().map(|(name, versions)| group(name, versions)).collect();
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["apis", name] => {
            let groups = groups(customs);
            let (name, versions) = groups.iter().find(|(group, _)| group == name)?;
            let mut group = group(name, versions);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Some(group)
        }
        ["apis", group, version] => resources(group, version, customs),
        _ => None,
    }
}

/// All groups but the core group, with their versions, the preferred one first.
fn groups(customs: &[Arc<Custom>]) -> Vec<(String, Vec<String>)> {
    let own = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
    let mut groups: Vec<(String, Vec<String>)> = Facts::load()
        .groups()
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(|group| (group.name.to_owned(), own(&group.versions)))
        .collect();
    let built_in = groups.len();
    for custom in customs {
        let (name, version) = (&custom.served().group, &custom.version().name);
        match groups.iter_mut().find(|(group, _)| group == name) {
            Some((_, versions)) if versions.contains(version) => {}
            Some((_, versions)) => versions.push(version.clone()),
            None => groups.push((name.clone(), vec![version.clone()])),
        }
    }
    for (_, versions) in &mut groups[built_in..] {
        versions.sort_by_key(|version| rank(version));
    }
    groups
}

/// Where a version stands: the stable ones first, then beta and alpha, newer before older; then all other names.
fn rank(version: &str) -> (u8, Reverse<(u32, u32)>, String) {
    let parsed = version.strip_prefix('v').and_then(|rest| {
        let (stage, major, minor) = [("beta", 1), ("alpha", 2)]
            .into_iter()
            .find_map(|(word, stage)| rest.split_once(word).map(|(major, minor)| (stage, major, minor)))
            .unwrap_or((0, rest, "0"));
        Some((stage, Reverse((major.parse().ok()?, minor.parse().ok()?))))
    });
    parsed
        .map_or_else(|| (3, Reverse((0, 0)), version.to_owned()), |(stage, age)| (stage, age, String::new()))
}

fn group(name: &str, versions: &[String]) -> Value {
    let of = |version: &String| json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    let all: Vec<Value> = versions.iter().map(of).collect();
    json!({ "name": name, "versions": all, "preferredVersion": versions.first().map(of) })
}

/// The kinds of one version. None where there are none.
fn resources(group: &str, version: &str, customs: &[Arc<Custom>]) -> Option<Value> {
    let mut resources: Vec<Value> = Facts::load().of_version(group, version).flat_map(built_in).collect();
    let of_version =
        |custom: &&Arc<Custom>| custom.served().group == group && custom.version().name == version;
    resources.extend(customs.iter().filter(of_version).flat_map(custom));
    if resources.is_empty() {
        return None;
    }
    if group.is_empty() {
        return Some(json!({ "kind": "APIResourceList", "groupVersion": version, "resources": resources }));
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": format!("{group}/{version}"), "resources": resources
    }))
}

fn built_in(kind: &KindFacts) -> Vec<Value> {
    let mut resource = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind, "verbs": kind.verbs
    });
    for (field, words) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !words.is_empty() {
            resource[field] = json!(words);
        }
    }
    if let Some(hash) = kind.storage_hash {
        resource["storageVersionHash"] = hash.into();
    }
    let part = |part: &SubresourceFacts| {
        let mut resource = json!({
            "name": format!("{}/{}", kind.plural, part.name), "singularName": "", "namespaced": kind.namespaced,
            "kind": part.kind, "verbs": part.verbs
        });
        if (part.group, part.version) != (kind.group, kind.version) {
            resource["group"] = part.group.into();
            resource["version"] = part.version.into();
        }
        resource
    };
    [resource].into_iter().chain(kind.subresources.iter().map(part)).collect()
}

fn custom(custom: &Arc<Custom>) -> Vec<Value> {
    let (served, version) = (custom.served(), custom.version());
    let mut resource = json!({
        "name": served.plural, "singularName": served.singular, "namespaced": served.namespaced, "kind": served.kind,
        "verbs": VERBS
    });
    for (field, words) in [("shortNames", &served.short_names), ("categories", &served.categories)] {
        if !words.is_empty() {
            resource[field] = json!(words);
        }
    }
    let mut resources = vec![resource];
    let part = |name: &str, kind: &str| {
        json!({
            "name": format!("{}/{name}", served.plural), "singularName": "", "namespaced": served.namespaced,
            "kind": kind, "verbs": PART_VERBS
        })
    };
    if version.has_status {
        resources.push(part("status", &served.kind));
    }
    if version.scale.is_some() {
        let mut scale = part("scale", "Scale");
        scale["group"] = "autoscaling".into();
        scale["version"] = "v1".into();
        resources.push(scale);
    }
    resources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_of_groups_versions_and_kinds() {
        for (path, pointer, expected) in [
            ("/api", "/versions/0", Some("v1")),
            ("/api/v1", "/groupVersion", Some("v1")),
            ("/apis", "/groups/1/name", Some("apps")),
            ("/apis/autoscaling", "/preferredVersion/version", Some("v2")),
            ("/apis/apps/v1", "/apiVersion", Some("v1")),
            ("/apis/none", "", None),
            ("/apis/apps/v9", "", None),
            ("/metrics", "", None),
        ] {
            let told = discover(path, &[]);
            let found = told.as_ref().and_then(|told| told.pointer(pointer)).and_then(Value::as_str);
            assert_eq!(found, expected, "{path}");
        }
        let told = discover("/apis/policy/v1", &[]).unwrap();
        assert_eq!(
            (&told["resources"][0]["shortNames"][0], &told["resources"][1]["name"]),
            (&json!("pdb"), &json!("poddisruptionbudgets/status"))
        );
    }

    #[test]
    fn stable_versions_come_first_and_new_ones_before_old_ones() {
        let mut versions = ["foo", "v1alpha1", "v2beta1", "v1", "v10", "v1beta2", "v1beta1", "bar"];
        versions.sort_by_key(|version| rank(version));
        assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "bar", "foo"]);
    }
}
