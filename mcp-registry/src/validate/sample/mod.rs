//! Values for a schema: one that fits, and one that does not.
//!
//! Every part of a value is made for the conjunction of all schemas that apply to it, one alternative of each union after
//! the other, and verified with the checker. The number of steps is limited.

pub(super) mod conjunction;
pub(super) mod numbers;
#[cfg(test)]
mod tests;
mod texts;
mod variations;

use std::cell::Cell;
use std::collections::VecDeque;

use mcp_core::message::JsonObject;
use mcp_core::support::schema::{Model, NodeId, NumberRules, Types, equal};
use serde_json::Value;

pub(crate) use self::conjunction::contradiction;
use self::conjunction::{Conjunction, Facts, Goal};
use self::numbers::Grid;
use self::texts::Texts;
use super::formats::format;

/// How many steps a sample takes at most.
const MAX_STEPS: usize = 1 << 14;
/// How many alternatives are tried, even if they are impossible.
const MAX_TRIED: usize = 8;
/// How much deeper a value is nested than it seems to need.
const DEPTH_RESERVE: usize = 8;
/// How deep values are nested at most.
const MAX_DEPTH: usize = 100;
/// The longest texts and lists that are made.
pub(super) const MAX_LENGTH: u64 = 1 << 14;

/// Makes values for the nodes of a model.
pub(crate) struct Samples<'a> {
    facts: Facts<'a>,
    accepts: &'a dyn Fn(NodeId, &str) -> bool,
    steps: Cell<usize>,
}

/// A search for values.
struct Search<'s> {
    goal: &'s Goal,
    count: usize,
    depth: usize,
    found: Vec<Value>,
}

impl Search<'_> {
    fn is_done(&self) -> bool {
        self.found.len() >= self.count
    }
}

impl<'a> Samples<'a> {
    /// `accepts` says whether a JSON text fits a node.
    pub(crate) fn new(model: &'a Model, accepts: &'a dyn Fn(NodeId, &str) -> bool) -> Self {
        Self { facts: Facts::new(model), accepts, steps: Cell::new(0) }
    }

    /// A small value that fits; none if none was found.
    pub(crate) fn fitting(&self, node: NodeId) -> Option<Value> {
        self.steps.set(MAX_STEPS);
        self.sample(node)
    }

    /// A small value that reaches the goal; none if none was found. The steps are taken from a budget.
    pub(super) fn reaching(&self, goal: &Goal, budget: &Cell<usize>) -> Option<Value> {
        let steps = MAX_STEPS.min(budget.get());
        self.steps.set(steps);
        let depth = goal.all.iter().map(|node| self.depth(*node)).max().unwrap_or(DEPTH_RESERVE);
        let found = self.find(goal, 1, depth).pop();
        budget.set(budget.get() - (steps - self.steps.get()));
        found
    }

    /// A value that does not fit and is close to one that does; none if every value fits or none was found.
    pub(crate) fn violating(&self, node: NodeId) -> Option<Value> {
        let sample = self.fitting(node).unwrap_or_default();
        self.steps.set(MAX_STEPS);
        self.broken(&[node], &sample, self.depth(node))
    }

    pub(super) fn model(&self) -> &'a Model {
        self.facts.model
    }

    fn depth(&self, node: NodeId) -> usize {
        let rank = usize::try_from(self.facts.rank(node).unwrap_or_default()).unwrap_or(MAX_DEPTH);
        (rank + DEPTH_RESERVE).min(MAX_DEPTH)
    }

    fn sample(&self, node: NodeId) -> Option<Value> {
        self.find(&Goal::all(vec![node]), 1, self.depth(node)).pop()
    }

    /// Takes steps, if there are as many left.
    pub(super) fn steps(&self, count: usize) -> bool {
        let left = self.steps.get().checked_sub(count);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Runs a part of a search, so that some steps are left for the other parts.
    fn with_most_steps(&self, run: impl FnOnce()) {
        let reserve = self.steps.get() / 8;
        self.steps.set(self.steps.get() - reserve);
        run();
        self.steps.set(self.steps.get() + reserve);
    }

    pub(super) fn fits_all(&self, nodes: &[NodeId], json: &str) -> bool {
        nodes.iter().all(|node| (self.accepts)(*node, json))
    }

    /// Different values that reach the goal, at most so many.
    fn find(&self, goal: &Goal, count: usize, depth: usize) -> Vec<Value> {
        let mut search = Search { goal, count, depth, found: Vec::new() };
        if self.facts.rank_of(&goal.all).is_some() {
            self.alternatives(&Conjunction::new(self.model(), goal), 0, &mut search);
            if !search.is_done() && self.facts.may_be_null(&goal.all) {
                self.offer(&[], Value::Null, &mut search);
            }
        }
        search.found
    }

    /// Searches every combination of alternatives, the least nested first.
    fn alternatives(&self, all: &Conjunction<'a>, union: usize, search: &mut Search<'_>) {
        if search.is_done() || all.types.is_empty() || !self.steps(1 + all.nodes.len() / 16) {
            return;
        }
        let Some(alternatives) = all.unions.get(union).map(|union| union.goals()) else {
            return self.candidates(all, search);
        };
        let mut alternatives: Vec<_> =
            alternatives.iter().filter_map(|goal| Some((self.facts.rank_of(&goal.all)?, goal))).collect();
        alternatives.sort_by_key(|(rank, _)| *rank);
        let is_large = alternatives.len() > MAX_TRIED;
        for (_, goal) in alternatives {
            let mut all = all.clone();
            all.add(goal);
            if is_large && self.facts.is_impossible(&all, union + 1).0 {
                continue;
            }
            self.with_most_steps(|| self.alternatives(&all, union + 1, search));
        }
    }

    /// Keeps a value if it reaches the goal. If a schema that must not fit speaks against it, tries values close to it.
    fn offer(&self, not: &[NodeId], value: Value, search: &mut Search<'_>) {
        let Err(value) = self.keep(value, search) else { return };
        let json = value.to_string();
        let Some(depth) = search.depth.checked_sub(1) else { return };
        for excluded in not {
            if !search.is_done() && self.steps(1) && (self.accepts)(*excluded, &json) {
                for value in self.variations(&[*excluded], &value, depth) {
                    drop(self.keep(value, search));
                }
            }
        }
    }

    /// Keeps a value if it reaches the goal, and gives it back otherwise.
    fn keep(&self, value: Value, search: &mut Search<'_>) -> Result<(), Value> {
        let json = value.to_string();
        let steps = 1 + json.len() / 128 + search.found.len() / 512;
        if search.is_done() || !self.steps(steps) || search.found.iter().any(|found| equal(found, &value)) {
            return Ok(());
        }
        if !self.fits_all(&search.goal.all, &json) || search.goal.not.iter().any(|not| (self.accepts)(*not, &json)) {
            return Err(value);
        }
        search.found.push(value);
        Ok(())
    }

    /// Offers values that are likely to fit the rules, the most readable first.
    fn candidates(&self, all: &Conjunction<'a>, search: &mut Search<'_>) {
        let notes = || all.nodes.iter().map(|node| &self.model()[*node].notes);
        let defaults = notes().filter_map(|notes| notes.default.as_ref());
        let examples = notes().flat_map(|notes| &notes.examples);
        let values = all.values.iter().flatten().copied();
        let written = defaults.chain(examples).chain(values).filter(|value| !value.is_null());
        for value in written {
            self.offer(&all.not, value.clone(), search);
        }
        if all.values.is_some() {
            return;
        }
        let has_rules = |types: Types| match types {
            Types::STRING => {
                all.min_length > 0 || all.max_length.is_some() || !all.patterns.is_empty() || !all.formats.is_empty()
            }
            Types::NUMBER => all.number != NumberRules::default(),
            Types::OBJECT => !all.objects.is_empty(),
            Types::ARRAY => !all.arrays.is_empty(),
            _ => false,
        };
        let mut types = [Types::STRING, Types::NUMBER, Types::BOOLEAN, Types::OBJECT, Types::ARRAY];
        types.sort_by_key(|types| !has_rules(*types));
        for types in types.into_iter().filter(|types| self.facts.admits(all, *types)) {
            self.with_most_steps(|| match types {
                Types::STRING => self.texts(all, search),
                Types::NUMBER => {
                    for number in numbers_of(all, search.count) {
                        self.offer(&all.not, number, search);
                    }
                }
                Types::BOOLEAN => [true, false].into_iter().for_each(|it| self.offer(&all.not, it.into(), search)),
                Types::OBJECT => self.objects(all, search),
                _ => self.arrays(all, search),
            });
        }
    }

    /// Offers texts.
    fn texts(&self, all: &Conjunction<'a>, search: &mut Search<'_>) {
        let min = usize::try_from(all.min_length.min(MAX_LENGTH)).unwrap_or_default();
        let max = all.max_length.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let formats: Vec<&str> = all.formats.iter().filter_map(|name| Some(format(name)?.example)).collect();
        let changed = formats.iter().copied().flat_map(|example| {
            let changed = move |digit: char| {
                let at = example.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
                at.map(move |(at, _)| format!("{}{digit}{}", &example[..at], &example[at + 1..]))
            };
            ('1'..='9').flat_map(changed)
        });
        let patterns = all.patterns.iter().filter_map(|pattern| Texts::new(self.model().pattern(*pattern)));
        let patterns: Vec<Texts> = patterns.collect();
        let variants = if patterns.is_empty() { 0 } else { search.count.saturating_add(12) };
        let matching = (0..variants).flat_map(|variant| [0, 1, 2, min].map(|extra| (variant, extra)));
        let matching = matching.flat_map(|(variant, extra)| {
            let mut texts: Vec<String> = patterns.iter().map(|pattern| pattern.text(variant, extra)).collect();
            if let [_, _, ..] = &texts[..] {
                let reversed = texts.iter().rev().map(String::as_str).collect();
                texts.extend([texts.concat(), reversed]);
            }
            texts
        });
        let count = search.count.saturating_mul(2).saturating_add(8);
        let is_free = formats.is_empty() && patterns.is_empty();
        let words = Texts::new("[a-z]{3}").into_iter().flat_map(|words| (0..count).map(move |it| words.text(it, 0)));
        let words = ["text".to_owned(), String::new()].into_iter().chain(words).filter(|_| is_free);
        for text in formats.iter().map(ToString::to_string).chain(changed).chain(matching).chain(words) {
            if search.is_done() || !self.steps(1) {
                return;
            }
            let missing = "a".repeat(min.saturating_sub(text.chars().count()));
            let cut: String = text.chars().take(max).collect();
            let mut fitted = vec![format!("{text}{missing}"), format!("{missing}{text}"), cut];
            fitted.dedup();
            for text in fitted {
                self.offer(&all.not, text.into(), search);
            }
        }
    }

    /// Offers lists.
    fn arrays(&self, all: &Conjunction<'a>, search: &mut Search<'_>) {
        let (min, max) = all.items();
        let contained: u64 = all.arrays.iter().flat_map(|rules| &rules.contains).map(|contains| contains.min).sum();
        let extra = u64::try_from(search.count).unwrap_or(u64::MAX).saturating_add(contained).saturating_add(1);
        for length in min..=max.unwrap_or(u64::MAX).min(min.saturating_add(extra)).min(MAX_LENGTH) {
            if search.is_done() || !self.steps(1) {
                return;
            }
            if let Some(items) = self.items(all, usize::try_from(length).unwrap_or_default(), search.depth) {
                self.offer(&all.not, items.into(), search);
            }
        }
    }

    /// A list of this length.
    fn items(&self, all: &Conjunction<'a>, length: usize, depth: usize) -> Option<Vec<Value>> {
        let depth = if length == 0 { depth } else { depth.checked_sub(1)? };
        let is_unique = all.arrays.iter().any(|rules| rules.unique);
        let prefix = all.arrays.iter().map(|rules| rules.prefix.len()).max().unwrap_or(0).min(length);
        let goal = |index: usize| Goal::all(all.item(index));
        let mut items: Vec<Value> = Vec::with_capacity(length);
        let pick = |items: &[Value], found: Vec<Value>| {
            found.into_iter().find(|found| !is_unique || !items.iter().any(|item| equal(item, found)))
        };
        for index in 0..prefix {
            let found = self.find(&goal(index), if is_unique { index + 1 } else { 1 }, depth);
            items.push(pick(&items, found)?);
        }
        if length > prefix {
            let found = self.find(&goal(prefix), if is_unique { length } else { 1 }, depth);
            if is_unique {
                let new = found.into_iter().filter(|found| !items[..prefix].iter().any(|item| equal(item, found)));
                let new: Vec<Value> = new.take(length - prefix).collect();
                items.extend(new);
            } else {
                items.resize(length, found.into_iter().next()?);
            }
        }
        // Makes as many items fit `contains` as must, and no more than may.
        let mut is_fixed = vec![false; items.len()];
        for contains in all.arrays.iter().flat_map(|rules| &rules.contains) {
            let fits = |item: &Value| (self.accepts)(contains.schema, &item.to_string());
            let mut count = u64::try_from(items.iter().filter(|item| fits(item)).count()).unwrap_or(u64::MAX);
            for index in (0..items.len()).rev() {
                let (lacks, exceeds) = (count < contains.min, contains.max.is_some_and(|max| count > max));
                let is_item = fits(&items[index]);
                if is_fixed[index] || !(lacks && !is_item || exceeds && is_item) {
                    is_fixed[index] |= is_item && count <= contains.min;
                    continue;
                }
                let mut goal = goal(index);
                if lacks { &mut goal.all } else { &mut goal.not }.push(contains.schema);
                let found = self.find(&goal, if is_unique { items.len() } else { 1 }, depth);
                if let Some(item) = pick(&items, found) {
                    items[index] = item;
                    is_fixed[index] = true;
                    count = if lacks { count + 1 } else { count - 1 };
                }
            }
        }
        (items.len() == length).then_some(items)
    }

    /// Offers objects.
    fn objects(&self, all: &Conjunction<'a>, search: &mut Search<'_>) {
        let mut optional: Vec<&str> = Vec::new();
        let declared = all.objects.iter().flat_map(|rules| &rules.properties);
        let mut declared: Vec<_> = declared.filter_map(|it| Some((self.facts.rank(it.schema)?, it))).collect();
        declared.sort_by_key(|(rank, _)| *rank);
        optional.extend(declared.iter().map(|(_, property)| property.name.as_str()));
        let others = self.other_names(all, search.count, search.depth);
        optional.extend(others.iter().map(String::as_str));
        let required = all.required();
        optional.retain(|name| !required.contains(name));
        for variant in 0..=search.count {
            let members = self.members(all, &[], &optional, variant, search.depth);
            if let Some(members) = members {
                self.offer(&all.not, members.into(), search);
            }
            if search.is_done() {
                return;
            }
        }
        for index in 0..optional.len() {
            if search.is_done() || !self.steps(1) {
                return;
            }
            let members = self.members(all, &optional[index..=index], &optional, 0, search.depth);
            if let Some(members) = members {
                self.offer(&all.not, members.into(), search);
            }
        }
    }

    /// Names of members that no schema names.
    fn other_names(&self, all: &Conjunction<'a>, count: usize, depth: usize) -> Vec<String> {
        let count = count.saturating_add(usize::try_from(all.members().0.min(MAX_LENGTH)).unwrap_or_default());
        let mut names = Vec::new();
        for (pattern, _) in all.objects.iter().flat_map(|rules| &rules.pattern_properties) {
            let texts = Texts::new(self.model().pattern(*pattern));
            names.extend(texts.iter().flat_map(|texts| (0..count + 2).map(|variant| texts.text(variant, 1))));
        }
        let schemas = all.names();
        if !schemas.is_empty() {
            let goal = Goal::all(schemas);
            let found = self.find(&goal, count, depth);
            names.extend(found.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        names.extend((1..=count + 1).map(|index| format!("key{index}")));
        names
    }

    /// The members that must be present, these, and further ones up to the minimum.
    fn members(
        &self,
        all: &Conjunction<'a>,
        more: &[&str],
        optional: &[&str],
        variant: usize,
        depth: usize,
    ) -> Option<JsonObject> {
        let (min, max) = all.members();
        let mut all = all.clone();
        let mut names: Vec<&str> = all.required();
        names.extend(more);
        'restart: loop {
            let mut members = JsonObject::new();
            let mut left: VecDeque<(&str, bool)> = names.iter().map(|name| (*name, true)).collect();
            left.extend(optional.iter().map(|name| (*name, false)));
            while let Some((name, is_needed)) = left.pop_front() {
                let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
                if members.contains_key(name) || (!is_needed && (count >= min || max.is_some_and(|max| count >= max))) {
                    continue;
                }
                if !self.steps(1) {
                    return None;
                }
                let value = self.member(&all, name, variant, depth.checked_sub(1)?);
                let Some(value) = value.filter(|_| self.fits_all(&all.names(), &Value::from(name).to_string())) else {
                    if is_needed {
                        return None;
                    }
                    continue;
                };
                members.insert(name.to_owned(), value);
                all.dependent_names(name).for_each(|name| left.push_front((name, true)));
                let dependents = all.dependents(&[name]);
                if !dependents.is_empty() {
                    all.add(&Goal::all(dependents));
                    names.extend(all.required().iter().chain(&[name]));
                    continue 'restart;
                }
            }
            return Some(members);
        }
    }

    fn member(&self, all: &Conjunction<'a>, name: &str, variant: usize, depth: usize) -> Option<Value> {
        let mut goal = Goal::all(self.facts.member(all, name));
        if goal.all.is_empty() {
            goal.all.extend(all.objects.iter().filter_map(|rules| rules.unevaluated));
        }
        let mut found = self.find(&goal, variant + 1, depth);
        found.pop()
    }
}

/// A text that a regular expression is likely to match.
pub(super) fn matching_text(pattern: &str) -> Option<String> {
    Texts::new(pattern).map(|texts| texts.text(0, 1))
}

/// Numbers that are likely to fit the rules.
fn numbers_of(all: &Conjunction<'_>, count: usize) -> Vec<Value> {
    let is_integer = !all.types.contains(Types::FRACTION);
    let exact = [true, is_integer].into_iter().filter_map(|is_integer| Grid::new(&all.number, is_integer));
    let mut numbers: Vec<Value> = exact.flat_map(|grid| grid.numbers(count)).filter_map(numbers::json).collect();
    let bounds = [all.number.min, all.number.max].into_iter().flatten();
    numbers.extend(bounds.flat_map(numbers::floats));
    numbers
}
