//! The executor of calls: timers, and threads that may block.
//!
//! [`ThreadRuntime`] is the default. Set another one with `RegistryBuilder::runtime`.

mod pool;
mod threads;
mod timer;
#[cfg(feature = "tokio")]
mod tokio;
pub(crate) mod tokio_context;

use std::io;
use std::sync::Arc;
use std::time::Instant;

use mcp_core::context::BoxFuture;

pub use self::threads::ThreadRuntime;
#[cfg(feature = "tokio")]
pub use self::tokio::TokioRuntime;
use crate::util::panic::{discard, guard};

/// A job for a thread that may block.
pub type Job = Box<dyn FnOnce() + Send + 'static>;

/// The executor of calls: timers, and threads that may block.
///
/// [`ThreadRuntime`] uses only the standard library; `TokioRuntime` (feature `tokio`) uses tokio's timers and threads.
/// Implement this trait for any other executor:
///
/// ```
/// use std::time::Instant;
///
/// use mcp_registry::context::BoxFuture;
/// use mcp_registry::runtime::{Job, Runtime, RuntimeError, ThreadRuntime};
///
/// /// Gives every call twice the time.
/// struct Patient(ThreadRuntime);
///
/// impl Runtime for Patient {
///     fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
///         self.0.sleep_until(deadline + deadline.saturating_duration_since(Instant::now()))
///     }
///
///     fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
///         self.0.spawn_blocking(job)
///     }
/// }
///
/// let (send, receive) = std::sync::mpsc::channel();
/// Patient(ThreadRuntime::new()).spawn_blocking(Box::new(move || send.send(6 * 7).unwrap()))?;
/// assert_eq!(receive.recv(), Ok(42));
/// # Ok::<(), RuntimeError>(())
/// ```
pub trait Runtime: Send + Sync + 'static {
    /// Completes at the deadline, never before it. The future may be dropped at any time, which releases everything it
    /// holds.
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()>;

    /// Runs the job on a thread that may block, now or when one is free.
    ///
    /// If this returns an error, the job was dropped and will never run. A runtime that shuts down may drop a job that
    /// it has accepted but not started, so the job should own a value whose drop can be detected, such as a channel's
    /// sender.
    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError>;

    /// The tokio runtime for tools that are called outside of one. Default: a runtime on a background thread. It is
    /// started by the first call from outside a tokio runtime to a tool that is not `inline`, whether or not the tool
    /// uses tokio, or by the first blocking call that blocks its own tokio runtime.
    ///
    /// A call that is awaited inside a tokio runtime uses that runtime, and so does a blocking call in `spawn_blocking`
    /// or `block_in_place`.
    #[cfg(feature = "tokio")]
    fn tokio_handle(&self) -> Option<&::tokio::runtime::Handle> {
        None
    }
}

impl<R: Runtime + ?Sized> Runtime for Arc<R> {
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        (**self).sleep_until(deadline)
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        (**self).spawn_blocking(job)
    }

    #[cfg(feature = "tokio")]
    fn tokio_handle(&self) -> Option<&::tokio::runtime::Handle> {
        (**self).tokio_handle()
    }
}

/// The reason why a runtime cannot be used or cannot run a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// No thread could be started, and no thread is running that could take the job.
    #[error("no thread can be started: {0}; end other threads, or raise the system's limit")]
    NoThread(#[source] io::Error),
    /// The runtime was shut down.
    #[error("the runtime was shut down; keep it until the last call is over")]
    ShutDown,
    /// The thread is not inside a tokio runtime.
    #[cfg(feature = "tokio")]
    #[error("there is no tokio runtime here; call this inside one, or give its handle to `TokioRuntime::new`")]
    NoRuntime,
    /// The tokio runtime was built without timers.
    #[cfg(feature = "tokio")]
    #[error("the tokio runtime has no timers; build it with `enable_time()` or `enable_all()`")]
    NoTimers,
}

/// Runs a job or a waker, and catches its panic.
fn guarded(run: impl FnOnce()) {
    // There is nobody to report the panic to.
    let _ = guard(run);
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::panic::panic_any;
    use std::time::{Duration, Instant};
    use std::{io, thread};

    use super::{RuntimeError, guarded};
    use crate::util::panic::tests::Bomb;

    pub(super) const LONG: Duration = Duration::from_secs(60);

    /// Waits until the condition holds.
    pub(super) fn wait_for(what: &str, condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < LONG, "timed out: {what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        guarded(|| panic_any(Bomb));
    }

    #[test]
    fn errors_say_what_to_do_and_have_sources() {
        let error = RuntimeError::NoThread(io::Error::from(io::ErrorKind::WouldBlock));
        assert!(error.to_string().starts_with("no thread can be started: "), "{error}");
        assert!(error.source().is_some());
        assert!(RuntimeError::ShutDown.source().is_none());
    }
}
