//! What a host or a model could stumble over.

#![allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "tools have the form under test")]

use std::collections::{HashMap, HashSet};

use mcp_core::entry::entries;
use mcp_registry::error::RegistrationProblem;
use mcp_registry::lint::{Finding, LintPolicy, Severity, Side};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{Catalog, Content, Json, NamePolicy, Registry, Tool, ToolError, ToolResult, mcp_tool, tools};
use serde::Deserialize;

mod hosts;

#[mcp_tool(module = "bad", version = "1.0.0")]
fn silent(x: (i32, i32), data: Vec<u8>, user_id: u64, free: Value) {
    let _ = (x, data, user_id, free);
}

/// Is fine.
#[mcp_tool(module = "good", title = "Fine", read_only)]
fn fine(
    /// The text.
    text: String,
) -> String {
    text
}

/// Has set a rule aside.
#[mcp_tool(module = "good", title = "Excused", read_only, allow("missing-parameter-description", "no-such-rule"))]
fn excused(text: String) -> String {
    text
}

/// Has a long name.
#[mcp_tool(name = "some_module_of_many_words.some_tool_of_many_words", title = "Long", read_only)]
fn long() -> i32 {
    0
}

#[mcp_tool(name = "1st__thing")]
fn oddly_named() {}

fn rules(catalog: &Catalog, tool: &str) -> Vec<&'static str> {
    catalog.lint().into_iter().filter(|finding| finding.tool == tool).map(|finding| finding.rule).collect()
}

#[test]
fn p4_what_hosts_refuse_or_models_misread_is_found() {
    let catalog = Catalog::from_entries(tools![silent, fine, excused, long, oddly_named]).unwrap();
    assert_eq!(
        rules(&catalog, "bad.silent"),
        [
            "missing-description",
            "missing-title",
            "missing-effect-hints",
            "missing-output-schema",
            "missing-parameter-description",
            "missing-parameter-description",
            "missing-parameter-description",
            "missing-parameter-description",
            "tuple",
            "bytes",
            "wide-integer-id",
            "any-value",
        ]
    );
    assert_eq!(rules(&catalog, "good.fine"), [""; 0]);
    assert_eq!(rules(&catalog, "good.excused"), ["unknown-rule"]);
    assert_eq!(rules(&catalog, "some_module_of_many_words.some_tool_of_many_words"), ["name-length"]);
    assert!(rules(&catalog, "1st__thing").starts_with(&["name-characters", "name-form", "missing-description"]));
}

#[test]
fn a_finding_says_where_and_what_to_do() {
    let catalog = Catalog::from_entries(tools![silent]).unwrap();
    let finding = catalog.lint().into_iter().find(|finding| finding.rule == "missing-description").unwrap();
    assert_eq!(finding.severity, Severity::Error);
    let text = finding.to_string();
    assert!(text.starts_with("error[missing-description]: `bad.silent` has no description"), "{text}");
    assert!(text.contains("lint/mod.rs:"), "{text}");
}

/// The text without what is quoted, and how often a quotation is in it.
fn unquoted(text: &str, quotation: &str) -> (String, usize) {
    let (plain, quoted): (Vec<_>, Vec<_>) = text.split('`').enumerate().partition(|(index, _)| index % 2 == 0);
    let count = quoted.iter().filter(|(_, part)| *part == quotation).count();
    (plain.into_iter().map(|(_, part)| part).collect(), count)
}

/// Every tool of this binary that can be registered, among them one of each kind of type.
fn every_tool() -> Catalog {
    let catalog = Catalog::from_entries(entries().filter(|entry| !entry.name.starts_with("wrong."))).unwrap();
    assert!(catalog.len() > 150, "{}", catalog.len());
    catalog
}

#[test]
fn no_two_findings_are_about_one_place_and_each_has_its_own_fingerprint() {
    let findings = every_tool().lint();
    let mut places = HashSet::new();
    let mut fingerprints = HashSet::new();
    for finding in &findings {
        let Finding { rule, tool, side, pointer, .. } = finding;
        assert!(places.insert((rule, tool, side, pointer)), "{finding:#?}");
        let fingerprint = finding.fingerprint();
        assert!(fingerprint.len() == 16 && fingerprints.insert(fingerprint), "{finding:#?}");
    }
    let sides: HashSet<_> = findings.iter().map(|finding| finding.side).collect();
    assert_eq!(sides.len(), 3);
}

#[test]
fn a_message_names_its_side_and_its_pointer_once_and_the_pointer_leads_to_a_schema() {
    let catalog = every_tool();
    for finding in catalog.lint() {
        let Finding { rule, tool, side, pointer, message, .. } = &finding;
        let (text, named) = unquoted(message, pointer);
        let count =
            |side: &str| text.split(|c: char| !c.is_alphabetic() && c != '-').filter(|word| *word == side).count();
        let expected = match side {
            Some(Side::Input) => (1, 0),
            Some(Side::Output) => (0, 1),
            _ => (0, 0),
        };
        assert_eq!((count("input"), count("output")), expected, "{finding}");
        assert_eq!(named, usize::from(!pointer.is_empty()), "{finding}");
        if tool.is_empty() || *rule == "missing-output-schema" {
            continue;
        }
        let tool = catalog.get(tool).unwrap();
        let schema = match side {
            Some(Side::Output) => tool.output_schema().map(|schema| schema.pointer(pointer).is_some()),
            _ => Some(tool.input_schema().pointer(pointer).is_some()),
        };
        assert_eq!(schema, Some(true), "{finding}");
    }
}

#[test]
fn a_fingerprint_depends_on_the_place_and_not_on_the_words() {
    let catalog = Catalog::from_entries(tools![silent]).unwrap();
    let finding = catalog.lint().into_iter().find(|finding| finding.rule == "tuple").unwrap();
    let mut other = finding.clone();
    (other.message, other.severity, other.origin) = (String::new(), Severity::Note, None);
    assert_eq!(other.fingerprint(), finding.fingerprint());
    other.pointer.push('/');
    assert_ne!(other.fingerprint(), finding.fingerprint());
    (other.pointer, other.side) = (finding.pointer.clone(), Some(Side::Output));
    assert_ne!(other.fingerprint(), finding.fingerprint());
}

#[test]
fn rules_that_do_not_exist_are_one_finding() {
    let schema = json!({ "type": "object", "properties": {} });
    let tool = Tool::new("made.tool", schema, |_, _| async {}).allow("no-rule").allow("any-value").allow("no-other");
    let findings = Registry::builder_of([]).tool(tool).catalog().unwrap().lint();
    let found: Vec<_> = findings.iter().filter(|finding| finding.rule == "unknown-rule").collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].message.starts_with("`made.tool` allows `no-rule`, `no-other`: "), "{}", found[0]);
    assert!(found[0].message.contains("any-value, map"), "{}", found[0]);
}

#[test]
fn a_tool_that_is_created_at_run_time_is_not_told_to_write_doc_comments() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let tool = Tool::new("made.tool", schema, |_, _| async {});
    let findings = Registry::builder_of([]).tool(tool).catalog().unwrap().lint();
    assert!(findings.iter().any(|finding| finding.rule == "missing-parameter-description"));
    assert!(findings.iter().all(|finding| !finding.message.contains("doc comment")), "{findings:#?}");
}

#[test]
fn dots_on_the_wire_are_found() {
    let catalog = Registry::builder_of(tools![fine]).names(NamePolicy::Dotted).catalog().unwrap();
    assert_eq!(rules(&catalog, "good.fine"), ["dotted-name"]);
}

#[test]
fn schemas_written_by_hand_are_looked_into() {
    let properties: HashMap<String, Value> =
        (0..400).map(|n| (format!("p{n}"), json!({ "type": "string", "format": "phone" }))).collect();
    let schema = json!({ "type": "object", "properties": properties, "anyOf": [{}] });
    let registry = Registry::builder_of([]).tool(Tool::new("made.by_hand", schema, |_, _| async {})).build().unwrap();
    let found = rules(&registry.catalog(), "made.by_hand");
    for rule in ["schema-size", "root-union", "unknown-format"] {
        assert!(found.contains(&rule), "{rule}");
    }
    let nulls = json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } }, "definitions": {} });
    let made = |name: &str, schema: Value| Tool::new(name, schema, |_, _| async {});
    let builder =
        Registry::builder_of([]).tool(made("made.nulls", nulls)).tool(made("made.bare", json!({ "type": "object" })));
    let catalog = builder.catalog().unwrap();
    for (tool, rule) in
        [("made.nulls", "null-type"), ("made.nulls", "schema-references"), ("made.bare", "missing-properties")]
    {
        assert!(rules(&catalog, tool).contains(&rule), "{rule}");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Order {
    /// A number that is no list of bytes.
    items: u8,
    /// A field whose name is a keyword.
    default: Vec<(i32, i32)>,
    /// A wide id, deeper down.
    #[serde(rename = "userId")]
    user: u64,
}

/// Looks deeper.
#[mcp_tool(module = "good", title = "Deep", read_only)]
fn deep(
    /// The order.
    order: Order,
) -> String {
    order.items.to_string()
}

#[test]
fn schemas_are_looked_into_by_their_keywords() {
    assert_eq!(rules(&Catalog::from_entries(tools![deep]).unwrap(), "good.deep"), ["tuple", "wide-integer-id"]);
}

#[test]
fn c29_the_strict_policy_makes_errors_of_errors() {
    assert!(Registry::builder_of(tools![fine]).lint(LintPolicy::Strict).build().is_ok());
    let error = Registry::builder_of(tools![silent]).lint(LintPolicy::Strict).build().unwrap_err();
    let rule = |problem: &RegistrationProblem| match problem {
        RegistrationProblem::Lint { rule, .. } => *rule,
        other => panic!("{other}"),
    };
    let rules: Vec<&str> = error.problems().iter().map(rule).collect();
    assert_eq!(rules, ["missing-description", "missing-output-schema", "any-value"]);
    assert!(error.to_string().contains("allow(\"missing-description\")"), "{error}");

    let strict = Registry::builder_of(tools![fine]).lint(LintPolicy::Strict).build().unwrap();
    let silent = Tool::new("made.silent", json!({ "type": "object", "properties": {} }), |_, _| async {});
    let silent = silent.output_schema(json!({ "type": "object" }));
    for registry in [strict.clone(), strict.subset(|_| true)] {
        assert!(registry.register(silent.clone()).is_err());
        assert!(registry.register(silent.clone().allow("missing-description")).is_ok());
    }
}

/// Says nothing back.
#[mcp_tool(module = "strict", title = "Unit", read_only)]
fn unit() {}

/// Says back what has no schema.
#[mcp_tool(module = "strict", title = "Content", read_only)]
fn content() -> Content {
    Content::text("")
}

/// Says nothing back, and that is meant.
#[mcp_tool(module = "strict", title = "Excused", read_only, allow("missing-output-schema"))]
fn excused_unit() {}

/// Says back data that has no schema.
#[mcp_tool(module = "strict", title = "Free", read_only)]
fn free() -> Json<Value> {
    Json(Value::Null)
}

/// Says back a result.
#[mcp_tool(module = "strict", title = "Result", read_only)]
async fn result() -> Result<ToolResult, ToolError> {
    Ok(ToolResult::success())
}

/// Draws.
#[mcp_tool(module = "strict", title = "Draw", read_only)]
async fn draw() -> Result<Vec<Content>, ToolError> {
    Ok(vec![Content::image([1], "image/png")])
}

#[test]
fn only_a_tool_that_returns_data_is_told_to_give_it_a_schema() {
    let made = Tool::new("strict.made", json!({ "type": "object", "properties": {} }), |_, _| async {});
    let catalog = Registry::builder_of(tools![unit, content, draw, free, result]).tool(made).catalog().unwrap();
    let found: Vec<_> = catalog.lint().into_iter().filter(|finding| finding.rule == "missing-output-schema").collect();
    for finding in &found {
        let (severity, advice) = match &*finding.tool {
            "strict.unit" | "strict.content" | "strict.draw" => (Severity::Note, "`allow` this if it is intended"),
            "strict.made" => (Severity::Warning, "set `output_schema`, or `allow` this"),
            _ => (Severity::Warning, "a type with `JsonSchema` instead of `Json` or `ToolResult`"),
        };
        assert_eq!((finding.severity, finding.side), (severity, Some(Side::Output)), "{finding}");
        assert!(finding.message.contains(advice), "{finding}");
        assert_eq!(finding.message.contains("JsonSchema"), advice.contains("JsonSchema"), "{finding}");
    }
    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn c29_c34_a_missing_output_schema_is_an_error_under_the_strict_policy_unless_it_is_allowed() {
    for entry in [tools![unit], tools![content], tools![free]] {
        let catalog = Catalog::from_entries(entry).unwrap();
        assert_eq!(rules(&catalog, catalog.list_registered_tools()[0].name()), ["missing-output-schema"]);
        assert!(Registry::builder_of(entry).build().is_ok());
        let error = Registry::builder_of(entry).lint(LintPolicy::Strict).build().unwrap_err();
        let [RegistrationProblem::Lint { rule: "missing-output-schema", .. }] = error.problems() else {
            panic!("{error}");
        };
        assert!(error.to_string().contains("allow(\"missing-output-schema\")"), "{error}");
    }
    assert!(Registry::builder_of(tools![excused_unit, fine]).lint(LintPolicy::Strict).build().is_ok());

    let strict = Registry::builder_of(tools![fine]).lint(LintPolicy::Strict).build().unwrap();
    let schema = json!({ "type": "object", "properties": {} });
    let made = Tool::new("made.without", schema, |_, _| async {}).description("Has no output schema.");
    assert!(strict.register(made.clone()).unwrap_err().to_string().contains("`made.without` has no output schema"));
    assert!(strict.register(made.allow("missing-output-schema")).is_ok());
}

#[test]
fn s1_32_c29_an_output_schema_can_be_required_without_the_strict_policy() {
    let builder = |entries| Registry::builder_of(entries).require_output_schema();
    let error =
        builder(tools![unit, content, hidden_unit, excused_unit, fine].as_slice().to_vec()).build().unwrap_err();
    assert_eq!(error.problems().len(), 3, "{error}");
    let strict = Registry::builder_of(tools![unit, content, hidden_unit, excused_unit, fine]).lint(LintPolicy::Strict);
    assert_eq!(strict.build().unwrap_err(), error);
    for expected in
        ["`strict.unit` has no output schema", "tests/schema/lint/mod.rs:", "allow(\"missing-output-schema\")"]
    {
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(error.to_string().contains("`strict.hidden_unit`"), "{error}");
    // Nothing else is an error: these have no title and no hints.
    let registry = builder(tools![excused_unit, untitled].to_vec()).build().unwrap();
    let made = Tool::new("made.without", json!({ "type": "object" }), |_, _| async {});
    assert!(registry.register(made.clone()).unwrap_err().to_string().contains("`made.without` has no output schema"));
    assert!(registry.register(made.allow("missing-output-schema")).is_ok());
}

/// Says nothing back, to few.
#[mcp_tool(module = "strict", title = "Hidden", read_only, hidden)]
fn hidden_unit() {}

#[test]
fn hidden_tools_are_linted_only_for_what_concerns_calls() {
    let tools = tools![bare_hidden, slow_hidden];
    let findings = Catalog::from_entries(tools).unwrap().lint();
    let rules: Vec<_> = findings.iter().map(|finding| (finding.tool.as_str(), finding.rule)).collect();
    assert_eq!(
        rules,
        [
            ("hidden.bare_hidden", "missing-output-schema"),
            ("hidden.bare_hidden", "unknown-rule"),
            ("hidden.slow_hidden", "slow-union"),
        ]
    );
}

#[mcp_tool(module = "hidden", hidden, allow("no-such-rule"))]
fn bare_hidden(ids: Vec<i64>, any: Value) -> Json<i64> {
    let _ = any;
    Json(ids.into_iter().sum())
}

#[mcp_tool(module = "hidden", hidden)]
fn slow_hidden(tree: Tree) -> bool {
    let _ = tree;
    true
}

#[mcp_tool(module = "Strict_Not")]
fn untitled() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is looked at")]
enum Tree {
    Left { next: Box<Tree>, left: bool },
    Right { next: Box<Tree>, right: bool },
    Leaf(i64),
}

/// Of each JSON type there is one variant.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is looked at")]
enum Any {
    List(Vec<Any>),
    Map(HashMap<String, Any>),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "only its schema is looked at")]
enum Tagged {
    Branch { left: Box<Tagged>, right: Option<Box<Tagged>> },
    Leaf { value: i64 },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
enum External {
    Branch(Box<External>, Option<Box<External>>),
    Either(Result<Box<External>, Vec<External>>),
    Fields { left: Box<External> },
    Leaf,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "of")]
#[allow(dead_code, reason = "only its schema is looked at")]
enum Adjacent {
    Branch(Box<Adjacent>),
    Fork { left: Box<Adjacent>, right: Box<Adjacent> },
    Leaf,
}

/// Takes enums of which each variant has a name.
#[mcp_tool(module = "slow")]
fn named(external: External, adjacent: Adjacent) {
    let _ = (external, adjacent);
}

/// Takes a tree.
#[mcp_tool(module = "slow")]
fn tree(tree: Tree) {
    let _ = tree;
}

/// Takes a tree under a schema of its author's.
#[mcp_tool(module = "slow")]
fn hidden_tree(#[arg(schema = json!({ "type": "object" }))] tree: Tree) {
    let _ = tree;
}

/// Takes anything.
#[mcp_tool(module = "slow")]
fn any(any: Any) {
    let _ = any;
}

/// Takes a tree that reads in linear time.
#[mcp_tool(module = "slow")]
fn tagged(tree: Tagged) {
    let _ = tree;
}

#[test]
fn types_that_do_not_read_in_linear_time_are_named() {
    let tools = tools![tree, hidden_tree, tagged, named, any];
    let catalog = Catalog::from_entries(tools).unwrap();
    let slow = |tool: &str| {
        let findings = catalog.lint();
        findings.into_iter().find(|it| it.tool == tool && it.rule == "slow-union").map(|finding| finding.message)
    };
    assert!(slow("slow.tree").unwrap().contains("`Tree`"));
    assert!(slow("slow.hidden_tree").is_some());
    assert_eq!(slow("slow.tagged"), None);
    assert_eq!(slow("slow.named"), None);
    assert_eq!(slow("slow.any"), None);
    let registry = Registry::builder_of(tools).build().unwrap();
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/Tree" } },
        "$defs": { "Tree": { "anyOf": [
            { "type": "array", "items": { "$ref": "#/$defs/Tree" } },
            { "type": "array", "prefixItems": [{ "$ref": "#/$defs/Tree" }] },
        ] } },
    });
    registry.register(Tool::new("slow.made", schema, |_, _| async {}).description("Takes a tree.")).unwrap();
    assert!(registry.catalog().lint().iter().any(|it| it.tool == "slow.made" && it.rule == "slow-union"));
}
