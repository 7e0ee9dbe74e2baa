//! Results that are empty or large, as rmcp's client sees them.

use mcp_registry::mcp::CallToolResult as OurResult;
use mcp_registry::rmcp::Handler;
use mcp_registry::{Registry, mcp_tool, tools};
use rmcp::model::{CallToolResult, ClientCapabilities, ClientInfo, Implementation, ProtocolVersion};
use rmcp::{ClientHandler, ServiceExt as _};
use serde_json::json;
use support::LONG;
use tokio::io::duplex;
use tokio::time::timeout;

use super::{VERSIONS, connect, params};

/// Letters.
#[mcp_tool(module = "t")]
fn letters(limit: usize) -> String {
    "a".repeat(limit)
}

/// Nothing.
#[mcp_tool(module = "t")]
fn nothing() {}

/// Fails at length.
#[mcp_tool(module = "t")]
fn fail(n: usize) -> Result<u8, String> {
    Err("a".repeat(n))
}

fn registry() -> Registry {
    Registry::builder_of(tools![letters, nothing, fail]).build().unwrap()
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

#[tokio::test]
async fn a_result_beyond_the_limit_is_an_error_and_a_large_text_is_shortened() {
    for version in VERSIONS {
        let connected = connect(Handler::new(registry()), version).await;
        let result = connected.call("t_letters", json!({ "limit": 5 << 20 })).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        assert!(text(&result).starts_with("ResultTooLargeError: the result of `t_letters` has 5242882 bytes"));
        assert!(text(&result).contains("with a smaller `limit`"), "{}", text(&result));

        let result = connected.call("t_letters", json!({ "limit": 1 << 20 })).await.unwrap();
        assert!(text(&result).len() < OurResult::MAX_REPEATED + 200);
        assert!(
            text(&result).contains("the whole result is in structuredContent; to read all of it here, ask for less")
        );
        assert_eq!(result.structured_content.unwrap()["result"].as_str().unwrap().len(), 1 << 20);
    }
}

#[tokio::test]
async fn a_long_error_is_shortened() {
    for version in VERSIONS {
        let result =
            connect(Handler::new(registry()), version).await.call("t_fail", json!({ "n": 2 << 20 })).await.unwrap();
        assert!((65_000..66_000).contains(&text(&result).len()), "{}", text(&result).len());
    }
}

#[tokio::test]
async fn a_tool_without_a_result_answers_done() {
    for version in VERSIONS {
        let result = connect(Handler::new(registry()), version).await.call("t_nothing", json!({})).await.unwrap();
        assert_eq!((text(&result), &result.structured_content), ("done", &None));
    }
}

/// A client of a version without `structuredContent`.
struct Older;

impl ClientHandler for Older {
    fn get_info(&self) -> ClientInfo {
        ClientInfo::new(ClientCapabilities::default(), Implementation::new("older", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_03_26)
    }
}

#[tokio::test]
async fn an_older_client_gets_the_whole_text_and_no_structured_content() {
    let (here, there) = duplex(1 << 16);
    tokio::spawn(async move { Handler::new(registry()).serve(there).await.unwrap().waiting().await });
    let client = timeout(LONG, Older.serve(here)).await.unwrap().unwrap();
    let called = client.call_tool(params("t_letters", &json!({ "limit": 1 << 20 })));
    let result = timeout(LONG, called).await.unwrap().unwrap();
    assert_eq!((text(&result).len(), result.structured_content), (1 << 20, None));
}
