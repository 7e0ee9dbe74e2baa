//! What a published schema says is enforced at a call: by the check of the schema, or by types that enforce all of it.

#![allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "tools have the form under test")]

mod equivalence;
mod large_values;
mod tools;
mod untrusted_input;

use mcp_registry::entry::ToolEntry;
use mcp_registry::error::{Fault, RegistrationProblem};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{CallOptions, Error, Registry, Tool, ToolCall, mcp_tool, tools};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Order {
    #[schemars(range(min = 1, max = 99))]
    count: u8,
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    code: String,
    note: Option<String>,
    shape: Option<Shape>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Shape {
    Circle {
        #[schemars(range(max = 9))]
        radius: u8,
    },
    Square {
        #[schemars(range(max = 5))]
        side: u8,
    },
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Login {
    user: String,
    #[schemars(length(min = 4))]
    password: String,
}

/// One of two members, by a keyword of its own.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["id"] }, { "required": ["name"] }]))]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Key {
    id: Option<u8>,
    name: Option<String>,
}

/// Takes one of two members.
#[mcp_tool(module = "check", read_only)]
fn either(key: Key) -> bool {
    key.id.is_some()
}

#[test]
fn a_one_of_whose_alternatives_may_both_fit_is_published_and_enforced_as_it_is() {
    let registry = Registry::builder_of(tools![either]).build().unwrap();
    let key = registry.get_tool_schema("check.either").unwrap()["properties"]["key"].clone();
    assert_eq!(key["oneOf"], json!([{ "required": ["id"] }, { "required": ["name"] }]), "{key}");
    let call = |key: Value| {
        let call = ToolCall::new("check.either", json!({ "key": key }));
        mcp_core::support::block_on(registry.try_call(&call))
    };
    assert!(call(json!({ "id": 1 })).is_ok() && call(json!({ "name": "a" })).is_ok());
    for wrong in [json!({}), json!({ "id": 1, "name": "a" })] {
        assert!(matches!(call(wrong.clone()), Err(Error::Schema(_))), "{wrong}");
    }
    assert!(registry.catalog().lint().iter().any(|finding| finding.rule == "one-of"), "and the lint says who drops it");
}

/// Takes texts of a form.
#[mcp_tool(module = "check")]
fn texts(
    #[arg(pattern = "^[a-z]+$", alias = "word")] name: String,
    #[arg(format = "email")] mail: Option<String>,
) -> usize {
    name.len() + mail.map_or(0, |mail| mail.len())
}

/// Takes orders.
#[mcp_tool(module = "check")]
fn orders(orders: Vec<Order>, first: Option<Order>) -> usize {
    orders.len() + first.map_or(0, |first| usize::from(first.count))
}

/// Takes secrets.
#[mcp_tool(module = "check")]
fn secrets(
    #[arg(secret)] login: Login,
    #[arg(secret, pattern = "^[0-9]+$")] pin: Option<String>,
    #[arg(max_length = 3)] open: Option<String>,
) -> usize {
    login.user.len() + pin.map_or(0, |pin| pin.len()) + open.map_or(0, |open| open.len())
}

/// Takes a secret struct for its arguments.
#[mcp_tool(module = "check")]
fn sealed(#[arg(flatten, secret)] login: Login) -> usize {
    login.user.len()
}

/// Takes a struct for its arguments.
#[mcp_tool(module = "check")]
fn flat(#[arg(flatten)] order: Order) -> u8 {
    order.count
}

/// Has no regular expression for a pattern.
#[mcp_tool(module = "wrong")]
fn pattern(#[arg(pattern = "(")] text: String) -> usize {
    text.len()
}

/// Has a format that nobody knows.
#[mcp_tool(module = "wrong")]
fn format(#[arg(format = "e-mail")] text: String) -> usize {
    text.len()
}

/// Has a schema that is none.
#[mcp_tool(module = "wrong", input_schema = json!({ "type": "object", "properties": { "n": { "type": "float" } } }))]
fn schema(n: f64) -> f64 {
    n
}

/// Has an output schema that is none.
#[mcp_tool(module = "wrong", output_schema = json!({ "type": "object", "minProperties": -1 }))]
fn output(n: f64) -> f64 {
    n
}

/// Has a parameter with a schema that is none.
#[mcp_tool(module = "wrong")]
fn param(#[arg(schema = json!({ "minimum": "one" }))] n: f64) -> f64 {
    n
}

/// Has a schema that refers to nothing.
#[mcp_tool(module = "wrong", input_schema = json!({ "type": "object", "properties": { "n": { "$ref": "#/$defs/N" } } }))]
fn reference(n: f64) -> f64 {
    n
}

fn registry() -> Registry {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "minLength": 2 },
            "limit": { "type": "integer", "exclusiveMinimum": 0, "multipleOf": 5 },
            "when": { "type": "string", "format": "date" },
            "only": { "const": "x" },
            "by": { "type": "object", "propertyNames": { "maxLength": 2 }, "maxProperties": 1 },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let made = Tool::new("check.made", schema, |_, arguments| async move { arguments });
    let entries = mcp_registry::entry::entries().filter(|entry| entry.name.starts_with("check."));
    Registry::builder_of(entries).tool(made).build().unwrap()
}

fn called(tool: &str, arguments: Value) -> Result<(), Vec<Fault>> {
    let call = ToolCall::new(format!("check.{tool}"), arguments);
    match mcp_core::support::block_on(registry().try_call(&call)) {
        Err(Error::Schema(error)) => {
            assert!(!error.faults.is_empty() && error.faults.len() <= 20);
            for fault in &error.faults {
                assert!(fault.message.contains("; "), "no remedy: {}", fault.message);
                assert!(fault.message.len() <= 400, "{}", fault.message.len());
            }
            Err(error.faults)
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Ok(()),
    }
}

fn told(tool: &str, arguments: Value) -> Vec<(String, String)> {
    let faults = called(tool, arguments).unwrap_err();
    faults.into_iter().map(|fault| (fault.path, fault.message)).collect()
}

fn expect(tool: &str, arguments: Value, expected: &[(&str, &str)]) {
    let found = told(tool, arguments);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, message)| (path.as_str(), message.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn patterns_and_formats_of_parameters_are_checked() {
    assert!(called("texts", json!({ "name": "abc", "mail": "a@example.com" })).is_ok());
    expect(
        "texts",
        json!({ "name": "A1", "mail": "a" }),
        &[
            ("/name", "`name` must be a text that matches `^[a-z]+$`, not \"A1\"; correct the value"),
            (
                "/mail",
                "`mail` must be a text of the format `email`, such as `a@example.com`, not \"a\"; correct the value",
            ),
        ],
    );
}

#[test]
fn an_older_name_is_checked_as_the_parameter() {
    assert!(called("texts", json!({ "word": "abc" })).is_ok());
    assert_eq!(told("texts", json!({ "word": "A1" }))[0].0, "/name");
}

#[test]
fn bounds_in_nested_types_are_checked() {
    assert!(called("orders", json!({ "orders": [{ "count": 1, "code": "ABC" }] })).is_ok());
    expect(
        "orders",
        json!({ "orders": [{ "count": 1, "code": "ABC" }, { "count": 0, "code": "abc" }] }),
        &[
            ("/orders/1/count", "`orders/1/count` must be a number of at least 1, not 0; correct the value"),
            (
                "/orders/1/code",
                "`orders/1/code` must be a text that matches `^[A-Z]{3}$`, not \"abc\"; correct the value",
            ),
        ],
    );
    let fault = &called("orders", json!({ "orders": [{ "count": 100, "code": "ABC" }] })).unwrap_err()[0];
    assert_eq!((fault.expected.as_str(), fault.got.as_deref()), ("a number of at most 99", Some("100")));
}

#[test]
fn the_alternative_that_is_meant_is_told_of() {
    let order = |shape: Value| json!({ "orders": [{ "count": 1, "code": "ABC", "shape": shape }] });
    assert!(called("orders", order(json!({ "kind": "circle", "radius": 9 }))).is_ok());
    expect(
        "orders",
        order(json!({ "kind": "square", "side": 6 })),
        &[("/orders/0/shape/side", "`orders/0/shape/side` must be a number of at most 5, not 6; correct the value")],
    );
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_text() {
    // serde stops at the first fault in each argument.
    let found = told(
        "orders",
        json!({
            "orders": [{ "count": "x", "code": 1 }, { "count": 0, "code": "ABC" }],
            "first": { "count": 1 },
            "more": 1,
        }),
    );
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/orders/0/count", "/orders/0/code", "/orders/1/count", "/first", "/more"]);
    let many: Vec<Value> = (0..100).map(|_| json!({ "count": 0, "code": "a" })).collect();
    assert_eq!(told("orders", json!({ "orders": many })).len(), 20);
}

#[test]
fn all_faults_of_a_struct_that_is_all_arguments_are_told() {
    let found = told("flat", json!({ "count": 0, "note": 5, "shap": 1 }));
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert!(paths.contains(&"/note") && paths.contains(&"/count") && paths.contains(&"/code"), "{found:?}");
    assert_eq!(paths.iter().filter(|path| **path == "/shap").count(), 1, "{found:?}");
    // A field that is missing is told once.
    assert_eq!(told("flat", json!({ "count": 1 })).len(), 1);
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "what is read is not looked at")]
enum Level {
    Low,
    #[serde(alias = "top", alias = "max")]
    High,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Alarm {
    #[serde(alias = "size", alias = "anzahl")]
    #[schemars(range(max = 9))]
    count: u8,
    #[serde(alias = "grade")]
    level: Level,
    title: Option<String>,
}

/// Takes an alarm, by its older names too.
#[mcp_tool(module = "check")]
fn alarm(alarm: Alarm) -> u8 {
    alarm.count
}

#[test]
fn names_that_serde_knows_as_aliases_are_accepted_and_checked_like_the_others() {
    for good in [
        json!({ "count": 9, "level": "high" }),
        json!({ "size": 9, "grade": "top", "title": null }),
        json!({ "anzahl": 3.0, "level": "max" }),
    ] {
        assert_eq!(called("alarm", json!({ "alarm": good })), Ok(()), "{good}");
    }
    expect(
        "alarm",
        json!({ "alarm": { "size": 10, "grade": "upper", "colour": 1 } }),
        &[
            ("/alarm/count", "`alarm/count` must be a number of at most 9, not 10; correct the value"),
            ("/alarm/level", "`alarm/level` must be one of `low`, `high`, not \"upper\"; correct the value"),
            ("/alarm/colour", "`alarm` has no field `colour`; remove it, or use one of `count`, `level`, `title`"),
        ],
    );
    assert_eq!(
        told("alarm", json!({ "alarm": { "size": 1, "count": 2, "level": "low" } })).len(),
        1,
        "one value twice"
    );
    let schema = registry().get_tool_schema("check.alarm").unwrap()["properties"]["alarm"].to_string();
    assert!(!schema.contains("anzahl") && !schema.contains("top") && !schema.contains("grade"), "{schema}");
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Visit {
    id: uuid::Uuid,
    on: chrono::NaiveDate,
    #[schemars(range(min = 1))]
    guests: u8,
}

/// Takes a visit.
#[mcp_tool(module = "check")]
fn visit(visit: Visit) -> u8 {
    visit.guests
}

#[test]
fn formats_that_only_types_enforce_are_explained_beside_other_faults() {
    let id = (
        "/visit/id",
        "`visit/id` must be a text of the format `uuid`, such as `00000000-0000-4000-8000-000000000000`, not \"x\"; correct the value",
    );
    let on = (
        "/visit/on",
        "`visit/on` must be a text of the format `date`, such as `2020-01-01`, not \"today\"; correct the value",
    );
    let guests = ("/visit/guests", "`visit/guests` must be a number of at least 1, not 0; correct the value");
    expect("visit", json!({ "visit": { "id": "x", "on": "today", "guests": 1 } }), &[id, on]);
    expect("visit", json!({ "visit": { "id": "x", "on": "today", "guests": 0 } }), &[id, on, guests]);
    // The type accepts a UUID without hyphens, which the format does not.
    let simple = "0".repeat(32);
    let visit = |guests: u8| json!({ "visit": { "id": simple, "on": "2020-01-01", "guests": guests } });
    assert_eq!(called("visit", visit(1)), Ok(()));
    expect("visit", visit(0), &[guests]);
}

#[test]
fn a_list_or_an_object_is_not_taken_for_what_it_is_not() {
    // serde reads a struct from a list, and a variant from an object.
    expect(
        "orders",
        json!({ "orders": [[1, "ABC", null, null]] }),
        &[("/orders/0", "`orders/0` must be an object, not [1,\"ABC\",null,null]; correct the value")],
    );
}

#[test]
fn a_tool_that_is_made_is_checked_by_its_schema() {
    assert!(called("made", json!({ "query": "ab", "limit": 5, "when": "2020-01-31", "by": { "ab": 1 } })).is_ok());
    expect(
        "made",
        json!({ "limit": 0, "when": "today", "only": "y", "by": { "abc": 1, "b": 2 }, "qeury": "ab", "x": 1 }),
        &[
            ("/limit", "`limit` must be a number above 0, not 0; correct the value"),
            (
                "/when",
                "`when` must be a text of the format `date`, such as `2020-01-01`, not \"today\"; correct the value",
            ),
            ("/only", "`only` must be `x`, not \"y\"; correct the value"),
            ("/by", "`by` must be an object of at most 1 member, not {\"abc\":1,\"b\":2}; correct the value"),
            (
                "/by",
                "`by` must be an object of which each name is a text of at most 2 characters, not {\"abc\":1,\"b\":2}; correct the value",
            ),
            ("/qeury", "there is no argument `qeury`; did you mean `query`?"),
            ("/x", "there is no argument `x`; remove it, or use one of `query`, `limit`, `when`, `only`, `by`"),
            ("/query", "`query` is missing; add it"),
        ],
    );
}

#[test]
fn null_means_absent() {
    let order = json!({ "count": 1, "code": "ABC", "note": null, "shape": null });
    assert!(called("orders", json!({ "orders": [order], "first": null })).is_ok());
    assert!(called("texts", json!({ "name": "abc", "mail": null })).is_ok());
    assert!(called("made", json!({ "query": "ab", "limit": null, "by": null })).is_ok());
    assert!(called("flat", json!({ "count": 1, "code": "ABC", "note": null })).is_ok());
    expect("made", json!({ "query": null }), &[("/query", "`query` is missing; add it")]);
    // Not what nobody knows.
    assert_eq!(told("made", json!({ "query": "ab", "x": null }))[0].0, "/x");
    // A fault is told beside them.
    let order = json!({ "count": 0, "code": "ABC", "note": null });
    assert_eq!(told("orders", json!({ "orders": [order], "first": null })).len(), 1);
}

#[test]
fn a_secret_is_never_told() {
    let hidden = "hunter2";
    for arguments in [
        json!({ "login": { "user": "a", "password": "abc", "hunter2": 1 }, "pin": "hunter2" }),
        json!({ "login": { "user": hidden, "password": [hidden] } }),
        json!({ "login": [hidden, hidden], "open": "long" }),
        json!({ "login": { hidden: hidden }, "pin": { hidden: [hidden] } }),
        json!({ "login": hidden, "pin": hidden, "open": 5 }),
    ] {
        let text = format!("{:?}", called("secrets", arguments).unwrap_err());
        assert!(!text.contains(hidden) && text.contains("/login"), "{text}");
    }
    for arguments in [json!({ "user": [hidden], "password": "abc" }), json!({ "user": "a", "password": { hidden: 1 } })]
    {
        let text = format!("{:?}", called("sealed", arguments).unwrap_err());
        assert!(!text.contains(hidden), "{text}");
    }
    expect(
        "secrets",
        json!({ "login": { "user": "a", "password": "abc" }, "pin": "x", "open": "long" }),
        &[
            ("/login", "`login` must be a text of at least 4 characters; correct the value"),
            ("/pin", "`pin` must be a text that matches `^[0-9]+$`; correct the value"),
            ("/open", "`open` must be a text of at most 3 characters, not \"long\"; correct the value"),
        ],
    );
}

fn at_least_two_of_three() -> Value {
    let text = json!({ "type": "string" });
    let properties = json!({ "user": text, "pin": text, "token": text });
    json!({ "type": "object", "properties": properties, "minProperties": 2, "additionalProperties": false })
}

/// Takes two of three.
#[mcp_tool(module = "check", input_schema = at_least_two_of_three())]
fn two_of_three(user: Option<String>, #[arg(secret)] pin: Option<String>, token: Option<String>) -> usize {
    [user, pin, token].into_iter().flatten().count()
}

#[test]
fn a_fault_of_all_arguments_does_not_show_the_secret_among_them() {
    let registry = Registry::builder_of(tools![secrets, two_of_three]).build().unwrap();
    for (name, arguments) in [
        ("check.two_of_three", r#"{"pin":"hunter2"}"#),
        ("check.two_of_three", r#"["hunter2"]"#),
        ("check.two_of_three", r#""hunter2""#),
        ("check.secrets", r#"[{"password":"hunter2"}]"#),
        ("check.secrets", r#""hunter2""#),
    ] {
        let error = registry.call_bytes_blocking(name, arguments.as_bytes(), &CallOptions::new(), &mut Vec::new());
        let Err(Error::Schema(error)) = error else { panic!("{name} {arguments}: {error:?}") };
        assert!(!error.faults.is_empty() && error.faults.iter().all(|fault| fault.path.is_empty()), "{error:?}");
        assert!(!format!("{error:?}").contains("hunter2"), "{name} {arguments}: {error:?}");
    }
    // Without a secret among them, they are shown.
    let open = Registry::builder_of([]).tool(Tool::new("check.open", at_least_two_of_three(), |_, _| async {}));
    let error = open.build().unwrap().call_blocking(&ToolCall::new("check.open", json!({ "pin": "hunter2" })));
    assert!(error.to_json().contains("hunter2"), "{}", error.to_json());
}

#[test]
fn what_is_large_is_cut() {
    let long = "é".repeat(100_000);
    for arguments in
        [json!({ "name": long }), json!({ "name": "a", "mail": long }), json!({ "name": "a", long.as_str(): 1 })]
    {
        let faults = called("texts", arguments).unwrap_err();
        assert!(faults.iter().all(|fault| fault.got.as_ref().is_none_or(|got| got.len() < 100)));
    }
    let faults = called("made", json!({ "query": "ab", "by": { long.as_str(): 1 } })).unwrap_err();
    assert!(format!("{faults:?}").len() < 1000);
}

/// The only problem of a tool.
fn problem(entry: &'static ToolEntry) -> RegistrationProblem {
    let error = Registry::builder_of([entry]).build().unwrap_err();
    assert!(error.to_string().contains("validation/mod.rs:"), "{error}");
    let [problem] = error.problems() else { panic!("{error}") };
    problem.clone()
}

#[test]
fn a_pattern_or_format_that_is_none_is_refused() {
    let [pattern, unknown, param] = tools![pattern, format, param].map(problem).map(|problem| match problem {
        RegistrationProblem::Param { reason, .. } => reason,
        other => panic!("{other}"),
    });
    let reason = "which is not a regular expression: found open group without closing ')'; correct it";
    assert_eq!(pattern, format!("has the pattern `(`, {reason}"));
    assert!(
        unknown.starts_with("has the format `e-mail`, which is unknown; use one of `date-time`, `date`"),
        "{unknown}"
    );
    assert!(
        param.starts_with("has a schema that is not a JSON Schema: ") && param.ends_with("; correct it"),
        "{param}"
    );
}

#[test]
fn a_schema_that_is_none_is_refused() {
    let wrong = tools![schema, output, reference].map(problem).map(|problem| match problem {
        RegistrationProblem::Schema { which, reason, .. } => (which, reason),
        other => panic!("{other}"),
    });
    assert_eq!(wrong.each_ref().map(|(which, _)| *which), ["input", "output", "input"]);
    assert!(wrong[0].1.contains(" at `/properties/n/type`; correct it"), "{}", wrong[0].1);
    assert!(wrong.iter().all(|(_, reason)| reason.starts_with("is not a JSON Schema: ")), "{wrong:?}");
}

#[test]
fn a_tool_that_is_made_with_what_is_no_schema_is_refused() {
    let registry = Registry::builder_of([]).allow_empty().build().unwrap();
    let tool = |schema: Value| Tool::new("wrong.made", schema, |_, _| async {});
    let error =
        registry.register(tool(json!({ "type": "object", "required": ["a"], "minProperties": "x" }))).unwrap_err();
    assert!(error.to_string().contains("the input schema of `wrong.made` is not a JSON Schema"), "{error}");
    let output = tool(json!({ "type": "object" })).output_schema(json!({ "type": "object", "properties": { "a": 1 } }));
    assert_eq!(registry.register(output).unwrap_err().problems().len(), 1);
}

/// Refers to itself, in two alternatives that look the same but for their tag.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "op")]
#[allow(dead_code, reason = "it is only read")]
enum Term {
    Neg { of: Box<Term> },
    Abs { of: Box<Term> },
    Num { v: Tenth },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is only read")]
struct Tenth(#[schemars(range(max = 10))] i64);

/// Takes a term.
#[mcp_tool(module = "v")]
fn term(term: Term) -> usize {
    let _ = term;
    1
}

/// Keeps what it is given under names that are nobody's business.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what is read is not looked at")]
struct Vault {
    kept: std::collections::BTreeMap<String, u8>,
}

/// Takes a vault for its arguments.
#[mcp_tool(module = "v", inline)]
fn vault(#[arg(flatten, secret)] vault: Vault) -> usize {
    vault.kept.len()
}

#[test]
fn no_name_inside_of_a_secret_is_told() {
    let registry = Registry::builder_of(tools![vault]).build().unwrap();
    let result = registry.call_blocking(&ToolCall::new("v.vault", json!({ "kept": { "hunter2": 1000 } })));
    let told = result.to_json();
    assert!(told.contains("\"/kept\"") && !told.contains("hunter2"), "{told}");
}

#[test]
fn faults_in_what_nests_deep_are_told_at_once() {
    let registry = Registry::builder_of(tools![term]).build().unwrap();
    let nested = |levels: usize, leaf: Value| {
        (0..levels).fold(
            json!({ "op": "Num", "v": leaf }),
            |of, level| json!({ "op": if level % 2 == 0 { "Neg" } else { "Abs" }, "of": of }),
        )
    };
    let begun = std::time::Instant::now();
    for levels in [0, 1, 2, 10, 50] {
        let call =
            |leaf: Value| registry.call_blocking(&ToolCall::new("v.term", json!({ "term": nested(levels, leaf) })));
        assert!(!call(json!(3)).is_failure());
        // One that the type refuses, and one that only the schema does.
        assert!(call(json!("x")).is_failure(), "{levels}");
        assert!(call(json!(11)).is_failure(), "{levels}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}
