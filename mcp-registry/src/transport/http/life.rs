//! What a connection is doing, as others see it: whether it can be closed when there are too many.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use mcp_core::CancelToken;
use tokio::task::Id;

use super::stream::HttpBody;

/// How long a connection may wait for a request before it can be closed to make room.
const GRACE: Duration = Duration::from_secs(1);

/// Stands for a request that is in flight, in place of a time.
const BUSY: u64 = u64::MAX;

/// Stand for a length of a body.
const CHUNKED: u64 = u64::MAX;
const UNKNOWN: u64 = u64::MAX - 1;

/// How long a body is, as the parser has read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
}

/// What a connection is doing.
pub(super) struct Life {
    /// When the server was started.
    epoch: Instant,
    /// Since when it waits for a request, in milliseconds; `BUSY` if one is in flight.
    waits: AtomicU64,
    /// Whether the client has not taken all that was written.
    is_stalled: AtomicBool,
    /// The body of the last head that was read.
    framing: AtomicU64,
    /// Cancelled when it is to make room.
    evicted: CancelToken,
}

impl Life {
    pub(super) fn new(epoch: Instant) -> Self {
        let life = Self {
            epoch,
            waits: AtomicU64::new(BUSY),
            is_stalled: AtomicBool::new(false),
            framing: AtomicU64::new(UNKNOWN),
            evicted: CancelToken::new(),
        };
        life.wait();
        life
    }

    /// A head was read: a request is in flight until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, body: &impl Body) -> Busy {
        self.set_framing(body.size_hint().exact().map_or(Framing::Chunked, Framing::Length));
        self.waits.store(BUSY, Ordering::Relaxed);
        Busy(Arc::clone(self))
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

    /// Resolves when it is to make room.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Whether nothing is lost if it is closed.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting_since().is_some()
    }

    fn waiting_since(&self) -> Option<u64> {
        let since = self.waits.load(Ordering::Relaxed);
        (since != BUSY && !self.is_stalled.load(Ordering::Relaxed)).then_some(since)
    }

    fn wait(&self) {
        self.waits.store(millis(self.epoch.elapsed()), Ordering::Relaxed);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(BUSY - 1).min(BUSY - 1)
}

/// A request that is in flight on a connection.
pub(super) struct Busy(Arc<Life>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// The body of an answer; the request is in flight until it has been sent.
pub(super) struct Sent {
    pub(super) body: HttpBody,
    #[allow(dead_code, reason = "kept until the body is dropped")]
    pub(super) busy: Busy,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = <HttpBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The connections of a server, by their tasks.
pub(super) struct Lives {
    epoch: Instant,
    most: usize,
    all: HashMap<Id, Arc<Life>>,
}

impl Lives {
    pub(super) fn new(most: usize) -> Self {
        Self { epoch: Instant::now(), most, all: HashMap::new() }
    }

    pub(super) fn start(&self) -> Arc<Life> {
        Arc::new(Life::new(self.epoch))
    }

    pub(super) fn add(&mut self, task: Id, life: Arc<Life>) {
        self.all.insert(task, life);
    }

    pub(super) fn remove(&mut self, task: Id) {
        self.all.remove(&task);
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.all.len() < self.most
    }

    /// Closes those that have waited for a request the longest, half-sent ones among them; several at a time, since all
    /// of them are looked at.
    pub(super) fn make_room(&self) {
        let old = millis(self.epoch.elapsed().saturating_sub(GRACE));
        let mut waiting = Vec::new();
        for life in self.all.values() {
            match life.waiting_since() {
                // It ends in a moment.
                Some(_) if life.evicted.is_cancelled() => return,
                Some(since) if since <= old => waiting.push((since, life)),
                _ => {}
            }
        }
        let count = (self.most / 64).clamp(1, 64);
        if waiting.len() > count {
            waiting.select_nth_unstable_by_key(count, |(since, _)| *since);
            waiting.truncate(count);
        }
        for (_, life) in waiting {
            life.evicted.cancel();
        }
    }
}
