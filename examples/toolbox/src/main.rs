//! Links the tools of two crates into one program: an MCP server for hosts, a command line for people.
//!
//! The workspace is the current directory, or `TOOLBOX_ROOT`.

use std::process::ExitCode;

use file_utility::Workspace;
use mcp_registry::RegistryBuilder;
use mcp_registry::cli::Cli;
use memory::Memory;

mcp_registry::link_tools!(file_utility, memory);

fn main() -> ExitCode {
    Cli::new().info(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state(open).run()
}

/// What the tools need to be called.
async fn open(builder: RegistryBuilder) -> mcp_registry::Result<RegistryBuilder> {
    let root = std::env::var("TOOLBOX_ROOT").unwrap_or_else(|_| ".".to_owned());
    let workspace =
        Workspace::open(&root).map_err(|error| format!("the workspace {root:?}: {error}; set TOOLBOX_ROOT"))?;
    Ok(builder.state(workspace).state(Memory::default()).expect_tools([("file-utility", 1), ("memory", 4)]))
}
