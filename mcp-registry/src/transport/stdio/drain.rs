//! Shutting down: how long calls in flight may go on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use mcp_core::__private::cut;
use mcp_core::BoxFuture;

use super::connection::Connection;
use crate::call::trace;

/// How long the answers of cancelled calls, and the client that reads them, may take.
const ANSWERING: Duration = Duration::from_secs(1);

/// How many bytes of the names of tools are reported.
const NAMES: usize = 256;

/// Ends a connection whose input has ended: calls that take too long are cancelled.
pub(super) struct Drain<'a> {
    connection: &'a Connection,
    step: Step,
    /// When the step ends; never, if the time is too long to be told.
    timer: Option<BoxFuture<'static, ()>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Serving,
    /// Calls in flight may go on.
    Draining,
    /// Calls in flight are cancelled, and being answered.
    Answering,
    Over,
}

impl<'a> Drain<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, step: Step::Serving, timer: None }
    }

    /// Takes the next step if it is time for it; the task is woken when it is.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Connection { server, peer, outbox, .. } = self.connection;
        let limit = server.configured_drain_timeout();
        let (next, time) = match self.step {
            Step::Serving if outbox.is_stopped() => (Step::Draining, limit),
            Step::Draining => {
                ready!(self.poll_timer(context));
                let tools = peer.shut_down();
                report(&tools, &format!("the server is shutting down and waits no longer than {limit:?}"));
                (Step::Answering, ANSWERING)
            }
            Step::Answering => {
                ready!(self.poll_timer(context));
                outbox.forget();
                (Step::Over, Duration::MAX)
            }
            Step::Serving | Step::Over => return Poll::Pending,
        };
        let host = server.registry().settings().runtime();
        self.timer = Instant::now().checked_add(time).map(|end| host.sleep_until(end));
        self.step = next;
        Poll::Ready(())
    }

    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(context))
    }

    /// Whether nothing is waited for any more but the client.
    pub(super) fn is_over(&self) -> bool {
        self.step == Step::Over
    }
}

/// Reports the calls that were cancelled, if there are any.
pub(super) fn report(tools: &[Arc<str>], why: &str) {
    if tools.is_empty() {
        return;
    }
    let names: BTreeSet<&str> = tools.iter().map(|tool| &**tool).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let calls = if tools.len() == 1 { "call" } else { "calls" };
    trace::warn(&format!("cancelled {} {calls} because {why}: {}", tools.len(), cut(&names, NAMES)));
}
