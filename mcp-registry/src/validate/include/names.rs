//! What both schemas may say about a part of a value, whichever alternatives apply to the value.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use mcp_core::support::schema::{NodeId, ObjectRules};
use serde_json::Value;

use super::{Left, Prover, Step};

/// The schemas that may apply to a part of a value: those of the left side, and those of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) left: Vec<NodeId>,
    pub(super) target: Vec<NodeId>,
    /// Whether the target counts on a null that stands for an absent member, further up.
    pub(super) counts_absence: bool,
}

/// For a context and schemas of the left, every schema that may apply.
pub(super) type Reached = RefCell<HashMap<(Rc<Context>, Vec<NodeId>), Rc<Context>>>;

impl<'a> Prover<'a> {
    /// Every schema that may apply to what is on the left, with those that apply because of others.
    pub(super) fn reached(&self, left: &Left<'a>) -> Rc<Context> {
        let context = self.context.borrow().clone();
        let key = (context, left.all.nodes.clone());
        if let Some(known) = self.reached.borrow().get(&key) {
            return Rc::clone(known);
        }
        let reached = Rc::new(Context {
            left: self.in_place(left, &key.0.left),
            target: self.in_place(left, &key.0.target),
            counts_absence: key.0.counts_absence,
        });
        self.reached.borrow_mut().insert(key, Rc::clone(&reached));
        reached
    }

    /// The nodes, and all that may apply to the same value. Alternatives that exclude what is on the left do not.
    fn in_place(&self, left: &Left<'a>, nodes: &[NodeId]) -> Vec<NodeId> {
        let mut found: Vec<NodeId> = nodes.to_vec();
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            next += 1;
            let node = &self.model[id];
            let unions = node.any_of.iter().chain(&node.one_of);
            let excluded: Vec<NodeId> = unions.flat_map(|union| self.excluded(left, union)).collect();
            for inner in node.in_place().filter(|inner| !excluded.contains(inner)) {
                let inner = self.model.resolved(inner);
                if !found.contains(&inner) {
                    found.push(inner);
                }
            }
            self.step(1);
        }
        found
    }

    /// The alternatives that plainly exclude what is on the left.
    fn excluded(&self, left: &Left<'a>, union: &[NodeId]) -> Vec<NodeId> {
        let possible = self.possible(left, union);
        let is_disjoint = |one: &NodeId| left.all.nodes.iter().any(|node| self.model.are_disjoint(*node, *one));
        union.iter().copied().filter(|one| !possible.contains(one) || is_disjoint(one)).collect()
    }

    /// The context of a part of what is on the left.
    pub(super) fn context_of(&self, left: &Left<'a>, step: &Step) -> Rc<Context> {
        if !self.depends_on_context() {
            return Rc::default();
        }
        let whole = self.reached(left);
        let counts_absence = self.how.get().null_is_absent && self.counts_absence(left, &whole);
        Rc::new(Context {
            left: self.parts(&whole.left, step),
            target: self.parts(&whole.target, step),
            counts_absence,
        })
    }

    /// Whether an answer may differ from place to place.
    pub(super) fn depends_on_context(&self) -> bool {
        let how = self.how.get();
        how.null_is_absent || how.may_name_members
    }

    /// The schemas of a part.
    fn parts(&self, nodes: &[NodeId], step: &Step) -> Vec<NodeId> {
        let mut parts = Vec::new();
        for node in nodes.iter().map(|id| &self.model[*id]) {
            match (step, &node.object, &node.array) {
                (Step::Member(name), Some(rules), _) => parts.extend(self.schemas_of(rules, name)),
                (Step::Item(index), _, Some(rules)) => {
                    parts.extend(rules.prefix.get(*index).copied().or(rules.items));
                    parts.extend(rules.contains.iter().map(|contains| contains.schema));
                }
                _ => {}
            }
        }
        let mut parts: Vec<NodeId> = parts.into_iter().map(|part| self.model.resolved(part)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// The schemas that may apply to a member. A name that is not listed stands for others.
    fn schemas_of(&self, rules: &ObjectRules, name: &str) -> Vec<NodeId> {
        self.step(rules.pattern_properties.len() / 256);
        let property = rules.property(name).map(|property| property.schema);
        let patterns = rules.pattern_properties.iter();
        let patterns = patterns.filter(|(id, _)| property.is_none() || self.matches(*id, name));
        let more = [rules.additional, rules.unevaluated].into_iter().flatten().filter(|_| property.is_none());
        property.into_iter().chain(patterns.map(|(_, schema)| *schema)).chain(more).collect()
    }

    /// Whether the left side says something about members of this name, whichever alternatives apply.
    pub(super) fn is_named(&self, left: &Left<'a>, name: &str) -> bool {
        let is_open_or_closed = |more: NodeId| self.is_never(&[more]) || self.is_any(more);
        let names = |rules: &ObjectRules| {
            let mut dependent = rules.dependent_required.iter();
            let mut patterns = rules.pattern_properties.iter();
            rules.property(name).is_some()
                || rules.required.iter().any(|required| required == name)
                || patterns.any(|(id, schema)| !self.is_any(*schema) && self.matches(*id, name))
                || rules.additional.is_some_and(|more| !is_open_or_closed(more))
                || rules.names.is_some_and(|names| self.lists(names, &Value::from(name)) == Some(true))
                || rules.dependent_schemas.iter().any(|(of, _)| of == name)
                || dependent.any(|(of, names)| of == name || names.iter().any(|it| it == name))
        };
        let reached = self.reached(left);
        reached.left.iter().filter_map(|id| self.model[*id].object.as_deref()).any(names)
    }
}
