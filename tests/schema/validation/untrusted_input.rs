//! Arguments that cannot be checked are refused, whatever the reason, and the tool does not run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{self, Value, json};
use mcp_registry::{CallOptions, Error, Registry, Tool, mcp_tool, tools};
use serde::Deserialize;

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Keeps the tests of this file apart, since they count the runs of the same tools.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ignores unknown fields, as serde does by default.
#[derive(Deserialize, JsonSchema)]
struct Settings {
    #[schemars(range(max = 10))]
    level: u8,
}

/// Runs a job.
#[mcp_tool(module = "hostile", inline)]
fn job(#[arg(pattern = "^[a-z]+$")] name: String, opts: Settings) -> String {
    RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{name} at {}", opts.level)
}

/// Runs a job, on the pool.
#[mcp_tool(module = "hostile")]
fn pooled(#[arg(pattern = "^[a-z]+$")] name: String, opts: Settings) -> String {
    RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{name} at {}", opts.level)
}

/// Runs a job, as a future.
#[mcp_tool(module = "hostile")]
async fn awaited(#[arg(pattern = "^[a-z]+$")] name: String, opts: Settings) -> String {
    RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{name} at {}", opts.level)
}

#[derive(Deserialize, JsonSchema)]
struct Whole {
    #[schemars(regex(pattern = "^[a-z]+$"))]
    name: String,
    opts: Settings,
}

/// Runs a job, whose arguments are one struct.
#[mcp_tool(module = "hostile", allow_unknown_arguments)]
fn flattened(#[arg(flatten)] whole: Whole) -> String {
    RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{} at {}", whole.name, whole.opts.level)
}

fn call(registry: &Registry, tool: &str, arguments: &str) -> Result<Value, Error> {
    let mut out = Vec::new();
    registry.call_bytes_blocking(tool, arguments.as_bytes(), &CallOptions::new(), &mut out)?;
    Ok(serde_json::from_slice(&out).unwrap())
}

/// JSON that serde skips in a field nobody reads, and that programs disagree about.
fn nasty() -> Vec<String> {
    vec![
        r#""\ud800""#.to_owned(),
        r#"{"\udfff": 1}"#.to_owned(),
        format!("{}{}", "[".repeat(130), "]".repeat(130)),
        format!("{}1{}", r#"{"a":"#.repeat(130), "}".repeat(130)),
        r#"{"a": 1, "a": 2}"#.to_owned(),
    ]
}

#[test]
fn broken_texts_deep_values_and_duplicate_keys_are_refused_and_never_run() {
    let _alone = alone();
    let registry = Registry::builder_of(tools![job, pooled, awaited, flattened]).build().unwrap();
    for tool in ["hostile.job", "hostile.pooled", "hostile.awaited", "hostile.flattened"] {
        assert!(call(&registry, tool, r#"{"name": "fine", "opts": {"level": 3, "zz": 1}}"#).is_ok());
        let runs = RUNS.load(Ordering::Relaxed);
        for nasty in nasty() {
            for arguments in [
                format!(r#"{{"name": "; rm -rf /", "opts": {{"level": 99, "zz": {nasty}}}}}"#),
                format!(r#"{{"name": "fine", "opts": {{"level": 3, "zz": {nasty}}}}}"#),
            ] {
                let error = call(&registry, tool, &arguments).expect_err(&arguments);
                let Error::Schema(error) = error else { panic!("{tool}, {nasty}: {error}") };
                assert!(!error.faults.is_empty());
            }
        }
        assert_eq!(RUNS.load(Ordering::Relaxed), runs, "{tool}");
    }
}

#[test]
fn a_number_of_any_size_does_no_harm_where_nobody_reads_it() {
    let _alone = alone();
    let registry = Registry::builder_of(tools![job, pooled, awaited, flattened]).build().unwrap();
    for tool in ["hostile.job", "hostile.pooled", "hostile.awaited", "hostile.flattened"] {
        for number in ["1e999", "-1e-999999999999", "1e999999999999999999999999"] {
            let arguments =
                |level: &str| format!(r#"{{"name": "fine", "opts": {{"level": {level}, "zz": {number}}}}}"#);
            assert!(call(&registry, tool, &arguments("3")).is_ok(), "{tool}: {number}");
            for level in ["99", number] {
                let error = call(&registry, tool, &arguments(level)).unwrap_err();
                assert!(error.to_string().contains("`/opts/level`"), "{tool}: {error}");
            }
        }
    }
}

#[test]
fn the_error_says_what_cannot_be_checked() {
    let _alone = alone();
    let registry = Registry::builder_of(tools![job]).build().unwrap();
    let told = |zz: &str| {
        let error = call(&registry, "hostile.job", &format!(r#"{{"name": "a", "opts": {{"level": 1, "zz": {zz}}}}}"#));
        error.unwrap_err().to_string()
    };
    let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
    for (zz, expected) in [
        (r#""\ud800""#, "byte 48 should be the second half of a character; send one JSON object"),
        (r#"{"a": 1, "a": 2}"#, "`/opts/zz/a`: `opts/zz` has the field `a` twice; keep one of the two"),
        (deep.as_str(), "`/opts/zz/0/0`: `opts/zz/0/0` is nested too deep; flatten it"),
    ] {
        assert!(told(zz).contains(expected), "{zz}: {}", told(zz));
    }
}

#[test]
fn what_nothing_constrains_is_still_the_types_affair() {
    /// Keeps notes, as they come.
    #[mcp_tool(module = "hostile")]
    fn notes(first: String) -> usize {
        first.len()
    }
    let registry = Registry::builder_of(tools![notes]).build().unwrap();
    assert!(call(&registry, "hostile.notes", r#"{"first": "a"}"#).is_ok());
    assert!(call(&registry, "hostile.notes", r#"{"first": "\ud800"}"#).is_err());
}

fn made(schema: Value) -> Result<Registry, String> {
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let tool = Tool::new("hostile.made", schema, |_, args: Value| async move { args }).description("Echoes.");
    registry.register(tool).map(|()| registry).map_err(|error| error.to_string())
}

#[test]
fn keywords_at_the_root_of_a_written_schema_are_enforced() {
    let _alone = alone();
    for (keyword, said) in [
        ("not", json!({})),
        ("const", json!({})),
        ("const", json!({ "a": 1 })),
        ("enum", json!([])),
        ("enum", json!([{ "b": 1 }])),
        ("additionalProperties", json!(false)),
        ("minProperties", json!(2)),
        ("propertyNames", json!(false)),
        ("anyOf", json!([false])),
        ("if", json!({})),
    ] {
        let mut schema = json!({ "type": "object" });
        schema[keyword] = said.clone();
        if keyword == "if" {
            schema["then"] = json!(false);
        }
        // A schema that no value fits is refused as well.
        let Ok(registry) = made(schema) else { continue };
        let answer = call(&registry, "hostile.made", r#"{"x": 1}"#);
        assert!(answer.is_err(), "{keyword}: {said} took {answer:?}");
    }
    let registry = made(json!({ "type": "object", "properties": {}, "required": [] })).unwrap();
    assert!(call(&registry, "hostile.made", r#"{"x": 1}"#).is_ok());
}

#[test]
fn a_schema_that_cannot_be_enforced_is_refused_and_the_keyword_is_named() {
    let _alone = alone();
    let schema = json!({
        "additionalProperties": { "$id": "urn:x", "$anchor": "y" },
        "properties": { "a": { "$dynamicRef": "#y", "$id": "urn:x", "definitions": { "A": {} } } },
        "$dynamicRef": "#x",
        "type": "object",
    });
    let error = made(schema).unwrap_err();
    let reason = "is not a JSON Schema: `$dynamicRef` is not supported, use `$ref` at `/properties/a/$dynamicRef`";
    assert!(error.contains("hostile.made") && error.contains(reason), "{error}");
    for (schema, named) in [
        (json!({ "properties": { "a": { "unevaluatedItems": false } } }), "`unevaluatedItems`"),
        (json!({ "properties": { "a": { "$ref": "https://example.com/a.json" } } }), "`https://example.com/a.json`"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/A" } } }), "`#/$defs/A`"),
        (json!({ "$schema": "http://json-schema.org/draft-04/schema#" }), "draft-04/schema#\", which is not supported"),
        (json!({ "properties": { "a": { "pattern": "(?=a)" } } }), "`(?=`"),
    ] {
        let mut schema = schema;
        schema["type"] = json!("object");
        let error = made(schema.clone()).expect_err(named);
        assert!(error.contains("is not a JSON Schema: ") && error.contains(named), "{schema}: {error}");
    }
}
