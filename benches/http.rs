//! Calls per second over HTTP, with 1 and 32 connections: the registry, and a bare axum handler that sends back what it
//! received.
//!
//! `cargo run --release -p mcp-benches --bin http`

mod adding;
mod over_http;

use std::io;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use over_http::{Served, listen, request, runtime, serve};

/// How often each figure is measured; the best one counts, because other processes share the machine.
const ROUNDS: usize = 7;

/// The same, written without the registry.
fn serve_by_hand() -> io::Result<()> {
    runtime()?.block_on(async {
        let echo = |body: Bytes| async { ([(CONTENT_TYPE, "application/json")], body) };
        axum::serve(listen().await?, axum::Router::new().route("/mcp", post(echo))).await
    })
}

async fn measure() -> io::Result<()> {
    println!("{:<20} {:<12} {:>5} {:>12} {:>12} {:>7}", "tool", "version", "conns", "calls/s", "bare axum", "ratio");
    for (tool, version, connections) in [
        ("calc_add", "2026-07-28", 1),
        ("calc_add", "2026-07-28", 32),
        ("calc_add", "2025-11-25", 32),
        ("calc_add_in_future", "2026-07-28", 32),
        ("calc_add_on_pool", "2026-07-28", 32),
    ] {
        let (served, by_hand) = (Served::start("serve")?, Served::start("hand")?);
        let request = request(version, tool);
        let (mut best, mut best_by_hand) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            best = best.max(served.calls_a_second(&request, connections).await?);
            best_by_hand = best_by_hand.max(by_hand.calls_a_second(&request, connections).await?);
        }
        println!(
            "{tool:<20} {version:<12} {connections:>5} {best:>12.0} {best_by_hand:>12.0} {:>7.2}",
            best / best_by_hand
        );
    }
    Ok(())
}

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(),
        Some("hand") => serve_by_hand(),
        _ => runtime()?.block_on(measure()),
    }
}
