//! The open connections, and those that can be closed if there are too many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::body::Body;
use mcp_core::CancelToken;
use tokio::task::{Id, JoinSet};

use crate::util::lock::lock;

/// How long a connection must be idle before it can be closed to make room.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// Means that a request is in flight, in place of a time.
const BUSY: u64 = u64::MAX;

/// The length of a body, according to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
}

/// The state of a connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// When the server was started.
    epoch: Instant,
    /// When the connection started to wait for a request, in milliseconds since `epoch`; `BUSY` if one is in flight.
    idle_since: AtomicU64,
    /// Whether the client has not read everything that was sent.
    is_stalled: AtomicBool,
    /// The framing of the body after the head that was parsed last.
    framing: Mutex<Option<Framing>>,
    /// Cancelled when the connection has to make room.
    pub(super) evicted: CancelToken,
}

impl ConnectionState {
    pub(super) fn new(epoch: Instant) -> Self {
        let state = Self {
            epoch,
            idle_since: AtomicU64::new(BUSY),
            is_stalled: AtomicBool::new(false),
            framing: Mutex::new(None),
            evicted: CancelToken::new(),
        };
        state.set_idle();
        state
    }

    /// Called after a head was parsed. The request is in flight until the guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>, body: &impl Body) -> RequestGuard {
        self.set_framing(body.size_hint().exact().map_or(Framing::Chunked, Framing::Length));
        self.idle_since.store(BUSY, Ordering::Relaxed);
        RequestGuard(Arc::clone(self))
    }

    pub(super) fn set_framing(&self, framing: Framing) {
        *lock(&self.framing) = Some(framing);
    }

    /// The framing of the body after the head that was parsed last. Returned only once.
    pub(super) fn take_framing(&self) -> Option<Framing> {
        lock(&self.framing).take()
    }

    pub(super) fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled.load(Ordering::Relaxed) != is_stalled {
            self.is_stalled.store(is_stalled, Ordering::Relaxed);
        }
    }

    /// Whether the connection can be closed without losing a request or a response.
    pub(super) fn is_waiting(&self) -> bool {
        self.closable_since().is_some()
    }

    fn closable_since(&self) -> Option<u64> {
        let since = self.idle_since.load(Ordering::Relaxed);
        (since != BUSY && !self.is_stalled.load(Ordering::Relaxed)).then_some(since)
    }

    fn set_idle(&self) {
        self.idle_since.store(millis(self.epoch.elapsed()), Ordering::Relaxed);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(BUSY - 1).min(BUSY - 1)
}

/// Marks a connection as busy while a request is in flight.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<ConnectionState>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.set_idle();
    }
}

/// The connections of a server, by their tasks.
pub(super) struct Connections {
    epoch: Instant,
    max: usize,
    all: HashMap<Id, Arc<ConnectionState>>,
    tasks: JoinSet<()>,
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self { epoch: Instant::now(), max, all: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Serves a connection in a task.
    pub(super) fn spawn<F>(&mut self, serve: impl FnOnce(Arc<ConnectionState>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let state = Arc::new(ConnectionState::new(self.epoch));
        let task = self.tasks.spawn(serve(Arc::clone(&state)));
        self.all.insert(task.id(), state);
    }

    /// Waits until a connection has ended. Returns `false` if there is none.
    pub(super) async fn join_next(&mut self) -> bool {
        let Some(ended) = self.tasks.join_next_with_id().await else { return false };
        self.all.remove(&ended.map_or_else(|error| error.id(), |(task, ())| task));
        true
    }

    /// Whether there is room for another connection.
    pub(super) fn has_room(&self) -> bool {
        self.all.len() < self.max
    }

    /// Closes the connections that have waited longest for a request or the rest of one. It closes several at a time,
    /// because each call visits all of them.
    pub(super) fn make_room(&self) {
        let old = millis(self.epoch.elapsed().saturating_sub(MIN_IDLE));
        let mut waiting = Vec::new();
        for connection in self.all.values() {
            match connection.closable_since() {
                // One is already being closed.
                Some(_) if connection.evicted.is_cancelled() => return,
                Some(since) if since <= old => waiting.push((since, connection)),
                _ => {}
            }
        }
        let count = (self.max / 64).clamp(1, 64);
        if waiting.len() > count {
            waiting.select_nth_unstable_by_key(count, |(since, _)| *since);
            waiting.truncate(count);
        }
        for (_, connection) in waiting {
            connection.evicted.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::ConnectionState;

    #[test]
    fn a_connection_can_be_closed_while_it_waits_for_a_request_and_its_client_has_read_everything() {
        let state = Arc::new(ConnectionState::new(Instant::now()));
        assert!(state.is_waiting());
        let request = state.start_request(&String::new());
        assert!(!state.is_waiting(), "a request is in flight");
        state.set_stalled(true);
        drop(request);
        assert!(!state.is_waiting(), "the client has not read the response");
        state.set_stalled(false);
        assert!(state.is_waiting());
    }
}
