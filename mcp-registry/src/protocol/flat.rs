//! Flat calls: a tool's name and its arguments, without JSON-RPC.

use std::future::poll_fn;

use mcp_core::mcp::{Dialect, ProtocolVersion};
use mcp_core::support::FlatCall;

use super::Server;
use super::call::ToolRequest;
use super::call_result::CallForm;
use super::encode::respond_error;
use super::errors::{busy, flat_calls_are_off, missing_version};
use super::headers::TransportHeaders;
use super::peer::Peer;
use super::reply::{Reply, ReplyKind, Step};
use crate::call::run;
use crate::validate::LARGE;

/// The format of the answers.
const FORM: CallForm<'static> = CallForm { dialect: Dialect::Flat, version: ProtocolVersion::V2025_11_25, id: None };

impl Server {
    /// Answers a flat call, unless flat calls are switched off, or the transport's headers require a version in the
    /// message: a flat call has none.
    pub(super) fn flat(
        &self,
        headers: &impl TransportHeaders,
        name: &str,
        message: &[u8],
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Step {
        let settings = &self.0.settings;
        let checked = match (settings.legacy_methods, headers.is_stateless()) {
            (false, _) => Err(flat_calls_are_off()),
            (true, true) => Err(missing_version()),
            (true, false) => headers.check_version(None),
        };
        if let Err(error) = checked {
            self.refuse_fault(&ToolRequest::flat(name, ""), &error, peer);
            respond_error(None, &error, out);
            return Step::Done(ReplyKind::Invalid(Dialect::Flat));
        }
        if message.len() > LARGE {
            return self.large_flat(name, message, peer, out);
        }
        match FlatCall::parse(message, settings.flat_strictness) {
            Ok(call) => self.begin_call(FORM, &ToolRequest::flat(&call.tool_name, &call.arguments), peer, out),
            Err(error) => self.reject_call(&FORM, &ToolRequest::flat(name, ""), error.into(), peer, out),
        }
    }

    /// Answers a large flat call, which is parsed on the pool.
    fn large_flat(&self, name: &str, message: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Step {
        let Ok(in_flight) = peer.start(None, name.into(), None, self.0.settings.max_in_flight) else {
            return self.reject_call(&FORM, &ToolRequest::flat(name, ""), busy(peer.in_flight()).into(), peer, out);
        };
        let options = peer.call_options().clone().cancel(in_flight.cancel_token().clone());
        let message = message.to_vec();
        let mut unread = Unread { server: self.clone(), peer: peer.clone(), name: name.to_owned(), is_over: false };
        Step::pending(Box::pin(async move {
            let (server, mut bytes) = (unread.server.clone(), Vec::new());
            let strictness = server.0.settings.flat_strictness;
            let parse = move || FlatCall::parse(&message, strictness).map(|call| call.arguments.into_owned());
            let error = match run::read_on_pool(server.0.registry.settings(), parse, &options).await {
                Ok(Ok(arguments)) => {
                    if !in_flight.end() {
                        return Reply::cancelled();
                    }
                    unread.is_over = true;
                    let call = ToolRequest::flat(&unread.name, &arguments);
                    return match server.begin_call(FORM, &call, &unread.peer, &mut bytes) {
                        Step::Done(kind) => Reply { bytes, kind },
                        Step::Pending(mut pending) => poll_fn(|context| pending.poll_reply(context)).await,
                    };
                }
                Ok(Err(error)) => error.into(),
                Err(error) => error,
            };
            unread.is_over = true;
            let error = server.refuse(&ToolRequest::flat(&unread.name, ""), error, &unread.peer);
            let kind = server.settle(&FORM, Err(error), Some(in_flight), &unread.name, (0, &mut bytes));
            Reply { bytes, kind }
        }))
    }
}

/// A large flat call that is being read. If it is dropped meanwhile, it is recorded as cancelled.
struct Unread {
    server: Server,
    peer: Peer,
    name: String,
    is_over: bool,
}

impl Drop for Unread {
    fn drop(&mut self) {
        if !self.is_over {
            self.server.refuse(&ToolRequest::flat(&self.name, ""), run::cancelled(&self.name), &self.peer);
        }
    }
}
