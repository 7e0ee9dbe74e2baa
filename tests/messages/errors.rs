//! The table of all errors, and the errors that a tool can return.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use mcp_core::error::{
    BoxError, CodeProfile, Conflict, Contender, ErrorKind, Fault, Origin, RegistrationProblem, SchemaError,
    SerializationError, TimeoutError, ToolNotFoundError, TransportError,
};
use mcp_core::name::NameError;
use mcp_core::rpc::{RpcError, code};
use mcp_core::serde_json::json;
use mcp_core::{Error, ErrorDetail, ErrorType, RegistrationError, ToolCall, ToolError, ToolResult, serde_json};

fn origin(package: &'static str, version: &'static str, line: u32) -> Origin {
    Origin {
        package: package.into(),
        package_version: version.into(),
        module_path: format!("{package}::notes").into(),
        function: "note".into(),
        file: format!("{package}/src/lib.rs").into(),
        line,
    }
}

/// One error of each variant, with its row: type, code, standard code, HTTP status.
fn every_error() -> Vec<(Error, &'static str, i64, i64, u16)> {
    let tools = contenders(("n.note", origin("a", "1.0.0", 1)), ("n.note", origin("b", "1.0.0", 2)));
    let conflict = Conflict::Duplicate { name: "n.note".into(), tools };
    let not_json = ToolCall::parse("{").unwrap_err();
    let not_a_call = ToolCall::parse("{}").unwrap_err();
    let serialization = serde_json::to_string(&std::collections::HashMap::from([((1, 2), 3)])).unwrap_err();
    let fault = Fault::new("/a", "integer", "send an integer").got("\"x\"");
    vec![
        (RegistrationError::from(RegistrationProblem::from(conflict)).into(), "RegistrationError", -32603, -32603, 500),
        (ToolNotFoundError::new("x", vec![]).into(), "ToolNotFoundError", -32602, -32602, 404),
        (SchemaError::new("calc.add", vec![fault]).into(), "SchemaError", -32602, -32602, 400),
        (not_a_call.into(), "ValidationError", -32602, -32602, 400),
        (not_json.into(), "ValidationError", -32700, -32700, 400),
        (SerializationError::new("the result", serialization).into(), "SerializationError", -32603, -32603, 500),
        (TimeoutError::new("t", Duration::from_secs(30)).into(), "TimeoutError", 40000, -32000, 504),
        (TransportError::Closed.into(), "TransportError", 40000, -32000, 502),
        (ToolError::new("ToolExecutionError", "m").into(), "ToolExecutionError", 40000, -32000, 500),
        (ToolError::new("AuthenticationError", "m").into(), "AuthenticationError", 40100, -32001, 401),
        (ToolError::new("PermissionError", "m").into(), "PermissionError", 40300, -32003, 403),
        (ToolError::new("ApiLimitExceeded", "m").into(), "ApiLimitExceeded", 40000, -32000, 429),
        (ToolError::new("FileNotFoundError", "m").into(), "FileNotFoundError", 40000, -32000, 404),
        (ToolError::new("ResourceNotFound", "m").into(), "ResourceNotFound", 40000, -32000, 404),
        (ToolError::new("UnsupportedEncodingError", "m").into(), "UnsupportedEncodingError", 40000, -32000, 415),
        (ToolError::new("FileTooLargeError", "m").into(), "FileTooLargeError", 40000, -32000, 413),
        (ToolError::new("MyOwnError", "m").into(), "MyOwnError", 40000, -32000, 500),
    ]
}

#[test]
fn c13_c14_c16_s2_11_to_s2_13_every_error_has_its_type_codes_and_status() {
    for (error, error_type, extended, standard, http) in every_error() {
        assert_eq!(error.error_type(), error_type);
        assert_eq!(error.code(CodeProfile::Extended), extended, "{error_type}");
        assert_eq!(error.code(CodeProfile::Standard), standard, "{error_type}");
        assert_eq!(error.http_status(), http, "{error_type}");
        let rpc = error.to_rpc(CodeProfile::Standard);
        assert_eq!(rpc.code, standard);
        assert!(rpc.data.unwrap()["error_type"].is_string(), "{error_type}");
    }
}

#[test]
fn c16_types_and_codes_of_the_table_convert_back() {
    for kind in ErrorKind::all().filter(|kind| *kind != ErrorKind::Parse) {
        assert_eq!(ErrorKind::from_error_type(&kind.error_type()), kind);
    }
    for (number, kind) in [
        (code::PARSE_ERROR, ErrorKind::Parse),
        (code::INVALID_PARAMS, ErrorKind::Validation),
        (code::INVALID_REQUEST, ErrorKind::Validation),
        (code::TOOL_EXECUTION_ERROR, ErrorKind::Execution),
        (code::AUTHENTICATION_ERROR, ErrorKind::Authentication),
        (code::SERVER_AUTHENTICATION_ERROR, ErrorKind::Authentication),
        (code::PERMISSION_DENIED, ErrorKind::Permission),
        (code::SERVER_PERMISSION_DENIED, ErrorKind::Permission),
        (code::INTERNAL_ERROR, ErrorKind::Execution),
        (-1, ErrorKind::Execution),
    ] {
        assert_eq!(ErrorKind::from_code(number), kind, "{number}");
    }
    assert_eq!(ErrorKind::from_error_type(&ErrorType::from("FileNotFound")), ErrorKind::FileNotFound);
    assert_eq!(ErrorKind::Permission.short_code(), "ACCESS_DENIED");
}

#[test]
fn c16_every_name_of_the_documents_has_a_constant_and_a_row() {
    let names = [
        "ValidationError",
        "FileNotFoundError",
        "AuthenticationError",
        "ResourceNotFound",
        "ToolExecutionError",
        "ApiLimitExceeded",
        "TimeoutError",
        "PermissionError",
        "TransportError",
        "ToolNotFoundError",
        "SchemaError",
        "SerializationError",
        "RegistrationError",
        "UnsupportedEncodingError",
        "FileTooLargeError",
    ];
    assert_eq!(ErrorType::STANDARD.len(), names.len());
    for name in names {
        assert!(ErrorType::STANDARD.contains(&ErrorType::from(name)), "{name}");
        assert_eq!(ErrorKind::from_error_type(&ErrorType::from(name)).error_type(), name);
    }
}

#[test]
fn c15_bad_arguments_are_a_schema_error_in_rust_and_a_validation_error_on_the_flat_wire() {
    let fault = |path: &str| Fault::new(path, "integer", "send an integer");
    let error = Error::from(SchemaError::new("calc.add", vec![fault("/a"), fault("")]));
    assert_eq!((error.error_type(), error.wire_type()), (ErrorType::SCHEMA_ERROR, ErrorType::VALIDATION_ERROR));
    let result = ToolResult::from(error);
    assert!(result.validate().is_ok());
    assert_eq!(
        result.error.unwrap().to_value(),
        json!({
            "error_type": "ValidationError",
            "error_message": "the arguments of `calc.add` do not match its schema: `/a`: send an integer; send an integer",
            "error_details": { "kind": "SchemaError", "tool": "calc.add", "faults": [
                { "path": "/a", "expected": "integer" },
                { "path": "", "expected": "integer" },
            ]},
        })
    );
}

#[test]
fn s3_13_the_error_for_an_unknown_tool_says_what_to_do() {
    let error = |near: &[&str]| ToolNotFoundError::new("calc.ad", near.iter().map(|n| (*n).into()).collect());
    assert_eq!(error(&[]).to_string(), "no tool is named `calc.ad`; list the tools to see their names");
    assert_eq!(error(&["calc.add"]).to_string(), "no tool is named `calc.ad`; did you mean `calc.add`?");
    assert_eq!(error(&["a", "b", "c"]).to_string(), "no tool is named `calc.ad`; did you mean `a`, `b` or `c`?");
}

fn contenders(one: (&str, Origin), other: (&str, Origin)) -> Box<[Contender; 2]> {
    let contender =
        |(name, origin): (&str, Origin)| Contender { name: name.into(), defined_as: name.into(), alias: None, origin };
    Box::new([contender(one), contender(other)])
}

#[test]
fn s3_18_a_registration_error_lists_both_places_and_the_remedies() {
    let mut by_alias = contenders(("new.a", origin("p", "1.0.0", 1)), ("b.c", origin("q", "1.0.0", 2)));
    by_alias[0].alias = Some("b.c".into());
    let problems = vec![
        Conflict::Schema {
            name: "notes.note".into(),
            tools: contenders(("notes.note", origin("dup-a", "1.0.0", 3)), ("notes.note", origin("dup-b", "0.2.0", 9))),
        }
        .into(),
        Conflict::Duplicate {
            name: "n.x".into(),
            tools: contenders(("n.x", origin("dup", "1.0.0", 3)), ("n.x", origin("dup", "2.0.0", 3))),
        }
        .into(),
        Conflict::WireName {
            wire: "a_b_c".into(),
            tools: contenders(("a.b_c", origin("p", "1.0.0", 1)), ("a_b.c", origin("p", "1.0.0", 2))),
        }
        .into(),
        Conflict::WireName { wire: "b.c".into(), tools: by_alias }.into(),
        Conflict::Duplicate {
            name: "n.y".into(),
            tools: contenders(("n.y", origin("p", "1.0.0", 3)), ("n.y", Origin::run_time("main.rs", 7))),
        }
        .into(),
        RegistrationProblem::Name { error: NameError::Empty, origin: Box::new(origin("p", "1.0.0", 4)) },
    ];
    let page = RegistrationError::check(problems).unwrap_err();
    assert_eq!(page.problems().len(), 6);
    assert_eq!(
        page.to_string(),
        r#"the tools cannot be registered, for 6 reasons:
  - two tools are named `notes.note`, with different schemas
    first  at dup-a/src/lib.rs:3 (dup-a::notes::note, dup-a 1.0.0)
    second at dup-b/src/lib.rs:9 (dup-b::notes::note, dup-b 0.2.0)
    rename one with `name = "…"`, or in the builder: .rename("dup-b", "notes.note", "…") or .exclude("dup-b", "notes.note") or .prefix("dup-b", "…")
  - two tools are named `n.x`
    first  at dup/src/lib.rs:3 (dup::notes::note, dup 1.0.0)
    second at dup/src/lib.rs:3 (dup::notes::note, dup 2.0.0)
    rename one with `name = "…"`, or in the builder: .rename("dup@2.0.0", "n.x", "…") or .exclude("dup@2.0.0", "n.x")
  - `a.b_c` and `a_b.c` share the name `a_b_c`
    first  at p/src/lib.rs:1 (p::notes::note, p 1.0.0)
    second at p/src/lib.rs:2 (p::notes::note, p 1.0.0)
    rename one with `name = "…"`, or in the builder: .rename("p", "a_b.c", "…") or .exclude("p", "a_b.c")
  - `new.a` and `b.c` share the name `b.c`
    first  at p/src/lib.rs:1 (p::notes::note, p 1.0.0)
    second at q/src/lib.rs:2 (q::notes::note, q 1.0.0)
    remove the alias, or in the builder: .drop_alias("p", "new.a", "b.c") or .exclude("p", "new.a")
  - two tools are named `n.y`
    first  at p/src/lib.rs:3 (p::notes::note, p 1.0.0)
    second at main.rs:7 (created at run time)
    give the tool that is created at run time another name, or in the builder: .rename("p", "n.y", "…") or .exclude("p", "n.y") or .prefix("p", "…")
  - the name is empty; write `module.tool`
    at p/src/lib.rs:4 (p::notes::note, p 1.0.0)"#
    );
    assert_eq!(format!("{page:?}"), page.to_string());
    assert!(RegistrationError::check(vec![]).is_ok());
}

#[test]
fn an_error_survives_json_rpc() {
    let detail = ErrorDetail::new("QuotaError", "enough for today").details(json!({ "left": 0 }));
    let rpc = RpcError::from_detail(&detail, CodeProfile::Extended);
    assert_eq!(rpc.code, 40000);
    assert_eq!(rpc.to_detail(), detail);
    let mut more = detail.clone();
    more.extra.insert("hint".into(), json!("tomorrow"));
    assert_eq!(RpcError::from_detail(&more, CodeProfile::Extended).to_detail(), more);
    let strange = RpcError::new(code::PERMISSION_DENIED, "no").data(json!({ "why": "because" }));
    assert_eq!(strange.to_detail(), ErrorDetail::new("PermissionError", "no").details(json!({ "why": "because" })));
}

#[test]
fn a_tool_error_is_a_std_error_with_type_message_and_details() {
    let error = ToolError::new("FileNotFoundError", "no such file").details(json!({ "path": "a" }));
    assert_eq!(error.to_string(), "FileNotFoundError: no such file");
    assert_eq!((error.error_type().as_str(), error.message()), ("FileNotFoundError", "no such file"));
    assert!(!error.is_foreign());
    let boxed: Box<dyn StdError + Send + Sync> = error.into();
    assert_eq!(ToolError::from(boxed).detail().error_details, Some(json!({ "path": "a" })));
}

#[test]
fn io_errors_keep_their_kind() {
    for (kind, error_type) in [
        (io::ErrorKind::NotFound, ErrorType::FILE_NOT_FOUND_ERROR),
        (io::ErrorKind::PermissionDenied, ErrorType::PERMISSION_ERROR),
        (io::ErrorKind::TimedOut, ErrorType::TIMEOUT_ERROR),
        (io::ErrorKind::FileTooLarge, ErrorType::FILE_TOO_LARGE_ERROR),
        (io::ErrorKind::ConnectionRefused, ErrorType::TRANSPORT_ERROR),
        (io::ErrorKind::Other, ErrorType::TOOL_EXECUTION_ERROR),
    ] {
        let error = ToolError::from(io::Error::new(kind, "why"));
        assert_eq!(*error.error_type(), error_type);
        assert_eq!(error.message(), "why");
        assert!(error.is_foreign() && error.source().is_some());
    }
}

#[derive(Debug)]
struct Wrapper(Box<dyn StdError + Send + Sync>);

impl std::fmt::Display for Wrapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("while loading")
    }
}

impl StdError for Wrapper {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

#[test]
fn a_tool_error_is_recovered_from_a_chain_of_sources() {
    let inner = ToolError::new("QuotaError", "enough").details(json!({ "left": 0 }));
    let error = ToolError::from_error(Wrapper(Box::new(Wrapper(inner.into()))));
    assert_eq!(error.error_type(), &ErrorType::from("QuotaError"));
    assert_eq!(error.detail().error_details, Some(json!({ "left": 0 })));
    assert!(!error.is_foreign());
}

#[test]
fn a_foreign_error_has_the_messages_of_its_sources_and_the_type_of_the_first_that_has_one() {
    let error = ToolError::from_error(Wrapper(Box::new(io::Error::new(io::ErrorKind::NotFound, "no disk"))));
    assert_eq!(error.to_string(), "FileNotFoundError: while loading: no disk");
    assert!(error.is_foreign());
}

#[test]
fn an_error_of_the_registry_keeps_its_type_inside_a_tool() {
    let inner = ToolError::new("PermissionError", "no").details(json!({ "a": 1 }));
    let error = ToolError::from_error(Error::from(inner));
    assert_eq!((error.error_type().as_str(), error.message()), ("PermissionError", "no"));
    assert_eq!(error.detail().error_details, Some(json!({ "a": 1 })));
    assert!(!error.is_foreign());
    let late = || TimeoutError::new("t", Duration::from_secs(1));
    for error in [ToolError::from(late()), ToolError::from_error(Wrapper(late().into())), Error::from(late()).into()] {
        assert_eq!((error.error_type(), error.is_foreign()), (&ErrorType::TIMEOUT_ERROR, false));
    }
    assert_eq!(ToolResult::failure(late()).error.unwrap().error_type, ErrorType::TIMEOUT_ERROR);
}

#[test]
fn a_text_is_written_for_callers_also_in_a_box() {
    for error in [ToolError::from_error("say"), ToolError::from(BoxError::from("say")), ToolError::from("say")] {
        assert_eq!((error.message(), error.is_foreign()), ("say", false));
    }
}

#[test]
fn s3_16_only_errors_of_writing_json_are_serialization_errors() {
    let reading = serde_json::from_str::<i32>("x").unwrap_err();
    assert_eq!(*ToolError::from(reading).error_type(), ErrorType::TOOL_EXECUTION_ERROR);
    let writing = serde_json::to_string(&std::collections::HashMap::from([((1, 2), 3)])).unwrap_err();
    assert_eq!(*ToolError::from(writing).error_type(), ErrorType::SERIALIZATION_ERROR);
    let file = serde_json::from_reader::<_, i32>(Unreadable).unwrap_err();
    assert_eq!(*ToolError::from(file).error_type(), ErrorType::PERMISSION_ERROR);
}

struct Unreadable;

impl io::Read for Unreadable {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn the_question_mark_works_on_any_error() {
    fn with_tool_error(text: &str) -> Result<i32, ToolError> {
        if text.is_empty() {
            return Err("say a number".into());
        }
        Ok(text.parse()?)
    }
    fn with_any_error(text: &str) -> mcp_core::Result<i32> {
        Ok(with_tool_error(text)? + text.parse::<i32>()?)
    }
    assert_eq!(with_any_error("21").unwrap(), 42);
    let worded = with_tool_error("").unwrap_err();
    assert_eq!((worded.error_type().as_str(), worded.message()), ("ToolExecutionError", "say a number"));
    assert!(!worded.is_foreign());
    assert!(with_tool_error("x").unwrap_err().is_foreign());
    assert_eq!(ToolError::from(with_any_error("").unwrap_err()).message(), "say a number");
}
