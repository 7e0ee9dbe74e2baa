//! Runs a future until its deadline or its cancellation, and catches its panics.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_core::CancelToken;
use mcp_core::context::{BoxFuture, Cancelled};

use crate::call::run::Limits;
use crate::call::settings::Settings;
use crate::util::panic::{Panicked, discard, guard};

/// The reason why a future was stopped. The future has already been dropped.
#[derive(Debug)]
pub(crate) enum Stopped {
    TimedOut,
    Cancelled,
    Panicked(Panicked),
}

/// A future with a deadline and a cancellation token.
pub(crate) struct Supervised<'a, F> {
    settings: &'a Settings,
    future: Option<F>,
    limits: &'a Limits,
    /// Created when the future is pending for the first time.
    sleep: Option<BoxFuture<'static, ()>>,
    cancelled: Option<Cancelled>,
    /// Cancelled when the future is complete or stopped, to stop what it has started elsewhere.
    on_end: Option<&'a CancelToken>,
}

impl<'a, F: Future + Unpin> Supervised<'a, F> {
    pub(crate) fn new(settings: &'a Settings, future: F, limits: &'a Limits) -> Self {
        Self { settings, future: Some(future), limits, sleep: None, cancelled: None, on_end: None }
    }

    /// Cancels the token when the future is complete or stopped.
    pub(crate) fn on_end(mut self, token: Option<&'a CancelToken>) -> Self {
        self.on_end = token;
        self
    }

    fn poll_limits(&mut self, context: &mut Context<'_>) -> Option<Stopped> {
        if let Some(token) = &self.limits.cancel {
            let cancelled = self.cancelled.get_or_insert_with(|| token.cancelled());
            if Pin::new(cancelled).poll(context).is_ready() {
                return Some(Stopped::Cancelled);
            }
        }
        let deadline = self.limits.deadline?;
        let sleep = self.sleep.get_or_insert_with(|| self.settings.runtime().sleep_until(deadline));
        sleep.as_mut().poll(context).is_ready().then_some(Stopped::TimedOut)
    }
}

impl<F> Supervised<'_, F> {
    fn end(&mut self) {
        self.on_end.iter().for_each(|token| token.cancel());
        if let Some(future) = self.future.take() {
            self.settings.in_runtime(|| discard(future));
        }
    }

    fn stop<T>(&mut self, reason: Stopped) -> Poll<Result<T, Stopped>> {
        self.end();
        Poll::Ready(Err(reason))
    }
}

impl<F: Future + Unpin> Future for Supervised<'_, F> {
    type Output = Result<F::Output, Stopped>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.limits.is_cancelled() {
            return this.stop(Stopped::Cancelled);
        }
        let Some(future) = &mut this.future else { return Poll::Pending };
        match guard(|| this.settings.in_runtime(|| Pin::new(future).poll(context))) {
            Ok(Poll::Ready(output)) => {
                // Discard an output that arrives too late, even if the cancellation caused it.
                if let Some(reason) = this.limits.reached(Instant::now()) {
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

impl<F> Drop for Supervised<'_, F> {
    fn drop(&mut self) {
        if self.future.is_some() {
            self.end();
        }
    }
}
