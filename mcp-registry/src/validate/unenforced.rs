//! Whether a tool's input schema demands more than its types enforce.
//!
//! Each keyword of the schema is tried: the types of the tool parse a value that violates just this keyword. If they reject
//! it, they enforce the keyword; if they accept it, or if the keyword cannot be tried, the validator is needed. So
//! `maximum: 255` of a `u8` costs nothing, and `maximum: 100` of a `#[schemars(range(max = 100))]` is checked.

use std::collections::HashSet;

use mcp_core::entry::ToolEntry;
use mcp_core::message::JsonObject;
use mcp_core::param::Constraint;
use mcp_core::support::faults::escaped;
use serde_json::{Value, json};

use super::Subject;
use super::sample::{Document, UNCHECKED};
use crate::util::panic::guard;

/// When the validator has to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Always: this is what nothing else enforces.
    Always(Unenforced),
    /// If the arguments contain such values: serde also parses a struct from a list, and a variant from an object.
    With {
        /// Lists.
        lists: bool,
        /// Objects in the arguments.
        objects: bool,
    },
}

/// A keyword that the types do not enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unenforced {
    /// The keyword.
    pub(crate) keyword: String,
    /// Where it applies, as a JSON Pointer into the arguments; `*` is any item or member.
    pub(crate) path: String,
}

/// The keywords that demand nothing, and those that only hold other schemas.
const ANNOTATIONS: [&str; 16] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// The keywords that are tried, beside those that [`Document::fits`] does not check.
const TRIED: [&str; 12] = [
    "type",
    "enum",
    "const",
    "required",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// The keywords about the shape of a type: if no sample can be generated, serde is trusted to enforce them.
const SHAPE: [&str; 6] = ["type", "enum", "const", "required", "additionalProperties", "unevaluatedProperties"];

/// When the validator has to run for a tool.
pub(super) fn need(subject: &dyn Subject) -> Need {
    let entry = match subject.entry() {
        Some(entry) if entry.input_schema.is_none() => entry,
        _ => return need_of_explicit(subject.input()),
    };
    for param in entry.params {
        let path = format!("/{}", escaped(param.name));
        let keyword = param.constraints.iter().find_map(|constraint| match constraint {
            Constraint::Pattern(_) => Some("pattern"),
            Constraint::Format(_) => Some("format"),
            _ => None,
        });
        if let Some(keyword) = keyword.or_else(|| param.explicit_schema.and(Some("schema"))) {
            return Need::Always(Unenforced { keyword: keyword.to_owned(), path });
        }
    }
    let schema = subject.input();
    let mut trial = Trial {
        entry,
        document: Document(schema),
        seen: HashSet::new(),
        among: std::ptr::null(),
        lists: false,
        objects: false,
    };
    match trial.arguments() {
        Ok(()) => Need::With { lists: trial.lists, objects: trial.objects },
        Err(unenforced) => Need::Always(unenforced),
    }
}

/// The need of an explicit schema, which only the validator enforces.
fn need_of_explicit(schema: &Value) -> Need {
    let demands = |(key, value): &(&String, &Value)| match key.as_str() {
        // Arguments are always an object.
        "type" => **value != json!("object"),
        "properties" | "patternProperties" | "additionalProperties" | "unevaluatedProperties" => {
            **value != json!({}) && **value != Value::Bool(true)
        }
        "required" => **value != json!([]),
        keyword => !ANNOTATIONS.contains(&keyword),
    };
    let demand = schema.as_object().into_iter().flatten().find(demands);
    demand.map_or(Need::With { lists: false, objects: false }, |(key, _)| {
        Need::Always(Unenforced { keyword: key.clone(), path: String::new() })
    })
}

/// Embeds a value in arguments; none if the value is valid by another alternative.
type Embed<'p> = &'p dyn Fn(Value) -> Option<Value>;

struct Trial<'a> {
    entry: &'static ToolEntry,
    document: Document<'a>,
    /// The definitions that were tried, and among which alternatives.
    seen: HashSet<(&'a str, *const Value)>,
    /// The alternatives that are being tried.
    among: *const Value,
    lists: bool,
    objects: bool,
}

/// What the types make of some arguments.
enum Outcome {
    Accepted,
    Rejected,
    /// Rejected at the path that is being tried.
    RejectedHere,
}

impl<'a> Trial<'a> {
    fn arguments(&mut self) -> Result<(), Unenforced> {
        let root = self.document.0;
        if self.entry.flatten {
            return self.schema(root, "", &Some);
        }
        // Generated code enforces the other keywords of the root.
        for (name, schema) in root.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.schema(schema, &format!("/{}", escaped(name)), &|value| Some(json!({ name.as_str(): value })))?;
        }
        Ok(())
    }

    fn schema(&mut self, schema: &'a Value, at: &str, embed: Embed<'_>) -> Result<(), Unenforced> {
        let Value::Object(object) = schema else { return Ok(()) };
        for (keyword, value) in object {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => self.reference(reference, at, embed)?,
                ("properties", Value::Object(properties)) => self.properties(object, properties, at, embed)?,
                ("additionalProperties" | "unevaluatedProperties", Value::Object(_)) => {
                    let document = self.document;
                    self.schema(value, &format!("{at}/*"), &|value| {
                        embed(with_member(document, object, "key", value))
                    })?;
                }
                ("additionalProperties" | "unevaluatedProperties", _) => self.keyword(object, keyword, at, embed)?,
                ("items", _) => self.items(object, value, at, embed)?,
                ("prefixItems", Value::Array(items)) => self.first_items(object, items, at, embed)?,
                ("oneOf" | "anyOf", Value::Array(alternatives)) => {
                    self.alternatives(keyword, alternatives, at, embed)?;
                }
                ("allOf", Value::Array(parts)) => {
                    parts.iter().try_for_each(|part| self.schema(part, at, embed))?;
                }
                // Arguments are always an object.
                ("type", _) if at.is_empty() => {}
                (known, _) if TRIED.contains(&known) || UNCHECKED.contains(&known) => {
                    self.keyword(object, keyword, at, embed)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn reference(&mut self, reference: &'a str, at: &str, embed: Embed<'_>) -> Result<(), Unenforced> {
        // A type is the same wherever it occurs.
        if !self.seen.insert((reference, self.among)) {
            return Ok(());
        }
        match self.document.target(reference) {
            Some(target) => self.schema(target, at, embed),
            None => Err(Unenforced { keyword: "$ref".to_owned(), path: at.to_owned() }),
        }
    }

    fn properties(
        &mut self,
        object: &'a JsonObject,
        properties: &'a JsonObject,
        at: &str,
        embed: Embed<'_>,
    ) -> Result<(), Unenforced> {
        self.lists |= !at.is_empty();
        let document = self.document;
        properties.iter().try_for_each(|(name, schema)| {
            self.schema(schema, &format!("{at}/{}", escaped(name)), &|value| {
                embed(with_member(document, object, name, value))
            })
        })
    }

    fn items(&mut self, object: &JsonObject, schema: &'a Value, at: &str, embed: Embed<'_>) -> Result<(), Unenforced> {
        let first = object.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let count = least.max(first as u64 + 1);
        let items = self.document.items(object, count, 0).unwrap_or_else(|| vec![Value::Null; first + 1]);
        self.schema(schema, &format!("{at}/*"), &|value| embed(with_item(&items, first, value)))
    }

    fn first_items(
        &mut self,
        object: &JsonObject,
        schemas: &'a [Value],
        at: &str,
        embed: Embed<'_>,
    ) -> Result<(), Unenforced> {
        let items = self.document.items(object, schemas.len() as u64, 0);
        let items = items.unwrap_or_else(|| vec![Value::Null; schemas.len()]);
        schemas.iter().enumerate().try_for_each(|(index, schema)| {
            self.schema(schema, &format!("{at}/{index}"), &|value| embed(with_item(&items, index, value)))
        })
    }

    /// A value that violates one alternative is valid if it fits another one.
    fn alternatives(
        &mut self,
        keyword: &str,
        alternatives: &'a [Value],
        at: &str,
        embed: Embed<'_>,
    ) -> Result<(), Unenforced> {
        let document = self.document;
        let outer = std::mem::replace(&mut self.among, alternatives.as_ptr());
        for (tried, alternative) in alternatives.iter().enumerate() {
            let fits_other = |value: &Value| {
                let mut others = alternatives.iter().enumerate().filter(|(index, _)| *index != tried);
                others.any(|(_, other)| document.fits(other, value, 0))
            };
            // serde takes the first that fits, and does not check the others.
            if keyword == "oneOf" && document.sample(alternative).is_some_and(|sample| fits_other(&sample)) {
                return Err(Unenforced { keyword: keyword.to_owned(), path: at.to_owned() });
            }
            self.schema(alternative, at, &|value| if fits_other(&value) { None } else { embed(value) })?;
        }
        self.among = outer;
        Ok(())
    }

    /// Tries one keyword.
    fn keyword(&mut self, object: &JsonObject, keyword: &str, at: &str, embed: Embed<'_>) -> Result<(), Unenforced> {
        let unenforced = || Unenforced { keyword: keyword.to_owned(), path: at.to_owned() };
        for value in self.document.violations(object, keyword).ok_or_else(unenforced)? {
            let (is_list, is_object) = (value.is_array(), value.is_object());
            let Some(arguments) = embed(value) else { continue };
            let enforced = match self.check(&arguments, at) {
                Outcome::RejectedHere => true,
                Outcome::Rejected => SHAPE.contains(&keyword) || self.accepts_sample(object, at, embed),
                Outcome::Accepted => false,
            };
            match keyword {
                _ if enforced => {}
                "type" if is_list => self.lists = true,
                "type" | "enum" | "const" if is_object => self.objects = true,
                _ => return Err(unenforced()),
            }
        }
        Ok(())
    }

    /// Whether the types accept a valid value, so that they reject the violation and nothing else.
    fn accepts_sample(&self, object: &JsonObject, at: &str, embed: Embed<'_>) -> bool {
        let sample = self.document.sample(&Value::Object(object.clone())).and_then(embed);
        sample.is_some_and(|arguments| matches!(self.check(&arguments, at), Outcome::Accepted))
    }

    fn check(&self, arguments: &Value, at: &str) -> Outcome {
        let json = arguments.to_string();
        // A user's type may panic on unusual values.
        let checked = guard(|| self.entry.check(&json));
        let Ok(Err(faults)) = checked else { return Outcome::Accepted };
        // Missing arguments are not what is being tried.
        let argument = at.split('/').nth(1).filter(|_| !self.entry.flatten);
        let within = |path: &str| argument.is_none_or(|name| path.split('/').nth(1) == Some(name));
        if faults.iter().any(|fault| matches_path(&fault.path, at)) {
            return Outcome::RejectedHere;
        }
        if faults.iter().any(|fault| within(&fault.path)) { Outcome::Rejected } else { Outcome::Accepted }
    }
}

/// Whether a path matches a pattern with `*` for any step.
fn matches_path(path: &str, pattern: &str) -> bool {
    let (path, pattern) = (path.split('/'), pattern.split('/'));
    path.clone().count() == pattern.clone().count()
        && path.zip(pattern).all(|(step, expected)| expected == "*" || step == expected)
}

/// A valid object with one member replaced. The member comes first, so that it is parsed before any other.
fn with_member(document: Document<'_>, object: &JsonObject, name: &str, value: Value) -> Value {
    let sample = document.sample(&Value::Object(object.clone()));
    let mut members = JsonObject::new();
    members.insert(name.to_owned(), value);
    if let Some(Value::Object(others)) = sample {
        for (other, value) in others {
            members.entry(other).or_insert(value);
        }
    }
    members.into()
}

fn with_item(items: &[Value], index: usize, value: Value) -> Value {
    let mut items = items.to_vec();
    items[index] = value;
    items.into()
}
