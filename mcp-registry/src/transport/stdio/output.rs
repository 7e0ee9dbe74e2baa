//! The output of a connection: the queued messages, and the number of pending answers.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use memchr::memchr;

use crate::transport::queue::Queue;
use crate::util::lock::lock;

/// The number of queued bytes at which reading pauses.
pub(super) const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// The number of queued bytes beyond which progress and log messages are dropped.
const MAX_BYTES_FOR_NOTIFICATIONS: usize = 256 * 1024;

/// The queue of messages to be written. Answers are never dropped. If the queue is too long, progress and log messages
/// are dropped, and reading pauses.
pub(super) struct Output {
    state: Mutex<State>,
    /// Notifies the writing thread that there is something to write.
    work: Condvar,
    /// Notifies the reading thread that there is room.
    room: Condvar,
}

struct State {
    queue: Queue,
    /// The number of pending answers.
    pending: usize,
    /// Whether the connection ends without waiting for pending answers.
    ignores_pending: bool,
    phase: Phase,
    error: Option<io::Error>,
    /// The writer for blocking threads. `None` while one of them writes.
    writer: Option<Box<dyn Write + Send>>,
    writing: bool,
    reader_is_blocked: bool,
    /// Woken when there is something to write.
    on_ready: Option<Waker>,
    /// Woken at the end.
    on_finished: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Phase {
    Reading,
    /// Nothing more is read; pending answers are still written.
    Ending,
    /// Nothing is written any more.
    Closed,
}

impl State {
    fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= MAX_WAITING_BYTES
    }

    fn is_finished(&self) -> bool {
        let is_read = self.phase != Phase::Reading;
        let is_answered = self.pending == 0 || self.ignores_pending;
        self.is_closed() || (is_read && is_answered && self.queue.is_empty() && !self.writing)
    }
}

impl Output {
    /// With a writer, blocking threads write to it. Without a writer, a task takes the bytes and writes them itself.
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        let state = State {
            queue: Queue::new(MAX_BYTES_FOR_NOTIFICATIONS, append_line),
            pending: 0,
            ignores_pending: false,
            phase: Phase::Reading,
            error: None,
            writer,
            writing: false,
            reader_is_blocked: false,
            on_ready: None,
            on_finished: None,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// Adds a notification.
    pub(super) fn notify(&self, message: Vec<u8>) {
        let mut state = lock(&self.state);
        if state.is_closed() {
            return;
        }
        state.queue.notify(message);
        self.wake_writer(state);
    }

    /// Counts a pending answer.
    pub(super) fn expect_answer(self: &Arc<Self>) -> PendingAnswer {
        lock(&self.state).pending += 1;
        PendingAnswer(Arc::clone(self))
    }

    /// Adds answers, each with its line break.
    pub(super) fn push_answers(&self, answers: &mut Vec<u8>) {
        let mut state = lock(&self.state);
        push_answers(&mut state, answers);
        self.wake_writer(state);
    }

    /// Wakes the thread or task that writes.
    fn wake_writer(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.on_ready.take();
        let is_idle = state.writer.is_some();
        drop(state);
        if is_idle {
            self.work.notify_one();
        }
        waker.into_iter().for_each(Waker::wake);
    }

    /// Stops reading.
    pub(super) fn stop(&self) {
        let mut state = lock(&self.state);
        if state.phase == Phase::Reading {
            state.phase = Phase::Ending;
        }
        // Wake the task even if answers are pending: the drain timeout starts now.
        let waker = state.on_finished.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether reading has stopped.
    pub(super) fn is_stopped(&self) -> bool {
        lock(&self.state).phase != Phase::Reading
    }

    /// Stops waiting for pending answers.
    pub(super) fn ignore_pending(&self) {
        lock(&self.state).ignores_pending = true;
    }

    /// Stops reading and writing; queued messages are dropped.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.phase = Phase::Closed;
        (state.queue, state.writer) = (Queue::new(MAX_BYTES_FOR_NOTIFICATIONS, append_line), None);
        wake_if_finished(state);
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Ends the connection with an error.
    pub(super) fn fail(&self, error: io::Error) {
        lock(&self.state).error.get_or_insert(error);
        self.close();
    }

    /// Ready when everything is read, answered and written, or when writing has failed.
    pub(super) fn poll_finished(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.state);
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error));
        }
        if state.is_finished() {
            return Poll::Ready(Ok(()));
        }
        state.on_finished = Some(context.waker().clone());
        Poll::Pending
    }

    /// Moves the queue into an empty buffer. Returns `false` if the queue is empty; the task is woken when it is not.
    pub(super) fn poll_take(&self, buffer: &mut Vec<u8>, context: &mut Context<'_>) -> bool {
        let mut state = lock(&self.state);
        if state.queue.is_empty() {
            state.on_ready = Some(context.waker().clone());
            return false;
        }
        state.queue.take(buffer);
        true
    }

    pub(super) fn is_full(&self) -> bool {
        lock(&self.state).is_full()
    }

    /// Adds answers and writes the queue, unless another thread is writing. Blocks while the queue is too long.
    pub(super) fn write(&self, answers: &mut Vec<u8>) -> Phase {
        let mut state = lock(&self.state);
        push_answers(&mut state, answers);
        let mut state = self.write_ready(state);
        while state.is_full() && !state.is_closed() {
            state.reader_is_blocked = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.phase
    }

    /// Writes queued messages until the output is closed.
    pub(super) fn write_all(&self) {
        let mut state = lock(&self.state);
        while !state.is_closed() {
            if state.queue.is_empty() || state.writing {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                state = self.write_ready(state);
            }
        }
    }

    fn write_ready<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.queue.is_empty() {
            return state;
        }
        let Some(mut writer) = state.writer.take() else { return state };
        let mut bytes = Vec::new();
        state.queue.take(&mut bytes);
        state.writing = true;
        drop(state);
        let written = writer.write_all(&bytes).and_then(|()| writer.flush());
        let mut state = lock(&self.state);
        state.writing = false;
        match written {
            Ok(()) if state.is_closed() => {}
            Ok(()) => state.writer = Some(writer),
            Err(error) => {
                state.error = Some(error).filter(|error| !is_disconnect(error));
                drop(state);
                self.close();
                state = lock(&self.state);
            }
        }
        if state.queue.is_empty() {
            // Reuse the buffer, but not its excess capacity.
            bytes.clear();
            bytes.shrink_to(MAX_WAITING_BYTES);
            state.queue.reuse(bytes);
        } else {
            self.work.notify_one();
        }
        if std::mem::take(&mut state.reader_is_blocked) {
            self.room.notify_one();
        }
        if state.is_finished() {
            state.on_finished.take().into_iter().for_each(Waker::wake);
        }
        state
    }
}

/// Wakes the task that waits for the end, if the output is finished.
fn wake_if_finished(mut state: MutexGuard<'_, State>) {
    let waker = if state.is_finished() { state.on_finished.take() } else { None };
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

fn push_answers(state: &mut State, answers: &mut Vec<u8>) {
    if state.is_closed() {
        answers.clear();
    } else {
        state.queue.append(answers);
    }
}

/// Whether the error means that the client has disconnected, which is not a failure.
pub(super) fn is_disconnect(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

fn append_line(message: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(message);
    end_line(out, start);
}

/// Ends the line that begins at `start`, unless it is empty. Line breaks inside the message are replaced.
pub(super) fn end_line(out: &mut Vec<u8>, start: usize) {
    if out.len() == start {
        return;
    }
    // In JSON, line breaks occur only between tokens, where a space has the same meaning.
    if let Some(first) = memchr(b'\n', &out[start..]) {
        out[start + first..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    out.push(b'\n');
}

/// Counts as a pending answer until it is dropped.
pub(super) struct PendingAnswer(Arc<Output>);

impl PendingAnswer {
    /// Writes the answer, if there is one.
    pub(super) fn finish(self, answer: Option<Vec<u8>>) {
        if let Some(mut answer) = answer {
            end_line(&mut answer, 0);
            self.0.push_answers(&mut answer);
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.pending -= 1;
        wake_if_finished(state);
    }
}
