//! The reply to a message: its bytes, and its kind for the transport.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_core::LogLevel;
use mcp_core::context::BoxFuture;
use mcp_core::mcp::{Dialect, ProtocolVersion};

use super::call::CallReply;

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

/// The kind of a reply.
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has a status"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// The response to a request, or to a flat call.
    Response(Dialect),
    /// The message is invalid, or violates the rules of its version.
    Invalid(Dialect),
    /// The method does not exist, in a version in which HTTP reports that with its status.
    MethodNotFound,
    /// `initialize` negotiated this version.
    Initialized(ProtocolVersion),
    /// The client has set the minimum level of log messages.
    LogLevelSet(LogLevel),
    /// No answer: the message is a notification or a response.
    Accepted,
    /// No answer: the client has cancelled its request.
    Cancelled,
}

/// The state of a message after [`Server::begin`](super::Server::begin).
pub(crate) enum Step {
    /// The reply was appended to the buffer.
    Done(ReplyKind),
    Pending(PendingReply),
}

impl Step {
    pub(super) fn pending(future: BoxFuture<'static, Reply>) -> Self {
        Self::Pending(PendingReply::new(future))
    }
}

/// The reply to a message that takes longer: a future of the answer, or of `None` if there is none. Dropping it cancels
/// the call.
#[must_use = "the call is cancelled when its reply is dropped"]
pub struct PendingReply {
    pub(super) work: Work,
    /// Whether it is a subscription, which lasts until the client or the server ends it.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP limits the streams"))]
    pub(crate) is_subscription: bool,
}

/// The work that a reply waits for.
#[allow(clippy::large_enum_variant, reason = "most are calls, which are seldom moved")]
pub(super) enum Work {
    /// `None` after it has become a future.
    Call(Option<CallReply>),
    Future(BoxFuture<'static, Reply>),
}

impl PendingReply {
    pub(crate) fn new(future: BoxFuture<'static, Reply>) -> Self {
        Self { work: Work::Future(future), is_subscription: false }
    }

    /// Whether the reply is likely to be ready within a few yields.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn ends_soon(&self) -> bool {
        matches!(&self.work, Work::Call(Some(call)) if call.ends_soon())
    }

    /// Appends the reply if it is ready; if `yields` is set, after a few yields of this thread.
    pub(crate) fn try_finish(&mut self, yields: bool, out: &mut Vec<u8>) -> Option<ReplyKind> {
        match &mut self.work {
            Work::Call(Some(call)) => call.try_finish(yields, out),
            Work::Call(None) | Work::Future(_) => None,
        }
    }

    /// The reply with its kind.
    pub(crate) fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Reply> {
        if let Work::Call(call) = &mut self.work {
            let Some(mut call) = call.take() else { return Poll::Pending };
            let mut bytes = Vec::new();
            if let Some(kind) = call.try_finish(true, &mut bytes) {
                return Poll::Ready(Reply { bytes, kind });
            }
            self.work = Work::Future(Box::pin(call.finish()));
        }
        match &mut self.work {
            Work::Future(future) => future.as_mut().poll(context),
            Work::Call(_) => Poll::Pending,
        }
    }
}

impl Future for PendingReply {
    type Output = Option<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_reply(context).map(|reply| (!reply.bytes.is_empty()).then_some(reply.bytes))
    }
}

impl fmt::Debug for PendingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply").finish_non_exhaustive()
    }
}
