//! One connection: lines are answered, at once or by and by.

use std::sync::Arc;

use mcp_core::CallOptions;
use tokio::runtime::Handle;

use super::lines::{Line, Lines};
use super::outbox::{Outbox, WAITING, end_line};
use crate::protocol::{Peer, PendingReply, Server};

/// What the side that reads and the side that writes share.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) server: Server,
    pub(super) peer: Peer,
    pub(super) outbox: Arc<Outbox>,
    runtime: Handle,
}

impl Connection {
    pub(super) fn new(server: Server, options: CallOptions, outbox: Outbox, runtime: Handle) -> Self {
        let outbox = Arc::new(outbox);
        let told = Arc::clone(&outbox);
        let peer = Peer::builder().options(options).on_notification(move |message| told.notify(message)).build();
        Self { server, peer, outbox, runtime }
    }

    pub(super) fn lines(&self) -> Lines {
        Lines::new(self.server.max_message())
    }

    /// Answers the lines that are there; false if there are more, but too much is to be written already. What takes
    /// longer goes on by itself.
    pub(super) fn answer(&self, lines: &mut Lines, out: &mut Vec<u8>) -> bool {
        let _entered = self.runtime.enter();
        while out.len() < WAITING {
            let Some(line) = lines.next() else { return true };
            let start = out.len();
            match line {
                Line::TooLong(bytes) => self.server.reject_length(bytes, out),
                Line::Message(message) => {
                    if let Some(reply) = self.server.begin(message, &self.peer, out) {
                        self.spawn(reply);
                    }
                }
            }
            end_line(out, start);
        }
        false
    }

    fn spawn(&self, reply: PendingReply) {
        let expected = self.outbox.expect();
        self.runtime.spawn(async move { expected.end(reply.await) });
    }

    /// Nothing more is read; what is under way is answered.
    pub(super) fn stop(&self) {
        self.outbox.stop();
        self.peer.finish();
    }
}

/// Closes the connection when it is dropped: what is under way is cancelled.
pub(super) struct Closing<'a>(pub(super) &'a Connection);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.outbox.close();
        // What the thread that reads is about to begin is cancelled too.
        self.0.peer.shut_down();
        self.0.peer.close();
    }
}
