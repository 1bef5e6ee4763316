//! What the harness itself promises, on the real programs: a control plane can be used, hurt, and leaves nothing behind.
//!
//! `cargo test -p kube-e2e --features cluster --test harness`

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use futures::StreamExt as _;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube_client::{Api, Client, Config, KubeConfigOptions, Kubeconfig};
use kube_core::{ListParams, WatchEvent, WatchParams, WriteParams};
use kube_e2e::{
    Cluster, ControlPlane, Credential, Ending, Error, Pki, Program, Programs, eventually, kubeconfig_yaml,
};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

async fn start() -> Cluster {
    Cluster::control_plane().start().await.unwrap()
}

fn control(cluster: &Cluster) -> &ControlPlane {
    cluster.control().unwrap()
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

async fn create(client: Client, name: &str) -> String {
    let created = maps(client).create(&map(name), &WriteParams::default()).await.unwrap();
    created.metadata.resource_version.unwrap()
}

fn answers(server: &str) -> bool {
    TcpStream::connect(server.trim_start_matches("https://")).is_ok()
}

#[tokio::test]
async fn everybody_is_who_they_say_and_may_do_what_they_may() {
    let cluster = Cluster::control_plane().user("kim", &["team", "system:masters"]).start().await.unwrap();
    let control = control(&cluster);
    let pki = control.pki();
    let token = |user: &str| Credential::Token(control.token(user).unwrap().to_owned());
    for (who, credential, expected) in [
        ("the administrator by certificate", Credential::Certificate(pki.admin().unwrap()), None),
        ("the administrator by token", token("admin"), None),
        ("a user by token, with the rights of its second group", token("kim"), None),
        (
            "a user by certificate, without rights",
            Credential::Certificate(pki.user("pat", None).unwrap()),
            Some(403),
        ),
        ("nobody", Credential::Anonymous, Some(403)),
        ("a token that nobody has", Credential::Token("wrong".into()), Some(401)),
        (
            "a certificate of the past",
            Credential::Certificate(pki.expired_user("admin", Some("system:masters")).unwrap()),
            Some(401),
        ),
        (
            "a certificate of another authority",
            Credential::Certificate(Pki::new().unwrap().admin().unwrap()),
            Some(401),
        ),
    ] {
        let listed = maps(control.client_with(&credential).unwrap()).list(&ListParams::default()).await;
        assert_eq!(listed.err().map(|error| error.code().unwrap()), expected, "{who}");
    }
    assert!(control.token("pat").is_none());
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted() {
    let cluster = start().await;
    let other = Pki::new().unwrap();
    let yaml = kubeconfig_yaml(&control(&cluster).server(), &other.ca_pem(), &Credential::Anonymous);
    let config =
        Config::resolve(&Kubeconfig::from_yaml(&yaml).unwrap(), &KubeConfigOptions::default()).unwrap();
    let error = maps(Client::from_config(config).unwrap()).list(&ListParams::default()).await.unwrap_err();
    assert!(error.code().is_none(), "{error:?}");
}

#[tokio::test]
async fn what_was_written_outlives_the_api_server_on_the_same_port() {
    let cluster = start().await;
    let control = control(&cluster);
    for (ending, name) in [(Ending::Graceful, "graceful"), (Ending::Crash, "crash")] {
        let version = create(cluster.client().unwrap(), name).await;
        // With a watch open, for a server that ends in order waits for its watches.
        let watched = maps(cluster.client().unwrap());
        let mut events = watched.watch(&WatchParams::default(), &version).await.unwrap();
        let server = control.server();
        control.stop_apiserver(ending).await.unwrap();
        assert!(!answers(&server));
        while let Some(Ok(_)) = events.next().await {}
        control.start_apiserver().await.unwrap();
        control.start_apiserver().await.unwrap();
        assert_eq!(control.server(), server);
        maps(cluster.client().unwrap()).get(name).await.unwrap();
    }
}

#[tokio::test]
async fn a_paused_server_does_not_answer_until_it_goes_on() {
    let cluster = start().await;
    let control = control(&cluster);
    control.pause_apiserver().await;
    let api = maps(cluster.client().unwrap());
    let mut answer = tokio::spawn(async move { api.list(&ListParams::default()).await });
    tokio::time::timeout(Duration::from_secs(1), &mut answer).await.unwrap_err();
    control.resume_apiserver().await;
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn after_a_compaction_and_a_restart_the_past_is_gone() {
    let cluster = start().await;
    let control = control(&cluster);
    let client = || cluster.client().unwrap();
    let first = create(client(), "a").await;
    create(client(), "b").await;
    let page = maps(client()).list(&ListParams { limit: Some(1), ..ListParams::default() }).await.unwrap();
    let token = page.metadata.continue_token;
    create(client(), "c").await;
    let revision = control.compact_etcd().await.unwrap();
    control.restart_apiserver(Ending::Crash).await.unwrap();

    assert!(revision > first.parse().unwrap());
    let rest = ListParams { continue_token: Some(token), ..ListParams::default() };
    let error = maps(client()).list(&rest).await.unwrap_err();
    assert!(error.is_gone(), "{error:?}");
    // The server says it in either way: as the answer's status, or as the first event of the stream.
    match maps(client()).watch(&WatchParams::default(), &first).await {
        Err(error) => assert!(error.is_gone(), "{error:?}"),
        Ok(mut events) => match events.next().await.unwrap().unwrap() {
            WatchEvent::Error(status) => assert!(status.is_gone(), "{status:?}"),
            _ => panic!("an event from the past"),
        },
    }
    maps(client()).get("c").await.unwrap();
}

#[tokio::test]
async fn several_live_side_by_side_and_each_leaves_nothing_behind() {
    let (one, two) = tokio::join!(start(), start());
    create(one.client().unwrap(), "only-here").await;
    let error = maps(two.client().unwrap()).get("only-here").await.unwrap_err();
    assert!(error.is_not_found(), "{error:?}");

    let (server, folder) = (control(&one).server(), control(&one).logs().parent().unwrap().to_owned());
    drop(one);
    assert!(!answers(&server));
    assert!(!folder.exists());
    maps(two.client().unwrap()).list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn on_a_complete_one_pods_run_and_namespaces_end() {
    let cluster = Cluster::control_plane().complete().start().await.unwrap();
    let client = cluster.client().unwrap();
    let namespace = cluster.namespace("harness").await.unwrap();
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web" }] },
            },
        },
    }))
    .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    deployments.create(&deployment, &WriteParams::default()).await.unwrap();
    cluster
        .eventually("three ready replicas", async || {
            let status =
                deployments.get("web").await.map_err(|error| error.to_string())?.status.unwrap_or_default();
            if status.ready_replicas == Some(3) { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await;

    let name = namespace.name().to_owned();
    drop(namespace);
    let namespaces: Api<Namespace> = Api::cluster(client);
    cluster
        .eventually("the end of the namespace", async || match namespaces.get_opt(&name).await {
            Ok(None) => Ok(()),
            Ok(Some(found)) => Err(format!("{:?}", found.status)),
            Err(error) => Err(error.to_string()),
        })
        .await;
}

#[tokio::test]
async fn a_cluster_that_exists_can_be_used_but_not_hurt() {
    let ours = start().await;
    let cluster = Cluster::kubeconfig(ours.kubeconfig_file().unwrap().map(Path::to_owned)).unwrap();
    assert!(!cluster.has_control_over_apiserver());
    assert!(cluster.control_or_skip("a test of the harness that skips on purpose").is_none());

    let namespace = cluster.namespace("harness").await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(cluster.client().unwrap(), &namespace);
    api.create(&map("a"), &WriteParams::default()).await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(cluster.client_for("pat").unwrap(), &namespace);
    let error = api.get("a").await.unwrap_err();
    assert!(error.is_forbidden() && error.to_string().contains("pat"), "{error:?}");
}

/// A folder with a script in the place of one program.
fn programs_with(folder: &Path, program: Program, script: &str) -> Programs {
    let path = folder.join(program.name());
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Programs::new(Some(folder.to_owned()), Programs::from_env().built().to_owned())
}

#[tokio::test]
async fn a_program_that_ends_says_why_and_keeps_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let programs = programs_with(folder.path(), Program::KubeApiserver, "echo no such flag >&2; exit 7");
    let error = Cluster::control_plane().programs(programs).start().await.unwrap_err();
    let Error::Exited { program, tail, log, .. } = error else { panic!("{error}") };
    assert_eq!((program, tail.as_str()), ("kube-apiserver", "no such flag"));
    assert_eq!(fs::read_to_string(&log).unwrap(), "no such flag\n");
    fs::remove_dir_all(log.ancestors().nth(2).unwrap()).unwrap();
}

#[tokio::test]
async fn a_port_that_somebody_took_meanwhile_is_given_up_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "[ -e {tried} ] && exec {etcd} \"$@\"\n: >{tried}\necho bind: address already in use >&2; exit 1",
        tried = folder.path().join("tried").display(),
        etcd = Programs::from_env().find(Program::Etcd).unwrap().display(),
    );
    let programs = programs_with(folder.path(), Program::Etcd, &script);
    let cluster = Cluster::control_plane().programs(programs).start().await.unwrap();
    maps(cluster.client().unwrap()).list(&ListParams::default()).await.unwrap();
}

/// `cluster up`, once it is up, and the address of its server.
fn up(kubeconfig: &Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cluster"))
        .args(["up", "--nodes", "1", "--kubeconfig"])
        .arg(kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let server = lines.next().unwrap().split_whitespace().next().unwrap().to_owned();
    (child, server)
}

#[tokio::test]
async fn the_program_ends_on_a_signal_and_takes_its_kubeconfig_along_but_not_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, kubeconfig_stays) in [("INT", false), ("TERM", false), ("KILL", true)] {
        let kubeconfig = folder.path().join(signal);
        let (mut child, server) = up(&kubeconfig);
        let cluster = Cluster::kubeconfig(Some(kubeconfig.clone())).unwrap();
        maps(cluster.client().unwrap()).list(&ListParams::default()).await.unwrap();
        let kill = format!("kill -s {signal} {}", child.id());
        assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
        eventually(SOON, "its end", async || child.try_wait().unwrap()).await;
        eventually(SOON, "the end of its API server", async || !answers(&server)).await;
        assert_eq!(kubeconfig.exists(), kubeconfig_stays, "{signal}");
    }
}

#[tokio::test]
async fn a_kubeconfig_of_somebody_else_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    fs::write(&kubeconfig, "current-context: production\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    let output = command.args(["up", "--kubeconfig"]).arg(&kubeconfig).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not from this program"));
    assert_eq!(fs::read_to_string(&kubeconfig).unwrap(), "current-context: production\n");
}
