//! Threads for jobs: started when no idle one is waiting, ended when they were idle for long.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use super::{Job, RuntimeError, discard, guarded};
use crate::util::lock::lock;

/// Starts a thread of a name that runs a job.
pub(super) type Start = fn(String, Job) -> io::Result<()>;

/// Starts a thread of the standard library.
pub(super) fn start_thread(name: String, run: Job) -> io::Result<()> {
    thread::Builder::new().name(name).spawn(run).map(drop)
}

/// The threads and the jobs that wait for one.
pub(super) struct Pool {
    state: Mutex<State>,
    /// There is a job, or no more will come.
    work: Condvar,
    /// How long an idle thread waits for another job.
    keep: Duration,
    start: Start,
}

struct State {
    queue: VecDeque<Job>,
    /// Threads that live.
    threads: usize,
    /// Those of them that will look at the queue next: they wait for a job, or have just been started.
    idle: usize,
    max: usize,
    /// How many threads were ever started.
    started: u64,
    closed: bool,
}

impl Pool {
    pub(super) fn new(max: usize, keep: Duration, start: Start) -> Arc<Self> {
        let state = State { queue: VecDeque::new(), threads: 0, idle: 0, max, started: 0, closed: false };
        Arc::new(Self { state: Mutex::new(state), work: Condvar::new(), keep, start })
    }

    /// Sets how many threads may live. Those there are stay until they idle.
    pub(super) fn set_max(&self, max: usize) {
        lock(&self.state).max = max;
    }

    /// Runs the job on an idle thread, else on a new one, else on the first that is done with its own.
    pub(super) fn spawn(self: &Arc<Self>, job: Job) -> Result<(), RuntimeError> {
        let mut state = lock(&self.state);
        state.queue.push_back(job);
        if state.queue.len() <= state.idle {
            drop(state);
            self.work.notify_one();
            return Ok(());
        }
        if state.threads >= state.max {
            return Ok(());
        }
        match self.start(&mut state) {
            Err(error) if state.threads == 0 => {
                // The queue was empty: a thread does not end while there are jobs.
                let job = state.queue.pop_back();
                drop(state);
                discard(job);
                Err(RuntimeError::NoThread(error))
            }
            // Where a thread lives, it will come to the job.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn start(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        let pool = Arc::clone(self);
        (self.start)(format!("mcp-tool-{}", state.started), Box::new(move || pool.work()))?;
        state.started += 1;
        state.threads += 1;
        state.idle += 1;
        Ok(())
    }

    /// What a thread does as long as it lives.
    fn work(&self) {
        let mut state = lock(&self.state);
        loop {
            let waits = |state: &mut State| state.queue.is_empty() && !state.closed;
            let waited = self.work.wait_timeout_while(state, self.keep, waits);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            let Some(job) = state.queue.pop_front() else {
                state.threads -= 1;
                return;
            };
            drop(state);
            guarded(job);
            state = lock(&self.state);
            state.idle += 1;
        }
    }

    /// Lets the threads end when they have run what is in the queue.
    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.work.notify_all();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        let mut pool = f.debug_struct("Pool");
        pool.field("threads", &state.threads).field("idle", &state.idle).field("queued", &state.queue.len());
        pool.field("max_threads", &state.max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Barrier, Mutex};
    use std::time::{Duration, Instant};
    use std::{io, thread};

    use super::{Pool, Start, start_thread};
    use crate::runtime::{Job, RuntimeError};
    use crate::util::lock::lock;

    const LONG: Duration = Duration::from_secs(60);

    fn pool(max: usize) -> Arc<Pool> {
        Pool::new(max, LONG, start_thread)
    }

    fn refuse(_: String, _: Job) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Waits until it is so.
    fn wait_for(what: &str, so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !so() {
            assert!(begun.elapsed() < LONG, "in vain: {what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Keeps a thread busy until the sender is dropped.
    fn busy(pool: &Arc<Pool>) -> std::sync::mpsc::Sender<()> {
        let (release, held) = channel::<()>();
        let (begun, has_begun) = channel();
        let job = move || {
            begun.send(()).unwrap();
            held.recv().unwrap_err();
        };
        pool.spawn(Box::new(job)).unwrap();
        has_begun.recv().unwrap();
        release
    }

    /// A job that tells the name of its thread.
    fn named(pool: &Arc<Pool>) -> Receiver<String> {
        let (send, receive) = channel();
        let job = move || send.send(thread::current().name().unwrap_or_default().to_owned()).unwrap();
        pool.spawn(Box::new(job)).unwrap();
        receive
    }

    #[test]
    fn jobs_run_side_by_side() {
        let pool = pool(32);
        for _ in 0..20 {
            let barrier = Arc::new(Barrier::new(33));
            let (send, receive) = channel();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..8 {
                            let (barrier, send) = (Arc::clone(&barrier), send.clone());
                            let job = move || {
                                barrier.wait();
                                send.send(()).unwrap();
                            };
                            pool.spawn(Box::new(job)).unwrap();
                        }
                    });
                }
            });
            drop(send);
            barrier.wait();
            assert_eq!(receive.iter().count(), 32);
        }
        assert!(lock(&pool.state).threads <= 32);
        pool.close();
    }

    #[test]
    fn an_idle_thread_is_used_again() {
        let pool = pool(8);
        for _ in 0..50 {
            assert_eq!(named(&pool).recv().unwrap(), "mcp-tool-0");
            wait_for("the thread idles", || lock(&pool.state).idle == 1);
        }
        assert_eq!(lock(&pool.state).started, 1);
        pool.close();
    }

    #[test]
    fn jobs_queue_up_in_order_when_all_threads_are_busy() {
        let pool = pool(2);
        let held = [busy(&pool), busy(&pool)];
        let ran = Arc::new(Mutex::new(Vec::new()));
        let (send, receive) = channel::<()>();
        for n in 0..100 {
            let (ran, send) = (Arc::clone(&ran), send.clone());
            let job = move || {
                lock(&ran).push(n);
                drop(send);
            };
            pool.spawn(Box::new(job)).unwrap();
        }
        assert_eq!(lock(&pool.state).queue.len(), 100);
        assert_eq!(lock(&pool.state).threads, 2);
        drop(send);
        // One thread alone keeps the order.
        let [one, other] = held;
        drop(one);
        receive.recv().unwrap_err();
        assert_eq!(*lock(&ran), (0..100).collect::<Vec<_>>());
        drop(other);
        pool.close();
    }

    #[test]
    fn many_submitters_lose_no_job() {
        let pool = Pool::new(3, Duration::from_micros(50), start_thread);
        let (send, receive) = channel();
        thread::scope(|scope| {
            for _ in 0..4 {
                let (pool, send) = (&pool, send.clone());
                scope.spawn(move || {
                    for n in 0..2000 {
                        let send = send.clone();
                        pool.spawn(Box::new(move || send.send(()).unwrap())).unwrap();
                        if n % 100 == 0 {
                            // Long enough for idle threads to end.
                            thread::sleep(Duration::from_micros(200));
                        }
                    }
                });
            }
        });
        drop(send);
        assert_eq!(receive.iter().count(), 8000);
        wait_for("the threads end", || lock(&pool.state).threads == 0);
        assert_eq!(lock(&pool.state).idle, 0);
    }

    #[test]
    fn a_panicking_job_leaves_the_thread_and_the_counts_whole() {
        let pool = pool(1);
        for _ in 0..10 {
            pool.spawn(Box::new(|| panic!("on purpose"))).unwrap();
            pool.spawn(Box::new(|| panic_any(Bomb))).unwrap();
        }
        assert_eq!(named(&pool).recv().unwrap(), "mcp-tool-0");
        wait_for("the thread idles", || lock(&pool.state).idle == 1);
        assert_eq!(lock(&pool.state).threads, 1);
        pool.close();
    }

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("also on purpose");
        }
    }

    #[test]
    fn without_any_thread_the_job_is_refused_and_dropped() {
        let pool = Pool::new(4, LONG, refuse);
        let (send, receive) = channel::<()>();
        let refused = pool.spawn(Box::new(move || send.send(()).unwrap()));
        assert!(matches!(refused, Err(RuntimeError::NoThread(_))), "{refused:?}");
        receive.recv().unwrap_err();
        assert!(lock(&pool.state).queue.is_empty());
        let bomb = Bomb;
        assert!(pool.spawn(Box::new(move || drop(bomb))).is_err());
    }

    #[test]
    fn where_no_more_threads_can_be_had_jobs_wait_for_one_that_lives() {
        static FULL: AtomicBool = AtomicBool::new(false);
        let start: Start =
            |name, run| if FULL.load(Ordering::SeqCst) { refuse(name, run) } else { start_thread(name, run) };
        let pool = Pool::new(4, LONG, start);
        let held = busy(&pool);
        FULL.store(true, Ordering::SeqCst);
        let late = named(&pool);
        assert_eq!(lock(&pool.state).threads, 1);
        drop(held);
        assert_eq!(late.recv().unwrap(), "mcp-tool-0");
        wait_for("the thread idles", || lock(&pool.state).idle == 1);
        FULL.store(false, Ordering::SeqCst);
        let held = busy(&pool);
        assert_eq!(named(&pool).recv().unwrap(), "mcp-tool-1");
        drop(held);
        pool.close();
    }

    #[test]
    fn idle_threads_end_after_a_while() {
        let pool = Pool::new(4, Duration::from_millis(5), start_thread);
        for _ in 0..3 {
            drop([busy(&pool), busy(&pool)]);
            wait_for("the threads end", || lock(&pool.state).threads == 0);
            assert_eq!(lock(&pool.state).idle, 0);
        }
        assert_eq!(lock(&pool.state).started, 6);
    }

    #[test]
    fn a_closed_pool_runs_its_queue_and_ends() {
        let pool = pool(1);
        let held = busy(&pool);
        let last = named(&pool);
        pool.close();
        drop(held);
        assert_eq!(last.recv().unwrap(), "mcp-tool-0");
        wait_for("the thread ends", || Arc::strong_count(&pool) == 1);
        assert_eq!(lock(&pool.state).threads, 0);
    }
}
