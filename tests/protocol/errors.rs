//! What a remote caller reads when a call fails: each fault once, tools by their listed names, nothing about the builder.

use std::sync::{Arc, Mutex};

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::observe::{CallRecord, Observer};
use mcp_registry::protocol::Peer;
use mcp_registry::registry::OutputCheck;
use mcp_registry::testing::Client;
use mcp_registry::{Json, RateLimit, Registry, RegistryBuilder, Server, ToolCall, ToolResult, mcp_tool, tools};
use serde_json::{Value, json};

use crate::block_on;

/// Orders something.
#[mcp_tool(module = "shop")]
fn order(item: String, count: u32, #[arg(default = false)] gift: bool) -> String {
    format!("{count} {item} {gift}")
}

/// Orders something at once.
#[mcp_tool(module = "shop", inline)]
fn order_now(item: String, count: u32) -> String {
    format!("{count} {item}")
}

/// Orders many things.
#[mcp_tool(module = "shop")]
fn order_many(items: Vec<String>) -> bool {
    panic!("{} items", items.len())
}

/// Orders many things, later.
#[mcp_tool(module = "shop")]
async fn order_many_later(items: Vec<String>) -> bool {
    panic!("{} items", items.len())
}

/// Deletes all orders.
#[mcp_tool(module = "shop", destructive)]
fn wipe() -> bool {
    true
}

/// Takes too long.
#[mcp_tool(module = "shop", timeout = "10ms")]
async fn late() -> bool {
    std::future::pending().await
}

/// Panics.
#[mcp_tool(module = "shop")]
fn burst() -> bool {
    panic!("on purpose")
}

/// Panics at once.
#[mcp_tool(module = "shop", inline)]
fn burst_now() -> bool {
    panic!("on purpose")
}

/// Returns what its schema does not allow.
#[mcp_tool(module = "shop", output_schema = json!({ "type": "object", "required": ["n"] }))]
fn broken() -> Json<Value> {
    Json(json!({ "m": 1 }))
}

/// Returns too much.
#[mcp_tool(module = "shop", max_result = 10)]
fn everything() -> String {
    "everything".to_owned()
}

/// Is called too often.
#[mcp_tool(module = "shop")]
fn busy() {}

fn builder() -> RegistryBuilder {
    let never = RateLimit::per_second(0);
    Registry::builder_of(tools![
        order,
        order_now,
        order_many,
        order_many_later,
        wipe,
        late,
        burst,
        burst_now,
        broken,
        everything,
        busy,
    ])
    .rate_limit_tool("shop.busy", never)
    .check_output(OutputCheck::Always)
}

/// The line with which a server answers `tools/call`.
fn line(name: &str, arguments: Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let server = Server::new(builder().build().unwrap());
    String::from_utf8(block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap()).unwrap()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn each_fault_of_the_arguments_is_stated_once() {
    for name in ["shop_order", "shop_order_now"] {
        let arguments = json!({ "item": 7, "count": "two", "cuont": true });
        let line = line(name, arguments);
        for told in ["`item` must be a string", "`count` must be an integer", "there is no argument `cuont`"] {
            assert_eq!(count(&line, told), 1, "{told}: {line}");
        }
        assert_eq!(count(&line, "do not match its schema"), 1, "{line}");
        let answer: Value = serde_json::from_str(&line).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("ValidationError: the arguments of `shop_order"), "{text}");
        let error = &answer["result"]["_meta"]["error"];
        assert_eq!(
            (&error["error_type"], &error["error_details"]["kind"]),
            (&json!("ValidationError"), &json!("SchemaError"))
        );
        let faults = error["error_details"]["faults"].as_array().unwrap();
        let paths: Vec<&Value> = faults.iter().map(|fault| &fault["path"]).collect();
        assert_eq!(paths, [&json!("/item"), &json!("/count"), &json!("/cuont")]);
        assert_eq!((&faults[0]["expected"], &faults[0]["got"]), (&json!("a string"), &json!("7")));
    }
}

#[test]
fn an_error_over_mcp_is_the_error_of_the_flat_form() {
    let registry = builder().build().unwrap();
    for (name, arguments) in [
        ("shop_order", json!({ "item": 7, "cuont": true })),
        ("shop_wipe", json!({})),
        ("shop_everything", json!({})),
        ("shop_broken", json!({})),
    ] {
        let flat = registry.call_blocking(&ToolCall::new(name, arguments.clone()));
        let client = Client::new(Server::new(registry.clone()));
        assert_eq!(ToolResult::from(block_on(client.call_tool(name, arguments)).unwrap()).error, flat.error);
    }
}

#[test]
fn an_error_names_the_tool_as_the_call_did() {
    let registry = builder().build().unwrap();
    for tool in ["order", "order_now", "wipe", "late", "burst", "burst_now", "broken", "everything", "busy"] {
        let (wire, canonical) = (format!("shop_{tool}"), format!("shop.{tool}"));
        let line = line(&wire, json!({}));
        assert!(line.contains(&format!("`{wire}`")) && !line.contains(&canonical), "{line}");
        let result = block_on(registry.call(&ToolCall::new(&*canonical, json!({})))).to_json();
        assert!(result.contains(&format!("`{canonical}`")) && !result.contains(&wire), "{result}");
    }
}

#[test]
fn an_error_of_a_call_with_large_arguments_names_the_tool_as_the_call_did() {
    for tool in ["order_many", "order_many_later"] {
        for (item, told) in [(json!("tea"), "2 items"), (json!(7), "must be a string")] {
            let line = line(&format!("shop_{tool}"), json!({ "items": [item, "a".repeat(100_000)] }));
            assert!(line.contains(told) && line.contains(&format!("`shop_{tool}`")), "{line}");
            assert!(!line.contains(&format!("shop.{tool}")), "{line}");
        }
    }
}

#[test]
fn the_answer_to_one_fault_is_at_most_523_bytes() {
    for (arguments, told) in [
        (json!({ "item": "tea", "count": "two" }), "must be an integer"),
        (json!({ "item": "tea", "count": 2, "colour": "red" }), "there is no argument `colour`"),
        (json!({ "item": "tea" }), "`count` is missing"),
    ] {
        let line = line("shop_order", arguments);
        assert!(line.contains(told) && line.len() <= 523, "{} bytes: {line}", line.len());
    }
}

#[test]
fn how_to_give_a_tool_more_time_is_shown_to_observers_and_not_to_the_caller() {
    let told = Told::default();
    let client = Client::new(Server::new(builder().observer(told.clone()).build().unwrap()));
    let late = block_on(client.call_tool("shop_late", json!({}))).unwrap();
    let text = late.content[0].as_text().unwrap();
    assert!(text.contains("did not answer within 10ms; ask for less, or try again later"), "{text}");
    assert!(!late.to_json().contains("`timeout`"), "{text}");
    let (error_type, message) = told.0.lock().unwrap().remove(0);
    assert_eq!(error_type, "TimeoutError");
    assert!(message.contains("raise the tool's `timeout`"), "{message}");
}

#[test]
fn tools_are_suggested_over_mcp_by_the_names_in_the_list() {
    for version in ProtocolVersion::ALL {
        let client = block_on(Client::connect(Server::new(builder().build().unwrap()), version)).unwrap();
        let error = block_on(client.call_tool("shop_ordr", json!({}))).unwrap_err();
        assert!(error.message.contains("did you mean `shop_order`"), "{error}");
        assert_eq!(error.data.unwrap()["details"]["did_you_mean"][0], "shop_order");
    }
    let error = builder().build().unwrap().get("shop.ordr").unwrap_err();
    assert_eq!(error.did_you_mean[0], "shop.order");
}

/// Keeps the types and messages of errors.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(String, String)>>>);

impl Observer for Told {
    fn observe(&self, record: &CallRecord<'_>) {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        self.0.lock().unwrap().push((text(record.error_type), text(record.message)));
    }
}

#[test]
fn how_to_allow_a_refused_call_is_shown_to_observers_and_not_to_the_caller() {
    let told = Told::default();
    let registry = builder().observer(told.clone()).build().unwrap();
    let client = Client::new(Server::new(registry.clone()));
    let refused = block_on(client.call_tool("shop_wipe", json!({}))).unwrap().to_json();
    assert!(refused.contains("ask the operator of the server"), "{refused}");
    assert!(!refused.contains("trust_tool") && !refused.contains("TrustLevel"), "{refused}");
    let (error_type, message) = told.0.lock().unwrap().remove(0);
    assert_eq!(error_type, "PermissionError");
    assert!(message.contains(r#".trust_tool("shop.wipe", TrustLevel::Trusted)"#), "{message}");
    let error = block_on(registry.try_call(&ToolCall::new("shop.wipe", json!({})))).unwrap_err();
    let advice = std::error::Error::source(&error).unwrap().to_string();
    assert!(advice.contains(r#".trust_tool("shop.wipe", TrustLevel::Trusted)"#), "{advice}");
}
