//! The arguments of a call, as they are typed.

use mcp_core::JsonObject;
use serde_json::Value;

use crate::catalog::tool::RegisteredTool;

/// The arguments of a call, as they are typed: one JSON object, or words.
///
/// ```text
/// {"a": 1}     all of them
/// key=value    read as the schema asks
/// key:=json    JSON, whatever the schema asks
/// ```
#[derive(Debug, PartialEq)]
pub(super) enum Words {
    Object(JsonObject),
    Pairs(Vec<(String, Given)>),
}

/// The value of a word.
#[derive(Debug, PartialEq)]
pub(super) enum Given {
    Text(String),
    Json(Value),
}

impl Words {
    /// Takes the words apart; the tool need not be known yet.
    pub(super) fn read(words: &[String]) -> Result<Self, String> {
        if let [object] = words {
            if object.trim_start().starts_with('{') {
                let object = serde_json::from_str(object);
                return object.map(Self::Object).map_err(|error| format!("the arguments are no JSON object: {error}"));
            }
        }
        let mut pairs: Vec<(String, Given)> = Vec::with_capacity(words.len());
        for word in words {
            let (key, given) = pair(word)?;
            if pairs.iter().any(|(known, _)| *known == key) {
                return Err(format!("`{key}` is given twice; write a list as JSON: `{key}:='[…]'`"));
            }
            pairs.push((key, given));
        }
        Ok(Self::Pairs(pairs))
    }

    /// The arguments that the tool gets.
    pub(super) fn arguments(self, tool: &RegisteredTool) -> Result<Value, String> {
        let pairs = match self {
            Self::Object(object) => return Ok(object.into()),
            Self::Pairs(pairs) => pairs,
        };
        let mut arguments = JsonObject::new();
        for (key, given) in pairs {
            let value = match given {
                Given::Json(value) => value,
                Given::Text(text) => read_by(property(tool, &key), &key, text)?,
            };
            arguments.insert(key, value);
        }
        Ok(arguments.into())
    }
}

/// `key=value` or `key:=json`.
fn pair(word: &str) -> Result<(String, Given), String> {
    let Some((key, text)) = word.split_once('=').filter(|(key, _)| !matches!(*key, "" | ":")) else {
        return Err(format!("`{word}` is no argument; write `key=value`, `key:=json`, or one JSON object"));
    };
    match key.strip_suffix(':') {
        None => Ok((key.to_owned(), Given::Text(text.to_owned()))),
        Some(key) => Ok((key.to_owned(), Given::Json(json(key, text)?))),
    }
}

fn json(key: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{key}` is no JSON: {error}; put strings in quotes"))
}

/// The schema of an argument, also by an older name.
fn property<'a>(tool: &'a RegisteredTool, key: &str) -> Option<&'a Value> {
    let param = tool.params().iter().find(|param| param.aliases.contains(&key));
    let name = param.map_or(key, |param| param.name);
    tool.input_schema().get("properties")?.get(name)
}

/// The text as the schema asks: JSON where it does not take a string. What is no JSON stays a string where a short one
/// is wanted, and the tool says what is wrong with it, together with all else.
fn read_by(schema: Option<&Value>, key: &str, text: String) -> Result<Value, String> {
    let kinds = schema.map(kinds).unwrap_or_default();
    if kinds.is_empty() || kinds.contains(&"string") {
        return Ok(text.into());
    }
    match json(key, &text) {
        Err(error) if kinds.iter().any(|kind| matches!(*kind, "array" | "object")) => Err(error),
        Err(_) => Ok(text.into()),
        read => read,
    }
}

/// The types that a schema takes; none if it does not say.
fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => {
            let any = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
            let all: Vec<Vec<&str>> = any.into_iter().flatten().map(kinds).collect();
            // One that takes anything takes strings.
            if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Words, read_by};
    use crate::registry::Registry;
    use crate::{Tool, mcp_tool, tools};

    fn words(words: &[&str]) -> Result<Words, String> {
        Words::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    /// The arguments for a tool of this schema.
    fn arguments(schema: &Value, line: &[&str]) -> Result<Value, String> {
        let schema = json!({ "type": "object", "properties": schema });
        let tool = Tool::new("a.b", schema, |_, _| async {});
        let registry = Registry::builder_of([]).tool(tool).build().unwrap();
        words(line)?.arguments(&registry.get("a.b").unwrap())
    }

    #[test]
    fn values_are_read_by_the_schema() {
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
    fn what_is_no_number_is_left_to_the_tool() {
        let schema = json!({ "count": { "type": "integer" }, "flag": { "type": "boolean" } });
        assert_eq!(arguments(&schema, &["count=many", "flag=1"]).unwrap(), json!({ "count": "many", "flag": 1 }));
    }

    #[test]
    fn one_json_object_is_all_of_them() {
        assert_eq!(arguments(&json!({}), &[r#" {"a": "b=c"}"#]).unwrap(), json!({ "a": "b=c" }));
        assert_eq!(arguments(&json!({}), &[]).unwrap(), json!({}));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let list = json!({ "list": { "type": "array" } });
        for (line, said) in [
            (&["word"][..], "`word` is no argument; write `key=value`"),
            (&["=1"], "`=1` is no argument"),
            (&[":=1"], "`:=1` is no argument"),
            (&["[1]"], "`[1]` is no argument"),
            (&["{}", "a=1"], "`{}` is no argument"),
            (&["{a}"], "the arguments are no JSON object: key must be a string"),
            (&["a=1", "a:=2"], "`a` is given twice"),
            (&["a:=b"], "`a` is no JSON: expected value at line 1 column 1; put strings in quotes"),
            (&["list=[1"], "`list` is no JSON: EOF while parsing a list"),
        ] {
            let error = arguments(&list, line).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[mcp_tool(module = "words", crate = crate)]
    fn aliased(#[arg(alias = "old")] new: u32) -> u32 {
        new
    }

    #[test]
    fn an_older_name_has_the_schema_of_the_newer() {
        let registry = Registry::builder_of(tools![aliased]).build().unwrap();
        let arguments = words(&["old=5"]).unwrap().arguments(&registry.get("words.aliased").unwrap());
        assert_eq!(arguments.unwrap(), json!({ "old": 5 }));
    }

    #[test]
    fn a_choice_that_takes_anything_takes_the_text() {
        let schema = json!({ "anyOf": [{ "type": "integer" }, {}] });
        assert_eq!(read_by(Some(&schema), "a", "5".to_owned()).unwrap(), json!("5"));
    }
}
