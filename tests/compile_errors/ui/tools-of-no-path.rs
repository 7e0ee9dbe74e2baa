use mcp_core::tools;


fn main() {
    let _ = tools!["calc.add"];
}
