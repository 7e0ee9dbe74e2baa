//! Child processes, what they use, and a watchdog over all of it.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio, exit};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a call, or the end of a process, is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long a server may take to become idle.
const SETTLE: Duration = Duration::from_secs(15);

/// A server. It is killed when it is dropped.
pub(crate) struct Process(pub(crate) Child);

/// What a process uses.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
    /// The most that it ever was.
    pub(crate) peak: u64,
    pub(crate) threads: u64,
    pub(crate) files: u64,
    /// Time on the processors.
    pub(crate) cpu: Duration,
}

impl Process {
    /// Starts this program as a server that accepts messages of this many bytes (default: that of servers).
    pub(crate) fn start(how: &str, max_message: Option<usize>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(how).args(max_message.map(|bytes| bytes.to_string()));
        if how == "serve-http" {
            // Clients are not told why a tool panicked; the server logs it, for each call.
            command.stderr(Stdio::null());
        }
        Ok(Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?))
    }

    /// Starts a server over HTTP, and returns its address.
    pub(crate) fn start_http(max_message: Option<usize>) -> io::Result<(Self, SocketAddr)> {
        let mut process = Self::start("serve-http", max_message)?;
        let mut address = String::new();
        let output = process.0.stdout.take().ok_or_else(|| io::Error::other("the server has no stdout"))?;
        BufReader::new(output).read_line(&mut address)?;
        Ok((process, address.trim().parse().map_err(io::Error::other)?))
    }

    pub(crate) fn sample(&self) -> io::Result<Sample> {
        let of = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.0.id()));
        let (status, stat) = (of("status")?, of("stat")?);
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
        };
        // Behind the name, which is in parentheses; in hundredths of a second.
        let ticks = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        Ok(Sample {
            memory: number("VmRSS:") * 1024,
            peak: number("VmHWM:") * 1024,
            threads: number("Threads:"),
            files: fs::read_dir(format!("/proc/{}/fd", self.0.id()))?.count() as u64,
            cpu: Duration::from_millis(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10),
        })
    }

    /// Adds a sample after a quarter of the calls. At the end, it waits some seconds for the threads and files that were
    /// not in use after the first quarter to go.
    pub(crate) fn sample_quarter(&self, samples: &mut Vec<Sample>) -> io::Result<()> {
        let started = Instant::now();
        loop {
            thread::sleep(Duration::from_millis(200));
            let sample = self.sample()?;
            let has_settled = match samples[..] {
                [_, early, _, _] => sample.threads <= early.threads && sample.files <= early.files,
                _ => true,
            };
            if has_settled || started.elapsed() > SETTLE {
                samples.push(sample);
                return Ok(());
            }
        }
    }

    /// Waits until the process ends by itself.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(io::Error::other("the server does not end"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks how many calls are running, until there are none or for some seconds.
pub(crate) fn until_none_runs(mut ask: impl FnMut() -> io::Result<i64>) -> io::Result<i64> {
    let started = Instant::now();
    loop {
        let running = ask()?;
        if running == 0 || started.elapsed() > SETTLE {
            return Ok(running);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Moves on with every answer.
static PROGRESS: AtomicU64 = AtomicU64::new(0);
static WAITING_FOR: Mutex<String> = Mutex::new(String::new());

/// Reports the current step, on stderr and to the watchdog.
pub(crate) fn waiting_for(what: String) {
    eprintln!("soak: {what}");
    progress();
    *WAITING_FOR.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

pub(crate) fn progress() {
    PROGRESS.fetch_add(1, Relaxed);
}

/// Ends the program if there is no progress for too long, or if all of it takes too long.
pub(crate) fn watch(limit: Duration) {
    thread::spawn(move || {
        let (started, mut moved, mut before) = (Instant::now(), Instant::now(), 0);
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = PROGRESS.load(Relaxed);
            if now != before {
                (moved, before) = (Instant::now(), now);
            }
            let why = if started.elapsed() > limit {
                format!("not done after {} s", limit.as_secs())
            } else if moved.elapsed() > 4 * PATIENCE {
                format!("nothing has moved for {} s", moved.elapsed().as_secs())
            } else {
                continue;
            };
            eprintln!(
                "soak: {why}; it was waiting for: {}",
                WAITING_FOR.lock().unwrap_or_else(PoisonError::into_inner)
            );
            exit(1);
        }
    });
}
