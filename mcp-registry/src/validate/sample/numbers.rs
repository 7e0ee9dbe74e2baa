//! The numbers that fit several rules, exactly.

use mcp_core::support::schema::{Decimal, Limit, NumberRules};
use serde_json::Value;

/// The numbers that fit, as integers in units of a power of ten: from `min` to `max`, and multiples of `step`.
pub(in crate::validate) struct Grid {
    exponent: i32,
    pub(in crate::validate) min: Option<i128>,
    pub(in crate::validate) max: Option<i128>,
    pub(in crate::validate) step: i128,
}

impl Grid {
    /// The numbers that fit the rules; none if they are too large or too precise for this. The units are finer than what
    /// the rules say, so that there is one between any two bounds.
    pub(in crate::validate) fn new(rules: &NumberRules, is_integer: bool) -> Option<Self> {
        let bounds = [rules.min, rules.max].into_iter().flatten().map(|limit| limit.value);
        let exponents = bounds.chain(rules.multiple_of.iter().copied()).map(Decimal::exponent);
        let exponent = exponents.min().unwrap_or(0).min(0).checked_sub(1)?;
        let one = Decimal::from(1).in_units(exponent)?;
        let multiples = rules.multiple_of.iter().map(|of| of.in_units(exponent));
        let step = multiples
            .chain(is_integer.then_some(Some(one)))
            .try_fold(1, |step: i128, of| (step / gcd(step, of?)).checked_mul(of?))?;
        let bound = |limit: Option<Limit>, direction: i128| {
            let Some(limit) = limit else { return Some(None) };
            let bound = limit.value.in_units(exponent)?.checked_add(if limit.exclusive { direction } else { 0 })?;
            let distance = (direction * -bound).rem_euclid(step);
            Some(Some(bound.checked_add(direction * distance)?))
        };
        Some(Self { exponent, min: bound(rules.min, 1)?, max: bound(rules.max, -1)?, step })
    }

    /// The least and the greatest number.
    pub(in crate::validate) fn ends(&self) -> (Option<Decimal>, Option<Decimal>) {
        let at = |end: Option<i128>| end.and_then(|end| self.at(end));
        (at(self.min), at(self.max))
    }

    /// Whether there is no number.
    pub(in crate::validate) fn is_empty(&self) -> bool {
        matches!((self.min, self.max), (Some(min), Some(max)) if min > max)
    }

    /// Numbers that fit, the most readable first.
    pub(in crate::validate) fn numbers(&self, count: usize) -> Vec<Decimal> {
        let one = 10_i128.checked_pow(self.exponent.unsigned_abs()).unwrap_or(1);
        let middle = self.min.zip(self.max).and_then(|(min, max)| {
            let middle = min.checked_add(max.checked_sub(min)? / 2)?;
            Some(middle - middle.rem_euclid(self.step))
        });
        let steps = i128::try_from(count).unwrap_or(i128::MAX).saturating_add(2);
        let from = self.min.or(self.max.map(|max| max.saturating_sub(steps.saturating_mul(self.step)))).unwrap_or(0);
        let row = (0..steps).filter_map(|index| from.checked_add(index.checked_mul(self.step)?));
        let ends = if self.step == 1 { [middle, self.min, self.max] } else { [self.min, self.max, middle] };
        let ends = ends.into_iter().flatten();
        let fits = |value: &i128| {
            value % self.step == 0
                && self.min.is_none_or(|min| *value >= min)
                && self.max.is_none_or(|max| *value <= max)
        };
        [one, self.step, 0, one / 2]
            .into_iter()
            .chain(ends)
            .chain(row)
            .filter(fits)
            .filter_map(|it| self.at(it))
            .collect()
    }

    /// Numbers that break one rule, close to those that fit.
    pub(in crate::validate) fn others(&self, value: Decimal) -> Vec<Decimal> {
        let value = value.in_units(self.exponent);
        let below = self.min.map(|min| min.checked_sub(self.step));
        let above = self.max.map(|max| max.checked_add(self.step));
        let between = [self.step / 2, 1].map(|part| value.and_then(|value| value.checked_add(part)));
        let all = [below, above].into_iter().flatten().chain(between).flatten();
        all.filter_map(|it| self.at(it)).collect()
    }

    fn at(&self, units: i128) -> Option<Decimal> {
        Decimal::parse(&format!("{units}e{}", self.exponent))
    }
}

fn gcd(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// Whether no number lies between the bounds.
pub(in crate::validate) fn is_empty(rules: &NumberRules, is_integer: bool) -> bool {
    let excludes =
        |min: Limit, max: Limit| min.value > max.value || (min.value == max.value && (min.exclusive || max.exclusive));
    rules.min.zip(rules.max).is_some_and(|(min, max)| excludes(min, max))
        || Grid::new(rules, is_integer).is_some_and(|grid| grid.is_empty())
}

/// Whether the number is between the bounds.
pub(in crate::validate) fn is_within(rules: &NumberRules, value: Decimal) -> bool {
    rules.min.is_none_or(|min| value > min.value || (value == min.value && !min.exclusive))
        && rules.max.is_none_or(|max| value < max.value || (value == max.value && !max.exclusive))
}

/// The number as a value, if a value can be the same number.
pub(in crate::validate) fn json(number: Decimal) -> Option<Value> {
    serde_json::from_str(&number.to_string()).ok().filter(|value| Decimal::of(value) == number).map(Value::Number)
}

/// Floats around a bound, which may be too large for the grid.
pub(in crate::validate) fn floats(limit: Limit) -> impl Iterator<Item = Value> {
    let bound: Option<f64> = limit.value.to_string().parse().ok();
    let next = |bound: f64, step: i64| f64::from_bits(bound.to_bits().wrapping_add_signed(step));
    let around =
        bound.into_iter().flat_map(move |bound| [bound * 2.0, bound / 2.0, bound, next(bound, 1), next(bound, -1)]);
    around.filter(|float| float.is_finite()).map(Value::from)
}
