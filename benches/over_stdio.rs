//! A server over stdio in a process of its own, and a client that counts its calls.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_registry::{Registry, Server, serve_stdio};

/// How long one figure is measured.
const TIME: Duration = Duration::from_millis(700);

/// Serves the linked tools.
pub(crate) fn serve() -> io::Result<()> {
    let registry = Registry::linked().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(serve_stdio(Server::new(registry))).map_err(io::Error::other)
}

/// A server process and its pipes.
pub(crate) struct Served {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Served {
    /// Starts this program as a server.
    pub(crate) fn start(how: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(how);
        Self::spawn(command)
    }

    /// Starts a command that serves.
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("there are no pipes"))?;
        Ok(Self { child, input, output })
    }

    /// Calls per second with this many in flight.
    pub(crate) fn calls_a_second(&mut self, tool: &str, in_flight: usize) -> io::Result<f64> {
        let started = Instant::now();
        let calls = self.calls(tool, in_flight, |_| started.elapsed() < TIME)?;
        Ok(to_float(calls) / started.elapsed().as_secs_f64())
    }

    /// Makes calls, with this many in flight, while `more` returns true for the number of calls so far. Returns their number.
    pub(crate) fn calls(&mut self, tool: &str, in_flight: usize, more: impl Fn(u64) -> bool) -> io::Result<u64> {
        let (mut next, mut answered) = (0_u64, 0_u64);
        let (mut out, mut buffer) = (Vec::new(), vec![0; 256 * 1024]);
        let mut ask = in_flight;
        let mut seen = String::new();
        loop {
            for _ in 0..ask {
                if !more(next) {
                    break;
                }
                next += 1;
                writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","id":{next},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":20,"b":22}}}}}}"#
                )?;
            }
            self.input.write_all(&out)?;
            out.clear();
            if answered == next {
                break;
            }
            let bytes = self.output.read(&mut buffer)?;
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if seen.is_empty() {
                seen = String::from_utf8_lossy(&buffer[..bytes]).into_owned();
            }
            ask = count_lines(&buffer[..bytes]);
            answered += ask as u64;
        }
        assert!(seen.contains(r#""structuredContent":{"result":42}"#), "{seen}");
        Ok(next)
    }

    /// Closes the pipes and waits for the server.
    pub(crate) fn end(mut self) -> io::Result<()> {
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
