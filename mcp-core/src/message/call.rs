//! A call of a tool.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    Entries, JsonObject, Plain, Strictness, check_extra, check_unique, expect, kind_of, rest, serialize_with_extra,
    take, utf8,
};
use crate::error::{MAX_DEPTH, Rule, ValidationError, Violations};
use crate::name;
use crate::util::text::Text;

/// The fields in both spellings.
const FIELDS: [&str; 4] = ["tool_name", "arguments", "name", "args"];
const DEPTH: usize = MAX_DEPTH;
const MESSAGE: &str = "a tool call";

/// A call of a tool: `{"tool_name": …, "arguments": {…}}`.
///
/// Creating one never fails: [`validate`](Self::validate) and the registry report an invalid name, and arguments that are not
/// an object.
///
/// ```
/// use mcp_core::ToolCall;
/// use serde_json::json;
///
/// let call = ToolCall::new("file_utility.read_file_content", json!({ "file_path": "src/main.rs" }));
/// assert_eq!(ToolCall::parse(call.to_json())?, call);
///
/// let error = ToolCall::parse(r#"{"tool_name": "no spaces", "arguments": []}"#).unwrap_err();
/// assert_eq!(error.violations().len(), 2);
/// # Ok::<(), mcp_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's canonical name, its name on the wire, or an alias.
    pub tool_name: String,
    /// The arguments by name: an object.
    pub arguments: Value,
    /// Unknown fields, which are kept.
    pub extra: JsonObject,
}

impl ToolCall {
    /// Creates a call of the tool with these arguments.
    pub fn new(tool_name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self { tool_name: tool_name.into(), arguments: arguments.into(), extra: JsonObject::new() }
    }

    /// Reads the fields in either spelling; `arguments` is null if it is missing.
    fn read_fields(mut entries: Entries, strictness: Strictness, violations: &mut Violations) -> Self {
        let tool_name = take_either(&mut entries, "tool_name", "name", strictness, violations);
        let tool_name = expect::required_string(tool_name, "tool_name", violations).unwrap_or_default();
        let arguments = take_either(&mut entries, "arguments", "args", strictness, violations);
        let arguments = arguments.unwrap_or_else(|| {
            violations.add("arguments", Rule::Missing { expected: "an object, `{}` if there are none" });
            Value::Null
        });
        Self { tool_name, arguments, extra: rest(entries) }
    }

    fn check(&self, strictness: Strictness, violations: &mut Violations) {
        let name = match strictness {
            Strictness::Lenient => name::check(&self.tool_name),
            Strictness::Strict => name::check_strict(&self.tool_name),
        };
        if let Err(error) = name {
            violations.add("tool_name", error);
        }
        if !self.arguments.is_object() {
            violations.add("arguments", Rule::Type { expected: "an object", got: kind_of(&self.arguments) });
        }
        check_extra("", MESSAGE, &FIELDS, self.extra.keys(), strictness, violations);
    }
}

message_api!(ToolCall, "a tool call");
message_rules!(ToolCall);

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tool_name", &self.tool_name)?;
        map.serialize_entry("arguments", &self.arguments)?;
        serialize_with_extra(map, &FIELDS, &self.extra)
    }
}

/// Takes a field that has two spellings. Both may be present only if their values are equal.
fn take_either(
    entries: &mut Entries,
    canonical: &'static str,
    alias: &'static str,
    strictness: Strictness,
    violations: &mut Violations,
) -> Option<Value> {
    let (value, aliased) = (take(entries, canonical), take(entries, alias));
    if aliased.is_some() && strictness == Strictness::Strict {
        violations.add(alias, Rule::Alias { canonical });
    }
    match (value, aliased) {
        (Some(value), Some(aliased)) if value != aliased => {
            violations.add(alias, Rule::Ambiguous { other: canonical });
            Some(value)
        }
        (value, aliased) => value.or(aliased),
    }
}

/// A flat call whose arguments stay the JSON text that they came as, with every digit of their numbers.
#[derive(Debug)]
pub struct FlatCall<'a> {
    /// The name of the tool.
    pub tool_name: Cow<'a, str>,
    /// The arguments: an object.
    pub arguments: Cow<'a, str>,
}

impl<'a> FlatCall<'a> {
    /// Parses a call. Accepts what [`ToolCall::parse_with`] accepts, with the same errors.
    pub fn parse(message: &'a [u8], strictness: Strictness) -> Result<Self, ValidationError> {
        let mut fields = FlatFields::default();
        let mut json = serde_json::Deserializer::from_str(utf8(message)?);
        let read = json.deserialize_map(FlatVisitor { fields: &mut fields, strictness }).and_then(|()| json.end());
        let FlatFields { tool_name, arguments, name, args } = fields;
        let is_repeated = (tool_name.is_some() && name.is_some()) || (arguments.is_some() && args.is_some());
        let arguments = arguments.or(args).map(RawValue::get);
        match (tool_name.or(name), arguments) {
            (Some(Text(tool_name)), Some(arguments))
                if read.is_ok() && !is_repeated && is_valid(&tool_name, arguments, strictness) =>
            {
                Ok(Self { tool_name, arguments: arguments.into() })
            }
            // It is invalid, or has a field in both spellings.
            _ => {
                let call = ToolCall::parse_with(message, strictness)?;
                let arguments = arguments.map_or_else(|| call.arguments.to_string().into(), Cow::Borrowed);
                Ok(Self { tool_name: call.tool_name.into(), arguments })
            }
        }
    }
}

fn is_valid(tool_name: &str, arguments: &str, strictness: Strictness) -> bool {
    let name = match strictness {
        Strictness::Lenient => name::check(tool_name),
        Strictness::Strict => name::check_strict(tool_name),
    };
    name.is_ok() && arguments.starts_with('{') && Plain::FIELD.accepts(arguments)
}

/// The fields of a flat call, in both spellings.
#[derive(Default)]
struct FlatFields<'a> {
    tool_name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
}

/// Reads the fields of a flat call. Fails if a field is invalid.
struct FlatVisitor<'f, 'a> {
    fields: &'f mut FlatFields<'a>,
    strictness: Strictness,
}

impl<'de> Visitor<'de> for FlatVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MESSAGE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { fields, strictness } = self;
        let mut extra = Vec::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let is_wrong = match &*key {
                "tool_name" => fields.tool_name.replace(map.next_value()?).is_some(),
                "arguments" => fields.arguments.replace(map.next_value()?).is_some(),
                _ if strictness == Strictness::Strict => true,
                "name" => fields.name.replace(map.next_value()?).is_some(),
                "args" => fields.args.replace(map.next_value()?).is_some(),
                _ => {
                    map.next_value_seed(Plain::FIELD)?;
                    extra.push(key);
                    false
                }
            };
            if is_wrong {
                return Err(A::Error::custom("a field is there twice, or is not accepted in strict mode"));
            }
        }
        check_unique(&extra)
    }
}
