//! Layers wrap each call, for example with a cache, a quota or a mock.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use mcp_core::context::BoxFuture;
use mcp_core::{Error, ErrorType, ToolCall, ToolContext, ToolError, ToolResult};
use serde_json::Value;

use crate::call::clock::Clock;
use crate::call::request::CalledTool;
use crate::call::result::{ValueWriter, complete};
use crate::call::run::Run;
use crate::call::settings::Settings;
use crate::catalog::tool::RegisteredTool;
use crate::util::panic::boxed;
use crate::validate::rounded_integer;

/// Wraps the calls of a registry. The arguments are checked before the layer runs, and it sees them as a
/// [`Gate`](crate::gate::Gate) does. Arguments that it does not change are passed on as they were sent; others are checked
/// again.
///
/// The time that a layer takes itself does not count towards the time limit of the call. All runs of the tool, such as
/// those of a retry, share what is left of it.
///
/// ```standalone_crate
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// use mcp_registry::serde_json::json;
/// use mcp_registry::{CallOptions, Error, Registry, ToolCall, ToolContext, ToolResult, mcp_tool};
/// use mcp_registry::layer::{Layer, Next};
///
/// /// Caches the results of read-only tools, for each caller separately.
/// #[derive(Default)]
/// struct Cache(Mutex<HashMap<(Option<String>, String), ToolResult>>);
///
/// impl Layer for Cache {
///     async fn call(&self, call: &ToolCall, cx: &ToolContext, next: Next<'_>) -> Result<ToolResult, Error> {
///         if next.tool().hints().read_only != Some(true) {
///             return next.run(call, cx).await;
///         }
///         let key = (cx.caller().map(ToOwned::to_owned), call.to_json());
///         let known = self.0.lock().unwrap().get(&key).cloned();
///         if let Some(known) = known {
///             return Ok(known.meta("cached", true));
///         }
///         let result = next.run(call, cx).await?;
///         self.0.lock().unwrap().insert(key, result.clone());
///         Ok(result)
///     }
/// }
///
/// /// Returns the caller's name.
/// #[mcp_tool(module = "desk", read_only)]
/// fn whoami(#[ctx] cx: &ToolContext) -> Option<String> {
///     cx.caller().map(ToOwned::to_owned)
/// }
///
/// let registry = Registry::builder().layer(Cache::default()).build()?;
/// let call = ToolCall::new("desk.whoami", json!({}));
/// for (caller, cached) in [("ada", false), ("ada", true), ("bob", false), ("bob", true)] {
///     let result = registry.call_blocking_with(&call, &CallOptions::new().caller(caller));
///     assert_eq!(result.meta.contains_key("cached"), cached);
///     assert_eq!(result.data.unwrap()["result"], caller);
/// }
/// # Ok::<(), mcp_registry::RegistrationError>(())
/// ```
///
/// The key of a cache has everything on which a result depends. That is more than the call: tools know the caller. Add
/// whatever else your tools take from the context: the [trust level](ToolContext::trust), the
/// [extensions](ToolContext::extensions) (a tenant, a session, headers), [`_meta`](ToolContext::meta), the version of MCP
/// ([`CallOptions::get_protocol_version`](mcp_core::CallOptions::get_protocol_version)).
pub trait Layer: Send + Sync + 'static {
    /// Makes the call with [`Next::run`], or returns a result of its own.
    fn call(
        &self,
        call: &ToolCall,
        cx: &ToolContext,
        next: Next<'_>,
    ) -> impl Future<Output = Result<ToolResult, Error>> + Send;
}

/// The inner layers and the tool. It can be run more than once, such as for a retry.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) called: CalledTool<'a>,
    pub(crate) layers: &'a [Arc<dyn AnyLayer>],
    pub(crate) unchanged: &'a Unchanged<'a>,
    pub(crate) clock: &'a Clock,
}

/// The arguments of a call before any layer has changed them.
pub(crate) struct Unchanged<'a> {
    /// As the layers see them.
    pub(crate) value: &'a Value,
    /// As the tool gets them, with every digit of numbers.
    pub(crate) json: &'a str,
}

impl<'a> Next<'a> {
    /// The tool that is called.
    pub fn tool(&self) -> &'a RegisteredTool {
        self.called.tool
    }

    /// Makes the call with these arguments and this context. The name in the call is ignored: the tool stays the same.
    pub fn run<'b>(self, call: &'b ToolCall, cx: &'b ToolContext) -> BoxFuture<'b, Result<ToolResult, Error>>
    where
        'a: 'b,
    {
        match self.layers {
            [] => Box::pin(self.run_tool(cx, &call.arguments)),
            [layer, layers @ ..] => layer.call(call, cx, Next { layers, ..self }),
        }
    }
}

impl Next<'_> {
    async fn run_tool(self, cx: &ToolContext, arguments: &Value) -> Result<ToolResult, Error> {
        let (settings, called) = (self.settings, self.called);
        let is_unchanged = arguments == self.unchanged.value;
        let arguments =
            if is_unchanged { Cow::Borrowed(self.unchanged.json) } else { Cow::Owned(arguments.to_string()) };
        let _counts = self.clock.start();
        let run = Run::with_limits(settings, called, self.clock.limits(cx.cancel_token()));
        let mut json = Vec::new();
        let returned = run.of_checked_arguments(is_unchanged).run(cx.clone(), &arguments, &mut json).await?;
        if let Some(rounded) = std::str::from_utf8(&json).ok().and_then(rounded_integer) {
            let (name, path) = (called.name, rounded.path);
            return Err(ToolError::new(
                ErrorType::SERIALIZATION_ERROR,
                format!(
                    "the result of `{name}` has an integer of more than 64 bits at `{path}`, which a layer would see \
                     rounded; tell the author of the tool to return it as a string"
                ),
            )
            .into());
        }
        Ok(complete(settings, called, returned, &[], &ValueWriter, (0, &mut json))?.into_result())
    }
}

/// A [`Layer`] as a trait object.
pub(crate) trait AnyLayer: Send + Sync {
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cx: &'a ToolContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<ToolResult, Error>>;
}

impl<L: Layer> AnyLayer for L {
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cx: &'a ToolContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<ToolResult, Error>> {
        boxed(|| Layer::call(self, call, cx, next))
    }
}
