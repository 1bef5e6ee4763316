//! A real control plane on this machine: etcd and kube-apiserver, and on request the parts that make objects move.
//!
//! In: which parts, how many nodes, which users. Out: a server on a loopback port that is ready to be used, the means
//! to be anybody on it, and the means to hurt it: stop, crash, pause, restart, compact.
//!
//! ```text
//!  builder -> folder, keys, ports -> etcd -> kube-apiserver -> /readyz -> controller manager, scheduler, kwok -> nodes
//!             (all private to this one; several live side by side on one machine)
//! ```
//! Everything ends with the value: dropping it kills the programs and removes the folder. When this process dies without
//! dropping anything, `supervise.rs` sees to the same. The folder with the logs stays after a panic or a failed start.
//!
//! Why real programs: a server that is written to be tested against agrees with its author. What this one does is right.
//!
//! Left to others: where the programs come from (`programs`), which cluster a test gets (`cluster`).

mod arguments;
mod builder;
mod etcd;
mod folder;
mod nodes;
mod ports;
mod supervise;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use http::Request;
use kube_client::{Client, Config, KubeConfigOptions};
use tokio::sync::Mutex;

use self::{
    arguments::Layout,
    folder::Folder,
    supervise::{Launch, Signal, Supervised},
};
use crate::{
    Error, Pki, Program, Programs,
    kubeconfig::{Credential, kubeconfig_yaml, write_private},
};

pub use self::builder::ControlPlaneBuilder;

/// How long a program may take to come up. It takes 2 s on an idle machine; this is for one that compiles meanwhile.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// How long kube-apiserver may take to end by itself. It gives its watches a second, and ends soon after.
const STOPPED_WITHIN: Duration = Duration::from_secs(30);

/// How often somebody looks whether a program is ready.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long one look may take: a server that is coming up may accept a connection and then not answer.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// Creations with the objects as the server understood them, and nothing else.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Request, verbs: [create]}
- {level: None}
";

/// Which programs run beside etcd and kube-apiserver, and what the latter does besides.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each part is there or not, whatever the others are")]
struct Parts {
    controller_manager: bool,
    scheduler: bool,
    kwok: bool,
    audit: bool,
}

/// How a program is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By SIGTERM: what is under way is finished, connections are closed in order.
    Graceful,
    /// By SIGKILL: as if the machine had lost power.
    Crash,
}

/// A user who is known by a bearer token.
#[derive(Clone, Debug)]
struct TokenUser {
    name: String,
    groups: Vec<String>,
    token: String,
}

/// The programs that run. Dropped from top to bottom: whoever needs a server goes before it.
#[derive(Debug, Default)]
struct Running {
    others: Vec<Supervised>,
    apiserver: Option<Supervised>,
    etcd: Option<Supervised>,
}

/// A control plane that runs. See the module documentation; made by [`Cluster::control_plane`](crate::Cluster::control_plane).
///
/// Methods that change the server may be called from several tasks at once; they wait for each other.
#[derive(Debug)]
pub struct ControlPlane {
    running: Mutex<Running>,
    programs: Programs,
    parts: Parts,
    users: Vec<TokenUser>,
    pki: Pki,
    etcd_port: u16,
    api_port: u16,
    kubeconfigs: AtomicU32,
    folder: Folder,
}

impl ControlPlane {
    /// The address of the API server, such as `https://127.0.0.1:20123`. It stays the same over restarts.
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.api_port)
    }

    /// A kubeconfig file of an administrator by client certificate.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.file("kubeconfig")
    }

    /// The logs, one file for each program.
    pub fn logs(&self) -> PathBuf {
        self.folder.file("logs")
    }

    /// The log of [`ControlPlaneBuilder::audit`]; there is none without it.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.log("audit")
    }

    /// Keeps the temporary folder, logs included, when this control plane ends.
    pub fn keep_folder(&self) {
        self.folder.keep();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The authority that this server believes.
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// The token of a user who was named at the start. There is always `admin`.
    pub fn token(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|known| known.name == user).map(|known| known.token.as_str())
    }

    /// The path of kubectl, for people and for comparisons.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] when it was not built.
    pub fn kubectl(&self) -> Result<PathBuf, Error> {
        self.programs.find(Program::Kubectl)
    }

    /// A new client of the administrator. It has connections of its own, which belong to the tokio runtime that uses
    /// it: every test makes its own.
    pub fn client(&self) -> Result<Client, Error> {
        client_of(Some(self.kubeconfig()))
    }

    /// A new client of any user by client certificate, with the rights that RBAC gives to that user and group.
    pub fn client_for(&self, user: &str, group: Option<&str>) -> Result<Client, Error> {
        self.client_with(&Credential::Certificate(self.pki.user(user, group)?))
    }

    /// A new client with any credential, good or bad.
    pub fn client_with(&self, credential: &Credential) -> Result<Client, Error> {
        client_of(Some(self.kubeconfig_with(credential)?))
    }

    /// A new kubeconfig file with any credential, good or bad. It lives as long as this control plane.
    pub fn kubeconfig_with(&self, credential: &Credential) -> Result<PathBuf, Error> {
        let path =
            self.folder.file(&format!("kubeconfig-{}", self.kubeconfigs.fetch_add(1, Ordering::Relaxed)));
        write_private(&path, &kubeconfig_yaml(&self.server(), &self.pki.ca_pem(), credential))?;
        Ok(path)
    }

    /// Ends the API server. Nothing answers on its port until [`start_apiserver`](Self::start_apiserver).
    pub async fn stop_apiserver(&self, ending: Ending) -> Result<(), Error> {
        stop(&mut *self.running.lock().await, ending).await
    }

    /// Starts the API server again, on the same port and with the same keys, and waits until it is ready. Does nothing
    /// if it runs.
    pub async fn start_apiserver(&self) -> Result<(), Error> {
        self.start_apiserver_in(&mut *self.running.lock().await).await
    }

    /// Ends the API server and starts it again. Every watch is cut, and the watch cache of the new one begins empty.
    pub async fn restart_apiserver(&self, ending: Ending) -> Result<(), Error> {
        let mut running = self.running.lock().await;
        stop(&mut running, ending).await?;
        self.start_apiserver_in(&mut running).await
    }

    /// Makes the API server stand still: connections stay open, nothing answers, as when a network swallows packets.
    pub async fn pause_apiserver(&self) {
        self.signal_apiserver(Signal::Stop).await;
    }

    /// Lets a paused API server go on.
    pub async fn resume_apiserver(&self) {
        self.signal_apiserver(Signal::Continue).await;
    }

    async fn signal_apiserver(&self, signal: Signal) {
        if let Some(apiserver) = &mut self.running.lock().await.apiserver {
            apiserver.signal(signal);
        }
    }

    /// Makes etcd forget every revision before the current one, which is returned.
    ///
    /// The API server has a memory of its own. Continue tokens from before are refused with 410 within 15 s, when it
    /// looks at what was compacted; watches from an old resourceVersion are served from the last events of its watch
    /// cache. Both are refused at once after [`restart_apiserver`](Self::restart_apiserver).
    pub async fn compact_etcd(&self) -> Result<i64, Error> {
        etcd::compact(self.etcd_port).await
    }

    fn layout(&self) -> Layout<'_> {
        let Self { etcd_port, api_port, parts, .. } = *self;
        Layout { folder: self.folder.path(), etcd_port, api_port, parts }
    }

    fn spawn(&self, program: Program, args: &[String]) -> Result<Supervised, Error> {
        let path = self.programs.find(program)?;
        let (log, folder) = (self.folder.log(program.name()), self.folder.path());
        Supervised::spawn(Launch { program, path: &path, args, log, folder })
    }

    async fn start_apiserver_in(&self, running: &mut Running) -> Result<(), Error> {
        if running.apiserver.is_some() {
            return Ok(());
        }
        let mut apiserver = self.spawn(Program::KubeApiserver, &self.layout().kube_apiserver())?;
        let ready = self.wait_ready(&mut apiserver).await;
        // One that did not become ready is not kept: the next start begins anew.
        if ready.is_ok() {
            running.apiserver = Some(apiserver);
        }
        ready
    }

    async fn wait_ready(&self, apiserver: &mut Supervised) -> Result<(), Error> {
        let client = self.client()?;
        let started = kube_client::clock::now();
        loop {
            apiserver.check()?;
            let last = match tokio::time::timeout(LOOK_WITHIN, ready(&client)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => chain(&error),
                Err(_) => "none".into(),
            };
            let waited = kube_client::clock::now() - started;
            if waited > READY_WITHIN {
                return Err(apiserver.late("ready", waited, last));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Whether the server serves and has made the namespaces that everybody expects. It makes those after it is ready.
async fn ready(client: &Client) -> Result<(), kube_client::Error> {
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        client.request_bytes(get(path)).await?;
    }
    Ok(())
}

fn get(path: &'static str) -> Request<Vec<u8>> {
    let mut request = Request::new(Vec::new());
    *request.uri_mut() = http::Uri::from_static(path);
    request
}

async fn stop(running: &mut Running, ending: Ending) -> Result<(), Error> {
    let Some(mut apiserver) = running.apiserver.take() else { return Ok(()) };
    apiserver.signal(match ending {
        Ending::Graceful => Signal::Terminate,
        Ending::Crash => Signal::Kill,
    });
    apiserver.ended(STOPPED_WITHIN).await?;
    Ok(())
}

/// A client of a kubeconfig file, or of the one that the environment names.
pub(crate) fn client_of(kubeconfig: Option<PathBuf>) -> Result<Client, Error> {
    let options = KubeConfigOptions { path: kubeconfig, ..KubeConfigOptions::default() };
    let config = Config::from_kubeconfig(&options).map_err(kube_client::Error::from)?;
    Ok(Client::from_config(config)?)
}

/// An error with everything that caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Keeps the folder of a control plane that nothing will drop, for a panic hook.
pub(crate) fn keep(folder: &Path) {
    folder::keep(folder);
}

/// Writes the files that the programs read.
fn write_files(folder: &Folder, pki: &Pki, users: &[TokenUser], server: &str) -> Result<(), Error> {
    let admin = kubeconfig_yaml(server, &pki.ca_pem(), &Credential::Certificate(pki.admin()?));
    for (name, text) in [
        ("ca.crt", pki.ca_pem()),
        ("server.crt", pki.serving().certificate_pem.clone()),
        ("server.key", pki.serving().key_pem.clone()),
        ("service-accounts.key", pki.service_account_key_pem()),
        ("service-accounts.pub", pki.service_account_public_key_pem()),
        ("tokens.csv", tokens_csv(users)),
        ("audit-policy.yaml", AUDIT_POLICY.into()),
        ("kubeconfig", admin),
    ] {
        write_private(&folder.file(name), &text)?;
    }
    fs::create_dir_all(folder.etcd_data()).map_err(Error::io("make etcd's folder"))
}

/// One line for each user: token, name, uid, and all groups in one quoted field.
fn tokens_csv(users: &[TokenUser]) -> String {
    let quote = |field: &str| format!("\"{}\"", field.replace('"', "\"\""));
    let line = |user: &TokenUser| {
        let fields = [&user.token, &user.name, &user.name, &user.groups.join(",")].map(|field| quote(field));
        fields.join(",") + "\n"
    };
    users.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_token_file_is_quoted() {
        let user = |name: &str, groups: &[&str]| TokenUser {
            name: name.into(),
            groups: groups.iter().map(|&group| group.into()).collect(),
            token: "t".into(),
        };
        for (users, expected) in [
            (vec![], ""),
            (vec![user("a", &[])], "\"t\",\"a\",\"a\",\"\"\n"),
            (
                vec![user("a", &["g", "h"]), user("b\"", &[])],
                "\"t\",\"a\",\"a\",\"g,h\"\n\"t\",\"b\"\"\",\"b\"\"\",\"\"\n",
            ),
        ] {
            assert_eq!(tokens_csv(&users), expected);
        }
    }
}
