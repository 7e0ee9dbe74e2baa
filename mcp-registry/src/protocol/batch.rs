//! Batches: an array of messages in place of one message. Only 2025-03-26 has them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_core::context::BoxFuture;
use mcp_core::mcp::{Dialect, ProtocolVersion};
use mcp_core::rpc::Id;
use mcp_core::support::{Members, Message};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::call::ToolRequest;
use super::encode::{fail, respond_error};
use super::errors::invalid_request;
use super::headers::TransportHeaders;
use super::peer::Peer;
use super::reply::{Reply, ReplyKind, Step};
use super::{Server, is_call};
use crate::call::buffered::buffered;
use crate::util::json::from_bytes;

/// The maximum number of messages in a batch.
const MAX_MESSAGES: usize = 32;

/// The maximum total size of the answers to a batch. The first answer may be larger, as it may be outside of a batch.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Requests that cannot be part of a batch.
const NOT_IN_BATCH: [&str; 2] = ["initialize", "subscriptions/listen"];

/// The messages of a batch.
pub(super) struct Batch<'a> {
    messages: Vec<&'a RawValue>,
    is_too_long: bool,
}

impl<'a> Batch<'a> {
    /// Parses a batch. `None` if the message is not a batch, or the connection's version has no batches.
    pub(super) fn read(message: &'a [u8], peer: &Peer) -> Option<Self> {
        if !message.trim_ascii_start().starts_with(b"[")
            || peer.protocol_version() != Some(ProtocolVersion::V2025_03_26)
        {
            return None;
        }
        from_bytes(message).ok().filter(|batch: &Self| !batch.messages.is_empty())
    }

    /// The messages to handle: none if the batch is too long.
    #[cfg(feature = "http")]
    pub(super) fn into_messages(self) -> Vec<&'a RawValue> {
        if self.is_too_long { Vec::new() } else { self.messages }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Batch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Messages;

        impl<'de> Visitor<'de> for Messages {
            type Value = Batch<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Batch<'de>, A::Error> {
                let mut messages = Vec::new();
                while messages.len() < MAX_MESSAGES {
                    let Some(message) = array.next_element()? else { break };
                    messages.push(message);
                }
                let mut is_too_long = false;
                while array.next_element::<IgnoredAny>()?.is_some() {
                    is_too_long = true;
                }
                Ok(Batch { messages, is_too_long })
            }
        }

        deserializer.deserialize_seq(Messages)
    }
}

impl Server {
    /// Answers a batch with an array of the answers to its requests, or with nothing if it has none.
    pub(super) fn batch(
        &self,
        headers: &impl TransportHeaders,
        batch: &Batch<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        if batch.is_too_long {
            let message = format!("the batch has more than {MAX_MESSAGES} messages; send fewer at a time");
            respond_error(None, &invalid_request(message), out);
            return Step::Done(ReplyKind::Invalid(Dialect::Mcp));
        }
        let (start, budget) = (out.len(), Budget::default());
        let mut pending: Vec<BoxFuture<'static, Option<Vec<u8>>>> = Vec::new();
        let (mut kind, mut calls) = (ReplyKind::Response(Dialect::Mcp), 0);
        out.push(b'[');
        for message in &batch.messages {
            let before = out.len();
            let mut members = Members::default();
            let read = members.read(message.get().as_bytes());
            let request = match members.interpret() {
                Ok(Message::Request(id, method, _)) if read.is_ok() => Some((id.clone().into_owned(), &**method)),
                _ => None,
            };
            let is_call = request.as_ref().is_some_and(|(_, method)| is_call(method));
            // The first call has the place of the message itself.
            let counted = if is_call && calls > 0 { headers.count_call() } else { Ok(()) };
            calls += usize::from(is_call);
            match (request, counted) {
                (Some((id, method)), Err(error)) => {
                    if let Some(call) = ToolRequest::malformed(Some(&id), &members) {
                        self.refuse_fault(&call, &error, peer);
                    }
                    fail(self.dialect(headers, method), &id, error, out);
                }
                (Some((id, method)), Ok(())) if NOT_IN_BATCH.contains(&method) => {
                    let message = format!("`{method}` cannot be part of a batch; send it by itself");
                    respond_error(Some(&id), &invalid_request(message), out);
                }
                (request, _) => {
                    let id = request.map(|(id, _)| id);
                    match self.rpc(headers, &members, read, peer, out) {
                        Step::Done(done) => {
                            budget.fit(id.as_ref(), before, out);
                            if let ReplyKind::LogLevelSet(_) = done {
                                kind = done;
                            }
                        }
                        Step::Pending(reply) => {
                            let budget = budget.clone();
                            pending.push(Box::pin(async move {
                                let mut answer = reply.await?;
                                budget.fit(id.as_ref(), 0, &mut answer);
                                Some(answer)
                            }));
                        }
                    }
                }
            }
            if out.len() > before {
                out.push(b',');
            }
        }
        let mut answers = out.split_off(start);
        if pending.is_empty() {
            let Some(answers) = close_array(answers) else { return Step::Done(ReplyKind::Accepted) };
            out.extend(answers);
            return Step::Done(kind);
        }
        Step::pending(Box::pin(async move {
            for answer in buffered(pending.into_iter(), MAX_MESSAGES).await.into_iter().flatten() {
                answers.extend(answer);
                answers.push(b',');
            }
            close_array(answers).map_or_else(Reply::cancelled, |bytes| Reply { bytes, kind })
        }))
    }
}

/// The number of bytes in the answers to a batch so far. Answers may be written concurrently.
#[derive(Clone, Default)]
struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// Counts the answer that begins at `start`, or replaces it with an error if it exceeds the budget.
    fn fit(&self, id: Option<&Id<'_>>, start: usize, out: &mut Vec<u8>) {
        let size = out.len().saturating_sub(start);
        let add = |used: usize| (used == 0 || used + size <= MAX_BYTES).then_some(used + size);
        if self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            out.truncate(start);
            let message = format!(
                "the request was carried out, but its answer does not fit: the answers to a batch have at most \
                 {MAX_BYTES} bytes; send fewer requests at a time"
            );
            respond_error(id, &invalid_request(message), out);
        }
    }
}

/// Closes the array of answers, each of which ends with a comma. `None` if there are no answers.
fn close_array(mut answers: Vec<u8>) -> Option<Vec<u8>> {
    let last = answers.last_mut().filter(|last| **last == b',')?;
    *last = b']';
    Some(answers)
}
