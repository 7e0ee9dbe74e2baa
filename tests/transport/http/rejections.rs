//! Rejected requests are recorded, and guessing a token is slow.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use mcp_registry::http::HttpService;
use mcp_registry::observe::{CallRecord, Observer, Rejection, RejectionReason};
use mcp_registry::{AuditLog, CallOptions, Http, Server};
use serde_json::{Value, json};
use support::wait_until_blocking;
use tokio::time::Instant;
use tower_service::Service as _;

use super::served::{Log, Served, builder, initialize};
use super::wire::{Ask, call, modern, older};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keeps the reasons and counts of rejections, and panics afterwards.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(RejectionReason, u64)>>>);

impl Observer for Told {
    fn observe(&self, _: &CallRecord<'_>) {}

    fn rejected(&self, rejection: &Rejection<'_>) {
        self.0.lock().unwrap().push((rejection.reason, rejection.count));
        panic!("on purpose");
    }
}

fn audited(set: impl FnOnce(Http) -> Http) -> (Served, AuditLog, Written) {
    let (log, written) = (Log::new(), Written::default());
    let audit = AuditLog::jsonl(written.clone());
    let registry = builder(&log).observer(Told::default()).observer(audit.clone()).build().unwrap();
    (Served::new(Server::new(registry), log, set), audit, written)
}

fn lines(audit: &AuditLog, written: &Written) -> Vec<Value> {
    assert!(audit.flush());
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rejected_requests_are_in_the_audit_log_and_their_tokens_are_not() {
    let (served, audit, written) = audited(|http| http.token("s3cret").allow_host("tools.example"));
    let list = modern("tools/list", json!({}));
    let known = list.clone().with("Authorization", "Bearer s3cret");
    let long = format!("https://{}.example", "e".repeat(10_000));
    let page = Ask::new("GET").with("Accept", "image/*").with("Sec-Fetch-Site", "cross-site");
    for (ask, status) in [
        (list.clone(), 401),
        (list.clone().with("Authorization", "Bearer gue55"), 401),
        (known.clone().with("Host", "evil.example"), 403),
        (known.clone().with("Origin", &long), 403),
        (page, 403),
        (known, 200),
    ] {
        assert_eq!(served.ask(&ask).status, status);
    }
    let lines = lines(&audit, &written);
    let reasons: Vec<_> = lines.iter().map(|line| line["rejected"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["missing_token", "wrong_token", "host", "origin", "origin"]);
    assert_eq!(lines[2]["detail"], "evil.example");
    let detail = lines[3]["detail"].as_str().unwrap();
    assert!(detail.starts_with("https://eee") && detail.len() < 300, "{detail}");
    for line in &lines {
        assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
        assert!(line["time"].is_string() && line.get("count").is_none(), "{line}");
        assert!(!line.to_string().contains("gue55") && !line.to_string().contains("s3cret"), "{line}");
    }
    let kept = audit.rejections();
    assert_eq!((kept.len(), kept[1].reason, kept[1].count), (5, RejectionReason::WrongToken, 1));
    assert!(audit.records().is_empty(), "nothing was called");
}

#[test]
fn requests_over_a_limit_or_with_the_session_of_another_are_in_the_audit_log() {
    let options = |request: &axum::http::request::Parts| {
        let caller = request.headers.get("x-caller").and_then(|name| name.to_str().ok());
        CallOptions::new().caller(caller.unwrap_or("nobody"))
    };
    let (served, audit, written) = audited(|http| http.call_options(options).max_in_flight(1).max_streams(0));
    let id = served.ask(&initialize("2025-11-25")).header("mcp-session-id").unwrap().to_owned();
    let ping = older("ping", &json!({})).with("Mcp-Session-Id", &id);
    assert_eq!(served.ask(&ping.with("X-Caller", "eve")).status, 404);
    let unknown = older("ping", &json!({})).with("Mcp-Session-Id", "unknown");
    assert_eq!(served.ask(&unknown).status, 404, "that is no intruder");
    assert_eq!(served.ask(&Ask::new("GET").with("Accept", "text/event-stream")).status, 503);
    let mut wire = served.wire();
    wire.send(call("2026-07-28", "t_wait", json!({})).bytes());
    served.log.wait_for("began", 1);
    assert_eq!(served.ask(&modern("tools/list", json!({}))).status, 503);
    let lines = lines(&audit, &written);
    let told: Vec<_> = lines.iter().map(|line| (line["rejected"].as_str().unwrap(), &line["detail"])).collect();
    let expected =
        [("foreign_session", json!(null)), ("busy", json!("streams")), ("busy", json!("requests in flight"))];
    assert_eq!(told, expected.iter().map(|(reason, detail)| (*reason, detail)).collect::<Vec<_>>());
    assert!(!lines.iter().any(|line| line.to_string().contains(&id)));
    served.log.release();
    assert_eq!(wire.reply().result(), "released");
    wait_until_blocking("the call is in the audit as well", || audit.records().len() == 1);
}

fn request(token: &str, host: &str) -> Request {
    let ask = modern("tools/list", json!({}));
    let mut request = Request::builder().method("POST").uri("/mcp");
    for (name, value) in &ask.headers {
        request = request.header(name, value.as_slice());
    }
    let mut request = request.body(Body::from(ask.body)).unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request.headers_mut().insert("host", host.parse().unwrap());
    request
}

async fn status(service: &mut HttpService, token: &str, host: &str) -> StatusCode {
    service.call(request(token, host)).await.unwrap().status()
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_rejections_is_reported_in_few_records_that_count_all_of_them() {
    let told = Told::default();
    let registry = builder(&Log::new()).observer(told.clone()).build().unwrap();
    let mut service = Http::new(Server::new(registry)).service();
    for _ in 0..1000 {
        assert_eq!(status(&mut service, "", "evil.example").await, StatusCode::FORBIDDEN);
    }
    assert!(told.0.lock().unwrap().len() < 20);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let sum = || told.0.lock().unwrap().iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!(sum(), 1000);
    assert!(told.0.lock().unwrap().len() < 20);
    for _ in 0..100 {
        status(&mut service, "", "evil.example").await;
    }
    drop(service);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(sum(), 1100);
}

#[tokio::test(start_paused = true)]
async fn rejections_that_were_not_reported_count_with_the_next_one() {
    let told = Told::default();
    let registry = builder(&Log::new()).observer(told.clone()).build().unwrap();
    let mut service = Http::new(Server::new(registry)).service();
    let counts = || told.0.lock().unwrap().iter().map(|(_, count)| *count).collect::<Vec<_>>();
    for (rejected, wait) in [(8, 500), (10, 700), (1, 5_000)] {
        for _ in 0..rejected {
            status(&mut service, "", "evil.example").await;
        }
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    assert_eq!(counts(), [vec![1; 8], vec![11]].concat());
}

#[tokio::test(start_paused = true)]
async fn each_flood_of_rejections_is_reported_soon_after_it() {
    let told = Told::default();
    let registry = builder(&Log::new()).observer(told.clone()).build().unwrap();
    let mut service = Http::new(Server::new(registry)).service();
    for floods in 1..=3 {
        for _ in 0..100 {
            status(&mut service, "", "evil.example").await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(told.0.lock().unwrap().iter().map(|(_, count)| count).sum::<u64>(), floods * 100);
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_wrong_token_is_delayed_and_no_other_is() {
    let mut service = Http::new(Server::new(builder(&Log::new()).build().unwrap())).token("s3cret").service();
    let started = Instant::now();
    let mut longest = Duration::ZERO;
    for _ in 0..40 {
        let before = Instant::now();
        assert_eq!(status(&mut service, "guess", "localhost").await, StatusCode::UNAUTHORIZED);
        let took = before.elapsed();
        assert!(took >= Duration::from_millis(100) && took <= Duration::from_secs(3), "{took:?}");
        longest = longest.max(took);
        let before = Instant::now();
        assert_eq!(status(&mut service, "s3cret", "localhost").await, StatusCode::OK);
        assert_eq!(before.elapsed(), Duration::ZERO, "it is slowed down by the wrong ones");
    }
    assert!(started.elapsed() > Duration::from_secs(10) && longest > Duration::from_millis(500), "{longest:?}");
}

/// The service of a server with the token `s3cret`, and what its observer is told.
fn with_token() -> (HttpService, Told) {
    let told = Told::default();
    let registry = builder(&Log::new()).observer(told.clone()).build().unwrap();
    (Http::new(Server::new(registry)).token("s3cret").service(), told)
}

/// Sends a token from an address. Returns the status, and how long the answer took.
fn send(service: &HttpService, token: &str, from: Option<&str>) -> tokio::task::JoinHandle<(StatusCode, Duration)> {
    let (mut service, mut request) = (service.clone(), request(token, "localhost"));
    if let Some(address) = from {
        request.extensions_mut().insert(address.parse::<SocketAddr>().unwrap());
    }
    let started = Instant::now();
    tokio::spawn(async move { (service.call(request).await.unwrap().status(), started.elapsed()) })
}

#[tokio::test(start_paused = true)]
async fn parallel_guesses_beyond_the_cap_are_refused_without_a_comparison() {
    let (service, told) = with_token();
    let mut sent: Vec<_> = (0..400).map(|_| send(&service, "guess", None)).collect();
    // The right one among them is not recognised either.
    sent.push(send(&service, "s3cret", None));
    let (mut delayed, mut refused) = (0, 0);
    for answer in sent {
        match answer.await.unwrap() {
            (StatusCode::UNAUTHORIZED, took) if took >= Duration::from_millis(100) => delayed += 1,
            (StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((delayed, refused), (128, 273));
    assert_eq!(send(&service, "s3cret", None).await.unwrap().0, StatusCode::OK, "once they are answered");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let count = |reason| told.0.lock().unwrap().iter().filter(|told| told.0 == reason).map(|told| told.1).sum::<u64>();
    assert_eq!((count(RejectionReason::WrongToken), count(RejectionReason::Busy)), (128, 273));
}

#[tokio::test(start_paused = true)]
async fn a_guess_counts_until_its_delay_is_over_even_if_its_sender_does_not_wait() {
    let (service, _) = with_token();
    for _ in 0..3 {
        for _ in 0..128 {
            let guess = send(&service, "guess", None);
            tokio::task::yield_now().await;
            assert!(!guess.is_finished(), "it is delayed");
            guess.abort();
        }
        let started = Instant::now();
        let refused = send(&service, "s3cret", None).await.unwrap();
        assert_eq!(refused, (StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO));
        tokio::time::sleep_until(started + Duration::from_secs(3)).await;
        assert_eq!(send(&service, "s3cret", None).await.unwrap().0, StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn the_guesses_of_one_address_lock_out_no_other() {
    let (service, _) = with_token();
    for (one, same, other) in [
        ("192.0.2.7:1", "192.0.2.7:2", "192.0.2.8:1"),
        ("[2001:db8::1]:1", "[2001:db8::ffff:2]:1", "[2001:db8:0:1::1]:1"),
        ("[::ffff:192.0.2.7]:1", "192.0.2.7:1", "[::ffff:192.0.2.8]:1"),
    ] {
        let guesses: Vec<_> = (0..200).map(|_| send(&service, "guess", Some(one))).collect();
        tokio::task::yield_now().await;
        assert_eq!(send(&service, "s3cret", Some(same)).await.unwrap().0, StatusCode::SERVICE_UNAVAILABLE, "{same}");
        let known = send(&service, "s3cret", Some(other)).await.unwrap();
        assert_eq!(known, (StatusCode::OK, Duration::ZERO), "{other}");
        let mut compared = 0;
        for guess in guesses {
            compared += usize::from(guess.await.unwrap().0 == StatusCode::UNAUTHORIZED);
        }
        assert_eq!(compared, 32);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(send(&service, "s3cret", Some(same)).await.unwrap().0, StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn the_guesses_of_an_address_are_forgotten_once_their_delays_are_over() {
    let (service, _) = with_token();
    for _ in 0..3 {
        for guess in (0..20).map(|_| send(&service, "guess", Some("192.0.2.7:1"))).collect::<Vec<_>>() {
            assert_eq!(guess.await.unwrap().0, StatusCode::UNAUTHORIZED);
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        // While others guess, the places of each address are counted.
        let others: Vec<_> =
            (0..40).map(|number| send(&service, "guess", Some(&format!("198.51.100.{number}:1")))).collect();
        tokio::task::yield_now().await;
        assert_eq!(send(&service, "s3cret", Some("192.0.2.7:1")).await.unwrap().0, StatusCode::OK);
        for other in others {
            assert_eq!(other.await.unwrap().0, StatusCode::UNAUTHORIZED);
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_delays_no_answer() {
    let stop = mcp_registry::CancelToken::new();
    let server = Server::new(builder(&Log::new()).build().unwrap());
    let mut service = Http::new(server).token("s3cret").stop_with(stop.clone()).service();
    stop.cancel();
    let started = Instant::now();
    assert_eq!(status(&mut service, "guess", "localhost").await, StatusCode::UNAUTHORIZED);
    assert_eq!(started.elapsed(), Duration::ZERO);
}
