//! Tools are registered and unregistered while others are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mcp_registry::{CallOptions, Error, RateLimit, Registry, Tool, ToolCall, TrustLevel, mcp_tool, schemars, tools};
use serde_json::{Value, json};

use crate::{build, call, failure, try_call, with_tools};

/// Is always there.
#[mcp_tool(module = "coming", inline)]
fn stays(n: u64) -> u64 {
    n + 1
}

/// Is always there, on the pool.
#[mcp_tool(module = "coming")]
fn stays_on_pool(n: u64) -> u64 {
    n + 1
}

/// A tool that says which it is.
fn numbered(name: usize, generation: usize) -> Tool {
    let name = format!("coming.made_{name}");
    let own = name.clone();
    Tool::new(name, json!({ "type": "object" }), move |cx, _: Value| {
        let own = own.clone();
        async move {
            assert_eq!(cx.tool_name(), own);
            json!({ "name": own, "generation": generation })
        }
    })
}

#[test]
fn calls_succeed_while_tools_are_registered_and_unregistered() {
    const MADE: usize = 8;
    const CHANGES: usize = 3000;
    let registry =
        build(with_tools(tools![stays, stays_on_pool]).check_output(mcp_registry::registry::OutputCheck::Never));
    let (over, found, missed) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let caller = |first: usize| {
            let (registry, over, found, missed) = (&registry, &over, &found, &missed);
            move || {
                let mut out = Vec::new();
                for n in first.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let arguments = json!({ "n": n });
                    let tool = ["coming.stays", "coming_stays_on_pool"][usize::from(n % 64 == 0)];
                    let result = try_call(registry, tool, arguments.clone()).unwrap();
                    assert_eq!(result.data.unwrap()["result"], n + 1);
                    out.clear();
                    let json = arguments.to_string();
                    registry
                        .call_bytes_blocking("coming.stays", json.as_bytes(), &CallOptions::new(), &mut out)
                        .unwrap();
                    let name = format!("coming.made_{}", n % MADE);
                    match try_call(registry, &name, json!({})) {
                        Ok(result) => {
                            assert_eq!(result.data.unwrap()["name"], name, "no tool answers for another");
                            found.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::ToolNotFound(error)) => {
                            assert_eq!(error.name, name);
                            missed.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        };
        for first in 0..4 {
            scope.spawn(caller(first * 1_000_000));
        }
        let changers: Vec<_> = (0..2)
            .map(|part| {
                let registry = &registry;
                scope.spawn(move || {
                    for generation in 0..CHANGES {
                        // Each thread changes its own tools.
                        let name = 2 * (generation % (MADE / 2)) + part;
                        registry.register(numbered(name, generation)).unwrap();
                        let call = ToolCall::new(format!("coming.made_{name}"), json!({}));
                        let result = registry.call_blocking(&call);
                        assert_eq!(result.data.unwrap()["generation"], generation, "what was registered is there");
                        assert!(registry.register(numbered(name, generation + 1)).is_err(), "and is not replaced");
                        assert!(registry.unregister(&format!("coming.made_{name}")));
                        assert!(registry.call_blocking(&call).is_failure(), "what was taken away is gone");
                    }
                })
            })
            .collect();
        for changer in changers {
            changer.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(registry.list_registered_tools().len(), 2);
    assert!(missed.load(Ordering::Relaxed) > 0, "{found:?} {missed:?}");
}

/// Counts how often its schema is generated.
#[derive(serde::Deserialize, serde::Serialize)]
struct Counted(u8);

static MADE: AtomicUsize = AtomicUsize::new(0);

impl schemars::JsonSchema for Counted {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Counted".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        MADE.fetch_add(1, Ordering::Relaxed);
        u8::json_schema(generator)
    }
}

/// Takes a number, and returns it.
#[mcp_tool(module = "coming")]
fn counted(number: Counted) -> Counted {
    number
}

#[test]
fn s3_8_the_schemas_of_a_tool_are_generated_once_and_only_when_they_are_needed() {
    let made = || MADE.load(Ordering::Relaxed);
    let registry = build(with_tools(tools![counted]));
    let tool = registry.get("coming.counted").unwrap();
    assert_eq!((tool.description(), made()), ("Takes a number, and returns it.", 0), "nobody needs a schema");
    let first = registry.get_tool_schema("coming.counted").unwrap();
    assert_eq!(made(), 1, "nobody needs that of the output");
    for _ in 0..10 {
        assert_eq!(*registry.get_tool_schema("coming_counted").unwrap(), *first);
        assert_eq!(**registry.list_registered_tools()[0].input_schema(), *first);
        assert_eq!(tool.output_schema().unwrap()["properties"]["result"]["type"], "integer");
        assert!(!call(&registry, "coming.counted", json!({ "number": 1 })).is_failure());
        assert_eq!(made(), 2);
    }
    assert_eq!(registry.catalog().digest(), registry.catalog().digest());
    assert_eq!(made(), 2);
}

/// Wipes, if the caller may.
#[mcp_tool(module = "coming", destructive, aliases("coming.clear"))]
fn wipe() -> &'static str {
    "the linked one"
}

/// Another tool of that or any other name, which wipes, too.
fn wiping(name: &str) -> Tool {
    Tool::new(name, json!({ "type": "object" }), |_, _: Value| async { json!({ "result": "another one" }) })
        .hints(|hints| hints.destructive = Some(true))
}

/// The type of the error of a call; `None` if it succeeds.
fn error_type(registry: &Registry, name: &str) -> Option<String> {
    let result = call(registry, name, json!({}));
    result.is_failure().then(|| failure(&result).0.to_owned())
}

#[test]
fn the_trust_level_of_a_tool_applies_to_whatever_is_registered_under_its_name() {
    for given in ["coming.wipe", "coming_wipe", "coming.clear"] {
        let registry = build(with_tools(tools![wipe]).trust_tool(given, TrustLevel::Trusted));
        assert_eq!(error_type(&registry, "coming.wipe"), None);
        for _ in 0..2 {
            assert!(registry.unregister("coming.wipe"));
            registry.register(wiping("coming.wipe")).unwrap();
            assert_eq!(error_type(&registry, "coming.wipe"), None, "set for {given}");
        }
        assert!(registry.unregister("coming.wipe"));
        registry.register(wiping("coming.clear")).unwrap();
        let is_trusted = error_type(&registry, "coming.clear").is_none();
        assert_eq!(is_trusted, given == "coming.clear", "an alias of the first one, set for {given}");
    }
    let registry =
        build(with_tools(tools![wipe]).trust(TrustLevel::Trusted).trust_tool("coming.wipe", TrustLevel::Verified));
    assert!(registry.unregister("coming.wipe"));
    registry.register(wiping("coming.wipe")).unwrap();
    assert_eq!(error_type(&registry, "coming_wipe").as_deref(), Some("PermissionError"), "no more than before");
    assert!(registry.unregister("coming.wipe"));
    registry.register(wiping("coming.erase").alias("coming.wipe")).unwrap();
    assert_eq!(error_type(&registry, "coming.erase").as_deref(), Some("PermissionError"), "it answers to the name");
}

#[test]
fn registering_a_tool_again_does_not_refill_its_rate_limit() {
    let limit = RateLimit::per_minute(1).burst(2);
    let registry = build(with_tools(tools![stays]).tool(numbered(1, 1)).rate_limit_tool("coming.made_1", limit));
    assert_eq!(error_type(&registry, "coming.made_1"), None);
    for generation in [2, 3] {
        assert!(registry.unregister("coming.made_1"));
        registry.register(numbered(1, generation)).unwrap();
        let limited = (generation == 3).then(|| "ApiLimitExceeded".to_owned());
        assert_eq!(error_type(&registry, "coming.made_1"), limited);
    }
    let subset = registry.subset(|tool| tool.name() != "coming.made_1");
    subset.register(numbered(1, 4)).unwrap();
    assert_eq!(error_type(&subset, "coming.made_1").as_deref(), Some("ApiLimitExceeded"), "it is the same limit");
    let subset = registry.subset(|tool| tool.name() == "coming.made_1");
    assert_eq!(error_type(&subset, "coming_made_1").as_deref(), Some("ApiLimitExceeded"));
}

#[test]
fn of_the_limits_of_several_tools_the_first_applies_to_one_that_has_their_names() {
    let (one, two) = (RateLimit::per_minute(1).burst(1), RateLimit::per_minute(1).burst(2));
    for (limits, calls) in
        [([("coming.stays", one), ("coming.wipe", two)], 1), ([("coming.wipe", two), ("coming.stays", one)], 2)]
    {
        let builder = with_tools(tools![stays, wipe]);
        let registry =
            build(limits.into_iter().fold(builder, |builder, (name, limit)| builder.rate_limit_tool(name, limit)));
        assert!(registry.unregister("coming.stays") && registry.unregister("coming.wipe"));
        registry.register(numbered(1, 1).alias("coming.stays").alias("coming.wipe")).unwrap();
        for _ in 0..calls {
            assert_eq!(error_type(&registry, "coming.made_1"), None);
        }
        assert_eq!(error_type(&registry, "coming.made_1").as_deref(), Some("ApiLimitExceeded"));
    }
}

#[test]
fn of_the_trust_levels_of_several_tools_the_lowest_applies_to_one_that_has_their_names() {
    let (low, high) = (("coming.stays", TrustLevel::Verified), ("coming.wipe", TrustLevel::Trusted));
    for levels in [[low, high], [high, low]] {
        let builder = levels
            .into_iter()
            .fold(with_tools(tools![stays, wipe]), |builder, (name, level)| builder.trust_tool(name, level));
        let registry = build(builder);
        assert!(registry.unregister("coming.stays") && registry.unregister("coming.wipe"));
        registry.register(wiping("coming.erase").alias("coming.wipe").alias("coming.stays")).unwrap();
        assert_eq!(error_type(&registry, "coming.erase").as_deref(), Some("PermissionError"));
    }
}

#[test]
fn a_tool_is_unregistered_by_its_own_name_alone() {
    let registry = build(with_tools(tools![stays, wipe]));
    let changes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&changes);
    let _watcher = registry.on_change(move || _ = counted.fetch_add(1, Ordering::SeqCst));
    for other in ["coming.clear", "coming_wipe", "coming.nothing"] {
        assert!(!registry.unregister(other), "{other}");
    }
    assert_eq!((registry.list_registered_tools().len(), changes.load(Ordering::SeqCst)), (2, 0));
    assert!(registry.unregister("coming.wipe"));
    assert_eq!((registry.list_registered_tools().len(), changes.load(Ordering::SeqCst)), (1, 1));
}

#[test]
fn tools_that_are_registered_later_are_not_selected() {
    let registry = build(with_tools(tools![stays, wipe]).select(|tool| tool.name() != "coming.wipe"));
    assert_eq!(error_type(&registry, "coming.wipe").as_deref(), Some("ToolNotFoundError"));
    registry.register(wiping("coming.wipe")).unwrap();
    assert_eq!(error_type(&registry, "coming.wipe").as_deref(), Some("PermissionError"), "it is there");
}
