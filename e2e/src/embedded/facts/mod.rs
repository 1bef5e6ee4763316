//! What is true of the built-in kinds: names, verbs, columns and types.
//!
//! In: two committed tables, `kinds.txt` and `types.txt`, which [`collect`] writes from a real server. Out: [`Facts`],
//! read once per process.
//! Tables instead of generated code: a new version of the server is a diff of lines that people can judge, and nothing
//! needs to be compiled for it. What a kind does beyond its facts is left to others.

#[cfg(feature = "cluster")]
mod collect;
mod kinds;
mod types;

use std::sync::OnceLock;

#[cfg(feature = "cluster")]
pub use self::collect::{FactTexts, collect_facts};
pub(super) use self::kinds::{GroupFacts, KindFacts, SubresourceFacts};
use super::shape::Types;

/// The facts of the built-in kinds.
#[derive(Debug)]
pub(super) struct Facts {
    groups: Vec<GroupFacts>,
    kinds: Vec<KindFacts>,
    types: Types,
}

impl Facts {
    /// The facts, from the committed tables.
    ///
    /// # Panics
    /// If a table is not as [`collect`] writes it, which a test would have told.
    pub(super) fn load() -> &'static Self {
        static FACTS: OnceLock<Facts> = OnceLock::new();
        FACTS.get_or_init(|| {
            let types = types::parse(include_str!("types.txt"));
            let (groups, kinds) = kinds::parse(include_str!("kinds.txt"), &types);
            Self { groups, kinds, types }
        })
    }

    /// The groups in the server's order; the core group is the first and has no name.
    pub(super) fn groups(&self) -> &[GroupFacts] {
        &self.groups
    }

    /// All kinds in the server's order: by group, then by version, then by name.
    pub(super) fn kinds(&self) -> &[KindFacts] {
        &self.kinds
    }

    /// The types that the shapes of kinds refer to.
    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// The kind behind a path: `("apps", "v1", "deployments")`.
    pub(super) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&KindFacts> {
        self.of_version(group, version).find(|kind| kind.plural == plural)
    }

    /// The kind of an object: `("apps", "v1", "Deployment")`.
    pub(super) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&KindFacts> {
        self.of_version(group, version).find(|facts| facts.kind == kind)
    }

    /// The kinds of one group and version.
    pub(super) fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &KindFacts> {
        self.kinds.iter().filter(move |kind| kind.group == group && kind.version == version)
    }
}

#[cfg(test)]
mod tests;
