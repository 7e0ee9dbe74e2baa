//! Tests the audit log with writers that block, fail and panic.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{AuditLog, RejectionRecord};
use crate::call::observe::{Arguments, CallOutcome, CallRecord, Observer, Rejection, RejectionReason};

const SHORT: Duration = Duration::from_millis(20);

fn sent(json: &str) -> Arguments<'_> {
    Arguments { json, tool: None }
}

fn record<'a>(tool: &'a str, arguments: &'a str) -> CallRecord<'a> {
    CallRecord {
        time: UNIX_EPOCH + Duration::from_millis(1_785_231_000_125),
        tool,
        called_as: tool,
        caller: None,
        request_id: None,
        outcome: CallOutcome::Success,
        duration: Duration::from_micros(250),
        error_type: None,
        message: None,
        correlation_id: None,
        notices: &[],
        arguments: sent(arguments),
    }
}

fn observe(log: &AuditLog, tool: &str) {
    log.observe(&record(tool, "null"));
}

fn tools(log: &AuditLog) -> Vec<String> {
    log.records().iter().map(|record| record.tool.clone()).collect()
}

/// A file that can be read while it is written.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl File {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// A summary of every line: the tool, or the number of missing records.
    fn lines(&self) -> Vec<String> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
        lines.map(|line| line.get("tool").map_or(line["dropped"].to_string(), |t| t.as_str().unwrap().into())).collect()
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Signals each write, then blocks until it is released or the releasing sender is dropped.
struct Gate {
    file: File,
    reached: Sender<()>,
    release: Receiver<()>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.reached.send(());
        let _ = self.release.recv();
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn gate() -> (File, Gate, Receiver<()>, Sender<()>) {
    let (reached, is_reached) = channel();
    let (releaser, release) = channel();
    let file = File::default();
    (file.clone(), Gate { file, reached, release }, is_reached, releaser)
}

/// Fails as listed, then works correctly.
struct Faulty {
    file: File,
    faults: VecDeque<Fault>,
}

enum Fault {
    Error,
    Interrupted,
    Panic,
    Zero,
    /// Writes this number of bytes.
    Partly(usize),
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.faults.pop_front() {
            None => self.file.write(bytes),
            Some(Fault::Error) => Err(io::Error::other("no space left")),
            Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::Panic) => panic!("on purpose"),
            Some(Fault::Zero) => Ok(0),
            Some(Fault::Partly(size)) => self.file.write(&bytes[..size]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn faulty(faults: impl IntoIterator<Item = Fault>) -> (File, AuditLog) {
    let file = File::default();
    let log = AuditLog::jsonl(Faulty { file: file.clone(), faults: faults.into_iter().collect() });
    (file, log)
}

#[test]
fn the_newest_records_are_kept_oldest_first() {
    let log = AuditLog::builder().capacity(2).build();
    for tool in ["a", "b", "c"] {
        observe(&log, tool);
    }
    assert_eq!(tools(&log.clone()), ["b", "c"]);
    assert!(log.flush());
    let none = AuditLog::builder().capacity(0).build();
    observe(&none, "a");
    assert!(none.records().is_empty());
}

#[test]
fn a_record_is_a_line_without_unknown_fields() {
    let file = File::default();
    let log = AuditLog::jsonl(file.clone());
    observe(&log, "calc.add");
    let full = CallRecord {
        called_as: "add",
        caller: Some("ann"),
        request_id: Some("7"),
        outcome: CallOutcome::Failure,
        error_type: Some("TimeoutError"),
        correlation_id: Some("c-1"),
        ..record("calc.add", "null")
    };
    log.observe(&full);
    assert!(log.flush());
    let hash = &log.records()[0].arguments_hash;
    assert!(hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    let head = r#"{"time":"2026-07-28T09:30:00.125Z","tool":"calc.add","#;
    let short = format!(r#"{head}"arguments_hash":"{hash}","outcome":"success","ms":0.25}}"#);
    let whole = format!(
        r#"{head}"called_as":"add","arguments_hash":"{hash}","caller":"ann","request_id":"7","outcome":"failure","ms":0.25,"error_type":"TimeoutError","correlation_id":"c-1"}}"#
    );
    assert_eq!(file.text(), format!("{short}\n{whole}\n"));
}

#[test]
fn a_record_is_one_line_whatever_its_name_contains() {
    let file = File::default();
    let log = AuditLog::jsonl(file.clone());
    let nasty = "a\r\n{\"dropped\":9}\n\"\\\u{0}\u{2028}";
    log.observe(&CallRecord { caller: Some(nasty), request_id: Some(nasty), ..record(nasty, "null") });
    assert!(log.flush());
    assert_eq!(file.text().matches('\n').count(), 1);
    let line: Value = serde_json::from_str(&file.text()).unwrap();
    assert_eq!((&line["tool"], &line["caller"]), (&json!(nasty), &json!(nasty)));
}

#[test]
fn years_without_four_digits_are_clamped() {
    let file = File::default();
    let log = AuditLog::jsonl(file.clone());
    for time in [UNIX_EPOCH - Duration::from_secs(9), UNIX_EPOCH + Duration::from_secs(300_000_000_000)] {
        log.observe(&CallRecord { time, ..record("a", "null") });
    }
    assert!(log.flush());
    let text = file.text();
    assert!(text.contains("\"1970-01-01T00:00:00.000Z\"") && text.contains("\"9999-12-31T23:59:59.000Z\""), "{text}");
}

#[test]
fn the_hash_depends_only_on_the_arguments_and_the_key() {
    let hash = |log: &AuditLog, arguments: Arguments<'_>| {
        log.observe(&CallRecord { arguments, ..record("a", "null") });
        log.records().last().unwrap().arguments_hash.clone()
    };
    let log = AuditLog::builder().key([7; 16]).build();
    let one = hash(&log, sent(r#"{"a": 1, "b": {"c": [2], "d": null}}"#));
    assert_eq!(one, hash(&log, sent(r#"{"b":{"d":null,"c":[2]},"a":1}"#)));
    assert_eq!(one, hash(&AuditLog::builder().key([7; 16]).build(), sent(r#"{"a":1,"b":{"c":[2],"d":null}}"#)));
    assert_ne!(one, hash(&log, sent(r#"{"a": 2, "b": {"c": [2], "d": null}}"#)));

    let same = r#"{"a":1}"#;
    let keyed = [AuditLog::builder().key([7; 16]).build(), AuditLog::builder().key([8; 16]).build()];
    assert_ne!(hash(&keyed[0], sent(same)), hash(&keyed[1], sent(same)));
    let random = [AuditLog::new(), AuditLog::new()];
    assert_ne!(hash(&random[0], sent(same)), hash(&random[1], sent(same)));
}

#[test]
fn no_secret_is_written() {
    let file = File::default();
    let log = AuditLog::builder().key(*b"hunter2-the-key-").jsonl(file.clone());
    let arguments = r#"{"password":"hunter2"}"#;
    assert!(!format!("{:?}", record("log.in", arguments)).contains("hunter2"));
    log.observe(&CallRecord { message: Some("`hunter2` is wrong"), ..record("log.in", arguments) });
    log.observe(&CallRecord { arguments: sent("{\"password\": hunter2"), ..record("log.in", arguments) });
    assert!(log.flush());
    assert_eq!(file.lines(), ["log.in", "log.in"]);
    for shown in [file.text(), format!("{log:?}"), format!("{:?}", log.records())] {
        assert!(!shown.contains("hunter2") && !shown.contains("password"), "{shown}");
    }
}

#[test]
fn a_blocked_writer_blocks_no_call_and_the_file_counts_missing_records() {
    let (file, gate, is_reached, releaser) = gate();
    let mut setup = AuditLog::builder().capacity(100).queue(3);
    setup.flush_timeout = SHORT;
    let log = setup.jsonl(gate);
    observe(&log, "first");
    is_reached.recv().unwrap();
    (0..10).for_each(|n| observe(&log, &format!("t{n}")));
    assert_eq!((log.dropped(), log.records().len()), (7, 11));
    assert!(!log.flush(), "the writer is blocked");
    assert_eq!(file.text(), "");

    drop(releaser);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !log.flush() && Instant::now() < deadline {}
    assert_eq!(file.lines(), ["first", "t0", "t1", "t2", "7"]);
    observe(&log, "later");
    while !log.flush() && Instant::now() < deadline {}
    assert_eq!(file.lines(), ["first", "t0", "t1", "t2", "7", "later"]);
    assert_eq!(log.dropped(), 7);
}

#[test]
fn dropping_the_last_handle_writes_queued_records() {
    let file = File::default();
    let log = AuditLog::jsonl(file.clone());
    let handle = log.clone();
    drop(log);
    (0..1000).for_each(|n| observe(&handle, &n.to_string()));
    drop(handle);
    assert_eq!(file.lines(), (0..1000).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn dropping_the_last_handle_does_not_wait_for_ever() {
    let (_file, gate, is_reached, _releaser) = gate();
    let mut setup = AuditLog::builder();
    setup.flush_timeout = SHORT;
    let log = setup.jsonl(gate);
    observe(&log, "a");
    is_reached.recv().unwrap();
    let begin = Instant::now();
    drop(log);
    assert!(begin.elapsed() >= SHORT);
}

#[test]
fn a_failed_write_is_retried() {
    // The first two writes: a record, and the line that reports it as missing.
    for fault in [|| Fault::Error, || Fault::Zero, || Fault::Panic] {
        let (file, log) = faulty([fault(), fault()]);
        observe(&log, "lost");
        assert!(!log.flush());
        assert_eq!((log.dropped(), file.text().as_str()), (1, ""));
        observe(&log, "a");
        assert!(log.flush());
        assert_eq!((log.dropped(), file.lines()), (1, vec!["a".to_owned(), "1".to_owned()]));
    }
}

#[test]
fn missing_records_are_reported_at_the_end_at_the_latest() {
    let (file, log) = faulty([Fault::Error, Fault::Error]);
    observe(&log, "lost");
    drop(log);
    assert_eq!(file.lines(), ["1"]);
}

#[test]
fn an_interrupted_writer_has_not_failed() {
    let (file, log) = faulty([Fault::Interrupted, Fault::Partly(3), Fault::Interrupted]);
    observe(&log, "a");
    assert!(log.flush());
    assert_eq!((log.dropped(), file.lines()), (0, vec!["a".to_owned()]));
}

#[test]
fn a_partial_line_is_completed() {
    let (file, log) = faulty([Fault::Partly(5), Fault::Error, Fault::Partly(2), Fault::Error]);
    observe(&log, "begun");
    assert!(!log.flush());
    assert_eq!(file.text(), "{\"tim");
    // Two more bytes of the partial line, then another error: nothing of this record is written.
    observe(&log, "lost");
    assert!(log.flush());
    assert_eq!((log.dropped(), file.lines()), (1, vec!["begun".to_owned(), "1".to_owned()]));
}

#[test]
fn no_record_is_lost_when_many_threads_log() {
    let file = File::default();
    let log = AuditLog::builder().capacity(4000).jsonl(file.clone());
    thread::scope(|scope| {
        for thread in 0..4 {
            let log = log.clone();
            scope.spawn(move || (0..1000).for_each(|n| observe(&log, &format!("{thread}.{n}"))));
        }
    });
    assert!(log.flush());
    let (lines, dropped) = (file.lines(), log.dropped());
    assert_eq!((dropped, log.records().len()), (0, 4000));
    assert_eq!(lines, tools(&log));
}

#[test]
fn the_report_of_missing_records_has_the_current_time() {
    let (file, log) = faulty([Fault::Error]);
    observe(&log, "lost");
    assert!(log.flush());
    let line: Value = serde_json::from_str(&file.text()).unwrap();
    let time = humantime::parse_rfc3339(line["time"].as_str().unwrap()).unwrap();
    assert!(SystemTime::now().duration_since(time).unwrap_or_default() < Duration::from_secs(60));
    assert_eq!(line, json!({ "time": line["time"], "dropped": 1 }));
}

#[test]
fn a_rejection_has_a_count_unless_it_is_one() {
    let count = |count| {
        let time = UNIX_EPOCH;
        let rejection =
            Rejection { time, reason: RejectionReason::Host, detail: Some("evil.example"), client: None, count };
        let json = serde_json::to_value(RejectionRecord::from_rejection(&rejection)).unwrap();
        assert_eq!((&json["rejected"], &json["detail"]), (&json!("host"), &json!("evil.example")));
        json.get("count").cloned()
    };
    assert_eq!(count(1), None);
    assert_eq!([count(0), count(2)], [Some(json!(0)), Some(json!(2))]);
}
