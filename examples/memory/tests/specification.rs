//! The specification page is up to date.

use mcp_registry::testing::assert_specification;
use mcp_registry::tools;

#[test]
fn s4_1_the_specification_is_up_to_date() {
    assert_specification("MCP_TOOL_SPECIFICATION.md", tools![memory::delete, memory::get, memory::list, memory::put]);
}
