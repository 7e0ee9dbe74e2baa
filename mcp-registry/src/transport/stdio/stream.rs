//! Serving any pair of asynchronous streams.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use mcp_core::{CallOptions, TransportError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{Closing, Connection};
use super::drain::Drain;
use super::lines::Lines;
use super::outbox::{Outbox, WAITING, is_gone};
use super::runtime;
use crate::protocol::Server;

/// Serves a client that writes one message a line, and reads one a line: over a pipe, a socket, or in memory. Each call
/// brings the options along: the caller, trust, extensions.
///
/// Ends when the input does, and all that was asked for is answered; or when nothing can be written any more. Calls that
/// go on for longer than [`Server::drain_timeout`] after the end of the input are cancelled, and answered with an error.
/// To end it from this side, end the input. Where it is dropped before, what is under way is cancelled. It is to run in a
/// tokio runtime.
///
/// ```standalone_crate
/// use mcp_registry::{CallOptions, Registry, Server, mcp_tool, serve_lines};
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
    let connection = Connection::new(server, options, Outbox::new(), runtime()?);
    let _closing = Closing(&connection);
    let (reader, writer) = (pin!(reader), pin!(writer));
    let mut both = Both {
        connection: &connection,
        drain: Drain::new(&connection),
        reader,
        writer,
        lines: connection.lines(),
        has_lines: false,
        ended: false,
        answers: Vec::new(),
        out: Vec::new(),
        written: 0,
        flushed: true,
    };
    match poll_fn(|context| both.poll(context)).await {
        Err(error) if !is_gone(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Both directions.
struct Both<'a, R, W> {
    connection: &'a Connection,
    drain: Drain<'a>,
    reader: Pin<&'a mut R>,
    writer: Pin<&'a mut W>,
    lines: Lines,
    /// Whether there are lines that were read and not answered.
    has_lines: bool,
    /// Whether nothing more is to be read.
    ended: bool,
    answers: Vec<u8>,
    out: Vec<u8>,
    /// How much of it is written.
    written: usize,
    flushed: bool,
}

impl<R: AsyncRead, W: AsyncWrite> Both<'_, R, W> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outbox = &*self.connection.outbox;
        loop {
            // What cannot be written yet is no reason not to read, as long as it is little.
            let written = self.poll_write(context)?.is_ready();
            if written && !self.has_lines && outbox.poll_over(context)?.is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.drain.poll(context).is_ready() {
                continue;
            }
            if self.out.len() - self.written >= WAITING || outbox.is_full() {
                return Poll::Pending;
            }
            ready!(self.poll_read(context))?;
        }
    }

    /// Writes until there is nothing to write.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.written == self.out.len() {
                self.out.clear();
                self.out.shrink_to(WAITING);
                self.written = 0;
                if !self.connection.outbox.poll_take(&mut self.out, context) {
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

    /// Reads a chunk, or takes what is left of the last, and answers it.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.has_lines {
            if self.ended {
                return Poll::Pending;
            }
            let mut room = ReadBuf::new(self.lines.room());
            ready!(self.reader.as_mut().poll_read(context, &mut room))?;
            let bytes = room.filled().len();
            self.lines.filled(bytes);
            self.ended = bytes == 0;
        }
        self.has_lines = !self.connection.answer(&mut self.lines, &mut self.answers);
        self.connection.outbox.put(&mut self.answers);
        if self.ended && !self.has_lines {
            self.connection.stop();
        }
        Poll::Ready(Ok(()))
    }
}
