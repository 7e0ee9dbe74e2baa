//! The flat messages: they survive a round trip, and are read as the published schemas say.

use std::fmt::Debug;
use std::sync::LazyLock;

use jsonschema::Validator;
use mcp_registry::error::{Rule, ValidationError};
use mcp_registry::mcp::CallToolResult;
use mcp_registry::message::Strictness;
use mcp_registry::message::schema;
use mcp_registry::{ErrorDetail, ToolCall, ToolResult};
use serde_json::Value;

use crate::shown;

/// The validators of one kind of message, by strictness.
struct Schemas {
    lenient: Validator,
    strict: Validator,
}

impl Schemas {
    fn new(schema: fn(Strictness) -> Value) -> Self {
        let compile = |strictness| jsonschema::validator_for(&schema(strictness)).expect("the schema is one");
        Self { lenient: compile(Strictness::Lenient), strict: compile(Strictness::Strict) }
    }

    fn of(&self, strictness: Strictness) -> &Validator {
        match strictness {
            Strictness::Lenient => &self.lenient,
            Strictness::Strict => &self.strict,
        }
    }
}

static CALL: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(schema::tool_call));
static RESULT: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(schema::tool_result));
static DETAIL: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(schema::error_detail));

/// What the three messages have in common.
trait Message: Sized + PartialEq + Debug {
    fn read(json: &[u8], strictness: Strictness) -> Result<Self, ValidationError>;
    fn read_value(value: Value, strictness: Strictness) -> Result<Self, ValidationError>;
    fn check(&self, strictness: Strictness) -> Result<(), ValidationError>;
    fn write(&self) -> String;
}

macro_rules! messages {
    ($($message:ident)*) => {$(
        impl Message for $message {
            fn read(json: &[u8], strictness: Strictness) -> Result<Self, ValidationError> {
                Self::parse_with(json, strictness)
            }

            fn read_value(value: Value, strictness: Strictness) -> Result<Self, ValidationError> {
                Self::from_value_with(value, strictness)
            }

            fn check(&self, strictness: Strictness) -> Result<(), ValidationError> {
                self.validate_with(strictness)
            }

            fn write(&self) -> String {
                self.to_json()
            }
        }
    )*};
}

messages!(ToolCall ToolResult ErrorDetail);

/// Whether a message is refused for a rule that its schema cannot express.
fn is_beyond_schema(error: &ValidationError, value: &Value) -> bool {
    let is_spelt_twice = |one: &str, other: &str| value.get(one).is_some() && value.get(other).is_some();
    error.violations().iter().any(|violation| matches!(violation.rule, Rule::Depth | Rule::Duplicate))
        || is_spelt_twice("tool_name", "name")
        || is_spelt_twice("arguments", "args")
}

fn check<T: Message>(data: &[u8], value: Option<&Value>, schemas: &Schemas) {
    for strictness in [Strictness::Lenient, Strictness::Strict] {
        let read = T::read(data, strictness);
        match &read {
            Ok(message) => {
                message.check(strictness).expect("what was read is valid");
                let again = T::read(message.write().as_bytes(), strictness).expect("what was written can be read");
                assert_eq!(&again, message, "{}", shown(data));
                let value = value.expect("a message is representable");
                let by_value = T::read_value(value.clone(), strictness).expect("the same as a value");
                assert_eq!(&by_value, message, "{}", shown(data));
                assert!(
                    schemas.of(strictness).is_valid(value),
                    "{strictness:?} is read, but its schema refuses it: {}",
                    shown(data)
                );
                if strictness == Strictness::Strict {
                    T::read(data, Strictness::Lenient).expect("strict messages are lenient ones");
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.len() < 4096 && !text.contains(char::is_control), "{text:?}");
                let Some(value) = value else { continue };
                let is_accepted = schemas.of(strictness).is_valid(value);
                assert!(
                    !is_accepted || is_beyond_schema(error, value),
                    "{strictness:?}, {text}, but its schema accepts it: {}",
                    shown(data)
                );
            }
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let value: Option<Value> = serde_json::from_slice(data).ok();
    check::<ToolCall>(data, value.as_ref(), &CALL);
    check::<ToolResult>(data, value.as_ref(), &RESULT);
    check::<ErrorDetail>(data, value.as_ref(), &DETAIL);
    if let Ok(result) = CallToolResult::parse(data) {
        let again = CallToolResult::parse(result.to_json()).expect("what was written can be read");
        assert_eq!(again, result, "{}", shown(data));
    }
    if let Ok(result) = ToolResult::parse(data) {
        // MCP's form of a result holds all of it. Content that is what a result without any shows comes back as none.
        let mcp = CallToolResult::from(result.clone());
        let back = ToolResult::from(CallToolResult::parse(mcp.to_json()).expect("what was written can be read"));
        let is_default = back.content.is_none() && CallToolResult::from(back.clone()) == mcp;
        let mut expected = result;
        expected.content = expected.content.filter(|_| !is_default);
        assert_eq!(back, expected, "{}", shown(data));
    }
}
