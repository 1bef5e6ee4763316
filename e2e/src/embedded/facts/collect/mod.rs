//! Asks a real server for the facts, and writes them as the committed tables.
//!
//! In: a client of a server that nobody uses otherwise. Out: [`FactTexts`], the same for the same version of the
//! server: discovery gives kinds, verbs and names, the OpenAPI documents give types, empty tables give columns, and
//! trying gives the fields that a field selector may name and what [`probe`] asks about.
//! None of the server's texts is taken. How the tables are read is left to [`super`].

mod kinds;
mod probe;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use http::{Request, header::ACCEPT};
use kube_client::{Client, Error};
use serde_json::Value;

use self::{kinds::Kind, types::Schemas};

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const JSON: &str = "application/json";

/// Types that requests have whatever kind they are about.
const COMMON_TYPES: [&str; 2] = ["meta.v1.DeleteOptions", "meta.v1.Status"];

/// The two committed files of facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactTexts {
    /// `kinds.txt`: groups, kinds, subresources and columns.
    pub kinds: String,
    /// `types.txt`: the fields of every type.
    pub types: String,
}

/// Learns the facts from a server that writes an audit log, as [`audit`](crate::ControlPlaneBuilder::audit) asks for;
/// several thousand requests, none of which writes.
///
/// # Errors
/// When a request fails, or the server is not what it should be.
pub async fn collect_facts(client: &Client, audit_log: &Path) -> Result<FactTexts, Error> {
    let mut groups = Vec::new();
    let mut kinds = Vec::new();
    for root in ["/api", "/apis"] {
        let found = get(client, root, DISCOVERY).await?;
        for group in found["items"].as_array().into_iter().flatten() {
            groups.push(kinds::group_line(group));
            kinds.extend(kinds::of_group(group));
        }
    }
    let schemas = schemas(client, &kinds).await?;
    let mut roots = BTreeSet::from(COMMON_TYPES);
    let mut hashes = BTreeMap::new();
    let mut text = groups.concat();
    for kind in &mut kinds {
        let path = kind.version_path();
        if !hashes.contains_key(&path) {
            hashes.insert(path.clone(), kinds::hashes(&get(client, &path, JSON).await?));
        }
        kind.hash = hashes[&path].get(&kind.plural).cloned();
        kind.resolve(&schemas);
        if kind.can("list") {
            kind.columns =
                get(client, &format!("{path}/{}?limit=1", kind.plural), TABLE).await?["columnDefinitions"]
                    .take();
            kind.selectable = selectable(client, kind, &schemas).await?;
        }
        text += &kind.text();
    }
    for kind in &kinds {
        roots.extend(kind.types());
    }
    let learnt =
        probe::learn(client, &schemas, kinds.iter().flat_map(Kind::roots).collect(), audit_log).await?;
    Ok(FactTexts { kinds: text, types: schemas.text(roots, &learnt) })
}

/// The types of all groups that have kinds.
async fn schemas(client: &Client, kinds: &[Kind]) -> Result<Schemas, Error> {
    let mut schemas = Schemas::default();
    let paths: BTreeSet<_> = kinds.iter().map(Kind::version_path).collect();
    for path in paths {
        schemas.add(&mut get(client, &format!("/openapi/v3{path}"), JSON).await?);
    }
    Ok(schemas)
}

/// The fields that may be selected by: which ones is nowhere said, so each is tried.
async fn selectable(client: &Client, kind: &Kind, schemas: &Schemas) -> Result<Vec<String>, Error> {
    let mut selectable = Vec::new();
    for field in kind.fields(schemas) {
        let path = format!("{}/{}?limit=1&fieldSelector={field}%3Dx", kind.version_path(), kind.plural);
        match get(client, &path, JSON).await {
            Ok(_) => selectable.push(field),
            Err(Error::Api(error)) if error.status.code == 400 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(selectable)
}

async fn get(client: &Client, path: &str, accept: &str) -> Result<Value, Error> {
    let request = Request::get(path).header(ACCEPT, accept).body(Vec::new());
    client.request(request.map_err(|error| Error::Service(error.into()))?).await
}
