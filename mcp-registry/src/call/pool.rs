//! Runs sync functions on the runtime's pool, and abandons them when they time out.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_core::{Error, ErrorType, ToolError};
use serde_json::json;

use crate::call::settings::Settings;
use crate::runtime::Job;
use crate::util::lock::lock;
use crate::util::panic::{discard, guard};

/// Waits for a job on the pool. If this is dropped before the job is done, the job counts as abandoned until it
/// returns.
pub(crate) struct PoolJob<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Set when the job is done. It can be checked without the lock.
    is_done: AtomicBool,
    settings: Arc<Settings>,
}

enum State<T> {
    Waiting(Option<Waker>),
    /// The output of the job; `None` if the runtime dropped the job.
    Done(Option<T>),
    Abandoned,
    Finished,
}

/// The job's handle: completes the [`PoolJob`] when the job returns or is dropped.
struct Completion<T>(Option<Arc<Shared<T>>>);

impl<T: Send + 'static> PoolJob<T> {
    /// Starts the job on the pool, unless too many abandoned jobs are still running.
    pub(crate) fn start(
        settings: &Arc<Settings>,
        tool: &str,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, Error> {
        check_abandoned(settings, tool)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Waiting(None)),
            is_done: AtomicBool::new(false),
            settings: Arc::clone(settings),
        });
        let mut completion = Completion(Some(Arc::clone(&shared)));
        let job = Box::new(move || {
            // Do not start a job that was abandoned in the queue.
            let output = completion.is_awaited().then(job);
            completion.complete(output);
        });
        if let Err(error) = spawn(settings, tool, job) {
            *lock(&shared.state) = State::Finished;
            return Err(error);
        }
        Ok(Self(shared))
    }
}

fn spawn(settings: &Settings, tool: &str, job: Job) -> Result<(), Error> {
    guard(|| settings.runtime().spawn_blocking(job))
        .map_err(|panicked| panicked.by("its runtime").into_error(tool))?
        .map_err(|error| {
            ToolError::new(ErrorType::API_LIMIT_EXCEEDED, format!("`{tool}` cannot be run: {error}")).into()
        })
}

fn check_abandoned(settings: &Settings, tool: &str) -> Result<(), Error> {
    let abandoned = settings.abandoned.load(Ordering::Relaxed);
    if abandoned >= settings.max_abandoned { Err(too_many_abandoned(tool, abandoned).into()) } else { Ok(()) }
}

fn too_many_abandoned(tool: &str, abandoned: usize) -> ToolError {
    let message =
        format!("`{tool}` cannot be run: {abandoned} calls that ran out of time are still running; try again later");
    ToolError::new(ErrorType::API_LIMIT_EXCEEDED, message).details(json!({ "tool": tool, "abandoned": abandoned }))
}

impl<T> Completion<T> {
    fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| !matches!(*lock(&shared.state), State::Abandoned))
    }

    fn complete(&mut self, output: Option<T>) {
        let Some(shared) = self.0.take() else { return };
        let mut state = lock(&shared.state);
        match std::mem::replace(&mut *state, State::Finished) {
            State::Waiting(waker) => {
                *state = State::Done(output);
                drop(state);
                shared.is_done.store(true, Ordering::Release);
                waker.into_iter().for_each(Waker::wake);
            }
            State::Abandoned => {
                drop(state);
                shared.settings.abandoned.fetch_sub(1, Ordering::Relaxed);
                discard(output);
            }
            State::Done(_) | State::Finished => {}
        }
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        self.complete(None);
    }
}

impl<T> State<T> {
    /// The output of the job, if it is done.
    fn take(&mut self) -> Poll<Option<T>> {
        let Self::Done(done) = self else { return Poll::Pending };
        let done = done.take();
        *self = Self::Finished;
        Poll::Ready(done)
    }
}

impl<T> PoolJob<T> {
    pub(crate) fn is_done(&self) -> bool {
        self.0.is_done.load(Ordering::Acquire)
    }

    /// The output of the job, if it is done; `None` if the runtime dropped the job.
    pub(crate) fn try_take(&self) -> Poll<Option<T>> {
        if self.is_done() { lock(&self.0.state).take() } else { Poll::Pending }
    }
}

impl<T> Future for PoolJob<T> {
    /// `None` if the runtime dropped the job.
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0.state);
        if let Poll::Ready(done) = state.take() {
            return Poll::Ready(done);
        }
        if let State::Waiting(waker) = &mut *state {
            let old = waker.replace(context.waker().clone());
            drop(state);
            // Dropping a waker may run any code, so drop it after releasing the lock.
            drop(old);
        }
        Poll::Pending
    }
}

impl<T> Drop for PoolJob<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        let before = match &*state {
            State::Waiting(_) => {
                self.0.settings.abandoned.fetch_add(1, Ordering::Relaxed);
                std::mem::replace(&mut *state, State::Abandoned)
            }
            _ => std::mem::replace(&mut *state, State::Finished),
        };
        drop(state);
        discard(before);
    }
}
