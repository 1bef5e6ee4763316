//! Writes the kinds of the server's discovery documents as lines.
//!
//! In: groups of aggregated discovery, and what else was asked about a kind. Out: lines of `kinds.txt`, in the order
//! of the server, which is that of its own discovery answers. [`super::super::kinds`] reads them.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

use super::{probe::Root, types::Schemas};

/// Values of booleans and numbers differ by type; a field deeper than this is nowhere selectable.
const DEPTH: usize = 3;

/// All that is learnt of one resource.
pub(super) struct Kind {
    group: String,
    version: String,
    pub(super) plural: String,
    found: Value,
    type_name: Option<String>,
    subresource_types: Vec<Option<String>>,
    pub(super) hash: Option<String>,
    pub(super) columns: Value,
    pub(super) selectable: Vec<String>,
}

pub(super) fn group_line(group: &Value) -> String {
    let versions = group["versions"].as_array().into_iter().flatten();
    let versions: Vec<_> = versions.filter_map(|version| version["version"].as_str()).collect();
    format!("group {} {}\n", or_dash(text(&group["metadata"]["name"])), versions.join(","))
}

pub(super) fn of_group(group: &Value) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for version in group["versions"].as_array().into_iter().flatten() {
        for found in version["resources"].as_array().into_iter().flatten() {
            kinds.push(Kind {
                group: text(&group["metadata"]["name"]).into(),
                version: text(&version["version"]).into(),
                plural: text(&found["resource"]).into(),
                found: found.clone(),
                type_name: None,
                subresource_types: Vec::new(),
                hash: None,
                columns: Value::Null,
                selectable: Vec::new(),
            });
        }
    }
    kinds
}

/// The hashes of storage versions, which only the older form of discovery tells.
pub(super) fn hashes(resources: &Value) -> BTreeMap<String, String> {
    let resources = resources["resources"].as_array().into_iter().flatten();
    resources
        .filter_map(|of| Some((text(&of["name"]).into(), of["storageVersionHash"].as_str()?.into())))
        .collect()
}

impl Kind {
    pub(super) fn version_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    pub(super) fn can(&self, verb: &str) -> bool {
        self.found["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|of| of == verb))
    }

    /// Finds the types of the kind and of its subresources.
    pub(super) fn resolve(&mut self, schemas: &Schemas) {
        let type_of = |of: &Value| {
            let (group, version, kind) = self.response_kind(of);
            schemas.of_kind(group, version, kind).map(ToOwned::to_owned)
        };
        let own = type_of(&self.found);
        let others = self.subresources().map(type_of).collect();
        (self.type_name, self.subresource_types) = (own, others);
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.type_name.iter().chain(self.subresource_types.iter().flatten()).map(String::as_str)
    }

    /// Where objects of it, or of its subresources, can be created.
    pub(super) fn roots(&self) -> Vec<Root> {
        let place = if self.found["scope"] == "Namespaced" { "/namespaces/default" } else { "" };
        let collection = format!("{}{place}/{}", self.version_path(), self.plural);
        let resource = (&self.found, &self.type_name, collection.clone());
        let subresources = self.subresources().zip(&self.subresource_types).map(|(found, type_name)| {
            (found, type_name, format!("{collection}/name/{}", text(&found["subresource"])))
        });
        let can_create = |found: &Value| {
            found["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|of| of == "create"))
        };
        let root = |(found, type_name, path): (&Value, &Option<String>, String)| {
            let (group, version, kind) = self.response_kind(found);
            let api_version = group_version(group, version);
            Some(Root { path, api_version, kind: kind.into(), type_name: type_name.clone()? })
        };
        std::iter::once(resource)
            .chain(subresources)
            .filter(|(found, ..)| can_create(found))
            .filter_map(root)
            .collect()
    }

    /// Paths of all fields, those of metadata only by name.
    pub(super) fn fields(&self, schemas: &Schemas) -> Vec<String> {
        let mut fields = vec!["metadata.name".to_owned(), "metadata.namespace".to_owned()];
        if let Some(name) = &self.type_name {
            for field in schemas.fields(name) {
                if !matches!(field, "apiVersion" | "kind" | "metadata") {
                    schemas.paths(name, field, String::new(), DEPTH, &mut fields);
                }
            }
        }
        fields
    }

    pub(super) fn text(&self) -> String {
        let found = &self.found;
        let mut line = format!(
            "kind {} {} {} {}",
            group_version(&self.group, &self.version),
            self.plural,
            text(&found["responseKind"]["kind"]),
            if found["scope"] == "Namespaced" { "namespaced" } else { "cluster" },
        );
        let optional = [
            ("type", self.type_name.clone().unwrap_or_default()),
            ("singular", text(&found["singularResource"]).into()),
            ("short", joined(&found["shortNames"])),
            ("categories", joined(&found["categories"])),
            ("verbs", joined(&found["verbs"])),
            ("hash", self.hash.clone().unwrap_or_default()),
            ("select", self.selectable.join(",")),
        ];
        for (key, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(line, " {key}={value}");
        }
        line.push('\n');
        for (subresource, type_name) in self.subresources().zip(&self.subresource_types) {
            let (group, version, kind) = self.response_kind(subresource);
            let _ = write!(
                line,
                " sub {} {} {kind}",
                text(&subresource["subresource"]),
                group_version(group, version)
            );
            if let Some(name) = type_name {
                let _ = write!(line, " type={name}");
            }
            let _ = writeln!(line, " verbs={}", joined(&subresource["verbs"]));
        }
        for column in self.columns.as_array().into_iter().flatten() {
            let [type_, format, name] = ["type", "format", "name"].map(|key| text(&column[key]));
            let _ = writeln!(line, " column {} {type_} {} {name}", column["priority"], or_dash(format));
        }
        line
    }

    fn subresources(&self) -> impl Iterator<Item = &Value> {
        self.found["subresources"].as_array().into_iter().flatten()
    }

    /// Discovery leaves the group and version out where they are the resource's own.
    fn response_kind<'a>(&'a self, of: &'a Value) -> (&'a str, &'a str, &'a str) {
        let kind = &of["responseKind"];
        match text(&kind["version"]) {
            "" => (&self.group, &self.version, text(&kind["kind"])),
            version => (text(&kind["group"]), version, text(&kind["kind"])),
        }
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.into() } else { format!("{group}/{version}") }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn joined(list: &Value) -> String {
    list.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(",")
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}
