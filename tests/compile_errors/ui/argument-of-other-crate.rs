use mcp_core::mcp_tool;

#[mcp_tool]
fn tool(a: semver::Version) {
    drop(a);
}

fn main() {}
