//! Serves any pair of asynchronous streams.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use mcp_core::CallOptions;
use mcp_core::error::TransportError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{CloseOnDrop, Connection};
use super::current_runtime;
use super::drain::Drain;
use super::lines::Lines;
use super::output::{MAX_WAITING_BYTES, Output, is_disconnect};
use crate::protocol::Server;

/// Serves a client that writes and reads one message per line: over a pipe, a socket, or in memory. The options, such
/// as the caller, its trust level and extensions, apply to each call.
///
/// Ends when the input has ended and everything is answered, or when writing fails. Calls that take longer than
/// [`Server::drain_timeout`] after the end of the input are cancelled and answered with an error. To stop the server,
/// end the input; dropping the future cancels the requests in flight. Requires a tokio runtime.
///
/// ```standalone_crate
/// use mcp_registry::{CallOptions, Registry, Server, mcp_tool};
/// use mcp_registry::stdio::serve_lines;
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc", inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_registry::Result<()> {
/// let server = Server::new(Registry::linked()?);
/// let input = br#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
/// let mut output = Vec::new();
/// serve_lines(server, CallOptions::new(), &input[..], &mut output).await?;
/// assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
/// # Ok(())
/// # }
/// ```
pub async fn serve_lines(
    server: Server,
    options: CallOptions,
    reader: impl AsyncRead,
    writer: impl AsyncWrite,
) -> Result<(), TransportError> {
    let connection = Connection::new(server, options, Output::new(None), current_runtime()?);
    let _close_on_drop = CloseOnDrop(&connection);
    let (reader, writer) = (pin!(reader), pin!(writer));
    let mut duplex = Duplex {
        connection: &connection,
        drain: Drain::new(&connection),
        reader,
        writer,
        lines: connection.lines(),
        has_lines: false,
        input_ended: false,
        answers: Vec::new(),
        out: Vec::new(),
        written: 0,
        flushed: true,
    };
    match poll_fn(|context| duplex.poll(context)).await {
        Err(error) if !is_disconnect(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Both directions of a connection.
struct Duplex<'a, R, W> {
    connection: &'a Connection,
    drain: Drain<'a>,
    reader: Pin<&'a mut R>,
    writer: Pin<&'a mut W>,
    lines: Lines,
    /// Whether there are lines that were read but not yet answered.
    has_lines: bool,
    /// Whether the input has ended.
    input_ended: bool,
    answers: Vec<u8>,
    out: Vec<u8>,
    /// The number of bytes of `out` that are written.
    written: usize,
    flushed: bool,
}

impl<R: AsyncRead, W: AsyncWrite> Duplex<'_, R, W> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let output = &*self.connection.output;
        loop {
            // Reading continues while little output is queued.
            let written = self.poll_write(context)?.is_ready();
            if written && !self.has_lines && output.poll_finished(context)?.is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.drain.poll(context).is_ready() {
                continue;
            }
            if self.out.len() - self.written >= MAX_WAITING_BYTES || output.is_full() {
                return Poll::Pending;
            }
            ready!(self.poll_read(context))?;
        }
    }

    /// Writes until the queue is empty.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.written == self.out.len() {
                self.out.clear();
                self.out.shrink_to(MAX_WAITING_BYTES);
                self.written = 0;
                if !self.connection.output.poll_take(&mut self.out, context) {
                    break;
                }
            }
            let bytes = ready!(self.writer.as_mut().poll_write(context, &self.out[self.written..]))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            (self.written, self.flushed) = (self.written + bytes, false);
        }
        if !self.flushed {
            ready!(self.writer.as_mut().poll_flush(context))?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads a chunk, or continues with the last one, and answers its lines.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.has_lines {
            if self.input_ended {
                return Poll::Pending;
            }
            let mut buffer = ReadBuf::new(self.lines.buffer());
            ready!(self.reader.as_mut().poll_read(context, &mut buffer))?;
            let bytes = buffer.filled().len();
            self.lines.filled(bytes);
            self.input_ended = bytes == 0;
        }
        self.has_lines = !self.connection.answer(&mut self.lines, &mut self.answers);
        self.connection.output.push_answers(&mut self.answers);
        if self.input_ended && !self.has_lines {
            self.connection.stop();
        }
        Poll::Ready(Ok(()))
    }
}
