//! Flat calls: a tool's name and its arguments, without JSON-RPC.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::{ToolCall, ToolResult, ValidationError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::{busy, shutting_down};
use super::peer::Flight;
use super::request::{Text, version_missing};
use super::write::respond_error;
use super::{Envelope, Outcome, Peer, Rest, Server};
use crate::call::run::CANCELLED;
use crate::validate::LARGE;

impl Server {
    /// Answers a large flat call, which is read on the pool.
    pub(super) fn large_flat(&self, name: &str, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        let flight = self.flat_flight(&Arc::from(name), peer, out)?;
        let options = peer.call_options().clone().cancel(flight.cancel());
        let (server, name, message) = (self.clone(), name.to_owned(), message.to_vec());
        Some(Box::pin(async move {
            let registry = &server.0.registry;
            // As text, the arguments take a fraction of the memory.
            let strictness = server.0.settings.flat_strictness;
            let read = move || ToolCall::parse_with(&message, strictness).map(|call| call.arguments.to_string());
            let result = match registry.read_apart(read, &options).await {
                Ok(Ok(arguments)) => {
                    let answer = registry.try_call_json(&name, &arguments, &options).await;
                    answer.unwrap_or_else(ToolResult::from)
                }
                Ok(Err(error)) => ToolResult::failure(error),
                Err(error) => ToolResult::from(registry.reject(&name, "", &options, error)),
            };
            flat_answer(&name, result, flight)
        }))
    }

    /// Answers a flat call.
    pub(super) fn flat(&self, call: Result<ToolCall, ValidationError>, peer: &Peer, out: &mut Vec<u8>) -> Option<Rest> {
        match call {
            Ok(call) => {
                let name = Arc::from(&*call.tool_name);
                let flight = self.flat_flight(&name, peer, out)?;
                let options = peer.call_options().clone().cancel(flight.cancel());
                let server = self.clone();
                let rest = Box::pin(async move {
                    let result = server.0.registry.call_with(&call, &options).await;
                    flat_answer(&call.tool_name, result, flight)
                });
                self.now_or_later(&name, rest, out)
            }
            Err(error) => {
                out.extend_from_slice(ToolResult::failure(error).to_json().as_bytes());
                None
            }
        }
    }

    /// Makes room for a flat call, or says that there is none.
    fn flat_flight(&self, name: &Arc<str>, peer: &Peer, out: &mut Vec<u8>) -> Option<Flight> {
        peer.begin(None, name, None, self.0.settings.max_in_flight)
            .map_err(|_| {
                let busy = busy(peer.in_flight()).into();
                let error = self.0.registry.reject(name, "", peer.call_options(), busy);
                out.extend_from_slice(ToolResult::from(error).to_json().as_bytes());
            })
            .ok()
    }
}

/// Answers a flat call, if its envelope lets it. It has no version, and the envelope repeats nothing of it.
pub(super) fn flat_in(
    envelope: &impl Envelope,
    peer: &Peer,
    out: &mut Vec<u8>,
    answer: impl FnOnce(&mut Vec<u8>) -> Option<Rest>,
) -> Option<Rest> {
    let fits = if envelope.is_stateless() { Err(version_missing()) } else { envelope.agrees(None) };
    match fits {
        Ok(()) => answer(out),
        Err(error) => {
            peer.note(Outcome::Refused);
            respond_error(None, &error, out);
            None
        }
    }
}

/// The answer to a flat call, unless it was cancelled by its client.
fn flat_answer(tool: &str, mut result: ToolResult, flight: Flight) -> Option<Vec<u8>> {
    let error_type = result.error.as_ref().map(|error| &error.error_type);
    if error_type == Some(&CANCELLED) && flight.is_shut_down() {
        result = ToolResult::failure(shutting_down(tool));
    }
    flight.end().then(|| result.to_json().into_bytes())
}

/// What tells a flat call from JSON-RPC, and its name.
#[derive(Deserialize)]
pub(super) struct FlatHead<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_name: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

impl<'a> FlatHead<'a> {
    /// The name of the tool, if the message is a flat call and large.
    pub(super) fn of_large(message: &'a [u8]) -> Option<Cow<'a, str>> {
        if message.len() <= LARGE || !message.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let Self { jsonrpc, tool_name, name } = serde_json::from_slice(message).ok()?;
        jsonrpc.is_none().then(|| tool_name.or(name).map_or(Cow::Borrowed(""), |name| name.0))
    }
}
