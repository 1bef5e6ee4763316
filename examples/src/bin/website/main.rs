//! An operator for websites: a `Website` becomes a page (ConfigMap), pods that serve it (Deployment) and an address (Service).
//!
//! | File | What is in it |
//! |---|---|
//! | `website.rs` | the types that people write: spec and status |
//! | `children.rs` | what a website should consist of (pure) |
//! | `operator.rs` | the reconciler: apply the children, tell the status |
//! | `demo.rs` | a tour: create, scale, break, delete, and see what happens |
//! | `timeline.rs` | how the tour is told |
//!
//! `cargo run -p kube-examples --bin website` plays the tour on a server inside the process and exits. With
//! `--cluster control-plane --demo` it does so on a real control plane, which is started for it; without `--demo` the operator
//! runs until Ctrl-C there, or with `--cluster current` on the cluster of your kubeconfig.

#![allow(unreachable_pub, reason = "a program has no public API")]

mod children;
mod demo;
mod operator;
mod timeline;
mod website;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Client};
use kube_core::{CustomResource, PatchParams};
use kube_e2e::Cluster;
use kube_leader::{Elector, Outcome, Settings, default_identity};
use kube_runtime::{Caches, Controller, Query, stop};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use operator::{MANAGER, WebsiteOperator};
use timeline::Timeline;
use website::Website;

/// An operator for websites.
#[derive(Parser)]
struct Options {
    /// Where to run.
    #[arg(long, value_enum, default_value = "embedded")]
    cluster: Make,
    /// Play a tour and exit: 0 if everything came about, else with what was missing. Always so on the embedded server,
    /// which nobody else can reach.
    #[arg(long)]
    demo: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Make {
    /// A server inside this process, with controllers and a node: nothing to install, and gone with it.
    Embedded,
    /// A real control plane, started for this run and gone with it.
    ControlPlane,
    /// The current context of the kubeconfig.
    Current,
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut options = Options::parse();
    options.demo |= matches!(options.cluster, Make::Embedded);
    // The tour tells its own story; its logs are for when it does not go as told.
    let level = if options.demo { "error" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("website: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    let stop = stop::on_signal();
    let timeline = Timeline::start(options.demo);
    let cluster = tokio::select! {
        cluster = cluster(options.cluster) => cluster?,
        () = stop.cancelled() => return Ok(()),
    };
    let place = match options.cluster {
        Make::Embedded => "in this process".into(),
        Make::ControlPlane | Make::Current => cluster
            .control()
            .map_or("at the current context".into(), |plane| format!("at {}", plane.server())),
    };
    timeline.tell("cluster", &format!("ready {place}"));
    if let (false, Ok(Some(kubeconfig))) = (options.demo, cluster.kubeconfig_file()) {
        println!("try: kubectl --kubeconfig {} get websites -A", kubeconfig.display());
    }
    let client = cluster.client()?;
    install(&client).await?;
    timeline.tell("definition", &format!("{} is served", Website::CRD_NAME));

    // A client of its own, so that the renewals of the lease do not queue behind the operator's requests.
    let operator = tokio::spawn(operate(client.clone(), cluster.client()?, stop.clone()));
    let played = if options.demo { demo::play(&client, &timeline, &stop).await } else { Ok(()) };
    if options.demo {
        stop.cancel();
    }
    operator.await.context("the operator panicked")??;
    timeline.tell("operator", "stopped in order");
    played
}

async fn cluster(make: Make) -> anyhow::Result<Cluster> {
    Ok(match make {
        Make::Embedded => Cluster::embedded()?,
        Make::ControlPlane => Cluster::control_plane().complete().start().await?,
        Make::Current => Cluster::kubeconfig(None)?,
    })
}

/// Installs the definition and waits until the server serves the kind.
async fn install(client: &Client) -> anyhow::Result<()> {
    let definitions = Api::<CustomResourceDefinition>::cluster(client.clone());
    let params = PatchParams::apply(MANAGER).force();
    definitions
        .apply(Website::CRD_NAME, &Website::crd(), &params)
        .await
        .context("cannot install the definition")?;
    kube_e2e::wait_for(demo::PATIENCE, "the definition to be established", async || {
        let definition = definitions.get(Website::CRD_NAME).await.map_err(|error| error.to_string())?;
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        let established = conditions.iter().any(|c| c.type_ == "Established" && c.status == "True");
        if established { Ok(()) } else { Err(format!("{conditions:?}")) }
    })
    .await?;
    Ok(())
}

/// Runs the operator while this process holds the lease, until `stop`.
async fn operate(client: Client, lease_client: Client, stop: CancellationToken) -> anyhow::Result<()> {
    let namespace = client.default_namespace().to_owned();
    let identity = default_identity();
    let operator = WebsiteOperator::new(client.clone(), &identity);
    let settings = Settings::new(namespace, MANAGER, identity);
    let mut elector = Elector::new(lease_client, settings)?.stop_on(stop);
    let outcome = elector
        .run(move |_term, stop| async move {
            let caches = Caches::new(client);
            let ended = Controller::new(Query::<Website>::all())
                .owns(Query::<ConfigMap>::all())
                .owns(Query::<Deployment>::all())
                .owns(Query::<Service>::all())
                .run(&caches, operator, stop)
                .await;
            caches.closed().await;
            ended
        })
        .await?;
    if let Outcome::Led { output, .. } = outcome {
        output?;
    }
    Ok(())
}
