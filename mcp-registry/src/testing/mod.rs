//! For the tests of tools: calls in memory, and assertions that say where a result differs.
//!
//! A tool is a function, and can be tested as one; its context is [`ToolContext::for_test`](mcp_core::ToolContext::for_test).
//! Through a [`Harness`] the whole call is tested: names, arguments, state, result and output schema. A [`Client`] speaks
//! the real protocol with a server, in memory.
//!
//! ```standalone_crate
//! use mcp_registry::serde_json::json;
//! use mcp_registry::testing::{Harness, assert_data, assert_failure, assert_fault, assert_text};
//! use mcp_registry::{ToolError, mcp_tool, tools};
//!
//! /// Divides.
//! #[mcp_tool(module = "calc")]
//! fn divide(dividend: i64, divisor: i64) -> Result<i64, ToolError> {
//!     dividend.checked_div(divisor).ok_or_else(|| ToolError::new("DivisionError", "the divisor is zero"))
//! }
//!
//! assert_eq!(divide(6, 3).unwrap(), 2);
//!
//! let calc = Harness::of(tools![divide], |builder| builder)?;
//! let result = calc.call("calc.divide", json!({ "dividend": 6, "divisor": 3 }));
//! assert_data(&result, json!({ "result": 2 }));
//! assert_text(&result, "2");
//!
//! let result = calc.call("calc.divide", json!({ "dividend": 6, "divisor": 0 }));
//! assert_eq!(assert_failure(&result, "DivisionError").error_message, "the divisor is zero");
//!
//! assert_fault(&calc.call("calc.divide", json!({ "dividend": 6, "divisor": "three" })), "/divisor");
//! # Ok::<(), mcp_registry::RegistrationError>(())
//! ```
//!
//! # Tools that need tokio
//!
//! With the feature `tokio` such tools can be tested in a plain `#[test]` as well as in a `#[tokio::test]`:
//! [`Harness::call`] gives them a runtime that makes progress while the test waits, the test's own or one on a background
//! thread. A tool that waits for something of the test's own runtime, such as a connection in its state that the test has
//! opened, needs [`Harness::call_async`] instead: in a `#[tokio::test]` of the default flavor that runtime stands still
//! while [`Harness::call`] blocks its thread.
#![cfg_attr(
    feature = "tokio",
    doc = r#"
```standalone_crate
use std::time::Duration;

use mcp_registry::serde_json::json;
use mcp_registry::testing::{Harness, assert_data};
use mcp_registry::{mcp_tool, tools};

/// Sleeps.
#[mcp_tool(module = "slow")]
async fn nap(millis: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    millis
}

let slow = Harness::of(tools![nap], |builder| builder)?;
assert_data(&slow.call("slow.nap", json!({ "millis": 5 })), 5);

# tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
// In a `#[tokio::test]`:
assert_data(&slow.call_async("slow.nap", json!({ "millis": 5 })).await, 5);
# });
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]

mod client;
mod diff;
mod harness;

use std::future::Future;

use mcp_core::__private::{cut, shortened};
use mcp_core::{CallToolResult, Content, ErrorDetail, ErrorType, ToolEvent, ToolResult};
use serde_json::{Value, json};

pub use self::client::Client;
use self::diff::{bounded, differences, shown};
pub use self::harness::{Harness, Recorder};
use crate::runtime::context;

/// The most bytes of a result that a message shows.
const WHOLE: usize = 4000;

/// Waits for a future on this thread, in a test without an async runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    context::block_on(future)
}

/// Asserts that the call succeeded with this data. As in [`ToolResult::data`], a value that is not an object stands for
/// `{"result": value}`; null stands for no data.
///
/// ```
/// use mcp_registry::ToolResult;
/// use mcp_registry::serde_json::json;
/// use mcp_registry::testing::assert_data;
///
/// assert_data(&ToolResult::data(json!({ "orders": [4, 8] })), json!({ "orders": [4, 8] }));
/// assert_data(&ToolResult::data("done"), "done");
/// assert_data(&ToolResult::success(), ());
/// ```
#[track_caller]
pub fn assert_data(result: &ToolResult, expected: impl Into<Value>) {
    let expected = match expected.into() {
        expected @ (Value::Object(_) | Value::Null) => expected,
        other => json!({ "result": other }),
    };
    let wanted = format!("expected a success with the data {}", shown(&expected));
    if result.is_failure() {
        fail(&wanted, &[told(result)], &result.to_value());
    }
    let lines = differences(&expected, result.data.as_ref().unwrap_or(&Value::Null));
    if !lines.is_empty() {
        fail(&wanted, &lines, &result.to_value());
    }
}

/// Asserts that this is the progress that was told: how much is done, of how much, and what it was at (an empty text for
/// nothing). Remarks for the log are passed over.
#[track_caller]
pub fn assert_progress(events: &[ToolEvent], expected: &[(f64, Option<f64>, &str)]) {
    let told = events.iter().filter_map(|event| match event {
        ToolEvent::Progress { done, total, message } => Some(json!([done, total, message.as_deref().unwrap_or("")])),
        _ => None,
    });
    let (told, expected): (Value, Value) = (told.collect(), expected.iter().map(|step| json!(step)).collect());
    let lines = differences(&expected, &told);
    if !lines.is_empty() {
        fail(&format!("expected the progress {}", shown(&expected)), &lines, &told);
    }
}

/// Asserts that this is the text that a model reads: the texts of the content, one a line, or the data as JSON; `done` where
/// there is nothing. Of a failure it is the error.
#[track_caller]
pub fn assert_text(result: &ToolResult, expected: &str) {
    let content = CallToolResult::from(result.clone()).content;
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    let lines = differences(&expected.into(), &texts.join("\n").into());
    if !lines.is_empty() {
        let wanted = format!("expected the text {}", shown(&expected.into()));
        fail(&wanted, &lines, &result.to_value());
    }
}

/// Asserts that the call failed with an error of this type, which is returned.
#[track_caller]
pub fn assert_failure<'a>(result: &'a ToolResult, error_type: &str) -> &'a ErrorDetail {
    match &result.error {
        Some(error) if result.is_failure() && error.error_type == *error_type => error,
        _ => fail(&format!("expected a failure of type `{error_type}`"), &[told(result)], &result.to_value()),
    }
}

/// Asserts that the arguments were refused, for one at least that is at this JSON Pointer: `/filters/0/date`, or the
/// empty text for the arguments as a whole.
#[track_caller]
pub fn assert_fault(result: &ToolResult, path: &str) {
    let wanted = format!("expected a fault in the arguments at `{path}`");
    let Some(faults) = faults(result) else {
        fail(&wanted, &[told(result)], &result.to_value());
    };
    if !faults.iter().any(|fault| fault["path"] == path) {
        fail(&wanted, &bounded(faults.iter().map(account)), &result.to_value());
    }
}

/// Asserts that two JSON values are equal.
///
/// ```should_panic
/// use mcp_registry::serde_json::json;
/// use mcp_registry::testing::assert_json_eq;
///
/// // `/users/1/name`: expected "Ada", got "Bob"
/// assert_json_eq(
///     &json!({ "users": [{ "name": "Cy" }, { "name": "Bob" }] }),
///     json!({ "users": [{ "name": "Cy" }, { "name": "Ada" }] }),
/// );
/// ```
#[track_caller]
pub fn assert_json_eq(got: &Value, expected: impl Into<Value>) {
    let expected = expected.into();
    let lines = differences(&expected, got);
    if !lines.is_empty() {
        fail(&format!("expected {}", shown(&expected)), &lines, got);
    }
}

/// The faults of the arguments, if that is why the call failed.
fn faults(result: &ToolResult) -> Option<&Vec<Value>> {
    let error = result.error.as_ref().filter(|error| error.error_type == ErrorType::VALIDATION_ERROR)?;
    let details = error.error_details.as_ref().filter(|details| details["kind"] == "SchemaError")?;
    details["faults"].as_array().filter(|_| result.is_failure())
}

/// One fault in a line.
fn account(fault: &Value) -> String {
    let text = |key| fault[key].as_str().unwrap_or("?");
    let got = fault["got"].as_str().map(|got| format!(", not {}", cut(got, 200))).unwrap_or_default();
    format!("got a fault at `{}`: expected {}{got}", cut(text("path"), 200), cut(text("expected"), 200))
}

/// What came instead, in a line.
fn told(result: &ToolResult) -> String {
    match &result.error {
        Some(error) if result.is_failure() => {
            format!("got a failure of type `{}`: {}", error.error_type, cut(&error.error_message, 400))
        }
        None if result.is_failure() => format!("got the status `{}` without an error", result.status),
        _ => match &result.data {
            Some(data) => format!("got the status `{}` with the data {}", result.status, shown(data)),
            None => format!("got the status `{}` without data", result.status),
        },
    }
}

#[track_caller]
fn fail(wanted: &str, lines: &[String], whole: &Value) -> ! {
    panic!("{wanted}\n{}\nin all:\n{}", lines.join("\n"), shortened(&format!("{whole:#}"), WHOLE));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{Location, UnwindSafe, catch_unwind, set_hook, take_hook};
    use std::sync::Once;

    use mcp_core::{Content, Error, Fault, SchemaError, ToolError, ToolResult};
    use serde_json::{Value, json};

    use super::{assert_data, assert_failure, assert_fault, assert_json_eq, assert_text};

    /// The message of an assertion that fails.
    fn message(assertion: impl FnOnce() + UnwindSafe) -> String {
        let payload = catch_unwind(assertion).expect_err("the assertion holds");
        payload.downcast_ref::<String>().expect("a message").clone()
    }

    /// The lines of a message before the whole result.
    fn head(assertion: impl FnOnce() + UnwindSafe) -> Vec<String> {
        let message = message(assertion);
        let (head, whole) = message.split_once("\nin all:\n").expect("the whole result");
        serde_json::from_str::<Value>(whole).expect("JSON");
        head.lines().map(str::to_owned).collect()
    }

    fn failure() -> ToolResult {
        ToolResult::failure(ToolError::new("DivisionError", "the divisor is zero"))
    }

    fn refused(paths: &[&str]) -> ToolResult {
        let fault = |path: &&str| Fault {
            path: (*path).to_owned(),
            expected: "an integer".to_owned(),
            got: Some("a text".to_owned()),
            message: "give an integer".to_owned(),
        };
        let faults = paths.iter().map(fault).collect();
        ToolResult::from(Error::from(SchemaError::new("calc.divide", faults)))
    }

    #[test]
    fn data_is_compared_as_it_is_made() {
        assert_data(&ToolResult::data(json!({ "a": 1, "b": 2 })), json!({ "b": 2, "a": 1 }));
        assert_data(&ToolResult::data(5), 5);
        assert_data(&ToolResult::data(5), json!({ "result": 5 }));
        assert_data(&ToolResult::data(Value::Null), json!({ "result": null }));
        assert_data(&ToolResult::success(), Value::Null);
        assert_data(&ToolResult::partial_success([1, 2]), json!([1, 2]));
    }

    #[test]
    fn other_data_is_told_by_its_differences() {
        let result = ToolResult::data(json!([{ "name": "Cy" }, { "name": "Bob" }]));
        let lines = head(|| assert_data(&result, json!([{ "name": "Cy" }, { "name": "Ada" }])));
        assert_eq!(
            lines,
            [
                r#"expected a success with the data {"result":[{"name":"Cy"},{"name":"Ada"}]}"#,
                r#"`/result/1/name`: expected "Ada", got "Bob""#,
            ],
        );
        let lines = head(|| assert_data(&ToolResult::success(), json!({ "a": 1 })));
        assert_eq!(lines[1], r#"expected {"a":1}, got null"#);
        let lines = head(|| assert_data(&failure(), json!({ "a": 1 })));
        assert_eq!(lines[1], "got a failure of type `DivisionError`: the divisor is zero");
    }

    #[test]
    fn the_whole_result_is_shown_up_to_a_bound() {
        let message = message(|| assert_data(&ToolResult::data(vec![0; 100_000]), 1));
        assert!(message.contains("in all:\n{\n  \"status\": \"success\",\n"), "{message}");
        assert!(message.ends_with(" bytes)"), "{message}");
        assert!(message.len() < 6000, "{}", message.len());
    }

    #[test]
    fn text_is_what_a_model_reads() {
        assert_text(&ToolResult::data(5), "5");
        assert_text(&ToolResult::data("five"), "five");
        assert_text(&ToolResult::data(json!({ "a": 1 })), r#"{"a":1}"#);
        assert_text(&ToolResult::data(5).text("it is five"), "it is five");
        assert_text(&ToolResult::success(), "done");
        assert_text(&failure(), "DivisionError: the divisor is zero");
        let blocks = [Content::text("a chart"), Content::image(b"PNG", "image/png"), Content::text("of sales")];
        assert_text(&ToolResult::success().content(blocks), "a chart\nof sales");
        let lines = head(|| assert_text(&ToolResult::data("five"), "six"));
        assert_eq!(lines, [r#"expected the text "six""#, r#"expected "six", got "five""#]);
    }

    #[test]
    fn a_failure_gives_its_error() {
        let result = failure();
        assert_eq!(assert_failure(&result, "DivisionError").error_message, "the divisor is zero");
    }

    #[test]
    fn what_came_instead_of_a_failure_is_told() {
        let lines = head(|| _ = assert_failure(&failure(), "TimeoutError"));
        assert_eq!(lines[0], "expected a failure of type `TimeoutError`");
        assert_eq!(lines[1], "got a failure of type `DivisionError`: the divisor is zero");
        let line = |result: ToolResult| head(|| _ = assert_failure(&result, "TimeoutError"))[1].clone();
        assert_eq!(line(ToolResult::data(5)), r#"got the status `success` with the data {"result":5}"#);
        assert_eq!(line(ToolResult::no_change_needed()), "got the status `no_change_needed` without data");
        assert_eq!(line(ToolResult::success().status("failed")), "got the status `failed` without an error");
    }

    #[test]
    fn a_fault_is_found_by_its_path() {
        assert_fault(&refused(&["/a", "/b/0/c"]), "/b/0/c");
        assert_fault(&refused(&[""]), "");
    }

    #[test]
    fn the_faults_there_are_are_told() {
        let lines = head(|| assert_fault(&refused(&["/a", ""]), "/b"));
        assert_eq!(
            lines,
            [
                "expected a fault in the arguments at `/b`",
                "got a fault at `/a`: expected an integer, not a text",
                "got a fault at ``: expected an integer, not a text",
            ],
        );
        let lines = head(|| assert_fault(&ToolResult::data(5), "/b"));
        assert_eq!(lines[1], r#"got the status `success` with the data {"result":5}"#);
        let many: Vec<String> = (0..50).map(|n| format!("/{n}")).collect();
        let many = refused(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let message = message(|| assert_fault(&many, "/x"));
        assert!(message.contains("at `/19`: expected an integer, not a text\nand 30 more\nin all:\n"), "{message}");
        // The tool's own, though it is of the same type.
        let own = ToolResult::failure(ToolError::new("ValidationError", "no").details(json!({ "faults": [] })));
        assert_eq!(head(|| assert_fault(&own, "/b"))[1], "got a failure of type `ValidationError`: no");
    }

    #[test]
    fn json_is_compared() {
        assert_json_eq(&json!({ "a": [1] }), json!({ "a": [1] }));
        let lines = head(|| assert_json_eq(&json!({ "a": [1], "b": 2 }), json!({ "a": [2] })));
        assert_eq!(lines, [r#"expected {"a":[2]}"#, "`/a/0`: expected 2, got 1", "`/b`: unexpected, got 2"]);
    }

    /// The line that an assertion says it failed at.
    fn blamed(assertion: impl FnOnce() + UnwindSafe) -> u32 {
        thread_local!(static LINE: Cell<u32> = const { Cell::new(0) });
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = take_hook();
            set_hook(Box::new(move |info| {
                LINE.set(info.location().map_or(0, Location::line));
                before(info);
            }));
        });
        message(assertion);
        LINE.get()
    }

    #[test]
    fn the_blame_is_on_the_caller() {
        let here = line!() + 1;
        assert_eq!(blamed(|| assert_data(&failure(), 1)), here);
        assert_eq!(blamed(|| _ = assert_failure(&ToolResult::success(), "x")), here + 1);
        assert_eq!(blamed(|| assert_fault(&failure(), "/x")), here + 2);
        assert_eq!(blamed(|| assert_text(&failure(), "x")), here + 3);
        assert_eq!(blamed(|| assert_json_eq(&json!(1), 2)), here + 4);
    }
}
