//! Nulls that stand for absent members: the check drops them, so no other rule of the target may count on them.

use mcp_core::support::schema::{NodeId, ObjectRules};

use super::names::Context;
use super::{Left, Prover};
use crate::validate::check::depends_on_absence;

impl<'a> Prover<'a> {
    /// Whether a null for an optional member of the target is as good as no member.
    pub(super) fn forgives_null(&self, left: &Left<'a>) -> bool {
        self.how.get().null_is_absent && !self.counts_absence(left, &self.reached(left))
    }

    /// Whether a rule of the target, of this value or of one that it is a part of, counts on members that may be dropped.
    pub(super) fn counts_absence(&self, left: &Left<'a>, reached: &Context) -> bool {
        let nodes = || reached.target.iter().map(|id| &self.model[*id]);
        if reached.counts_absence || nodes().any(depends_on_absence) {
            return true;
        }
        let objects = || nodes().filter_map(|node| node.object.as_deref());
        let counts = |rules: &ObjectRules| rules.min_properties > 0 || !rules.dependent_required.is_empty();
        if !objects().any(|rules| counts(rules) || rules.required_names().next().is_some()) {
            return false;
        }
        let droppable = objects().flat_map(|rules| &rules.properties).filter(|property| !property.required);
        let droppable = droppable.filter(|property| !self.schema.accepts(property.schema, "null"));
        let names = droppable.flat_map(|property| std::iter::once(&property.name).chain(&property.aliases));
        let dropped: Vec<&str> = names.map(String::as_str).filter(|name| self.may_be_null(left, name)).collect();
        let is_dropped = |name: &str| dropped.contains(&name);
        let required = left.all.present();
        let kept = u64::try_from(required.iter().filter(|name| !is_dropped(name)).count()).unwrap_or_default();
        !dropped.is_empty()
            && objects().any(|rules| {
                let dependent = rules.dependent_required.iter().flat_map(|(_, names)| names);
                rules.min_properties > kept
                    || rules.required_names().any(is_dropped)
                    || dependent.map(String::as_str).any(is_dropped)
            })
    }

    fn may_be_null(&self, left: &Left<'a>, name: &str) -> bool {
        let accepts_null = |node: &NodeId| self.schema.accepts(*node, "null");
        self.member(left, name).schemas.iter().all(accepts_null)
    }
}
