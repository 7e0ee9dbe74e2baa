//! The rules of the target about types, numbers, strings and arrays.

use mcp_core::support::schema::{
    ArrayRules, Contains, Decimal, Digits, Limit, NodeId, NumberRules, StringRules, Types,
};
use serde_json::Value;

use super::{Kind, Left, Prover, Step};
use crate::validate::sample::numbers::Grid;

impl<'a> Prover<'a> {
    /// Whether the rules that the target itself has follow.
    pub(super) fn own_rules(&self, left: &Left<'a>, target: NodeId) -> bool {
        let node = &self.model[target];
        let possible = self.types(left);
        let lost = possible & !node.types;
        if !lost.is_empty() {
            return self.fail(Kind::Type(lost), left, target);
        }
        if let Some(values) = &node.values {
            let both = [Value::Bool(true), Value::Bool(false)];
            let is_listed = |value: &Value| values.contains(value);
            return (possible == Types::BOOLEAN && both.iter().all(is_listed)) || self.fail(Kind::Enum, left, target);
        }
        let mut holds = true;
        if possible.intersects(Types::NUMBER) {
            holds &= self.number(left, &node.number, target);
        }
        if possible.intersects(Types::STRING) {
            holds &= self.string(left, &node.string, target);
        }
        if let Some(rules) = node.array.as_deref().filter(|_| possible.intersects(Types::ARRAY)) {
            holds &= self.array(left, rules, target);
        }
        if let Some(rules) = node.object.as_deref().filter(|_| possible.intersects(Types::OBJECT)) {
            holds &= self.object(left, rules, target);
        }
        holds
    }

    /// The types that are possible on the left.
    fn types(&self, left: &Left<'a>) -> Types {
        let all = &left.all;
        let possible = [Types::BOOLEAN, Types::INTEGER, Types::FRACTION, Types::STRING, Types::ARRAY, Types::OBJECT];
        let has_integers_only = all.number.multiple_of.iter().any(|of| of.is_integer());
        let is_possible = |types: &Types| {
            all.types.contains(*types)
                && !(*types == Types::FRACTION && has_integers_only)
                && self.facts.admits(all, *types)
        };
        possible.into_iter().filter(is_possible).fold(Types::NONE, |all, types| all | types)
    }

    fn number(&self, left: &Left<'a>, rules: &NumberRules, target: NodeId) -> bool {
        let known = &left.all.number;
        let is_integer = !self.types(left).contains(Types::FRACTION);
        // Between two fractions there is another one, so they have no least one.
        let has_ends = is_integer || !known.multiple_of.is_empty();
        let grid = Grid::new(known, is_integer).filter(|_| has_ends);
        let (least, most) = grid.as_ref().map_or((None, None), Grid::ends);
        let shown = |limit: Option<Limit>| limit.map(|limit| limit.value.to_string());
        let mut holds = true;
        if let Some(limit) = rules.min {
            let within = |value: Decimal| value > limit.value || (value == limit.value && !limit.exclusive);
            let by_limit = |known: Limit| within(known.value) || (known.value == limit.value && known.exclusive);
            if !known.min.is_some_and(by_limit) && !least.is_some_and(within) {
                let keyword = if limit.exclusive { "exclusiveMinimum" } else { "minimum" };
                holds = self.fail(Kind::Bound(keyword, shown(known.min), limit.value.to_string()), left, target);
            }
        }
        if let Some(limit) = rules.max {
            let within = |value: Decimal| value < limit.value || (value == limit.value && !limit.exclusive);
            let by_limit = |known: Limit| within(known.value) || (known.value == limit.value && known.exclusive);
            if !known.max.is_some_and(by_limit) && !most.is_some_and(within) {
                let keyword = if limit.exclusive { "exclusiveMaximum" } else { "maximum" };
                holds = self.fail(Kind::Bound(keyword, shown(known.max), limit.value.to_string()), left, target);
            }
        }
        for of in &rules.multiple_of {
            let is_multiple = |known: Decimal| {
                Digits::parse(known.to_string().as_bytes()).is_some_and(|known| known.is_multiple_of(*of))
            };
            let one = is_integer.then(|| Decimal::from(1));
            if !known.multiple_of.iter().copied().chain(one).any(is_multiple) {
                let known = known.multiple_of.first().map(ToString::to_string);
                holds = self.fail(Kind::Bound("multipleOf", known, of.to_string()), left, target);
            }
        }
        holds
    }

    fn string(&self, left: &Left<'a>, rules: &StringRules, target: NodeId) -> bool {
        let known = &left.all;
        let mut holds = self.at_least("minLength", known.min_length, rules.min_length, left, target);
        holds &= self.at_most("maxLength", known.max_length, rules.max_length, left, target);
        for pattern in rules.patterns.iter().filter(|pattern| !known.patterns.contains(pattern)) {
            holds = self.fail(Kind::Pattern(self.model.pattern(*pattern).to_owned()), left, target);
        }
        match &rules.format {
            Some(format) if rules.checks_format && !known.formats.contains(&format.as_str()) => {
                self.fail(Kind::Format(format.clone()), left, target)
            }
            _ => holds,
        }
    }

    pub(super) fn at_least(&self, key: &'static str, known: u64, min: u64, left: &Left<'a>, target: NodeId) -> bool {
        known >= min || {
            let known = (known > 0).then(|| known.to_string());
            self.fail(Kind::Bound(key, known, min.to_string()), left, target)
        }
    }

    pub(super) fn at_most(
        &self,
        key: &'static str,
        known: Option<u64>,
        max: Option<u64>,
        left: &Left<'a>,
        target: NodeId,
    ) -> bool {
        let Some(max) = max else { return true };
        known.is_some_and(|known| known <= max)
            || self.fail(Kind::Bound(key, known.map(|known| known.to_string()), max.to_string()), left, target)
    }

    fn array(&self, left: &Left<'a>, rules: &ArrayRules, target: NodeId) -> bool {
        let all = &left.all;
        let (min, mut max) = all.items();
        let prefix = all.arrays.iter().map(|known| known.prefix.len()).chain([rules.prefix.len()]).max().unwrap_or(0);
        // A list ends where no item fits.
        let ends = (0..=prefix).find(|index| {
            let item = all.item(*index);
            !item.is_empty() && self.is_never(&item)
        });
        max = max.into_iter().chain(ends.and_then(|ends| u64::try_from(ends).ok())).min();
        let mut holds = self.at_least("minItems", min, rules.min_items, left, target);
        holds &= self.at_most("maxItems", max, rules.max_items, left, target);
        for index in 0..=prefix {
            let is_possible = max.is_none_or(|max| u64::try_from(index).is_ok_and(|index| index < max));
            if let Some(item) = rules.prefix.get(index).copied().or(rules.items).filter(|_| is_possible) {
                if self.is_never(&[item]) {
                    let known = max.map(|max| max.to_string());
                    holds = self.fail(Kind::Bound("maxItems", known, index.to_string()), left, target);
                    break;
                }
                holds &= self.part_at(left, Step::Item(index), all.item(index), item, false);
            }
        }
        let is_unique = all.arrays.iter().any(|known| known.unique) || max.is_some_and(|max| max < 2);
        holds &= !rules.unique || is_unique || self.fail(Kind::Rule("uniqueItems"), left, target);
        for contains in &rules.contains {
            holds &=
                self.contains(left, contains, prefix, (min, max)) || self.fail(Kind::Rule("contains"), left, target);
        }
        holds
    }

    /// Whether plainly everything fits a schema.
    pub(super) fn is_any(&self, id: NodeId) -> bool {
        self.model[self.model.resolved(id)].is_any()
    }

    /// Whether plainly nothing fits all of the schemas.
    pub(super) fn is_never(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().any(|node| self.model[self.model.resolved(*node)].is_never())
    }

    fn contains(&self, left: &Left<'a>, rules: &Contains, prefix: usize, items: (u64, Option<u64>)) -> bool {
        let known = left.all.arrays.iter().flat_map(|known| &known.contains);
        let implies = |one: NodeId, other: NodeId| self.exactly(|| self.part(vec![one], other, false));
        let indexes = || 0..=prefix;
        let fits_all = || indexes().all(|index| self.exactly(|| self.part(left.all.item(index), rules.schema, false)));
        let fits_none = || {
            indexes().all(|index| {
                let mut item = left.all.item(index);
                item.push(rules.schema);
                let left = Left::new(self.model, item.clone());
                self.is_impossible(&left) && !item.iter().all(|node| self.schema.accepts(*node, "null"))
            })
        };
        let has_enough = rules.min == 0
            || known.clone().any(|known| known.min >= rules.min && implies(known.schema, rules.schema))
            || (items.0 >= rules.min && fits_all());
        let has_few = rules.max.is_none_or(|max| {
            items.1.is_some_and(|most| most <= max)
                || known
                    .clone()
                    .any(|known| known.max.is_some_and(|known| known <= max) && implies(rules.schema, known.schema))
                || fits_none()
        });
        has_enough && has_few
    }
}
