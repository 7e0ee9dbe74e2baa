//! From the model to JSON Schema 2020-12, as bytes.
//!
//! Subschemas are written where they are used. `$ref` and `$defs` are kept for what refers to itself, and where a schema
//! without them would be much larger.

use std::io::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::model::{Limit, Model, Node, NodeId, Notes, NumberRules, ObjectRules, Types};
use super::normalise::merge;
use super::profile::{Side, described};
use crate::util::JsonObject;

/// Where inlining makes a schema larger than this and more than twice as large, `$defs` are kept.
const INLINE_LIMIT: usize = 4096;

impl Model {
    /// Appends a schema with everything that it refers to.
    pub(crate) fn write(&self, root: NodeId, side: Side, out: &mut Vec<u8>) {
        self.write_schema(root, side, false, out);
    }

    /// Appends the schema of arguments with everything that it refers to and everything that it accepts: nulls of items, which
    /// are not published, and aliases, which [`Model::read_aliases`] reads.
    pub(crate) fn write_with_aliases(&self, root: NodeId, out: &mut Vec<u8>) {
        self.write_schema(root, Side::Output, true, out);
    }

    fn write_schema(&self, root: NodeId, side: Side, aliases: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let writer = |inline, limit, out| Writer { aliases, ..Writer::new(self, side, inline, limit, out) };
        let referring = writer(false, usize::MAX, &mut *out).document(root);
        if !referring.has_definitions {
            return;
        }
        let limit = INLINE_LIMIT.max(2 * referring.root_length);
        let mut inlined = Vec::new();
        if writer(true, limit, &mut inlined).document(root).is_complete {
            out.truncate(start);
            out.append(&mut inlined);
        }
    }
}

/// The keyword for the other names of members.
const NAME_ALIASES: &str = "x-mcp-aliases";
/// The keyword for values that are accepted, but not published.
const VALUE_ALIASES: &str = "x-mcp-enum";

impl Model {
    /// Turns the keywords of [`Model::write_with_aliases`], which are notes, into aliases.
    pub fn read_aliases(&mut self) {
        for node in &mut self.nodes {
            if let Some(Value::Array(values)) = node.notes.other.shift_remove(VALUE_ALIASES) {
                node.aliases = values;
            }
            let names = node.notes.other.shift_remove(NAME_ALIASES);
            let Some((object, names)) = node.object.as_mut().zip(names) else { continue };
            for property in &mut object.properties {
                let names = names.get(&property.name).and_then(Value::as_array).into_iter().flatten();
                property.aliases = names.filter_map(Value::as_str).map(str::to_owned).collect();
            }
        }
    }
}

/// How a document was written.
struct Written {
    has_definitions: bool,
    /// The length without the definitions.
    root_length: usize,
    /// Whether it did not become too long.
    is_complete: bool,
}

struct Writer<'a> {
    model: &'a Model,
    side: Side,
    /// Whether the other names of members and values are written.
    aliases: bool,
    /// Whether null is left out of the next schema, since it stands for an absent member.
    drops_null: bool,
    /// Whether references are replaced by what they refer to.
    inline: bool,
    /// The length at which writing stops.
    limit: usize,
    out: &'a mut Vec<u8>,
    /// The definitions that are being written in place.
    open: Vec<NodeId>,
    /// The definitions that were referred to.
    referred: Vec<NodeId>,
}

impl<'a> Writer<'a> {
    fn new(model: &'a Model, side: Side, inline: bool, limit: usize, out: &'a mut Vec<u8>) -> Self {
        Self {
            model,
            side,
            aliases: false,
            drops_null: false,
            inline,
            limit,
            out,
            open: Vec::new(),
            referred: Vec::new(),
        }
    }

    fn document(mut self, root: NodeId) -> Written {
        let start = self.out.len();
        self.schema(root);
        let root_length = self.out.len() - start;
        let verbatim = &self.model.definitions;
        if !verbatim.is_empty() || !self.referred.is_empty() {
            // The closing brace of the root.
            self.out.pop();
            self.key("$defs");
            self.out.push(b'{');
            for (name, definition) in verbatim {
                self.member(name, definition);
            }
            let mut next = 0;
            while let Some(id) = self.referred.get(next).copied() {
                let name = self.definition_name(id);
                self.key(&name);
                self.open.push(id);
                self.definition(id);
                self.open.pop();
                next += 1;
            }
            self.out.extend_from_slice(b"}}");
        }
        let has_definitions = !self.referred.is_empty();
        Written { has_definitions, root_length, is_complete: self.out.len() - start <= self.limit }
    }

    /// Writes the schema of a definition, which is open.
    fn definition(&mut self, id: NodeId) {
        let node = &self.model[id];
        match node.reference {
            Some(_) => self.schema(id),
            None => self.node(node),
        }
    }

    /// The name of a definition. Different types can have the same name.
    fn definition_name(&self, id: NodeId) -> String {
        let name = |id: NodeId| self.model[id].name.as_deref().unwrap_or("Type");
        let position = self.referred.iter().position(|known| *known == id).unwrap_or_default();
        let others = self.referred[..position].iter().filter(|known| name(**known) == name(id)).count()
            + usize::from(self.model.definitions.contains_key(name(id)));
        if others == 0 { name(id).to_owned() } else { format!("{}{}", name(id), others + 1) }
    }

    /// Writes a key, after a comma if something is before it.
    fn key(&mut self, key: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.json(key);
        self.out.push(b':');
    }

    fn json(&mut self, value: &(impl Serialize + ?Sized)) {
        // A buffer in memory accepts everything that is written to it, and schemas are JSON.
        let _ = serde_json::to_writer(&mut *self.out, value);
    }

    fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.key(key);
        self.json(value);
    }

    /// Writes a schema where it is used.
    fn schema(&mut self, id: NodeId) {
        if self.out.len() > self.limit {
            self.out.extend_from_slice(b"{}");
            return;
        }
        let node = &self.model[id];
        if let Some(verbatim) = &node.verbatim {
            return self.json(verbatim);
        }
        let without_null;
        let drops_null = std::mem::take(&mut self.drops_null);
        let node = if drops_null && node.nullable {
            without_null = Node { nullable: false, ..node.clone() };
            &without_null
        } else {
            node
        };
        let Some(target) = node.reference else {
            let is_definition = node.name.is_some();
            if is_definition {
                self.open.push(id);
            }
            self.node(node);
            if is_definition {
                self.open.pop();
            }
            return;
        };
        if !self.is_inlined(target) {
            return self.reference(node, target);
        }
        let open = self.open.len();
        self.open.push(target);
        let mut merged = with_target(&self.model[target], node);
        // The target may be a reference in turn.
        while let Some(next) = merged.as_ref().and_then(|node| node.reference).filter(|next| self.is_inlined(*next)) {
            self.open.push(next);
            merged = merged.and_then(|node| with_target(&self.model[next], &node));
        }
        if let Some(mut merged) = merged {
            merged.nullable &= !drops_null;
            match merged.reference {
                Some(next) => self.reference(&merged, next),
                None => self.node(&merged),
            }
            self.open.truncate(open);
            return;
        }
        self.open.truncate(open);
        self.out.extend_from_slice(br#"{"allOf":["#);
        self.schema(target);
        self.out.push(b']');
        self.rules(&Node { reference: None, ..node.clone() });
        self.out.push(b'}');
    }

    /// Whether a schema is written in place of a reference to it.
    fn is_inlined(&self, target: NodeId) -> bool {
        match &self.model[target].name {
            None => true,
            name => self.inline && !self.open.iter().any(|open| self.model[*open].name == *name),
        }
    }

    fn reference(&mut self, node: &Node, target: NodeId) {
        if !self.referred.contains(&target) {
            self.referred.push(target);
        }
        let path = format!("#/$defs/{}", pointer_step(&self.definition_name(target)));
        let nullable = node.nullable && self.side == Side::Output;
        self.out.push(b'{');
        if nullable {
            self.member("anyOf", &json!([{ "$ref": path }, { "type": "null" }]));
        } else {
            self.member("$ref", &path);
        }
        self.rules(&Node { reference: None, nullable: false, ..node.clone() });
        self.out.push(b'}');
    }

    /// Writes the schema of a node without a reference.
    fn node(&mut self, node: &Node) {
        self.out.push(b'{');
        if node.nullable && self.side == Side::Output {
            if node.values.is_none() && !node.has_applicators() {
                let types: Vec<&str> = node.types.names().chain(["null"]).collect();
                self.member("type", &types);
                self.rules(&Node { types: Types::ALL, ..node.clone() });
            } else {
                let notes = node.notes.clone();
                let is_documented = node.values.is_some();
                let inner = Node { nullable: false, ..node.clone() };
                let inner = if is_documented { inner } else { Node { notes: Notes::default(), ..inner } };
                self.key("anyOf");
                self.out.push(b'[');
                self.node(&inner);
                self.out.extend_from_slice(br#",{"type":"null"}]"#);
                if !is_documented {
                    self.rules(&Node { notes, ..Node::any() });
                }
            }
        } else {
            self.rules(node);
        }
        self.out.push(b'}');
    }

    /// Writes the keywords of a node, except its reference.
    fn rules(&mut self, node: &Node) {
        self.types(node);
        let notes = &node.notes;
        for (key, text) in [("title", &notes.title), ("description", &notes.description)] {
            if let Some(text) = text {
                self.member(key, text);
            }
        }
        if let Some(values) = &node.values {
            self.member("enum", values);
        }
        if self.aliases && !node.aliases.is_empty() {
            self.member(VALUE_ALIASES, &node.aliases);
        }
        if let Some(format) = &node.string.format {
            self.member("format", format);
        }
        let mut more = Vec::new();
        self.numbers(&node.number, &mut more);
        self.strings(node, &mut more);
        self.array(node);
        if let Some(object) = &node.object {
            self.object(object);
        }
        self.applicators(node, more);
        if let Some(default) = &notes.default {
            self.member("default", default);
        }
        if !notes.examples.is_empty() {
            self.member("examples", &notes.examples);
        }
        for (key, value) in &notes.other {
            self.member(key, value);
        }
    }

    fn types(&mut self, node: &Node) {
        if let Some(values) = &node.values {
            // Few hosts know a type of null; a constant of null they take.
            let types: Vec<&str> = node.types.names().filter(|_| !values.iter().any(Value::is_null)).collect();
            if let [only] = types[..] {
                self.member("type", only);
            }
        } else if node.types == Types::NULL && (self.side == Side::Input || self.aliases) {
            self.member("enum", &[Value::Null]);
        } else if node.is_never() {
            self.member("not", &json!({}));
        } else if node.types != Types::ALL {
            let types: Vec<&str> = node.types.names().collect();
            match types[..] {
                [only] => self.member("type", only),
                _ => self.member("type", &types),
            }
        }
    }

    fn numbers(&mut self, rules: &NumberRules, more: &mut Vec<Value>) {
        let limits = [(rules.min, "minimum", "exclusiveMinimum"), (rules.max, "maximum", "exclusiveMaximum")];
        for (limit, inclusive, exclusive) in limits {
            if let Some(Limit { value, exclusive: is_exclusive }) = limit {
                self.key(if is_exclusive { exclusive } else { inclusive });
                let _ = write!(self.out, "{value}");
            }
        }
        for (index, of) in rules.multiple_of.iter().enumerate() {
            if index == 0 {
                self.key("multipleOf");
                let _ = write!(self.out, "{of}");
            } else {
                more.extend(serde_json::from_str(&format!("{{\"multipleOf\":{of}}}")).ok());
            }
        }
    }

    fn strings(&mut self, node: &Node, more: &mut Vec<Value>) {
        let rules = &node.string;
        self.count("minLength", rules.min_length);
        self.limit("maxLength", rules.max_length);
        for (index, pattern) in rules.patterns.iter().enumerate() {
            let pattern = self.model.pattern(*pattern);
            if index == 0 {
                self.member("pattern", pattern);
            } else {
                more.push(json!({ "pattern": pattern }));
            }
        }
    }

    fn count(&mut self, key: &str, count: u64) {
        if count > 0 {
            self.member(key, &count);
        }
    }

    fn limit(&mut self, key: &str, limit: Option<u64>) {
        if let Some(limit) = limit {
            self.member(key, &limit);
        }
    }

    fn array(&mut self, node: &Node) {
        let Some(rules) = &node.array else { return };
        if !rules.prefix.is_empty() {
            self.list("prefixItems", &rules.prefix);
        }
        if let Some(items) = rules.items {
            self.one("items", items);
        }
        if let Some(contains) = rules.contains.first() {
            self.one("contains", contains.schema);
            if contains.min != 1 {
                self.member("minContains", &contains.min);
            }
            self.limit("maxContains", contains.max);
        }
        self.count("minItems", rules.min_items);
        self.limit("maxItems", rules.max_items);
        if rules.unique {
            self.member("uniqueItems", &true);
        }
    }

    fn object(&mut self, rules: &ObjectRules) {
        if !rules.properties.is_empty() {
            self.key("properties");
            self.out.push(b'{');
            for property in &rules.properties {
                self.key(&property.name);
                self.drops_null = self.aliases && !property.required;
                self.schema(property.schema);
            }
            self.out.push(b'}');
        }
        let aliases = rules.properties.iter().filter(|property| self.aliases && !property.aliases.is_empty());
        let aliases: JsonObject = aliases.map(|property| (property.name.clone(), json!(property.aliases))).collect();
        if !aliases.is_empty() {
            self.member(NAME_ALIASES, &aliases);
        }
        let required: Vec<&str> = rules.required_names().collect();
        if !required.is_empty() {
            self.member("required", &required);
        }
        if !rules.pattern_properties.is_empty() {
            let model = self.model;
            let patterns = rules.pattern_properties.iter();
            self.named("patternProperties", patterns.map(|(pattern, schema)| (model.pattern(*pattern), *schema)));
        }
        for (key, schema) in [
            ("additionalProperties", rules.additional),
            ("propertyNames", rules.names),
            ("unevaluatedProperties", rules.unevaluated),
        ] {
            if let Some(schema) = schema {
                self.one(key, schema);
            }
        }
        self.count("minProperties", rules.min_properties);
        self.limit("maxProperties", rules.max_properties);
        if !rules.dependent_required.is_empty() {
            let dependent: serde_json::Map<String, Value> =
                rules.dependent_required.iter().map(|(name, names)| (name.clone(), json!(names))).collect();
            self.member("dependentRequired", &dependent);
        }
        if !rules.dependent_schemas.is_empty() {
            let schemas = rules.dependent_schemas.iter();
            self.named("dependentSchemas", schemas.map(|(name, schema)| (name.as_str(), *schema)));
        }
    }

    fn applicators(&mut self, node: &Node, more: Vec<Value>) {
        let (any_of, one_of) = (&node.any_of, &node.one_of);
        for (key, unions) in [("anyOf", any_of), ("oneOf", one_of)] {
            if let Some(first) = unions.first() {
                self.list(key, first);
            }
        }
        let has_more = !more.is_empty() || any_of.len() > 1 || one_of.len() > 1;
        if !node.all_of.is_empty() || has_more || node.not.len() > 1 || node.conditions.len() > 1 {
            self.key("allOf");
            self.out.push(b'[');
            let mut is_first = true;
            let mut separate = |writer: &mut Self| {
                if !std::mem::take(&mut is_first) {
                    writer.out.push(b',');
                }
            };
            for part in &node.all_of {
                separate(self);
                self.schema(*part);
            }
            let others = |unions: &[Vec<NodeId>]| unions.iter().skip(1).cloned().collect::<Vec<_>>();
            let parts = others(any_of).into_iter().map(|union| Node { any_of: vec![union], ..Node::any() });
            let parts =
                parts.chain(others(one_of).into_iter().map(|union| Node { one_of: vec![union], ..Node::any() }));
            let parts = parts.chain(node.not.iter().skip(1).map(|not| Node { not: vec![*not], ..Node::any() }));
            let conditions = node.conditions.iter().skip(1);
            let parts = parts.chain(conditions.map(|one| Node { conditions: vec![*one], ..Node::any() }));
            for part in parts.collect::<Vec<_>>() {
                separate(self);
                self.node(&part);
            }
            for part in more {
                separate(self);
                self.json(&part);
            }
            self.out.push(b']');
        }
        if let Some(not) = node.not.first() {
            self.one("not", *not);
        }
        if let Some(first) = node.conditions.first() {
            self.one("if", first.condition);
            for (key, schema) in [("then", first.then), ("else", first.otherwise)] {
                if let Some(schema) = schema {
                    self.one(key, schema);
                }
            }
        }
    }

    fn one(&mut self, key: &str, schema: NodeId) {
        self.key(key);
        // Every reader knows a boolean here.
        let is_switch = matches!(key, "additionalProperties" | "unevaluatedProperties");
        match &self.model[schema] {
            node if is_switch && node.is_never() => self.json(&false),
            node if is_switch && node.is_any() && node.notes == Notes::default() => self.json(&true),
            _ => self.schema(schema),
        }
    }

    fn list(&mut self, key: &str, schemas: &[NodeId]) {
        self.key(key);
        self.out.push(b'[');
        for (index, schema) in schemas.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.schema(*schema);
        }
        self.out.push(b']');
    }

    fn named<'n>(&mut self, key: &str, schemas: impl Iterator<Item = (&'n str, NodeId)>) {
        self.key(key);
        self.out.push(b'{');
        for (name, schema) in schemas {
            self.key(name);
            self.schema(schema);
        }
        self.out.push(b'}');
    }
}

/// A schema together with the one that it refers to, if one schema can say what both say.
fn with_target(target: &Node, node: &Node) -> Option<Node> {
    let plain = |node: &Node| Node { name: None, nullable: false, reference: None, ..node.clone() };
    let mut merged = plain(node);
    if merged.is_any() {
        merged = plain(target);
    } else if target.reference.is_some() || !merge(&mut merged, &plain(target)) {
        return None;
    }
    merged.notes = target.notes.clone();
    (merged.nullable, merged.reference) = (target.nullable || node.nullable, target.reference);
    if let Some(description) = &node.notes.description {
        merged.notes.description = Some(described(&merged, description));
    }
    let notes = node.notes.clone();
    merged.notes.title = notes.title.or(merged.notes.title);
    merged.notes.default = notes.default.or(merged.notes.default);
    if !notes.examples.is_empty() {
        merged.notes.examples = notes.examples;
    }
    merged.notes.other.extend(notes.other);
    Some(merged)
}

/// A name as a step of a JSON Pointer in a URI.
fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1").replace('%', "%25")
}
