//! A client that sends raw bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::{Value, json};
use support::LONG;

/// One connection.
pub(crate) struct Wire {
    stream: TcpStream,
    /// Bytes that were read and not used yet.
    bytes: Vec<u8>,
    /// What is left of the body.
    rest: Rest,
    /// The beginning of an event that is not complete yet.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Bytes(usize),
    Chunks,
    UntilEnd,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) version: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Comment,
    Named(String, Value),
}

impl Wire {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, bytes: Vec::new(), rest: Rest::Nothing, text: String::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends bytes that the server may no longer read; false if it has closed the connection.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Closes the sending side.
    pub(crate) fn shut(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Sends a request and reads its answer.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Reply {
        self.send(ask.bytes());
        self.reply()
    }

    /// Reads an answer.
    pub(crate) fn reply(&mut self) -> Reply {
        self.try_reply().expect("the connection ended without an answer")
    }

    /// Reads an answer; none if the connection ends before it.
    pub(crate) fn try_reply(&mut self) -> Option<Reply> {
        let mut reply = self.try_head()?;
        while reply.status == 100 {
            reply = self.try_head()?;
        }
        while let Some(part) = self.part() {
            reply.body.extend_from_slice(&part);
        }
        Some(reply)
    }

    /// Reads an answer up to its body.
    pub(crate) fn head(&mut self) -> Reply {
        self.try_head().expect("the connection ended without an answer")
    }

    pub(crate) fn try_head(&mut self) -> Option<Reply> {
        let end = loop {
            match self.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(end) => break end,
                None if self.more() => {}
                None => {
                    assert!(self.bytes.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(&self.bytes));
                    return None;
                }
            }
        };
        let head: Vec<u8> = self.bytes.drain(..end + 4).collect();
        let head = String::from_utf8(head[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap().splitn(3, ' ');
        let version = first.next().unwrap().to_owned();
        let status = first.next().unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').expect("a header");
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        let reply = Reply { status, version, headers: lines.map(header).collect(), body: Vec::new() };
        self.rest = match (reply.header("content-length"), reply.header("transfer-encoding")) {
            (_, Some("chunked")) => Rest::Chunks,
            (Some(length), _) => Rest::Bytes(length.parse().unwrap()),
            (None, _) if matches!(status, 100 | 204) => Rest::Nothing,
            _ => Rest::UntilEnd,
        };
        Some(reply)
    }

    /// Expects no body, whatever the headers say.
    pub(crate) fn no_body(&mut self) {
        self.rest = Rest::Nothing;
    }

    /// The next part of the body.
    pub(crate) fn part(&mut self) -> Option<Vec<u8>> {
        match self.rest {
            Rest::Nothing | Rest::Bytes(0) => None,
            Rest::Bytes(length) => {
                let part = self.take(length);
                self.rest = Rest::Nothing;
                Some(part)
            }
            Rest::Chunks => {
                let size = self.line();
                let length = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("a length: {size:?}"));
                let part = self.take(length);
                assert_eq!(self.take(2), b"\r\n");
                if length == 0 {
                    self.rest = Rest::Nothing;
                    return None;
                }
                Some(part)
            }
            Rest::UntilEnd => {
                if self.bytes.is_empty() && !self.more() {
                    self.rest = Rest::Nothing;
                    return None;
                }
                Some(std::mem::take(&mut self.bytes))
            }
        }
    }

    /// The next event of a stream; none at its end.
    pub(crate) fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let text: String = self.text.drain(..end + 2).collect();
                return Some(event(&text[..end]));
            }
            let Some(part) = self.part() else {
                assert_eq!(self.text, "", "half an event");
                return None;
            };
            self.text += std::str::from_utf8(&part).unwrap();
        }
    }

    /// The next message of a stream; none at its end.
    pub(crate) fn message(&mut self) -> Option<Value> {
        loop {
            match self.event()? {
                Event::Comment => {}
                Event::Named(name, message) => {
                    assert_eq!(name, "message");
                    return Some(message);
                }
            }
        }
    }

    /// Whether the server has closed the connection without sending anything.
    pub(crate) fn is_over(&mut self) -> bool {
        self.bytes.is_empty() && !self.more()
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        while self.bytes.len() < length {
            assert!(self.more(), "the answer ends before its end");
        }
        self.bytes.drain(..length).collect()
    }

    fn line(&mut self) -> String {
        let end = loop {
            match self.bytes.windows(2).position(|two| two == b"\r\n") {
                Some(end) => break end,
                None => assert!(self.more(), "the answer ends before its end"),
            }
        };
        let line: Vec<u8> = self.bytes.drain(..end + 2).collect();
        String::from_utf8(line).unwrap()
    }

    /// Reads more; false at the end.
    fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                self.bytes.extend_from_slice(&buffer[..length]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => false,
            Err(error) => panic!("nothing comes: {error}"),
        }
    }
}

fn event(text: &str) -> Event {
    if text == ":" {
        return Event::Comment;
    }
    let (name, data) = text.split_once('\n').unwrap_or_else(|| panic!("an event: {text:?}"));
    let name = name.strip_prefix("event: ").unwrap_or_else(|| panic!("an event: {text:?}"));
    let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("an event: {text:?}"));
    Event::Named(name.to_owned(), serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data:?}")))
}

impl Reply {
    /// The one value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "`{name}` is there twice");
        value
    }

    pub(crate) fn is_events(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The message that is the answer.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The events that are the answer.
    pub(crate) fn events(&self) -> Vec<Event> {
        assert!(self.is_events(), "{self:?}");
        let text = std::str::from_utf8(&self.body).unwrap();
        text.split_terminator("\n\n").map(event).collect()
    }

    /// The messages that are the answer.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let messages = self.events().into_iter().filter_map(|event| match event {
            Event::Comment => None,
            Event::Named(_, message) => Some(message),
        });
        messages.collect()
    }

    /// The code of the error that is the answer.
    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }

    /// The status, and the code of the error if there is one.
    pub(crate) fn refusal(&self) -> (u16, i64) {
        (self.status, self.code())
    }

    /// What the tool has returned.
    pub(crate) fn result(&self) -> Value {
        self.json()["result"]["structuredContent"]["result"].clone()
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str) -> Self {
        let line = format!("{method} /mcp HTTP/1.1");
        Self { line, headers: Vec::new(), body: Vec::new() }.with("Host", "localhost")
    }

    /// A message.
    pub(crate) fn post(message: impl AsRef<[u8]>) -> Self {
        let mut ask = Self::new("POST")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        ask.body = message.as_ref().to_vec();
        ask
    }

    /// Replaces the first line.
    pub(crate) fn line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    /// Sets a header.
    pub(crate) fn with(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header, even if there is one with that name.
    pub(crate) fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The bytes up to the body, which has a length unless a header says otherwise.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        let has = |expected: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(expected));
        if !self.body.is_empty() && !has("content-length") && !has("transfer-encoding") {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The same, in chunks of so many bytes.
    pub(crate) fn in_chunks(&self, size: usize) -> Vec<u8> {
        let mut bytes = self.clone().with("Transfer-Encoding", "chunked").head();
        for chunk in self.body.chunks(size) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }
}

/// The `_meta` of a request of the newest version.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request of the newest version, with the headers that it needs.
pub(crate) fn modern(method: &str, mut params: Value) -> Ask {
    for (key, value) in meta().as_object().unwrap() {
        if params["_meta"].get(key).is_none() {
            params["_meta"][key] = value.clone();
        }
    }
    let name = params["name"].as_str().map(str::to_owned);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let ask = Ask::post(message.to_string()).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
    match name {
        Some(name) => ask.with("Mcp-Name", name),
        None => ask,
    }
}

/// A request of an older version.
pub(crate) fn older(method: &str, params: &Value) -> Ask {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    Ask::post(message.to_string()).with("MCP-Protocol-Version", "2025-11-25")
}

/// The versions that are served and have structured content.
pub(crate) const VERSIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];
pub(crate) const OLDER: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// A request in any version.
pub(crate) fn in_version(version: &str, method: &str, params: Value) -> Ask {
    if version == "2026-07-28" {
        modern(method, params)
    } else {
        older(method, &params).with("MCP-Protocol-Version", version)
    }
}

/// A call in any version.
pub(crate) fn call(version: &str, tool: &str, arguments: Value) -> Ask {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    in_version(version, "tools/call", params)
}

/// The same, with a token for progress.
pub(crate) fn call_told(version: &str, tool: &str, arguments: Value) -> Ask {
    let mut params = json!({ "name": tool, "_meta": { "progressToken": "p" } });
    params["arguments"] = arguments;
    in_version(version, "tools/call", params)
}

/// A notification of the older versions.
pub(crate) fn notification(method: &str, params: &Value) -> Ask {
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    Ask::post(message.to_string()).with("MCP-Protocol-Version", "2025-11-25")
}
