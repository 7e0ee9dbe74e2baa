//! Access by host, origin and token, and the addresses that can be served.

use mcp_registry::error::TransportError;
use mcp_registry::{Http, Server, serve_http};
use serde_json::json;
use tokio::net::TcpListener;

use super::served::{Log, Served, builder};
use super::wire::{Ask, VERSIONS, call, in_version};

#[test]
fn d2_a_page_of_another_origin_is_refused() {
    let served = Served::with(|http| http.allow_origin("https://app.example"));
    for version in VERSIONS {
        let list = in_version(version, "tools/list", json!({}));
        for origin in ["http://localhost:5173", "http://127.0.0.1", "http://[::1]:8", "https://app.example"] {
            assert_eq!(served.ask(&list.clone().with("Origin", origin)).status, 200, "{version} {origin}");
        }
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://evil.example/#http://localhost",
            "https://app.example.evil.example",
            "https://app.example:444",
            "http://me@localhost",
            "evil://127.0.0.1",
            "file://localhost",
            "null",
            "",
            "\u{e9}",
        ] {
            let reply = served.ask(&list.clone().with("Origin", origin));
            assert_eq!(reply.refusal(), (403, -32600), "{version} {origin}");
        }
        let two = list.clone().and("Origin", "http://localhost").and("Origin", "https://evil.example");
        assert_eq!(served.ask(&two).status, 403);
        assert_eq!(served.ask(&list).status, 200, "no page at all");
    }
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        assert_eq!(served.ask(&Ask::new(method).with("Origin", "https://evil.example")).status, 403, "{method}");
    }
}

#[test]
fn an_origin_with_any_scheme_can_be_allowed_by_name() {
    let served = Served::with(|http| http.allow_origin("app-shell://localhost").allow_host("tools.example"));
    let list = in_version("2026-07-28", "tools/list", json!({}));
    for (origin, status) in [
        ("app-shell://localhost", 200),
        ("app-shell://127.0.0.1", 403),
        ("https://tools.example", 200),
        ("ftp://tools.example", 403),
    ] {
        assert_eq!(served.ask(&list.clone().with("Origin", origin)).status, status, "{origin}");
    }
}

#[test]
fn what_a_browser_sends_for_another_site_is_refused_unless_its_origin_is_allowed() {
    let served = Served::with(|http| http.allow_origin("https://app.example"));
    let get = Ask::new("GET").with("Accept", "text/event-stream").with("MCP-Protocol-Version", "2025-11-25");
    let status = |ask: &Ask| {
        let mut wire = served.wire();
        wire.send(ask.bytes());
        wire.head().status
    };
    for ask in [in_version("2026-07-28", "tools/list", json!({})), get] {
        for (site, origin, expected) in [
            ("cross-site", None, 403),
            ("same-site", None, 403),
            ("CROSS-SITE", None, 403),
            ("something-new", None, 403),
            ("", None, 403),
            ("cross-site", Some("https://evil.example"), 403),
            ("same-origin", Some("https://evil.example"), 403),
            ("cross-site", Some("https://app.example"), 200),
            ("cross-site", Some("http://localhost:5173"), 200),
            ("same-site", Some("http://localhost:5173"), 200),
            ("same-origin", None, 200),
            ("none", None, 200),
        ] {
            let mut ask = ask.clone().with("Sec-Fetch-Site", site);
            if let Some(origin) = origin {
                ask = ask.with("Origin", origin);
            }
            assert_eq!(status(&ask), expected, "{} {site} {origin:?}", ask.line);
        }
        let two = ask.clone().and("Sec-Fetch-Site", "none").and("Sec-Fetch-Site", "cross-site");
        assert_eq!(status(&two), 403);
    }
}

#[test]
fn a_stream_is_opened_only_if_accept_names_event_streams() {
    let served = Served::start();
    let status = |accept: Option<&str>| {
        let get = Ask::new("GET").with("MCP-Protocol-Version", "2025-11-25");
        let mut wire = served.wire();
        wire.send(accept.map_or(get.clone(), |accept| get.with("Accept", accept)).bytes());
        wire.head().status
    };
    for accept in ["text/event-stream", "application/json, Text/Event-Stream;q=0.5", "*/*, text/event-stream"] {
        assert_eq!(status(Some(accept)), 200, "{accept}");
    }
    let image = "image/avif,image/webp,image/*,*/*;q=0.8";
    for accept in ["*/*", "text/*", image, "text/event-stream;q=0, */*", "application/json", ""] {
        assert_eq!(status(Some(accept)), 406, "{accept}");
    }
    assert_eq!(status(None), 406);
}

#[test]
fn d2_only_local_host_names_are_accepted() {
    let served = Served::start();
    let port = served.address.port();
    for version in VERSIONS {
        let list = in_version(version, "tools/list", json!({}));
        for host in ["localhost", "LocalHost:1", "127.0.0.1", "[::1]:80", &format!("127.0.0.1:{port}")] {
            assert_eq!(served.ask(&list.clone().with("Host", host)).status, 200, "{version} {host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "me@localhost",
            "localhost:le",
            "localhost:99999",
            "0.0.0.0",
            "",
        ] {
            let reply = served.ask(&list.clone().with("Host", host));
            assert_eq!(reply.refusal(), (403, -32600), "{version} {host}");
        }
        assert_eq!(served.ask(&list.clone().without("Host")).status, 403, "none");
        assert_eq!(served.ask(&list.clone().and("Host", "localhost")).status, 403, "two");
        assert_eq!(served.ask(&list.clone().and("Host", "evil.example")).status, 403, "two that differ");
        let target = list.clone().line("POST http://evil.example/mcp HTTP/1.1");
        assert_eq!(served.ask(&target).status, 403, "the target is a host as well");
        let target = list.line("POST http://localhost/mcp HTTP/1.1");
        assert_eq!(served.ask(&target).status, 200);
    }
    assert_eq!(served.ask(&Ask::new("GET").with("Host", "evil.example")).status, 403);
}

#[test]
fn more_hosts_can_be_allowed() {
    let served = Served::with(|http| http.allow_host("tools.example").allow_host("other.example:81"));
    let list = in_version("2026-07-28", "tools/list", json!({}));
    for (host, status) in [
        ("tools.example", 200),
        ("TOOLS.example:443", 200),
        ("other.example:81", 200),
        ("other.example:82", 403),
        ("other.example", 403),
        ("localhost", 200),
        ("evil.example", 403),
    ] {
        assert_eq!(served.ask(&list.clone().with("Host", host)).status, status, "{host}");
    }
    let served = Served::with(Http::allow_any_host);
    assert_eq!(served.ask(&list.clone().with("Host", "evil.example")).status, 200);
    assert_eq!(served.ask(&list.clone().without("Host")).status, 200);
    let page = list.with("Host", "evil.example").with("Origin", "http://evil.example");
    assert_eq!(served.ask(&page).status, 403, "its origin still gives it away");
}

#[test]
fn d4_d20_a_token_is_required() {
    // With a line break, as read from a file.
    let served = Served::with(|http| http.token("s3cret-token\n").token("other"));
    for version in VERSIONS {
        let add = call(version, "t_add", json!({ "a": 1, "b": 1 }));
        for token in ["Bearer s3cret-token", "bearer s3cret-token", "Bearer other", "Bearer   other  "] {
            assert_eq!(served.ask(&add.clone().with("Authorization", token)).status, 200, "{version} {token}");
        }
        for (token, challenge) in [
            ("Bearer s3cret-toke", r#"Bearer error="invalid_token""#),
            ("Bearer s3cret-token2", r#"Bearer error="invalid_token""#),
            ("Bearer S3CRET-TOKEN", r#"Bearer error="invalid_token""#),
            ("Bearer ", "Bearer"),
            ("Bearer s", r#"Bearer error="invalid_token""#),
            ("Basic s3cret-token", "Bearer"),
            ("s3cret-token", "Bearer"),
            ("", "Bearer"),
        ] {
            let reply = served.ask(&add.clone().with("Authorization", token));
            assert_eq!(reply.refusal(), (401, -32600), "{version} {token}");
            assert_eq!(reply.header("www-authenticate"), Some(challenge), "{version} {token}");
            assert!(!String::from_utf8_lossy(&reply.body).contains("s3cret"), "{reply:?}");
        }
        let reply = served.ask(&add);
        assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Bearer")));
        let elsewhere = add.clone().with("Authorization", "Bearer other").with("Host", "tools.example");
        assert_eq!(served.ask(&elsewhere).status, 200, "who knows the token may come by any name");
        let page = add.with("Authorization", "Bearer other").with("Origin", "https://evil.example");
        assert_eq!(served.ask(&page).status, 403);
    }
    for method in ["GET", "DELETE", "PUT"] {
        assert_eq!(served.ask(&Ask::new(method)).status, 401, "{method}");
    }
    assert_eq!(served.ask(&Ask::new("GET").line("GET /health HTTP/1.1")).status, 200, "a probe has no token");
}

/// Why a listener is not served.
fn refused(address: &str, set: impl FnOnce(Http) -> Http) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = set(Http::new(Server::new(builder(&Log::new()).build().unwrap())));
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.unwrap();
        http.serve_until(listener, async {}).await.err().map(|error| error.to_string())
    })
}

#[test]
fn d3_an_address_that_others_can_reach_needs_a_token_or_external_authentication() {
    let message = refused("0.0.0.0:0", |http| http).unwrap();
    assert!(message.contains("0.0.0.0:") && message.contains("set a token"), "{message}");
    assert_eq!(refused("0.0.0.0:0", |http| http.token("s3cret")), None);
    assert_eq!(refused("0.0.0.0:0", Http::external_auth), None);
    assert_eq!(refused("127.0.0.1:0", |http| http), None);
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        for token in ["", "  ", "\n", "schlüssel", "two words"] {
            let message = refused(address, |http| http.token("good").token(token)).unwrap();
            assert!(message.contains("the token is empty, "), "{message}");
        }
    }
}

#[test]
fn s1_23_a_request_without_a_token_gets_an_authentication_error() {
    let served = Served::with(|http| http.token("s3cret-token"));
    for version in VERSIONS {
        let error = served.ask(&call(version, "t_add", json!({ "a": 1, "b": 1 }))).json()["error"].clone();
        assert_eq!(error["data"]["error_type"], "AuthenticationError", "{version} {error}");
    }
}

#[test]
fn s3_43_an_address_that_cannot_be_served_is_a_transport_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = || Server::new(builder(&Log::new()).build().unwrap());
    runtime.block_on(async {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let error = serve_http(server(), taken.local_addr().unwrap()).await.unwrap_err();
        assert!(matches!(error, TransportError::Bind { .. }), "{error}");
        assert!(error.to_string().ends_with("the address is in use; choose another port"), "{error}");
        let error = Http::new(server()).serve("0.0.0.0:0").await.unwrap_err();
        assert!(matches!(error, TransportError::Open { .. }), "{error}");
    });
}
