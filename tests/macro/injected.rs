//! What a tool gets without its caller: state and context.

use std::sync::Mutex;

use mcp_core::context::StateType;
use mcp_core::error::CallError;
use mcp_core::serde_json::json;
use mcp_core::{FromContext, ToolContext, ToolError, mcp_tool};

use super::{call_with, entry, input};

struct Database(Mutex<Vec<String>>);

#[derive(Clone)]
struct Pool(u8);

struct User(String);

impl FromContext for User {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        let name = cx.extensions().get::<String>();
        name.cloned().map(Self).ok_or_else(|| ToolError::new("AuthenticationError", "log in first"))
    }

    fn requires() -> Vec<StateType> {
        vec![StateType::of::<Pool>()]
    }
}

/// Takes all there is.
#[mcp_tool(module = "injected")]
fn everything(
    #[ctx] cx: &ToolContext,
    a: u8,
    #[ctx] db: &Database,
    #[ctx(clone)] pool: Pool,
    #[ctx] user: User,
    #[ctx] own: ToolContext,
) -> String {
    db.0.lock().unwrap().push(user.0.clone());
    format!("{} {} {a} {} {}", cx.tool_name(), own.tool_name(), pool.0, user.0)
}

/// Takes all there is, and waits.
#[mcp_tool(module = "injected")]
async fn everything_and_waits(#[ctx] cx: &ToolContext, #[ctx] db: &Database, #[ctx] user: User, a: u8) -> String {
    std::future::ready(()).await;
    db.0.lock().unwrap().push(user.0.clone());
    format!("{} {a} {}", cx.tool_name(), user.0)
}

type Context = ToolContext;

/// The context by another name.
#[mcp_tool(module = "injected")]
fn context_alias<'a>(#[ctx] cx: &'a Context) -> &'a str {
    cx.tool_name()
}

fn context() -> ToolContext {
    ToolContext::for_test().with_state(Database(Mutex::default())).with_state(Pool(7)).with_extension("ann".to_owned())
}

#[test]
fn state_and_context_are_injected() {
    let cx = context();
    let (_, value) = call_with(&cx, "injected.everything", r#"{"a": 1}"#).unwrap();
    assert_eq!(value, json!("test test 1 7 ann"));
    let (_, value) = call_with(&cx, "injected.everything_and_waits", r#"{"a": 1}"#).unwrap();
    assert_eq!(value, json!("test 1 ann"));
    assert_eq!(cx.state::<Database>().unwrap().0.lock().unwrap().len(), 2);
    let (_, value) = call_with(&cx, "injected.context_alias", "{}").unwrap();
    assert_eq!(value, json!("test"));
}

#[test]
fn an_injected_parameter_is_not_an_argument() {
    let schema = input("injected.everything");
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a"]);
    assert!(call_with(&context(), "injected.everything", r#"{"a": 1, "user": "eve"}"#).is_err());
}

#[test]
fn an_entry_lists_the_state_that_the_tool_needs() {
    let mut needs = Vec::new();
    entry("injected.everything").needs.iter().for_each(|add| add(&mut needs));
    let expected = [StateType::of::<Database>(), StateType::of::<Pool>(), StateType::of::<Pool>()];
    assert_eq!(needs, expected);
    assert!(entry("injected.context_alias").needs.len() <= 1);
}

#[test]
fn missing_state_is_an_error_that_names_the_type() {
    let bare = ToolContext::for_test().with_extension("ann".to_owned());
    match call_with(&bare, "injected.everything", r#"{"a": 1}"#) {
        Err(CallError::Tool(error)) => assert!(error.message().contains("Database"), "{error}"),
        other => panic!("{other:?}"),
    }
    let nobody = ToolContext::for_test().with_state(Database(Mutex::default())).with_state(Pool(1));
    match call_with(&nobody, "injected.everything_and_waits", r#"{"a": 1}"#) {
        Err(CallError::Tool(error)) => assert_eq!(error.message(), "log in first"),
        other => panic!("{other:?}"),
    }
}
