//! Values that one schema accepts and another one rejects.

use std::cell::Cell;

use mcp_core::error::Fault;
use mcp_core::support::faults::ARGUMENTS;
use mcp_core::support::schema::{
    ArrayRules, Decimal, Limit, Model, Node, NodeId, NumberRules, ObjectRules, Property, StringRules, Types,
};
use serde_json::Value;

use super::objects::all_names;
use super::{Comparison, Found, Kind, Level, Step, pointer};
use crate::validate::Faults;
use crate::validate::check::{How, Schema, Secrets};
use crate::validate::sample::Samples;
use crate::validate::sample::conjunction::Goal;

/// How many steps the search for all witnesses takes at most.
const MAX_STEPS: usize = 1 << 16;
/// How many pairs of alternatives are tried.
const MAX_PAIRS: usize = 64;

/// For each gap a value that the one schema accepts and the other rejects because of it, if one is found. The values are
/// verified with the schemas that they are about.
pub(super) fn of(
    found: &[Found],
    both: &Model,
    target: NodeId,
    (accepting, rejecting): (&Model, &Model),
    how: Comparison,
) -> Vec<Option<Value>> {
    let mut model = both.clone();
    let goals: Vec<Goals> = found.iter().map(|found| Goals::new(&mut model, found, target)).collect();
    let (schema, root) = (Schema::comparable(model), both.root());
    let [accepting, rejecting] = [accepting, rejecting].map(|model| Schema::comparable(model.clone()));
    let how = How { document: ARGUMENTS, lenient: how.null_is_absent, secrets: Secrets::None };
    let is_witness = |value: &Value, found: &Found, goals: &Goals| {
        let json = value.to_string();
        let is_accepted = || schema.accepts(root, &json) && accepting.check(&json, &how).is_ok();
        let is_shown = || match &found.kind {
            Kind::Forbidden(name) => value.pointer(&pointer(&found.path)).is_some_and(|it| it.get(name).is_some()),
            _ => schema.accepts(goals.shown, &json),
        };
        is_shown() && is_accepted() && rejecting.check(&json, &how).is_err_and(|faults| is_about(&faults, found))
    };
    let accepts = |node: NodeId, json: &str| schema.accepts(node, json);
    let samples = Samples::new(schema.model(), &accepts);
    let budget = Cell::new(MAX_STEPS);
    let reaching = |goal: &Goal, found: &Found, goals: &Goals| {
        let value = with_alias(schema.model(), found, samples.reaching(goal, &budget)?);
        is_witness(&value, found, goals).then_some(value)
    };
    // The gaps take turns, so that one without a witness leaves steps for the others.
    let mut witnesses = vec![None; found.len()];
    for round in 0..goals.iter().map(|goals| goals.all.len()).max().unwrap_or(0) {
        for ((found, goals), witness) in found.iter().zip(&goals).zip(&mut witnesses).filter(|(_, it)| it.is_none()) {
            *witness = goals.all.get(round).and_then(|goal| reaching(goal, found, goals));
        }
    }
    witnesses
}

/// Whether a fault is at the place of a gap, around it or in it.
fn is_about(faults: &Faults, found: &Found) -> bool {
    let place = pointer(&found.path);
    let is_within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_near = |fault: &Fault| is_within(&fault.path, &place) || is_within(&place, &fault.path);
    faults.omitted > 0 || faults.faults.iter().any(is_near)
}

/// What a witness must fit.
struct Goals {
    /// A schema of whole values that break the rule at the place of the gap.
    shown: NodeId,
    /// The most telling first.
    all: Vec<Goal>,
}

impl Goals {
    fn new(model: &mut Model, found: &Found, target: NodeId) -> Self {
        let root = model.root();
        let breaking = breaking(model, found);
        let shown = at(model, &found.path, breaking, false);
        let mut parts = vec![Vec::new()];
        if found.path.iter().any(|level| !level.chosen.is_empty()) || !found.chosen.is_empty() {
            let chosen = Node { all_of: found.chosen.to_vec(), ..Node::any() };
            parts.insert(0, vec![at(model, &found.path, chosen, true)]);
        }
        let required: Vec<String> = match found.kind {
            Kind::Closed => vec!["key1".to_owned()],
            // What has every member seldom fits an alternative that has only some of them.
            Kind::Alternatives => {
                let objects = found.left.iter().filter_map(|id| model[*id].object.as_ref());
                objects.flat_map(|it| &it.properties).map(|it| it.name.clone()).collect()
            }
            _ => Vec::new(),
        };
        if !required.is_empty() {
            let more = object(ObjectRules { required, ..ObjectRules::default() });
            let more = at(model, &found.path, more, false);
            let with_more: Vec<Vec<NodeId>> = parts.iter().map(|parts| [&parts[..], &[more]].concat()).collect();
            parts.splice(0..0, with_more);
        }
        let goal = |parts: &Vec<NodeId>| Goal::all([&[root, shown], &parts[..]].concat());
        let mut all: Vec<Goal> = parts.iter().map(goal).collect();
        let unions = if found.kind == Kind::Alternatives { model[found.target].one_of.clone() } else { Vec::new() };
        let pairs = unions.iter().flat_map(|union| {
            union.iter().enumerate().flat_map(|(at, one)| union[at + 1..].iter().map(|other| vec![*one, *other]))
        });
        for all_of in pairs.take(MAX_PAIRS).collect::<Vec<_>>() {
            all.push(goal(&vec![at(model, &found.path, Node { all_of, ..Node::any() }, false)]));
        }
        all.extend(parts.iter().map(|parts| Goal { not: vec![target], ..goal(parts) }));
        Self { shown, all }
    }
}

/// A schema of whole values whose part at the place fits a schema, perhaps with the alternatives that were chosen on the way.
fn at(model: &mut Model, path: &[Level], leaf: Node, is_chosen: bool) -> NodeId {
    let leaf = model.add(leaf);
    path.iter().rev().fold(leaf, |part, level| {
        let mut node = match &level.step {
            Step::Member(name) => object(ObjectRules {
                properties: vec![Property::new(name.as_str(), part, true)],
                ..ObjectRules::default()
            }),
            Step::Item(index) => {
                let any = model.add(Node::any());
                let prefix = std::iter::repeat_n(any, *index).chain([part]).collect();
                let min_items = u64::try_from(index + 1).unwrap_or(u64::MAX);
                array(ArrayRules { prefix, min_items, ..ArrayRules::default() })
            }
        };
        node.all_of.extend(level.chosen.iter().filter(|_| is_chosen));
        model.add(node)
    })
}

fn object(rules: ObjectRules) -> Node {
    Node { object: Some(Box::new(rules)), ..Node::of(Types::OBJECT) }
}

fn array(rules: ArrayRules) -> Node {
    Node { array: Some(Box::new(rules)), ..Node::of(Types::ARRAY) }
}

/// A schema of values that break the rule.
fn breaking(model: &mut Model, found: &Found) -> Node {
    let target = model[found.target].clone();
    let rules = target.object.clone().unwrap_or_default();
    let unfit = |model: &mut Model, node: Node, types: Types| {
        let not = model.add(node);
        Node { not: vec![not], ..Node::of(types) }
    };
    let unfit_object = |model: &mut Model, rules: ObjectRules| unfit(model, object(rules), Types::OBJECT);
    match &found.kind {
        Kind::Null => Node { values: Some(vec![Value::Null]), ..Node::of(Types::NULL) },
        Kind::Type(types) => Node::of(*types),
        Kind::Values(values) => Node { values: Some(values.clone()), ..Node::any() },
        Kind::Enum => unfit(model, Node { values: target.values, ..Node::any() }, Types::ALL),
        Kind::Bound("multipleOf", ..) => {
            let number = NumberRules { multiple_of: target.number.multiple_of, ..NumberRules::default() };
            unfit(model, Node { number, ..Node::any() }, Types::NUMBER)
        }
        Kind::Bound(keyword, _, bound) => {
            beyond(keyword, bound).unwrap_or_else(|| Node { not: vec![found.target], ..Node::any() })
        }
        Kind::Pattern(pattern) => {
            let patterns = target.string.patterns.into_iter().filter(|id| model.pattern(*id) == pattern).collect();
            let string = StringRules { patterns, ..StringRules::default() };
            unfit(model, Node { string, ..Node::any() }, Types::STRING)
        }
        Kind::Format(_) => {
            let StringRules { format, checks_format, .. } = target.string;
            let string = StringRules { format, checks_format, ..StringRules::default() };
            unfit(model, Node { string, ..Node::any() }, Types::STRING)
        }
        Kind::Required(name, _) => {
            let never = model.add(Node::never());
            let names = rules.property(name).map_or_else(|| vec![name.as_str()], all_names);
            let absent = names.iter().map(|name| Property::new(*name, never, false)).collect();
            object(ObjectRules { properties: absent, ..ObjectRules::default() })
        }
        Kind::Forbidden(name) => {
            let name = proper_name(model, found, name).unwrap_or(name);
            object(ObjectRules { required: vec![name.to_owned()], ..ObjectRules::default() })
        }
        Kind::Unnamed(name) => {
            let schema = rules.property(name).map(|property| property.schema);
            let part = model.add(Node { not: schema.into_iter().collect(), ..Node::any() });
            object(ObjectRules { properties: vec![Property::new(name.as_str(), part, true)], ..ObjectRules::default() })
        }
        Kind::Closed => {
            let ObjectRules { properties, pattern_properties, additional, .. } = *rules;
            let any = model.add(Node::any());
            let named = properties.iter().flat_map(all_names);
            let properties = named.map(|name| Property::new(name, any, false)).collect();
            let pattern_properties = pattern_properties.into_iter().map(|(id, _)| (id, any)).collect();
            let closed = ObjectRules { properties, pattern_properties, additional, ..ObjectRules::default() };
            unfit_object(model, closed)
        }
        Kind::Alternatives => {
            let unions = Node { any_of: target.any_of, one_of: target.one_of, ..Node::any() };
            unfit(model, unions, Types::ALL)
        }
        Kind::Rule("not") => Node { any_of: vec![target.not], ..Node::any() },
        Kind::Rule("if") => unfit(model, Node { conditions: target.conditions, ..Node::any() }, Types::ALL),
        Kind::Rule("uniqueItems") => {
            unfit(model, array(ArrayRules { unique: true, ..ArrayRules::default() }), Types::ARRAY)
        }
        Kind::Rule("contains") => {
            let contains = target.array.map(|rules| rules.contains).unwrap_or_default();
            unfit(model, array(ArrayRules { contains, ..ArrayRules::default() }), Types::ARRAY)
        }
        Kind::Rule("dependentRequired") => {
            let dependent_required = rules.dependent_required;
            unfit_object(model, ObjectRules { dependent_required, ..ObjectRules::default() })
        }
        Kind::Rule("dependentSchemas") => {
            let dependent_schemas = rules.dependent_schemas;
            unfit_object(model, ObjectRules { dependent_schemas, ..ObjectRules::default() })
        }
        Kind::Rule("propertyNames") => {
            let names = rules.names;
            unfit_object(model, ObjectRules { names, ..ObjectRules::default() })
        }
        Kind::Rule(_) | Kind::Budget | Kind::Omitted(_) => Node { not: vec![found.target], ..Node::any() },
    }
}

/// The proper name of a member, if this one is an alias.
fn proper_name<'m>(model: &'m Model, found: &Found, alias: &str) -> Option<&'m str> {
    let objects = found.left.iter().filter_map(|node| model[*node].object.as_ref());
    objects.filter_map(|rules| rules.property(alias)).map(|it| it.name.as_str()).find(|name| *name != alias)
}

/// The value in which a member has the alias that shows the gap. Samples have proper names.
fn with_alias(model: &Model, found: &Found, mut value: Value) -> Value {
    let Kind::Forbidden(alias) = &found.kind else { return value };
    let Some(name) = proper_name(model, found, alias) else { return value };
    if let Some(Value::Object(members)) = value.pointer_mut(&pointer(&found.path)) {
        let renamed = |(key, value)| (if key == name { alias.clone() } else { key }, value);
        *members = std::mem::take(members).into_iter().map(renamed).collect();
    }
    value
}

/// A schema of values that are beyond a bound.
fn beyond(keyword: &str, bound: &str) -> Option<Node> {
    let limit = |exclusive| Some(Limit { value: Decimal::parse(bound)?, exclusive });
    let count = || bound.parse::<u64>().ok();
    let number =
        |min, max| Node { number: NumberRules { min, max, ..NumberRules::default() }, ..Node::of(Types::NUMBER) };
    let string = |min_length, max_length| Node {
        string: StringRules { min_length, max_length, ..StringRules::default() },
        ..Node::of(Types::STRING)
    };
    Some(match keyword {
        "minimum" => number(None, Some(limit(true)?)),
        "exclusiveMinimum" => number(None, Some(limit(false)?)),
        "maximum" => number(Some(limit(true)?), None),
        "exclusiveMaximum" => number(Some(limit(false)?), None),
        "minLength" => string(0, Some(count()?.checked_sub(1)?)),
        "maxLength" => string(count()?.checked_add(1)?, None),
        "minItems" => array(ArrayRules { max_items: Some(count()?.checked_sub(1)?), ..ArrayRules::default() }),
        "maxItems" => array(ArrayRules { min_items: count()?.checked_add(1)?, ..ArrayRules::default() }),
        "minProperties" => {
            object(ObjectRules { max_properties: Some(count()?.checked_sub(1)?), ..ObjectRules::default() })
        }
        "maxProperties" => object(ObjectRules { min_properties: count()?.checked_add(1)?, ..ObjectRules::default() }),
        _ => return None,
    })
}
