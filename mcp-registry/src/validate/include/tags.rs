//! Tells the alternatives of a union apart by a member, so that few of many have to be tried.

use std::collections::HashMap;
use std::rc::Rc;

use mcp_core::support::schema::{Model, NodeId, Property, Types};
use serde_json::Value;

use super::{Left, Prover};

/// Shorter unions are tried.
const MIN_ALTERNATIVES: usize = 4;

/// The alternatives of a union by the value of a member that they require.
pub(super) struct Tags<'a> {
    name: &'a str,
    by_value: HashMap<&'a str, Vec<NodeId>>,
    /// The alternatives that do not require the member, or not as one of several texts.
    others: Vec<NodeId>,
}

/// The texts that fit a member, if there are only these.
fn texts<'a>(model: &'a Model, property: &Property) -> Option<Vec<&'a str>> {
    let node = &model[model.resolved(property.schema)];
    let values = node.values.as_ref().filter(|_| !node.nullable)?;
    values.iter().map(Value::as_str).collect()
}

impl<'a> Tags<'a> {
    fn new(model: &'a Model, union: &[NodeId]) -> Option<Self> {
        let tags = |id: &NodeId| {
            let rules = model[model.resolved(*id)].object.as_deref();
            let required = rules.into_iter().flat_map(|rules| &rules.properties).filter(|property| property.required);
            let required = required.filter(|property| property.aliases.is_empty());
            required.filter_map(|property| Some((property.name.as_str(), texts(model, property)?)))
        };
        let mut counts: HashMap<&str, usize> = HashMap::new();
        union.iter().flat_map(tags).for_each(|(name, _)| *counts.entry(name).or_default() += 1);
        let (name, _) = counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)))?;
        let mut all = Self { name, by_value: HashMap::new(), others: Vec::new() };
        for id in union {
            match tags(id).find(|(of, _)| *of == name) {
                Some((_, texts)) => texts.iter().for_each(|text| all.by_value.entry(text).or_default().push(*id)),
                None => all.others.push(*id),
            }
        }
        Some(all)
    }
}

impl<'a> Prover<'a> {
    /// The alternatives that what is on the left may fit, by its tag.
    pub(super) fn possible(&self, left: &Left<'a>, union: &[NodeId]) -> Vec<NodeId> {
        // A tag says nothing about other values than objects.
        if union.len() < MIN_ALTERNATIVES || left.all.types & !Types::NULL != Types::OBJECT {
            return union.to_vec();
        }
        let tags = self.tags.borrow().get(union).cloned();
        let tags = tags.unwrap_or_else(|| {
            let tags = Rc::new(Tags::new(self.model, union));
            self.tags.borrow_mut().insert(union.to_vec(), Rc::clone(&tags));
            tags
        });
        let Some(tags) = &*tags else { return union.to_vec() };
        let properties = left.all.objects.iter().filter_map(|rules| rules.property(tags.name));
        let known = properties.filter(|it| it.name == tags.name).filter_map(|property| texts(self.model, property));
        let Some(texts) = known.min_by_key(Vec::len) else { return union.to_vec() };
        let tagged = texts.iter().filter_map(|text| tags.by_value.get(text)).flatten();
        let mut possible: Vec<NodeId> = tagged.chain(&tags.others).copied().collect();
        possible.sort_unstable();
        possible.dedup();
        possible
    }
}
