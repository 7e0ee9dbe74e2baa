//! Calls per second over the pipes of a program, with 1 and 64 in flight: the registry, and a hand-written loop.
//!
//! `cargo run --release -p mcp-benches --bin stdio`; `.ci/instructions` counts the instructions of `stdio count`.

mod adding;
mod over_stdio;

use std::io;
use std::process::Command;

use over_stdio::{Served, serve};

/// How often each figure is measured; the best one counts, because other processes share the machine.
const ROUNDS: usize = 5;

/// The same, written without the registry.
mod by_hand {
    use std::borrow::Cow;
    use std::io::{self, BufRead, Read, Write};

    use serde::{Deserialize, Serialize};

    #[derive(Deserialize)]
    struct Request<'a> {
        id: u64,
        method: &'a str,
        #[serde(borrow)]
        params: Params<'a>,
    }

    #[derive(Deserialize)]
    struct Params<'a> {
        name: &'a str,
        arguments: Add,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Add {
        a: i64,
        b: i64,
    }

    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'static str,
        id: u64,
        result: Answer<'a>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        structured_content: Structured,
        content: [Text<'a>; 1],
        is_error: bool,
    }

    #[derive(Serialize)]
    struct Structured {
        result: i64,
    }

    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: Cow<'a, str>,
    }

    fn answer(line: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let Request { id, method, params } = serde_json::from_slice(line)?;
        let result = match (method, params.name) {
            ("tools/call", "calc_add") => super::adding::add(params.arguments.a, params.arguments.b),
            _ => return Err(io::Error::other("no such method or tool")),
        };
        let content = [Text { r#type: "text", text: result.to_string().into() }];
        let result = Answer { structured_content: Structured { result }, content, is_error: false };
        serde_json::to_writer(&mut *out, &Response { jsonrpc: "2.0", id, result })?;
        out.push(b'\n');
        Ok(())
    }

    /// Reads as much as there is, answers all of it, writes once.
    pub(super) fn serve() -> io::Result<()> {
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        let (mut buffer, mut kept, mut out) = (vec![0; 64 * 1024], 0, Vec::new());
        loop {
            let bytes = input.read(&mut buffer[kept..])?;
            if bytes == 0 {
                return Ok(());
            }
            let mut rest = &buffer[..kept + bytes];
            loop {
                let line = rest;
                let length = rest.skip_until(b'\n')?;
                if length == 0 || line[length - 1] != b'\n' {
                    let start = kept + bytes - line.len();
                    kept = line.len();
                    buffer.copy_within(start..start + kept, 0);
                    break;
                }
                answer(&line[..length - 1], &mut out)?;
            }
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
}

fn measure() -> io::Result<()> {
    println!("{:<16} {:>9} {:>12} {:>12} {:>7}", "tool", "in flight", "calls/s", "by hand", "ratio");
    for (tool, in_flight) in [
        ("calc_add", 1),
        ("calc_add", 64),
        ("calc_add_in_future", 1),
        ("calc_add_in_future", 64),
        ("calc_add_on_pool", 1),
        ("calc_add_on_pool", 64),
    ] {
        let (mut best, mut best_by_hand) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            let (mut served, mut by_hand) = (Served::start("serve")?, Served::start("hand")?);
            best = best.max(served.calls_a_second(tool, in_flight)?);
            best_by_hand = best_by_hand.max(by_hand.calls_a_second("calc_add", in_flight)?);
            served.end()?;
            by_hand.end()?;
        }
        println!("{tool:<18} {in_flight:>7} {best:>12.0} {best_by_hand:>12.0} {:>7.2}", best / best_by_hand);
    }
    Ok(())
}

/// Makes this many calls, with 64 in flight, to a server that runs under a command such as `valgrind`.
fn count(tool: &str, calls: u64, command: &[String]) -> io::Result<()> {
    let [program, options @ ..] = command else { return Err(io::Error::other("say which command runs the server")) };
    let mut command = Command::new(program);
    command.args(options).arg(std::env::current_exe()?).arg("serve");
    let mut served = Served::spawn(command)?;
    served.calls(tool, 64, |made| made < calls)?;
    served.end()
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [how, tool, calls, command @ ..] = arguments.as_slice()
        && how == "count"
    {
        return count(tool, calls.parse().map_err(io::Error::other)?, command);
    }
    match arguments.first().map(String::as_str) {
        Some("serve") => serve(),
        Some("hand") => by_hand::serve(),
        _ => measure(),
    }
}
