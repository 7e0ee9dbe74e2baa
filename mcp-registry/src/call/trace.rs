//! Spans and events of calls. Does nothing without the feature `tracing`.

#[cfg(feature = "tracing")]
mod imp {
    use std::future::Future;

    use mcp_core::CallOptions;
    use serde_json::Value;
    use tracing::instrument::Instrumented;
    use tracing::{Instrument as _, Span, field};

    #[cfg(feature = "http")]
    use crate::call::observe::Rejection;
    use crate::call::observe::{CallRecord, truncated};

    /// The span of a call.
    #[derive(Clone)]
    pub(crate) struct CallSpan(Span);

    impl CallSpan {
        /// The span of a call, with the W3C trace context of its `_meta`.
        pub(crate) fn new(name: &str, options: &CallOptions) -> Self {
            let w3c = |key: &str| options.get_meta().get(key).and_then(Value::as_str).map(truncated);
            Self(tracing::info_span!(
                "tool_call",
                tool = &*truncated(name),
                request_id = options.get_request_id().map(truncated).as_deref(),
                caller = options.get_caller().map(truncated).as_deref(),
                traceparent = w3c("traceparent").as_deref(),
                tracestate = w3c("tracestate").as_deref(),
                outcome = field::Empty,
                error_type = field::Empty,
            ))
        }

        /// Runs a part of the call in its span.
        #[inline]
        pub(crate) fn in_scope<T>(&self, run: impl FnOnce() -> T) -> T {
            self.0.in_scope(run)
        }

        /// Runs a future of the call in its span.
        pub(crate) fn instrument<F: Future>(&self, future: F) -> Instrumented<F> {
            future.instrument(self.0.clone())
        }
    }

    /// Wraps a job for another thread, so that it runs in the current span.
    pub(crate) fn in_span<T>(job: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T + Send + 'static {
        let span = Span::current();
        move || span.in_scope(job)
    }

    /// Records how the call of the current span ended.
    pub(crate) fn ended(record: &CallRecord<'_>) {
        let span = Span::current();
        span.record("outcome", record.outcome.as_str());
        if let Some(error_type) = record.error_type {
            span.record("error_type", error_type);
        }
        let ms = record.duration.as_secs_f64() * 1e3;
        match record.message {
            None => tracing::info!(tool = record.tool, ms, "the call succeeded"),
            Some(message) => tracing::warn!(
                tool = record.tool,
                ms,
                outcome = record.outcome.as_str(),
                error_type = record.error_type,
                correlation_id = record.correlation_id,
                hint = record.hint(),
                message,
            ),
        }
    }

    /// Reports requests that a server rejected.
    #[cfg(feature = "http")]
    pub(crate) fn rejected(rejection: &Rejection<'_>) {
        tracing::warn!(
            reason = rejection.reason.as_str(),
            detail = rejection.detail,
            client = rejection.client.map(field::display),
            count = rejection.count,
            "the request was rejected",
        );
    }

    /// Whether a subscriber is interested.
    pub(crate) fn is_on() -> bool {
        tracing::span_enabled!(tracing::Level::INFO) || tracing::event_enabled!(tracing::Level::WARN)
    }
}

#[cfg(not(feature = "tracing"))]
mod imp {
    use mcp_core::CallOptions;

    use crate::call::observe::CallRecord;

    #[derive(Clone)]
    pub(crate) struct CallSpan;

    impl CallSpan {
        pub(crate) fn new(_: &str, _: &CallOptions) -> Self {
            Self
        }

        #[allow(clippy::unused_self, reason = "as with the feature")]
        #[inline]
        pub(crate) fn in_scope<T>(&self, run: impl FnOnce() -> T) -> T {
            run()
        }

        #[allow(clippy::unused_self, reason = "as with the feature")]
        pub(crate) fn instrument<F>(&self, future: F) -> F {
            future
        }
    }

    pub(crate) fn in_span<T>(job: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T + Send + 'static {
        job
    }

    pub(crate) fn ended(_: &CallRecord<'_>) {}

    #[cfg(feature = "http")]
    pub(crate) fn rejected(_: &crate::call::observe::Rejection<'_>) {}

    pub(crate) const fn is_on() -> bool {
        false
    }
}

#[cfg(feature = "http")]
pub(crate) use self::imp::rejected;
pub(crate) use self::imp::{CallSpan, ended, in_span, is_on};

/// Warns the operator of the program: with an event if a subscriber is interested, else on stderr.
pub(crate) fn warn(text: &str) {
    use std::io::Write as _;

    #[cfg(feature = "tracing")]
    if is_on() {
        tracing::warn!("{text}");
        return;
    }
    // There is nowhere else to report that stderr is closed.
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}
