//! Which tools need the validator; and, without the feature, that they are refused.

#![allow(
    clippy::needless_pass_by_value,
    clippy::many_single_char_names,
    clippy::too_many_arguments,
    dead_code,
    reason = "tools have the form under test"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::{NonZeroI32, NonZeroU8};
use std::path::PathBuf;

use mcp_core::entry::ToolEntry;
use mcp_core::schemars::{self, JsonSchema, Schema, SchemaGenerator, json_schema};
use mcp_core::tools;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Checks, Need, Unenforced};
use crate::catalog::dynamic::Tool;
use crate::mcp_tool;
use crate::registry::Registry;

#[derive(Deserialize, JsonSchema)]
struct Point {
    x: i32,
    y: u8,
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    host: IpAddr,
    port: u16,
    #[serde(default)]
    points: Vec<Point>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
enum External {
    Nothing,
    One(u8),
    Two(u8, String),
    Fields { flag: bool, count: NonZeroU8 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    Circle { radius: u8 },
    Place(Point),
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Text(String),
    Number(i8),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    Point { x: i32, y: i32 },
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    size: u8,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct Ranged {
    #[schemars(range(min = 1, max = 100))]
    count: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Lengthy {
    #[schemars(length(max = 3))]
    words: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Matching {
    #[schemars(regex(pattern = "^a"))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Demanding {
    #[schemars(required)]
    wanted: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct DeepTree {
    #[schemars(range(max = 9))]
    size: u8,
    children: Vec<DeepTree>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum RangedVariant {
    Small {
        #[schemars(range(max = 9))]
        size: u8,
    },
}

/// Two ranges with something between them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Gap {
    Low {
        #[schemars(range(max = 9))]
        size: u8,
    },
    High {
        #[schemars(range(min = 20))]
        size: u32,
    },
}

/// Claims what it does not read.
#[derive(Deserialize)]
struct Liar(Value);

impl JsonSchema for Liar {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Liar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Enforces its bound by itself.
struct Even(u8);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        if number % 2 == 0 { Ok(Self(number)) } else { Err(serde::de::Error::custom("odd")) }
    }
}

impl JsonSchema for Even {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Even".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": 255, "multipleOf": 2 })
    }
}

/// Panics at what it does not like.
struct Panicking;

impl<'de> Deserialize<'de> for Panicking {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        assert!(u8::deserialize(deserializer)? > 0, "no zero");
        Ok(Self)
    }
}

impl JsonSchema for Panicking {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Panicking".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": 255 })
    }
}

macro_rules! tools_of {
    ($($name:ident($($param:ident: $type:ty),*);)*) => {
        $(#[mcp_tool(module = "need", crate = crate)]
        fn $name($($param: $type),*) -> bool {
            $(let _ = $param;)*
            true
        })*
    };
}

tools_of! {
    numbers(a: u8, b: i16, c: u64, d: i64, e: usize, f: f32, g: f64, h: NonZeroU8, i: NonZeroI32, j: i128);
    plain(a: bool, b: String, c: char, d: PathBuf, e: Value, f: Option<u8>, g: [u8; 2], h: IpAddr, i: ());
    lists(a: Vec<u8>, b: (u8, String), c: Vec<Option<i8>>);
    maps(a: HashMap<String, u8>, b: BTreeMap<String, Vec<String>>);
    point(point: Point);
    strict(strict: Strict);
    color(color: Color);
    external(value: External);
    internal(value: Internal);
    adjacent(value: Adjacent);
    untagged(value: Untagged);
    tree(tree: Tree);
    even(even: Even);
    set(set: BTreeSet<u8>);
    by_number(map: BTreeMap<u8, bool>);
    ranged(ranged: Ranged);
    ranged_list(list: Option<Vec<Ranged>>);
    lengthy(lengthy: Lengthy);
    matching(matching: Matching);
    demanding(demanding: Demanding);
    deep_tree(tree: DeepTree);
    ranged_variant(value: RangedVariant);
    gap(value: Gap);
    liar(value: Liar);
    panicking(value: Panicking);
}

/// Has constraints that generated code checks.
#[mcp_tool(module = "need", crate = crate)]
fn constrained(
    #[arg(min = 1, max = 10)] a: u32,
    #[arg(min = 0.5)] b: f64,
    #[arg(min_length = 2, max_length = 3)] c: String,
    #[arg(min_items = 1, max_items = 2)] d: Vec<String>,
    #[arg(one_of("a", "b"))] e: Option<String>,
    #[arg(default = 4, max = 7)] f: u8,
) {
    drop((a, b, c, d, e, f));
}

/// Has a pattern.
#[mcp_tool(module = "need", crate = crate)]
fn pattern(#[arg(pattern = "^a")] text: String) {
    drop(text);
}

/// Has a format.
#[mcp_tool(module = "need", crate = crate)]
fn format(#[arg(format = "email")] text: String) {
    drop(text);
}

/// Has a schema for its parameter.
#[mcp_tool(module = "need", crate = crate)]
fn written(#[arg(schema = json!({ "type": "integer", "maximum": 3 }))] number: i32) {
    let _ = number;
}

/// Has a schema that is written out.
#[mcp_tool(module = "need", crate = crate, input_schema = json!({ "type": "object", "properties": { "n": {} } }))]
fn explicit(n: i32) {
    let _ = n;
}

/// Has a schema that says nothing.
#[mcp_tool(module = "need", crate = crate, input_schema = json!({ "type": "object", "properties": {} }))]
fn silent() {}

/// Takes a struct for its arguments.
#[mcp_tool(module = "need", crate = crate)]
fn flat(#[arg(flatten)] point: Point) {
    drop(point);
}

/// Takes a struct for its arguments, one of which has a range.
#[mcp_tool(module = "need", crate = crate)]
fn flat_ranged(#[arg(flatten)] ranged: Ranged) {
    let _ = ranged;
}

fn need_of_tool(entry: &'static ToolEntry) -> Need {
    let catalog = Registry::builder_of([entry]).catalog().unwrap();
    Checks::new(catalog.list_registered_tools()[0].clone()).need().clone()
}

fn keyword(entry: &'static ToolEntry) -> (String, String) {
    match need_of_tool(entry) {
        Need::Always(Unenforced { keyword, path }) => (keyword, path),
        Need::With { .. } => panic!("{} needs nothing", entry.name),
    }
}

#[test]
fn what_types_and_generated_code_enforce_needs_no_validator() {
    for entry in tools![numbers, plain, lists, maps, constrained, even, flat, silent] {
        assert_eq!(need_of_tool(entry), Need::With { lists: false, objects: false }, "{}", entry.name);
    }
}

#[test]
fn other_shapes_that_serde_accepts_need_the_validator_if_present() {
    for entry in tools![point, strict, tree, internal, untagged] {
        assert_eq!(need_of_tool(entry), Need::With { lists: true, objects: false }, "{}", entry.name);
    }
    assert_eq!(need_of_tool(__mcp_tool_color), Need::With { lists: false, objects: true });
    for entry in tools![external, adjacent] {
        assert!(matches!(need_of_tool(entry), Need::With { .. }), "{}: {:?}", entry.name, need_of_tool(entry));
    }
}

#[test]
fn what_nothing_else_enforces_needs_the_validator() {
    let expected = [
        ("pattern", "/text"),
        ("format", "/text"),
        ("schema", "/number"),
        ("properties", ""),
        ("minimum", "/count"),
        ("uniqueItems", "/set"),
        ("patternProperties", "/map"),
        ("minimum", "/ranged/count"),
        ("minimum", "/list/*/count"),
        ("maxItems", "/lengthy/words"),
        ("pattern", "/matching/text"),
        ("required", "/demanding"),
        ("maximum", "/tree/size"),
        ("maximum", "/value/size"),
        ("maximum", "/value/size"),
        ("type", "/value"),
        ("minimum", "/value"),
    ];
    let entries = tools![
        pattern,
        format,
        written,
        explicit,
        flat_ranged,
        set,
        by_number,
        ranged,
        ranged_list,
        lengthy,
        matching,
        demanding,
        deep_tree,
        ranged_variant,
        gap,
        liar,
        panicking
    ];
    for (entry, (word, path)) in entries.into_iter().zip(expected) {
        assert_eq!(keyword(entry), (word.to_owned(), path.to_owned()), "{}", entry.name);
    }
}

#[test]
fn a_dynamic_tool_needs_the_validator_if_its_schema_demands_anything() {
    let need_of = |schema: Value| {
        let tool = Tool::new("made.tool", schema, |_, _| async {});
        let catalog = Registry::builder_of([]).tool(tool).catalog().unwrap();
        Checks::new(catalog.list_registered_tools()[0].clone()).need().clone()
    };
    assert_eq!(need_of(json!({ "type": "object", "properties": {} })), Need::With { lists: false, objects: false });
    assert!(matches!(need_of(json!({ "type": "object", "required": ["a"] })), Need::Always(_)));
    assert!(matches!(need_of(json!({ "type": "object", "properties": { "a": {} } })), Need::Always(_)));
}

#[test]
fn allowing_an_unknown_tool_is_rejected() {
    let error = Registry::builder_of(tools![numbers]).allow_unchecked("need.number").build().unwrap_err().to_string();
    assert!(
        error.contains("`.allow_unchecked(\"need.number\")` matches no tool: none is named `need.number`; correct it"),
        "{error}"
    );
    assert!(Registry::builder_of(tools![pattern]).allow_unchecked("need.pattern").build().is_ok());
}

#[cfg(not(feature = "validate"))]
mod without_the_feature {
    use mcp_core::error::RegistrationProblem;
    use mcp_core::tools;

    use super::*;

    #[test]
    fn a_tool_that_needs_the_validator_is_rejected() {
        let error = Registry::builder_of(tools![ranged, numbers, point, pattern]).build().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(
                "the input schema of `need.ranged` has `minimum` at `/ranged/count`, which nothing checks; enable the \
                 feature `validate` of mcp-registry, or call `.allow_unchecked(\"need.ranged\")` on the builder\n    at "
            ),
            "{text}"
        );
        let [one, other] = error.problems() else { panic!("{text}") };
        assert!(
            matches!(one, RegistrationProblem::Unchecked { keyword, path, .. } if keyword == "pattern" && path == "/text")
        );
        assert!(matches!(other, RegistrationProblem::Unchecked { tool, .. } if tool == "need.ranged"));
        // A catalog calls nothing.
        assert!(Registry::builder_of(tools![ranged]).catalog().is_ok());
    }

    #[test]
    fn a_tool_that_needs_the_validator_can_be_allowed() {
        assert!(Registry::builder_of(tools![ranged]).allow_unchecked("need.ranged").build().is_ok());
    }

    #[test]
    fn a_dynamic_tool_that_needs_the_validator_is_rejected() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let tool = Tool::new("made.tool", schema, |_, _| async {});
        let registry = Registry::builder_of([]).allow_empty().build().unwrap();
        let error = registry.register(tool.clone()).unwrap_err().to_string();
        assert!(
            error.contains("add it to the builder with `.tool(…)` and call `.allow_unchecked(\"made.tool\")`"),
            "{error}"
        );
        assert!(Registry::builder_of([]).tool(tool).allow_unchecked("made.tool").build().is_ok());
    }

    #[test]
    fn the_faults_of_types_stay_as_they_are() {
        let catalog = Registry::builder_of(tools![point]).catalog().unwrap();
        let checks = Checks::new(catalog.list_registered_tools()[0].clone());
        let arguments = json!({ "point": { "x": "a", "y": "b" } });
        let typed = __mcp_tool_point.check(&arguments.to_string()).unwrap_err();
        assert_eq!(typed.len(), 1);
        assert_eq!(checks.explain_rejection(&arguments.to_string(), typed.clone()).faults, typed);
        assert!(!checks.needs_validator("[[{{"));
        assert!(checks.output_faults(&json!(1)).faults.is_empty());
    }
}

#[cfg(feature = "validate")]
mod with_the_feature {
    use super::*;

    fn tool(entry: &'static ToolEntry) -> Checks<crate::catalog::tool::RegisteredTool> {
        Checks::new(Registry::builder_of([entry]).catalog().unwrap().list_registered_tools()[0].clone())
    }

    /// Returns a number.
    #[mcp_tool(module = "need", crate = crate, output_schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "maximum": 3 }, "when": { "format": "date" } },
        "required": ["n"],
    }))]
    fn returning() -> Value {
        json!({ "n": 1 })
    }

    #[test]
    fn only_tools_that_need_the_validator_are_checked() {
        let [point, color, ranged] = tools![point, color, ranged].map(tool);
        assert!(!point.needs_validator(r#"{"point":{"x":1,"y":2}}"#));
        assert!(point.needs_validator(r#"{"point":[1,2,null]}"#));
        assert!(!color.needs_validator(r#"{"color":"red"}"#));
        assert!(color.needs_validator(r#"{"color":{"red":null}}"#));
        assert!(ranged.needs_validator(r#"{"ranged":{"count":1}}"#));
    }

    #[test]
    fn nested_faults_are_added_to_those_of_types() {
        let point = tool(__mcp_tool_point);
        let arguments = json!({ "point": { "x": "a", "y": "b" } });
        let typed = __mcp_tool_point.check(&arguments.to_string()).unwrap_err();
        let error = point.explain_rejection(&arguments.to_string(), typed);
        let all: Vec<&str> = error.faults.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(all, ["/point/x", "/point/y"]);
        assert!(point.faults(json!({ "point": { "x": 1, "y": 2, "label": null } })).faults.is_empty());
    }

    #[test]
    fn results_are_checked_by_the_output_schema() {
        let returning = tool(__mcp_tool_returning);
        assert!(returning.output_faults(&json!({ "n": 3, "when": "2020-01-31" })).faults.is_empty());
        let messages = |data: Value| {
            returning.output_faults(&data).faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>()
        };
        assert_eq!(messages(json!({ "n": 4 })), ["`n` must be a number of at most 3, not 4; correct the value"]);
        assert_eq!(messages(json!({ "n": null })), ["`n` must be an integer, not null; correct the value"]);
        assert_eq!(messages(json!({ "n": 1, "when": "now" })).len(), 1);
        assert_eq!(messages(json!([1])), ["`result` must be an object, not [1]; correct the value"]);
        assert!(tool(__mcp_tool_silent).output_faults(&json!(1)).faults.is_empty());
    }
}
