//! Decides which objects go because of others that went: owners and namespaces.
//!
//! In: the graph of all objects, kept by [`Graph::seen`] and [`Graph::gone`], each of which says whose case is to be decided anew.
//! Out: [`Graph::decide`], the [`Order`]s for one object. The rules are those of "Garbage Collection" and "Finalizers" in the
//! Kubernetes documentation: what no owner is left of goes in the background; `foregroundDeletion` waits for blocking
//! dependents; `orphan` lets them go first; a namespace is final when it is empty.
//! Why a whole graph and not the real collector's look-ups by reference: this server knows all objects in one order, so that an
//! owner that is not in the graph is gone. Orders can be repeated: performing them is left to `collector`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

type Uid = String;

/// What the rules look at in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// `v1`, `apps/v1`: a version that the object can be reached by.
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    /// Empty for cluster-scoped objects.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Uid,
    pub(super) resource_version: String,
    /// The uids of its owners, and whether it blocks their deletion in the foreground.
    pub(super) owners: Vec<(Uid, bool)>,
    pub(super) deleting: bool,
    pub(super) finalizers: Vec<String>,
    /// A namespace that is not final yet.
    pub(super) holds_contents: bool,
}

impl Node {
    /// Reads a stored object.
    pub(super) fn read(plural: &str, object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let is_namespace = api_version == "v1" && kind == "Namespace";
        let owner = |owner: &Value| (text(&owner["uid"]), owner["blockOwnerDeletion"] == true);
        Self {
            api_version,
            kind,
            plural: plural.to_owned(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
            owners: list(&metadata["ownerReferences"]).iter().map(owner).collect(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            finalizers: list(&metadata["finalizers"]).iter().map(text).collect(),
            holds_contents: is_namespace && !list(&object["spec"]["finalizers"]).is_empty(),
        }
    }

    fn waits_for(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|own| own == finalizer)
    }

    fn is_leaving_in_foreground(&self) -> bool {
        self.deleting && self.waits_for(FOREGROUND)
    }

    fn is_terminating_namespace(&self) -> bool {
        self.deleting && self.holds_contents
    }
}

/// What becomes of the dependents of an object that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cascade {
    Background,
    Foreground,
    Orphan,
}

/// What to do to an object, which is named by its uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Delete(Uid, Cascade),
    /// Take out the references to these owners.
    Disown(Uid, Vec<Uid>),
    RemoveFinalizer(Uid, &'static str),
    /// Take the last hold off a namespace.
    Finalise(Uid),
}

/// All objects, and who depends on whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<Uid, Node>,
    /// By owner, also one that is not there.
    dependents: BTreeMap<Uid, BTreeSet<Uid>>,
    contents: BTreeMap<String, BTreeSet<Uid>>,
    /// Namespaces by name.
    namespaces: BTreeMap<String, Uid>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// An object is there, or is other than it was. Gives back whose case is to be decided anew.
    pub(super) fn seen(&mut self, node: Node) -> BTreeSet<Uid> {
        let mut concerned = self.gone(&node.uid);
        for (owner, _) in &node.owners {
            self.dependents.entry(owner.clone()).or_default().insert(node.uid.clone());
        }
        if !node.namespace.is_empty() {
            self.contents.entry(node.namespace.clone()).or_default().insert(node.uid.clone());
        }
        if node.holds_contents {
            self.namespaces.insert(node.name.clone(), node.uid.clone());
        }
        self.concern(&node, &mut concerned);
        self.nodes.insert(node.uid.clone(), node);
        concerned
    }

    /// An object is not there any more. Gives back whose case is to be decided anew.
    pub(super) fn gone(&mut self, uid: &str) -> BTreeSet<Uid> {
        let mut concerned = BTreeSet::new();
        let Some(node) = self.nodes.remove(uid) else { return concerned };
        for (owner, _) in &node.owners {
            remove(&mut self.dependents, owner, uid);
        }
        remove(&mut self.contents, &node.namespace, uid);
        self.concern(&node, &mut concerned);
        if node.holds_contents {
            self.namespaces.remove(&node.name);
        }
        concerned
    }

    /// The object itself, its owners, its dependents, and the namespace that may wait for it.
    fn concern(&self, node: &Node, concerned: &mut BTreeSet<Uid>) {
        concerned.insert(node.uid.clone());
        concerned.extend(node.owners.iter().map(|(owner, _)| owner.clone()));
        concerned.extend(self.dependents.get(&node.uid).into_iter().flatten().cloned());
        concerned.extend(self.namespaces.get(&node.namespace).cloned());
    }

    /// What is to be done for an object now.
    pub(super) fn decide(&self, uid: &str) -> Vec<Order> {
        let Some(node) = self.nodes.get(uid) else { return Vec::new() };
        if node.is_terminating_namespace() {
            return self.empty(node);
        }
        if node.deleting {
            return self.release(node);
        }
        self.judge(node).into_iter().collect()
    }

    fn dependents(&self, uid: &str) -> impl Iterator<Item = &Node> {
        self.dependents.get(uid).into_iter().flatten().filter_map(|uid| self.nodes.get(uid))
    }

    /// A namespace goes when everything in it has gone.
    fn empty(&self, namespace: &Node) -> Vec<Order> {
        let contents: Vec<&Node> = self
            .contents
            .get(&namespace.name)
            .into_iter()
            .flatten()
            .filter_map(|uid| self.nodes.get(uid))
            .collect();
        if contents.is_empty() {
            return vec![Order::Finalise(namespace.uid.clone())];
        }
        let stay = contents.into_iter().filter(|node| !node.deleting);
        stay.map(|node| Order::Delete(node.uid.clone(), Cascade::Background)).collect()
    }

    /// An object on its way out is held by what its dependents still are to it.
    fn release(&self, node: &Node) -> Vec<Order> {
        if node.waits_for(ORPHAN) {
            let disown = |dependent: &Node| Order::Disown(dependent.uid.clone(), vec![node.uid.clone()]);
            let orders: Vec<Order> = self.dependents(&node.uid).map(disown).collect();
            return if orders.is_empty() {
                vec![Order::RemoveFinalizer(node.uid.clone(), ORPHAN)]
            } else {
                orders
            };
        }
        let blocks =
            |dependent: &Node| dependent.owners.iter().any(|(owner, blocks)| *owner == node.uid && *blocks);
        if node.waits_for(FOREGROUND) && !self.dependents(&node.uid).any(blocks) {
            return vec![Order::RemoveFinalizer(node.uid.clone(), FOREGROUND)];
        }
        Vec::new()
    }

    /// An object goes when none of its owners stays.
    fn judge(&self, node: &Node) -> Option<Order> {
        let (mut staying, mut leaving, mut absent) = (0, Vec::new(), Vec::new());
        for (uid, blocks) in &node.owners {
            // An owner in another namespace is none.
            let owner = self
                .nodes
                .get(uid)
                .filter(|owner| owner.namespace.is_empty() || owner.namespace == node.namespace);
            match owner {
                None => absent.push(uid.clone()),
                Some(owner) if *blocks && owner.is_leaving_in_foreground() => leaving.push(uid.clone()),
                Some(_) => staying += 1,
            }
        }
        let waited_for = !leaving.is_empty();
        let lost: Vec<Uid> = absent.into_iter().chain(leaving).collect();
        if lost.is_empty() {
            return None;
        }
        if staying > 0 {
            return Some(Order::Disown(node.uid.clone(), lost));
        }
        // In a circle of owners somebody must not wait.
        let closes_circle = self.dependents(&node.uid).any(Node::is_leaving_in_foreground);
        let has_dependents = self.dependents(&node.uid).next().is_some();
        let cascade = match () {
            () if waited_for && has_dependents && !closes_circle => Cascade::Foreground,
            () if node.waits_for(ORPHAN) => Cascade::Orphan,
            () if node.waits_for(FOREGROUND) => Cascade::Foreground,
            () => Cascade::Background,
        };
        Some(Order::Delete(node.uid.clone(), cascade))
    }
}

fn remove(index: &mut BTreeMap<String, BTreeSet<Uid>>, key: &str, uid: &str) {
    if let Some(uids) = index.get_mut(key) {
        uids.remove(uid);
        if uids.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `child < owner !blocking-owner; finalizer...`; a leading `-` is an object that is being deleted.
    fn node(text: &str) -> Node {
        let (head, finalizers) = text.split_once(';').unwrap_or((text, ""));
        let (uid, owners) = head.split_once('<').unwrap_or((head, ""));
        let (namespace, uid) = uid.trim().split_once('/').unwrap_or(("d", uid.trim()));
        let owner = |owner: &str| (owner.trim_start_matches('!').to_owned(), owner.starts_with('!'));
        Node {
            namespace: namespace.trim_start_matches('-').to_owned(),
            name: uid.trim_start_matches('-').to_owned(),
            uid: uid.trim_start_matches('-').to_owned(),
            owners: owners.split_whitespace().map(owner).collect(),
            deleting: head.starts_with('-'),
            finalizers: finalizers.split_whitespace().map(str::to_owned).collect(),
            ..Node::default()
        }
    }

    fn graph(nodes: &[&str]) -> Graph {
        let mut graph = Graph::default();
        for text in nodes {
            graph.seen(node(text));
        }
        graph
    }

    fn decided(graph: &Graph, uid: &str) -> String {
        let tell = |order| match order {
            Order::Delete(uid, cascade) => format!("delete {uid} {cascade:?}"),
            Order::Disown(uid, owners) => format!("disown {uid} of {}", owners.join("+")),
            Order::RemoveFinalizer(uid, finalizer) => format!("free {uid} of {finalizer}"),
            Order::Finalise(uid) => format!("finalise {uid}"),
        };
        graph.decide(uid).into_iter().map(tell).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn an_object_goes_when_no_owner_of_it_is_left() {
        for (nodes, orders) in [
            (&["c"][..], ""),
            (&["o", "c < o"], ""),
            (&["c < o"], "delete c Background"),
            (&["-c < o; example.dev/hold"], ""),
            (&["a", "c < a b"], "disown c of b"),
            (&["c < a b"], "delete c Background"),
            (&["c < o; orphan"], "delete c Orphan"),
            (&["c < o; foregroundDeletion"], "delete c Foreground"),
            (&["-o; example.dev/hold", "c < o"], ""),
            (&["e/o", "c < o"], "delete c Background"),
            (&["/o", "c < o"], ""),
        ] {
            assert_eq!(decided(&graph(nodes), "c"), orders, "{nodes:?}");
        }
    }

    #[test]
    fn foreground_deletion_waits_for_dependents_that_block() {
        for (nodes, uid, orders) in [
            (&["-o; foregroundDeletion", "c < !o"][..], "o", ""),
            (&["-o; foregroundDeletion", "c < !o"], "c", "delete c Background"),
            (&["-o; foregroundDeletion", "c < !o", "g < !c"], "c", "delete c Foreground"),
            (&["-o; foregroundDeletion", "c < o"], "c", ""),
            (&["-o; foregroundDeletion", "c < o"], "o", "free o of foregroundDeletion"),
            (&["-o; foregroundDeletion", "a", "c < !o a"], "c", "disown c of o"),
            (&["-o; foregroundDeletion example.dev/hold"], "o", "free o of foregroundDeletion"),
            (&["o; foregroundDeletion"], "o", ""),
            (&["-o < !c; foregroundDeletion", "c < !o"], "c", "delete c Background"),
        ] {
            assert_eq!(decided(&graph(nodes), uid), orders, "{nodes:?}");
        }
    }

    #[test]
    fn an_orphaning_owner_lets_its_dependents_go_first() {
        let nodes = ["-o; orphan", "a < !o", "b < o"];
        assert_eq!(decided(&graph(&nodes), "o"), "disown a of o, disown b of o");
        assert_eq!(decided(&graph(&nodes), "a"), "");
        assert_eq!(decided(&graph(&nodes[..1]), "o"), "free o of orphan");
    }

    #[test]
    fn a_namespace_is_final_when_it_is_empty() {
        let namespace = |deleting| Node { holds_contents: true, deleting, ..node("/d") };
        let mut graph = graph(&["a", "-b; example.dev/hold", "e/c"]);
        assert!(graph.seen(namespace(false)).contains("d"));
        assert_eq!(decided(&graph, "d"), "");
        graph.seen(namespace(true));
        assert_eq!(decided(&graph, "d"), "delete a Background");
        assert!(graph.gone("a").contains("d"), "it waits for what is in it");
        assert_eq!(decided(&graph, "d"), "");
        graph.gone("b");
        assert_eq!(decided(&graph, "d"), "finalise d");
    }

    #[test]
    fn a_change_concerns_the_object_its_owners_and_its_dependents() {
        let mut graph = graph(&["o", "c < o", "g < c"]);
        let all = |uids: BTreeSet<Uid>| uids.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(all(graph.seen(node("c < p"))), "c g o p");
        assert_eq!(all(graph.gone("c")), "c g p");
        assert_eq!(all(graph.gone("c")), "");
    }

    #[test]
    fn an_object_is_read_as_it_is_stored() {
        let object = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "spec": { "finalizers": ["kubernetes"] },
            "metadata": { "name": "n", "uid": "u", "deletionTimestamp": "t", "finalizers": ["f"],
                          "ownerReferences": [{ "uid": "o", "blockOwnerDeletion": true }, { "uid": "p" }] }
        });
        let node = Node::read("namespaces", &object);
        assert_eq!(node.owners, [("o".to_owned(), true), ("p".to_owned(), false)]);
        assert!(node.is_terminating_namespace() && node.waits_for("f") && node.namespace.is_empty());
    }
}
