//! The rules of the target about objects.

use std::collections::{BTreeSet, HashSet};

use mcp_core::support::schema::{NodeId, ObjectRules, PatternId, Property, Types};
use serde_json::Value;

use super::{Kind, Left, Prover, Step};
use crate::validate::sample::conjunction::Union;
use crate::validate::sample::matching_text;

/// What is known about a member on the left.
pub(super) struct Member {
    pub(super) schemas: Vec<NodeId>,
    /// Whether a schema covers the name.
    is_covered: bool,
}

impl<'a> Left<'a> {
    /// The members that must be present, each by all of its names.
    fn required_names(&self) -> Vec<Vec<&'a str>> {
        let names = |rules: &'a ObjectRules, name: &'a str| {
            rules.property(name).map_or_else(|| vec![name], |property| all_names(property))
        };
        let own = self.all.objects.iter().flat_map(|rules| rules.required_names().map(|name| names(rules, name)));
        own.chain(self.all.present().into_iter().map(|name| vec![name])).collect()
    }

    /// Every name that the schemas mention.
    fn declared(&self) -> BTreeSet<&'a str> {
        let properties = self.all.objects.iter().flat_map(|rules| rules.properties.iter().flat_map(all_names));
        let required = self.all.objects.iter().flat_map(|rules| rules.required.iter().map(String::as_str));
        properties.chain(required).collect()
    }
}

impl<'a> Prover<'a> {
    pub(super) fn object(&self, left: &Left<'a>, rules: &ObjectRules, target: NodeId) -> bool {
        let mut holds = self.required(left, rules, target);
        holds &= self.counts(left, rules, target);
        holds &= self.named_members(left, rules, target);
        holds &= self.pattern_members(left, rules);
        if let Some(more) = rules.additional {
            holds &= self.other_members(left, rules, more, target);
        }
        if let Some(names) = rules.names {
            holds &= self.names(left, names, target);
        }
        if let Some(more) = rules.unevaluated {
            holds &=
                self.unevaluated(left, more, target) || self.fail(Kind::Rule("unevaluatedProperties"), left, target);
        }
        let known = || left.all.objects.iter().flat_map(|known| &known.dependent_required);
        let required = left.all.present();
        for (name, names) in &rules.dependent_required {
            let is_known = |other: &String| known().any(|(of, known)| of == name && known.contains(other));
            let is_kept = |other: &String| required.contains(&other.as_str()) || is_known(other);
            let is_kept = self.is_absent(left, name) || names.iter().all(is_kept);
            holds &= is_kept || self.fail(Kind::Rule("dependentRequired"), left, target);
        }
        for (name, schema) in &rules.dependent_schemas {
            let known = left.all.objects.iter().flat_map(|known| &known.dependent_schemas);
            let is_known = known.filter(|(of, _)| of == name).any(|(_, known)| self.is_same(*known, *schema));
            let is_kept = is_known || self.is_absent(left, name) || self.holds(|| self.includes(left, *schema));
            holds &= is_kept || self.fail(Kind::Rule("dependentSchemas"), left, target);
        }
        holds
    }

    fn required(&self, left: &Left<'a>, rules: &ObjectRules, target: NodeId) -> bool {
        // Most members have one name.
        let (single, several): (Vec<_>, Vec<_>) = left.required_names().into_iter().partition(|names| names.len() == 1);
        let single: HashSet<&str> = single.into_iter().flatten().collect();
        let mut holds = true;
        for name in rules.required_names() {
            let names = rules.property(name).map_or_else(|| vec![name], all_names);
            let is_among = |known: &Vec<&str>| known.iter().all(|name| names.contains(name));
            if !names.iter().any(|name| single.contains(name)) && !several.iter().any(is_among) {
                let is_named = left.all.objects.iter().any(|known| known.property(name).is_some());
                holds = self.fail(Kind::Required(name.to_owned(), is_named), left, target);
            }
        }
        holds
    }

    fn counts(&self, left: &Left<'a>, rules: &ObjectRules, target: NodeId) -> bool {
        let (min, max) = left.all.members();
        let required = u64::try_from(left.all.present().len()).unwrap_or_default();
        // Several schemas may each name members: only one that is closed says how many there are at most.
        let closed = left.all.objects.iter().filter(|known| {
            known.pattern_properties.is_empty() && known.additional.is_some_and(|more| self.is_never(&[more]))
        });
        let named = closed.map(|known| u64::try_from(known.properties.len()).unwrap_or(u64::MAX)).min();
        let max = max.into_iter().chain(named).min();
        self.at_least("minProperties", min.max(required), rules.min_properties, left, target)
            & self.at_most("maxProperties", max, rules.max_properties, left, target)
    }

    /// What is known about the member of this name on the left.
    pub(super) fn member(&self, left: &Left<'a>, name: &str) -> Member {
        let mut member = Member { schemas: Vec::new(), is_covered: false };
        for rules in &left.all.objects {
            let known = member.schemas.len();
            member.schemas.extend(rules.property(name).map(|property| property.schema));
            let matching = rules.pattern_properties.iter().filter(|(id, _)| self.surely_matches(*id, name));
            member.schemas.extend(matching.map(|(_, schema)| *schema));
            let mut patterns = rules.pattern_properties.iter();
            let may_match = patterns.any(|(id, _)| self.matches(*id, name));
            if member.schemas.len() == known && !may_match {
                member.schemas.extend(rules.additional);
            }
            member.is_covered |= member.schemas.len() > known || may_match;
        }
        if !member.is_covered {
            member.schemas.extend(self.left_unevaluated(left));
        }
        // What accepts anything is as good as nothing.
        let may_be = |id: PatternId| self.matches(id, name) && !self.surely_matches(id, name);
        let is_named =
            left.all.objects.iter().any(|rules| {
                rules.property(name).is_some() || rules.pattern_properties.iter().any(|(id, _)| may_be(*id))
            });
        member.is_covered = is_named || !member.schemas.iter().all(|schema| self.is_any(*schema));
        member
    }

    /// The schema of the members on the left that no schema evaluates, if it is known which members those are: a value may
    /// fit several alternatives of a union, and each evaluates members.
    fn left_unevaluated(&self, left: &Left<'a>) -> Option<NodeId> {
        let are_disjoint = |union: &[NodeId]| {
            let mut pairs =
                union.iter().enumerate().flat_map(|(at, one)| union[at + 1..].iter().map(move |it| (one, it)));
            pairs.all(|(one, other)| self.model.are_disjoint(*one, *other))
        };
        let has_one = |union: &Union<'_>| !matches!(union, Union::Any(union) if !are_disjoint(union));
        let is_split = || left.split == left.all.unions.len() && left.all.unions.iter().all(has_one);
        let has_dependents = left.all.objects.iter().any(|rules| !rules.dependent_schemas.is_empty());
        // `additionalProperties` evaluates every member.
        let is_evaluated = left.all.objects.iter().any(|rules| rules.additional.is_some());
        let mut unevaluated = left.all.objects.iter().filter_map(|rules| rules.unevaluated);
        // An inner one evaluates every member for an outer one.
        let only = unevaluated.next().filter(|_| unevaluated.next().is_none());
        only.filter(|_| !has_dependents && !is_evaluated && is_split())
    }

    /// Whether a pattern may match a name. It is unknown if the pattern cannot be compiled.
    pub(super) fn matches(&self, pattern: PatternId, name: &str) -> bool {
        self.facts.matches(pattern, name).unwrap_or(true)
    }

    fn surely_matches(&self, pattern: PatternId, name: &str) -> bool {
        self.facts.matches(pattern, name).unwrap_or(false)
    }

    /// Whether no value on the left has this member.
    fn is_absent(&self, left: &Left<'a>, name: &str) -> bool {
        self.is_never(&self.member(left, name).schemas)
    }

    /// The members that the target names.
    fn named_members(&self, left: &Left<'a>, rules: &ObjectRules, target: NodeId) -> bool {
        let mut holds = true;
        // An object without named members is a map, except for the arguments of a call.
        let is_struct =
            self.path.borrow().is_empty() || left.all.objects.iter().any(|known| !known.properties.is_empty());
        let required = left.all.required();
        let is_new = |name: &str| {
            let is_named = || self.how.get().may_name_members && self.is_named(left, name);
            is_struct && !required.contains(&name) && !is_named()
        };
        let forgives_null = self.forgives_null(left);
        for property in &rules.properties {
            let mut is_present = false;
            for name in all_names(property) {
                let Member { schemas, is_covered } = self.member(left, name);
                let is_alias = |known: &&ObjectRules| {
                    let own = known.property(&property.name).map(|known| &known.name);
                    name != property.name && own.is_some() && known.property(name).map(|known| &known.name) == own
                };
                if self.is_never(&schemas) {
                    continue;
                }
                let part = || {
                    let step = Step::Member(name.to_owned());
                    self.part_at(left, step, schemas.clone(), property.schema, forgives_null && !property.required)
                };
                if left.all.objects.iter().any(is_alias) {
                    // Patterns, for example, may match only one of the names.
                    holds &= schemas == self.member(left, &property.name).schemas || part();
                    continue;
                }
                // Nothing is promised about such a member, so it may be there under two names.
                let is_free = !is_covered && is_new(name);
                let is_other_name = is_free && self.how.get().may_name_members && !property.aliases.is_empty();
                if (is_present && !is_other_name) || self.is_never(&[property.schema]) {
                    // A member must not be there under two names.
                    holds = self.fail(Kind::Forbidden(name.to_owned()), left, target);
                } else if is_free {
                    holds &= (!is_other_name && self.holds(part)) || self.unnamed(name, left, target);
                } else {
                    holds &= part();
                }
                is_present |= !is_other_name;
            }
        }
        holds
    }

    /// The members whose names match a pattern of the target.
    fn pattern_members(&self, left: &Left<'a>, rules: &ObjectRules) -> bool {
        let declared = left.declared();
        let known: Vec<_> = left.all.objects.iter().flat_map(|known| &known.pattern_properties).collect();
        let mut holds = true;
        for (pattern, schema) in &rules.pattern_properties {
            for name in declared.iter().filter(|name| self.matches(*pattern, name)) {
                let step = Step::Member((*name).to_owned());
                holds &= self.part_at(left, step, self.member(left, name).schemas, *schema, false);
            }
            let same: Vec<NodeId> = known.iter().filter(|known| known.0 == *pattern).map(|known| known.1).collect();
            if !same.is_empty() {
                // They apply to every such name, whatever other patterns it matches.
                let step = Step::Member(self.sample_name(*pattern, &|_| true));
                holds &= self.part_at(left, step, same, *schema, false);
                continue;
            }
            let others = known.iter().map(|known| vec![known.1]).chain([self.others(left)]);
            let step = Step::Member(self.sample_name(*pattern, &|name| {
                !declared.contains(name) && !known.iter().any(|known| self.matches(known.0, name))
            }));
            for schemas in others {
                // Names may match both patterns.
                holds &= self.part_at(left, step.clone(), schemas, *schema, false);
            }
        }
        holds
    }

    /// The schemas of the members that the left side does not mention.
    fn others(&self, left: &Left<'a>) -> Vec<NodeId> {
        let additional = left.all.objects.iter().filter_map(|rules| rules.additional);
        additional.chain(self.left_unevaluated(left)).collect()
    }

    /// A name that matches a pattern, and preferably is one of those that are asked for.
    fn sample_name(&self, pattern: PatternId, is_wanted: &dyn Fn(&str) -> bool) -> String {
        let text = matching_text(self.model.pattern(pattern)).unwrap_or_default();
        // The last one is the most readable.
        let names = [format!("x{text}"), format!("{text}x"), text];
        let mut matching = names.into_iter().filter(|name| self.matches(pattern, name));
        let last = matching.clone().next_back().unwrap_or_else(|| "key1".to_owned());
        if is_wanted(&last) { last } else { matching.find(|name| is_wanted(name)).unwrap_or(last) }
    }

    /// The members that the target does not name.
    fn other_members(&self, left: &Left<'a>, rules: &ObjectRules, more: NodeId, target: NodeId) -> bool {
        let is_covered = |name: &str| {
            let mut patterns = rules.pattern_properties.iter();
            rules.property(name).is_some() || patterns.any(|(id, _)| self.surely_matches(*id, name))
        };
        let is_closed = self.is_never(&[more]);
        let mut holds = true;
        for name in left.declared().into_iter().filter(|name| !is_covered(name)) {
            let schemas = self.member(left, name).schemas;
            if self.is_never(&schemas) {
                continue;
            }
            holds &= if is_closed {
                self.part_is_impossible(&schemas) || self.fail(Kind::Forbidden(name.to_owned()), left, target)
            } else {
                self.part_at(left, Step::Member(name.to_owned()), schemas, more, false)
            };
        }
        let known = left.all.objects.iter().flat_map(|known| &known.pattern_properties);
        for (pattern, schema) in known {
            if rules.pattern_properties.iter().any(|(known, _)| known == pattern) {
                continue;
            }
            let name = self.sample_name(*pattern, &|name| !is_covered(name));
            holds &= if is_closed {
                self.is_never(&[*schema]) || self.fail(Kind::Forbidden(name), left, target)
            } else {
                self.part_at(left, Step::Member(name), vec![*schema], more, false)
            };
        }
        let others = self.others(left);
        if is_closed {
            return holds
                & (self.is_never(&others) || self.has_no_other_name(left) || self.fail(Kind::Closed, left, target));
        }
        holds
            & (self.has_no_other_name(left) || self.part_at(left, Step::Member("key1".to_owned()), others, more, false))
    }

    fn part_is_impossible(&self, nodes: &[NodeId]) -> bool {
        self.facts.rank_of(nodes).is_none()
    }

    /// Whether `propertyNames` of the left lists all names.
    fn has_no_other_name(&self, left: &Left<'a>) -> bool {
        let names = left.all.names();
        let declared = left.declared();
        let lists = |id: &NodeId| {
            let node = &self.model[self.model.resolved(*id)];
            let is_declared = |value: &Value| value.as_str().is_some_and(|name| declared.contains(name));
            node.values.as_ref().is_some_and(|values| values.iter().all(is_declared))
        };
        names.iter().any(lists)
    }

    fn names(&self, left: &Left<'a>, names: NodeId, target: NodeId) -> bool {
        let fits = |name: &str| self.accepts(names, &Value::from(name));
        let is_kept = |name: &&str| self.is_absent(left, name) || fits(name);
        let declared = left.declared();
        let mut holds = true;
        for name in declared.iter().filter(|name| !is_kept(name)) {
            holds = self.fail(Kind::Forbidden((*name).to_owned()), left, target);
        }
        let has_patterns = left.all.objects.iter().any(|rules| !rules.pattern_properties.is_empty());
        if (self.is_never(&self.others(left)) && !has_patterns) || self.has_no_other_name(left) {
            return holds;
        }
        let mut known = Left::new(self.model, left.all.names());
        known.all.types = known.all.types & Types::STRING;
        holds & (self.holds(|| self.includes(&known, names)) || self.fail(Kind::Rule("propertyNames"), left, target))
    }

    /// The members that no part of the target evaluates.
    fn unevaluated(&self, left: &Left<'a>, more: NodeId, target: NodeId) -> bool {
        let mut evaluating = Vec::new();
        self.evaluating(left, target, &mut evaluating);
        if evaluating.iter().any(|rules| rules.additional.is_some()) {
            return true;
        }
        let is_evaluated = |name: &str| {
            evaluating.iter().any(|rules| {
                let mut patterns = rules.pattern_properties.iter();
                rules.property(name).is_some() || patterns.any(|(id, _)| self.surely_matches(*id, name))
            })
        };
        let declared = left.declared().into_iter().filter(|name| !is_evaluated(name));
        let fits = |name: &str, schemas: Vec<NodeId>| {
            let step = Step::Member(name.to_owned());
            self.is_never(&schemas) || self.holds(|| self.part_at(left, step, schemas, more, false))
        };
        let has_patterns = left.all.objects.iter().any(|rules| !rules.pattern_properties.is_empty());
        !has_patterns
            && declared.into_iter().all(|name| fits(name, self.member(left, name).schemas))
            && fits("key1", self.others(left))
    }

    /// The rules for objects that evaluate members of what is on the left.
    fn evaluating(&self, left: &Left<'a>, id: NodeId, found: &mut Vec<&'a ObjectRules>) {
        let node = &self.model[id];
        found.extend(node.object.as_deref());
        let unions = node.any_of.iter().chain(&node.one_of).flatten();
        let fitting = unions.filter(|alternative| self.holds(|| self.includes(left, **alternative)));
        for inner in node.reference.iter().chain(&node.all_of).chain(fitting.collect::<Vec<_>>()) {
            self.evaluating(left, *inner, found);
        }
    }
}

/// The name of a member, and the others that stand for it.
pub(super) fn all_names(property: &Property) -> Vec<&str> {
    std::iter::once(&property.name).chain(&property.aliases).map(String::as_str).collect()
}
