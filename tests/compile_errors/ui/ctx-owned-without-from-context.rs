use mcp_core::mcp_tool;

struct Database;

#[mcp_tool]
fn tool(#[ctx] db: Database) {
    drop(db);
}

fn main() {}
