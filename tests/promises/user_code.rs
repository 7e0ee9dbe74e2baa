//! Code that users write may panic: when it is called, when it is polled, when it is dropped.
//!
//! Each server is a process, `tests/fixtures/user_code.rs`, which is told what panics. For every hook and every moment:
//! each call gets exactly one answer, each call is recorded once, as it ended, other calls succeed meanwhile and
//! afterwards, and the process ends as if nothing had happened. `support::hooks` lists the hooks.

mod apart;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::hooks::{Hook, Moment};
use support::{LONG, wait_for_blocking};

/// Longer than any call takes.
const PATIENCE: Duration = Duration::from_secs(3);

/// How calls reach the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `Registry::call_with`.
    Call,
    /// `Registry::call_bytes`.
    Bytes,
    /// `serve_stdio`.
    Stdio,
    /// `serve_lines`.
    Lines,
    Http,
    /// `rmcp::Handler`.
    Rmcp,
}

impl Way {
    const ALL: [Self; 6] = [Self::Call, Self::Bytes, Self::Stdio, Self::Lines, Self::Http, Self::Rmcp];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether calls are messages of MCP.
    fn is_served(self) -> bool {
        !matches!(self, Self::Call | Self::Bytes)
    }
}

/// How a call has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    Failure,
    Denied,
    Cancelled,
    /// Answer and record agree.
    Either,
}

/// One row of the table: what panics, and what calls it.
#[derive(Debug)]
struct Row {
    hook: Hook,
    moment: Moment,
    tool: &'static str,
    end: End,
}

/// Whether a row shows only that calls are answered: the subscriber prevents even the record.
fn has_no_records(hook: Hook, moment: Moment) -> bool {
    matches!((hook, moment), (Hook::Subscriber, Moment::Polled))
}

/// The tools whose calls run this code at this moment.
fn tools(hook: Hook, moment: Moment) -> &'static [&'static str] {
    use Moment::{Called, Dropped, DroppedAtCancellation, DroppedAtDeadline, DroppedAtTheEnd, Polled};
    const EVERY: &[&str] = &["subject.inline", "subject.plain", "subject.later", "subject.made"];
    match (hook, moment) {
        (Hook::Tool, Polled | DroppedAtCancellation) => &["subject.later", "subject.made"],
        (Hook::Tool, DroppedAtDeadline) => &["subject.later_brief", "subject.made_brief"],
        (Hook::FromContext, Called | Polled | Dropped) => &["subject.plain", "subject.later"],
        (Hook::FromContext, DroppedAtCancellation) => &["subject.later"],
        (Hook::FromContext, DroppedAtDeadline) => &["subject.later_brief"],
        (Hook::OnChange, _) => &["subject.change"],
        (Hook::Default, _) => &["schema.default"],
        (Hook::Example, _) => &["schema.example"],
        (Hook::InputSchema, _) => &["schema.input"],
        (Hook::OutputSchema, _) => &["schema.output"],
        // These have tests of their own.
        (_, DroppedAtTheEnd)
        | (
            Hook::Rejected | Hook::KeepsMessages | Hook::OnNotification | Hook::Waker | Hook::MainWith | Hook::State,
            _,
        ) => &[],
        (
            Hook::Tool
            | Hook::Argument
            | Hook::Output
            | Hook::Error
            | Hook::Source
            | Hook::Gate
            | Hook::Layer
            | Hook::Observe
            | Hook::Subscriber
            | Hook::OnEvent
            | Hook::CallOptions
            | Hook::RmcpOptions,
            _,
        ) => EVERY,
    }
}

fn end(hook: Hook, moment: Moment) -> End {
    match (hook, moment) {
        (_, Moment::DroppedAtCancellation) => End::Cancelled,
        (Hook::Gate, Moment::Called | Moment::Polled) => End::Denied,
        (Hook::Gate | Hook::Layer | Hook::OnEvent | Hook::CallOptions | Hook::RmcpOptions, Moment::Dropped)
        | (Hook::Observe | Hook::OnChange, _)
        | (Hook::Subscriber, Moment::Called) => End::Success,
        (Hook::Example | Hook::InputSchema | Hook::OutputSchema | Hook::Subscriber, _) => End::Either,
        _ => End::Failure,
    }
}

/// Whether a server has the hook.
fn is_reached(hook: Hook, moment: Moment, way: Way, with: &str) -> bool {
    match (hook, moment) {
        // Spans are entered where a call is polled, which is where the caller's code panics in the same process.
        (Hook::Subscriber, Moment::Polled) => with.contains("tracing") && way.is_served() && way != Way::Rmcp,
        (Hook::Subscriber, _) => with.contains("tracing"),
        (Hook::Gate | Hook::Layer, _) => with.contains("gate"),
        (Hook::OnEvent, _) => !way.is_served(),
        (Hook::CallOptions, _) => way == Way::Http,
        (Hook::RmcpOptions, _) => way == Way::Rmcp,
        _ => true,
    }
}

fn rows(way: Way, with: &str) -> Vec<Row> {
    let moments = Hook::ALL.iter().copied().flat_map(|hook| hook.moments().iter().map(move |moment| (hook, *moment)));
    let reached = moments.filter(|(hook, moment)| is_reached(*hook, *moment, way, with));
    let rows = reached.flat_map(|(hook, moment)| {
        tools(hook, moment).iter().map(move |tool| Row { hook, moment, tool, end: end(hook, moment) })
    });
    rows.collect()
}

/// A server in another process, and the answers that have come.
struct Served {
    way: Way,
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    /// For the threads that wait for HTTP.
    send: Sender<Value>,
    /// The address and the session.
    http: Option<(String, String)>,
    last: u64,
    failed: Vec<String>,
}

impl Served {
    fn start(way: Way, with: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_user-code"))
            .env("USER_CODE", way.name() + with)
            // Every panic would take a tenth of a second.
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (lines, read) = channel();
        thread::spawn(move || {
            let lines_of = BufReader::new(output).lines().map_while(Result::ok);
            lines_of.for_each(|line| _ = lines.send(line));
        });
        let (send, answers) = channel();
        let (http, last, failed) = (None, 0, Vec::new());
        let mut served = Self { way, child, input, answers, send, http, last, failed };
        if way == Way::Http {
            let address = read.recv_timeout(LONG).unwrap();
            served.http = Some((address, String::new()));
        } else {
            let send = served.send.clone();
            thread::spawn(move || {
                for line in read {
                    let answer = serde_json::from_str(&line).unwrap_or_else(|error| json!(format!("{error}: {line}")));
                    let _ = send.send(answer);
                }
            });
        }
        if way.is_served() {
            let id = served.id();
            let info = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
            served.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params }), false);
            served.answer(id).unwrap();
            served.ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), false);
        }
        served
    }

    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Sends messages in one piece, as far as there is one.
    fn ask_all(&mut self, messages: &[Value], explodes: bool) {
        if self.http.is_some() {
            for message in messages {
                self.ask(message, explodes);
            }
            return;
        }
        let text = messages.iter().map(|message| message.to_string() + "\n").collect::<String>();
        // If the server is gone, the answers are missing.
        let _ = self.input.as_mut().unwrap().write_all(text.as_bytes());
    }

    fn ask(&mut self, message: &Value, explodes: bool) {
        let Some((address, session)) = &mut self.http else {
            return self.ask_all(std::slice::from_ref(message), explodes);
        };
        let mut headers = if session.is_empty() { String::new() } else { format!("Mcp-Session-Id: {session}\r\n") };
        if explodes {
            headers += "X-Explode: yes\r\n";
        }
        let reply = post(address, "localhost", &headers, message);
        let (id, send) = (message["id"].clone(), self.send.clone());
        if message["method"] == "initialize" {
            let (head, body) = reply.unwrap()();
            head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().clone_into(session);
            let _ = send.send(serde_json::from_str(&body).unwrap());
            return;
        }
        thread::spawn(move || {
            let (head, body) = reply.map(|reply| reply()).unwrap_or_default();
            if head.is_empty() {
                // Not an answer: the caller waits for it in vain.
                return;
            }
            let answer: Option<Value> =
                serde_json::from_str(&body).ok().filter(|answer: &Value| !answer["id"].is_null());
            let is_empty = body.is_empty() && head.starts_with("HTTP/1.1 2");
            let error = || json!({ "id": id, "error": { "message": body } });
            if !is_empty && !id.is_null() {
                let _ = send.send(answer.unwrap_or_else(error));
            }
        });
    }

    fn call(&mut self, tool: &str, arguments: &Value, explodes: bool) -> (u64, Value) {
        let id = self.id();
        let meta = if explodes { json!({ "explode": true }) } else { json!({}) };
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        (id, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }

    /// The next message, unless the server has ended.
    fn wait(&mut self, time: Duration) -> Option<Value> {
        let until = Instant::now() + time;
        loop {
            let is_over = self.has_ended() || Instant::now() >= until;
            match self.answers.recv_timeout(Duration::from_millis(100)) {
                Ok(message) => return Some(message),
                Err(_) if is_over => return None,
                Err(_) => {}
            }
        }
    }

    /// The next answer.
    fn next(&mut self, time: Duration) -> Option<(u64, Value)> {
        loop {
            let answer = self.wait(time)?;
            match answer.get("id").map(Value::as_u64) {
                Some(Some(id)) => return Some((id, answer)),
                // A notification.
                None if answer.get("method").is_some() => {}
                _ => self.failed.push(format!("nobody asked for {answer}")),
            }
        }
    }

    fn answer(&mut self, id: u64) -> Option<Value> {
        loop {
            let (answered, answer) = self.next(PATIENCE)?;
            if answered == id {
                return Some(answer);
            }
            self.failed.push(format!("a second answer, or one to a cancelled call: {answer}"));
        }
    }

    /// Calls a tool by itself, and returns its value.
    fn value(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let (id, call) = self.call(tool, arguments, false);
        self.ask(&call, false);
        let answer = self.answer(id)?;
        let result = &answer["result"];
        let value = [&result["structuredContent"]["result"], &result["data"]["result"]];
        value.into_iter().find(|value| !value.is_null()).cloned()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn end(mut self) -> ExitStatus {
        self.input = None;
        wait_for_blocking("the server ends", || self.child.try_wait().unwrap())
    }

    /// Waits for the records of these calls, by ID.
    fn records(&mut self, ids: &BTreeSet<u64>) -> BTreeMap<u64, Vec<String>> {
        let mut found: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for _ in 0..500 {
            let Some(records) = self.value("t.records", &json!({})) else { break };
            for record in records.as_array().into_iter().flatten() {
                if record.get("rejected").is_some() {
                    continue;
                }
                let id = record["id"].as_str().and_then(|id| id.parse().ok());
                let is_own = record["tool"].as_str().is_some_and(|tool| tool.starts_with("t."));
                match id {
                    _ if is_own => {}
                    Some(id) => found.entry(id).or_default().push(record["outcome"].as_str().unwrap().to_owned()),
                    None => self.failed.push(format!("a record of no call: {record}")),
                }
            }
            if ids.iter().all(|id| found.contains_key(id)) {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        found
    }

    /// Makes calls while something panics, and others before and after it.
    fn check(&mut self, row: &Row, bomb: bool) {
        let Row { hook, moment, tool, end } = row;
        let arguments =
            if tool.starts_with("schema.") || *tool == "subject.change" { json!({}) } else { json!({ "value": 5 }) };
        let is_options = matches!(hook, Hook::OnEvent | Hook::CallOptions | Hook::RmcpOptions);
        let mut before = BTreeSet::new();
        // After a quick call, the next one takes a shorter path.
        if !tool.starts_with("schema.") {
            for _ in 0..2 {
                let (id, call) = self.call(tool, &arguments, false);
                before.insert(id);
                self.ask(&call, false);
                let answer = self.answer(id);
                self.expect(answer.as_ref().is_some_and(is_success), || format!("before: {answer:?}"));
            }
        }
        let names = json!({ "hook": format!("{hook:?}"), "moment": format!("{moment:?}"), "bomb": bomb });
        let is_armed = self.value("t.arm", &names);
        self.expect(is_armed == Some(json!(true)), || format!("not armed: {is_armed:?}"));
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(self.call(tool, &arguments, is_options));
        }
        let mut ids: BTreeSet<u64> = calls.iter().map(|(id, _)| *id).collect();
        let armed = ids.clone();
        let (healthy, call) = self.call("t.add", &json!({ "a": 2, "b": 3 }), false);
        calls.push((healthy, call));
        let mut expected = ids.clone();
        expected.insert(healthy);
        let mut listed = None;
        if tool.starts_with("schema.") && self.way.is_served() {
            let id = self.id();
            calls.push((id, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} })));
            expected.insert(id);
            listed = Some(id);
        }
        if is_options && self.http.is_some() {
            // Only these calls ask for it.
            for (id, call) in &calls {
                self.ask(call, armed.contains(id));
            }
        } else {
            let messages: Vec<Value> = calls.into_iter().map(|(_, call)| call).collect();
            self.ask_all(&messages, false);
        }
        if *end == End::Cancelled {
            let mut waiting = None;
            for _ in 0..2000 {
                waiting = self.waiting(&mut expected, healthy);
                if waiting == Some(3) || self.has_ended() {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            self.expect(waiting == Some(3), || format!("{waiting:?} calls are waiting"));
            for id in &armed {
                let params = json!({ "requestId": id });
                let off = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                self.ask(&off, false);
            }
        }
        let mut answers: BTreeMap<u64, Value> = BTreeMap::new();
        // A client that cancels a call gets no answer; who calls the registry does.
        if *end == End::Cancelled && self.way.is_served() {
            expected.retain(|id| !armed.contains(id));
        }
        while !expected.is_empty() {
            let Some((id, answer)) = self.next(PATIENCE) else { break };
            let is_expected = expected.remove(&id);
            self.expect(is_expected, || format!("an answer that nobody expects: {answer}"));
            answers.insert(id, answer);
        }
        self.expect(expected.is_empty(), || format!("never answered: {} of 4", expected.len()));
        let is_well = answers.get(&healthy).is_some_and(is_success) || *end == End::Cancelled;
        self.expect(is_well, || format!("another call fails: {:?}", answers.get(&healthy)));
        if let Some(listed) = listed {
            let is_answered = answers.get(&listed).is_some_and(|answer| answer.get("result") != answer.get("error"));
            self.expect(is_answered, || "the list is not answered".to_owned());
        }
        for id in &armed {
            let Some(answer) = answers.get(id) else { continue };
            let succeeds = is_success(answer);
            let fits = *end == End::Either || succeeds == (*end == End::Success);
            self.expect(fits, || format!("{end:?} is expected: {answer}"));
            if *hook == Hook::OnChange {
                let text = answer.to_string();
                self.expect(text.contains(r#""result":1"#), || format!("the second listener is not called: {text}"));
            }
        }
        let _ = self.value("t.arm", &json!({ "hook": "", "moment": "", "bomb": false }));
        let (after, call) = self.call(tool, &arguments, is_options);
        self.ask(&call, is_options);
        let answer = self.answer(after);
        self.expect(answer.as_ref().is_some_and(is_success), || format!("afterwards: {answer:?}"));
        ids.insert(after);
        ids.extend(&before);
        self.check_records(row, &armed, &ids, &answers);
    }

    fn check_records(
        &mut self,
        Row { hook, moment, end, .. }: &Row,
        armed: &BTreeSet<u64>,
        ids: &BTreeSet<u64>,
        answers: &BTreeMap<u64, Value>,
    ) {
        if has_no_records(*hook, *moment) {
            self.records(&BTreeSet::new());
            return;
        }
        // The options are determined before the message is read.
        let is_rejected = (*hook, *moment) == (Hook::CallOptions, Moment::Called);
        let recorded: BTreeSet<u64> = ids.iter().filter(|id| !(is_rejected && armed.contains(id))).copied().collect();
        let records = self.records(&recorded);
        for id in &recorded {
            let outcome = match end {
                _ if !armed.contains(id) => "success",
                End::Success => "success",
                End::Denied => "denied",
                End::Cancelled => "cancelled",
                End::Either if answers.get(id).is_some_and(is_success) => "success",
                End::Failure | End::Either => "failure",
            };
            let found = records.get(id).cloned().unwrap_or_default();
            self.expect(found == [outcome], || format!("recorded as {found:?} instead of {outcome}"));
        }
        let others: Vec<_> = records.keys().filter(|id| !recorded.contains(id)).collect();
        self.expect(others.is_empty(), || "a call of another row is recorded now".to_owned());
    }

    /// How many calls wait. Answers to other calls are taken out of the expected ones.
    fn waiting(&mut self, expected: &mut BTreeSet<u64>, healthy: u64) -> Option<u64> {
        let (id, call) = self.call("t.waiting", &json!({}), false);
        self.ask(&call, false);
        loop {
            let (answered, answer) = self.next(PATIENCE)?;
            if answered == id {
                let result = &answer["result"];
                return result["structuredContent"]["result"].as_u64().or(result["data"]["result"].as_u64());
            }
            let is_well = answered == healthy && expected.remove(&healthy) && is_success(&answer);
            self.expect(is_well, || format!("not waited for: {answer}"));
        }
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.failed.push(what());
        }
    }
}

fn is_success(answer: &Value) -> bool {
    let result = &answer["result"];
    result.is_object()
        && result["isError"] != json!(true)
        && result.get("status").is_none_or(|status| status == "success")
}

/// Sends a message by HTTP. Returns a function that waits for the head and the body of the reply.
fn post(
    address: &str,
    host: &str,
    headers: &str,
    message: &Value,
) -> std::io::Result<impl FnOnce() -> (String, String) + Send + use<>> {
    let (mut stream, body) = (TcpStream::connect(address)?, message.to_string());
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let accept = "Accept: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n";
    write!(stream, "{head}{accept}Content-Length: {}\r\n{headers}\r\n{body}", body.len())?;
    Ok(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_once("\r\n\r\n").map(|(head, body)| (head.to_owned(), body.to_owned())).unwrap_or_default()
    })
}

/// A server with everything that sees each call.
const WRAPPED: &str = "+gate+layer+tracing";

/// Checks every row on one server. Reports all that fail.
fn check_all(way: Way, with: &str) {
    let mut served = Served::start(way, with);
    let mut failed = Vec::new();
    for bomb in [false, true] {
        for row in rows(way, with) {
            served.check(&row, bomb);
            let Row { hook, moment, tool, .. } = row;
            let found = std::mem::take(&mut served.failed);
            failed.extend(found.into_iter().map(|what| format!("{hook:?} {moment:?} {bomb} {tool}: {what}")));
            if served.has_ended() {
                let status = served.child.wait().unwrap();
                failed.push(format!("{hook:?} {moment:?} {bomb} {tool}: the server has ended with {status}"));
                served = Served::start(way, with);
            }
        }
    }
    if way.is_served() {
        let id = served.id();
        served.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }), false);
        let answer = served.answer(id).unwrap();
        served.expect(answer["result"]["tools"].is_array(), || format!("the list in the end: {answer}"));
    }
    failed.append(&mut served.failed);
    let status = served.end();
    if !status.success() {
        failed.push(format!("in the end: {status}"));
    }
    assert!(failed.is_empty(), "{way:?}{with}: {} failures\n{}", failed.len(), failed.join("\n"));
}

macro_rules! every_way {
    ($($plain:ident, $wrapped:ident: $way:expr;)*) => {$(
        #[test]
        fn $plain() {
            check_all($way, "");
        }

        #[test]
        fn $wrapped() {
            check_all($way, WRAPPED);
        }
    )*};
}

every_way! {
    user_code_that_panics_fails_only_its_own_call, with_gate_and_layer_user_code_that_panics_fails_only_its_own_call: Way::Call;
    over_bytes_it_fails_only_its_own_call, with_gate_and_layer_over_bytes_it_fails_only_its_own_call: Way::Bytes;
    over_stdio_it_fails_only_its_own_call, with_gate_and_layer_over_stdio_it_fails_only_its_own_call: Way::Stdio;
    over_lines_it_fails_only_its_own_call, with_gate_and_layer_over_lines_it_fails_only_its_own_call: Way::Lines;
    over_http_it_fails_only_its_own_call, with_gate_and_layer_over_http_it_fails_only_its_own_call: Way::Http;
    inside_rmcp_it_fails_only_its_own_call, with_gate_and_layer_inside_rmcp_it_fails_only_its_own_call: Way::Rmcp;
}

#[test]
fn with_a_subscriber_over_stdio_it_fails_only_its_own_call() {
    // Without a gate, plain functions are answered on the thread that reads.
    check_all(Way::Stdio, "+tracing");
}
