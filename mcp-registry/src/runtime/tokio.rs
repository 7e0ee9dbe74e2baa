//! A runtime that uses tokio's timers and threads.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use ::tokio::runtime::Handle;
use ::tokio::time::{self, Sleep};
use mcp_core::context::BoxFuture;

use super::{Job, Runtime, RuntimeError, ThreadRuntime, discard, guard, guarded};
use crate::util::lock::lock;

/// The maximum sleep: tokio adds to the deadline, which must not overflow.
const MAX_SLEEP: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 10);

/// The timers and the blocking pool of a tokio runtime.
///
/// Tools run inside this tokio runtime even if they are called outside of tokio. Deadlines use both tokio's timers and
/// those of [`ThreadRuntime::shared`], so that they work even while tokio is blocked or after it has shut down. When
/// tokio shuts down, it drops the jobs that it has not started.
///
/// ```
/// use mcp_registry::runtime::{Runtime, TokioRuntime};
///
/// let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// let runtime = TokioRuntime::new(tokio.handle().clone())?;
/// let (send, receive) = std::sync::mpsc::channel();
/// runtime.spawn_blocking(Box::new(move || send.send("done").unwrap()))?;
/// assert_eq!(receive.recv(), Ok("done"));
///
/// let error = TokioRuntime::current().unwrap_err();
/// assert!(error.to_string().starts_with("there is no tokio runtime here"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokioRuntime {
    handle: Handle,
}

impl TokioRuntime {
    /// The tokio runtime that this thread is in.
    pub fn current() -> Result<Self, RuntimeError> {
        Handle::try_current().map_err(|_| RuntimeError::NoRuntime).and_then(Self::new)
    }

    /// The tokio runtime of this handle; fails if it was built without timers. (The only way to find out is to create a
    /// timer, so tokio prints a panic message in that case; if panics abort, the program ends.)
    pub fn new(handle: Handle) -> Result<Self, RuntimeError> {
        let runtime = Self { handle };
        guard(|| drop(runtime.sleep(Instant::now()))).map_err(|_| RuntimeError::NoTimers)?;
        Ok(runtime)
    }

    fn sleep(&self, deadline: Instant) -> Sleep {
        let _entered = self.handle.enter();
        time::sleep_until(deadline.min(Instant::now() + MAX_SLEEP).into())
    }
}

impl Runtime for TokioRuntime {
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let sleep = self.sleep(deadline);
        Box::pin(async move {
            let mut sleep = pin!(sleep);
            let mut is_gone = false;
            // A call that blocks a tokio thread may keep tokio's timers from firing, so a timer of the standard library
            // runs as well. (Tokio's timer may fire first if a test has paused its clock.)
            let mut fallback = ThreadRuntime::shared().sleep_until(deadline);
            poll_fn(move |cx| {
                // Tokio's timer panics after its runtime has shut down.
                match guard(|| !is_gone && sleep.as_mut().poll(cx).is_ready()) {
                    Ok(true) => return Poll::Ready(()),
                    Ok(false) => {}
                    Err(_) => is_gone = true,
                }
                fallback.as_mut().poll(cx)
            })
            .await;
        })
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        // Tokio does not return a job that it cannot run, so pass the job in a shared slot.
        let slot = Arc::new(Mutex::new(Some(job)));
        let shared = Arc::clone(&slot);
        let run = move || {
            let job = lock(&shared).take();
            if let Some(job) = job {
                guarded(job);
            }
        };
        let error = match guard(|| self.handle.spawn_blocking(run)) {
            Ok(task) if task.is_finished() => RuntimeError::ShutDown,
            Ok(_) => return Ok(()),
            Err(panicked) => RuntimeError::NoThread(io::Error::other(panicked.message())),
        };
        let job = lock(&slot).take();
        match job {
            Some(job) => {
                discard(job);
                Err(error)
            }
            // The job has started after all.
            None => Ok(()),
        }
    }

    fn tokio_handle(&self) -> Option<&Handle> {
        Some(&self.handle)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier};
    use std::thread;
    use std::time::{Duration, Instant};

    use ::tokio::runtime::{self, Builder};
    use mcp_core::support::block_on;

    use super::TokioRuntime;
    use crate::runtime::{Job, Runtime, RuntimeError};
    use crate::util::panic::tests::Bomb;

    fn tokio() -> runtime::Runtime {
        Builder::new_current_thread().enable_time().build().unwrap()
    }

    fn runtime_on(tokio: &runtime::Runtime) -> TokioRuntime {
        TokioRuntime::new(tokio.handle().clone()).unwrap()
    }

    /// A job that sends one message.
    fn job() -> (Job, std::sync::mpsc::Receiver<()>) {
        let (send, receive) = channel::<()>();
        (Box::new(move || send.send(()).unwrap()), receive)
    }

    #[test]
    fn there_is_a_current_runtime_only_inside_tokio() {
        assert!(matches!(TokioRuntime::current(), Err(RuntimeError::NoRuntime)));
        tokio().block_on(async { TokioRuntime::current().map(drop) }).unwrap();
    }

    #[test]
    fn a_tokio_runtime_without_timers_is_rejected() {
        let tokio = Builder::new_current_thread().build().unwrap();
        let rejected = TokioRuntime::new(tokio.handle().clone());
        assert!(matches!(rejected, Err(RuntimeError::NoTimers)), "{rejected:?}");
        let error = rejected.unwrap_err().to_string();
        assert_eq!(error, "the tokio runtime has no timers; build it with `enable_time()` or `enable_all()`");
    }

    #[test]
    fn a_sleep_never_ends_before_its_deadline() {
        let tokio = tokio();
        let runtime = runtime_on(&tokio);
        for millis in [0, 1, 20] {
            let deadline = Instant::now() + Duration::from_millis(millis);
            // The sleep is created outside of tokio.
            tokio.block_on(runtime.sleep_until(deadline));
            assert!(Instant::now() >= deadline);
        }
    }

    #[test]
    fn a_far_deadline_does_not_overflow() {
        let tokio = tokio();
        let runtime = runtime_on(&tokio);
        // Nearly the last instant that can be represented.
        let far = (0..64)
            .rev()
            .fold(Instant::now(), |far, bit| far.checked_add(Duration::from_secs(1 << bit)).unwrap_or(far));
        let short = runtime.sleep_until(Instant::now() + Duration::from_millis(20));
        let long = tokio.spawn(runtime.sleep_until(far));
        tokio.block_on(short);
        assert!(!long.is_finished());
    }

    #[test]
    fn jobs_run_in_parallel() {
        let tokio = tokio();
        let runtime = runtime_on(&tokio);
        let barrier = Arc::new(Barrier::new(9));
        for _ in 0..8 {
            let barrier = Arc::clone(&barrier);
            runtime.spawn_blocking(Box::new(move || _ = barrier.wait())).unwrap();
        }
        barrier.wait();
    }

    #[test]
    fn a_panicking_job_does_not_affect_the_next() {
        let tokio = tokio();
        let runtime = runtime_on(&tokio);
        runtime.spawn_blocking(Box::new(|| std::panic::panic_any(Bomb))).unwrap();
        let (job, ran) = job();
        runtime.spawn_blocking(job).unwrap();
        ran.recv().unwrap();
    }

    #[test]
    fn after_tokio_shuts_down_jobs_are_rejected_and_sleeps_still_end() {
        let tokio = tokio();
        let runtime = runtime_on(&tokio);
        let deadline = Instant::now() + Duration::from_millis(400);
        let (early, late) = (runtime.sleep_until(deadline), runtime.sleep_until(deadline));
        let early = thread::spawn(move || {
            block_on(early);
            Instant::now()
        });
        thread::sleep(Duration::from_millis(50));
        drop(tokio);
        let (job, ran) = job();
        let rejected = runtime.spawn_blocking(job);
        assert!(matches!(rejected, Err(RuntimeError::ShutDown)), "{rejected:?}");
        ran.recv().unwrap_err();
        block_on(late);
        assert!(Instant::now() >= deadline);
        assert!(early.join().unwrap() >= deadline);
        block_on(runtime.sleep_until(Instant::now() + Duration::from_millis(5)));
    }
}
