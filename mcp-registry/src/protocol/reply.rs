//! The reply to a message: its bytes, and what a transport needs to know about it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_core::LogLevel;
use mcp_core::context::BoxFuture;
use mcp_core::mcp::{Dialect, ProtocolVersion};

/// The reply to a message.
pub(crate) struct Reply {
    /// Empty if the message is not answered.
    pub(crate) bytes: Vec<u8>,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has a status"))]
    pub(crate) kind: ReplyKind,
}

impl Reply {
    /// The reply to a request that its client has cancelled.
    pub(super) fn cancelled() -> Self {
        Self { bytes: Vec::new(), kind: ReplyKind::Cancelled }
    }
}

/// What kind of reply it is.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has a status"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// The response to a request, or to a flat call.
    Response(Dialect),
    /// The message is invalid, or not as its version requires.
    Invalid(Dialect),
    /// The method does not exist, in a version whose transports report that.
    MethodNotFound,
    /// `initialize` agreed on this version.
    Initialized(ProtocolVersion),
    /// The client chose the level from which on it gets log messages.
    LogLevelSet(LogLevel),
    /// No answer: the message is a notification or a response.
    Accepted,
    /// No answer: the client has cancelled its request.
    Cancelled,
}

/// How far a message was handled.
pub(crate) enum Step {
    /// The reply was appended to the buffer.
    Done(ReplyKind),
    Pending(PendingReply),
}

impl Step {
    pub(super) fn pending(future: BoxFuture<'static, Reply>) -> Self {
        Self::Pending(PendingReply { future, is_subscription: false })
    }
}

/// The reply to a message that takes longer: a future that ends with the answer, or with `None` if there is none.
#[must_use = "a pending reply does nothing unless it is awaited"]
pub struct PendingReply {
    pub(crate) future: BoxFuture<'static, Reply>,
    /// Whether it lasts until the client or the server ends it.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP limits the streams"))]
    pub(crate) is_subscription: bool,
}

impl Future for PendingReply {
    type Output = Option<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = self.future.as_mut().poll(context);
        reply.map(|reply| (!reply.bytes.is_empty()).then_some(reply.bytes))
    }
}

impl fmt::Debug for PendingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply").finish_non_exhaustive()
    }
}
