//! What converters and frameworks make of schemas (hosts.md §3.9): each rule, once, with its side and the way out.

use std::collections::BTreeMap;

use mcp_registry::lint::{Finding, Severity, Side};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{Catalog, Registry, Tool, ToolCall, mcp_tool, tools};
use serde::{Deserialize, Serialize};

fn findings(catalog: &Catalog, rule: &str) -> Vec<Finding> {
    catalog.lint().into_iter().filter(|finding| finding.rule == rule).collect()
}

/// The only finding by a rule.
fn only(catalog: &Catalog, rule: &str) -> Finding {
    let mut found = findings(catalog, rule);
    assert_eq!(found.len(), 1, "{rule}: {found:#?}");
    found.remove(0)
}

/// The catalog of a tool that is made with these parameters.
fn made(properties: Value) -> Catalog {
    let schema = json!({ "type": "object", "properties": properties });
    Registry::builder_of([]).tool(Tool::new("made.tool", schema, |_, _| async {})).catalog().unwrap()
}

/// Keeps a value.
#[mcp_tool(module = "hosts", title = "Keep", read_only)]
fn keep(
    /// Any JSON.
    value: Value,
    /// Lists of it.
    lists: Vec<Vec<Value>>,
) -> i32 {
    let _ = (value, lists);
    0
}

#[test]
fn any_json_is_an_error_since_a_host_loses_all_tools() {
    let found = findings(&Catalog::from_entries(tools![keep]).unwrap(), "any-value");
    let pointers: Vec<&str> = found.iter().map(|finding| &*finding.pointer).collect();
    assert_eq!(pointers, ["/properties/value", "/properties/lists/items/items"]);
    let text = found[0].to_string();
    assert!(
        text.starts_with("error[any-value]: `hosts.keep` takes any JSON in its input at `/properties/value`: "),
        "{text}"
    );
    assert!(found[1].to_string().starts_with("warning[any-value]: "), "inside of a list, it harms its tool alone");
    for host in ["autogen", "`transform_schema`", "Gemini", "smolagents"] {
        assert!(text.contains(host), "{text}");
    }
    // What only restricts a value has no type of its own.
    let parts = json!({
        "a": { "type": "object", "anyOf": [{ "required": ["x"] }, { "required": ["y"] }] },
        "b": { "type": "string", "not": { "minLength": 3 }, "allOf": [{ "maxLength": 9 }] },
        "c": { "enum": [1, "a"] },
        "d": { "anyOf": [{ "type": "string" }, { "const": 1 }] },
    });
    assert!(findings(&made(parts), "any-value").is_empty());
    assert_eq!(findings(&made(json!({ "a": { "anyOf": [{ "type": "string" }, {}] } })), "any-value").len(), 1);
    // What a tool returns, no converter reads.
    let tool = Tool::new("made.any", json!({ "type": "object", "properties": {} }), |_, _| async {})
        .output_schema(json!({ "type": "object", "properties": { "a": {} } }));
    assert!(findings(&Registry::builder_of([]).tool(tool).catalog().unwrap(), "any-value").is_empty());
}

/// Counts.
#[mcp_tool(module = "hosts", title = "Count", read_only)]
fn count(
    /// By word.
    words: BTreeMap<String, u32>,
    /// By number.
    numbers: Option<BTreeMap<u8, BTreeMap<String, u32>>>,
) -> BTreeMap<String, u32> {
    let _ = numbers;
    words
}

#[test]
fn a_map_is_reported_once_for_openai() {
    let found = findings(&Catalog::from_entries(tools![count]).unwrap(), "map");
    assert_eq!(found.len(), 2, "{found:#?}");
    let text = found[0].to_string();
    assert!(
        text.starts_with("warning[map]: `hosts.count` takes a map in its input at `/properties/words`: "),
        "{text}"
    );
    assert!(text.contains("OpenAI") && found[1].pointer == "/properties/numbers", "{found:#?}");
    // Arguments that are not known are no map.
    assert!(findings(&made(json!({ "a": { "type": "object", "additionalProperties": false } })), "map").is_empty());
    let open = json!({ "type": "object", "properties": {}, "additionalProperties": true });
    let open = Registry::builder_of([]).tool(Tool::new("made.open", open, |_, _| async {})).catalog().unwrap();
    assert!(findings(&open, "map").is_empty());
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Path {
    user_id: u64,
    corners: Vec<(i32, i32)>,
    next: Option<Box<Path>>,
}

/// Gives back a path.
#[mcp_tool(module = "hosts", title = "Walk", read_only)]
fn walk(
    /// The path.
    path: Path,
    /// The same again.
    other: Option<Path>,
) -> Path {
    let _ = other;
    path
}

/// The sides and pointers of the findings by a rule.
fn places_of(catalog: &Catalog, rule: &str) -> Vec<(Option<Side>, String)> {
    findings(catalog, rule).into_iter().map(|finding| (finding.side, finding.pointer)).collect()
}

#[test]
fn a_type_has_one_finding_in_the_input_and_one_in_the_output_however_often_it_is_used() {
    let catalog = Catalog::from_entries(tools![walk]).unwrap();
    for (rule, field) in [("tuple", "corners/items"), ("wide-integer-id", "user_id")] {
        let input = (Some(Side::Input), format!("/properties/path/properties/{field}"));
        let output = (Some(Side::Output), format!("/properties/{field}"));
        assert_eq!(places_of(&catalog, rule), [input, output]);
    }
    let tuples = findings(&catalog, "tuple");
    assert!(tuples[0].message.contains("Gemini") && tuples[0].message.contains("OpenAI"), "{}", tuples[0]);
    assert_eq!(
        (tuples[0].hosts, tuples[1].hosts),
        (&["gemini", "openai"][..], &[][..]),
        "no converter reads an output"
    );
}

#[test]
fn a_definition_is_reported_once_by_whichever_name_and_route_it_is_found() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "$ref": "#/$defs/Id" },
            "owner_id": { "$ref": "#/$defs/Id" },
            "user_id": { "$ref": "#/$defs/Id" },
            "b": { "$ref": "#/properties/c/items" },
            "c": { "type": "array", "items": { "anyOf": [{ "prefixItems": [true] }, { "prefixItems": [true, true] }] } },
            "d/e~f": { "type": ["string", "null"] },
        },
        "$defs": { "Id": { "type": "integer" } },
    });
    let catalog = Registry::builder_of([]).tool(Tool::new("made.tool", schema, |_, _| async {})).catalog().unwrap();
    let at = |pointer: &str| vec![(Some(Side::Input), pointer.to_owned())];
    assert_eq!(places_of(&catalog, "wide-integer-id"), at("/$defs/Id"));
    assert_eq!(places_of(&catalog, "tuple"), at("/properties/c/items/anyOf/0"));
    assert_eq!(places_of(&catalog, "null-type"), at("/properties/d~1e~0f"));
}

/// Gives back places.
#[mcp_tool(module = "hosts", title = "Places", read_only)]
fn places() -> Vec<(i32, i32)> {
    Vec::new()
}

#[test]
fn a_finding_says_that_it_is_about_the_output() {
    let finding = only(&Catalog::from_entries(tools![places]).unwrap(), "tuple");
    assert_eq!((finding.side, &*finding.pointer), (Some(Side::Output), "/properties/result/items"));
    let message = finding.message;
    assert!(message.contains("in its output at `/properties/result/items`") && !message.contains("input"), "{message}");
}

#[test]
fn recursion_is_an_error_since_hosts_lose_all_tools_and_other_references_are_a_warning() {
    let found = only(&Catalog::from_entries(tools![walk]).unwrap(), "schema-references");
    assert_eq!(found.severity, Severity::Error);
    assert_eq!((found.side, &*found.pointer), (Some(Side::Input), "/$defs/Path"));
    for part in ["input", "`Path`", "llama-index", "mcp-use"] {
        assert!(found.message.contains(part), "{}", found.message);
    }
    let schema = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/A" } },
        "$defs": { "A": { "type": "string" } },
    });
    let tool = Tool::new("made.referring", schema, |_, _| async {});
    let catalog = Registry::builder_of([]).tool(tool).catalog().unwrap();
    let found = only(&catalog, "schema-references");
    assert_eq!((found.severity, &*found.pointer), (Severity::Warning, "/$defs"));
    assert!(found.affects("gemini") && !found.affects("llama-index"), "{found:?}");
}

#[test]
fn unions_written_as_one_of_are_reported() {
    let catalog = made(json!({ "a": { "oneOf": [{ "type": "string", "const": "x" }, { "type": "integer" }] } }));
    let message = only(&catalog, "one-of").message;
    assert!(message.contains("in its input at `/properties/a`") && message.contains("Gemini"), "{message}");
    assert!(message.contains("`anyOf`") && message.contains("`enum`"), "{message}");
}

/// Finds.
#[mcp_tool(module = "hosts", title = "Find", read_only)]
fn find(
    /// What.
    text: String,
    /// How many.
    limit: Option<u32>,
    /// From where on.
    #[arg(default = 0)]
    offset: u32,
) -> String {
    let _ = (limit, offset);
    text
}

/// Turns pages.
#[mcp_tool(module = "hosts", title = "Turn", read_only, allow_unknown_arguments)]
fn turn(
    /// Which one.
    page: Vec<Page>,
) -> usize {
    page.len()
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Page {
    size: u16,
    after: Option<String>,
}

/// Is excused.
#[mcp_tool(module = "hosts", title = "Excused", read_only, allow("closed-arguments", "optional-arguments"))]
fn excused(
    /// What.
    text: Option<String>,
) -> Option<String> {
    text
}

#[test]
fn what_concerns_most_tools_is_one_note_for_all_of_them() {
    let catalog = Catalog::from_entries(tools![find, turn, excused]).unwrap();
    let closed = only(&catalog, "closed-arguments");
    assert_eq!((closed.severity, closed.tool.as_str(), &closed.origin), (Severity::Note, "", &None));
    assert!(closed.message.contains("in the input of `hosts.find`: "), "{closed}");
    assert!(closed.message.contains("google-genai") && closed.message.contains("allow_unknown_arguments"), "{closed}");

    let optional = only(&catalog, "optional-arguments");
    assert_eq!((optional.severity, optional.tool.as_str()), (Severity::Note, ""));
    for part in ["`hosts.find`", "`hosts.turn`", "openai-agents", "convert_schemas_to_strict"] {
        assert!(optional.message.contains(part), "{optional}");
    }
    assert!(!optional.message.contains("`hosts.excused`"), "{optional}");
    assert!(optional.to_string().starts_with("note[optional-arguments]: "), "{optional}");
    assert!(catalog.lint().iter().all(|finding| finding.severity == Severity::Note), "{:#?}", catalog.lint());

    let excused = Catalog::from_entries(tools![excused]).unwrap();
    assert!(excused.lint().is_empty(), "{:#?}", excused.lint());
}

#[derive(Deserialize, JsonSchema)]
#[serde(default)]
struct Window {
    size: u16,
    after: Option<String>,
}

impl Default for Window {
    fn default() -> Self {
        Self { size: 10, after: None }
    }
}

/// Opens a window.
#[mcp_tool(module = "hosts", title = "Open", read_only)]
fn open(
    /// Which one.
    window: Window,
    /// How far.
    #[arg(default = 1)]
    width: u8,
) -> String {
    format!("{} {} {width}", window.size, window.after.unwrap_or_default())
}

#[test]
fn null_counts_as_absent_for_options_and_for_parameters_and_fields_with_a_default() {
    let registry = Registry::builder_of(tools![open]).build().unwrap();
    let call = |arguments: Value| registry.call_blocking(&ToolCall::new("hosts.open", arguments)).data;
    let opened = Some(json!({ "result": "10  1" }));
    assert_eq!(call(json!({ "window": {} })), opened);
    // As CrewAI sends what is left out.
    assert_eq!(call(json!({ "window": { "size": null, "after": null }, "width": null })), opened);
}

#[test]
fn a_note_names_few_tools_of_many() {
    let tool = |n: usize| {
        let schema = json!({ "type": "object", "properties": {}, "additionalProperties": n.is_multiple_of(10) });
        Tool::new(format!("made.tool_{n}"), schema, |_, _| async {})
    };
    let note = |numbers: &mut dyn Iterator<Item = usize>| {
        let catalog = numbers.fold(Registry::builder_of([]), |builder, n| builder.tool(tool(n))).catalog().unwrap();
        only(&catalog, "closed-arguments").message
    };
    let some = note(&mut (10..50));
    assert!(some.contains("`made.tool_11`, `made.tool_12`, `made.tool_13` and 33 more tools"), "{some}");
    let all = note(&mut (1..10));
    assert!(all.contains("all 9 tools") && !all.contains("`made"), "{all}");
}
