//! Which values each type takes, and which it does not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroI8, NonZeroU8, NonZeroU64};
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use mcp_core::mcp_tool;
use mcp_core::serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::types::{
    Adjacent, Expression, External, Flattened, FlattenedEnum, FlattenedEnums, FlattenedMap, Internal, Mode, Newtype,
    Node, Page, Point, Region, Settings, Size, Transparent, TupleStruct, TwoFaced, Unit, Untagged, UntaggedObjects,
    Walk, Wide,
};

/// A tool that gives back what it takes, and values for it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) wraps: fn() -> bool,
    /// Taken by the schema and by the tool.
    pub(crate) good: Vec<Value>,
    /// Taken by neither.
    pub(crate) bad: Vec<Value>,
    /// Taken by the tool alone: null for what is optional, which a schema for every host cannot say, and what serde
    /// takes besides.
    pub(crate) tool_only: Vec<Value>,
    /// Taken by the schema alone: integers beyond 64 bits, formats.
    pub(crate) schema_only: Vec<Value>,
}

macro_rules! cases {
    ($($name:ident: $type:ty {
        good: $good:tt, bad: $bad:tt $(, tool_only: $tool_only:tt)? $(, schema_only: $schema_only:tt)?
    })*) => {
        $(#[mcp_tool(module = "golden")]
        fn $name(value: $type) -> $type {
            value
        })*

        pub(crate) fn cases() -> Vec<Case> {
            vec![$(Case {
                name: concat!("golden.", stringify!($name)),
                wraps: mcp_core::schema::wraps::<$type>,
                good: list(json!($good)),
                bad: list(json!($bad)),
                tool_only: Vec::<Vec<Value>>::from([$(list(json!($tool_only)))?]).concat(),
                schema_only: Vec::<Vec<Value>>::from([$(list(json!($schema_only)))?]).concat(),
            }),*]
        }
    };
}

fn list(values: Value) -> Vec<Value> {
    match values {
        Value::Array(values) => values,
        other => panic!("{other} is no list"),
    }
}

cases! {
    int8: i8 { good: [-128, 0, 127, 1.0], bad: [-129, 128, 1.5, "1", null, true, [1], {}] }
    int16: i16 { good: [-32768, 32767], bad: [-32769, 32768, ""] }
    int32: i32 { good: [-2147483648, 2147483647], bad: [-2147483649i64, 2147483648i64, 0.5] }
    int64: i64 {
        good: [(i64::MIN), (i64::MAX), 1.0], bad: ["0", 0.5, null], schema_only: [(u64::MAX)]
    }
    int128: i128 { good: [(i64::MIN), (u64::MAX)], bad: ["0", 0.5] }
    int_size: isize { good: [-1, 1], bad: ["0", 0.5] }
    uint8: u8 { good: [0, 255, 1.0], bad: [-1, 256, 0.5, "1"] }
    uint16: u16 { good: [0, 65535], bad: [-1, 65536] }
    uint32: u32 { good: [0, 4294967295u32], bad: [-1, 4294967296u64] }
    uint64: u64 { good: [0, (u64::MAX)], bad: [-1, 0.5, "1"] }
    uint128: u128 { good: [0, (u64::MAX)], bad: [-1, 0.5] }
    uint_size: usize { good: [0, 1], bad: [-1, 0.5] }
    non_zero_u8: NonZeroU8 { good: [1, 255], bad: [0, 256, -1] }
    non_zero_u64: NonZeroU64 { good: [1, (u64::MAX)], bad: [0, -1] }
    non_zero_i8: NonZeroI8 { good: [-128, 1], bad: [0, 128] }
    float32: f32 { good: [0, 1.5, -1, 1e30], bad: ["1", null, true] }
    float64: f64 { good: [0, 1.5, -1, 1e300], bad: ["1", [], {}] }
    boolean: bool { good: [true, false], bad: [0, "true", null] }
    character: char { good: ["a", "é", "😀"], bad: ["", "ab", 1] }
    string: String { good: ["", "a\nb", "é"], bad: [1, null, ["a"], {}] }
    path: PathBuf { good: ["", "/a/b"], bad: [1, {}] }
    nothing: () { good: [null], bad: [0, {}, [], false] }
    option_int: Option<u8> { good: [0, 255], bad: [256, "1"], tool_only: [null] }
    option_string: Option<String> { good: ["", "a"], bad: [1, []], tool_only: [null] }
    option_nested: Option<Option<bool>> { good: [true], bad: [1], tool_only: [null] }
    option_struct: Option<Point> {
        good: [{"x": 1, "down": 2}, {"x": 1, "down": 2, "a_label": "p"}],
        bad: [{"x": 1}, "p", {"x": 1, "down": 2, "a_label": 3}],
        tool_only: [null, {"x": 1, "down": 2, "a_label": null}]
    }
    option_list: Option<Vec<String>> { good: [[], ["a"]], bad: [[1], "a"], tool_only: [null] }
    option_enum: Option<Mode> { good: ["read_only"], bad: ["", "ReadOnly"], tool_only: [null, {"append": null}] }
    option_untagged: Option<Untagged> { good: [1, "a", {"x": 1, "y": 2}], bad: [true, {}], tool_only: [null] }
    option_any: Option<Value> { good: [1, "a", {}, null], bad: [] }
    vec: Vec<i32> { good: [[], [1, -1]], bad: [1, ["1"], [null], {}] }
    vec_option: Vec<Option<u8>> { good: [[], [1]], bad: [[256], ["a"]], tool_only: [[null, 1]] }
    vec_nested: Vec<Vec<String>> { good: [[], [[]], [["a"]]], bad: [["a"], [[1]]] }
    deque: VecDeque<bool> { good: [[true]], bad: [[1]] }
    array: [u8; 3] { good: [[1, 2, 3]], bad: [[1, 2], [1, 2, 3, 4], [1, 2, 300]] }
    array_empty: [u8; 0] { good: [[]], bad: [[1], 1] }
    tuple: (u8, String, bool) { good: [[1, "a", true]], bad: [[1, "a"], ["a", 1, true], [1, "a", true, 2], {}] }
    hash_set: HashSet<String> { good: [[], ["a", "b"]], bad: [[1], "a"], tool_only: [["a", "a"]] }
    btree_set: BTreeSet<i16> { good: [[], [2, 1]], bad: [["a"], [40000]] }
    hash_map: HashMap<String, u8> { good: [{}, {"a": 1}], bad: [{"a": 256}, [], "a"] }
    btree_map: BTreeMap<String, Vec<bool>> { good: [{}, {"a": [true]}], bad: [{"a": true}] }
    map_option: BTreeMap<String, Option<u8>> { good: [{"a": 1}], bad: [{"a": "1"}], tool_only: [{"a": null}] }
    map_integer: BTreeMap<i32, String> { good: [{"1": "a", "-1": "b"}], bad: [{"a": "a"}, {"1": 1}, {"1.5": "a"}] }
    map_unsigned: HashMap<u64, String> { good: [{"1": "a"}], bad: [{"-1": "a"}] }
    map_enum: BTreeMap<String, Size> { good: [{"a": "medium"}], bad: [{"a": "large"}] }
    duration: Duration {
        good: [{"secs": 1, "nanos": 0}], bad: [{"secs": 1}, {"secs": -1, "nanos": 0}, "1s", 1], tool_only: [[1, 0]]
    }
    system_time: SystemTime {
        good: [{"secs_since_epoch": 1, "nanos_since_epoch": 0}], bad: [{"secs_since_epoch": 1}, "now"]
    }
    ip: IpAddr { good: ["127.0.0.1", "::1"], bad: [1], schema_only: ["localhost"] }
    ipv4: Ipv4Addr { good: ["127.0.0.1"], bad: [[127, 0, 0, 1]], schema_only: ["::1"] }
    socket: SocketAddr { good: ["127.0.0.1:80"], bad: [80], schema_only: ["a"] }
    structure: Point {
        good: [{"x": 1, "down": 2}, {"x": 1, "down": 2, "a_label": "p"}, {"x": 1, "down": 2, "more": 3}],
        bad: [{}, {"x": 1}, {"x": "1", "down": 2}, null],
        tool_only: [{"x": 1, "down": 2, "a_label": null}, [1, 2, null]]
    }
    nested: Region {
        good: [
            {"topLeft": {"x": 1, "down": 2}, "innerMarks": [], "byName": {}},
            {"topLeft": {"x": 1, "down": 2}, "bottomRight": {"x": 3, "down": 4}, "openMode": "append",
                "innerMarks": [{"x": 1, "down": 2}], "byName": {"a": 1}}
        ],
        bad: [
            {"topLeft": {"x": 1}, "innerMarks": [], "byName": {}},
            {"topLeft": {"x": 1, "down": 2}, "innerMarks": [], "byName": {}, "more": 1},
            {"topLeft": {"x": 1, "down": 2}, "innerMarks": [], "byName": {}, "openMode": "a"}
        ],
        tool_only: [
            {"topLeft": {"x": 1, "down": 2}, "bottomRight": null, "openMode": null, "innerMarks": [null], "byName": {"a": null}}
        ]
    }
    defaults: Settings {
        good: [{}, {"zeta": 1, "alpha": "a", "mode": "append", "nested": {"left_out": 1, "list": ["a"]}}, {"nested": {}}],
        bad: [{"zeta": 256}, {"mode": "a"}, {"nested": {"list": [1]}}],
        tool_only: [{"alpha": null}]
    }
    recursive: Node {
        good: [{"name": "a"}, {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}],
            "parent": {"name": "d", "parent": {"name": "e"}}}],
        bad: [{"name": "a", "children": [{}]}, {"name": "a", "children": [{"name": "b", "children": [{"name": 1}]}]}],
        tool_only: [{"name": "a", "parent": null}]
    }
    recursive_list: Vec<Node> { good: [[], [{"name": "a", "children": [{"name": "b"}]}]], bad: [[{"name": 1}]] }
    recursive_two: Expression {
        good: [{"Number": 1}, {"Call": {"function": "f", "arguments": [{"Call": {"function": "g", "arguments": []}}]}}],
        bad: ["Number", {"Call": {"function": "f", "arguments": [1]}}, {}]
    }
    wide: Wide {
        good: [{}, {"first": {"first": {"second": {"first": {}}}}}],
        bad: [{"first": 1}, {"first": {"first": {"second": 1}}}],
        tool_only: [{"first": null}]
    }
    enum_unit: Size { good: ["extra-small", "medium"], bad: ["Medium", "", 1, null], tool_only: [{"medium": null}] }
    enum_documented: Mode { good: ["read_only", "read_write", "append"], bad: ["ReadOnly", 1, {}] }
    enum_mixed: Walk {
        good: ["depth_first", "breadth_first", "unordered", "post_order"], bad: ["DepthFirst", 1], tool_only: ["any"]
    }
    enum_mixed_within: HashMap<String, Option<Vec<Walk>>> { good: [{"a": ["unordered"]}], bad: [{"a": [1]}] }
    enum_external: External {
        good: ["Nothing", {"One": 1}, {"Two": [1, "a"]}, {"Fields": {"flag": true}}, {"Fields": {"flag": true, "note": "n"}}],
        bad: ["One", {"One": "a"}, {"Two": [1]}, {"Fields": {}}, {"One": 1, "Two": [1, "a"]}, {}],
        tool_only: [{"Fields": {"flag": true, "note": null}}]
    }
    enum_internal: Internal {
        good: [{"kind": "circle", "radius": 1.5}, {"kind": "place", "x": 1, "down": 2}, {"kind": "nothing"}],
        bad: [{"kind": "circle"}, {"kind": "square"}, {}, "nothing", {"radius": 1}]
    }
    enum_adjacent: Adjacent {
        good: [{"t": "Text", "c": "a"}, {"t": "Pair", "c": [1, 2]}, {"t": "Fields", "c": {"flag": true}}, {"t": "Nothing"}],
        bad: [{"t": "Text"}, {"t": "Pair", "c": [1]}, {"c": "a"}, "Nothing"]
    }
    enum_untagged: Untagged { good: [1, "a", {"x": 1, "y": 2}], bad: [true, {"x": 1}, []] }
    enum_untagged_objects: UntaggedObjects { good: [{"x": 1, "y": 2}, {"name": "a"}], bad: [{}, {"x": 1}, 1] }
    enum_list: Vec<Mode> { good: [["append"]], bad: [["a"]] }
    flatten: Flattened {
        good: [{"query": "a", "limit": 1}, {"query": "a", "limit": 100, "offset": 5}],
        bad: [{"query": "a"}, {"limit": 1}, {"query": "a", "limit": 1, "offset": -1}]
    }
    flatten_map: FlattenedMap { good: [{"query": "a"}, {"query": "a", "more": [1]}], bad: [{}, {"query": 1}] }
    flatten_enums: FlattenedEnums {
        good: [{"kind": "nothing", "name": "a"}, {"kind": "circle", "radius": 1, "x": 1, "y": 2}],
        bad: [{"kind": "nothing"}, {"name": "a"}, {"kind": "circle", "name": "a"}]
    }
    flatten_enum: FlattenedEnum {
        good: [{"name": "a", "kind": "nothing"}, {"name": "a", "kind": "circle", "radius": 1}],
        bad: [{"name": "a"}, {"kind": "nothing"}, {"name": "a", "kind": "circle"}]
    }
    generic: Page<Point> {
        good: [{"items": []}, {"items": [{"x": 1, "down": 2}], "next": 2}], bad: [{}, {"items": [1]}],
        tool_only: [{"items": [], "next": null}]
    }
    generic_twice: (Page<u8>, Page<String>) {
        good: [[{"items": [1]}, {"items": ["a"]}]], bad: [[{"items": ["a"]}, {"items": ["a"]}]]
    }
    boxed: Box<Point> { good: [{"x": 1, "down": 2}], bad: [{}] }
    boxed_option: Box<Option<u8>> { good: [1], bad: ["a"], tool_only: [null] }
    arc: Arc<Point> { good: [{"x": 1, "down": 2}], bad: [{}] }
    rc: Rc<str> { good: ["a"], bad: [1] }
    range: Range<u8> { good: [{"start": 1, "end": 2}], bad: [{"start": 1}, {"start": 1, "end": 256}] }
    cow: Cow<'static, str> { good: ["a"], bad: [1] }
    any: Value { good: [null, true, 1, 1.5, "a", [1, null], {"a": null}], bad: [] }
    any_map: Map<String, Value> { good: [{}, {"a": null}], bad: [[], 1] }
    any_list: Vec<Value> { good: [[], [1, "a", null]], bad: [{}] }
    newtype: Newtype { good: [0, 65535], bad: [-1, 65536, [1]] }
    transparent: Transparent { good: ["a"], bad: [1], tool_only: [null] }
    unit: Unit { good: [null], bad: [{}, 0] }
    tuple_struct: TupleStruct { good: [[1, "a"]], bad: [[1], [1, 2]] }
    two_faced: TwoFaced {
        good: [{"in": "a"}, {"in": "a", "maybe": 1, "always": 2}], bad: [{"out": "a"}, {"in": 1}],
        tool_only: [{"in": "a", "maybe": null, "always": null}]
    }
    chrono_date: NaiveDate { good: ["2024-02-29"], bad: [1], schema_only: ["2023-02-29"] }
    chrono_date_time: DateTime<Utc> { good: ["2024-02-29T12:00:00Z"], bad: [1], schema_only: ["yesterday"] }
    chrono_local: NaiveDateTime { good: ["2024-02-29T12:00:00"], bad: [1], schema_only: ["yesterday"] }
    chrono_time: NaiveTime { good: ["12:00:00"], bad: [1], schema_only: ["noon"] }
    uuid_id: Uuid { good: ["67e55044-10b1-426f-9247-bb680e5fe0c8"], bad: [1], schema_only: ["67e5"] }
    url_link: Url { good: ["https://example.com/a?b#c"], bad: [1], schema_only: ["example"] }
}
