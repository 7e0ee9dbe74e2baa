//! Flat calls: a tool's name and its arguments, without JSON-RPC.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::error::ValidationError;
use mcp_core::mcp::Dialect;
use mcp_core::{ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Server;
use super::decode::Text;
use super::encode::respond_error;
use super::errors::{busy, missing_version, shutting_down};
use super::headers::TransportHeaders;
use super::in_flight::InFlight;
use super::peer::Peer;
use super::reply::{Reply, ReplyKind, Step};
use crate::call::run::CANCELLED;
use crate::validate::LARGE;

/// The answer was appended.
const DONE: Step = Step::Done(ReplyKind::Response(Dialect::Flat));

impl Server {
    /// Answers a flat call, unless the headers of its transport forbid it: it has no version.
    pub(super) fn flat(
        &self,
        headers: &impl TransportHeaders,
        call: FlatCall<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let checked = if headers.is_stateless() { Err(missing_version()) } else { headers.check_version(None) };
        if let Err(error) = checked {
            respond_error(None, &error, out);
            return Step::Done(ReplyKind::Invalid(Dialect::Flat));
        }
        match call {
            FlatCall::Large { name, message } => self.large_flat(&name, message, peer, out),
            FlatCall::Parsed(Ok(call)) => self.small_flat(call, peer, out),
            FlatCall::Parsed(Err(error)) => {
                out.extend_from_slice(ToolResult::failure(error).to_json().as_bytes());
                DONE
            }
        }
    }

    /// Answers a large flat call, which is parsed on the pool.
    fn large_flat(&self, name: &str, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Step {
        let Some(in_flight) = self.start_flat(&Arc::from(name), peer, out) else { return DONE };
        let options = peer.call_options().clone().cancel(in_flight.cancel_token());
        let (server, name, message) = (self.clone(), name.to_owned(), message.to_vec());
        Step::pending(Box::pin(async move {
            let registry = &server.0.registry;
            // As text, the arguments take a fraction of the memory.
            let strictness = server.0.settings.flat_strictness;
            let parse = move || ToolCall::parse_with(&message, strictness).map(|call| call.arguments.to_string());
            let result = match registry.read_on_pool(parse, &options).await {
                Ok(Ok(arguments)) => {
                    let answer = registry.try_call_json(&name, &arguments, &options).await;
                    answer.unwrap_or_else(ToolResult::from)
                }
                Ok(Err(error)) => ToolResult::failure(error),
                Err(error) => ToolResult::from(registry.reject(&name, "", &options, error)),
            };
            flat_reply(&name, result, in_flight)
        }))
    }

    fn small_flat(&self, call: ToolCall, peer: &Peer, out: &mut Vec<u8>) -> Step {
        let name = Arc::from(&*call.tool_name);
        let Some(in_flight) = self.start_flat(&name, peer, out) else { return DONE };
        let options = peer.call_options().clone().cancel(in_flight.cancel_token());
        let server = self.clone();
        let reply = Box::pin(async move {
            let result = server.0.registry.call_with(&call, &options).await;
            flat_reply(&call.tool_name, result, in_flight)
        });
        self.poll_if_quick(&name, reply, out)
    }

    /// Counts a flat call as in flight, or answers that there are too many.
    fn start_flat(&self, name: &Arc<str>, peer: &Peer, out: &mut Vec<u8>) -> Option<InFlight> {
        let started = peer.start(None, name, None, self.0.settings.max_in_flight);
        started
            .map_err(|_| {
                let busy = busy(peer.in_flight()).into();
                let error = self.0.registry.reject(name, "", peer.call_options(), busy);
                out.extend_from_slice(ToolResult::from(error).to_json().as_bytes());
            })
            .ok()
    }
}

/// The reply to a flat call.
fn flat_reply(tool: &str, mut result: ToolResult, in_flight: InFlight) -> Reply {
    let error_type = result.error.as_ref().map(|error| &error.error_type);
    if error_type == Some(&CANCELLED) && in_flight.is_shut_down() {
        result = ToolResult::failure(shutting_down(tool));
    }
    if !in_flight.end() {
        return Reply::cancelled();
    }
    Reply { bytes: result.to_json().into_bytes(), kind: ReplyKind::Response(Dialect::Flat) }
}

/// A flat call.
pub(super) enum FlatCall<'a> {
    Parsed(Result<ToolCall, ValidationError>),
    /// One that is too large to be parsed on the task of its connection.
    Large {
        name: Cow<'a, str>,
        message: &'a [u8],
    },
}

impl<'a> FlatCall<'a> {
    /// The call, if the message is a flat call and large.
    pub(super) fn large(message: &'a [u8]) -> Option<Self> {
        if message.len() <= LARGE || !message.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let FlatHead { jsonrpc, tool_name, name } = serde_json::from_slice(message).ok()?;
        let name = || tool_name.or(name).map_or(Cow::Borrowed(""), |name| name.0);
        jsonrpc.is_none().then(|| Self::Large { name: name(), message })
    }
}

/// What tells a flat call from JSON-RPC, and its name.
#[derive(Deserialize)]
struct FlatHead<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_name: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}
