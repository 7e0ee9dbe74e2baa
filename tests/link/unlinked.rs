//! A dependency that nothing in the program names. (Nothing in this file may name the crate `unnamed_tools` outside of
//! text, or it would be linked.)

use mcp_registry::error::RegistrationProblem;
use mcp_registry::{Catalog, Registry, mcp_tool};

/// Is here.
#[mcp_tool(module = "here")]
fn here() -> bool {
    true
}

#[test]
fn p3_the_tools_of_a_crate_that_nobody_names_are_not_linked() {
    let catalog = Catalog::linked().unwrap();
    assert!(catalog.find("here.here").is_some());
    assert!(catalog.list_registered_tools().iter().all(|tool| tool.package() != "unnamed-tools"));
}

#[test]
fn p3_expect_tools_reports_the_missing_crate_and_the_remedy() {
    let error = Registry::builder().expect_tools([("unnamed-tools", 2), ("mcp-link-tests", 1)]).build().unwrap_err();
    let [RegistrationProblem::Unlinked { package, expected: 2, found: 0, .. }] = error.problems() else {
        panic!("{error}");
    };
    assert_eq!(package, "unnamed-tools");
    let remedy = "name it in the binary with `link_tools!(unnamed_tools)`, or its functions with `tools![…]`";
    assert!(error.to_string().contains(remedy), "{error}");
}
