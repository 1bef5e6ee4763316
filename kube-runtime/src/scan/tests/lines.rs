use kube_core::Status;

use super::*;

fn key(line: &WatchLine) -> &str {
    match line {
        WatchLine::Added(object) | WatchLine::Modified(object) | WatchLine::Deleted(object) => {
            object.key().as_str()
        }
        other => panic!("{other:?}"),
    }
}

fn bad(line: &WatchLine) -> (&ScanError, Option<&str>) {
    match line {
        WatchLine::Bad { error, resource_version } => (error, resource_version.as_deref()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn type_and_object_come_in_either_order() {
    let object =
        r#"{"kind":"Pod","metadata":{"namespace":"n","name":"a","resourceVersion":"5","managedFields":[1]}}"#;
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        let first = scan_line(format!(r#"{{"type":"{kind}","object":{object}}}"#).as_bytes());
        let last = scan_line(
            format!("{{ \"future\":[{{}}], \"object\" : {object} , \"type\":\"{kind}\" }}\r\n").as_bytes(),
        );
        assert_eq!(first, last);
        match (kind, &first) {
            ("ADDED", WatchLine::Added(_))
            | ("MODIFIED", WatchLine::Modified(_))
            | ("DELETED", WatchLine::Deleted(_)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(key(&first), "n/a");
    }
    let escaped = r#"{"typ\u0065":"ADD\u0045D","obj\u0065ct":{"metadata":{"name":"a"}}}"#;
    assert_eq!(key(&scan_line(escaped.as_bytes())), "a");
    let twice = r#"{"type":"ERROR","object":5,"type":"ADDED","object":{"metadata":{"name":"b"}}}"#;
    assert_eq!(key(&scan_line(twice.as_bytes())), "b");
}

#[test]
fn an_option_keeps_managed_fields() {
    let line = br#"{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[1]}}}"#;
    for (keep_managed_fields, kept) in [(false, false), (true, true)] {
        let WatchLine::Added(object) = (ScanOptions { keep_managed_fields }).scan_line(line) else {
            panic!()
        };
        assert_eq!(object.text().contains("managedFields"), kept);
    }
}

#[test]
fn a_bookmark_is_a_version_and_may_end_the_initial_events() {
    for (meta, end) in [
        (r#""resourceVersion":"0009""#, false),
        (r#""resourceVersion":"0009","annotations":{"k8s.io/initial-events-end":"true"}"#, true),
        (r#""resourceVersion":"0009","annotations":{"k8s.io\/initial-events-end":"true","x":1}"#, true),
        (r#""resourceVersion":"0009","annotations":{"k8s.io/initial-events-end":"false"}"#, false),
        (r#""resourceVersion":"0009","annotations":null,"creationTimestamp":null"#, false),
        (r#""resourceVersion":"\u0030009","annotations":[]"#, false),
    ] {
        let line = format!(r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","metadata":{{{meta}}}}}}}"#);
        let expected = WatchLine::Bookmark { resource_version: "0009".into(), initial_events_end: end };
        assert_eq!(scan_line(line.as_bytes()), expected, "{meta}");
    }
    for (object, what) in [
        ("{}", ScanFault::Missing("metadata.resourceVersion")),
        (r#"{"metadata":{"resourceVersion":""}}"#, ScanFault::Missing("metadata.resourceVersion")),
        (r#"{"metadata":{"resourceVersion":5}}"#, ScanFault::NotAString("metadata.resourceVersion")),
        ("5", ScanFault::NotAnObject("the object")),
    ] {
        let line = scan_line(format!(r#"{{"type":"BOOKMARK","object":{object}}}"#).as_bytes());
        assert_eq!(bad(&line).0.what, what, "{object}");
    }
}

#[test]
fn an_error_is_an_error_whatever_it_holds() {
    let gone = br#"{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}"#;
    assert!(
        matches!(scan_line(gone), WatchLine::Error(status) if status.is_gone() && status.message == "too old")
    );
    for object in ["5", "null", "\"x\"", r#"{"code":"x"}"#] {
        let line = scan_line(format!(r#"{{"type":"ERROR","object":{object}}}"#).as_bytes());
        assert!(matches!(&line, WatchLine::Error(Status { code: 500, .. })), "{line:?}");
    }
}

#[test]
fn an_object_without_a_key_is_bad_and_still_moves_the_watch() {
    for (object, what, version) in [
        (r#"{"metadata":{"resourceVersion":"7"}}"#, ScanFault::Missing("metadata.name"), Some("7")),
        (
            r#"{"metadata":{"name":"a/b","resourceVersion":"7"}}"#,
            ScanFault::SlashIn("metadata.name", "a/b".into()),
            Some("7"),
        ),
        (
            r#"{"metadata":{"name":"a","resourceVersion":7}}"#,
            ScanFault::NotAString("metadata.resourceVersion"),
            None,
        ),
        (
            r#"{"metadata":{"name":"a","uid":[],"resourceVersion":"7"}}"#,
            ScanFault::NotAString("metadata.uid"),
            Some("7"),
        ),
        ("{}", ScanFault::Missing("metadata"), None),
        ("null", ScanFault::NotAnObject("the object"), None),
    ] {
        for line in [
            format!(r#"{{"type":"MODIFIED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"MODIFIED"}}"#),
        ] {
            let line = scan_line(line.as_bytes());
            let (error, at) = bad(&line);
            assert_eq!((&error.what, at), (&what, version), "{object}");
            assert!(!error.is_malformed());
        }
    }
}

#[test]
fn a_line_that_says_nothing_known_is_bad_and_not_a_panic() {
    use ScanFault::*;
    for (line, what, version, malformed) in [
        (
            r#"{"type":"RENAMED","object":{"metadata":{"name":"a","resourceVersion":"8"}}}"#,
            UnknownType("RENAMED".into()),
            Some("8"),
            false,
        ),
        (r#"{"type":"added","object":{}}"#, UnknownType("added".into()), None, false),
        (r#"{"type":5,"object":{"metadata":{"resourceVersion":"8"}}}"#, NotAString("type"), Some("8"), false),
        (r#"{"object":{"metadata":{"resourceVersion":"8"}}}"#, Missing("type"), Some("8"), false),
        (r#"{"type":"ADDED"}"#, Missing("object"), None, false),
        ("{}", Missing("object"), None, false),
        ("[]", NotAnObject("the line"), None, false),
        ("", UnexpectedEnd, None, true),
        ("[", UnexpectedEnd, None, true),
        (r#"{"type":"ADDED","object":{"metadata":{"name":"a"}"#, UnexpectedEnd, None, true),
        (r#"{"type":"ADDED","object":{}}{"type""#, TrailingBytes, None, true),
    ] {
        let scanned = scan_line(line.as_bytes());
        let (error, at) = bad(&scanned);
        assert_eq!((&error.what, at, error.is_malformed()), (&what, version, malformed), "{line}");
    }
}

/// Case B6: bytes are joined before they are text, and a line that is not text fails alone.
#[test]
fn invalid_utf8_fails_its_line_only() {
    let line = |note: &[u8]| {
        let head = br#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"6","annotations":{"note":""#;
        [&head[..], note, br#""}}}}"#].concat()
    };
    let emoji = "😀".as_bytes();
    let lines = [line(emoji), line(&emoji[..3]), line(&emoji[1..]), line(b"\xc0\x80"), line(emoji)];
    let scanned = scan_batch(&lines);
    assert_eq!(key(&scanned[0]), "a");
    assert_eq!(key(&scanned[4]), "a");
    for line in &scanned[1..4] {
        let (error, version) = bad(line);
        assert_eq!((&error.what, version), (&ScanFault::InvalidUtf8, Some("6")));
        assert_eq!(error.key.as_ref().map(ObjectKey::as_str), Some("a"));
    }
}

/// Case B7: blank lines are nothing, and "\r\n" ends a line as "\n" does.
#[test]
fn blank_lines_and_carriage_returns_are_tolerated() {
    let line = |name: &str, end: &str| {
        format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{name}"}}}}}}{end}"#)
    };
    let lines =
        [line("a", "\r\n"), "\r\n".into(), String::new(), line("b", ""), "  \n".into(), line("c", "\n")];
    let keys: Vec<_> = scan_batch(&lines).iter().map(|line| key(line).to_owned()).collect();
    assert_eq!(keys, ["a", "b", "c"]);
}

/// Case B10: what does not fit a type is a key all the same, and so its removal is heard.
#[test]
fn an_object_of_any_shape_keeps_its_key() {
    for spec in [r#"{"size":"x"}"#, "5", "null", "[1e999]", r#""\ud800""#] {
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let line =
                format!(r#"{{"type":"{kind}","object":{{"spec":{spec},"metadata":{{"name":"bad"}}}}}}"#);
            assert_eq!(key(&scan_line(line.as_bytes())), "bad", "{line}");
        }
    }
}

#[test]
fn a_batch_is_in_order_however_large() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for (count, padding) in [(0, 0), (1, 300_000), (3, 10), (2_000, 400), (50, 20_000)] {
        let padding = "x".repeat(padding);
        let lines: Vec<_> = (0..count)
            .map(|i| match i % 7 {
                5 => format!("not json {i}"),
                _ => {
                    format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"o{i}"}},"x":"{padding}"}}}}"#)
                }
            })
            .collect();
        let one_by_one: Vec<_> = lines.iter().map(|line| scan_line(line.as_bytes())).collect();
        assert_eq!(pool.install(|| scan_batch(&lines)), one_by_one);
    }
}
