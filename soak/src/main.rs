//! Sends millions of good and hostile calls to real servers, over stdio and HTTP in all protocol versions, and counts the
//! answers. `docs/reliability.md` explains what it prints.
//!
//! `cargo run --release -p mcp-soak -- --calls 1000000`

mod amplification;
mod client_http;
mod client_stdio;
mod mix;
mod process;
mod report;
mod server;

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use mix::VERSIONS;
use report::{CALLS, SERVERS, Tallies, shown};

const USAGE: &str = "usage: mcp-soak [--calls N] [--minutes N] [--markdown FILE]

  --calls N        make N calls (default: 1000000)
  --minutes N      give up after N minutes (default: 60)
  --markdown FILE  write the report between the markers `<!-- soak:begin -->` and `<!-- soak:end -->` of FILE";

const BEGIN: &str = "<!-- soak:begin -->\n";
const END: &str = "<!-- soak:end -->";

struct Options {
    calls: u64,
    minutes: u64,
    markdown: Option<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some(how @ ("serve-stdio" | "serve-http")) => {
            let max_message = words.get(1).and_then(|bytes| bytes.parse().ok());
            server::serve(how == "serve-http", max_message).map(|()| true)
        }
        _ => match options(&words) {
            Some(options) => run(&options),
            None => Err(io::Error::other(USAGE)),
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options { calls: 1_000_000, minutes: 60, markdown: None };
    for pair in words.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--calls" => options.calls = value.parse().ok().filter(|calls| *calls >= 1000)?,
            "--minutes" => options.minutes = value.parse().ok()?,
            "--markdown" => options.markdown = Some(value.clone()),
            _ => return None,
        }
    }
    Some(options)
}

/// Makes the calls and prints the report; false if anything went wrong.
fn run(options: &Options) -> io::Result<bool> {
    let started = Instant::now();
    process::watch(Duration::from_secs(options.minutes * 60));
    let (mut stdio, mut http) = (Tallies::default(), Tallies::default());
    let (mut all_vitals, mut problems) = (Vec::new(), Vec::new());
    // A quarter in each version over stdio, and a quarter in all versions over HTTP.
    let share = options.calls / 4;
    for version in VERSIONS {
        let disconnects = (share / 2500).clamp(3, 100);
        let soaked = client_stdio::soak(version, share, &mut stdio).and_then(|vitals| {
            all_vitals.push(vitals);
            client_stdio::disconnect(version, disconnects, &mut stdio)
        });
        problems.extend(soaked.err().map(|error| format!("stdio, {version}: {error}")));
    }
    stdio.silent_cancelled();
    match client_http::soak(options.calls - 3 * share, &mut http) {
        Ok(vitals) => all_vitals.push(vitals),
        Err(error) => problems.push(format!("HTTP: {error}")),
    }

    let mut tables = String::new();
    let calls = stdio.calls() + http.calls();
    let (off_stdio, off_http) = (stdio.off_deadline(), http.off_deadline());
    tables.push_str(CALLS);
    stdio.write("stdio", &mut tables, &mut problems);
    http.write("HTTP", &mut tables, &mut problems);
    let _ = writeln!(
        tables,
        "\nThe slow calls have a deadline of {}; the largest |answer − deadline| was {} over stdio and {} over HTTP.\n",
        shown(server::DEADLINE),
        shown(off_stdio),
        shown(off_http)
    );
    tables.push_str(SERVERS);
    for vitals in &all_vitals {
        vitals.write(&mut tables, &mut problems);
    }
    tables.push('\n');
    let took = started.elapsed();
    amplification::measure(&mut tables, &mut problems);

    let mut report = format!("{}\n{calls} calls in {}.\n\n{tables}\n", origin(), shown(took));
    match problems.as_slice() {
        [] => report.push_str("Nothing was lost, duplicated or wrong, and nothing grows.\n"),
        problems => {
            report.push_str("**Failed:**\n\n");
            report.extend(problems.iter().map(|problem| format!("- {problem}\n")));
        }
    }
    println!("{report}");
    if let Some(file) = &options.markdown {
        rewrite(file, &report)?;
    }
    Ok(problems.is_empty())
}

/// The command, the commit and the machine.
fn origin() -> String {
    let command: Vec<String> = env::args().skip(1).collect();
    let git = Command::new("git").args(["describe", "--always", "--dirty", "--exclude", "*"]).output();
    let commit = git.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default();
    format!(
        "`cargo run --release -p mcp-soak -- {}` at commit {}, on {} cores with {} GB.",
        command.join(" "),
        String::from_utf8_lossy(&commit).trim(),
        thread::available_parallelism().map_or(0, usize::from),
        memory.div_ceil(1024 * 1024)
    )
}

/// Replaces what is between the markers of a file.
fn rewrite(file: &str, report: &str) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    let missing =
        || io::Error::other(format!("`{file}` does not have the markers; add `{}` and `{END}`", BEGIN.trim()));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    fs::write(file, format!("{before}{BEGIN}\n{report}\n{END}{after}"))
}
