//! A request in flight, and its share of the server's limits.

use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_core::context::BoxFuture;
use tokio::task::{JoinError, JoinHandle};

use super::endpoint::Endpoint;
use super::response::{HttpResult, busy};
use crate::call::observe::RejectionReason;
use crate::protocol::{Peer, PendingReply, Reply};

/// The maximum total size of the messages that are being read and answered.
const MAX_BUFFERED_BYTES: usize = 512 * 1024 * 1024;

/// A limit for all requests together.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// The bytes of messages.
    Bytes,
    Requests,
    Streams,
}

/// How much of each limit is in use, by all requests or by one of them.
pub(super) type Taken<T> = [T; 3];

/// A request's share of the limits, released when it is dropped.
pub(super) struct Permit {
    endpoint: Arc<Endpoint>,
    client: Option<SocketAddr>,
    taken: Taken<AtomicUsize>,
}

impl Permit {
    pub(super) fn new(endpoint: &Arc<Endpoint>, client: Option<SocketAddr>) -> Self {
        Self { endpoint: Arc::clone(endpoint), client, taken: Taken::default() }
    }

    /// Takes more of a limit. If that exceeds the limit, reports a rejection and fails.
    pub(super) fn take(&self, limit: Limit, count: usize) -> HttpResult<()> {
        self.try_take(limit, count).map_err(|(name, message)| {
            self.endpoint.rejections.report(RejectionReason::Busy, Some(name), self.client);
            busy(message).into()
        })
    }

    /// Takes more of a limit. If that exceeds the limit, takes nothing and returns the name of the limit and the error.
    pub(super) fn try_take(&self, limit: Limit, count: usize) -> Result<(), (&'static str, &'static str)> {
        let Endpoint { http, taken, .. } = &*self.endpoint;
        let (max, name, message) = match limit {
            Limit::Bytes => {
                let message = "the server is reading too many bytes; try again in a moment";
                (MAX_BUFFERED_BYTES, "bytes of messages", message)
            }
            Limit::Requests => {
                let message = "too many requests are in flight; try again in a moment";
                (http.max_in_flight, "requests in flight", message)
            }
            Limit::Streams => (http.max_streams, "streams", "too many streams are open; try again later"),
        };
        let (all, own) = (&taken[limit as usize], &self.taken[limit as usize]);
        if all.fetch_add(count, Ordering::Relaxed) + count <= max {
            own.fetch_add(count, Ordering::Relaxed);
            return Ok(());
        }
        all.fetch_sub(count, Ordering::Relaxed);
        Err((name, message))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        for (all, taken) in self.endpoint.taken.iter().zip(&mut self.taken) {
            all.fetch_sub(*taken.get_mut(), Ordering::Relaxed);
        }
    }
}

/// A request in flight: polled by its waiter, or spawned.
pub(super) enum InFlight {
    Polled(BoxFuture<'static, Reply>, Permit),
    Spawned(Spawned),
}

/// A request that runs in its own task.
pub(super) struct Spawned {
    task: JoinHandle<Reply>,
    /// Closed when the request is no longer awaited.
    peer: Option<Peer>,
}

impl InFlight {
    pub(super) fn new(mut pending: PendingReply, permit: Permit) -> Self {
        let reply = async move {
            let mut bytes = Vec::new();
            // Serving other connections meanwhile is cheaper than being woken by another thread.
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

    /// Replaces its permit, unless it is spawned.
    pub(super) fn with_permit(self, permit: Permit) -> Self {
        match self {
            Self::Polled(reply, _) => Self::Polled(reply, permit),
            spawned @ Self::Spawned(_) => spawned,
        }
    }

    /// Runs it in its own task. If a peer is given, the request is cancelled when it is no longer awaited.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Endpoint, Limit, MAX_BUFFERED_BYTES, Permit};
    use crate::protocol::Server;
    use crate::registry::Registry;
    use crate::transport::http::Http;

    #[test]
    fn buffered_bytes_are_limited_and_released() {
        let registry = Registry::builder_of([]).allow_empty().build().unwrap();
        let endpoint = Arc::new(Endpoint::new(Http::new(Server::new(registry))));
        let reserve = |permit: &Permit, bytes| permit.take(Limit::Bytes, bytes).is_ok();
        let one = Permit::new(&endpoint, None);
        assert!(reserve(&one, MAX_BUFFERED_BYTES / 2) && reserve(&one, MAX_BUFFERED_BYTES / 2));
        let other = Permit::new(&endpoint, None);
        assert!(!reserve(&other, 1));
        drop(other);
        drop(one);
        assert!(reserve(&Permit::new(&endpoint, None), MAX_BUFFERED_BYTES));
        assert!(endpoint.taken.iter().all(|taken| taken.load(super::Ordering::Relaxed) == 0));
    }
}
