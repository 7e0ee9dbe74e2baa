//! Whether two schemas are plainly the same, apart from what they say about values without a rule.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use mcp_core::support::schema::{ArrayRules, Node, NodeId, ObjectRules};
use serde_json::Value;

use super::{MAX_DEPTH, Prover};
use crate::validate::sample::conjunction::Listed;

/// Pairs that are being compared, in the order in which they came.
#[derive(Default)]
struct Pairs {
    all: HashSet<(NodeId, NodeId)>,
    order: Vec<(NodeId, NodeId)>,
}

/// How deep schemas are looked into before they are compared.
const DEPTH: usize = 2;

impl Prover<'_> {
    /// Whether the two have the same rules. Order does not matter, and references are followed.
    pub(super) fn is_same(&self, one: NodeId, other: NodeId) -> bool {
        let pair = (self.model.resolved(one), self.model.resolved(other));
        if let Some(known) = self.same.borrow().get(&pair) {
            return *known;
        }
        let is_same = self.compare(pair.0, pair.1, &mut Pairs::default());
        self.same.borrow_mut().insert(pair, is_same);
        is_same
    }

    /// Pairs that are being compared count as the same.
    fn compare(&self, one: NodeId, other: NodeId, pairs: &mut Pairs) -> bool {
        let (one, other) = (self.model.resolved(one), self.model.resolved(other));
        if one == other || pairs.all.contains(&(one, other)) {
            return true;
        }
        let has_same_shape = self.shape(one, DEPTH) == self.shape(other, DEPTH);
        if !has_same_shape || !self.step(1) || self.effort.depth.get() >= MAX_DEPTH {
            return false;
        }
        pairs.all.insert((one, other));
        pairs.order.push((one, other));
        self.effort.depth.set(self.effort.depth.get() + 1);
        let is_same = self.compare_nodes(&self.model[one], &self.model[other], pairs);
        self.effort.depth.set(self.effort.depth.get() - 1);
        is_same
    }

    /// What is the same for schemas that are, whatever their order, and seldom for others: names, texts, types and bounds, as
    /// deep as that.
    fn shape(&self, id: NodeId, depth: usize) -> u64 {
        let id = self.model.resolved(id);
        if let Some(known) = self.shapes.borrow().get(&(id, depth)) {
            return *known;
        }
        let node = &self.model[id];
        let part = |id: NodeId| depth.checked_sub(1).map(|depth| self.shape(id, depth));
        let texts = node.values.iter().flatten().filter_map(Value::as_str).collect::<HashSet<_>>();
        let object = node.object.as_deref();
        let properties = object.into_iter().flat_map(|rules| &rules.properties);
        let properties = properties.map(|property| hash((&property.name, property.required, part(property.schema))));
        let items = node.array.as_ref().map(|rules| (rules.min_items, rules.max_items, rules.items.map(part)));
        let limits = [node.number.min, node.number.max].map(|limit| limit.map(|it| (it.value, it.exclusive)));
        let lengths = (node.string.min_length, node.string.max_length);
        let parts: Vec<u64> = texts.into_iter().map(hash).chain(properties).collect();
        self.step(parts.len() / 16);
        let sum = parts.into_iter().fold(0, u64::wrapping_add);
        let shape = hash((node.types, node.nullable, items, limits, lengths, sum));
        self.shapes.borrow_mut().insert((id, depth), shape);
        shape
    }

    fn compare_nodes(&self, one: &Node, other: &Node, pairs: &mut Pairs) -> bool {
        has_same_values(one, other)
            && one.types == other.types
            && one.nullable == other.nullable
            && one.number == other.number
            && one.string == other.string
            && one.not.len() == other.not.len()
            && one.conditions.len() == other.conditions.len()
            && self.compare_options(one.reference, other.reference, pairs)
            && self.compare_lists(&one.all_of, &other.all_of, pairs)
            && self.compare_lists(&one.not, &other.not, pairs)
            && self.compare_unions(&one.any_of, &other.any_of, pairs)
            && self.compare_unions(&one.one_of, &other.one_of, pairs)
            && one.conditions.iter().zip(&other.conditions).all(|(one, other)| {
                self.compare(one.condition, other.condition, pairs)
                    && self.compare_options(one.then, other.then, pairs)
                    && self.compare_options(one.otherwise, other.otherwise, pairs)
            })
            && match (&one.array, &other.array) {
                (Some(one), Some(other)) => self.compare_arrays(one, other, pairs),
                (one, other) => one.is_none() && other.is_none(),
            }
            && match (&one.object, &other.object) {
                (Some(one), Some(other)) => self.compare_objects(one, other, pairs),
                (one, other) => one.is_none() && other.is_none(),
            }
    }

    fn compare_options(&self, one: Option<NodeId>, other: Option<NodeId>, pairs: &mut Pairs) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => self.compare(one, other, pairs),
            (one, other) => one == other,
        }
    }

    /// Whether each schema of the one list is the same as one of the other.
    fn compare_lists(&self, one: &[NodeId], other: &[NodeId], pairs: &mut Pairs) -> bool {
        let mut left: HashMap<u64, Vec<NodeId>> = HashMap::new();
        other.iter().rev().for_each(|other| left.entry(self.shape(*other, DEPTH)).or_default().push(*other));
        one.len() == other.len()
            && one.iter().all(|one| {
                let Some(left) = left.get_mut(&self.shape(*one, DEPTH)) else { return false };
                let position = left.iter().rposition(|other| {
                    let known = pairs.order.len();
                    let is_same = self.compare(*one, *other, pairs);
                    // A pair that differs must not count as the same afterwards.
                    let dropped = if is_same { pairs.order.len() } else { known };
                    pairs.order.drain(dropped..).for_each(|pair| _ = pairs.all.remove(&pair));
                    is_same
                });
                position.map(|position| left.swap_remove(position)).is_some()
            })
    }

    fn compare_unions(&self, one: &[Vec<NodeId>], other: &[Vec<NodeId>], pairs: &mut Pairs) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| self.compare_lists(one, other, pairs))
    }

    fn compare_arrays(&self, one: &ArrayRules, other: &ArrayRules, pairs: &mut Pairs) -> bool {
        (one.min_items, one.max_items, one.unique) == (other.min_items, other.max_items, other.unique)
            && one.prefix.len() == other.prefix.len()
            && one.prefix.iter().zip(&other.prefix).all(|(one, other)| self.compare(*one, *other, pairs))
            && self.compare_options(one.items, other.items, pairs)
            && one.contains.len() == other.contains.len()
            && one.contains.iter().zip(&other.contains).all(|(one, other)| {
                (one.min, one.max) == (other.min, other.max) && self.compare(one.schema, other.schema, pairs)
            })
    }

    fn compare_objects(&self, one: &ObjectRules, other: &ObjectRules, pairs: &mut Pairs) -> bool {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names
        };
        one.properties.len() == other.properties.len()
            && one.pattern_properties.len() == other.pattern_properties.len()
            && (one.min_properties, one.max_properties) == (other.min_properties, other.max_properties)
            && sorted(&one.required) == sorted(&other.required)
            && one.dependent_required == other.dependent_required
            && one.dependent_schemas.len() == other.dependent_schemas.len()
            && one.properties.iter().all(|property| {
                let other = other.properties.iter().find(|other| other.name == property.name);
                other.is_some_and(|other| {
                    property.required == other.required
                        && sorted(&property.aliases) == sorted(&other.aliases)
                        && self.compare(property.schema, other.schema, pairs)
                })
            })
            && one.pattern_properties.iter().all(|(pattern, schema)| {
                let other = other.pattern_properties.iter().find(|(other, _)| other == pattern);
                other.is_some_and(|(_, other)| self.compare(*schema, *other, pairs))
            })
            && one.dependent_schemas.iter().all(|(name, schema)| {
                let other = other.dependent_schemas.iter().find(|(other, _)| other == name);
                other.is_some_and(|(_, other)| self.compare(*schema, *other, pairs))
            })
            && self.compare_options(one.additional, other.additional, pairs)
            && self.compare_options(one.names, other.names, pairs)
            && self.compare_options(one.unevaluated, other.unevaluated, pairs)
    }
}

fn has_same_values(one: &Node, other: &Node) -> bool {
    let is_same = |one: &[Value], other: &[Value]| {
        let contains = |values: &[Value], all: &[Value]| {
            let listed = Listed::new(values);
            all.iter().all(|value| listed.contains(value))
        };
        one == other || (contains(one, other) && contains(other, one))
    };
    is_same(&one.aliases, &other.aliases)
        && match (&one.values, &other.values) {
            (Some(one), Some(other)) => is_same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
