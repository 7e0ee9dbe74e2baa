//! The server over stdin and stdout: through a raw pipe, and with rmcp's client.

#[cfg(unix)]
mod drain;
mod in_memory;
mod pipes;
#[cfg(unix)]
mod process;
mod with_rmcp;
