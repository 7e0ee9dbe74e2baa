//! Values that schemas list.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use mcp_core::support::schema::{NodeId, NumberRules, Types};
use serde_json::Value;

use super::{Left, Prover};
use crate::validate::sample::conjunction::Listed;

/// The values that nodes list.
#[derive(Default)]
pub(super) struct Values<'a>(RefCell<HashMap<NodeId, Rc<Listed<'a>>>>);

impl<'a> Prover<'a> {
    /// All values on the left, if there are finitely many.
    pub(super) fn values(&self, left: &Left<'a>) -> Option<Vec<Value>> {
        let values: Vec<Value> = match &left.all.values {
            Some(values) => values.iter().copied().filter(|value| !value.is_null()).cloned().collect(),
            None if left.all.types == Types::BOOLEAN => vec![true.into(), false.into()],
            None => return None,
        };
        let fits = |value: &Value| {
            left.all.types.contains(Types::of(value))
                && left.all.nodes.iter().all(|node| self.judge(*node, value) != Some(false))
                && !left.all.not.iter().any(|node| self.accepts(*node, value))
        };
        Some(values.into_iter().filter(fits).collect())
    }

    /// Whether a schema lists a value other than null; none if that is not the only rule.
    pub(super) fn lists(&self, id: NodeId, value: &Value) -> Option<bool> {
        let node = &self.model[id];
        let values = node.values.as_ref()?;
        let known = Rc::clone(self.values.0.borrow_mut().entry(id).or_insert_with(|| Rc::new(Listed::new(values))));
        let has_other_rules = node.has_applicators()
            || node.number != NumberRules::default()
            || !node.string.has_no_rule()
            || node.array.is_some()
            || node.object.is_some();
        let fits = node.types.contains(Types::of(value)) && known.contains(value);
        (!fits || !has_other_rules).then_some(fits)
    }
}
