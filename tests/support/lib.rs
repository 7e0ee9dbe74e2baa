//! Shared by several tests: the worked examples of the source documents, arbitrary JSON, and waiting.

pub mod hooks;
mod wait;

use proptest::prelude::*;
use serde_json::{Map, Number, Value};
pub use wait::{LONG, in_time, run_in_time, wait_for_blocking, wait_until, wait_until_blocking};

/// The worked calls, by file name.
pub const CALLS: [(&str, &str); 4] = [
    ("s0_call", include_str!("../seed/s0_call.json")),
    ("s1_3_1_call", include_str!("../seed/s1_3_1_call.json")),
    ("s4_1_call", include_str!("../seed/s4_1_call.json")),
    ("s4_2_call", include_str!("../seed/s4_2_call.json")),
];

/// The worked results, by file name.
pub const RESULTS: [(&str, &str); 8] = [
    ("s0_result_success", include_str!("../seed/s0_result_success.json")),
    ("s0_result_failure", include_str!("../seed/s0_result_failure.json")),
    ("s1_3_2_result_success", include_str!("../seed/s1_3_2_result_success.json")),
    ("s1_3_2_result_failure", include_str!("../seed/s1_3_2_result_failure.json")),
    ("s1_8_2_result_success", include_str!("../seed/s1_8_2_result_success.json")),
    ("s1_8_2_result_failure", include_str!("../seed/s1_8_2_result_failure.json")),
    ("s4_3_result_success", include_str!("../seed/s4_3_result_success.json")),
    ("s4_4_result_failure", include_str!("../seed/s4_4_result_failure.json")),
];

/// The worked error detail.
pub const ERROR_DETAIL: &str = include_str!("../seed/s0_error_detail.json");

/// Any JSON value, small.
pub fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number).map(Value::Number)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Any JSON object, small.
pub fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((key(), json()), 0..4).prop_map(|entries| entries.into_iter().collect())
}

/// Keys that sometimes coincide with fields of the messages.
pub fn key() -> impl Strategy<Value = String> {
    const FIELDS: &[&str] = &[
        "status",
        "data",
        "error",
        "explanation",
        "content",
        "_meta",
        "structuredContent",
        "isError",
        "resultType",
        "toolResult",
        "callToolResult",
        "tool_name",
        "name",
        "arguments",
        "args",
        "error_type",
        "error_message",
        "error_details",
        "type",
        "text",
        "result",
    ];
    prop_oneof![prop::sample::select(FIELDS).prop_map(str::to_owned), "[a-z]{0,4}"]
}

/// One of these.
pub fn one_of(values: &[Value]) -> impl Strategy<Value = Value> + use<> {
    prop::sample::select(values.to_vec())
}

/// An object that has each of the keys or not, with one of its values.
pub fn fields(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(key, value)| prop::option::weighted(0.8, value).prop_map(move |value| Some((key.to_owned(), value?))))
        .collect();
    fields.prop_map(|entries| Value::Object(entries.into_iter().flatten().collect()))
}
