//! Lists: selections, pages, and which state they are of.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_core::{
    ApiResource, DynamicObject, GetParams, ListParams, ObjectList, Resource, ResourceExt,
    ResourceVersionMatch, WriteParams,
};

use crate::{
    common::{Place, config_map},
    kinds::Gadget,
};

fn names<K: Resource>(list: &ObjectList<K>) -> String {
    list.items.iter().map(ResourceExt::name).collect::<Vec<_>>().join(" ")
}

fn labelled<K: Resource>(mut object: K, labels: &[(&str, &str)]) -> K {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    object.meta_mut().labels = Some(labels.collect());
    object
}

#[tokio::test]
async fn selectors_choose_by_labels_and_fields() {
    let place = Place::new("list").await;
    place.define::<Gadget>().await;
    let (maps, gadgets) = (place.api::<ConfigMap>(), place.api::<Gadget>());
    let objects: [(&str, &[(&str, &str)]); 4] = [
        ("a", &[("app", "web"), ("tier", "front")]),
        ("b", &[("app", "web"), ("tier", "db")]),
        ("c", &[("app", "shop")]),
        ("d", &[]),
    ];
    for (name, labels) in objects {
        maps.create(&labelled(config_map(name, "k", "v"), labels), &WriteParams::default()).await.unwrap();
        gadgets.create(&labelled(Gadget::of(name, 1), labels), &WriteParams::default()).await.unwrap();
    }
    let resource = ApiResource::of::<Gadget>();
    let dynamic: Api<DynamicObject> = Api::dynamic(place.client.clone(), resource, Some(&place.namespace));
    let root = "metadata.name!=kube-root-ca.crt";
    for (labels, fields, expected) in [
        ("app=web", "", "a b"),
        ("app=web,tier!=db", "", "a"),
        ("app in (shop, web),tier", "", "a b"),
        ("!app", root, "d"),
        ("", "metadata.name=c", "c"),
        ("app=web", "metadata.name!=a", "b"),
        ("app=none", "", ""),
    ] {
        let set = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let params =
            ListParams { label_selector: set(labels), field_selector: set(fields), ..ListParams::default() };
        assert_eq!(names(&maps.list(&params).await.unwrap()), expected, "{params:?}");
        assert_eq!(names(&gadgets.list(&params).await.unwrap()), expected, "{params:?}");
        assert_eq!(names(&dynamic.list(&params).await.unwrap()), expected, "{params:?}");
        assert_eq!(names(&gadgets.clone().metadata_only().list(&params).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_selector_that_is_none_is_refused_and_shown() {
    let place = Place::new("list").await;
    let maps = place.api::<ConfigMap>();
    for (params, shown) in [
        (ListParams::default().labels("a=="), "unable to parse requirement"),
        (ListParams::default().labels("a in"), "unable to parse requirement"),
        (ListParams::default().fields("data.k=v"), "data.k"),
        (ListParams::default().continue_at("nonsense"), "continue"),
    ] {
        match maps.list(&params).await {
            // "a==" means "a is empty".
            Ok(list) => assert!(list.items.is_empty(), "{params:?}"),
            Err(error) => {
                assert_eq!(error.code(), Some(400), "{error}");
                assert!(error.to_string().contains(shown), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn pages_are_of_one_state_and_end_with_an_empty_token() {
    let place = Place::new("list").await;
    place.define::<Gadget>().await;
    let maps = place.api::<ConfigMap>();
    let gadgets = place.api::<Gadget>();
    for index in 0..5 {
        let name = format!("n{index}");
        maps.create(&labelled(config_map(&name, "k", "v"), &[("p", "1")]), &WriteParams::default())
            .await
            .unwrap();
        gadgets
            .create(&labelled(Gadget::of(&name, 1), &[("p", "1")]), &WriteParams::default())
            .await
            .unwrap();
    }
    let late = labelled(config_map("n1-late", "k", "v"), &[("p", "1")]);
    paged(&maps, &late).await;
    paged(&gadgets, &labelled(Gadget::of("n1-late", 1), &[("p", "1")])).await;
}

async fn paged<K>(api: &Api<K>, late: &K)
where
    K: Resource + serde::Serialize + serde::de::DeserializeOwned + Clone,
{
    let mut params = ListParams::default().labels("p=1").limit(2);
    let mut pages = Vec::new();
    let mut versions = Vec::new();
    loop {
        let page = api.list(&params).await.unwrap();
        pages.push(names(&page));
        versions.push(page.metadata.resource_version);
        if pages.len() == 1 {
            api.create(late, &WriteParams::default()).await.unwrap();
        }
        if page.metadata.continue_token.is_empty() {
            break;
        }
        params.continue_token = Some(page.metadata.continue_token);
    }
    assert_eq!(pages, ["n0 n1", "n2 n3", "n4"], "what came meanwhile is not of this state");
    assert!(versions.windows(2).all(|pair| pair[0] == pair[1]), "{versions:?}");
    let all = api.list(&ListParams::default().labels("p=1")).await.unwrap();
    assert_eq!(names(&all), "n0 n1 n1-late n2 n3 n4");
    // How many are left is known only where no selector hides some.
    let page = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert!(page.metadata.remaining_item_count.is_some_and(|left| left >= 4), "{:?}", page.metadata);
}

#[tokio::test]
async fn all_namespaces_are_listed_together() {
    let (one, two) = (Place::new("list").await, Place::new("list").await);
    let label = one.unique("together");
    for place in [&one, &two] {
        let map = labelled(config_map("a", "k", "v"), &[("together", &label)]);
        place.api().create(&map, &WriteParams::default()).await.unwrap();
    }
    let everywhere = Api::<ConfigMap>::all(one.client.clone());
    let listed = everywhere.list(&ListParams::default().labels(format!("together={label}"))).await.unwrap();
    let mut found: Vec<_> = listed.items.iter().filter_map(|map| map.namespace()).collect();
    found.sort_unstable();
    let mut expected = [one.namespace.name(), two.namespace.name()];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_older_state_can_be_asked_for() {
    let place = Place::new("list").await;
    let maps = place.api::<ConfigMap>();
    let first = maps.create(&config_map("a", "k", "old"), &WriteParams::default()).await.unwrap();
    let mut second = first.clone();
    second.data = config_map("a", "k", "new").data;
    let second = maps.replace("a", &second, &WriteParams::default()).await.unwrap();
    let version = |map: &ConfigMap| map.resource_version().map(str::to_owned);
    let value = |list: ObjectList<ConfigMap>| list.items[0].data.as_ref().map(|data| data["k"].clone());
    let only = || ListParams::default().fields("metadata.name=a");

    // Exactly then needs a limit or a selector that the server reads from its history.
    let exact = ListParams {
        resource_version: version(&first),
        resource_version_match: Some(ResourceVersionMatch::Exact),
        ..only()
    };
    assert_eq!(value(maps.list(&exact).await.unwrap()).as_deref(), Some("old"));
    let newer = ListParams {
        resource_version: version(&second),
        resource_version_match: Some(ResourceVersionMatch::NotOlderThan),
        ..only()
    };
    assert_eq!(value(maps.list(&newer).await.unwrap()).as_deref(), Some("new"));
    let got = maps.get_with("a", &GetParams { resource_version: version(&second) }).await.unwrap();
    assert_eq!(got.resource_version(), second.resource_version());
}
