//! An operator that takes its time and changes nothing: a process for tests to signal and to kill.
//!
//! It leads by a lease, and while it leads it reconciles the ConfigMaps of a namespace, each for a while. Every line of its
//! output is something that happened: `leading TOKEN`, `start KEY`, `end KEY`, `stopping`, `released true`.

use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_e2e::Cluster;
use kube_leader::{Elector, Outcome, Settings};
use kube_runtime::{Action, Caches, Context, Controller, Query, stop};
use tokio_util::sync::CancellationToken;

/// An operator that takes its time and changes nothing.
#[derive(Parser)]
struct Args {
    /// The cluster. Without it, what the environment names.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,

    /// Where the lease and the ConfigMaps are.
    #[arg(long)]
    namespace: String,

    /// The name of the lease.
    #[arg(long, default_value = "slow-operator")]
    lease: String,

    /// Its holder.
    #[arg(long)]
    identity: String,

    /// Which ConfigMaps.
    #[arg(long)]
    labels: String,

    /// How long a reconcile takes, in milliseconds.
    #[arg(long, default_value_t = 0)]
    each: u64,

    /// How many run at the same time.
    #[arg(long, default_value_t = 3)]
    concurrency: usize,

    /// How long running ones may take to end after a stop, in milliseconds.
    #[arg(long, default_value_t = 20_000)]
    grace: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let stop = stop::on_signal();
    tokio::spawn({
        let stop = stop.clone();
        async move {
            stop.cancelled().await;
            println!("stopping");
        }
    });
    let cluster = Cluster::kubeconfig(args.kubeconfig.clone())?;
    // Short times, for tests wait for a lease to run out.
    let settings = Settings::new(&args.namespace, &args.lease, &args.identity).times(
        Duration::from_secs(3),
        Duration::from_secs(2),
        Duration::from_millis(500),
    );
    let client = cluster.client()?;
    let mut elector = Elector::new(cluster.client()?, settings)?.stop_on(stop);
    let outcome = elector
        .run(|term, stop| async move {
            println!("leading {}", term.fencing_token());
            operate(&Caches::new(client), args, stop).await
        })
        .await?;
    if let Outcome::Led { output, released } = outcome {
        println!("released {released}");
        output?;
    }
    Ok(())
}

async fn operate(caches: &Caches, args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let each = Duration::from_millis(args.each);
    let reconcile = move |_: Arc<ConfigMap>, context: Context| async move {
        println!("start {}", context.key);
        tokio::time::sleep(each).await;
        println!("end {}", context.key);
        Ok::<_, Infallible>(Action::AwaitChange)
    };
    let ended = Controller::new(Query::<ConfigMap>::all().within(args.namespace).labels(args.labels))
        .concurrency(args.concurrency)
        .grace(Duration::from_millis(args.grace))
        .run(caches, reconcile, stop)
        .await;
    caches.closed().await;
    ended.context("the controller did not end in order")
}
