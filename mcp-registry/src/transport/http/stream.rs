//! The body of an answer: all of it at once, or an event for each message.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use mcp_core::{Cancelled, Dialect};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::under::{Ended, Under};
use crate::protocol::{Peer, Reply, ReplyKind};
use crate::transport::queue::Queue;

/// How many bytes of a stream may wait to be sent before progress and log messages are dropped. There may be thousands of
/// streams.
const NOTICES: usize = 64 * 1024;

/// How long a stream may be silent.
const SILENCE: Duration = Duration::from_secs(15);

/// What is told while a request is under way.
pub(super) struct Outlet(Mutex<Told>);

struct Told {
    queue: Queue,
    waker: Option<Waker>,
}

impl Default for Outlet {
    fn default() -> Self {
        let queue = Queue::new(NOTICES, |message, out| append_event("message", message, out));
        Self(Mutex::new(Told { queue, waker: None }))
    }
}

impl Outlet {
    pub(super) fn tell(&self, message: Vec<u8>) {
        let mut told = self.lock();
        told.queue.notify(message);
        let waker = told.waker.take();
        drop(told);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().queue.is_empty()
    }

    /// Ready when there is something to send.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut told = self.lock();
        if !told.queue.is_empty() {
            return Poll::Ready(());
        }
        if !told.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            told.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Appends an event for each message.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.lock().queue.take(out);
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends the event of a reply. For a client that takes only events, the event of a legacy method is named after what it
/// is: `result` or `error`.
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

    serde_json::from_slice::<Answer>(answer).is_ok_and(|answer| answer.error.is_some())
}

/// Appends an event. Messages have no line breaks.
fn append_event(name: &str, message: &[u8], out: &mut Vec<u8>) {
    out.reserve(name.len() + message.len() + 16);
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// The body of an answer.
#[derive(Debug)]
pub struct HttpBody(Inner);

#[derive(Debug)]
enum Inner {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl HttpBody {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Inner::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    pub(super) fn events(events: Events) -> Self {
        Self(Inner::Events(Box::new(events)))
    }
}

/// Where the events of a request come from.
pub(super) struct Stream {
    pub(super) peer: Peer,
    pub(super) outlet: Arc<Outlet>,
    /// Whether the client takes only events.
    pub(super) only_events: bool,
}

/// A request that is under way, as a stream of events.
pub(super) struct Events {
    /// Ends in the answer.
    rest: Option<Under>,
    stream: Stream,
    /// The server ends.
    stopping: Option<Cancelled>,
    silence: Interval,
    /// Whether the client is to see at once that it is heard.
    greets: bool,
}

impl Events {
    pub(super) fn new(rest: Under, stream: Stream, stopping: Cancelled) -> Self {
        let mut silence = interval_at(tokio::time::Instant::now() + SILENCE, SILENCE);
        silence.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { rest: Some(rest), stream, stopping: Some(stopping), silence, greets: true }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        if let Some(stopping) = &mut self.stopping {
            if Pin::new(stopping).poll(context).is_ready() {
                self.stopping = None;
                self.stream.peer.finish();
            }
        }
        let mut out = Vec::new();
        let ended = rest.poll(context);
        let outlet = &self.stream.outlet;
        let told = outlet.poll(context);
        if let Poll::Ready(ended) = ended {
            self.rest = None;
            outlet.write(&mut out);
            if let Ended::Replied(reply) = ended {
                if !reply.bytes.is_empty() {
                    append_reply(self.stream.only_events, &reply, &mut out);
                }
            }
            return Poll::Ready((!out.is_empty()).then_some(out));
        }
        if told.is_ready() {
            self.greets = false;
            self.silence.reset();
            outlet.write(&mut out);
            return Poll::Ready(Some(out));
        }
        if self.silence.poll_tick(context).is_ready() || std::mem::take(&mut self.greets) {
            out.extend_from_slice(b":\n\n");
            return Poll::Ready(Some(out));
        }
        Poll::Pending
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("peer", &self.stream.peer).finish_non_exhaustive()
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Events(events) => events.poll(context).map(|out| out.map(|out| Ok(Frame::data(out.into())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole(bytes) => bytes.is_none(),
            Inner::Events(events) => events.rest.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Events(_) => SizeHint::default(),
        }
    }
}
