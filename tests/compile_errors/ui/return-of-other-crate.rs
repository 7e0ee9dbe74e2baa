use mcp_core::mcp_tool;

#[mcp_tool]
fn tool() -> semver::Version {
    semver::Version::new(1, 0, 0)
}

fn main() {}
