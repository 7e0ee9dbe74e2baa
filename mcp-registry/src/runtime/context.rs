//! The tokio runtime that a tool runs in, with the feature `tokio`; nothing without it.

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

    thread_local! {
        /// Whether a call blocks this thread until it is over.
        static BLOCKED: Cell<bool> = const { Cell::new(false) };
    }

    /// Waits for a future on this thread.
    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        struct Restore(bool);

        impl Drop for Restore {
            fn drop(&mut self) {
                BLOCKED.set(self.0);
            }
        }

        let _restore = Restore(BLOCKED.replace(true));
        mcp_core::__private::block_on(future)
    }

    /// Polls or drops a future in the runtime of this thread if it makes progress, else in the runtime's, else in the
    /// background runtime.
    pub(crate) fn within<T>(runtime: Option<&dyn Runtime>, run: impl FnOnce() -> T) -> T {
        // The quick way for servers: inside of a task there is a runtime, and to ask for its handle would touch a
        // counter that all of its threads share.
        if !BLOCKED.get() && task::try_id().is_some() {
            return run();
        }
        let here = match Handle::try_current() {
            Ok(current) if !is_stalled(&current) => return run(),
            Ok(current) => Some(current),
            // The thread is about to end, and cannot enter a runtime any more.
            Err(error) if error.is_thread_local_destroyed() => return run(),
            Err(_) => None,
        };
        let runtime = runtime.and_then(Runtime::tokio_handle);
        let runtime = runtime.filter(|runtime| here.as_ref().is_none_or(|here| here.id() != runtime.id()));
        let handle = runtime.or_else(background);
        let _entered = handle.map(Handle::enter);
        run()
    }

    /// The job, in a runtime that makes progress while the caller waits: the runtime's, else that of this thread, else the
    /// background runtime.
    pub(crate) fn carry<T, J: FnOnce() -> T + Send + 'static>(
        runtime: Option<&dyn Runtime>,
        job: J,
    ) -> impl FnOnce() -> T + Send + use<T, J> {
        let here = Handle::try_current().ok();
        let stalled = here.as_ref().filter(|here| is_stalled(here)).map(Handle::id);
        let known = [runtime.and_then(Runtime::tokio_handle), here.as_ref()];
        let sound = known.into_iter().flatten().find(|handle| stalled != Some(handle.id()));
        let handle = sound.or_else(background).cloned();
        move || {
            let _entered = handle.as_ref().map(Handle::enter);
            job()
        }
    }

    /// What to do about a call that ran out of time on a thread whose runtime it blocked.
    pub(crate) fn hint() -> Option<&'static str> {
        let is_stalled = BLOCKED.get() && Handle::try_current().is_ok_and(|current| is_stalled(&current));
        is_stalled.then_some(
            "the blocking call may keep the tokio runtime of its thread from doing what the tool waits for, such as \
             reading from a connection that was opened there: use `call(…).await`, or make the blocking call in \
             `spawn_blocking`, or in tests use `#[tokio::test(flavor = \"multi_thread\")]`",
        )
    }

    /// Whether a runtime that this thread is in may wait for this thread, which is blocked by a call.
    fn is_stalled(current: &Handle) -> bool {
        if !BLOCKED.get() {
            return false;
        }
        match BACKGROUND.get() {
            Some(background) if background.handle.id() == current.id() => background.thread == thread::current().id(),
            // A task of a multi-thread runtime may block the worker that drives timers and sockets for all workers. Jobs
            // of `spawn_blocking` have a task id, too.
            _ if task::try_id().is_some() => !may_block(),
            _ => current.runtime_flavor() == RuntimeFlavor::CurrentThread,
        }
    }

    /// Whether this thread, which runs a task, may block: it is in `spawn_blocking` or `block_in_place`.
    ///
    /// Tokio has no function for this, but it gives a budget of operations to each poll of a task, and none to code that
    /// may block. Only code without a budget can take any number of operations out of it.
    fn may_block() -> bool {
        // More than the budget of a poll, which is 128.
        const OPERATIONS: u32 = 1000;

        let mut context = Context::from_waker(Waker::noop());
        // Dropping it restores the budget as it is now.
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
        /// The one that drives it.
        thread: ThreadId,
    }

    static BACKGROUND: OnceLock<Background> = OnceLock::new();

    /// A runtime on a thread of its own, for calls that are made without one, or block their own. It is started when it
    /// is first needed.
    fn background<'a>() -> Option<&'a Handle> {
        static STARTING: Mutex<()> = Mutex::new(());
        if BACKGROUND.get().is_none() {
            let _starting = lock(&STARTING);
            if BACKGROUND.get().is_none() {
                // Without threads or files to spare there is none; a tool that needs it will say so.
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
    pub(crate) use mcp_core::__private::block_on;

    use crate::runtime::Runtime;

    pub(crate) fn within<T>(_: Option<&dyn Runtime>, run: impl FnOnce() -> T) -> T {
        run()
    }

    pub(crate) fn carry<T, J: FnOnce() -> T + Send + 'static>(_: Option<&dyn Runtime>, job: J) -> J {
        job
    }

    pub(crate) const fn hint() -> Option<&'static str> {
        None
    }
}

pub(crate) use self::imp::{block_on, carry, hint, within};

#[cfg(test)]
mod tests {
    use mcp_core::{ToolCall, ToolResult};
    use serde_json::json;

    use crate::{Registry, Tool};

    #[test]
    fn a_tool_has_a_runtime_with_the_feature_and_says_so_without_it() {
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
