//! `tools/call`: rmcp's request → a call of the registry → rmcp's result.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ::rmcp::model::CallToolResponse;
use ::rmcp::service::RequestContext;
use ::rmcp::{ErrorData, RoleServer};
use mcp_core::{CallOptions, CancelToken, JsonObject, LogLevel, ProtocolVersion, ToolCall};
use tokio::time::timeout;

use super::tell::{Teller, Wanted, level, send_all};
use super::{Tools, convert};
use crate::util::panic::{Panicked, guard};

/// How long an answer waits for what was told before it: rmcp sends nothing but answers once its client has sent its
/// last, and drops those that are late.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The version in which a request speaks, as far as it matters here.
pub(super) fn era(context: &RequestContext<RoleServer>) -> ProtocolVersion {
    let stateless = |version: ::rmcp::model::ProtocolVersion| version.as_str() >= ProtocolVersion::V2026_07_28.as_str();
    if context.protocol_version().is_some_and(stateless) {
        ProtocolVersion::V2026_07_28
    } else {
        ProtocolVersion::V2025_11_25
    }
}

impl Tools {
    /// Makes a call. The level from which on log lines are wanted is that of the connection; where each request says
    /// it, it does not count.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
        of_connection: Option<LogLevel>,
    ) -> Result<CallToolResponse, ErrorData> {
        let era = era(&context);
        let structured =
            context.protocol_version().is_none_or(|version| version.as_str() >= ProtocolVersion::V2025_06_18.as_str());
        let level = if era.is_stateless() { context.meta.log_level().map(level) } else { of_connection };
        let wanted = Wanted { token: context.meta.get_progress_token(), level };
        let (options, cancel) =
            guard(|| self.options_of(&context)).map_err(|panicked| self.internal(&context, &panicked))?;
        let RequestContext { ct, id, meta, extensions, peer, .. } = context;
        let mut options =
            options.request_id(id.to_string()).meta(meta.0.0).extension(extensions).extension(peer.clone());
        let (teller, receive) = Teller::new(wanted, name).unzip();
        if let Some(teller) = teller.clone() {
            options = options.on_event(move |event| teller.tell(event));
        }
        let call = ToolCall::new(name, arguments.unwrap_or_default());
        let call = self.registry.try_call_with(&call, &options);
        let telling = async {
            if let Some(receive) = receive {
                send_all(receive, peer).await;
            }
        };
        match drive(call, telling, teller, ct.cancelled(), &cancel).await {
            Ok(result) => Ok(convert::result(result, structured).into()),
            Err(error) => match convert::protocol_error(&self.registry, &error, era) {
                Some(error) => Err(error),
                None => Ok(convert::result(error.into(), structured).into()),
            },
        }
    }

    /// What the call brings along, and what calls it off.
    fn options_of(&self, context: &RequestContext<RoleServer>) -> (CallOptions, CancelToken) {
        let options = self.options.as_ref().map_or_else(CallOptions::new, |options| options(context));
        let options = with_request(options, context);
        let cancel = options.get_cancel().map_or_else(CancelToken::new, CancelToken::child);
        (options.cancel(cancel.clone()), cancel)
    }

    /// The error of a request that panicked outside of a call.
    pub(super) fn internal(&self, context: &RequestContext<RoleServer>, panicked: &Panicked) -> ErrorData {
        let options = guard(|| self.options_of(context).0);
        let options = options.unwrap_or_else(|_| with_request(CallOptions::new(), context));
        convert::internal(&self.registry, &options, panicked)
    }
}

/// The options, with the HTTP request where rmcp serves HTTP.
fn with_request(options: CallOptions, context: &RequestContext<RoleServer>) -> CallOptions {
    let Some(request) = context.extensions.get().cloned() else { return options };
    let options = options.http_request(request);
    if options.get_mask_errors().is_none() { options.mask_errors(true) } else { options }
}

/// Drives the call and what is told of it, here in the task of the request, by which rmcp knows what belongs to it.
async fn drive<T>(
    call: impl Future<Output = T>,
    telling: impl Future<Output = ()>,
    teller: Option<Arc<Teller>>,
    cancelled: impl Future<Output = ()>,
    cancel: &CancelToken,
) -> T {
    let (mut call, mut telling, mut cancelled) = (pin!(call), pin!(telling), pin!(cancelled));
    let (mut all_told, mut is_cancelled) = (false, false);
    let answer = poll_fn(|context| {
        if !is_cancelled && cancelled.as_mut().poll(context).is_ready() {
            is_cancelled = true;
            cancel.cancel();
        }
        let answer = call.as_mut().poll(context);
        all_told = all_told || telling.as_mut().poll(context).is_ready();
        answer
    })
    .await;
    if let Some(teller) = teller {
        teller.end();
        if !all_told && !is_cancelled {
            let _ = timeout(LAST_WORDS, telling).await;
        }
    }
    answer
}
