//! A namespace for one test.

use std::{ops::Deref, thread, time::Duration};

use k8s_openapi::api::core::v1::Namespace;
use kube_client::Client;
use kube_core::{ApiResource, DeleteParams, Endpoint, RequestError, WriteParams};
use serde_json::json;

use crate::{Cluster, Error, cluster::Access};

/// How long a test waits at its end for the server to accept the deletion. It does not wait for the deletion itself.
const DELETE_WITHIN: Duration = Duration::from_secs(5);

/// A namespace that no other test uses. Reads as its name. Its deletion is asked for when it is dropped; a server that
/// does not answer then keeps it.
#[derive(Debug)]
pub struct TestNamespace {
    name: String,
    access: Access,
}

impl TestNamespace {
    pub(crate) async fn create(cluster: &Cluster, prefix: &str) -> Result<Self, Error> {
        let name = unique(prefix, kube_client::clock::seed());
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let request = namespaces()
            .and_then(|all| all.create(body.to_string().into_bytes(), &WriteParams::default()))
            .map_err(kube_client::Error::from)?;
        cluster.client()?.request_bytes(request).await?;
        Ok(Self { name, access: cluster.access() })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Deletes it now and says if that failed, rather than quietly at the end.
    pub async fn delete(&self) -> Result<(), Error> {
        delete(&self.access.client()?, &self.name).await
    }
}

impl Deref for TestNamespace {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        // The test's runtime may be ending, and it cannot be waited on from inside: this one has its own.
        let delete = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let client = self.access.client().ok()?;
            runtime
                .block_on(async { tokio::time::timeout(DELETE_WITHIN, delete(&client, &self.name)).await })
                .ok()
        };
        thread::scope(|scope| {
            // Best effort: a server that was stopped by the test takes its namespaces with it anyway.
            let _ = scope.spawn(delete).join();
        });
    }
}

async fn delete(client: &Client, name: &str) -> Result<(), Error> {
    let request = namespaces().and_then(|all| all.delete(name, &DeleteParams::default()));
    client.request_bytes(request.map_err(kube_client::Error::from)?).await?;
    Ok(())
}

fn namespaces() -> Result<Endpoint, RequestError> {
    Endpoint::new(&ApiResource::of::<Namespace>(), None)
}

/// The prefix and eight letters and digits. Two tests would have to draw one of 10^12 at the same time.
fn unique(prefix: &str, mut seed: u64) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let suffix = (0..8).map(|_| {
        let letter = letters[usize::try_from(seed % 36).unwrap_or_default()];
        seed /= 36;
        char::from(letter)
    });
    format!("{prefix}-{}", suffix.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_their_seed_and_are_labels() {
        for (seed, expected) in
            [(0, "t-aaaaaaaa"), (35, "t-9aaaaaaa"), (36, "t-abaaaaaa"), (u64::MAX, "t-p2q2egcb")]
        {
            assert_eq!(unique("t", seed), expected, "{seed}");
        }
    }
}
