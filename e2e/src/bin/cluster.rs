//! Keeps a cluster up for people and for other programs, and builds what it needs.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use kube_e2e::{Cluster, Make, Programs};
use tokio::signal::unix::{SignalKind, signal};

/// Real Kubernetes control planes on this machine, without containers.
#[derive(Parser)]
#[command(name = "cluster", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a cluster and keep it until Ctrl-C.
    Up(Up),
    /// Build the programs of a control plane from their Go modules: ten minutes once, then seconds.
    Build,
}

#[derive(clap::Args)]
struct Up {
    /// The kind of cluster.
    #[arg(long, default_value_t = Make::ControlPlane)]
    make: Make,

    /// What runs beside etcd and kube-apiserver.
    #[arg(long, value_delimiter = ',', value_name = "PART,..")]
    with: Vec<Part>,

    /// How many nodes there are. Any number but 0 brings kwok with it.
    #[arg(long, default_value_t = 0)]
    nodes: u32,

    /// Where to write the administrator's kubeconfig. Removed at the end.
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The built-in controllers and the garbage collector.
    ControllerManager,
    /// Gives pods their nodes.
    Scheduler,
    /// Makes nodes ready and pods run.
    Kwok,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
        )
        .with_writer(io::stderr)
        .init();
    match Args::parse().command {
        Command::Up(up) => up.run().await,
        Command::Build => build(),
    }
}

fn build() -> anyhow::Result<()> {
    let programs = Programs::from_env();
    programs.build()?;
    say(&format!("the programs are in {}", programs.built().display()));
    Ok(())
}

impl Up {
    async fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.make != Make::Embedded,
            "the embedded make lives inside a test's process: nobody else can reach it"
        );
        ensure!(self.make == Make::ControlPlane, "a cluster of the {} make is up already", self.make);
        may_write(&self.kubeconfig)?;
        // From before the start, so that Ctrl-C during it ends in order too.
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let started = kube_client::clock::now();
        let cluster = tokio::select! {
            cluster = self.start() => cluster?,
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
        };
        let took = kube_client::clock::now() - started;
        let text = self.write_kubeconfig(&cluster)?;
        self.explain(&cluster, took.as_secs_f32())?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        drop(cluster);
        // Only what was written here: somebody may have put another file there meanwhile.
        if fs::read_to_string(&self.kubeconfig).is_ok_and(|found| found == text) {
            let _ = fs::remove_file(&self.kubeconfig);
        }
        say("stopped");
        Ok(())
    }

    async fn start(&self) -> anyhow::Result<Cluster> {
        let mut builder = Cluster::control_plane().nodes(self.nodes);
        for part in &self.with {
            builder = match part {
                Part::ControllerManager => builder.controller_manager(),
                Part::Scheduler => builder.scheduler(),
                Part::Kwok => builder.kwok(),
            };
        }
        Ok(builder.start().await?)
    }

    fn write_kubeconfig(&self, cluster: &Cluster) -> anyhow::Result<String> {
        let control = cluster.control().context("this make has no kubeconfig of its own")?;
        let path = &self.kubeconfig;
        // Copied as a whole, for the mode of the file (only its owner may read it) comes along.
        fs::copy(control.kubeconfig(), path).with_context(|| format!("cannot write {}", path.display()))?;
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    }

    fn explain(&self, cluster: &Cluster, seconds: f32) -> anyhow::Result<()> {
        let control = cluster.control().context("this make has no server of its own")?;
        let path = self.kubeconfig.canonicalize().unwrap_or_else(|_| self.kubeconfig.clone());
        let kubectl = control.kubectl().map_or_else(|_| "kubectl".into(), |path| path.display().to_string());
        say(&format!(
            "{server} is up after {seconds:.1} s. Use it with:\n\n  export KUBECONFIG={kubeconfig}\n  {kubectl} get namespaces\n\n\
             Logs: {logs}\nCtrl-C stops it.",
            server = control.server(),
            kubeconfig = path.display(),
            logs = control.logs().display(),
        ));
        Ok(())
    }
}

/// For people. That nobody reads it is no reason to stop.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Refuses to write over a kubeconfig that this program did not write.
fn may_write(path: &Path) -> anyhow::Result<()> {
    match fs::read_to_string(path) {
        Ok(text) if text.contains("current-context: kube-e2e\n") => Ok(()),
        Ok(_) => bail!("{} exists and is not from this program; name another file", path.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}
