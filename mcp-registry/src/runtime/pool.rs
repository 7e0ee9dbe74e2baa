//! A thread pool that grows when no thread is idle and shrinks when threads stay idle.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use super::{Job, RuntimeError, discard, guarded};
use crate::util::lock::lock;
use crate::util::wait::wait_until;

/// Starts a thread with this name, which runs this job.
pub(super) type Start = fn(String, Job) -> io::Result<()>;

/// Starts a thread of the standard library.
pub(super) fn start_thread(name: String, run: Job) -> io::Result<()> {
    thread::Builder::new().name(name).spawn(run).map(drop)
}

/// The threads, and the jobs that wait for one.
///
/// While one thread searches for a job, no other thread is woken: the searching thread takes the next job. Before a
/// thread runs its job, it wakes another thread if more jobs wait and no thread searches for them. So a batch of small
/// jobs costs few wake-ups, and a job that blocks does not delay the others.
pub(super) struct Pool {
    state: Mutex<State>,
    /// The number of jobs in the queue, for threads that search.
    queued: AtomicUsize,
    /// Notified when a thread should search for a job, and when the pool closes.
    wake: Condvar,
    /// How long an idle thread waits for another job.
    keep_alive: Duration,
    start: Start,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// The number of running threads.
    threads: usize,
    /// Threads that search for a job: they have just been started or woken, or have finished a job.
    searching: usize,
    /// Sleeping threads, without those that `wakes` counts.
    idle: usize,
    /// Sleeping threads that were told to wake up.
    wakes: usize,
    max_threads: usize,
    /// The number of threads that were ever started.
    started: u64,
    closed: bool,
}

impl Pool {
    pub(super) fn new(max_threads: usize, keep_alive: Duration, start: Start) -> Arc<Self> {
        let state = Mutex::new(State { max_threads, ..State::default() });
        let (queued, wake) = (AtomicUsize::new(0), Condvar::new());
        Arc::new(Self { state, queued, wake, keep_alive, start })
    }

    /// Sets the maximum number of threads. Surplus threads end when they have been idle for long enough.
    pub(super) fn set_max_threads(&self, max_threads: usize) {
        lock(&self.state).max_threads = max_threads;
    }

    /// Runs the job on an idle thread, else on a new one, else on the first that becomes idle.
    pub(super) fn spawn(self: &Arc<Self>, job: Job) -> Result<(), RuntimeError> {
        let mut state = lock(&self.state);
        state.queue.push_back(job);
        self.queued.store(state.queue.len(), Ordering::Relaxed);
        let searching = self.search(&mut state);
        match searching {
            Err(error) if state.threads == 0 => {
                // The queue was empty before, because no thread ends while there are jobs.
                let job = state.queue.pop_back();
                self.queued.store(0, Ordering::Relaxed);
                drop(state);
                discard(job);
                Err(RuntimeError::NoThread(error))
            }
            // A running thread will take the job.
            searching => {
                drop(state);
                self.notify(&searching);
                Ok(())
            }
        }
    }

    /// Wakes a sleeping thread if [`search`](Self::search) asked for it.
    fn notify(&self, searching: &io::Result<bool>) {
        if let Ok(true) = searching {
            self.wake.notify_one();
        }
    }

    /// Makes sure that a thread searches for the queued jobs, if possible. Returns whether a thread must be woken.
    fn search(self: &Arc<Self>, state: &mut State) -> io::Result<bool> {
        if state.searching > 0 || state.queue.is_empty() {
            return Ok(false);
        }
        let is_asleep = state.idle > 0;
        if is_asleep {
            state.idle -= 1;
            state.wakes += 1;
        } else if state.threads < state.max_threads {
            let pool = Arc::clone(self);
            (self.start)(format!("mcp-tool-{}", state.started), Box::new(move || pool.run_jobs()))?;
            state.started += 1;
            state.threads += 1;
        } else {
            return Ok(false);
        }
        state.searching += 1;
        Ok(is_asleep)
    }

    /// The main loop of a thread.
    fn run_jobs(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.queue.pop_front() {
                self.queued.store(state.queue.len(), Ordering::Relaxed);
                state.searching -= 1;
                // If no other thread can be started, the jobs wait for this thread.
                let searching = self.search(&mut state);
                drop(state);
                self.notify(&searching);
                guarded(job);
                state = lock(&self.state);
                state.searching += 1;
                continue;
            }
            if !state.closed {
                drop(state);
                // Waking a thread costs as much as about thirty small jobs, and often the next job arrives soon.
                wait_until(|| self.queued.load(Ordering::Relaxed) > 0);
                state = lock(&self.state);
            }
            if state.queue.is_empty() {
                let Some(woken) = self.sleep(state) else { return };
                state = woken;
            }
        }
    }

    /// Sleeps until there may be a job. `None` if the thread should end.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Option<MutexGuard<'a, State>> {
        state.searching -= 1;
        state.idle += 1;
        let is_idle = |state: &mut State| state.wakes == 0 && !state.closed;
        let waited = self.wake.wait_timeout_while(state, self.keep_alive, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.wakes > 0 {
            // `search` has already counted this thread as searching.
            state.wakes -= 1;
            return Some(state);
        }
        state.idle -= 1;
        state.threads -= 1;
        None
    }

    /// Lets the threads end once the queue is empty.
    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.wake.notify_all();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        let mut pool = f.debug_struct("Pool");
        pool.field("threads", &state.threads).field("idle", &state.idle).field("queued", &state.queue.len());
        pool.field("max_threads", &state.max_threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Barrier, Mutex};
    use std::time::Duration;
    use std::{io, thread};

    use super::{Pool, Start, start_thread};
    use crate::runtime::tests::{LONG, wait_for};
    use crate::runtime::{Job, RuntimeError};
    use crate::util::lock::lock;
    use crate::util::panic::tests::Bomb;

    fn pool(max_threads: usize) -> Arc<Pool> {
        Pool::new(max_threads, LONG, start_thread)
    }

    fn fail_to_start(_: String, _: Job) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
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

    /// Runs a job that sends the name of its thread.
    fn named(pool: &Arc<Pool>) -> Receiver<String> {
        let (send, receive) = channel();
        let job = move || send.send(thread::current().name().unwrap_or_default().to_owned()).unwrap();
        pool.spawn(Box::new(job)).unwrap();
        receive
    }

    #[test]
    fn jobs_run_in_parallel() {
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
    fn an_idle_thread_is_reused() {
        let pool = pool(8);
        for _ in 0..50 {
            assert_eq!(named(&pool).recv().unwrap(), "mcp-tool-0");
            wait_for("the thread is idle", || lock(&pool.state).idle == 1);
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
        // A single thread runs the jobs in order.
        let [one, other] = held;
        drop(one);
        receive.recv().unwrap_err();
        assert_eq!(*lock(&ran), (0..100).collect::<Vec<_>>());
        drop(other);
        pool.close();
    }

    #[test]
    fn no_job_is_lost_when_many_threads_submit() {
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
    fn a_panicking_job_affects_neither_its_thread_nor_the_counters() {
        let pool = pool(1);
        for _ in 0..10 {
            pool.spawn(Box::new(|| panic!("on purpose"))).unwrap();
            pool.spawn(Box::new(|| panic_any(Bomb))).unwrap();
        }
        assert_eq!(named(&pool).recv().unwrap(), "mcp-tool-0");
        wait_for("the thread is idle", || lock(&pool.state).idle == 1);
        assert_eq!(lock(&pool.state).threads, 1);
        pool.close();
    }

    #[test]
    fn without_any_thread_a_job_is_rejected_and_dropped() {
        let pool = Pool::new(4, LONG, fail_to_start);
        let (send, receive) = channel::<()>();
        let rejected = pool.spawn(Box::new(move || send.send(()).unwrap()));
        assert!(matches!(rejected, Err(RuntimeError::NoThread(_))), "{rejected:?}");
        receive.recv().unwrap_err();
        assert!(lock(&pool.state).queue.is_empty());
        let bomb = Bomb;
        assert!(pool.spawn(Box::new(move || drop(bomb))).is_err());
    }

    #[test]
    fn jobs_wait_for_a_running_thread_if_no_other_can_be_started() {
        static FULL: AtomicBool = AtomicBool::new(false);
        let start: Start =
            |name, run| if FULL.load(Ordering::SeqCst) { fail_to_start(name, run) } else { start_thread(name, run) };
        let pool = Pool::new(4, LONG, start);
        let held = busy(&pool);
        FULL.store(true, Ordering::SeqCst);
        let late = named(&pool);
        assert_eq!(lock(&pool.state).threads, 1);
        drop(held);
        assert_eq!(late.recv().unwrap(), "mcp-tool-0");
        wait_for("the thread is idle", || lock(&pool.state).idle == 1);
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
