//! A request that is in flight.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_core::context::BoxFuture;
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
    Polled(BoxFuture<'static, Reply>, Permit),
    Spawned(Spawned),
}

/// A request that runs in a task of its own.
pub(super) struct Spawned {
    task: JoinHandle<Reply>,
    /// Closed when nobody waits any more.
    peer: Option<Peer>,
}

impl InFlight {
    pub(super) fn new(mut pending: PendingReply, permit: Permit) -> Self {
        let reply = async move {
            let mut bytes = Vec::new();
            // Other connections are served meanwhile, which is cheaper than to be woken by another thread.
            while pending.ends_soon() {
                if let Some(kind) = pending.try_finish(false, &mut bytes) {
                    return Reply { bytes, kind };
                }
                tokio::task::yield_now().await;
            }
            poll_fn(|context| pending.poll_reply(context)).await
        };
        Self::Polled(Box::pin(reply), permit)
    }

    /// Counts it by another permit, unless it is spawned.
    pub(super) fn with_permit(self, permit: Permit) -> Self {
        match self {
            Self::Polled(reply, _) => Self::Polled(reply, permit),
            spawned @ Self::Spawned(_) => spawned,
        }
    }

    /// Runs it in a task of its own. If a peer is given, the request is cancelled when nobody waits any more.
    pub(super) fn spawn(self, peer: Option<Peer>) -> Self {
        let (reply, permit) = match self {
            Self::Polled(reply, permit) => (reply, permit),
            spawned @ Self::Spawned(_) => return spawned,
        };
        let task = tokio::spawn(async move {
            let reply = reply.await;
            drop(permit);
            reply
        });
        Self::Spawned(Spawned { task, peer })
    }

    /// Ready with the reply. Fails if the task has panicked or was aborted.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, JoinError>> {
        match self {
            Self::Polled(reply, _) => reply.as_mut().poll(context).map(Ok),
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
