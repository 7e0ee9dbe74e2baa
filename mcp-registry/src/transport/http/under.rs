//! A request that is under way.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_core::BoxFuture;
use tokio::task::JoinHandle;

use super::endpoint::Endpoint;
use super::read::Room;
use crate::protocol::{Peer, Reply, ReplyKind};

/// Counts something as under way.
pub(super) struct Permit {
    endpoint: Arc<Endpoint>,
    of: fn(&Endpoint) -> &AtomicUsize,
    /// How many bytes of its message are kept.
    bytes: usize,
}

impl Permit {
    pub(super) fn take(endpoint: &Arc<Endpoint>, of: fn(&Endpoint) -> &AtomicUsize, most: usize) -> Option<Self> {
        // Taken back by the drop.
        let permit = Self { endpoint: Arc::clone(endpoint), of, bytes: 0 };
        (of(endpoint).fetch_add(1, Ordering::Relaxed) < most).then_some(permit)
    }

    /// Counts the bytes of the message as kept for as long as this is.
    pub(super) fn keeping(mut self, room: Room<'_>) -> Self {
        self.bytes = room.hand_over();
        self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        (self.of)(&self.endpoint).fetch_sub(1, Ordering::Relaxed);
        self.endpoint.buffered.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How a request has ended.
pub(super) enum Ended {
    Replied(Reply),
    /// There should be an answer, and is none.
    Lost,
}

/// A request that is under way: where whoever waits for it looks after it, or apart.
pub(super) enum Under {
    Here(BoxFuture<'static, Reply>, Permit),
    Apart(Apart),
}

/// A request that goes on by itself.
pub(super) struct Apart {
    task: JoinHandle<Reply>,
    /// Closed when nobody waits any more.
    peer: Option<Peer>,
}

impl Under {
    pub(super) fn way(rest: BoxFuture<'static, Reply>, permit: Permit) -> Self {
        Self::Here(rest, permit)
    }

    /// Counts it as something else.
    pub(super) fn counted_by(self, permit: Permit) -> Self {
        match self {
            Self::Here(rest, _) => Self::Here(rest, permit),
            apart @ Self::Apart(_) => apart,
        }
    }

    /// Has it go on by itself; if a peer is given, until nobody waits any more.
    pub(super) fn apart(self, peer: Option<Peer>) -> Self {
        let (rest, permit) = match self {
            Self::Here(rest, permit) => (rest, permit),
            apart @ Self::Apart(_) => return apart,
        };
        let task = tokio::spawn(async move {
            let answer = rest.await;
            drop(permit);
            answer
        });
        Self::Apart(Apart { task, peer })
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        let ended = match self {
            Self::Here(rest, _) => rest.as_mut().poll(context).map(Ok),
            Self::Apart(Apart { task, .. }) => Pin::new(task).poll(context),
        };
        ended.map(|ended| match ended {
            Ok(reply) => Ended::Replied(reply),
            Err(_) => Ended::Lost,
        })
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(peer) = &self.peer {
            peer.close();
            self.task.abort();
        }
    }
}

/// A request that has no answer of its own, and ends when someone ends it.
pub(super) fn until(over: impl Future<Output = ()> + Send + 'static) -> BoxFuture<'static, Reply> {
    Box::pin(async move {
        over.await;
        Reply { bytes: Vec::new(), kind: ReplyKind::Accepted }
    })
}
