//! The default runtime: threads of the standard library.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use mcp_core::context::BoxFuture;

use super::pool::{Pool, start_thread};
use super::timer::Timer;
use super::{Job, Runtime, RuntimeError};

/// The default maximum number of threads.
const MAX_THREADS: usize = 512;
/// How long an idle thread waits for another job before it ends.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Timers and threads of the standard library.
///
/// A job starts a thread if none is idle; a thread ends after ten idle seconds. At the maximum number of threads, jobs
/// wait in a queue and start in order. One more thread serves all timers; the first sleep starts it.
///
/// When the runtime is dropped, its threads finish their work and end: accepted jobs still run, and a sleep that
/// outlives the runtime still completes at its deadline.
///
/// ```
/// use mcp_registry::runtime::{Runtime, ThreadRuntime};
///
/// let runtime = ThreadRuntime::new().max_threads(8);
/// let (send, receive) = std::sync::mpsc::channel();
/// runtime.spawn_blocking(Box::new(move || send.send("done").unwrap()))?;
/// assert_eq!(receive.recv(), Ok("done"));
/// # Ok::<(), mcp_registry::runtime::RuntimeError>(())
/// ```
#[derive(Debug)]
pub struct ThreadRuntime {
    pool: Arc<Pool>,
    timer: Arc<Timer>,
}

impl ThreadRuntime {
    /// Creates a runtime of at most 512 threads. It does not start a thread yet.
    pub fn new() -> Self {
        Self { pool: Pool::new(MAX_THREADS, KEEP_ALIVE, start_thread), timer: Timer::new(start_thread) }
    }

    /// The default runtime, which is shared by the whole process.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<ThreadRuntime>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// Sets the maximum number of jobs that run in parallel (default: 512; at least one).
    #[must_use]
    pub fn max_threads(self, threads: usize) -> Self {
        self.pool.set_max_threads(threads.max(1));
        self
    }
}

impl Default for ThreadRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for ThreadRuntime {
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        Box::pin(self.timer.sleep_until(deadline))
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), RuntimeError> {
        self.pool.spawn(job)
    }
}

impl Drop for ThreadRuntime {
    fn drop(&mut self) {
        self.pool.close();
        self.timer.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier, Weak};
    use std::thread;
    use std::time::{Duration, Instant};

    use mcp_core::support::block_on;

    use super::ThreadRuntime;
    use crate::runtime::Runtime;

    #[test]
    fn dropping_the_runtime_ends_its_threads() {
        let runtime = ThreadRuntime::new();
        let (pool, timer) = (Arc::downgrade(&runtime.pool), Arc::downgrade(&runtime.timer));
        let barrier = Arc::new(Barrier::new(5));
        for _ in 0..4 {
            let barrier = Arc::clone(&barrier);
            runtime.spawn_blocking(Box::new(move || _ = barrier.wait())).unwrap();
        }
        barrier.wait();
        block_on(runtime.sleep_until(Instant::now() + Duration::from_millis(5)));
        let begun = Instant::now();
        drop(runtime);
        // Each thread holds a reference. The threads end without waiting until `KEEP_ALIVE` is over.
        while Weak::strong_count(&pool) + Weak::strong_count(&timer) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(8), "the threads still run");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn jobs_and_sleeps_outlive_the_runtime() {
        let runtime = ThreadRuntime::new().max_threads(1);
        let (send, receive) = channel();
        for n in 0..10 {
            let send = send.clone();
            let job = move || {
                thread::sleep(Duration::from_millis(1));
                send.send(n).unwrap();
            };
            runtime.spawn_blocking(Box::new(job)).unwrap();
        }
        drop(send);
        let deadline = Instant::now() + Duration::from_millis(50);
        let sleep = runtime.sleep_until(deadline);
        drop(runtime);
        assert_eq!(receive.iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        block_on(sleep);
        assert!(Instant::now() >= deadline);
    }

    #[test]
    fn the_last_owner_may_be_a_job() {
        let runtime = Arc::new(ThreadRuntime::new());
        let (send, receive) = channel();
        let owner = Arc::clone(&runtime);
        let (drop_now, wait) = channel::<()>();
        let job = move || {
            wait.recv().unwrap_err();
            drop(owner);
            send.send(()).unwrap();
        };
        runtime.spawn_blocking(Box::new(job)).unwrap();
        drop(runtime);
        drop(drop_now);
        receive.recv().unwrap();
    }

    #[test]
    fn max_threads_of_zero_means_one() {
        let runtime = ThreadRuntime::new().max_threads(0);
        let (send, receive) = channel();
        runtime.spawn_blocking(Box::new(move || send.send(()).unwrap())).unwrap();
        receive.recv().unwrap();
    }

    #[test]
    fn one_runtime_is_shared_by_the_process() {
        assert!(Arc::ptr_eq(&ThreadRuntime::shared(), &ThreadRuntime::shared()));
        let runtime: Arc<dyn Runtime> = ThreadRuntime::shared();
        let (send, receive) = channel();
        runtime.spawn_blocking(Box::new(move || send.send(()).unwrap())).unwrap();
        receive.recv().unwrap();
        let shown = format!("{:?}", ThreadRuntime::new().max_threads(3));
        assert!(shown.contains("max_threads: 3") && shown.contains("sleeping: 0"), "{shown}");
    }
}
