//! One type for every kind of cluster that a test can run on.
//!
//! In: a make, from the test or from the environment. Out: clients, namespaces, users, and what else the make can do.
//!
//! | make | is | costs |
//! |---|---|---|
//! | [`Make::ControlPlane`] | the real programs, started for this process | 3 to 10 s, programs built once |
//! | [`Make::Kubeconfig`] | whatever a kubeconfig names: kind, a cluster of yours | it exists |
//! | [`Make::Embedded`] | a server inside this process, with the controllers of [`Embedded`] | milliseconds, nothing installed |
//!
//! The same suite runs on each: a test asks for what not every make has ([`Cluster::control_or_skip`]) and is left out
//! loudly where it is missing.
//!
//! Left to others: how a control plane comes up (`control_plane`), what the embedded server answers (`embedded`), what a
//! test does with a cluster.

use std::{
    env, fmt,
    io::Write as _,
    panic,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Once,
    time::Duration,
};

use http::{HeaderValue, Request};
use kube_client::{Body, Client, clock};
use tokio::sync::OnceCell;

use crate::{
    ControlPlane, ControlPlaneBuilder, Embedded, Error, Look, TestNamespace,
    control_plane::{self, client_of},
    embedded::Background,
};

/// The variable that picks the make of [`Cluster::from_env`].
const MAKE: &str = "KUBE_E2E_CLUSTER";

/// How long [`Cluster::eventually`] waits: longer than the garbage collector's look for new kinds (30 s), on a machine
/// that compiles at the same time.
const PATIENCE: Duration = Duration::from_secs(90);

/// A kind of cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Make {
    /// The real programs on this machine.
    ControlPlane,
    /// A cluster that exists.
    Kubeconfig,
    /// A server inside this process.
    Embedded,
}

impl fmt::Display for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "control-plane",
            Self::Kubeconfig => "kubeconfig",
            Self::Embedded => "embedded",
        })
    }
}

impl Make {
    /// The make that `KUBE_E2E_CLUSTER` names; control-plane when it is not set.
    ///
    /// # Errors
    /// When it names none.
    pub fn from_env() -> Result<Self, Error> {
        let make = env::var(MAKE).ok().filter(|make| !make.is_empty());
        make.as_deref().map_or(Ok(Self::ControlPlane), str::parse)
    }
}

impl FromStr for Make {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        match given {
            "control-plane" => Ok(Self::ControlPlane),
            "kubeconfig" => Ok(Self::Kubeconfig),
            "embedded" => Ok(Self::Embedded),
            _ => Err(Error::UnknownMake {
                given: given.into(),
                hint: "use control-plane, kubeconfig or embedded",
            }),
        }
    }
}

/// How to reach a cluster as its administrator.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// `None`: what `KUBECONFIG` or the home folder names.
    Kubeconfig(Option<PathBuf>),
    /// Without a wire.
    InProcess(Embedded),
}

impl Access {
    pub(crate) fn client(&self) -> Result<Client, Error> {
        match self {
            Self::Kubeconfig(path) => client_of(path.clone()),
            Self::InProcess(server) => Ok(server.client()),
        }
    }
}

/// A cluster that can be used. See the module documentation.
#[derive(Debug)]
pub struct Cluster {
    access: Access,
    control: Option<Box<ControlPlane>>,
    /// The controllers of a server inside this process.
    _controllers: Option<Background>,
}

impl Cluster {
    /// A real control plane on this machine, of etcd and kube-apiserver alone unless the builder is told more.
    pub fn control_plane() -> ControlPlaneBuilder {
        ControlPlaneBuilder::new()
    }

    /// The cluster of a kubeconfig file's current context, with its user as the administrator. `None` takes what
    /// `KUBECONFIG` or the home folder names. Nothing is contacted before the first request.
    ///
    /// # Errors
    /// When the file is missing, broken, or names what is not in it.
    pub fn kubeconfig(path: Option<PathBuf>) -> Result<Self, Error> {
        let cluster = Self { access: Access::Kubeconfig(path), control: None, _controllers: None };
        cluster.client().map(|_| cluster)
    }

    /// A server inside this process, with the namespaces that every cluster has, one node, and the controllers of [`Embedded`]:
    /// deployments get their pods, owners take with them what they own. It is ready at once; the controllers end with this,
    /// the server with the last of its clients.
    ///
    /// # Errors
    /// The system has no room for the controllers' thread.
    pub fn embedded() -> Result<Self, Error> {
        let server = Embedded::new(clock::seed());
        let controllers = Background::start(server.clone()).map_err(|source| Error::Io {
            action: "start the embedded server's controllers".into(),
            source,
        })?;
        Ok(Self { access: Access::InProcess(server), control: None, _controllers: Some(controllers) })
    }

    /// The make that `KUBE_E2E_CLUSTER` names: `control-plane` (also when it is not set; complete, with one node),
    /// `kubeconfig` or `embedded`.
    pub async fn from_env() -> Result<Self, Error> {
        match Make::from_env()? {
            Make::ControlPlane => Self::control_plane().complete().start().await,
            Make::Kubeconfig => Self::kubeconfig(None),
            Make::Embedded => Self::embedded(),
        }
    }

    /// One cluster for all tests of this process, made by the first that asks as [`from_env`](Self::from_env) does. It
    /// ends with the process, which needs no destructor for that; a panic anywhere keeps its logs.
    pub async fn shared() -> Result<&'static Self, Error> {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        let cluster = SHARED.get_or_try_init(Self::from_env).await?;
        if let Some(control) = cluster.control() {
            keep_logs_after_a_panic(control.folder());
        }
        Ok(cluster)
    }

    pub(crate) fn of_control_plane(control: ControlPlane) -> Self {
        Self {
            access: Access::Kubeconfig(Some(control.kubeconfig())),
            control: Some(Box::new(control)),
            _controllers: None,
        }
    }

    pub(crate) fn access(&self) -> Access {
        self.access.clone()
    }

    /// The make of this cluster.
    pub fn make(&self) -> Make {
        match (&self.access, &self.control) {
            (Access::InProcess(_), _) => Make::Embedded,
            (Access::Kubeconfig(_), Some(_)) => Make::ControlPlane,
            (Access::Kubeconfig(_), None) => Make::Kubeconfig,
        }
    }

    /// The administrator's kubeconfig file. `None` when the environment says where it is.
    ///
    /// # Errors
    /// On the embedded make, which no file leads to. Not `None`: what the environment names is another cluster then, perhaps
    /// one that matters to somebody.
    pub fn kubeconfig_file(&self) -> Result<Option<&Path>, Error> {
        match &self.access {
            Access::Kubeconfig(path) => Ok(path.as_deref()),
            Access::InProcess(_) => {
                Err(Error::NotOnThisMake { make: Make::Embedded, missing: "a kubeconfig file".into() })
            }
        }
    }

    /// A new client of the administrator. It has connections of its own, which belong to the tokio runtime that uses
    /// it: every test makes its own.
    pub fn client(&self) -> Result<Client, Error> {
        self.access.client()
    }

    /// A new client of any user, with the rights that RBAC gives to that user: by a certificate of the control plane's
    /// authority, or where the authority is not ours, by the administrator speaking for the user (impersonation).
    ///
    /// # Errors
    /// On the embedded make, which does not tell users apart: a client that may do everything would let tests pass that
    /// must not.
    pub fn client_for(&self, user: &str) -> Result<Client, Error> {
        match (&self.access, &self.control) {
            (Access::InProcess(_), _) => Err(Error::NotOnThisMake {
                make: Make::Embedded,
                missing: format!("a client of the user {user:?}"),
            }),
            (Access::Kubeconfig(_), Some(control)) => control.client_for(user, None),
            (Access::Kubeconfig(_), None) => impersonate(self.client()?, user),
        }
    }

    /// Whether the API server can be stopped, paused and started again.
    pub fn has_control_over_apiserver(&self) -> bool {
        self.control.is_some()
    }

    /// The means to hurt the server, on a make that has them.
    pub fn control(&self) -> Option<&ControlPlane> {
        self.control.as_deref()
    }

    /// As [`control`](Self::control), for a test that makes no sense without: `None` has been said on stderr, past the
    /// capture of the test harness, so that a test that is left out does not look like one that passed.
    pub fn control_or_skip(&self, test: &str) -> Option<&ControlPlane> {
        if self.control.is_none() {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED {test}: no control over the API server on the {} make",
                self.make()
            );
        }
        self.control()
    }

    /// A new namespace, `<prefix>-<something unique>`. Asked to go when it is dropped.
    pub async fn namespace(&self, prefix: &str) -> Result<TestNamespace, Error> {
        TestNamespace::create(self, prefix).await
    }

    /// [`eventually`](crate::eventually) with 90 s of patience: for what the cluster's own controllers do.
    ///
    /// # Panics
    /// As [`eventually`](crate::eventually).
    #[track_caller]
    pub fn eventually<L: Look>(
        &self,
        what: &str,
        look: impl AsyncFnMut() -> L,
    ) -> impl Future<Output = L::Found> {
        crate::eventually(PATIENCE, what, look)
    }
}

/// A static is never dropped, so nobody sees at its end whether a test failed.
fn keep_logs_after_a_panic(folder: &Path) {
    static HOOK: Once = Once::new();
    let folder = folder.to_owned();
    HOOK.call_once(|| {
        let said = Once::new();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            said.call_once(|| {
                control_plane::keep(&folder);
                let _ =
                    writeln!(std::io::stderr(), "the control plane's logs are in {}/logs", folder.display());
            });
        }));
    });
}

/// Every request says for whom it is.
fn impersonate(client: Client, user: &str) -> Result<Client, Error> {
    let user = HeaderValue::from_str(user).map_err(|_| Error::Io {
        action: format!("speak for the user {user:?}"),
        source: std::io::ErrorKind::InvalidInput.into(),
    })?;
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let client = client.clone();
        request.headers_mut().insert("impersonate-user", user.clone());
        async move { client.send(request).await }
    });
    Ok(Client::new(service, namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_make_is_known_by_its_name() {
        for make in [Make::ControlPlane, Make::Kubeconfig, Make::Embedded] {
            assert_eq!(make.to_string().parse::<Make>().unwrap(), make);
        }
        for (name, hint) in [("kind", "use control-plane, kubeconfig or embedded"), ("", "use ")] {
            let error = name.parse::<Make>().unwrap_err().to_string();
            assert!(error.contains(hint), "{name}: {error}");
        }
    }

    #[test]
    fn a_kubeconfig_that_is_not_there_is_said_at_once() {
        let missing = PathBuf::from("/nowhere/kubeconfig");
        let error = Cluster::kubeconfig(Some(missing)).unwrap_err();
        assert!(error.to_string().contains("/nowhere/kubeconfig"), "{error}");
    }

    #[tokio::test]
    async fn the_embedded_make_needs_nothing_and_says_what_it_has_not() {
        let cluster = Cluster::embedded().unwrap();
        assert_eq!(cluster.make(), Make::Embedded);
        assert!(matches!(cluster.kubeconfig_file(), Err(Error::NotOnThisMake { .. })));
        assert!(!cluster.has_control_over_apiserver());
        let namespace = cluster.namespace("here").await.unwrap();
        namespace.delete().await.unwrap();
        let error = cluster.client_for("pat").unwrap_err().to_string();
        assert_eq!(error, "the embedded make of a cluster has no such thing: a client of the user \"pat\"");
    }
}
