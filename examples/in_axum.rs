//! Tools in an axum application that has state and authentication of its own.
//! `cargo run -p mcp-examples --example in_axum` calls its own tools; with an address it serves: `-- 127.0.0.1:3000`

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use mcp_registry::error::BoxError;
use mcp_registry::serde_json::{Value, json};
use mcp_registry::{CallOptions, Http, Registry, Server, ToolContext, TrustLevel, mcp_tool};
use tower::ServiceExt as _;

/// The user. Authentication adds it to the request, where tools find it.
#[derive(Clone)]
struct User {
    name: String,
    is_admin: bool,
}

/// The state that the application has besides its tools.
#[derive(Clone)]
struct App {
    users: Vec<(&'static str, User)>,
}

/// Says who asks.
#[mcp_tool(module = "users", read_only)]
fn who(#[ctx] cx: &ToolContext) -> String {
    cx.extensions().get::<User>().map_or_else(|| "nobody".to_owned(), |user| user.name.clone())
}

/// Closes the account of whoever asks.
#[mcp_tool(module = "users", destructive)]
fn close_account(#[ctx] cx: &ToolContext) -> String {
    format!("{} has no account any more", who(cx))
}

/// The application's own authentication, for pages and tools alike.
async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let key = request.headers().get("x-api-key").and_then(|key| key.to_str().ok());
    let user = app.users.iter().find(|(known, _)| Some(*known) == key).map(|(_, user)| user.clone());
    request.extensions_mut().insert(user.ok_or(StatusCode::UNAUTHORIZED)?);
    Ok(next.run(request).await)
}

fn application(app: &App) -> Result<axum::Router, BoxError> {
    let server = Server::new(Registry::linked()?).info("users", "1.0.0");
    let tools = Http::new(server)
        // If the application has a public name, allow it: `.allow_host("app.example.com")`.
        // The caller, for the audit log and the gates.
        .call_options(|request| match request.extensions.get::<User>() {
            Some(user) if user.is_admin => CallOptions::new().caller(&user.name).trust(TrustLevel::Trusted),
            Some(user) => CallOptions::new().caller(&user.name),
            None => CallOptions::new(),
        })
        .router()
        .layer(from_fn_with_state(app.clone(), authenticate));
    let pages =
        axum::Router::new().route("/", get(|State(app): State<App>| async move { app.users.len().to_string() }));
    Ok(pages.with_state(app.clone()).merge(tools))
}

/// Calls a tool as a client would, and shows the status and what came back.
async fn ask(app: &axum::Router, key: &str, tool: &str) -> Result<(), BoxError> {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool } });
    let request = Request::post("/mcp")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-api-key", key)
        .body(Body::from(call.to_string()))?;
    let response = app.clone().oneshot(request).await?;
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await?;
    let answer: Value = mcp_registry::serde_json::from_slice(&body).unwrap_or_default();
    println!("{tool} by {key:?}: {status} {}", answer["result"]["content"][0]["text"]);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let user = |name: &str, is_admin| User { name: name.to_owned(), is_admin };
    let app = App { users: vec![("key-of-ada", user("ada", true)), ("key-of-bob", user("bob", false))] };
    let app = application(&app)?;
    if let Some(address) = std::env::args().nth(1) {
        return Ok(axum::serve(tokio::net::TcpListener::bind(address).await?, app).await?);
    }
    ask(&app, "key-of-ada", "users_who").await?;
    ask(&app, "key-of-ada", "users_close_account").await?;
    ask(&app, "key-of-bob", "users_close_account").await?;
    ask(&app, "key-of-eve", "users_who").await
}
