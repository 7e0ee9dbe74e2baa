//! Every key of the attribute has its effect.

use std::time::Duration;

use mcp_core::entry::{Hints, MetaValue, Timeout};
use mcp_core::mcp_tool;
use mcp_core::serde_json::{Value, json};

use super::{call, entry, input};

/// Nothing said.
#[mcp_tool]
fn nothing_said() {}

#[test]
fn without_keys_there_are_defaults() {
    let entry = entry("mcp_tests.nothing_said");
    assert_eq!((entry.title, entry.description, entry.version), (None, "Nothing said.", "1.0.0"));
    assert_eq!((entry.hints, entry.deprecated_in, entry.replaced_by), (Hints::default(), None, None));
    assert!(entry.aliases.is_empty() && entry.tags.is_empty() && entry.meta.is_empty() && entry.allow.is_empty());
    assert!(!entry.hidden && !entry.inline && !entry.allow_unknown_arguments && !entry.flatten);
    assert_eq!((entry.timeout, entry.max_result, entry.cache_ttl), (None, None, 300));
    assert!(entry.params.is_empty() && entry.needs.is_empty() && entry.input_schema.is_none());
}

/// Named.
#[mcp_tool(name = "Other-Name.v1")]
fn named() {}

#[mcp_tool(module = "keys", title = "A title", description = "Described by the key.")]
fn titled() {}

#[test]
fn name_title_and_description_are_set() {
    entry("Other-Name.v1");
    let entry = entry("keys.titled");
    assert_eq!((entry.title, entry.description), (Some("A title"), "Described by the key."));
}

const KIB: usize = 1024;

/// Old.
#[mcp_tool(
    module = "keys",
    version = "2.1.0-rc.1",
    deprecated_in = "2.0.0",
    replaced_by = "keys.titled",
    aliases("keys.older", "oldest"),
    tags("a", "b"),
    meta(owner = "pay", pii, level = 3, negative = -1, share = 0.5, checked = false, r#type = "x"),
    allow("some-rule", "other-rule"),
    max_result = 64 * KIB,
    cache_ttl = 60
)]
fn marked() {}

#[test]
fn version_deprecation_aliases_tags_and_meta_are_set() {
    let entry = entry("keys.marked");
    assert_eq!((entry.version, entry.deprecated_in), ("2.1.0-rc.1", Some("2.0.0")));
    assert_eq!(entry.replaced_by, Some("keys.titled"));
    assert_eq!(entry.aliases, ["keys.older", "oldest"]);
    assert_eq!(entry.tags, ["a", "b"]);
    assert_eq!(entry.allow, ["some-rule", "other-rule"]);
    assert_eq!((entry.max_result, entry.cache_ttl), (Some(65_536), 60));
    let meta = [
        ("owner", MetaValue::Str("pay")),
        ("pii", MetaValue::Bool(true)),
        ("level", MetaValue::Int(3)),
        ("negative", MetaValue::Int(-1)),
        ("share", MetaValue::Float(0.5)),
        ("checked", MetaValue::Bool(false)),
        ("type", MetaValue::Str("x")),
    ];
    assert_eq!(entry.meta, meta);
}

/// Safe.
#[mcp_tool(module = "keys", read_only, destructive = false, idempotent, open_world = false)]
fn safe() {}

/// Dangerous.
#[mcp_tool(module = "keys", destructive, read_only = false)]
fn dangerous() {}

#[test]
fn only_stated_effects_become_hints() {
    let hints = entry("keys.safe").hints;
    let said = (hints.read_only, hints.destructive, hints.idempotent, hints.open_world);
    assert_eq!(said, (Some(true), Some(false), Some(true), Some(false)));
    let hints = entry("keys.dangerous").hints;
    let said = (hints.read_only, hints.destructive, hints.idempotent, hints.open_world);
    assert_eq!(said, (Some(false), Some(true), None, None));
}

/// Hidden.
#[mcp_tool(module = "keys", hidden, timeout = "5s")]
fn hidden() {}

/// Quick.
#[mcp_tool(module = "keys", inline, hidden = false, timeout = "none")]
fn quick() {}

/// In milliseconds.
#[mcp_tool(module = "keys", timeout = "500ms")]
fn in_milliseconds() {}

/// In minutes.
#[mcp_tool(module = "keys", timeout = "2m")]
fn in_minutes() {}

#[test]
fn hidden_inline_and_timeout_are_set() {
    let after = |duration| Some(Timeout::After(duration));
    assert!(entry("keys.hidden").hidden && !entry("keys.quick").hidden);
    assert!(entry("keys.quick").inline && !entry("keys.hidden").inline);
    assert_eq!(entry("keys.hidden").timeout, after(Duration::from_secs(5)));
    assert_eq!(entry("keys.quick").timeout, Some(Timeout::Never));
    assert_eq!(entry("keys.in_milliseconds").timeout, after(Duration::from_millis(500)));
    assert_eq!(entry("keys.in_minutes").timeout, after(Duration::from_secs(120)));
}

fn own_schema() -> Value {
    json!({ "type": "object", "properties": { "a": { "type": "integer", "multipleOf": 2 } } })
}

/// With schemas of its own.
#[mcp_tool(module = "keys", input_schema = own_schema(), output_schema = json!({ "type": "object" }))]
fn own_schemas(a: i32) -> i32 {
    a
}

#[test]
fn an_explicit_schema_replaces_the_generated_one() {
    assert_eq!(input("keys.own_schemas"), own_schema());
    assert_eq!(
        entry("keys.own_schemas").generate_output_schema().map(|output| output.to_value()),
        Some(json!({ "type": "object" }))
    );
    assert_eq!(call("keys.own_schemas", r#"{"a": 2}"#), json!(2));
}

/// Takes anything.
#[mcp_tool(module = "keys", allow_unknown_arguments)]
fn tolerant(a: i32) -> i32 {
    a
}

/// Takes what it knows.
#[mcp_tool(module = "keys")]
fn exact(a: i32) -> i32 {
    a
}

#[test]
fn unknown_arguments_are_refused_unless_allowed() {
    assert_eq!(call("keys.tolerant", r#"{"b": [1, {"c": 2}], "a": 1}"#), json!(1));
    assert_eq!(input("keys.tolerant").get("additionalProperties"), None);
    assert_eq!(super::faults("keys.exact", r#"{"b": [1], "a": 1}"#)[0].0, "/b");
    assert_eq!(input("keys.exact")["additionalProperties"], json!(false));
}

/// Reads.
///
/// It has two paragraphs,
///     one of them indented.
///
/// ```
/// # hidden code is no heading
/// ```
///
/// # Errors
/// - `FileNotFoundError`: there is no file.
///
/// # Security
/// Stays inside.
#[mcp_tool(module = "keys")]
fn documented() {}

#[test]
fn the_description_ends_at_the_first_heading() {
    let entry = entry("keys.documented");
    let text = "Reads.\n\nIt has two paragraphs,\n    one of them indented.\n\n```\n# hidden code is no heading\n```";
    assert_eq!(entry.description, text);
    assert_eq!(entry.sections, [("Errors", "- `FileNotFoundError`: there is no file."), ("Security", "Stays inside.")]);
}
