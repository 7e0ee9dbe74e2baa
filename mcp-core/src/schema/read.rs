//! From JSON Schema to the model: draft 7 and 2020-12, as schemars and people write them.
//!
//! A keyword that the model does not know is kept as a note, unless ignoring it would change which values fit: that is an
//! error.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::decimal::Decimal;
use super::model::{Condition, Contains, Limit, Model, Node, NodeId, NumberRules, ObjectRules, Property, Types};
use crate::util::JsonObject;
use crate::util::text::{cut, escaped};

/// Why a JSON value cannot be read as a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadError {
    /// Where in the schema, as a JSON Pointer.
    pub pointer: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, reason } = self;
        if pointer.is_empty() { f.write_str(reason) } else { write!(f, "{reason} at `{}`", cut(pointer, QUOTED)) }
    }
}

impl std::error::Error for ReadError {}

/// The most bytes that are quoted from a schema.
const QUOTED: usize = 160;

/// How deeply schemas can be nested in one another.
const MAX_DEPTH: usize = 128;

/// How many schemas can apply to one another's values.
const MAX_IN_PLACE: usize = 256;

/// The keywords that change which values fit, and that the model has no part for.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("$dynamicRef", "use `$ref`"),
    ("$recursiveRef", "use `$ref`"),
    ("unevaluatedItems", "use `items: false` after `prefixItems`"),
    ("extends", "use `allOf`"),
];

/// The keywords of newer drafts, which draft 7 ignores.
const NEWER: [&str; 8] = [
    "prefixItems",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "minContains",
    "maxContains",
    "$anchor",
    "$dynamicAnchor",
];

impl Model {
    /// Reads a schema. `checks_formats` says whether formats are rules.
    pub fn read(schema: &Value, checks_formats: bool) -> Result<Self, ReadError> {
        let mut model = Self::read_as_written(schema, checks_formats)?;
        model.normalise();
        Ok(model)
    }

    /// Reads a schema without bringing it into one form, which keeps every note.
    pub fn read_as_written(schema: &Value, checks_formats: bool) -> Result<Self, ReadError> {
        let draft7 = match schema.get("$schema") {
            None => false,
            Some(draft) => {
                let uri = draft.as_str().unwrap_or_default();
                let is_draft = |name: &str| uri.contains("json-schema.org/") && uri.contains(name);
                if !["2020-12", "2019-09", "draft-07", "draft-06", "org/schema"].into_iter().any(is_draft) {
                    let reason = format!("`$schema` is {}, which is not supported, use 2020-12", quoted(draft));
                    return Err(error("/$schema", reason));
                }
                is_draft("draft-0")
            }
        };
        let mut reader = Reader {
            document: schema,
            draft7,
            checks_formats,
            model: Self { nodes: Vec::new(), root: NodeId(0), patterns: Vec::new(), definitions: JsonObject::new() },
            nodes: HashMap::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
            path: String::new(),
            depth: 0,
            is_embedded: false,
        };
        reader.model.root = reader.schema(schema)?;
        reader.resolve()?;
        let model = reader.model;
        model.check_progress()?;
        Ok(model)
    }

    /// Rejects a schema that applies to a value only if it applies to the same value.
    fn check_progress(&self) -> Result<(), ReadError> {
        /// How many levels of schemas apply to the same value; none if there is no end. A node that is being visited has
        /// no level yet.
        fn visit(model: &Model, id: NodeId, known: &mut [Option<usize>], depth: usize) -> Option<usize> {
            if depth > MAX_IN_PLACE {
                return Some(depth);
            }
            match known[id.index()].replace(0) {
                Some(0) => return None,
                Some(levels) => {
                    known[id.index()] = Some(levels);
                    return Some(levels);
                }
                None => {}
            }
            let inner = model[id]
                .in_place()
                .try_fold(0, |levels: usize, inner| Some(levels.max(visit(model, inner, known, depth + 1)?)));
            let levels = inner? + 1;
            known[id.index()] = Some(levels);
            Some(levels)
        }
        let mut known = vec![None; self.nodes.len()];
        for (id, _) in self.nodes() {
            let levels = visit(self, id, &mut known, 0);
            if levels.is_some_and(|levels| levels <= MAX_IN_PLACE) {
                continue;
            }
            let name = self[id].name.as_ref();
            let name = name.map_or_else(String::new, |name| format!(" by way of `{}`", cut(name, QUOTED)));
            return Err(match levels {
                None => error("", format!("a `$ref` leads back to its own schema{name}, so that it never ends")),
                Some(_) => error("", format!("more than {MAX_IN_PLACE} schemas apply to one another{name}")),
            });
        }
        Ok(())
    }
}

struct Reader<'a> {
    document: &'a Value,
    draft7: bool,
    checks_formats: bool,
    model: Model,
    /// The node of each schema that was read, by its address.
    nodes: HashMap<*const Value, NodeId>,
    anchors: HashMap<&'a str, NodeId>,
    /// The references to resolve: from which node, to what, and where the keyword is.
    references: Vec<(NodeId, &'a str, String)>,
    path: String,
    depth: usize,
    /// Whether an `$id` makes the schema that is being read, or one around it, a document of its own.
    is_embedded: bool,
}

fn error(pointer: &str, reason: impl Into<String>) -> ReadError {
    ReadError { pointer: pointer.to_owned(), reason: reason.into() }
}

fn quoted(value: &Value) -> String {
    cut(&value.to_string(), QUOTED).into_owned()
}

impl<'a> Reader<'a> {
    fn error(&self, reason: impl Into<String>) -> ReadError {
        error(&self.path, reason)
    }

    fn expected(&self, expected: &str, value: &Value) -> ReadError {
        self.error(format!("{} must be {expected}, not {}", self.keyword(), quoted(value)))
    }

    /// The last step of the path.
    fn keyword(&self) -> String {
        format!("`{}`", self.path.rsplit('/').next().unwrap_or_default())
    }

    /// Reads something one step deeper.
    fn at<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> Result<T, ReadError>) -> Result<T, ReadError> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&escaped(step));
        let value = read(self)?;
        self.path.truncate(length);
        Ok(value)
    }

    fn schema(&mut self, schema: &'a Value) -> Result<NodeId, ReadError> {
        if let Some(known) = self.nodes.get(&std::ptr::from_ref(schema)) {
            return Ok(*known);
        }
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("schemas are nested deeper than {MAX_DEPTH} levels")));
        }
        let id = self.model.add(Node::any());
        self.nodes.insert(schema, id);
        self.depth += 1;
        let node = match schema {
            Value::Bool(true) => Node::any(),
            Value::Bool(false) => Node::never(),
            Value::Object(object) => self.keywords(id, object)?,
            other => return Err(self.error(format!("a schema must be an object or a boolean, not {}", quoted(other)))),
        };
        self.depth -= 1;
        let name = self.model[id].name.take();
        self.model[id] = Node { name, ..node };
        Ok(id)
    }

    fn keywords(&mut self, id: NodeId, object: &'a JsonObject) -> Result<Node, ReadError> {
        let mut node = Node::any();
        let is_ignored =
            |key: &str| self.draft7 && object.contains_key("$ref") && !DEFINITIONS.contains(&key) && key != "$ref";
        let own_id = object.get("$id").filter(|_| !is_ignored("$id") && id != self.model.root).and_then(Value::as_str);
        let keywords: Vec<(&'a String, &'a Value)> = object.iter().filter(|(key, _)| !is_ignored(key)).collect();
        let outer = self.is_embedded;
        self.is_embedded |= own_id.is_some_and(|id| !id.is_empty() && !id.starts_with('#'));
        // Draft 7 has no `$anchor`.
        let anchor = own_id.and_then(|id| id.strip_prefix('#')).filter(|_| self.draft7 && !self.is_embedded);
        anchor.map_or(Ok(()), |name| self.anchor(name, id))?;
        if let Some(reference) = object.get("$ref") {
            self.at("$ref", |reader| {
                if reader.is_embedded {
                    return Err(reader.error("`$ref` in a schema that has an `$id` of its own is not supported"));
                }
                let target = reference.as_str().ok_or_else(|| reader.expected("a string", reference))?;
                reader.references.push((id, target, reader.path.clone()));
                Ok(())
            })?;
        }
        for (key, value) in keywords {
            self.at(key, |reader| reader.keyword_of(&mut node, object, key, value, id))?;
        }
        self.is_embedded = outer;
        Ok(node)
    }

    /// Names a node. Two nodes with one name would make references to it ambiguous.
    fn anchor(&mut self, name: &'a str, id: NodeId) -> Result<(), ReadError> {
        match self.anchors.insert(name, id) {
            Some(other) if other != id => {
                Err(self.error(format!("two schemas have the anchor `{}`", cut(name, QUOTED))))
            }
            _ => Ok(()),
        }
    }

    fn keyword_of(
        &mut self,
        node: &mut Node,
        object: &'a JsonObject,
        key: &'a str,
        value: &'a Value,
        id: NodeId,
    ) -> Result<(), ReadError> {
        if let Some((_, instead)) = UNSUPPORTED.iter().find(|(keyword, _)| *keyword == key) {
            return Err(self.error(format!("`{key}` is not supported, {instead}")));
        }
        if self.draft7 && NEWER.contains(&key) {
            return Err(self.error(format!("draft 7 ignores `{key}`, name 2020-12 in `$schema`")));
        }
        match key {
            "$ref" => {}
            "$defs" | "definitions" => self.definitions(value)?,
            "$anchor" | "$dynamicAnchor" => {
                let name = value.as_str().ok_or_else(|| self.expected("a string", value))?;
                if !self.is_embedded {
                    self.anchor(name, id)?;
                }
            }
            "type" => node.types = self.types(value)?,
            "enum" => {
                let values = value.as_array().ok_or_else(|| self.expected("a list", value))?;
                restrict(node, values.clone());
            }
            "const" => restrict(node, vec![value.clone()]),
            "title" | "description" => {
                let text = value.as_str().ok_or_else(|| self.expected("a string", value))?.to_owned();
                let place = if key == "title" { &mut node.notes.title } else { &mut node.notes.description };
                *place = Some(text);
            }
            "default" => node.notes.default = Some(value.clone()),
            "examples" => node.notes.examples = value.as_array().cloned().unwrap_or_default(),
            "allOf" => node.all_of = self.schemas(value)?,
            "anyOf" => node.any_of.push(self.schemas(value)?),
            "oneOf" => node.one_of.push(self.schemas(value)?),
            "not" => node.not.push(self.schema(value)?),
            "if" => {
                let condition = self.schema(value)?;
                let mut branch = |key: &str| object.get(key).map(|schema| self.schema(schema)).transpose();
                let (then, otherwise) = (branch("then")?, branch("else")?);
                node.conditions.push(Condition { condition, then, otherwise });
            }
            // Read with `if`; without it, they say nothing.
            "then" | "else" => drop(self.schema(value)?),
            _ => {
                let is_read = self.number_keyword(&mut node.number, key, value)?
                    || self.string_keyword(node, key, value)?
                    || self.array_keyword(node, object, key, value)?
                    || self.object_keyword(node, key, value)?;
                if !is_read {
                    node.notes.other.insert(key.to_owned(), value.clone());
                }
            }
        }
        Ok(())
    }

    fn definitions(&mut self, value: &'a Value) -> Result<(), ReadError> {
        let definitions = value.as_object().ok_or_else(|| self.expected("an object", value))?;
        for (name, schema) in definitions {
            let id = self.at(name, |reader| reader.schema(schema))?;
            self.model[id].name = Some(name.clone());
        }
        Ok(())
    }

    fn types(&self, value: &Value) -> Result<Types, ReadError> {
        let named = |name: &Value| {
            let types = name.as_str().and_then(Types::named);
            types.ok_or_else(|| {
                self.expected("`null`, `boolean`, `integer`, `number`, `string`, `array` or `object`", name)
            })
        };
        match value {
            Value::Array(all) => all.iter().enumerate().try_fold(Types::NONE, |types, (index, name)| {
                if all[..index].contains(name) {
                    return Err(self.expected("a list without duplicates", value));
                }
                Ok(types | named(name)?)
            }),
            name => named(name),
        }
    }

    fn schemas(&mut self, value: &'a Value) -> Result<Vec<NodeId>, ReadError> {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
        let schemas = schemas.ok_or_else(|| self.expected("a list of schemas", value))?;
        schemas
            .iter()
            .enumerate()
            .map(|(index, schema)| self.at(&index.to_string(), |reader| reader.schema(schema)))
            .collect()
    }

    fn named_schemas(&mut self, value: &'a Value) -> Result<Vec<(&'a str, NodeId)>, ReadError> {
        let schemas = value.as_object().ok_or_else(|| self.expected("an object of schemas", value))?;
        schemas
            .iter()
            .map(|(name, schema)| Ok((name.as_str(), self.at(name, |reader| reader.schema(schema))?)))
            .collect()
    }

    fn names(&self, value: &Value) -> Result<Vec<String>, ReadError> {
        let names =
            value.as_array().and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        names.ok_or_else(|| self.expected("a list of names", value))
    }

    fn count(&self, value: &Value) -> Result<u64, ReadError> {
        let number = value.as_number().map(Decimal::of);
        let count = number.and_then(Decimal::to_i128).and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| self.expected("an integer from 0 on", value))
    }

    fn flag(&self, value: &Value) -> Result<bool, ReadError> {
        value.as_bool().ok_or_else(|| self.expected("a boolean", value))
    }

    fn number(&self, value: &Value) -> Result<Decimal, ReadError> {
        value.as_number().map(Decimal::of).ok_or_else(|| self.expected("a number", value))
    }

    fn number_keyword(&mut self, rules: &mut NumberRules, key: &str, value: &Value) -> Result<bool, ReadError> {
        match key {
            "minimum" => rules.restrict_min(Limit { value: self.number(value)?, exclusive: false }),
            "maximum" => rules.restrict_max(Limit { value: self.number(value)?, exclusive: false }),
            "exclusiveMinimum" => rules.restrict_min(Limit { value: self.number(value)?, exclusive: true }),
            "exclusiveMaximum" => rules.restrict_max(Limit { value: self.number(value)?, exclusive: true }),
            "multipleOf" => {
                let of = self.number(value)?;
                if of <= Decimal::ZERO {
                    return Err(self.expected("a number above 0", value));
                }
                rules.multiple_of.push(of);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn string_keyword(&mut self, node: &mut Node, key: &str, value: &Value) -> Result<bool, ReadError> {
        let rules = &mut node.string;
        match key {
            "minLength" => rules.min_length = self.count(value)?,
            "maxLength" => rules.max_length = Some(self.count(value)?),
            "pattern" => {
                let pattern = value.as_str().ok_or_else(|| self.expected("a string", value))?;
                rules.patterns.push(self.model.add_pattern(pattern));
            }
            "format" => {
                let format = value.as_str().ok_or_else(|| self.expected("a string", value))?;
                rules.format = Some(format.to_owned());
                rules.checks_format = self.checks_formats;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn array_keyword(
        &mut self,
        node: &mut Node,
        object: &'a JsonObject,
        key: &str,
        value: &'a Value,
    ) -> Result<bool, ReadError> {
        match key {
            "items" if value.is_array() => {
                if !self.draft7 {
                    return Err(self.expected("a schema (for a list of schemas, use `prefixItems`)", value));
                }
                let prefix = self.schemas(value)?;
                node.array.get_or_insert_default().prefix = prefix;
            }
            "items" => {
                let items = self.schema(value)?;
                node.array.get_or_insert_default().items = Some(items);
            }
            "prefixItems" => {
                let prefix = self.schemas(value)?;
                node.array.get_or_insert_default().prefix = prefix;
            }
            "additionalItems" if self.draft7 => {
                let items = self.schema(value)?;
                if object.get("items").is_some_and(Value::is_array) {
                    node.array.get_or_insert_default().items = Some(items);
                }
            }
            "additionalItems" => {
                return Err(self.error("2020-12 ignores `additionalItems`, use `prefixItems` and `items`"));
            }
            "minItems" => node.array.get_or_insert_default().min_items = self.count(value)?,
            "maxItems" => node.array.get_or_insert_default().max_items = Some(self.count(value)?),
            "uniqueItems" => node.array.get_or_insert_default().unique = self.flag(value)?,
            "contains" => {
                let schema = self.schema(value)?;
                let count = |key: &str| object.get(key).map(|value| self.count(value)).transpose();
                let (min, max) = (count("minContains")?.unwrap_or(1), count("maxContains")?);
                node.array.get_or_insert_default().contains.push(Contains { schema, min, max });
            }
            // Read with `contains`; without it, they say nothing.
            "minContains" | "maxContains" => drop(self.count(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn object_keyword(&mut self, node: &mut Node, key: &str, value: &'a Value) -> Result<bool, ReadError> {
        match key {
            "properties" => {
                let properties = self.named_schemas(value)?;
                let rules = node.object.get_or_insert_default();
                for (name, schema) in properties {
                    let required = rules.required.iter().position(|required| required == name);
                    required.map(|position| rules.required.remove(position));
                    rules.properties.push(Property::new(name, schema, required.is_some()));
                }
            }
            "required" => {
                let names = self.names(value)?;
                let rules = node.object.get_or_insert_default();
                for name in names {
                    match rules.properties.iter_mut().find(|property| property.name == name) {
                        Some(property) => property.required = true,
                        None if rules.required.contains(&name) => {}
                        None => rules.required.push(name),
                    }
                }
            }
            "patternProperties" => {
                let schemas = self.named_schemas(value)?;
                let schemas = schemas.into_iter().map(|(pattern, id)| (self.model.add_pattern(pattern), id)).collect();
                node.object.get_or_insert_default().pattern_properties = schemas;
            }
            "additionalProperties" => {
                let schema = self.schema(value)?;
                node.object.get_or_insert_default().additional = Some(schema);
            }
            "unevaluatedProperties" => {
                let schema = self.schema(value)?;
                node.object.get_or_insert_default().unevaluated = Some(schema);
            }
            "propertyNames" => {
                let schema = self.schema(value)?;
                node.object.get_or_insert_default().names = Some(schema);
            }
            "minProperties" => node.object.get_or_insert_default().min_properties = self.count(value)?,
            "maxProperties" => node.object.get_or_insert_default().max_properties = Some(self.count(value)?),
            "dependentRequired" => {
                let object = value.as_object().ok_or_else(|| self.expected("an object of lists of names", value))?;
                for (name, value) in object {
                    let names = self.at(name, |reader| reader.names(value))?;
                    node.object.get_or_insert_default().dependent_required.push((name.clone(), names));
                }
            }
            "dependentSchemas" => {
                let schemas = self.named_schemas(value)?.into_iter().map(|(name, id)| (name.to_owned(), id));
                node.object.get_or_insert_default().dependent_schemas.extend(schemas);
            }
            "dependencies" if self.draft7 => self.dependencies(node.object.get_or_insert_default(), value)?,
            "dependencies" => {
                return Err(self.error("2020-12 ignores `dependencies`, use `dependentRequired` or `dependentSchemas`"));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn dependencies(&mut self, rules: &mut ObjectRules, value: &'a Value) -> Result<(), ReadError> {
        let object = value.as_object().ok_or_else(|| self.expected("an object", value))?;
        for (name, value) in object {
            self.at(name, |reader| {
                if value.is_array() {
                    rules.dependent_required.push((name.clone(), reader.names(value)?));
                } else {
                    rules.dependent_schemas.push((name.clone(), reader.schema(value)?));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Resolves the references. Their targets can have references in turn.
    fn resolve(&mut self) -> Result<(), ReadError> {
        while let Some((from, reference, path)) = self.references.pop() {
            let target = self.target(reference, &path)?;
            self.model[from].reference = Some(target);
        }
        Ok(())
    }

    fn target(&mut self, reference: &'a str, path: &str) -> Result<NodeId, ReadError> {
        let shown = cut(reference, QUOTED);
        let Some(local) = fragment(self.document, reference) else {
            return Err(error(path, format!("`$ref` leads to another document, `{shown}`, which is not supported")));
        };
        if !local.is_empty() && !local.starts_with('/') {
            let anchor = self.anchors.get(&*local).copied();
            return anchor
                .ok_or_else(|| error(path, format!("`$ref` leads to `{shown}`, and there is no such `$anchor`")));
        }
        let target = self.document.pointer(&local);
        let target = target.ok_or_else(|| error(path, format!("`$ref` leads to `{shown}`, which does not exist")))?;
        self.path = local;
        self.schema(target)
    }
}

const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Keeps the values that are allowed already, if there are such.
fn restrict(node: &mut Node, values: Vec<Value>) {
    node.values = Some(match node.values.take() {
        Some(known) => known.into_iter().filter(|known| values.iter().any(|value| equal(known, value))).collect(),
        None => values,
    });
}

/// Whether two values are equal in JSON Schema, where `1` is `1.0`.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Decimal::of(one) == Decimal::of(other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| equal(value, other)))
        }
        (one, other) => one == other,
    }
}

/// Where a reference leads to in its own document, without percent-encoding: a pointer, or the name of an anchor. None if
/// it leads to another document.
pub fn fragment(document: &Value, reference: &str) -> Option<String> {
    let own_id = document.get("$id").and_then(Value::as_str).unwrap_or_default().trim_end_matches('#');
    let local = reference.strip_prefix(own_id).unwrap_or(reference);
    if local.is_empty() { Some(String::new()) } else { local.strip_prefix('#').map(decoded) }
}

/// A fragment of a URI without its percent-encoding.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
