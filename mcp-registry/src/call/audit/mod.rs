//! The audit log: who called which tool when, and how it ended; in memory, and as lines of JSON.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::iter;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::call::metrics::millis;
use crate::call::observe::{CallOutcome, CallRecord, Observer, Rejection, RejectionReason, truncated};
use crate::util::lock::lock;
use crate::util::panic::guard;

/// The most records that are written before the next flush.
const BATCH: usize = 256;

/// The last second that has a year of four digits.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Records who called which tool when, and how it ended. Add it with
/// [`RegistryBuilder::observer`](crate::registry::builder::RegistryBuilder::observer); a clone is a handle on the same log.
///
/// The last 1,024 records are kept in memory. [`jsonl`](Self::jsonl) also writes each of them as a line of JSON:
///
/// ```json
/// {"time":"2026-07-28T09:30:00.125Z","tool":"calc.add","arguments_hash":"b06f…","outcome":"success","ms":0.25}
/// ```
///
/// - **A call never waits for the writer**: it has a thread of its own, and a queue of 4,096 records before it. What
///   does not fit is left out of the file, and so is what cannot be written; a line `{"time": …, "dropped": 3}` says
///   how many are missing, as soon as the writer has caught up.
/// - **No argument is in it**, only a keyed hash of them all, which is equal for equal arguments. Nor is the message of
///   an error, since that may quote arguments; another [`Observer`], `tracing` or
///   stderr has it under the `correlation_id`.
/// - **Requests that a server rejects** are in it too, such as those with a wrong token: a line
///   `{"time": …, "rejected": "wrong_token", "client": "192.0.2.7:4711"}`, with a `count` where it stands for several.
///   The token is never in it. [`rejections`](Self::rejections) has the last 1,024.
/// - When the last handle is dropped, what is queued is written. That waits two seconds at most. Before
///   [`std::process::exit`], which drops nothing, call [`flush`](Self::flush).
///
/// ```
/// use mcp_registry::AuditLog;
///
/// let log = AuditLog::jsonl(std::io::stderr());
/// let handle = log.clone();
/// assert!(handle.records().is_empty());
/// assert_eq!(log.dropped(), 0);
/// assert!(log.flush());
/// ```
#[derive(Clone)]
pub struct AuditLog(Arc<Log>);

impl AuditLog {
    /// Keeps the last 1,024 records in memory, and writes nothing.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Keeps the last 1,024 records in memory, and writes each as a line of JSON.
    ///
    /// ```no_run
    /// use mcp_registry::AuditLog;
    ///
    /// let file = std::fs::File::options().append(true).create(true).open("audit.jsonl")?;
    /// let log = AuditLog::jsonl(file);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn jsonl(writer: impl Write + Send + 'static) -> Self {
        Self::builder().jsonl(writer)
    }

    /// Starts a log with other sizes, or a key of your own.
    pub fn builder() -> AuditLogBuilder {
        AuditLogBuilder { capacity: 1024, queue: 4096, key: None, flush_timeout: Duration::from_secs(2) }
    }

    /// The records in memory, oldest first.
    pub fn records(&self) -> Vec<Arc<AuditRecord>> {
        self.0.shared.lock().records.iter().cloned().collect()
    }

    /// The rejected requests in memory, oldest first.
    pub fn rejections(&self) -> Vec<Arc<RejectionRecord>> {
        self.0.shared.lock().rejections.iter().cloned().collect()
    }

    /// How many records were not written, because the queue was full or the writer failed.
    pub fn dropped(&self) -> u64 {
        self.0.shared.lock().dropped
    }

    /// Waits until all that was queued is written and flushed, two seconds at most. `false` if that was not enough, or
    /// if the writer failed. After `true` the file has every record so far, or says how many are missing.
    pub fn flush(&self) -> bool {
        let queued = self.0.shared.lock().queued;
        let state = self.0.shared.wait_while(self.0.flush_timeout, |state| state.handled < queued && !state.has_ended);
        state.flushed >= queued && !state.has_ended
    }
}

impl Default for AuditLog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.shared.lock();
        let mut debug = f.debug_struct("AuditLog");
        debug.field("records", &state.records.len()).field("dropped", &state.dropped).finish_non_exhaustive()
    }
}

impl Observer for AuditLog {
    fn observe(&self, record: &CallRecord<'_>) {
        self.0.add(Line::Call(Arc::new(AuditRecord::from_record(record, self.0.hasher))));
    }

    fn rejected(&self, rejection: &Rejection<'_>) {
        self.0.add(Line::Rejection(Arc::new(RejectionRecord::from_rejection(rejection))));
    }

    fn keeps_messages(&self) -> bool {
        false
    }
}

/// An [`AuditLog`] that is being set up.
///
/// ```
/// use mcp_registry::AuditLog;
///
/// let log = AuditLog::builder().capacity(100).key(*b"0123456789abcdef").queue(10_000).jsonl(std::io::stderr());
/// ```
#[must_use]
pub struct AuditLogBuilder {
    capacity: usize,
    queue: usize,
    key: Option<[u8; 16]>,
    flush_timeout: Duration,
}

impl AuditLogBuilder {
    /// Keeps this many records in memory (default: 1,024).
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records;
        self
    }

    /// Lets this many records, at least one, wait for the writer (default: 4,096).
    pub fn queue(mut self, records: usize) -> Self {
        self.queue = records.max(1);
        self
    }

    /// Sets the key of the arguments' hashes (default: a random one for each log). Logs with the same key can be compared;
    /// whoever knows it can find arguments by trying them out.
    pub fn key(mut self, key: [u8; 16]) -> Self {
        self.key = Some(key);
        self
    }

    /// A log in memory alone.
    pub fn build(self) -> AuditLog {
        self.log(None, Arc::default())
    }

    /// A log that also writes each record as a line of JSON, from a thread of its own.
    pub fn jsonl(self, writer: impl Write + Send + 'static) -> AuditLog {
        let (sender, queue) = sync_channel(self.queue);
        let shared = Arc::<Shared>::default();
        let end = EndGuard(Arc::clone(&shared));
        let sink = Sink { writer: Box::new(writer), rest: Vec::new() };
        let writer_thread = Writer { sink, queue, shared: Arc::clone(&shared) };
        // If no thread can be spawned, the queue is closed, and every record counts as dropped.
        let _ = thread::Builder::new().name("audit-log".to_owned()).spawn(move || {
            writer_thread.run();
            drop(end);
        });
        self.log(Some(sender), shared)
    }

    fn log(self, queue: Option<SyncSender<Line>>, shared: Arc<Shared>) -> AuditLog {
        let hasher = SipHasher24::new_with_key(&self.key.unwrap_or_else(random_key));
        AuditLog(Arc::new(Log { hasher, capacity: self.capacity, flush_timeout: self.flush_timeout, queue, shared }))
    }
}

impl fmt::Debug for AuditLogBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AuditLogBuilder");
        debug.field("capacity", &self.capacity).field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// From the keys that the standard library draws from the system: two outputs of a keyed hash with a secret key. `getrandom`
/// would be a compile error on `wasm32-unknown-unknown`, where this crate builds without its features, and could fail
/// where [`AuditLogBuilder::build`] cannot.
fn random_key() -> [u8; 16] {
    let random = RandomState::new();
    let halves = [random.hash_one(0), random.hash_one(1)].map(u64::to_le_bytes);
    std::array::from_fn(|i| halves[i / 8][i % 8])
}

/// The record of a call. As JSON it leaves out what is `None`.
///
/// Names and IDs of more than 256 bytes are cut, and end in `…`.
///
/// ```
/// use mcp_registry::AuditLog;
/// use mcp_registry::observe::CallOutcome;
///
/// fn denied(log: &AuditLog) -> Vec<String> {
///     let records = log.records();
///     let denied = records.iter().filter(|record| record.outcome == CallOutcome::Denied);
///     denied.map(|record| record.tool.clone()).collect()
/// }
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AuditRecord {
    /// When the call started; as JSON in RFC 3339 with milliseconds.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// The tool's canonical name; if there is no such tool, the name in the call.
    pub tool: String,
    /// The name in the call, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_as: Option<String>,
    /// A keyed hash of the arguments, whatever the order of their names: SipHash-2-4 of 128 bits, 32 hex digits.
    pub arguments_hash: String,
    /// The caller, if the embedding server sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The ID of the request, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How it ended; as JSON in [one word](CallOutcome::as_str).
    pub outcome: CallOutcome,
    /// The duration in milliseconds.
    pub ms: f64,
    /// The machine-readable type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The ID that the caller got in place of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

impl AuditRecord {
    fn from_record(record: &CallRecord<'_>, mut hasher: SipHasher24) -> Self {
        record.hash_arguments(&mut hasher);
        Self {
            time: record.time,
            tool: record.tool.to_owned(),
            called_as: (record.called_as != record.tool).then(|| record.called_as.to_owned()),
            arguments_hash: format!("{:032x}", hasher.finish128().as_u128()),
            caller: record.caller.map(str::to_owned),
            request_id: record.request_id.map(str::to_owned),
            outcome: record.outcome,
            ms: millis(record.duration),
            error_type: record.error_type.map(str::to_owned),
            correlation_id: record.correlation_id.map(str::to_owned),
        }
    }
}

/// The record of a request that a server rejected, or of several. As JSON it leaves out what is `None`, and the
/// count of one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RejectionRecord {
    /// When it was rejected; as JSON in RFC 3339 with milliseconds.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// Why; as JSON in [one word](RejectionReason::as_str), under the name `rejected`.
    #[serde(rename = "rejected")]
    pub reason: RejectionReason,
    /// The host or origin that is not allowed, or the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The address that the request came from, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<SocketAddr>,
    /// How many requests it stands for.
    #[serde(skip_serializing_if = "is_one")]
    pub count: u64,
}

impl RejectionRecord {
    fn from_rejection(rejection: &Rejection<'_>) -> Self {
        let Rejection { time, reason, detail, client, count } = *rejection;
        Self { time, reason, detail: detail.map(|detail| truncated(detail).into_owned()), client, count }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

/// A clock that is set to before 1970 or after 9999 is shown as the nearest time that has four digits.
fn as_rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    serializer.collect_str(&humantime::format_rfc3339_millis(UNIX_EPOCH + since))
}

/// What the handles of a log share. It holds the only end of the queue that is written to, so that the writer ends with
/// the last handle.
struct Log {
    /// Has the key, and nothing else yet.
    hasher: SipHasher24,
    capacity: usize,
    /// How long to wait for the writer.
    flush_timeout: Duration,
    queue: Option<SyncSender<Line>>,
    shared: Arc<Shared>,
}

impl Log {
    fn add(&self, line: Line) {
        // Queueing under the lock keeps the file in the order of the memory, and the counts in step with the queue.
        let mut state = self.shared.lock();
        if let Some(queue) = &self.queue {
            if queue.try_send(line.clone()).is_ok() {
                state.queued += 1;
            } else {
                let queued = state.queued;
                state.drop_records(1, queued);
            }
        }
        match line {
            Line::Call(record) => keep(&mut state.records, record, self.capacity),
            Line::Rejection(record) => keep(&mut state.rejections, record, self.capacity),
        }
    }
}

/// Keeps the newest, and only so many.
fn keep<T>(kept: &mut VecDeque<T>, record: T, capacity: usize) {
    kept.push_back(record);
    if kept.len() > capacity {
        kept.pop_front();
    }
}

/// What is written as one line.
#[derive(Clone)]
enum Line {
    Call(Arc<AuditRecord>),
    Rejection(Arc<RejectionRecord>),
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Call(record) => record.as_ref().serialize(serializer),
            Self::Rejection(record) => record.as_ref().serialize(serializer),
        }
    }
}

impl Drop for Log {
    /// Lets the writer finish, but waits for it only until the timeout: it may be blocked for ever.
    fn drop(&mut self) {
        if self.queue.take().is_some() {
            drop(self.shared.wait_while(self.flush_timeout, |state| !state.has_ended));
        }
    }
}

/// What a log and its writer share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the writer makes progress.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    records: VecDeque<Arc<AuditRecord>>,
    rejections: VecDeque<Arc<RejectionRecord>>,
    /// How many records were queued.
    queued: u64,
    /// How many of those were written or dropped.
    handled: u64,
    /// How many of those were handled when the file was last complete, or said what is missing.
    flushed: u64,
    dropped: u64,
    /// How many of the dropped ones the file does not mention yet.
    unreported: u64,
    /// Mention them when so many are handled: the others came before.
    report_after: u64,
    /// The writer's thread has ended.
    has_ended: bool,
}

impl State {
    fn drop_records(&mut self, count: u64, report_after: u64) {
        if count > 0 {
            self.report_after = if self.unreported == 0 { report_after } else { self.report_after.min(report_after) };
            self.dropped += count;
            self.unreported += count;
        }
    }

    /// How many dropped records to report now that so many are handled.
    fn take_unreported(&mut self, handled: u64) -> u64 {
        if handled < self.report_after { 0 } else { std::mem::take(&mut self.unreported) }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits while the condition holds, at most for the timeout.
    fn wait_while(&self, timeout: Duration, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Marks the writer's thread as ended, however it ends.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

/// The writer's thread.
struct Writer {
    sink: Sink,
    queue: Receiver<Line>,
    shared: Arc<Shared>,
}

impl Writer {
    /// Writes what is queued until the last handle is gone.
    fn run(mut self) {
        let mut lines = Vec::new();
        while let Ok(first) = self.queue.recv() {
            let mut count = 0;
            for record in iter::once(first).chain(self.queue.try_iter()).take(BATCH) {
                add_line(&mut lines, &record);
                count += 1;
            }
            self.write(&lines, count);
            lines.clear();
        }
        // One more chance for what could not be written.
        self.write(&[], 0);
    }

    /// Writes the lines of so many records, then how many are missing, and flushes.
    fn write(&mut self, lines: &[u8], count: u64) {
        let lost = self.sink.write(lines);
        let handled = self.shared.lock().handled + count;
        let is_reported = self.report_lost(lost, handled);
        let is_complete = self.sink.flush() && is_reported;
        let mut state = self.shared.lock();
        state.handled = handled;
        if is_complete {
            state.flushed = handled;
        }
        self.shared.changed.notify_all();
    }

    /// Writes how many are missing, with those that were just lost; whether that could be written.
    fn report_lost(&mut self, lost: u64, handled: u64) -> bool {
        let unreported = {
            let mut state = self.shared.lock();
            state.drop_records(lost, handled);
            state.take_unreported(handled)
        };
        if unreported == 0 {
            return true;
        }
        let mut line = Vec::new();
        add_line(&mut line, &Missing { time: SystemTime::now(), dropped: unreported });
        let is_reported = self.sink.write(&line) == 0;
        if !is_reported {
            self.shared.lock().unreported += unreported;
        }
        is_reported
    }
}

/// The line that says how many records are missing.
#[derive(Serialize)]
struct Missing {
    #[serde(serialize_with = "as_rfc3339")]
    time: SystemTime,
    dropped: u64,
}

fn add_line(lines: &mut Vec<u8>, line: &impl Serialize) {
    // Texts and numbers alone: nothing here can fail.
    let _ = serde_json::to_writer(&mut *lines, line);
    lines.push(b'\n');
}

/// Writes whole lines, as far as the writer lets it.
struct Sink {
    writer: Box<dyn Write + Send>,
    /// The rest of a line that the writer failed in the middle of. It comes before the next one, so that every line of
    /// the file is whole in the end.
    rest: Vec<u8>,
}

impl Sink {
    /// Writes lines; how many of them were not even begun.
    fn write(&mut self, lines: &[u8]) -> u64 {
        let written = self.push(&self.rest.clone());
        self.rest.drain(..written);
        if !self.rest.is_empty() {
            return count(lines);
        }
        let written = self.push(lines);
        let (done, mut left) = lines.split_at(written);
        if done.last().is_some_and(|last| *last != b'\n') {
            let end = left.iter().position(|byte| *byte == b'\n').map_or(left.len(), |end| end + 1);
            self.rest = left[..end].to_vec();
            left = &left[end..];
        }
        count(left)
    }

    /// Writes until all is written or the writer fails; how many bytes it took.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match attempt(|| self.writer.write(&bytes[written..])) {
                Ok(0) => break,
                Ok(more) => written = bytes.len().min(written + more),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        written
    }

    /// Whether all that was begun is out.
    fn flush(&mut self) -> bool {
        attempt(|| self.writer.flush()).is_ok() && self.rest.is_empty()
    }
}

/// A writer that panics has failed, and may do better next time.
fn attempt<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    guard(run).unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
}

fn count(lines: &[u8]) -> u64 {
    lines.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
