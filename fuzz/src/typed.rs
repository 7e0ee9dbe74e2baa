//! Tools of many signatures. Each notes what it was called with, and has a struct of the same shape for serde.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroI8, NonZeroU8, NonZeroU64};
use std::path::PathBuf;
use std::sync::Mutex;

use mcp_registry::mcp_tool;
use mcp_registry::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the last call ran with, on whichever thread.
static RAN: Mutex<Option<Value>> = Mutex::new(None);

/// What the last call ran with, once.
pub(crate) fn ran() -> Option<Value> {
    RAN.lock().expect("nothing panics").take()
}

fn note(arguments: impl Serialize) -> bool {
    let arguments = serde_json::to_value(arguments).expect("arguments become JSON");
    *RAN.lock().expect("nothing panics") = Some(arguments);
    true
}

/// A tool, as the target knows it.
pub(crate) struct Typed {
    pub(crate) name: &'static str,
    /// Reads the arguments as serde does.
    pub(crate) read: fn(&str) -> Option<Value>,
}

fn read_as<T: for<'de> Deserialize<'de> + Serialize>(text: &str) -> Option<Value> {
    // serde would take a list for the struct.
    let value: T = serde_json::from_str(text).ok().filter(|_| text.trim_start().starts_with('{'))?;
    serde_json::to_value(value).ok()
}

macro_rules! tools {
    ($($(#[$tool:meta])* $name:ident($($(#[$serde:meta])* $param:ident: $type:ty $(= [$($arg:tt)*])?),*);)*) => {
        $(mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub(super) struct Arguments {
                $($(#[$serde])* pub(super) $param: $type,)*
            }

            /// Notes its arguments.
            #[mcp_tool(module = "typed", inline)]
            fn $name($($(#[arg($($arg)*)])? $param: $type),*) -> bool {
                note(Arguments { $($param),* })
            }
        })*

        /// The tools whose arguments are their parameters.
        const TOOLS: &[Typed] = &[
            $(Typed {
                name: concat!("typed.", stringify!($name)),
                read: read_as::<$name::Arguments>,
            },)*
        ];
    };
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Point {
    x: i32,
    y: u8,
    label: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    name: String,
    #[serde(default)]
    points: Vec<Point>,
    corner: Option<Box<Point>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum External {
    Nothing,
    One(u8),
    Two(u8, String),
    Fields { flag: bool, count: NonZeroU8 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    Circle { radius: u8 },
    Place(Point),
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Text(String),
    Number(i8),
    Fields { flag: bool },
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    Point { x: i32, y: i32 },
    List(Vec<Untagged>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    #[schemars(range(max = 9))]
    size: u8,
    #[serde(default)]
    children: Vec<Tree>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Ranged {
    #[schemars(range(min = 1, max = 100))]
    count: u8,
    #[schemars(range(min = -0.5, max = 0.5))]
    ratio: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Matching {
    #[schemars(regex(pattern = "^[a-c]+$"), length(max = 4))]
    text: String,
    #[schemars(length(min = 1, max = 3))]
    words: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Demanding {
    #[schemars(required)]
    wanted: Option<u8>,
    #[schemars(extend("multipleOf" = 5))]
    fives: Option<u32>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum RangedVariant {
    Small {
        #[schemars(range(max = 9))]
        size: u8,
    },
    Large {
        #[schemars(range(min = 10))]
        size: u32,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Paging {
    #[serde(default)]
    offset: u32,
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Flattened {
    query: String,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Newtype(u16);

#[derive(Serialize, Deserialize, JsonSchema)]
struct TupleStruct(u8, String);

#[derive(Serialize, Deserialize, JsonSchema)]
struct Empty {}

fn four() -> u8 {
    4
}

fn five() -> i16 {
    5
}

fn text() -> String {
    "x".to_owned()
}

tools! {
    unsigned(a: u8, b: u16, c: u32, d: u64, e: usize);
    signed(a: i8, b: i16, c: i32, d: i64, e: isize);
    floats(a: f32, b: f64);
    non_zero(a: NonZeroU8, b: NonZeroI8, c: NonZeroU64);
    optional(a: Option<u8>, b: Option<String>, c: Option<bool>, d: Option<Point>);
    texts(a: String, b: char, c: PathBuf, d: bool);
    lists(a: Vec<u8>, b: Vec<String>, c: Vec<Vec<bool>>);
    optional_items(a: Vec<Option<i8>>, b: BTreeMap<String, Option<u16>>);
    tuples(a: (u8, String), b: (bool,), c: [u8; 2]);
    sets(a: BTreeSet<u8>, b: BTreeSet<String>);
    maps(a: BTreeMap<String, u8>, b: BTreeMap<String, Vec<String>>);
    any(value: Value);
    point(point: Point, other: Option<Point>);
    strict(strict: Strict);
    color(color: Color, more: Option<Vec<Color>>);
    external(value: External);
    internal(value: Internal);
    adjacent(value: Adjacent);
    untagged(value: Untagged);
    tree(tree: Tree);
    ranged(ranged: Ranged, list: Option<Vec<Ranged>>, map: Option<BTreeMap<String, Ranged>>);
    matching(matching: Matching);
    demanding(demanding: Demanding);
    ranged_variant(value: RangedVariant);
    flattened(value: Flattened);
    newtypes(a: Newtype, b: TupleStruct, c: Empty);
    nothing();
    constrained(
        a: u32 = [min = 1, max = 10],
        b: f64 = [min = 0.5],
        c: String = [min_length = 2, max_length = 3],
        d: Vec<String> = [min_items = 1, max_items = 2],
        e: Option<String> = [one_of("a", "b")],
        #[serde(default = "four")]
        f: u8 = [default = 4, max = 7]
    );
    defaulted(
        #[serde(default = "five")]
        a: i16 = [default = 5],
        #[serde(default = "text")]
        b: String = [default = "x"],
        #[serde(default)]
        c: Vec<u8> = [default],
        #[serde(default)]
        d: Option<Point>
    );
    patterns(
        a: String = [pattern = "^[a-z]+$"],
        b: Option<String> = [pattern = "b", max_length = 4],
        c: Option<String> = [format = "ipv4"],
        d: Option<Point>
    );
    written(number: i32 = [schema = json!({ "type": "integer", "maximum": 3, "not": { "const": 2 } })], point: Option<Point>);
}

/// Has a schema written by hand.
#[mcp_tool(module = "typed", inline, input_schema = json!({
    "type": "object",
    "properties": { "a": { "type": "integer", "minimum": 2, "maximum": 100 }, "b": { "enum": ["x", "y"] }, "c": true },
    "required": ["a"],
    "dependentRequired": { "b": ["a"] },
    "additionalProperties": false,
}))]
fn explicit(a: i32, b: Option<String>, c: Option<Point>) -> bool {
    note(Explicit { a, b, c })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Explicit {
    a: i32,
    b: Option<String>,
    c: Option<Point>,
}

/// Takes a struct for its arguments.
#[mcp_tool(module = "typed", inline)]
fn flat(#[arg(flatten)] point: Point) -> bool {
    note(point)
}

/// Takes a struct with a range for its arguments.
#[mcp_tool(module = "typed", inline)]
fn flat_ranged(#[arg(flatten)] paging: Paging) -> bool {
    note(paging)
}

/// Takes what it does not know.
#[mcp_tool(module = "typed", inline, allow_unknown_arguments)]
fn open(a: u8, b: Option<Ranged>) -> bool {
    note(Open { a, b })
}

#[derive(Serialize, Deserialize)]
struct Open {
    a: u8,
    b: Option<Ranged>,
}

const OTHERS: [Typed; 4] = [
    Typed { name: "typed.explicit", read: read_as::<Explicit> },
    Typed { name: "typed.flat", read: read_as::<Point> },
    Typed { name: "typed.flat_ranged", read: read_as::<Paging> },
    Typed { name: "typed.open", read: read_as::<Open> },
];

/// All tools.
pub(crate) fn all() -> impl Iterator<Item = &'static Typed> {
    TOOLS.iter().chain(&OTHERS)
}
