//! The registry of tools that live in this very program.

#![allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "tools have the form under test")]

mod conflicts;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_core::support::block_on;
use mcp_registry::context::StateType;
use mcp_registry::error::{Conflict, RegistrationProblem};
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::{
    Catalog, Content, Error, ErrorType, FromContext, Json, NamePolicy, RateLimit, Registry, Status, Tool, ToolCall,
    ToolContext, ToolError, ToolResult, get_tool_schema, list_registered_tools, mcp_tool, tools,
};

/// Adds two numbers.
#[mcp_tool(module = "calc", version = "1.2.0", title = "Add", read_only, tags("math"), aliases("calc.plus"))]
fn add(
    /// The first.
    a: i64,
    /// The second.
    #[arg(default = 10)]
    b: i64,
) -> i64 {
    a + b
}

/// A point.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Point {
    x: f64,
    y: Option<f64>,
}

/// Mirrors a point.
#[mcp_tool(module = "geometry", cache_ttl = 60)]
async fn mirror(point: Point) -> Point {
    Point { x: -point.x, y: point.y }
}

/// Fails as it is told to.
///
/// # Errors
///
/// Always.
#[mcp_tool(module = "calc", hidden)]
fn fail(how: &str) -> Result<(), ToolError> {
    Err(ToolError::new(how, "as you wish").details(json!({ "how": how })))
}

/// Shows a picture.
#[mcp_tool(module = "picture", meta(owner = "art", pages = 3))]
fn show() -> Vec<Content> {
    vec![Content::text("a dot"), Content::image([0], "image/png")]
}

/// Decides for itself.
#[mcp_tool(module = "picture", destructive, deprecated_in = "1.0.0", replaced_by = "picture.show")]
fn decide() -> ToolResult {
    ToolResult::no_change_needed().explanation("nothing to do")
}

/// Returns anything.
#[mcp_tool(module = "any")]
fn thing(value: Value) -> Json<Value> {
    Json(value)
}

/// Finds something, or not.
#[mcp_tool(module = "any")]
fn find(there: bool) -> Option<Point> {
    there.then_some(Point { x: 1.0, y: None })
}

struct Counter(AtomicU32);

struct Caller(String);

impl FromContext for Caller {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        let counter = cx.state::<Counter>().map_or(0, |counter| counter.0.load(Ordering::Relaxed));
        Ok(Self(format!("{} after {counter}", cx.tool_name())))
    }

    fn requires() -> Vec<StateType> {
        vec![StateType::of::<Counter>()]
    }
}

#[derive(Clone)]
struct Greeting(&'static str);

/// Counts its calls.
#[mcp_tool(module = "state", tags("stateful"))]
fn count(#[ctx] counter: &Counter, #[ctx] caller: Caller, #[ctx(clone)] greeting: Greeting) -> String {
    counter.0.fetch_add(1, Ordering::Relaxed);
    format!("{} {}", greeting.0, caller.0)
}

fn registry() -> Registry {
    Registry::builder()
        .state(Counter(AtomicU32::new(0)))
        .state(Greeting("hello"))
        .trust(mcp_core::TrustLevel::Trusted)
        .build()
        .unwrap()
}

fn call(name: &str, arguments: Value) -> ToolResult {
    registry().call_blocking(&ToolCall::new(name, arguments))
}

#[test]
fn k_5_s3_47_every_tool_is_listed_sorted_by_name() {
    let names: Vec<String> = registry().list_registered_tools().iter().map(|tool| tool.name().to_owned()).collect();
    let expected = [
        "any.find",
        "any.thing",
        "calc.add",
        "calc.fail",
        "geometry.mirror",
        "picture.decide",
        "picture.show",
        "state.count",
    ];
    assert_eq!(names, expected);
    let free: Vec<&str> = list_registered_tools().unwrap().iter().map(mcp_registry::RegisteredTool::name).collect();
    assert_eq!(free, expected);
    assert_eq!(Catalog::linked().unwrap().len(), expected.len());
}

#[test]
fn k_5_s3_48_a_schema_is_found_by_every_name_of_the_tool() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer", "description": "The first." },
            "b": { "type": "integer", "description": "The second.", "default": 10 },
        },
        "required": ["a"],
        "additionalProperties": false,
    });
    let registry = registry();
    for name in ["calc.add", "calc_add", "calc.plus"] {
        assert_eq!(*registry.get_tool_schema(name).unwrap(), schema, "{name}");
    }
    assert_eq!(*get_tool_schema("calc.add").unwrap(), schema);
    let error = registry.get_tool_schema("calc.ad").unwrap_err();
    assert_eq!((error.name.as_str(), error.did_you_mean.as_slice()), ("calc.ad", ["calc.add".to_owned()].as_slice()));
    assert!(
        matches!(get_tool_schema("nothing.like.it"), Err(Error::ToolNotFound(error)) if error.did_you_mean.is_empty())
    );
}

#[test]
fn s2_14_s3_23_to_s3_27_c19_a_tool_serializes_to_its_registration_entry() {
    let tool = registry().get("picture.decide").unwrap();
    let entry = serde_json::to_value(&tool).unwrap();
    let source = entry["metadata"]["source"].as_str().unwrap().to_owned();
    assert!(source.contains("registry/main.rs:"), "{source}");
    assert_eq!(
        entry,
        json!({
            "name": "picture.decide",
            "description": "Decides for itself.",
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "annotations": { "destructiveHint": true },
            "version": "1.0.0",
            "digest": tool.digest(),
            "metadata": {
                "module": "registry",
                "destructive": true,
                "deprecated_in": "1.0.0",
                "cache_ttl": 300,
                "tags": [],
                "source": source,
                "crate": "mcp-tests",
                "replaced_by": "picture.show",
            },
        })
    );
    let entry = serde_json::to_value(registry().get("calc.add").unwrap()).unwrap();
    assert_eq!(entry["title"], "Add");
    assert_eq!(entry["annotations"], json!({ "title": "Add", "readOnlyHint": true }));
    assert_eq!((&entry["version"], &entry["metadata"]["tags"]), (&json!("1.2.0"), &json!(["math"])));
    assert_eq!(entry["outputSchema"]["properties"]["result"]["type"], "integer");
    let tool = registry().get("geometry.mirror").unwrap();
    let entry = serde_json::to_value(&tool).unwrap();
    assert_eq!((tool.cache_ttl(), entry["metadata"]["cache_ttl"].as_i64()), (60, Some(60)));
    let made = serde_json::to_value({
        let registry = registry();
        registry.register(greeter("hello")).unwrap();
        registry.get("hello.greet").unwrap()
    })
    .unwrap();
    assert_eq!(made["metadata"]["cache_ttl"].as_i64(), Some(300));
    let entry = serde_json::to_value(registry().get("picture.show").unwrap()).unwrap();
    assert_eq!(entry["metadata"]["meta"], json!({ "owner": "art", "pages": 3 }));
}

#[test]
fn s1_48_s2_20_a_tool_can_be_called_by_every_name() {
    for name in ["calc.add", "calc_add", "calc.plus"] {
        assert_eq!(call(name, json!({ "a": 1, "b": 2 })).data, Some(json!({ "result": 3 })));
    }
    assert_eq!(call("calc.add", json!({ "a": 1 })).data, Some(json!({ "result": 11 })));
    assert_eq!(call("calc.add", json!({ "a": 1, "b": null })).data, Some(json!({ "result": 11 })));
    assert_eq!(call("geometry.mirror", json!({ "point": { "x": 1.5 } })).data, Some(json!({ "x": -1.5, "y": null })));
}

#[test]
fn every_kind_of_return_becomes_a_result() {
    let shown = call("picture.show", json!({}));
    assert_eq!((shown.data, shown.content.unwrap().len()), (None, 2));
    let decided = call("picture.decide", json!({}));
    assert_eq!((decided.status, decided.explanation.as_deref()), (Status::NoChangeNeeded, Some("nothing to do")));
    assert_eq!(call("any.thing", json!({ "value": { "free": [1] } })).data, Some(json!({ "free": [1] })));
    assert_eq!(call("any.thing", json!({ "value": null })).data, Some(json!({ "result": null })));
    assert_eq!(call("any.find", json!({ "there": false })).data, Some(json!({ "result": null })));
    assert_eq!(call("any.find", json!({ "there": true })).data, Some(json!({ "result": { "x": 1.0, "y": null } })));
}

#[test]
fn s1_49_s3_13_s3_14_s3_15_s3_43_each_failure_has_its_error_type() {
    let registry = registry();
    let try_call =
        |name: &str, arguments: Value| block_on(registry.try_call(&ToolCall::new(name, arguments))).unwrap_err();
    assert!(matches!(try_call("calc.ad", json!({})), Error::ToolNotFound(error) if error.did_you_mean == ["calc.add"]));
    assert!(matches!(try_call("no spaces", json!({})), Error::Validation(_)));
    assert!(matches!(try_call("calc.add", json!([1])), Error::Validation(_)));
    assert!(
        matches!(try_call("calc.fail", json!({ "how": "QuotaError" })), Error::Tool(error) if error.error_type() == "QuotaError")
    );
    let Error::Schema(error) = try_call("calc.add", json!({ "a": "x", "c": 1 })) else { panic!("not a schema error") };
    let paths: Vec<&str> = error.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!((error.tool.as_str(), paths), ("calc.add", vec!["/a", "/c"]));

    let result = call("calc.add", json!({ "a": "x" }));
    assert!(result.is_failure() && result.validate().is_ok());
    assert_eq!(result.error.unwrap().error_type, ErrorType::VALIDATION_ERROR);
    let result = call("calc.fail", json!({ "how": "QuotaError" }));
    assert_eq!(result.error.unwrap().error_details, Some(json!({ "how": "QuotaError" })));
}

#[test]
fn state_is_injected_and_shared_between_calls() {
    let registry = registry();
    let count = ToolCall::new("state.count", json!({}));
    for n in 0..3 {
        let said = registry.clone().call_blocking(&count).data.unwrap();
        assert_eq!(said, json!({ "result": format!("hello state.count after {n}") }));
    }
}

#[test]
fn missing_state_stops_the_build_with_every_tool_and_type() {
    let error = Registry::linked().unwrap_err();
    let states: Vec<(&str, &str)> = error
        .problems()
        .iter()
        .map(|problem| match problem {
            RegistrationProblem::State { tool, state, .. } => (tool.as_str(), *state),
            other => panic!("{other}"),
        })
        .collect();
    // One tool needs it twice, but each type is reported once.
    assert_eq!(states, [("state.count", "registry::Counter"), ("state.count", "registry::Greeting")]);
    assert!(
        error.to_string().contains("`state.count` needs state of type `registry::Counter`; give it with `.state(…)`"),
        "{error}"
    );

    let selected = Registry::builder().select(|tool| !tool.has_tag("stateful")).build().unwrap();
    assert!(selected.get("state.count").is_err() && selected.get("calc.add").is_ok());
}

#[test]
fn c4_the_policy_decides_the_name_on_the_wire() {
    let wire = |policy| {
        let catalog = Registry::builder().names(policy).catalog().unwrap();
        catalog.get("calc.add").unwrap().wire_name().to_owned()
    };
    assert_eq!(wire(NamePolicy::HostSafe), "calc_add");
    assert_eq!(wire(NamePolicy::Dotted), "calc.add");
    assert_eq!(wire(NamePolicy::Bare), "add");
}

#[test]
fn c4_a_tool_that_is_registered_at_run_time_is_named_by_the_policy_too() {
    for (policy, wire) in
        [(NamePolicy::HostSafe, "hello_greet"), (NamePolicy::Dotted, "hello.greet"), (NamePolicy::Bare, "greet")]
    {
        let registry = Registry::builder_of(tools![add]).names(policy).build().unwrap();
        registry.register(greeter("hello")).unwrap();
        assert_eq!(registry.get("hello.greet").unwrap().wire_name(), wire);
        assert!(!registry.call_blocking(&ToolCall::new(wire, json!({}))).is_failure(), "{wire}");
    }
}

#[test]
fn listeners_are_told_of_changes_and_of_nothing_else() {
    let (registry, told) = (Registry::builder_of(tools![add]).build().unwrap(), Arc::new(AtomicU32::new(0)));
    let of_listener = Arc::clone(&told);
    let watcher = registry.on_change(move || _ = of_listener.fetch_add(1, Ordering::Relaxed));
    let told = || told.load(Ordering::Relaxed);
    let tool = greeter("hello");
    registry.register(tool.clone()).unwrap();
    assert_eq!(told(), 1);
    registry.register(tool.clone()).unwrap();
    registry.register(greeter("other")).unwrap_err();
    assert!(!registry.unregister("hello.nobody"));
    assert_eq!(told(), 1, "nothing has changed");
    assert!(registry.unregister("hello.greet"));
    assert_eq!(told(), 2);
    drop(watcher);
    registry.register(tool).unwrap();
    assert_eq!(told(), 2, "nobody listens any more");
}

fn greeter(text: &'static str) -> Tool {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "additionalProperties": false });
    Tool::new("hello.greet", schema, move |cx: ToolContext, args: Value| async move {
        format!("{text} {} from {}", args["name"].as_str().unwrap_or("you"), cx.tool_name())
    })
}

#[test]
fn s3_18_s3_44_tools_can_be_registered_and_unregistered_at_run_time() {
    let registry = registry();
    let before = registry.list_registered_tools();
    let tool = greeter("hello").description("Greets.").title("Greet").tag("social").alias("hi").version("2.0.0");
    registry.register(tool.clone()).unwrap();
    registry.register(tool).unwrap();
    assert_eq!(registry.list_registered_tools().len(), before.len() + 1);
    assert_eq!(before.len(), 8);

    let greeted = registry.call_blocking(&ToolCall::new("hi", json!({ "name": "Ada" })));
    assert_eq!(greeted.data, Some(json!({ "result": "hello Ada from hello.greet" })));

    let other = Tool::new("hello.greet", json!({ "type": "object" }), |_, _| async {});
    let error = registry.register(other).unwrap_err();
    assert!(error.to_string().contains("two tools are named `hello.greet`, with different schemas"), "{error}");
    let linked = Tool::new("calc.plus", json!({ "type": "object" }), |_, _| async {});
    let error = registry.register(linked).unwrap_err();
    assert!(error.to_string().contains("`calc.add` and `calc.plus` share the name `calc.plus`"), "{error}");

    assert!(registry.unregister("hello.greet") && !registry.unregister("hello.greet"));
    assert!(!registry.unregister("hi"));
    assert!(registry.get("hello.greet").is_err() && registry.get("hi").is_err());
    assert_eq!(registry.list_registered_tools().len(), 8);
}

#[test]
fn a_tool_whose_name_on_the_wire_is_taken_is_not_registered() {
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let tool = |name: &str| {
        let own = name.to_owned();
        Tool::new(name, json!({ "type": "object" }), move |_, _| std::future::ready(json!(own)))
    };
    registry.register(tool("a_b.c").alias("x.y")).unwrap();
    for (name, wire) in [("a.b_c", "a_b_c"), ("x_y", "x_y"), ("a.b.c", "a_b_c")] {
        let error = registry.register(tool(name)).unwrap_err();
        let [RegistrationProblem::Conflict(Conflict::WireName { wire: shared, tools })] = error.problems() else {
            panic!("{error}");
        };
        assert_eq!((shared.as_str(), tools.each_ref().map(|tool| tool.name.as_str())), (wire, ["a_b.c", name]));
        assert_eq!(registry.list_registered_tools().len(), 1);
        let result = registry.call_blocking(&ToolCall::new(wire, json!({})));
        assert_eq!(result.data, Some(json!({ "result": "a_b.c" })));
    }
    // By an alias of the new tool, too.
    assert!(registry.register(tool("other.tool").alias("a.b.c")).is_err());
    assert!(registry.unregister("a_b.c"));
    registry.register(tool("a.b_c")).unwrap();
}

#[test]
fn a_tool_with_another_function_or_another_setting_is_another_tool() {
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let tool = greeter("hello");
    registry.register(tool.clone()).unwrap();
    let changed = |change: fn(Tool) -> Tool| change(tool.clone());
    for (other, difference) in [
        (greeter("hello"), "function"),
        (changed(|tool| tool.description("Greets.")), "description"),
        (changed(|tool| tool.title("Greet")), "title"),
        (changed(|tool| tool.version("2.0.0")), "version"),
        (changed(|tool| tool.hints(|hints| hints.read_only = Some(true))), "hints"),
        (changed(|tool| tool.tag("social")), "tag"),
        (changed(|tool| tool.alias("hello.hi")), "alias"),
        (changed(|tool| tool.allow("missing-description")), "allow"),
        (changed(|tool| tool.output_schema(json!({ "type": "object" }))), "output schema"),
        (changed(|tool| tool.timeout(mcp_core::entry::Timeout::After(Duration::from_secs(1)))), "timeout"),
        (changed(|tool| tool.max_result(10)), "max_result"),
    ] {
        let registered = registry.register(other);
        let error = registered.expect_err(difference).to_string();
        assert!(error.contains("two tools are named `hello.greet`"), "{difference}: {error}");
    }
    registry.register(tool).unwrap();
    assert_eq!(registry.list_registered_tools().len(), 1);
}

#[test]
fn a_tool_keeps_its_metrics_and_its_limit_while_others_are_registered_and_unregistered() {
    let limit = RateLimit::per_minute(1).burst(2);
    let registry = Registry::builder_of(tools![add, mirror]).rate_limit_tool("calc.add", limit).build().unwrap();
    let call = |name: &str, arguments| registry.call_blocking(&ToolCall::new(name, arguments)).error;
    let calls = |name: &str| registry.metrics().get(name).map(|tool| tool.calls);
    for (number, name) in (1..).zip(["a.first", "hello.greet"]) {
        assert_eq!(call("calc.add", json!({ "a": 1 })), None);
        let other = Tool::new(name, json!({ "type": "object" }), |_, _| async {});
        registry.register(other.clone()).unwrap();
        assert_eq!(call(name, json!({})), None);
        assert_eq!((calls("calc.add"), calls(name)), (Some(number), Some(1)));
        assert!(registry.unregister(name));
        assert_eq!(calls(name), None);
        registry.register(other).unwrap();
        assert_eq!(calls(name), Some(0), "it is a new tool");
    }
    let error = call("calc.add", json!({ "a": 1 })).unwrap();
    assert_eq!(error.error_type.as_str(), "ApiLimitExceeded");
}

#[test]
fn the_sections_of_the_documentation_are_kept_by_heading() {
    let catalog = Catalog::linked().unwrap();
    let fail = catalog.get("calc.fail").unwrap();
    assert_eq!((fail.description(), fail.sections()), ("Fails as it is told to.", &[("Errors", "Always.")][..]));
    assert!(catalog.get("calc.add").unwrap().sections().is_empty());
}

#[test]
fn s3_41_a_tool_created_at_run_time_is_checked_and_registered_completely_or_not_at_all() {
    let registry = registry();
    let refused = |name: &str, schema: Value, version: &str| {
        registry.register(Tool::new(name, schema, |_, _| async {}).version(version)).unwrap_err().to_string()
    };
    let object = json!({ "type": "object" });
    assert!(refused("no spaces", object.clone(), "1.0.0").contains("has the character ' '"));
    assert!(refused("x.y", json!({}), "1.0.0").contains("the input schema of `x.y` is empty"));
    assert!(
        refused("x.y", json!({ "type": "array" }), "1.0.0")
            .contains("does not have `\"type\": \"object\"` at its root")
    );
    assert!(refused("x.y", json!({ "type": "object", "oneOf": [{}] }), "1.0.0").contains("has `oneOf` at its root"));
    assert!(refused("x.y", object, "1").contains("`1` is not a version"));
    for (schema, wanted) in [
        (json!({ "type": "object", "properties": 5 }), "has `properties` that are not an object"),
        (json!({ "type": "object", "properties": { "a": 5 } }), "has a property `a` that is not a schema"),
        (json!({ "type": "object", "required": "a" }), "has `required` that is not a list of names"),
        (
            json!({ "type": "object", "properties": {}, "required": ["a"] }),
            "requires `a`, which is not among its properties",
        ),
    ] {
        assert!(refused("x.y", schema, "1.0.0").contains(wanted), "{wanted}");
    }
    let output =
        Tool::new("x.y", json!({ "type": "object" }), |_, _| async {}).output_schema(json!({ "type": "string" }));
    assert!(registry.register(output).unwrap_err().to_string().contains("the output schema of `x.y` does not have"));
    assert!(refused("x.y", json!({}), "1").contains("for 2 reasons"));
    assert_eq!(registry.list_registered_tools().len(), 8);
}

#[test]
fn s3_44_a_different_tool_of_the_same_name_and_place_is_refused() {
    let registry = registry();
    let made = |version: &str, text: &'static str| greeter(text).version(version);
    registry.register(made("1.0.0", "one")).unwrap();
    let error = registry.register(made("2.0.0", "two")).unwrap_err();
    assert!(error.to_string().contains("two tools are named `hello.greet`"), "{error}");
    assert!(error.to_string().contains("give one of them another name, or `unregister` the other first"), "{error}");
    assert_eq!(registry.get("hello.greet").unwrap().version(), "1.0.0");
}

#[test]
fn a_tool_created_at_run_time_fails_with_its_own_error() {
    let registry = registry();
    let fails = |_: ToolContext, _: Value| async { Err::<(), _>(ToolError::new("QuotaError", "enough")) };
    registry.register(Tool::new("made.fails", json!({ "type": "object" }), fails)).unwrap();
    let error = block_on(registry.try_call(&ToolCall::new("made.fails", json!({})))).unwrap_err();
    assert!(matches!(error, Error::Tool(error) if error.error_type() == "QuotaError"));
}

#[test]
fn aliases_are_called_and_checked_on_the_wire_too() {
    assert_eq!(call("calc_plus", json!({ "a": 1 })).data, Some(json!({ "result": 11 })));
    let bad = Tool::new("made.x", json!({ "type": "object" }), |_, _| async {}).alias("has space");
    assert!(matches!(registry().register(bad).unwrap_err().problems(), [RegistrationProblem::Name { .. }]));
}

#[test]
fn state_of_one_type_given_twice_is_refused() {
    let error = Registry::builder_of(tools![add]).state(Greeting("a")).state(Greeting("b")).build().unwrap_err();
    let page = error.to_string();
    assert!(
        page.contains("state of type `registry::Greeting` is given twice") && page.contains("registry/main.rs:"),
        "{page}"
    );
}

#[test]
fn a_mistyped_name_is_met_with_a_suggestion() {
    let near = |name: &str| registry().get(name).unwrap_err().did_you_mean;
    assert_eq!(near("any.fnid"), ["any.find"]);
    assert_eq!(near("add"), ["calc.add"]);
    assert!(near("something.else.entirely").is_empty());
}

#[test]
fn a_subset_has_its_own_tools_and_the_same_state() {
    let registry = registry();
    let part = registry.subset(|tool| tool.name().starts_with("state."));
    assert_eq!(part.list_registered_tools().len(), 1);
    let count = ToolCall::new("state.count", json!({}));
    part.call_blocking(&count);
    assert_eq!(registry.call_blocking(&count).data, Some(json!({ "result": "hello state.count after 1" })));
    part.register(greeter("hi")).unwrap();
    assert!(registry.get("hello.greet").is_err());
}

#[test]
fn a_tool_that_is_both_named_and_linked_is_added_once() {
    let named = Registry::builder_of(tools![add, mirror]).build().unwrap();
    assert_eq!(named.list_registered_tools().len(), 2);
    let both =
        Registry::builder().tools(tools![add]).state(Counter(AtomicU32::new(0))).state(Greeting("")).build().unwrap();
    assert_eq!(both.list_registered_tools().len(), 8);
}

#[test]
fn overrides_that_match_no_tool_are_refused() {
    let error = Registry::builder_of(tools![add])
        .exclude("mcp-tests", "calc.nothing")
        .rename("other", "calc.add", "x.y")
        .prefix("mcp-tests@9.9.9", "old")
        .build()
        .unwrap_err();
    assert_eq!(error.problems().len(), 3);
    assert!(error.to_string().contains("registry/main.rs:"), "{error}");
    assert!(
        error.to_string().contains(
            "`.exclude(\"mcp-tests\", \"calc.nothing\")` matches no tool: `mcp-tests` has no tool `calc.nothing`"
        ),
        "{error}"
    );
}

#[test]
fn names_are_checked_after_renaming_and_prefixing() {
    let registry = Registry::builder_of(tools![add, mirror])
        .rename("mcp-tests", "calc.add", "maths.sum")
        .prefix("mcp_tests", "my")
        .build()
        .unwrap();
    let names: Vec<String> = registry.list_registered_tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["my.geometry.mirror", "my.maths.sum"]);
    assert_eq!(
        registry.call_blocking(&ToolCall::new("my_maths_sum", json!({ "a": 1 }))).data,
        Some(json!({ "result": 11 }))
    );
    let error = Registry::builder_of(tools![add]).rename("mcp-tests", "calc.add", "no spaces").build().unwrap_err();
    assert!(matches!(error.problems(), [RegistrationProblem::Name { .. }]));
    let long = "n".repeat(70);
    let error = Registry::builder_of(tools![add]).rename("mcp-tests", "calc.add", long.as_str()).build().unwrap_err();
    assert!(error.to_string().contains("hosts accept at most 64: shorten it"), "{error}");
}

#[test]
fn a_registry_without_tools_is_an_error_unless_it_may_be_empty() {
    let error = Registry::builder_of([]).build().unwrap_err();
    assert!(matches!(error.problems(), [RegistrationProblem::Empty { linked: 0, .. }]));
    assert!(error.to_string().contains("name it in the binary with `link_tools!(its_name)`, or call `.allow_empty()`"));
    assert!(Registry::builder_of([]).allow_empty().build().is_ok());
    let error = Registry::builder_of(tools![add]).select(|_| false).build().unwrap_err().to_string();
    assert!(
        error.contains("`.select(…)` and `.exclude(…)` leave none of the 1 tools")
            && error.contains("registry/main.rs:"),
        "{error}"
    );
}

#[test]
fn a_registry_is_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    let registry = registry();
    shared(&registry);
    shared(&registry.catalog());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let registry = &registry;
            scope.spawn(move || {
                for n in 0..200 {
                    let name = format!("made.t{thread}_{n}");
                    registry
                        .register(Tool::new(&name, json!({ "type": "object" }), |_, _| async { json!(1) }))
                        .unwrap();
                    assert!(!registry.call_blocking(&ToolCall::new(&name, json!({}))).is_failure());
                    assert_eq!(
                        registry.call_blocking(&ToolCall::new("calc.add", json!({ "a": n }))).data,
                        Some(json!({ "result": n + 10 }))
                    );
                    assert!(registry.unregister(&name));
                }
            });
        }
    });
    assert_eq!(registry.list_registered_tools().len(), 8);
}

#[test]
fn a_value_held_by_a_tool_can_use_the_registry_in_its_drop() {
    struct Last(Registry);

    impl Drop for Last {
        fn drop(&mut self) {
            self.0.unregister("last.other");
        }
    }

    let (send, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let registry = Registry::builder_of([]).allow_empty().build().unwrap();
        let last = Last(registry.clone());
        let tool = |name| Tool::new(name, json!({ "type": "object" }), |_, _| async {}).description("Does nothing.");
        registry.register(tool("last.other")).unwrap();
        let holds = Tool::new("last.one", json!({ "type": "object" }), move |_, _| {
            let _ = &last;
            async {}
        });
        registry.register(holds.description("Holds on to the registry.")).unwrap();
        assert!(registry.unregister("last.one"));
        send.send(registry.list_registered_tools().len()).unwrap();
    });
    let left = done.recv_timeout(std::time::Duration::from_secs(5)).expect("a deadlock");
    assert_eq!(left, 0);
}
