//! Served over HTTP: seen from a raw socket, as a service, and by rmcp's client.

#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps, reason = "tools take what they take")]

#[path = "http/access.rs"]
mod access;
#[path = "clients/rmcp.rs"]
mod clients;
#[path = "http/cors.rs"]
mod cors;
#[path = "http/crowd.rs"]
mod crowd;
#[path = "http/gone.rs"]
mod gone;
#[path = "http/headers.rs"]
mod headers;
#[path = "http/hostile.rs"]
mod hostile;
#[path = "http/masked.rs"]
mod masked;
#[path = "http/messages.rs"]
mod messages;
#[path = "http/older.rs"]
mod older;
#[cfg(unix)]
#[path = "http/process.rs"]
mod process;
#[path = "http/rejections.rs"]
mod rejections;
#[path = "http/served.rs"]
mod served;
#[path = "http/service.rs"]
mod service;
#[path = "http/sessions.rs"]
mod sessions;
#[path = "http/shutdown.rs"]
mod shutdown;
#[path = "http/streams.rs"]
mod streams;
#[path = "http/unread.rs"]
mod unread;
#[path = "http/wire.rs"]
mod wire;
#[path = "http/rmcp.rs"]
mod with_rmcp;
