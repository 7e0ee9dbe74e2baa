//! Flat calls: a tool's name and its arguments, without JSON-RPC.

use std::future::poll_fn;

use mcp_core::mcp::{Dialect, ProtocolVersion};
use mcp_core::{ToolCall, ToolResult};

use super::Server;
use super::call::ToolRequest;
use super::call_result::CallForm;
use super::encode::respond_error;
use super::errors::{busy, missing_version};
use super::headers::TransportHeaders;
use super::peer::Peer;
use super::reply::{Reply, ReplyKind, Step};
use crate::call::request::CallRequest;
use crate::call::result::Answer;
use crate::call::run;
use crate::validate::LARGE;

/// The format of the answers.
const FORM: CallForm<'static> = CallForm { dialect: Dialect::Flat, version: ProtocolVersion::V2025_11_25, id: None };

impl Server {
    /// Answers a flat call, unless the transport's headers require a version in the message: a flat call has none.
    pub(super) fn flat(
        &self,
        headers: &impl TransportHeaders,
        name: &str,
        message: &[u8],
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let checked = if headers.is_stateless() { Err(missing_version()) } else { headers.check_version(None) };
        if let Err(error) = checked {
            respond_error(None, &error, out);
            return Step::Done(ReplyKind::Invalid(Dialect::Flat));
        }
        if message.len() > LARGE {
            return self.large_flat(name, message, peer, out);
        }
        match ToolCall::parse_with(message, self.0.settings.flat_strictness) {
            Ok(ToolCall { tool_name, arguments, .. }) => {
                self.begin_call(FORM, &ToolRequest::flat(&tool_name, &arguments.to_string()), peer, out)
            }
            Err(error) => {
                out.extend_from_slice(ToolResult::failure(error).to_json().as_bytes());
                Step::Done(ReplyKind::Response(Dialect::Flat))
            }
        }
    }

    /// Answers a large flat call, which is parsed on the pool.
    fn large_flat(&self, name: &str, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Step {
        let Ok(in_flight) = peer.start(None, name.into(), None, self.0.settings.max_in_flight) else {
            return self.reject_call(&FORM, &ToolRequest::flat(name, ""), busy(peer.in_flight()).into(), peer, out);
        };
        let options = peer.call_options().clone().cancel(in_flight.cancel_token().clone());
        let (server, peer, name, message) = (self.clone(), peer.clone(), name.to_owned(), message.to_vec());
        Step::pending(Box::pin(async move {
            let (registry, mut bytes) = (&server.0.registry, Vec::new());
            // As text, the arguments take much less memory than as a value.
            let strictness = server.0.settings.flat_strictness;
            let parse = move || ToolCall::parse_with(&message, strictness).map(|call| call.arguments.to_string());
            let answer = match run::read_on_pool(registry.settings(), parse, &options).await {
                Ok(Ok(arguments)) => {
                    if !in_flight.end() {
                        registry.reject(CallRequest::new(&name, &arguments, &options), run::cancelled(&name));
                        return Reply::cancelled();
                    }
                    return match server.begin_call(FORM, &ToolRequest::flat(&name, &arguments), &peer, &mut bytes) {
                        Step::Done(kind) => Reply { bytes, kind },
                        Step::Pending(mut pending) => poll_fn(|context| pending.poll_reply(context)).await,
                    };
                }
                Ok(Err(error)) => Ok(Answer::Result(Box::new(ToolResult::failure(error)))),
                Err(error) => Err(registry.reject(CallRequest::new(&name, "", &options), error)),
            };
            let kind = server.settle(&FORM, answer, Some(in_flight), &name, (0, &mut bytes));
            Reply { bytes, kind }
        }))
    }
}
