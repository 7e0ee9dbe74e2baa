use mcp_core::tools;

mod calc {
    use mcp_core::mcp_tool;

    #[mcp_tool]
    pub fn add(a: i32) -> i32 {
        a
    }
}

use calc::add;

fn main() {
    add(1);
    let _ = tools![add];
}
