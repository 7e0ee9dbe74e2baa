//! Drains a connection at the end of its input: gives calls in flight some time, then cancels them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use mcp_core::context::BoxFuture;
use mcp_core::support::cut;

use super::connection::Connection;
use crate::call::trace;

/// How long the answers to cancelled calls may take, and the client to read them.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum size of the reported names of tools.
const MAX_NAMES_BYTES: usize = 256;

/// Drains a connection whose input has ended, and cancels calls that take too long.
pub(super) struct Drain<'a> {
    connection: &'a Connection,
    step: Step,
    /// Ends the current step; `None` if the timeout exceeds the range of the clock.
    timer: Option<BoxFuture<'static, ()>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Serving,
    /// Calls in flight continue.
    Draining,
    /// Calls in flight are cancelled and being answered.
    Answering,
    Finished,
}

impl<'a> Drain<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, step: Step::Serving, timer: None }
    }

    /// Ready if it has advanced to the next step; otherwise, the task is woken when that is due.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Connection { server, peer, output, .. } = self.connection;
        let timeout = server.configured_drain_timeout();
        let (next, time) = match self.step {
            Step::Serving if output.is_stopped() => (Step::Draining, timeout),
            Step::Draining => {
                ready!(self.poll_timer(context));
                let tools = peer.shut_down();
                report_cancelled(&tools, &format!("the server is shutting down and waits no longer than {timeout:?}"));
                (Step::Answering, ANSWER_TIMEOUT)
            }
            Step::Answering => {
                ready!(self.poll_timer(context));
                output.ignore_pending();
                (Step::Finished, Duration::MAX)
            }
            Step::Serving | Step::Finished => return Poll::Pending,
        };
        let runtime = server.registry().settings().runtime();
        self.timer = Instant::now().checked_add(time).map(|end| runtime.sleep_until(end));
        self.step = next;
        Poll::Ready(())
    }

    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(context))
    }

    /// Whether only the client's reading is still awaited.
    pub(super) fn is_finished(&self) -> bool {
        self.step == Step::Finished
    }
}

/// Reports the calls that were cancelled, if there are any.
pub(super) fn report_cancelled(tools: &[Arc<str>], reason: &str) {
    if tools.is_empty() {
        return;
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    // One by one: to collect them would compile another sort.
    names.extend(tools.iter().map(|tool| &**tool));
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let calls = if tools.len() == 1 { "call" } else { "calls" };
    trace::warn(&format!("cancelled {} {calls} because {reason}: {}", tools.len(), cut(&names, MAX_NAMES_BYTES)));
}
