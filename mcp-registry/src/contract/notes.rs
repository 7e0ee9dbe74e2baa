//! What schemas say without a rule: descriptions, titles, examples, defaults.
//!
//! Schemas are compared as they are written, since a model that was brought into one form has lost some of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use mcp_core::support::schema::{Model, Node, NodeId, Notes, Property, Types};
use serde_json::Value;

use super::parameters::pointer_to;

/// A note that differs.
pub(super) struct NoteChange {
    pub(super) note: Note,
    /// Where in the value, as a JSON Pointer.
    pub(super) pointer: String,
    /// The effective default.
    pub(super) defaults: [Option<Value>; 2],
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Note {
    Description,
    Title,
    Default,
    Examples,
    /// Any other keyword without a rule.
    Other,
}

impl Note {
    const ALL: [Self; 5] = [Self::Description, Self::Title, Self::Default, Self::Examples, Self::Other];

    /// The names of the rule: about arguments, and about results.
    pub(super) const fn rules(self) -> [&'static str; 2] {
        match self {
            Self::Description => ["parameter-description", "result-description"],
            Self::Title => ["parameter-title", "result-title"],
            Self::Default => ["default-changed", "result-default"],
            Self::Examples => ["parameter-examples", "result-examples"],
            Self::Other => ["parameter-annotations", "result-annotations"],
        }
    }

    /// What has changed.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Description => "the description has changed",
            Self::Title => "the title has changed",
            Self::Default => "the default has changed",
            Self::Examples => "the examples have changed",
            Self::Other => "keywords that no value depends on have changed",
        }
    }

    /// What the notes of a schema say.
    fn texts(self, notes: &Notes) -> Vec<String> {
        match self {
            Self::Description => notes.description.iter().cloned().collect(),
            Self::Title => notes.title.iter().cloned().collect(),
            // Null is what an absent parameter is anyway.
            Self::Default => {
                notes.default.iter().filter(|default| !default.is_null()).map(ToString::to_string).collect()
            }
            Self::Examples if notes.examples.is_empty() => Vec::new(),
            Self::Examples => vec![Value::from(notes.examples.clone()).to_string()],
            Self::Other => {
                let other = notes.other.iter().filter(|(keyword, _)| !keyword.starts_with('$'));
                other.map(|(keyword, value)| format!("{keyword}: {value}")).collect()
            }
        }
    }
}

/// How many places are compared.
const MAX_PLACES: usize = 1 << 14;

/// The notes that differ, by place; none if there are too many places to tell.
pub(super) fn changes(old: &Model, new: &Model) -> Option<Vec<NoteChange>> {
    let mut compared = HashSet::new();
    let mut found = Vec::new();
    let mut left = vec![(vec![old.root()], vec![new.root()], String::new(), false)];
    while let Some((one, other, pointer, was_required)) = left.pop() {
        let (one, other) = (Place::new(old, one), Place::new(new, other));
        if !compared.insert((one.nodes.clone(), other.nodes.clone())) {
            continue;
        }
        if compared.len() > MAX_PLACES {
            return None;
        }
        for note in Note::ALL {
            let is_same = match note {
                // The default of a required member meant nothing.
                Note::Default => was_required || one.default() == other.default(),
                _ => one.texts(note) == other.texts(note),
            };
            if !is_same {
                let defaults = [one.default(), other.default()].map(Option::<&Value>::cloned);
                found.push(NoteChange { note, pointer: pointer.clone(), defaults });
            }
        }
        let theirs = other.parts();
        let parts = one.parts().into_iter().filter_map(|(step, part)| {
            let (step, same) = match (step, theirs.get_key_value(&step)) {
                (_, Some((step, same))) => (*step, same.nodes.clone()),
                (Step::Member(name), None) => other.member(name)?,
                _ => return None,
            };
            let prefix = theirs.keys().filter(|step| matches!(step, Step::Item(_))).count();
            Some((part.nodes, same, pointer.clone() + &step.pointer(prefix), part.is_required))
        });
        let alternatives = paired(&one, &other);
        let alternatives =
            alternatives.into_iter().map(|(one, other)| (vec![one], vec![other], pointer.clone(), was_required));
        left.extend(alternatives.chain(parts).collect::<Vec<_>>().into_iter().rev());
    }
    Some(found)
}

/// Whether the schemas say the same, wherever that is.
pub(super) fn are_same(old: &Model, new: &Model) -> bool {
    let all = |model: &Model| -> BTreeSet<(Note, String)> {
        let texts =
            |node: &Node| Note::ALL.map(|note| note.texts(&node.notes).into_iter().map(move |text| (note, text)));
        model.nodes().flat_map(|(_, node)| texts(node)).flatten().collect()
    };
    all(old) == all(new)
}

/// All schemas that apply to one part of a value.
struct Place<'m> {
    model: &'m Model,
    nodes: Vec<NodeId>,
    /// The alternatives of unions, of which any may apply.
    alternatives: Vec<NodeId>,
}

/// A step to a part of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'m> {
    Member(&'m str),
    Pattern(&'m str),
    OtherMember,
    Name,
    Item(usize),
    OtherItem,
    Contained,
}

impl Step<'_> {
    /// How it is shown, after so many items that have schemas of their own.
    fn pointer(self, prefix: usize) -> String {
        match self {
            Self::Member(name) => pointer_to(name),
            Self::Item(at) => format!("/{at}"),
            Self::OtherItem => format!("/{prefix}"),
            Self::Name => String::new(),
            Self::Pattern(_) | Self::OtherMember | Self::Contained => "/*".to_owned(),
        }
    }
}

/// A part of a value.
#[derive(Default)]
struct Part {
    nodes: Vec<NodeId>,
    is_required: bool,
}

impl<'m> Place<'m> {
    fn new(model: &'m Model, nodes: Vec<NodeId>) -> Self {
        let (mut place, mut known) = (Self { model, nodes, alternatives: Vec::new() }, HashSet::new());
        let is_null = |id: &NodeId| model[*id].types == Types::NULL && model[*id].is_types_only();
        place.nodes.retain(|id| known.insert(*id));
        let mut next = 0;
        while let Some(id) = place.nodes.get(next) {
            let node = &model[*id];
            let mut inner: Vec<NodeId> = node.reference.iter().chain(&node.all_of).copied().collect();
            for union in node.any_of.iter().chain(&node.one_of) {
                // A schema or null is written in several ways.
                let others: Vec<NodeId> = union.iter().copied().filter(|one| !is_null(one)).collect();
                if others.len() == 1 { &mut inner } else { &mut place.alternatives }.extend(others);
            }
            inner.extend(node.conditions.iter().flat_map(|it| [Some(it.condition), it.then, it.otherwise]).flatten());
            inner.extend(node.object.iter().flat_map(|rules| &rules.dependent_schemas).map(|(_, schema)| *schema));
            place.nodes.extend(inner.into_iter().filter(|id| known.insert(*id)));
            next += 1;
        }
        place
    }

    fn notes(&self) -> impl Iterator<Item = &'m Notes> {
        self.nodes.iter().map(|id| &self.model[*id].notes)
    }

    /// What is said, however often.
    fn texts(&self, note: Note) -> BTreeSet<String> {
        self.notes().flat_map(|notes| note.texts(notes)).collect()
    }

    fn default(&self) -> Option<&'m Value> {
        self.notes().find_map(|notes| notes.default.as_ref()).filter(|default| !default.is_null())
    }

    fn parts(&self) -> BTreeMap<Step<'m>, Part> {
        let mut parts = BTreeMap::new();
        let mut add = |step, schema, is_required| {
            let part: &mut Part = parts.entry(step).or_default();
            part.nodes.push(schema);
            part.is_required |= is_required;
        };
        for node in self.nodes.iter().map(|id| &self.model[*id]) {
            if let Some(rules) = &node.object {
                rules.properties.iter().for_each(|it| add(Step::Member(&it.name), it.schema, it.required));
                let patterns = rules.pattern_properties.iter();
                patterns.for_each(|(id, schema)| add(Step::Pattern(self.model.pattern(*id)), *schema, false));
                rules.additional.iter().chain(&rules.unevaluated).for_each(|id| add(Step::OtherMember, *id, false));
                rules.names.iter().for_each(|names| add(Step::Name, *names, false));
            }
            if let Some(rules) = &node.array {
                rules.prefix.iter().enumerate().for_each(|(at, schema)| add(Step::Item(at), *schema, false));
                rules.items.iter().for_each(|items| add(Step::OtherItem, *items, false));
                rules.contains.iter().for_each(|it| add(Step::Contained, it.schema, false));
            }
        }
        parts
    }

    /// The member that has this name as an alias.
    fn member(&self, alias: &str) -> Option<(Step<'m>, Vec<NodeId>)> {
        let objects = self.nodes.iter().filter_map(|id| self.model[*id].object.as_deref());
        let properties: Vec<&Property> = objects.filter_map(|rules| rules.property(alias)).collect();
        Some((Step::Member(&properties.first()?.name), properties.iter().map(|it| it.schema).collect()))
    }

    /// What tells an alternative from others, apart from its notes: everything, or only the values of its members.
    fn facts(&self, of_members_only: bool) -> Vec<String> {
        let values = |id: NodeId| {
            let place = Self::new(self.model, vec![id]);
            let mut values = place.nodes.iter().filter_map(|id| place.model[*id].values.as_ref());
            values.next().map(|values| Value::from(values.clone()).to_string())
        };
        let mut facts = Vec::new();
        for node in self.nodes.iter().map(|id| &self.model[*id]) {
            let properties = node.object.iter().flat_map(|rules| &rules.properties);
            facts.extend(properties.filter_map(|property| match (values(property.schema), of_members_only) {
                (Some(values), _) => Some(format!("{} {values}", property.name)),
                (None, false) => Some(property.name.clone()),
                (None, true) => None,
            }));
            if !of_members_only {
                facts.extend(node.values.iter().map(|values| Value::from(values.clone()).to_string()));
                facts.push(format!("{:?} {:?} {:?}", node.types, node.number, node.string.format));
            }
        }
        facts.sort_unstable();
        facts
    }
}

/// The alternatives of two places that belong together, whatever their order: those that are alike, those whose members have
/// the same values, such as tags, and the others by their order if there are equally many.
fn paired(one: &Place<'_>, other: &Place<'_>) -> Vec<(NodeId, NodeId)> {
    let (mut old, mut new) = (one.alternatives.clone(), other.alternatives.clone());
    let mut pairs = Vec::new();
    for of_members_only in [false, true] {
        let facts = |model, id| Place::new(model, vec![id]).facts(of_members_only);
        let mut by_facts: HashMap<Vec<String>, VecDeque<NodeId>> = HashMap::new();
        for id in new {
            by_facts.entry(facts(other.model, id)).or_default().push_back(id);
        }
        old.retain(|id| {
            let facts = facts(one.model, *id);
            let same = by_facts.get_mut(&facts).filter(|_| !facts.is_empty()).and_then(VecDeque::pop_front);
            pairs.extend(same.map(|same| (*id, same)));
            same.is_none()
        });
        new = by_facts.into_values().flatten().collect();
        new.sort_unstable();
    }
    if old.len() == new.len() {
        pairs.extend(old.into_iter().zip(new));
    }
    pairs
}
