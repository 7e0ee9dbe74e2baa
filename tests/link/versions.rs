//! One crate in two versions, in one program.

use mcp_registry::error::{Conflict, RegistrationProblem};
use mcp_registry::serde_json::json;
use mcp_registry::{Registry, ToolCall, tools};

mcp_registry::link_tools!(two_versions_1 = "two-versions", two_versions_2 = "two-versions");

#[test]
fn p2_two_versions_of_one_crate_are_distinguished_by_their_versions() {
    let error = Registry::linked().unwrap_err();
    assert!(matches!(error.problems(), [RegistrationProblem::Conflict(Conflict::Duplicate { .. })]), "{error}");
    let remedy = r#".exclude("two-versions@2.0.0", "two_versions.version")"#;
    assert!(error.to_string().contains(remedy), "{error}");

    let error = Registry::builder().exclude("two-versions", "two_versions.version").build().unwrap_err().to_string();
    assert!(error.contains("name one version: \"two-versions@2.0.0\""), "{error}");
    // The order is up to the linker.
    let in_order = [
        tools![two_versions_1::version, two_versions_2::version],
        tools![two_versions_2::version, two_versions_1::version],
    ];
    let told = in_order.map(|tools| {
        let builder = Registry::builder_of(tools).exclude("two-versions", "two_versions.version");
        builder.build().unwrap_err().to_string().lines().nth(1).map(str::to_owned)
    });
    assert_eq!(told[0], told[1]);
    assert!(error.contains(told[0].as_deref().unwrap()), "{told:?}");

    let version =
        |registry: &Registry, name: &str| registry.call_blocking(&ToolCall::new(name, json!({}))).data.unwrap();
    let first = Registry::builder().exclude("two-versions@2.0.0", "two_versions.version").build().unwrap();
    assert_eq!(version(&first, "two_versions.version"), json!({ "result": 1 }));
    let both = Registry::builder().prefix("two-versions@1.0.0", "old").build().unwrap();
    assert_eq!(version(&both, "old.two_versions.version"), json!({ "result": 1 }));
    assert_eq!(version(&both, "two_versions.version"), json!({ "result": 2 }));
}
