//! Reads `kinds.txt`.
//!
//! ```text
//! group apps v1                                            versions, the preferred one first; "-" is the core group
//! kind apps/v1 deployments Deployment namespaced type=apps.v1.Deployment singular=deployment short=deploy verbs=..
//!  sub scale autoscaling/v1 Scale type=autoscaling.v1.Scale verbs=get,patch,update
//!  column 0 string name Name                               priority, type, format ("-" is none), and the name
//! ```

use super::super::shape::{Shape, TypeId, Types};

/// A group and its versions.
#[derive(Clone, Debug)]
pub(crate) struct GroupFacts {
    /// Empty for the core group.
    pub(crate) name: &'static str,
    /// The preferred one first.
    pub(crate) versions: Vec<&'static str>,
}

/// A resource as one group and version serves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindFacts {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<&'static str>,
    pub(crate) categories: Vec<&'static str>,
    /// In the words of discovery: `create`, `delete`, `deletecollection`, `get`, `list`, `patch`, `update`, `watch`.
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) subresources: Vec<SubresourceFacts>,
    /// The type of its objects.
    pub(crate) type_id: Option<TypeId>,
    /// What discovery tells of the version that is stored; none for what is not stored.
    pub(crate) storage_hash: Option<&'static str>,
    /// What `kubectl get` shows.
    pub(crate) columns: Vec<Column>,
    /// The fields that a field selector may name.
    pub(crate) selectable: Vec<&'static str>,
}

/// A subresource.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubresourceFacts {
    /// May have a slash in it, as in no version so far but `proxy` paths.
    pub(crate) name: &'static str,
    /// What it takes and gives, which need not be of the resource's group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) verbs: Vec<&'static str>,
    /// None for streams, such as `log`.
    pub(crate) type_id: Option<TypeId>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) type_: &'static str,
    /// Empty, or `name`.
    pub(crate) format: &'static str,
    /// 0 is always shown; others only on request.
    pub(crate) priority: u8,
}

impl KindFacts {
    /// The shape of its objects.
    pub(crate) fn shape(&self) -> Shape {
        self.type_id.map_or(Shape::Any, Shape::Ref)
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&SubresourceFacts> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// `apps/v1`, or `v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.into() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// # Panics
/// On a line that is none of the above.
pub(super) fn parse(text: &'static str, types: &Types) -> (Vec<GroupFacts>, Vec<KindFacts>) {
    let (mut groups, mut kinds) = (Vec::new(), Vec::<KindFacts>::new());
    for line in text.lines() {
        let (what, rest) = line.trim_start().split_once(' ').unwrap_or((line, ""));
        match (what, kinds.last_mut()) {
            ("group", _) => groups.push(group(rest)),
            ("kind", _) => kinds.push(kind(rest, types)),
            ("sub", Some(kind)) => kind.subresources.push(subresource(rest, types)),
            ("column", Some(kind)) => kind.columns.extend(column(rest)),
            _ => panic!("kinds.txt: {line}"),
        }
    }
    (groups, kinds)
}

fn group(rest: &'static str) -> GroupFacts {
    let (name, versions) = rest.split_once(' ').unwrap_or((rest, ""));
    GroupFacts { name: if name == "-" { "" } else { name }, versions: list(versions) }
}

fn kind(rest: &'static str, types: &Types) -> KindFacts {
    let mut words = rest.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (group, version) = group_version(word());
    let mut facts = KindFacts { group, version, plural: word(), kind: word(), ..KindFacts::default() };
    facts.namespaced = word() == "namespaced";
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "type" => facts.type_id = types.id(value),
            "singular" => facts.singular = value,
            "short" => facts.short_names = list(value),
            "categories" => facts.categories = list(value),
            "verbs" => facts.verbs = list(value),
            "hash" => facts.storage_hash = Some(value),
            "select" => facts.selectable = list(value),
            _ => panic!("kinds.txt: {key}"),
        }
    }
    facts
}

fn subresource(rest: &'static str, types: &Types) -> SubresourceFacts {
    let mut words = rest.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let name = word();
    let (group, version) = group_version(word());
    let mut facts = SubresourceFacts { name, group, version, kind: word(), ..SubresourceFacts::default() };
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "type" => facts.type_id = types.id(value),
            "verbs" => facts.verbs = list(value),
            _ => panic!("kinds.txt: {key}"),
        }
    }
    facts
}

fn column(rest: &'static str) -> Option<Column> {
    let mut words = rest.splitn(4, ' ');
    let priority = words.next()?.parse().ok()?;
    let (type_, format) = (words.next()?, words.next()?);
    Some(Column { priority, type_, format: if format == "-" { "" } else { format }, name: words.next()? })
}

fn group_version(text: &'static str) -> (&'static str, &'static str) {
    text.split_once('/').unwrap_or(("", text))
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split(',').collect()
}
