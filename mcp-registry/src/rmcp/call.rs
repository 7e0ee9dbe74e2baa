//! `tools/call`: turns rmcp's request into a call, and its result into rmcp's.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ::rmcp::model::CallToolResponse;
use ::rmcp::service::RequestContext;
use ::rmcp::{ErrorData, RoleServer};
use mcp_core::mcp::ProtocolVersion;
use mcp_core::message::JsonObject;
use mcp_core::{CallOptions, CancelToken, Error, ErrorType, LogLevel, ToolCall, ToolError, ToolResult};
use tokio::time::timeout;

use super::events::{EventSender, Requested, forward, log_level};
use super::{Tools, convert};
use crate::call::request::CallRequest;
use crate::protocol::Peer as Connection;
use crate::util::panic::{Panicked, guard};

/// How long a response waits for earlier notifications. After a client has sent its last message, rmcp sends only
/// responses, and drops them if they are late.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// The version of a request: only whether it is stateless matters here.
pub(super) fn version_of(context: &RequestContext<RoleServer>) -> ProtocolVersion {
    let stateless = |version: ::rmcp::model::ProtocolVersion| version.as_str() >= ProtocolVersion::V2026_07_28.as_str();
    if context.protocol_version().is_some_and(stateless) {
        ProtocolVersion::V2026_07_28
    } else {
        ProtocolVersion::V2025_11_25
    }
}

impl Tools {
    /// Calls a tool. The log level is that of the connection, except in versions in which each request has its own.
    pub(super) async fn call(
        &self,
        connection: &Connection,
        name: &str,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
        connection_level: Option<LogLevel>,
    ) -> Result<CallToolResponse, ErrorData> {
        let version = version_of(&context);
        let structured =
            context.protocol_version().is_none_or(|version| version.as_str() >= ProtocolVersion::V2025_06_18.as_str());
        let level = if version.is_stateless() { context.meta.log_level().map(log_level) } else { connection_level };
        let requested = Requested { progress_token: context.meta.get_progress_token(), level };
        let call = ToolCall::new(name, arguments.unwrap_or_default());
        let (options, cancel) = match guard(|| self.call_options(&context)) {
            Ok(options) => options,
            Err(panicked) => {
                let error = panicked.by("the function of `Tools::options`").into_error(name);
                let options = with_http_request(CallOptions::new(), &context).request_id(context.id.to_string());
                return Err(convert::as_internal(&self.reject(&call, &options, error)));
            }
        };
        let RequestContext { ct, id, meta, extensions, peer, .. } = context;
        let options = options.request_id(id.to_string()).extension(extensions).extension(peer.clone());
        let mut options = options.protocol_version(version);
        if let Err(error) = convert::check_meta_size(&meta) {
            self.reject(&call, &options, ToolError::new(ErrorType::VALIDATION_ERROR, &*error.message).into());
            return Err(error);
        }
        options = options.meta(meta.0.0);
        let answer = |result: Result<ToolResult, Error>| match result {
            Ok(result) => Ok(convert::result(result, structured).into()),
            Err(error) => match convert::protocol_error(&self.registry, &error, version) {
                Some(error) => Err(error),
                None => Ok(convert::result(error.into(), structured).into()),
            },
        };
        let _in_flight = match connection.start_call(name, self.max_in_flight) {
            Ok(in_flight) => in_flight,
            Err(busy) => return answer(Err(self.reject(&call, &options, busy.into()))),
        };
        let (events, queue) = EventSender::new(requested, name).unzip();
        if let Some(events) = events.clone() {
            options = options.on_event(move |event| events.send(event));
        }
        let call = self.registry.try_call_with(&call, &options);
        let forwarding = async {
            if let Some(queue) = queue {
                forward(queue, peer).await;
            }
        };
        answer(run(call, forwarding, events, ct.cancelled(), &cancel).await)
    }

    /// Records a call that is not made. Returns the error as the caller may see it.
    fn reject(&self, call: &ToolCall, options: &CallOptions, error: Error) -> Error {
        self.registry.reject(CallRequest::new(&call.tool_name, &call.arguments.to_string(), options), error)
    }

    /// The options of a call, and the token that cancels it.
    fn call_options(&self, context: &RequestContext<RoleServer>) -> (CallOptions, CancelToken) {
        let options = self.options.as_ref().map_or_else(CallOptions::new, |options| options(context));
        let options = with_http_request(options, context);
        let cancel = options.get_cancel().map_or_else(CancelToken::new, CancelToken::child);
        (options.cancel(cancel.clone()), cancel)
    }

    /// The error for a panic outside of a call.
    pub(super) fn internal_error(&self, context: &RequestContext<RoleServer>, panicked: &Panicked) -> ErrorData {
        let options = guard(|| self.call_options(context).0);
        let options = options.unwrap_or_else(|_| with_http_request(CallOptions::new(), context));
        convert::internal_error(&self.registry, &options, panicked)
    }
}

/// Adds the HTTP request to the options, if rmcp serves HTTP.
fn with_http_request(options: CallOptions, context: &RequestContext<RoleServer>) -> CallOptions {
    let Some(request) = context.extensions.get().cloned() else { return options };
    let options = options.http_request(request);
    if options.get_mask_errors().is_none() { options.mask_errors(true) } else { options }
}

/// Polls the call and the forwarding of its events in the task of the request, because rmcp assigns messages to
/// requests by their task.
async fn run<T>(
    call: impl Future<Output = T>,
    forwarding: impl Future<Output = ()>,
    events: Option<Arc<EventSender>>,
    cancelled: impl Future<Output = ()>,
    cancel: &CancelToken,
) -> T {
    let (mut call, mut forwarding, mut cancelled) = (pin!(call), pin!(forwarding), pin!(cancelled));
    let (mut is_flushed, mut is_cancelled) = (false, false);
    let output = poll_fn(|context| {
        if !is_cancelled && cancelled.as_mut().poll(context).is_ready() {
            is_cancelled = true;
            cancel.cancel();
        }
        let output = call.as_mut().poll(context);
        is_flushed = is_flushed || forwarding.as_mut().poll(context).is_ready();
        output
    })
    .await;
    if let Some(events) = events {
        events.close();
        if !is_flushed && !is_cancelled {
            let _ = timeout(FLUSH_TIMEOUT, forwarding).await;
        }
    }
    output
}
