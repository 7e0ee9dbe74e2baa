//! A call as it arrived, and the tool that it is for.

use std::borrow::Cow;

use mcp_core::{CallOptions, CancelToken};

use super::callable::Callable;

/// A call as it arrived.
pub(crate) struct CallRequest<'a> {
    pub(crate) name: Cow<'a, str>,
    /// As JSON.
    pub(crate) arguments: Cow<'a, str>,
    pub(crate) options: Cow<'a, CallOptions>,
    /// Cancels the call, in place of the token in the options.
    pub(crate) cancel: Option<CancelToken>,
}

impl<'a> CallRequest<'a> {
    pub(crate) fn new(name: &'a str, arguments: &'a str, options: &'a CallOptions) -> Self {
        let (name, arguments) = (Cow::Borrowed(name), Cow::Borrowed(arguments));
        Self { name, arguments, options: Cow::Borrowed(options), cancel: None }
    }

    /// The token that cancels the call.
    pub(crate) fn cancel_token(&self) -> Option<&CancelToken> {
        self.cancel.as_ref().or_else(|| self.options.get_cancel())
    }

    /// The request, which outlives its message.
    pub(crate) fn into_owned(self) -> CallRequest<'static> {
        CallRequest {
            name: Cow::Owned(self.name.into_owned()),
            arguments: Cow::Owned(self.arguments.into_owned()),
            options: Cow::Owned(self.options.into_owned()),
            cancel: self.cancel,
        }
    }
}

/// The tool of a call, and the name by which it was called. Errors use that name, since the caller knows it.
#[derive(Clone, Copy)]
pub(crate) struct CalledTool<'a> {
    pub(crate) tool: &'a Callable,
    pub(crate) name: &'a str,
}
