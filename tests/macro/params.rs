//! Every key of a parameter has its effect.

use std::path::{Path, PathBuf};

use mcp_core::schemars::{self, JsonSchema};
use mcp_core::serde_json::{Value, json};
use mcp_core::{mcp_tool, serde_json};
use serde::{Deserialize, Serialize};

use super::{call, entry, faults, input};

/// A colour.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    /// Like blood.
    #[default]
    Red,
    /// Like grass.
    Green,
}

const LIMIT: u32 = 40 + 2;

/// Has defaults.
#[mcp_tool(module = "params")]
fn defaults(
    #[arg(default)] count: u32,
    #[arg(default = LIMIT)] limit: u32,
    #[arg(default = -5)] negative: i8,
    #[arg(default = "utf-8")] encoding: String,
    #[arg(default = "a/b")] path: PathBuf,
    #[arg(default = "it's")] text: &str,
    #[arg(default = vec![1, 2])] list: &[u8],
    #[arg(default = Colour::Green)] colour: Colour,
    #[arg(default = Some(3))] maybe: Option<u8>,
) -> Value {
    json!([count, limit, negative, encoding, path, text, list, colour, maybe])
}

#[test]
fn a_default_replaces_an_absent_or_null_argument() {
    let all = json!([0, 42, -5, "utf-8", "a/b", "it's", [1, 2], "green", 3]);
    assert_eq!(call("params.defaults", "{}"), all);
    let names: Vec<&str> = entry("params.defaults").params.iter().map(|param| param.name).collect();
    let nulls: Value = names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
    assert_eq!(call("params.defaults", &nulls.to_string()), all);
    let schema = input("params.defaults");
    assert_eq!(schema.get("required"), None);
    let shown: Vec<Value> = names.iter().map(|name| schema["properties"][name]["default"].clone()).collect();
    assert_eq!(Value::from(shown), all);
    assert_eq!(call("params.defaults", r#"{"count": 7, "colour": "red"}"#)[7], json!("red"));
}

/// Optional.
#[mcp_tool(module = "params")]
fn optional(a: Option<u8>, b: Option<Vec<u8>>) -> (Option<u8>, Option<Vec<u8>>) {
    (a, b)
}

#[test]
fn an_option_can_be_absent_or_null() {
    assert_eq!(call("params.optional", "{}"), json!([null, null]));
    assert_eq!(call("params.optional", r#"{"a": null, "b": null}"#), json!([null, null]));
    assert_eq!(call("params.optional", r#"{"b": [1]}"#), json!([null, [1]]));
    assert_eq!(input("params.optional").get("required"), None);
}

type Maybe<T> = Option<T>;

/// Borrows what can be left out.
#[mcp_tool(module = "params")]
fn borrowed_options(
    /// Only what has it.
    #[arg(min_length = 1, max_length = 4, pattern = "^[a-z]+$", example = "milk")]
    text: Option<&str>,
    #[arg(one_of("up", "down"))] order: Maybe<&str>,
    path: Option<&Path>,
    #[arg(min_items = 1)] list: Option<&[u8]>,
    #[arg(min = 1)] number: Option<&u16>,
    #[arg(default = "a")] short: Option<&str>,
    #[arg(default = Some("b"))] long: Option<&str>,
    #[arg(default)] bare: Option<&[u8]>,
) -> Value {
    json!([text, order, path, list, number, short, long, bare])
}

/// Owns what can be left out.
#[mcp_tool(module = "params")]
fn owned_options(
    /// Only what has it.
    #[arg(min_length = 1, max_length = 4, pattern = "^[a-z]+$", example = "milk")]
    text: Option<String>,
    #[arg(one_of("up", "down"))] order: Maybe<String>,
    path: Option<PathBuf>,
    #[arg(min_items = 1)] list: Option<Vec<u8>>,
    #[arg(min = 1)] number: Option<u16>,
    #[arg(default = Some("a".to_owned()))] short: Option<String>,
    #[arg(default = Some("b".to_owned()))] long: Option<String>,
    #[arg(default)] bare: Option<Vec<u8>>,
) -> Value {
    json!([text, order, path, list, number, short, long, bare])
}

/// Borrows, and waits.
#[mcp_tool(module = "params")]
async fn borrowed_option_later<'a>(
    text: Option<&'a str>,
    #[arg(default = "b")] other: Option<&str>,
) -> Option<&'a str> {
    std::future::ready(()).await;
    text.filter(|text| Some(*text) != other)
}

#[test]
fn a_borrowed_option_behaves_like_an_owned_one() {
    assert_eq!(input("params.borrowed_options"), input("params.owned_options"));
    assert_eq!(input("params.borrowed_options").get("required"), None);
    let arguments = [
        "{}",
        r#"{"text": null, "order": null, "path": null, "list": null, "number": null, "short": null}"#,
        r#"{"text": "m\u0069lk", "order": "up", "path": "a/b", "list": [1], "number": 2, "short": "x", "bare": [3]}"#,
    ];
    for arguments in arguments {
        assert_eq!(call("params.borrowed_options", arguments), call("params.owned_options", arguments));
    }
    assert_eq!(call("params.borrowed_options", "{}"), json!([null, null, null, null, null, "a", "b", null]));
    assert_eq!(call("params.borrowed_options", arguments[2])[0], "milk");
    let wrong = r#"{"text": "", "order": "left", "list": [], "number": 0, "path": 1}"#;
    let found = faults("params.borrowed_options", wrong);
    assert_eq!(found.len(), 5);
    assert_eq!(found, faults("params.owned_options", wrong));
    assert_eq!(borrowed_options(Some("a"), None, None, None, Some(&1), None, None, None)[0], "a");
}

#[test]
fn a_borrowed_option_lives_as_long_as_the_call() {
    assert_eq!(call("params.borrowed_option_later", "{}"), Value::Null);
    assert_eq!(call("params.borrowed_option_later", r#"{"text": "a"}"#), "a");
    assert_eq!(call("params.borrowed_option_later", r#"{"text": "b"}"#), Value::Null);
}

/// Constrained.
#[mcp_tool(module = "params")]
fn constrained(
    #[arg(min = 1, max = 10)] whole: i32,
    #[arg(min = -0.5, max = 1.5)] share: f64,
    #[arg(min_length = 1, max_length = 8)] text: &str,
    #[arg(min_items = 1, max_items = 3)] list: Vec<u8>,
    #[arg(pattern = "^[a-z]+$")] word: String,
    #[arg(format = "email")] mail: String,
    #[arg(one_of("a", "b"))] choice: String,
    #[arg(min = 1)] maybe: Option<u8>,
) {
    drop((whole, share, text, list, word, mail, choice, maybe));
}

#[test]
fn constraints_are_in_the_schema() {
    let schema = input("params.constrained");
    let expected = [
        ("whole", "minimum", json!(1)),
        ("whole", "maximum", json!(10)),
        ("share", "minimum", json!(-0.5)),
        ("share", "maximum", json!(1.5)),
        ("text", "minLength", json!(1)),
        ("text", "maxLength", json!(8)),
        ("list", "minItems", json!(1)),
        ("list", "maxItems", json!(3)),
        ("word", "pattern", json!("^[a-z]+$")),
        ("mail", "format", json!("email")),
        ("choice", "enum", json!(["a", "b"])),
        ("maybe", "minimum", json!(1)),
    ];
    for (name, keyword, value) in expected {
        assert_eq!(schema["properties"][name][keyword], value, "{name} {keyword}");
    }
}

/// Told.
///
/// # Arguments
/// - `listed`: In the list,
///   over two lines.
/// * other - Also there.
#[mcp_tool(module = "params")]
fn told(
    listed: u8,
    other: u8,
    /// In a comment,
    ///
    /// with a gap.
    commented: u8,
    #[arg(description = "By the key.", example = 1, example = 2 + 3)] keyed: u8,
) -> u8 {
    listed + other + commented + keyed
}

#[test]
fn a_parameter_is_described() {
    let texts: Vec<_> = entry("params.told").params.iter().map(|param| param.description).collect();
    assert_eq!(texts, ["In the list,\nover two lines.", "Also there.", "In a comment,\n\nwith a gap.", "By the key."]);
    let properties = &input("params.told")["properties"];
    assert_eq!(properties["keyed"]["description"], "By the key.");
    assert_eq!(properties["keyed"]["examples"], json!([1, 5]));
}

/// Named otherwise.
#[mcp_tool(module = "params")]
fn renamed(
    #[arg(rename = "wire-name", alias = "old", alias = "older")] a: u8,
    #[arg(header = "Region")] region: String,
    #[arg(secret)] token: u32,
    #[arg(schema = json!({ "type": "integer", "multipleOf": 5 }))] step: u8,
) -> u8 {
    drop((region, token, step));
    a
}

#[test]
fn renames_aliases_headers_secrets_and_schemas_take_effect() {
    let rest = r#""region": "r", "token": 1, "step": 5"#;
    for name in ["wire-name", "old", "older"] {
        assert_eq!(call("params.renamed", &format!(r#"{{"{name}": 3, {rest}}}"#)), json!(3));
    }
    let wrong = faults("params.renamed", &format!(r#"{{"a": 3, {rest}}}"#));
    assert_eq!(wrong.iter().map(|(path, _)| &**path).collect::<Vec<_>>(), ["/a", "/wire-name"]);
    let twice = faults("params.renamed", &format!(r#"{{"wire-name": 3, "old": 3, {rest}}}"#));
    assert_eq!(twice.len(), 1);
    let properties = &input("params.renamed")["properties"];
    assert_eq!(properties["region"]["x-mcp-header"], "Region");
    assert_eq!(properties["step"], json!({ "type": "integer", "multipleOf": 5 }));
    assert!(entry("params.renamed").params[2].secret);
    let secret = faults("params.renamed", r#"{"wire-name": 1, "region": "r", "step": 5, "token": "hunter2"}"#);
    assert!(secret.len() == 1 && !format!("{secret:?}").contains("hunter2"), "{secret:?}");
}

/// A struct whose fields are the arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    /// How deep.
    max_depth: u8,
    #[serde(default)]
    follow_links: bool,
}

/// Flattened.
#[mcp_tool(module = "params")]
fn flattened(#[arg(flatten)] options: Options) -> Value {
    json!([options.max_depth, options.follow_links])
}

/// Flattened and borrowed.
#[mcp_tool(module = "params")]
async fn flattened_and_borrowed(#[arg(flatten)] options: &Options) -> u8 {
    options.max_depth
}

#[test]
fn the_fields_of_a_flattened_struct_are_the_arguments() {
    assert_eq!(call("params.flattened", r#"{"maxDepth": 2}"#), json!([2, false]));
    assert_eq!(call("params.flattened_and_borrowed", r#"{"maxDepth": 2}"#), json!(2));
    let schema = input("params.flattened");
    assert_eq!(schema["required"], json!(["maxDepth"]));
    assert_eq!(schema["properties"]["maxDepth"]["description"], "How deep.");
    assert_eq!(faults("params.flattened", r#"{"maxDepth": 2, "x": 1}"#).len(), 1);
}

/// Keys in two attributes.
#[mcp_tool(module = "params")]
fn two_attributes(
    #[arg(min = 1)]
    #[arg(max = 5)]
    a: u8,
) -> u8 {
    a
}

#[test]
fn keys_can_be_split_between_two_attributes() {
    assert_eq!(entry("params.two_attributes").params[0].constraints.len(), 2);
    assert_eq!(call("params.two_attributes", r#"{"a": 2}"#), json!(2));
}

#[test]
fn every_wrong_argument_is_named() {
    let wrong = faults("params.constrained", r#"{"whole": "1", "share": 0, "text": 5, "list": [], "word": ""}"#);
    let paths: Vec<_> = wrong.iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths, ["/whole", "/text", "/list", "/mail", "/choice"]);
    let _: serde_json::Error = serde_json::from_str::<Colour>("1").unwrap_err();
}
