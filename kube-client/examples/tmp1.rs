#![allow(missing_docs)]
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube_client::{core::*, *};
fn send<T: Send>(_: T) {}
#[allow(dead_code)]
fn e(api: &kube_client::Api<Pod>, pod: &Pod) { send(api.get("x")); send(api.apply("x", pod, &Default::default())); send(api.watch(&Default::default(), "")); }
#[tokio::main]
async fn main() {
    let client = Client::infer().await.unwrap();
    let ns = Api::<Namespace>::cluster(client.clone());
    println!("{:?}", ns.list(&Default::default()).await.unwrap().items.iter().map(|n| n.name().to_owned()).collect::<Vec<_>>());
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    println!("{}", api.get("nope").await.unwrap_err());
    let mut cm = ConfigMap::default(); cm.metadata.name = Some("a".into()); cm.data = Some([("k".to_string(), "v".to_string())].into());
    let made = api.create(&cm, &WriteParams::manager("one")).await.unwrap();
    println!("{:?}", made.resource_version());
    println!("exists: {}", api.create(&cm, &Default::default()).await.unwrap_err());
    let mut w = api.watch(&WatchParams::default(), made.resource_version().unwrap()).await.unwrap();
    cm.data = Some([("k".to_string(), "w".to_string())].into());
    let c = api.apply("a", &cm, &PatchParams::apply("two")).await.unwrap_err();
    println!("conflict: {c} {:?}", c.is_conflict());
    let applied = api.apply("a", &cm, &PatchParams::apply("two").force()).await.unwrap();
    println!("{:?}", applied.data);
    println!("event {:?}", w.next().await.unwrap().map(|e| matches!(e, WatchEvent::Modified(_))));
    println!("strategic {:?}", api.patch("a", &Patch::Strategic(serde_json::json!({"metadata":{"labels":{"x":"y"}}})), &Default::default()).await.unwrap().labels());
    println!("replace conflict: {}", api.replace("a", &made, &Default::default()).await.unwrap_err());
    println!("del {:?}", api.delete("a", &DeleteParams::background()).await.unwrap());
    println!("delcoll {:?}", api.delete_collection(&Default::default(), &Default::default()).await.unwrap().object().map(|l| l.items.len()));
    println!("gone: {}", match api.watch(&WatchParams::default(), "1").await { Ok(mut s) => format!("{:?}", s.next().await), Err(e) => e.to_string() });
    let d = Api::dynamic(client.clone(), ApiResource::new("no.such", "v1", "X", "xs", true), Some("default"));
    println!("{}", d.get("x").await.unwrap_err());
    let m = Api::<ConfigMap>::all(client.clone()).metadata_only().list(&Default::default()).await.unwrap();
    println!("meta {:?} rv {}", m.items.iter().map(|m| m.name().to_owned()).collect::<Vec<_>>(), m.metadata.resource_version);
    let v: serde_json::Value = client.request(http::Request::get("/version").body(vec![]).unwrap()).await.unwrap();
    println!("{}", v["gitVersion"]);
}
