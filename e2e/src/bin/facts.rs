//! Writes the tables of facts that the embedded server is made from: `cargo run -p kube-e2e --features cluster --bin facts`.
//!
//! `e2e/tests/facts.rs` tells when that is due.

use std::{fs, path::Path};

use anyhow::Context as _;
use kube_e2e::{Cluster, collect_facts};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cluster = Cluster::control_plane().audit().start().await?;
    let log = cluster.control().context("no control plane")?.audit_log();
    let facts = collect_facts(&cluster.client()?, &log).await?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/embedded/facts");
    for (name, text) in [("kinds.txt", facts.kinds), ("types.txt", facts.types)] {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}
