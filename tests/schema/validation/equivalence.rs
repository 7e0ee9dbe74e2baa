//! A call takes exactly what the published schema takes.
//!
//! Values are made from the schemas, and each is broken in many small ways. The exceptions are these, and no others:
//! null where something may be left out, which means that it is; integers beyond 64 bits; the formats of types. (Keys that
//! stand twice are not values.) Two places where schemars says less than serde are named in [`says_less`].

use jsonschema::Validator;
use mcp_registry::serde_json::{Map, Value, json};
use mcp_registry::{Error, RegisteredTool, Registry, Tool, ToolCall};

/// A generator of numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.roll(of.len()))
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema[key].as_array().map_or(&[], Vec::as_slice)
}

/// A value for the schema; most of them fit.
fn made(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(&reference[1..]).unwrap();
        return made(root, target, dice, depth + 1);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = dice.one(list(schema, "enum")) {
        return value.clone();
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(one) = dice.one(list(schema, key)) {
            return made(root, one, dice, depth + 1);
        }
    }
    match schema["type"].as_str() {
        Some("integer") => integer(schema, dice),
        Some("number") => number(schema, dice),
        Some("string") => text(schema, dice),
        Some("boolean") => (dice.roll(2) == 0).into(),
        Some("array") => items(root, schema, dice, depth),
        Some("object") => members(root, schema, dice, depth),
        _ => odd(dice),
    }
}

fn integer(schema: &Value, dice: &mut Dice) -> Value {
    let step = schema["multipleOf"].as_i64().unwrap_or(1);
    let least = schema["minimum"].as_i64().unwrap_or(-50).max(-50);
    let most = schema["maximum"].as_i64().unwrap_or(200).min(200).max(least);
    let value = least + i64::try_from(dice.roll(usize::try_from(most - least + 1).unwrap())).unwrap();
    (value / step * step).into()
}

fn number(schema: &Value, dice: &mut Dice) -> Value {
    let bounds = [schema["minimum"].as_f64(), schema["maximum"].as_f64(), Some(1.5), Some(0.25), Some(3.0)];
    dice.one(&bounds.into_iter().flatten().collect::<Vec<_>>()).copied().into()
}

fn text(schema: &Value, dice: &mut Dice) -> Value {
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap();
    let most = usize::try_from(schema["maxLength"].as_u64().unwrap_or(5)).unwrap();
    let length = least + dice.roll(most - least + 1);
    if schema["format"] == "ipv4" {
        return "127.0.0.1".into();
    }
    (0..length).map(|_| dice.one(&['a', 'b', 'c', 'é']).unwrap()).collect::<String>().into()
}

fn items(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let first = list(schema, "prefixItems");
    if !first.is_empty() {
        return first.iter().map(|item| made(root, item, dice, depth + 1)).collect();
    }
    let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
    let most = usize::try_from(schema["maxItems"].as_u64().unwrap_or(3)).unwrap();
    let count = if depth > 6 { least } else { least + dice.roll(most - least + 1) };
    (0..count).map(|_| made(root, &schema["items"], dice, depth + 1)).collect()
}

fn members(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let mut members = Map::new();
    for (name, schema_of) in schema["properties"].as_object().into_iter().flatten() {
        let required = list(schema, "required").contains(&json!(name));
        if required || (depth < 6 && dice.roll(2) == 0) {
            members.insert(name.clone(), made(root, schema_of, dice, depth + 1));
        }
    }
    if schema["additionalProperties"].is_object() {
        for index in 0..dice.roll(3) {
            members.insert(format!("k{index}"), made(root, &schema["additionalProperties"], dice, depth + 1));
        }
    }
    members.into()
}

/// A value of any kind.
fn odd(dice: &mut Dice) -> Value {
    let values = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(2.0),
        json!(0.5),
        json!(256),
        json!(-129),
        json!(1_000_000),
        json!(4_294_967_296_u64),
        json!(u64::MAX),
        json!(1e19),
        json!(""),
        json!("a"),
        json!("Nothing"),
        json!("red"),
        json!("x y"),
        json!(true),
        json!([]),
        json!([1]),
        json!([1, 2, null]),
        json!(["circle", 3]),
        json!(["Text", "a"]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "Nothing": null }),
        json!({ "red": null }),
        json!({ "x": 1, "y": 2 }),
    ];
    dice.one(&values).unwrap().clone()
}

/// Breaks the value in one place.
fn mutate(value: &mut Value, dice: &mut Dice) {
    let inner = match value {
        Value::Object(members) if !members.is_empty() => dice.roll(3) > 0,
        Value::Array(items) if !items.is_empty() => dice.roll(3) > 0,
        _ => false,
    };
    match value {
        Value::Object(members) if inner => {
            let index = dice.roll(members.len());
            mutate(members.values_mut().nth(index).unwrap(), dice);
        }
        Value::Array(items) if inner => {
            let index = dice.roll(items.len());
            mutate(&mut items[index], dice);
        }
        _ => replace(value, dice),
    }
}

fn replace(value: &mut Value, dice: &mut Dice) {
    match (&mut *value, dice.roll(3)) {
        (Value::Object(members), 0) => {
            members.insert("more".into(), odd(dice));
        }
        (Value::Object(members), 1) if !members.is_empty() => {
            let name = members.keys().nth(dice.roll(members.len())).unwrap().clone();
            members.shift_remove(&name);
        }
        // As serde reads a struct.
        (Value::Object(members), _) if dice.roll(2) == 0 => *value = members.values().cloned().collect(),
        (Value::Array(items), 0) => items.extend(items.first().cloned().or(Some(json!(1)))),
        (Value::Array(items), 1) => {
            items.pop();
        }
        (Value::String(text), 0) => text.push_str("aa"),
        (Value::String(text), 1) => *text = text.chars().skip(1).collect(),
        (Value::Number(number), 0 | 1) if number.is_i64() => {
            let number = number.as_i64().unwrap();
            let others = [number + 1, number - 1, -number, number * 100, number / 2];
            *value = (*dice.one(&others).unwrap()).into();
        }
        _ => *value = odd(dice),
    }
}

/// Whether the call takes the arguments.
fn takes(registry: &Registry, tool: &RegisteredTool, arguments: &Value) -> bool {
    let call = ToolCall::new(tool.name(), arguments.clone());
    let called = mcp_core::support::block_on(registry.try_call(&call));
    !matches!(called, Err(Error::Schema(_)))
}

/// The value with some of its parts exchanged, or left out where they are members.
fn changed(value: &Value, change: &dyn Fn(&Value) -> Option<Value>) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter_map(|(key, value)| Some((key.clone(), changed(value, change)?)));
            Some(Value::Object(members.collect()))
        }
        Value::Array(items) => Some(items.iter().map(|item| changed(item, change).unwrap_or(Value::Null)).collect()),
        other => change(other),
    }
}

/// What the value means if nulls are absent.
fn without_nulls(value: &Value) -> Value {
    changed(value, &|value| (!value.is_null()).then(|| value.clone())).unwrap()
}

/// The value with a small integer for each one that may be beyond 64 bits.
fn with_small_integers(value: &Value) -> Value {
    let change = |value: &Value| {
        let is_large = value.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() > 9.2e18);
        Some(if is_large { json!(1) } else { value.clone() })
    };
    changed(value, &change).unwrap()
}

/// Where the schema that schemars makes of a type says less than serde enforces: a `Result` has one member, and a variant
/// without content has none.
fn says_less(tool: &RegisteredTool, arguments: &Value) -> bool {
    let value = &arguments["value"];
    match tool.name() {
        "equal.result" => value.as_object().is_some_and(|members| members.len() > 1),
        "equal.adjacent" => value["t"] == "Nothing" && value.get("c").is_some(),
        _ => false,
    }
}

/// Whether the two may differ in these arguments.
fn is_exception(
    registry: &Registry,
    tool: &RegisteredTool,
    oracle: &Validator,
    arguments: &Value,
    by_call: bool,
) -> bool {
    if by_call {
        // What may be left out may be null; so may an item that is an option.
        let absent = without_nulls(arguments);
        let items = tool.name() == "equal.optional_items"
            && arguments["a"].as_array().is_some_and(|a| a.contains(&Value::Null));
        return absent != *arguments && oracle.is_valid(&absent) || items;
    }
    let small = with_small_integers(arguments);
    says_less(tool, arguments) || small != *arguments && takes(registry, tool, &small)
}

/// Removes the formats of types, which are theirs to read.
fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("format").is_some_and(Value::is_string) {
                object.shift_remove("format");
            }
            object.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        _ => {}
    }
}

fn oracle(tool: &RegisteredTool) -> Validator {
    let mut schema = (**tool.input_schema()).clone();
    if !["equal.patterns", "equal.made"].contains(&tool.name()) {
        without_formats(&mut schema);
    }
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

fn registry() -> Registry {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "pattern": "^[a-c]{1,3}$" },
            "ip": { "type": "string", "format": "ipv4" },
            "size": { "oneOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "maxLength": 2 }] },
            "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true, "maxItems": 2 },
        },
        "required": ["id"],
        "additionalProperties": false,
        "dependentRequired": { "size": ["tags"] },
    });
    let made = Tool::new("equal.made", schema, |_, _| async {});
    let entries = mcp_registry::entry::entries().filter(|entry| entry.name.starts_with("equal."));
    Registry::builder_of(entries).tool(made).build().unwrap()
}

#[test]
fn a_call_takes_what_the_published_schema_takes() {
    const EACH: usize = 400;
    let registry = registry();
    let tools = registry.list_registered_tools();
    assert!(tools.len() >= 40, "{}", tools.len());
    let mut wrong = Vec::new();
    for tool in tools.iter() {
        let oracle = oracle(tool);
        let mut dice = Dice(42);
        let (mut taken, mut refused) = (0, 0);
        for round in 0..EACH {
            let mut arguments = made(tool.input_schema(), tool.input_schema(), &mut dice, 0);
            for _ in 0..round % 3 {
                mutate(&mut arguments, &mut dice);
            }
            if !arguments.is_object() {
                // Such a call is refused before it gets here.
                continue;
            }
            let (by_schema, by_call) = (oracle.is_valid(&arguments), takes(&registry, tool, &arguments));
            *(if by_schema { &mut taken } else { &mut refused }) += 1;
            if by_schema != by_call && !is_exception(&registry, tool, &oracle, &arguments, by_call) {
                wrong.push(format!("{}: the schema takes {arguments}: {by_schema}, the call: {by_call}", tool.name()));
            }
        }
        assert!(taken > 20 && refused > 20, "{}: {taken} taken, {refused} refused", tool.name());
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
