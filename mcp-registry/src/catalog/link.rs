//! Crates whose tools must be linked.

use mcp_core::support::inventory;

/// A crate that was named with [`link_tools!`](crate::link_tools): it must bring tools.
#[derive(Debug)]
pub struct Expected {
    /// The package, or the crate's name where no package was given.
    pub package: &'static str,
    /// Where it was named.
    pub file: &'static str,
    /// Where it was named.
    pub line: u32,
}

inventory::collect!(Expected);

/// A package's name for comparing: a crate's name has `_` for `-`.
pub(crate) fn package_key(package: &str) -> String {
    package.replace('-', "_")
}

/// Links crates whose tools must be there, and makes sure that they are.
///
/// A crate that nothing in the program names is not linked, and its tools silently disappear. A crate named here is linked,
/// and the registry is not built if it brings no tool. Where the package has another name than the crate, add it: `link_tools!(tools = "my-tools")`.
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
