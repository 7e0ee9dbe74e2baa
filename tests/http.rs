//! Served over HTTP: seen from a raw socket, as a service, and by rmcp's client.

#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps, reason = "tools take what they take")]

#[path = "http/access.rs"]
mod access;
#[path = "http/headers.rs"]
mod headers;
#[path = "http/hostile.rs"]
mod hostile;
#[path = "http/messages.rs"]
mod messages;
#[path = "http/served.rs"]
mod served;
#[path = "http/sessions.rs"]
mod sessions;
#[path = "http/wire.rs"]
mod wire;
