//! The open connections, and which of them can be closed when there are too many.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::body::Body;
use mcp_core::CancelToken;
use tokio::task::Id;

/// How long a connection has to be idle before it can be closed to make room.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// A request is in flight, in place of a time.
const BUSY: u64 = u64::MAX;

/// In place of the length of a body.
const CHUNKED: u64 = u64::MAX;
const UNKNOWN: u64 = u64::MAX - 1;

/// The length of a body, as the parser has read it.
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
    /// Since when it waits for a request, in milliseconds; `BUSY` if one is in flight.
    idle_since: AtomicU64,
    /// Whether the client has not read all that was written.
    is_stalled: AtomicBool,
    /// The body of the last head that was read.
    framing: AtomicU64,
    /// Cancelled when it has to make room.
    evicted: CancelToken,
}

impl ConnectionState {
    pub(super) fn new(epoch: Instant) -> Self {
        let state = Self {
            epoch,
            idle_since: AtomicU64::new(BUSY),
            is_stalled: AtomicBool::new(false),
            framing: AtomicU64::new(UNKNOWN),
            evicted: CancelToken::new(),
        };
        state.set_idle();
        state
    }

    /// A head was read: a request is in flight until the guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>, body: &impl Body) -> RequestGuard {
        self.set_framing(body.size_hint().exact().map_or(Framing::Chunked, Framing::Length));
        self.idle_since.store(BUSY, Ordering::Relaxed);
        RequestGuard(Arc::clone(self))
    }

    pub(super) fn set_framing(&self, framing: Framing) {
        let framing = match framing {
            Framing::Length(bytes) => bytes.min(UNKNOWN - 1),
            Framing::Chunked => CHUNKED,
        };
        self.framing.store(framing, Ordering::Relaxed);
    }

    /// The body of the head that was read last; once.
    pub(super) fn take_framing(&self) -> Option<Framing> {
        match self.framing.swap(UNKNOWN, Ordering::Relaxed) {
            UNKNOWN => None,
            CHUNKED => Some(Framing::Chunked),
            bytes => Some(Framing::Length(bytes)),
        }
    }

    pub(super) fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled.load(Ordering::Relaxed) != is_stalled {
            self.is_stalled.store(is_stalled, Ordering::Relaxed);
        }
    }

    /// Resolves when it has to make room.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Whether nothing is lost if it is closed.
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

/// A request that is in flight on a connection.
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
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self { epoch: Instant::now(), max, all: HashMap::new() }
    }

    pub(super) fn new_state(&self) -> Arc<ConnectionState> {
        Arc::new(ConnectionState::new(self.epoch))
    }

    pub(super) fn add(&mut self, task: Id, state: Arc<ConnectionState>) {
        self.all.insert(task, state);
    }

    pub(super) fn remove(&mut self, task: Id) {
        self.all.remove(&task);
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.all.len() < self.max
    }

    /// Closes those that have waited for a request the longest, including half-sent ones; several at a time, since each
    /// call visits all of them.
    pub(super) fn make_room(&self) {
        let old = millis(self.epoch.elapsed().saturating_sub(MIN_IDLE));
        let mut waiting = Vec::new();
        for connection in self.all.values() {
            match connection.closable_since() {
                // It is being closed already.
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
