//! The specification pages of tools: their form, and that what they show holds.

#![allow(clippy::needless_pass_by_value, reason = "tools have the form under test")]

use std::time::Duration;

use mcp_registry::contract::{Field, Specification};
use mcp_registry::mcp::{CallToolResult, ProtocolVersion};
use mcp_registry::registry::OutputCheck;
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{
    Catalog, Content, Json, RateLimit, Registry, Server, ToolCall, ToolError, ToolResult, TrustLevel, mcp_tool, tools,
};

use super::golden::{golden_entries, validator};

const SECTIONS: [&str; 8] = [
    "**Purpose and Description**:",
    "**Invocation Name**:",
    "**Input Schema (Parameters)**:",
    "**Output Schema (Return Value)**:",
    "**Error Handling**:",
    "**Idempotency**:",
    "**Usage Examples**:",
    "**Security Considerations**:",
];

/// How many cells a row of a table has.
fn cells(row: &str) -> usize {
    row.replace(r"\|", "").matches('|').count() - 1
}

/// Checks the form of a page, which is the same for every tool.
fn check_form(specification: &Specification) {
    let page = specification.to_string();
    let head = format!("## Tool: `{}`\n\n**Version**: {}\n", specification.name, specification.version);
    assert!(page.starts_with(&head) && page.ends_with('\n'), "{page}");
    assert!(!page.contains("\n\n\n") && !page.lines().any(|line| line.ends_with(' ')), "{page}");
    let (mut sections, mut in_code, mut columns, mut text) = (Vec::new(), false, 0, false);
    for line in page.lines() {
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        }
        if !in_code && SECTIONS.contains(&line) {
            assert!(sections.is_empty() || text, "{sections:?} has no text: {page}");
            sections.push(line);
            text = false;
        } else if !line.is_empty() {
            text = true;
        }
        assert!(in_code || !line.starts_with('#') || line.starts_with("## Tool: "), "{line}");
        columns = match line.starts_with("| ") && !in_code {
            true if columns == 0 => cells(line),
            true => {
                assert_eq!(cells(line), columns, "{line}");
                columns
            }
            false => 0,
        };
    }
    assert!(!in_code && text);
    assert_eq!(sections, SECTIONS);
}

/// The JSON blocks of a page.
fn blocks(page: &str) -> Vec<Value> {
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks.map(|json| serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))).collect()
}

#[test]
fn s1_24_s1_26_s1_27_s1_59_every_page_has_eight_sections_and_both_schemas() {
    let catalog = Catalog::from_entries(golden_entries()).unwrap();
    assert!(catalog.len() > 100, "{}", catalog.len());
    for tool in catalog.list_registered_tools() {
        let specification = tool.specification();
        check_form(&specification);
        let blocks = blocks(&specification.to_string());
        assert_eq!(blocks[0], **tool.input_schema(), "{}", tool.name());
        if let Some(output) = tool.output_schema() {
            assert_eq!(blocks[1], **output, "{}", tool.name());
        }
    }
}

#[test]
fn s1_30_each_example_holds_when_it_is_replayed_through_a_registry() {
    let registry = Registry::builder_of(golden_entries()).build().unwrap();
    let client = block_on(Client::connect(Server::new(registry.clone()), ProtocolVersion::V2025_11_25)).unwrap();
    let (mut calls, mut failures) = (0, 0);
    for tool in &*registry.list_registered_tools() {
        let specification = tool.specification();
        let (page, examples) = (specification.to_string(), specification.examples);
        if let Some(call) = &examples.call {
            registry.check(call).unwrap_or_else(|error| panic!("{error}: {}", call.to_json()));
            assert!(blocks(&page).contains(&call.to_value()));
            calls += 1;
        }
        if let Some(output) = tool.output_schema() {
            let data = examples.success.data.clone().expect("a sample");
            assert!(validator(output).is_valid(&data), "{}: {data}", tool.name());
        }
        examples.success.validate().unwrap();
        let Some((call, failure)) = &examples.failure else { continue };
        if failure.error.as_ref().unwrap().error_type != "ValidationError" {
            continue;
        }
        assert_eq!(registry.call_blocking(call), *failure, "{}", tool.name());
        let params = json!({ "name": tool.wire_name(), "arguments": call.arguments });
        let result = block_on(client.request("tools/call", params)).unwrap();
        assert!(blocks(&page).contains(&json!({ "jsonrpc": "2.0", "id": 2, "result": result })), "{result}: {page}");
        failures += 1;
    }
    assert!(calls > 100 && failures > 100, "{calls} calls, {failures} failures");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    /// Only orders since this day.
    #[allow(dead_code, reason = "only its schema matters")]
    #[schemars(example = "2026-01-31")]
    since: Option<String>,
    #[allow(dead_code, reason = "only its schema matters")]
    lines: Vec<Line>,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Line {
    /// Which | where.
    article: u32,
    tags: Vec<String>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Found {
    /// The lines
    /// that were found.
    lines: Vec<Line>,
    next: Option<String>,
}

/// Finds orders.
///
/// # Not a section
/// ```text
/// # not a heading
/// ```
///
/// # Migration
/// `client` is now called `customer`.
///
/// # Errors
/// - `ShopClosed`: it is night.
///
/// ## On holidays
/// 1. `ShopClosed`, too.
///
/// Idempotency
/// -----------
/// Orders may come in between.
///
/// ~~~text
/// # Security
/// ~~~
///
/// # Security
/// Shows orders to everybody.
#[mcp_tool(
    module = "shop",
    version = "2.1.0",
    aliases("shop.search"),
    deprecated_in = "2.0.0",
    replaced_by = "shop.find",
    open_world,
    idempotent = false,
    timeout = "5s",
    max_result = 1000
)]
fn look(
    /// The customer:
    /// a number.
    #[arg(alias = "client", min = 1, example = 7)]
    customer: u32,
    #[arg(one_of("new", "old"), default = "new")] state: &str,
    #[arg(secret)] token: &str,
    filter: Option<Filter>,
) -> Result<Found, ToolError> {
    let _ = (customer, state, token, filter);
    Err(ToolError::new("ShopClosed", "it is night; come back tomorrow"))
}

fn specification(tool: &'static mcp_registry::entry::ToolEntry) -> Specification {
    Catalog::from_entries([tool]).unwrap().list_registered_tools()[0].specification()
}

#[test]
fn s1_26_s1_27_tables_have_nested_fields_with_types_defaults_constraints_and_examples() {
    let look = specification(tools![look][0]);
    let rows = |fields: &[Field]| -> Vec<(String, String, bool)> {
        fields.iter().map(|field| (field.name.clone(), field.types.clone(), field.required)).collect()
    };
    let row = |name: &str, types: &str, required| (name.to_owned(), types.to_owned(), required);
    assert_eq!(
        rows(&look.parameters),
        [
            row("customer", "integer", true),
            row("state", "string", false),
            row("token", "string", true),
            row("filter", "object", false),
            row("filter.since", "string", false),
            row("filter.lines", "array of object", true),
            row("filter.lines[].article", "integer", true),
            row("filter.lines[].tags", "array of string", true),
        ]
    );
    assert_eq!(look.parameters[0].constraints, ["1 to 4294967295", "older name: `client`"]);
    assert_eq!((&look.parameters[0].example, &look.parameters[1].default), (&Some(json!(7)), &Some(json!("new"))));
    assert_eq!(look.parameters[4].example, Some(json!("2026-01-31")));
    assert_eq!(
        rows(&look.outputs),
        [
            row("lines", "array of object", true),
            row("lines[].article", "integer", true),
            row("lines[].tags", "array of string", true),
            row("next", "string or null", true),
        ]
    );
    let page = look.to_string();
    for line in [
        "| `customer` | `integer` | Yes | The customer: a number. | | 1 to 4294967295; older name: `client` | `7` |",
        "| `state` | `string` | No | | `\"new\"` | one of `\"new\"`, `\"old\"` | |",
        r"| `lines[].article` | `integer` | Yes | Which \| where. | 0 to 4294967295 |",
    ] {
        assert!(page.contains(line), "{page}");
    }
    check_form(&look);
}

#[test]
fn s1_25_s1_28_s1_29_s1_31_s1_39_s1_42_a_page_has_what_the_author_and_the_registry_say() {
    let page = specification(tools![look][0]).to_string();
    for text in [
        "**Version**: 2.1.0\n",
        "*Migration to 2.0.0*:\n\n`client` is now called `customer`.\n",
        "`shop.look`\n\n- Its name in MCP is `shop_look`; both names can be called.\n",
        "- Older names that can still be called: `shop.search`.\n",
        "- **Deprecated** since version 2.0.0: use `shop.find` instead.\n",
        "Errors of the tool:\n\n- `ShopClosed`: it is night.\n\n**On holidays**\n\n1. `ShopClosed`, too.\n\nErrors of the registry",
        "| `TimeoutError` | The tool does not answer within 5s. | `{\"tool\":\"shop.look\",\"timeout_seconds\":5.0}` |\n",
        "| `ResultTooLargeError` | The result has more than 1000 bytes. |",
        "This tool is **not idempotent**: each call has its own effect, so do not repeat one blindly.\n\nOrders may come in between.\n\n~~~text\n# Security\n~~~\n\n**Usage",
        "Shows orders to everybody.\n\n- **Effects**: as the author states, it reaches beyond the program",
        "kept out of errors and logs: `token`.",
        "- **Access Control**: every caller may call it, unless",
    ] {
        assert!(page.contains(text), "{text:?} is not in {page}");
    }
    assert!(!page.contains("PermissionError"), "{page}");
}

/// Deletes | everything.
#[mcp_tool(module = "spec", destructive)]
fn wipe() -> u8 {
    1
}

/// Sleeps.
#[mcp_tool(module = "spec", timeout = "10ms", allow_unknown_arguments)]
fn sleep() -> u8 {
    std::thread::sleep(Duration::from_millis(200));
    1
}

/// Returns too much.
#[mcp_tool(module = "spec", max_result = 10)]
fn large() -> String {
    "x".repeat(20)
}

/// Returns something else than it says.
#[mcp_tool(module = "spec", output_schema = json!({ "type": "object", "required": ["n"], "properties": { "n": {} } }))]
fn wrong() -> Json<Value> {
    Json(json!({ "m": 1 }))
}

#[test]
fn s1_28_the_error_details_on_a_page_have_the_structure_of_the_real_ones() {
    let registry =
        Registry::builder_of(tools![wipe, sleep, large, wrong]).check_output(OutputCheck::Always).build().unwrap();
    let limited = Registry::builder_of(tools![large]).rate_limit_tool("spec.large", RateLimit::per_minute(1)).build();
    let limited = limited.unwrap();
    limited.call_blocking(&ToolCall::new("spec.large", json!({})));
    for (registry, name, error_type) in [
        (&registry, "spec.wipe", "PermissionError"),
        (&registry, "spec.sleep", "TimeoutError"),
        (&registry, "spec.large", "ResultTooLargeError"),
        (&registry, "spec.wrong", "ToolExecutionError"),
        (&limited, "spec.large", "ApiLimitExceeded"),
    ] {
        let real = registry.call_blocking(&ToolCall::new(name, json!({}))).error.unwrap();
        assert_eq!(real.error_type, error_type);
        let errors = registry.get(name).unwrap().specification().registry_errors;
        let shown = errors.iter().find(|error| error.error_type == error_type).unwrap_or_else(|| panic!("{errors:?}"));
        let keys = |details: &Option<Value>| -> Vec<String> {
            details.as_ref().unwrap().as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(keys(&shown.details), keys(&real.error_details), "{name}");
    }
}

#[test]
fn no_result_is_too_large_for_the_largest_limit() {
    let large = mcp_registry::Tool::new("odd.large", json!({ "type": "object" }), |_, _: Value| async {})
        .max_result(usize::MAX);
    let registry = Registry::builder_of([]).tool(large).build().unwrap();
    let errors = registry.get("odd.large").unwrap().specification().registry_errors;
    assert!(errors.iter().all(|error| error.error_type != "ResultTooLargeError"), "{errors:?}");
}

#[test]
fn members_of_alternatives_are_described_for_all_of_them() {
    let catalog = Catalog::from_entries(golden_entries()).unwrap();
    let specification = |name: &str| catalog.get(name).unwrap().specification();
    let page = specification("golden.flatten_enum").to_string();
    assert!(
        page.contains("| `kind` | `string` | Yes | | one of `\"circle\"`, `\"place\"`, `\"nothing\"` |\n"),
        "{page}"
    );
    assert!(page.contains("| `radius` | `number` | No | | |\n"), "{page}");
    let page = specification("golden.described").to_string();
    assert!(page.contains("| How to open it.<br>- `read_only`: Only for reading.<br>- `read_write`: For"), "{page}");
}

/// The parameters of a tool with these properties: name, type, whether it is required, and constraints.
fn rows(schema: &Value) -> Vec<(String, String, bool, String)> {
    let tool = mcp_registry::Tool::new("odd.tool", schema.clone(), |_, _: Value| async {});
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    let specification = registry.get("odd.tool").unwrap().specification();
    check_form(&specification);
    let row = |field: Field| (field.name, field.types, field.required, field.constraints.join("; "));
    specification.parameters.into_iter().map(row).collect()
}

fn row(name: &str, types: &str, required: bool, constraints: &str) -> (String, String, bool, String) {
    (name.to_owned(), types.to_owned(), required, constraints.to_owned())
}

#[test]
fn s1_26_maps_are_described_with_their_names_and_values() {
    let point = json!({ "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] });
    let schema = json!({ "type": "object", "properties": {
        "points": { "type": "object", "additionalProperties": point },
        "counts": { "type": "object", "patternProperties": { r"^\d+$": { "type": "integer", "minimum": 0 } },
                    "additionalProperties": false },
        "lists": { "type": "object", "additionalProperties": { "type": "array", "items": point } },
        "open": { "type": "object", "properties": { "a": {} }, "additionalProperties": { "type": "string" } },
        "pair": { "type": "array", "prefixItems": [{ "type": "string" }, point], "minItems": 1 },
    }, "additionalProperties": false });
    assert_eq!(
        rows(&schema),
        [
            row("points", "object of object", false, ""),
            row("points.*.x", "number", true, ""),
            row("counts", "object of integer", false, r"each name: matches `^\d+$`; each value: at least 0"),
            row("lists", "object of array of object", false, ""),
            row("lists.*[].x", "number", true, ""),
            row("open", "object", false, ""),
            row("open.a", "any", false, ""),
            row("open.*", "string", false, ""),
            row("pair", "array", false, "at least 1 item"),
            row("pair[0]", "string", true, ""),
            row("pair[1]", "object", false, ""),
            row("pair[1].x", "number", true, ""),
        ]
    );
}

/// Counts by number.
#[mcp_tool(module = "spec")]
fn by_number() -> std::collections::BTreeMap<u32, Line> {
    std::collections::BTreeMap::new()
}

#[test]
fn s1_27_a_map_as_a_result_has_a_row_for_its_values() {
    let page = specification(tools![by_number][0]).to_string();
    let row = r"| `*` | `object` | No | Each member, whatever its name. | each name: matches `^\d+$` |";
    assert!(page.contains(row) && page.contains("| `*.tags` | `array of string` | Yes |"), "{page}");
}

#[test]
fn s1_26_a_member_of_an_alternative_is_required_if_what_contains_it_must_have_it() {
    let inner = json!({ "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] });
    let form = |kind: &str, value: &Value| {
        json!({ "type": "object", "properties": { "kind": { "const": kind }, "value": value, "name": { "type": "string" } },
                "required": ["kind", "value"] })
    };
    let schema = json!({ "type": "object", "properties": {
        "one": { "oneOf": [form("a", &inner), form("b", &json!({ "type": "string" })), { "type": "integer" }] },
        "two": { "anyOf": [{ "type": "object", "properties": { "deep": inner } }, form("c", &json!(true))] },
        "word": { "oneOf": [{ "const": "up" }, { "const": "down" }] },
    } });
    assert_eq!(
        rows(&schema),
        [
            row("one", "object or integer", false, "one of 3 forms; see the schema"),
            row("one.kind", "string", true, "one of `\"a\"`, `\"b\"`"),
            row("one.value", "object or string", true, "one of 2 forms; see the schema"),
            row("one.value.x", "integer", true, ""),
            row("one.name", "string", false, ""),
            row("two", "object", false, "one of 2 forms; see the schema"),
            row("two.deep", "object", false, ""),
            row("two.deep.x", "integer", true, ""),
            row("two.kind", "string", false, "always `\"c\"`"),
            row("two.value", "any", false, ""),
            row("two.name", "string", false, ""),
            row("word", "string", false, "one of `\"up\"`, `\"down\"`"),
        ]
    );
}

#[test]
fn s1_26_rules_for_all_arguments_are_named_after_the_table() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
                         "anyOf": [{ "required": ["a"] }, { "required": ["b"] }], "maxProperties": 2 });
    let tool = mcp_registry::Tool::new("odd.tool", schema, |_, _: Value| async {});
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    let page = registry.get("odd.tool").unwrap().specification().to_string();
    let rule = "The arguments as a whole: at most 2 members; one of 2 forms; see the schema.\n";
    assert!(page.contains(rule), "{page}");
}

#[test]
fn s1_26_a_type_that_contains_itself_is_described_once() {
    let catalog = Catalog::from_entries(tools![grow]).unwrap();
    let specification = catalog.list_registered_tools()[0].specification();
    let names: Vec<&str> = specification.parameters.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["tree", "tree.children", "tree.matrix"]);
    assert_eq!(specification.parameters[2].types, "array of array of string");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Tree {
    #[allow(dead_code, reason = "only its schema matters")]
    children: Vec<Tree>,
    #[allow(dead_code, reason = "only its schema matters")]
    matrix: Vec<Vec<Option<String>>>,
}

/// Grows.
#[mcp_tool(module = "spec")]
fn grow(tree: Tree) {
    let _ = tree;
}

#[test]
fn s1_26_what_a_schema_excludes_is_named() {
    let schema = json!({ "type": "object", "properties": {
        "name": { "type": "string", "not": { "enum": ["root", "admin"] } },
        "value": { "not": { "type": "null" } },
        "never": false,
        "nothing": { "not": {} },
        "odd": { "type": "string", "not": { "type": "string", "pattern": "^_" } },
        "rule": { "type": "array", "contains": { "const": 1 } },
    } });
    assert_eq!(
        rows(&schema),
        [
            row("name", "string", false, "not `\"root\"`, `\"admin\"`"),
            row("value", "any", false, "not `null`"),
            row("never", "nothing", false, ""),
            row("nothing", "nothing", false, ""),
            row("odd", "string", false, "not everything; see the schema"),
            row("rule", "array", false, "further rules; see the schema"),
        ]
    );
}

#[test]
fn s1_26_code_and_html_in_a_table_are_shown_as_they_are() {
    let schema = json!({ "type": "object", "properties": {
        "text": { "type": "string", "enum": ["a  b", "|", "`"], "description":
            "An <id>, `<b>  |`, <https://a.b>\nand 1 < 2:\n\n1. one\n2. two\n\n```\nlet  x;\n\ny|z\n```\nEnd." },
        "pattern": { "type": "string", "pattern": r"a\|b" },
    } });
    let tool = mcp_registry::Tool::new("odd.tool", schema, |_, _: Value| async {});
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    let page = registry.get("odd.tool").unwrap().specification().to_string();
    let description =
        r"An \<id>, `<b>  \|`, <https://a.b> and 1 < 2:<br>1. one<br>2. two<br>`let  x;`<br>`y\|z`<br>End.";
    let row =
        format!(r#"| `text` | `string` | No | {description} | | one of `"a  b"`, `"\|"`, ``{}`` | |"#, r#" "`" "#);
    assert!(page.contains(&row), "{page}");
    assert!(page.contains("matches <code>a&#92;&#124;b</code> |"), "{page}");
}

#[test]
fn without_a_schema_and_an_example_a_page_shows_only_the_form_of_a_success() {
    let page = specification(golden_entries().find(|entry| entry.name == "golden.no_arguments").unwrap()).to_string();
    assert!(page.contains("it promises no structured `data`.\n"), "{page}");
    assert!(page.contains("What a successful result looks like (the tool promises no data):\n"), "{page}");
    assert!(!page.contains("\"id\": 1,\n  \"result\""), "{page}");
    let drawn = specification(tools![draw][0]).to_string();
    assert!(
        !drawn.contains("What a successful result looks like") && drawn.contains("\"id\": 1,\n  \"result\""),
        "{drawn}"
    );
}

#[test]
fn a_tool_that_rejects_no_arguments_shows_the_real_timeout_as_its_failure() {
    let registry = Registry::builder_of(tools![sleep]).build().unwrap();
    let examples = registry.get("spec.sleep").unwrap().specification().examples;
    let (call, failure) = examples.failure.unwrap();
    assert_eq!(registry.call_blocking(&call), failure);
}

/// Deletes everything, whatever the arguments are.
#[mcp_tool(module = "spec", destructive, allow_unknown_arguments)]
fn wipe_all() {}

/// Is no longer needed.
///
/// # Examples
/// ~~~json
/// 5
/// ~~~
#[mcp_tool(module = "spec", deprecated_in = "1.0.0", replaced_by = "spec.large")]
fn old(#[arg(example = 5)] number: u8) -> u8 {
    number
}

/// Will be replaced.
#[mcp_tool(module = "spec", replaced_by = "spec.large")]
fn aging() {}

#[test]
fn s1_30_a_refusal_is_the_failure_of_a_destructive_tool_that_accepts_everything() {
    let registry = Registry::builder_of(tools![wipe_all]).build().unwrap();
    let specification = registry.get("spec.wipe_all").unwrap().specification();
    let page = specification.to_string();
    let (call, failure) = specification.examples.failure.unwrap();
    assert_eq!(failure.error.as_ref().unwrap().error_type, "PermissionError");
    assert_eq!(registry.call_blocking(&call), failure);
    let client = block_on(Client::connect(Server::new(registry), ProtocolVersion::V2025_11_25)).unwrap();
    let result = block_on(client.request("tools/call", json!({ "name": "spec_wipe_all", "arguments": {} }))).unwrap();
    assert!(blocks(&page).contains(&json!({ "jsonrpc": "2.0", "id": 2, "result": result })), "{result}: {page}");
}

#[test]
fn s1_39_the_results_of_a_deprecated_tool_have_the_notice_that_a_call_has() {
    let registry = Registry::builder_of(tools![old]).build().unwrap();
    let specification = registry.get("spec.old").unwrap().specification();
    let page = specification.to_string();
    let examples = specification.examples;
    assert_eq!(registry.call_blocking(&examples.call.clone().unwrap()), examples.success);
    let (call, failure) = examples.failure.unwrap();
    assert_eq!(registry.call_blocking(&call), failure);
    let client = block_on(Client::connect(Server::new(registry), ProtocolVersion::V2025_11_25)).unwrap();
    for (id, arguments) in [(1, examples.call.unwrap().arguments), (2, call.arguments)] {
        let params = json!({ "name": "spec_old", "arguments": arguments });
        let result = block_on(client.request("tools/call", params)).unwrap();
        assert!(blocks(&page).contains(&json!({ "jsonrpc": "2.0", "id": id, "result": result })), "{result}: {page}");
    }
}

#[test]
fn a_replacement_is_named_before_the_tool_is_deprecated() {
    let page = specification(tools![aging][0]).to_string();
    assert!(page.contains("- Replaced by `spec.large`, but not deprecated yet.\n"), "{page}");
}

#[test]
fn s1_31_a_destructive_tool_needs_trust_on_its_page_as_in_its_registry() {
    let registry = Registry::builder_of(tools![wipe, large]).build().unwrap();
    for (name, needed) in [("spec.wipe", TrustLevel::Trusted), ("spec.large", TrustLevel::Untrusted)] {
        let specification = registry.get(name).unwrap().specification();
        assert_eq!(specification.required_trust, needed);
        for level in [TrustLevel::Untrusted, TrustLevel::Verified, TrustLevel::Trusted] {
            let options = mcp_registry::CallOptions::new().trust(level);
            let result = block_on(registry.call_with(&ToolCall::new(name, json!({})), &options));
            let is_refused = result.error.is_some_and(|error| error.error_type == "PermissionError");
            assert_eq!(is_refused, level < needed, "{name} {level}");
        }
    }
    let page = registry.get("spec.wipe").unwrap().specification().to_string();
    assert!(page.contains("callers need the trust level `trusted`") && page.contains("`PermissionError`"), "{page}");
    assert!(page.contains("program call spec.wipe --trust trusted\n"), "{page}");
}

/// Greets.
///
/// # Examples
/// Text before it.
/// ```json
/// "Hello, Ada!"
/// ```
#[mcp_tool(module = "spec")]
fn greet() -> String {
    "Hello, Ada!".to_owned()
}

/// Draws.
///
/// # Examples
/// ```json
/// { "status": "success", "content": [{ "type": "text", "text": "a chart" }], "explanation": "drawn" }
/// ```
#[mcp_tool(module = "spec")]
fn draw() -> Content {
    Content::text("a chart")
}

/// Counts.
///
/// # Examples
/// ```json
/// { "result": "many" }
/// ```
#[mcp_tool(module = "spec")]
fn count() -> u32 {
    1
}

/// Counts.
///
/// # Examples
/// ```json
/// { "result": 1
/// ```
#[mcp_tool(module = "spec")]
fn broken() -> u32 {
    1
}

/// Counts.
///
/// # Examples
/// ```json
/// { "status": "failure", "error": { "error_type": "ShopClosed", "error_message": "no" } }
/// ```
#[mcp_tool(module = "spec")]
fn failing() -> u32 {
    1
}

#[test]
fn s1_27_s1_30_the_example_in_the_docs_is_used_if_it_fits_and_otherwise_a_problem() {
    let success = |tools: [&'static mcp_registry::entry::ToolEntry; 1]| specification(tools[0]).examples.success;
    assert_eq!(success(tools![greet]), ToolResult::data("Hello, Ada!"));
    let drawn = success(tools![draw]);
    assert_eq!((drawn.explanation.as_deref(), drawn.content.unwrap().len()), (Some("drawn"), 1));
    for (tool, reason) in [
        (tools![count], "does not fit the output schema: `result` must be "),
        (tools![broken], "is not JSON: EOF"),
        (tools![failing], "is a failure; show a success"),
    ] {
        let catalog = Catalog::from_entries(tool).unwrap();
        let tool = &catalog.list_registered_tools()[0];
        let error = tool.specification().problem.unwrap();
        let (file, line) = (&tool.origin().file, tool.origin().line);
        let start = format!("the example in the docs of `{}` ({file}:{line}) {reason}", tool.name());
        assert!(error.to_string().starts_with(&start), "{error}");
        assert!(error.to_string().ends_with("; correct the `json` block under `# Examples`"), "{error}");
    }
}

#[test]
fn what_authors_write_does_not_break_the_page() {
    let text =
        "Does it. <!-- never\n\nUnder\n---\n- a\n---\n\n# Heading #  \n**Idempotency**:\n~~~~\n~~~\n# code\nunclosed";
    let schema = json!({ "type": "object", "properties": {
        "odd | name": { "type": "string", "pattern": "a|`b`", "description": "one\n\n| two |" },
        "any": true, "union": { "oneOf": [{ "type": "object", "properties": { "a": {} } }, { "type": "null" }, { "const": 5 }] },
        "loop": { "$ref": "#/$defs/node" },
    }, "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } } } });
    let tool = mcp_registry::Tool::new("odd.tool", schema, |_, _: Value| async {}).description(text);
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    let specification = registry.get("odd.tool").unwrap().specification();
    let page = specification.to_string();
    assert!(
        page.contains("Does it. \\<!-- never\n\n**Under**\n\n- a\n\n---\n\n**Heading**\n\n**Idempotency**:\n~~~~\n~~~\n# code\nunclosed\n~~~~\n\n\
             **Invocation Name**"),
        "{page}"
    );
    assert!(
        page.contains(r"| `odd \| name` | `string` | No | one<br>\| two \| | | matches `` a\|`b` `` | |"),
        "{page}"
    );
    let names: Vec<&str> = specification.parameters.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["odd | name", "any", "union", "union.a", "loop", "loop.next"]);
    assert_eq!(specification.parameters[2].types, "object or integer or null");
    assert_eq!(specification.parameters[2].constraints, ["one of 2 forms; see the schema"]);
}

#[test]
fn the_result_in_the_docs_is_what_an_mcp_client_gets() {
    let registry = Registry::builder_of(tools![greet]).build().unwrap();
    let success = registry.get("spec.greet").unwrap().specification().examples.success;
    let client = block_on(Client::connect(Server::new(registry), ProtocolVersion::V2025_11_25)).unwrap();
    let real = block_on(client.call_tool("spec_greet", json!({}))).unwrap();
    assert_eq!(CallToolResult::from(success), real);
}

#[test]
fn s1_26_of_several_rules_the_one_that_holds_is_shown() {
    let least = |keyword: &str, least: u64| json!({ "type": "object", "properties": { "a": { keyword: least } } });
    let schema = json!({ "type": "object", "properties": {
        "number": { "allOf": [{ "maximum": 10 }, { "maximum": 5, "minimum": 1 }, { "type": "number", "minimum": 0.5 }] },
        "small": { "$ref": "#/$defs/small", "maximum": 300, "exclusiveMinimum": -1 },
        "text": { "type": "string", "pattern": "a", "minLength": 2, "allOf": [{ "pattern": "b", "minLength": 3 }] },
        "word": { "enum": ["a", "b", 3], "allOf": [{ "enum": ["b", "c", 3.0] }] },
        "list": { "type": "array", "allOf": [{ "items": { "minimum": 1 } }, { "items": { "type": "integer", "minimum": 2 } }] },
        "member": { "allOf": [least("minimum", 1), least("minimum", 2), { "oneOf": [least("minimum", 3), {}] }] },
        "type": { "type": ["integer", "string", "null"], "allOf": [{ "type": ["number", "null"] }] },
        "none": { "type": "integer", "allOf": [{ "type": "string" }] },
    }, "$defs": { "small": { "type": "integer", "minimum": 0, "maximum": 255 } } });
    assert_eq!(
        rows(&schema),
        [
            row("number", "number", false, "1 to 5"),
            row("small", "integer", false, "0 to 255; more than -1"),
            row("text", "string", false, "at least 3 characters; matches `a`; matches `b`"),
            row("word", "string or integer", false, "one of `\"b\"`, `3`"),
            row("list", "array of integer", false, "each item: at least 2"),
            row("member", "object", false, "one of 2 forms; see the schema"),
            row("member.a", "any", false, "at least 2"),
            row("type", "integer or null", false, ""),
            row("none", "nothing", false, ""),
        ]
    );
}

/// Lists orders.
#[mcp_tool(module = "spec", output_schema = json!({
    "type": "object",
    "properties": { "page": { "$ref": "#/$defs/Page%3COrder%3E" } },
    "$defs": { "Page<Order>": { "type": "object", "properties": { "next": { "type": "string", "format": "odd" } } } },
}))]
fn paged() -> Json<Value> {
    Json(json!({}))
}

#[test]
fn s1_27_a_reference_is_followed_if_it_is_percent_encoded() {
    let outputs = specification(tools![paged][0]).outputs;
    let names: Vec<&str> = outputs.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["page", "page.next"]);
    let findings = Catalog::from_entries(tools![paged]).unwrap().lint();
    assert!(findings.iter().any(|finding| finding.rule == "unknown-format"), "{findings:?}");
}

#[test]
fn s1_26_s1_27_members_have_a_row_at_every_depth() {
    let deep = |inner: Value, name: &str| json!({ "type": "object", "properties": { name: inner } });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let map = json!({ "type": "object", "additionalProperties":
        list(json!({ "type": "array", "prefixItems": [{ "type": "integer" }] })) });
    let letters = ["f", "e", "d", "c", "b"].into_iter().fold(json!({ "type": "string" }), deep);
    let schema = json!({ "type": "object", "properties": { "a": letters, "g": deep(deep(map, "i"), "h") } });
    let names: Vec<String> = rows(&schema).into_iter().map(|(name, ..)| name).collect();
    let expected = ["a", "a.b", "a.b.c", "a.b.c.d", "a.b.c.d.e", "a.b.c.d.e.f", "g", "g.h", "g.h.i", "g.h.i.*[][0]"];
    assert_eq!(names, expected);
}

#[test]
fn s1_26_a_table_ends_after_300_rows_with_what_is_less_deep_first() {
    let members = |level: &Value| -> Value {
        let members = (0..25).map(|index| (format!("m{index:02}"), level.clone()));
        json!({ "type": "object", "properties": Value::Object(members.collect()) })
    };
    let reference = |level: usize| json!({ "$ref": format!("#/$defs/level{level}") });
    let mut schema = members(&reference(1));
    schema["$defs"] = json!({ "level1": members(&reference(2)), "level2": members(&reference(3)),
        "level3": members(&json!({ "type": "string" })) });
    let found = rows(&schema);
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!((names.len(), &names[..2], names[300]), (301, &["m00", "m00.m00"][..], "…"));
    assert!(names.contains(&"m24") && names.contains(&"m10.m24") && !names.contains(&"m00.m00.m00"), "{names:?}");
    // Parts without a row of their own end, too.
    let lists = |level: usize| json!({ "items": reference(level), "additionalProperties": reference(level) });
    let definitions = (0..40).map(|level| (format!("level{level}"), lists(level + 1)));
    let mut definitions: serde_json::Map<String, Value> = definitions.collect();
    definitions.insert("level40".to_owned(), json!({ "properties": { "end": {} } }));
    let schema = json!({ "type": "object", "properties": { "a": reference(0), "b": {} }, "$defs": definitions });
    let names: Vec<String> = rows(&schema).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["a", "b", "…"]);
}

/// A page of a tool with this description.
fn described(text: &str) -> String {
    let schema = json!({ "type": "object", "properties": { "": { "properties": { "a": { "pattern": "" } } } } });
    let tool = mcp_registry::Tool::new("odd.deep.tool", schema, |_, _: Value| async {}).description(text);
    let registry = Registry::builder_of([]).tool(tool).build().unwrap();
    registry.get("odd.deep.tool").unwrap().specification().to_string()
}

#[test]
fn an_open_code_block_ends_with_the_list_item_that_it_is_in() {
    for (text, shown) in [
        ("- a\n  ```\n  # b", "- a\n  ```\n  # b\n  ```"),
        ("- a\n  ```\n  # b\n\nc\n# d", "- a\n  ```\n  # b\n\n  ```\nc\n\n**d**"),
        ("1. ~~~\n   # a\n2. b\n# c", "1. ~~~\n   # a\n   ~~~\n2. b\n\n**c**"),
        ("- a\n  - ```\n    b\n  # c", "- a\n  - ```\n    b\n    ```\n\n**c**"),
        ("- a\n\n  ```\nb\n  ```\nc", "- a\n\n  ```\n  ```\nb\n  ```\nc\n```"),
        ("  ```\n a\n```\nb", "```\n a\n```\nb"),
    ] {
        let page = described(text);
        assert!(page.contains(&format!("\n\n{shown}\n\n**Invocation Name**")), "{shown}: {page}");
    }
}

#[test]
fn a_heading_in_a_quote_or_a_list_is_bold() {
    let page = described("a\n\n> # b\n> - ## c ##\n> d\n> ===\n- # e\n- ---");
    let shown = "a\n\n> **b**\n> - **c**\n> d\n>\n> ===\n- **e**\n- ---";
    assert!(page.contains(&format!("\n\n{shown}\n\n**Invocation Name**")), "{page}");
}

#[test]
fn an_empty_name_is_shown_as_an_empty_text() {
    let page = described("a");
    assert!(
        page.contains("| `\"\"` | `any` |") && page.contains("| `.a` | `any` | No | | | matches `\"\"` |"),
        "{page}"
    );
}

/// Is called by those who know it.
#[mcp_tool(module = "spec.deep", hidden)]
fn secret() {}

#[test]
fn the_page_of_a_hidden_tool_does_not_say_that_hosts_see_it() {
    let page = specification(tools![secret][0]).to_string();
    let names = "`spec.deep.secret`\n\n- Its name in MCP is `spec_deep_secret`; both names can be called.\n\
                 - It is not listed, but can be called.\n";
    assert!(page.contains(names), "{page}");
}
