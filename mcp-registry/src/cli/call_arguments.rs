//! The arguments of a call, as typed on the command line.

use mcp_core::message::JsonObject;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::catalog::tool::RegisteredTool;

/// The arguments of a call, as typed: one JSON object, or pairs.
///
/// ```text
/// {"a": 1}     all arguments
/// key=value    text, or JSON if the schema asks for another type
/// key:=json    always JSON
/// ```
///
/// JSON stays the text that was typed, with every digit of its numbers.
#[derive(Debug, PartialEq)]
pub(super) enum CallArguments {
    Object(String),
    Pairs(Vec<(String, ArgumentValue)>),
}

/// The value of an argument.
#[derive(Debug, PartialEq)]
pub(super) enum ArgumentValue {
    Text(String),
    Json(String),
}

impl CallArguments {
    /// Parses the words of the command line. The tool need not be known yet.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        if let [object] = words {
            if object.trim_start().starts_with('{') {
                return match serde_json::from_str::<JsonObject>(object) {
                    Ok(_) => Ok(Self::Object(object.clone())),
                    Err(error) => Err(format!("the arguments are not a JSON object: {error}")),
                };
            }
        }
        let mut pairs: Vec<(String, ArgumentValue)> = Vec::with_capacity(words.len());
        for word in words {
            let (key, value) = parse_pair(word)?;
            if pairs.iter().any(|(earlier, _)| *earlier == key) {
                return Err(format!("`{key}` is given twice; write a list as JSON: `{key}:='[…]'`"));
            }
            pairs.push((key, value));
        }
        Ok(Self::Pairs(pairs))
    }

    /// The arguments as the tool receives them: a JSON object.
    pub(super) fn into_json(self, tool: &RegisteredTool) -> Result<String, String> {
        let pairs = match self {
            Self::Object(object) => return Ok(object),
            Self::Pairs(pairs) => pairs,
        };
        let member = |(key, value): (String, ArgumentValue)| {
            let json = match value {
                ArgumentValue::Json(json) => json,
                ArgumentValue::Text(text) => by_schema(property(tool, &key), &key, text)?,
            };
            Ok(format!("{}:{json}", Value::from(key)))
        };
        let members = pairs.into_iter().map(member).collect::<Result<Vec<_>, String>>()?;
        Ok(format!("{{{}}}", members.join(",")))
    }
}

/// `key=value` or `key:=json`.
fn parse_pair(word: &str) -> Result<(String, ArgumentValue), String> {
    let Some((key, text)) = word.split_once('=').filter(|(key, _)| !matches!(*key, "" | ":")) else {
        return Err(format!("`{word}` is not an argument; write `key=value`, `key:=json`, or one JSON object"));
    };
    match key.strip_suffix(':') {
        None => Ok((key.to_owned(), ArgumentValue::Text(text.to_owned()))),
        Some(key) => Ok((key.to_owned(), ArgumentValue::Json(parse_json(key, text)?))),
    }
}

fn parse_json(key: &str, text: &str) -> Result<String, String> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{key}` is not JSON: {error}; put strings in quotes")),
    }
}

/// The schema of an argument, by its name or an alias.
fn property<'a>(tool: &'a RegisteredTool, key: &str) -> Option<&'a Value> {
    let param = tool.params().iter().find(|param| param.aliases.contains(&key));
    let name = param.map_or(key, |param| param.name);
    tool.input_schema().get("properties")?.get(name)
}

/// The text as JSON: a string if the schema accepts one, and else the JSON that it is. Text that is not JSON is an error if
/// the schema accepts an array or an object; otherwise, it becomes a string, which the tool rejects together with all other
/// faults.
fn by_schema(schema: Option<&Value>, key: &str, text: String) -> Result<String, String> {
    let types = schema.map(types_of).unwrap_or_default();
    let string = |text: String| Value::from(text).to_string();
    if types.is_empty() || types.contains(&"string") {
        return Ok(string(text));
    }
    match parse_json(key, &text) {
        Err(error) if types.iter().any(|name| matches!(*name, "array" | "object")) => Err(error),
        Err(_) => Ok(string(text)),
        parsed => parsed,
    }
}

/// The types that a schema accepts; empty if it accepts any type.
fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => {
            let alternatives = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
            let types: Vec<Vec<&str>> = alternatives.into_iter().flatten().map(types_of).collect();
            // If one alternative accepts any type, so does the schema.
            if types.iter().any(Vec::is_empty) { Vec::new() } else { types.concat() }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CallArguments, by_schema};
    use crate::catalog::dynamic::Tool;
    use crate::registry::Registry;
    use crate::{mcp_tool, tools};

    fn parse(words: &[&str]) -> Result<CallArguments, String> {
        CallArguments::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    /// The arguments for a tool of this schema.
    fn arguments(schema: &Value, line: &[&str]) -> Result<Value, String> {
        let schema = json!({ "type": "object", "properties": schema });
        let tool = Tool::new("a.b", schema, |_, _| async {});
        let registry = Registry::builder_of([]).tool(tool).build().unwrap();
        let json = parse(line)?.into_json(&registry.get("a.b").unwrap())?;
        Ok(serde_json::from_str(&json).unwrap())
    }

    #[test]
    fn values_are_parsed_by_the_schema() {
        let schema = json!({
            "text": { "type": "string" }, "count": { "type": "integer" }, "part": { "type": "number" },
            "flag": { "type": "boolean" }, "list": { "type": "array" }, "map": { "type": "object" }, "any": {},
            "either": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
            "mixed": { "type": ["integer", "string"] },
        });
        let line = [
            "text=5",
            "count=-7",
            "part=1.5",
            "flag=true",
            "list=[1,2]",
            r#"map={"a=b":1}"#,
            "any=5",
            "either=true",
            "mixed=5",
            "other=x=y",
            "raw:=[null]",
        ];
        assert_eq!(
            arguments(&schema, &line).unwrap(),
            json!({
                "text": "5", "count": -7, "part": 1.5, "flag": true, "list": [1, 2], "map": { "a=b": 1 }, "any": "5",
                "either": true, "mixed": "5", "other": "x=y", "raw": [null],
            })
        );
    }

    #[test]
    fn text_that_is_not_a_number_is_passed_to_the_tool() {
        let schema = json!({ "count": { "type": "integer" }, "flag": { "type": "boolean" } });
        assert_eq!(arguments(&schema, &["count=many", "flag=1"]).unwrap(), json!({ "count": "many", "flag": 1 }));
    }

    #[test]
    fn all_arguments_can_be_one_json_object() {
        assert_eq!(arguments(&json!({}), &[r#" {"a": "b=c"}"#]).unwrap(), json!({ "a": "b=c" }));
        assert_eq!(arguments(&json!({}), &[]).unwrap(), json!({}));
    }

    #[test]
    fn errors_say_what_to_write() {
        let list = json!({ "list": { "type": "array" } });
        for (line, message) in [
            (&["word"][..], "`word` is not an argument; write `key=value`"),
            (&["=1"], "`=1` is not an argument"),
            (&[":=1"], "`:=1` is not an argument"),
            (&["[1]"], "`[1]` is not an argument"),
            (&["{}", "a=1"], "`{}` is not an argument"),
            (&["{a}"], "the arguments are not a JSON object: key must be a string"),
            (&["a=1", "a:=2"], "`a` is given twice"),
            (&["a:=b"], "`a` is not JSON: expected value at line 1 column 1; put strings in quotes"),
            (&["list=[1"], "`list` is not JSON: EOF while parsing a list"),
        ] {
            let error = arguments(&list, line).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[mcp_tool(module = "words", crate = crate)]
    fn aliased(#[arg(alias = "old")] new: u32) -> u32 {
        new
    }

    #[test]
    fn an_alias_has_the_schema_of_its_argument() {
        let registry = Registry::builder_of(tools![aliased]).build().unwrap();
        let arguments = parse(&["old=5"]).unwrap().into_json(&registry.get("words.aliased").unwrap());
        assert_eq!(arguments.unwrap(), r#"{"old":5}"#);
    }

    #[test]
    fn an_alternative_that_accepts_anything_accepts_the_text() {
        let schema = json!({ "anyOf": [{ "type": "integer" }, {}] });
        assert_eq!(by_schema(Some(&schema), "a", "5".to_owned()).unwrap(), r#""5""#);
    }
}
