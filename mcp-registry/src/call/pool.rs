//! Running a plain function on the host's pool, and letting go of it when its time is over.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_core::{Error, ErrorType, ToolError};
use serde_json::json;

use crate::call::settings::Settings;
use crate::util::lock::lock;
use crate::util::panic::{discard, guard};

/// A job on the pool, as the one who waits for it sees it. Dropped before the job is done, it leaves the job behind,
/// which then counts as abandoned until it returns.
pub(crate) struct Work<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    settings: Arc<Settings>,
}

enum State<T> {
    Waiting(Option<Waker>),
    /// With what the job returned; nothing where the host gave it up.
    Done(Option<T>),
    Abandoned,
    Over,
}

/// The job's side: it is finished by what happens first, its end or the loss of the job.
struct Finish<T>(Option<Arc<Shared<T>>>);

impl<T: Send + 'static> Work<T> {
    /// Puts the job on the pool, unless too much work was abandoned there.
    pub(crate) fn start(
        settings: &Arc<Settings>,
        tool: &str,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, Error> {
        let abandoned = settings.abandoned.load(Ordering::Relaxed);
        if abandoned >= settings.max_abandoned {
            return Err(too_many(tool, abandoned).into());
        }
        let shared = Arc::new(Shared { state: Mutex::new(State::Waiting(None)), settings: Arc::clone(settings) });
        let mut finish = Finish(Some(Arc::clone(&shared)));
        let job = Box::new(move || {
            // A job whose time was over before it began is not begun.
            let done = finish.is_wanted().then(job);
            finish.with(done);
        });
        let error = match guard(|| settings.runtime().spawn_blocking(job)) {
            Ok(Ok(())) => return Ok(Self(shared)),
            Ok(Err(error)) => {
                ToolError::new(ErrorType::API_LIMIT_EXCEEDED, format!("`{tool}` cannot be run: {error}")).into()
            }
            Err(panicked) => panicked.by("its host").into_error(tool),
        };
        *lock(&shared.state) = State::Over;
        Err(error)
    }
}

fn too_many(tool: &str, abandoned: usize) -> ToolError {
    let message = format!(
        "`{tool}` cannot be run: {abandoned} calls that ran out of time have not come to an end yet; try again later"
    );
    ToolError::new(ErrorType::API_LIMIT_EXCEEDED, message).details(json!({ "tool": tool, "abandoned": abandoned }))
}

impl<T> Finish<T> {
    fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| !matches!(*lock(&shared.state), State::Abandoned))
    }

    fn with(&mut self, done: Option<T>) {
        let Some(shared) = self.0.take() else { return };
        let mut state = lock(&shared.state);
        match std::mem::replace(&mut *state, State::Over) {
            State::Waiting(waker) => {
                *state = State::Done(done);
                drop(state);
                waker.into_iter().for_each(Waker::wake);
            }
            State::Abandoned => {
                drop(state);
                shared.settings.abandoned.fetch_sub(1, Ordering::Relaxed);
                discard(done);
            }
            State::Done(_) | State::Over => {}
        }
    }
}

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        self.with(None);
    }
}

impl<T> Future for Work<T> {
    /// Nothing where the host gave the job up.
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0.state);
        match std::mem::replace(&mut *state, State::Over) {
            State::Done(done) => Poll::Ready(done),
            State::Waiting(_) => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            other => {
                *state = other;
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        let before = match &*state {
            State::Waiting(_) => {
                self.0.settings.abandoned.fetch_add(1, Ordering::Relaxed);
                std::mem::replace(&mut *state, State::Abandoned)
            }
            _ => std::mem::replace(&mut *state, State::Over),
        };
        drop(state);
        discard(before);
    }
}
