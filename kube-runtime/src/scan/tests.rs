use kube_core::ObjectKey;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod lines;
mod lists;

fn scan(text: &str) -> Result<Scanned, ScanError> {
    scan_object(text.as_bytes(), ScanOptions::default())
}

fn fault(text: &str) -> ScanFault {
    scan(text).unwrap_err().what
}

/// A whole object around what is in its metadata.
fn with_meta(members: &str) -> String {
    format!(r#"{{"spec":{{"a":1}},"metadata":{{{members}}},"status":{{}}}}"#)
}

#[test]
fn the_header_is_found_wherever_it_stands() {
    let text = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": "web-1", "namespace": "shop", "uid": "u-1", "resourceVersion": "0009", "generation": 7,
            "deletionTimestamp": "2026-01-05T10:11:12Z", "labels": {"app": "web"}, "annotations": {"note": "a\"b"},
            "finalizers": ["example.dev/a", "example.dev/b"],
            "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}],
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-0", "controller": true},
                {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-9"},
            ],
        },
        "spec": {"template": {"metadata": {"name": "inner", "uid": "inner", "managedFields": []}}},
    })
    .to_string();
    let object = scan(&text).unwrap();
    assert_eq!(object.key().as_str(), "shop/web-1");
    assert_eq!((object.uid(), object.resource_version()), ("u-1", "0009"));
    assert_eq!((object.generation(), object.is_deleting()), (Some(7), true));
    assert_eq!(object.labels().unwrap()["app"], "web");
    assert_eq!(object.labels_json(), r#"{"app":"web"}"#);
    assert_eq!(object.annotations().unwrap()["note"], "a\"b");
    assert_eq!(object.finalizers().unwrap(), ["example.dev/a", "example.dev/b"]);
    let owner = |api_version: &str, kind: &str, name: &str, uid: &str, controller| OwnerRef {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.into(),
        controller,
    };
    assert_eq!(
        object.owner_references(),
        [owner("apps/v1", "Deployment", "web", "u-0", true), owner("v1", "Node", "n", "u-9", false)]
    );
    assert_eq!(object.unfit(), None);
    assert_eq!(object.bytes_len(), object.text().len());
}

#[test]
fn absent_and_null_fields_are_empty() {
    for rest in [
        "",
        r#","namespace":null,"uid":null,"resourceVersion":null,"generation":null,"deletionTimestamp":null,
        "labels":null,"annotations":null,"finalizers":null,"ownerReferences":null"#,
    ] {
        let object = scan(&with_meta(&format!(r#""name":"n"{rest}"#))).unwrap();
        assert_eq!((object.key().as_str(), object.uid(), object.resource_version()), ("n", "", ""));
        assert_eq!((object.generation(), object.is_deleting()), (None, false));
        assert!(object.labels().unwrap().is_empty() && object.annotations().unwrap().is_empty());
        assert!(object.finalizers().unwrap().is_empty() && object.owner_references().is_empty());
        assert_eq!(object.labels_json(), "");
    }
}

#[test]
fn an_object_needs_a_key() {
    use ScanFault::*;
    for (text, expected) in [
        ("{}".to_owned(), Missing("metadata")),
        (r#"{"metadata":null}"#.to_owned(), Missing("metadata")),
        (r#"{"metadata":[]}"#.to_owned(), NotAnObject("metadata")),
        (r#"{"metadata":"x"}"#.to_owned(), NotAnObject("metadata")),
        (with_meta(""), Missing("metadata.name")),
        (with_meta(r#""name":null"#), Missing("metadata.name")),
        (with_meta(r#""name":"""#), Missing("metadata.name")),
        (with_meta(r#""name":5"#), NotAString("metadata.name")),
        (with_meta(r#""name":"a/b""#), SlashIn("metadata.name", "a/b".into())),
        (with_meta(r#""name":"a\u002fb""#), SlashIn("metadata.name", "a/b".into())),
        (with_meta(r#""name":"a","namespace":"x/y""#), SlashIn("metadata.namespace", "x/y".into())),
        (with_meta(r#""name":"a","namespace":{}"#), NotAString("metadata.namespace")),
        (with_meta(r#""name":"a\ud800""#), Unreadable("metadata.name")),
        ("[]".to_owned(), NotAnObject("the object")),
        ("null".to_owned(), NotAnObject("the object")),
        ("5".to_owned(), NotAnObject("the object")),
    ] {
        let error = scan(&text).unwrap_err();
        assert_eq!(error.what, expected, "{text}");
        assert!(!error.is_malformed(), "{text}");
        assert_eq!(error.key, None);
    }
}

#[test]
fn an_object_that_is_wrong_after_its_key_is_named() {
    use ScanFault::*;
    for (rest, expected) in [
        (r#""uid":5"#, NotAString("metadata.uid")),
        (r#""resourceVersion":12"#, NotAString("metadata.resourceVersion")),
        (r#""uid":"\udc00""#, Unreadable("metadata.uid")),
    ] {
        let error = scan(&with_meta(&format!(r#""name":"a","namespace":"n",{rest}"#))).unwrap_err();
        assert_eq!((error.what.clone(), error.key.as_ref().map(ObjectKey::as_str)), (expected, Some("n/a")));
        assert!(error.to_string().starts_with("object n/a: metadata."), "{error}");
    }
}

#[test]
fn bytes_that_are_not_json_are_malformed() {
    let good = with_meta(r#""name":"a\u00e9b","managedFields":[1,{"x":"y"}],"uid":"u""#);
    assert!(scan(&good).is_ok());
    for end in 0..good.len() {
        let error = scan(&good[..end]).unwrap_err();
        assert!(error.is_malformed());
        assert_eq!((error.what, error.offset), (ScanFault::UnexpectedEnd, end), "cut at {end}");
    }
    for tail in ["{}", "x", ","] {
        assert_eq!(fault(&format!("{good} {tail}")), ScanFault::TrailingBytes);
    }
    assert!(scan(&format!(" \r\n{good}\r\n")).is_ok());
    let error =
        scan_object(b"{\"metadata\":{\"name\":\"a\"},\"x\":\"\xff\"}", ScanOptions::default()).unwrap_err();
    assert_eq!((error.what.clone(), error.offset), (ScanFault::InvalidUtf8, 30));
    assert_eq!(error.key.as_ref().map(ObjectKey::as_str), Some("a"));
    assert!(!error.is_malformed());
}

#[test]
fn an_object_that_cannot_be_decoded_is_there_by_its_key() {
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let not_too_deep = &deep[1..deep.len() - 1];
    for (value, unfit) in [
        ("1e999", Some(ScanFault::NumberOutOfRange)),
        (r#""\ud800""#, Some(ScanFault::LoneSurrogate)),
        (&deep, Some(ScanFault::TooDeep)),
        (not_too_deep, None),
        (r#"[1e999,"\ud800"]"#, Some(ScanFault::NumberOutOfRange)),
    ] {
        let text = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"5"}},"x":{value}}}"#);
        let object = scan(&text).unwrap();
        assert_eq!((object.key().as_str(), object.resource_version()), ("a", "5"));
        assert_eq!(object.unfit().map(|error| error.what.clone()), unfit, "{value}");
        assert_eq!(
            object.unfit().is_some(),
            serde_json::from_str::<Value>(object.text()).is_err(),
            "{value}"
        );
    }
}

#[test]
fn what_is_cut_out_makes_no_object_undecodable() {
    for (meta, cut, kept) in [
        (r#""managedFields":[1e999],"name":"a""#, false, true),
        (r#""name":"a","managedFields":[1e999],"labels":{"x":"\udc00"}"#, true, true),
        (r#""name":"a","managedFields":[1],"labels":{"x":"y"}"#, false, false),
    ] {
        for (keep_managed_fields, unfit) in [(false, cut), (true, kept)] {
            let object =
                scan_object(with_meta(meta).as_bytes(), ScanOptions { keep_managed_fields }).unwrap();
            assert_eq!(object.unfit().is_some(), unfit, "{meta}");
            assert_eq!(serde_json::from_str::<Value>(object.text()).is_err(), unfit, "{meta}");
        }
    }
}

#[test]
fn keys_and_strings_written_with_escapes_are_read() {
    let text = r#"{"\u006detadata":{"n\u0061me":"w\u00e9b","namespace":"sh\u006fp","uid":"u\t1","resourceVersion":"\u0037",
        "managed\u0046ields":[1],"lab\u0065ls":{"\u0061":"b"}}}"#;
    let object = scan(text).unwrap();
    assert_eq!(object.key().as_str(), "shop/wéb");
    assert_eq!((object.uid(), object.resource_version()), ("u\t1", "7"));
    assert_eq!(object.labels().unwrap()["a"], "b");
    assert!(!object.text().contains("ields"));
}

#[test]
fn of_a_key_that_comes_twice_the_last_counts() {
    let twice = scan(&with_meta(r#""name":"a","uid":"1","name":"b","uid":null"#)).unwrap();
    assert_eq!((twice.key().as_str(), twice.uid()), ("b", ""));
    let text = r#"{"metadata":{"name":"a","uid":"1","managedFields":[1]},"metadata":{"managedFields":[2],"name":"b"}}"#;
    let replaced = scan(text).unwrap();
    assert_eq!((replaced.key().as_str(), replaced.uid()), ("b", ""));
    assert_eq!(replaced.text(), r#"{"metadata":{"name":"a","uid":"1"},"metadata":{"name":"b"}}"#);
    assert_eq!(fault(r#"{"metadata":{"name":"a"},"metadata":null}"#), ScanFault::Missing("metadata"));
    assert_eq!(scan(r#"{"metadata":5,"metadata":{"name":"a"}}"#).unwrap().key().as_str(), "a");
}

#[test]
fn managed_fields_are_cut_with_the_comma_that_is_theirs() {
    for (meta, kept) in [
        (r#""name":"a","managedFields":[1],"uid":"u""#, r#""name":"a","uid":"u""#),
        (r#""managedFields":[1],"name":"a""#, r#""name":"a""#),
        (r#""name":"a","managedFields":[1]"#, r#""name":"a""#),
        (r#" "managedFields" : null , "name" : "a" "#, r#" "name" : "a" "#),
        (r#" "name" : "a" , "managedFields" : {} , "uid" : "u" "#, r#" "name" : "a" , "uid" : "u" "#),
        (r#""managedFields":[],"managedFields":[],"name":"a""#, r#""name":"a""#),
        (r#""name":"a","managedFields":[],"managedFields":[]"#, r#""name":"a""#),
        (
            r#""managedFields":[],"name":"a","managedFields":[],"uid":"u","managedFields":[]"#,
            r#""name":"a","uid":"u""#,
        ),
        (
            r#""name":"a","managedfields":[1],"labels":{"managedFields":"x"}"#,
            r#""name":"a","managedfields":[1],"labels":{"managedFields":"x"}"#,
        ),
    ] {
        let object = scan(&with_meta(meta)).unwrap();
        assert_eq!(object.text(), with_meta(kept));
        let keep = ScanOptions { keep_managed_fields: true };
        assert_eq!(scan_object(with_meta(meta).as_bytes(), keep).unwrap().text(), with_meta(meta));
    }
    let alone = r#"{"metadata":{ "managedFields" : [1] },"metadata":{"name":"a"}}"#;
    assert_eq!(scan(alone).unwrap().text(), r#"{"metadata":{  },"metadata":{"name":"a"}}"#);
}

#[test]
fn a_slot_holds_the_object_and_nothing_around_it() {
    let object = scan(" \n {\"metadata\":{\"name\":\"a\"}} \r\n").unwrap();
    assert_eq!(object.text(), r#"{"metadata":{"name":"a"}}"#);
    let (key, _, text) = object.into_parts();
    assert_eq!((key.as_str(), text.len()), ("a", 25));
}

#[test]
fn a_generation_that_is_no_integer_is_none() {
    for (written, expected) in
        [("3", Some(3)), ("-1", Some(-1)), ("1.5", None), (r#""3""#, None), ("99999999999999999999", None)]
    {
        let object = scan(&with_meta(&format!(r#""name":"a","generation":{written}"#))).unwrap();
        assert_eq!(object.generation(), expected, "{written}");
    }
}

#[test]
fn what_is_read_late_is_judged_late() {
    let text = with_meta(r#""name":"a","labels":{"x":1},"annotations":[],"finalizers":{"a":1}"#);
    let object = scan(&text).unwrap();
    for (error, what) in [
        (object.labels().unwrap_err(), "metadata.labels"),
        (object.annotations().unwrap_err(), "metadata.annotations"),
        (object.finalizers().unwrap_err(), "metadata.finalizers"),
    ] {
        assert_eq!(error.what, ScanFault::Unreadable(what));
        assert_eq!(error.key.as_ref(), Some(object.key()));
        assert!(!error.is_malformed());
    }
}

#[test]
fn an_owner_that_cannot_be_read_hides_no_other() {
    for (owners, names) in [
        (
            r#"[{"name":"a"},5,{"name":7},{"name":"b","controller":null,"uid":null},{"uid":"u"},null]"#,
            &["a", "b"][..],
        ),
        (r#"[{"name":"a","extra":{"x":[]}}]"#, &["a"]),
        ("{}", &[]),
        ("[]", &[]),
    ] {
        let object = scan(&with_meta(&format!(r#""name":"c","ownerReferences":{owners}"#))).unwrap();
        let found: Vec<_> = object.owner_references().into_iter().map(|owner| owner.name).collect();
        assert_eq!(found, names, "{owners}");
    }
}

#[test]
fn a_log_line_does_not_show_the_object() {
    let object = scan(r#"{"metadata":{"name":"a"},"data":{"password":"hunter2"}}"#).unwrap();
    assert!(!format!("{object:?}").contains("hunter2"));
}

/// A member as `(key as it is written, value as it is written)`.
type Member = (&'static str, String);

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "1",
        "null",
        "\"x\"",
        "[]",
        "{}",
        r#"{"name":"inner","managedFields":[{"a":[1,2]}]}"#,
        r#"["a, b",{"c":"}"}]"#,
        "-2.5e3",
        r#""q\"uote\\""#,
        "\"ü😀\"",
        " [ 1 , 2 ] ",
    ])
    .prop_map(str::to_owned)
}

fn meta() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "managedFields",
        "managedFields",
        "managed\\u0046ields",
        "labels",
        "annotations",
        "other",
        "finalizers",
    ]);
    let text = prop::sample::select(vec!["\"a\"", "\"b\\u0063\"", "null", "\"\""]).prop_map(str::to_owned);
    let text_key = prop::sample::select(vec!["name", "n\\u0061me", "namespace", "uid", "resourceVersion"]);
    let member = prop_oneof![(key, value()), (text_key, text)];
    (prop::collection::vec(member, 0..8), spaces()).prop_map(|(members, space)| braced(&members, space))
}

fn spaces() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "\n\t"])
}

fn braced(members: &[Member], space: &str) -> String {
    let members: Vec<_> =
        members.iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{space}{value}{space}")).collect();
    format!("{{{}}}", members.join(","))
}

fn object() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        (Just("metadata"), meta()),
        (prop::sample::select(vec!["spec", "status", "kind"]), value()),
        (Just("metadata"), Just("null".to_owned())),
        (Just("metad\\u0061ta"), meta()),
    ];
    (prop::collection::vec(member, 1..5), spaces()).prop_map(|(members, space)| braced(&members, space))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_slot_decodes_to_the_object_without_its_managed_fields(text in object()) {
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        let meta = expected["metadata"].as_object_mut();
        let string = |meta: &serde_json::Map<String, Value>, key: &str| {
            meta.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let Some(meta) = meta.filter(|meta| !string(meta, "name").is_empty()) else {
            prop_assert!(scan(&text).is_err());
            return Ok(());
        };
        meta.remove("managedFields");
        let meta = meta.clone();
        let object = scan(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(object.text()).unwrap(), expected);
        prop_assert_eq!(object.key().name(), string(&meta, "name"));
        prop_assert_eq!(object.key().namespace().unwrap_or_default(), string(&meta, "namespace"));
        prop_assert_eq!(object.uid(), string(&meta, "uid"));
        prop_assert_eq!(object.resource_version(), string(&meta, "resourceVersion"));
        let labels = meta.get("labels").filter(|value| !value.is_null());
        let read = (!object.labels_json().is_empty()).then(|| serde_json::from_str(object.labels_json()).unwrap());
        prop_assert_eq!(read.as_ref(), labels);
        let again = scan(object.text()).unwrap();
        prop_assert_eq!(again, object);
    }

    #[test]
    fn garbled_bytes_are_refused_or_decode_and_never_panic(text in object(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let options = ScanOptions::default();
        if let Ok(object) = scan_object(&bytes, options) {
            prop_assert_eq!(object.unfit().is_none(), serde_json::from_str::<Value>(object.text()).is_ok());
        }
        if let Err(error) = scan_object(&bytes, options) {
            let decodes = serde_json::from_slice::<Value>(&bytes).is_ok();
            prop_assert!(!(decodes && error.is_malformed()), "{error}");
        }
        scan_line(&bytes);
        _ = scan_list(&bytes);
        _ = scan_line(&bytes[at..]);
    }
}
