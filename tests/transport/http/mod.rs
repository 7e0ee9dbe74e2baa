//! The server over HTTP: through a raw socket, as a service, and with rmcp's client.

#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps, reason = "tools take what they take")]

mod access;
mod cancellation;
mod connection_limit;
mod cors;
mod disconnects;
mod headers;
mod masked_errors;
mod messages;
mod older_versions;
#[cfg(unix)]
mod process;
mod refused_calls;
mod rejections;
mod served;
mod service;
mod sessions;
mod shutdown;
mod streams;
mod unread_streams;
mod untrusted_input;
mod wire;
mod with_rmcp;
