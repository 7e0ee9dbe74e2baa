//! Links the tools of two crates into one program and lists them.
//!
//! The workspace is the current directory, or `TOOLBOX_ROOT`.

use std::error::Error;

use file_utility::Workspace;
use mcp_registry::Registry;
use memory::Memory;

mcp_registry::link_tools!(file_utility, memory);

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::var("TOOLBOX_ROOT").unwrap_or_else(|_| ".".to_owned());
    let workspace =
        Workspace::open(&root).map_err(|error| format!("the workspace {root:?}: {error}; set TOOLBOX_ROOT"))?;
    let registry = Registry::builder()
        .state(workspace)
        .state(Memory::default())
        .expect_tools([("file-utility", 1), ("memory", 4)])
        .build()?;
    for tool in registry.list_registered_tools().iter() {
        println!("{:<32} {}", tool.name(), tool.description().lines().next().unwrap_or_default());
    }
    Ok(())
}
