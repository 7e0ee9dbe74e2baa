//! A connection that is given up when its client takes nothing any more.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

use super::life::Life;

/// A connection whose client has to take something of what it is sent within a time.
pub(super) struct Stall<C> {
    connection: C,
    patience: Duration,
    /// Runs out while nothing is taken.
    waits: Option<Pin<Box<Sleep>>>,
    /// Moves on whenever something is.
    taken: Arc<AtomicUsize>,
    life: Arc<Life>,
}

impl<C: Unpin> Stall<C> {
    pub(super) fn new(connection: C, patience: Duration, taken: Arc<AtomicUsize>, life: Arc<Life>) -> Self {
        Self { connection, patience, waits: None, taken, life }
    }

    fn unless_late<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut C>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let done = write(Pin::new(&mut self.connection), context);
        self.life.set_stalled(done.is_pending());
        if done.is_ready() {
            self.waits = None;
            self.taken.fetch_add(1, Ordering::Relaxed);
            return done;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<C: Read + Unpin> Read for Stall<C> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, into)
    }
}

impl<C: Write + Unpin> Write for Stall<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_late(context, |connection, context| connection.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_late(context, C::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_late(context, C::poll_shutdown)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.unless_late(context, |connection, context| connection.poll_write_vectored(context, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use hyper::rt::Write as _;
    use hyper_util::rt::TokioIo;
    use tokio::net::{TcpListener, TcpStream};

    use super::{Life, Stall};

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stream = listener.accept().await.unwrap().0;
        let life = Arc::new(Life::new(Instant::now()));
        let mut stall = Stall::new(TokioIo::new(stream), Duration::from_millis(50), Arc::default(), Arc::clone(&life));
        let bytes = vec![0; 1 << 20];
        let error = loop {
            let write = std::future::poll_fn(|context| Pin::new(&mut stall).poll_write(context, &bytes));
            if let Err(error) = write.await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(!life.is_waiting(), "something is still to be taken");
    }
}
