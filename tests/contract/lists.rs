//! Responses to `tools/list`, compared with each other and with locks.

#![allow(clippy::needless_pass_by_value, unused_variables, reason = "tools have the form under test")]

use mcp_core::entry::ToolEntry;
use mcp_registry::contract::{Contract, Verdict, Witness};
use mcp_registry::serde_json::{Map, Value, json};
use mcp_registry::testing::{Client, block_on};
use mcp_registry::{Registry, Server, mcp_tool, tools};

use crate::{broken, rules, tool};

mod before {
    use super::mcp_tool;

    /// Finds orders.
    ///
    /// # Migration
    /// Send `customer` in place of `client`.
    #[mcp_tool(module = "shop", version = "2.1.0", title = "Find", read_only, aliases("shop.look"))]
    pub(super) fn search(#[arg(alias = "client")] customer: u32, state: Option<String>) -> Vec<u32> {
        vec![customer]
    }

    /// Counts orders.
    #[mcp_tool(module = "shop", hidden, deprecated_in = "1.0.0", replaced_by = "shop.search")]
    pub(super) fn count() -> u32 {
        0
    }
}

mod after {
    use super::mcp_tool;

    /// Finds orders.
    ///
    /// # Migration
    /// Send `customer` in place of `client`.
    #[mcp_tool(name = "shop.find", version = "2.2.0", title = "Find", read_only, aliases("shop.search", "shop.look"))]
    pub(super) fn search(#[arg(alias = "client")] customer: u32, state: Option<String>) -> Vec<u32> {
        vec![customer]
    }
}

/// What the tools promise, what is listed of them, and the list without our own metadata.
fn contracts(entries: &[&'static ToolEntry]) -> [Contract; 3] {
    let registry = Registry::builder_of(entries.iter().copied()).build().unwrap();
    let lock = Contract::read(&registry.catalog().contract().to_string()).unwrap();
    let listed = block_on(Client::new(Server::new(registry)).list_tools()).unwrap();
    let mut listed: Value = json!(listed);
    let read = |list: &Value| Contract::from_tools_list(&list.to_string()).unwrap();
    let list = read(&listed);
    for tool in listed.as_array_mut().unwrap() {
        tool.as_object_mut().unwrap().remove("_meta");
    }
    [lock, list, read(&listed)]
}

fn foreign(tools: Value) -> Contract {
    Contract::from_tools_list(&tools.to_string()).unwrap()
}

#[test]
fn a_hidden_tool_that_is_gone_breaks_its_callers_and_a_list_does_not_tell() {
    let [before, ..] = contracts(&tools![before::search, before::count]);
    let [after, list, foreign] = contracts(&tools![before::search]);
    let diff = before.diff(&after);
    let change = broken(&diff);
    assert_eq!((change.tool.as_str(), change.rule), ("shop.count", "tool-removed"));
    for list in [list, foreign] {
        assert_eq!(before.diff(&list).verdict(), Verdict::Compatible, "{:#?}", before.diff(&list).changes);
    }
}

#[test]
fn a_lock_and_the_lists_of_the_same_server_are_equal() {
    let contracts = contracts(&tools![before::search, before::count]);
    for old in &contracts {
        assert_eq!(Contract::read(&old.to_string()).as_ref(), Ok(old));
        for new in &contracts {
            assert!(old.diff(new).is_empty(), "{}", old.diff(new));
        }
    }
}

#[test]
fn a_tool_that_is_known_by_its_name_on_the_wire_is_found_by_its_aliases() {
    let [lock, list, bare] = contracts(&tools![before::search]);
    let [new_lock, new_list, new_bare] = contracts(&tools![after::search]);
    for old in [&lock, &list, &bare] {
        let diff = old.diff(&new_lock);
        assert_eq!((diff.verdict(), rules(&diff)), (Verdict::Compatible, vec!["tool-renamed"]), "{diff}");
    }
    // A list does not have the aliases.
    for new in [&new_list, &new_bare] {
        assert_eq!(broken(&lock.diff(new)).rule, "tool-renamed");
    }
}

#[test]
fn two_tools_that_share_only_a_name_on_the_wire_are_not_the_same() {
    let tool = |name: &str| {
        let meta = json!({ "mcp-registry/tool": { "name": name, "version": "1.0.0" } });
        foreign(json!([{ "name": "a_b_c", "_meta": meta, "description": name }]))
    };
    assert_eq!(rules(&tool("a.b_c").diff(&tool("a_b.c"))), ["tool-removed", "tool-added"]);
}

#[test]
fn a_tool_is_renamed_only_if_one_is_gone_and_one_is_new() {
    let tools =
        |names: &[&str]| foreign(names.iter().map(|name| json!({ "name": name, "description": "D" })).collect());
    assert_eq!(rules(&tools(&["a", "b"]).diff(&tools(&["a", "c"]))), ["tool-renamed"]);
    assert_eq!(rules(&tools(&["a", "b"]).diff(&tools(&["c"]))), ["tool-removed", "tool-removed", "tool-added"]);
    assert_eq!(rules(&tools(&["a"]).diff(&tools(&["b", "c"]))), ["tool-removed", "tool-added", "tool-added"]);
}

#[test]
fn a_title_is_compared_wherever_it_is() {
    let tool = |title: &str| foreign(json!([{ "name": "a", "annotations": { "title": title } }]));
    let newer = foreign(json!([{ "name": "a", "title": "A", "annotations": { "title": "A" } }]));
    assert_eq!(rules(&tool("A").diff(&tool("B"))), ["title"]);
    assert!(tool("A").diff(&newer).is_empty());
}

#[test]
fn arguments_are_objects_whatever_the_schema_says() {
    let tool = |schema: Value| foreign(json!([{ "name": "a", "inputSchema": schema }]));
    let member = json!({ "x": { "type": "string" } });
    let object = json!({ "type": "object", "properties": member });
    for other in [
        json!({ "type": ["object", "string"], "properties": member }),
        json!({ "type": ["object", "null"], "properties": member }),
        json!({ "properties": member }),
    ] {
        let (one, other) = (tool(object.clone()), tool(other));
        assert_eq!(rules(&one.diff(&other)), ["spelling"], "{}", one.diff(&other));
        assert_eq!(rules(&other.diff(&one)), ["spelling"], "{}", other.diff(&one));
    }
    // A member that has the schema of the arguments may be something else.
    let tree = |leaf: Value, types: Value| {
        let children = json!({ "type": "array", "items": { "$ref": "#" } });
        tool(json!({ "type": types, "properties": { "leaf": leaf, "children": children } }))
    };
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let object = json!("object");
    let diff = tree(text.clone(), object.clone()).diff(&tree(number, object.clone()));
    assert_eq!((rules(&diff), diff.changes[0].pointer.as_str()), (vec!["type-changed"], "/leaf"), "{diff}");
    let diff = tree(text.clone(), json!(["object", "string"])).diff(&tree(text, object));
    assert_eq!((rules(&diff), broken(&diff).pointer.as_str()), (vec!["type-changed"], "/children/0"), "{diff}");
    // The call that breaks has an object, too.
    let diff = tool(json!({})).diff(&foreign(json!([])));
    assert_eq!(broken(&diff).witness, Some(Witness::Arguments(json!({}))));
}

#[test]
fn the_members_of_a_map_are_not_removed() {
    let tool = |schema: Value| foreign(json!([{ "name": "a", "inputSchema": schema }]));
    let text = json!({ "type": "string" });
    let named = json!({ "type": "object", "properties": { "x": text } });
    let nested =
        |schema: &Value| json!({ "type": "object", "properties": { "filter": schema }, "additionalProperties": false });
    let map = json!({ "type": "object", "additionalProperties": text });
    let patterns = json!({ "type": "object", "patternProperties": { "^x": text } });
    for new in [&map, &patterns] {
        for (old, new) in [(named.clone(), new.clone()), (nested(&named), nested(new))] {
            let diff = tool(old).diff(&tool(new));
            assert!(!rules(&diff).contains(&"parameter-removed"), "{diff}");
        }
    }
    // A member of an open object is, also in a closed one.
    let other = json!({ "type": "object", "properties": { "y": text } });
    let diff = tool(nested(&named)).diff(&tool(nested(&other)));
    assert_eq!((broken(&diff).rule, broken(&diff).pointer.as_str()), ("parameter-removed", "/filter/x"), "{diff}");
    // Anything may be in it.
    let diff = tool(nested(&named)).diff(&tool(nested(&json!({ "type": "object" }))));
    assert_eq!(diff.verdict(), Verdict::Compatible, "{diff}");
    assert_eq!(diff.changes[0].message, "was a string, and may be any value now", "{diff}");
}

#[test]
fn a_parameter_of_an_open_schema_is_renamed() {
    let tool = |schema: Value| foreign(json!([{ "name": "a", "inputSchema": schema }]));
    let open = |name: &str, required: bool| {
        let required: Vec<&str> = required.then_some(name).into_iter().collect();
        tool(json!({ "type": "object", "properties": { (name): { "type": "string" } }, "required": required }))
    };
    let diff = open("client/id", true).diff(&open("customer/id", true));
    let change = broken(&diff);
    assert_eq!((rules(&diff), change.pointer.as_str()), (vec!["parameter-renamed"], "/client~1id"));
    assert_eq!(change.message, "`client/id` is called `customer/id` now");
    let Some(Witness::Arguments(call)) = &change.witness else { panic!("{change:?}") };
    assert!(call.get("client/id").is_some() && call.get("customer/id").is_none(), "{call}");

    let diff = open("most", false).diff(&open("limit", false));
    let change = broken(&diff);
    assert_eq!((rules(&diff), &change.witness), (vec!["parameter-renamed"], &None));
    assert_eq!(change.message, "`most` is called `limit` now, and ignored under its old name");
}

#[test]
fn several_rules_of_one_kind_at_one_place_are_one_finding_that_names_all() {
    let tool = |schema: Value| {
        let schema = json!({ "type": "object", "properties": { "limit": schema } });
        foreign(json!([{ "name": "a", "inputSchema": schema, "outputSchema": schema }]))
    };
    let wide = tool(json!({ "type": "integer", "maximum": 100 }));
    let narrow = tool(json!({ "type": "integer", "minimum": 1, "maximum": 10 }));
    let diff = wide.diff(&narrow);
    assert_eq!(rules(&diff), ["bound-tightened", "result-bound-tightened"], "{diff}");
    let both = "`minimum` is now 1 (there was none); `maximum` is now 10 (was 100)";
    assert_eq!((diff.changes[0].message.as_str(), diff.changes[1].message.as_str()), (both, both));
    let diff = narrow.diff(&wide);
    assert_eq!(rules(&diff), ["result-bound-loosened", "bound-loosened"], "{diff}");
    let both = "`minimum` is gone (was 1); `maximum` is now 100 (was 10)";
    assert_eq!((diff.changes[0].message.as_str(), diff.changes[1].message.as_str()), (both, both));
}

#[test]
fn calls_as_tasks_are_compared() {
    let tool = |support: Value| foreign(json!([{ "name": "a", "execution": { "taskSupport": support } }]));
    let [forbidden, optional, required] = ["forbidden", "optional", "required"].map(|support| tool(json!(support)));
    let none = foreign(json!([{ "name": "a" }]));
    assert!(none.diff(&forbidden).is_empty() && forbidden.diff(&none).is_empty());
    let lock = Contract::read(&required.to_string()).unwrap();
    for (old, new, witness) in
        [(&none, &lock, Some(json!({}))), (&optional, &required, Some(json!({}))), (&optional, &none, None)]
    {
        let diff = old.diff(new);
        let change = broken(&diff);
        assert_eq!((rules(&diff), &change.witness), (vec!["task-support-narrowed"], &witness.map(Witness::Arguments)));
    }
    assert_eq!(broken(&none.diff(&required)).message, "calls as tasks are required now, and were forbidden");
    for (old, new) in [(&none, &optional), (&required, &optional)] {
        assert_eq!(
            (old.diff(new).verdict(), rules(&old.diff(new))),
            (Verdict::Compatible, vec!["task-support-widened"])
        );
    }
}

#[test]
fn names_of_others_are_shown_without_what_controls_the_display() {
    let tool = |schema: Value| foreign(json!([{ "name": "a", "inputSchema": schema }]));
    let with = |values: Value| {
        tool(
            json!({ "type": "object", "properties": { "x\u{202e}y": { "enum": values } }, "additionalProperties": false }),
        )
    };
    let diff = with(json!(["a", "\u{2066}b\u{2028}"])).diff(&with(json!(["a"])));
    let shown = diff.to_string();
    assert!(shown.contains(r"/x\u{202e}y: ") && shown.contains(r"\u{2066}b\u{2028}"), "{shown}");
    assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{2028}']), "{shown}");
}

#[test]
fn each_of_many_renamed_tools_is_found_if_only_one_is_like_it() {
    let tools = |prefix: &str| {
        let tool = |index| json!({ "name": format!("{prefix}{index}"), "description": format!("Does {}.", index / 2 * 2), "inputSchema": {} });
        // The last two are alike.
        foreign((0..2_000).filter(|index| index % 2 == 0 || *index == 1_999).map(tool).collect())
    };
    let diff = tools("old").diff(&tools("new"));
    let count = |rule| diff.changes.iter().filter(|change| change.rule == rule).count();
    assert_eq!((count("tool-renamed"), count("tool-removed"), count("tool-added")), (999, 2, 2));
}

#[test]
fn long_lists_of_any_values_are_decided() {
    let tool = |values: Vec<Value>| {
        let schema = json!({ "type": "object", "properties": { "value": { "enum": values } } });
        foreign(json!([{ "name": "a", "inputSchema": schema }]))
    };
    let of: [fn(u32) -> Value; 4] =
        [|it| json!(it), |it| json!(f64::from(it) + 0.5), |it| json!({ "x": it, "y": [it] }), |it| json!([it, 1])];
    for value in of {
        let values = |range: std::ops::Range<u32>| tool(range.map(value).collect());
        assert_eq!(values(0..10_000).diff(&values(0..10_001)).verdict(), Verdict::Compatible);
        let diff = values(0..10_000).diff(&values(1..10_000));
        assert_eq!((broken(&diff).rule, broken(&diff).witness.is_some()), ("enum-value-removed", true), "{diff}");
    }
    // However they are written.
    let [one, other] = [json!([1, 2.0, { "x": 1, "y": [2] }]), json!([{ "y": [2.0], "x": 1.0 }, 2, 1.0])];
    let [one, other] = [one, other].map(|values| tool(values.as_array().unwrap().clone()));
    assert_eq!((rules(&one.diff(&other)), rules(&other.diff(&one))), (vec!["spelling"], vec!["spelling"]));
}

#[test]
fn long_chains_of_definitions_are_decided_in_whatever_order_they_are() {
    let schema = |is_reversed: bool, leaf: Value| {
        let name = |index: usize| format!("D{:04}", if is_reversed { 3_000 - index } else { index });
        let node = |index: usize| {
            let next = json!({ "$ref": format!("#/$defs/{}", name(index + 1)) });
            (name(index), json!({ "type": "object", "properties": { "next": next }, "required": ["next"] }))
        };
        let mut definitions: Map<String, Value> = (0..3_000).map(node).collect();
        definitions.insert(name(3_000), leaf);
        let node = json!({ "$ref": format!("#/$defs/{}", name(0)) });
        json!({ "type": "object", "properties": { "node": node }, "required": ["node"], "$defs": definitions })
    };
    for is_reversed in [false, true] {
        let leaves = [json!({ "type": "integer" }), json!({ "type": "integer", "minimum": 2, "maximum": 1 })];
        let registered = leaves.map(|leaf| {
            let registry = Registry::builder_of([]).allow_empty().build().unwrap();
            registry.register(tool(&schema(is_reversed, leaf))).map_err(|error| error.to_string())
        });
        assert_eq!(registered[0], Ok(()));
        assert!(registered[1].as_ref().is_err_and(|error| error.contains("accepts no value")), "{registered:?}");
    }
}

#[test]
fn renamed_parameters_are_found_among_many_beside_large_definitions() {
    let schema = |prefix: &str| {
        let node = |index: usize| {
            let parent = json!({ "$ref": format!("#/$defs/D{:03}", index / 3) });
            let properties = json!({ "of": { "minLength": index }, "parent": parent });
            (format!("D{index:03}"), json!({ "type": "object", "properties": properties }))
        };
        let kinds = [json!({ "type": "string" }), json!({ "$ref": "#/$defs/D199" }), json!({ "type": "integer" })];
        let parameter = |index: usize| {
            let mut schema = json!({ "allOf": [kinds[index % 3]], "maxLength": index, "maximum": index });
            schema["maxProperties"] = json!(index);
            (format!("{prefix}{index}"), schema)
        };
        let properties: Map<String, Value> = (0..30).map(parameter).collect();
        let required: Vec<String> = properties.keys().cloned().collect();
        let definitions: Map<String, Value> = (0..200).map(node).collect();
        json!({ "type": "object", "properties": properties, "required": required, "$defs": definitions })
    };
    let [one, other] = ["old", "new"].map(|prefix| foreign(json!([{ "name": "a", "inputSchema": schema(prefix) }])));
    let diff = one.diff(&other);
    assert_eq!(rules(&diff), ["parameter-renamed"; 30], "{diff}");
}

#[test]
fn a_pattern_that_cannot_be_compiled_is_equal_to_itself_only() {
    let look_ahead = json!({ "type": "string", "pattern": "^(?!a).*$" });
    let tool = |properties: Value, rules: Value| {
        let mut schema = rules;
        (schema["type"], schema["properties"]) = (json!("object"), properties);
        foreign(json!([{ "name": "a", "inputSchema": schema }]))
    };
    let with = |others: Value, rules: Value| {
        let mut properties = others;
        properties["e"] = look_ahead.clone();
        tool(properties, rules)
    };
    let none = || json!({});
    // What does not depend on it is decided.
    let old = with(json!({ "x": { "type": "string" } }), none());
    for (new, expected) in [
        (json!({ "x": { "type": "string" }, "y": { "type": "string" } }), "parameter-added"),
        (json!({ "x": { "type": "string", "description": "X." } }), "parameter-description"),
    ] {
        let diff = old.diff(&with(new, none()));
        assert_eq!((diff.verdict(), rules(&diff)), (Verdict::Compatible, vec![expected]), "{diff}");
    }
    let narrow = json!({ "x": { "type": "string", "maxLength": 3 } });
    let diff = old.diff(&with(narrow.clone(), none()));
    let Some(Witness::Arguments(call)) = &broken(&diff).witness else { panic!("{diff}") };
    assert!(call.get("e").is_none() && call["x"].as_str().unwrap().len() > 3, "{call}");
    // A call that needs it is not shown.
    let required = || json!({ "required": ["e"] });
    let diff = with(json!({ "x": { "type": "string" } }), required()).diff(&with(narrow, required()));
    assert_eq!((broken(&diff).rule, &broken(&diff).witness), ("bound-tightened", &None), "{diff}");
    let reason = "no example was found, so it may be harmless (the pattern `^(?!a).*$` uses the look-ahead `(?!`, which is not supported)";
    assert!(diff.to_string().contains(reason), "{diff}");

    let only = |schema: Value| tool(json!({ "e": schema }), none());
    let text = json!({ "type": "string" });
    let other = json!({ "type": "string", "pattern": "^(?!b).*$" });
    let diff = only(look_ahead.clone()).diff(&only(other));
    assert_eq!((diff.verdict(), broken(&diff).rule), (Verdict::Unknown, "pattern-changed"), "{diff}");
    let diff = only(text.clone()).diff(&only(look_ahead.clone()));
    assert_eq!((diff.verdict(), broken(&diff).rule), (Verdict::Unknown, "pattern-changed"), "{diff}");
    assert_eq!(only(look_ahead.clone()).diff(&only(text.clone())).verdict(), Verdict::Compatible);

    // Nothing follows from whether it matches.
    let pattern = "^(?!a)";
    let number = json!({ "type": "integer" });
    let members = |rules: Value| tool(json!({ "m": rules }), none());
    let open = |of: &Value| json!({ "type": "object", "properties": { "b": of } });
    let named = |of: &Value, more: Value| json!({ "type": "object", "properties": { "b": of }, "patternProperties": { pattern: more } });
    let listed = |not: bool, values: Value| {
        let matches = json!({ "pattern": pattern });
        json!({ "enum": values, "allOf": [if not { json!({ "not": matches }) } else { matches }] })
    };
    let others =
        |of: &Value| json!({ "type": "object", "patternProperties": { pattern: {} }, "additionalProperties": of });
    let own = |more: bool| json!({ "type": "object", "properties": { "b": {} }, "additionalProperties": more });
    let unnamed =
        |more: bool| json!({ "type": "object", "patternProperties": { pattern: {} }, "additionalProperties": more });
    for (old, new) in [
        (open(&text), named(&text, number.clone())),
        (named(&json!({}), number.clone()), open(&number)),
        (others(&number), open(&number)),
        (own(false), unnamed(false)),
        (listed(false, json!(["b", "ab"])), json!({ "enum": ["b"] })),
        (listed(true, json!(["b", "ab"])), json!({ "enum": ["ab"] })),
        (listed(false, json!(["b", "ab"])), json!({ "enum": ["ab"] })),
        (
            json!({ "type": "object", "additionalProperties": {} }),
            json!({ "type": "object", "propertyNames": { "pattern": pattern } }),
        ),
        (json!({ "enum": ["b", "ab"] }), listed(false, json!(["b", "ab"]))),
        (json!({ "enum": ["b", "ab"] }), listed(true, json!(["b", "ab"]))),
        (text.clone(), json!({ "anyOf": [{ "pattern": pattern }, { "maxLength": 3 }] })),
        (text.clone(), json!({ "oneOf": [{ "pattern": pattern }, { "type": "string" }] })),
        (text.clone(), json!({ "if": { "pattern": pattern }, "then": { "maxLength": 3 }, "else": { "minLength": 1 } })),
    ] {
        let diff = members(old.clone()).diff(&members(new.clone()));
        assert_eq!(diff.verdict(), Verdict::Unknown, "{old}\n{new}\n{diff}");
    }
    // A tool that is registered here cannot have it.
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let error =
        registry.register(crate::tool(&json!({ "type": "object", "properties": { "e": look_ahead } }))).unwrap_err();
    assert!(error.to_string().contains("uses the look-ahead `(?!`, which is not supported"), "{error}");
}
