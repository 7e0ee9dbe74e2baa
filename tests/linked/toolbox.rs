//! The example crates, through the registry, as a program would use them.

use file_utility::Workspace;
use mcp_registry::lint::{LintPolicy, Severity};
use mcp_registry::protocol::Peer;
use mcp_registry::serde_json::{Value, json};
use mcp_registry::testing::{assert_contract, assert_contract_of, block_on};
use mcp_registry::{Registry, RegistryBuilder, Server, ToolCall, TrustLevel};
use memory::Memory;

fn registry(name: &str) -> (std::path::PathBuf, Registry) {
    let root = std::env::temp_dir().join(format!("toolbox-{name}-{}", std::process::id()));
    std::fs::create_dir_all(root.join("src/app")).unwrap();
    std::fs::write(
        root.join("src/app/main.py"),
        "def main():\n  print(\"Hello, World!\")\n\nif __name__ == \"__main__\":\n  main()",
    )
    .unwrap();
    let registry = Registry::builder()
        .select(|tool| tool.package() != "thousand")
        .state(Workspace::open(&root).unwrap())
        .state(Memory::default())
        .expect_tools([("file-utility", 1), ("memory", 4)])
        .trust_tool("memory.delete", TrustLevel::Trusted)
        .build()
        .unwrap();
    (root, registry)
}

#[test]
fn s4_3_s4_4_the_schemas_are_those_of_the_usage_example() {
    let (root, registry) = registry("schema");
    let tool = registry.get("file_utility.read_file_content").unwrap();
    let input = tool.input_schema();
    assert_eq!(input["required"], json!(["file_path"]));
    assert_eq!(input["properties"]["file_path"]["type"], "string");
    assert_eq!(input["properties"]["max_chars"]["type"], "integer");
    assert_eq!(input["properties"]["max_chars"]["minimum"], 1);
    assert_eq!(input["properties"]["encoding"]["default"], "utf-8");
    for property in ["file_path", "max_chars", "encoding"] {
        assert!(input["properties"][property]["description"].is_string(), "{property}");
    }
    let output = tool.output_schema().unwrap();
    assert_eq!(output["required"], json!(["file_content", "chars_read", "encoding_used"]));
    for property in ["file_content", "chars_read", "encoding_used"] {
        assert!(output["properties"][property]["description"].is_string());
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn s4_7_s4_12_s4_13_the_worked_calls_have_the_worked_answers() {
    let (root, registry) = registry("messages");
    let server = Server::new(registry);
    let answer = |message: &str| answered(&server, message);
    let worked = compact(include_str!("../seed/s4_3_result_success.json"));
    assert_eq!(answer(include_str!("../seed/s4_2_call.json")), worked);
    let short =
        json!({ "tool_name": "file_utility.read_file_content", "arguments": { "file_path": "src/app/main.py" } });
    assert_eq!(answer(&short.to_string()), worked, "optional parameters can be left out");

    let missing =
        r#"{"tool_name":"file_utility.read_file_content","arguments":{"file_path":"src/app/non_existent_file.py"}}"#;
    assert_eq!(answer(missing), compact(include_str!("../seed/s4_4_result_failure.json")));
    std::fs::remove_dir_all(root).unwrap();
}

/// The answer to a flat call, byte by byte.
fn answered(server: &Server, message: &str) -> String {
    String::from_utf8(block_on(server.handle(message.as_bytes(), &Peer::new())).unwrap()).unwrap()
}

fn compact(json: &str) -> String {
    mcp_registry::serde_json::from_str::<Value>(json).unwrap().to_string()
}

#[test]
fn s4_6_the_tool_is_declared_idempotent_and_reads_the_same_twice() {
    let (root, registry) = registry("twice");
    let entry = mcp_registry::serde_json::to_value(registry.get("file_utility.read_file_content").unwrap()).unwrap();
    assert_eq!(entry["annotations"]["idempotentHint"], true);
    let call = ToolCall::parse(include_str!("../seed/s4_2_call.json")).unwrap();
    let first = registry.call_blocking(&call);
    assert!(!first.is_failure());
    assert_eq!(registry.call_blocking(&call), first);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn c29_c34_the_toolbox_keeps_to_the_strict_policy_and_the_lint_has_only_notes() {
    let root = std::env::temp_dir().join(format!("toolbox-lint-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let builder = Registry::builder()
        .select(|tool| tool.package() != "thousand")
        .state(Workspace::open(&root).unwrap())
        .state(Memory::default());
    let registry = builder.lint(LintPolicy::Strict).build().unwrap();
    let rules: Vec<_> = registry.catalog().lint().iter().map(|found| (found.rule, found.severity)).collect();
    assert_eq!(rules, [("closed-arguments", Severity::Note), ("optional-arguments", Severity::Note)]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn memory_remembers_between_calls() {
    let (root, registry) = registry("memory");
    let call = |name: &str, arguments: Value| registry.call_blocking(&ToolCall::new(name, arguments));
    assert_eq!(
        call("memory_put", json!({ "key": "k", "value": [1, null] })).data,
        Some(json!({ "key": "k", "existed": false }))
    );
    assert_eq!(call("memory.get", json!({ "key": "k" })).data, Some(json!({ "result": [1, null] })));
    assert_eq!(call("memory.list", json!({})).data, Some(json!({ "result": ["k"] })));
    assert_eq!(call("memory.delete", json!({ "key": "k" })).data, Some(json!({ "key": "k", "existed": true })));
    assert_eq!(call("memory.get", json!({ "key": "k" })).error.unwrap().error_type, "ResourceNotFound");
    assert!(registry.get("memory.delete").unwrap().is_destructive());
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn memory_bounds_its_keys_its_values_and_their_number() {
    let (root, registry) = registry("bounds");
    let put = |key: &str, value: Value| {
        let result = registry.call_blocking(&ToolCall::new("memory.put", json!({ "key": key, "value": value })));
        result.error.map(|error| error.error_type.to_string())
    };
    assert_eq!(put(&"k".repeat(257), json!(1)).as_deref(), Some("ValidationError"));
    assert_eq!(put("large", json!("x".repeat(16 << 10))).as_deref(), Some("ValidationError"));
    for key in 0..1_000 {
        assert_eq!(put(&key.to_string(), json!(key)), None);
    }
    assert_eq!(put("one more", json!(1)).as_deref(), Some("MemoryFullError"));
    assert_eq!(put("7", json!("another value")), None);
    std::fs::remove_dir_all(root).unwrap();
}

/// Plain functions run on threads, and only so many calls may be stuck: no file must be able to block one.
#[cfg(unix)]
#[test]
fn named_pipes_do_not_disable_other_tools() {
    let (root, registry) = registry("pipes");
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let read = ToolCall::new("file_utility.read_file_content", json!({ "file_path": "pipe" }));
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| registry.call_blocking(&read).error.expect("a pipe is not read"));
        }
    });
    assert_eq!(registry.call_blocking(&ToolCall::new("memory.list", json!({}))).data, Some(json!({ "result": [] })));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn the_tools_keep_the_contract_of_the_toolbox() {
    let (root, registry) = registry("contract");
    assert_contract_of(&registry.catalog(), "../examples/toolbox/mcp.lock.json");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn the_linked_tools_are_those_whose_contract_is_asserted() {
    let root = std::env::temp_dir().join(format!("toolbox-asserted-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let lock = root.join("mcp.lock.json");
    let write = |builder: RegistryBuilder| std::fs::write(&lock, builder.catalog().unwrap().contract().to_string());
    write(Registry::builder()).unwrap();
    assert_contract(&lock);
    write(Registry::builder().rename("memory", "memory.put", "memory.store")).unwrap();
    let panic = std::panic::catch_unwind(|| assert_contract(&lock)).unwrap_err();
    let report = panic.downcast_ref::<String>().unwrap();
    assert!(report.contains("mcp.lock.json`:\nbreaking[tool-renamed] memory.store: "), "{report}");
    std::fs::remove_dir_all(root).unwrap();
}
