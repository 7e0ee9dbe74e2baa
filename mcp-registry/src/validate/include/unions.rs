//! Unions, conditions and exclusions of the target.

use mcp_core::support::schema::{Condition, NodeId, Types};

use super::{Effort, Kind, Left, Prover};
use crate::validate::sample::conjunction::Goal;

const EACH_TYPE: [Types; 6] =
    [Types::BOOLEAN, Types::FRACTION, Types::INTEGER, Types::STRING, Types::ARRAY, Types::OBJECT];

/// How deep exclusions are proved for the sake of others. Each one asks about all alternatives, so they multiply.
const MAX_EXCLUSIONS: usize = 2;

impl<'a> Prover<'a> {
    /// Whether everything on the left fits one of the alternatives, and no other one if they are exclusive.
    pub(super) fn fits_union(&self, left: &Left<'a>, target: NodeId, union: &[NodeId], is_exclusive: bool) -> bool {
        let union = &self.possible(left, union)[..];
        let is_known = |one: &NodeId| left.all.nodes.iter().any(|node| self.is_same(*node, *one));
        if !is_exclusive && union.iter().any(is_known) {
            return true;
        }
        let excludes_others =
            |one: NodeId| union.iter().filter(|other| **other != one).all(|other| self.excludes(left, *other));
        let fits = |one: NodeId| self.includes(left, one) && (!is_exclusive || excludes_others(one));
        if union.iter().any(|one| self.holds(|| fits(*one))) {
            return true;
        }
        if let Some(cases) = self.cases(left) {
            // Every case has gaps of its own.
            return cases.iter().filter(|case| !self.fits_union(case, target, union, is_exclusive)).count() == 0;
        }
        // If only one alternative comes into question, its gaps are the gaps.
        let possible: Vec<NodeId> = union.iter().copied().filter(|it| !self.excludes(left, *it)).collect();
        match possible[..] {
            [only] => self.includes(left, only),
            _ => self.fail(Kind::Alternatives, left, target),
        }
    }

    /// The left side by its types, if it has several.
    fn cases(&self, left: &Left<'a>) -> Option<Vec<Left<'a>>> {
        let types: Vec<Types> = EACH_TYPE.into_iter().filter(|types| left.all.types.contains(*types)).collect();
        if types.len() < 2 {
            return None;
        }
        let case = |types: &Types| {
            let mut left = left.clone();
            left.all.types = *types;
            left
        };
        let is_possible = |left: &Left<'a>| !self.is_impossible(left);
        Some(types.iter().map(case).filter(is_possible).collect())
    }

    /// Whether nothing on the left fits a schema.
    pub(super) fn excludes(&self, left: &Left<'a>, id: NodeId) -> bool {
        let both = left.with(&Goal::all(vec![id]));
        if both.all.types.is_empty() || self.is_impossible(&both) {
            return true;
        }
        if let Some(values) = self.values(&both) {
            return values.is_empty();
        }
        let Effort { exclusions, cuts, .. } = &self.effort;
        if !self.step(1) || left.all.not.is_empty() {
            return false;
        }
        if exclusions.get() >= MAX_EXCLUSIONS {
            cuts.set(cuts.get() + 1);
            return false;
        }
        exclusions.set(exclusions.get() + 1);
        let is_excluded = left.all.not.iter().any(|not| self.exactly(|| self.includes(&both, *not)));
        exclusions.set(exclusions.get() - 1);
        is_excluded
    }

    pub(super) fn fits_condition(&self, left: &Left<'a>, condition: &Condition) -> bool {
        let Condition { condition, then, otherwise } = *condition;
        let fits = |branch: Option<NodeId>| branch.is_none_or(|branch| self.holds(|| self.includes(left, branch)));
        (fits(then) && fits(otherwise))
            || (self.excludes(left, condition) && fits(otherwise))
            || (self.exactly(|| self.includes(left, condition)) && fits(then))
    }
}
