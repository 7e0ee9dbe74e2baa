//! A request that is in flight.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

use super::endpoint::Endpoint;
use super::request_body::BufferedBytes;
use crate::protocol::{Peer, PendingReply, Reply};

/// Counts a request or a stream until it is dropped.
pub(super) struct Permit {
    endpoint: Arc<Endpoint>,
    counter: fn(&Endpoint) -> &AtomicUsize,
    /// How many bytes of its message are buffered.
    bytes: usize,
}

impl Permit {
    /// Fails if `max` permits are taken.
    pub(super) fn acquire(
        endpoint: &Arc<Endpoint>,
        counter: fn(&Endpoint) -> &AtomicUsize,
        max: usize,
    ) -> Option<Self> {
        // Taken back by the drop.
        let permit = Self { endpoint: Arc::clone(endpoint), counter, bytes: 0 };
        (counter(endpoint).fetch_add(1, Ordering::Relaxed) < max).then_some(permit)
    }

    /// Keeps the bytes of the message counted for as long as the permit.
    pub(super) fn with_buffered(mut self, buffered: BufferedBytes<'_>) -> Self {
        self.bytes = buffered.into_uncounted();
        self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        (self.counter)(&self.endpoint).fetch_sub(1, Ordering::Relaxed);
        self.endpoint.buffered.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A request that is in flight: polled by its waiter, or spawned.
pub(super) enum InFlight {
    Polled(PendingReply, Permit),
    Spawned(Spawned),
}

/// A request that runs in a task of its own.
pub(super) struct Spawned {
    task: JoinHandle<Reply>,
    /// Closed when nobody waits any more.
    peer: Option<Peer>,
}

impl InFlight {
    /// Counts it by another permit, unless it is spawned.
    pub(super) fn with_permit(self, permit: Permit) -> Self {
        match self {
            Self::Polled(reply, _) => Self::Polled(reply, permit),
            spawned @ Self::Spawned(_) => spawned,
        }
    }

    /// Runs it in a task of its own. If a peer is given, the request is cancelled when nobody waits any more.
    pub(super) fn spawn(self, peer: Option<Peer>) -> Self {
        let (mut reply, permit) = match self {
            Self::Polled(reply, permit) => (reply, permit),
            spawned @ Self::Spawned(_) => return spawned,
        };
        let task = tokio::spawn(async move {
            let reply = poll_fn(|context| reply.poll_reply(context)).await;
            drop(permit);
            reply
        });
        Self::Spawned(Spawned { task, peer })
    }

    /// Ready with the reply. Fails if the task has panicked or was aborted.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, JoinError>> {
        match self {
            Self::Polled(reply, _) => reply.poll_reply(context).map(Ok),
            Self::Spawned(Spawned { task, .. }) => Pin::new(task).poll(context),
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Some(peer) = &self.peer {
            peer.close();
            self.task.abort();
        }
    }
}
