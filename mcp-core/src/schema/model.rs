//! The schema model: what the JSON Schemas of tools can express, as data.
//!
//! A [`Model`] is a graph of [`Node`]s. A node is a conjunction: a value fits if it fits every part that the node has. Parts
//! about one type, such as [`StringRules`], say nothing about values of other types. References are edges, so a recursive
//! schema is a cycle. A model is read from JSON Schema ([`Model::read`]) and written as JSON Schema ([`Model::write`]); the
//! registry checks values against it, explains faults and makes samples.

use std::collections::HashMap;
use std::fmt;
use std::ops::{BitAnd, BitOr, Index, IndexMut, Not};

use serde_json::Value;

use super::decimal::Decimal;
use crate::util::JsonObject;

/// A schema, as a graph of nodes.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    /// The regular expressions of all nodes, each once.
    pub(crate) patterns: Vec<String>,
    /// The definitions of schemas that are published as their authors wrote them.
    pub(crate) definitions: JsonObject,
}

/// The position of a node in its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// The position of a regular expression in its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatternId(pub(crate) u32);

/// One schema: every part that it has must fit.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The types that fit.
    pub types: Types,
    /// Whether null fits, whatever the other parts say.
    pub nullable: bool,
    /// Another schema that must fit as well: the target of `$ref`.
    pub reference: Option<NodeId>,
    /// The only values that fit: `enum` and `const`.
    pub values: Option<Vec<Value>>,
    /// Other values that fit, which are not published.
    pub aliases: Vec<Value>,
    /// Rules for numbers.
    pub number: NumberRules,
    /// Rules for strings.
    pub string: StringRules,
    /// Rules for arrays.
    pub array: Option<Box<ArrayRules>>,
    /// Rules for objects.
    pub object: Option<Box<ObjectRules>>,
    /// Schemas that must all fit.
    pub all_of: Vec<NodeId>,
    /// Unions: of each, at least one schema must fit.
    pub any_of: Vec<Vec<NodeId>>,
    /// How many unions at the end of `any_of` are of schemas that exclude each other, and were written as `oneOf`: serde
    /// chooses by their tag, and does not try one after the other.
    pub exclusive_unions: usize,
    /// Exclusive unions: of each, exactly one schema must fit.
    pub one_of: Vec<Vec<NodeId>>,
    /// Schemas that must not fit.
    pub not: Vec<NodeId>,
    /// `if`, `then` and `else`.
    pub conditions: Vec<Condition>,
    /// What is said about the values, without a rule.
    pub notes: Notes,
    /// The name of the definition that the node is.
    pub name: Option<String>,
    /// The schema as its author wrote it, which is published in place of the parts.
    pub verbatim: Option<Value>,
}

/// The types of JSON Schema, as a set. An integer is a number without a fraction, however it is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Types(u8);

/// Rules for numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberRules {
    /// The lower bound.
    pub min: Option<Limit>,
    /// The upper bound.
    pub max: Option<Limit>,
    /// Numbers of which the value must be a multiple.
    pub multiple_of: Vec<Decimal>,
}

/// A bound of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The bound.
    pub value: Decimal,
    /// Whether the bound itself does not fit.
    pub exclusive: bool,
}

/// Rules for strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringRules {
    /// The minimum number of characters.
    pub min_length: u64,
    /// The maximum number of characters.
    pub max_length: Option<u64>,
    /// Regular expressions that must all match.
    pub patterns: Vec<PatternId>,
    /// The format.
    pub format: Option<String>,
    /// Whether the format is a rule. The types of a program enforce their own formats, and may accept more than those say.
    pub checks_format: bool,
}

/// Rules for arrays.
#[derive(Clone, Debug, Default)]
pub struct ArrayRules {
    /// The schemas of the first items.
    pub prefix: Vec<NodeId>,
    /// The schema of the items after those.
    pub items: Option<NodeId>,
    /// The minimum number of items.
    pub min_items: u64,
    /// The maximum number of items.
    pub max_items: Option<u64>,
    /// Whether all items must differ.
    pub unique: bool,
    /// How many items must fit a schema.
    pub contains: Vec<Contains>,
}

/// How many items of an array must fit a schema.
#[derive(Clone, Copy, Debug)]
pub struct Contains {
    /// The schema.
    pub schema: NodeId,
    /// The minimum number.
    pub min: u64,
    /// The maximum number.
    pub max: Option<u64>,
}

/// Rules for objects.
#[derive(Clone, Debug, Default)]
pub struct ObjectRules {
    /// The members that the schema names.
    pub properties: Vec<Property>,
    /// Names that are required without being in `properties`.
    pub required: Vec<String>,
    /// The schemas of the members whose names match.
    pub pattern_properties: Vec<(PatternId, NodeId)>,
    /// The schema of all members that neither `properties` nor `pattern_properties` covers.
    pub additional: Option<NodeId>,
    /// The schema of names.
    pub names: Option<NodeId>,
    /// The minimum number of members.
    pub min_properties: u64,
    /// The maximum number of members.
    pub max_properties: Option<u64>,
    /// Members that are required if another one is present.
    pub dependent_required: Vec<(String, Vec<String>)>,
    /// Schemas of the object if a member is present.
    pub dependent_schemas: Vec<(String, NodeId)>,
    /// The schema of the members that no schema of the same object has evaluated.
    pub unevaluated: Option<NodeId>,
}

/// A member of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Property {
    /// The name.
    pub name: String,
    /// Other names that stand for it.
    pub aliases: Vec<String>,
    /// The schema.
    pub schema: NodeId,
    /// Whether it must be present.
    pub required: bool,
    /// Whether a null stands for an absent value even if null fits the schema.
    pub null_is_absent: bool,
}

/// `if`, `then` and `else`.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// If this schema fits …
    pub condition: NodeId,
    /// … this one must fit.
    pub then: Option<NodeId>,
    /// Otherwise this one must.
    pub otherwise: Option<NodeId>,
}

/// What is said about values, without a rule.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Notes {
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The default.
    pub default: Option<Value>,
    /// Examples.
    pub examples: Vec<Value>,
    /// Every other keyword that is not a rule.
    pub other: JsonObject,
}

impl Model {
    /// A model of one node.
    pub fn new(root: Node) -> Self {
        Self { nodes: vec![root], root: NodeId(0), patterns: Vec::new(), definitions: JsonObject::new() }
    }

    /// The schema of the whole value.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The same nodes with another root.
    #[must_use]
    pub fn with_root(&self, root: NodeId) -> Self {
        Self { root, ..self.clone() }
    }

    /// The schema of a part, with the nodes and the regular expressions that it needs and no others.
    #[must_use]
    pub fn part(&self, root: NodeId) -> Self {
        let mut part = Self { nodes: Vec::new(), ..Self::new(Node::any()) };
        let (mut needed, mut places) = (vec![root], HashMap::from([(root, NodeId(0))]));
        while let Some(id) = needed.get(part.nodes.len()) {
            let mut node = self[*id].clone();
            node.map_children(&mut |id| {
                let next = NodeId(u32::try_from(needed.len()).unwrap_or(u32::MAX));
                *places.entry(id).or_insert_with(|| {
                    needed.push(id);
                    next
                })
            });
            node.patterns_mut().for_each(|id| *id = part.add_pattern(self.pattern(*id)));
            part.nodes.push(node);
        }
        part
    }

    /// Every node, with its position.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// The regular expressions, in the order of their positions.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// A regular expression.
    pub fn pattern(&self, id: PatternId) -> &str {
        &self.patterns[id.index()]
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }

    /// Makes every format a rule.
    pub fn check_formats(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.string.checks_format = true);
    }

    /// Adds the nodes of another model, and returns its root.
    pub fn import(&mut self, other: Self) -> NodeId {
        let offset = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let patterns: Vec<PatternId> = other.patterns.iter().map(|pattern| self.add_pattern(pattern)).collect();
        for mut node in other.nodes {
            node.map_children(&mut |id| NodeId(id.0 + offset));
            node.patterns_mut().for_each(|id| *id = patterns[id.index()]);
            self.nodes.push(node);
        }
        NodeId(other.root.0 + offset)
    }

    /// Adds a regular expression, unless it is there.
    pub(crate) fn add_pattern(&mut self, pattern: &str) -> PatternId {
        let known = self.patterns.iter().position(|known| known == pattern);
        let index = known.unwrap_or_else(|| {
            self.patterns.push(pattern.to_owned());
            self.patterns.len() - 1
        });
        PatternId(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

impl NodeId {
    /// The position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PatternId {
    /// The position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Index<NodeId> for Model {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

impl IndexMut<NodeId> for Model {
    fn index_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }
}

impl Node {
    /// A schema that every value fits.
    pub fn any() -> Self {
        Self::default()
    }

    /// A schema that no value fits.
    pub fn never() -> Self {
        Self::of(Types::NONE)
    }

    /// A schema of types.
    pub fn of(types: Types) -> Self {
        Self { types, ..Self::default() }
    }

    /// Whether every value fits.
    pub fn is_any(&self) -> bool {
        self.types == Types::ALL && self.is_types_only()
    }

    /// Whether plainly no value fits.
    pub fn is_never(&self) -> bool {
        self.types == Types::NONE && !self.nullable
    }

    /// Whether the types are the only rule.
    pub fn is_types_only(&self) -> bool {
        !self.has_rules() && !self.has_applicators()
    }

    /// Whether the node has rules of its own besides the types.
    pub(crate) fn has_rules(&self) -> bool {
        self.values.is_some()
            || self.number != NumberRules::default()
            || !self.string.has_no_rule()
            || self.array.is_some()
            || self.object.is_some()
    }

    /// Whether other schemas apply to the same value.
    pub fn has_applicators(&self) -> bool {
        self.count_applicators() > 0
    }

    /// How many keywords apply other schemas to the same value.
    pub(crate) fn count_applicators(&self) -> usize {
        let unions = self.any_of.len() + self.one_of.len();
        usize::from(self.reference.is_some()) + self.all_of.len() + unions + self.not.len() + self.conditions.len()
    }

    /// The schemas that apply to the same value as this one, whatever their effect.
    pub fn in_place(&self) -> impl Iterator<Item = NodeId> + '_ {
        let unions = self.any_of.iter().chain(&self.one_of).flatten();
        let conditions = self.conditions.iter().flat_map(|condition| {
            [Some(condition.condition), condition.then, condition.otherwise].into_iter().flatten()
        });
        let dependent =
            self.object.iter().flat_map(|object| object.dependent_schemas.iter().map(|(_, schema)| *schema));
        let lists = self.all_of.iter().chain(unions).chain(&self.not).copied();
        self.reference.into_iter().chain(lists).chain(conditions).chain(dependent)
    }

    /// The schemas of parts of the value: items, members and names.
    pub fn parts(&self) -> impl Iterator<Item = NodeId> + '_ {
        let array = self.array.iter().flat_map(|array| {
            let contains = array.contains.iter().map(|contains| contains.schema);
            array.prefix.iter().copied().chain(array.items).chain(contains)
        });
        let object = self.object.iter().flat_map(|object| {
            let properties = object.properties.iter().map(|property| property.schema);
            let patterns = object.pattern_properties.iter().map(|(_, schema)| *schema);
            let others = [object.additional, object.names, object.unevaluated].into_iter().flatten();
            properties.chain(patterns).chain(others)
        });
        array.chain(object)
    }

    /// Every schema that this one refers to.
    pub fn children(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.in_place().chain(self.parts())
    }

    fn patterns_mut(&mut self) -> impl Iterator<Item = &mut PatternId> {
        let members = self.object.iter_mut().flat_map(|object| &mut object.pattern_properties);
        self.string.patterns.iter_mut().chain(members.map(|(id, _)| id))
    }

    /// Changes every reference to another node.
    pub(crate) fn map_children(&mut self, map: &mut impl FnMut(NodeId) -> NodeId) {
        let mut each = |id: &mut NodeId| *id = map(*id);
        self.reference.iter_mut().for_each(&mut each);
        self.all_of.iter_mut().chain(&mut self.not).for_each(&mut each);
        self.any_of.iter_mut().chain(&mut self.one_of).flatten().for_each(&mut each);
        for Condition { condition, then, otherwise } in &mut self.conditions {
            each(condition);
            then.iter_mut().chain(otherwise).for_each(&mut each);
        }
        if let Some(array) = &mut self.array {
            array.prefix.iter_mut().chain(&mut array.items).for_each(&mut each);
            array.contains.iter_mut().for_each(|contains| each(&mut contains.schema));
        }
        if let Some(object) = &mut self.object {
            object.properties.iter_mut().for_each(|property| each(&mut property.schema));
            object.pattern_properties.iter_mut().for_each(|(_, schema)| each(schema));
            object.dependent_schemas.iter_mut().for_each(|(_, schema)| each(schema));
            let ObjectRules { additional, names, unevaluated, .. } = &mut **object;
            additional.iter_mut().chain(names).chain(unevaluated).for_each(&mut each);
        }
    }
}

impl StringRules {
    /// Whether no string is ruled out.
    pub fn has_no_rule(&self) -> bool {
        self.min_length == 0
            && self.max_length.is_none()
            && self.patterns.is_empty()
            && (self.format.is_none() || !self.checks_format)
    }
}

impl ObjectRules {
    /// The member of this name or alias.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name || property.aliases.iter().any(|it| it == name))
    }

    /// The names of members that must be present.
    pub fn required_names(&self) -> impl Iterator<Item = &str> {
        let properties = self.properties.iter().filter(|property| property.required);
        properties.map(|property| property.name.as_str()).chain(self.required.iter().map(String::as_str))
    }
}

impl Property {
    /// A member.
    pub fn new(name: impl Into<String>, schema: NodeId, required: bool) -> Self {
        Self { name: name.into(), aliases: Vec::new(), schema, required, null_is_absent: false }
    }
}

impl Types {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Null.
    pub const NULL: Self = Self(1);
    /// Booleans.
    pub const BOOLEAN: Self = Self(2);
    /// Numbers without a fraction.
    pub const INTEGER: Self = Self(4);
    /// Numbers with a fraction.
    pub const FRACTION: Self = Self(8);
    /// All numbers.
    pub const NUMBER: Self = Self(4 | 8);
    /// Strings.
    pub const STRING: Self = Self(16);
    /// Arrays.
    pub const ARRAY: Self = Self(32);
    /// Objects.
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ALL: Self = Self(127);

    /// The names of JSON Schema. A number with a fraction is a `number`.
    const NAMES: [(&'static str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self::BOOLEAN),
        ("integer", Self::INTEGER),
        ("number", Self::NUMBER),
        ("string", Self::STRING),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
    ];

    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, types)| *types)
    }

    /// The type of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if Decimal::of(number).is_integer() => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether the sets have a type in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether every type of the other set is in this one.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is no type.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of the types, as JSON Schema has them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_named = move |(name, types): &(&'static str, Self)| match *name {
            "integer" => self.contains(*types) && !self.contains(Self::NUMBER),
            _ => self.contains(*types),
        };
        Self::NAMES.into_iter().filter(is_named).map(|(name, _)| name)
    }
}

impl Default for Types {
    fn default() -> Self {
        Self::ALL
    }
}

impl BitAnd for Types {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Not for Types {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        write!(f, "Types({})", names.join("|"))
    }
}
