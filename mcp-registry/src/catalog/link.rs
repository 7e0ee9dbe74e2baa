//! Crates whose tools must be linked.

use mcp_core::support::inventory;

/// A crate in [`link_tools!`](crate::link_tools): it must have tools.
#[derive(Debug)]
pub struct Expected {
    /// The name of the package; by default that of the crate.
    pub package: &'static str,
    /// The file of the macro call.
    pub file: &'static str,
    /// The line of the macro call.
    pub line: u32,
}

inventory::collect!(Expected);

/// A package's name for comparison: the name of a crate has `_` in place of `-`.
pub(crate) fn package_key(package: &str) -> String {
    package.replace('-', "_")
}

/// Links crates of tools, and checks that they are linked.
///
/// A crate that the program never mentions is not linked, and its tools silently disappear. This macro links the crate,
/// and the registry cannot be built if the crate has no tools. If the package is not named like the crate, add its
/// name: `link_tools!(tools = "my-tools")`.
///
/// ```standalone_crate
/// mod program {
///     mcp_registry::link_tools!(mcp_registry = "mcp-registry");
/// }
/// // The crate is linked, but it has no tools of its own.
/// let error = mcp_registry::Registry::linked().unwrap_err();
/// assert!(error.to_string().contains("`mcp-registry` has 0 of at least 1 expected tools"));
/// ```
#[macro_export]
macro_rules! link_tools {
    ($($krate:ident $(= $package:literal)?),+ $(,)?) => {$(
        use $krate as _;
        const _: () = {
            const PACKAGE: &str = {
                #[allow(unused_mut, unused_assignments)]
                let mut package = ::core::stringify!($krate);
                $(package = $package;)?
                package
            };
            $crate::__private::inventory::submit! {
                $crate::__private::Expected { package: PACKAGE, file: ::core::file!(), line: ::core::line!() }
            }
        };
    )+};
}
