//! Checks arrays.

use mcp_core::support::schema::Types;

use super::report::Step;
use super::{Active, Leniency, Mode, Run, Stop, is_milestone, words};

impl Run<'_> {
    pub(super) fn array(&mut self, first: usize) -> Result<(), Stop> {
        let schema = self.schema;
        self.restrict(first, Types::ARRAY)?;
        let (start, last) = (self.scan.pos, self.active.len());
        let (hashes, bits) = (self.hashes.len(), self.bits.len());
        let rules = |active: &Active| schema.model[active.node].array.as_ref();
        let (mut has_rules, mut is_unique, mut repeats) = (false, false, false);
        for active in &mut self.active[first..last] {
            let Some(array) = rules(active) else { continue };
            (has_rules, is_unique) = (true, is_unique || array.unique);
            active.bits = self.bits.len();
            self.bits.resize(self.bits.len() + array.contains.len(), 0);
        }
        if !has_rules && self.mode != Mode::Report {
            self.scan.skip()?;
            return self.enumerated_again(first, start);
        }
        // Of one schema that has no more to say about an item.
        let simple_items = match &self.active[first..last] {
            [active] => self.plan(active.node).simple_items,
            _ => None,
        };
        let mut count = 0;
        let mut has_more = self.scan.enter(b']')?;
        while has_more {
            if let Some(items) = simple_items {
                if self.leaf(items)? {
                    count += 1;
                    has_more = self.scan.next_part(b']')?;
                    continue;
                }
            }
            self.steps.push(Step::Index(count));
            let (child, pending) = (self.active.len(), self.pending.len());
            for index in first..last {
                let active = self.active[index];
                let Some(array) = rules(&active) else { continue };
                match simple_items.or_else(|| array.prefix.get(count).copied()).or(array.items) {
                    // Reported with the list.
                    Some(items) if self.plan(items).is_never && count >= array.prefix.len() => {}
                    Some(items) => self.expand(items, false)?,
                    None => {}
                }
                for (counter, contains) in (active.bits..).zip(&array.contains) {
                    self.bits[counter] += u64::from(self.judge(contains.schema, Leniency::Strict)?);
                }
            }
            let hash = if is_unique && !repeats { self.hash_again()? } else { 0 };
            self.value(child, pending)?;
            if is_unique && !repeats {
                self.hashes.push(hash);
                repeats = is_milestone(self.hashes.len() - hashes) && self.repeated_hash(hashes).is_some();
            }
            self.steps.pop();
            count += 1;
            has_more = self.scan.next_part(b']')?;
        }
        if has_rules {
            repeats |= is_unique && self.repeated_hash(hashes).is_some();
            self.array_rules(first, start, u64::try_from(count).unwrap_or(u64::MAX), repeats)?;
            self.hashes.truncate(hashes);
            self.bits.truncate(bits);
        }
        self.enumerated_again(first, start)
    }

    fn array_rules(&mut self, first: usize, start: usize, count: u64, repeats: bool) -> Result<(), Stop> {
        let schema = self.schema;
        let of = |min, max| format!("a list{}", words::of_count(min, max, "item"));
        for index in first..self.active.len() {
            let Active { node, bits, .. } = self.active[index];
            let Some(array) = &schema.model[node].array else { continue };
            let max = self.plan(node).max_items;
            if count < array.min_items {
                self.wrong(start, || of(array.min_items, None))?;
            }
            if max.is_some_and(|max| count > max) {
                self.wrong(start, || of(0, max))?;
            }
            if array.unique && repeats {
                self.wrong(start, || "a list without the same item twice".to_owned())?;
            }
            for (counter, contains) in (bits..).zip(&array.contains) {
                let found = self.bits[counter];
                let what = || words::of_node(&schema.model, contains.schema);
                if found < contains.min {
                    let least = contains.min;
                    self.wrong(start, || match least {
                        1 => format!("a list with an item that is {}", what()),
                        least => format!("a list with at least {least} items that are each {}", what()),
                    })?;
                } else if contains.max.is_some_and(|max| found > max) {
                    let most = contains.max.unwrap_or_default();
                    self.wrong(start, || format!("a list with at most {most} items that are each {}", what()))?;
                }
            }
        }
        Ok(())
    }
}
