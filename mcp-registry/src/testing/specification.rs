//! Keeps a page with the specifications of tools up to date.

use std::path::Path;
use std::{fs, io};

use mcp_core::entry::ToolEntry;

use super::contract::is_update;
use crate::catalog::Catalog;
use crate::contract::Specification;
use crate::contract::specification::{differences, is_generated, page};

/// Asserts that a page has the specifications of these tools. If it does not, the message says which parts are stale. With
/// the variable `MCP_UPDATE=1`, the page is written instead. A relative path begins in the folder of the crate under test.
///
/// ```no_run
/// use mcp_registry::testing::assert_specification;
/// use mcp_registry::{mcp_tool, tools};
///
/// /// Adds two numbers.
/// #[mcp_tool(module = "calc")]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[test]
/// fn the_specification_is_up_to_date() {
///     assert_specification("MCP_TOOL_SPECIFICATION.md", tools![add]);
/// }
/// ```
///
/// # Panics
///
/// If the page is missing or stale, if it cannot be written, or if an example in the docs of a tool does not fit.
#[track_caller]
pub fn assert_specification(path: impl AsRef<Path>, tools: impl IntoIterator<Item = &'static ToolEntry>) {
    match Catalog::from_entries(tools) {
        Ok(catalog) => assert_specification_of(&catalog, path),
        Err(error) => panic!("{error}"),
    }
}

/// Like [`assert_specification`], for the tools of a catalog with settings of its own, such as names for hosts.
///
/// # Panics
///
/// If the page is missing or stale, if it cannot be written, or if an example in the docs of a tool does not fit.
#[track_caller]
pub fn assert_specification_of(catalog: &Catalog, path: impl AsRef<Path>) {
    if let Err(problem) = is_update().and_then(|update| check(path.as_ref(), catalog, update)) {
        panic!("{problem}");
    }
}

const REMEDY: &str = "run the test with `MCP_UPDATE=1` to write it";

fn check(path: &Path, catalog: &Catalog, update: bool) -> Result<(), String> {
    let specifications = Specification::all_checked(catalog.list_registered_tools())?;
    let (expected, shown) = (page(&specifications), path.display());
    let found = match fs::read_to_string(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{shown} cannot be read: {error}; check the path")),
    };
    if update {
        if found.is_some_and(|found| !is_generated(&found)) {
            return Err(format!("{shown} was not generated; move it away, or choose another path"));
        }
        return fs::write(path, expected)
            .map_err(|error| format!("{shown} cannot be written: {error}; check the path"));
    }
    let Some(found) = found else { return Err(format!("{shown} is missing; {REMEDY}")) };
    let differences = differences(&expected, &found);
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("{shown} is stale; {REMEDY}:\n- {}", differences.join("\n- ")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs, process};

    use mcp_core::entry::ToolEntry;

    use super::assert_specification_of;
    use crate::catalog::Catalog;
    use crate::registry::Registry;
    use crate::{mcp_tool, tools};

    /// Adds two numbers.
    #[mcp_tool(module = "calc", crate = crate)]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    /// Counts.
    ///
    /// # Examples
    /// ```json
    /// "many"
    /// ```
    #[mcp_tool(module = "calc", crate = crate)]
    fn count() -> u8 {
        1
    }

    /// Halves.
    ///
    /// # Examples
    /// ## Of six
    /// ~~~json
    /// [3
    /// ~~~
    #[mcp_tool(module = "calc", crate = crate)]
    fn half() -> u8 {
        3
    }

    /// Squares an <id>, e.g. `1. 2`,
    /// or more. Quickly.
    #[mcp_tool(module = "calc", crate = crate)]
    fn square() {}

    fn check(path: &Path, tools: &[&'static ToolEntry], update: bool) -> Result<(), String> {
        super::check(path, &Catalog::from_entries(tools.iter().copied()).unwrap(), update)
    }

    #[test]
    fn a_page_begins_with_the_first_sentence_of_each_tool() {
        let path = env::temp_dir().join(format!("specification-list-{}.md", process::id()));
        check(&path, &tools![add, square], true).unwrap();
        let page = fs::read_to_string(&path).unwrap();
        let list = "\n- [`calc.add`](#tool-calcadd) 1.0.0: Adds two numbers.\n\
                    - [`calc.square`](#tool-calcsquare) 1.0.0: Squares an \\<id>, e.g. `1. 2`, or more.\n";
        assert!(page.contains(list), "{page}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn every_wrong_example_is_reported_at_once() {
        let path = env::temp_dir().join(format!("specification-wrong-{}.md", process::id()));
        let wrong = check(&path, &tools![add, count, half], true).unwrap_err();
        let lines: Vec<&str> = wrong.lines().collect();
        assert!(lines[0].starts_with("the example in the docs of `calc.count` ("), "{wrong}");
        assert!(lines[1].starts_with("the example in the docs of `calc.half` ("), "{wrong}");
        assert_eq!((lines.len(), path.exists()), (2, false), "{wrong}");
    }

    #[test]
    fn a_page_is_written_on_request_and_otherwise_compared() {
        let path = env::temp_dir().join(format!("specification-{}.md", process::id()));
        let missing = check(&path, &tools![add], false).unwrap_err();
        assert!(missing.contains("is missing; run the test with `MCP_UPDATE=1`"), "{missing}");
        check(&path, &tools![add], true).unwrap();
        check(&path, &tools![add], false).unwrap();

        let page = fs::read_to_string(&path).unwrap();
        fs::write(&path, page.replace("Adds two", "Adds three").replace('\n', "\r\n")).unwrap();
        let stale = check(&path, &tools![add], false).unwrap_err();
        assert!(stale.ends_with(":\n- `calc.add`: Purpose and Description"), "{stale}");
        check(&path, &tools![add], true).unwrap();

        fs::write(&path, "My own page.\n").unwrap();
        let foreign = check(&path, &tools![add], true).unwrap_err();
        assert!(foreign.contains("was not generated"), "{foreign}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "My own page.\n");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_page_of_a_catalog_has_the_names_of_its_settings() {
        let path = env::temp_dir().join(format!("specification-renamed-{}.md", process::id()));
        let renamed =
            Registry::builder_of(tools![add]).rename("mcp-registry", "calc.add", "math.add").catalog().unwrap();
        super::check(&path, &renamed, true).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("\n## Tool: `math.add`\n"));
        assert_specification_of(&renamed, &path);
        let stale = check(&path, &tools![add], false).unwrap_err();
        assert!(stale.contains("`calc.add` is missing"), "{stale}");
        fs::remove_file(path).unwrap();
    }
}
