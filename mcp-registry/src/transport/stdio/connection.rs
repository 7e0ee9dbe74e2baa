//! A connection: answers lines, immediately or in a task.

use std::sync::Arc;

use mcp_core::CallOptions;
use tokio::runtime::Handle;

use super::lines::{Line, Lines};
use super::output::{MAX_WAITING_BYTES, Output, end_line};
use crate::protocol::{Peer, PendingReply, Server};

/// Shared by the reading and the writing side.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) server: Server,
    pub(super) peer: Peer,
    pub(super) output: Arc<Output>,
    runtime: Handle,
}

impl Connection {
    pub(super) fn new(server: Server, options: CallOptions, output: Output, runtime: Handle) -> Self {
        let output = Arc::new(output);
        let notifications = Arc::clone(&output);
        let peer =
            Peer::builder().options(options).on_notification(move |message| notifications.notify(message)).build();
        Self { server, peer, output, runtime }
    }

    pub(super) fn lines(&self) -> Lines {
        Lines::new(self.server.max_message())
    }

    /// Answers the lines that were read. Calls that take longer are spawned. Returns `false` if there are more lines,
    /// but too much output is queued.
    pub(super) fn answer(&self, lines: &mut Lines, out: &mut Vec<u8>) -> bool {
        let _entered = self.runtime.enter();
        let mut soon = Vec::new();
        let mut has_more = true;
        while has_more && out.len() < MAX_WAITING_BYTES {
            let start = out.len();
            match lines.next() {
                None => has_more = false,
                Some(Line::TooLong(bytes)) => self.server.reject_length(bytes, out),
                Some(Line::Message(message)) => match self.server.begin(message, &self.peer, out) {
                    Some(reply) if reply.ends_soon() => soon.push(reply),
                    Some(reply) => self.spawn(reply),
                    None => {}
                },
            }
            end_line(out, start);
        }
        // The pool has worked on these calls in the meantime. After one that takes longer, do not wait for the others.
        let mut waits = true;
        for mut reply in soon {
            let start = out.len();
            if reply.try_finish(waits, out).is_some() {
                end_line(out, start);
            } else {
                waits = false;
                self.spawn(reply);
            }
        }
        !has_more
    }

    fn spawn(&self, reply: PendingReply) {
        let pending = self.output.expect_answer();
        self.runtime.spawn(async move { pending.finish(reply.await) });
    }

    /// Stops reading; requests in flight are still answered.
    pub(super) fn stop(&self) {
        self.output.stop();
        self.peer.finish();
    }
}

/// Closes the connection when it is dropped, and cancels requests in flight.
pub(super) struct CloseOnDrop<'a>(pub(super) &'a Connection);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.output.close();
        // This also cancels requests that the reading thread is about to start.
        self.0.peer.shut_down();
        self.0.peer.close();
    }
}
