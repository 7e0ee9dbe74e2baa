//! Accepting connections, and ending without losing a request.

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mcp_core::CancelToken;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::accept::JSON;

/// How long a client may take for the headers of a request, and how long a connection may be idle.
const IDLE: Duration = Duration::from_secs(60);

/// How long clients are told with their answers that the server ends, before connections without a request are closed.
const FAREWELL: Duration = Duration::from_millis(250);

/// What a probe is told.
pub(super) fn health(stopping: bool) -> Response {
    let (status, body) = if stopping {
        (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"stopping"}"#)
    } else {
        (StatusCode::OK, r#"{"status":"ok"}"#)
    };
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], body).into_response()
}

/// Serves until a signal comes, and what is under way then until it is over or another comes.
pub(super) async fn serve(
    router: Router,
    listener: TcpListener,
    stopping: &CancelToken,
    mut signal: impl AsyncFnMut(),
) {
    let closing = CancelToken::new();
    let mut connections = JoinSet::new();
    let accept = |connections: &mut JoinSet<()>, stream: TcpStream| {
        connections.spawn(connection(router.clone(), stream, closing.clone()));
    };
    {
        let mut first = pin!(signal());
        loop {
            tokio::select! {
                biased;
                () = &mut first => break,
                stream = next(&listener) => accept(&mut connections, stream),
                Some(_) = connections.join_next() => {}
            }
        }
    }
    stopping.cancel();
    // Who sends a request now is answered, and told to send no more.
    let farewell = async {
        let mut over = pin!(sleep(FAREWELL));
        loop {
            tokio::select! {
                biased;
                stream = next(&listener) => accept(&mut connections, stream),
                () = &mut over => break,
            }
        }
        closing.cancel();
        drop(listener);
        while connections.join_next().await.is_some() {}
    };
    tokio::select! {
        () = farewell => {}
        () = signal() => {}
    }
}

/// The next connection. What fails is the client's, or lies at a lack of files that passes.
async fn next(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_of_connection(&error) => {}
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(router: Router, stream: TcpStream, closing: CancelToken) {
    // Answers are whole, and wait for nothing.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // What becomes of a connection is its client's business.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
