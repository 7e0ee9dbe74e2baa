//! Confines a panic to the call in which it happens.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mcp_core::context::BoxFuture;
use mcp_core::support::cut;
pub(crate) use mcp_core::support::{Contained, discard};
use mcp_core::{Error, ToolError};

/// The number of bytes of a panic message that errors show at most.
const MAX_MESSAGE: usize = 500;

/// A tool, or code that runs around it, panicked.
#[derive(Debug)]
pub(crate) struct Panicked {
    message: String,
    /// What panicked, if it was not the tool.
    culprit: Option<&'static str>,
}

/// Runs code that may panic.
pub(crate) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    // State that the panic left inconsistent belongs to the tool, or is dropped with the call.
    catch_unwind(AssertUnwindSafe(run)).map_err(caught)
}

/// Boxes the future that a function returns. If the function panics instead, so does the future.
pub(crate) fn boxed<'a, F: Future + Send + 'a>(make: impl FnOnce() -> F) -> BoxFuture<'a, F::Output> {
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(future) => Box::pin(future),
        Err(payload) => Box::pin(async move { resume_unwind(payload) }),
    }
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Panicked {
    let message = message_of(&*payload);
    discard(payload);
    Panicked { message, culprit: None }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    cut(text.unwrap_or("with a value that is not text"), MAX_MESSAGE).into_owned()
}

impl Panicked {
    /// The panic message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Names what panicked instead of the tool.
    pub(crate) fn by(mut self, culprit: &'static str) -> Self {
        self.culprit = Some(culprit);
        self
    }

    /// The error of a call to this tool.
    pub(crate) fn into_error(self, tool: &str) -> Error {
        let Self { message, culprit } = self;
        ToolError::from_error(PanicError { tool: tool.to_owned(), culprit, message }).into()
    }
}

/// The error that the caller of a panicking tool receives. Its message was not written for a model, and may be masked.
#[derive(Debug)]
struct PanicError {
    tool: String,
    culprit: Option<&'static str>,
    message: String,
}

impl fmt::Display for PanicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, culprit, message } = self;
        if let Some((problem, remedy)) = tokio_problem(message) {
            return match culprit {
                None => write!(f, "`{tool}` {problem}; {remedy}"),
                Some(culprit) => write!(f, "`{tool}` was called, and {culprit} {problem}; {remedy}"),
            };
        }
        match culprit {
            None => write!(f, "`{tool}` panicked: {message}; this is a mistake in the tool, tell its author"),
            Some(culprit) => write!(
                f,
                "`{tool}` was called, and {culprit} panicked: {message}; this is not a mistake in the tool, tell \
                 the operator of the server"
            ),
        }
    }
}

impl std::error::Error for PanicError {}

/// Recognises a panic inside tokio that is not the tool's fault: the problem, and its remedy.
fn tokio_problem(message: &str) -> Option<(&'static str, &'static str)> {
    if message.contains("there is no reactor running") {
        let remedy = if cfg!(feature = "tokio") {
            "call it inside a runtime, or remove `inline`: all other tools run in that of `TokioRuntime`, or in one that is \
             started for them"
        } else {
            "call it inside a runtime, or enable the feature `tokio` of `mcp-registry`, so that one is started for it"
        };
        return Some(("needs a tokio runtime, and there is none on its thread", remedy));
    }
    let (_, fault) = message.split_once("A Tokio 1.x context was found, but ")?;
    if fault.contains("disabled") {
        let remedy = "build the runtime with `enable_all()`, or with `enable_time()` and `enable_io()`";
        return Some(("needs timers or sockets, and its tokio runtime was built without them", remedy));
    }
    fault.contains("shutdown").then_some((
        "needs its tokio runtime, and that was shut down",
        "keep the runtime until the last call is over, or try again elsewhere",
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::panic::panic_any;

    use super::{discard, guard};

    /// Panics when it is dropped, with a payload that panics when it is dropped.
    pub(crate) struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Self);
        }
    }

    fn message(run: impl FnOnce()) -> String {
        guard(run).unwrap_err().message
    }

    #[test]
    fn an_error_shows_the_message_of_the_panic() {
        assert_eq!(message(|| panic!("plain")), "plain");
        assert_eq!(message(|| panic!("the number {}", 7)), "the number 7");
        assert_eq!(message(|| panic_any(7)), "with a value that is not text");
        assert!(message(|| panic!("{}", "x".repeat(9999))).ends_with("… (9999 bytes)"));
    }

    #[test]
    fn an_error_says_how_to_provide_tokio() {
        let error = |run: fn()| guard(run).unwrap_err().into_error("calc.add").to_string();
        let missing = error(|| drop(tokio::runtime::Handle::current()));
        assert!(missing.contains("`calc.add` needs a tokio runtime"), "{missing}");
        assert_eq!(missing.contains("`TokioRuntime`"), cfg!(feature = "tokio"), "{missing}");
        assert_eq!(missing.contains("feature `tokio`"), !cfg!(feature = "tokio"), "{missing}");
        let layer =
            guard(|| tokio::runtime::Handle::current()).unwrap_err().by("a layer").into_error("calc.add").to_string();
        assert!(layer.contains("`calc.add` was called, and a layer needs a tokio runtime"), "{layer}");
        let shut_down = error(|| panic!("A Tokio 1.x context was found, but it is being shutdown."));
        assert!(shut_down.contains("`calc.add` needs its tokio runtime, and that was shut down; keep"), "{shut_down}");
        assert!(error(|| panic!("on purpose")).contains("panicked: on purpose; this is a mistake in the tool"));
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_leaked() {
        assert_eq!(message(|| panic_any(Bomb)), "with a value that is not text");
        discard(Bomb);
    }
}
