//! Results that are empty or large, on every path to the caller.

use mcp_registry::error::ResultTooLargeError;
use mcp_registry::layer::{Layer, Next};
use mcp_registry::mcp::{CallToolResult, ProtocolVersion};
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::testing::Client;
use mcp_registry::{
    CallOptions, Content, Error, Json, Registry, RegistryBuilder, Server, Tool, ToolCall, ToolContext, ToolError,
    ToolResult, mcp_tool, schemars, tools,
};
use serde_json::{Value, json};

use crate::block_on;

const MIB: usize = 1024 * 1024;

/// Quotes, each of which is two bytes of JSON.
#[mcp_tool(module = "large")]
fn quotes(limit: usize) -> String {
    "\"".repeat(limit)
}

/// Quotes at once.
#[mcp_tool(module = "large", inline)]
fn quotes_now(limit: usize) -> String {
    "\"".repeat(limit)
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Page {
    items: Vec<String>,
}

/// Quotes in chunks of up to 1000, each of which is two bytes of JSON and four in a text.
#[mcp_tool(module = "large", inline)]
fn page(count: usize) -> Page {
    Page { items: chunks(count) }
}

/// Chunks of quotes, without a schema.
#[mcp_tool(module = "large")]
fn free(n: usize) -> Json<Vec<String>> {
    Json(chunks(n))
}

fn chunks(quotes: usize) -> Vec<String> {
    vec!["\"".repeat(quotes.min(1000)); quotes.div_ceil(1000)]
}

/// A text block.
#[mcp_tool(module = "large")]
fn block(n: usize) -> Content {
    Content::text("\"".repeat(n))
}

/// A whole result.
#[mcp_tool(module = "large")]
async fn whole(n: usize) -> ToolResult {
    ToolResult::data(json!({ "n": n })).text("\"".repeat(n))
}

/// At most 100 bytes.
#[mcp_tool(module = "large", max_result = 100)]
fn small(n: usize) -> String {
    "a".repeat(n)
}

/// Nothing.
#[mcp_tool(module = "large")]
fn nothing() {}

/// Nothing, at once.
#[mcp_tool(module = "large", inline)]
fn nothing_now() {}

/// No blocks.
#[mcp_tool(module = "large")]
fn no_blocks() -> Vec<Content> {
    Vec::new()
}

fn long_error(n: usize) -> ToolError {
    ToolError::new("Long", "é".repeat(n / 2)).details(json!({ "rows": ["a".repeat(n)] }))
}

/// Fails at length.
#[mcp_tool(module = "large")]
fn fail(n: usize) -> Result<u8, ToolError> {
    Err(long_error(n))
}

/// Fails at length, at once.
#[mcp_tool(module = "large", inline)]
fn fail_now(n: usize) -> Result<u8, ToolError> {
    Err(long_error(n))
}

/// Fails at length, later.
#[mcp_tool(module = "large")]
async fn fail_later(n: usize) -> Result<u8, ToolError> {
    Err(long_error(n))
}

/// Fails with what its value says.
#[mcp_tool(module = "large")]
fn fail_to_serialize(n: usize) -> Json<Unwritable> {
    Json(Unwritable(n))
}

struct Unwritable(usize);

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a".repeat(self.0)))
    }
}

fn failing_made() -> Tool {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    Tool::new("large.fail_made", schema, |_, args: Value| async move {
        Err::<String, _>(long_error(args["n"].as_u64().unwrap().try_into().unwrap()))
    })
}

fn made() -> Tool {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    Tool::new("large.made", schema, |_, args: Value| async move {
        "\"".repeat(args["n"].as_u64().unwrap().try_into().unwrap())
    })
}

fn builder() -> RegistryBuilder {
    Registry::builder_of(tools![quotes, quotes_now, page, free, block, whole, small, nothing, nothing_now, no_blocks])
        .tool(made())
        .check_output(OutputCheck::Never)
}

fn registry() -> Registry {
    builder().build().unwrap()
}

/// The tools, each with the name of its argument.
const TOOLS: [(&str, &str); 7] = [
    ("large.quotes", "limit"),
    ("large.quotes_now", "limit"),
    ("large.page", "count"),
    ("large.free", "n"),
    ("large.block", "n"),
    ("large.whole", "n"),
    ("large.made", "n"),
];

fn too_large(error: Error) -> ResultTooLargeError {
    match error {
        Error::ResultTooLarge(error) => error,
        error => panic!("{error}"),
    }
}

/// The answer of a server to each form of a call.
fn answers(registry: &Registry, name: &str, arguments: &Value) -> Vec<String> {
    let rpc = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let messages = [
        rpc("tools/call", json!({ "name": name, "arguments": arguments, "_meta": crate::meta() })),
        rpc("tools/call", json!({ "name": name, "arguments": arguments })),
        rpc("call_tool", json!({ "tool_name": name, "args": arguments })),
        json!({ "tool_name": name, "arguments": arguments }).to_string(),
    ];
    messages.map(|message| answer(registry, &message)).to_vec()
}

fn answer(registry: &Registry, message: &str) -> String {
    let server = Server::new(registry.clone());
    String::from_utf8(block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap()).unwrap()
}

#[test]
fn a_result_beyond_the_limit_is_an_error_on_every_path() {
    let registry = builder().max_result(1000).build().unwrap();
    for (name, argument) in TOOLS {
        let arguments = json!({ argument: 1000 });
        let error = too_large(block_on(registry.try_call(&ToolCall::new(name, arguments.clone()))).unwrap_err());
        assert_eq!((&*error.tool, error.limit), (name, 1000));
        assert!(error.size > 1000, "{error}");
        let mut out = b"before".to_vec();
        let json = arguments.to_string();
        let error = registry.call_bytes_blocking(name, json.as_bytes(), &CallOptions::new(), &mut out).unwrap_err();
        assert_eq!((too_large(error).limit, &*out), (1000, &b"before"[..]));
        for line in answers(&registry, name, &arguments) {
            assert!(line.contains("ResultTooLargeError") && line.len() < 1000, "{line}");
        }
        assert!(answers(&registry, name, &json!({ argument: 1 })).iter().all(|line| !line.contains("TooLarge")));
    }
}

#[test]
fn the_error_has_size_and_limit_and_how_to_ask_for_less() {
    let registry = builder().max_result(1000).build().unwrap();
    let message =
        |name: &str, arguments| block_on(registry.try_call(&ToolCall::new(name, arguments))).unwrap_err().to_string();
    assert_eq!(
        message("large_quotes", json!({ "limit": 500 })),
        "the result of `large_quotes` has 1002 bytes, but the limit is 1000; call it again and ask for less, such as with a \
         smaller `limit`"
    );
    assert!(message("large.free", json!({ "n": 500 })).ends_with("with arguments that narrow the result"));
}

#[test]
fn the_limit_is_that_of_the_tool_or_the_registry_and_counts_the_json_of_the_result() {
    let fits = |registry: &Registry, name: &str, n: usize| {
        !registry.call_blocking(&ToolCall::new(name, json!({ "n": n }))).is_failure()
    };
    let registry = registry();
    assert!(fits(&registry, "large.small", 98) && !fits(&registry, "large.small", 99), "two quotes count");
    let own = Registry::builder_of([]).tool(made().max_result(1000)).max_result(10).build().unwrap();
    assert!(fits(&own, "large.made", 100) && !fits(&own, "large.made", 1000));
    let of_registry = Registry::builder_of([]).tool(made()).max_result(10).build().unwrap();
    assert!(!fits(&of_registry, "large.made", 100));
}

#[test]
fn a_result_at_the_default_limit_is_a_line_of_less_than_10_mib() {
    let registry = registry();
    for (name, argument) in [TOOLS[1], TOOLS[2], TOOLS[4], TOOLS[5]] {
        // Two bytes for each quote, and a little around them.
        let arguments = json!({ argument: 2 * MIB - 4000 });
        let params = json!({ "name": name, "arguments": arguments, "_meta": crate::meta() });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let line = answer(&registry, &message.to_string());
        assert!((4 * MIB - 8000..5 * MIB).contains(&line.len()), "{name}: {} bytes", line.len());
        let flat = registry.call_blocking(&ToolCall::new(name, arguments));
        let older = CallToolResult::without_structure(flat).to_json();
        assert!((4 * MIB - 8000..10 * MIB).contains(&older.len()), "{name}: {} bytes", older.len());
        assert!(!older.contains("structuredContent"), "{name}");
    }
}

#[test]
fn a_text_that_repeats_large_structured_content_is_shortened() {
    for name in ["large_quotes", "large_quotes_now"] {
        for (n, whole) in [(CallToolResult::MAX_REPEATED / 2 - 1, true), (CallToolResult::MAX_REPEATED + 1, false)] {
            for version in ProtocolVersion::ALL {
                let client = block_on(Client::connect(Server::new(registry()), version)).unwrap();
                let result = block_on(client.call_tool(name, json!({ "limit": n }))).unwrap();
                let quotes = "\"".repeat(n);
                let text = result.content[0].as_text().unwrap();
                if version < ProtocolVersion::V2025_06_18 {
                    assert_eq!((result.structured_content.as_ref(), text == quotes), (None, true), "{version}");
                    continue;
                }
                assert_eq!(result.structured_content.as_ref().unwrap()["result"], quotes);
                assert_eq!(text == quotes, whole);
                if !whole {
                    assert!(text.len() < CallToolResult::MAX_REPEATED + 200);
                    assert!(
                        text.ends_with(
                            "the whole result is in structuredContent; to read all of it here, ask for less)"
                        )
                    );
                    let flat = ToolResult::from(result);
                    assert_eq!((flat.content, flat.data), (None, Some(json!({ "result": quotes }))));
                }
            }
        }
    }
}

#[test]
fn a_large_text_without_structured_content_is_not_shortened() {
    let n = 2 * CallToolResult::MAX_REPEATED;
    let client = Client::new(Server::new(registry()));
    for name in ["large_block", "large_whole"] {
        let result = block_on(client.call_tool(name, json!({ "n": n }))).unwrap();
        assert_eq!(result.content, [Content::text("\"".repeat(n))], "the tool's own content");
    }
    let flat = registry().call_blocking(&ToolCall::new("large.quotes", json!({ "limit": n })));
    assert_eq!(CallToolResult::without_structure(flat).content, [Content::text("\"".repeat(n))]);
}

#[test]
fn a_tool_without_a_result_answers_done_over_mcp_and_null_in_the_flat_form() {
    for name in ["large.nothing", "large.nothing_now", "large.no_blocks"] {
        for version in ProtocolVersion::ALL {
            let client = block_on(Client::connect(Server::new(registry()), version)).unwrap();
            let result = block_on(client.call_tool(name, json!({}))).unwrap();
            assert_eq!((&*result.content, &result.structured_content), (&[Content::text("done")][..], &None));
            let flat = ToolResult::from(result);
            assert_eq!((flat.data, flat.content, flat.explanation), (None, None, None));
        }
        let flat = answers(&registry(), name, &json!({})).pop().unwrap();
        assert_eq!(flat, r#"{"status":"success","data":null,"error":null,"explanation":null}"#);
    }
}

#[test]
fn a_long_error_is_shortened_on_every_path() {
    let entries = tools![fail, fail_now, fail_later, fail_to_serialize];
    let registry = Registry::builder_of(entries).tool(failing_made()).build().unwrap();
    for tool in ["fail", "fail_now", "fail_later", "fail_made", "fail_to_serialize"] {
        let (name, arguments) = (format!("large.{tool}"), json!({ "n": 2 * MIB }));
        let result = registry.call_blocking(&ToolCall::new(&*name, arguments.clone()));
        let error = result.error.as_ref().unwrap();
        assert!(error.error_message.contains("bytes)"), "{name}");
        assert!((65_000..66_000).contains(&error.error_message.len()), "{name}: {}", error.error_message.len());
        assert!(result.to_json().len() < 70_000, "{name}");
        let lines = answers(&registry, &name, &arguments);
        assert!(lines.iter().all(|line| (65_000..70_000).contains(&line.len())), "{name}");
    }
    let short = registry.call_blocking(&ToolCall::new("large.fail", json!({ "n": 1000 })));
    assert_eq!(short.error.as_ref(), Some(long_error(1000).detail()));
}

/// Fails at length with a result.
#[mcp_tool(module = "large")]
fn fail_result(n: usize) -> ToolResult {
    ToolResult::failure(long_error(n)).explanation("why ".repeat(n / 4))
}

/// Fails at length with a result, at once.
#[mcp_tool(module = "large", inline)]
fn fail_result_now(n: usize) -> ToolResult {
    fail_result(n)
}

/// Answers every call with a long failure.
struct Failing;

impl Layer for Failing {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        let result = next.run(call, cx).await?;
        let n = usize::try_from(call.arguments["n"].as_u64().unwrap()).unwrap();
        Ok(if result.is_failure() { result } else { fail_result(n) })
    }
}

/// Succeeds.
#[mcp_tool(module = "large", inline)]
fn succeed(n: usize) -> usize {
    n
}

#[test]
fn a_long_error_of_a_result_is_shortened_on_every_path() {
    let entries = tools![fail_result, fail_result_now, succeed];
    let plain = Registry::builder_of(entries).build().unwrap();
    let layered = Registry::builder_of(entries).layer(Failing).build().unwrap();
    for (registry, tool) in
        [(&plain, "fail_result"), (&plain, "fail_result_now"), (&layered, "fail_result"), (&layered, "succeed")]
    {
        for n in [2 * MIB, 8 * MIB] {
            let (name, arguments) = (format!("large.{tool}"), json!({ "n": n }));
            let result = registry.call_blocking(&ToolCall::new(&*name, arguments.clone()));
            let error = result.error.as_ref().unwrap();
            let end = format!("(shortened from {n} bytes)");
            for text in [&error.error_message, result.explanation.as_ref().unwrap()] {
                assert!((65_000..=65_536).contains(&text.len()) && text.ends_with(&end), "{name}: {}", text.len());
            }
            assert_eq!(error.error_type, "Long");
            assert!(result.to_json().len() < 140_000, "{name}: {}", result.to_json().len());
            for line in answers(registry, &name, &arguments) {
                assert!((65_000..290_000).contains(&line.len()), "{name}: {}", line.len());
            }
        }
    }
    let short = plain.call_blocking(&ToolCall::new("large.fail_result", json!({ "n": 1000 })));
    assert_eq!((short.error.as_ref(), short.explanation), (Some(long_error(1000).detail()), Some("why ".repeat(250))));
}

/// Finds houses.
#[mcp_tool(module = "house", max_result = 10)]
fn find(max_price: u32, max_date: String, limit: String, max_items: Option<u32>) -> String {
    format!("{max_price} {max_date} {limit} {max_items:?}")
}

/// Finds more houses.
#[mcp_tool(module = "house", max_result = 10)]
fn find_all(max_price: u32, max_date: String, limit: String) -> String {
    format!("{max_price} {max_date} {limit}")
}

#[test]
fn only_an_integer_that_limits_the_result_is_suggested() {
    let registry = Registry::builder_of(tools![find, find_all]).build().unwrap();
    let argument = |name: &str| {
        let arguments = json!({ "max_price": 1, "max_date": "2026-01-01", "limit": "a" });
        too_large(block_on(registry.try_call(&ToolCall::new(name, arguments))).unwrap_err()).argument
    };
    assert_eq!((argument("house.find").as_deref(), argument("house.find_all")), (Some("max_items"), None));
}

/// A value that was written by hand.
#[mcp_tool(module = "large", inline)]
fn written() -> Json<Box<serde_json::value::RawValue>> {
    Json(serde_json::value::RawValue::from_string("{\r\n\t\"a\": \"b\\n\"\n}".to_owned()).unwrap())
}

#[test]
fn an_answer_is_one_line_however_its_value_is_written() {
    let registry = Registry::builder_of(tools![written]).check_output(OutputCheck::Never).build().unwrap();
    for meta in [json!({}), crate::meta()] {
        let params = json!({ "name": "large_written", "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = answer(&registry, &call.to_string());
        assert!(!answer.contains(char::is_control), "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["result"]["structuredContent"], json!({ "a": "b\n" }), "{answer}");
    }
}
