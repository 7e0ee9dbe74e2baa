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
    future: Option<F>,
    watch: Watch<'a>,
}

/// What ends a future. It is a type of its own so that it is compiled once for all futures.
struct Watch<'a> {
    settings: &'a Settings,
    limits: &'a Limits,
    /// Created when the future is pending for the first time.
    sleep: Option<BoxFuture<'static, ()>>,
    cancelled: Option<Cancelled>,
    /// Cancelled when the future is complete or stopped, to stop what it has started elsewhere.
    on_end: Option<&'a CancelToken>,
}

impl<'a, F: Future + Unpin> Supervised<'a, F> {
    pub(crate) fn new(settings: &'a Settings, future: F, limits: &'a Limits) -> Self {
        let watch = Watch { settings, limits, sleep: None, cancelled: None, on_end: None };
        Self { future: Some(future), watch }
    }

    /// Cancels the token when the future is complete or stopped.
    pub(crate) fn on_end(mut self, token: Option<&'a CancelToken>) -> Self {
        self.watch.on_end = token;
        self
    }
}

impl Watch<'_> {
    /// Why to stop the future, which is pending.
    fn poll(&mut self, context: &mut Context<'_>) -> Option<Stopped> {
        guard(|| self.poll_limits(context))
            .unwrap_or_else(|panicked| Some(Stopped::Panicked(panicked.by("its runtime"))))
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
        self.watch.on_end.iter().for_each(|token| token.cancel());
        if let Some(future) = self.future.take() {
            self.watch.settings.in_runtime(|| discard(future));
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
        if this.watch.limits.is_cancelled() {
            return this.stop(Stopped::Cancelled);
        }
        let Some(future) = &mut this.future else { return Poll::Pending };
        match guard(|| this.watch.settings.in_runtime(|| Pin::new(future).poll(context))) {
            Ok(Poll::Ready(output)) => {
                // Discard an output that arrives too late, even if the cancellation caused it.
                if let Some(reason) = this.watch.limits.reached(Instant::now()) {
                    discard(output);
                    return this.stop(reason);
                }
                this.end();
                Poll::Ready(Ok(output))
            }
            Ok(Poll::Pending) => match this.watch.poll(context) {
                Some(reason) => this.stop(reason),
                None => Poll::Pending,
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
