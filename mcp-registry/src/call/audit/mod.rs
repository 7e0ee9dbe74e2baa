//! The audit log: who called which tool when, and how the call ended; in memory, and as lines of JSON.

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

/// The maximum number of records that are written before a flush.
const BATCH: usize = 256;

/// The last second of the year 9999.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Records who called which tool when, and how the call ended. Add it with
/// [`RegistryBuilder::observer`](crate::registry::builder::RegistryBuilder::observer); a clone is a handle to the same
/// log.
///
/// The last 1,024 records are kept in memory. [`jsonl`](Self::jsonl) also writes every record as a line of JSON:
///
/// ```json
/// {"time":"2026-07-28T09:30:00.125Z","tool":"calc.add","arguments_hash":"b06f…","outcome":"success","ms":0.25}
/// ```
///
/// - **A call never waits for the writer**, which has its own thread and a queue of 4,096 records. If the queue is full
///   or the writer fails, records are dropped; when the writer has caught up, a line `{"time": …, "dropped": 3}` says
///   how many are missing.
/// - **Arguments are not logged**, only a keyed hash of them, which is equal for equal arguments. Error messages are
///   not logged either, because they may quote arguments; another [`Observer`], `tracing` or stderr has them under the
///   `correlation_id`.
/// - **Requests that a server rejects are logged**, such as those with a wrong token: a line
///   `{"time": …, "rejected": "wrong_token", "client": "192.0.2.7:4711"}`, with a `count` if it covers several
///   requests. The token is not logged. [`rejections`](Self::rejections) returns the last 1,024.
/// - Dropping the last handle writes the queued records, and waits at most two seconds for that. Before
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
    /// A log that keeps the last 1,024 records in memory and writes nothing.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A log that keeps the last 1,024 records in memory, and writes each record as a line of JSON.
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

    /// Configures a log with other sizes, or with your own key.
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

    /// The number of records that were not written because the queue was full or the writer failed.
    pub fn dropped(&self) -> u64 {
        self.0.shared.lock().dropped
    }

    /// Waits until all queued records are written and flushed, at most two seconds. Returns `false` if that was not
    /// enough time, or if the writer failed. After `true`, the file has every record so far, or says how many are
    /// missing.
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

/// Configures an [`AuditLog`].
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
    /// Sets how many records to keep in memory (default: 1,024).
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records;
        self
    }

    /// Sets how many records, at least one, may wait for the writer (default: 4,096).
    pub fn queue(mut self, records: usize) -> Self {
        self.queue = records.max(1);
        self
    }

    /// Sets the key for the hashes of arguments (default: a random key for each log). Logs with the same key can be
    /// compared; anyone who knows the key can find arguments by trying them out.
    pub fn key(mut self, key: [u8; 16]) -> Self {
        self.key = Some(key);
        self
    }

    /// Builds a log that is only in memory.
    pub fn build(self) -> AuditLog {
        self.log(None, Arc::default())
    }

    /// Builds a log that also writes each record as a line of JSON, on its own thread.
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

/// Derives a key from the random keys of the standard library: two outputs of a hash with a secret key. `getrandom`
/// would be a compile error on `wasm32-unknown-unknown`, where this crate builds without its features, and could fail,
/// but [`AuditLogBuilder::build`] cannot.
fn random_key() -> [u8; 16] {
    let random = RandomState::new();
    let halves = [random.hash_one(0), random.hash_one(1)].map(u64::to_le_bytes);
    std::array::from_fn(|i| halves[i / 8][i % 8])
}

/// The record of a call. Its JSON omits fields that are `None`.
///
/// Names and IDs of more than 256 bytes are truncated, and end in `…`.
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
    /// When the call started; in JSON as RFC 3339 with milliseconds.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// The tool's canonical name; if there is no such tool, the name in the call; empty if it has none.
    pub tool: String,
    /// The name in the call, if it is not the canonical name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_as: Option<String>,
    /// A keyed hash of the arguments: SipHash-2-4 with 128 bits, as 32 hex digits. The order of their names does not
    /// matter.
    pub arguments_hash: String,
    /// The caller, if the embedding server sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The ID of the request, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How the call ended; in JSON as [one word](CallOutcome::as_str).
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

/// The record of one or more requests that a server rejected. Its JSON omits fields that are `None`, and a count of
/// one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RejectionRecord {
    /// When the request was rejected; in JSON as RFC 3339 with milliseconds.
    #[serde(serialize_with = "as_rfc3339")]
    pub time: SystemTime,
    /// The reason; in JSON as [one word](RejectionReason::as_str), under the name `rejected`.
    #[serde(rename = "rejected")]
    pub reason: RejectionReason,
    /// The `Host` or origin that is not allowed, or the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The address that the request came from, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<SocketAddr>,
    /// The number of rejected requests.
    #[serde(skip_serializing_if = "is_one")]
    pub count: u64,
}

impl RejectionRecord {
    fn from_rejection(rejection: &Rejection<'_>) -> Self {
        let Rejection { time, reason, detail, client, count } = *rejection;
        Self { time, reason, detail: detail.map(|detail| truncated(detail).into_owned()), client, count }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

/// A time before 1970 or after 9999 is replaced by the nearest time in between.
fn as_rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    serializer.collect_str(&humantime::format_rfc3339_millis(UNIX_EPOCH + since))
}

/// Shared by the handles of a log. It holds the only sender of the queue, so that the writer ends with the last handle.
struct Log {
    /// A hasher with only the key, to be cloned for each record.
    hasher: SipHasher24,
    capacity: usize,
    /// How long to wait for the writer.
    flush_timeout: Duration,
    queue: Option<SyncSender<Line>>,
    shared: Arc<Shared>,
}

impl Log {
    fn add(&self, line: Line) {
        // Sending under the lock keeps the file in the same order as the memory, and the counters consistent.
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

/// Adds a record, and removes the oldest one if there are too many.
fn keep<T>(kept: &mut VecDeque<T>, record: T, capacity: usize) {
    kept.push_back(record);
    if kept.len() > capacity {
        kept.pop_front();
    }
}

/// A line of the file.
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
    /// Waits for the writer to finish, but only until the timeout: it may be blocked for ever.
    fn drop(&mut self) {
        if self.queue.take().is_some() {
            drop(self.shared.wait_while(self.flush_timeout, |state| !state.has_ended));
        }
    }
}

/// Shared by a log and its writer.
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
    /// The number of queued records.
    queued: u64,
    /// The number of queued records that were written or dropped.
    handled: u64,
    /// The value of `handled` when the file was last complete, or said how many records are missing.
    flushed: u64,
    dropped: u64,
    /// The number of dropped records that the file does not mention yet.
    unreported: u64,
    /// Mention them when `handled` reaches this number: those records came before.
    report_after: u64,
    /// Whether the writer's thread has ended.
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

    /// The number of dropped records to report, when this number of records is handled.
    fn take_unreported(&mut self, handled: u64) -> u64 {
        if handled < self.report_after { 0 } else { std::mem::take(&mut self.unreported) }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits while the condition holds, but only until the timeout.
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
    /// Writes queued records until the last handle is dropped.
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
        // Retry what could not be written.
        self.write(&[], 0);
    }

    /// Writes the lines of `count` records, reports how many are missing, and flushes.
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

    /// Reports how many records are missing, including those that were just lost. Returns whether that succeeded.
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
    // Serialising strings and numbers to a buffer cannot fail.
    let _ = serde_json::to_writer(&mut *lines, line);
    lines.push(b'\n');
}

/// Writes complete lines, even if the writer fails now and then.
struct Sink {
    writer: Box<dyn Write + Send>,
    /// The remainder of a line during which the writer failed. It is written before the next line, so that every line
    /// is complete in the end.
    rest: Vec<u8>,
}

impl Sink {
    /// Writes lines. Returns the number of lines of which nothing was written.
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

    /// Writes until everything is written or the writer fails. Returns the number of bytes written.
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

    /// Flushes the writer. Returns whether every line that was started is complete.
    fn flush(&mut self) -> bool {
        attempt(|| self.writer.flush()).is_ok() && self.rest.is_empty()
    }
}

/// Treats a panic of the writer as an error: the next attempt may succeed.
fn attempt<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    guard(run).unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
}

fn count(lines: &[u8]) -> u64 {
    lines.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
