//! Sets of fields of one object: what a manager owns, what a write changed.
//!
//! A set is a tree of [`Element`]s. A node is a member, or only leads to members; a member may have members
//! below it, for "this item of the list exists" and "this field of it is mine" are two facts. The algebra is
//! that of sets of paths, except for [`Set::without_below`]. Their JSON form is in [`super::fields_v1`].

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use serde_json::Value;

use super::go_json;

/// One step from an object or a list to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A field of an object or a key of a map.
    Field(Box<str>),
    /// The item of a list with these values in its key fields, sorted by field.
    Key(Vec<(Box<str>, Atom)>),
    /// The item of a set.
    Value(Atom),
    /// The item at a place. Only managers of long ago own such fields.
    Index(i64),
}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }
}

/// As in the texts of errors: `.spec`, `[name="c"]`, `[="v"]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let pairs: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(f, "[{}]", pairs.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value that tells items apart, ordered: numbers, strings, booleans, and the rest by their text.
#[derive(Clone, Debug)]
pub(super) struct Atom(pub(super) Value);

impl Atom {
    fn rank(&self) -> u8 {
        match self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Atom {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
                (Some(a), Some(b)) => a.cmp(&b),
                // `total_cmp` tells 0.0 from -0.0, which no key field will ever hold side by side.
                _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
            },
            (a, b) => self.rank().cmp(&other.rank()).then_with(|| go_json(a).cmp(&go_json(b))),
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Atom {}

/// Where in an object.
pub(super) type Path = Vec<Element>;

/// A path as the server writes it: `.spec.containers[name="c"].image`.
pub(super) fn print(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}

/// Fields of one object. No node is without a member at it or below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) nodes: BTreeMap<Element, Node>,
}

/// What a set holds at one element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) below: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl Set {
    /// A set of fields without lists in between, such as `&[&["metadata", "uid"]]`.
    pub(super) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Path = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a field, without its parents. The object as a whole is nobody's: an empty path changes nothing.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    pub(super) fn has(&self, path: &[Element]) -> bool {
        match path.split_first() {
            None => false,
            Some((first, [])) => self.nodes.get(first).is_some_and(|node| node.member),
            Some((first, rest)) => self.nodes.get(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// Both together.
    pub(super) fn union(mut self, other: &Self) -> Self {
        for (element, theirs) in &other.nodes {
            let mine = self.nodes.entry(element.clone()).or_default();
            mine.member |= theirs.member;
            mine.below = std::mem::take(&mut mine.below).union(&theirs.below);
        }
        self
    }

    /// What is in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let nodes = self.nodes.iter().filter_map(|(element, mine)| {
            let theirs = other.nodes.get(element)?;
            let member = mine.member && theirs.member;
            Some((element.clone(), Node { member, below: mine.below.intersection(&theirs.below) }))
        });
        Self { nodes: nodes.filter(|(_, node)| !node.is_empty()).collect() }
    }

    /// What is here and not there. A field below a field that is there stays.
    pub(super) fn difference(mut self, other: &Self) -> Self {
        for (element, theirs) in &other.nodes {
            if let Some(mine) = self.nodes.get_mut(element) {
                mine.member &= !theirs.member;
                mine.below = std::mem::take(&mut mine.below).difference(&theirs.below);
                if mine.is_empty() {
                    self.nodes.remove(element);
                }
            }
        }
        self
    }

    /// What is here, and neither there nor below what is there.
    pub(super) fn without_below(mut self, other: &Self) -> Self {
        for (element, theirs) in &other.nodes {
            if theirs.member {
                self.nodes.remove(element);
            } else if let Some(mine) = self.nodes.get_mut(element) {
                mine.below = std::mem::take(&mut mine.below).without_below(&theirs.below);
                if mine.is_empty() {
                    self.nodes.remove(element);
                }
            }
        }
        self
    }

    /// Calls for every member; those of a level before those below it, which is the order in which conflicts
    /// are told.
    pub(super) fn each(&self, visit: &mut impl FnMut(&[Element])) {
        self.each_under(&mut Vec::new(), visit);
    }

    fn each_under(&self, path: &mut Path, visit: &mut impl FnMut(&[Element])) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            path.push(element.clone());
            visit(path);
            path.pop();
        }
        for (element, node) in self.nodes.iter().filter(|(_, node)| !node.below.is_empty()) {
            path.push(element.clone());
            node.below.each_under(path, visit);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fields_v1, *};

    fn set(json: &Value) -> Set {
        fields_v1::parse(json).expect("a valid set")
    }

    #[test]
    fn sets_are_sets_of_paths() {
        type Op = fn(Set, &Set) -> Set;
        let union: Op = Set::union;
        let common: Op = |a, b| a.intersection(b);
        let minus: Op = Set::difference;
        let cut: Op = Set::without_below;
        for (name, op, a, b, expected) in [
            (
                "union",
                union,
                json!({ "f:a": {} }),
                json!({ "f:a": { "f:b": {} } }),
                json!({ "f:a": { ".": {}, "f:b": {} } }),
            ),
            ("union", union, json!({ "f:a": {} }), json!({}), json!({ "f:a": {} })),
            (
                "common",
                common,
                json!({ "f:a": { ".": {}, "f:b": {} } }),
                json!({ "f:a": {} }),
                json!({ "f:a": {} }),
            ),
            ("common", common, json!({ "f:a": { "f:b": {} } }), json!({ "f:a": {} }), json!({})),
            (
                "minus",
                minus,
                json!({ "f:a": { "f:b": {} } }),
                json!({ "f:a": {} }),
                json!({ "f:a": { "f:b": {} } }),
            ),
            (
                "minus",
                minus,
                json!({ "f:a": { ".": {}, "f:b": {} } }),
                json!({ "f:a": { "f:b": {} } }),
                json!({ "f:a": {} }),
            ),
            ("minus", minus, json!({ "f:a": { "f:b": {} } }), json!({ "f:a": { "f:b": {} } }), json!({})),
            (
                "cut",
                cut,
                json!({ "f:a": { "f:b": {} }, "f:c": {} }),
                json!({ "f:a": {} }),
                json!({ "f:c": {} }),
            ),
            (
                "cut",
                cut,
                json!({ "f:a": { ".": {}, "f:b": {} } }),
                json!({ "f:a": { "f:b": {} } }),
                json!({ "f:a": {} }),
            ),
        ] {
            assert_eq!(fields_v1::print(&op(set(&a), &set(&b))), expected, "{name} {a} {b}");
        }
    }

    #[test]
    fn a_member_is_found_by_its_path() {
        let fields = set(&json!({ "f:a": { ".": {}, "k:{\"n\":1}": { "f:b": {} } } }));
        let (a, key, b) =
            (Element::field("a"), Element::Key(vec![("n".into(), Atom(json!(1)))]), Element::field("b"));
        for (path, found) in [
            (vec![], false),
            (vec![a.clone()], true),
            (vec![a.clone(), key.clone()], false),
            (vec![a.clone(), key.clone(), b.clone()], true),
            (vec![b.clone()], false),
        ] {
            assert_eq!(fields.has(&path), found, "{path:?}");
        }
        assert_eq!(print(&[a, key, b]), ".a[n=1].b");
    }

    #[test]
    fn the_members_of_a_level_come_before_those_below() {
        let fields = set(&json!({ "f:a": { "f:x": {} }, "f:b": {}, "f:c": { ".": {}, "v:\"s\"": {} } }));
        let mut seen = Vec::new();
        fields.each(&mut |path| seen.push(print(path)));
        assert_eq!(seen, [".b", ".c", ".a.x", ".c[=\"s\"]"]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_before_strings() {
        let mut atoms = [json!("a"), json!(10), json!(true), json!(9), json!(9.5)].map(Atom);
        atoms.sort();
        assert_eq!(atoms.map(|atom| atom.0.to_string()), ["9", "9.5", "10", "\"a\"", "true"]);
    }
}
