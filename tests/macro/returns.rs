//! What a tool returns and fails with.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;

use mcp_core::error::CallError;
use mcp_core::output::Returned;
use mcp_core::schemars::{self, JsonSchema};
use mcp_core::serde_json::{Value, json};
use mcp_core::{Content, Json, ToolContext, ToolError, ToolResult, mcp_tool};
use serde::{Serialize, Serializer};

use super::{call, call_with, entry, failure};

/// A sum.
#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i32,
    rest: Option<i32>,
}

/// Has no schema.
#[derive(Serialize)]
struct Free {
    any: u8,
}

macro_rules! returning {
    ($($plain:ident $fallible:ident $waiting:ident: $type:ty = $value:expr;)*) => {$(
        /// Returns it.
        #[mcp_tool(module = "returns")]
        fn $plain() -> $type {
            $value
        }

        /// Returns it, or fails.
        #[mcp_tool(module = "returns")]
        fn $fallible() -> Result<$type, ToolError> {
            Ok($value)
        }

        /// Returns it later, or fails.
        #[mcp_tool(module = "returns")]
        async fn $waiting() -> mcp_core::Result<$type> {
            Ok(std::future::ready($value).await)
        }
    )*};
}

returning! {
    unit unit_or unit_later: () = ();
    block block_or block_later: Content = Content::text("a");
    blocks blocks_or blocks_later: Vec<Content> = vec![Content::text("a"), Content::text("b")];
    result result_or result_later: ToolResult = ToolResult::no_change_needed().explanation("same");
    free free_or free_later: Json<Free> = Json(Free { any: 1 });
    text text_or text_later: String = "a".into();
    number number_or number_later: i32 = 5;
    sum sum_or sum_later: Sum = Sum { sum: 3, rest: None };
    map map_or map_later: BTreeMap<String, u8> = BTreeMap::from([("a".to_owned(), 1)]);
    list list_or list_later: Vec<u8> = vec![1, 2];
    maybe maybe_or maybe_later: Option<u8> = None;
    boxed boxed_or boxed_later: Box<Sum> = Box::new(Sum { sum: 4, rest: Some(1) });
}

fn forms(name: &str) -> impl Iterator<Item = (String, Returned, Value)> {
    ["", "_or", "_later"].map(|form| format!("returns.{name}{form}")).into_iter().map(|name| {
        let (returned, value) = call_with(&ToolContext::for_test(), &name, "{}").unwrap();
        (name, returned, value)
    })
}

#[test]
fn results_without_a_typed_value_have_no_schema() {
    type IsRight = fn(&Returned) -> bool;
    let kinds: [(&str, IsRight); 4] = [
        ("unit", |returned| matches!(returned, Returned::Nothing)),
        ("block", |returned| matches!(returned, Returned::Content(blocks) if blocks.len() == 1)),
        ("blocks", |returned| matches!(returned, Returned::Content(blocks) if blocks.len() == 2)),
        ("result", |returned| matches!(returned, Returned::Result(result) if !result.is_failure())),
    ];
    for (name, is_right) in kinds {
        for (name, returned, value) in forms(name) {
            assert!(is_right(&returned), "{name}: {returned:?}");
            assert_eq!(
                (value, entry(&name).generate_output_schema().map(|output| output.to_value())),
                (Value::Null, None),
                "{name}"
            );
        }
    }
    for (name, returned, value) in forms("free") {
        assert!(matches!(returned, Returned::Json), "{name}");
        assert_eq!(
            (value, entry(&name).generate_output_schema().map(|output| output.to_value())),
            (json!({ "any": 1 }), None),
            "{name}"
        );
    }
}

#[test]
fn values_have_a_schema_and_are_json() {
    let values = [
        ("text", json!("a")),
        ("number", json!(5)),
        ("sum", json!({ "sum": 3, "rest": null })),
        ("map", json!({ "a": 1 })),
        ("list", json!([1, 2])),
        ("maybe", Value::Null),
        ("boxed", json!({ "sum": 4, "rest": 1 })),
    ];
    for (name, expected) in values {
        let schema = entry(&format!("returns.{name}")).generate_output_schema().expect("there is a schema").to_value();
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["properties"]["result"].is_object(), !expected.is_object(), "{name}: {schema}");
        for (name, returned, value) in forms(name) {
            assert!(matches!(returned, Returned::Json), "{name}");
            assert_eq!(value, expected, "{name}");
            assert_eq!(
                entry(&name).generate_output_schema().map(|output| output.to_value()).as_ref(),
                Some(&schema),
                "{name}"
            );
        }
    }
}

#[test]
fn a_result_is_appended_to_the_buffer() {
    let mut out = b"before ".to_vec();
    let mcp_core::entry::Call::Sync(write) = entry("returns.number").call else { panic!("it is not async") };
    write(&ToolContext::for_test(), mcp_core::entry::Input::new("{}"), &mut out).unwrap();
    assert_eq!(out, b"before 5");
}

/// Cannot become JSON.
#[derive(JsonSchema)]
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("never"))
    }
}

/// Returns what cannot be written.
#[mcp_tool(module = "returns")]
fn stubborn() -> (u8, Stubborn) {
    (1, Stubborn)
}

#[test]
fn a_value_that_cannot_be_serialized_leaves_the_buffer_unchanged() {
    let mut out = b"before".to_vec();
    let mcp_core::entry::Call::Sync(write) = entry("returns.stubborn").call else { panic!("it is not async") };
    let error = write(&ToolContext::for_test(), mcp_core::entry::Input::new("{}"), &mut out).unwrap_err();
    assert!(matches!(error, CallError::Serialization(_)));
    assert_eq!(out, b"before");
}

/// An error that says what it is for the caller.
enum Refused {
    Quota(u32),
}

impl From<Refused> for ToolError {
    fn from(Refused::Quota(left): Refused) -> Self {
        ToolError::new("QuotaError", "too much").details(json!({ "left": left }))
    }
}

/// An error like any other.
#[derive(Debug)]
struct Plain;

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plainly wrong")
    }
}

impl Error for Plain {}

/// Can be boxed, as `anyhow::Error` can, but is no error itself.
struct Anyhow(Box<dyn Error + Send + Sync>);

impl From<Anyhow> for Box<dyn Error + Send + Sync> {
    fn from(Anyhow(error): Anyhow) -> Self {
        error
    }
}

macro_rules! failing {
    ($($name:ident: $type:ty = $error:expr;)*) => {$(
        /// Fails.
        #[mcp_tool(module = "fails")]
        fn $name() -> Result<i32, $type> {
            Err($error)
        }
    )*};
}

failing! {
    tool_error: ToolError = ToolError::new("OwnError", "own words");
    string: String = "a string".to_owned();
    str_error: &'static str = "a str";
    io_missing: io::Error = io::Error::from(io::ErrorKind::NotFound);
    io_denied: io::Error = io::Error::from(io::ErrorKind::PermissionDenied);
    boxed_error: Box<dyn Error + Send + Sync> = Box::new(Plain);
    boxed_tool_error: Box<dyn Error + Send + Sync> = Box::new(ToolError::new("OwnError", "from a box"));
    anyhow: Anyhow = Anyhow(Box::new(ToolError::new("OwnError", "from anyhow")));
    plain: Plain = Plain;
    own: Refused = Refused::Quota(3);
}

#[test]
fn every_error_becomes_a_tool_error() {
    let told = |name: &str| {
        let error = failure(&format!("fails.{name}"));
        (error.error_type().as_str().to_owned(), error.message().to_owned(), error.is_foreign())
    };
    let own = |text: &str| ("OwnError".to_owned(), text.to_owned(), false);
    assert_eq!(told("tool_error"), own("own words"));
    assert_eq!(told("boxed_tool_error"), own("from a box"));
    assert_eq!(told("anyhow"), own("from anyhow"));
    assert_eq!((told("string").1, told("string").2), ("a string".to_owned(), false));
    assert_eq!((told("str_error").1, told("str_error").2), ("a str".to_owned(), false));
    assert_eq!(told("io_missing").0, "FileNotFoundError");
    assert_eq!(told("io_denied").0, "PermissionError");
    assert_eq!((told("boxed_error").1, told("boxed_error").2), ("plainly wrong".to_owned(), true));
    assert_eq!((told("plain").1, told("plain").2), ("plainly wrong".to_owned(), true));
    let quota = failure("fails.own");
    assert_eq!(quota.error_type().as_str(), "QuotaError");
    assert_eq!(quota.detail().error_details, Some(json!({ "left": 3 })));
}

/// Uses `?` on anything.
#[mcp_tool(module = "fails")]
fn question_marks(text: &str, file: &str) -> mcp_core::Result<i64> {
    if !file.is_empty() {
        std::fs::read(file)?;
    }
    if text == "refused" {
        Err("as asked")?;
    }
    Ok(text.parse()?)
}

#[test]
fn the_question_mark_accepts_any_error() {
    assert_eq!(call("fails.question_marks", r#"{"text": "5", "file": ""}"#), json!(5));
    let told = |arguments: &str| match call_with(&ToolContext::for_test(), "fails.question_marks", arguments) {
        Err(CallError::Tool(error)) => (error.error_type().as_str().to_owned(), error.message().to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(r#"{"text": "refused", "file": ""}"#).1, "as asked");
    assert_eq!(told(r#"{"text": "5", "file": "/no/such/file"}"#).0, "FileNotFoundError");
    assert!(told(r#"{"text": "x", "file": ""}"#).1.contains("invalid digit"));
}

type Answer<T> = Result<T, Refused>;

/// By an alias of `Result`.
#[mcp_tool(module = "fails")]
fn by_alias(fail: bool) -> Answer<u8> {
    if fail { Err(Refused::Quota(1)) } else { Ok(1) }
}

/// By `io::Result`.
#[mcp_tool(module = "fails")]
async fn by_io_result() -> io::Result<()> {
    Err(io::ErrorKind::NotFound.into())
}

#[test]
fn aliases_of_result_are_results() {
    assert_eq!(call("fails.by_alias", r#"{"fail": false}"#), json!(1));
    let error = call_with(&ToolContext::for_test(), "fails.by_alias", r#"{"fail": true}"#).unwrap_err();
    assert!(matches!(error, CallError::Tool(_)));
    assert_eq!(failure("fails.by_io_result").error_type().as_str(), "FileNotFoundError");
}
