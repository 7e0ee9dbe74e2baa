//! Values for a schema: one that fits, and one that does not.
//!
//! Every part of a value is made for the conjunction of all schemas that apply to it, one alternative of each union after
//! the other, and verified with the checker. The number of steps is limited.

#![allow(dead_code, reason = "not used yet")]

use std::cell::Cell;
use std::collections::VecDeque;

use mcp_core::message::JsonObject;
use mcp_core::support::schema::{Decimal, Model, NodeId, Types, equal};
use serde_json::{Value, json};

#[allow(unused_imports, reason = "not used yet")]
pub(crate) use super::conjunction::contradiction;
use super::conjunction::{Conjunction, Facts, Goal, may_be_null};
use super::formats::format;
use super::numbers::{self, Grid};
use super::texts::Texts;

/// How many steps a sample takes at most.
const MAX_STEPS: usize = 1 << 13;
/// How much deeper a value is nested than it seems to need.
const DEPTH_RESERVE: usize = 8;
/// How deep values are nested at most.
const MAX_DEPTH: usize = 100;
/// The longest texts and lists that are made.
const MAX_LENGTH: u64 = 1 << 12;
/// The name of a member that no schema describes.
const UNKNOWN: &str = "unknown";

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

    /// A value that does not fit and is close to one that does; none if every value fits or none was found.
    pub(crate) fn violating(&self, node: NodeId) -> Option<Value> {
        let sample = self.fitting(node).unwrap_or_default();
        self.steps.set(MAX_STEPS);
        self.broken(&[node], &sample, self.depth(node))
    }

    fn model(&self) -> &'a Model {
        self.facts.model
    }

    fn depth(&self, node: NodeId) -> usize {
        let rank = usize::try_from(self.facts.rank(node).unwrap_or_default()).unwrap_or(MAX_DEPTH);
        (rank + DEPTH_RESERVE).min(MAX_DEPTH)
    }

    fn sample(&self, node: NodeId) -> Option<Value> {
        self.find(&Goal { all: vec![node], not: Vec::new() }, 1, self.depth(node)).pop()
    }

    /// Takes a step, if there is one left.
    fn steps(&self) -> bool {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    fn fits_all(&self, nodes: &[NodeId], json: &str) -> bool {
        nodes.iter().all(|node| (self.accepts)(*node, json))
    }

    /// Different values that reach the goal, at most so many.
    fn find(&self, goal: &Goal, count: usize, depth: usize) -> Vec<Value> {
        let mut search = Search { goal, count, depth, found: Vec::new() };
        if self.facts.rank_of(&goal.all).is_some() {
            self.alternatives(&Conjunction::new(self.model(), goal), 0, &mut search);
            if !search.is_done() && goal.all.iter().all(|node| may_be_null(self.model(), *node, 0)) {
                self.offer(&[], Value::Null, &mut search);
            }
        }
        search.found
    }

    /// Searches every combination of alternatives, the least nested first.
    fn alternatives(&self, all: &Conjunction<'a>, union: usize, search: &mut Search<'_>) {
        if search.is_done() || all.types.is_empty() || !self.steps() {
            return;
        }
        let Some(alternatives) = all.unions.get(union) else {
            return self.candidates(all, search);
        };
        let mut alternatives: Vec<_> =
            alternatives.iter().filter_map(|goal| Some((self.facts.rank_of(&goal.all)?, goal))).collect();
        alternatives.sort_by_key(|(rank, _)| *rank);
        for (_, goal) in alternatives {
            let mut all = all.clone();
            all.add(goal);
            self.alternatives(&all, union + 1, search);
        }
    }

    /// Keeps a value if it reaches the goal. If a schema that must not fit speaks against it, tries values close to it.
    fn offer(&self, not: &[NodeId], value: Value, search: &mut Search<'_>) {
        let Err(value) = self.keep(value, search) else { return };
        let json = value.to_string();
        let Some(depth) = search.depth.checked_sub(1) else { return };
        for excluded in not {
            if !search.is_done() && self.steps() && (self.accepts)(*excluded, &json) {
                for value in self.variations(&[*excluded], &value, depth) {
                    drop(self.keep(value, search));
                }
            }
        }
    }

    /// Keeps a value if it reaches the goal, and gives it back otherwise.
    fn keep(&self, value: Value, search: &mut Search<'_>) -> Result<(), Value> {
        if search.is_done() || search.found.iter().any(|found| equal(found, &value)) || !self.steps() {
            return Ok(());
        }
        let json = value.to_string();
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
            Types::NUMBER => all.number != mcp_core::support::schema::NumberRules::default(),
            Types::OBJECT => !all.objects.is_empty(),
            Types::ARRAY => !all.arrays.is_empty(),
            _ => false,
        };
        let mut types = [Types::STRING, Types::NUMBER, Types::BOOLEAN, Types::OBJECT, Types::ARRAY];
        types.sort_by_key(|types| !has_rules(*types));
        for types in types.into_iter().filter(|types| all.types.intersects(*types)) {
            match types {
                Types::STRING => {
                    for text in self.texts(all, search.count) {
                        self.offer(&all.not, text.into(), search);
                    }
                }
                Types::NUMBER => {
                    for number in numbers_of(all, search.count) {
                        self.offer(&all.not, number, search);
                    }
                }
                Types::BOOLEAN => [true, false].into_iter().for_each(|it| self.offer(&all.not, it.into(), search)),
                Types::OBJECT => self.objects(all, search),
                _ => self.arrays(all, search),
            }
        }
    }

    /// Texts that are likely to fit the rules.
    fn texts(&self, all: &Conjunction<'a>, count: usize) -> Vec<String> {
        let min = usize::try_from(all.min_length.min(MAX_LENGTH)).unwrap_or_default();
        let max = all.max_length.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let mut texts = Vec::new();
        for format in all.formats.iter().filter_map(|name| format(name)) {
            texts.push(format.example.to_owned());
            let digits = format.example.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
            for (index, digit) in
                digits.flat_map(|(index, _)| ('1'..='9').map(move |digit| (index, digit))).take(count * 4)
            {
                let mut text = format.example.to_owned();
                text.replace_range(index..=index, digit.encode_utf8(&mut [0; 4]));
                texts.push(text);
            }
        }
        let patterns: Vec<Texts> =
            all.patterns.iter().filter_map(|pattern| Texts::new(self.model().pattern(*pattern))).collect();
        for variant in 0..if patterns.is_empty() { 0 } else { count + 12 } {
            for extra in [0, 1, 2, min] {
                let made: Vec<String> = patterns.iter().map(|pattern| pattern.text(variant, extra)).collect();
                let reversed = made.iter().rev().map(String::as_str).collect();
                texts.extend([made.concat(), reversed]);
                texts.extend(made);
            }
        }
        if texts.is_empty() {
            texts.push("text".to_owned());
            texts.extend((0..count + 8).map(|index| {
                Texts::new("^[a-z]{1,}$").map_or_else(String::new, |it| it.text(index, usize::from(index > 25)))
            }));
            texts.push(String::new());
        }
        let fitted = texts.iter().flat_map(|text| {
            let length = text.chars().count();
            let missing = "a".repeat(min.saturating_sub(length));
            let cut: String = text.chars().take(max).collect();
            [format!("{text}{missing}"), format!("{missing}{text}"), cut]
        });
        let mut fitted: Vec<String> = fitted.collect();
        fitted.dedup();
        fitted
    }

    /// Offers lists.
    fn arrays(&self, all: &Conjunction<'a>, search: &mut Search<'_>) {
        let (min, max) = all.items();
        let contained: u64 = all.arrays.iter().flat_map(|rules| &rules.contains).map(|contains| contains.min).sum();
        let extra = u64::try_from(search.count).unwrap_or(u64::MAX).saturating_add(contained).saturating_add(1);
        for length in min..=max.unwrap_or(u64::MAX).min(min.saturating_add(extra)).min(MAX_LENGTH) {
            if search.is_done() || !self.steps() {
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
        let goal = |index: usize| Goal { all: all.item(index), not: Vec::new() };
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
            members.into_iter().for_each(|members| self.offer(&all.not, members.into(), search));
            if search.is_done() {
                return;
            }
        }
        for index in 0..optional.len() {
            if search.is_done() || !self.steps() {
                return;
            }
            let members = self.members(all, &optional[index..=index], &optional, 0, search.depth);
            members.into_iter().for_each(|members| self.offer(&all.not, members.into(), search));
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
            let goal = Goal { all: schemas, not: Vec::new() };
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
                    all.add(&Goal { all: dependents, not: Vec::new() });
                    names.extend(all.required().iter().chain(&[name]));
                    continue 'restart;
                }
            }
            return Some(members);
        }
    }

    fn member(&self, all: &Conjunction<'a>, name: &str, variant: usize, depth: usize) -> Option<Value> {
        let mut goal = Goal { all: self.facts.member(all, name), not: Vec::new() };
        if goal.all.is_empty() {
            goal.all.extend(all.objects.iter().filter_map(|rules| rules.unevaluated));
        }
        let mut found = self.find(&goal, variant + 1, depth);
        found.pop()
    }

    /// A value that does not fit all of the nodes, made from one that does.
    fn broken(&self, nodes: &[NodeId], value: &Value, depth: usize) -> Option<Value> {
        let does_not_fit = |value: &Value| self.steps() && !self.fits_all(nodes, &value.to_string());
        self.variations(nodes, value, depth).into_iter().find(does_not_fit)
    }

    /// The values that are close to this one and may break a rule of the nodes, and values of every type.
    fn variations(&self, nodes: &[NodeId], value: &Value, depth: usize) -> Vec<Value> {
        let mut all = Conjunction::new(self.model(), &Goal { all: nodes.to_vec(), not: Vec::new() });
        // Of unions, the alternatives that the value fits say how it can be broken.
        let json = value.to_string();
        let mut union = 0;
        while let Some(alternatives) = all.unions.get(union).filter(|_| self.steps()) {
            let fits = |goal: &&Goal| self.fits_all(&goal.all, &json);
            let goals: Vec<Goal> = alternatives.iter().filter(fits).cloned().collect();
            goals.iter().for_each(|goal| all.add(&Goal { all: goal.all.clone(), not: Vec::new() }));
            union += 1;
        }
        let mut others = Vec::new();
        match value {
            Value::String(text) => others.extend(text_variations(&all, text).into_iter().map(Value::from)),
            Value::Number(number) => {
                let grids = [true, false].into_iter().filter_map(|is_integer| Grid::new(&all.number, is_integer));
                let around = grids.flat_map(|grid| grid.others(Decimal::of(number)));
                others.extend(around.filter_map(numbers::json));
                let bounds = [all.number.min, all.number.max].into_iter().flatten();
                others.extend(bounds.flat_map(numbers::floats));
                others.extend(number.as_i64().and_then(|number| number.checked_add(1)).map(Value::from));
            }
            Value::Bool(value) => others.push((!value).into()),
            Value::Array(items) => self.array_variations(&all, items, depth, &mut others),
            Value::Object(members) => self.object_variations(&all, members, depth, &mut others),
            Value::Null => {}
        }
        for not in &all.not {
            if depth > 0 {
                others.extend(self.find(&Goal { all: vec![*not], not: Vec::new() }, 1, depth - 1));
            }
        }
        others.extend([json!(null), json!(true), json!(0), json!(0.5), json!("~"), json!([]), json!({})]);
        others
    }

    fn array_variations(&self, all: &Conjunction<'a>, items: &[Value], depth: usize, others: &mut Vec<Value>) {
        let (min, max) = all.items();
        if min > 0 || all.arrays.iter().any(|rules| !rules.contains.is_empty()) {
            others.push(items[..items.len().saturating_sub(1)].into());
            others.push(json!([]));
        }
        let depth = depth.saturating_sub(1);
        let extended = |length: u64| {
            let length = usize::try_from(length.min(MAX_LENGTH)).unwrap_or_default();
            let new =
                self.find(&Goal { all: all.item(items.len()), not: Vec::new() }, 1, depth).pop().unwrap_or_default();
            let filler = items.last().cloned().unwrap_or(new);
            let mut items = items.to_vec();
            items.resize(length.max(items.len()), filler);
            Value::from(items)
        };
        if depth == 0 {
            return;
        }
        others.extend(max.map(|max| extended(max.saturating_add(1))));
        for index in 0..=items.len().min(8) {
            let schemas = all.item(index);
            let new = || self.find(&Goal { all: schemas.clone(), not: Vec::new() }, 1, depth).pop();
            let item = items.get(index).cloned().or_else(new).unwrap_or_default();
            if let Some(broken) = self.broken(&schemas, &item, depth) {
                let mut items = items.to_vec();
                items.truncate(index);
                items.push(broken);
                others.push(items.into());
            }
        }
        others.push(extended(2));
        for contains in all.arrays.iter().flat_map(|rules| &rules.contains) {
            let goal = |is_item: bool| match is_item {
                true => Goal { all: vec![contains.schema], not: Vec::new() },
                false => Goal { all: Vec::new(), not: vec![contains.schema] },
            };
            let most = contains.max.map_or(0, |max| usize::try_from(max.min(MAX_LENGTH)).unwrap_or_default() + 1);
            for (is_item, length) in [(true, most), (false, items.len())] {
                let item = self.find(&goal(is_item), 1, depth).pop();
                others.extend(item.map(|item| Value::from(vec![item; length])));
            }
        }
    }

    fn object_variations(&self, all: &Conjunction<'a>, members: &JsonObject, depth: usize, others: &mut Vec<Value>) {
        let without = |name: &str| {
            let mut members = members.clone();
            members.shift_remove(name);
            Value::from(members)
        };
        let with = |name: &str, value: Value| {
            let mut members = members.clone();
            members.insert(name.to_owned(), value);
            Value::from(members)
        };
        let required = all.required();
        others.extend(required.iter().filter(|name| members.contains_key(**name)).map(|name| without(name)));
        let Some(depth) = depth.checked_sub(1) else { return };
        let declared = all.objects.iter().flat_map(|rules| &rules.properties).map(|property| property.name.as_str());
        let known = members.keys().map(String::as_str).chain(declared);
        for name in known {
            let value = members.get(name).cloned().or_else(|| self.member(all, name, 0, depth));
            let broken = self.broken(&self.facts.member(all, name), &value.unwrap_or_default(), depth);
            others.extend(broken.map(|value| with(name, value)));
        }
        let names = all.names();
        let name = if names.is_empty() { None } else { self.broken(&names, &json!("text"), depth) };
        let patterns = all.objects.iter().flat_map(|rules| &rules.pattern_properties);
        let matching =
            patterns.filter_map(|(pattern, _)| Texts::new(self.model().pattern(*pattern))).map(|it| it.text(0, 1));
        let mut unknown: Vec<String> = matching.collect();
        unknown.extend(name.iter().filter_map(Value::as_str).map(str::to_owned));
        unknown.push(UNKNOWN.to_owned());
        for name in &unknown {
            let schemas = self.facts.member(all, name);
            let fits = self.find(&Goal { all: schemas.clone(), not: Vec::new() }, 1, depth).pop().unwrap_or_default();
            others.extend(self.broken(&schemas, &fits, depth).map(|value| with(name, value)));
            others.push(with(name, fits));
        }
        // Optional members, alone and all of them, as conditions and dependencies look at them.
        let mut full = members.clone();
        let declared = all.objects.iter().flat_map(|rules| &rules.properties).map(|property| property.name.as_str());
        let dependent =
            all.objects.iter().flat_map(|rules| rules.dependent_required.iter().map(|(name, _)| name.as_str()));
        let named = all.objects.iter().flat_map(|rules| rules.dependent_schemas.iter().map(|(name, _)| name.as_str()));
        for name in declared.chain(dependent).chain(named) {
            if let Some(value) = self.member(all, name, 0, depth) {
                others.push(with(name, value.clone()));
                full.entry(name).or_insert(value);
            }
        }
        if let Some(max) = all.members().1.filter(|max| *max < MAX_LENGTH) {
            for name in self.other_names(all, usize::try_from(max).unwrap_or_default() + 1, depth) {
                if u64::try_from(full.len()).is_ok_and(|count| count <= max) {
                    if let Some(value) = self.member(all, &name, 0, depth) {
                        full.insert(name, value);
                    }
                }
            }
        }
        others.push(full.into());
        others.extend(members.keys().map(|name| without(name)));
        others.push(json!({}));
    }
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

/// Texts that are close to this one and may break a rule.
fn text_variations(all: &Conjunction<'_>, text: &str) -> Vec<String> {
    let length = text.chars().count();
    let mut others = Vec::new();
    if let Some(shorter) = all.min_length.checked_sub(1) {
        others.push(text.chars().take(usize::try_from(shorter).unwrap_or(usize::MAX)).collect());
    }
    if let Some(longer) = all.max_length.filter(|max| *max < MAX_LENGTH) {
        let missing = usize::try_from(longer + 1).unwrap_or_default().saturating_sub(length);
        others.push(format!("{text}{}", text.chars().next_back().unwrap_or('a').to_string().repeat(missing)));
    }
    others.extend(all.formats.iter().filter_map(|name| format(name)).map(|format| format.counterexample.to_owned()));
    others.extend([format!("{text}~"), format!("~{text}"), "~".to_owned(), String::new(), " ".to_owned()]);
    others
}
