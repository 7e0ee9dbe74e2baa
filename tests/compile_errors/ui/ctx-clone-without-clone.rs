use mcp_core::mcp_tool;

struct Database;

#[mcp_tool]
fn tool(#[ctx(clone)] db: Database) {
    drop(db);
}

fn main() {}
