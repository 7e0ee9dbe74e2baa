//! One call from argument bytes to result bytes, or from a JSON-RPC message to its answer, through the registry and by
//! hand, for callgrind to count:
//!
//! `dispatch registry add 1000` or `dispatch hand add 1000`; `.ci/instructions` compares the two.

use std::hint::black_box;

use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
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

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let [way, tool, times] = asked.as_slice() else {
        panic!("say `registry` or `hand`, `add`, `join` or `rpc`, and how often")
    };
    let times = times.parse().expect("how often is a number");
    let (name, arguments, answer): (&str, &[u8], &[u8]) = match tool.as_str() {
        "add" => ("calc.add", br#"{"a":20,"b":22}"#, br#"{"result":42}"#),
        _ => (
            "calc.join",
            br#"{"left":"some text","right":"and more","times":3}"#,
            br#"{"result":"some textand more3"}"#,
        ),
    };
    let registry = Registry::builder().check_output(OutputCheck::Never).build().expect("the tools fit together");
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
    let call: Way<'_> = if way == "registry" { &by_registry } else { &by_hand };
    let mut out = Vec::with_capacity(1024);
    call(name, arguments, &mut out);
    let expected = [br#"{"status":"success","data":"#, answer, br#","error":null,"explanation":null}"#].concat();
    assert_eq!(out, expected, "{}", String::from_utf8_lossy(&out));
    counted(call, name, arguments, times, &mut out);
}
