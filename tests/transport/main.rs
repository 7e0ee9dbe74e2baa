//! Bytes in and out: stdio and HTTP.

mod http;
mod rmcp_client;
mod stdio;
