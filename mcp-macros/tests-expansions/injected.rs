async fn search(cx: &ToolContext, db: &Db, user: User, query: String) -> Vec<Content> {
    Vec::new()
}
#[doc(hidden)]
#[allow(
    deprecated,
    long_running_const_eval,
    non_upper_case_globals,
    unit_bindings,
    unused_qualifications
)]
#[allow(clippy::all, clippy::pedantic, clippy::nursery)]
const __mcp_tool_search: &::mcp_core::__private::ToolEntry = {
    use ::mcp_core::__private as __mcp;
    #[allow(unused_imports)]
    use __mcp::traits::*;
    static __MCP_PARAMS: [__mcp::Param; 1usize] = [
        __mcp::Param::of::<String>("query").plain(__mcp::KindOf::<String>::PLAIN),
    ];
    fn __mcp_call(
        __context: __mcp::ToolContext,
        __args: __mcp::Input<'_>,
    ) -> __mcp::Result<__mcp::Option<__mcp::ToolFuture>, __mcp::CallError> {
        let mut __a0 = __mcp::ArgSlot::<String>::new();
        if !__args.read(__mcp::None, &__MCP_PARAMS, false, &mut [__a0.slot()])? {
            return __mcp::Ok(__mcp::None);
        }
        let __a0 = __a0.take();
        __mcp::Ok(
            __mcp::Some(
                __mcp::Box::pin(async move {
                    let __c0 = __mcp::CtxRef::<ToolContext>::NEW.get(&__context)?;
                    let __c1 = __mcp::CtxRef::<Db>::NEW.get(&__context)?;
                    let __c2 = <User as __mcp::FromContext>::from_context(&__context)
                        .await?;
                    let __returned = search(__c0, __c1, __c2, __a0).await;
                    let __kind = __mcp::Outcome::of(&__returned).kind();
                    __mcp::write_async(
                        __returned,
                        __kind.failure(),
                        __kind.success().writer(),
                    )
                }),
            ),
        )
    }
    fn __mcp_output(__with_schema: bool) -> __mcp::Output {
        let __success = __mcp::Outcome::by_future(|| search(
                __mcp::any(),
                __mcp::any(),
                __mcp::any(),
                __mcp::any(),
            ))
            .kind()
            .success();
        __mcp::output(__with_schema, __success.shape(), __success.schema())
    }
    static __MCP_ENTRY: __mcp::ToolEntry = __mcp::ToolEntry::new(
            "notes.search",
            __mcp::Origin::new(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_PKG_VERSION"),
                ::core::module_path!(),
                "search",
                ::core::file!(),
                ::core::line!(),
            ),
            __mcp::Call::Async(__mcp_call),
        )
        .params(&__MCP_PARAMS)
        .output(__mcp_output)
        .needs(
            &[
                |needs| __mcp::CtxRef::<ToolContext>::NEW.needs(needs),
                |needs| __mcp::CtxRef::<Db>::NEW.needs(needs),
                |needs| needs.extend(<User as __mcp::FromContext>::requires()),
            ],
        );
    __mcp::inventory::submit! {
        __mcp::Registration(& __MCP_ENTRY)
    }
    &__MCP_ENTRY
};
