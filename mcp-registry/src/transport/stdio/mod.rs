//! Serves one JSON message per line, over stdin and stdout or any other pair of streams.

mod async_io;
mod connection;
mod drain;
mod handles;
mod lines;
mod output;

use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::Arc;
use std::task::Poll;
use std::thread::{self, JoinHandle};

use mcp_core::CallOptions;
use mcp_core::error::TransportError;
use tokio::runtime::Handle;

use self::connection::{CloseOnDrop, Connection};
use self::drain::{Drain, report_cancelled};
use self::output::{Output, Phase};

pub use self::async_io::serve_lines;
use crate::protocol::Server;
use crate::runtime::RuntimeError;
use crate::transport::signals::Signals;
use crate::util::panic::guard;

/// Serves the client that started this program over stdin and stdout, one message per line. Calls run concurrently.
///
/// Stops reading at the end of stdin, or at Ctrl-C or SIGTERM, and ends when the calls in flight are answered. Calls
/// that take longer than [`Server::drain_timeout`] (default: 5 s) are cancelled, answered with an error, and reported:
/// with a `tracing` event if there is a subscriber, otherwise on stderr. At the end of stdin, the server waits until
/// the client has read all answers. After a signal, it does not wait for a client that does not read; a second signal
/// stops it immediately. When the client disconnects, calls in flight are cancelled.
///
/// **From now on, stdout belongs to the client**, for as long as the program runs. On Unix, the output of a tool that
/// prints to stdout is redirected to stderr, and a tool that reads stdin, or starts a program that does, finds it
/// empty. On other systems, tools must print to stderr themselves.
///
/// Requires a tokio runtime with all drivers enabled, such as that of `#[tokio::main]`. The registry runs sync
/// functions on its own threads, which do not keep the program alive. If it was built with a
/// [`TokioRuntime`](crate::runtime::TokioRuntime), these functions run on tokio's threads, and dropping the tokio
/// runtime waits for them: shut it down with `shutdown_background`, as `cli::main` does.
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
    let (runtime, signals) = (current_runtime()?, Signals::new()?);
    let (input, output, stdout) = handles::take_stdio()?;
    let connection = Connection::new(server, CallOptions::new(), Output::new(Some(Box::new(output))), runtime);
    let output = Arc::downgrade(&connection.output);
    thread::Builder::new().name("mcp-client".to_owned()).spawn(move || {
        if handles::wait_until_closed(&stdout) {
            output.upgrade().iter().for_each(|output| output.close());
        }
    })?;
    Ok(serve_blocking(&connection, input, signals).await?)
}

/// The runtime of the current task.
fn current_runtime() -> io::Result<Handle> {
    Handle::try_current().map_err(|_| io::Error::other(RuntimeError::NoRuntime))
}

/// Serves blocking streams, each on its own thread: this is one hop less per message than tokio's stdin and stdout.
async fn serve_blocking(
    connection: &Connection,
    input: impl Read + Send + 'static,
    mut signals: Signals,
) -> io::Result<()> {
    let _close_on_drop = CloseOnDrop(connection);
    spawn("mcp-stdout", connection.clone(), |connection| connection.output.write_all())?;
    spawn("mcp-stdin", connection.clone(), |connection| read_all(connection, input))?;
    let (mut stopped, mut drain) = (false, Drain::new(connection));
    let (ended, reason) = poll_fn(|context| {
        while signals.poll(context).is_ready() {
            if stopped {
                return Poll::Ready((Ok(()), "of a second signal"));
            }
            stopped = true;
            connection.stop();
        }
        loop {
            if let Poll::Ready(ended) = connection.output.poll_finished(context) {
                return Poll::Ready((ended, "the client has disconnected"));
            }
            if stopped && drain.is_finished() {
                return Poll::Ready((Ok(()), "the server is shutting down"));
            }
            if drain.poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await;
    report_cancelled(&connection.peer.shut_down(), reason);
    ended
}

/// Starts a thread of the connection. Reading stops when it ends; if it panics, serving fails.
fn spawn(
    name: &str,
    connection: Connection,
    run: impl FnOnce(&Connection) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        if let Err(panicked) = guard(|| run(&connection)) {
            let message = format!("the server panicked: {}; tell its author", panicked.message());
            connection.output.fail(io::Error::other(message));
        }
        connection.stop();
    })
}

/// Reads messages, and answers them if that is possible immediately.
fn read_all(connection: &Connection, mut input: impl Read) {
    let (mut lines, mut out) = (connection.lines(), Vec::new());
    loop {
        let bytes = match input.read(lines.buffer()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Treat other errors as the end of the input.
            Err(_) => 0,
        };
        // The connection must not end before the messages that were just read are answered.
        let _pending = connection.output.expect_answer();
        if connection.output.is_stopped() {
            return;
        }
        lines.filled(bytes);
        loop {
            let all = connection.answer(&mut lines, &mut out);
            match connection.output.write(&mut out) {
                Phase::Reading if all => break,
                Phase::Reading => {}
                Phase::Ending if !all => {}
                Phase::Ending | Phase::Closed => return,
            }
        }
        if bytes == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use mcp_core::CallOptions;
    use tokio::runtime::{Builder, Handle};

    use super::connection::Connection;
    use super::output::Output;
    use super::{Signals, serve_blocking};
    use crate::protocol::Server;
    use crate::registry::Registry;

    struct Panics;

    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("on purpose")
        }
    }

    #[test]
    fn a_thread_that_panics_is_an_error_and_not_the_end_of_the_input() {
        Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
            let server = Server::new(Registry::builder_of([]).allow_empty().build().unwrap());
            let output = Output::new(Some(Box::new(io::sink())));
            let connection = Connection::new(server, CallOptions::new(), output, Handle::current());
            let error = serve_blocking(&connection, Panics, Signals::new().unwrap()).await.unwrap_err();
            assert_eq!(error.to_string(), "the server panicked: on purpose; tell its author");
        });
    }
}
