//! Assertions about results, which show where a result differs.

use mcp_core::context::ToolEvent;
use mcp_core::mcp::CallToolResult;
use mcp_core::support::{cut, shortened};
use mcp_core::{Content, ErrorDetail, ErrorType, ToolResult};
use serde_json::{Value, json};

use super::diff::{differences, limited, shown};

/// The maximum number of bytes of a result that a message shows.
const MAX_RESULT: usize = 4000;

/// Asserts that the call succeeded with this data. As in [`ToolResult::data`], a value that is not an object means
/// `{"result": value}`; null means no data.
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
    let expectation = format!("expected a success with the data {}", shown(&expected));
    if result.is_failure() {
        fail(&expectation, &[outcome(result)], &result.to_value());
    }
    check(&expectation, &expected, result.data.as_ref().unwrap_or(&Value::Null), || result.to_value());
}

/// Asserts that this is the reported progress: the amount done, the total, and the message (an empty string for none).
/// Log messages are ignored.
#[track_caller]
pub fn assert_progress(events: &[ToolEvent], expected: &[(f64, Option<f64>, &str)]) {
    let reported = events.iter().filter_map(|event| match event {
        ToolEvent::Progress { done, total, message } => Some(json!([done, total, message.as_deref().unwrap_or("")])),
        _ => None,
    });
    let (reported, expected): (Value, Value) = (reported.collect(), expected.iter().map(|step| json!(step)).collect());
    check(&format!("expected the progress {}", shown(&expected)), &expected, &reported, || reported.clone());
}

/// Asserts that a model reads this text: the text blocks of the content, one per line, or the data as JSON, or `done`
/// if there is neither. For a failure, it is the error.
#[track_caller]
pub fn assert_text(result: &ToolResult, expected: &str) {
    let content = CallToolResult::from(result.clone()).content;
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    let (expected, text) = (Value::from(expected), Value::from(texts.join("\n")));
    check(&format!("expected the text {}", shown(&expected)), &expected, &text, || result.to_value());
}

/// Asserts that the call failed with an error of this type, and returns the error.
#[track_caller]
pub fn assert_failure<'a>(result: &'a ToolResult, error_type: &str) -> &'a ErrorDetail {
    match &result.error {
        Some(error) if result.is_failure() && error.error_type == *error_type => error,
        _ => fail(&format!("expected a failure of type `{error_type}`"), &[outcome(result)], &result.to_value()),
    }
}

/// Asserts that the arguments were rejected with at least one fault at this JSON Pointer: `/filters/0/date`, or an
/// empty string for the arguments as a whole.
#[track_caller]
pub fn assert_fault(result: &ToolResult, path: &str) {
    let expectation = format!("expected a fault in the arguments at `{path}`");
    let Some(faults) = faults(result) else {
        fail(&expectation, &[outcome(result)], &result.to_value());
    };
    if !faults.iter().any(|fault| fault["path"] == path) {
        fail(&expectation, &limited(faults.iter().map(describe_fault)), &result.to_value());
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
    check(&format!("expected {}", shown(&expected)), &expected, got, || got.clone());
}

/// The faults of the arguments, if the call failed because of them.
fn faults(result: &ToolResult) -> Option<&Vec<Value>> {
    let error = result.error.as_ref().filter(|error| error.error_type == ErrorType::VALIDATION_ERROR)?;
    let details = error.error_details.as_ref().filter(|details| details["kind"] == "SchemaError")?;
    details["faults"].as_array().filter(|_| result.is_failure())
}

/// Describes a fault in one line.
fn describe_fault(fault: &Value) -> String {
    let text = |key| fault[key].as_str().unwrap_or("?");
    let got = fault["got"].as_str().map(|got| format!(", not {}", cut(got, 200))).unwrap_or_default();
    format!("got a fault at `{}`: expected {}{got}", cut(text("path"), 200), cut(text("expected"), 200))
}

/// Describes the outcome of a call in one line.
fn outcome(result: &ToolResult) -> String {
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

/// Fails if the values differ, and shows the result.
#[track_caller]
fn check(expectation: &str, expected: &Value, got: &Value, result: impl FnOnce() -> Value) {
    let lines = differences(expected, got);
    if !lines.is_empty() {
        fail(expectation, &lines, &result());
    }
}

#[track_caller]
fn fail(expectation: &str, lines: &[String], got: &Value) -> ! {
    panic!("{expectation}\n{}\nin full:\n{}", lines.join("\n"), shortened(&format!("{got:#}"), MAX_RESULT));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{Location, UnwindSafe, catch_unwind, set_hook, take_hook};
    use std::sync::Once;

    use mcp_core::error::{Fault, SchemaError};
    use mcp_core::{Content, Error, ToolError, ToolResult};
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
        let (head, result) = message.split_once("\nin full:\n").expect("the whole result");
        serde_json::from_str::<Value>(result).expect("JSON");
        head.lines().map(str::to_owned).collect()
    }

    fn failure() -> ToolResult {
        ToolResult::failure(ToolError::new("DivisionError", "the divisor is zero"))
    }

    fn rejected(paths: &[&str]) -> ToolResult {
        let fault = |path: &&str| Fault::new(*path, "an integer", "give an integer").got("a text");
        let faults = paths.iter().map(fault).collect();
        ToolResult::from(Error::from(SchemaError::new("calc.divide", faults)))
    }

    #[test]
    fn data_is_wrapped_as_in_a_result() {
        assert_data(&ToolResult::data(json!({ "a": 1, "b": 2 })), json!({ "b": 2, "a": 1 }));
        assert_data(&ToolResult::data(5), 5);
        assert_data(&ToolResult::data(5), json!({ "result": 5 }));
        assert_data(&ToolResult::data(Value::Null), json!({ "result": null }));
        assert_data(&ToolResult::success(), Value::Null);
        assert_data(&ToolResult::partial_success([1, 2]), json!([1, 2]));
    }

    #[test]
    fn differences_of_data_are_shown() {
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
    fn the_result_is_shown_up_to_a_limit() {
        let message = message(|| assert_data(&ToolResult::data(vec![0; 100_000]), 1));
        assert!(message.contains("in full:\n{\n  \"status\": \"success\",\n"), "{message}");
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
    fn an_asserted_failure_returns_its_error() {
        let result = failure();
        assert_eq!(assert_failure(&result, "DivisionError").error_message, "the divisor is zero");
    }

    #[test]
    fn the_outcome_is_shown_if_it_is_not_the_expected_failure() {
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
        assert_fault(&rejected(&["/a", "/b/0/c"]), "/b/0/c");
        assert_fault(&rejected(&[""]), "");
    }

    #[test]
    fn other_faults_are_shown() {
        let lines = head(|| assert_fault(&rejected(&["/a", ""]), "/b"));
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
        let many = rejected(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let message = message(|| assert_fault(&many, "/x"));
        assert!(message.contains("at `/19`: expected an integer, not a text\nand 30 more\nin full:\n"), "{message}");
        // The tool's own error, with the same type.
        let tool_error = ToolResult::failure(ToolError::new("ValidationError", "no").details(json!({ "faults": [] })));
        assert_eq!(head(|| assert_fault(&tool_error, "/b"))[1], "got a failure of type `ValidationError`: no");
    }

    #[test]
    fn json_is_compared() {
        assert_json_eq(&json!({ "a": [1] }), json!({ "a": [1] }));
        let lines = head(|| assert_json_eq(&json!({ "a": [1], "b": 2 }), json!({ "a": [2] })));
        assert_eq!(lines, [r#"expected {"a":[2]}"#, "`/a/0`: expected 2, got 1", "`/b`: unexpected, got 2"]);
    }

    /// The line that a failed assertion reports.
    fn reported_line(assertion: impl FnOnce() + UnwindSafe) -> u32 {
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
    fn the_line_of_the_caller_is_reported() {
        let here = line!() + 1;
        assert_eq!(reported_line(|| assert_data(&failure(), 1)), here);
        assert_eq!(reported_line(|| _ = assert_failure(&ToolResult::success(), "x")), here + 1);
        assert_eq!(reported_line(|| assert_fault(&failure(), "/x")), here + 2);
        assert_eq!(reported_line(|| assert_text(&failure(), "x")), here + 3);
        assert_eq!(reported_line(|| assert_json_eq(&json!(1), 2)), here + 4);
    }
}
