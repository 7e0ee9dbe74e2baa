//! Reads the body of a request, within its limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use hyper::body::{Body, Buf, Bytes, Frame};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use super::in_flight::{Limit, Permit};
use super::media_type::JSON;
use super::response::{HttpResponse, HttpResult, full, reject, with_header};
use crate::protocol::Server;

/// How long a client may take to send the next part of its message.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The minimum number of bytes per second, apart from one pause. This limits the time for the whole message.
const MIN_BYTES_PER_SECOND: usize = 16 * 1024;

/// Reads a message. The error is the response that says what is wrong.
pub(super) async fn read(server: &Server, headers: &HeaderMap, body: impl Body, permit: &Permit) -> HttpResult<Bytes> {
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
                return reject(StatusCode::REQUEST_TIMEOUT, "the rest of the message did not arrive; send all of it");
            }
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                return reject(StatusCode::BAD_REQUEST, "the message is incomplete; send all of it");
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(mut data) = frame.into_data() else { continue };
        let data = data.copy_to_bytes(data.remaining());
        let bytes = first.len() + all.len() + data.len();
        // Not `http_body_util::Limited`: its error lacks the number of bytes, which the response contains.
        if bytes > max {
            return Err(Box::new(too_long(server, bytes)));
        }
        permit.take(Limit::Bytes, data.len())?;
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            if all.is_empty() {
                all = std::mem::take(&mut first).into();
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// The next part of a body. Fails if this part takes too long, or all parts together since the first one that had to be
/// waited for.
async fn next<B: Body>(
    mut body: Pin<&mut B>,
    read: usize,
    started: &mut Option<Instant>,
) -> Result<Option<Result<Frame<B::Data>, B::Error>>, Elapsed> {
    let mut poll = |context: &mut Context<'_>| body.as_mut().poll_frame(context);
    let mut waited = false;
    // Usually the part has arrived when the connection is polled once more, and no timer is needed.
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
    // On the same connection, the unread rest would be parsed as the next request.
    with_header(full(StatusCode::PAYLOAD_TOO_LARGE, JSON, out), CONNECTION, "close")
}
