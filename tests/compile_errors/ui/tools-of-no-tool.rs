use mcp_core::tools;

fn plain() {}

fn main() {
    plain();
    let _ = tools![plain];
}
