//! The promises of `SECURITY.md` and of the guide, along every way in.

mod ways;

use mcp_registry::{CallOptions, Registry, mcp_tool, tools};
use ways::{Target, Way};

/// Adds.
#[mcp_tool(module = "try")]
fn add(a: i64) -> i64 {
    a
}

#[test]
fn every_way_answers() {
    let registry = Registry::builder_of(tools![add]).build().unwrap();
    let target = Target { registry, options: CallOptions::new(), program: None };
    for way in Way::ALL.into_iter().filter(|way| !way.is_program()) {
        let replies = way.calls(&target, &[("try_add", r#"{"a":1}"#), ("try_add", r#"{"a":"x"}"#), ("try.ad", "{}")]);
        println!("{way:?}");
        for reply in replies {
            println!("    {reply} [{}: {}]", reply.error_type(), reply.message());
        }
    }
}
