//! Clients that start a server in a process of its own and measure it from outside. Each prints one line of JSON.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{Amount, cases};

/// A child process, which is killed if it is still running at the end.
struct Served(Child);

impl Served {
    fn start(command: &[&str], input: Stdio) -> io::Result<Self> {
        let [program, arguments @ ..] = command else { return Err(io::Error::other("which command?")) };
        Command::new(program).args(arguments).stdin(input).stdout(Stdio::piped()).spawn().map(Self)
    }

    fn pipes(&mut self) -> io::Result<(ChildStdin, ChildStdout)> {
        self.0.stdin.take().zip(self.0.stdout.take()).ok_or_else(|| io::Error::other("no pipes"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Fails if it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The CPU time of all threads of a process.
pub(crate) fn cpu_nanos(process: u32) -> io::Result<u64> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread that has ended meanwhile has no file.
        if let Ok(times) = fs::read_to_string(task?.path().join("schedstat")) {
            nanos += crate::number::<u64>(times.split(' ').next().unwrap_or_default())?;
        }
    }
    Ok(nanos)
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// Calls per second with this many in flight, or this many calls and then the end of the input.
pub(crate) fn stdio(in_flight: usize, amount: Amount, command: &[&str]) -> io::Result<()> {
    let mut served = Served::start(command, Stdio::piped())?;
    let (mut input, mut output) = served.pipes()?;
    handshake(&mut input, &mut output)?;
    let mut calls = Calls { input: &mut input, output: &mut output, sent: 0, answered: 0, buffer: vec![0; 1 << 18] };
    match amount {
        Amount::Calls(limit) => {
            calls.make(in_flight, |sent, _| sent < limit)?;
            drop(input);
            let status = served.0.wait()?;
            if !status.success() {
                return Err(io::Error::other(format!("the server failed: {status}")));
            }
            println!("{{}}");
        }
        Amount::Seconds(seconds) => {
            let time = Duration::from_secs_f64(seconds);
            let warm_up = Instant::now() + time / 4;
            calls.make(in_flight, |_, now| now < warm_up)?;
            let (before, cpu, started) = (calls.answered, cpu_nanos(served.0.id())?, Instant::now());
            calls.make(in_flight, |_, now| now < started + time)?;
            let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_nanos(served.0.id())? - cpu);
            let answered = float(calls.answered - before);
            println!(r#"{{"rate": {:.1}, "cpu_us": {:.3}}}"#, answered / wall, float(cpu) / 1e3 / answered);
        }
    }
    Ok(())
}

fn handshake(input: &mut ChildStdin, output: &mut ChildStdout) -> io::Result<()> {
    writeln!(input, "{}", cases::INITIALIZE)?;
    let mut byte = [0];
    while byte != *b"\n" {
        output.read_exact(&mut byte)?;
    }
    writeln!(input, "{}", cases::INITIALIZED)
}

struct Calls<'a> {
    input: &'a mut ChildStdin,
    output: &'a mut ChildStdout,
    sent: u64,
    answered: u64,
    buffer: Vec<u8>,
}

impl Calls<'_> {
    /// Sends a call for each answer while `more` says so, and waits for the last answer.
    fn make(&mut self, in_flight: usize, more: impl Fn(u64, Instant) -> bool) -> io::Result<()> {
        let (mut out, mut free) = (Vec::new(), in_flight);
        loop {
            if more(self.sent, Instant::now()) {
                for _ in 0..free {
                    self.sent += 1;
                    writeln!(
                        out,
                        r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"calc_add","arguments":{{"a":20,"b":22}}}}}}"#,
                        self.sent
                    )?;
                }
                self.input.write_all(&out)?;
                out.clear();
            }
            if self.answered == self.sent {
                return Ok(());
            }
            let bytes = self.output.read(&mut self.buffer)?;
            let answers = &self.buffer[..bytes];
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            free = answers.split(|byte| *byte == b'\n').count() - 1;
            if self.answered == 0 && free > 0 {
                cases::check("add", answers)?;
            }
            self.answered += free as u64;
        }
    }
}

/// The time from the start of a program to its first list of tools, and its memory afterwards.
pub(crate) fn startup(command: &[&str]) -> io::Result<()> {
    let started = Instant::now();
    let mut served = Served::start(command, Stdio::piped())?;
    let (mut input, mut output) = served.pipes()?;
    handshake(&mut input, &mut output)?;
    let idle = resident(served.0.id())?;
    let mut output = BufReader::with_capacity(1 << 18, output);
    let mut ask = |case, id| -> io::Result<()> {
        writeln!(input, "{}", cases::message(case, id)?)?;
        let mut answer = Vec::new();
        output.read_until(b'\n', &mut answer)?;
        cases::check(case, &answer)
    };
    ask("list", 1)?;
    let first = started.elapsed();
    ask("add", 2)?;
    let used = resident(served.0.id())?;
    println!(r#"{{"ms": {:.3}, "idle_kib": {idle}, "used_kib": {used}}}"#, first.as_secs_f64() * 1e3);
    Ok(())
}

/// The resident memory of a process in KiB.
fn resident(process: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    crate::number(line.unwrap_or_default().trim().trim_end_matches(" kB"))
}

/// Calls per second over this many connections.
pub(crate) fn http(connections: usize, amount: Amount, command: &[&str]) -> io::Result<()> {
    let Amount::Seconds(seconds) = amount else { return Err(io::Error::other("say for how many seconds")) };
    let mut served = Served::start(command, Stdio::null())?;
    let output = served.0.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut address = String::new();
    BufReader::new(output).read_line(&mut address)?;
    let time = Duration::from_secs_f64(seconds);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        clients(address.trim(), connections, time / 4).await?;
        let (cpu, started) = (cpu_nanos(served.0.id())?, Instant::now());
        let calls = clients(address.trim(), connections, time).await?;
        let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_nanos(served.0.id())? - cpu);
        println!(r#"{{"rate": {:.1}, "cpu_us": {:.3}}}"#, f64::from(calls) / wall, float(cpu) / 1e3 / f64::from(calls));
        Ok(())
    })
}

async fn clients(address: &str, connections: usize, time: Duration) -> io::Result<u32> {
    let until = Instant::now() + time;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..connections {
        clients.spawn(client(address.to_owned(), until));
    }
    let mut calls = 0;
    while let Some(made) = clients.join_next().await {
        calls += made.map_err(io::Error::other)??;
    }
    Ok(calls)
}

/// A call as clients of 2026-07-28 make it, which is without a session.
fn request() -> Vec<u8> {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calc_add","arguments":{"a":20,"b":22},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"peers","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: calc_add\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

/// One connection: one call after another, until the time is over.
async fn client(address: String, until: Instant) -> io::Result<u32> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (request, mut buffer, mut length, mut calls) = (request(), vec![0; 4096], None, 0);
    while Instant::now() < until {
        stream.write_all(&request).await?;
        let mut read = 0;
        // Every answer of a server is as long as its first one.
        while length.is_none_or(|length| read < length) {
            let bytes = stream.read(&mut buffer[read..]).await?;
            if bytes == 0 {
                let answer = String::from_utf8_lossy(&buffer[..read]).into_owned();
                return Err(io::Error::other(format!("the server closed the connection after: {answer}")));
            }
            read += bytes;
            if length.is_none() {
                length = length_of(&buffer[..read])?;
            }
        }
        calls += 1;
    }
    Ok(calls)
}

/// The length of an answer, if it is complete and correct.
fn length_of(answer: &[u8]) -> io::Result<Option<usize>> {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    if !text.starts_with("HTTP/1.1 200") {
        return Err(io::Error::other(format!("not an answer: {text}")));
    }
    let is_complete = match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        Some(length) => body.len() >= crate::number(length)?,
        None => body.ends_with("0\r\n\r\n"),
    };
    if is_complete {
        cases::check("add", body.as_bytes())?;
    }
    Ok(is_complete.then_some(answer.len()))
}
