//! The guide: one page for each subject.
//!
//! - [First tool](first_tool): from an empty folder to a tool in a host.
//! - [Parameters and schemas](parameters_and_schemas): which types a tool can take, and what hosts see of them.
//! - [Results and errors](results_and_errors): what a tool can return, and who sees which error.
//! - [State and context](state_and_context): what a tool gets besides its arguments.
//! - [Linking and conflicts](linking_and_conflicts): how tools are found, and what happens if two have one name.
//! - [Contracts](contracts): how to change a tool without breaking its callers.
//! - [Specification pages](specification_pages): documents of your tools that stay true.
//! - [Calls](calls): deadlines, cancellation, permissions, limits, audit and tracing.
//! - [Testing](testing): how to test tools.
//! - [Serving](serving): stdio, HTTP, axum, tower and rmcp.
//! - [Hosts and models](hosts_and_models): what Claude, Cursor, OpenAI, Gemini and others accept.
//! - [Security](security): what is safe by default, and what is up to you.
//! - [Performance](performance): what a call costs, and how to write fast tools.
//! - [Reliability](reliability): millions of calls, and fuzzing.
//! - [Troubleshooting](troubleshooting): every error message, its cause and the fix.
//! - [Migrating from rmcp](migrating_from_rmcp), and [from FastMCP](migrating_from_fastmcp).

/// Publishes each page as a module. A page links to the files of other pages; the definitions inserted before it take
/// precedence, and link to the modules.
macro_rules! pages {
    ($($page:ident: $path:literal $(, $anchor:literal)*;)*) => {
        pages! {
            @links [$(
                concat!("[", $path, "]: crate::guide::", stringify!($page), "\n"),
                $(concat!("[", $path, "#", $anchor, "]: crate::guide::", stringify!($page), "#", $anchor, "\n"),)*
            )*]
            $($page: $path;)*
        }
    };
    (@links $links:tt $($page:ident: $path:literal;)*) => { $(pages! { @page $page $path $links })* };
    (@page $page:ident $path:literal [$($link:expr,)*]) => {
        #[doc = concat!($($link,)* "\n", include_str!(concat!("../docs/", $path)))]
        pub mod $page {}
    };
}

pages! {
    first_tool: "first-tool.md";
    parameters_and_schemas: "parameters-and-schemas.md";
    results_and_errors: "results-and-errors.md";
    state_and_context: "state-and-context.md";
    linking_and_conflicts: "linking-and-conflicts.md", "a-crate-of-tools-is-missing", "only-some-of-the-tools";
    contracts: "contracts.md";
    specification_pages: "specification-pages.md";
    calls: "calls.md", "permissions", "who-is-told", "with-tokio-and-without";
    testing: "testing.md", "replace-what-a-tool-talks-to";
    serving: "serving.md", "inside-an-rmcp-server", "protocol-versions", "sessions-and-load-balancers", "the-probe";
    hosts_and_models: "hosts-and-models.md";
    security: "security.md", "http";
    performance: "performance.md";
    reliability: "reliability.md";
    troubleshooting: "troubleshooting.md";
    migrating_from_rmcp: "migrating-from-rmcp.md";
    migrating_from_fastmcp: "migrating-from-fastmcp.md";
}
