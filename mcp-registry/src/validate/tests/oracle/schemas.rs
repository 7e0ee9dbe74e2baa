//! Random schemas over every keyword of the model.

use serde_json::{Value, json};

use super::{Dice, JsonObject};
use crate::validate::FORMATS;

/// The names of members: few, so that values often have those of the schema.
pub(super) const NAMES: [&str; 8] = ["a", "b", "c", "ab", "x1", "x2", "kind", "é"];

/// Patterns, each with a text that matches and, except for the empty one, a text that does not.
pub(super) const PATTERNS: [(&str, &str, &str); 10] = [
    ("^a", "ab", "b"),
    ("b", "ab", "c"),
    ("^[a-z]+$", "abc", "A"),
    ("^x\\d$", "x1", "x"),
    ("\\d{2,3}", "12", "1"),
    ("^.$", "é", "ab"),
    ("^(a|bc)*$", "abca", "ac"),
    ("^\\S+$", "kind", "a b"),
    ("[^\\w]", "a b", "ab"),
    ("", "", ""),
];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

pub(super) const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";
const ID: &str = "https://example.com/schema";

/// How deeply schemas are nested, and how many one document has at most, about.
const MAX_DEPTH: usize = 4;
const MAX_SCHEMAS: usize = 24;

/// Numbers of schemas: those that a float represents, and large integers.
pub(super) fn number(dice: &mut Dice) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(5),
        json!(10),
        json!(-1),
        json!(-3),
        json!(0.5),
        json!(2.5),
        json!(-0.5),
        json!(1.0),
        json!(100.0),
        json!(0.1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_i64),
        json!(1e300),
    ];
    // The last ones are rare.
    let bound = if dice.hits(10) { numbers.len() } else { 14 };
    numbers[dice.below(bound)].clone()
}

/// Any value.
pub(super) fn any_value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth < 3 { 12 } else { 9 }) {
        0 => Value::Null,
        1 => dice.flips().into(),
        2 => number(dice),
        3 | 4 => json!(dice.below(7)),
        5 => dice.one(&NAMES).into(),
        6..=8 => text(dice),
        9 => (0..dice.below(4)).map(|_| any_value(dice, depth + 1)).collect(),
        _ => {
            let members: JsonObject =
                (0..dice.below(4)).map(|_| (dice.one(&NAMES).to_owned(), any_value(dice, depth + 1))).collect();
            members.into()
        }
    }
}

pub(super) fn text(dice: &mut Dice) -> Value {
    let texts = ["", "a", "b", "ab", "abc", "A", "0", "12", "a b", "é", "😀", "e\u{301}", "\u{0}\n\"", "null", "a/b~c"];
    match dice.below(4) {
        0 => {
            let (_, matching, other) = dice.one(&PATTERNS);
            dice.one(&[matching, other]).into()
        }
        1 => {
            let format = &FORMATS[dice.below(FORMATS.len())];
            dice.one(&[format.example, format.counterexample]).into()
        }
        _ => dice.one(&texts).into(),
    }
}

/// Where a schema is: what it may refer to without leading back to itself.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// The first definition that it may refer to.
    from: usize,
    /// Whether it may refer to the root.
    root: bool,
}

impl Place {
    /// A schema of the same value.
    fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// A schema of a part of the value.
    fn part(self) -> Self {
        Self { depth: self.depth + 1, from: 0, root: true }
    }
}

/// A random schema.
pub(super) fn document(dice: &mut Dice) -> Value {
    let draft7 = dice.hits(5);
    let definitions = [0, 0, 1, 2, 3][dice.below(5)];
    let has_id = dice.hits(12);
    let mut schemas = Schemas { dice, draft7, definitions, has_id, left: MAX_SCHEMAS };
    let root = schemas.schema(Place { depth: 0, from: 0, root: false });
    let Value::Object(mut root) = root else {
        return root;
    };
    if definitions > 0 {
        let mut all = JsonObject::new();
        for index in 0..definitions {
            schemas.left = schemas.left.max(4);
            let mut definition = schemas.schema(Place { depth: 1, from: index + 1, root: false });
            if !draft7 {
                if definition.is_boolean() {
                    definition = json!({ "allOf": [definition] });
                }
                definition["$anchor"] = format!("d{index}").into();
            }
            all.insert(format!("D{index}"), definition);
        }
        let key = if draft7 { "definitions" } else { "$defs" };
        root.insert(key.to_owned(), all.into());
    }
    if has_id && !(draft7 && root.contains_key("$ref")) {
        root.insert("$id".to_owned(), ID.into());
    } else if has_id {
        return document(dice);
    }
    if draft7 || dice.hits(4) {
        root.insert("$schema".to_owned(), if draft7 { DRAFT_7 } else { DRAFT_2020 }.into());
    }
    root.into()
}

struct Schemas<'d> {
    dice: &'d mut Dice,
    draft7: bool,
    definitions: usize,
    has_id: bool,
    /// How many more schemas there may be.
    left: usize,
}

const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const STRINGS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const ARRAYS: [&str; 7] = ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "contains"];
const OBJECTS: [&str; 12] = [
    "properties",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedProperties",
];
const UNIONS: [&str; 7] = ["anyOf", "oneOf", "allOf", "allOf", "not", "if", "$ref"];
const VALUES: [&str; 2] = ["enum", "const"];

impl Schemas<'_> {
    fn schema(&mut self, place: Place) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.dice.hits(18) {
            return self.dice.hits(2).into();
        }
        if place.depth >= MAX_DEPTH || self.left == 0 {
            return self.small();
        }
        let mut object = JsonObject::new();
        let (kind, keywords): (&str, &[&str]) = match self.dice.below(16) {
            0 | 1 => (self.dice.one(&["integer", "number"]), &NUMBERS),
            2 | 3 => ("string", &STRINGS),
            4 | 5 => ("array", &ARRAYS),
            6..=9 => ("object", &OBJECTS),
            10 | 11 => ("", &UNIONS),
            12 => ("", &VALUES),
            13 => return self.tagged(place),
            14 => return self.nullable(place),
            _ => return self.small(),
        };
        if !kind.is_empty() && !self.dice.hits(4) {
            object.insert("type".to_owned(), self.types(kind));
        }
        if kind == "object" && self.dice.flips() {
            self.keyword(&mut object, "properties", place);
        }
        for _ in 0..=self.dice.below(3) {
            let key = self.dice.one(keywords);
            self.keyword(&mut object, key, place);
        }
        if self.dice.hits(3) {
            let more: &[&str] = match self.dice.below(8) {
                0 => &NUMBERS,
                1 => &STRINGS,
                2 => &ARRAYS,
                3 => &OBJECTS,
                4 => &VALUES,
                _ => &UNIONS,
            };
            let key = self.dice.one(more);
            self.keyword(&mut object, key, place);
        }
        object.into()
    }

    /// A schema without schemas.
    fn small(&mut self) -> Value {
        let mut object = JsonObject::new();
        if !self.dice.hits(8) {
            let kind = self.dice.one(&TYPES);
            object.insert("type".to_owned(), self.types(kind));
        }
        if self.dice.flips() {
            let keywords: &[&str] = match object.get("type").and_then(Value::as_str) {
                Some("integer" | "number") => &NUMBERS,
                Some("string") => &STRINGS,
                Some("array") => &["minItems", "maxItems", "uniqueItems"],
                Some("object") => &["required", "minProperties", "maxProperties", "dependentRequired"],
                _ => &VALUES,
            };
            let key = self.dice.one(keywords);
            let place = Place { depth: MAX_DEPTH, from: self.definitions, root: false };
            self.keyword(&mut object, key, place);
        }
        object.into()
    }

    fn types(&mut self, kind: &str) -> Value {
        match self.dice.below(8) {
            0 => json!([kind, "null"]).take_distinct(),
            1 => json!([self.dice.one(&TYPES), kind]).take_distinct(),
            _ => kind.into(),
        }
    }

    /// "Or null", in one of the ways to write it.
    fn nullable(&mut self, place: Place) -> Value {
        let inner = self.schema(place.inner());
        match self.dice.below(6) {
            0 => json!({ "anyOf": [inner, { "type": "null" }] }),
            1 => json!({ "oneOf": [{ "type": "null" }, inner] }),
            2 => json!({ "anyOf": [{ "const": null }, inner] }),
            3 => json!({ "oneOf": [inner, { "enum": [null] }] }),
            4 => json!({ "type": ["string", "null"], "enum": ["a", null, "b"] }),
            _ => {
                let mut object = inner;
                if let Some(object) = object.as_object_mut() {
                    let kind = object.get("type").and_then(Value::as_str).unwrap_or("object").to_owned();
                    object.insert("type".to_owned(), json!([kind, "null"]).take_distinct());
                }
                object
            }
        }
    }

    /// A union whose alternatives a member tells apart, or nearly so.
    fn tagged(&mut self, place: Place) -> Value {
        let mut alternatives = Vec::new();
        for index in 0..=self.dice.below(3) {
            let tag = ["a", "b", "c"][if self.dice.hits(8) { 0 } else { index % 3 }];
            let tag = match self.dice.below(4) {
                0 => json!({ "enum": [tag] }),
                1 => json!({ "type": "string", "enum": [tag, "x1"] }),
                _ => json!({ "const": tag }),
            };
            let mut object = JsonObject::new();
            if !self.dice.hits(6) {
                object.insert("type".to_owned(), "object".into());
            }
            let name = self.dice.one(&NAMES[..6]);
            let inner = self.schema(place.part());
            object.insert("properties".to_owned(), json!({ "kind": tag, name: inner }));
            let required = match self.dice.below(6) {
                0 => json!([name]),
                1 => json!([]),
                2 | 3 => json!(["kind", name]),
                _ => json!(["kind"]),
            };
            object.insert("required".to_owned(), required);
            if self.dice.hits(3) {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            if self.dice.hits(8) {
                let key = self.dice.one(&["anyOf", "not", "if", "$ref", "allOf", "minProperties"]);
                self.keyword(&mut object, key, place.inner());
            }
            alternatives.push(object.into());
        }
        if self.dice.hits(4) {
            let other = self.schema(place.inner());
            alternatives.push(other);
        }
        let mut object = JsonObject::new();
        object.insert(self.dice.one(&["oneOf", "oneOf", "anyOf"]).to_owned(), alternatives.into());
        if self.dice.hits(4) {
            let key = self.dice.one(&OBJECTS);
            self.keyword(&mut object, key, place);
        }
        object.into()
    }

    fn schemas(&mut self, place: Place) -> Value {
        (0..=self.dice.below(3)).map(|_| self.schema(place)).collect()
    }

    fn named(&mut self, most: usize, place: Place) -> Value {
        let mut all = JsonObject::new();
        for _ in 0..=self.dice.below(most) {
            let name = self.dice.one(&NAMES);
            let schema = self.schema(place);
            all.insert(name.to_owned(), schema);
        }
        all.into()
    }

    fn names(&mut self) -> Vec<&'static str> {
        let mut names: Vec<&str> = (0..self.dice.below(3)).map(|_| self.dice.one(&NAMES)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn count(&mut self) -> Value {
        let count = [0, 1, 1, 2, 2, 3, 5][self.dice.below(7)];
        if self.dice.hits(12) { json!(f64::from(count)) } else { json!(count) }
    }

    fn keyword(&mut self, object: &mut JsonObject, key: &str, place: Place) {
        let mut insert = |key: &str, value: Value| _ = object.insert(key.to_owned(), value);
        match key {
            "multipleOf" => {
                let of = [json!(1), json!(2), json!(3), json!(0.5), json!(0.25), json!(1.5), json!(2.0), json!(7)];
                insert(key, of[self.dice.below(of.len())].clone());
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => insert(key, number(self.dice)),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                insert(key, self.count());
            }
            "pattern" => insert(key, self.dice.one(&PATTERNS).0.into()),
            "format" => insert(key, self.format().into()),
            "enum" => {
                let mut values: Vec<Value> = Vec::new();
                for _ in 0..=self.dice.below(4) {
                    let value = any_value(self.dice, 1);
                    if !values.iter().any(|known| mcp_core::support::schema::equal(known, &value)) {
                        values.push(value);
                    }
                }
                insert(key, values.into());
            }
            "const" => insert(key, any_value(self.dice, 0)),
            "items" if self.draft7 && !self.dice.hits(3) => {
                insert(key, self.schemas(place.part()));
                if !self.dice.hits(4) {
                    insert("additionalItems", self.schema(place.part()));
                }
            }
            "items" | "additionalProperties" | "propertyNames" => {
                let schema = if key == "propertyNames" && !self.dice.hits(4) {
                    let mut object = JsonObject::new();
                    let key = self.dice.one(&["minLength", "maxLength", "pattern", "enum", "format", "const"]);
                    self.keyword(&mut object, key, place.part());
                    object.into()
                } else {
                    self.schema(place.part())
                };
                insert(key, schema);
            }
            "prefixItems" if !self.draft7 => insert(key, self.schemas(place.part())),
            "uniqueItems" => insert(key, (!self.dice.hits(5)).into()),
            "contains" => {
                insert(key, self.schema(place.part()));
                for key in ["minContains", "maxContains"] {
                    if !self.draft7 && self.dice.hits(3) {
                        insert(key, self.count());
                    }
                }
            }
            "properties" => insert(key, self.named(3, place.part())),
            "required" => insert(key, self.names().into()),
            "patternProperties" => {
                let mut all = JsonObject::new();
                for _ in 0..=self.dice.below(2) {
                    let schema = self.schema(place.part());
                    all.insert(self.dice.one(&PATTERNS).0.to_owned(), schema);
                }
                insert(key, all.into());
            }
            "dependentRequired" if !self.draft7 => {
                let (name, names) = (self.dice.one(&NAMES), self.names());
                insert(key, json!({ name: names }));
            }
            "dependentRequired" => {
                let (name, names) = (self.dice.one(&NAMES), self.names());
                insert("dependencies", json!({ name: names }));
            }
            "dependentSchemas" if !self.draft7 => insert(key, self.named(2, place.inner())),
            "dependentSchemas" => insert("dependencies", self.named(2, place.inner())),
            "unevaluatedProperties" if !self.draft7 => insert(key, self.schema(place.part())),
            "anyOf" | "oneOf" | "allOf" => insert(key, self.schemas(place.inner())),
            "not" => insert(key, self.schema(place.inner())),
            "if" => {
                insert(key, self.schema(place.inner()));
                for key in ["then", "else"] {
                    if !self.dice.hits(3) {
                        insert(key, self.schema(place.inner()));
                    }
                }
            }
            "$ref" => {
                if let Some(target) = self.target(place) {
                    insert(key, target.into());
                }
            }
            _ => {}
        }
    }

    /// A format that the oracle decides as we do. It does not check `idn-hostname`, it rejects literals in `regex` that we
    /// accept, such as `{`, and in draft 7 it ignores formats that are newer.
    fn format(&mut self) -> &'static str {
        let skipped: &[&str] =
            if self.draft7 { &["idn-hostname", "regex", "uuid", "duration"] } else { &["idn-hostname", "regex"] };
        loop {
            let name = FORMATS[self.dice.below(FORMATS.len())].name;
            if self.dice.hits(16) {
                return "unknown";
            }
            if !skipped.contains(&name) {
                return name;
            }
        }
    }

    fn target(&mut self, place: Place) -> Option<String> {
        if place.root && (place.from >= self.definitions || self.dice.hits(5)) {
            return Some("#".to_owned());
        }
        if place.from >= self.definitions {
            return None;
        }
        let index = place.from + self.dice.below(self.definitions - place.from);
        let key = if self.draft7 { "definitions" } else { "$defs" };
        let id = if self.has_id && self.dice.flips() { ID } else { "" };
        Some(match self.dice.below(4) {
            0 if !self.draft7 => format!("{id}#d{index}"),
            1 => format!("{id}#/{key}/D{}", format!("{index}").replace('0', "%30")),
            _ => format!("{id}#/{key}/D{index}"),
        })
    }
}

trait Distinct {
    fn take_distinct(self) -> Value;
}

impl Distinct for Value {
    /// Without the second item if it is the first one.
    fn take_distinct(self) -> Value {
        match self.as_array().map(Vec::as_slice) {
            Some([one, other]) if one == other => one.clone(),
            _ => self,
        }
    }
}
