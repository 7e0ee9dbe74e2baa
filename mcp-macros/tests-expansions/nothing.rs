fn nothing() {}
#[doc(hidden)]
#[allow(deprecated, non_upper_case_globals, unit_bindings, unused_qualifications)]
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
        __mcp::read_arguments(__args.json, &__MCP_PARAMS, false, &mut [])?;
        if __args.stops_after_reading() {
            return __mcp::Ok(__mcp::Returned::Nothing);
        }
        let __returned = nothing();
        let __value = __mcp::Outcome::of(&__returned).kind().split(__returned)?;
        __mcp::Success::of(&__value).write(__value, __out)
    }
    const __MCP_CALL: __mcp::Call = __mcp::Call::Sync(__mcp_call);
    fn __mcp_output(
        __with_schema: bool,
    ) -> (__mcp::Shape, __mcp::Option<__mcp::OutputSchema>) {
        let __success = __mcp::Outcome::by(|| nothing()).kind().success();
        let __shape = __success.shape();
        let __schema = if __with_schema {
            __success.schema(&__shape)
        } else {
            __mcp::None
        };
        (__shape, __schema)
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
            __MCP_CALL,
        )
        .params(&__MCP_PARAMS)
        .output(|| __mcp_output(true).1, || __mcp_output(false).0);
    __mcp::inventory::submit! {
        __mcp::Registration(& __MCP_ENTRY)
    }
    &__MCP_ENTRY
};
