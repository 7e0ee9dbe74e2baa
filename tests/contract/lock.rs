//! The lock: what it contains, and that it is read as it was written.

#![allow(clippy::needless_pass_by_value, unused_variables, reason = "tools have the form under test")]

use mcp_registry::contract::{Contract, Verdict};
use mcp_registry::serde_json::{Value, from_str, json};
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{Registry, Server, Tool, mcp_tool, tools};

/// Finds orders.
///
/// # Migration
/// Send `customer` in place of `client`.
#[mcp_tool(module = "shop", version = "2.1.0", title = "Find", read_only, aliases("shop.find"))]
fn search(#[arg(alias = "client")] customer: u32, state: Option<String>) -> Vec<u32> {
    vec![customer]
}

/// Counts orders.
#[mcp_tool(module = "shop", hidden, deprecated_in = "1.0.0", replaced_by = "shop.search")]
fn count() -> u32 {
    0
}

fn contract() -> Contract {
    Registry::builder_of(tools![search, count]).build().unwrap().catalog().contract()
}

#[test]
fn a_lock_has_everything_that_is_promised_sorted_by_name() {
    let lock: Value = from_str(&contract().to_string()).unwrap();
    assert_eq!(lock["format"], 1);
    let tools = lock["tools"].as_object().unwrap();
    assert_eq!(tools.keys().collect::<Vec<_>>(), ["shop.count", "shop.search"]);
    let search = &tools["shop.search"];
    assert_eq!(search["version"], "2.1.0");
    assert_eq!(search["wireName"], "shop_search");
    assert_eq!(search["aliases"], json!(["shop.find"]));
    assert_eq!(search["title"], "Find");
    assert_eq!(search["description"], "Finds orders.");
    assert_eq!(search["hints"]["readOnlyHint"], true);
    assert_eq!(search["migration"], "Send `customer` in place of `client`.");
    assert_eq!(search["inputSchema"]["required"], json!(["customer"]));
    assert_eq!(search["acceptedSchema"]["x-mcp-aliases"], json!({ "customer": ["client"] }));
    assert_eq!(search["outputSchema"]["required"], json!(["result"]));
    assert!(search["digest"].as_str().unwrap().starts_with("sha256:"));
    let count = &tools["shop.count"];
    assert_eq!(
        (&count["hidden"], &count["deprecatedIn"], &count["replacedBy"]),
        (&json!(true), &json!("1.0.0"), &json!("shop.search"))
    );
    assert!(count.get("title").is_none() && count.get("acceptedSchema").is_none(), "{count}");
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    let (contract, text) = (contract(), contract().to_string());
    let read = Contract::read(&text).unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!(read, contract, "the lock does not say where the tools are defined");
    assert_eq!(read.digest(), contract.digest());
    assert!(read.diff(&contract).is_empty(), "{:#?}", read.diff(&contract));
    // Another formatter changes nothing.
    let compact = from_str::<Value>(&text).unwrap().to_string();
    assert_eq!(Contract::read(&compact).unwrap(), read);
}

#[test]
fn digests_are_those_of_the_catalog_and_change_with_what_a_model_sees() {
    let catalog = Registry::builder_of(tools![search, count]).build().unwrap().catalog();
    let contract = catalog.contract();
    assert_eq!(contract.digest(), catalog.digest());
    let tool = contract.get("shop.search").unwrap();
    assert_eq!(tool.digest(), catalog.get("shop.search").unwrap().digest());

    let digests = |tool: Tool| {
        let registry = Registry::builder_of([]).tool(tool).build().unwrap();
        let contract = registry.catalog().contract();
        (contract.get("shop.search").unwrap().digest(), contract.digest())
    };
    let tool = || Tool::new("shop.search", json!({ "type": "object" }), |_, _: Value| async {}).description("Finds.");
    let (of_tool, of_all) = digests(tool());
    let other = Tool::new("shop.search", json!({ "type": "object", "maxProperties": 3 }), |_, _: Value| async {});
    for seen in [
        tool().description("Seeks."),
        tool().hints(|hints| hints.read_only = Some(true)),
        tool().title("Find"),
        other.description("Finds."),
    ] {
        let changed = digests(seen);
        assert!(changed.0 != of_tool && changed.1 != of_all);
    }
    // A program may pin these, too, and a model does not see them.
    for unseen in [tool().version("2.0.0"), tool().alias("shop.look")] {
        let changed = digests(unseen);
        assert!(changed.0 == of_tool && changed.1 != of_all);
    }
}

#[test]
fn the_list_of_a_server_is_a_contract_with_its_own_lock() {
    let registry = Registry::builder_of(tools![search, count]).build().unwrap();
    let contract = registry.catalog().contract();
    let listed = block_on(Client::new(Server::new(registry)).list_tools()).unwrap();
    let listed = Contract::from_tools_list(&json!({ "result": { "tools": listed } }).to_string()).unwrap();
    // Hidden tools and aliases are not listed.
    let tool = listed.tools().first().unwrap();
    assert_eq!((listed.tools().len(), tool.wire_name.as_str()), (1, "shop_search"));
    assert_eq!(tool.digest(), contract.get("shop.search").unwrap().digest());
    assert_eq!(listed.diff(&contract).verdict(), Verdict::Compatible);
}
