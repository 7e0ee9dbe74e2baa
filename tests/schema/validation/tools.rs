//! Tools of many signatures, to be called with values that their schemas take and that they do not.

#![allow(dead_code, clippy::many_single_char_names, reason = "what is read is not looked at")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI8, NonZeroU8, NonZeroU64};
use std::path::PathBuf;

use mcp_registry::mcp_tool;
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{Value, json};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Point {
    x: i32,
    y: u8,
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strict {
    name: String,
    #[serde(default)]
    points: Vec<Point>,
    corner: Option<Box<Point>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) enum External {
    Nothing,
    One(u8),
    Two(u8, String),
    Fields { flag: bool, count: NonZeroU8 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Internal {
    Circle { radius: u8 },
    Place(Point),
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub(crate) enum Adjacent {
    Text(String),
    Number(i8),
    Fields { flag: bool },
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(i64),
    Text(String),
    Point { x: i32, y: i32 },
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Tree {
    #[schemars(range(max = 9))]
    size: u8,
    #[serde(default)]
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Ranged {
    #[schemars(range(min = 1, max = 100))]
    count: u8,
    #[schemars(range(min = -0.5, max = 0.5))]
    ratio: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Lengthy {
    #[schemars(length(min = 1, max = 3))]
    words: Vec<String>,
    #[schemars(length(min = 2, max = 4))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Matching {
    #[schemars(regex(pattern = "^[a-c]+$"))]
    text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Demanding {
    #[schemars(required)]
    wanted: Option<u8>,
    #[schemars(extend("multipleOf" = 5))]
    fives: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub(crate) enum RangedVariant {
    Small {
        #[schemars(range(max = 9))]
        size: u8,
    },
    Large {
        #[schemars(range(min = 10))]
        size: u32,
    },
}

/// Two ranges with something between them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Gap {
    Low {
        #[schemars(range(max = 9))]
        size: u8,
    },
    High {
        #[schemars(range(min = 20))]
        size: u32,
    },
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Paging {
    #[serde(default)]
    offset: u32,
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Flattened {
    query: String,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Newtype(u16);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TupleStruct(u8, String);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Unit;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Empty {}

macro_rules! tools_of {
    ($($name:ident($($param:ident: $type:ty),*);)*) => {
        $(#[mcp_tool(module = "equal")]
        fn $name($($param: $type),*) -> bool {
            $(let _ = $param;)*
            true
        })*
    };
}

tools_of! {
    unsigned(a: u8, b: u16, c: u32, d: u64, e: usize);
    signed(a: i8, b: i16, c: i32, d: i64, e: isize);
    floats(a: f32, b: f64);
    non_zero(a: NonZeroU8, b: NonZeroI8, c: NonZeroU64);
    optional(a: Option<u8>, b: Option<String>, c: Option<bool>, d: Option<Point>);
    texts(a: String, b: char, c: PathBuf, d: bool);
    lists(a: Vec<u8>, b: Vec<String>, c: Vec<Vec<bool>>);
    optional_items(a: Vec<Option<i8>>, b: HashMap<String, Option<u16>>);
    tuples(a: (u8, String), b: (bool,), c: [u8; 2]);
    sets(a: BTreeSet<u8>, b: HashSet<String>);
    maps(a: HashMap<String, u8>, b: BTreeMap<String, Vec<String>>);
    any(value: Value);
    point(point: Point);
    strict(strict: Strict);
    color(color: Color, more: Option<Vec<Color>>);
    external(value: External);
    internal(value: Internal);
    adjacent(value: Adjacent);
    untagged(value: Untagged);
    tree(tree: Tree);
    ranged(ranged: Ranged);
    ranged_list(list: Vec<Ranged>, map: Option<BTreeMap<String, Ranged>>);
    lengthy(lengthy: Lengthy);
    matching(matching: Matching);
    demanding(demanding: Demanding);
    ranged_variant(value: RangedVariant);
    gap(value: Gap);
    flattened(value: Flattened);
    newtypes(a: Newtype, b: TupleStruct, c: Option<Unit>, d: Empty);
    by_color(map: Option<BTreeMap<String, Color>>);
    result(value: Result<u8, String>);
    nothing();
}

#[mcp_tool(module = "equal")]
fn constrained(
    #[arg(min = 1, max = 10)] a: u32,
    #[arg(min = 0.5)] b: f64,
    #[arg(min_length = 2, max_length = 3)] c: String,
    #[arg(min_items = 1, max_items = 2)] d: Vec<String>,
    #[arg(one_of("a", "b"))] e: Option<String>,
    #[arg(default = 4, max = 7)] f: u8,
) -> usize {
    (a % 10) as usize + b.to_string().len() + c.len() + d.len() + e.map_or(0, |e| e.len()) + usize::from(f)
}

#[mcp_tool(module = "equal")]
fn defaulted(
    #[arg(default = 5)] a: i16,
    #[arg(default = "x")] b: String,
    #[arg(default)] c: Vec<u8>,
    #[arg(default = true)] d: bool,
) -> bool {
    d && a > 0 && b.len() + c.len() > 0
}

#[mcp_tool(module = "equal")]
fn patterns(
    #[arg(pattern = "^[a-z]+$")] a: String,
    #[arg(pattern = "b", max_length = 4)] b: Option<String>,
    #[arg(format = "ipv4")] c: Option<String>,
) -> usize {
    a.len() + b.map_or(0, |b| b.len()) + c.map_or(0, |c| c.len())
}

#[mcp_tool(module = "equal")]
fn written(#[arg(schema = json!({ "type": "integer", "maximum": 3, "not": { "const": 2 } }))] number: i32) -> i32 {
    number
}

#[mcp_tool(module = "equal", input_schema = json!({
    "type": "object",
    "properties": { "a": { "type": "integer", "minimum": 2, "maximum": 100 }, "b": { "enum": ["x", "y"] } },
    "required": ["a"],
    "dependentRequired": { "b": ["a"] },
    "additionalProperties": false,
}))]
fn explicit(a: i32, b: Option<String>) -> usize {
    usize::try_from(a).unwrap_or(0) + b.map_or(0, |b| b.len())
}

#[mcp_tool(module = "equal")]
fn flat(#[arg(flatten)] point: Point) -> i32 {
    point.x.wrapping_add(point.y.into())
}

#[mcp_tool(module = "equal")]
fn flat_ranged(#[arg(flatten)] paging: Paging) -> u32 {
    paging.offset.wrapping_add(paging.limit.into())
}

#[mcp_tool(module = "equal", allow_unknown_arguments)]
fn open(a: u8, b: Option<Ranged>) -> u8 {
    a.wrapping_add(b.map_or(0, |b| b.count))
}

#[mcp_tool(module = "equal")]
async fn later(a: Ranged) -> u8 {
    a.count
}
