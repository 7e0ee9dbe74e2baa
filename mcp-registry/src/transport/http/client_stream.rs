//! The connection to a client: rejects bare line feeds, and times out if the client reads nothing.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::bare_lf::HeadScanner;
use super::connections::ConnectionState;

/// A connection whose client must read something within the timeout.
pub(super) struct ClientStream<C> {
    connection: C,
    scanner: HeadScanner,
    write_timeout: Duration,
    /// Runs while a write is blocked.
    timer: Option<Pin<Box<Sleep>>>,
    /// Counts the writes to all connections.
    writes: Arc<AtomicUsize>,
    state: Arc<ConnectionState>,
}

impl<C: Unpin> ClientStream<C> {
    pub(super) fn new(
        connection: C,
        write_timeout: Duration,
        writes: Arc<AtomicUsize>,
        state: Arc<ConnectionState>,
    ) -> Self {
        Self { connection, scanner: HeadScanner::new(Arc::clone(&state)), write_timeout, timer: None, writes, state }
    }

    fn poll_with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut C>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.connection), context);
        self.state.set_stalled(written.is_pending());
        if written.is_ready() {
            self.timer = None;
            self.writes.fetch_add(1, Ordering::Relaxed);
            return written;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.write_timeout)));
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for ClientStream<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { connection, scanner, .. } = &mut *self;
        scanner.poll_read(Pin::new(connection), context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for ClientStream<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(context, |connection, context| connection.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with_timeout(context, C::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with_timeout(context, C::poll_shutdown)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(context, |connection, context| connection.poll_write_vectored(context, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use tokio::io::AsyncWrite as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::{ClientStream, ConnectionState};

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stream = listener.accept().await.unwrap().0;
        let state = Arc::new(ConnectionState::new(Instant::now()));
        let mut stream = ClientStream::new(stream, Duration::from_millis(50), Arc::default(), Arc::clone(&state));
        let bytes = vec![0; 1 << 20];
        let error = loop {
            let write = std::future::poll_fn(|context| Pin::new(&mut stream).poll_write(context, &bytes));
            if let Err(error) = write.await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(!state.is_waiting(), "the client has not read everything");
    }
}
