fn nothing() {}
#[doc(hidden)]
#[allow(
    non_upper_case_globals,
    missing_docs,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]
static __mcp_tool_nothing: ::mcp_core::__private::ToolEntry = {
    use ::mcp_core::__private as __mcp;
    #[allow(unused_imports)]
    use __mcp::traits::*;
    fn __mcp_call(
        __cx: &__mcp::ToolContext,
        __args: __mcp::Input<'_>,
        __out: &mut __mcp::Vec<u8>,
    ) -> __mcp::Result<__mcp::Returned, __mcp::CallError> {
        __mcp::read_arguments(__args.json, &[], false, &mut [])?;
        if __args.is_read() {
            return __mcp::Ok(__mcp::Returned::Nothing);
        }
        let __returned = nothing();
        let __value = __mcp::Outcome::of(&__returned).kind().split(__returned)?;
        __mcp::Success::of(&__value).write(__value, __out)
    }
    const __MCP_CALL: __mcp::Call = __mcp::Call::Sync(__mcp_call);
    __mcp::ToolEntry::new(
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
        .output_schema(|| {
            __mcp::Outcome::<()>::NEW
                .kind()
                .success()
                .schema(&__mcp::Outcome::<()>::NEW.kind().success().shape())
        })
        .output_shape(|| __mcp::Outcome::<()>::NEW.kind().success().shape())
};
const _: () = {
    ::mcp_core::__private::inventory::submit! {
        ::mcp_core::__private::Registration(& __mcp_tool_nothing)
    }
};
