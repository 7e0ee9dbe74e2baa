//! The names of tools in a merged router.

use mcp_registry::rmcp::{merge, tool_router};
use mcp_registry::{Registry, RegistryBuilder, Tool, mcp_tool, tools};
use rmcp::handler::server::router::tool::ToolRouter;
use serde_json::{Value, json};

use super::{Own, VERSIONS, connect, registry};

/// A tool with an alias, and a hidden one with an alias.
#[mcp_tool(module = "names", aliases("other.old-name"))]
fn seen() -> &'static str {
    "seen"
}

/// Is not listed.
#[mcp_tool(module = "names", hidden, aliases("names.secret"))]
fn unseen() -> &'static str {
    "unseen"
}

fn few() -> RegistryBuilder {
    Registry::builder_of(tools![seen, unseen])
}

/// The router of the server, with its tool under another name.
fn own(name: &'static str) -> ToolRouter<Own> {
    let mut own = Own::tool_router();
    let mut route = own.map.get("greet").unwrap().clone();
    route.attr.name = name.into();
    own.add_route(route);
    own
}

#[tokio::test]
async fn a_router_accepts_every_name_of_a_tool_and_lists_what_is_not_hidden() {
    let registry = few().build().unwrap();
    for version in VERSIONS {
        for router in [merge(Own::tool_router(), &registry).unwrap(), tool_router(&registry)] {
            let names: Vec<_> = router.list_all().into_iter().map(|tool| tool.name).collect();
            assert_eq!(names.iter().filter(|name| *name != "greet").collect::<Vec<_>>(), ["names_seen"]);
            let connected = connect(Own { tools: router }, version).await;
            assert_eq!(connected.names().await, names);
            for (names, returned) in [
                (["names.seen", "names_seen", "other.old-name", "other_old_name"], "seen"),
                (["names.unseen", "names_unseen", "names.secret", "names_secret"], "unseen"),
            ] {
                for name in names {
                    let result =
                        connected.call(name, json!({})).await.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert_eq!(result.structured_content, Some(json!({ "result": returned })), "{name}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_unregistered_tool_of_a_router_is_refused_by_every_name() {
    let registry = few().build().unwrap();
    let connected = connect(Own::with(&registry), VERSIONS[0]).await;
    assert!(registry.unregister("names.seen"));
    for name in ["names.seen", "names_seen", "other.old-name", "other_old_name"] {
        let error = connected.protocol_error(name, json!({})).await;
        assert_eq!(error.data.unwrap()["error_type"], "ToolNotFoundError", "{name}");
    }
}

#[test]
fn routers_that_rmcp_adds_up_list_no_other_tools() {
    let registry = few().build().unwrap();
    let names = |router: &ToolRouter<Own>| router.list_all().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let mut sum = Own::tool_router() + tool_router(&registry);
    assert_eq!(names(&sum), ["greet", "names_seen"]);
    sum.merge(tool_router(super::registry()));
    assert!(names(&sum).iter().all(|name| name == "greet" || name.starts_with("names_") || name.starts_with("t_")));
}

#[test]
fn a_tool_of_the_server_with_any_name_of_a_tool_is_a_conflict() {
    let registry = few().build().unwrap();
    for (name, tool, remedy) in [
        ("names_seen", "names.seen", r#".exclude("mcp-tests", "names.seen")"#),
        ("names.seen", "names.seen", r#".rename("mcp-tests", "names.seen", "…")"#),
        ("other.old-name", "names.seen", r#".drop_alias("mcp-tests", "names.seen", "other.old-name")"#),
        ("other_old_name", "names.seen", r#".drop_alias("mcp-tests", "names.seen", "other.old-name")"#),
        ("names_unseen", "names.unseen", r#".exclude("mcp-tests", "names.unseen")"#),
        ("names.unseen", "names.unseen", r#".exclude("mcp-tests", "names.unseen")"#),
        ("names-secret", "names.unseen", r#".drop_alias("mcp-tests", "names.unseen", "names.secret")"#),
    ] {
        let error = merge(own(name), &registry).unwrap_err();
        let [conflict] = error.conflicts() else { panic!("{error}") };
        assert_eq!((&*conflict.existing, &*conflict.tool.name), (name, tool));
        assert!(error.to_string().contains(remedy), "{error}");
        assert!(error.to_string().contains(&format!("`{name}` of the server and `{tool}` of the registry")), "{error}");
    }
    let without = few().drop_alias("mcp-tests", "names.seen", "other.old-name").build().unwrap();
    assert!(merge(own("other-old-name"), without).is_ok(), "without the alias, there is no conflict");
}

#[test]
fn every_conflict_is_reported_once() {
    let registry = registry();
    let first = merge(Own::tool_router(), &registry).unwrap();
    let error = merge(first, &registry).unwrap_err();
    let found: Vec<_> = error.conflicts().iter().map(|found| (&*found.existing, &*found.tool.name)).collect();
    for expected in [("t_add", "t.add"), ("t.plus", "t.add"), ("t.hidden", "t.hidden")] {
        assert_eq!(found.iter().filter(|found| **found == expected).count(), 1, "{expected:?} of {found:?}");
    }
    assert_eq!(found.len(), registry.list_registered_tools().len() + 1, "one for each tool, and the alias: {found:?}");

    let mut two = own("names.seen");
    two.add_route(own("names-seen").map.remove("names-seen").unwrap());
    let error = merge(two, few().build().unwrap()).unwrap_err();
    let found: Vec<_> = error.conflicts().iter().map(|found| &*found.existing).collect();
    assert_eq!(found, ["names-seen", "names.seen"]);
}

#[test]
fn a_tool_that_is_created_at_run_time_is_found_by_its_alias() {
    let tool =
        Tool::new("made.one", json!({ "type": "object" }), |_, _: Value| async { json!({}) }).alias("made.first");
    let registry = few().tool(tool).build().unwrap();
    let error = merge(own("made_first"), &registry).unwrap_err();
    assert_eq!(error.conflicts()[0].tool.alias.as_deref(), Some("made.first"));
    assert!(error.to_string().contains("created at run time"), "{error}");
}
