//! The arguments of a call, against serde and the published schema.
//!
//! The first byte picks the tool. If the second is odd, the other bytes are the text of the arguments; else the text is
//! made from them.
//!
//! - What runs is JSON that the published schema accepts. A text that a `Value` cannot represent runs no tool whose schema
//!   needs the validator.
//! - What serde and the schema accept runs, with what serde reads.
//! - The fast path and the general path to a tool agree.
//!
//! Null may stand for anything that may be left out, and for an item of a list whose type accepts it. A text with a
//! duplicate key may be refused.

use std::sync::LazyLock;

use jsonschema::Validator;
use mcp_registry::{CallOptions, CancelToken, Error, Registry, ToolCall};
use serde_json::{Map, Value};

use crate::dice::Dice;
use crate::typed::{self, Typed};
use crate::{generate, loose};

/// A tool with its published schema.
struct Tool {
    typed: &'static Typed,
    schema: Value,
    validator: Validator,
}

struct Fixture {
    registry: Registry,
    tools: Vec<Tool>,
    short: CallOptions,
    /// A call that can be cancelled takes the general path.
    long: CallOptions,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let entries = mcp_registry::entry::entries().filter(|entry| entry.name.starts_with("typed."));
    let registry = Registry::builder_of(entries).build().expect("the tools are sound");
    let tools = typed::all().map(|typed| {
        let schema = (**registry.get(typed.name).expect("the tool is registered").input_schema()).clone();
        let mut checked = schema.clone();
        if !["typed.patterns", "typed.explicit"].contains(&typed.name) {
            without_formats(&mut checked);
        }
        let validator = jsonschema::options().should_validate_formats(true).build(&checked).expect("the schema is one");
        Tool { typed, schema, validator }
    });
    let tools = tools.collect();
    Fixture { registry, tools, short: CallOptions::new(), long: CallOptions::new().cancel(CancelToken::new()) }
});

/// Removes the formats of types, because the types decide what they accept.
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

/// For how many nulls every combination is tried.
const NULLS: u32 = 6;

/// The value without some of its members that are null, and optionally without items that are null. `is_left_out` is
/// called for each member that is null, in order.
fn without_nulls(value: &Value, items_too: bool, is_left_out: &mut dyn FnMut() -> bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (key, value) in members {
                if !value.is_null() || !is_left_out() {
                    kept.insert(key.clone(), without_nulls(value, items_too, is_left_out));
                }
            }
            kept.into()
        }
        Value::Array(items) => {
            let kept = items.iter().filter(|item| !items_too || !item.is_null());
            kept.map(|item| without_nulls(item, items_too, is_left_out)).collect()
        }
        other => other.clone(),
    }
}

/// Whether a schema accepts the value, or the value without some of its nulls.
pub(crate) fn is_accepted(validator: &Validator, value: &Value) -> bool {
    if validator.is_valid(value) {
        return true;
    }
    let mut nulls = 0;
    without_nulls(value, false, &mut || {
        nulls += 1;
        false
    });
    // One bit for each null: those beyond the last one share it.
    let ways = 1_u32 << u32::min(nulls, NULLS);
    (0..ways).rev().any(|way| {
        [false, true].into_iter().any(|items_too| {
            let mut bit = 0;
            let mut is_left_out = || {
                bit = u32::min(bit + 1, NULLS);
                way & (1 << (bit - 1)) != 0
            };
            validator.is_valid(&without_nulls(value, items_too, &mut is_left_out))
        })
    })
}

/// The outcome of a call: what the tool ran with, or why it did not run.
fn call(text: &str, tool: &Tool, options: &CallOptions) -> Result<Value, Error> {
    let fixture = &*FIXTURE;
    typed::ran();
    let mut out = Vec::new();
    let called = fixture.registry.call_bytes_blocking(tool.typed.name, text.as_bytes(), options, &mut out);
    outcome(called, tool, text)
}

fn outcome(called: Result<(), Error>, tool: &Tool, text: &str) -> Result<Value, Error> {
    let name = tool.typed.name;
    match (called, typed::ran()) {
        (Ok(()), Some(value)) => Ok(value),
        (Ok(()), None) => panic!("{name} is answered and did not run: {text}"),
        (Err(error), None) => {
            if let Error::Schema(error) = &error {
                assert!(!error.faults.is_empty() && error.faults.len() <= 20, "{name}: {text}");
                for fault in &error.faults {
                    let is_bounded = fault.message.len() <= 600 && fault.path.len() <= 600;
                    assert!(is_bounded && !fault.message.contains(char::is_control), "{name}, {fault:?}: {text}");
                }
            }
            Err(error)
        }
        (Err(error), Some(_)) => panic!("{name} ran, and the answer is {error}: {text}"),
    }
}

fn check(tool: &Tool, text: &str) {
    let fixture = &*FIXTURE;
    let name = tool.typed.name;
    let short = call(text, tool, &fixture.short);
    let long = call(text, tool, &fixture.long);
    assert_eq!(short.as_ref().ok(), long.as_ref().ok(), "{name} has a short way and a long way: {text}");
    let value: Option<Value> = serde_json::from_str(text).ok();
    if let Ok(ran) = &short {
        assert!(loose::is_json(text), "{name} runs with what is not JSON: {text}");
        if let Some(loose) = loose::value(text) {
            assert!(is_accepted(&tool.validator, &loose), "{name} runs with {ran}, and its schema refuses {text}");
        }
    }
    let Some(value) = value.filter(Value::is_object) else { return };
    if let Some(read) = (tool.typed.read)(text) {
        match &short {
            Ok(ran) => assert_eq!(*ran, read, "{name}, and serde: {text}"),
            Err(error) => {
                // A tool with a validator refuses duplicate keys.
                let is_refused = !tool.validator.is_valid(&value) || loose::has_key_twice(text);
                assert!(is_refused, "{name}, {error}, and serde and the schema accept {text}");
            }
        }
    }
    // A `Value` has no duplicate keys, and no numbers that are too small for a float.
    if value.to_string() == text {
        typed::ran();
        let called = mcp_registry::testing::block_on(fixture.registry.try_call(&ToolCall::new(name, value)));
        let by_value = outcome(called.map(drop), tool, text);
        assert_eq!(by_value.as_ref().ok(), short.as_ref().ok(), "{name}, as a value: {text}");
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let [tool, mode, rest @ ..] = data else { return };
    let fixture = &*FIXTURE;
    let tool = &fixture.tools[usize::from(*tool) % fixture.tools.len()];
    if mode % 2 == 1 {
        if let Ok(text) = std::str::from_utf8(rest) {
            check(tool, text);
        }
    } else {
        check(tool, &generate::object(&tool.schema, &mut Dice::new(rest)));
    }
}
