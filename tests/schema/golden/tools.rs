//! Tools whose parameters say more than their types.

use std::path::Path;

use mcp_core::schemars::schema_for;
use mcp_core::serde_json::{Value, json};
use mcp_core::{Content, Json, ToolResult, mcp_tool};

use super::types::{
    Expression, FlattenedEnum, FlattenedMap, FlattenedTwice, Internal, Mode, Node, Point, Search, Settings,
    UntaggedObjects,
};
use super::{call, entry, validator};

/// Takes nothing.
#[mcp_tool(module = "golden")]
fn no_arguments() {}

#[mcp_tool(module = "golden", allow_unknown_arguments)]
fn open_arguments(_a: Option<u8>) -> Content {
    Content::text("")
}

#[mcp_tool(module = "golden")]
fn borrowed(text: &str, path: &Path, list: &[u16], point: &Point) -> String {
    format!("{text}{}{list:?}{}", path.display(), point.x)
}

#[mcp_tool(module = "golden")]
fn described(
    /// How to open it.
    mode: Mode,
    /// How to open it, if at all.
    maybe_mode: Option<Mode>,
    /// The place
    /// to go to.
    point: Point,
    bare: Point,
    /// Deep.
    tree: Option<Node>,
) -> ToolResult {
    let _ = (mode, maybe_mode, point, bare, tree);
    ToolResult::success()
}

#[mcp_tool(module = "golden")]
fn constrained(
    #[arg(min = 1, max = 10, example = 3, example = 4)] number: i64,
    #[arg(min = -5, max = 300)] byte: u8,
    #[arg(min = 0.5)] float: Option<f32>,
    #[arg(min_length = 1, max_length = 3)] text: String,
    #[arg(one_of("a", "b"))] choice: Option<String>,
    #[arg(min_items = 1, max_items = 2)] list: Vec<u8>,
    #[arg(pattern = "^x")] pattern: String,
    #[arg(format = "email")] mail: String,
    #[arg(max = 36893488147419103232)] huge: u128,
    #[arg(rename = "wire/name", alias = "old")] renamed: u8,
    #[arg(header = "Region")] region: &str,
) -> Json<Value> {
    let _ = (number, byte, float, text, choice, list, pattern, mail, huge, renamed, region);
    Json(json!(null))
}

#[mcp_tool(module = "golden")]
fn defaulted(
    #[arg(default = "utf-8")] encoding: &str,
    #[arg(default = 5)] count: u8,
    #[arg(default)] settings: Settings,
    #[arg(default)] maybe: Option<u8>,
    #[arg(default = Mode::Append)] mode: Mode,
) -> Vec<Content> {
    let _ = (encoding, count, settings, maybe, mode);
    Vec::new()
}

#[mcp_tool(module = "golden")]
fn explicit(#[arg(schema = schema_for!(Node))] tree: Value, #[arg(schema = json!({"type": "string"}))] text: Value) {
    let _ = (tree, text);
}

#[mcp_tool(module = "golden")]
fn explicit_union(
    #[arg(schema = json!({
        "oneOf": [{ "$ref": "#/$defs/Named" }, { "type": "integer" }],
        "$defs": { "Named": { "oneOf": [{ "const": "a" }, { "const": "b" }] } },
    }))]
    value: Value,
    shape: Internal,
) {
    let _ = (value, shape);
}

#[mcp_tool(module = "golden")]
fn flatten_root(#[arg(flatten)] search: Search) -> Search {
    search
}

#[mcp_tool(module = "golden")]
fn flatten_root_map(#[arg(flatten)] search: FlattenedMap) -> FlattenedMap {
    search
}

#[mcp_tool(module = "golden")]
fn flatten_root_twice(#[arg(flatten)] search: FlattenedTwice) -> FlattenedTwice {
    search
}

#[mcp_tool(module = "golden")]
fn flatten_root_enum(#[arg(flatten)] shape: FlattenedEnum) -> FlattenedEnum {
    shape
}

#[mcp_tool(module = "golden")]
#[allow(clippy::unnecessary_wraps, reason = "the schema is that of the value")]
fn flatten_root_tagged(#[arg(flatten)] shape: Internal) -> Result<Internal, String> {
    Ok(shape)
}

#[mcp_tool(module = "golden")]
fn flatten_root_external(#[arg(flatten)] value: Expression) -> Expression {
    value
}

#[mcp_tool(module = "golden")]
fn flatten_root_untagged(#[arg(flatten)] value: UntaggedObjects) -> UntaggedObjects {
    value
}

fn agree(name: &str, good: &[Value], bad: &[Value]) {
    let entry = entry(name);
    let schema = validator(&entry.generate_input_schema());
    for (values, taken) in [(good, true), (bad, false)] {
        for value in values {
            assert_eq!(schema.is_valid(value), taken, "the schema of {name}: {value}");
            assert_eq!(call(entry, value).is_ok(), taken, "{name}: {value}: {:?}", call(entry, value));
        }
    }
}

#[test]
fn a_flattened_struct_does_not_describe_the_arguments() {
    for name in ["golden.flatten_root_twice", "golden.flatten_root_enum"] {
        assert_eq!(entry(name).generate_input_schema().get("description"), None, "{name}");
    }
    // What is said of the type itself stays.
    assert_eq!(entry("golden.flatten_root_tagged").generate_input_schema()["description"], "Named inside.");
}

#[test]
fn variants_are_published_in_the_order_in_which_they_are_written() {
    let names = json!(["depth_first", "breadth_first", "unordered", "post_order"]);
    for (name, path) in [
        ("golden.enum_mixed", "/properties/value"),
        ("golden.enum_mixed_within", "/properties/value/additionalProperties/items"),
    ] {
        let schema = entry(name).generate_input_schema();
        let published = schema.pointer(path).expect("the enum");
        assert_eq!(published["enum"], names);
        let words = published["description"].as_str().expect("a description");
        assert!(
            words.ends_with("\n- `breadth_first`: Level by level.\n- `post_order`: From the leaves up."),
            "{words}"
        );
    }
    let output = entry("golden.enum_mixed").generate_output_schema().expect("a schema").to_value();
    assert_eq!(output["properties"]["result"]["enum"], names);
}

#[test]
fn unions_written_by_hand_stay_as_they_are_written() {
    let schema = entry("golden.explicit_union").generate_input_schema();
    let properties = &schema["properties"];
    assert_eq!(properties["value"], json!({ "oneOf": [{ "$ref": "#/$defs/Named" }, { "type": "integer" }] }));
    assert_eq!(schema["$defs"], json!({ "Named": { "oneOf": [{ "const": "a" }, { "const": "b" }] } }));
    assert_eq!(properties["shape"]["anyOf"][0]["properties"]["kind"], json!({ "type": "string", "enum": ["circle"] }));
}

#[test]
fn arguments_are_taken_as_the_schema_says() {
    agree("golden.no_arguments", &[json!({})], &[json!({"a": 1}), json!([]), json!(null)]);
    agree("golden.open_arguments", &[json!({}), json!({"more": 1}), json!({"_a": 1})], &[json!({"_a": "x"})]);
    let point = json!({"x": 1, "down": 2});
    agree(
        "golden.borrowed",
        &[json!({"text": "a\n", "path": "/", "list": [1], "point": point})],
        &[json!({"text": "a", "path": "/", "list": [70000], "point": point}), json!({"text": "a"})],
    );
    agree(
        "golden.described",
        &[
            json!({"mode": "append", "point": point, "bare": point}),
            json!({"mode": "append", "point": point, "bare": point, "maybe_mode": "append", "tree": {"name": "a"}}),
        ],
        &[json!({"mode": "append", "point": point}), json!({"mode": "a", "point": point, "bare": point})],
    );
    agree(
        "golden.defaulted",
        &[json!({}), json!({"encoding": "a", "count": 1, "settings": {}, "maybe": 1, "mode": "append"})],
        &[json!({"encoding": 1}), json!({"count": 256}), json!({"settings": 1}), json!({"more": 1})],
    );
    agree(
        "golden.flatten_root",
        &[
            json!({"query": "a"}),
            json!({"query": "a", "max-hits": 3, "within": {"query": "b", "within": {"query": "c"}}}),
        ],
        &[json!({}), json!({"query": "a", "more": 1}), json!({"query": "a", "within": {}})],
    );
    agree("golden.flatten_root_map", &[json!({"query": "a", "b": 1})], &[json!({})]);
    agree(
        "golden.flatten_root_enum",
        &[json!({"name": "a", "kind": "nothing"})],
        &[json!({"name": 1, "kind": "nothing"})],
    );
    agree("golden.flatten_root_external", &[json!({"Number": 1})], &[json!({"Number": "a"}), json!({"Other": 1})]);
    agree("golden.flatten_root_untagged", &[json!({"x": 1, "y": 2}), json!({"name": "a"})], &[json!({"name": 1})]);
    agree(
        "golden.flatten_root_tagged",
        &[json!({"kind": "nothing"}), json!({"kind": "circle", "radius": 1})],
        &[json!({}), json!({"kind": "a"})],
    );
}

#[test]
fn constraints_are_kept_to_as_the_schema_says() {
    let good = json!({
        "number": 1, "byte": 255, "float": 0.5, "text": "äöü", "choice": "a", "list": [1, 2], "pattern": "x", "mail": "a@b.c",
        "huge": 1, "wire/name": 1, "region": "eu"
    });
    let with = |key: &str, value: Value| {
        let mut arguments = good.clone();
        arguments[key] = value;
        arguments
    };
    let bad = [
        with("number", json!(0)),
        with("number", json!(11)),
        with("byte", json!(256)),
        with("float", json!(0.4)),
        with("text", json!("")),
        with("text", json!("äöüß")),
        with("choice", json!("c")),
        with("list", json!([])),
        with("list", json!([1, 2, 3])),
    ];
    agree("golden.constrained", std::slice::from_ref(&good), &bad);
}

#[test]
fn a_default_keeps_to_its_schema() {
    let schema = entry("golden.defaulted").generate_input_schema();
    for (name, property) in schema["properties"].as_object().expect("properties") {
        if let Some(default) = property.get("default") {
            assert!(validator(property).is_valid(default), "{name}: {property:#}");
        }
    }
}

#[test]
fn what_is_no_plain_value_has_no_output_schema() {
    for name in ["no_arguments", "open_arguments", "described", "constrained", "defaulted"] {
        assert_eq!(entry(&format!("golden.{name}")).generate_output_schema(), None, "{name}");
    }
}
