//! What a gate, the layers and the observers see of the arguments: what the tool gets, under the names and in the form that
//! its schema publishes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_registry::gate::{Decision, Gate, GateCall};
use mcp_registry::layer::{Layer, Next};
use mcp_registry::schemars::{self, JsonSchema};
use mcp_registry::{
    AuditLog, CallOptions, Error, Registry, RegistryBuilder, Tool, ToolCall, ToolContext, ToolResult, mcp_tool, tools,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{block_on, build, call, failure, with_tools};

/// Reads a file.
#[mcp_tool(module = "seen")]
fn read(#[arg(alias = "file")] path: String, #[arg(default = "utf-8")] encoding: String) -> String {
    format!("{path} {encoding}")
}

/// Reads a file, with a schema of its own that says nothing.
#[mcp_tool(module = "seen", input_schema = json!({ "type": "object" }))]
fn read_any(#[arg(alias = "file")] path: String) -> String {
    path
}

/// Pays, with a schema of the parameter that says nothing.
#[mcp_tool(module = "seen")]
fn pay_any(#[arg(schema = json!({}))] cents: i64) -> i64 {
    cents
}

/// Pays, with a schema of its own that says less than the type.
#[mcp_tool(module = "seen", input_schema = json!({ "type": "object", "properties": { "cents": { "type": "number" } } }))]
fn pay_number(#[arg(alias = "amount")] cents: i64, note: Option<String>) -> i64 {
    cents + note.map_or(0, |note| i64::try_from(note.len()).unwrap())
}

/// Has a secret.
#[mcp_tool(module = "seen")]
fn sign_in(#[arg(secret, alias = "password")] pin: Value) -> bool {
    !pin.is_null()
}

/// Pays.
#[mcp_tool(module = "seen")]
fn pay(cents: i64, notes: Option<Vec<i64>>) -> i64 {
    cents + notes.unwrap_or_default().into_iter().sum::<i64>()
}

/// Scales.
#[mcp_tool(module = "seen")]
fn scale(factor: f64) -> f64 {
    factor
}

/// Echoes a large number.
#[mcp_tool(module = "seen")]
fn large(number: i128) -> i128 {
    number
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Place {
    #[serde(alias = "file")]
    path: String,
    mode: Option<Mode>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Read,
    #[serde(alias = "rm")]
    Delete,
}

/// Ignores what it does not know.
#[mcp_tool(module = "seen", allow_unknown_arguments)]
fn lenient(#[arg(alias = "file")] path: String, place: Option<Place>) -> String {
    place.map_or(path, |place| place.path)
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Labels {
    name: String,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// A nested struct.
#[mcp_tool(module = "seen")]
fn open(place: Place) -> Place {
    place
}

/// A struct whose fields are the arguments.
#[mcp_tool(module = "seen")]
fn flat(#[arg(flatten)] place: Place) -> Place {
    place
}

/// Open objects.
#[mcp_tool(module = "seen")]
fn label(labels: Labels, anything: BTreeMap<String, Value>) -> Value {
    json!({ "labels": labels, "anything": anything })
}

/// Notes the arguments that the gate sees, and refuses those of a forbidden path or amount.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<Value>>>);

impl Watch {
    fn is_forbidden(arguments: &Value) -> bool {
        let path = arguments.get("path").or_else(|| arguments.get("place")?.get("path"));
        path.and_then(Value::as_str).is_some_and(|path| path.starts_with("/etc"))
            || arguments.get("cents").is_some_and(|cents| cents.as_u64().is_none_or(|cents| cents > 100))
    }

    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Gate for Watch {
    async fn check(&self, call: &GateCall<'_>) -> Decision {
        self.0.lock().unwrap().push(call.arguments.clone());
        if Self::is_forbidden(call.arguments) {
            Decision::deny("it is forbidden; ask for less")
        } else {
            Decision::Allow
        }
    }
}

impl Layer for Watch {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        self.0.lock().unwrap().push(call.arguments.clone());
        if Self::is_forbidden(&call.arguments) {
            return Err(mcp_registry::ToolError::new("PermissionError", "it is forbidden; ask for less").into());
        }
        next.run(call, cx).await
    }
}

fn all_tools() -> RegistryBuilder {
    with_tools(tools![read, read_any, pay, pay_any, pay_number, sign_in, scale, large, open, flat, lenient, label])
}

/// A registry with a gate that watches, and one with a layer.
fn watched() -> [(Registry, Watch); 2] {
    let [gate, layer] = [Watch::default(), Watch::default()];
    [(build(all_tools().gate(gate.clone())), gate), (build(all_tools().layer(layer.clone())), layer)]
}

/// Calls a tool with arguments as they are on the wire. Returns the result, or the error.
fn call_text(registry: &Registry, name: &str, arguments: &str) -> Result<Value, Error> {
    let mut out = Vec::new();
    registry.call_bytes_blocking(name, arguments.as_bytes(), &CallOptions::new(), &mut out)?;
    Ok(serde_json::from_slice(&out).unwrap())
}

fn refusal(registry: &Registry, name: &str, arguments: &str) -> String {
    match call_text(registry, name, arguments) {
        Ok(result) if result["error"].is_object() => result["error"]["error_message"].as_str().unwrap().to_owned(),
        Ok(result) => panic!("{arguments} is not refused: {result}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_gate_and_a_layer_refuse_what_the_tool_would_get_under_another_name_or_in_another_form() {
    for (registry, watch) in watched() {
        for arguments in [r#"{"path":"/etc/shadow"}"#, r#"{"file":"/etc/shadow"}"#, r#"{"fil\u0065":"/etc/shadow"}"#] {
            assert!(refusal(&registry, "seen.read", arguments).contains("it is forbidden"), "{arguments}");
            assert_eq!(watch.take(), [json!({ "path": "/etc/shadow", "encoding": "utf-8" })], "{arguments}");
        }
        for (name, cents) in ["seen.pay", "seen.pay_any", "seen.pay_number"]
            .into_iter()
            .flat_map(|name| ["500", "500.0", "5e2", "5E+2", "5000e-1"].map(|cents| (name, cents)))
        {
            let arguments = format!(r#"{{"cents":{cents}}}"#);
            assert!(refusal(&registry, name, &arguments).contains("it is forbidden"), "{name} {arguments}");
            assert_eq!(watch.take(), [json!({ "cents": 500 })], "{name} {arguments}");
        }
        assert!(refusal(&registry, "seen.pay_number", r#"{"amount":500.0}"#).contains("it is forbidden"));
        assert_eq!(watch.take(), [json!({ "cents": 500 })]);
        for name in ["seen.open", "seen.flat"] {
            let wrap =
                |inner: &str| if name == "seen.open" { format!(r#"{{"place":{inner}}}"#) } else { inner.to_owned() };
            assert!(refusal(&registry, name, &wrap(r#"{"path":"/etc/shadow"}"#)).contains("it is forbidden"));
            watch.take();
        }
        assert!(refusal(&registry, "seen.read_any", r#"{"file":"/etc/shadow"}"#).contains("it is forbidden"));
        assert_eq!(watch.take(), [json!({ "path": "/etc/shadow" })]);
    }
}

#[test]
fn a_gate_and_a_layer_see_integers_nulls_and_defaults_as_the_tool_does() {
    for (registry, watch) in watched() {
        let sent = [
            ("seen.pay", r#"{"cents":2.0,"notes":[1e1,3]}"#, json!({ "cents": 2, "notes": [10, 3] }), json!(15)),
            ("seen.pay", r#"{"cents":7,"notes":null}"#, json!({ "cents": 7 }), json!(7)),
            ("seen.scale", r#"{"factor":5e2}"#, json!({ "factor": 5e2 }), json!(500.0)),
            (
                "seen.open",
                r#"{"place":{"path":"p","mode":null}}"#,
                json!({ "place": { "path": "p", "mode": null } }),
                Value::Null,
            ),
            ("seen.read", r#"{"file":"a"}"#, json!({ "path": "a", "encoding": "utf-8" }), json!("a utf-8")),
            (
                "seen.read",
                r#"{"path":"a","encoding":null}"#,
                json!({ "path": "a", "encoding": "utf-8" }),
                json!("a utf-8"),
            ),
            ("seen.read", r#"{"path":"a","encoding":"x"}"#, json!({ "path": "a", "encoding": "x" }), json!("a x")),
        ];
        for (name, arguments, seen, result) in sent {
            assert_eq!(call_text(&registry, name, arguments).unwrap()["data"]["result"], result, "{arguments}");
            assert_eq!(watch.take(), [seen], "{arguments}");
        }
    }
}

#[test]
fn arguments_that_plain_types_refuse_are_shown_to_a_gate_as_they_were_sent_and_to_no_layer() {
    for (registry, watch) in watched() {
        for arguments in [r#"{"file":"a","paht":1}"#, r#"{"paht":1,"encoding":null}"#] {
            let refusal = refusal(&registry, "seen.read", arguments);
            assert!(refusal.contains("`/paht`"), "{refusal}");
            let seen = watch.take();
            let sent: Value = serde_json::from_str(arguments).unwrap();
            assert!(seen.iter().all(|seen| *seen == sent), "{seen:?}");
        }
    }
}

/// A number as it is written.
struct Written(String);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().to_owned()))
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "Written".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number" })
    }
}

/// Returns a number as it is written.
#[mcp_tool(module = "seen")]
fn written(number: Written) -> String {
    number.0
}

#[test]
fn arguments_that_no_layer_changes_keep_every_digit() {
    let gate_and_layer = with_tools(tools![written]).gate(Watch::default()).layer(Watch::default());
    for builder in [with_tools(tools![written]), gate_and_layer] {
        let registry = build(builder);
        for number in ["0.10000000000000000000000001", "1.10"] {
            let result = call_text(&registry, "seen.written", &format!(r#"{{"number":{number}}}"#)).unwrap();
            assert_eq!(result["data"]["result"], number);
        }
    }
}

#[test]
fn what_the_schema_does_not_name_is_refused_while_a_gate_or_a_layer_looks() {
    let plain = build(all_tools());
    for (registry, watch) in watched() {
        // serde reads the alias, so the tool would get a path that nobody has seen.
        let arguments = r#"{"place":{"file":"/etc/shadow"}}"#;
        if let Ok(result) = call_text(&registry, "seen.open", arguments) {
            let seen = watch.take();
            assert!(seen.iter().any(Watch::is_forbidden), "{seen:?} {result}");
        }
        for (name, arguments, path) in [
            ("seen.open", r#"{"place":{"path":"a","paht":1}}"#, "`/place/paht`"),
            ("seen.open", r#"{"place":{"path":"a","other":{"path":"b"}}}"#, "`/place/other`"),
            ("seen.open", r#"{"place":{"path":"a","mode":"rm"}}"#, "`/place/mode`"),
            ("seen.flat", r#"{"path":"a","mode":"rm"}"#, "`/mode`"),
        ] {
            let refusal = refusal(&registry, name, arguments);
            assert!(refusal.contains(path) && refusal.contains("`path`") | refusal.contains("`delete`"), "{refusal}");
        }
        // An open object has no names to keep to.
        let labels = r#"{"labels":{"name":"n","more":1,"other":{"deep":2}},"anything":{"file":{"x":[1]}}}"#;
        let sent: Value = serde_json::from_str(labels).unwrap();
        assert_eq!(call_text(&registry, "seen.label", labels).unwrap()["data"]["result"], sent);
    }
    for (registry, watch) in watched() {
        // What the tool ignores is shown as it was sent.
        let arguments = r#"{"file":"a","more":{"path":1}}"#;
        assert_eq!(call_text(&registry, "seen.lenient", arguments).unwrap()["data"]["result"], "a");
        assert_eq!(watch.take(), [json!({ "more": { "path": 1 }, "path": "a" })]);
        let refusal = refusal(&registry, "seen.lenient", r#"{"path":"a","place":{"path":"b","paht":1}}"#);
        assert!(refusal.contains("`/place/paht`"), "{refusal}");
    }
    // Where nobody looks, unknown members of nested objects are ignored, as ever.
    assert!(call_text(&plain, "seen.open", r#"{"place":{"path":"a","paht":1}}"#).is_ok());
    assert_eq!(
        call_text(&plain, "seen.open", r#"{"place":{"path":"a","mode":"rm"}}"#).unwrap()["data"]["mode"],
        "delete"
    );
}

/// Returns a list of one text.
#[mcp_tool(module = "seen", max_result = 40)]
fn huge(text: Option<String>) -> Vec<String> {
    vec![text.unwrap_or_default()]
}

/// Returns an integer that no `Value` holds.
#[mcp_tool(module = "seen")]
fn beyond() -> Vec<i128> {
    vec![1, 36_893_488_147_419_103_233]
}

#[test]
fn a_layer_that_changes_nothing_makes_no_difference_to_results() {
    for is_layered in [false, true] {
        let builder = with_tools(tools![huge, beyond]);
        let registry = build(if is_layered { builder.layer(Watch::default()) } else { builder });
        for (length, fits) in [(36, true), (37, false)] {
            let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(length));
            assert_eq!(call_text(&registry, "seen.huge", &arguments).is_ok(), fits, "{length} {is_layered}");
        }
        // What a layer would see rounded is an error, and never silently another number.
        let mut out = Vec::new();
        match registry.call_bytes_blocking("seen.beyond", b"{}", &CallOptions::new(), &mut out) {
            Ok(()) => assert!(!is_layered && String::from_utf8(out).unwrap().contains("36893488147419103233")),
            Err(error) => assert!(is_layered && error.to_string().contains("at `/1`"), "{error}"),
        }
    }
}

#[test]
fn types_read_nothing_of_a_call_that_the_gate_refuses() {
    static READ: AtomicUsize = AtomicUsize::new(0);

    #[derive(JsonSchema)]
    #[schemars(transparent)]
    struct Noisy(#[allow(dead_code, reason = "only read")] String);

    impl<'de> Deserialize<'de> for Noisy {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            READ.fetch_add(1, Ordering::SeqCst);
            String::deserialize(deserializer).map(Self)
        }
    }

    /// Reads noisily.
    #[mcp_tool(module = "seen")]
    fn noisy(text: Noisy, path: String) -> String {
        drop(text);
        path
    }

    let registry = build(with_tools(tools![noisy]).gate(Watch::default()).layer(Watch::default()));
    // What is generated once may read, too.
    call_text(&registry, "seen.noisy", r#"{"text":"a","path":"a"}"#).unwrap();
    READ.store(0, Ordering::SeqCst);
    for arguments in [r#"{"text":"a","path":"/etc"}"#, r#"{"text":7,"path":"/etc"}"#] {
        assert!(refusal(&registry, "seen.noisy", arguments).contains("it is forbidden"));
    }
    assert_eq!(READ.load(Ordering::SeqCst), 0);
}

#[test]
fn a_layer_passes_unchanged_arguments_on_with_every_digit() {
    let layered = build(all_tools().layer(Watch::default()));
    let text = r#"{"factor":0.1234567890123456789}"#;
    assert_eq!(
        call_text(&layered, "seen.scale", text).unwrap(),
        call_text(&build(all_tools()), "seen.scale", text).unwrap()
    );
    for number in [i64::MIN.to_string(), u64::MAX.to_string(), "-9223372036854775808".to_owned()] {
        let mut out = Vec::new();
        let arguments = format!(r#"{{"number":{number}}}"#);
        layered.call_bytes_blocking("seen.large", arguments.as_bytes(), &CallOptions::new(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains(&number));
    }
}

#[test]
fn an_integer_that_would_be_rounded_is_refused_while_somebody_looks() {
    let number = "36893488147419103233";
    let mut out = Vec::new();
    let arguments = format!(r#"{{"number":{number}}}"#);
    build(all_tools()).call_bytes_blocking("seen.large", arguments.as_bytes(), &CallOptions::new(), &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains(number));
    for (registry, watch) in watched() {
        for number in [number, "-9223372036854775809", "18446744073709551616"] {
            let refusal = refusal(&registry, "seen.large", &format!(r#"{{"number":{number}}}"#));
            assert!(refusal.contains("`/number`") && refusal.contains("more than 64 bits"), "{refusal}");
        }
        assert!(watch.take().is_empty());
    }
    // A tool that is created at run time sees a `Value`, too.
    let registry = build(with_tools(tools![read]));
    let schema = json!({ "type": "object", "properties": { "deep": { "type": "array" } } });
    registry
        .register(Tool::new("x.any", schema, |_, arguments: Value| async move { Ok::<_, Error>(arguments) }))
        .unwrap();
    let refusal = refusal(&registry, "x.any", r#"{"deep":["36893488147419103233",{"a/b":36893488147419103233}]}"#);
    assert!(refusal.contains("`/deep/1/a~1b`"), "{refusal}");
}

#[test]
fn nothing_of_a_secret_is_shown_because_somebody_looks() {
    for (registry, _) in watched() {
        for arguments in
            [r#"{"pin":98765432109876543210}"#, r#"{"password":{"98765432109876543210":[98765432109876543210]}}"#]
        {
            let mut out = Vec::new();
            let options = CallOptions::new();
            let error =
                registry.call_bytes_blocking("seen.sign_in", arguments.as_bytes(), &options, &mut out).unwrap_err();
            let shown = ToolResult::from(error).to_json();
            assert!(shown.contains("more than 64 bits") && !shown.contains("98765"), "{shown}");
        }
    }
}

#[test]
fn what_a_schema_mentions_is_not_refused_because_somebody_looks() {
    let of = |rules: Value| {
        let mut schema = json!({ "type": "object" });
        schema["properties"]["v"] = rules;
        schema
    };
    let schemas = [
        of(json!({ "type": "object",
            "if": { "properties": { "a": { "const": 1 } }, "required": ["a"] }, "then": { "properties": { "b": { "type": "string" } } } })),
        of(json!({ "type": "object", "dependentSchemas": { "a": { "properties": { "b": { "type": "string" } } } } })),
        of(json!({ "anyOf": [
            { "type": "object", "properties": { "a": { "type": "integer" } } },
            { "type": "object", "properties": { "b": { "type": "string" } } },
        ] })),
        of(json!({ "type": "object", "properties": { "a": {} }, "patternProperties": { "^b": {} } })),
        of(json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": {} })),
    ];
    for schema in schemas {
        for is_gate in [true, false] {
            let tool =
                Tool::new("x.any", schema.clone(), |_, arguments: Value| async move { Ok::<_, Error>(arguments) });
            let builder = with_tools([]).allow_empty().tool(tool);
            let registry =
                build(if is_gate { builder.gate(Watch::default()) } else { builder.layer(Watch::default()) });
            let result = call(&registry, "x.any", json!({ "v": { "a": 1, "b": "x" } }));
            assert!(!result.is_failure(), "{schema} {}", result.to_json());
            let is_open = ["patternProperties", "additionalProperties"]
                .iter()
                .any(|key| schema["properties"]["v"].get(key).is_some());
            if !is_open {
                assert!(failure(&call(&registry, "x.any", json!({ "v": { "a": 1, "c": "x" } }))).1.contains("`/v/c`"));
            }
        }
    }
    for (registry, _) in watched() {
        for arguments in [r#"{"amount":5}"#, r#"{"cents":5,"note":null}"#, r#"{"cents":4,"note":"x"}"#] {
            assert_eq!(call_text(&registry, "seen.pay_number", arguments).unwrap()["data"]["result"], 5, "{arguments}");
        }
    }
}

#[test]
fn the_gate_is_asked_before_arguments_are_rejected() {
    let gate = Watch::default();
    let registry = build(all_tools().gate(gate.clone()));
    assert!(refusal(&registry, "seen.read", r#"{"path":"/etc/shadow","more":1}"#).contains("it is forbidden"));
    assert_eq!(failure(&call(&registry, "seen.read", json!({ "path": "a", "more": 1 }))).0, "ValidationError");
    assert_eq!(gate.take().len(), 2);
}

#[test]
fn the_audit_log_has_one_hash_for_one_call_under_any_name() {
    let audit = AuditLog::new();
    let registry = build(all_tools().observer(audit.clone()));
    for arguments in [r#"{"path":"a"}"#, r#"{"file":"a"}"#, r#"{"encoding":"utf-8","file":"a"}"#] {
        call_text(&registry, "seen.read", arguments).unwrap();
    }
    for arguments in [r#"{"cents":500}"#, r#"{"cents":5e2}"#] {
        call_text(&registry, "seen.pay", arguments).unwrap();
    }
    let hashes: Vec<String> = audit.records().iter().map(|record| record.arguments_hash.clone()).collect();
    assert!(hashes[..3].iter().all(|hash| *hash == hashes[0]) && hashes[3] == hashes[4], "{hashes:?}");
    assert_ne!(hashes[0], hashes[3]);
}

/// Changes an argument, and adds an alias.
struct Change;

impl Layer for Change {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        let mut call = call.clone();
        call.arguments["encoding"] = json!("latin-1");
        next.run(&call, cx).await
    }
}

#[test]
fn a_layer_changes_one_of_several_arguments() {
    let registry = build(all_tools().layer(Change));
    assert_eq!(call_text(&registry, "seen.read", r#"{"file":"a"}"#).unwrap()["data"]["result"], "a latin-1");
    let error = block_on(registry.try_call(&ToolCall::new("seen.pay", json!({ "cents": 1 })))).unwrap_err();
    assert!(error.to_string().contains("encoding"), "{error}");
}
