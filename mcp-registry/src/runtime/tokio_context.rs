//! Enters a tokio runtime for tools that run outside of one, or that block their own. Does nothing without the feature
//! `tokio`.

#[cfg(feature = "tokio")]
mod imp {
    use std::cell::Cell;
    use std::future::{Future, pending};
    use std::sync::{Mutex, OnceLock};
    use std::task::{Context, Poll, Waker};
    use std::thread::{self, ThreadId};

    use ::tokio::runtime::{Builder, Handle, RuntimeFlavor};
    use ::tokio::task::{self, coop};

    use crate::runtime::Runtime;
    use crate::util::lock::lock;
    use crate::util::panic::guard;

    thread_local! {
        /// Whether a blocking call waits on this thread.
        static IS_BLOCKED: Cell<bool> = const { Cell::new(false) };
    }

    /// Waits for a future on this thread.
    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        struct Restore(bool);

        impl Drop for Restore {
            fn drop(&mut self) {
                IS_BLOCKED.set(self.0);
            }
        }

        let _restore = Restore(IS_BLOCKED.replace(true));
        mcp_core::support::block_on(future)
    }

    /// Runs the function inside tokio: in the tokio runtime of this thread if it makes progress, else in that of the
    /// given runtime, else in the background runtime.
    pub(crate) fn enter<T>(runtime: Option<&dyn Runtime>, run: impl FnOnce() -> T) -> T {
        // The fast path of servers: a task has a runtime, and getting its handle would update a counter that is shared
        // by all threads.
        let is_inside = !IS_BLOCKED.get() && task::try_id().is_some();
        let handle = if is_inside { None } else { missing(runtime) };
        let _entered = handle.map(Handle::enter);
        run()
    }

    /// The tokio runtime to enter, if this thread has none that makes progress.
    fn missing(runtime: Option<&dyn Runtime>) -> Option<&Handle> {
        let current = match Handle::try_current() {
            Ok(handle) if !is_stalled(&handle) => return None,
            Ok(handle) => Some(handle),
            // The thread is ending and can no longer enter a runtime.
            Err(error) if error.is_thread_local_destroyed() => return None,
            Err(_) => None,
        };
        let handle = runtime.and_then(tokio_handle);
        let handle = handle.filter(|handle| current.as_ref().is_none_or(|current| current.id() != handle.id()));
        handle.or_else(background)
    }

    /// The tokio runtime of a runtime; none if it panics.
    fn tokio_handle(runtime: &dyn Runtime) -> Option<&Handle> {
        guard(|| runtime.tokio_handle()).ok().flatten()
    }

    /// Wraps the job to run inside a tokio runtime that makes progress while the caller waits: that of the given
    /// runtime, else that of this thread, else the background runtime.
    pub(crate) fn wrap_job<T, J: FnOnce() -> T + Send + 'static>(
        runtime: Option<&dyn Runtime>,
        job: J,
    ) -> impl FnOnce() -> T + Send + use<T, J> {
        let handle = of_job(runtime);
        move || {
            let _entered = handle.as_ref().map(Handle::enter);
            job()
        }
    }

    fn of_job(runtime: Option<&dyn Runtime>) -> Option<Handle> {
        let current = Handle::try_current().ok();
        let stalled = current.as_ref().filter(|current| is_stalled(current)).map(Handle::id);
        let candidates = [runtime.and_then(tokio_handle), current.as_ref()];
        let usable = candidates.into_iter().flatten().find(|handle| stalled != Some(handle.id()));
        usable.or_else(background).cloned()
    }

    /// Advice for a call that timed out while it blocked the tokio runtime of its thread.
    pub(crate) fn timeout_hint() -> Option<&'static str> {
        let is_stalled = IS_BLOCKED.get() && Handle::try_current().is_ok_and(|current| is_stalled(&current));
        is_stalled.then_some(
            "the blocking call may keep the tokio runtime of its thread from doing what the tool waits for, such as \
             reading from a connection that was opened there: use `call(…).await`, or make the blocking call in \
             `spawn_blocking`, or in tests use `#[tokio::test(flavor = \"multi_thread\")]`",
        )
    }

    /// Whether the tokio runtime of this thread may be unable to make progress because a call blocks the thread.
    fn is_stalled(current: &Handle) -> bool {
        if !IS_BLOCKED.get() {
            return false;
        }
        match BACKGROUND.get() {
            Some(background) if background.handle.id() == current.id() => background.thread == thread::current().id(),
            // A task of a multi-thread runtime may block the worker that drives timers and sockets for all workers.
            // Jobs of `spawn_blocking` have a task ID, too.
            _ if task::try_id().is_some() => !may_block(),
            _ => current.runtime_flavor() == RuntimeFlavor::CurrentThread,
        }
    }

    /// Whether the current task may block its thread, in `spawn_blocking` or `block_in_place`.
    ///
    /// Tokio has no function for this, but it limits each poll of a task to a budget of operations. Code that may block
    /// has no such limit.
    fn may_block() -> bool {
        // More than the budget of a poll, which is 128.
        const OPERATIONS: u32 = 1000;

        let mut context = Context::from_waker(Waker::noop());
        // Restores the budget when it is dropped.
        let Poll::Ready(_restore) = coop::poll_proceed(&mut context) else { return false };
        (0..OPERATIONS).all(|_| match coop::poll_proceed(&mut context) {
            Poll::Ready(operation) => {
                operation.made_progress();
                true
            }
            Poll::Pending => false,
        })
    }

    struct Background {
        handle: Handle,
        /// The thread that drives the runtime.
        thread: ThreadId,
    }

    static BACKGROUND: OnceLock<Background> = OnceLock::new();

    /// The background runtime, for calls that are outside of a tokio runtime or block their own. The first use starts
    /// it.
    fn background<'a>() -> Option<&'a Handle> {
        static STARTING: Mutex<()> = Mutex::new(());
        if BACKGROUND.get().is_none() {
            let _starting = lock(&STARTING);
            if BACKGROUND.get().is_none() {
                // If the system lacks threads or file descriptors, a tool that needs tokio fails and says so.
                let runtime = Builder::new_current_thread().enable_all().build().ok()?;
                let handle = runtime.handle().clone();
                let run = move || runtime.block_on(pending::<()>());
                let thread = thread::Builder::new().name("mcp-tokio".to_owned()).spawn(run).ok()?.thread().id();
                let _ = BACKGROUND.set(Background { handle, thread });
            }
        }
        BACKGROUND.get().map(|background| &background.handle)
    }
}

#[cfg(not(feature = "tokio"))]
mod imp {
    pub(crate) use mcp_core::support::block_on;

    use crate::runtime::Runtime;

    pub(crate) fn enter<T>(_: Option<&dyn Runtime>, run: impl FnOnce() -> T) -> T {
        run()
    }

    pub(crate) fn wrap_job<T, J: FnOnce() -> T + Send + 'static>(_: Option<&dyn Runtime>, job: J) -> J {
        job
    }

    pub(crate) const fn timeout_hint() -> Option<&'static str> {
        None
    }
}

pub(crate) use self::imp::{block_on, enter, timeout_hint, wrap_job};

#[cfg(test)]
mod tests {
    use mcp_core::{ToolCall, ToolResult};
    use serde_json::json;

    use crate::catalog::dynamic::Tool;
    use crate::registry::Registry;

    #[test]
    fn a_tool_has_a_runtime_with_the_feature_and_fails_with_advice_without_it() {
        let tool = Tool::new("needs.runtime", json!({ "type": "object" }), |_, _| async {
            let id = ::tokio::runtime::Handle::current().id();
            ToolResult::data(id.to_string())
        });
        let registry = Registry::builder_of([]).tool(tool.description("Asks for its runtime.")).build().unwrap();
        let result = registry.call_blocking(&ToolCall::new("needs.runtime", json!({})));
        let message = result.error.map(|error| error.error_message).unwrap_or_default();
        assert_eq!(message.is_empty(), cfg!(feature = "tokio"), "{message}");
        assert_eq!(message.contains("enable the feature `tokio`"), !cfg!(feature = "tokio"), "{message}");
    }
}
