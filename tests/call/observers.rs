//! What is recorded about calls: by observers, in the audit log, in metrics, and in the result's `_meta`.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_registry::error::TransportError;
use mcp_registry::layer::{Layer, Next};
use mcp_registry::observe::{CallOutcome, CallRecord, Notice, Observer};
use mcp_registry::{
    AuditLog, CallOptions, Error, ErrorDetail, Registry, Status, ToolCall, ToolContext, ToolError, ToolResult,
    mcp_tool, tools,
};
use serde_json::{Value, json};

use CallOutcome::{Failure, Success};

use crate::{block_on, build, call_in_time as call, failure, with_tools};

/// Old, and known by an older name.
#[mcp_tool(
    module = "seen",
    deprecated_in = "2.0.0",
    version = "2.1.0",
    replaced_by = "seen.new",
    aliases("seen.older")
)]
fn old(n: u8) -> u8 {
    n
}

/// New.
#[mcp_tool(module = "seen", aliases("seen.young"))]
fn new(n: u8, #[arg(secret)] password: Option<String>) -> u8 {
    let _ = password;
    n
}

/// Fails as it is told to.
#[mcp_tool(module = "seen")]
fn fail(how: &str) -> Result<ToolResult, ToolError> {
    match how {
        "io" => Err(io::Error::new(io::ErrorKind::NotFound, "/srv/secret/path is not there").into()),
        "own" => Err(ToolError::new("OutOfStock", "there is none left")),
        "panic" => panic!("at /srv/secret/path"),
        "result" => Ok(ToolResult::failure(ToolError::new("OutOfStock", "there is none left"))),
        _ => Ok(ToolResult::success()),
    }
}

/// Takes its time.
#[mcp_tool(module = "seen", timeout = "10ms")]
async fn late(#[ctx] cx: &ToolContext) {
    cx.cancelled().await;
}

/// Tool, name, outcome, error type, message, and how many notices.
type Seen = (String, String, CallOutcome, Option<String>, Option<String>, usize);

/// Keeps what it observed.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Seen>>>);

impl Observer for Told {
    fn observe(&self, record: &CallRecord<'_>) {
        assert!(record.duration < Duration::from_secs(60));
        assert!(!format!("{record:?}").contains("hunter2"), "no secret is shown");
        let hint = record.hint().unwrap_or_default();
        let is_masked = record.correlation_id.is_some();
        assert_eq!(hint.contains("`ToolError`") && hint.contains("`mask_errors(false)`"), is_masked, "{hint}");
        self.0.lock().unwrap().push((
            record.tool.to_owned(),
            record.called_as.to_owned(),
            record.outcome,
            record.error_type.map(ToOwned::to_owned),
            record.message.map(ToOwned::to_owned),
            record.notices.len(),
        ));
    }
}

impl Told {
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Breaks.
struct Broken;

impl Observer for Broken {
    fn observe(&self, _: &CallRecord<'_>) {
        panic!("the observer is broken");
    }
}

#[test]
fn every_call_is_observed_once_however_it_ends() {
    let told = Told::default();
    let registry = build(with_tools(tools![old, new, fail, late]).observer(Broken).observer(told.clone()));
    let mut outcomes = Vec::new();
    for (name, arguments) in [
        ("seen.new", json!({ "n": 1, "password": "hunter2" })),
        ("seen.new", json!({ "n": "x" })),
        ("seen.nothing", json!({})),
        ("no name!", json!({})),
        ("seen.fail", json!({ "how": "own" })),
        ("seen.fail", json!({ "how": "result" })),
        ("seen.fail", json!({ "how": "panic" })),
        ("seen_late", json!({})),
    ] {
        let _ = call(&registry, name, arguments);
        let [(tool, called_as, outcome, error_type, ..)] = told.take().try_into().expect("told once");
        assert_eq!(called_as, name);
        outcomes.push((tool, outcome, error_type.unwrap_or_default()));
    }
    let expected = [
        ("seen.new", Success, ""),
        ("seen.new", Failure, "ValidationError"),
        ("seen.nothing", Failure, "ToolNotFoundError"),
        ("no name!", Failure, "ValidationError"),
        ("seen.fail", Failure, "OutOfStock"),
        ("seen.fail", Failure, "OutOfStock"),
        ("seen.fail", Failure, "ToolExecutionError"),
        ("seen.late", Failure, "TimeoutError"),
    ];
    assert_eq!(outcomes, expected.map(|(tool, outcome, kind)| (tool.to_owned(), outcome, kind.to_owned())));

    let dropped = ToolCall::new("seen.late", json!({}));
    {
        let mut under_way = std::pin::pin!(registry.call(&dropped));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(under_way.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(told.take()[0].2, CallOutcome::Cancelled, "a call that was dropped is told too");
    let mut out = Vec::new();
    for arguments in [&br#"{"n": 1}"#[..], br#"{"n": }"#, b"\xff"] {
        let done = registry.call_bytes_blocking("seen.new", arguments, &CallOptions::new(), &mut out).is_ok();
        assert_eq!(told.take()[0].2 == Success, done);
    }
}

#[test]
fn notices_are_in_the_result_and_in_the_record() {
    let told = Told::default();
    let registry = build(with_tools(tools![old, new]).observer(told.clone()));
    let notices = |name: &str| {
        let meta = call(&registry, name, json!({ "n": 1 })).meta;
        meta.get("mcp-registry/notices").cloned().unwrap_or_default()
    };
    let deprecated = json!({ "kind": "deprecated", "since": "2.0.0", "replaced_by": "seen.new" });
    let alias = |called_as: &str, name: &str| json!({ "kind": "alias", "called_as": called_as, "name": name });
    assert_eq!(notices("seen.new"), Value::Null);
    assert_eq!(notices("seen_new"), Value::Null, "the name on the wire is no alias");
    assert_eq!(notices("seen.young"), json!([alias("seen.young", "seen.new")]));
    assert_eq!(notices("seen.old"), json!([deprecated]));
    assert_eq!(notices("seen_older"), json!([deprecated, alias("seen_older", "seen.old")]));
    let counts: Vec<usize> = told.take().into_iter().map(|told| told.5).collect();
    assert_eq!(counts, [0, 0, 1, 1, 2]);
    let mut out = Vec::new();
    registry.call_bytes_blocking("seen.older", br#"{"n":1}"#, &CallOptions::new(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), call(&registry, "seen.older", json!({ "n": 1 })).to_json());
    let notice = Notice::Alias { called_as: "a".into(), name: "b".into() };
    assert_eq!(notice.to_json(), alias("a", "b"));
}

#[test]
fn foreign_errors_are_masked_where_the_policy_says_so() {
    let told = Told::default();
    let shown = build(with_tools(tools![fail]));
    let masked = build(with_tools(tools![fail]).mask_errors(true).observer(told.clone()));
    let masked_inline = build(with_tools(tools![fail_inline]).mask_errors(true));
    for how in ["io", "panic"] {
        let asked = ToolCall::new("seen.fail", json!({ "how": how }));
        assert!(failure(&shown.call_blocking(&asked)).1.contains("/srv/secret/path"));
        let result = masked.call_blocking(&asked);
        let json = result.to_json();
        assert!(!json.contains("/srv/secret"), "{json}");
        let id = result.error.as_ref().unwrap().error_details.as_ref().unwrap();
        let id = serde_json::to_value(id).unwrap()["correlation_id"].as_str().unwrap().to_owned();
        assert!(failure(&result).1.ends_with(&id) && id.len() == 16, "{json}");
        let (.., message, _) = told.take().remove(0);
        assert!(message.unwrap().contains("/srv/secret/path"), "the observer is told the whole");
        // The request decides if the registry does not.
        let options = CallOptions::new().mask_errors(true);
        assert!(!block_on(shown.call_with(&asked, &options)).to_json().contains("/srv/secret"));
        assert!(
            block_on(build(with_tools(tools![fail]).mask_errors(false)).call_with(&asked, &options))
                .to_json()
                .contains("srv")
        );
    }
    let mut out = Vec::new();
    let none = CallOptions::new();
    let error = masked_inline.call_bytes_blocking("seen.fail_inline", b"{}", &none, &mut out).unwrap_err();
    assert!(!error.to_string().contains("/srv/secret"), "{error}");
    let own = masked.call_blocking(&ToolCall::new("seen.fail", json!({ "how": "own" })));
    assert_eq!(failure(&own), ("OutOfStock", "there is none left"), "an author's words are for the model");
}

/// Turns errors into results, as `call` does.
struct Folds(Status);

impl Layer for Folds {
    async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
        let status = self.0.clone();
        Ok(next.run(call, cx).await.unwrap_or_else(|error| ToolResult::from(error).status(status)))
    }
}

/// Returns what another registry gave it.
#[mcp_tool(module = "seen")]
async fn relay(#[ctx] inner: &Registry, how: String) -> ToolResult {
    inner.call(&ToolCall::new("seen.fail", json!({ "how": how }))).await
}

/// Fails with errors of this library whose texts come from elsewhere.
#[mcp_tool(module = "seen")]
fn fail_within(how: String) -> Result<(), ToolError> {
    let io = || io::Error::other("/srv/secret/path");
    Err(match how.as_str() {
        "io" => TransportError::Io(io()).into(),
        "bind" => TransportError::Bind { address: "/srv/secret/path".to_owned(), source: io() }.into(),
        _ => Registry::builder_of([]).expect_tools([("/srv/secret/path", 1)]).allow_empty().build().unwrap_err().into(),
    })
}

/// Fails with such an error in place of the tool.
struct Breaks;

impl Layer for Breaks {
    async fn call(&self, _: &ToolCall, _: &ToolContext, _: Next<'_>) -> Result<ToolResult, Error> {
        Err(TransportError::Io(io::Error::other("/srv/secret/path")).into())
    }
}

#[test]
fn an_error_of_this_library_with_the_text_of_another_is_masked() {
    for (builder, hows) in [
        (with_tools(tools![fail_within]), &["io", "bind", "registration"][..]),
        (with_tools(tools![fail_within]).layer(Breaks), &["io"]),
    ] {
        let registry = build(builder.observer(Told::default()));
        for how in hows {
            let asked = ToolCall::new("seen.fail_within", json!({ "how": how }));
            assert!(registry.call_blocking(&asked).to_json().contains("/srv/secret"), "{how}");
            let masked = block_on(registry.call_with(&asked, &CallOptions::new().mask_errors(true)));
            assert!(!masked.to_json().contains("/srv/secret") && masked.to_json().contains("correlation_id"), "{how}");
        }
    }
}

#[test]
fn an_internal_error_is_masked_however_it_became_a_result() {
    let inner = build(with_tools(tools![fail]));
    for status in [Status::Failure, Status::PartialSuccess] {
        let told = Told::default();
        let layered = with_tools(tools![fail]).layer(Folds(status.clone()));
        let relayed = with_tools(tools![relay]).state(inner.clone());
        for (builder, name) in [(layered, "seen.fail"), (relayed, "seen.relay")] {
            let registry = build(builder.observer(told.clone()));
            for how in ["io", "panic"] {
                let asked = ToolCall::new(name, json!({ "how": how }));
                assert!(
                    registry.call_blocking(&asked).to_json().contains("/srv/secret/path"),
                    "nothing is masked here"
                );
                told.take();
                let options = CallOptions::new().mask_errors(true);
                let result = block_on(registry.call_with(&asked, &options));
                assert!(!result.to_json().contains("/srv/secret"), "{}", result.to_json());
                let error = result.error.unwrap();
                let id = error.error_details.as_ref().unwrap()["correlation_id"].as_str().unwrap().to_owned();
                assert!(error.error_message.ends_with(&id), "{}", error.error_message);
                let (_, _, outcome, _, message, _) = told.take().remove(0);
                if name == "seen.relay" || status == Status::Failure {
                    assert_eq!(outcome, CallOutcome::Failure);
                    assert!(message.unwrap().contains("/srv/secret/path"), "the observer is told the whole");
                }
            }
            let own = block_on(
                registry
                    .call_with(&ToolCall::new(name, json!({ "how": "own" })), &CallOptions::new().mask_errors(true)),
            );
            assert_eq!(own.error.unwrap().error_message, "there is none left");
            told.take();
        }
    }
}

#[test]
fn a_masked_error_is_written_to_stderr_if_no_observer_keeps_it() {
    const NAME: &str = "observers::a_masked_error_is_written_to_stderr_if_no_observer_keeps_it";
    if let Ok(who) = std::env::var("CALLS_HEARD_BY") {
        let builder = with_tools(tools![fail_inline]).mask_errors(true);
        let registry = build(match who.as_str() {
            "nobody" => builder,
            // It keeps no messages.
            "audit" => builder.observer(AuditLog::new()),
            _ => builder.observer(Told::default()),
        });
        println!("{}", call(&registry, "seen.fail_inline", json!({})).to_json());
        return;
    }
    for (who, is_told) in [("nobody", true), ("audit", true), ("observer", false)] {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        let ran = test.args(["--exact", NAME, "--nocapture"]).env("CALLS_HEARD_BY", who).output().unwrap();
        let [out, err] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        let id = out.split(r#""correlation_id":""#).nth(1).unwrap_or_else(|| panic!("{out}{err}"));
        let line = format!("error {}: ", &id[..16]);
        assert_eq!(err.contains(&line) && err.contains("/srv/secret/path"), is_told, "{who}: {err}");
        assert_eq!(err.contains("`ToolError`") && err.contains("`mask_errors(false)`"), is_told, "{who}: {err}");
        assert!(!out.contains("/srv"), "{out}");
    }
}

/// Fails in its place.
#[mcp_tool(module = "seen", inline)]
fn fail_inline() -> Result<u8, io::Error> {
    Err(io::Error::other("/srv/secret/path"))
}

/// A file that the test can read.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn s1_61_calls_are_written_to_the_audit_log() {
    let file = File::default();
    let audit = AuditLog::jsonl(file.clone());
    let registry = build(with_tools(tools![new, fail]).mask_errors(true).observer(audit.clone()));
    let options = CallOptions::new().caller("ada").request_id("7");
    let secret = ToolCall::new("seen_new", json!({ "n": 1, "password": "hunter2" }));
    let same = ToolCall::new("seen_new", json!({ "password": "hunter2", "n": 1 }));
    for call in [&secret, &same, &ToolCall::new("seen.fail", json!({ "how": "io" }))] {
        let _ = block_on(registry.call_with(call, &options));
    }
    let mut out = Vec::new();
    registry.call_bytes_blocking("seen.new", br#"{ "password": "hunter2", "n": 1 }"#, &options, &mut out).unwrap();
    assert!(audit.flush());
    let text = String::from_utf8(file.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("/srv"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["arguments_hash"], lines[1]["arguments_hash"]);
    assert_eq!(lines[0]["arguments_hash"], lines[3]["arguments_hash"], "from bytes as from a value");
    assert_ne!(lines[0]["arguments_hash"], lines[2]["arguments_hash"]);
    assert_eq!(
        (&lines[0]["tool"], &lines[0]["outcome"], &lines[0]["caller"]),
        (&json!("seen.new"), &json!("success"), &json!("ada"))
    );
    assert_eq!((&lines[2]["outcome"], &lines[2]["error_type"]), (&json!("failure"), &json!("FileNotFoundError")));
    assert_eq!(lines[2]["correlation_id"].as_str().unwrap().len(), 16);
    assert!(lines[0]["ms"].is_number() && lines[0]["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!((audit.records().len(), audit.dropped()), (4, 0));
}

#[test]
fn what_a_caller_chooses_is_cut_in_the_records() {
    let audit = AuditLog::new();
    let registry = build(with_tools(tools![new]).observer(audit.clone()));
    let long = "x".repeat(10_000);
    let options = CallOptions::new().caller(long.as_str()).request_id(long.as_str());
    for name in ["seen.new", &*format!("seen.{long}")] {
        let _ = block_on(registry.call_with(&ToolCall::new(name, json!({ "n": 1 })), &options));
    }
    let records = audit.records();
    assert_eq!(records.len(), 2);
    for record in records {
        for text in [record.caller.as_deref(), record.request_id.as_deref(), Some(&record.tool)] {
            let text = text.expect("it is recorded");
            assert!(text.len() < 300, "{} bytes", text.len());
        }
    }
}

/// Fails with a type of any length, foreign or not.
#[mcp_tool(module = "seen")]
fn fail_at_length(length: usize, is_foreign: bool) -> Result<u8, ToolError> {
    let error = if is_foreign { ToolError::from_error(io::Error::other("internal")) } else { ToolError::from("own") };
    let mut detail = ErrorDetail::from(error);
    assert_eq!(detail.is_foreign(), is_foreign);
    detail.error_type = "T".repeat(length).into();
    Err(detail.into())
}

#[test]
fn the_type_of_an_error_is_cut_in_the_records() {
    let audit = AuditLog::new();
    let registry = build(with_tools(tools![fail_at_length]).observer(audit.clone()));
    let result = call(&registry, "seen.fail_at_length", json!({ "length": 10_000, "is_foreign": false }));
    assert_eq!(failure(&result).0.len(), 10_000, "the caller reads all of it");
    let records = audit.records();
    let error_type = records[0].error_type.as_deref().expect("it is recorded");
    assert!(error_type.starts_with("TTT") && error_type.len() < 300, "{} bytes", error_type.len());
}

#[test]
fn the_type_of_a_masked_error_is_shortened_like_that_of_any_other() {
    for (is_foreign, mask) in [(false, false), (false, true), (true, false), (true, true)] {
        let registry = build(with_tools(tools![fail_at_length]).mask_errors(mask).observer(Told::default()));
        let arguments = json!({ "length": 1_000_000, "is_foreign": is_foreign });
        let result = call(&registry, "seen.fail_at_length", arguments);
        assert!(failure(&result).0.len() <= ToolError::MAX_TEXT + 100, "{} bytes", failure(&result).0.len());
        assert_eq!(failure(&result).1.contains("the tool failed"), is_foreign && mask);
    }
}

/// What a copy of this program, which runs this test alone, writes to stderr.
fn stderr_of(test: &str, variable: &str) -> String {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--exact", test, "--nocapture"]).env(variable, "1").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_masked_message_is_written_to_stderr_if_no_observer_keeps_it() {
    const NAME: &str = "observers::a_masked_message_is_written_to_stderr_if_no_observer_keeps_it";
    const KEPT: &str = "MCP_TESTS_MESSAGE_IS_KEPT";
    const LOST: &str = "MCP_TESTS_MESSAGE_IS_LOST";

    let (is_kept, is_lost) = (std::env::var_os(KEPT).is_some(), std::env::var_os(LOST).is_some());
    if !is_kept && !is_lost {
        // An audit log keeps no messages, whatever the order of the observers.
        assert!(!stderr_of(NAME, KEPT).contains("/srv/secret/path"));
        assert!(stderr_of(NAME, LOST).contains("/srv/secret/path"));
        return;
    }
    let masked = || with_tools(tools![fail]).mask_errors(true).observer(AuditLog::new());
    let observed = if is_kept { masked().observer(Keeps).observer(AuditLog::new()) } else { masked() };
    assert!(call(&build(observed), "seen.fail", json!({ "how": "io" })).is_failure());
}

/// Keeps messages.
struct Keeps;

impl Observer for Keeps {
    fn observe(&self, _: &CallRecord<'_>) {}
}

#[test]
fn s3_51_calls_errors_and_latencies_are_counted_per_tool() {
    let registry =
        build(with_tools(tools![new, fail, fail_inline]).check_output(mcp_registry::registry::OutputCheck::Never));
    for n in 0..10 {
        let _ = call(&registry, "seen.new", json!({ "n": n }));
    }
    for how in ["own", "result", "fine"] {
        let _ = call(&registry, "seen.fail", json!({ "how": how }));
    }
    let _ = call(&registry, "seen.nothing", json!({}));
    let mut out = Vec::new();
    assert!(registry.call_bytes_blocking("seen.fail_inline", b"{}", &CallOptions::new(), &mut out).is_err());
    let metrics = registry.metrics();
    let counts = |name: &str| metrics.get(name).map(|tool| (tool.calls, tool.errors));
    assert_eq!(counts("seen.new"), Some((10, 0)));
    assert_eq!(counts("seen.fail"), Some((3, 2)));
    assert_eq!(counts("seen.fail_inline"), Some((1, 1)));
    assert_eq!((metrics.total().calls, metrics.total().errors), (14, 3));
    let of_new = metrics.get("seen.new").unwrap();
    assert!(of_new.quantile(0.5) <= of_new.quantile(0.99) && of_new.mean() <= Some(of_new.max));
    assert!(metrics.to_prometheus().contains(r#"mcp_tool_calls_total{tool="seen.new"} 10"#));
}
