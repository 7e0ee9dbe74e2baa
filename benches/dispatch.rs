//! One call from argument bytes to result bytes, or from a JSON-RPC message to its answer, through the registry and by
//! hand, for callgrind to count:
//!
//! `dispatch registry add 1000` or `dispatch hand add 1000`; `.ci/instructions` compares the two.
//!
//! `dispatch checked add 1000` also checks each result against the output schema, and `dispatch sampled add 1000` every
//! hundredth one; `rows` returns 500 rows. `dispatch registry list 1000` lists a thousand tools for the first time.

use std::hint::black_box;
use std::time::Instant;

use mcp_registry::entry::ToolEntry;
use mcp_registry::error::Origin;
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::{CallOptions, Registry, Server, mcp_tool};
use serde::{Deserialize, Serialize};

/// Adds two numbers.
#[mcp_tool(module = "calc", inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers.
#[mcp_tool(module = "calc")]
#[allow(clippy::unused_async, reason = "this is what it costs")]
async fn add_async(a: i64, b: i64) -> i64 {
    a + b
}

/// Joins texts.
#[mcp_tool(module = "calc", inline)]
fn join(left: &str, right: &str, times: u32) -> String {
    format!("{left}{right}{times}")
}

/// A row of a table.
#[derive(Serialize, JsonSchema)]
struct Row {
    id: u64,
    name: String,
    price: f64,
    tags: Vec<String>,
}

/// Returns the rows of a table.
#[mcp_tool(module = "calc", inline)]
fn rows(count: u64) -> Vec<Row> {
    let row = |id| Row { id, name: format!("row {id}"), price: 9.5, tags: vec!["new".to_owned(), "cheap".to_owned()] };
    (0..count).map(row).collect()
}

/// The same, written without the registry.
mod by_hand {
    use super::{Deserialize, Serialize};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Add {
        a: i64,
        b: i64,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Join {
        left: String,
        right: String,
        times: u32,
    }

    #[derive(Serialize)]
    struct Answer<T> {
        status: &'static str,
        data: Data<T>,
        error: Option<()>,
        explanation: Option<()>,
    }

    #[derive(Serialize)]
    struct Data<T> {
        result: T,
    }

    fn answer<T: Serialize>(result: T, out: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(out, &Answer { status: "success", data: Data { result }, error: None, explanation: None })
    }

    #[derive(Deserialize)]
    struct Message<'a> {
        jsonrpc: &'a str,
        id: u64,
        method: &'a str,
        #[serde(borrow)]
        params: Params<'a>,
    }

    #[derive(Deserialize)]
    struct Params<'a> {
        name: &'a str,
        #[serde(borrow)]
        arguments: &'a serde_json::value::RawValue,
    }

    #[derive(Serialize)]
    struct Response {
        jsonrpc: &'static str,
        id: u64,
        result: CallResult,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CallResult {
        content: [Text; 1],
        structured_content: Data<i64>,
        is_error: bool,
    }

    #[derive(Serialize)]
    struct Text {
        r#type: &'static str,
        text: String,
    }

    pub(super) fn answer_rpc(message: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
        let Message { jsonrpc, id, method, params } = serde_json::from_slice(message)?;
        if (jsonrpc, method) != ("2.0", "tools/call") {
            return Err(serde::de::Error::custom("no such method"));
        }
        let result = match params.name {
            "calc_add" => {
                let Add { a, b } = serde_json::from_str(params.arguments.get())?;
                super::add(a, b)
            }
            _ => return Err(serde::de::Error::custom("no such tool")),
        };
        let content = [Text { r#type: "text", text: result.to_string() }];
        let result = CallResult { content, structured_content: Data { result }, is_error: false };
        serde_json::to_writer(out, &Response { jsonrpc: "2.0", id, result })
    }

    pub(super) fn call(name: &str, arguments: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
        match name {
            "calc.add" => {
                let Add { a, b } = serde_json::from_slice(arguments)?;
                answer(super::add(a, b), out)
            }
            "calc.join" => {
                let Join { left, right, times } = serde_json::from_slice(arguments)?;
                answer(super::join(&left, &right, times), out)
            }
            _ => Err(serde::de::Error::custom("no such tool")),
        }
    }
}

/// A way to make a call.
type Way<'a> = &'a dyn Fn(&str, &[u8], &mut Vec<u8>);

/// The part that is counted.
#[inline(never)]
fn counted(call: Way<'_>, name: &str, arguments: &[u8], times: usize, out: &mut Vec<u8>) {
    for _ in 0..times {
        out.clear();
        call(black_box(name), black_box(arguments), out);
    }
}

const MESSAGE: &[u8] =
    br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"calc_add","arguments":{"a":20,"b":22}}}"#;

const ASYNC_MESSAGE: &[u8] =
    br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"calc_add_async","arguments":{"a":20,"b":22}}}"#;

/// A message and its answer.
fn rpc(way: &str, is_async: bool, registry: Registry, times: usize) {
    let (server, peer) = (Server::new(registry), Peer::new());
    // As on the thread of a server that reads the messages.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let _entered = runtime.enter();
    let by_registry = |_: &str, message: &[u8], out: &mut Vec<u8>| {
        assert!(server.begin(message, &peer, out).is_none(), "it is answered at once");
    };
    let message = if is_async && way == "registry" { ASYNC_MESSAGE } else { MESSAGE };
    // The server assumes that a tool blocks until a call of it was quick.
    for pending in (0..9).filter_map(|_| server.begin(message, &peer, &mut Vec::new())) {
        mcp_registry::testing::block_on(pending).expect("a call is answered");
    }
    let by_hand =
        |_: &str, message: &[u8], out: &mut Vec<u8>| by_hand::answer_rpc(message, out).expect("the call fits");
    let call: Way<'_> = if way == "registry" { &by_registry } else { &by_hand };
    let mut out = Vec::with_capacity(1024);
    call("", message, &mut out);
    let answer: serde_json::Value = serde_json::from_slice(&out).expect("an answer is JSON");
    assert_eq!(answer["result"]["structuredContent"]["result"], 42, "{answer}");
    counted(call, "", message, times, &mut out);
}

/// The first list of many tools, some with plain parameters and some with types of their own.
fn list(tools: usize) {
    let like = mcp_registry::tools![add, join, rows];
    let entry = |n: usize| -> &'static ToolEntry {
        let name: &'static str = Box::leak(format!("module_{}.tool_number_{n}", n % 100).into_boxed_str());
        let (like, origin) = (like[n % 3], Origin::new("bench", "1.0.0", "bench", name, file!(), line!()));
        let entry = ToolEntry::new(name, origin, like.call).params(like.params).output(like.output);
        Box::leak(Box::new(entry.inline(true).description(like.description)))
    };
    let registry = Registry::builder_of((0..tools).map(entry)).build().expect("the tools fit together");
    let (server, peer) = (Server::new(registry), Peer::new());
    let first = |_: &str, message: &[u8], out: &mut Vec<u8>| {
        assert!(server.begin(message, &peer, out).is_none(), "it is answered at once");
    };
    let mut out = Vec::new();
    let start = Instant::now();
    counted(&first, "", br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 1, &mut out);
    println!("{:?}", start.elapsed());
    let answer: serde_json::Value = serde_json::from_slice(&out).expect("an answer is JSON");
    assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(tools));
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let [way, tool, times] = asked.as_slice() else {
        panic!("say `registry`, `checked`, `sampled` or `hand`, `add`, `join`, `rows`, `rpc` or `list`, and how often")
    };
    let times = times.parse().expect("how often is a number");
    if tool == "list" {
        return list(times);
    }
    let (name, arguments, answer): (&str, &[u8], &[u8]) = match tool.as_str() {
        "add" => ("calc.add", br#"{"a":20,"b":22}"#, br#"{"result":42}"#),
        "rows" => ("calc.rows", br#"{"count":500}"#, b""),
        _ => (
            "calc.join",
            br#"{"left":"some text","right":"and more","times":3}"#,
            br#"{"result":"some textand more3"}"#,
        ),
    };
    let check = match way.as_str() {
        "checked" => OutputCheck::Always,
        "sampled" => OutputCheck::Sample(100),
        _ => OutputCheck::Never,
    };
    let registry = Registry::builder().check_output(check).build().expect("the tools fit together");
    if tool.starts_with("rpc") {
        return rpc(way, tool == "rpc-async", registry, times);
    }
    let options = CallOptions::new();
    let by_registry = |name: &str, arguments: &[u8], out: &mut Vec<u8>| {
        registry.call_bytes_blocking(name, arguments, &options, out).expect("the call fits");
    };
    let by_hand = |name: &str, arguments: &[u8], out: &mut Vec<u8>| {
        by_hand::call(name, arguments, out).expect("the call fits");
    };
    let call: Way<'_> = if way == "hand" { &by_hand } else { &by_registry };
    let mut out = Vec::with_capacity(1024);
    call(name, arguments, &mut out);
    let expected = [br#"{"status":"success","data":"#, answer].concat();
    assert!(out.starts_with(&expected), "{}", String::from_utf8_lossy(&out));
    assert!(out.ends_with(br#","error":null,"explanation":null}"#), "{}", String::from_utf8_lossy(&out));
    counted(call, name, arguments, times, &mut out);
}
