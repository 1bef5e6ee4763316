//! Rust types as definitions: the server takes each without a word, and every value comes back as it went.

use std::fmt::Debug;

use kube_client::{Api, Body};
use kube_core::{
    ApiResource, CustomResource, DynamicObject, FieldValidation, NamespaceScope, Patch, PatchParams,
    ResourceExt as _, WriteParams,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    common::{Place, Wire},
    derive_kinds::{Defaulted, DefaultedSpec, Embedding, Enumerated, Nested, Numeric, Presented, Ruled},
    kinds::{Gadget, Realm},
};

/// Makes the server know the kind, and asserts that it has nothing to say about its definition.
async fn define<K: CustomResource>(place: &Place) {
    let (client, wire) = Wire::tap(place.client.clone());
    let conditions = place.define_through::<K>(&client).await;
    let exchanges = wire.exchanges();
    assert!(exchanges.iter().any(|exchange| exchange.sent.contains_key("content-type")), "{exchanges:?}");
    for exchange in exchanges {
        assert_eq!(exchange.warnings(), [] as [&str; 0], "{}", K::CRD_NAME);
    }
    for condition in conditions {
        let good = matches!(
            (condition.type_.as_str(), condition.status.as_str()),
            ("Established" | "NamesAccepted", "True")
        );
        assert!(good, "{}: {condition:?}", K::CRD_NAME);
    }
}

/// A resource with a spec, as JSON and typed.
async fn round_trips<K>(place: &Place, specs: &[Value])
where
    K: CustomResource<Scope = NamespaceScope> + Serialize + DeserializeOwned + Debug,
{
    define::<K>(place).await;
    let resource = ApiResource::of::<K>();
    let dynamic: Api<DynamicObject> =
        Api::dynamic(place.client.clone(), resource.clone(), Some(&place.namespace));
    let typed: Api<K> = place.api();
    // Strict: a field that the schema does not have is an error, not dropped.
    let strict = WriteParams { field_validation: Some(FieldValidation::Strict), ..WriteParams::default() };
    for (index, spec) in specs.iter().enumerate() {
        let (raw, own) = (format!("raw-{index}"), format!("own-{index}"));
        let mut object = DynamicObject::new(raw.clone(), &resource);
        object.data["spec"] = spec.clone();
        let stored = dynamic.create(&object, &strict).await.unwrap();
        assert_eq!(stored.data["spec"], *spec, "{resource}: what was written is what is stored");

        let mut read = typed.get(&raw).await.unwrap();
        *read.meta_mut() = crate::common::named(&own);
        let written = typed.create(&read, &strict).await.unwrap();
        let value = |object: &K| serde_json::to_value(object).unwrap()["spec"].clone();
        assert_eq!(value(&written), value(&read), "{resource}: the type writes what it read");
        assert_eq!(value(&typed.get(&own).await.unwrap()), value(&read));
    }
}

/// Specs that the server must refuse.
async fn refuses<K>(place: &Place, good: &Value, changes: &[(&str, Value)])
where
    K: CustomResource<Scope = NamespaceScope>,
{
    let resource = ApiResource::of::<K>();
    let api: Api<DynamicObject> =
        Api::dynamic(place.client.clone(), resource.clone(), Some(&place.namespace));
    for (field, value) in changes {
        let mut object = DynamicObject::new("refused", &resource);
        object.data["spec"] = good.clone();
        object.data["spec"][*field] = value.clone();
        let error =
            api.create(&object, &WriteParams::default().dry_run()).await.map(|_| (field, value)).unwrap_err();
        assert!(error.is_invalid(), "{error}");
        assert!(error.to_string().contains(&format!("spec.{field}")), "{field}: {error}");
    }
}

#[tokio::test]
async fn enums_of_every_tagging() {
    let place = Place::new("derive").await;
    let minimal = json!({
        "plain": "small", "documented": "Pending",
        "source": { "inline": "x" }, "action": { "kind": "stop" }, "safe": { "retries": -1 },
    });
    let full = json!({
        "plain": "large", "documented": "ready-now", "maybe": "small", "maybeDocumented": "Failed",
        "maybeSizes": ["small", null], "maybeByName": { "a": null, "b": "Failed" },
        "sizes": ["small", "large"], "byName": { "a": "Pending", "b": "ready-now" },
        "source": { "git": { "url": "u", "branch": "b" } },
        "maybeSource": { "bucket": { "name": "n", "size": "small" } },
        "sources": [{ "nothing": {} }, { "inline": "x" }, { "git": { "url": "u" } }],
        "action": { "kind": "run", "command": ["a", "b"], "quiet": true },
        "actions": [
            { "kind": "wait", "seconds": 65535, "quiet": false },
            { "kind": "put", "name": "n", "size": "large" },
            { "kind": "grow", "to": "large" }, { "kind": "grow", "to": null }, { "kind": "grow" },
            { "kind": "move", "to": "ready-now" }, { "kind": "move", "to": null },
            { "kind": "stop" },
        ],
        "adjacent": { "t": "B", "c": { "y": "z" } }, "target": { "port": 80 }, "port": "http",
        "fast": { "factor": 1.5 },
    });
    let mut other = full.clone();
    other["adjacent"] = json!({ "t": "Unit" });
    other["target"] = json!({ "name": "n" });
    other["port"] = json!(80);
    round_trips::<Enumerated>(&place, &[minimal.clone(), full, other]).await;
    refuses::<Enumerated>(
        &place,
        &minimal,
        &[
            ("plain", json!("medium")),
            ("documented", json!("Ready")),
            ("maybe", json!(1)),
            ("maybeSizes", json!([null, "medium"])),
            ("maybeByName", json!({ "a": "Ready" })),
            ("source", json!({ "inline": "x", "nothing": {} })),
            ("source", json!({})),
            ("action", json!({ "kind": "walk" })),
            ("action", json!({ "kind": "wait", "seconds": 65536, "quiet": true })),
            ("action", json!({ "kind": "run", "quiet": true })),
            ("action", json!({ "kind": "grow", "to": "Failed" })),
            ("action", json!({ "kind": "grow", "to": "medium" })),
            ("adjacent", json!({ "t": "A", "c": { "y": "z" } })),
            ("target", json!({})),
            ("port", json!(1.5)),
        ],
    )
    .await;
}

#[tokio::test]
async fn numbers_of_every_width_and_the_other_scalars() {
    let place = Place::new("derive").await;
    let low = json!({
        "u8": 0, "u16": 0, "u32": 0, "u64": 0, "usize": 0,
        "i8": -128, "i16": -32768, "i32": i32::MIN, "i64": i64::MIN, "isize": i64::MIN, "i128": i64::MIN,
        "f32": -1.5, "f64": -1e300, "some": 1, "ranged": 1, "above": 1, "even": -2,
        "letter": "ß", "yes": false, "pair": [0, 255], "bytes": [0, 1, 2, 255], "set": [], "slug": "a",
    });
    let high = json!({
        "u8": 255, "u16": 65535, "u32": u32::MAX, "u64": i64::MAX, "usize": i64::MAX,
        "i8": 127, "i16": 32767, "i32": i32::MAX, "i64": i64::MAX, "isize": i64::MAX, "i128": i64::MAX,
        "f32": 1.5, "f64": 1.000_000_000_1, "some": u32::MAX, "maybe": u32::MAX, "ranged": 10, "above": i64::MAX, "even": 4,
        "letter": "x", "yes": true, "pair": [1, 2], "bytes": [9, 9, 9, 9], "set": ["a", "b"], "slug": "abcdefgh",
        "email": "a@example.test", "address": "2001:db8::1", "path": "/etc/hosts", "time": { "secs": 1, "nanos": 5 },
    });
    round_trips::<Numeric>(&place, &[low.clone(), high]).await;
    refuses::<Numeric>(
        &place,
        &low,
        &[
            ("u8", json!(256)),
            ("u16", json!(-1)),
            ("u32", json!(4_294_967_296_u64)),
            ("u64", json!(-1)),
            ("i8", json!(128)),
            ("i16", json!(-32769)),
            ("i32", json!(2_147_483_648_u64)),
            ("i64", json!(1.5)),
            ("some", json!(0)),
            ("ranged", json!(11)),
            ("above", json!(0)),
            ("even", json!(3)),
            ("letter", json!("xy")),
            ("pair", json!([1])),
            ("bytes", json!([1, 2, 3, 256])),
            ("slug", json!("A")),
            ("email", json!("nobody")),
        ],
    )
    .await;
}

#[tokio::test]
async fn objects_within_objects_maps_and_anything() {
    let place = Place::new("derive").await;
    let minimal = json!({
        "labels": {}, "deep": {}, "byNumber": {}, "inner": { "name": "n" }, "any": 1, "anything": {},
        "flatText": { "name": "n" }, "known": "k",
    });
    let bucket = json!({ "name": "n", "size": "small" });
    let full = json!({
        "labels": { "a/b": "c" }, "deep": { "x": { "y": [bucket] } }, "byNumber": { "7": true },
        "inner": { "name": "n", "buckets": [bucket] }, "maybeInner": { "name": "n" }, "boxed": { "name": "n" },
        "any": { "a": [1, "b", null, { "c": 1.5 }] }, "maybeAny": "text", "anything": { "a": 1, "b": { "c": null } },
        "flatText": { "name": "n", "colour": "red", "size": "9" },
        "keywords": {
            "type": "t", "enum": ["small"], "$ref": "large", "properties": { "a": "b" }, "required": true, "nullable": false,
            "oneOf": { "name": "n" }, "default": [1], "odd/name with.dots": "x",
        },
        "tree": { "name": "root", "children": [{ "name": "leaf" }, { "name": "twig", "children": [{ "name": "leaf" }] }] },
        "known": "k", "colour": { "of": ["any", 1] }, "weight": 3,
    });
    round_trips::<Nested>(&place, &[minimal.clone(), full]).await;
    let wrong = [
        ("labels", json!({ "a": 1 })),
        ("deep", json!({ "x": { "y": { "z": "no list" } } })),
        ("byNumber", json!({ "7": "yes" })),
        ("inner", json!({})),
        ("maybeInner", json!({ "name": 1 })),
        ("anything", json!([1])),
        ("tree", json!({ "name": 1 })),
        (
            "keywords",
            json!({ "type": "t", "enum": [], "$ref": "medium", "properties": {}, "required": true }),
        ),
        ("known", json!(1)),
    ];
    refuses::<Nested>(&place, &minimal, &wrong).await;
}

#[tokio::test]
async fn types_of_kubernetes_itself() {
    let place = Place::new("derive").await;
    let minimal = json!({ "port": 80 });
    let full = json!({
        "port": "http", "memory": "1Gi", "since": "2024-05-06T07:08:09Z",
        "selector": { "matchLabels": { "a": "b" }, "matchExpressions": [{ "key": "k", "operator": "In", "values": ["v"] }] },
        "env": [
            { "name": "A", "value": "1" },
            { "name": "B", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        ],
        "resources": { "requests": { "cpu": "100m" }, "limits": { "cpu": "1", "memory": "64Mi" } },
        "template": {
            "metadata": { "labels": { "app": "a" }, "annotations": { "x": "y" } },
            "spec": {
                "containers": [{
                    "name": "web", "image": "web:1",
                    "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                    "livenessProbe": { "httpGet": { "path": "/", "port": "http" } },
                    "volumeMounts": [{ "name": "v", "mountPath": "/v" }],
                    "resources": { "limits": { "memory": "1Gi" } },
                }],
                "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1Gi" } }],
                "tolerations": [{ "operator": "Exists" }],
            },
        },
    });
    round_trips::<Embedding>(&place, &[minimal, full]).await;
    let condition = |status: &str| {
        json!({
            "type": "Ready", "status": status, "reason": "Because", "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2024-05-06T07:08:09Z",
        })
    };
    let api = place.api::<Embedding>();
    let patch = |conditions: Value| {
        Patch::Merge(json!({ "status": { "observedGeneration": 1, "conditions": conditions } }))
    };
    let read =
        api.patch_status("own-0", &patch(json!([condition("True")])), &PatchParams::default()).await.unwrap();
    assert_eq!(serde_json::to_value(&read.status.unwrap().conditions[0]).unwrap(), condition("True"));
    let twice = patch(json!([condition("True"), condition("False")]));
    let error = api.patch_status("own-0", &twice, &PatchParams::default()).await.unwrap_err();
    assert!(error.to_string().contains("status.conditions[1]: Duplicate value"), "{error}");
}

#[tokio::test]
async fn defaults_are_filled_in_by_the_server_as_the_type_would() {
    let place = Place::new("derive").await;
    define::<Defaulted>(&place).await;
    let resource = ApiResource::of::<Defaulted>();
    let dynamic: Api<DynamicObject> =
        Api::dynamic(place.client.clone(), resource.clone(), Some(&place.namespace));
    let typed = place.api::<Defaulted>();
    let mut object = DynamicObject::new("a", &resource);
    object.data["spec"] = json!({});
    let stored = dynamic.create(&object, &WriteParams::default()).await.unwrap();
    let filled = serde_json::to_value(DefaultedSpec::default()).unwrap();
    for (name, value) in filled.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
        assert_eq!(stored.data["spec"].get(name), Some(value), "{name}");
    }
    assert_eq!(typed.get("a").await.unwrap().spec, DefaultedSpec::default());
    // Within an object that is there, what is missing is filled in; what is there stays.
    let mut object = DynamicObject::new("b", &resource);
    object.data["spec"] = json!({ "count": 0, "list": [], "limits": { "cpu": 9 }, "some": "large" });
    let stored = dynamic.create(&object, &WriteParams::default()).await.unwrap();
    assert_eq!(stored.data["spec"]["limits"], json!({ "cpu": 9, "burst": 2 }));
    assert_eq!((&stored.data["spec"]["count"], &stored.data["spec"]["list"]), (&json!(0), &json!([])));
    assert_eq!(stored.data["spec"]["on"], json!(true));
    // A null that is meant is not replaced by the default.
    let none = DefaultedSpec { none: None, some: None, any: Value::Null, ..DefaultedSpec::default() };
    let stored = typed.create(&Defaulted::new("c", none.clone()), &WriteParams::default()).await.unwrap();
    assert_eq!(stored.spec, none);
    assert_eq!(typed.get("c").await.unwrap().spec, none);
}

/// Rust writes `None` as null, in an apply as well, where a field that is written is a field that is managed.
#[tokio::test]
async fn what_is_none_can_be_applied_again_and_again() {
    let place = Place::new("derive").await;
    define::<Enumerated>(&place).await;
    let api = place.api::<Enumerated>();
    let spec = json!({
        "plain": "small", "documented": "Pending",
        "source": { "inline": "x" }, "action": { "kind": "stop" }, "safe": { "retries": -1 },
    });
    let object = Enumerated::new("a", serde_json::from_value(spec).unwrap());
    let params = PatchParams::apply("e2e-none");
    let applied = api.apply("a", &object, &params).await.unwrap();
    assert_eq!((applied.spec.maybe, &applied.spec.port), (None, &None));
    let again = api.apply("a", &object, &params).await.unwrap();
    assert_eq!(again.resource_version(), applied.resource_version());
}

#[tokio::test]
async fn rules_and_the_kinds_of_these_tests() {
    let place = Place::new("derive").await;
    let ruled = |even: Value| json!({ "min": 1, "max": 2, "even": even, "fixed": "f", "names": ["x"] });
    let mut without = ruled(json!(4));
    without.as_object_mut().unwrap().remove("even");
    round_trips::<Ruled>(&place, &[ruled(json!(4)), without]).await;
    round_trips::<Gadget>(&place, &[json!({ "replicas": 1 })]).await;
    define::<Realm>(&place).await;
}

#[tokio::test]
async fn names_columns_and_the_scale_are_where_people_look_for_them() {
    let place = Place::new("derive").await;
    round_trips::<Presented>(&place, &[json!({ "size": { "replicas": 3 } })]).await;
    let api = place.api::<Presented>();
    assert_eq!(api.get_scale("own-0").await.unwrap().spec.unwrap().replicas, Some(3));

    let mut request = api.endpoint().unwrap().get("own-0", &kube_core::GetParams::default()).unwrap();
    request.headers_mut().insert("accept", "application/json;as=Table;v=v1;g=meta.k8s.io".parse().unwrap());
    let table: Value = place.client.request(request).await.unwrap();
    let columns: Vec<_> = table["columnDefinitions"].as_array().unwrap().iter().collect();
    let names: Vec<_> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    assert_eq!(names, ["Name", "Replicas", "Ready", "Since"]);
    assert_eq!(
        (&columns[2]["description"], &columns[3]["priority"]),
        (&json!("Whether it is ready."), &json!(1))
    );
    assert_eq!(table["rows"][0]["cells"][1], json!(3));

    let found = place
        .cluster
        .eventually("the kind in the group's list", async || {
            let request = http::Request::get("/apis/api.e2e.example.dev/v1alpha1").body(Body::empty());
            let response = place.client.send(request.unwrap()).await.map_err(|error| error.to_string())?;
            let bytes = response.into_body().bytes().await.map_err(|error| error.to_string())?;
            let list: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
            let found =
                list["resources"].as_array().into_iter().flatten().find(|r| r["name"] == "presentables");
            found.cloned().ok_or_else(|| list.to_string())
        })
        .await;
    assert_eq!(found["singularName"], json!("presentable"));
    assert_eq!((&found["shortNames"], &found["categories"]), (&json!(["pres"]), &json!(["e2e"])));
    assert_eq!(api.get("own-0").await.unwrap().name(), "own-0");
}
