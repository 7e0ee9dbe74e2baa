//! Which versions announce a change.

use mcp_registry::contract::{Contract, Diff};
use mcp_registry::serde_json::json;

use crate::rules;

/// The changes between two versions of a tool of which the second one requires a parameter.
fn required_parameter(old: &str, new: &str) -> Diff {
    let contract = |version: &str, required: &[&str]| {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": required });
        let meta = json!({ "mcp-registry/tool": { "name": "shop.search", "version": version } });
        let list = json!([{ "name": "shop_search", "inputSchema": schema, "_meta": meta }]);
        Contract::from_tools_list(&list.to_string()).unwrap()
    };
    let diff = contract(old, &[]).diff(&contract(new, &["a"]));
    assert!(rules(&diff).contains(&"parameter-required"), "{diff}");
    diff
}

#[test]
fn a_version_announces_a_change_that_breaks_if_it_is_large_enough() {
    for (old, new, required, is_announced) in [
        ("1.1.0", "1.2.0", Some("2.0.0"), false),
        ("1.1.0", "2.0.0", Some("2.0.0"), true),
        ("1.1.0", "3.1.4", Some("2.0.0"), true),
        ("0.3.1", "0.3.2", Some("0.4.0"), false),
        ("0.3.1", "0.4.0", Some("0.4.0"), true),
        // A pre-release announces what its release announces.
        ("1.1.0", "2.0.0-rc.1", Some("2.0.0"), true),
        ("1.1.0", "1.2.0-rc.1", Some("2.0.0"), false),
        ("0.3.1", "0.4.0-alpha", Some("0.4.0"), true),
        // From one pre-release to the next, everything may change.
        ("2.0.0-rc.1", "2.0.0-rc.1", Some("2.0.0"), false),
        ("2.0.0-rc.1", "2.0.0-rc.2", Some("2.0.0"), true),
        ("2.0.0-rc.1", "2.0.0", Some("2.0.0"), true),
        ("2.0.0-rc.2", "2.0.0-rc.1", Some("2.0.0"), false),
        ("1.1.0", "2.0.0+build.7", Some("2.0.0"), true),
        // There is no larger version.
        ("18446744073709551615.0.0", "18446744073709551615.1.0", None, false),
        ("0.18446744073709551615.0", "1.0.0", None, false),
    ] {
        let diff = required_parameter(old, new);
        let shown = diff.required_version("shop.search").map(ToString::to_string);
        assert_eq!((shown.as_deref(), diff.is_acceptable()), (required, is_announced), "{old} → {new}: {diff}");
        assert_eq!(diff.to_string().contains("which is enough"), is_announced, "{old} → {new}: {diff}");
    }
}
