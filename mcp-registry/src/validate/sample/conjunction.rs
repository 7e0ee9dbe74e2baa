//! What several schemas say together, and whether that is impossible.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use mcp_core::support::faults::escaped;
use mcp_core::support::schema::{
    ArrayRules, Condition, Decimal, Limit, Model, NodeId, NumberRules, ObjectRules, PatternId, Types, equal,
};
use serde_json::Value;

use super::numbers;
use crate::validate::pattern::Pattern;

/// Schemas that must fit, and schemas that must not.
#[derive(Clone, Debug, Default)]
pub(in crate::validate) struct Goal {
    pub(in crate::validate) all: Vec<NodeId>,
    pub(in crate::validate) not: Vec<NodeId>,
}

/// Schemas of which one must fit.
#[derive(Clone, Copy)]
pub(in crate::validate) enum Union<'a> {
    Any(&'a [NodeId]),
    One(&'a [NodeId]),
    If(&'a Condition),
}

impl Goal {
    pub(in crate::validate) fn all(all: Vec<NodeId>) -> Self {
        Self { all, not: Vec::new() }
    }
}

impl Union<'_> {
    /// The alternatives. Each value that fits reaches one of these goals.
    pub(in crate::validate) fn goals(self) -> Vec<Goal> {
        match self {
            Self::Any(union) => union.iter().map(|one| Goal::all(vec![*one])).collect(),
            Self::One(union) => {
                let without = |one: NodeId| union.iter().copied().filter(|other| *other != one).collect();
                union.iter().map(|one| Goal { all: vec![*one], not: without(*one) }).collect()
            }
            Self::If(Condition { condition, then, otherwise }) => vec![
                Goal::all([*condition].into_iter().chain(*then).collect()),
                Goal { all: otherwise.iter().copied().collect(), not: vec![*condition] },
            ],
        }
    }
}

/// A list of values, such as an `enum`, to look values up in.
#[derive(Default)]
pub(in crate::validate) struct Listed<'a> {
    values: HashMap<u64, Vec<&'a Value>>,
    state: RandomState,
}

impl<'a> Listed<'a> {
    pub(in crate::validate) fn new(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut listed = Self::default();
        for value in values {
            let hash = listed.hash(value);
            listed.values.entry(hash).or_default().push(value);
        }
        listed
    }

    pub(in crate::validate) fn contains(&self, value: &Value) -> bool {
        self.values.get(&self.hash(value)).is_some_and(|known| known.iter().any(|known| equal(known, value)))
    }

    /// A hash that equal values share, however they are written.
    fn hash(&self, value: &Value) -> u64 {
        let hash = |value| self.hash(value);
        match value {
            Value::Number(number) => self.state.hash_one(Decimal::of(number)),
            Value::Array(items) => self.state.hash_one(items.iter().map(hash).collect::<Vec<_>>()),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| self.state.hash_one((name, hash(value))));
                members.fold(0, u64::wrapping_add)
            }
            other => self.state.hash_one((other.as_bool(), other.as_str())),
        }
    }
}

/// What several schemas say together about a value other than null.
#[derive(Clone)]
pub(in crate::validate) struct Conjunction<'a> {
    model: &'a Model,
    pub(in crate::validate) nodes: Vec<NodeId>,
    pub(in crate::validate) not: Vec<NodeId>,
    pub(in crate::validate) types: Types,
    /// The types with null.
    stated: Types,
    pub(in crate::validate) values: Option<Vec<&'a Value>>,
    pub(in crate::validate) number: NumberRules,
    pub(in crate::validate) min_length: u64,
    pub(in crate::validate) max_length: Option<u64>,
    pub(in crate::validate) patterns: Vec<PatternId>,
    pub(in crate::validate) formats: Vec<&'a str>,
    pub(in crate::validate) arrays: Vec<&'a ArrayRules>,
    pub(in crate::validate) objects: Vec<&'a ObjectRules>,
    pub(in crate::validate) unions: Vec<Union<'a>>,
    /// Which rules exclude each other, if that is known.
    clash: Option<String>,
}

impl<'a> Conjunction<'a> {
    pub(in crate::validate) fn new(model: &'a Model, goal: &Goal) -> Self {
        let mut all = Self {
            model,
            nodes: Vec::new(),
            not: Vec::new(),
            types: !Types::NULL,
            stated: Types::ALL,
            values: None,
            number: NumberRules::default(),
            min_length: 0,
            max_length: None,
            patterns: Vec::new(),
            formats: Vec::new(),
            arrays: Vec::new(),
            objects: Vec::new(),
            unions: Vec::new(),
            clash: None,
        };
        all.add(goal);
        all
    }

    /// Adds schemas, and those that depend on the members which they require.
    pub(in crate::validate) fn add(&mut self, goal: &Goal) {
        goal.not.iter().for_each(|node| self.exclude(*node));
        let mut left: VecDeque<NodeId> = goal.all.iter().copied().collect();
        while let Some(next) = left.pop_front() {
            self.add_node(next);
            // Values that are no objects have no members.
            if left.is_empty() && self.types == Types::OBJECT {
                left.extend(self.dependents(&self.present()));
            }
        }
    }

    /// The schemas that apply if members are present, without those that apply anyway.
    pub(in crate::validate) fn dependents(&self, names: &[&str]) -> Vec<NodeId> {
        let schemas = self.objects.iter().flat_map(|rules| &rules.dependent_schemas);
        let applies = |(name, node): &&(String, NodeId)| names.contains(&name.as_str()) && !self.nodes.contains(node);
        schemas.filter(applies).map(|(_, node)| *node).collect()
    }

    fn exclude(&mut self, id: NodeId) {
        self.not.push(id);
        let node = &self.model[self.model.resolved(id)];
        if node.is_types_only() {
            self.restrict_types(!node.types);
        }
    }

    fn restrict_types(&mut self, types: Types) {
        let known = self.stated;
        (self.stated, self.types) = (known & types, self.types & types);
        let is_clash = self.stated.is_empty() && known != Types::ALL && !known.is_empty() && !types.is_empty();
        if is_clash && self.clash.is_none() {
            let names = |types: Types| {
                let shown = if types == Types::NULL { types } else { types & !Types::NULL };
                shown.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
            };
            self.clash = Some(format!("the type must be {}, and also {}", names(known), names(types)));
        }
    }

    fn add_node(&mut self, id: NodeId) {
        if self.nodes.contains(&id) {
            return;
        }
        self.nodes.push(id);
        let node = &self.model[id];
        self.restrict_types(if node.nullable { node.types | Types::NULL } else { node.types });
        if let Some(values) = &node.values {
            let known = self.values.take().map(Listed::new);
            let is_known = |value: &&Value| known.as_ref().is_none_or(|known| known.contains(value));
            self.values = Some(values.iter().filter(is_known).collect());
        }
        let (number, string) = (&node.number, &node.string);
        number.min.into_iter().for_each(|limit| self.number.restrict_min(limit));
        number.max.into_iter().for_each(|limit| self.number.restrict_max(limit));
        self.number.multiple_of.extend(&number.multiple_of);
        self.min_length = self.min_length.max(string.min_length);
        self.max_length = self.max_length.into_iter().chain(string.max_length).min();
        self.patterns.extend(&string.patterns);
        self.formats.extend(string.format.as_deref());
        self.arrays.extend(node.array.as_deref());
        self.objects.extend(node.object.as_deref());
        node.not.iter().for_each(|node| self.exclude(*node));
        self.unions.extend(node.any_of.iter().map(|union| Union::Any(union)));
        self.unions.extend(node.one_of.iter().map(|union| Union::One(union)));
        self.unions.extend(node.conditions.iter().map(Union::If));
        node.reference.iter().chain(&node.all_of).for_each(|inner| self.add_node(*inner));
    }

    /// The names of the members that must be present, each under this name or an alias.
    pub(in crate::validate) fn required(&self) -> Vec<&'a str> {
        self.required_names(|_| true)
    }

    /// The names of the members that must be present, each under this very name.
    pub(in crate::validate) fn present(&self) -> Vec<&'a str> {
        self.required_names(|name| {
            let properties = self.objects.iter().filter_map(|rules| rules.property(name));
            properties.into_iter().all(|property| property.aliases.is_empty())
        })
    }

    fn required_names(&self, is_asked_for: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let mut is_new = |name: &&'a str| is_asked_for(name) && seen.insert(*name);
        let mut names: Vec<&str> =
            self.objects.iter().flat_map(|rules| rules.required_names()).filter(&mut is_new).collect();
        let mut next = 0;
        while let Some(name) = names.get(next).copied() {
            next += 1;
            names.extend(self.dependent_names(name).filter(&mut is_new));
        }
        names
    }

    /// The members that must be present if another one is.
    pub(in crate::validate) fn dependent_names(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let all: Vec<&'a str> = self
            .objects
            .iter()
            .flat_map(|rules| rules.dependent_required.iter().filter(|(of, _)| of == name))
            .flat_map(|(_, names)| names.iter().map(String::as_str))
            .collect();
        all.into_iter()
    }

    pub(in crate::validate) fn items(&self) -> (u64, Option<u64>) {
        let min = self.arrays.iter().map(|rules| rules.min_items).max().unwrap_or(0);
        (min, self.arrays.iter().filter_map(|rules| rules.max_items).min())
    }

    pub(in crate::validate) fn members(&self) -> (u64, Option<u64>) {
        let min = self.objects.iter().map(|rules| rules.min_properties).max().unwrap_or(0);
        (min, self.objects.iter().filter_map(|rules| rules.max_properties).min())
    }

    /// The schemas of an item.
    pub(in crate::validate) fn item(&self, index: usize) -> Vec<NodeId> {
        self.arrays.iter().filter_map(|rules| rules.prefix.get(index).copied().or(rules.items)).collect()
    }

    /// The schemas of names.
    pub(in crate::validate) fn names(&self) -> Vec<NodeId> {
        self.objects.iter().filter_map(|rules| rules.names).collect()
    }

    /// Whether a value can fit, by what is said about its type, bounds and lengths.
    fn admits(&self, value: &Value) -> bool {
        let length = |text: &str| u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        self.types.contains(Types::of(value))
            && match value {
                Value::Number(number) => numbers::is_within(&self.number, Decimal::of(number)),
                Value::String(text) => {
                    let length = length(text);
                    length >= self.min_length && self.max_length.is_none_or(|max| length <= max)
                }
                _ => true,
            }
            // Last, since it takes the longest.
            && self.values.as_ref().is_none_or(|values| values.iter().any(|known| equal(known, value)))
    }
}

/// Which nodes a finite value can fit.
pub(in crate::validate) struct Facts<'a> {
    pub(in crate::validate) model: &'a Model,
    /// Higher than that of every node that a value must have a part of; none if no value can fit.
    ranks: Vec<Option<u32>>,
    /// Whether null may fit each node.
    nulls: Vec<Option<bool>>,
    patterns: Vec<OnceCell<Option<Pattern>>>,
    /// How many more conjunctions are looked at for the current node.
    steps: Cell<usize>,
}

/// Why no value fits.
enum Clash {
    /// The rules that exclude each other.
    Rules(String),
    /// A part that must be present, and what it must fit.
    Part(String, Vec<NodeId>),
    /// So many alternatives, and why the first one is impossible.
    Union(usize, Box<Clash>),
}

const EACH_TYPE: [Types; 6] =
    [Types::BOOLEAN, Types::FRACTION, Types::INTEGER, Types::STRING, Types::ARRAY, Types::OBJECT];
/// How many conjunctions are looked at for a node.
const MAX_STEPS: usize = 1 << 8;
/// How deeply unions and merged parts are looked into.
const MAX_NESTED: usize = 4;

impl<'a> Facts<'a> {
    pub(in crate::validate) fn new(model: &'a Model) -> Self {
        let count = model.nodes().count();
        let patterns = model.patterns().iter().map(|_| OnceCell::new()).collect();
        let mut nulls = vec![None; count];
        for (id, _) in model.nodes() {
            find_null(model, id, &mut nulls);
        }
        let mut facts = Self { model, ranks: vec![None; count], nulls, patterns, steps: Cell::new(0) };
        // Most nodes come before those that they refer to. Where they do not, the next pass would rank one more of them, so
        // that whatever refers to a node that was ranked is looked at again at once.
        let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); count];
        model.nodes().for_each(|(id, node)| node.children().for_each(|child| users[child.index()].push(id)));
        let nodes: Vec<NodeId> = model.nodes().map(|(id, _)| id).collect();
        loop {
            let mut ranked: VecDeque<NodeId> = nodes.iter().rev().copied().filter(|id| facts.find_rank(*id)).collect();
            if ranked.is_empty() {
                return facts;
            }
            while let Some(id) = ranked.pop_front() {
                ranked.extend(users[id.index()].iter().copied().filter(|user| facts.find_rank(*user)));
            }
        }
    }

    /// Finds the rank of a node that has none yet. Whether it has one now.
    fn find_rank(&mut self, id: NodeId) -> bool {
        if self.ranks[id.index()].is_some() {
            return false;
        }
        let rank = if self.may_be_null(&[id]) { Some(0) } else { self.check_node(id).ok() };
        self.ranks[id.index()] = rank;
        rank.is_some()
    }

    /// How deeply a value that fits must be nested at most; none if no value can fit.
    pub(in crate::validate) fn rank(&self, id: NodeId) -> Option<u32> {
        self.ranks[id.index()]
    }

    /// The highest rank of the schemas; none if there is one that no value can fit.
    pub(in crate::validate) fn rank_of(&self, nodes: &[NodeId]) -> Option<u32> {
        nodes.iter().try_fold(0, |rank, node| Some(rank.max(self.rank(*node)?)))
    }

    /// Whether null may fit all of the nodes.
    pub(in crate::validate) fn may_be_null(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|node| self.nulls[node.index()] != Some(false))
    }

    pub(in crate::validate) fn matches(&self, pattern: PatternId, text: &str) -> Option<bool> {
        let cell = &self.patterns[pattern.index()];
        let compiled = cell.get_or_init(|| Pattern::new(self.model.pattern(pattern)).ok());
        compiled.as_ref().map(|pattern| pattern.is_match(text))
    }

    /// The schemas of a member, as far as they are known to apply.
    pub(in crate::validate) fn member(&self, all: &Conjunction<'a>, name: &str) -> Vec<NodeId> {
        let mut schemas = Vec::new();
        for rules in &all.objects {
            let known = schemas.len();
            schemas.extend(rules.property(name).map(|property| property.schema));
            let mut is_unknown = false;
            for (pattern, schema) in &rules.pattern_properties {
                match self.matches(*pattern, name) {
                    Some(true) => schemas.push(*schema),
                    Some(false) => {}
                    None => is_unknown = true,
                }
            }
            if schemas.len() == known && !is_unknown {
                schemas.extend(rules.additional);
            }
        }
        schemas
    }

    fn steps(&self) -> bool {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether plainly no value but null fits, and how many steps it took to find out. `unions` is the number of unions that
    /// need not be looked at.
    pub(in crate::validate) fn is_impossible(&self, all: &Conjunction<'a>, unions: usize) -> (bool, usize) {
        self.steps.set(MAX_STEPS);
        let is_impossible =
            all.nodes.iter().any(|node| self.rank(*node).is_none()) || self.check(all, unions, 0).is_err();
        (is_impossible, MAX_STEPS - self.steps.get())
    }

    fn check_node(&self, id: NodeId) -> Result<u32, Clash> {
        self.steps.set(MAX_STEPS);
        let goal = Goal::all(vec![id]);
        self.check(&Conjunction::new(self.model, &goal), 0, 0)
    }

    /// The rank of what fits, or why nothing does. Sound: what it rejects is impossible. `unions` is the number of unions
    /// that need not be looked at.
    fn check(&self, all: &Conjunction<'a>, unions: usize, depth: usize) -> Result<u32, Clash> {
        if let Some(values) = &all.values {
            if !values.iter().any(|value| all.admits(value)) {
                let clash =
                    all.clash.clone().unwrap_or_else(|| "no value of its `enum` fits its other rules".to_owned());
                return Err(Clash::Rules(clash));
            }
        }
        let clash = || all.clash.clone().unwrap_or_else(|| "its schema excludes every value".to_owned());
        let mut best = Err(Clash::Rules(clash()));
        let mut is_first = true;
        for types in EACH_TYPE.into_iter().filter(|types| all.types.contains(*types)) {
            match (self.check_type(all, types, depth), &best) {
                (Ok(rank), Ok(known)) if rank >= *known => {}
                (Ok(rank), _) => best = Ok(rank),
                (error, Err(_)) if is_first => best = error,
                _ => {}
            }
            is_first = false;
        }
        let mut rank = best?;
        for union in &all.unions[unions..] {
            let mut alternatives: Vec<_> = union.goals().iter().map(|goal| self.check_goal(all, goal, depth)).collect();
            let count = alternatives.len();
            let best = alternatives.iter().flatten().copied().min();
            match (best, alternatives.swap_remove(0)) {
                (None, Err(first)) => return Err(Clash::Union(count, Box::new(first))),
                (best, _) => rank = rank.max(best.unwrap_or_default()),
            }
        }
        Ok(rank)
    }

    /// Whether values of a type may fit, apart from unions.
    pub(in crate::validate) fn admits(&self, all: &Conjunction<'a>, types: Types) -> bool {
        self.steps.set(MAX_STEPS);
        let is_admitted = |types: &Types| all.types.contains(*types) && self.check_type(all, *types, 0).is_ok();
        EACH_TYPE.iter().filter(|it| types.contains(**it)).any(is_admitted)
    }

    /// The rank of values of one type.
    fn check_type(&self, all: &Conjunction<'a>, types: Types, depth: usize) -> Result<u32, Clash> {
        match types {
            Types::FRACTION => check_number(all, false),
            Types::INTEGER => check_number(all, true),
            Types::STRING => check_length("characters", all.min_length, all.max_length),
            Types::ARRAY => self.check_array(all, depth),
            Types::OBJECT => self.check_object(all, depth),
            _ => Ok(0),
        }
    }

    /// The rank of what fits the schemas, and a goal too.
    fn check_goal(&self, all: &Conjunction<'a>, goal: &Goal, depth: usize) -> Result<u32, Clash> {
        let impossible = goal.all.iter().find(|node| self.rank(**node).is_none());
        if let Some(node) = impossible {
            return Err(Clash::Part(String::new(), vec![*node]));
        }
        let rank = self.rank_of(&goal.all).unwrap_or_default();
        if depth >= MAX_NESTED || !self.steps() {
            return Ok(rank);
        }
        let mut merged = all.clone();
        merged.add(goal);
        self.check(&merged, all.unions.len(), depth + 1).map(|merged| merged.max(rank))
    }

    /// The rank of a value with this part.
    fn check_part(&self, step: &dyn Fn() -> String, nodes: &[NodeId], depth: usize) -> Result<u32, Clash> {
        if let Some(node) = nodes.iter().find(|node| self.rank(**node).is_none()) {
            return Err(Clash::Part(step(), vec![*node]));
        }
        let is_null = self.may_be_null(nodes);
        if nodes.len() > 1 && depth < MAX_NESTED && !is_null && self.steps() {
            let goal = Goal::all(nodes.to_vec());
            let merged = Conjunction::new(self.model, &goal);
            self.check(&merged, 0, depth + 1).map_err(|_| Clash::Part(step(), nodes.to_vec()))?;
        }
        Ok(self.rank_of(nodes).unwrap_or_default() + 1)
    }

    fn check_array(&self, all: &Conjunction<'a>, depth: usize) -> Result<u32, Clash> {
        let (min, max) = all.items();
        let mut rank = check_length("items", min, max)?;
        for contains in all.arrays.iter().flat_map(|rules| &rules.contains).filter(|contains| contains.min > 0) {
            let most = max.into_iter().chain(contains.max).min();
            check_length("items that `contains` describes", contains.min, most)?;
            rank = rank.max(self.check_part(&|| "/*".to_owned(), &[contains.schema], depth)?);
        }
        let prefix = all.arrays.iter().map(|rules| rules.prefix.len()).max().unwrap_or(0);
        for index in (0..=prefix).take(usize::try_from(min).unwrap_or(usize::MAX)) {
            rank = rank.max(self.check_part(&|| format!("/{index}"), &all.item(index), depth)?);
        }
        Ok(rank)
    }

    fn check_object(&self, all: &Conjunction<'a>, depth: usize) -> Result<u32, Clash> {
        let (min, max) = all.members();
        let mut rank = check_length("members", min, max)?;
        let required = all.present();
        let count = u64::try_from(required.len()).unwrap_or(u64::MAX);
        if let Some(max) = max.filter(|max| count > *max) {
            return Err(Clash::Rules(format!("{count} members are required, and at most {max} may be present")));
        }
        let names = Goal::all(all.names());
        let names = Conjunction::new(self.model, &names);
        for name in &required {
            if !names.admits(&Value::from(*name)) {
                return Err(Clash::Rules(format!("`{name}` is required, and `propertyNames` excludes that name")));
            }
            let schemas = self.member(all, name);
            let is_excluded = |rules: &&ObjectRules| {
                rules.additional.is_some_and(|more| self.model[more].is_never() && schemas.contains(&more))
            };
            if all.objects.iter().any(is_excluded) {
                return Err(Clash::Rules(format!("`{name}` is required, and `additionalProperties` excludes it")));
            }
            rank = rank.max(self.check_part(&|| format!("/{}", escaped(name)), &schemas, depth)?);
        }
        for rules in all.objects.iter().filter(|rules| rules.pattern_properties.is_empty() && min > count) {
            let Some(more) = rules.additional else { continue };
            let ranks = rules.properties.iter().filter_map(|property| self.rank(property.schema));
            let possible = ranks.clone().count();
            if self.rank(more).is_none() && min > u64::try_from(possible).unwrap_or(u64::MAX) {
                let clash = format!("at least {min} members must be present, and only {possible} are possible");
                return Err(Clash::Rules(clash));
            }
            rank = rank.max(self.rank(more).into_iter().chain(ranks.min()).min().unwrap_or_default() + 1);
        }
        Ok(rank)
    }

    /// Why no value fits, with the place.
    fn explain(&self, mut clash: Clash) -> String {
        let (mut reason, mut place, mut seen) = (String::new(), String::new(), HashSet::new());
        loop {
            match clash {
                Clash::Rules(rules) if place.is_empty() => return reason + &rules,
                Clash::Rules(rules) => return format!("{reason}at `{place}`, {rules}"),
                Clash::Part(step, nodes) => {
                    let nodes: Vec<NodeId> = nodes.into_iter().map(|node| self.model.resolved(node)).collect();
                    place += &step;
                    if !seen.insert(nodes.clone()) {
                        let name = nodes.iter().find_map(|node| self.model[*node].name.as_ref());
                        let name = name.map_or_else(|| "a value".to_owned(), |name| format!("each `{name}`"));
                        return format!("{reason}at `{place}`, {name} must contain another one, without end");
                    }
                    self.steps.set(MAX_STEPS);
                    let next = self.check(&Conjunction::new(self.model, &Goal::all(nodes)), 0, 0).err();
                    clash = next.unwrap_or_else(|| Clash::Rules("its schemas exclude each other".to_owned()));
                }
                Clash::Union(count, first) => {
                    reason = format!("{reason}all {count} alternatives are impossible; ");
                    clash = *first;
                }
            }
        }
    }
}

fn check_length(what: &str, min: u64, max: Option<u64>) -> Result<u32, Clash> {
    match max {
        Some(max) if min > max => {
            Err(Clash::Rules(format!("the minimum of {min} {what} is above the maximum of {max}")))
        }
        _ => Ok(0),
    }
}

fn check_number(all: &Conjunction<'_>, is_integer: bool) -> Result<u32, Clash> {
    if !numbers::is_empty(&all.number, is_integer) {
        return Ok(0);
    }
    let NumberRules { min, max, multiple_of, .. } = &all.number;
    let (Some(min), Some(max)) = (*min, *max) else { return Ok(0) };
    if min.value > max.value {
        return Err(Clash::Rules(format!("the minimum of {} is above the maximum of {}", min.value, max.value)));
    }
    let kind = match &multiple_of[..] {
        [] if is_integer => "integer".to_owned(),
        [] => "number".to_owned(),
        [of] => format!("multiple of {of}"),
        _ => "common multiple".to_owned(),
    };
    let bound = |name: &str, limit: Limit| {
        format!("the {}{name} of {}", if limit.exclusive { "exclusive " } else { "" }, limit.value)
    };
    Err(Clash::Rules(format!("there is no {kind} between {} and {}", bound("minimum", min), bound("maximum", max))))
}

/// Finds out whether null may fit a node.
fn find_null(model: &Model, id: NodeId, known: &mut [Option<bool>]) -> bool {
    if let Some(known) = known[id.index()] {
        return known;
    }
    known[id.index()] = Some(true);
    let node = &model[id];
    let mut may = |id: &NodeId| find_null(model, *id, known);
    let is_excluded = |not: &NodeId| {
        let not = &model[model.resolved(*not)];
        not.nullable || (not.types.contains(Types::NULL) && not.is_types_only())
    };
    let fits = node.nullable
        || node.types.contains(Types::NULL)
            && node.values.as_ref().is_none_or(|values| values.contains(&Value::Null))
            && node.reference.iter().chain(&node.all_of).all(&mut may)
            && node.any_of.iter().chain(&node.one_of).all(|union| union.iter().any(&mut may))
            && !node.not.iter().any(is_excluded);
    known[id.index()] = Some(fits);
    fits
}

/// Why no value can fit the schema, if that is plain.
pub(crate) fn contradiction(model: &Model) -> Option<String> {
    let facts = Facts::new(model);
    if facts.rank(model.root()).is_some() {
        return None;
    }
    Some(facts.explain(Clash::Part(String::new(), vec![model.root()])))
}
