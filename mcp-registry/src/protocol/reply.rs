//! The reply to a message: its bytes, and what a transport needs to know about it.

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
        Self::Pending(PendingReply::new(future))
    }
}

/// The reply to a message that takes longer: a future that ends with the answer, or with `None` if there is none. If it is
/// dropped, the call is cancelled.
#[must_use = "the call is cancelled when its reply is dropped"]
pub struct PendingReply {
    pub(super) work: Work,
    /// Whether it lasts until the client or the server ends it.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP limits the streams"))]
    pub(crate) is_subscription: bool,
}

/// What a reply waits for.
#[allow(clippy::large_enum_variant, reason = "most are calls, and few move far")]
pub(super) enum Work {
    /// `None` when it has become a future.
    Call(Option<CallReply>),
    Future(BoxFuture<'static, Reply>),
}

impl PendingReply {
    pub(crate) fn new(future: BoxFuture<'static, Reply>) -> Self {
        Self { work: Work::Future(future), is_subscription: false }
    }

    /// Whether the reply is likely to be there within a few yields.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn ends_soon(&self) -> bool {
        matches!(&self.work, Work::Call(Some(call)) if call.ends_soon())
    }

    /// Appends the reply if it is there; if `yields`, within a few yields of this thread.
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
