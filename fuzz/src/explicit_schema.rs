//! Hand-written schemas: registering a tool with one never panics, and what runs is accepted by another validator.
//!
//! If the first byte is odd, the text up to the first line break is the schema, and each line after it the arguments of a
//! call; else all of them are made from the other bytes.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, Once};

use jsonschema::Validator;
use mcp_registry::{CallOptions, Registry, Tool};
use serde_json::{Map, Value, json};

use crate::arguments::is_accepted;
use crate::dice::Dice;
use crate::{generate, loose};

const NAME: &str = "made.tool";

static REGISTRY: LazyLock<Registry> =
    LazyLock::new(|| Registry::builder_of([]).allow_empty().build().expect("no tools are sound"));

/// What the tool was last called with.
static RAN: Mutex<Option<Value>> = Mutex::new(None);

fn ran() -> Option<Value> {
    RAN.lock().expect("nothing panics").take()
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Silences panics that are caught: the validator may panic where that is expected.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| panic::set_hook(Box::new(|info| LAST_PANIC.set(info.to_string()))));
}

/// Another validator of the schema; none if the schema is invalid, or the validator panics.
fn independent(schema: &Value) -> Option<Validator> {
    let build = || jsonschema::options().should_validate_formats(true).build(schema).ok();
    catch_unwind(AssertUnwindSafe(build)).ok().flatten()
}

/// A value without null members, with every number as a float.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

/// Whether a number may be too small for a float, as in `1e-999`.
fn has_small_number(text: &str) -> bool {
    let mut exponents = text.split("e-").chain(text.split("E-"));
    exponents.any(|rest| rest.bytes().take_while(u8::is_ascii_digit).count() > 2)
}

fn check(schema: &Value, arguments: &[String]) {
    let tool = Tool::new(NAME, schema.clone(), |_, arguments: Value| async move {
        *RAN.lock().expect("nothing panics") = Some(arguments);
    });
    if REGISTRY.register(tool).is_err() {
        return;
    }
    // It rejects some schemas for what they only note, such as an example that is not in a list.
    let Some(validator) = independent(schema) else { return };
    for text in arguments {
        ran();
        let mut out = Vec::new();
        let called = REGISTRY.call_bytes_blocking(NAME, text.as_bytes(), &CallOptions::new(), &mut out);
        let Some(received) = ran() else {
            assert!(called.is_err(), "answered without a run: {text} by {schema}");
            continue;
        };
        let sent = loose::value(text).expect("what runs is JSON");
        // Integers are spelled as integers, and nulls for absent members are dropped.
        assert_eq!(plain(&received), plain(&sent), "the tool did not receive what was sent, {text}, by {schema}");
        // It rounds numbers before it divides them, and reads the smallest ones as 0.
        if schema.to_string().contains("multipleOf") || has_small_number(text) {
            continue;
        }
        let accepted = catch_unwind(AssertUnwindSafe(|| is_accepted(&validator, &sent)));
        assert!(accepted.unwrap_or(false), "the tool ran with {text}, which its schema refuses: {schema}");
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    keep_panics_quiet();
    let [mode, rest @ ..] = data else { return };
    let (schema, arguments) = if mode % 2 == 1 {
        let Ok(text) = std::str::from_utf8(rest) else { return };
        let mut lines = text.lines();
        let Some(schema) = lines.next().and_then(|line| serde_json::from_str(line).ok()) else { return };
        (schema, lines.take(4).map(str::to_owned).collect::<Vec<_>>())
    } else {
        let mut dice = Dice::new(rest);
        let schema = root(&mut dice);
        let arguments = (0..3).map(|_| generate::object(&schema, &mut dice)).collect();
        (schema, arguments)
    };
    let checked = catch_unwind(AssertUnwindSafe(|| check(&schema, &arguments)));
    REGISTRY.unregister(NAME);
    if let Err(payload) = checked {
        eprintln!("{}\nschema: {schema}\narguments: {arguments:?}", LAST_PANIC.take());
        panic::resume_unwind(payload);
    }
}

/// A schema of an object, with definitions.
fn root(dice: &mut Dice<'_>) -> Value {
    let mut root = Map::new();
    root.insert("type".to_owned(), "object".into());
    let mut properties = Map::new();
    for name in ["a", "b", "c"].into_iter().take(1 + dice.roll(3)) {
        properties.insert(name.to_owned(), schema(dice, 1));
    }
    root.insert("properties".to_owned(), properties.into());
    for _ in 0..dice.roll(4) {
        keyword(&mut root, dice, 1);
    }
    if dice.roll(3) == 1 {
        root.insert("$defs".to_owned(), json!({ "A": schema(dice, 2), "B": schema(dice, 2) }));
    }
    if dice.hits(16) {
        let drafts = [
            "https://json-schema.org/draft/2020-12/schema",
            "http://json-schema.org/draft-07/schema#",
            "http://json-schema.org/draft-04/schema#",
            "urn:x",
        ];
        root.insert("$schema".to_owned(), dice.one(&drafts).into());
    }
    root.into()
}

/// A schema of any value, or of an object with definitions.
pub(crate) fn document(dice: &mut Dice<'_>) -> Value {
    if dice.roll(2) == 0 { root(dice) } else { schema(dice, 0) }
}

fn schema(dice: &mut Dice<'_>, depth: usize) -> Value {
    if dice.hits(12) || depth > 4 {
        return (dice.roll(2) == 0).into();
    }
    let mut object = Map::new();
    let kinds = ["integer", "string", "number", "boolean", "array", "object", "null"];
    match dice.roll(6) {
        0 => {}
        5 => _ = object.insert("type".to_owned(), json!([dice.one(&kinds), dice.one(&kinds)])),
        _ => _ = object.insert("type".to_owned(), dice.one(&kinds).into()),
    }
    for _ in 0..dice.roll(4) {
        keyword(&mut object, dice, depth);
    }
    object.into()
}

fn schemas(dice: &mut Dice<'_>, depth: usize) -> Value {
    (0..dice.roll(4)).map(|_| schema(dice, depth + 1)).collect()
}

fn literal(dice: &mut Dice<'_>) -> Value {
    let text = generate::text(&Value::Bool(true), dice);
    serde_json::from_str(&text).unwrap_or_default()
}

const KEYWORDS: [&str; 45] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
    "pattern",
    "format",
    "enum",
    "const",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "items",
    "prefixItems",
    "contains",
    "uniqueItems",
    "required",
    "propertyNames",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "$dynamicRef",
    "$dynamicAnchor",
    "$anchor",
    "$id",
    "default",
    "properties",
    "type",
];

/// Adds a keyword.
fn keyword(object: &mut Map<String, Value>, dice: &mut Dice<'_>, depth: usize) {
    let key = dice.one(&KEYWORDS);
    let value = match key {
        _ if dice.hits(24) => literal(dice),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            dice.one(&[1.0, 0.0, -1.0, 10.0, 0.1, 1e308, 1e19]).into()
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => {
            json!(dice.one(&[0_u64, 1, 2, 3, 1_000_000, u64::MAX]))
        }
        "pattern" => dice.one(&["^a", "^[a-z]+$", "b", "", "(", "(?=a)", "\\d", "^(a+)+$", "\\p{L}"]).into(),
        "format" => dice
            .one(&[
                "ipv4",
                "email",
                "date",
                "date-time",
                "uri",
                "uuid",
                "regex",
                "hostname",
                "json-pointer",
                "none",
                "duration",
                "idn-email",
            ])
            .into(),
        "enum" => (0..dice.roll(4)).map(|_| literal(dice)).collect(),
        "const" | "default" => literal(dice),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => schemas(dice, depth),
        "uniqueItems" => true.into(),
        "required" => json!([dice.one(&["a", "b", "c", "z"])]),
        "patternProperties" => json!({ dice.one(&["^a", "k", "", "("]): schema(dice, depth + 1) }),
        "properties" | "dependentSchemas" => json!({ dice.one(&["a", "b", "k"]): schema(dice, depth + 1) }),
        "dependentRequired" | "dependencies" => json!({ dice.one(&["a", "b"]): [dice.one(&["b", "c"])] }),
        "$ref" | "$dynamicRef" => dice
            .one(&[
                "#/$defs/A",
                "#/$defs/B",
                "#",
                "#/properties/a",
                "#x",
                "#/nowhere",
                "urn:x",
                "http://json-schema.org/draft-07/schema#",
                "",
            ])
            .into(),
        "$dynamicAnchor" | "$anchor" => "x".into(),
        "$id" => dice.one(&["urn:x", "http://x.example/", "#x", "a"]).into(),
        "type" => dice.one(&["integer", "string", "object", "float", "array"]).into(),
        _ => schema(dice, depth + 1),
    };
    object.insert(key.to_owned(), value);
}
