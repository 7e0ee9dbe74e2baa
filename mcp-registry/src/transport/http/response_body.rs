//! The body of a response: complete, or a stream with an event for each message.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use mcp_core::context::Cancelled;
use mcp_core::mcp::Dialect;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::connections::RequestGuard;
use super::in_flight::InFlight;
use crate::protocol::{Peer, Reply, ReplyKind};
use crate::transport::queue::Queue;
use crate::util::json::from_bytes;
use crate::util::lock::lock;

/// The number of queued bytes beyond which a stream drops progress and log messages. There may be thousands of streams.
const MAX_WAITING_BYTES: usize = 64 * 1024;

/// How long a stream may be silent before a comment is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event without a message.
pub(super) const COMMENT: &[u8] = b":\n\n";

/// The queued notifications of a request.
pub(super) struct Notifications(Mutex<State>);

struct State {
    queue: Queue,
    waker: Option<Waker>,
}

impl Default for Notifications {
    fn default() -> Self {
        let queue = Queue::new(MAX_WAITING_BYTES, |message, out| append_event("message", message, out));
        Self(Mutex::new(State { queue, waker: None }))
    }
}

impl Notifications {
    pub(super) fn push(&self, message: Vec<u8>) {
        let mut state = lock(&self.0);
        state.queue.notify(message);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).queue.is_empty()
    }

    /// Ready when there are notifications to send.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if !state.queue.is_empty() {
            return Poll::Ready(());
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Appends an event for each notification.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        lock(&self.0).queue.take(out);
    }
}

/// Appends the event for a reply. For a client that accepts only events, the event of a legacy method is named `result`
/// or `error`.
pub(super) fn append_reply(only_events: bool, reply: &Reply, out: &mut Vec<u8>) {
    let is_legacy = matches!(reply.kind, ReplyKind::Response(Dialect::Legacy) | ReplyKind::Invalid(Dialect::Legacy));
    let name = match only_events && is_legacy {
        true if is_error(&reply.bytes) => "error",
        true => "result",
        false => "message",
    };
    append_event(name, &reply.bytes, out);
}

fn is_error(answer: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        error: Option<IgnoredAny>,
    }

    from_bytes::<Answer>(answer).is_ok_and(|answer| answer.error.is_some())
}

/// Appends an event. The message must not contain line breaks.
fn append_event(name: &str, message: &[u8], out: &mut Vec<u8>) {
    out.reserve(name.len() + message.len() + 16);
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// The body of a response.
#[derive(Debug)]
pub struct HttpBody {
    content: Content,
    /// Keeps the request in flight until its response has been sent.
    _guard: Option<RequestGuard>,
}

#[derive(Debug)]
enum Content {
    Full(Option<Bytes>),
    Events(Box<EventStream>),
}

impl HttpBody {
    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { content: Content::Full((!bytes.is_empty()).then_some(bytes)), _guard: None }
    }

    pub(super) fn events(events: EventStream) -> Self {
        Self { content: Content::Events(Box::new(events)), _guard: None }
    }

    pub(super) fn guarded(self, guard: RequestGuard) -> Self {
        Self { _guard: Some(guard), ..self }
    }
}

/// A request in flight, as a stream of events.
pub(super) struct EventStream {
    /// `None` after the answer.
    request: Option<InFlight>,
    peer: Peer,
    notifications: Arc<Notifications>,
    /// Whether the client accepts only events.
    only_events: bool,
    /// Ready when the server shuts down.
    stopping: Option<Cancelled>,
    keep_alive: Interval,
    /// Whether to send a comment first, so that the client sees that the stream is open.
    opens: bool,
}

impl EventStream {
    pub(super) fn new(
        request: InFlight,
        peer: Peer,
        notifications: Arc<Notifications>,
        only_events: bool,
        stopping: Cancelled,
    ) -> Self {
        let mut keep_alive = interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (request, stopping) = (Some(request), Some(stopping));
        Self { request, peer, notifications, only_events, stopping, keep_alive, opens: true }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let Some(request) = &mut self.request else { return Poll::Ready(None) };
        if let Some(stopping) = &mut self.stopping {
            if Pin::new(stopping).poll(context).is_ready() {
                self.stopping = None;
                self.peer.finish();
            }
        }
        let mut out = Vec::new();
        let reply = request.poll(context);
        let has_notifications = self.notifications.poll(context).is_ready();
        if let Poll::Ready(reply) = reply {
            self.request = None;
            self.notifications.write(&mut out);
            if let Some(reply) = reply.ok().filter(|reply| !reply.bytes.is_empty()) {
                append_reply(self.only_events, &reply, &mut out);
            }
            return Poll::Ready((!out.is_empty()).then_some(out));
        }
        if has_notifications {
            self.opens = false;
            self.keep_alive.reset();
            self.notifications.write(&mut out);
            return Poll::Ready(Some(out));
        }
        if self.keep_alive.poll_tick(context).is_ready() || std::mem::take(&mut self.opens) {
            return Poll::Ready(Some(COMMENT.to_vec()));
        }
        Poll::Pending
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Events(events) => events.poll(context).map(|out| out.map(|out| Ok(Frame::data(out.into())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Full(bytes) => bytes.is_none(),
            Content::Events(events) => events.request.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Content::Events(_) => SizeHint::default(),
        }
    }
}
