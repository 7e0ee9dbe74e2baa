//! A future that ends at its deadline or its cancellation, and whose panics are caught.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_core::CancelToken;
use mcp_core::context::{BoxFuture, Cancelled};

use crate::call::settings::Settings;
use crate::util::panic::{Panicked, discard, guard};

/// Why a future was stopped. It has been dropped by then.
#[derive(Debug)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
    Panicked(Panicked),
}

/// A future with a deadline and a cancellation.
pub(crate) struct Supervised<'a, T> {
    settings: &'a Settings,
    future: Option<BoxFuture<'a, T>>,
    deadline: Option<Deadline>,
    cancel: Option<(CancelToken, Cancelled)>,
    /// Cancelled when the future is over or stopped, for what it has started elsewhere.
    on_end: Option<CancelToken>,
}

struct Deadline {
    at: Instant,
    /// Created when the future is first pending.
    sleep: Option<BoxFuture<'static, ()>>,
}

impl<'a, T> Supervised<'a, T> {
    pub(crate) fn new(settings: &'a Settings, future: BoxFuture<'a, T>) -> Self {
        Self { settings, future: Some(future), deadline: None, cancel: None, on_end: None }
    }

    pub(crate) fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline.map(|at| Deadline { at, sleep: None });
        self
    }

    pub(crate) fn cancel(mut self, cancel: Option<&CancelToken>) -> Self {
        self.cancel = cancel.map(|token| (token.clone(), token.cancelled()));
        self
    }

    /// Cancels the token when the future is over or stopped.
    pub(crate) fn on_end(mut self, token: CancelToken) -> Self {
        self.on_end = Some(token);
        self
    }

    fn stop(&mut self, reason: Stopped) -> Poll<Result<T, Stopped>> {
        self.end();
        Poll::Ready(Err(reason))
    }

    fn end(&mut self) {
        if let Some(token) = &self.on_end {
            token.cancel();
        }
        if let Some(future) = self.future.take() {
            self.settings.within(|| discard(future));
        }
    }

    /// Whether the future was cancelled or its deadline has passed. An output that arrives later is discarded, also one
    /// that the cancellation caused.
    fn limit_reached(&self) -> Option<Stopped> {
        if self.cancel.as_ref().is_some_and(|(token, _)| token.is_cancelled()) {
            return Some(Stopped::Cancelled);
        }
        self.deadline.as_ref().filter(|deadline| Instant::now() >= deadline.at).map(|_| Stopped::TimedOut)
    }

    /// The same, and wakes the task when it happens.
    fn poll_limits(&mut self, context: &mut Context<'_>) -> Option<Stopped> {
        if let Some((_, cancelled)) = &mut self.cancel {
            if Pin::new(cancelled).poll(context).is_ready() {
                return Some(Stopped::Cancelled);
            }
        }
        let Deadline { at, sleep } = self.deadline.as_mut()?;
        let sleep = sleep.get_or_insert_with(|| self.settings.runtime().sleep_until(*at));
        sleep.as_mut().poll(context).is_ready().then_some(Stopped::TimedOut)
    }
}

impl<T> Future for Supervised<'_, T> {
    type Output = Result<T, Stopped>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.cancel.as_ref().is_some_and(|(token, _)| token.is_cancelled()) {
            return this.stop(Stopped::Cancelled);
        }
        let Some(future) = &mut this.future else { return Poll::Pending };
        match guard(|| this.settings.within(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => {
                if let Some(reason) = this.limit_reached() {
                    discard(output);
                    return this.stop(reason);
                }
                this.end();
                Poll::Ready(Ok(output))
            }
            Ok(Poll::Pending) => match guard(|| this.poll_limits(context)) {
                Ok(Some(reason)) => this.stop(reason),
                Ok(None) => Poll::Pending,
                Err(panicked) => this.stop(Stopped::Panicked(panicked.by("its runtime"))),
            },
            Err(panicked) => this.stop(Stopped::Panicked(panicked)),
        }
    }
}

impl<T> Drop for Supervised<'_, T> {
    fn drop(&mut self) {
        if self.future.is_some() {
            let _ = self.stop(Stopped::Cancelled);
        }
    }
}
