//! Types as people write them.

use std::collections::HashMap;

use mcp_core::schemars::{self, JsonSchema};
use mcp_core::serde_json::Value;
use serde::{Deserialize, Serialize};

/// A size without words for its variants.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Size {
    ExtraSmall,
    Medium,
}

/// How a file is opened.
#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Only for
    /// reading.
    #[default]
    ReadOnly,
    /// For reading and writing.
    ReadWrite,
    Append,
}

/// How a tree is walked. Its variants with words stand between those without.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Walk {
    DepthFirst,
    /// Level by level.
    BreadthFirst,
    #[serde(alias = "any")]
    Unordered,
    /// From the leaves up.
    PostOrder,
}

/// Where something is. Its fields are not in alphabetical order.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Point {
    /// To the right.
    pub(crate) x: i32,
    /// Upwards.
    pub(crate) down: i32,
    pub(crate) a_label: Option<String>,
}

/// A box of places.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Region {
    /// The corner.
    top_left: Point,
    bottom_right: Option<Point>,
    /// How it is opened.
    open_mode: Option<Mode>,
    inner_marks: Vec<Option<Point>>,
    by_name: HashMap<String, Option<u16>>,
}

/// Fields with defaults.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    zeta: u8,
    alpha: Option<String>,
    /// What to do.
    mode: Mode,
    nested: Inner,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
pub(crate) struct Inner {
    left_out: Option<u8>,
    #[serde(default)]
    list: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { zeta: 7, alpha: None, mode: Mode::ReadWrite, nested: Inner::default() }
    }
}

/// A tree.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Node {
    name: String,
    #[serde(default)]
    children: Vec<Node>,
    parent: Option<Box<Node>>,
}

/// Two types that need each other.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum Expression {
    Number(f64),
    Call(Box<Call>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Call {
    function: String,
    arguments: Vec<Expression>,
}

/// Named outside.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum External {
    Nothing,
    /// One value.
    One(u8),
    Two(u8, String),
    Fields {
        /// A flag.
        flag: bool,
        note: Option<String>,
    },
}

/// Named inside.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Internal {
    /// Round.
    Circle {
        radius: f32,
    },
    Place(Point),
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub(crate) enum Adjacent {
    Text(String),
    Pair(u8, u8),
    Fields { flag: bool },
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(i64),
    Text(String),
    Point { x: i32, y: i32 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UntaggedObjects {
    Point { x: i32, y: i32 },
    Named { name: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Paging {
    /// From which on.
    #[serde(default)]
    offset: u32,
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flattened {
    /// What is looked for.
    query: String,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedMap {
    query: String,
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedEnum {
    name: String,
    #[serde(flatten)]
    shape: Internal,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedEnums {
    #[serde(flatten)]
    shape: Internal,
    #[serde(flatten)]
    object: UntaggedObjects,
}

/// The part of an answer that is wanted.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Part {
    /// How many there are.
    count: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Middle {
    depth: Option<u8>,
    #[serde(flatten)]
    part: Part,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedTwice {
    query: String,
    #[serde(flatten)]
    middle: Middle,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What is looked for.
    #[schemars(length(min = 1))]
    query: String,
    #[serde(rename = "max-hits", default = "ten")]
    max_hits: u16,
    within: Option<Box<Search>>,
}

fn ten() -> u16 {
    10
}

/// A page of things.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Page<T> {
    items: Vec<T>,
    next: Option<u64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Newtype(u16);

/// A name.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Transparent {
    inner: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Unit;

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TupleStruct(u8, String);

/// Serialised otherwise than read.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TwoFaced {
    #[serde(rename(serialize = "out", deserialize = "in"))]
    way: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe: Option<u8>,
    always: Option<u8>,
    #[serde(skip_deserializing, default)]
    computed: u8,
}

macro_rules! wide {
    ($($name:ident: $inner:ty;)*) => {$(
        /// One of many levels, each of which has the next one twice, with words that make it long.
        #[derive(Serialize, Deserialize, JsonSchema)]
        pub(crate) struct $name {
            /// The first of two, which are the same.
            first: Option<$inner>,
            /// The second of two, which are the same.
            second: Option<$inner>,
        }
    )*};
}

wide! {
    Wide: Wide1;
    Wide1: Wide2;
    Wide2: Wide3;
    Wide3: Wide4;
    Wide4: Wide5;
    Wide5: Wide6;
    Wide6: String;
}
