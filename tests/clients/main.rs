//! The entry points for others: the command line, and servers built with rmcp.

mod cli;
mod rmcp_server;
