//! Accepts connections, and shuts down without losing a request.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp_core::CancelToken;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::client_stream::ClientStream;
use super::connections::{ConnectionState, Connections};
use super::service::HttpService;

/// How long the server waits for the head of a request; also how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How often the server checks for room for another connection.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long a client may read nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a connection's buffer.
const BUFFER_BYTES: usize = 64 * 1024;

/// How long responses carry `Connection: close` before connections without a request are closed; also how long a new
/// connection may take for its first request when the server shuts down.
const GRACE_PERIOD: Duration = Duration::from_millis(250);

/// How often the server checks, while it shuts down, whether clients are still active.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The number of consecutive checks without a request or a write after which the server stops waiting.
const MAX_IDLE_CHECKS: u32 = 3;

/// The number of checks after which clients should have read the last responses.
const MAX_CHECKS: u32 = 30;

/// Serves until the first signal, then finishes the requests in flight, at most until the second signal.
///
/// Each connection is closed separately, instead of by `hyper_util::server::graceful::GracefulShutdown`, which closes
/// all of them at the same moment: a new connection needs a grace period for its first request (the test
/// `a_connection_that_was_just_made_is_not_closed_before_its_request`), and a connection that has to make room for
/// others needs `graceful_shutdown` while the server runs.
pub(super) async fn serve(
    service: HttpService,
    listener: TcpListener,
    max_connections: usize,
    stopping: &CancelToken,
    mut signal: impl AsyncFnMut(),
) {
    let mut acceptor = Acceptor {
        service,
        writes: Arc::default(),
        connections: Connections::new(max_connections),
        closing: CancelToken::new(),
    };
    {
        let (mut first_signal, mut stopped) = (pin!(signal()), pin!(stopping.cancelled()));
        // A connection that was accepted while there was no room for it.
        let mut waiting = None;
        loop {
            tokio::select! {
                biased;
                () = &mut first_signal => break,
                () = &mut stopped => break,
                true = acceptor.connections.join_next() => {}
                () = sleep(RETRY_INTERVAL), if waiting.is_some() => {}
                accepted = accept(&listener), if waiting.is_none() => match accepted {
                    Some(stream) => waiting = Some(stream),
                    None => acceptor.connections.make_room(),
                },
            }
            if let Some(stream) = waiting.take_if(|_| acceptor.connections.has_room()) {
                acceptor.spawn(stream);
            } else if waiting.is_some() {
                acceptor.connections.make_room();
            }
        }
        if let Some(stream) = waiting {
            acceptor.spawn(stream);
        }
    }
    stopping.cancel();
    tokio::select! {
        () = acceptor.stop(listener) => {}
        () = signal() => {}
    }
}

/// Accepts connections, and serves each of them in a task.
struct Acceptor {
    service: HttpService,
    /// Counts the writes to all connections, which shows whether clients read.
    writes: Arc<AtomicUsize>,
    connections: Connections,
    closing: CancelToken,
}

impl Acceptor {
    fn spawn(&mut self, stream: (TcpStream, SocketAddr)) {
        let (service, writes, closing) = (self.service.clone(), Arc::clone(&self.writes), self.closing.clone());
        self.connections.spawn(|state| serve_connection(service, stream, writes, state, closing));
    }

    /// Answers new requests with `Connection: close` for a while, then waits for the requests in flight.
    async fn stop(&mut self, listener: TcpListener) {
        let mut grace_period = pin!(sleep(GRACE_PERIOD));
        loop {
            tokio::select! {
                biased;
                () = &mut grace_period => break,
                true = self.connections.join_next() => {}
                Some(stream) = accept(&listener), if self.connections.has_room() => self.spawn(stream),
            }
        }
        // Clients that have already connected are still served.
        if let Ok(listener) = listener.into_std() {
            while let (true, Ok((stream, client))) = (self.connections.has_room(), listener.accept()) {
                if let Ok(stream) = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
                    self.spawn((stream, client));
                }
            }
        }
        self.closing.cancel();
        tokio::select! {
            () = async { while self.connections.join_next().await {} } => {}
            () = wait_for_idle(&self.service, &self.writes) => {}
        }
    }
}

/// Ends when there was no request in flight and no write for a while, or when clients take too long to read.
async fn wait_for_idle(service: &HttpService, writes: &AtomicUsize) {
    let (mut idle_checks, mut checks, mut last_writes) = (0, 0, 0);
    while idle_checks < MAX_IDLE_CHECKS && checks < MAX_CHECKS {
        sleep(CHECK_INTERVAL).await;
        let before = std::mem::replace(&mut last_writes, writes.load(Ordering::Relaxed));
        let is_busy = service.endpoint.in_flight() > 0;
        checks = if is_busy { 0 } else { checks + 1 };
        idle_checks = if is_busy || before != last_writes { 0 } else { idle_checks + 1 };
    }
}

/// The next connection. `None`, after a short delay, if there is a temporary shortage of file descriptors.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};

    loop {
        match listener.accept().await {
            Ok(accepted) => return Some(accepted),
            Err(error) if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => {}
            Err(_) => {
                sleep(RETRY_INTERVAL).await;
                return None;
            }
        }
    }
}

async fn serve_connection(
    service: HttpService,
    (stream, client): (TcpStream, SocketAddr),
    writes: Arc<AtomicUsize>,
    state: Arc<ConnectionState>,
    closing: CancelToken,
) {
    // Responses are written as a whole. An error does not matter.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(BUFFER_BYTES);
    let requests = {
        let state = Arc::clone(&state);
        service_fn(move |request: Request<Incoming>| {
            let (service, guard) = (service.clone(), state.start_request(request.body()));
            async move {
                let response = service.route(request, Some(client)).await;
                Ok::<_, Infallible>(response.map(|body| body.guarded(guard)))
            }
        })
    };
    // The first request of a new connection may be on its way.
    let grace_period = sleep(GRACE_PERIOD);
    let close = async {
        closing.cancelled().await;
        grace_period.await;
    };
    let stream = ClientStream::new(stream, WRITE_TIMEOUT, writes, Arc::clone(&state));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), requests));
    // Ignore errors: the client has closed the connection or sent invalid HTTP, which hyper has answered if possible.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = close => connection.as_mut().graceful_shutdown(),
        () = state.evicted.cancelled() => {
            if state.is_waiting() {
                return;
            }
            // A request has arrived in the meantime; answer it.
            connection.as_mut().graceful_shutdown();
        }
    }
    let _ = connection.await;
}
