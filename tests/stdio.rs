//! Served over stdin and stdout: seen from a raw pipe, and by rmcp's client.

#[path = "clients/rmcp.rs"]
mod clients;
#[cfg(unix)]
#[path = "stdio/drain.rs"]
mod drain;
#[path = "stdio/memory.rs"]
mod memory;
#[path = "stdio/pipes.rs"]
mod pipes;
#[cfg(unix)]
#[path = "stdio/process.rs"]
mod process;
#[path = "stdio/rmcp.rs"]
mod with_rmcp;
