//! State that is given with an `Arc` and needed without one, and vice versa.

use std::sync::Arc;

use mcp_registry::entry::ToolEntry;
use mcp_registry::{Registry, ToolContext, mcp_tool, tools};

struct Database(u8);

/// Wants the database.
#[mcp_tool(name = "state.plain")]
fn plain(#[ctx] db: &Database) -> u8 {
    db.0
}

/// Wants the database in an `Arc`.
#[mcp_tool(name = "state.shared")]
fn shared(#[ctx] db: &Arc<Database>) -> u8 {
    db.0
}

/// Wants a clone of the `Arc`.
#[mcp_tool(name = "state.cloned")]
async fn cloned(#[ctx(clone)] db: Arc<Database>) -> u8 {
    db.0
}

fn problem<const N: usize>(tools: [&'static ToolEntry; N], is_shared: bool) -> String {
    let builder = Registry::builder_of(tools);
    let database = Database(1);
    let built = if is_shared { builder.state(Arc::new(database)).build() } else { builder.state(database).build() };
    built.map(drop).unwrap_err().to_string()
}

#[test]
fn state_that_differs_by_an_arc_is_named() {
    let arc = "alloc::sync::Arc<macros::invalid_tools::state::Database>";
    let error = problem(tools![plain], true);
    let expected = format!(
        "`state.plain` needs state of type `macros::invalid_tools::state::Database` and was given `{arc}`; take `&{arc}` in the tool, or give `.state(…)` a `macros::invalid_tools::state::Database`"
    );
    assert!(error.contains(&expected), "{error}");
    for tool in [tools![shared], tools![cloned]] {
        let error = problem(tool, false);
        let expected = format!(
            "needs state of type `{arc}` and was given `macros::invalid_tools::state::Database`; take `&macros::invalid_tools::state::Database` in the tool, or give `.state(…)` a `{arc}`"
        );
        assert!(error.contains(&expected), "{error}");
    }
    let built = Registry::builder_of(tools![plain, shared, cloned]).state(Database(1)).state(Arc::new(Database(2)));
    assert!(built.build().is_ok());
}

#[test]
fn a_context_built_by_hand_names_the_arc_too() {
    let mcp_registry::entry::Call::Sync(call) = tools![plain][0].call else { panic!("it is a plain function") };
    let cx = ToolContext::for_test().with_state(Arc::new(Database(1)));
    let error = call(&cx, mcp_registry::entry::Input::new("{}"), &mut Vec::new()).unwrap_err();
    let error = error.into_error("state.plain").to_string();
    assert!(error.contains("take `&alloc::sync::Arc<macros::invalid_tools::state::Database>`"), "{error}");
}
