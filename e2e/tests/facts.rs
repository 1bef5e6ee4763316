//! The committed tables of facts say what the real server says.
//!
//! `cargo test -p kube-e2e --features cluster --test facts`

use std::{fs, path::Path};

use kube_e2e::{Cluster, collect_facts};

#[tokio::test]
async fn the_tables_are_what_the_server_says_now() {
    let cluster = Cluster::control_plane().audit().start().await.unwrap();
    let log = cluster.control().unwrap().audit_log();
    let facts = collect_facts(&cluster.client().unwrap(), &log).await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/embedded/facts");
    for (name, text) in [("kinds.txt", facts.kinds), ("types.txt", facts.types)] {
        let committed = fs::read_to_string(folder.join(name)).unwrap();
        let differing = text.lines().zip(committed.lines()).find(|(now, then)| now != then);
        assert!(
            text == committed,
            "{name} is outdated (first difference: {differing:?}); write it again with\n\
             cargo run -p kube-e2e --features cluster --bin facts"
        );
    }
}
