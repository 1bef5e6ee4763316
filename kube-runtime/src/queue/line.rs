//! First in, first out, with removal from the middle.
//!
//! A [`Line`] is a list whose links live in the entries themselves, so that one entry can change lines, or leave
//! them, at the same cost wherever it stands. That is what lets the queue forget a waiting key at once instead of
//! keeping a mark for it: a key that comes and goes ten thousand times before anything starts leaves nothing behind.
//!
//! In: entry numbers of an [`Arena`]. Out: the oldest of a line. An entry is in no line or in exactly one.
//!
//! Why not a `VecDeque` of keys: taking one out of its middle moves the others, and every look at the front costs a
//! hash. What the entries mean, and which line is served, is the machine's business.

use std::ops::{Index, IndexMut};

use slab::Slab;

/// "No neighbour": a number no slab reaches.
const END: usize = usize::MAX;

/// Entries kept in storage after a burst has drained: below this, giving memory back costs more than it frees
/// (about 100 bytes an entry).
const KEPT_ENTRIES: usize = 1024;

struct Node<T> {
    prev: usize,
    next: usize,
    value: T,
}

/// Owns the entries that lines connect. Numbers are reused after removal.
pub(super) struct Arena<T> {
    nodes: Slab<Node<T>>,
}

impl<T> Arena<T> {
    pub(super) fn new() -> Self {
        Self { nodes: Slab::new() }
    }

    /// Stores an entry, in no line yet.
    pub(super) fn insert(&mut self, value: T) -> usize {
        self.nodes.insert(Node { prev: END, next: END, value })
    }

    /// Takes an entry out. It must have left its line before.
    pub(super) fn remove(&mut self, id: usize) -> T {
        let node = self.nodes.remove(id);
        debug_assert!(node.prev == END && node.next == END, "an entry leaves its line before it is removed");
        if self.nodes.is_empty() && self.nodes.capacity() > KEPT_ENTRIES {
            self.nodes = Slab::with_capacity(KEPT_ENTRIES);
        }
        node.value
    }

    pub(super) fn reserve(&mut self, more: usize) {
        self.nodes.reserve(more);
    }

    /// Every entry, in no meaningful order.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter().map(|(_, node)| &node.value)
    }
}

impl<T> Index<usize> for Arena<T> {
    type Output = T;

    fn index(&self, id: usize) -> &T {
        &self.nodes[id].value
    }
}

impl<T> IndexMut<usize> for Arena<T> {
    fn index_mut(&mut self, id: usize) -> &mut T {
        &mut self.nodes[id].value
    }
}

/// One line of entries, oldest first.
pub(super) struct Line {
    head: usize,
    tail: usize,
    len: usize,
}

impl Line {
    pub(super) const fn new() -> Self {
        Self { head: END, tail: END, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The entry that has been in the line the longest.
    pub(super) fn first(&self) -> Option<usize> {
        (self.head != END).then_some(self.head)
    }

    /// Puts an entry that is in no line at the end of this one.
    pub(super) fn push<T>(&mut self, arena: &mut Arena<T>, id: usize) {
        arena.nodes[id].prev = self.tail;
        match self.tail {
            END => self.head = id,
            last => arena.nodes[last].next = id,
        }
        self.tail = id;
        self.len += 1;
    }

    /// Takes an entry of this line out of it.
    pub(super) fn unlink<T>(&mut self, arena: &mut Arena<T>, id: usize) {
        let node = &mut arena.nodes[id];
        let (prev, next) = (node.prev, node.next);
        (node.prev, node.next) = (END, END);
        match prev {
            END => self.head = next,
            _ => arena.nodes[prev].next = next,
        }
        match next {
            END => self.tail = prev,
            _ => arena.nodes[next].prev = prev,
        }
        self.len -= 1;
    }

    /// Takes the oldest entry out of the line.
    pub(super) fn pop<T>(&mut self, arena: &mut Arena<T>) -> Option<usize> {
        let id = self.first()?;
        self.unlink(arena, id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line that is left after taking out the named positions of a, b, c, d.
    fn left_after(taken: &[usize]) -> String {
        let mut arena = Arena::new();
        let mut line = Line::new();
        let ids: Vec<_> = "abcd".chars().map(|c| arena.insert(c)).collect();
        for id in &ids {
            line.push(&mut arena, *id);
        }
        for position in taken {
            line.unlink(&mut arena, ids[*position]);
            arena.remove(ids[*position]);
        }
        let e = arena.insert('e');
        line.push(&mut arena, e);
        assert_eq!(line.len(), 5 - taken.len());
        std::iter::from_fn(|| line.pop(&mut arena).map(|id| arena.remove(id))).collect()
    }

    #[test]
    fn the_order_survives_removal_at_any_place() {
        for (taken, left) in [
            (&[][..], "abcde"),
            (&[0], "bcde"),
            (&[3], "abce"),
            (&[1], "acde"),
            (&[2, 1], "ade"),
            (&[0, 3], "bce"),
            (&[3, 0, 1], "ce"),
            (&[0, 1, 2, 3], "e"),
        ] {
            assert_eq!(left_after(taken), left, "taking out {taken:?}");
        }
    }

    #[test]
    fn storage_of_a_burst_is_given_back() {
        let mut arena = Arena::new();
        let ids: Vec<_> = (0..100_000).map(|n| arena.insert(n)).collect();
        for id in ids {
            arena.remove(id);
        }
        assert!(arena.nodes.capacity() <= 2 * KEPT_ENTRIES);
    }
}
