//! Handshake, discovery and protocol versions.

use mcp_registry::mcp::ProtocolVersion;
use mcp_registry::protocol::Peer;
use mcp_registry::testing::Client;
use mcp_registry::{CallOptions, Json, Registry, Server, Tool, ToolCall, ToolContext, mcp_tool, schemars, tools};
use serde_json::{Value, json};

use crate::{LEGACY, answer, block_on, client, meta, server};

fn initialize(version: &str) -> String {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

#[test]
fn b1_b2_initialize_agrees_on_a_version() {
    for (asked, given) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2024-10-07", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let result = answer(&server(), &initialize(asked)).unwrap();
        assert_eq!((&result["id"], &result["result"]["protocolVersion"]), (&json!(0), &json!(given)));
        let result = &result["result"];
        assert_eq!(result["serverInfo"], json!({ "name": "served", "version": "1.2.3" }));
        assert_eq!(result["instructions"], "Serve yourself.");
        assert_eq!(result["capabilities"], json!({ "tools": { "listChanged": false } }), "nobody can be told");
        assert_eq!(result["_meta"]["tools_count"], 10);
        assert!(result.get("resultType").is_none());
    }
    let peer = Peer::builder().on_notification(|_| {}).build();
    let result = block_on(server().handle(initialize("2025-11-25").as_bytes(), &peer)).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(result["result"]["capabilities"], json!({ "tools": { "listChanged": true }, "logging": {} }));
    assert_eq!(peer.protocol_version(), Some(ProtocolVersion::V2025_11_25));
    let missing = answer(&server(), r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).unwrap();
    assert_eq!(missing["error"]["code"], -32602);
}

#[test]
fn b5_b6_b7_the_newest_version_is_discovered_and_carried_by_each_request() {
    let client = client(ProtocolVersion::V2026_07_28);
    let result = block_on(client.request("server/discover", json!({}))).unwrap();
    assert_eq!(result["supportedVersions"], json!(ProtocolVersion::ALL.map(ProtocolVersion::as_str)));
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("public")));
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["capabilities"], json!({ "tools": { "listChanged": true }, "logging": {} }));
    let info = json!({ "name": "served", "version": "1.2.3" });
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], info);

    let ask = |method: &str, meta: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": { "_meta": meta } });
        answer(&server(), &message.to_string()).unwrap()
    };
    let mut without = meta();
    without.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(ask("tools/list", without)["error"]["code"], -32602);
    let mut without = meta();
    without.as_object_mut().unwrap().remove("io.modelcontextprotocol/protocolVersion");
    assert_eq!(ask("tools/list", without)["error"]["code"], -32602);
    assert_eq!(ask("server/discover", json!({}))["error"]["code"], -32602);
    for version in ["2027-01-01", "2025-11-25", ""] {
        let mut other = meta();
        other["io.modelcontextprotocol/protocolVersion"] = version.into();
        let error = ask("tools/list", other)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!(version)));
        assert_eq!(error["data"]["supported"][0], "2026-07-28");
    }
    let mut odd = meta();
    odd["io.modelcontextprotocol/clientCapabilities"] = json!([]);
    assert_eq!(ask("tools/list", odd)["error"]["code"], -32602);
}

#[test]
fn b12_each_version_has_its_own_methods() {
    for version in LEGACY {
        let client = client(version);
        assert_eq!(block_on(client.request("ping", json!({}))).unwrap(), json!({}));
        assert_eq!(block_on(client.request("subscriptions/listen", json!({}))).unwrap_err().code, -32601);
        assert_eq!(block_on(client.request("logging/setLevel", json!({ "level": "error" }))).unwrap(), json!({}));
        assert_eq!(block_on(client.request("logging/setLevel", json!({ "level": "loud" }))).unwrap_err().code, -32602);
    }
    let newest = client(ProtocolVersion::V2026_07_28);
    for method in
        ["ping", "initialize", "logging/setLevel", "list_tools", "call_tool", "nonsense", "resources/list", ""]
    {
        let error =
            block_on(newest.request(method, json!({ "level": "info", "protocolVersion": "2025-11-25" }))).unwrap_err();
        assert_eq!(error.code, -32601, "{method}");
    }
}

#[test]
fn b11_both_kinds_of_versions_work_on_one_connection() {
    let client = client(ProtocolVersion::V2025_06_18);
    let message = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": { "_meta": meta() } });
    let newest = block_on(client.send(message.to_string().as_bytes())).unwrap();
    assert_eq!(newest["result"]["resultType"], "complete");
    let older = block_on(client.request("tools/list", json!({}))).unwrap();
    assert!(older.get("resultType").is_none());
}

#[test]
fn a9_a_request_needs_no_params() {
    for method in ["tools/list", "ping", "list_tools"] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        assert!(answer(&server(), &message).unwrap().get("result").is_some(), "{method}");
    }
}

#[test]
fn s3_28_to_s3_30_c20_the_server_reports_its_name_its_capabilities_and_the_number_of_tools() {
    assert_eq!(
        server().server_info(),
        json!({
            "name": "served",
            "version": "1.2.3",
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": false, "listChanged": false },
                "prompts": { "listChanged": false },
            },
            "tools_count": 10,
            "resources_count": 0,
            "prompts_count": 0,
        })
    );
    let handshake = answer(&server(), &initialize("2025-11-25")).unwrap()["result"].clone();
    assert_eq!(handshake["serverInfo"], json!({ "name": "served", "version": "1.2.3" }));
    let digest = server().registry().catalog().digest().to_owned();
    assert_eq!(
        handshake["_meta"],
        json!({
            "mcp-registry/contract": { "digest": digest },
            "tools_count": 10,
            "resources_count": 0,
            "prompts_count": 0,
        })
    );
    let unnamed = mcp_registry::Server::new(server().registry().clone()).server_info();
    assert!(unnamed["name"].as_str().unwrap().starts_with("protocol"), "the program's name: {unnamed}");
    let client = Client::new(server());
    assert!(format!("{client:?}").contains("Client"));
}

#[test]
fn s3_30_c33_s1_41_discovery_has_the_counts_and_the_digest_of_all_tools() {
    let server = server();
    let meta = || {
        let client = block_on(Client::connect(server.clone(), ProtocolVersion::V2026_07_28)).unwrap();
        block_on(client.request("server/discover", json!({}))).unwrap()["_meta"].clone()
    };
    let before = meta();
    let counts = ["tools_count", "resources_count", "prompts_count"].map(|key| before[key].as_u64());
    assert_eq!(counts, [Some(10), Some(0), Some(0)]);
    assert_eq!(before["mcp-registry/contract"]["digest"], server.registry().catalog().contract().digest());
    assert!(before["io.modelcontextprotocol/serverInfo"].is_object());
    server.registry().register(Tool::new("a.new", json!({ "type": "object" }), |_, _| async {})).unwrap();
    let after = meta();
    assert_eq!(after["tools_count"], 11);
    assert_ne!(after["mcp-registry/contract"], before["mcp-registry/contract"]);
    assert!(server.registry().unregister("a.new"));
    assert_eq!(meta(), before);
}

#[derive(serde::Serialize)]
struct NoSchema;

impl schemars::JsonSchema for NoSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoSchema".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        panic!("there is no schema")
    }
}

/// Has a schema that panics.
#[mcp_tool(module = "odd")]
fn odd() -> NoSchema {
    NoSchema
}

#[test]
fn a_schema_that_panics_does_not_keep_a_connection_from_being_set_up() {
    let registry = Registry::builder_of(tools![odd, crate::add]).build().unwrap();
    let result = answer(&mcp_registry::Server::new(registry), &initialize("2025-11-25")).unwrap()["result"].clone();
    assert_eq!(result["_meta"], json!({ "tools_count": 2, "resources_count": 0, "prompts_count": 0 }));
}

/// Returns its context.
#[mcp_tool(module = "served")]
fn context(#[ctx] cx: &ToolContext) -> Json<Value> {
    Json(json!(cx))
}

#[test]
fn s1_63_the_context_of_a_call_fits_its_schema() {
    let schema = jsonschema::draft7::new(&mcp_registry::message::schema::context()).unwrap();
    let registry = Registry::builder_of(tools![context]).build().unwrap();
    let checked = |context: Value| {
        assert!(schema.is_valid(&context), "{context}");
        let left = context.get("deadline_ms").map(|left| left.as_u64().unwrap());
        assert!(left.is_some_and(|left| left <= 30_000), "{context}");
        context
    };
    let members = |context: &Value| context.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let least = checked(registry.call_blocking(&ToolCall::new("served.context", json!({}))).data.unwrap());
    assert_eq!(members(&least), ["tool_name", "trust", "deadline_ms"]);

    let server = Server::new(registry);
    let peer = Peer::builder().options(CallOptions::new().caller("ada")).build();
    let call = |meta: Value| {
        let params = json!({ "name": "served_context", "arguments": {}, "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
        let answer = block_on(server.handle(message.as_bytes(), &peer)).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        checked(answer["result"]["structuredContent"].clone())
    };
    let mut newest = meta();
    newest["io.modelcontextprotocol/clientInfo"] = json!({ "name": "host", "version": "1.2", "icons": [] });
    newest["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let mut context = call(newest);
    context.as_object_mut().unwrap().shift_remove("deadline_ms");
    let expected = json!({
        "tool_name": "served.context",
        "request_id": "7",
        "caller": "ada",
        "trust": "verified",
        "protocol_version": "2026-07-28",
        "client": { "name": "host", "version": "1.2" },
        "trace": { "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    });
    assert_eq!(context, expected);
    // What a client says of itself may be anything.
    let odd = call(json!({ "traceparent": 5, "tracestate": "a=b" }));
    assert_eq!(members(&odd), ["tool_name", "request_id", "caller", "trust", "deadline_ms", "protocol_version"]);
    assert_eq!(odd["protocol_version"], "2025-11-25");
}
