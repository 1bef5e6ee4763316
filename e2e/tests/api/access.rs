//! Who asks, and what they may: certificates, tokens, and rights that are missing at first.

use k8s_openapi::api::{
    authentication::v1::{SelfSubjectReview, TokenRequest},
    core::v1::{ConfigMap, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube_client::{Api, Auth, Client, Config, KubeConfigOptions};
use kube_core::{ApiResource, Endpoint, ListParams, PatchParams, WatchParams, WriteParams};
use kube_e2e::{Cluster, Credential};
use serde_json::json;

use crate::{
    common::{Place, chain, config_map, named, reads, typed},
    kinds::Gadget,
};

/// Who the server says that this is.
async fn who_am_i(client: &Client) -> Result<String, kube_client::Error> {
    let reviews = Endpoint::new(&ApiResource::of::<SelfSubjectReview>(), None)?;
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = reviews.create(body.to_string().into_bytes(), &WriteParams::default())?;
    let review: SelfSubjectReview = client.request(request).await?;
    let user = review.status.and_then(|status| status.user_info).and_then(|info| info.username);
    Ok(user.unwrap_or_default())
}

/// Gives a user the right to these verbs on these kinds of the core group, in the test's namespace.
async fn grant(place: &Place, subject: &serde_json::Value, resources: &[&str], verbs: &[&str]) {
    let role: Role = typed(json!({
        "metadata": { "name": "granted" },
        "rules": [{ "apiGroups": ["", "api.e2e.example.dev"], "resources": resources, "verbs": verbs }],
    }));
    let binding: RoleBinding = typed(json!({
        "metadata": { "name": "granted" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "granted" },
        "subjects": [subject],
    }));
    let params = PatchParams::apply("e2e-access");
    place.api().apply("granted", &role, &params).await.unwrap();
    place.api().apply("granted", &binding, &params).await.unwrap();
}

/// The configuration of the shared cluster, without a user.
fn stranger(cluster: &Cluster) -> Config {
    let path = cluster.kubeconfig_file().unwrap().map(ToOwned::to_owned);
    let options = KubeConfigOptions { path, ..KubeConfigOptions::default() };
    let mut config = Config::from_kubeconfig(&options).unwrap();
    config.auth = Auth::None;
    config.tls.identity = None;
    config
}

#[tokio::test]
async fn without_rights_the_refusal_says_what_is_missing_and_with_them_the_same_call_succeeds() {
    let place = Place::new("access").await;
    place.define::<Gadget>().await;
    let user = place.unique("pat");
    let client = place.cluster.client_for(&user).unwrap();
    let (maps, gadgets): (Api<ConfigMap>, Api<Gadget>) =
        (Api::namespaced(client.clone(), &place.namespace), Api::namespaced(client, &place.namespace));
    place.api().create(&Gadget::of("a", 1), &WriteParams::default()).await.unwrap();

    let all = ListParams::default();
    let write = WriteParams::default();
    let map = config_map("a", "k", "v");
    let params = PatchParams::apply("e2e-access");
    for (refused, verb, kind) in [
        (maps.create(&map, &write).await.map(drop), "create", "configmaps"),
        (maps.get("a").await.map(drop), "get", "configmaps"),
        (maps.list(&all).await.map(drop), "list", "configmaps"),
        (maps.watch(&WatchParams::default(), "").await.map(drop), "watch", "configmaps"),
        (maps.apply("a", &map, &params).await.map(drop), "patch", "configmaps"),
        (gadgets.get("a").await.map(drop), "get", "gadgets"),
        (gadgets.get_status("a").await.map(drop), "get", "gadgets/status"),
    ] {
        let error = refused.unwrap_err();
        assert!(error.is_forbidden() && !error.is_retryable(), "{error:?}");
        reads(
            &error.to_string(),
            &[
                "403 Forbidden",
                &format!("User {user:?} cannot {verb} resource {kind:?}"),
                &format!("in the namespace {:?}", place.namespace.name()),
            ],
        );
    }

    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user });
    grant(&place, &subject, &["configmaps", "gadgets"], &["get", "create"]).await;
    place
        .cluster
        .eventually("the right to create", async || {
            maps.create(&map, &write).await.map_err(|error| error.to_string())
        })
        .await;
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["k"], "v");
    assert_eq!(gadgets.get("a").await.unwrap().spec.replicas, 1);
    let error = maps.list(&all).await.unwrap_err();
    assert!(error.is_forbidden(), "what was not granted: {error:?}");
}

#[tokio::test]
async fn a_client_certificate_says_who_it_is_of() {
    let shared = Cluster::shared().await.unwrap();
    let Some(control) = shared.control_or_skip("a_client_certificate_says_who_it_is_of") else { return };
    for (user, group) in [("kim", None), ("system:robot:1", Some("team"))] {
        let client = control.client_for(user, group).unwrap();
        assert_eq!(who_am_i(&client).await.unwrap(), user);
    }
    let admin = control.client_with(&Credential::Token(control.token("admin").unwrap().to_owned())).unwrap();
    assert_eq!(who_am_i(&admin).await.unwrap(), "admin");
}

#[tokio::test]
async fn the_token_of_a_service_account_is_a_user_with_rights_of_its_own() {
    let place = Place::new("access").await;
    let accounts = place.api::<ServiceAccount>();
    let account = ServiceAccount { metadata: named("robot"), ..ServiceAccount::default() };
    accounts.create(&account, &WriteParams::default()).await.unwrap();
    let request: TokenRequest = typed(json!({ "spec": { "audiences": [], "expirationSeconds": 600 } }));
    let answer: TokenRequest =
        accounts.create_subresource("token", "robot", &request, &WriteParams::default()).await.unwrap();

    let mut config = stranger(place.cluster);
    config.auth = Auth::Token(answer.status.unwrap().token.unwrap().into());
    let client = Client::from_config(config).unwrap();
    let name = format!("system:serviceaccount:{}:robot", place.namespace.name());
    assert_eq!(who_am_i(&client).await.unwrap(), name);

    let maps: Api<ConfigMap> = Api::namespaced(client, &place.namespace);
    reads(&maps.list(&ListParams::default()).await.unwrap_err().to_string(), &["403", &name, "list"]);
    let subject = json!({ "kind": "ServiceAccount", "name": "robot", "namespace": place.namespace.name() });
    grant(&place, &subject, &["configmaps"], &["list"]).await;
    place
        .cluster
        .eventually("the right to list", async || {
            maps.list(&ListParams::default()).await.map_err(|error| error.to_string())
        })
        .await;
}

#[tokio::test]
async fn a_wrong_token_is_told_from_missing_rights() {
    let place = Place::new("access").await;
    let mut config = stranger(place.cluster);
    config.auth = Auth::Token("wrong".into());
    let maps: Api<ConfigMap> = Api::namespaced(Client::from_config(config).unwrap(), &place.namespace);
    let error = maps.get("a").await.unwrap_err();
    assert!(error.is_unauthorized() && !error.is_forbidden() && !error.is_retryable(), "{error:?}");
    let text = chain(&error);
    reads(&text, &["GET", "configmaps/a", "401 Unauthorized", "token", "expired"]);
    assert!(!text.contains("wrong"), "the token is not shown: {text}");
}

#[tokio::test]
async fn an_expired_client_certificate_is_refused_with_what_to_look_at() {
    let shared = Cluster::shared().await.unwrap();
    let Some(control) =
        shared.control_or_skip("an_expired_client_certificate_is_refused_with_what_to_look_at")
    else {
        return;
    };
    let expired = control.pki().expired_user("admin", Some(kube_e2e::MASTERS)).unwrap();
    let client = control.client_with(&Credential::Certificate(expired)).unwrap();
    let error = Api::<ConfigMap>::namespaced(client, "default").get("a").await.unwrap_err();
    assert!(error.is_unauthorized(), "{error:?}");
    reads(&chain(&error), &["GET", "configmaps/a", "401 Unauthorized", "client certificate", "expired"]);
}
