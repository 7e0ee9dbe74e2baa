/// Reads a text file.
///
/// # Errors
/// - `FileNotFoundError`: there is none.
///
/// # Arguments
///
/// - `path`: Where it is.
pub fn read(
    path: &Path,
    encoding: String,
    limit: Option<u64>,
    filter: Option<&str>,
) -> Result<Text, Error> {
    Ok(Text)
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
pub const __mcp_tool_read: &::mcp_core::__private::ToolEntry = {
    use ::mcp_core::__private as __mcp;
    #[allow(unused_imports)]
    use __mcp::traits::*;
    fn __mcp_default_1() -> String {
        {
            #[diagnostic::on_unimplemented(
                message = "a string cannot be the default of a `{Self}`",
                label = "not a `{Self}`",
                note = "`default` takes a Rust expression of the parameter's type; for a variant write `default = {Self}::Utf8`"
            )]
            trait FromText: ::core::convert::From<&'static ::core::primitive::str> {}
            #[diagnostic::do_not_recommend]
            impl<T: ::core::convert::From<&'static ::core::primitive::str>> FromText
            for T {}
            fn from_text<T: FromText>(text: &'static ::core::primitive::str) -> T {
                T::from(text)
            }
            from_text("utf-8")
        }
    }
    const _: () = ::core::assert!(
        __mcp::KindOf:: < < Path as __mcp::RefParam > ::Slot > ::KIND
        .fits(__mcp::TypeKind::Text),
        "`min_length` does not fit the type of `path`, which is not a string; remove it"
    );
    const _: () = ::core::assert!(
        __mcp::KindOf:: < Option < u64 > > ::KIND.fits(__mcp::TypeKind::Number),
        "`min` does not fit the type of `limit`, which is not a number; remove it"
    );
    static __MCP_PARAMS: [__mcp::Param; 4usize] = [
        __mcp::Param::of::<<Path as __mcp::RefParam>::Slot>("path")
            .plain(__mcp::KindOf::<<Path as __mcp::RefParam>::Slot>::PLAIN)
            .description("Where it is.")
            .examples(&[|| __mcp::json("src/main.rs")])
            .constraints(&[__mcp::Constraint::MinLength(1u64)])
            .fitted(__mcp::KindOf::<<Path as __mcp::RefParam>::Slot>::KIND.is_known()),
        __mcp::Param::of::<String>("encoding")
            .plain(__mcp::KindOf::<String>::PLAIN)
            .default(|| __mcp::Shown::<String>::NEW.json(__mcp_default_1)),
        __mcp::Param::of::<Option<u64>>("limit")
            .plain(__mcp::KindOf::<Option<u64>>::PLAIN)
            .constraints(&[__mcp::Constraint::Min(__mcp::Bound::Int(1i128))])
            .fitted(__mcp::KindOf::<Option<u64>>::KIND.is_known()),
        __mcp::Param::of::<Option<<str as __mcp::RefParam>::Slot>>("filter")
            .plain(__mcp::KindOf::<Option<<str as __mcp::RefParam>::Slot>>::PLAIN),
    ];
    fn __mcp_call(
        __cx: &__mcp::ToolContext,
        __args: __mcp::Input<'_>,
        __out: &mut __mcp::Vec<u8>,
    ) -> __mcp::Result<__mcp::Returned, __mcp::CallError> {
        let mut __a0 = __mcp::ArgSlot::<<Path as __mcp::RefParam>::Slot>::new();
        let mut __a1 = __mcp::ArgSlot::<String>::new();
        let mut __a2 = __mcp::ArgSlot::<Option<u64>>::new();
        let mut __a3 = __mcp::ArgSlot::<Option<<str as __mcp::RefParam>::Slot>>::new();
        if !__args
            .read(
                __mcp::None,
                &__MCP_PARAMS,
                false,
                &mut [__a0.slot(), __a1.slot(), __a2.slot(), __a3.slot()],
            )?
        {
            return __mcp::Ok(__mcp::Returned::Nothing);
        }
        let __a0 = __a0.take();
        let __a1 = __a1.take_or(__mcp_default_1);
        let __a2 = __a2.take();
        let __a3 = __a3.take();
        let __returned = read(__mcp::lend(&__a0), __a1, __a2, __mcp::lend(&__a3));
        let __kind = __mcp::Outcome::of(&__returned).kind();
        __mcp::write(__returned, __kind.failure(), __kind.success().writer(), __out)
    }
    fn __mcp_output(__with_schema: bool) -> __mcp::Output {
        let __success = __mcp::Outcome::by(|| read(
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
            "files.read",
            __mcp::Origin::new(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_PKG_VERSION"),
                ::core::module_path!(),
                "read",
                ::core::file!(),
                ::core::line!(),
            ),
            __mcp::Call::Sync(__mcp_call),
        )
        .params(&__MCP_PARAMS)
        .output(__mcp_output)
        .read_only(true)
        .tags(&["files"])
        .timeout(__mcp::Timeout::After(__mcp::Duration::from_millis(5000u64)))
        .description("Reads a text file.")
        .sections(&[("Errors", "- `FileNotFoundError`: there is none.")]);
    __mcp::inventory::submit! {
        __mcp::Registration(& __MCP_ENTRY)
    }
    &__MCP_ENTRY
};
