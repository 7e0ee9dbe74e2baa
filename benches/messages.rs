//! Reading and checking a message, from bytes: the worked examples of the usage document.
//!
//! `cargo bench -p mcp-benches --bench messages`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_core::mcp::CallToolResult;
use mcp_core::message::Strictness;
use mcp_core::rpc::RpcMessage;
use mcp_core::serde_json::{self, Value};
use mcp_core::{ToolCall, ToolResult};

const CALL: &[u8] = include_bytes!("../tests/seed/s4_2_call.json");
const SUCCESS: &[u8] = include_bytes!("../tests/seed/s4_3_result_success.json");
const FAILURE: &[u8] = include_bytes!("../tests/seed/s4_4_result_failure.json");
const REQUEST: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calc_add","arguments":{"a":1,"b":2}}}"#;

fn messages(criterion: &mut Criterion) {
    let mut bench = |name: &str, routine: &dyn Fn() -> bool| {
        criterion.bench_function(name, |b| b.iter(routine));
    };
    let value = |json: &[u8]| serde_json::from_slice::<Value>(black_box(json)).is_ok();
    let result = |json: &[u8]| ToolResult::parse_with(black_box(json), Strictness::Strict).is_ok();
    bench("call/checked", &|| ToolCall::parse_with(black_box(CALL), Strictness::Strict).is_ok());
    bench("call/serde_json value", &|| value(CALL));
    bench("success/checked", &|| result(SUCCESS));
    bench("success/serde_json value", &|| value(SUCCESS));
    bench("failure/checked", &|| result(FAILURE));
    bench("failure/serde_json value", &|| value(FAILURE));
    bench("rpc request/borrowed", &|| RpcMessage::parse(black_box(REQUEST)).is_ok());
    let success = ToolResult::parse(SUCCESS).expect("a worked example");
    bench("success/to mcp", &|| CallToolResult::from(black_box(&success).clone()).is_error);
}

criterion_group!(benches, messages);
criterion_main!(benches);
