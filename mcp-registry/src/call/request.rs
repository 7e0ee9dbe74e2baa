//! A call as it was received, and its tool.

use mcp_core::{CallOptions, CancelToken};

use super::callable::Callable;

/// A call as it was received.
#[derive(Clone, Copy)]
pub(crate) struct CallRequest<'a> {
    pub(crate) name: &'a str,
    /// As JSON.
    pub(crate) arguments: &'a str,
    pub(crate) options: &'a CallOptions,
    /// Cancels the call; overrides the token in the options.
    pub(crate) cancel: Option<&'a CancelToken>,
}

impl<'a> CallRequest<'a> {
    pub(crate) fn new(name: &'a str, arguments: &'a str, options: &'a CallOptions) -> Self {
        Self { name, arguments, options, cancel: None }
    }

    /// The token that cancels the call.
    pub(crate) fn cancel_token(&self) -> Option<&'a CancelToken> {
        self.cancel.or_else(|| self.options.get_cancel())
    }
}

/// The tool of a call, and the name by which it was called. Errors use that name, because the caller knows it.
#[derive(Clone, Copy)]
pub(crate) struct CalledTool<'a> {
    pub(crate) tool: &'a Callable,
    pub(crate) name: &'a str,
}
