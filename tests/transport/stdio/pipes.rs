//! A child process and its pipes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use support::{LONG, wait_for_blocking, wait_until_blocking};

/// Longer than any successful operation.
pub(crate) struct Served {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Arc<Mutex<String>>,
    reads_errors: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let (mut served, output) = Self::start_unread_with(arguments);
        served.read(output);
        served
    }

    /// Nothing reads its output.
    pub(crate) fn start_unread() -> (Self, impl Read + Send + 'static) {
        Self::start_unread_with(&[])
    }

    pub(crate) fn start_unread_with(arguments: &[&str]) -> (Self, impl Read + Send + 'static + use<>) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stdio-server"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (output, lines) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let errors = Arc::new(Mutex::new(String::new()));
        let read = Arc::clone(&errors);
        let reads_errors = thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                *read.lock().unwrap() += &(line.unwrap() + "\n");
            }
        });
        let input = child.stdin.take();
        (Self { child, input, output: channel().1, errors, reads_errors: Some(reads_errors) }, output)
    }

    pub(crate) fn read(&mut self, output: impl Read + Send + 'static) {
        let (send, receive) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        self.output = receive;
    }

    /// The pipe to it, for another thread.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.input.as_mut().unwrap().write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn ask(&mut self, id: impl Into<Value>, tool: &str, arguments: &Value) {
        self.send(format!("{}\n", call(id, tool, arguments)));
    }

    /// Waits until the text is on stderr.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until_blocking(&format!("`{text}` on stderr"), || self.errors.lock().unwrap().contains(text));
    }

    /// The next line.
    pub(crate) fn line(&self) -> Value {
        let line = self.output.recv_timeout(LONG).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next line if there is one soon.
    pub(crate) fn line_within(&self, time: Duration) -> Option<Value> {
        match self.output.recv_timeout(time) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The answers to this many requests, by ID, and the notifications before the last of them.
    pub(crate) fn answers(&self, count: usize) -> (HashMap<String, Value>, Vec<Value>) {
        let (mut answers, mut notifications) = (HashMap::new(), Vec::new());
        while answers.len() < count {
            let line = self.line();
            match line.get("id") {
                Some(id) => assert!(answers.insert(id.to_string(), line).is_none(), "answered twice"),
                None => notifications.push(line),
            }
        }
        (answers, notifications)
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until it ends; returns the rest of its output, its status, and its stderr.
    pub(crate) fn end(mut self) -> (Vec<Value>, ExitStatus, String) {
        self.close_input();
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> (Vec<Value>, ExitStatus, String) {
        let mut rest = Vec::new();
        let status = wait_for_blocking("the program ends", || {
            rest.extend(self.output.try_iter());
            self.child.try_wait().unwrap()
        });
        rest.extend(self.output.iter());
        let rest = rest.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        self.reads_errors.take().unwrap().join().unwrap();
        let errors = self.errors.lock().unwrap().clone();
        (rest, status, errors)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params })
}

pub(crate) fn result_of(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["result"]
}
