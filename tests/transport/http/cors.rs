//! Pages of other origins: the CORS headers for their browsers.

use serde_json::json;

use super::served::{Served, initialize};
use super::wire::{Ask, Reply, call, in_version, modern};

const PAGE: &str = "https://app.example";

/// A preflight request as a browser sends it: no token, and no body.
fn preflight(origin: &str) -> Ask {
    Ask::new("OPTIONS")
        .with("Origin", origin)
        .with("Access-Control-Request-Method", "POST")
        .with("Access-Control-Request-Headers", "authorization,content-type,mcp-method,mcp-param-region")
        .with("Sec-Fetch-Mode", "cors")
        .with("Sec-Fetch-Site", "cross-site")
}

fn served() -> Served {
    Served::with(|http| http.allow_origin(format!("{PAGE}/")).allow_origin("http://127.0.0.1:5173").token("secret"))
}

fn headers(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.iter().map(|(name, _)| name.as_str());
    names.filter(|name| name.starts_with("access-control-")).collect()
}

#[test]
fn a_preflight_of_an_allowed_page_is_answered_without_a_token() {
    let served = served();
    for origin in [PAGE, "http://127.0.0.1:5173"] {
        let reply = served.ask(&preflight(origin));
        assert_eq!((reply.status, reply.body.len()), (204, 0));
        for (name, value) in [
            ("access-control-allow-origin", origin),
            ("access-control-allow-methods", "POST, GET, DELETE"),
            ("access-control-allow-headers", "authorization,content-type,mcp-method,mcp-param-region"),
            ("access-control-max-age", "7200"),
            ("vary", "Origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{name}");
        }
        assert_eq!(reply.header("access-control-allow-private-network"), None);
    }
    let bare = served.ask(&preflight(PAGE).without("Access-Control-Request-Headers"));
    let sent = bare.header("access-control-allow-headers").unwrap();
    for name in ["authorization", "content-type", "mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"] {
        assert!(sent.split(", ").any(|known| known == name), "{name}");
    }
    let private = served.ask(&preflight(PAGE).with("Access-Control-Request-Private-Network", "true"));
    assert_eq!(private.header("access-control-allow-private-network"), Some("true"));
}

#[test]
fn other_pages_get_no_cors_headers() {
    let served = served();
    for origin in ["https://evil.example", "https://app.example.evil.example", "http://app.example", "null", ""] {
        let reply = served.ask(&preflight(origin));
        assert_eq!((reply.status, headers(&reply)), (403, vec![]), "{origin}");
        let list = modern("tools/list", json!({})).with("Authorization", "Bearer secret").with("Origin", origin);
        let reply = served.ask(&list);
        assert_eq!((reply.status, headers(&reply), reply.header("vary")), (403, vec![], Some("Origin")), "{origin}");
    }
    // Local pages are answered, but cannot read the answer unless they are allowed by name.
    let local = modern("tools/list", json!({})).with("Authorization", "Bearer secret");
    let reply = served.ask(&local.with("Origin", "http://localhost:5173"));
    assert_eq!((reply.status, headers(&reply)), (200, vec![]));
    assert_eq!(headers(&served.ask(&preflight("http://localhost:5173"))), [""; 0]);
    let twice = served.ask(&preflight(PAGE).and("Origin", PAGE));
    assert_eq!(headers(&twice), [""; 0]);
    let elsewhere = Served::with(|http| http.allow_origin(PAGE));
    assert_eq!(elsewhere.ask(&preflight(PAGE).with("Host", "evil.example")).status, 403, "the host is checked as well");
}

#[test]
fn an_allowed_page_reads_answers_of_all_kinds() {
    let served = served();
    let from_page = |ask: Ask| ask.with("Origin", PAGE).with("Sec-Fetch-Site", "cross-site");
    let with_token = |ask: Ask| from_page(ask).with("Authorization", "Bearer secret");
    let steps = call("2026-07-28", "t_steps", json!({ "count": 2 })).with("Accept", "text/event-stream");
    for (ask, status) in [
        (with_token(modern("tools/list", json!({}))), 200),
        (with_token(initialize("2025-11-25")), 200),
        (with_token(steps), 200),
        (with_token(call("2026-07-28", "t_fail", json!({}))), 200),
        (with_token(modern("nonsense", json!({}))), 404),
        (with_token(Ask::post("nonsense")), 400),
        (with_token(modern("tools/list", json!({})).with("Content-Type", "text/plain")), 415),
        (with_token(in_version("2025-11-25", "ping", json!({})).with("Mcp-Session-Id", "none")), 404),
        (with_token(Ask::new("PUT")), 405),
        (from_page(modern("tools/list", json!({}))), 401),
        (from_page(modern("tools/list", json!({}))).with("Authorization", "Bearer wrong"), 401),
    ] {
        let reply = served.ask(&ask);
        assert_eq!(reply.status, status, "{}", ask.line);
        assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE), "{status}");
        assert_eq!(reply.header("vary"), Some("Origin"), "{status}");
        let read = reply.header("access-control-expose-headers").unwrap();
        assert!(read.contains("mcp-session-id") && read.contains("www-authenticate"), "{read}");
    }
    let mut stream = served.wire();
    stream.send(with_token(Ask::new("GET").with("Accept", "text/event-stream")).bytes());
    let head = stream.head();
    assert!(head.is_events() && head.header("access-control-allow-origin") == Some(PAGE));
}

#[test]
fn without_allowed_origins_there_are_no_cors_headers() {
    let served = Served::start();
    for origin in [PAGE, "http://localhost:5173"] {
        let reply = served.ask(&preflight(origin));
        assert_eq!((headers(&reply), reply.header("vary")), (vec![], None));
    }
    let reply = served.ask(&modern("tools/list", json!({})).with("Origin", "http://localhost:5173"));
    assert_eq!((reply.status, headers(&reply), reply.header("vary")), (200, vec![], None));
}
