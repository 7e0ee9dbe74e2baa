//! What a tool can learn of the call that it is in.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::entry::StateType;
use crate::error::ToolError;
use crate::message::{ErrorType, JsonObject};

/// A future on the heap, which may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool can learn of the call that it is in. Ask for it by `#[ctx] cx: &ToolContext`.
///
/// ```
/// use mcp_core::ToolContext;
///
/// let cx = ToolContext::for_test().with_extension("the caller's name".to_owned());
/// assert_eq!(cx.extensions().get::<String>().unwrap(), "the caller's name");
/// ```
#[derive(Clone, Debug)]
pub struct ToolContext(Arc<Inner>);

#[derive(Clone, Debug, Default)]
struct Inner {
    tool_name: String,
    request_id: Option<String>,
    meta: JsonObject,
    state: Extensions,
    extensions: Extensions,
}

impl ToolContext {
    /// The context of a call of the tool, with the application's state.
    pub fn new(tool_name: impl Into<String>, state: Extensions) -> Self {
        Self(Arc::new(Inner { tool_name: tool_name.into(), state, ..Inner::default() }))
    }

    /// A context to call a tool's function with, in a test.
    pub fn for_test() -> Self {
        Self::new("test", Extensions::default())
    }

    /// Adds application state.
    #[must_use]
    pub fn with_state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        Arc::make_mut(&mut self.0).state.insert(state);
        self
    }

    /// Adds what a tool finds under [`extensions`](Self::extensions).
    #[must_use]
    pub fn with_extension<T: Any + Send + Sync>(mut self, extension: T) -> Self {
        Arc::make_mut(&mut self.0).extensions.insert(extension);
        self
    }

    /// Sets the id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).request_id = Some(id.into());
        self
    }

    /// Sets the `_meta` of the request.
    #[must_use]
    pub fn with_meta(mut self, meta: JsonObject) -> Self {
        Arc::make_mut(&mut self.0).meta = meta;
        self
    }

    /// The tool's canonical name.
    pub fn tool_name(&self) -> &str {
        &self.0.tool_name
    }

    /// The id of the request, if it came with one.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The `_meta` of the request.
    pub fn meta(&self) -> &JsonObject {
        &self.0.meta
    }

    /// What the embedding server put there: request extensions, headers, the authenticated caller.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// The application's state of a type.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.state.get()
    }
}

/// Values by their type; cheap to clone.
#[derive(Clone, Default)]
pub struct Extensions(Arc<HashMap<TypeId, Named>>);

/// A value, and the name of its type for people.
type Named = (&'static str, Arc<dyn Any + Send + Sync>);

impl Extensions {
    /// Puts a value in, in place of one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), (type_name::<T>(), Arc::new(value)));
    }

    /// The value of a type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|(_, value)| value.downcast_ref())
    }

    /// Whether there is a value of the type.
    pub fn has(&self, state: StateType) -> bool {
        self.0.contains_key(&state.id)
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.values().map(|(name, _)| name)).finish()
    }
}

/// A parameter that is made from the context: `#[ctx] user: User`.
///
/// ```
/// use mcp_core::{FromContext, ToolContext, ToolError};
///
/// struct User(String);
///
/// impl FromContext for User {
///     async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
///         match cx.extensions().get::<String>() {
///             Some(name) => Ok(Self(name.clone())),
///             None => Err(ToolError::new("AuthenticationError", "log in first")),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the context",
    label = "write `#[ctx] name: &{Self}` for application state, or `#[ctx(clone)]` for a clone of it",
    note = "a type of your own can implement `FromContext`"
)]
pub trait FromContext: Sized + Send {
    /// Makes the value, or says why the call cannot go on.
    fn from_context(cx: &ToolContext) -> impl Future<Output = Result<Self, ToolError>> + Send;

    /// The types of application state that it needs.
    fn requires() -> Vec<StateType> {
        Vec::new()
    }
}

impl FromContext for ToolContext {
    async fn from_context(cx: &ToolContext) -> Result<Self, ToolError> {
        Ok(cx.clone())
    }
}

/// State that the registry did not check for: a context made by hand.
pub(crate) fn missing_state<T>() -> ToolError {
    let message = format!("there is no state of type `{}`; give it to the builder with `.state(…)`", type_name::<T>());
    ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message)
}
