//! Maps names to positions in the list of tools. The table stores only hashes: the caller compares the names.

use hashbrown::HashTable;

/// The positions of tools, by the hashes of their names.
#[derive(Debug)]
pub(crate) struct Index(HashTable<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    position: usize,
}

impl Index {
    /// Creates a table with room for this number of names.
    pub(crate) fn with_capacity(names: usize) -> Self {
        Self(HashTable::with_capacity(names))
    }

    /// The position that was inserted for a name. `is_named` compares the name with that of an entry of the same hash.
    #[inline]
    pub(crate) fn get(&self, name: &str, is_named: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = hash(name);
        self.0.find(hash, |entry| entry.hash == hash && is_named(entry.position)).map(|entry| entry.position)
    }

    /// Inserts the position of a name that is not in the table.
    pub(crate) fn insert(&mut self, name: &str, position: usize) {
        let hash = hash(name);
        self.0.insert_unique(hash, Entry { hash, position }, |entry| entry.hash);
    }

    /// The table after the insertion of a tool at a position of the list. All of its names must be new.
    pub(crate) fn with(&self, names: &[&str], position: usize) -> Self {
        let mut index = Self(self.0.clone());
        for entry in index.0.iter_mut().filter(|entry| entry.position >= position) {
            entry.position += 1;
        }
        for name in names {
            index.insert(name, position);
        }
        index
    }
}

/// FNV-1a. Its collisions can be forced, but the names come from the program itself.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{Index, hash};

    #[test]
    fn finds_every_inserted_name_and_no_other() {
        let names: Vec<String> = (0..5000).map(|n| format!("module_{}.tool_{n}", n % 7)).collect();
        let mut index = Index::with_capacity(names.len());
        for (position, name) in (0..).zip(&names) {
            index.insert(name, position);
        }
        let find = |name: &str| index.get(name, |position| names[position] == name);
        for (position, name) in (0..).zip(&names) {
            assert_eq!(find(name), Some(position));
        }
        assert_eq!(find("module_0.tool_5000"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn inserting_in_the_middle_moves_later_positions() {
        let mut names: Vec<String> = Vec::new();
        let mut index = Index::with_capacity(0);
        for n in 0..300 {
            let position = n / 2;
            names.insert(position, format!("tool_{n}"));
            index = index.with(&[&format!("tool_{n}")], position);
        }
        for (position, name) in (0..).zip(&names) {
            assert_eq!(index.get(name, |at| names[at] == *name), Some(position));
        }
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        assert_eq!(Index::with_capacity(0).get("a", |_| true), None);
    }

    #[test]
    fn distinguishes_names_with_the_same_hash() {
        let (one, other) = ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ");
        assert_eq!(hash(one), hash(other));
        let mut index = Index::with_capacity(2);
        index.insert(one, 0);
        index.insert(other, 1);
        let names = [one, other];
        for (position, name) in (0..).zip(names) {
            assert_eq!(index.get(name, |position| names[position] == name), Some(position));
        }
    }
}
