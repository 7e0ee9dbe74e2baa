//! The transports: connections, back-pressure, shutdown, and access control.

#[cfg(feature = "http")]
pub mod http;
pub(crate) mod queue;
pub(crate) mod signals;
#[cfg(feature = "stdio")]
pub mod stdio;
