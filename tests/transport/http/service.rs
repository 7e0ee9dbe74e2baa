//! The endpoint as a service, without a socket, as in an application that mounts it.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use axum::middleware::{Next, from_fn};
use hyper::body::Frame;
use mcp_registry::http::HttpService;
use mcp_registry::{CallOptions, CancelToken, Http, Server, TrustLevel, router};
use serde_json::{Value, json};
use tower_service::Service;

use super::served::{Log, Served, User, builder, new_tool};
use super::wire::{Ask, VERSIONS, call, call_told, in_version, modern};

fn server() -> Server {
    Server::new(builder(&Log::new()).build().unwrap()).info("served", "1.2.3")
}

fn request(ask: &Ask) -> Request {
    let mut words = ask.line.split(' ');
    let mut request = Request::builder().method(words.next().unwrap()).uri(words.next().unwrap());
    for (name, value) in &ask.headers {
        request = request.header(name, value.as_slice());
    }
    request.body(Body::from(ask.body.clone())).unwrap()
}

pub(crate) async fn ask<S, B>(service: &mut S, ask: &Ask) -> Response<B>
where
    S: Service<Request, Response = Response<B>>,
    S::Error: std::fmt::Debug,
{
    poll_fn(|context| service.poll_ready(context)).await.unwrap();
    service.call(request(ask)).await.unwrap()
}

/// The next part of a body.
async fn frame<B>(body: &mut B) -> Option<String>
where
    B: axum::body::HttpBody<Data = Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
}

pub(crate) async fn value(response: Response<impl axum::body::HttpBody<Data = Bytes> + Unpin>) -> Value {
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else { panic!("a body that fails") };
        text.extend_from_slice(&frame.into_data().unwrap());
    }
    serde_json::from_slice(&text).unwrap()
}

#[tokio::test]
async fn a_router_can_be_merged_and_layered() {
    async fn authenticate(mut request: Request, next: Next) -> axum::response::Response {
        request.extensions_mut().insert(User("ada"));
        next.run(request).await
    }
    let mut app: Router = Router::new().merge(router(server()).layer(from_fn(authenticate)));
    for version in VERSIONS {
        let know = call(version, "t_know", json!({})).with("X-Asks", "politely");
        let known = value(ask(&mut app, &know).await).await["result"]["structuredContent"].clone();
        assert_eq!((&known["user"], &known["header"]), (&json!("ada"), &json!("politely")), "{version}");
        assert_eq!((&known["caller"], &known["request"]), (&json!(null), &json!("1")));
    }
    let health = ask(&mut app, &Ask::new("GET").line("GET /health HTTP/1.1")).await;
    assert_eq!(health.status(), StatusCode::OK);
    assert_eq!(value(health).await, json!({ "status": "ok" }));
}

#[tokio::test]
async fn a_router_can_be_merged_into_an_application_with_a_probe_of_its_own() {
    let own = Router::new().route("/health", axum::routing::get(async || "own"));
    for tools in [Http::new(server()).health_path(None), Http::new(server()).health_path("/healthz")] {
        let mut app: Router = own.clone().merge(tools.router());
        let health = ask(&mut app, &Ask::new("GET").line("GET /health HTTP/1.1")).await;
        assert_eq!(frame(&mut health.into_body()).await.as_deref(), Some("own"));
        assert_eq!(ask(&mut app, &modern("tools/list", json!({}))).await.status(), StatusCode::OK);
    }
    let mut moved = Http::new(server()).health_path("/healthz").router();
    let health = ask(&mut moved, &Ask::new("GET").line("GET /healthz HTTP/1.1")).await;
    assert_eq!(value(health).await, json!({ "status": "ok" }));
    assert_eq!(ask(&mut moved, &Ask::new("GET").line("GET /health HTTP/1.1")).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_probe_can_be_outside_of_an_authentication_layer() {
    async fn refuse(_: Request, _: Next) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }
    let stop = CancelToken::new();
    let tools = Http::new(server()).health_path(None).stop_with(stop.clone());
    let stopped = stop.clone();
    let health =
        async move || if stopped.is_cancelled() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT };
    let mut app: Router = tools.router().layer(from_fn(refuse)).route("/health", axum::routing::get(health));
    let probe = Ask::new("GET").line("GET /health HTTP/1.1");
    assert_eq!(ask(&mut app, &modern("tools/list", json!({}))).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(ask(&mut app, &probe).await.status(), StatusCode::NO_CONTENT);
    stop.cancel();
    assert_eq!(ask(&mut app, &probe).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn the_probe_of_a_server_can_be_moved_or_left_out() {
    let get = |line: &str| Ask::new("GET").line(line);
    let moved = Served::with(|http| http.health_path("/healthz"));
    assert_eq!(moved.ask(&get("GET /healthz HTTP/1.1")).json(), json!({ "status": "ok" }));
    assert_eq!(moved.ask(&get("POST /healthz HTTP/1.1")).status, 405);
    let none = Served::with(|http| http.health_path(None).path("/health"));
    assert_eq!(none.ask(&modern("tools/list", json!({})).line("POST /health HTTP/1.1")).status, 200);
    for served in [moved, none] {
        assert_eq!(served.ask(&get("GET /other HTTP/1.1")).status, 404);
    }
    for path in ["", "healthz", "/mcp"] {
        let panicked = std::panic::catch_unwind(|| Http::new(server()).health_path(path)).unwrap_err();
        assert!(panicked.downcast_ref::<String>().unwrap().contains("path"), "{path}");
    }
}

#[tokio::test]
async fn the_endpoint_can_be_mounted_anywhere() {
    let service = Http::new(server()).service();
    let mut app: Router = Router::new().nest_service("/deep/down", service.clone()).route_service("/here", service);
    let list = modern("tools/list", json!({}));
    for (line, status) in [("POST /deep/down HTTP/1.1", 200), ("POST /here HTTP/1.1", 200), ("POST /mcp HTTP/1.1", 404)]
    {
        assert_eq!(ask(&mut app, &list.clone().line(line)).await.status(), status, "{line}");
    }
}

#[tokio::test]
async fn caller_and_trust_come_from_the_request() {
    let options = |parts: &axum::http::request::Parts| {
        let name = parts.headers.get("x-user").and_then(|name| name.to_str().ok());
        match name {
            Some("root") => CallOptions::new().caller("root").trust(TrustLevel::Trusted),
            Some(name) => CallOptions::new().caller(name),
            None => CallOptions::new(),
        }
    };
    let mut service = Http::new(server()).call_options(options).service();
    for version in VERSIONS {
        for (user, deletes) in [("root", true), ("ada", false)] {
            let know = call(version, "t_know", json!({})).with("X-User", user);
            let known = value(ask(&mut service, &know).await).await["result"]["structuredContent"].clone();
            assert_eq!(known["caller"], user);
            assert_eq!(known["trust"] == "trusted", deletes);
            let delete = call(version, "t_delete", json!({})).with("X-User", user);
            assert_eq!(value(ask(&mut service, &delete).await).await["result"]["isError"], !deletes, "{user}");
        }
    }
}

#[tokio::test]
async fn foreign_errors_are_masked_unless_configured_otherwise() {
    let log = Log::new();
    let open = Server::new(builder(&log).mask_errors(false).build().unwrap());
    for (mut service, masked) in [
        (Http::new(server()).service(), true),
        (Http::new(server()).call_options(|_| CallOptions::new().mask_errors(false)).service(), false),
        (Http::new(server()).call_options(|_| CallOptions::new().caller("ada")).service(), true),
        (Http::new(open).service(), false),
    ] {
        for version in VERSIONS {
            let failed = value(ask(&mut service, &call(version, "t_fail", json!({}))).await).await;
            assert_eq!(failed["result"]["isError"], true);
            assert_eq!(!failed.to_string().contains("db-7.internal"), masked, "{failed}");
        }
    }
}

#[tokio::test]
async fn a_mounted_endpoint_announces_that_it_stops() {
    let stop = CancelToken::new();
    let mut app = Http::new(server()).stop_with(stop.clone()).router();
    let list = modern("tools/list", json!({}));
    let listen = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let before = ask(&mut app, &list).await;
    assert_eq!(before.headers().get("connection"), None);
    let mut stream = ask(&mut app, &listen).await.into_body();
    assert!(frame(&mut stream).await.unwrap().contains("acknowledged"));
    stop.cancel();
    let rest = frame(&mut stream).await.unwrap();
    assert!(rest.contains("\"result\"") || frame(&mut stream).await.unwrap().contains("\"result\""), "{rest}");
    let after = ask(&mut app, &list).await;
    assert_eq!((after.status(), &after.headers()["connection"]), (StatusCode::OK, &"close".parse().unwrap()));
    let health = ask(&mut app, &Ask::new("GET").line("GET /health HTTP/1.1")).await;
    assert_eq!(health.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(value(health).await, json!({ "status": "stopping" }));
    // A late request is answered at once.
    let mut late = ask(&mut app, &listen).await.into_body();
    let mut text = String::new();
    while let Some(part) = frame(&mut late).await {
        text += &part;
    }
    assert!(text.contains("acknowledged") && text.contains("\"result\""), "{text}");
}

/// A stream after its first comment or message.
async fn opened(service: &mut HttpService, what: &Ask) -> mcp_registry::http::HttpBody {
    let response = ask(service, what).await;
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    assert!(frame(&mut body).await.is_some());
    body
}

#[tokio::test(start_paused = true)]
async fn d17_a_silent_stream_is_kept_alive() {
    let server = server();
    let registry = server.registry().clone();
    let mut service = Http::new(server).service();
    let listen = modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let get = Ask::new("GET").with("Accept", "text/event-stream");
    for ask in [listen, get.clone(), call_told("2026-07-28", "t_step", json!({}))] {
        let mut body = opened(&mut service, &ask).await;
        for _ in 0..3 {
            let started = tokio::time::Instant::now();
            let said = frame(&mut body).await.unwrap();
            // The greeting may come first.
            assert_eq!(said, ":\n\n");
            assert!(started.elapsed() <= Duration::from_secs(30), "{:?}", started.elapsed());
        }
        let started = tokio::time::Instant::now();
        frame(&mut body).await.unwrap();
        assert!(started.elapsed() >= Duration::from_secs(10), "it is no chatter");
    }
    let mut body = opened(&mut service, &get).await;
    registry.register(new_tool("t.one")).unwrap();
    assert!(frame(&mut body).await.unwrap().contains("list_changed"), "at once");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_does_not_arrive_times_out() {
    let mut service = Http::new(server()).service();
    let mut never = request(&modern("tools/list", json!({})));
    *never.body_mut() = Body::new(Never);
    let response = service.call(never).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_trickles_in_times_out() {
    let mut service = Http::new(server()).service();
    // Each part arrives in time, but the message never ends.
    for (pause, bytes) in [(1, 1), (20, 1), (29, 1000)] {
        let mut slow = request(&modern("tools/list", json!({})));
        let next = Box::pin(tokio::time::sleep(Duration::from_secs(pause)));
        *slow.body_mut() = Body::new(Trickle { pause: Duration::from_secs(pause), bytes, next });
        let started = tokio::time::Instant::now();
        let response = service.call(slow).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_message_may_take_its_time() {
    let mut service = Http::new(server()).service();
    let mut long = request(&modern("tools/list", json!({})));
    let pause = Duration::from_secs(5);
    let next = Box::pin(tokio::time::sleep(pause));
    *long.body_mut() = Body::new(Trickle { pause, bytes: 200_000, next });
    // It grows until it is too long.
    assert_eq!(service.call(long).await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
}

/// Yields this many bytes after each pause, and never ends.
struct Trickle {
    pause: Duration,
    bytes: usize,
    next: Pin<Box<tokio::time::Sleep>>,
}

impl axum::body::HttpBody for Trickle {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::ready!(self.next.as_mut().poll(context));
        let next = tokio::time::Instant::now() + self.pause;
        self.next.as_mut().reset(next);
        std::task::Poll::Ready(Some(Ok(Frame::data(vec![b' '; self.bytes].into()))))
    }
}

/// Yields nothing, and never ends.
struct Never;

impl axum::body::HttpBody for Never {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test]
async fn a_complete_body_has_a_known_length() {
    let mut service = Http::new(server()).service();
    let body = ask(&mut service, &modern("tools/list", json!({}))).await.into_body();
    assert!(body.size_hint().exact().unwrap() > 1000 && !body.is_end_stream());
    let body = ask(&mut service, &Ask::post(r#"{"jsonrpc":"2.0","method":"a"}"#)).await.into_body();
    assert!(body.is_end_stream());
}

#[test]
fn a_panic_outside_of_a_tool_fails_only_its_request() {
    let options = |parts: &axum::http::request::Parts| {
        assert!(!parts.headers.contains_key("x-panic"), "on purpose");
        CallOptions::new()
    };
    let served = Served::with(|http| http.call_options(options).max_in_flight(2));
    for version in VERSIONS {
        for _ in 0..3 {
            let mut wire = served.wire();
            wire.send(in_version(version, "tools/list", json!({})).with("X-Panic", "yes").bytes());
            assert_eq!(wire.reply().refusal(), (500, -32603));
        }
        served.is_well();
    }
}

#[tokio::test]
async fn an_extension_that_panics_when_it_is_dropped_loses_no_answer() {
    #[derive(Clone)]
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(7);
        }
    }

    let mut service = Http::new(server()).service();
    let told = call_told(VERSIONS[0], "t_add", json!({ "a": 2, "b": 3 }));
    for (ask, expected) in [(told.clone(), 200), (told.with("Content-Type", "text/plain"), 500)] {
        let mut request = request(&ask);
        request.extensions_mut().insert(Bomb);
        let response = service.call(request).await.unwrap();
        assert_eq!(response.status(), expected);
    }
}

#[test]
fn an_invalid_path_panics_when_it_is_set() {
    for path in ["", "mcp", "http://localhost/mcp", "/health"] {
        let panicked = std::panic::catch_unwind(|| Http::new(server()).path(path)).unwrap_err();
        let message = panicked.downcast_ref::<String>().unwrap();
        assert!(message.contains("path"), "{message}");
    }
}

#[test]
fn an_origin_that_no_browser_sends_panics_when_it_is_set() {
    for origin in [
        "*",
        "",
        "app.example.com",
        "app.example.com:8080",
        "https://",
        "https://app.example.com/app",
        "https://app.example.com//",
        "https://app.example.com?a",
        "https://app.example.com#a",
        "https://ada@app.example.com",
        "https://*.example.com",
        "https://app.example.com:443",
        "http://app.example.com:80",
        "https://app.example.com:",
        "https://app.example.com:99999",
        "https://b\u{fc}cher.example",
        " https://app.example.com",
        "https:// app.example.com",
    ] {
        let panicked = std::panic::catch_unwind(|| Http::new(server()).allow_origin(origin)).unwrap_err();
        let message = panicked.downcast_ref::<String>().unwrap();
        assert!(message.starts_with(&format!("`{origin}` is not an origin")), "{message}");
        assert!(message.contains("such as `https://app.example.com`"), "{message}");
    }
    for origin in [
        "https://app.example.com",
        "https://app.example.com/",
        "HTTPS://App.Example.com",
        "http://localhost:5173",
        "http://[::1]:5173",
        "https://app.example.com:80",
        "app-shell://localhost",
        "null",
    ] {
        let _ = Http::new(server()).allow_origin(origin);
    }
}
