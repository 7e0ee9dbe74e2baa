//! Calls over HTTP, on connections that are kept.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::mix::{Answer, Call, Kind, MAX_MESSAGE, VERSIONS, number_in, write_call, write_cancel, write_initialize};
use crate::process::{PATIENCE, Process, progress, until_none_runs, waiting_for};
use crate::report::{Tallies, Vitals};

/// How many connections are open.
const CONNECTIONS: usize = 18;
/// How long a call runs before it is cancelled or its connection closed.
const MOMENT: Duration = Duration::from_millis(1);

/// A connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What was read; the body of the last answer is at its beginning.
    buffer: Vec<u8>,
    filled: usize,
}

/// The head of an answer. Its body is in the connection's buffer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    body: std::ops::Range<usize>,
    session: Option<String>,
    closes: bool,
    /// Whether the server sent more than one answer.
    is_followed: bool,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let connection = Self { stream, buffer: vec![0; 4096], filled: 0 };
        connection.wait_at_most(PATIENCE)?;
        Ok(connection)
    }

    /// Sets how long reads and writes may take.
    pub(crate) fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(time))?;
        self.stream.set_write_timeout(Some(time))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads an answer, which has a length.
    pub(crate) fn reply(&mut self) -> io::Result<Reply> {
        self.filled = 0;
        let head = loop {
            self.read()?;
            if let Some(end) = self.buffer[..self.filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).into_owned();
        let header = |wanted: &str| {
            let mut headers = text.lines().filter_map(|line| line.split_once(": "));
            headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.to_owned())
        };
        let wrong = || io::Error::other(format!("not an answer: {text}"));
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(wrong)?;
        let length: usize = header("content-length").and_then(|length| length.parse().ok()).ok_or_else(wrong)?;
        let body = head + 4..head + 4 + length;
        while self.filled < body.end {
            self.read()?;
        }
        let (session, closes) = (header("mcp-session-id"), header("connection").is_some());
        Ok(Reply { status, is_followed: self.filled > body.end, body, session, closes })
    }

    fn read(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        match self.stream.read(&mut self.buffer[self.filled..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => {
                self.filled += bytes;
                Ok(())
            }
        }
    }

    pub(crate) fn body(&self, reply: &Reply) -> &[u8] {
        &self.buffer[reply.body.clone()]
    }
}

/// Puts the head of a request before a message.
pub(crate) fn request(out: &mut Vec<u8>, version: &str, tool: &str, session: Option<&str>, message: &[u8]) {
    let more = match (version == VERSIONS[0], session) {
        (true, _) => format!("Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"),
        (false, Some(session)) => format!("Mcp-Session-Id: {session}\r\n"),
        (false, None) => String::new(),
    };
    let length = message.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\n\
         {more}Content-Length: {length}\r\n\r\n"
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(message);
}

/// One client, which makes one call after another.
struct Client {
    address: SocketAddr,
    version: &'static str,
    session: Option<String>,
    /// None after the connection was closed.
    connection: Option<Connection>,
    tallies: Tallies,
    out: Vec<u8>,
    message: Vec<u8>,
}

impl Client {
    fn start(address: SocketAddr, version: &'static str) -> io::Result<Self> {
        let mut connection = Connection::open(address)?;
        let (mut out, mut message, mut session) = (Vec::new(), Vec::new(), None);
        if version != VERSIONS[0] {
            write_initialize(&mut message, version);
            request(&mut out, version, "", None, &message);
            connection.send(&out)?;
            session = connection.reply()?.session;
        }
        let (connection, tallies) = (Some(connection), Tallies::default());
        Ok(Self { address, version, session, connection, tallies, out, message })
    }

    /// Makes calls until all numbers are taken.
    fn run(&mut self, next: &AtomicU64, end: u64) {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= end {
                break;
            }
            progress();
            let call = Call::new(number, self.version);
            self.tallies.sent(call);
            if let Err(error) = self.make(call) {
                self.connection = None;
                self.tallies.problem(format!("call {number} ({:?}, {}): {error}", call.kind, call.version));
            }
        }
        // Open connections are counted.
        if self.connection.is_none() {
            self.connection = Connection::open(self.address).ok();
        }
    }

    fn make(&mut self, call: Call) -> io::Result<()> {
        let Self { address, version, session, connection, tallies, out, message } = self;
        let connection = match connection {
            Some(connection) => connection,
            none => none.insert(Connection::open(*address)?),
        };
        out.clear();
        message.clear();
        call.write(message);
        request(out, version, call.tool(), session.as_deref(), message);
        let started = Instant::now();
        match call.kind {
            Kind::Disconnecting => {
                // In the head, in the message, or in the call.
                let head = out.len() - message.len();
                let length = [head / 2, head + message.len() / 2, out.len()];
                connection.send(&out[..length[usize::try_from(call.variant(3)).unwrap_or_default()]])?;
                thread::sleep(MOMENT);
                self.connection = None;
                tallies.silent(call);
                return Ok(());
            }
            // The server may close the connection before it has read all of it.
            Kind::Oversized => drop(connection.send(out)),
            _ => connection.send(out)?,
        }
        if call.kind == Kind::Cancelled {
            thread::sleep(MOMENT);
            if call.is_stateless() {
                self.connection = None;
                tallies.silent(call);
                return Ok(());
            }
            out.clear();
            message.clear();
            write_cancel(message, call.number);
            request(out, version, "", session.as_deref(), message);
            let mut aside = Connection::open(*address)?;
            aside.send(out)?;
            let accepted = aside.reply()?;
            if accepted.status != 202 {
                return Err(io::Error::other(format!("the cancellation is answered with {}", accepted.status)));
            }
        }
        let reply = connection.reply()?;
        let body = &connection.buffer[reply.body.clone()];
        if call.kind == Kind::Cancelled && (body.is_empty() || body == b":\n\n") {
            tallies.silent(call);
            return Ok(());
        }
        let status = match call.kind {
            Kind::Malformed => 400,
            Kind::Oversized => 413,
            _ => 200,
        };
        let checked = match serde_json::from_slice::<Answer<'_>>(body) {
            Ok(answer) => call.check(&answer),
            Err(error) => Err(format!("{error}: {}", String::from_utf8_lossy(body))),
        };
        let checked = if reply.status == status { checked } else { Err(format!("status {}", reply.status)) };
        tallies.answered(call, started.elapsed(), checked);
        if reply.is_followed {
            tallies.duplicated(call);
        }
        if reply.closes || reply.is_followed {
            self.connection = None;
        }
        Ok(())
    }
}

/// Makes this many calls in all versions, and returns what the server used.
pub(crate) fn soak(calls: u64, tallies: &mut Tallies) -> io::Result<Vitals> {
    let (process, address) = Process::start_http(Some(MAX_MESSAGE))?;
    let mut samples = vec![process.sample()?];
    let clients = (0..CONNECTIONS).map(|index| Client::start(address, VERSIONS[index % VERSIONS.len()]));
    let mut clients = clients.collect::<io::Result<Vec<_>>>()?;
    let next = AtomicU64::new(0);
    for quarter in 1..=4 {
        waiting_for(format!("{calls} calls over HTTP, quarter {quarter}"));
        let end = calls * quarter / 4;
        next.store(calls * (quarter - 1) / 4, Relaxed);
        thread::scope(|scope| {
            for client in &mut clients {
                scope.spawn(|| client.run(&next, end));
            }
        });
        process.sample_quarter(&mut samples)?;
    }
    for client in clients {
        tallies.merge(client.tallies);
    }
    Ok(Vitals { server: "HTTP, all versions".to_owned(), samples, left_running: left_running(address)? })
}

/// Asks until no call is running.
fn left_running(address: SocketAddr) -> io::Result<i64> {
    let mut connection = Connection::open(address)?;
    let (mut out, mut message) = (Vec::new(), Vec::new());
    write_call(&mut message, 0, VERSIONS[0], "soak_running", format_args!("{{}}"));
    request(&mut out, VERSIONS[0], "soak_running", None, &message);
    until_none_runs(|| {
        connection.send(&out)?;
        let reply = connection.reply()?;
        number_in(connection.body(&reply))
    })
}
