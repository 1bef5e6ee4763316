//! Clusters to run and test operators on: a server inside this process, the real programs of a control plane, or any cluster
//! of a kubeconfig.
//!
//! This crate never lets a test see what a real server would not do: what kube-apiserver does is right, and where the server
//! in this process differs, it is wrong.
//!
//! ```text
//!  Cluster --+-- embedded():      a server and controllers in this process (Embedded)
//!            +-- control_plane(): programs -> ControlPlane (etcd, kube-apiserver, and more on request)
//!            +-- kubeconfig():    whatever the file names
//!            |
//!            +-> client(), client_for(user), namespace(prefix), eventually(..), control_or_skip(..)
//! ```
//!
//! | to change | open |
//! |---|---|
//! | where programs are found, how they are built | `programs` (versions: `e2e/control-plane/*/go.mod`) |
//! | a program's command line | `control_plane/arguments.rs` |
//! | the order of a start, the parts, the defaults | `control_plane/builder.rs` |
//! | how programs die with this process | `control_plane/supervise.{rs,sh}` |
//! | keys and certificates | `pki` |
//! | what a test can ask of any cluster | `cluster` |
//! | what the server in this process answers | `embedded` |
//!
//! A test:
//!
//! ```no_run
//! # async fn test() -> Result<(), kube_e2e::Error> {
//! let cluster = kube_e2e::Cluster::shared().await?; // as KUBE_E2E_CLUSTER says; Cluster::embedded() needs nothing
//! let namespace = cluster.namespace("blog").await?;
//! let client = cluster.client()?;
//! // ... run the operator with `client`, create things in `namespace`, then:
//! cluster.eventually("the page", async || Some(())).await;
//! # Ok(()) }
//! ```
//!
//! A person: `cargo run -p kube-e2e --bin cluster -- up --nodes 1 --kubeconfig FILE`.
//!
//! Environment: `KUBE_E2E_CLUSTER` (the make: `control-plane`, the default, `kubeconfig` or `embedded`),
//! `KUBEBUILDER_ASSETS` (a folder with programs), `KUBE_E2E_KEEP` (keep the temporary folders). Needs a Unix with `/bin/sh`.

mod cluster;
mod control_plane;
mod embedded;
mod error;
mod eventually;
mod kubeconfig;
mod namespace;
mod pki;
mod programs;

pub use self::embedded::{ControllerOptions, Controllers, Embedded};
#[cfg(feature = "cluster")]
pub use self::embedded::{FactTexts, collect_facts};
pub use self::{
    cluster::{Cluster, Make},
    control_plane::{ControlPlane, ControlPlaneBuilder, Ending},
    error::Error,
    eventually::{Look, NotSeen, eventually, wait_for},
    kubeconfig::{Credential, kubeconfig_yaml},
    namespace::TestNamespace,
    pki::{Identity, MASTERS, Pki},
    programs::{Program, Programs},
};
