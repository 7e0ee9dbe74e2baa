//! The form of schemas that most hosts and model providers accept.

use serde_json::{Value, json};

use super::model::{Limit, Model, Node, NodeId, ObjectRules, Property, Types};
use super::read::equal;
use super::shape::Shape;
use crate::schema::decimal::Decimal;

/// Whether a schema is of arguments or of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Model {
    /// Brings what schemars made of types into the form that most hosts accept. The shapes are those of the types.
    pub(crate) fn make_host_safe(&mut self, side: Side, shapes: &[&Shape]) {
        let enums: Vec<&[&str]> = shapes.iter().flat_map(|shape| &shape.enums).map(|variants| &**variants).collect();
        for index in 0..self.nodes.len() {
            let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            let mut node = std::mem::take(&mut self[id]);
            plain_format(&mut node);
            self.fold_constants(&mut node, &enums);
            self.plain_variants(&mut node);
            let notes = &mut node.notes;
            notes.other.retain(|key, _| !matches!(key.as_str(), "$schema" | "$id"));
            if side == Side::Input {
                add_aliases(&mut node, shapes);
                let notes = &mut node.notes;
                notes.default = notes.default.take().map(without_nulls).filter(|default| !default.is_null());
                notes.examples.iter_mut().for_each(|example| *example = without_nulls(example.take()));
            }
            if let Some(object) = &mut node.object {
                if object.unevaluated.is_some_and(|schema| self[schema].is_any()) {
                    object.unevaluated = None;
                }
            }
            self[id] = node;
        }
    }

    /// A union of constants, which is what documented variants become, is an `enum` that its description explains.
    fn fold_constants(&self, node: &mut Node, enums: &[&[&str]]) {
        let unions = [&node.one_of[..], &node.any_of[..]].concat();
        let [alternatives] = &unions[..] else { return };
        let mut folded: Vec<(Value, Option<String>)> = Vec::new();
        for alternative in alternatives {
            let alternative = &self[*alternative];
            let Some(values) = alternative.values.as_ref().filter(|_| !alternative.nullable) else { return };
            let document = if let [value] = &values[..] { document(value, alternative) } else { None };
            folded.extend(values.iter().map(|value| (value.clone(), document.clone())));
        }
        // schemars puts the variants without documentation before the others.
        if let Some(order) = declared(&folded, enums) {
            let constant = |name: &&str| folded.iter().find(|(value, _)| value == name).cloned();
            folded = order.iter().filter_map(constant).collect();
        }
        let (constants, documents): (Vec<Value>, Vec<Option<String>>) = folded.into_iter().unzip();
        let documents: Vec<String> = documents.into_iter().flatten().collect();
        node.one_of.clear();
        node.any_of.clear();
        node.types = constants.iter().fold(Types::NONE, |types, value| types | Types::of(value));
        node.values = Some(constants);
        if !documents.is_empty() {
            let lines: Vec<String> = node.notes.description.take().into_iter().chain(documents).collect();
            node.notes.description = Some(lines.join("\n"));
        }
    }

    /// An exclusive union of variants is a plain one: serde accepts the name of a variant or an object of one member, such
    /// as `Ok` or `Err`, whatever else the schema says.
    fn plain_variants(&self, node: &mut Node) {
        let is_only = node.types == Types::ALL
            && !node.nullable
            && node.one_of.len() == 1
            && node.count_applicators() == 1
            && !node.has_rules();
        if !is_only {
            return;
        }
        let name_of = |id: &NodeId| {
            let alternative = &self[self.resolved(*id)];
            match (&alternative.values, &alternative.object) {
                (Some(values), _) if alternative.types == Types::STRING => Some(json!(values).to_string()),
                (None, Some(object)) if alternative.types == Types::OBJECT => match &object.properties[..] {
                    [only] if only.required && object.required.is_empty() => Some(only.name.clone()),
                    _ => None,
                },
                _ => None,
            }
        };
        let names: Option<Vec<String>> = node.one_of[0].iter().map(name_of).collect();
        let is_distinct = |names: Vec<String>| names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
        if names.is_some_and(is_distinct) {
            node.any_of = std::mem::take(&mut node.one_of);
            node.exclusive_unions = node.any_of.len();
        }
    }

    /// Whether every value that fits is an object.
    pub(crate) fn is_object(&self, id: NodeId) -> bool {
        self.is_object_within(id, 16)
    }

    fn is_object_within(&self, id: NodeId, depth: usize) -> bool {
        let node = &self[id];
        let is_object = |id: &NodeId| self.is_object_within(*id, depth - 1);
        let is_union = |union: &Vec<NodeId>| union.iter().all(is_object);
        depth > 0
            && !node.nullable
            && (node.types == Types::OBJECT
                || node.reference.iter().any(is_object)
                || node.any_of.iter().chain(&node.one_of).any(is_union))
    }

    /// Adds a schema with the properties of all alternatives of another one: alternatives at the root of an input schema
    /// make providers reject the tool, or all tools. It says less than the alternatives do, but calls are checked against
    /// those.
    pub(crate) fn add_without_alternatives(&mut self, root: NodeId) -> NodeId {
        let node = &self[root];
        if !node.has_applicators() {
            return root;
        }
        let (notes, name) = (node.notes.clone(), node.name.clone());
        let Flat { properties, required, open } = self.flat(root, 16);
        let mut object = ObjectRules::default();
        for (name, schemas) in properties {
            let schema = self.either(schemas);
            object.properties.push(Property::new(name.clone(), schema, required.contains(&name)));
        }
        if open {
            object.additional = Some(self.add(Node::any()));
        }
        self.add(Node { object: Some(Box::new(object)), notes, name, ..Node::of(Types::OBJECT) })
    }

    fn flat(&self, id: NodeId, depth: usize) -> Flat {
        let mut merged = Flat::default();
        let Some(depth) = depth.checked_sub(1) else { return merged };
        let node = &self[id];
        if let Some(object) = &node.object {
            let is_open = |schema: Option<NodeId>| schema.is_some_and(|schema| !self[schema].is_never());
            merged.open = is_open(object.additional) || !object.pattern_properties.is_empty();
            merged.required = object.required_names().map(str::to_owned).collect();
            for property in &object.properties {
                merged.add(&property.name, (property.schema, None));
            }
        }
        for part in node.all_of.iter().chain(&node.reference) {
            let part = self.flat(*part, depth);
            merged.required.extend(part.required.iter().cloned());
            merged.merge(part);
        }
        for alternatives in node.any_of.iter().chain(&node.one_of) {
            let parts: Vec<Flat> = alternatives.iter().map(|alternative| self.flat(*alternative, depth)).collect();
            let is_tag = |name: &str| {
                let is_constant = |schema: NodeId| matches!(self[schema].values.as_deref(), Some([_]));
                parts
                    .iter()
                    .all(|part| part.schemas(name).is_some_and(|all| all.iter().all(|(id, _)| is_constant(*id))))
            };
            let tags: Vec<String> = parts.iter().flat_map(Flat::names).filter(|name| is_tag(name)).cloned().collect();
            let common = |name: &&String| parts.iter().all(|part| part.required.contains(name));
            let common: Vec<String> =
                parts.first().into_iter().flat_map(|part| &part.required).filter(common).cloned().collect();
            merged.required.extend(common);
            for (mut part, alternative) in parts.into_iter().zip(alternatives) {
                for (name, schemas) in &mut part.properties {
                    for (_, tag_of) in schemas.iter_mut().filter(|_| tags.contains(name)) {
                        *tag_of = Some(*alternative);
                    }
                }
                merged.merge(part);
            }
        }
        merged
    }

    /// A schema for what fits one of several.
    fn either(&mut self, schemas: Vec<FlatSchema>) -> NodeId {
        let text = |model: &Self, id: NodeId| {
            let mut out = Vec::new();
            model.write(id, Side::Input, &mut out);
            out
        };
        let is_constant = |model: &Self, id: NodeId| model[id].values.is_some();
        if schemas.iter().all(|(id, _)| is_constant(self, *id)) {
            let (mut values, mut lines) = (Vec::new(), Vec::new());
            for (id, alternative) in &schemas {
                for value in self[*id].values.iter().flatten() {
                    if !values.iter().any(|known| equal(known, value)) {
                        values.push(value.clone());
                        let line = alternative.and_then(|alternative| document(value, &self[alternative]));
                        lines.extend(self[*id].notes.description.clone().or(line));
                    }
                }
            }
            let types = values.iter().fold(Types::NONE, |types, value| types | Types::of(value));
            let mut node = Node { values: Some(values), ..Node::of(types) };
            node.notes.description = (!lines.is_empty()).then(|| lines.join("\n"));
            return self.add(node);
        }
        let mut distinct: Vec<(NodeId, Vec<u8>)> = Vec::new();
        for (id, _) in schemas {
            let text = text(self, id);
            if distinct.iter().all(|(_, known)| *known != text) {
                distinct.push((id, text));
            }
        }
        if let [(only, _)] = distinct[..] {
            return only;
        }
        let union = distinct.into_iter().map(|(id, _)| id).collect();
        self.add(Node { any_of: vec![union], ..Node::any() })
    }
}

/// The schema of a property in one alternative, and the alternative if the property is its tag.
type FlatSchema = (NodeId, Option<NodeId>);

/// The properties of all alternatives of a schema.
#[derive(Default)]
struct Flat {
    properties: Vec<(String, Vec<FlatSchema>)>,
    required: Vec<String>,
    open: bool,
}

impl Flat {
    fn schemas(&self, name: &str) -> Option<&Vec<FlatSchema>> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, schemas)| schemas)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.properties.iter().map(|(name, _)| name)
    }

    fn add(&mut self, name: &str, schema: FlatSchema) {
        match self.properties.iter_mut().find(|(known, _)| known == name) {
            Some((_, schemas)) => schemas.push(schema),
            None => self.properties.push((name.to_owned(), vec![schema])),
        }
    }

    fn merge(&mut self, part: Self) {
        self.open |= part.open;
        for (name, schemas) in part.properties {
            for schema in schemas {
                self.add(&name, schema);
            }
        }
    }
}

/// Adds the other names of variants and fields that serde accepts. They are not published.
fn add_aliases(node: &mut Node, shapes: &[&Shape]) {
    for (names, count) in shapes.iter().flat_map(|shape| &shape.variants) {
        let values = node.values.as_deref().unwrap_or_default();
        let is_name = |value: &Value| value.as_str().is_some_and(|name| names.contains(&name));
        // If the schema has a value for each variant, every other name is an alias.
        if values.len() == *count && values.iter().all(is_name) {
            let others = names.iter().filter(|name| !values.iter().any(|value| value == *name));
            node.aliases.extend(others.map(|name| Value::from(*name)));
        }
    }
    let Some(object) = &mut node.object else { return };
    for alias in shapes.iter().flat_map(|shape| &shape.aliases) {
        let is_struct = object.properties.iter().all(|property| alias.names.contains(&property.name.as_str()));
        if is_struct && object.property(alias.name).is_none() {
            if let Some(field) = object.properties.iter_mut().find(|property| property.name == alias.field) {
                field.aliases.push(alias.name.to_owned());
            }
        }
    }
}

/// Replaces formats that only schemars knows: those of numbers by bounds, others by words.
fn plain_format(node: &mut Node) {
    let Some(format) = node.string.format.as_deref() else { return };
    let bounds: (Option<i128>, Option<i128>) = match format {
        "int8" => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        "int16" => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        "int32" => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        "uint8" => (Some(0), Some(u8::MAX.into())),
        "uint16" => (Some(0), Some(u16::MAX.into())),
        "uint32" => (Some(0), Some(u32::MAX.into())),
        "uint" | "uint64" | "uint128" => (Some(0), None),
        "int" | "int64" | "int128" | "float" | "double" => (None, None),
        "ip" => return in_words(node, "An IPv4 or IPv6 address."),
        "partial-date-time" => return in_words(node, "A date and time without a zone, such as 2001-12-31T23:59:59."),
        "partial-time" => return in_words(node, "A time of day, such as 23:59:59."),
        _ => return,
    };
    node.string.format = None;
    let limit = |bound: i128| Limit { value: Decimal::from(bound), exclusive: false };
    if let Some(min) = bounds.0 {
        node.number.restrict_min(limit(min));
    }
    if let Some(max) = bounds.1 {
        node.number.restrict_max(limit(max));
    }
}

fn in_words(node: &mut Node, format: &str) {
    node.string.format = None;
    node.notes.description.get_or_insert_with(|| format.to_owned());
}

/// The value without the members that are null, which can be left out.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let members = object.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// The variants of the enum that the constants are of, unless several enums put them in different orders.
fn declared<'a>(constants: &[(Value, Option<String>)], enums: &[&'a [&'a str]]) -> Option<Vec<&'a str>> {
    let is_constant = |name: &str| constants.iter().any(|(value, _)| value == name);
    // An enum's names include the aliases of its variants.
    let names = |variants: &&'a [&'a str]| variants.iter().copied().filter(|name| is_constant(name)).collect();
    let mut orders = enums.iter().map(names).filter(|names: &Vec<&str>| names.len() == constants.len());
    let first = orders.next()?;
    orders.all(|order| order == first).then_some(first)
}

const DOCUMENT: &str = "- `";

/// The line that describes one constant.
fn document(value: &Value, alternative: &Node) -> Option<String> {
    let words: Vec<&str> = alternative.notes.description.as_deref()?.split_whitespace().collect();
    let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(format!("{DOCUMENT}{name}`: {}", words.join(" ")))
}

/// A description for a schema that has one already: the lines about an enum's constants stay.
pub(crate) fn described(node: &Node, description: &str) -> String {
    let known = node.notes.description.as_deref().filter(|_| node.values.is_some());
    let documents = known.into_iter().flat_map(str::lines).filter(|line| line.starts_with(DOCUMENT));
    std::iter::once(description).chain(documents).collect::<Vec<_>>().join("\n")
}
