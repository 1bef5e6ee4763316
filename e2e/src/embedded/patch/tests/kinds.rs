//! A few kinds, with the fields that the tests need: as the real ones, but for what is left out.

use serde_json::json;

use super::super::super::shape::{ListKind, ObjectShape, PatchKey, Scalar, Shape, Types};

pub(super) const STRING: Shape = Shape::Scalar(Scalar::String);
pub(super) const INTEGER: Shape = Shape::Scalar(Scalar::Int32);
pub(super) const BOOLEAN: Shape = Shape::Scalar(Scalar::Boolean);
pub(super) const TIME: Shape = Shape::Scalar(Scalar::Time);
pub(super) const QUANTITY: Shape = Shape::Scalar(Scalar::Quantity);

/// Named fields. "!" behind a name: required; "+": written even if not set.
pub(super) fn object(fields: &[(&str, Shape)]) -> ObjectShape {
    let mut shape = ObjectShape::default();
    for (marked, field) in fields {
        let name = marked.trim_end_matches(['!', '+']);
        shape.fields.insert(name.into(), field.clone());
        if marked.contains('!') {
            shape.required.push(name.into());
        }
        if marked.contains('+') {
            match field {
                Shape::Object(_) => shape.zeros.push(name.into()),
                _ => shape.nulls.push(name.into()),
            }
        }
    }
    shape
}

pub(super) fn fields(fields: &[(&str, Shape)]) -> Shape {
    Shape::Object(Box::new(object(fields)))
}

pub(super) fn map(value: Shape) -> Shape {
    Shape::Map { value: Box::new(value), atomic: false }
}

pub(super) fn atomic_list(item: Shape) -> Shape {
    Shape::List { item: Box::new(item), kind: ListKind::Atomic, patch: None }
}

/// A set that a strategic patch merges.
pub(super) fn set(item: Shape) -> Shape {
    Shape::List { item: Box::new(item), kind: ListKind::Set, patch: Some(PatchKey { merge_key: None }) }
}

/// A list of objects told apart by fields, of which a strategic patch takes the first.
pub(super) fn keyed(item: Shape, keys: &[&str]) -> Shape {
    let patch = Some(PatchKey { merge_key: keys.first().map(|key| (*key).into()) });
    let kind = ListKind::Map(keys.iter().map(|key| (*key).into()).collect());
    Shape::List { item: Box::new(item), kind, patch }
}

fn metadata() -> Shape {
    let owner = fields(&[("apiVersion!", STRING), ("kind!", STRING), ("name!", STRING), ("uid!", STRING)]);
    fields(&[
        ("name", STRING),
        ("namespace", STRING),
        ("uid", STRING),
        ("resourceVersion", STRING),
        ("generation", INTEGER),
        ("creationTimestamp", TIME),
        ("labels", map(STRING)),
        ("annotations", map(STRING)),
        ("finalizers", set(STRING)),
        ("ownerReferences", keyed(owner, &["uid"])),
        ("managedFields", atomic_list(Shape::Any)),
    ])
}

fn whole(own: &[(&str, Shape)]) -> Shape {
    let mut all = vec![("apiVersion", STRING), ("kind", STRING), ("metadata+", metadata())];
    all.extend_from_slice(own);
    fields(&all)
}

pub(super) fn config_map() -> Shape {
    whole(&[("data", map(STRING)), ("immutable", BOOLEAN)])
}

fn pod_spec() -> Shape {
    let mut port = object(&[("containerPort!", INTEGER), ("protocol", STRING), ("name", STRING)]);
    port.defaults.insert("protocol".into(), json!("TCP"));
    let container = fields(&[
        ("name!", STRING),
        ("image", STRING),
        ("command", atomic_list(STRING)),
        ("env", keyed(fields(&[("name!", STRING), ("value", STRING)]), &["name"])),
        ("ports", keyed(Shape::Object(Box::new(port)), &["containerPort", "protocol"])),
        ("resources+", fields(&[("limits", map(QUANTITY)), ("requests", map(QUANTITY))])),
    ]);
    let volume = fields(&[
        ("name!", STRING),
        ("emptyDir", fields(&[("medium", STRING), ("sizeLimit", QUANTITY)])),
        ("hostPath", fields(&[("path!", STRING)])),
    ]);
    fields(&[
        ("containers!+", keyed(container, &["name"])),
        ("volumes", keyed(volume, &["name"])),
        ("dnsPolicy", STRING),
        ("hostNetwork", BOOLEAN),
        ("nodeSelector", Shape::Map { value: Box::new(STRING), atomic: true }),
        ("securityContext", fields(&[("runAsUser", INTEGER)])),
    ])
}

pub(super) fn deployment() -> Shape {
    let condition = fields(&[("type!", STRING), ("status!", STRING), ("lastUpdateTime", TIME)]);
    let rolling = fields(&[("maxSurge", Shape::Scalar(Scalar::IntOrString))]);
    let mut selector = object(&[("matchLabels", map(STRING))]);
    selector.atomic = true;
    whole(&[
        (
            "spec+",
            fields(&[
                ("replicas", INTEGER),
                ("paused", BOOLEAN),
                ("selector!", Shape::Object(Box::new(selector))),
                ("strategy+", fields(&[("type", STRING), ("rollingUpdate", rolling)])),
                ("template+", fields(&[("metadata+", metadata()), ("spec+", pod_spec())])),
            ]),
        ),
        ("status+", fields(&[("replicas", INTEGER), ("conditions", keyed(condition, &["type"]))])),
    ])
}

/// A custom kind: nothing goes without saying, and `free` is anything.
pub(super) fn custom() -> Shape {
    let mut metadata = vec![("apiVersion", STRING), ("kind", STRING), ("metadata", metadata())];
    let rule = fields(&[("host!", STRING), ("weight", INTEGER)]);
    metadata.push((
        "spec",
        fields(&[
            ("size", INTEGER),
            ("tags", set(STRING)),
            ("rules", keyed(rule, &["host"])),
            ("free", Shape::Any),
        ]),
    ));
    fields(&metadata)
}

pub(super) fn types() -> Types {
    Types::default()
}
