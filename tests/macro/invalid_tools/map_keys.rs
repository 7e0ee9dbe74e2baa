//! Maps whose keys JSON cannot hold.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use chrono::{DateTime, NaiveDate, Utc};
use mcp_registry::entry::ToolEntry;
use mcp_registry::error::RegistrationProblem;
use mcp_registry::serde_json::json;
use mcp_registry::{Registry, ToolCall, mcp_tool, tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

type Pairs = BTreeMap<(u32, u32), String>;

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Circle(u32),
    Square { side: u32 },
}

/// A board whose cells are behind fields that a sample cannot be made for.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Board {
    id: Uuid,
    parent: Option<Box<Board>>,
    rows: Vec<Row>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Row {
    Empty,
    Cells { from: NaiveDate, cells: Option<Pairs> },
}

/// Takes pairs.
#[mcp_tool(name = "keys.pairs")]
fn pairs(cells: HashMap<(u32, u32), String>) -> usize {
    cells.len()
}

/// Takes pairs somewhere.
#[mcp_tool(name = "keys.nested")]
fn nested(boards: Vec<Board>) -> usize {
    boards.len()
}

/// Takes pairs in a tuple.
#[mcp_tool(name = "keys.tuple")]
fn tuple(item: (u8, Option<Vec<u8>>, BTreeMap<String, Pairs>)) -> usize {
    item.2.len()
}

/// Takes a struct as a key.
#[mcp_tool(name = "keys.structure")]
fn structure(points: BTreeMap<Point, u8>) -> usize {
    points.len()
}

/// Takes a list as a key.
#[mcp_tool(name = "keys.list")]
fn list(lists: BTreeMap<Vec<u8>, u8>) -> usize {
    lists.len()
}

/// Takes an enum with data as a key.
#[mcp_tool(name = "keys.data")]
fn data(shapes: BTreeMap<Shape, u8>) -> usize {
    shapes.len()
}

/// Takes pairs as the field of a struct that is all arguments.
#[mcp_tool(name = "keys.flat")]
fn flat(#[arg(flatten)] board: Board) -> usize {
    board.rows.len()
}

/// Returns pairs.
#[mcp_tool(name = "keys.returned")]
fn returned() -> Pairs {
    Pairs::new()
}

/// Returns pairs somewhere, or fails.
#[mcp_tool(name = "keys.returned_nested")]
#[allow(clippy::unnecessary_wraps, reason = "the value of a result is looked at")]
fn returned_nested() -> Result<Vec<Board>, String> {
    Ok(Vec::new())
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Edit {
    Clear,
    Set { id: Uuid, values: BTreeMap<u32, String> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Cells(Vec<Pairs>),
}

#[derive(Deserialize, JsonSchema)]
struct Outer {
    day: NaiveDate,
    own: Option<Pairs>,
    #[serde(flatten)]
    inner: Inner,
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    flags: Option<BTreeMap<bool, u8>>,
    numbers: BTreeMap<String, BTreeMap<i8, u8>>,
}

/// Takes integers as keys where serde does not read them.
#[mcp_tool(name = "keys.tagged")]
fn tagged(edits: Vec<Edit>) -> usize {
    edits.iter().filter(|edit| matches!(edit, Edit::Set { id, values } if id.is_nil() && values.is_empty())).count()
}

/// Takes pairs beside a tag.
#[mcp_tool(name = "keys.adjacent")]
fn adjacent(edit: Adjacent) -> usize {
    let Adjacent::Cells(cells) = edit;
    cells.len()
}

/// Takes several maps where serde does not read their keys.
#[mcp_tool(name = "keys.flattened")]
fn flattened(outer: Outer) -> usize {
    let Outer { day, own, inner } = outer;
    drop((day, own, inner.flags));
    inner.numbers.len()
}

/// Why a tool is refused.
fn refused(entry: &'static ToolEntry) -> String {
    let error = Registry::builder_of([entry]).build().expect_err(entry.name);
    let [problem] = error.problems() else { panic!("{error}") };
    assert!(
        matches!(problem, RegistrationProblem::Param { .. } | RegistrationProblem::ReturnType { .. }),
        "{problem:?}"
    );
    let text = problem.to_string();
    let (text, place) = text.split_once("\n    at ").expect("a place");
    assert!(place.contains("invalid_tools/map_keys.rs:"), "{place}");
    let remedy = ", which cannot be the key of a JSON object; use a string key, or a list of pairs";
    text.strip_suffix(remedy).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_parameter_with_a_map_whose_key_json_cannot_hold_is_refused() {
    let all = tools![pairs, nested, tuple, structure, list, data, flat];
    let expected = [
        "the parameter `cells` of `keys.pairs` has a map whose key is a tuple of size 2",
        "the parameter `boards` of `keys.nested` has a map at `/*/rows/*/Cells/cells` whose key is a tuple of size 2",
        "the parameter `item` of `keys.tuple` has a map at `/*/*` whose key is a tuple of size 2",
        "the parameter `points` of `keys.structure` has a map whose key is struct Point",
        "the parameter `lists` of `keys.list` has a map whose key is a sequence",
        "the parameter `shapes` of `keys.data` has a map whose key is enum Shape, whose variants hold data",
        "the parameter `board` of `keys.flat` has a map at `/rows/*/Cells/cells` whose key is a tuple of size 2",
    ];
    assert_eq!(all.map(refused), expected);
}

#[test]
fn a_map_whose_key_serde_does_not_read_in_a_buffer_is_refused() {
    let expected = [
        "the parameter `edits` of `keys.tagged` has a map at `/*/values` whose key is u32 inside of `flatten`, `untagged` or a tagged enum",
        "the parameter `edit` of `keys.adjacent` has a map at `/c/*` whose key is a tuple of size 2",
    ];
    assert_eq!(tools![tagged, adjacent].map(refused), expected);
    let error = Registry::builder_of(tools![flattened]).build().unwrap_err().to_string();
    for place in [
        "`/own` whose key is a tuple of size 2",
        "`/flags` whose key is a boolean inside of `flatten`, `untagged`",
        "`/numbers/*` whose key is i8 inside of `flatten`, `untagged`",
    ] {
        assert!(error.contains(&format!("has a map at {place}")), "{place}: {error}");
    }
}

#[test]
fn a_deserializable_result_with_a_map_whose_key_json_cannot_hold_is_refused() {
    let expected = [
        "the result of `keys.returned` has a map whose key is a tuple of size 2",
        "the result of `keys.returned_nested` has a map at `/*/rows/*/Cells/cells` whose key is a tuple of size 2",
    ];
    assert_eq!(tools![returned, returned_nested].map(refused), expected);
}

#[derive(Serialize, JsonSchema)]
struct Written {
    cells: Pairs,
}

/// Returns pairs in a type that cannot be read, and so is not seen before.
#[mcp_tool(name = "keys.written")]
fn written() -> Written {
    Written { cells: Pairs::from([((1, 2), "a".to_owned())]) }
}

#[test]
fn a_result_that_is_only_serializable_fails_when_it_is_returned() {
    let registry = Registry::builder_of(tools![written]).build().unwrap();
    let result = registry.call_blocking(&ToolCall::new("keys.written", json!({})));
    let error = result.error.expect("an error").error_message;
    assert!(error.contains("key must be a string; use string keys"), "{error}");
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Colour {
    /// As blood.
    Red,
    Green,
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Mixed {
    Plain,
    Data(u8),
}

/// A pair that is written as a text.
#[derive(JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(with = "String")]
struct Cell(u8, u8);

impl Serialize for Cell {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}x{}", self.0, self.1))
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let numbers = text.split_once('x').and_then(|(a, b)| Some(Self(a.parse().ok()?, b.parse().ok()?)));
        numbers.ok_or_else(|| serde::de::Error::custom("no cell"))
    }
}

/// Beside what serde buffers, keys are read as ever.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Beside {
    flags: BTreeMap<bool, u8>,
    numbers: BTreeMap<i8, BTreeMap<Uuid, u8>>,
    tagged: Tagged,
    flattened: Flattened,
    any: mcp_registry::serde_json::Value,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Names { names: BTreeMap<Colour, BTreeMap<Uuid, u8>> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Flattened {
    own: Option<u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, u8>,
}

/// Takes what serde buffers beside what it does not.
#[mcp_tool(name = "keys.beside")]
fn beside(beside: Beside) -> Beside {
    beside
}

#[test]
fn a_map_whose_key_can_be_read_beside_or_in_a_buffer_is_accepted() {
    let registry = Registry::builder_of(tools![beside]).build().unwrap();
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let beside = json!({
        "flags": { "true": 1 },
        "numbers": { "-1": { id: 1 } },
        "tagged": { "kind": "Names", "names": { "Red": { id: 1 } } },
        "flattened": { "own": 1, "a": 2 },
        "any": null,
    });
    let result = registry.call_blocking(&ToolCall::new("keys.beside", json!({ "beside": beside })));
    assert_eq!(result.data, Some(beside), "{result:?}");
}

macro_rules! fine {
    ($($name:ident: $key:ty = $sample:literal;)*) => {
        $(/// Takes a map and gives it back.
        #[mcp_tool(module = "keys")]
        fn $name(map: BTreeMap<$key, u8>) -> BTreeMap<$key, u8> {
            map
        })*

        /// Each tool that takes a map, with a key of it.
        fn fine() -> Vec<(&'static ToolEntry, &'static str)> {
            vec![$((tools![$name][0], $sample)),*]
        }
    };
}

fine! {
    by_string: String = "a";
    by_integer: i64 = "-5";
    by_wide: u128 = "5";
    by_bool: bool = "true";
    by_char: char = "x";
    by_newtype: Name = "a";
    by_option: Option<u8> = "5";
    by_variant: Colour = "Green";
    by_variant_without_data: Mixed = "Plain";
    by_uuid: Uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    by_date: NaiveDate = "2024-02-29";
    by_time: DateTime<Utc> = "2024-02-29T12:00:00Z";
    by_address: IpAddr = "127.0.0.1";
    by_text_of_its_own: Cell = "1x2";
}

#[test]
fn a_map_whose_key_json_can_hold_is_accepted_and_returned() {
    for (entry, key) in fine() {
        let registry = Registry::builder_of([entry]).build().unwrap();
        let result = registry.call_blocking(&ToolCall::new(entry.name, json!({ "map": { key: 1 } })));
        assert_eq!(result.data, Some(json!({ key: 1 })), "{}: {result:?}", entry.name);
    }
}
