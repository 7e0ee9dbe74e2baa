//! Accepting connections, and ending without losing a request.

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
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::sleep;

use super::heads::Heads;
use super::life::{Life, Lives, Sent};
use super::service::HttpService;
use super::stall::Stall;

/// How long a client may take for the whole head of a request, from when the server waits for it: also how long a
/// connection may be idle.
const IDLE: Duration = Duration::from_secs(60);

/// How soon one looks again whether there is room for another connection.
const AGAIN: Duration = Duration::from_millis(20);

/// How long a client may take nothing of what it is sent.
const STALL: Duration = Duration::from_secs(30);

/// How many bytes of a connection are buffered before its stream is asked for more.
const BUFFER: usize = 64 * 1024;

/// How long clients are told with their answers that the server ends, before connections without a request are closed.
const FAREWELL: Duration = Duration::from_millis(250);

/// How often one looks whether something is still to come, at the end.
const LOOK: Duration = Duration::from_secs(2);

/// After how many looks at nothing the end is waited for no longer.
const PATIENCE: u32 = 3;

/// After how many looks the last answers should have been read.
const READING: u32 = 30;

/// Serves until a signal comes, and what is under way then until it is over or another comes.
pub(super) async fn serve(
    service: HttpService,
    listener: TcpListener,
    most: usize,
    stopping: &CancelToken,
    mut signal: impl AsyncFnMut(),
) {
    let mut crowd = Crowd {
        service,
        taken: Arc::default(),
        lives: Lives::new(most),
        closing: CancelToken::new(),
        tasks: JoinSet::new(),
    };
    {
        let (mut first, mut told) = (pin!(signal()), pin!(stopping.cancelled()));
        // Accepted when there was no room.
        let mut at_the_door = None;
        loop {
            tokio::select! {
                biased;
                () = &mut first => break,
                () = &mut told => break,
                Some(ended) = crowd.tasks.join_next_with_id() => crowd.ended(&ended),
                () = sleep(AGAIN), if at_the_door.is_some() => {}
                accepted = next(&listener), if at_the_door.is_none() => match accepted {
                    Some(stream) => at_the_door = Some(stream),
                    None => crowd.lives.make_room(),
                },
            }
            if at_the_door.is_none() {
                continue;
            }
            if !crowd.lives.has_room() {
                crowd.lives.make_room();
            } else if let Some(stream) = at_the_door.take() {
                crowd.admit(stream);
            }
        }
        if let Some(stream) = at_the_door {
            crowd.admit(stream);
        }
    }
    stopping.cancel();
    // Who sends a request now is answered, and told to send no more.
    let farewell = async {
        let mut over = pin!(sleep(FAREWELL));
        loop {
            tokio::select! {
                biased;
                () = &mut over => break,
                Some(ended) = crowd.tasks.join_next_with_id() => crowd.ended(&ended),
                Some(stream) = next(&listener), if crowd.lives.has_room() => crowd.admit(stream),
            }
        }
        // Who is connected by now is heard still.
        if let Ok(listener) = listener.into_std() {
            while let (true, Ok((stream, client))) = (crowd.lives.has_room(), listener.accept()) {
                if let Ok(stream) = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
                    crowd.admit((stream, client));
                }
            }
        }
        crowd.closing.cancel();
        tokio::select! {
            () = async { while crowd.tasks.join_next().await.is_some() {} } => {}
            () = patience(&crowd.service, &crowd.taken) => {}
        }
    };
    tokio::select! {
        () = farewell => {}
        () = signal() => {}
    }
}

/// Over when no request has been under way, and nobody has read, for a while; or when reading takes too long.
async fn patience(service: &HttpService, taken: &AtomicUsize) {
    let (mut idle, mut looks, mut last) = (0, 0, 0);
    while idle < PATIENCE && looks < READING {
        sleep(LOOK).await;
        let before = std::mem::replace(&mut last, taken.load(Ordering::Relaxed));
        let is_busy = service.in_flight() > 0;
        looks = if is_busy { 0 } else { looks + 1 };
        idle = if is_busy || before != last { 0 } else { idle + 1 };
    }
}

/// The connections that are open.
struct Crowd {
    service: HttpService,
    /// Moves on whenever a client takes something of an answer.
    taken: Arc<AtomicUsize>,
    lives: Lives,
    closing: CancelToken,
    tasks: JoinSet<()>,
}

impl Crowd {
    fn admit(&mut self, stream: (TcpStream, SocketAddr)) {
        let life = self.lives.start();
        let service = self.service.clone();
        let connection = connection(service, stream, Arc::clone(&self.taken), Arc::clone(&life), self.closing.clone());
        let task = self.tasks.spawn(connection);
        self.lives.add(task.id(), life);
    }

    fn ended(&mut self, ended: &Result<(Id, ()), JoinError>) {
        let task = match ended {
            Ok((task, ())) => *task,
            Err(error) => error.id(),
        };
        self.lives.remove(task);
    }
}

/// The next connection. What fails is the client's, or lies at a lack of files: then there is none, a little later.
async fn next(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept().await {
            Ok(accepted) => return Some(accepted),
            Err(error) if is_of_connection(&error) => {}
            Err(_) => {
                sleep(AGAIN).await;
                return None;
            }
        }
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(
    service: HttpService,
    (stream, client): (TcpStream, SocketAddr),
    taken: Arc<AtomicUsize>,
    life: Arc<Life>,
    closing: CancelToken,
) {
    // Answers are whole, and wait for nothing.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(BUFFER);
    let service = {
        let life = Arc::clone(&life);
        service_fn(move |request: Request<Incoming>| {
            let (service, busy) = (service.clone(), life.begin(request.body()));
            async move {
                let reply = service.route(request, Some(client)).await;
                Ok::<_, Infallible>(reply.map(|body| Sent { body, busy }))
            }
        })
    };
    // One that is new may have a request on its way.
    let heard = sleep(FAREWELL);
    let close = async {
        closing.cancelled().await;
        heard.await;
    };
    let stream = TokioIo::new(Heads::new(stream, Arc::clone(&life)));
    let stream = Stall::new(stream, STALL, taken, Arc::clone(&life));
    let mut connection = pin!(builder.serve_connection(stream, service));
    // What becomes of a connection is its client's business.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = close => connection.as_mut().graceful_shutdown(),
        () = life.evicted() => {
            if life.is_waiting() {
                return;
            }
            // A request has come meanwhile, and is answered.
            connection.as_mut().graceful_shutdown();
        }
    }
    let _ = connection.await;
}
