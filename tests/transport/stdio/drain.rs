//! How long the program runs after its input ends, a signal arrives, or its client is gone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::{Served, call, result_of};
use super::process::signal;

/// How long the cancelled tools would run.
const MINUTE: u64 = 60_000;

/// Calls an async tool, a plain one that checks whether it is cancelled, and a plain one that does not.
fn begin_all(served: &mut Served) {
    for (id, tool) in ["slow", "watch", "block"].into_iter().enumerate() {
        served.ask(id, &format!("t_{tool}"), &json!({ "ms": MINUTE }));
        served.wait_for(&format!("{tool} began"));
    }
}

/// Waits for the end of the program, long before the tools would end.
fn ends(mut served: Served) -> (Vec<Value>, String) {
    let started = Instant::now();
    let (rest, status, errors) = served.wait();
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(status.success(), "{status}: {errors}");
    (rest, errors)
}

fn is_shut_down(answer: &Value) -> bool {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    answer["result"]["isError"] == true && text.contains("the server is shutting down")
}

/// All three calls were answered and reported.
fn assert_cancelled(rest: &[Value], errors: &str) {
    let mut ids: Vec<_> = rest.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2]);
    assert!(rest.iter().all(is_shut_down), "{rest:?}");
    assert!(errors.contains("slow was cancelled"), "{errors}");
    assert!(errors.contains("cancelled 3 calls because the server is shutting down"), "{errors}");
    assert!(errors.contains("t.block, t.slow, t.watch"), "{errors}");
}

#[test]
fn calls_that_outlast_the_drain_timeout_are_cancelled_answered_and_reported() {
    for end in ["the end of input", "-TERM", "-INT"] {
        let mut served = Served::start_with(&["--drain-ms", "300"]);
        begin_all(&mut served);
        if end.starts_with('-') {
            signal(&served, end);
        } else {
            served.close_input();
        }
        let (rest, errors) = ends(served);
        assert_cancelled(&rest, &errors);
    }
}

#[test]
fn the_command_line_ends_though_a_plain_tool_blocks_a_thread_of_tokio() {
    let mut served = Served::start_with(&["serve", "--drain-timeout", "300ms"]);
    begin_all(&mut served);
    served.close_input();
    let (rest, errors) = ends(served);
    assert_cancelled(&rest, &errors);
}

#[test]
fn the_command_line_ends_though_an_async_tool_cannot_be_cancelled() {
    let mut served = Served::start_with(&["serve", "--drain-timeout", "300ms"]);
    served.ask(1, "t_stuck", &json!({ "ms": MINUTE }));
    served.wait_for("stuck began");
    served.close_input();
    let (rest, errors) = ends(served);
    assert!(rest.is_empty(), "{rest:?}");
    assert!(errors.contains("cancelled 1 call because the server is shutting down"), "{errors}");
}

#[test]
fn by_default_calls_of_some_seconds_are_answered_and_longer_ones_cancelled() {
    let mut served = Served::start();
    served.ask(1, "t_slow", &json!({ "ms": 2000 }));
    served.ask(2, "t_block", &json!({ "ms": 2000 }));
    served.ask(3, "t_slow", &json!({ "ms": MINUTE }));
    served.send("{\"tool_name\":\"t.slow\",\"arguments\":{\"ms\":60000}}\n");
    served.close_input();
    let (rest, errors) = ends(served);
    assert_eq!(rest.len(), 4, "{rest:?}");
    for answer in &rest {
        match answer["id"].as_u64() {
            Some(3) => assert!(is_shut_down(answer), "{answer}"),
            Some(_) => assert_eq!(*result_of(answer), 2000),
            None => {
                assert!(answer["error"]["error_message"].as_str().unwrap().contains("is shutting down"), "{answer}");
            }
        }
    }
    assert!(errors.contains("waits no longer than 5s"), "{errors}");
}

#[test]
fn calls_of_a_client_that_disconnected_are_cancelled_even_if_nothing_is_written() {
    for input_ends in [false, true] {
        let (mut served, output) = Served::start_unread_with(&["--drain-ms", "600000"]);
        begin_all(&mut served);
        drop(output);
        if input_ends {
            served.close_input();
        }
        let (_, errors) = ends(served);
        assert!(errors.contains("slow was cancelled"), "{errors}");
        assert!(errors.contains("cancelled 3 calls because the client has disconnected"), "{errors}");
    }
}

#[test]
fn after_a_signal_a_client_that_does_not_read_does_not_delay_the_end() {
    let (mut served, output) = Served::start_unread_with(&["--drain-ms", "300"]);
    // More than a pipe holds.
    let requests: String =
        (0..20).map(|id| call(id, "t_text", &json!({ "length": 10_000 })).to_string() + "\n").collect();
    begin_all(&mut served);
    served.send(requests);
    signal(&served, "-TERM");
    ends(served);
    drop(output);
}

#[test]
fn after_the_end_of_input_a_client_that_reads_late_gets_every_answer() {
    let (mut served, output) = Served::start_unread_with(&["--drain-ms", "100"]);
    let requests: String =
        (0..20).map(|id| call(id, "t_text", &json!({ "length": 10_000 })).to_string() + "\n").collect();
    served.send(requests);
    served.close_input();
    // Longer than calls may run, and their answers may take.
    std::thread::sleep(Duration::from_secs(2));
    served.read(output);
    let (rest, _) = ends(served);
    assert_eq!(rest.len(), 20);
}
