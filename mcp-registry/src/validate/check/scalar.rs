//! Checks literals, strings and numbers.

use mcp_core::support::schema::{Digits, NodeId, Types};

use super::plan::{Const, Plan};
use super::scan::Text;
use super::{Active, Leniency, Run, Stop, words};

impl<'a> Run<'a> {
    pub(super) fn literal(&mut self, first: usize, literal: &'static str, kind: Types) -> Result<(), Stop> {
        let start = self.scan.pos;
        self.scan.literal(literal)?;
        self.restrict(first, kind)?;
        self.enumerated(first, start, |value| matches!(value, Const::Literal(known) if *known == literal))
    }

    pub(super) fn string(&mut self, first: usize) -> Result<(), Stop> {
        let text = self.scan.string()?;
        self.restrict(first, Types::STRING)?;
        for index in first..self.active.len() {
            let node = self.active[index].node;
            if self.plan(node).has_string_rules {
                self.string_rules(node, text)?;
            }
        }
        if self.has_values(first) {
            let decoded = text.decoded();
            self.enumerated(first, text.start, |value| matches!(value, Const::Text(known) if *known == decoded))?;
        }
        Ok(())
    }

    pub(super) fn string_rules(&mut self, id: NodeId, text: Text<'a>) -> Result<(), Stop> {
        let schema = self.schema;
        let rules = &schema.model[id].string;
        let (decoded, start) = (text.decoded(), text.start);
        if rules.min_length > 0 || rules.max_length.is_some() {
            let length = u64::try_from(decoded.chars().count()).unwrap_or(u64::MAX);
            let of = |min, max| format!("a text{}", words::of_count(min, max, "character"));
            if length < rules.min_length {
                self.wrong(start, || of(rules.min_length, None))?;
            }
            if rules.max_length.is_some_and(|max| length > max) {
                self.wrong(start, || of(0, rules.max_length))?;
            }
        }
        for pattern in &rules.patterns {
            if self.matches(*pattern, &decoded)? == Some(false) {
                self.wrong(start, || mcp_core::support::faults::matching(schema.model.pattern(*pattern)))?;
            }
        }
        if let Some(format) = self.plan(id).format.filter(|format| !(format.accepts)(&decoded)) {
            self.wrong(start, || words::of_format(format.name))?;
        }
        Ok(())
    }

    pub(super) fn number(&mut self, first: usize) -> Result<(), Stop> {
        let start = self.scan.pos;
        let (text, is_plain) = self.scan.number()?;
        if is_plain && self.active[first..].iter().all(|active| fits_quickly(self.plan(active.node), text)) {
            return Ok(());
        }
        let Some(digits) = Digits::parse(text.as_bytes()) else { return Ok(self.scan.error("a number")?) };
        let is_integer = digits.is_integer();
        self.restrict(first, if is_integer { Types::INTEGER } else { Types::FRACTION })?;
        for index in first..self.active.len() {
            let node = self.active[index].node;
            if self.plan(node).has_number_rules {
                self.number_rules(node, start, &digits)?;
            }
        }
        self.enumerated(first, start, |value| matches!(value, Const::Number(known) if digits == *known))?;
        let is_for_integers = |active: &Active| !self.plan(active.node).types.contains(Types::FRACTION);
        if is_integer && !is_plain && self.active[first..].iter().any(is_for_integers) {
            match self.leniency {
                Leniency::Exact => return Err(Stop::Unfit),
                Leniency::Strict => {}
                Leniency::Lenient => {
                    if let Some(integer) = digits.as_plain_integer(text) {
                        self.edit(start, self.scan.pos, &integer);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn number_rules(&mut self, id: NodeId, start: usize, digits: &Digits<'_>) -> Result<(), Stop> {
        let schema = self.schema;
        let rules = &schema.model[id].number;
        for (limit, is_min) in [(rules.min, true), (rules.max, false)] {
            let Some(limit) = limit else { continue };
            let order = digits.compare(limit.value);
            let order = if is_min { order } else { order.reverse() };
            if order.is_lt() || (limit.exclusive && order.is_eq()) {
                self.wrong(start, || format!("a number {}", words::of_limit(limit, is_min)))?;
            }
        }
        for of in &rules.multiple_of {
            if !digits.is_multiple_of(*of) {
                self.wrong(start, || format!("a multiple of {of}"))?;
            }
        }
        Ok(())
    }
}

/// Whether an integer fits for sure, without comparing its digits.
#[inline]
pub(super) fn fits_quickly(plan: &Plan, text: &str) -> bool {
    let (least, most) = plan.integers;
    // Shorter ones fit 64 bits.
    let value = || if text.len() <= 18 { text.parse::<i64>().ok() } else { None };
    plan.types.contains(Types::INTEGER)
        && plan.values.is_none()
        && (!plan.has_number_rules || value().is_some_and(|value| least <= value && value <= most))
}
