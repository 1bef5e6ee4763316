use super::*;

fn keys(page: &ListPage) -> Vec<Result<&str, &ScanFault>> {
    page.items
        .iter()
        .map(|item| item.as_ref().map(|object| object.key().as_str()).map_err(|error| &error.what))
        .collect()
}

#[test]
fn metadata_and_items_come_in_either_order_or_not_at_all() {
    let meta = r#""metadata":{"resourceVersion":"0900","continue":"tok\u0065n","remainingItemCount":3,"selfLink":""}"#;
    let items = r#""items":[{"metadata":{"name":"a","namespace":"n"}} , {"metadata":{"name":"b"}}]"#;
    let full = |body: &str| {
        let page = scan_list(body.as_bytes()).unwrap();
        assert_eq!(keys(&page), [Ok("n/a"), Ok("b")]);
        assert_eq!((page.resource_version.as_str(), page.continue_token.as_deref()), ("0900", Some("token")));
        assert_eq!(page.remaining, Some(3));
    };
    full(&format!(r#"{{"kind":"List","apiVersion":"v1",{meta},{items}}}"#));
    full(&format!("{{{items},\"kind\":\"List\",{meta}}}\n"));
    for (body, version) in [
        ("{}", ""),
        (r#"{"items":null,"metadata":null}"#, ""),
        (r#"{"items":[],"metadata":{}}"#, ""),
        (
            r#"{"metadata":{"resourceVersion":"abc7","continue":"","remainingItemCount":null},"items":[ ]}"#,
            "abc7",
        ),
        (r#"{"metadata":{"resourceVersion":"7","continue":null,"remainingItemCount":-1}}"#, "7"),
        (
            r#"{"metadata":{"resourceVersion":"6","continue":"x"},"items":[5],"metadata":{"resourceVersion":"7"},"items":[]}"#,
            "7",
        ),
    ] {
        let page = scan_list(body.as_bytes()).unwrap();
        assert_eq!(page, ListPage { resource_version: version.into(), ..ListPage::default() }, "{body}");
    }
}

/// Case B10: one bad item is an error in its place.
#[test]
fn a_bad_item_does_not_spoil_its_page() {
    let body =
        b"{\"items\":[{\"metadata\":{\"name\":\"a\"}},{},null,7,[{}],{\"metadata\":{\"name\":\"x/y\"}},\
        {\"metadata\":{\"name\":\"u\",\"uid\":\"\xff\"}},{\"metadata\":{\"name\":\"deep\"},\"spec\":1e999},\
        {\"metadata\":{\"name\":\"z\"}}],\"metadata\":{\"resourceVersion\":\"5\"}}";
    let page = scan_list(body).unwrap();
    let not_an_object = ScanFault::NotAnObject("the object");
    assert_eq!(
        keys(&page),
        [
            Ok("a"),
            Err(&ScanFault::Missing("metadata")),
            Err(&not_an_object),
            Err(&not_an_object),
            Err(&not_an_object),
            Err(&ScanFault::SlashIn("metadata.name", "x/y".into())),
            Err(&ScanFault::InvalidUtf8),
            Ok("deep"),
            Ok("z"),
        ]
    );
    assert_eq!(page.resource_version, "5");
    let broken = page.items[6].as_ref().unwrap_err();
    assert_eq!(broken.key.as_ref().map(ObjectKey::as_str), Some("u"));
    assert_eq!(body[broken.offset], 0xff);
}

#[test]
fn a_body_that_is_no_list_is_an_error() {
    for (body, what) in [
        ("", ScanFault::UnexpectedEnd),
        ("<html>", ScanFault::NotAnObject("the list")),
        ("[]", ScanFault::NotAnObject("the list")),
        (r#"{"items":{}}"#, ScanFault::NotAnArray("items")),
        (r#"{"items":"x"}"#, ScanFault::NotAnArray("items")),
        (r#"{"metadata":[]}"#, ScanFault::NotAnObject("the list's metadata")),
        (
            r#"{"metadata":{"resourceVersion":5}}"#,
            ScanFault::NotAString("the list's metadata.resourceVersion"),
        ),
        (r#"{"metadata":{"continue":5}}"#, ScanFault::NotAString("the list's metadata.continue")),
        (r#"{"items":[{"metadata":{"name":"a"}}"#, ScanFault::UnexpectedEnd),
        (r#"{"items":[{"metadata":{"name":"a"}},]}"#, ScanFault::UnexpectedByte(b']')),
        (r#"{"items":[]} x"#, ScanFault::TrailingBytes),
    ] {
        assert_eq!(scan_list(body.as_bytes()).unwrap_err().what, what, "{body}");
    }
}

#[test]
fn items_keep_their_bytes_as_they_came() {
    let body = r#"{"items":[ {"metadata":{"name":"a","managedFields":[]} , "x": 1 } ]}"#;
    for (keep_managed_fields, text) in [
        (false, r#"{"metadata":{"name":"a"} , "x": 1 }"#),
        (true, r#"{"metadata":{"name":"a","managedFields":[]} , "x": 1 }"#),
    ] {
        let page = (ScanOptions { keep_managed_fields }).scan_list(body.as_bytes()).unwrap();
        assert_eq!(page.items[0].as_ref().unwrap().text(), text);
    }
}

#[test]
fn a_large_page_is_the_same_page_on_many_threads() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let many = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let padding = "x".repeat(1_000);
    let items: Vec<_> = (0..500)
        .map(|i| match i % 50 {
            49 => "{}".to_owned(),
            _ => format!(r#"{{"metadata":{{"name":"o{i}"}},"claims":[{{}},{{"metadata":{{"name":"c"}}}}],"x":"{padding}"}}"#),
        })
        .collect();
    let body = format!(r#"{{"items":[{}],"metadata":{{"resourceVersion":"5"}}}}"#, items.join(","));
    let expected: Vec<_> = items.iter().map(|item| scan(item).ok()).collect();
    for pool in [one, many] {
        let page = pool.install(|| scan_list(body.as_bytes())).unwrap();
        assert_eq!(page.resource_version, "5");
        let found: Vec<_> = page.items.into_iter().map(Result::ok).collect();
        assert_eq!(found, expected);
    }
}
