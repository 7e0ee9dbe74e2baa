//! The same tools, served by this library, by rmcp and by hand-written code, and clients that measure them.
//!
//! `measure.py` runs this program; `.ci/peers` is the command for people.

mod cases;
mod hand;
mod load;
mod ours;
mod rmcp_server;

use std::io;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

const USAGE: &str = "usage:
  peers serve-stdio WHO TOOLS
  peers serve-http WHO TOOLS
  peers in-process WHO CASE TOOLS COUNT|SECONDSs
  peers load-stdio IN_FLIGHT COUNT|SECONDSs COMMAND…
  peers load-http CONNECTIONS SECONDSs COMMAND…
  peers startup COMMAND…
WHO is hand, inline, async, plain, rmcp or rmcp-readme; CASE is add, bad, deep, list, params:N, argument:BYTES or result:BYTES";

/// How long something is repeated.
#[derive(Clone, Copy)]
enum Amount {
    Calls(u64),
    Seconds(f64),
}

impl Amount {
    fn parse(text: &str) -> io::Result<Self> {
        match text.strip_suffix('s') {
            Some(seconds) => Ok(Self::Seconds(number(seconds)?)),
            None => Ok(Self::Calls(number(text)?)),
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.parse().map_err(|_| io::Error::other(format!("not a number: `{text}`\n{USAGE}")))
}

/// One worker for every server, so that the client has the other core of a small machine.
fn server_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Listens on a free local port and prints its address.
async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Answers one message, from bytes to bytes.
trait Exchange {
    async fn exchange(&mut self, message: &[u8], out: &mut Vec<u8>) -> io::Result<()>;
}

/// Sends the same message over and over, and prints the wall and CPU time of one call.
fn in_process(who: &str, case: &str, tools: usize, amount: Amount) -> io::Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        match who {
            "hand" => repeat(hand::Server::new(tools), case, amount).await,
            "rmcp" => repeat(rmcp_server::connect(rmcp_server::Field::new(tools)).await?, case, amount).await,
            "rmcp-readme" => repeat(rmcp_server::connect(rmcp_server::Readme::new(tools)).await?, case, amount).await,
            _ => repeat(ours::InProcess::new(who, tools)?, case, amount).await,
        }
    })
}

async fn repeat(mut server: impl Exchange, case: &str, amount: Amount) -> io::Result<()> {
    const WARM_UP: u64 = 20;
    let mut out = Vec::new();
    server.exchange(cases::INITIALIZE.as_bytes(), &mut out).await?;
    let message = cases::message(case, 7)?;
    out.clear();
    server.exchange(message.as_bytes(), &mut out).await?;
    cases::check(case, &out)?;
    let started = Instant::now();
    for _ in 0..WARM_UP {
        out.clear();
        server.exchange(message.as_bytes(), &mut out).await?;
    }
    let calls = match amount {
        Amount::Calls(calls) => calls,
        Amount::Seconds(seconds) => calls_in(seconds, WARM_UP, started),
    };
    let (started, cpu) = (Instant::now(), load::cpu_nanos(std::process::id())?);
    for _ in 0..calls {
        out.clear();
        server.exchange(std::hint::black_box(message.as_bytes()), &mut out).await?;
    }
    let (wall, cpu) = (started.elapsed(), load::cpu_nanos(std::process::id())? - cpu);
    let calls = load::float(calls);
    println!(r#"{{"ns": {:.1}, "cpu_ns": {:.1}}}"#, wall.as_secs_f64() * 1e9 / calls, load::float(cpu) / calls);
    Ok(())
}

/// An estimate of how many calls fit into a time, from the first ones.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn calls_in(seconds: f64, calls: u64, since: Instant) -> u64 {
    (seconds / since.elapsed().as_secs_f64() * load::float(calls)).ceil() as u64
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve-stdio", "hand", tools] => hand::Server::new(number(tools)?).serve_stdio(),
        ["serve-http", "hand", tools] => hand::Server::new(number(tools)?).serve_http(),
        ["serve-stdio", "rmcp", tools] => rmcp_server::serve_stdio(rmcp_server::Field::new(number(tools)?), true),
        ["serve-http", "rmcp", tools] => rmcp_server::serve_http(rmcp_server::Field::new(number(tools)?)),
        ["serve-stdio", "rmcp-readme", tools] => {
            rmcp_server::serve_stdio(rmcp_server::Readme::new(number(tools)?), false)
        }
        ["serve-http", "rmcp-readme", tools] => rmcp_server::serve_http(rmcp_server::Readme::new(number(tools)?)),
        ["serve-stdio", who, tools] => ours::serve_stdio(who, number(tools)?),
        ["serve-http", who, tools] => ours::serve_http(who, number(tools)?),
        ["in-process", who, case, tools, amount] => in_process(who, case, number(tools)?, Amount::parse(amount)?),
        ["load-stdio", in_flight, amount, ref command @ ..] => {
            load::stdio(number(in_flight)?, Amount::parse(amount)?, command)
        }
        ["load-http", connections, amount, ref command @ ..] => {
            load::http(number(connections)?, Amount::parse(amount)?, command)
        }
        ["startup", ref command @ ..] => load::startup(command),
        _ => Err(io::Error::other(USAGE)),
    }
}
