//! Values that break a rule of a schema, made from values that fit it.

use mcp_core::message::JsonObject;
use mcp_core::support::schema::{Decimal, NodeId};
use serde_json::{Value, json};

use super::conjunction::{Conjunction, Goal};
use super::numbers::{self, Grid};
use super::texts::Texts;
use super::{MAX_LENGTH, Samples};
use crate::validate::formats::format;

/// The name of a member that no schema describes.
const UNKNOWN: &str = "unknown";

/// How many members all variations of an object have at most, about.
const MAX_COPIED: usize = 1 << 15;

impl<'a> Samples<'a> {
    /// A value that does not fit all of the nodes, made from one that does.
    pub(super) fn broken(&self, nodes: &[NodeId], value: &Value, depth: usize) -> Option<Value> {
        let does_not_fit = |value: &Value| self.steps(1) && !self.fits_all(nodes, &value.to_string());
        self.variations(nodes, value, depth).into_iter().find(does_not_fit)
    }

    /// The values that are close to this one and may break a rule of the nodes, and values of every type.
    pub(super) fn variations(&self, nodes: &[NodeId], value: &Value, depth: usize) -> Vec<Value> {
        let mut all = Conjunction::new(self.model(), &Goal::all(nodes.to_vec()));
        // Of unions, the alternatives that the value fits say how it can be broken.
        let json = value.to_string();
        let mut union = 0;
        while let Some(alternatives) =
            all.unions.get(union).filter(|_| self.steps(1 + all.nodes.len() / 16)).map(|union| union.goals())
        {
            let fits = |goal: &&Goal| self.fits_all(&goal.all, &json);
            for goal in alternatives.iter().filter(fits) {
                all.add(&Goal::all(goal.all.clone()));
            }
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
                others.extend(self.find(&Goal::all(vec![*not]), 1, depth - 1));
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
            let new = self.find(&Goal::all(all.item(items.len())), 1, depth).pop().unwrap_or_default();
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
            let new = || self.find(&Goal::all(schemas.clone()), 1, depth).pop();
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
            let most = contains.max.map_or(0, |max| usize::try_from(max.min(MAX_LENGTH)).unwrap_or_default() + 1);
            let (fits, does_not) =
                (Goal::all(vec![contains.schema]), Goal { all: Vec::new(), not: vec![contains.schema] });
            for (goal, length) in [(fits, most), (does_not, items.len())] {
                let item = self.find(&goal, 1, depth).pop();
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
        // Each variation is a copy.
        let most = 1 + MAX_COPIED / (members.len() + 1);
        let required = all.required();
        others.extend(required.iter().filter(|name| members.contains_key(**name)).map(|name| without(name)).take(most));
        let Some(depth) = depth.checked_sub(1) else { return };
        let declared = all.objects.iter().flat_map(|rules| &rules.properties).map(|property| property.name.as_str());
        let known = members.keys().map(String::as_str).chain(declared);
        for name in known.take(most) {
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
            let fits = self.find(&Goal::all(schemas.clone()), 1, depth).pop().unwrap_or_default();
            others.extend(self.broken(&schemas, &fits, depth).map(|value| with(name, value)));
            others.push(with(name, fits));
        }
        // Optional members, alone and all of them, as conditions and dependencies look at them.
        let mut full = members.clone();
        let declared = all.objects.iter().flat_map(|rules| &rules.properties).map(|property| property.name.as_str());
        let dependent =
            all.objects.iter().flat_map(|rules| rules.dependent_required.iter().map(|(name, _)| name.as_str()));
        let conditional =
            all.objects.iter().flat_map(|rules| rules.dependent_schemas.iter().map(|(name, _)| name.as_str()));
        for (index, name) in declared.chain(dependent).chain(conditional).enumerate() {
            if let Some(value) = self.member(all, name, 0, depth) {
                if index < most {
                    others.push(with(name, value.clone()));
                }
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
        others.extend(members.keys().map(|name| without(name)).take(most));
        others.push(json!({}));
    }
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
