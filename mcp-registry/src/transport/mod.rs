//! Bytes in and out: connections, back-pressure, shutdown, and who may connect.

#[cfg(feature = "http")]
pub mod http;
pub(crate) mod queue;
pub(crate) mod signals;
#[cfg(feature = "stdio")]
pub mod stdio;
