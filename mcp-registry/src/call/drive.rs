//! Driving a future to its end, its deadline or its cancellation, whichever is first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_core::{BoxFuture, CancelToken, Cancelled};

use crate::call::settings::Settings;
use crate::util::panic::{Panicked, discard, guard};

/// Why a future did not come to its end. It is dropped by then.
#[derive(Debug)]
pub(crate) enum Stopped {
    Late,
    Cancelled,
    Panicked(Panicked),
}

/// A future with its limits.
pub(crate) struct Drive<'a, T> {
    settings: &'a Settings,
    future: Option<BoxFuture<'a, T>>,
    deadline: Option<Deadline>,
    cancel: Option<(CancelToken, Cancelled)>,
    /// Cancelled when the future is over or stopped, for what it has started elsewhere.
    stopped: Option<CancelToken>,
}

struct Deadline {
    at: Instant,
    /// Not asked for before the future has to be waited for.
    sleep: Option<BoxFuture<'static, ()>>,
}

impl<'a, T> Drive<'a, T> {
    pub(crate) fn new(settings: &'a Settings, future: BoxFuture<'a, T>) -> Self {
        Self { settings, future: Some(future), deadline: None, cancel: None, stopped: None }
    }

    pub(crate) fn until(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline.map(|at| Deadline { at, sleep: None });
        self
    }

    pub(crate) fn unless(mut self, cancel: Option<&CancelToken>) -> Self {
        self.cancel = cancel.map(|token| (token.clone(), token.cancelled()));
        self
    }

    pub(crate) fn telling(mut self, stopped: Option<CancelToken>) -> Self {
        self.stopped = stopped;
        self
    }

    fn stop(&mut self, why: Stopped) -> Poll<Result<T, Stopped>> {
        self.end();
        Poll::Ready(Err(why))
    }

    fn end(&mut self) {
        if let Some(stopped) = &self.stopped {
            stopped.cancel();
        }
        if let Some(future) = self.future.take() {
            self.settings.within(|| discard(future));
        }
    }

    /// Whether the limits have been reached by now. What comes after them comes too late, also where it comes because of
    /// them.
    fn is_over(&self) -> Option<Stopped> {
        if self.cancel.as_ref().is_some_and(|(token, _)| token.is_cancelled()) {
            return Some(Stopped::Cancelled);
        }
        self.deadline.as_ref().filter(|deadline| Instant::now() >= deadline.at).map(|_| Stopped::Late)
    }

    /// Whether the limits are reached; else the task is woken when they are.
    fn limit(&mut self, context: &mut Context<'_>) -> Option<Stopped> {
        if let Some((_, cancelled)) = &mut self.cancel {
            if Pin::new(cancelled).poll(context).is_ready() {
                return Some(Stopped::Cancelled);
            }
        }
        let Deadline { at, sleep } = self.deadline.as_mut()?;
        let sleep = sleep.get_or_insert_with(|| self.settings.runtime().sleep_until(*at));
        sleep.as_mut().poll(context).is_ready().then_some(Stopped::Late)
    }
}

impl<T> Future for Drive<'_, T> {
    type Output = Result<T, Stopped>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.cancel.as_ref().is_some_and(|(token, _)| token.is_cancelled()) {
            return this.stop(Stopped::Cancelled);
        }
        let Some(future) = &mut this.future else { return Poll::Pending };
        match guard(|| this.settings.within(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => {
                if let Some(why) = this.is_over() {
                    discard(output);
                    return this.stop(why);
                }
                this.end();
                Poll::Ready(Ok(output))
            }
            Ok(Poll::Pending) => match guard(|| this.limit(context)) {
                Ok(Some(why)) => this.stop(why),
                Ok(None) => Poll::Pending,
                Err(panicked) => this.stop(Stopped::Panicked(panicked.by("its host"))),
            },
            Err(panicked) => this.stop(Stopped::Panicked(panicked)),
        }
    }
}

impl<T> Drop for Drive<'_, T> {
    fn drop(&mut self) {
        if self.future.is_some() {
            let _ = self.stop(Stopped::Cancelled);
        }
    }
}
