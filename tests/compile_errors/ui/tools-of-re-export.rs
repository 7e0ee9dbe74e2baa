use mcp_core::tools;

mod calc {
    use mcp_core::mcp_tool;

    #[mcp_tool]
    pub fn add(a: i32) -> i32 {
        a
    }
}

mod api {
    pub use crate::calc::add;
}

fn main() {
    api::add(1);
    let _ = tools![api::add];
}
