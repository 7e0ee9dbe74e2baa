//! The example crates, through the registry, as a program would use them.

use file_utility::Workspace;
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{LintPolicy, Registry, Severity, ToolCall, ToolResult, TrustLevel};
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
    let output = tool.output_schema().unwrap();
    assert_eq!(output["required"], json!(["file_content", "chars_read", "encoding_used"]));
    for property in ["file_content", "chars_read", "encoding_used"] {
        assert!(output["properties"][property]["description"].is_string());
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn s4_7_s4_12_s4_13_the_worked_messages_are_answered_as_they_are_worked() {
    let (root, registry) = registry("messages");
    let answer = |message: &str| registry.call_blocking(&ToolCall::parse(message).unwrap());
    let success = answer(include_str!("seed/s4_2_call.json"));
    let worked = ToolResult::parse(include_str!("seed/s4_3_result_success.json")).unwrap();
    assert_eq!((success.status, success.data), (worked.status, worked.data));

    let missing =
        ToolCall::new("file_utility.read_file_content", json!({ "file_path": "src/app/non_existent_file.py" }));
    let worked = ToolResult::parse(include_str!("seed/s4_4_result_failure.json")).unwrap();
    assert_eq!(registry.call_blocking(&missing), worked);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn c29_c34_the_toolbox_keeps_to_the_strict_policy_and_the_lint_has_only_notes() {
    let root = std::env::temp_dir().join(format!("toolbox-lint-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let builder = Registry::builder().state(Workspace::open(&root).unwrap()).state(Memory::default());
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
fn memory_refuses_what_would_let_it_grow_without_bounds() {
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

/// Plain functions run on threads, and only so many calls may be stuck on one: a file must not be able to hold any.
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
