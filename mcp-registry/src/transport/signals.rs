//! Shutdown signals.

use std::io;
use std::task::{Context, Poll};

use crate::util::panic::guard;

/// Ctrl-C, and SIGTERM where there is one.
pub(crate) struct Signals(imp::Signals);

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        // Tokio panics if the runtime has no I/O driver, and offers no way to check that.
        let signals = guard(imp::Signals::new).map_err(|_| {
            io::Error::other("the tokio runtime has no signals; build it with `enable_io()` or `enable_all()`")
        })?;
        signals.map(Self)
    }

    /// Ready once for each signal.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}

#[cfg(unix)]
mod imp {
    use std::io;
    use std::task::{Context, Poll};

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(crate) struct Signals([Signal; 2]);

    impl Signals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
        }

        pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
            let is_ready = self.0.iter_mut().any(|signal| matches!(signal.poll_recv(context), Poll::Ready(Some(()))));
            if is_ready { Poll::Ready(()) } else { Poll::Pending }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;
    use std::task::{Context, Poll};

    use mcp_core::context::BoxFuture;
    use tokio::signal::ctrl_c;

    pub(crate) struct Signals(Option<BoxFuture<'static, io::Result<()>>>);

    impl Signals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self(Some(Box::pin(ctrl_c()))))
        }

        pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
            let Some(next) = &mut self.0 else { return Poll::Pending };
            match next.as_mut().poll(context) {
                Poll::Ready(result) => {
                    self.0 = result.is_ok().then(|| Box::pin(ctrl_c()) as _);
                    if result.is_ok() { Poll::Ready(()) } else { Poll::Pending }
                }
                Poll::Pending => Poll::Pending,
            }
        }
    }
}
