use super::{kinds::Column, *};
use crate::embedded::shape::{ListKind, Scalar, Shape};

fn fields(name: &str) -> &'static std::collections::BTreeMap<Box<str>, Shape> {
    let types = Facts::load().types();
    match types.get(types.id(name).unwrap()) {
        Shape::Object(object) => &object.fields,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_kind_is_found_by_its_path_and_by_its_name() {
    let facts = Facts::load();
    for (group, version, plural, kind, namespaced, short) in [
        ("", "v1", "pods", "Pod", true, "po"),
        ("", "v1", "nodes", "Node", false, "no"),
        ("apps", "v1", "deployments", "Deployment", true, "deploy"),
        ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "hpa"),
        ("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "hpa"),
    ] {
        let found = facts.resource(group, version, plural).unwrap();
        assert_eq!((found.kind, found.namespaced, &found.short_names[..]), (kind, namespaced, &[short][..]));
        assert_eq!(facts.kind(group, version, kind).unwrap().plural, plural);
    }
    assert!(facts.resource("apps", "v2", "deployments").is_none());
    assert!(facts.resource("", "v1", "deployments").is_none());
}

#[test]
fn a_kind_tells_what_can_be_done_with_it() {
    let pods = Facts::load().resource("", "v1", "pods").unwrap();
    assert!(pods.can("watch") && !pods.can("approve"));
    assert_eq!(pods.categories, ["all"]);
    assert!(pods.selectable.contains(&"spec.nodeName") && !pods.selectable.contains(&"spec.hostname"));
    let eviction = pods.subresource("eviction").unwrap();
    assert_eq!((eviction.group, eviction.version, eviction.kind), ("policy", "v1", "Eviction"));
    assert_eq!(eviction.verbs, ["create"]);
    assert!(eviction.type_id.is_some() && pods.subresource("exec").unwrap().type_id.is_none());
    let ready = Column { name: "Ready", type_: "string", format: "", priority: 0 };
    assert_eq!(pods.columns[1], ready);
    assert_eq!(pods.columns.last().unwrap().name, "Readiness Gates");
}

#[test]
fn groups_come_in_the_servers_order_with_the_preferred_version_first() {
    let facts = Facts::load();
    assert_eq!(facts.groups()[0].name, "");
    let autoscaling = facts.groups().iter().find(|group| group.name == "autoscaling").unwrap();
    assert_eq!(autoscaling.versions, ["v2", "v1"]);
    for group in facts.groups() {
        for version in &group.versions {
            assert!(facts.of_version(group.name, version).next().is_some(), "{}/{version}", group.name);
        }
    }
}

#[test]
fn what_can_be_written_has_a_type() {
    let facts = Facts::load();
    assert!(facts.kinds().iter().all(|kind| kind.type_id.is_some()));
    for kind in facts.kinds() {
        let shape = kind.shape();
        let Shape::Object(object) = facts.types().resolve(&shape) else { panic!("{}", kind.kind) };
        assert!(
            object.fields.contains_key("kind") && object.fields.contains_key("apiVersion"),
            "{}",
            kind.kind
        );
    }
}

#[test]
fn fields_tell_how_they_merge() {
    let container = fields("core.v1.Container");
    let Shape::List { item, kind, patch } = &container["ports"] else { panic!() };
    assert_eq!(**item, Shape::Ref(Facts::load().types().id("core.v1.ContainerPort").unwrap()));
    assert_eq!(*kind, ListKind::Map(vec!["containerPort".into(), "protocol".into()]));
    assert_eq!(patch.as_ref().unwrap().merge_key.as_deref(), Some("containerPort"));
    let Shape::List { kind, patch, .. } = &fields("meta.v1.ObjectMeta")["finalizers"] else { panic!() };
    assert_eq!((kind, patch.as_ref().unwrap().merge_key.as_deref()), (&ListKind::Set, None));
    let Shape::List { kind, patch, .. } = &container["args"] else { panic!() };
    assert_eq!((kind, patch), (&ListKind::Atomic, &None));
    assert!(matches!(fields("core.v1.PodSpec")["nodeSelector"], Shape::Map { atomic: true, .. }));
    assert!(matches!(fields("core.v1.ServiceSpec")["selector"], Shape::Map { atomic: true, .. }));
    assert_eq!(container["imagePullPolicy"], Shape::Scalar(Scalar::String));
}

#[test]
fn a_field_can_be_merged_although_its_type_is_one_value() {
    let types = Facts::load().types();
    let Shape::Object(reference) = types.get(types.id("core.v1.ObjectReference").unwrap()) else { panic!() };
    let Shape::Object(claim) = types.resolve(&fields("core.v1.PersistentVolumeSpec")["claimRef"]) else {
        panic!()
    };
    assert!(reference.atomic && !claim.atomic);
    assert_eq!(reference.fields, claim.fields);
}

#[test]
fn keys_of_lists_are_fields_of_their_items() {
    let types = Facts::load().types();
    for line in include_str!("types.txt").lines().filter(|line| !line.starts_with(' ')) {
        let name = line.split(' ').next().unwrap();
        for (field, shape) in fields(name) {
            let Shape::List { item, kind, patch } = shape else { continue };
            let merge_key = patch.iter().filter_map(|patch| patch.merge_key.as_ref());
            let keys = if let ListKind::Map(keys) = kind { &keys[..] } else { &[] };
            for key in keys.iter().chain(merge_key) {
                let Shape::Object(item) = types.resolve(item) else { panic!("{name}.{field}") };
                assert!(item.fields.contains_key(key), "{name}.{field}: {key}");
            }
        }
    }
}
