//! The transports: stdio and HTTP.

mod http;
mod rmcp_client;
mod stdio;
