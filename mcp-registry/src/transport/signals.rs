//! Shutdown signals.

use std::io;
use std::task::{Context, Poll};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(not(unix))]
use tokio::signal::windows::{CtrlC as Signal, ctrl_c};

use crate::util::panic::guard;

/// Ctrl-C, and on Unix SIGTERM.
pub(crate) struct Signals(Vec<Signal>);

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        // Tokio panics if the runtime has no I/O driver, and has no function to check that.
        let signals = guard(register).map_err(|_| {
            io::Error::other("the tokio runtime has no signals; build it with `enable_io()` or `enable_all()`")
        })?;
        signals.map(Self)
    }

    /// Ready once for each signal.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_ready = self.0.iter_mut().any(|signal| matches!(signal.poll_recv(context), Poll::Ready(Some(()))));
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(unix)]
fn register() -> io::Result<Vec<Signal>> {
    [SignalKind::interrupt(), SignalKind::terminate()].into_iter().map(signal).collect()
}

#[cfg(not(unix))]
fn register() -> io::Result<Vec<Signal>> {
    ctrl_c().map(|signal| vec![signal])
}
