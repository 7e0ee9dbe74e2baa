//! Calls over stdin and stdout, many in flight.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::ops::Range;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::mix::{Answer, Call, Kind, MAX_MESSAGE, VERSIONS, number_in, write_call, write_cancel, write_initialize};
use crate::process::{PATIENCE, Process, progress, until_none_runs, waiting_for};
use crate::report::{Tallies, Vitals};

/// How many calls are in flight at most.
const WINDOW: usize = 256;
/// A call is cancelled when so many others have been sent that are to be cancelled.
const CANCEL_AFTER: usize = 4;

/// A server and its pipes.
struct Connection {
    process: Process,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    /// What was read and is no whole line yet.
    rest: Vec<u8>,
    version: &'static str,
}

/// What has been sent and not been answered.
#[derive(Default)]
struct InFlight {
    calls: HashMap<u64, Instant>,
    /// Malformed and oversized messages, which are answered in order and without an id.
    malformed: VecDeque<(u64, Instant)>,
    oversized: VecDeque<(u64, Instant)>,
    /// Cancelled calls that were answered all the same.
    late: HashSet<u64>,
    all_sent: bool,
}

impl InFlight {
    fn len(&self) -> usize {
        self.calls.len() + self.malformed.len() + self.oversized.len()
    }
}

/// Starts a server that speaks the version.
fn open(version: &str) -> io::Result<(Process, ChildStdin, BufReader<ChildStdout>)> {
    let mut process = Process::start("serve-stdio", Some(MAX_MESSAGE))?;
    let pipes = process.0.stdin.take().zip(process.0.stdout.take());
    let (mut input, output) = pipes.ok_or_else(|| io::Error::other("the server has no pipes"))?;
    let mut output = BufReader::new(output);
    if version != VERSIONS[0] {
        let mut message = Vec::new();
        write_initialize(&mut message, version);
        message.push(b'\n');
        input.write_all(&message)?;
        output.read_line(&mut String::new())?;
        input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    }
    Ok((process, input, output))
}

impl Connection {
    fn start(version: &'static str) -> io::Result<Self> {
        let (process, input, output) = open(version)?;
        Ok(Self { process, input: Some(input), output: read_all(output), rest: Vec::new(), version })
    }

    fn send(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        message.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&message)
    }

    /// Reads one line.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Ok(self.rest.drain(..=end).collect());
            }
            let more = self.output.recv_timeout(PATIENCE).map_err(io::Error::other)?;
            self.rest.extend_from_slice(&more);
        }
    }

    /// Sends calls that are part of the mix, and reads until each is answered.
    fn run(&mut self, numbers: Range<u64>, tallies: &mut Tallies) -> io::Result<()> {
        let (in_flight, room, version) = (Mutex::new(InFlight::default()), Condvar::new(), self.version);
        let call = |number| {
            let mut call = Call::new(number, version);
            // The last one is answered after all others were read. Disconnecting takes servers of its own.
            if number + 1 == numbers.end || call.kind == Kind::Disconnecting {
                call.kind = Kind::Good;
            }
            call
        };
        let mut input = self.input.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (mut sent, mut got) = (Tallies::default(), Tallies::default());
        let done = thread::scope(|scope| {
            let writing = scope.spawn(|| write_calls(numbers.clone(), &call, &mut input, &in_flight, &room, &mut sent));
            let read = read_answers(&self.output, &mut self.rest, &call, &in_flight, &room, &mut got);
            if read.is_err() {
                // The other thread may wait for a server that reads nothing.
                self.process.0.kill()?;
                locked(&in_flight).all_sent = true;
                room.notify_one();
            }
            let written = writing.join().map_err(|_| io::Error::other("the writing thread panicked"))?;
            read.and(written)
        });
        tallies.merge(sent);
        tallies.merge(got);
        self.input = Some(input);
        done
    }

    /// Asks until no call is running.
    fn left_running(&mut self) -> io::Result<i64> {
        let mut message = Vec::new();
        write_call(&mut message, 0, self.version, "soak_running", format_args!("{{}}"));
        until_none_runs(|| {
            self.send(message.clone())?;
            number_in(&self.line()?)
        })
    }
}

/// Reads in a thread of its own, so that one can stop waiting.
fn read_all(mut stdout: BufReader<ChildStdout>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(bytes @ 1..) = stdout.read(&mut buffer) {
            if send.send(buffer[..bytes].to_vec()).is_err() {
                break;
            }
        }
    });
    receive
}

fn locked(in_flight: &Mutex<InFlight>) -> MutexGuard<'_, InFlight> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_calls(
    mut numbers: Range<u64>,
    call: &impl Fn(u64) -> Call,
    input: &mut ChildStdin,
    in_flight: &Mutex<InFlight>,
    room: &Condvar,
    tallies: &mut Tallies,
) -> io::Result<()> {
    let (mut out, mut to_cancel) = (Vec::new(), VecDeque::new());
    loop {
        let mut state = room
            .wait_while(locked(in_flight), |state| state.len() >= WINDOW && !state.all_sent)
            .unwrap_or_else(PoisonError::into_inner);
        if state.all_sent {
            return Ok(());
        }
        let now = Instant::now();
        while state.len() < WINDOW && out.len() < 32 * 1024 {
            let Some(number) = numbers.next() else { break };
            let call = call(number);
            if numbers.is_empty() {
                // What is left to cancel goes before the last call.
                to_cancel.drain(..).for_each(|number| cancel(number, &mut out));
                state.all_sent = true;
            }
            tallies.sent(call);
            call.write(&mut out);
            out.push(b'\n');
            match call.kind {
                Kind::Malformed => state.malformed.push_back((number, now)),
                Kind::Oversized => state.oversized.push_back((number, now)),
                Kind::Cancelled => {
                    to_cancel.push_back(number);
                    if to_cancel.len() > CANCEL_AFTER {
                        to_cancel.pop_front().into_iter().for_each(|number| cancel(number, &mut out));
                    }
                }
                _ => drop(state.calls.insert(number, now)),
            }
        }
        let is_last = state.all_sent;
        drop(state);
        input.write_all(&out)?;
        out.clear();
        if is_last {
            return Ok(());
        }
    }
}

fn cancel(number: u64, out: &mut Vec<u8>) {
    write_cancel(out, number);
    out.push(b'\n');
}

fn read_answers(
    output: &Receiver<Vec<u8>>,
    rest: &mut Vec<u8>,
    call: &impl Fn(u64) -> Call,
    in_flight: &Mutex<InFlight>,
    room: &Condvar,
    tallies: &mut Tallies,
) -> io::Result<()> {
    loop {
        let more = output.recv_timeout(PATIENCE).map_err(io::Error::other)?;
        rest.extend_from_slice(&more);
        let now = Instant::now();
        progress();
        let mut state = locked(in_flight);
        let mut start = 0;
        while let Some(length) = rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = &rest[start..start + length];
            start += length + 1;
            match serde_json::from_slice::<Answer<'_>>(line) {
                Ok(answer) => settle(&answer, call, &mut state, now, tallies),
                Err(error) => tallies.problem(format!("{error}: {}", String::from_utf8_lossy(line))),
            }
        }
        rest.drain(..start);
        if state.all_sent && state.len() == 0 {
            return Ok(());
        }
        room.notify_one();
    }
}

/// Counts an answer.
fn settle(answer: &Answer<'_>, call: &impl Fn(u64) -> Call, state: &mut InFlight, now: Instant, tallies: &mut Tallies) {
    let (number, sent) = match (answer.id, answer.error.as_ref().map(|error| error.code)) {
        (Some(id), _) => (id, state.calls.remove(&id)),
        (None, Some(code)) => {
            let in_order = if code == -32700 { &mut state.malformed } else { &mut state.oversized };
            match in_order.pop_front() {
                Some((number, sent)) => (number, Some(sent)),
                None => return tallies.problem(format!("an answer to nothing: {answer:?}")),
            }
        }
        (None, None) => return tallies.problem(format!("neither an answer nor an error: {answer:?}")),
    };
    let call = call(number);
    match sent {
        Some(sent) => tallies.answered(call, now - sent, call.check(answer)),
        // Cancelled too late.
        None if call.kind == Kind::Cancelled && state.late.insert(number) => {
            tallies.answered(call, Duration::ZERO, call.check(answer));
        }
        None => tallies.duplicated(call),
    }
}

/// Makes so many calls in one version, and says what the server used.
pub(crate) fn soak(version: &'static str, calls: u64, tallies: &mut Tallies) -> io::Result<Vitals> {
    let server = format!("stdio, {version}");
    let mut connection = Connection::start(version)?;
    let mut samples = vec![connection.process.sample()?];
    for quarter in 0..4 {
        waiting_for(format!("{calls} calls over {server}, quarter {}", quarter + 1));
        connection.run(calls * quarter / 4..calls * (quarter + 1) / 4, tallies)?;
        connection.process.sample_quarter(&mut samples)?;
    }
    let left_running = connection.left_running()?;
    drop(connection.input.take());
    if !connection.process.end()?.success() {
        tallies.problem("the server does not end well with its input".to_owned());
    }
    tallies.silent_cancelled();
    Ok(Vitals { server, samples, left_running })
}

/// Starts servers and closes their pipes in the middle of a message or of a call; the next one works.
pub(crate) fn disconnect(version: &'static str, times: u64, tallies: &mut Tallies) -> io::Result<()> {
    waiting_for(format!("{times} servers over stdio, {version}, to end when they are disconnected"));
    for number in 0..times {
        progress();
        let good = Call { number, kind: Kind::Good, version };
        let gone = Call { number, kind: Kind::Disconnecting, version };
        let (mut message, mut cut) = (Vec::new(), Vec::new());
        good.write(&mut message);
        gone.write(&mut cut);
        let (mut process, mut input, mut output) = open(version)?;
        let (started, mut line) = (Instant::now(), Vec::new());
        tallies.sent(good);
        message.push(b'\n');
        input.write_all(&message)?;
        output.read_until(b'\n', &mut line)?;
        tallies.answered(good, started.elapsed(), good.check(&serde_json::from_slice(&line)?));
        tallies.sent(gone);
        let how = number % 3;
        if how == 0 {
            cut.truncate(cut.len() / 2);
        } else {
            cut.push(b'\n');
        }
        input.write_all(&cut)?;
        if how == 2 {
            drop(output);
            drop(input);
            // Nobody is left to complain about the end.
            process.end()?;
            tallies.silent(gone);
            continue;
        }
        // Only the input ends: the call in flight is answered, and half a message is malformed.
        drop(input);
        line.clear();
        output.read_to_end(&mut line)?;
        let cut = Call { kind: if how == 0 { Kind::Malformed } else { Kind::Disconnecting }, ..gone };
        tallies.answered(gone, started.elapsed(), cut.check(&serde_json::from_slice(&line)?));
        if !process.end()?.success() {
            tallies.problem("a server does not end well with its input".to_owned());
        }
    }
    Ok(())
}
