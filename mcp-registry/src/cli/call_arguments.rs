//! The arguments of a call, as typed on the command line.

use mcp_core::message::JsonObject;
use serde_json::Value;

use crate::catalog::tool::RegisteredTool;

/// The arguments of a call, as typed: one JSON object, or pairs.
///
/// ```text
/// {"a": 1}     all arguments
/// key=value    text, or JSON if the schema asks for another type
/// key:=json    always JSON
/// ```
#[derive(Debug, PartialEq)]
pub(super) struct CallArguments(Vec<(String, ArgumentValue)>);

/// The value of an argument.
#[derive(Debug, PartialEq)]
pub(super) enum ArgumentValue {
    Text(String),
    Json(Value),
}

impl CallArguments {
    /// Parses the words of the command line. The tool need not be known yet.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        if let [object] = words {
            if object.trim_start().starts_with('{') {
                let object: JsonObject = serde_json::from_str(object)
                    .map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
                return Ok(Self(object.into_iter().map(|(key, value)| (key, ArgumentValue::Json(value))).collect()));
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
        Ok(Self(pairs))
    }

    /// The arguments as the tool receives them.
    pub(super) fn into_value(self, tool: &RegisteredTool) -> Result<Value, String> {
        let mut arguments = JsonObject::new();
        for (key, value) in self.0 {
            let value = match value {
                ArgumentValue::Json(value) => value,
                ArgumentValue::Text(text) => parse_by_schema(property(tool, &key), &key, text)?,
            };
            arguments.insert(key, value);
        }
        Ok(arguments.into())
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

fn parse_json(key: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{key}` is not JSON: {error}; put strings in quotes"))
}

/// The schema of an argument, by its name or an alias.
fn property<'a>(tool: &'a RegisteredTool, key: &str) -> Option<&'a Value> {
    let param = tool.params().iter().find(|param| param.aliases.contains(&key));
    let name = param.map_or(key, |param| param.name);
    tool.input_schema().get("properties")?.get(name)
}

/// Parses the text as JSON, unless the schema accepts a string. Text that is not JSON is an error if the schema accepts
/// an array or an object; otherwise, it stays a string, which the tool rejects together with all other faults.
fn parse_by_schema(schema: Option<&Value>, key: &str, text: String) -> Result<Value, String> {
    let types = schema.map(types_of).unwrap_or_default();
    if types.is_empty() || types.contains(&"string") {
        return Ok(text.into());
    }
    match parse_json(key, &text) {
        Err(error) if types.iter().any(|name| matches!(*name, "array" | "object")) => Err(error),
        Err(_) => Ok(text.into()),
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

    use super::{CallArguments, parse_by_schema};
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
        parse(line)?.into_value(&registry.get("a.b").unwrap())
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
        let arguments = parse(&["old=5"]).unwrap().into_value(&registry.get("words.aliased").unwrap());
        assert_eq!(arguments.unwrap(), json!({ "old": 5 }));
    }

    #[test]
    fn an_alternative_that_accepts_anything_accepts_the_text() {
        let schema = json!({ "anyOf": [{ "type": "integer" }, {}] });
        assert_eq!(parse_by_schema(Some(&schema), "a", "5".to_owned()).unwrap(), json!("5"));
    }
}
