//! Serving lines: one JSON message a line, over stdin and stdout or any other pair of streams.

mod connection;
mod drain;
mod lines;
mod outbox;
mod own;
mod stream;

use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use mcp_core::{CallOptions, TransportError};
use tokio::runtime::Handle;

use self::connection::{Closing, Connection};
use self::drain::{Drain, report};
use self::outbox::Outbox;

pub use self::stream::serve_lines;
use crate::protocol::Server;
use crate::runtime::RuntimeError;
use crate::transport::signals::Signals;

/// Serves the client that started this program: one message a line from stdin, one a line to stdout. Calls run side by
/// side.
///
/// Ends when stdin does, or at Ctrl-C or SIGTERM: nothing more is read, and calls in flight are answered. Calls that go on
/// for longer than [`Server::drain_timeout`] (default: 5 s) are cancelled, answered with an error that says so, and
/// reported: by an event of `tracing` if somebody listens, else on stderr. At the end of stdin, answers are written as fast
/// as the client reads. After a signal, a client that does not read is not waited for either, and at a second signal
/// nothing is waited for. When the client is gone, calls in flight are cancelled at once.
///
/// **From here on, stdout belongs to the client** for as long as the program runs. On Unix, what a tool prints goes to
/// stderr, and a tool that reads stdin, or starts a program that does, finds it empty. Elsewhere tools must print to
/// stderr by themselves.
///
/// It is to run in a tokio runtime with everything enabled, as `#[tokio::main]` makes one. The registry runs plain
/// functions on threads of its own, which do not keep the program from ending. If its builder was given a
/// [`TokioRuntime`](crate::TokioRuntime), the runtime waits for them when it is dropped: end it with `shutdown_background`, as
/// `cli::main` does.
///
/// ```no_run
/// use mcp_registry::{Registry, Server, mcp_tool, serve_stdio};
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc", inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[tokio::main]
/// async fn main() -> mcp_registry::Result<()> {
///     serve_stdio(Server::new(Registry::linked()?)).await?;
///     Ok(())
/// }
/// ```
pub async fn serve_stdio(server: Server) -> Result<(), TransportError> {
    let (runtime, signals) = (runtime()?, Signals::new()?);
    let (input, output, reader) = own::stdio()?;
    let connection = Connection::new(server, CallOptions::new(), Outbox::writing_to(output), runtime);
    let outbox = Arc::downgrade(&connection.outbox);
    thread::Builder::new().name("mcp-client".to_owned()).spawn(move || {
        if reader.waits_until_gone() {
            outbox.upgrade().iter().for_each(|outbox| outbox.close());
        }
    })?;
    Ok(serve_blocking(&connection, input, signals).await?)
}

/// The runtime that this task is in.
fn runtime() -> io::Result<Handle> {
    Handle::try_current().map_err(|_| io::Error::other(RuntimeError::NoRuntime))
}

/// Serves streams that block, each with a thread: one hop less for each message than tokio's own.
async fn serve_blocking(
    connection: &Connection,
    input: impl Read + Send + 'static,
    mut signals: Signals,
) -> io::Result<()> {
    let _closing = Closing(connection);
    let writing = connection.clone();
    thread::Builder::new().name("mcp-stdout".to_owned()).spawn(move || writing.outbox.write_all())?;
    let reading = Reading(connection.clone());
    thread::Builder::new().name("mcp-stdin".to_owned()).spawn(move || reading.read(input))?;
    let (mut stopped, mut drain) = (false, Drain::new(connection));
    let (ended, why) = poll_fn(|context| {
        while signals.poll(context).is_ready() {
            if stopped {
                return Poll::Ready((Ok(()), "of a second signal"));
            }
            stopped = true;
            connection.stop();
        }
        loop {
            if let Poll::Ready(ended) = connection.outbox.poll_over(context) {
                return Poll::Ready((ended, "the client is gone"));
            }
            if stopped && drain.is_over() {
                return Poll::Ready((Ok(()), "the server is shutting down"));
            }
            if drain.poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await;
    report(&connection.peer.shut_down(), why);
    ended
}

/// The thread that reads, and answers what can be answered at once.
struct Reading(Connection);

impl Reading {
    fn read(self, mut input: impl Read) {
        let (mut lines, mut out) = (self.0.lines(), Vec::new());
        loop {
            let bytes = match input.read(lines.room()) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // There is nothing more to be had.
                Err(_) => 0,
            };
            // The end waits for what was read before it.
            let Some(_expected) = self.0.outbox.expect_if_reading() else { return };
            lines.filled(bytes);
            loop {
                let all = self.0.answer(&mut lines, &mut out);
                let goes_on = self.0.outbox.write(&mut out);
                if self.0.outbox.is_closed() || (all && !goes_on) {
                    return;
                }
                if all {
                    break;
                }
            }
            if bytes == 0 {
                return;
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.stop();
    }
}
