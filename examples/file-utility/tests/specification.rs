//! The specification page is up to date, and its example is what the tool does.

use file_utility::Workspace;
use mcp_registry::testing::{Harness, assert_specification};
use mcp_registry::tools;

#[test]
fn s4_1_the_specification_is_up_to_date() {
    assert_specification("MCP_TOOL_SPECIFICATION.md", tools![file_utility::read_file_content]);
}

#[test]
fn s4_2_s4_3_s4_4_s4_5_s4_6_the_page_says_what_the_usage_example_says() {
    let page = include_str!("../MCP_TOOL_SPECIFICATION.md");
    let row = |start: &str, end: &str| page.lines().any(|line| line.starts_with(start) && line.ends_with(end));
    assert!(page.contains("\n## Tool: `file_utility.read_file_content`\n\n**Version**: 1.0.0\n"), "{page}");
    assert!(row("| `file_path` | `string` | Yes | Path", "| `\"src/data/input.txt\"` |"), "{page}");
    assert!(row("| `max_chars` | `integer` | No | Read", "| | at least 1 | `1024` |"), "{page}");
    assert!(row("| `encoding` | `string` | No | Text", "| `\"utf-8\"` | | |"), "{page}");
    for (field, types) in [("file_content", "string"), ("chars_read", "integer"), ("encoding_used", "string")] {
        assert!(row(&format!("| `{field}` | `{types}` | Yes | The "), " |"), "{field}: {page}");
    }
    for error in ["FileNotFoundError", "PermissionError", "UnsupportedEncodingError", "FileTooLargeError"] {
        assert!(row(&format!("- `{error}`: "), ""), "{error}: {page}");
    }
    assert!(page.contains("\n**Idempotency**:\n\nThis tool is **idempotent**: "), "{page}");
}

#[test]
fn s1_30_s4_12_the_example_on_the_page_is_what_the_tool_answers() {
    let root = std::env::temp_dir().join(format!("file-utility-example-{}", std::process::id()));
    std::fs::create_dir_all(root.join("src/data")).unwrap();
    std::fs::write(root.join("src/data/input.txt"), "12 eggs\n6 apples\n").unwrap();
    let workspace = Workspace::open(&root).unwrap();
    let harness =
        Harness::for_tools(tools![file_utility::read_file_content], |builder| builder.state(workspace)).unwrap();
    let specification = harness.registry().get("file_utility.read_file_content").unwrap().specification();
    let call = specification.examples.call.unwrap();
    assert_eq!(harness.call(&call.tool_name, call.arguments), specification.examples.success);
    std::fs::remove_dir_all(root).unwrap();
}
