//! The host that needs nothing but the standard library.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use mcp_core::BoxFuture;

use super::pool::{Pool, start_thread};
use super::timer::Timer;
use super::{Host, HostError, Job};

/// The most threads, unless said otherwise.
const MAX_THREADS: usize = 512;
/// How long an idle thread waits for another job.
const KEEP: Duration = Duration::from_secs(10);

/// Time and threads of the standard library.
///
/// A thread is started when a job comes and none is idle; it ends when it was idle for ten seconds. When all threads
/// are busy, jobs wait and begin in the order that they came in. One more thread wakes all sleepers; it is started when
/// the first one sleeps.
///
/// Once the host is dropped its threads end as soon as they have nothing more to do: jobs that were taken still run, and
/// a sleep that outlives the host still ends at its instant.
///
/// ```
/// use mcp_registry::{Host, ThreadHost};
///
/// let host = ThreadHost::new().max_threads(8);
/// let (send, receive) = std::sync::mpsc::channel();
/// host.spawn_blocking(Box::new(move || send.send("done").unwrap()))?;
/// assert_eq!(receive.recv(), Ok("done"));
/// # Ok::<(), mcp_registry::HostError>(())
/// ```
#[derive(Debug)]
pub struct ThreadHost {
    pool: Arc<Pool>,
    timer: Arc<Timer>,
}

impl ThreadHost {
    /// A host of at most 512 threads, none of which is started yet.
    pub fn new() -> Self {
        Self { pool: Pool::new(MAX_THREADS, KEEP, start_thread), timer: Timer::new(start_thread) }
    }

    /// The one of the process, for all who need no other.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<ThreadHost>> = LazyLock::new(Arc::default);
        Arc::clone(&SHARED)
    }

    /// Sets how many threads may run jobs at a time; at least one.
    #[must_use]
    pub fn max_threads(self, threads: usize) -> Self {
        self.pool.set_max(threads.max(1));
        self
    }
}

impl Default for ThreadHost {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for ThreadHost {
    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        Box::pin(self.timer.sleep_until(deadline))
    }

    fn spawn_blocking(&self, job: Job) -> Result<(), HostError> {
        self.pool.spawn(job)
    }
}

impl Drop for ThreadHost {
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

    use mcp_core::__private::block_on;

    use super::ThreadHost;
    use crate::runtime::Host;

    #[test]
    fn dropping_the_host_ends_its_threads() {
        let host = ThreadHost::new();
        let (pool, timer) = (Arc::downgrade(&host.pool), Arc::downgrade(&host.timer));
        let barrier = Arc::new(Barrier::new(5));
        for _ in 0..4 {
            let barrier = Arc::clone(&barrier);
            host.spawn_blocking(Box::new(move || _ = barrier.wait())).unwrap();
        }
        barrier.wait();
        block_on(host.sleep_until(Instant::now() + Duration::from_millis(5)));
        let begun = Instant::now();
        drop(host);
        // Each thread holds its share of the host, long before it would have idled enough.
        while Weak::strong_count(&pool) + Weak::strong_count(&timer) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(8), "the threads live on");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn jobs_and_sleeps_outlive_the_host() {
        let host = ThreadHost::new().max_threads(1);
        let (send, receive) = channel();
        for n in 0..10 {
            let send = send.clone();
            let job = move || {
                thread::sleep(Duration::from_millis(1));
                send.send(n).unwrap();
            };
            host.spawn_blocking(Box::new(job)).unwrap();
        }
        drop(send);
        let deadline = Instant::now() + Duration::from_millis(50);
        let sleep = host.sleep_until(deadline);
        drop(host);
        assert_eq!(receive.iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        block_on(sleep);
        assert!(Instant::now() >= deadline);
    }

    #[test]
    fn the_last_owner_may_be_a_job() {
        let host = Arc::new(ThreadHost::new());
        let (send, receive) = channel();
        let own = Arc::clone(&host);
        let (drop_now, told) = channel::<()>();
        let job = move || {
            told.recv().unwrap_err();
            drop(own);
            send.send(()).unwrap();
        };
        host.spawn_blocking(Box::new(job)).unwrap();
        drop(host);
        drop(drop_now);
        receive.recv().unwrap();
    }

    #[test]
    fn no_threads_means_one() {
        let host = ThreadHost::new().max_threads(0);
        let (send, receive) = channel();
        host.spawn_blocking(Box::new(move || send.send(()).unwrap())).unwrap();
        receive.recv().unwrap();
    }

    #[test]
    fn one_host_is_shared_by_the_process() {
        assert!(Arc::ptr_eq(&ThreadHost::shared(), &ThreadHost::shared()));
        let host: Arc<dyn Host> = ThreadHost::shared();
        let (send, receive) = channel();
        host.spawn_blocking(Box::new(move || send.send(()).unwrap())).unwrap();
        receive.recv().unwrap();
        let shown = format!("{:?}", ThreadHost::new().max_threads(3));
        assert!(shown.contains("max_threads: 3") && shown.contains("sleeping: 0"), "{shown}");
    }
}
