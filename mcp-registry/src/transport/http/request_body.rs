//! Reading the body of a request, within its limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use hyper::body::{Body, Buf, Bytes, Frame};
use mcp_core::error::BoxError;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use super::media_type::JSON;
use super::response::{HttpResponse, busy, error_response, full};
use crate::protocol::Server;

/// The maximum size of all messages that are being read and answered.
const MAX_BUFFERED_BYTES: usize = 512 * 1024 * 1024;

/// How long a client may take for the next part of its message.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes a client has to send each second, beyond the time for one pause: a bound on the time for all of a
/// message.
const MIN_BYTES_PER_SECOND: usize = 16 * 1024;

/// Reads a message. Fails with the response that says why not.
pub(super) async fn read<B>(
    server: &Server,
    headers: &HeaderMap,
    body: B,
    buffered: &mut BufferedBytes<'_>,
) -> Result<Bytes, Box<HttpResponse>>
where
    B: Body<Error: Into<BoxError>>,
{
    let max = server.max_message();
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if let Some(bytes) = announced.filter(|bytes| *bytes > max) {
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
                return Err(Box::new(error_response(StatusCode::REQUEST_TIMEOUT, message)));
            }
            Ok(None) => break,
            Ok(Some(Err(Truncated))) => {
                let message = "the message ends before its end; send all of it";
                return Err(Box::new(error_response(StatusCode::BAD_REQUEST, message)));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(mut data) = frame.into_data() else { continue };
        let bytes = first.len() + all.len() + data.remaining();
        // Not `http_body_util::Limited`: its error does not say how many bytes there were, which the response does.
        if bytes > max {
            return Err(Box::new(too_long(server, bytes)));
        }
        if !buffered.reserve(data.remaining()) {
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

/// The bytes of one message, counted among those of all messages.
pub(super) struct BufferedBytes<'a> {
    bytes: usize,
    total: &'a AtomicUsize,
}

impl<'a> BufferedBytes<'a> {
    pub(super) fn new(total: &'a AtomicUsize) -> Self {
        Self { bytes: 0, total }
    }

    /// Leaves it to the caller to subtract the bytes from the total.
    pub(super) fn into_uncounted(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }

    /// Counts more bytes. False if that exceeds the maximum.
    fn reserve(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.total.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_BUFFERED_BYTES
    }
}

impl Drop for BufferedBytes<'_> {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The connection ended before the message.
struct Truncated;

/// The next part of a body. Fails if it takes too long, or if all parts since the first one that did not arrive at once
/// do.
async fn next<B: Body>(
    mut body: Pin<&mut B>,
    read: usize,
    started: &mut Option<Instant>,
) -> Result<Option<Result<Frame<B::Data>, Truncated>>, Elapsed> {
    let mut poll = |context: &mut Context<'_>| {
        let frame = body.as_mut().poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(|_| Truncated)))
    };
    let mut waited = false;
    // Usually it has arrived when the connection is polled once more; then no timer is needed.
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
    let seconds = u64::try_from(read / MIN_BYTES_PER_SECOND).unwrap_or(u64::MAX);
    let total = READ_TIMEOUT.saturating_add(Duration::from_secs(seconds));
    let left = total.saturating_sub(now - *started.get_or_insert(now));
    timeout(left.min(READ_TIMEOUT), poll_fn(poll)).await
}

fn too_long(server: &Server, bytes: usize) -> HttpResponse {
    let mut out = Vec::new();
    server.reject_length(bytes, &mut out);
    let mut response = full(StatusCode::PAYLOAD_TOO_LARGE, JSON, out);
    // The unread rest would be taken for the next message.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::{BufferedBytes, MAX_BUFFERED_BYTES};

    #[test]
    fn buffered_bytes_are_limited_and_given_back() {
        let all = AtomicUsize::new(0);
        let mut one = BufferedBytes::new(&all);
        assert!(one.reserve(MAX_BUFFERED_BYTES / 2) && one.reserve(MAX_BUFFERED_BYTES / 2));
        let mut other = BufferedBytes::new(&all);
        assert!(!other.reserve(1));
        drop(other);
        drop(one);
        assert!(BufferedBytes::new(&all).reserve(MAX_BUFFERED_BYTES));
        assert_eq!(all.into_inner(), 0);
    }
}
