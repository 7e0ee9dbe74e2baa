//! The program, through its pipes.

use std::fs;
use std::io::Read;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::{Served, call, result_of};

#[test]
fn a_slow_call_does_not_delay_a_quick_one() {
    let mut served = Served::start();
    served.ask(1, "t_slow", &json!({ "ms": 400 }));
    served.ask(2, "t_block", &json!({ "ms": 200 }));
    served.ask(3, "t_add", &json!({ "a": 2, "b": 3 }));
    let answers = [served.line(), served.line(), served.line()];
    assert_eq!(answers.each_ref().map(|answer| answer["id"].clone()), [3, 2, 1]);
    assert_eq!(answers.each_ref().map(|answer| result_of(answer).clone()), [5, 200, 400]);
    let (rest, status, errors) = served.end();
    assert!(rest.is_empty() && status.success() && errors.contains("the end"), "{errors}");
}

#[test]
fn a_thousand_requests_in_one_write_are_all_answered() {
    let mut served = Served::start();
    for tool in ["t_add", "t_slow", "t_block"] {
        let mut text = String::new();
        for id in 0..1000 {
            let arguments = if tool == "t_add" { json!({ "a": id, "b": 1 }) } else { json!({ "ms": id % 2 }) };
            text += &call(id, tool, &arguments).to_string();
            text.push('\n');
        }
        served.send(&text);
        let (answers, _) = served.answers(1000);
        for id in 0..1000 {
            let expected = if tool == "t_add" { id + 1 } else { id % 2 };
            assert_eq!(*result_of(&answers[&id.to_string()]), expected, "{tool} {id}");
        }
    }
    let (rest, status, _) = served.end();
    assert!(rest.is_empty() && status.success());
}

#[test]
fn plain_tools_that_were_quick_and_now_block_do_not_delay_others() {
    let mut served = Served::start();
    for id in 0..100 {
        served.ask(id, "t_block", &json!({ "ms": 0 }));
    }
    served.answers(100);
    let mut text = String::new();
    for id in 0..200 {
        // Every third one blocks.
        let ms = if id % 3 == 0 { 60_000 } else { 0 };
        text += &call(id, "t_block", &json!({ "ms": ms })).to_string();
        text.push('\n');
    }
    served.send(&text);
    served.ask(200, "t_add", &json!({ "a": 2, "b": 3 }));
    let (answers, _) = served.answers(200 - 67 + 1);
    assert_eq!(*result_of(&answers["200"]), 5);
    assert!((0..200).filter(|id| id % 3 != 0).all(|id| *result_of(&answers[&id.to_string()]) == 0));
}

#[test]
fn requests_in_flight_are_answered_at_the_end_of_input() {
    let mut served = Served::start();
    served.ask(1, "t_slow", &json!({ "ms": 300 }));
    served.ask(2, "t_block", &json!({ "ms": 300 }));
    // Without a line break.
    served.send(call(3, "t_slow", &json!({ "ms": 100 })).to_string());
    let (rest, status, errors) = served.end();
    assert_eq!(rest.len(), 3);
    assert_eq!(rest[0]["id"], 3);
    assert!(status.success() && errors.contains("the end"), "{errors}");
}

#[test]
fn without_any_input_the_program_ends() {
    let (rest, status, errors) = Served::start().end();
    assert!(rest.is_empty() && status.success() && errors.contains("the end"), "{errors}");
}

pub(crate) fn signal(served: &Served, name: &str) {
    let status = Command::new("kill").args([name, &served.child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A call that has begun.
fn begin_slow(served: &mut Served, ms: u64) {
    served.ask(1, "t_slow", &json!({ "ms": ms }));
    served.wait_for("slow began");
}

#[test]
fn requests_in_flight_are_answered_at_a_signal() {
    for name in ["-TERM", "-INT"] {
        let mut served = Served::start();
        begin_slow(&mut served, 500);
        let started = Instant::now();
        signal(&served, name);
        // The input stays open.
        let (rest, status, errors) = served.wait();
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_eq!(*result_of(&rest[0]), 500);
        assert!(status.success() && errors.contains("the end"), "{errors}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn an_idle_program_ends_at_a_signal_and_answers_subscriptions() {
    let mut served = Served::start();
    served.send(format!("{}\n", listen("l1")));
    assert_eq!(served.line()["method"], "notifications/subscriptions/acknowledged");
    signal(&served, "-TERM");
    let (rest, status, _) = served.wait();
    assert!(status.success());
    let [answer] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!(answer["id"], "l1");
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn requests_that_were_read_are_answered_at_a_signal_even_if_the_client_reads_late() {
    let (mut served, output) = Served::start_unread();
    // One write, which the server reads at once. Answers have 20 kB, so that the pipe cannot hold all of them.
    let request = |id| call(id, "t_text", &json!({ "length": 10_000 })).to_string() + "\n";
    let requests: String = (0..300).map(request).collect();
    assert!(requests.len() < 60_000);
    served.send(requests);
    thread::sleep(Duration::from_millis(500));
    signal(&served, "-TERM");
    thread::sleep(Duration::from_millis(200));
    served.read(output);
    let (rest, status, _) = served.wait();
    assert!(status.success());
    assert_eq!(rest.len(), 300);
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let mut served = Served::start();
    begin_slow(&mut served, 100_000);
    let started = Instant::now();
    signal(&served, "-TERM");
    thread::sleep(Duration::from_millis(300));
    assert!(served.child.try_wait().unwrap().is_none(), "it waits for the call");
    signal(&served, "-TERM");
    let (rest, _, errors) = served.wait();
    // The call is cancelled, and its error is written if the pipe has room.
    let is_cancelled = |answer: &Value| answer["result"]["_meta"]["error"]["error_type"] == "CancelledError";
    assert!(rest.iter().all(is_cancelled) && errors.contains("the end"), "{rest:?}\n{errors}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_output_of_tools_does_not_reach_the_client() {
    let mut served = Served::start();
    served.ask(1, "t_print", &json!({ "text": "{\"jsonrpc\":\"2.0\"}\nprinted" }));
    served.ask(2, "t_shell", &json!({}));
    served.ask(3, "t_panic", &json!({}));
    let (answers, _) = served.answers(3);
    assert_eq!(answers["1"]["result"]["isError"], false);
    assert_eq!(*result_of(&answers["2"]), true, "there is nothing to read for others");
    assert_eq!(answers["3"]["result"]["isError"], true);
    let (rest, status, errors) = served.end();
    assert!(rest.is_empty() && status.success());
    for text in ["printed", "and no line break", "from the shell", "on purpose", "after the end"] {
        assert!(errors.contains(text), "{text}: {errors}");
    }
}

#[test]
fn odd_lines_are_answered_and_the_connection_stays_open() {
    let mut served = Served::start();
    let mut code = |line: &[u8]| {
        served.send([line, b"\n"].concat());
        let answer = served.line();
        assert_eq!(answer["id"], Value::Null, "{answer}");
        answer["error"]["code"].clone()
    };
    assert_eq!(code(b"{"), -32700);
    assert_eq!(code(b"nonsense"), -32700);
    assert_eq!(code(b"\xff\xfe{}"), -32700);
    assert_eq!(code(b"[]"), -32600);
    assert_eq!(code(b"{\"jsonrpc\":\"2.0\"}"), -32600);
    assert_eq!(code("[".repeat(100_000).as_bytes()), -32700);
    assert_eq!(code(&b"x".repeat((1 << 20) + 1)), -32600);
    assert_eq!(code(&b"x".repeat(50 << 20)), -32600);
    served.send("\r\n\n  \n\t\r\n");
    served.send(format!("{}\r\n", call(1, "t_add", &json!({ "a": 1, "b": 1 }))));
    assert_eq!(*result_of(&served.line()), 2);
    assert!(memory_of(&served) < 40 << 20, "{}", memory_of(&served));
    let (rest, status, _) = served.end();
    assert!(rest.is_empty() && status.success());
}

/// How many bytes of memory the program has in use.
fn memory_of(served: &Served) -> usize {
    let Ok(status) = fs::read_to_string(format!("/proc/{}/status", served.child.id())) else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Requests much, reads nothing for a while, and then reads everything.
fn stops_reading(count: u64, request: impl Fn(u64) -> Value + Send + 'static) -> Vec<Value> {
    let (mut served, output) = Served::start_unread();
    let mut input = served.take_input();
    let writer = thread::spawn(move || {
        use std::io::Write as _;
        for id in 0..count {
            writeln!(input, "{}", request(id)).unwrap();
        }
    });
    thread::sleep(Duration::from_millis(1500));
    assert!(!writer.is_finished(), "the client has to wait");
    let memory = memory_of(&served);
    assert!(memory < 60 << 20, "{memory} bytes in use");
    served.read(output);
    let (rest, status, _) = served.wait();
    writer.join().unwrap();
    assert!(status.success());
    rest
}

#[test]
fn a_client_that_stops_reading_has_to_wait_and_gets_every_answer() {
    // Some 100 MB of answers.
    let rest = stops_reading(10_000, |id| call(id, "t_text", &json!({ "length": 5000 })));
    assert_eq!(rest.len(), 10_000);
    assert!(rest.iter().enumerate().all(|(at, answer)| answer["id"] == at));
    // And answers of slow calls.
    let rest = stops_reading(10_000, |id| call(id, "t_echo", &json!({ "text": "x".repeat(10_000) })));
    assert_eq!(rest.len(), 10_000);
}

#[test]
fn a_client_that_stops_reading_misses_progress_but_no_answer() {
    let rest = stops_reading(10_000, |id| {
        let mut request = call(id, "t_steps", &json!({ "count": 3 }));
        request["params"]["_meta"] = json!({ "progressToken": id });
        request
    });
    let (answers, notifications): (Vec<_>, Vec<_>) = rest.iter().partition(|line| line.get("id").is_some());
    assert_eq!(answers.len(), 10_000);
    assert!(!notifications.is_empty());
}

#[test]
fn the_program_ends_when_its_client_is_gone() {
    let (mut served, mut output) = Served::start_unread();
    begin_slow(&mut served, 100_000);
    served.ask(2, "t_add", &json!({ "a": 1, "b": 1 }));
    output.read_exact(&mut [0]).unwrap();
    drop(output);
    served.ask(3, "t_add", &json!({ "a": 1, "b": 1 }));
    let (_, status, errors) = served.wait();
    assert!(status.success(), "{errors}");
    assert!(errors.contains("slow was cancelled") && errors.contains("the end"), "{errors}");
}

#[test]
fn a_call_that_is_cancelled_is_not_answered() {
    let mut served = Served::start();
    begin_slow(&mut served, 100_000);
    served.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n");
    // The ID is free again at once, and the answer belongs to the second request.
    served.ask(1, "t_slow", &json!({ "ms": 50 }));
    let answer = served.line();
    assert_eq!((&answer["id"], result_of(&answer)), (&json!(1), &json!(50)));
    assert_eq!(served.line_within(Duration::from_millis(200)), None);
    let (rest, status, errors) = served.end();
    assert!(rest.is_empty() && status.success());
    assert!(errors.contains("slow was cancelled"), "{errors}");
}

fn listen(id: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
}

#[test]
fn notifications_arrive_before_the_answer() {
    let mut served = Served::start();
    let mut request = call(1, "t_progress", &json!({}));
    request["params"]["_meta"] = json!({ "progressToken": "p" });
    served.send(format!("{request}\n"));
    let (_, notifications) = served.answers(1);
    let steps: Vec<_> = notifications.iter().map(|line| line["params"]["progress"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    assert!(notifications.iter().all(|line| line["params"]["progressToken"] == "p"));

    served.ask(2, "t_log", &json!({ "text": "beware" }));
    let (_, notifications) = served.answers(1);
    assert_eq!(notifications.len(), 1);
    assert_eq!(notifications[0]["params"], json!({ "level": "warning", "logger": "t_log", "data": "beware" }));

    // The client has not subscribed to changes.
    served.ask(3, "t_register", &json!({ "name": "one" }));
    assert_eq!(served.answers(1).1.len(), 0);
    served.send(format!("{}\n", listen("l")));
    assert_eq!(served.line()["method"], "notifications/subscriptions/acknowledged");
    served.ask(4, "t_register", &json!({ "name": "two" }));
    let (_, notifications) = served.answers(1);
    assert_eq!(notifications[0]["method"], "notifications/tools/list_changed");
    served.ask(5, "t_two", &json!({}));
    assert_eq!(*result_of(&served.line()), "new");
}

#[test]
fn flat_calls_are_answered_too() {
    let mut served = Served::start();
    served.send("{\"tool_name\":\"t.add\",\"arguments\":{\"a\":1,\"b\":2}}\n");
    assert_eq!(served.line()["data"]["result"], 3);
}
