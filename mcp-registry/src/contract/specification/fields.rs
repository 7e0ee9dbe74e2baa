//! The rows of the tables: what a schema says about each argument or field.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{BitAnd, BitOr};

use mcp_core::message::JsonObject;
use mcp_core::support::faults::counted;
use mcp_core::support::schema::{Decimal, Types, equal, fragment};
use serde_json::{Number, Value};

use super::Field;
use super::markdown::{code, code_of, codes};
use crate::catalog::tool::RegisteredTool;

/// How many levels of lists, maps and alternatives the type of one field shows.
const MAX_DEPTH: usize = 4;

/// How many rows a table has.
const MAX_ROWS: usize = 300;

/// How many parts of a value are visited. Not all of them have a row.
const MAX_PARTS: usize = 20 * MAX_ROWS;

/// How many values of an enum are listed.
const MAX_VALUES: usize = 20;

/// The arguments of a tool.
pub(super) fn parameters(tool: &RegisteredTool) -> Vec<Field> {
    let mut fields = of(tool.input_schema());
    for param in tool.params().iter().filter(|param| !param.aliases.is_empty()) {
        for field in fields.iter_mut().filter(|field| field.name == param.name) {
            field.constraints.push(format!("older name: {}", codes(param.aliases)));
        }
    }
    fields
}

/// The members of an object with this schema.
pub(super) fn of(schema: &Value) -> Vec<Field> {
    let walk = Walk { root: schema };
    walk.fields(walk.node(&[schema]))
}

/// What an object with this schema must satisfy as a whole.
pub(super) fn of_whole(schema: &Value) -> Vec<String> {
    let walk = Walk { root: schema };
    walk.constraints_of_whole(&walk.node(&[schema]))
}

/// Reads schemas that refer to others below the same root.
struct Walk<'a> {
    root: &'a Value,
}

/// A schema together with those that it refers to.
#[derive(Clone, Default)]
struct Node<'a> {
    layers: All<'a>,
    nullable: bool,
    /// The alternatives of each union that has several besides null.
    unions: Vec<Vec<All<'a>>>,
}

/// Schemas that all apply to the same value.
type All<'a> = Vec<&'a Value>;

/// A part of a value.
#[derive(Clone)]
struct Part<'a> {
    /// What follows the name of the whole: `name`, `*` for members with other names, `[]` for items, `[0]` for one.
    step: String,
    /// The schemas of the alternatives that have the part.
    schemas: Vec<All<'a>>,
    required: bool,
    /// Whether it is described by itself, rather than with the whole.
    is_field: bool,
}

impl<'a> Node<'a> {
    /// The values of a keyword. They all apply.
    fn all(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.layers.iter().filter_map(move |layer| layer.get(key))
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.all(key).next()
    }

    /// The strictest of several bounds: the greatest minimum, or the least maximum.
    fn bound(&self, key: &str) -> Option<&'a Number> {
        let bounds = self.all(key).filter_map(Value::as_number);
        let size = |bound: &&Number| Decimal::of(bound);
        if key.to_lowercase().contains("min") { bounds.max_by_key(size) } else { bounds.min_by_key(size) }
    }

    /// The types that each schema allows; `None` if none of them has `type`.
    fn types(&self) -> Option<Vec<&'a str>> {
        let names = |types: &'a Value| types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice).iter();
        let type_of = |name: &Value| name.as_str().and_then(Types::named).unwrap_or(Types::NONE);
        let sets = self.all("type").map(|types| names(types).map(type_of).fold(Types::NONE, BitOr::bitor));
        let common = sets.reduce(BitAnd::bitand)?;
        let fitting = self.all("type").flat_map(names).filter(|name| common.contains(type_of(name)));
        Some(distinct(fitting.filter_map(Value::as_str).collect()))
    }

    /// Whether a value can have this type.
    fn allows(&self, name: &str) -> bool {
        match self.types() {
            Some(names) => names.contains(&name),
            None => self.values().is_none_or(|values| values.into_iter().any(|value| type_of(value) == name)),
        }
    }

    /// The schemas of the items of a list.
    fn items(&self) -> Option<All<'a>> {
        Some(self.all("items").filter(|items| items.is_object()).collect()).filter(|items: &All<'a>| !items.is_empty())
    }

    /// The values of an enum.
    fn values(&self) -> Option<Vec<&'a Value>> {
        let enums = self.all("enum").filter_map(|values| Some(values.as_array()?.iter().collect::<Vec<_>>()));
        let lists = enums.chain(self.all("const").map(|value| vec![value]));
        lists.reduce(|one, other| one.into_iter().filter(|value| other.iter().any(|it| equal(it, value))).collect())
    }

    /// The schemas of members without a name of their own, with the pattern of their names.
    fn maps(&self) -> Vec<(Option<&'a str>, &'a Value)> {
        let by_pattern = self.all("patternProperties").filter_map(Value::as_object).flatten();
        let by_pattern = by_pattern.map(|(name, schema)| (Some(name.as_str()), schema));
        let others = self.get("additionalProperties").map(|schema| (None, schema));
        by_pattern.chain(others).filter(|(_, schema)| schema.is_object()).collect()
    }
}

impl<'a> Walk<'a> {
    fn node(&self, schemas: &[&'a Value]) -> Node<'a> {
        let mut node = Node::default();
        for schema in schemas {
            self.add(schema, &mut node);
        }
        node
    }

    /// What one of these alternatives applies to.
    fn any_of(&self, alternatives: &[All<'a>]) -> Node<'a> {
        match alternatives {
            [first, others @ ..] if others.iter().all(|other| other == first) => self.node(first),
            _ => Node { unions: vec![alternatives.to_vec()], ..Node::default() },
        }
    }

    fn add(&self, schema: &'a Value, node: &mut Node<'a>) {
        if node.layers.iter().any(|known| std::ptr::eq(*known, schema)) {
            return;
        }
        node.layers.push(schema);
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|target| fragment(self.root, target));
        if let Some(target) = pointer.and_then(|pointer| self.root.pointer(&pointer)) {
            self.add(target, node);
        }
        let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
        list("allOf").for_each(|part| self.add(part, node));
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|kind| kind == "null");
        for key in ["anyOf", "oneOf"] {
            let (nulls, others): (Vec<_>, Vec<_>) = list(key).partition(is_null);
            node.nullable |= !nulls.is_empty();
            match others[..] {
                [] => {}
                [only] => self.add(only, node),
                _ => node.unions.push(others.into_iter().map(|schema| vec![schema]).collect()),
            }
        }
    }

    /// The parts of a value, also of one that has alternatives.
    fn parts(&self, node: &Node<'a>, depth: usize) -> Vec<Part<'a>> {
        let part =
            |step: &str, of, required, is_field| Part { step: step.into(), schemas: vec![of], required, is_field };
        let mut found = Vec::new();
        for (name, schema) in node.all("properties").filter_map(Value::as_object).flatten() {
            let mut required = node.all("required").filter_map(Value::as_array).flatten();
            found.push(part(name, vec![schema], required.any(|required| required == name), true));
        }
        let tuples = node.all("prefixItems").filter_map(Value::as_array);
        for (index, schema) in tuples.flat_map(|schemas| schemas.iter().enumerate()) {
            let is_there = node.bound("minItems").and_then(Number::as_u64).is_some_and(|least| least > index as u64);
            found.push(part(&format!("[{index}]"), vec![schema], is_there, true));
        }
        found.extend(node.items().map(|items| part("[]", items, false, false)));
        let has_members = node.get("properties").is_some();
        found.extend(node.maps().into_iter().map(|(_, schema)| part("*", vec![schema], false, has_members)));
        let certain = found.len();
        let unions = node.unions.iter().filter(|_| depth < MAX_DEPTH);
        found.extend(unions.flat_map(|union| self.parts_of_union(union, depth + 1)));
        // Each schema may require a part. What an alternative says about it, and what one of the patterns of a map says, is
        // only shown if nothing else does.
        let mut parts: Vec<Part<'a>> = Vec::new();
        for (index, part) in found.into_iter().enumerate() {
            match parts.iter_mut().find(|known| known.step == part.step) {
                Some(known) => {
                    known.required |= part.required;
                    if index < certain && part.step != "*" {
                        known.schemas[0].extend(&part.schemas[0]);
                    }
                }
                None => parts.push(part),
            }
        }
        parts
    }

    /// The parts that one of the alternatives has.
    fn parts_of_union(&self, union: &[All<'a>], depth: usize) -> Vec<Part<'a>> {
        let nodes = union.iter().map(|schemas| self.node(schemas));
        let nodes = nodes.filter(|node| node.allows("object") || node.allows("array"));
        let alternatives: Vec<Vec<Part<'a>>> = nodes.map(|node| self.parts(&node, depth)).collect();
        let mut found: Vec<Part<'a>> = Vec::new();
        for part in alternatives.iter().flatten() {
            // A member is always there if each alternative requires it.
            let is_required = |other: &Part<'a>| other.step == part.step && other.required;
            let required = alternatives.iter().all(|parts| parts.iter().any(is_required));
            match found.iter_mut().find(|known| known.step == part.step) {
                Some(known) => known.schemas.extend(part.schemas.iter().cloned()),
                None => found.push(Part { required, ..part.clone() }),
            }
        }
        found
    }

    /// The parts of a value, each followed by its own parts. If there are too many, those that are less deep are kept.
    fn fields(&self, node: Node<'a>) -> Vec<Field> {
        let (mut fields, mut visited) = (BTreeMap::new(), 0);
        // The place of a value, its path, the schemas in which it is, and what it is.
        let mut queue = VecDeque::from([(Vec::new(), String::new(), node.layers.clone(), node)]);
        while let Some((place, path, outer, node)) = queue.pop_front() {
            for (index, part) in self.parts(&node, 0).into_iter().enumerate() {
                let place = [&place[..], &[index]].concat();
                let path = match &part.step {
                    step if place.len() == 1 => step.clone(),
                    step if step.starts_with('[') => format!("{path}{step}"),
                    step => format!("{path}.{step}"),
                };
                let inner = self.any_of(&part.schemas);
                let has_row = part.is_field || path == "*";
                visited += 1;
                if visited > MAX_PARTS || (has_row && fields.len() == MAX_ROWS) {
                    let description = "There are more: see the JSON Schema.".to_owned();
                    fields.insert(vec![usize::MAX], Field { description, ..self.field("…", &Node::default(), false) });
                    return fields.into_values().collect();
                }
                if has_row {
                    let mut field = self.field(&path, &inner, part.required);
                    if part.step == "*" {
                        field.constraints.splice(..0, key_patterns(&node));
                    }
                    fields.insert(place.clone(), field);
                }
                // A schema that contains itself is shown once.
                let layers: All<'a> = part.schemas.iter().flat_map(|schemas| self.node(schemas).layers).collect();
                if !outer.iter().any(|known| layers.iter().any(|layer| is_same(layer, known))) {
                    queue.push_back((place, path, [&outer[..], &layers].concat(), inner));
                }
            }
        }
        fields.into_values().collect()
    }

    fn field(&self, path: &str, node: &Node<'a>, required: bool) -> Field {
        let (nodes, types) = (self.alternatives(node), self.types(node, 0));
        let mut descriptions: Vec<&str> = nodes.iter().filter_map(|node| node.get("description")?.as_str()).collect();
        descriptions.dedup();
        let description = match descriptions[..] {
            [] if path == "*" => "Each member, whatever its name.".to_owned(),
            [] => String::new(),
            [only] => only.to_owned(),
            _ => format!("Depends on the form:\n- {}", descriptions.join("\n- ")),
        };
        let defaults = nodes.iter().map(|node| node.get("default"));
        let default = defaults.reduce(|one, other| one.filter(|_| one == other)).flatten();
        let example = nodes.iter().find_map(|node| node.get("examples")?.as_array()?.first());
        Field {
            name: path.to_owned(),
            types: if types.is_empty() { "any".to_owned() } else { types },
            required,
            description,
            default: default.cloned(),
            constraints: self.constraints(node),
            example: example.cloned(),
        }
    }

    /// The node, or what it can be if it is nothing but a union.
    fn alternatives(&self, node: &Node<'a>) -> Vec<Node<'a>> {
        match &node.unions[..] {
            [union] if node.layers.is_empty() => union.iter().map(|schemas| self.node(schemas)).collect(),
            _ => vec![node.clone()],
        }
    }

    /// The types, with what they contain; empty if every type fits.
    fn types(&self, node: &Node<'a>, depth: usize) -> String {
        let with_content = |name: String| {
            let inner = match name.as_str() {
                _ if depth == MAX_DEPTH => None,
                "array" => node.items(),
                "object" if node.get("properties").is_none() => node.maps().first().map(|(_, schema)| vec![*schema]),
                _ => None,
            };
            match inner.map(|inner| self.types(&self.node(&inner), depth + 1)) {
                Some(inner) if inner.contains(" or ") => format!("{name} of ({inner})"),
                Some(inner) if !inner.is_empty() => format!("{name} of {inner}"),
                _ => name,
            }
        };
        self.simple_types(node, 0).into_iter().map(with_content).collect::<Vec<_>>().join(" or ")
    }

    /// The types without what they contain; none if every type fits.
    fn simple_types(&self, node: &Node<'a>, depth: usize) -> Vec<String> {
        let mut names: Vec<String> = match (node.types(), node.unions.first()) {
            _ if node.layers.iter().any(|layer| is_never(layer)) => vec!["nothing".to_owned()],
            (Some(names), _) if names.is_empty() => vec!["nothing".to_owned()],
            (Some(names), _) => names.into_iter().map(str::to_owned).collect(),
            (None, Some(union)) if depth < MAX_DEPTH => {
                let of_each: Vec<_> = union.iter().map(|of| self.simple_types(&self.node(of), depth + 1)).collect();
                if of_each.iter().any(Vec::is_empty) { Vec::new() } else { of_each.concat() }
            }
            _ => node.values().into_iter().flatten().map(|value| type_of(value).to_owned()).collect(),
        };
        if node.nullable && !names.is_empty() {
            names.push("null".to_owned());
        }
        distinct(names)
    }

    /// What a value and its items or members without a name must satisfy.
    fn constraints(&self, node: &Node<'a>) -> Vec<String> {
        let of_each = self.alternatives(node).iter().map(|node| self.constraints_of_whole(node)).collect();
        let mut constraints = match &distinct(of_each)[..] {
            [same] if !same.is_empty() => same.clone(),
            _ => self.constraints_of_whole(node),
        };
        let items = node.items().map(|items| ("each item", items));
        let maps = node.maps().into_iter().filter(|_| node.get("properties").is_none());
        constraints.extend(key_patterns(node).into_iter().filter(|_| node.get("properties").is_none()));
        for (what, inner) in items.into_iter().chain(maps.map(|(_, schema)| ("each value", vec![schema]))) {
            let inner = self.constraints_of_whole(&self.node(&inner));
            constraints.extend(inner.iter().map(|constraint| format!("{what}: {constraint}")));
        }
        constraints
    }

    /// What a value must satisfy, apart from its parts.
    fn constraints_of_whole(&self, node: &Node<'a>) -> Vec<String> {
        let mut constraints = keyword_constraints(node);
        for union in &node.unions {
            let nodes: Vec<Node<'a>> = union.iter().map(|schemas| self.node(schemas)).collect();
            let constants: Option<Vec<Vec<&Value>>> = nodes.iter().map(Node::values).collect();
            let is_plain = |node: &Node<'a>| {
                keyword_constraints(node).is_empty() && self.parts(node, 0).is_empty() && node.get("required").is_none()
            };
            constraints.extend(match constants {
                Some(constants) => one_of(constants.concat()),
                None if nodes.iter().all(is_plain) => None,
                None => Some(format!("one of {} forms; see the schema", union.len())),
            });
        }
        constraints.extend(node.all("not").filter(|not| !is_true(not)).map(|not| {
            let not = self.node(&[not]);
            let types = self.simple_types(&not, 0);
            let keywords: usize = not.layers.iter().filter_map(|layer| layer.as_object()).map(JsonObject::len).sum();
            match (not.values(), keywords) {
                (Some(values), 1) => format!("not {}", values.into_iter().map(code_of).collect::<Vec<_>>().join(", ")),
                (None, 1) if !types.is_empty() => format!("not {}", code(&types.join(" or "))),
                _ => "not everything; see the schema".to_owned(),
            }
        }));
        constraints
    }
}

/// Whether two schemas, of which one may be in the other, are the same: only one that refers to itself has its own parts.
fn is_same(schema: &Value, outer: &Value) -> bool {
    let has_parts_of = |key: &str| schema.get(key).is_some() && schema.get(key) == outer.get(key);
    std::ptr::eq(schema, outer) || ["properties", "anyOf", "oneOf"].into_iter().any(has_parts_of)
}

/// Whether a schema accepts nothing.
fn is_never(schema: &Value) -> bool {
    *schema == Value::Bool(false) || schema.get("not").is_some_and(is_true)
}

/// Whether a schema accepts everything.
fn is_true(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(JsonObject::is_empty)
}

/// What the names of the members of a map have to be.
fn key_patterns(node: &Node<'_>) -> Vec<String> {
    let by_name = node.all("propertyNames").filter_map(|names| names.get("pattern")?.as_str());
    let patterns = node.maps().into_iter().filter_map(|(pattern, _)| pattern).chain(by_name);
    patterns.map(|pattern| format!("each name: matches {}", code(pattern))).collect()
}

/// The values, each once.
pub(super) fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn one_of(values: Vec<&Value>) -> Option<String> {
    match &distinct(values)[..] {
        [] => None,
        [only] => Some(format!("always {}", code_of(only))),
        values => {
            let listed: Vec<String> = values.iter().take(MAX_VALUES).map(|value| code_of(value)).collect();
            let more = values.len().saturating_sub(MAX_VALUES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("one of {}{more}", listed.join(", ")))
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    // A number with a fraction is none of the types that have a name of their own.
    Types::of(value).names().next().unwrap_or("number")
}

/// What the keywords of a schema say that need no other schema.
fn keyword_constraints(node: &Node<'_>) -> Vec<String> {
    let mut constraints: Vec<String> = node.values().and_then(one_of).into_iter().collect();
    let ranges = [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", "character"),
        ("minItems", "maxItems", "item"),
        ("minProperties", "maxProperties", "member"),
    ];
    for (min, max, what) in ranges {
        let count = |bound: &Number| bound.as_u64().filter(|_| !what.is_empty());
        let shown = |bound: &Number| count(bound).map_or_else(|| bound.to_string(), |count| counted(count, what));
        let min = node.bound(min).filter(|min| count(min) != Some(0));
        constraints.extend(match (min, node.bound(max)) {
            (Some(min), Some(max)) if min == max && count(min).is_some() => Some(shown(min)),
            (Some(min), Some(max)) => Some(format!("{min} to {}", shown(max))),
            (Some(min), None) => Some(format!("at least {}", shown(min))),
            (None, Some(max)) => Some(format!("at most {}", shown(max))),
            (None, None) => None,
        });
    }
    let words = [("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than")];
    constraints.extend(words.iter().filter_map(|(key, words)| Some(format!("{words} {}", node.bound(key)?))));
    let is_unique = node.all("uniqueItems").any(|unique| *unique == Value::Bool(true));
    constraints.extend(is_unique.then(|| "items must be unique".to_owned()));
    for (key, words) in [("multipleOf", "a multiple of"), ("pattern", "matches"), ("format", "format")] {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), code);
        constraints.extend(node.all(key).map(|value| format!("{words} {}", shown(value))));
    }
    let mut others = ["if", "contains", "dependentRequired", "dependentSchemas"].into_iter();
    let has_others = others.any(|key| node.get(key).is_some());
    constraints.extend(has_others.then(|| "further rules; see the schema".to_owned()));
    distinct(constraints)
}
