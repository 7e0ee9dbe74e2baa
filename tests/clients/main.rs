//! The entry points for others: the command line, and servers built with rmcp.

mod cli;
mod contract;
mod rmcp_server;
mod spec;
