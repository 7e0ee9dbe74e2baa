//! Calls a second over pipes to a program, one and 64 in flight: served by the registry, and by a loop written by hand.
//!
//! `cargo run --release -p mcp-benches --bin stdio`

mod adding;

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_registry::{Registry, Server, serve_stdio};

/// How long one figure is measured.
const TIME: Duration = Duration::from_millis(700);
/// How often; the best counts, since others share the machine.
const ROUNDS: usize = 5;

/// What someone without a registry writes.
mod by_hand {
    use std::borrow::Cow;
    use std::io::{self, BufRead, Read, Write};

    use serde::{Deserialize, Serialize};

    #[derive(Deserialize)]
    struct Request<'a> {
        id: u64,
        method: &'a str,
        #[serde(borrow)]
        params: Params<'a>,
    }

    #[derive(Deserialize)]
    struct Params<'a> {
        name: &'a str,
        arguments: Add,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Add {
        a: i64,
        b: i64,
    }

    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'static str,
        id: u64,
        result: Answer<'a>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        structured_content: Structured,
        content: [Text<'a>; 1],
        is_error: bool,
    }

    #[derive(Serialize)]
    struct Structured {
        result: i64,
    }

    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: Cow<'a, str>,
    }

    fn answer(line: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let Request { id, method, params } = serde_json::from_slice(line)?;
        let result = match (method, params.name) {
            ("tools/call", "calc_add") => super::adding::add(params.arguments.a, params.arguments.b),
            _ => return Err(io::Error::other("no such method or tool")),
        };
        let content = [Text { r#type: "text", text: result.to_string().into() }];
        let result = Answer { structured_content: Structured { result }, content, is_error: false };
        serde_json::to_writer(&mut *out, &Response { jsonrpc: "2.0", id, result })?;
        out.push(b'\n');
        Ok(())
    }

    /// Reads much, answers all of it, writes once.
    pub(super) fn serve() -> io::Result<()> {
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        let (mut buffer, mut kept, mut out) = (vec![0; 64 * 1024], 0, Vec::new());
        loop {
            let bytes = input.read(&mut buffer[kept..])?;
            if bytes == 0 {
                return Ok(());
            }
            let mut rest = &buffer[..kept + bytes];
            loop {
                let line = rest;
                let length = rest.skip_until(b'\n')?;
                if length == 0 || line[length - 1] != b'\n' {
                    let start = kept + bytes - line.len();
                    kept = line.len();
                    buffer.copy_within(start..start + kept, 0);
                    break;
                }
                answer(&line[..length - 1], &mut out)?;
            }
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
}

fn serve() -> io::Result<()> {
    let registry = Registry::linked().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(serve_stdio(Server::new(registry))).map_err(io::Error::other)
}

/// A program that serves, and the pipes to it.
struct Served {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Served {
    fn start(how: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(how).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("there are no pipes"))?;
        Ok(Self { child, input, output })
    }

    /// Calls a second, with so many in flight.
    fn calls_a_second(&mut self, tool: &str, in_flight: usize) -> io::Result<f64> {
        let (mut next, mut answered) = (0_u64, 0_u64);
        let (mut out, mut buffer) = (Vec::new(), vec![0; 256 * 1024]);
        let mut ask = in_flight;
        let started = Instant::now();
        let mut seen = String::new();
        loop {
            for _ in 0..ask {
                next += 1;
                writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","id":{next},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":20,"b":22}}}}}}"#
                )?;
            }
            self.input.write_all(&out)?;
            out.clear();
            let bytes = self.output.read(&mut buffer)?;
            if seen.is_empty() {
                seen = String::from_utf8_lossy(&buffer[..bytes]).into_owned();
            }
            ask = count_lines(&buffer[..bytes]);
            answered += ask as u64;
            if started.elapsed() > TIME {
                break;
            }
        }
        let rate = to_float(answered) / started.elapsed().as_secs_f64();
        while answered < next {
            let bytes = self.output.read(&mut buffer)?;
            answered += count_lines(&buffer[..bytes]) as u64;
        }
        assert!(seen.contains(r#""structuredContent":{"result":42}"#), "{seen}");
        Ok(rate)
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.input);
        self.child.wait().map(drop)
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

#[allow(clippy::cast_precision_loss, reason = "it is a figure to read")]
fn to_float(number: u64) -> f64 {
    number as f64
}

fn measure() -> io::Result<()> {
    println!("{:<16} {:>9} {:>12} {:>12} {:>7}", "tool", "in flight", "calls/s", "by hand", "ratio");
    for (tool, in_flight) in [
        ("calc_add", 1),
        ("calc_add", 64),
        ("calc_add_in_future", 1),
        ("calc_add_in_future", 64),
        ("calc_add_on_pool", 1),
        ("calc_add_on_pool", 64),
    ] {
        let (mut best, mut best_by_hand) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            let (mut served, mut by_hand) = (Served::start("serve")?, Served::start("hand")?);
            best = best.max(served.calls_a_second(tool, in_flight)?);
            best_by_hand = best_by_hand.max(by_hand.calls_a_second("calc_add", in_flight)?);
            served.end()?;
            by_hand.end()?;
        }
        println!("{tool:<18} {in_flight:>7} {best:>12.0} {best_by_hand:>12.0} {:>7.2}", best / best_by_hand);
    }
    Ok(())
}

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(),
        Some("hand") => by_hand::serve(),
        _ => measure(),
    }
}
