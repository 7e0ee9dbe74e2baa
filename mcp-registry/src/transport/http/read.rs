//! Reading the body of a request, as much of it as may be.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use hyper::body::{Body, Buf, Bytes, Frame};
use mcp_core::BoxError;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use super::accept::JSON;
use super::reply::{Reply, busy, failure, whole};
use crate::protocol::Server;

/// How many bytes of messages may be kept while they are read and answered.
const BUFFERED: usize = 512 * 1024 * 1024;

/// How long a client may take for the next part of its message.
const PAUSE: Duration = Duration::from_secs(30);

/// How many bytes a client has to send each second, beyond the time for one pause: a bound on the time for all of a
/// message.
const RATE: usize = 16 * 1024;

/// Reads a message, or answers why it cannot be.
pub(super) async fn read<B>(
    server: &Server,
    headers: &HeaderMap,
    body: B,
    room: &mut Room<'_>,
) -> Result<Bytes, Box<Reply>>
where
    B: Body<Error: Into<BoxError>>,
{
    let most = server.max_message();
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if let Some(bytes) = announced.filter(|bytes| *bytes > most) {
        return Err(Box::new(too_long(server, bytes)));
    }
    let mut body = std::pin::pin!(body);
    let mut first = Bytes::new();
    let mut all = Vec::new();
    let mut started = None;
    while !body.is_end_stream() {
        let frame = match next(body.as_mut(), first.len() + all.len(), &mut started).await {
            Err(_) => {
                let message = "the rest of the message did not come; send all of it";
                return Err(Box::new(failure(StatusCode::REQUEST_TIMEOUT, message)));
            }
            Ok(None) => break,
            Ok(Some(Err(Broken))) => {
                let message = "the message ends before its end; send all of it";
                return Err(Box::new(failure(StatusCode::BAD_REQUEST, message)));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(mut data) = frame.into_data() else { continue };
        let bytes = first.len() + all.len() + data.remaining();
        if bytes > most {
            return Err(Box::new(too_long(server, bytes)));
        }
        if !room.take(data.remaining()) {
            return Err(Box::new(busy("as much is being read as may be; try again in a moment")));
        }
        if first.is_empty() && all.is_empty() {
            first = data.copy_to_bytes(data.remaining());
        } else {
            if all.is_empty() {
                all = std::mem::take(&mut first).into();
            }
            while data.has_remaining() {
                all.extend_from_slice(data.chunk());
                data.advance(data.chunk().len());
            }
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// The bytes of one message, among those of all.
pub(super) struct Room<'a> {
    taken: usize,
    of: &'a AtomicUsize,
}

impl<'a> Room<'a> {
    pub(super) fn new(of: &'a AtomicUsize) -> Self {
        Self { taken: 0, of }
    }

    /// Leaves what is taken to whoever gives it back: a request that goes on.
    pub(super) fn hand_over(mut self) -> usize {
        std::mem::take(&mut self.taken)
    }

    /// Makes room for more bytes; false if there is none.
    fn take(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        self.of.fetch_add(bytes, Ordering::Relaxed) + bytes <= BUFFERED
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.of.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// The message ended before its end.
struct Broken;

/// The next part of a body, unless it takes too long: by itself, or together with those before it since the first that
/// had to be waited for.
async fn next<B: Body>(
    mut body: Pin<&mut B>,
    read: usize,
    started: &mut Option<Instant>,
) -> Result<Option<Result<Frame<B::Data>, Broken>>, Elapsed> {
    let mut poll = |context: &mut Context<'_>| {
        let frame = body.as_mut().poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(|_| Broken)))
    };
    let mut waited = false;
    // Most of the time it is there when the connection has been looked at once more, and needs no timer.
    let soon = poll_fn(|context| match poll(context) {
        Poll::Ready(frame) => Poll::Ready(Some(frame)),
        Poll::Pending if waited => Poll::Ready(None),
        Poll::Pending => {
            waited = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    if let Some(frame) = soon.await {
        return Ok(frame);
    }
    let now = Instant::now();
    let seconds = u64::try_from(read / RATE).unwrap_or(u64::MAX);
    let total = PAUSE.saturating_add(Duration::from_secs(seconds));
    let left = total.saturating_sub(now - *started.get_or_insert(now));
    timeout(left.min(PAUSE), poll_fn(poll)).await
}

fn too_long(server: &Server, bytes: usize) -> Reply {
    let mut out = Vec::new();
    server.reject_length(bytes, &mut out);
    let mut reply = whole(StatusCode::PAYLOAD_TOO_LARGE, JSON, out);
    // What is not read stands in the way of the next message.
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::{BUFFERED, Room};

    #[test]
    fn there_is_room_for_so_much_and_it_is_given_back() {
        let all = AtomicUsize::new(0);
        let mut one = Room::new(&all);
        assert!(one.take(BUFFERED / 2) && one.take(BUFFERED / 2));
        let mut other = Room::new(&all);
        assert!(!other.take(1));
        drop(other);
        drop(one);
        assert!(Room::new(&all).take(BUFFERED));
        assert_eq!(all.into_inner(), 0);
    }
}
