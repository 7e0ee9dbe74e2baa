//! What the check of a schema needs at each of its nodes, prepared once.

use mcp_core::support::cut;
use mcp_core::support::schema::{Decimal, Model, Node, NodeId, NumberRules, ObjectRules, Types};
use serde_json::Value;

use crate::validate::formats::{Format, format};
use crate::validate::pattern::Pattern;

/// The most bytes of a pattern that an error shows.
const QUOTED: usize = 80;

/// What the check needs at a node.
#[allow(clippy::struct_excessive_bools, reason = "each is a question that the check asks")]
pub(super) struct Plan {
    pub(super) types: Types,
    /// The types that can fit, by every schema that applies to the same value.
    pub(super) possible: Types,
    pub(super) nullable: bool,
    pub(super) is_any: bool,
    pub(super) is_never: bool,
    /// Whether other schemas apply to the same value.
    pub(super) has_applicators: bool,
    /// Whether there is no rule but those schemas.
    pub(super) is_bare: bool,
    /// Whether it has to know which members other schemas have evaluated.
    pub(super) tracks: bool,
    /// Whether scalars are decided by the types, the bounds of integers and the values.
    pub(super) is_leaf: bool,
    /// Whether every number fits.
    pub(super) is_number: bool,
    pub(super) has_string_rules: bool,
    pub(super) has_number_rules: bool,
    /// Integers that fit the rules of numbers for sure: from, to.
    pub(super) integers: (i64, i64),
    pub(super) values: Option<Vec<Const>>,
    /// How many of the values, the last ones, are other names that are not published.
    pub(super) value_aliases: usize,
    pub(super) format: Option<&'static Format>,
    pub(super) max_items: Option<u64>,
    /// The schema of all items, if nothing else depends on them.
    pub(super) simple_items: Option<NodeId>,
    pub(super) object: Option<Box<ObjectPlan>>,
}

/// What the check needs of the rules for objects. Every name that they mention has a slot; the first slots are those of
/// the properties.
pub(super) struct ObjectPlan {
    /// The names and aliases, sorted, with their slots.
    slots: Vec<(String, u32)>,
    /// The schemas of the properties.
    pub(super) targets: Vec<NodeId>,
    /// The names of the slots.
    pub(super) names: Vec<String>,
    /// The slots that must be present, as bits.
    pub(super) required: Vec<u64>,
    /// Whether a null stands for an absent member, by property.
    pub(super) absent_if_null: Vec<bool>,
    /// Whether no other members are allowed.
    pub(super) is_closed: bool,
    pub(super) has_unknown_rules: bool,
    pub(super) dependent_required: Vec<(u32, Vec<u32>)>,
}

/// A value of an `enum`.
pub(super) enum Const {
    Literal(&'static str),
    Number(Decimal),
    Text(String),
    /// A list or an object: its canonical hash.
    Hash(u128),
}

pub(super) fn patterns(model: &Model) -> Vec<Result<Pattern, String>> {
    let compile = |pattern: &String| {
        Pattern::new(pattern).map_err(|reason| format!("the pattern `{}` {reason}", cut(pattern, QUOTED)))
    };
    model.patterns().iter().map(compile).collect()
}

/// What a pattern uses that cannot be compiled, if the schema has one.
pub(crate) fn unread_pattern(model: &Model) -> Option<String> {
    model.patterns().iter().find_map(|pattern| {
        let reason = Pattern::new(pattern).err()?;
        // Without the advice to its author.
        Some(format!("the pattern `{}` {}", cut(pattern, QUOTED), reason.split("; ").next().unwrap_or_default()))
    })
}

pub(super) fn plans(model: &Model, hash: &dyn Fn(&Value) -> u128) -> Vec<Plan> {
    let mut possible = vec![None; model.nodes().count()];
    for (id, _) in model.nodes() {
        possible_types(model, id, &mut possible);
    }
    let plan = |(id, node): (NodeId, &Node)| plan(model, node, possible[id.index()].unwrap_or_default(), hash);
    model.nodes().map(plan).collect()
}

fn plan(model: &Model, node: &Node, possible: Types, hash: &dyn Fn(&Value) -> u128) -> Plan {
    let constant = |value: &Value| match value {
        Value::Null => Const::Literal("null"),
        Value::Bool(value) => Const::Literal(if *value { "true" } else { "false" }),
        Value::Number(number) => Const::Number(Decimal::of(number)),
        Value::String(text) => Const::Text(text.clone()),
        other => Const::Hash(hash(other)),
    };
    let format = node.string.format.as_deref().filter(|_| node.string.checks_format).and_then(format);
    let has_string_rules = format.is_some()
        || node.string.min_length > 0
        || node.string.max_length.is_some()
        || !node.string.patterns.is_empty();
    let is_dependent = node.object.as_ref().is_some_and(|object| !object.dependent_schemas.is_empty());
    let has_number_rules = node.number != NumberRules::default();
    Plan {
        types: node.types,
        possible,
        nullable: node.nullable,
        is_any: node.is_any(),
        is_never: node.is_never(),
        has_applicators: node.has_applicators() || is_dependent,
        is_bare: node.types == Types::ALL
            && node.values.is_none()
            && !has_number_rules
            && !has_string_rules
            && node.array.is_none()
            && node.object.is_none(),
        tracks: node.object.as_ref().is_some_and(|object| object.unevaluated.is_some()),
        is_leaf: !node.has_applicators() && !has_string_rules,
        is_number: node.types.contains(Types::NUMBER) && !has_number_rules && node.values.is_none(),
        has_string_rules,
        has_number_rules,
        integers: integers(&node.number),
        values: node.values.as_ref().map(|values| values.iter().chain(&node.aliases).map(constant).collect()),
        value_aliases: node.aliases.len(),
        format,
        max_items: node.array.as_ref().and_then(|array| {
            let is_closed = array.items.is_some_and(|items| model[model.resolved(items)].is_never());
            let closed = is_closed.then(|| u64::try_from(array.prefix.len()).unwrap_or(u64::MAX));
            closed.into_iter().chain(array.max_items).min()
        }),
        simple_items: node.array.as_ref().and_then(|array| {
            let is_simple = array.prefix.is_empty() && array.contains.is_empty() && !array.unique;
            array.items.filter(|_| is_simple).map(|items| model.resolved(items))
        }),
        object: node.object.as_ref().map(|object| Box::new(ObjectPlan::new(model, object))),
    }
}

/// The types that can fit. Schemas that apply to the same value form no cycle.
fn possible_types(model: &Model, id: NodeId, known: &mut [Option<Types>]) -> Types {
    if let Some(types) = known[id.index()] {
        return types;
    }
    let node = &model[id];
    let mut types = node.types;
    for inner in node.reference.iter().chain(&node.all_of) {
        types = types & possible_types(model, *inner, known);
    }
    for union in node.any_of.iter().chain(&node.one_of) {
        types = types & union.iter().fold(Types::NONE, |types, id| types | possible_types(model, *id, known));
    }
    if node.nullable {
        types = types | Types::NULL;
    }
    known[id.index()] = Some(types);
    types
}

/// The integers of 64 bits that fit; none if that takes more than two comparisons.
fn integers(rules: &NumberRules) -> (i64, i64) {
    let clamped = |value: i128| i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
    let least = rules.min.map_or(Some(i128::from(i64::MIN)), |limit| {
        limit.value.to_i128().map(|value| value.saturating_add(limit.exclusive.into()))
    });
    let most = rules.max.map_or(Some(i128::from(i64::MAX)), |limit| {
        limit.value.to_i128().map(|value| value.saturating_sub(limit.exclusive.into()))
    });
    match (least, most) {
        (Some(least), Some(most)) if least <= most && rules.multiple_of.is_empty() => (clamped(least), clamped(most)),
        _ => (1, 0),
    }
}

impl ObjectPlan {
    fn new(model: &Model, object: &ObjectRules) -> Self {
        let mut names: Vec<String> = object.properties.iter().map(|property| property.name.clone()).collect();
        let mut slot = |name: &String| {
            let known = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            });
            u32::try_from(known).unwrap_or(u32::MAX)
        };
        let dependent_required: Vec<(u32, Vec<u32>)> = object
            .dependent_required
            .iter()
            .map(|(name, required)| (slot(name), required.iter().map(&mut slot).collect()))
            .collect();
        let also_required: Vec<u32> = object.required.iter().map(slot).collect();
        let mut required = vec![0_u64; names.len().div_ceil(64)];
        let properties = (0..).zip(&object.properties);
        let is_required = properties.clone().filter(|(_, property)| property.required).map(|(slot, _)| slot);
        is_required.chain(also_required).for_each(|slot: u32| required[slot as usize / 64] |= 1 << (slot % 64));
        let aliases = properties.flat_map(|(slot, property)| property.aliases.iter().map(move |it| (it.clone(), slot)));
        let mut slots: Vec<(String, u32)> = names.iter().cloned().zip(0..).chain(aliases).collect();
        slots.sort_by(|one, other| one.0.cmp(&other.0));
        slots.dedup_by(|one, other| one.0 == other.0);
        let forbids_others = object.additional.is_some_and(|more| model[more].is_never());
        Self {
            slots,
            targets: object.properties.iter().map(|property| model.resolved(property.schema)).collect(),
            names,
            required,
            absent_if_null: object.properties.iter().map(|it| it.null_is_absent && !it.required).collect(),
            is_closed: forbids_others && object.pattern_properties.is_empty(),
            has_unknown_rules: object.additional.is_some()
                || !object.pattern_properties.is_empty()
                || object.names.is_some(),
            dependent_required,
        }
    }

    /// The slot of a name. Members mostly come in the order of the properties.
    #[inline]
    pub(super) fn slot(&self, name: &str, next: u32) -> Option<u32> {
        if self.names.get(next as usize).is_some_and(|expected| expected == name) {
            return Some(next);
        }
        self.slots.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok().map(|index| self.slots[index].1)
    }
}
