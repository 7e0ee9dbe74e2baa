fn nothing() {}
#[doc(hidden)]
#[allow(
    deprecated,
    long_running_const_eval,
    non_upper_case_globals,
    unit_bindings,
    unused_qualifications
)]
#[allow(clippy::all, clippy::pedantic, clippy::nursery)]
const __mcp_tool_nothing: &::mcp_core::__private::ToolEntry = {
    use ::mcp_core::__private as __mcp;
    #[allow(unused_imports)]
    use __mcp::traits::*;
    static __MCP_PARAMS: [__mcp::Param; 0usize] = [];
    fn __mcp_call(
        __cx: &__mcp::ToolContext,
        __args: __mcp::Input<'_>,
        __out: &mut __mcp::Vec<u8>,
    ) -> __mcp::Result<__mcp::Returned, __mcp::CallError> {
        if !__args.read(__mcp::None, &__MCP_PARAMS, false, &mut [])? {
            return __mcp::Ok(__mcp::Returned::Nothing);
        }
        let __returned = nothing();
        let __kind = __mcp::Outcome::of(&__returned).kind();
        __mcp::write(__returned, __kind.failure(), __kind.success().writer(), __out)
    }
    fn __mcp_output(__with_schema: bool) -> __mcp::Output {
        let __success = __mcp::Outcome::by(|| nothing()).kind().success();
        __mcp::output(__with_schema, __success.shape(), __success.schema())
    }
    static __MCP_ENTRY: __mcp::ToolEntry = __mcp::ToolEntry::new(
            "test.nothing",
            __mcp::Origin::new(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_PKG_VERSION"),
                ::core::module_path!(),
                "nothing",
                ::core::file!(),
                ::core::line!(),
            ),
            __mcp::Call::Sync(__mcp_call),
        )
        .params(&__MCP_PARAMS)
        .output(__mcp_output);
    __mcp::inventory::submit! {
        __mcp::Registration(& __MCP_ENTRY)
    }
    &__MCP_ENTRY
};
