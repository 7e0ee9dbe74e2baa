//! Names → positions in the list of tools: a flat table of hashes that owns no names.

/// An open-addressed table. Whoever asks compares the names.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Box<[Option<Slot>]>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    position: u32,
}

impl Index {
    /// A table with room for so many names, at most half full.
    pub(crate) fn with_room(names: usize) -> Self {
        Self { slots: vec![None; (2 * names).next_power_of_two()].into() }
    }

    /// The position that was put in for a name, as far as `is_named` says that it is the name's.
    #[inline]
    pub(crate) fn get(&self, name: &str, is_named: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = hash(name);
        let found = self.probe(hash).map_while(|slot| self.slots[slot]);
        found.filter(|slot| slot.hash == hash).map(|slot| slot.position).find(|position| is_named(*position))
    }

    /// Puts a position in for a name.
    pub(crate) fn insert(&mut self, name: &str, position: u32) {
        self.put(Slot { hash: hash(name), position });
    }

    fn put(&mut self, slot: Slot) {
        let free = self.probe(slot.hash).find(|free| self.slots[*free].is_none());
        // There is always a free slot: the table is at most half full.
        if let Some(free) = free {
            self.slots[free] = Some(slot);
        }
    }

    /// The table for the list after a tool of these names, all of them new, was put into it at a position.
    pub(crate) fn with(&self, names: &[&str], position: u32) -> Self {
        let moved = |slot: &Slot| Slot { position: slot.position + u32::from(slot.position >= position), ..*slot };
        let used = self.slots.iter().flatten().count() + names.len();
        let mut index = if 2 * used <= self.slots.len() {
            Self { slots: self.slots.iter().map(|slot| slot.as_ref().map(moved)).collect() }
        } else {
            let mut index = Self::with_room(2 * used);
            self.slots.iter().flatten().for_each(|slot| index.put(moved(slot)));
            index
        };
        for name in names {
            index.insert(name, position);
        }
        index
    }

    /// The slots to look at, one after the other.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        (0..=mask).map(move |step| (hash as usize + step) & mask)
    }
}

/// FNV-1a: short, and the names are the program's own.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::{Index, hash};

    #[test]
    fn every_name_is_found_and_no_other() {
        let names: Vec<String> = (0..5000).map(|n| format!("module_{}.tool_{n}", n % 7)).collect();
        let mut index = Index::with_room(names.len());
        for (position, name) in (0..).zip(&names) {
            index.insert(name, position);
        }
        let find = |wanted: &str| index.get(wanted, |position| names[position as usize] == wanted);
        for (position, name) in (0..).zip(&names) {
            assert_eq!(find(name), Some(position));
        }
        assert_eq!(find("module_0.tool_5000"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn names_come_into_the_middle_one_by_one() {
        let mut names: Vec<String> = Vec::new();
        let mut index = Index::with_room(0);
        for n in 0..300 {
            let position = n / 2;
            names.insert(position, format!("tool_{n}"));
            index = index.with(&[&format!("tool_{n}")], u32::try_from(position).unwrap());
        }
        for (position, name) in (0..).zip(&names) {
            assert_eq!(index.get(name, |at| names[at as usize] == *name), Some(position));
        }
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        assert_eq!(Index::with_room(0).get("a", |_| true), None);
    }

    #[test]
    fn names_of_one_hash_are_told_apart() {
        let (one, other) = ("costarring", "liquid");
        assert_eq!(hash(one), hash(other));
        let mut index = Index::with_room(2);
        index.insert(one, 0);
        index.insert(other, 1);
        let names = [one, other];
        for (position, name) in (0..).zip(names) {
            assert_eq!(index.get(name, |position| names[position as usize] == name), Some(position));
        }
    }
}
