//! Bytes to the HTTP endpoint, through an in-memory connection of hyper: every answer is valid HTTP, and a request without
//! an allowed `Host`, `Origin` and token is refused.
//!
//! The first byte says who may ask, and whether the bytes are sent as they are (bit 2 is set) or requests are made from
//! them; the second how many are sent at a time.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::Poll;

use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use mcp_registry::Http;
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
use tower_service::Service as _;

use crate::dice::Dice;
use crate::generate;
use crate::lines::RUNTIME;
use crate::served::{SERVER, TOOLS};
use crate::shown;

/// How often the connection is polled without progress before it counts as idle.
const IDLE: usize = 8;

/// The size of the buffer between the two ends: more than any input sends or receives.
const ROOM: usize = 1 << 20;

/// Whether a request should be let in, by the rules of this target.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) is_granted: bool,
}

/// Who may ask.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Local,
    Token,
    Named,
}

const TOKEN: &str = "s3cret";
const NAMED_HOST: &str = "api.example";
const NAMED_ORIGIN: &str = "https://app.example";

impl Rule {
    fn http(self) -> Http {
        let http = Http::new(SERVER.clone());
        match self {
            Self::Local => http,
            Self::Token => http.token(TOKEN),
            Self::Named => http.allow_host(NAMED_HOST).allow_origin(NAMED_ORIGIN),
        }
    }

    fn access<B>(self, request: &Request<B>) -> Access {
        let headers = request.headers();
        let is_known = matches!(self, Self::Token) || self.knows_host(request);
        let mut origins = headers.get_all(ORIGIN).iter();
        let is_granted =
            is_known && origins.all(|it| it.to_str().is_ok_and(|it| self.is_origin(it))) && self.has_token(headers);
        Access { is_granted }
    }

    fn knows_host<B>(self, request: &Request<B>) -> bool {
        let named: Vec<_> = request.headers().get_all(HOST).iter().collect();
        let named_is_known = named.iter().all(|it| it.to_str().is_ok_and(|it| self.is_host(it)));
        let target = request.uri().authority();
        named.len() <= 1
            && named_is_known
            && target.is_none_or(|it| self.is_host(it.as_str()))
            && (named.len() == 1 || target.is_some())
    }

    fn is_host(self, host: &str) -> bool {
        if host.contains(['@', '/', '\\', ' ', '?', '#', '%']) {
            return false;
        }
        // Only the name counts, not the port.
        let name = match host.find(']') {
            Some(end) => &host[..=end],
            None => host.split(':').next().unwrap_or_default(),
        };
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback())
            || (matches!(self, Self::Named) && name.eq_ignore_ascii_case(NAMED_HOST))
    }

    fn is_origin(self, origin: &str) -> bool {
        if matches!(self, Self::Named) && origin.eq_ignore_ascii_case(NAMED_ORIGIN) {
            return true;
        }
        let Some((_, rest)) = origin.split_once("://") else { return false };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        self.is_host(&rest[..end])
    }

    fn has_token(self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|given| given.to_str().ok());
        let is_it = |given: &str| {
            let (scheme, token) = given.split_once(' ').unwrap_or_default();
            scheme.eq_ignore_ascii_case("bearer") && token.trim() == TOKEN
        };
        !matches!(self, Self::Token) || given.is_some_and(is_it)
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let [mode, chunk, rest @ ..] = data else { return };
    let rule = [Rule::Local, Rule::Token, Rule::Named][usize::from(mode & 3) % 3];
    let requested;
    let bytes = if mode & 4 == 0 {
        requested = requests(&mut Dice::new(rest));
        requested.as_slice()
    } else {
        rest
    };
    let output = RUNTIME.block_on(exchange(rule, bytes, usize::from(*chunk)));
    check(bytes, &output);
}

/// Sends the bytes, and returns the answers.
async fn exchange(rule: Rule, bytes: &[u8], chunk: usize) -> Vec<u8> {
    let endpoint = rule.http().service();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let access = rule.access(&request);
        let mut endpoint = endpoint.clone();
        request.extensions_mut().insert(access.clone());
        async move {
            let head = format!("{} {} {:?}", request.method(), request.uri(), request.headers());
            let Ok(reply) = endpoint.call(request).await;
            let status = reply.status();
            assert!(access.is_granted || matches!(status.as_u16(), 401 | 403), "{rule:?} answers {status} to {head}");
            Ok::<_, Infallible>(reply)
        }
    });
    let (mut client, server) = duplex(ROOM);
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(server), service));
    let mut output = Vec::new();
    let chunks = bytes.chunks(if chunk == 0 { bytes.len().max(1) } else { chunk * 7 });
    // Whether the connection is over; what it ends in is the client's business.
    let mut is_over = false;
    for chunk in chunks.map(Some).chain([None]) {
        let sent = match chunk {
            Some(chunk) => client.write_all(chunk).await,
            None => client.shutdown().await,
        };
        let mut idle = if sent.is_ok() { 0 } else { IDLE };
        while idle < IDLE && !is_over {
            is_over = poll_fn(|context| Poll::Ready(connection.as_mut().poll(context).is_ready())).await;
            idle = if receive(&mut client, &mut output).await { 0 } else { idle + 1 };
            tokio::task::yield_now().await;
        }
    }
    while receive(&mut client, &mut output).await {}
    output
}

/// Takes what has arrived, and returns whether there was anything.
async fn receive(client: &mut DuplexStream, output: &mut Vec<u8>) -> bool {
    let mut room = [0; 4096];
    let mut room = ReadBuf::new(&mut room);
    let poll = poll_fn(|context| Poll::Ready(Pin::new(&mut *client).poll_read(context, &mut room))).await;
    output.extend_from_slice(room.filled());
    matches!(poll, Poll::Ready(Ok(()))) && !room.filled().is_empty()
}

/// Whether the output is a sequence of responses. The last one may be incomplete.
fn check(input: &[u8], output: &[u8]) {
    let told = || format!("input:\n{}\noutput:\n{}", shown(input), shown(output));
    // Its answer has no body.
    let has_head = input.windows(4).any(|window| window == b"HEAD");
    let mut rest = output;
    while !(rest.is_empty() || has_head && rest.len() < output.len()) {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(rest).unwrap_or_else(|error| panic!("{error}; {}", told()));
        let httparse::Status::Complete(head) = parsed else { return };
        let status = response.code.unwrap_or_default();
        let known =
            [100, 200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 413, 414, 415, 417, 431, 500, 501, 503, 505];
        assert!(known.contains(&status) && status != 500, "{status}; {}", told());
        let header = |name: &str| {
            let found = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| shown(header.value))
        };
        let body = &rest[head..];
        if status == 100 {
            rest = body;
            continue;
        }
        // What comes in chunks is a stream of events, of which any part may be missing here.
        let Some(length) = header("content-length").and_then(|length| length.parse::<usize>().ok()) else { return };
        if has_head {
            return;
        }
        let Some((body, after)) = body.split_at_checked(length) else { return };
        if header("content-type").is_some_and(|kind| kind == "application/json") && !body.is_empty() {
            let text = std::str::from_utf8(body).unwrap_or_else(|error| panic!("{error}; {}", told()));
            assert!(crate::loose::is_json(text), "{}", told());
        }
        rest = after;
    }
}

/// One or two requests, most of them valid.
fn requests(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..=dice.roll(2) {
        request(dice, &mut all);
    }
    all
}

fn request(dice: &mut Dice<'_>, out: &mut Vec<u8>) {
    // The first choice is valid, and more likely.
    fn pick<'a>(dice: &mut Dice<'_>, of: &[&'a str]) -> &'a str {
        let roll = dice.roll(of.len() * 2);
        of.get(roll).copied().unwrap_or(of[0])
    }
    let method = pick(dice, &["POST", "GET", "DELETE", "PUT", "HEAD", "OPTIONS", "post"]);
    let path = pick(
        dice,
        &["/mcp", "http://localhost/mcp", "http://evil.example/mcp", "*", "/", "/mcp?x=1", "http://me@localhost/"],
    );
    let mut head = format!("{method} {path} HTTP/1.{}\r\n", pick(dice, &["1", "0"]));
    let lines: [&[&str]; 9] = [
        &[
            "Host: localhost",
            "Host: 127.0.0.1:3000",
            "Host: [::1]:1",
            "Host: evil.example",
            "Host: localhost.evil.example",
            "Host: localhost@evil.example",
            "Host: evil.example:80@localhost",
            "Host: localhost\r\nHost: evil.example",
            "Host: api.example",
            "Host: ",
            "Host: 0x7f.1",
            "Host: [::ffff:127.0.0.1]",
            "X: y",
        ],
        &[
            "X: y",
            "Origin: http://localhost:5173",
            "Origin: https://evil.example",
            "Origin: null",
            "Origin: http://localhost.evil.example",
            "Origin: https://app.example",
            "Origin: http://localhost\r\nOrigin: http://evil.example",
            "Origin: http://evil.example/http://localhost",
            "Origin: http://localhost@evil.example",
            "Origin: ",
        ],
        &[
            "Authorization: Bearer s3cret",
            "Authorization: bearer  s3cret ",
            "Authorization: Bearer s3cre",
            "Authorization: Basic s3cret",
            "X: y",
        ],
        &[
            "Content-Type: application/json",
            "Content-Type: application/json; charset=utf-8",
            "Content-Type: application/json; charset=latin1",
            "Content-Type: text/plain",
            "X: y",
        ],
        &[
            "Accept: application/json, text/event-stream",
            "Accept: application/json",
            "Accept: text/event-stream",
            "Accept: text/html",
            "Accept: */*;q=0",
            "X: y",
        ],
        &[
            "X: y",
            "MCP-Protocol-Version: 2026-07-28",
            "MCP-Protocol-Version: 2025-11-25",
            "MCP-Protocol-Version: 2025-06-18",
            "MCP-Protocol-Version: 1999-01-01",
            "MCP-Protocol-Version: \u{e9}",
        ],
        &[
            "X: y",
            "Mcp-Method: tools/call",
            "Mcp-Method: tools/list",
            "Mcp-Method: server/discover",
            "Mcp-Method: subscriptions/listen",
        ],
        &["X: y", "Mcp-Name: fuzz.guarded", "Mcp-Name: fuzz_add", "Mcp-Name: =?base64?ZnV6ei5hZGQ=?="],
        &[
            "X: y",
            "Mcp-Session-Id: x",
            "Connection: close",
            "Expect: 100-continue",
            "Content-Encoding: gzip",
            "Transfer-Encoding: gzip",
        ],
    ];
    for choices in lines {
        let _ = write!(head, "{}\r\n", pick(dice, choices));
    }
    let body = match dice.roll(4) {
        0 => br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fuzz.guarded","arguments":{}}}"#
            .to_vec(),
        1 => dice.rest().to_vec(),
        _ => generate::message(&TOOLS, dice).into_bytes(),
    };
    out.extend_from_slice(head.as_bytes());
    match dice.roll(8) {
        6 => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
            out.extend_from_slice(&body);
            out.extend_from_slice(b"\r\n0\r\n\r\n");
        }
        7 => {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len() + dice.roll(4)).as_bytes());
            out.extend_from_slice(&body);
        }
        _ => {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            out.extend_from_slice(&body);
        }
    }
}
