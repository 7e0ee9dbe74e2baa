//! Served over stdin and stdout: seen from a raw pipe, and by rmcp's client.

#[cfg(unix)]
mod drain;
mod in_memory;
mod pipes;
#[cfg(unix)]
mod process;
mod with_rmcp;
