//! The standard types of errors, each raised by its cause.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use mcp_registry::{Error, ErrorType, RateLimit, ToolError, mcp_tool, tools};
use serde_json::json;

use crate::{build, call_in_time as call, failure, try_call, with_tools};

/// Reads a file.
#[mcp_tool(module = "raises", read_only)]
fn read(path: &str) -> Result<String, ToolError> {
    Ok(std::fs::read_to_string(path)?)
}

/// Connects to a server.
#[mcp_tool(module = "raises", read_only)]
fn connect(port: u16) -> Result<(), ToolError> {
    Ok(TcpStream::connect(("127.0.0.1", port)).map(drop)?)
}

/// Breaks.
#[mcp_tool(module = "raises", read_only)]
fn break_down() {
    panic!("broken")
}

/// Does not end.
#[mcp_tool(module = "raises", read_only, timeout = "10ms")]
async fn wait() {
    std::future::pending::<()>().await;
}

/// Destroys something.
#[mcp_tool(module = "raises", destructive)]
fn destroy() {}

/// Asks somebody else.
#[mcp_tool(module = "raises", read_only)]
fn ask() {}

/// Returns what JSON cannot hold.
#[mcp_tool(module = "raises", read_only)]
fn pairs() -> mcp_registry::Json<std::collections::HashMap<(u8, u8), u8>> {
    mcp_registry::Json([((1, 2), 3)].into())
}

/// `AuthenticationError` is raised over HTTP, and `ResourceNotFound` by tools alone.
#[test]
fn s1_23_s1_50_the_standard_error_types_are_raised_by_their_causes() {
    let tools = tools![read, break_down, wait, destroy, ask];
    let limit = RateLimit::per_minute(1).burst(1);
    let registry = build(with_tools(tools).rate_limit_tool("raises.ask", limit));
    assert!(!call(&registry, "raises.ask", json!({})).is_failure());
    for (name, arguments, error_type) in [
        ("raises.read", json!({ "path": 7 }), ErrorType::VALIDATION_ERROR),
        ("raises.read", json!({ "path": "no/such/file" }), ErrorType::FILE_NOT_FOUND_ERROR),
        ("raises.break_down", json!({}), ErrorType::TOOL_EXECUTION_ERROR),
        ("raises.ask", json!({}), ErrorType::API_LIMIT_EXCEEDED),
        ("raises.wait", json!({}), ErrorType::TIMEOUT_ERROR),
        ("raises.destroy", json!({}), ErrorType::PERMISSION_ERROR),
    ] {
        let result = call(&registry, name, arguments);
        assert_eq!(failure(&result).0, error_type.as_str(), "{}", result.to_json());
        assert!(result.validate().is_ok(), "{}", result.to_json());
    }
    let wrong = call(&registry, "raises.read", json!({ "path": 7 })).error.unwrap().error_details.unwrap();
    assert_eq!(wrong["faults"][0]["path"], "/path", "the parameter is named: {wrong}");
}

/// The other variants come from clients and servers.
#[test]
fn s3_12_a_refused_connection_is_a_transport_error() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let registry = build(with_tools(tools![connect]));
    let error = try_call(&registry, "raises.connect", json!({ "port": port })).unwrap_err();
    assert_eq!(error.error_type(), ErrorType::TRANSPORT_ERROR, "{error}");
}

#[test]
fn s3_13_to_s3_17_the_errors_of_a_call_are_raised_by_their_causes() {
    let registry = build(with_tools(tools![read, wait, pairs]));
    let raised = |name: &str, arguments| try_call(&registry, name, arguments).unwrap_err();
    let Error::ToolNotFound(error) = raised("raises.raed", json!({})) else { panic!() };
    assert_eq!(error.did_you_mean[0], "raises.read");
    let Error::Schema(error) = raised("raises.read", json!({ "paht": "a" })) else { panic!() };
    assert_eq!(error.faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), ["/paht", "/path"]);
    assert!(matches!(raised("no name!", json!({})), Error::Validation(_)));
    let error = raised("raises.pairs", json!({}));
    assert_eq!(error.error_type(), ErrorType::SERIALIZATION_ERROR, "{error}");
    let Error::Timeout(error) = raised("raises.wait", json!({})) else { panic!() };
    assert_eq!(error.limit, Duration::from_millis(10));
}
