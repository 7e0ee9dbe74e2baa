//! Compares the tools of a test with the lock.

use std::io::{self, Write as _};
use std::path::Path;

use crate::catalog::Catalog;
use crate::contract::{Contract, file};

/// Asserts that the tools that are linked into this test keep the [contract](crate::contract) in a file, such as
/// `mcp.lock.json`, or that their versions announce that they do not. The path is relative to the package.
///
/// With `MCP_UPDATE=1` in the environment, it writes the file instead, and prints the changes. Name the test to run, as other
/// tests write their files, too.
///
/// ```no_run
/// #[test]
/// fn the_tools_keep_their_contract() {
///     mcp_registry::testing::assert_contract("mcp.lock.json");
/// }
/// ```
///
/// # Panics
///
/// Panics with the changes if one breaks the contract and is not announced, and if there is no lock.
#[track_caller]
pub fn assert_contract(path: impl AsRef<Path>) {
    match Catalog::linked() {
        Ok(catalog) => assert_contract_of(&catalog, path),
        Err(error) => panic!("{error}"),
    }
}

/// Like [`assert_contract`], for a catalog with settings of its own.
///
/// # Panics
///
/// Panics with the changes if one breaks the contract and is not announced, and if there is no lock.
#[track_caller]
pub fn assert_contract_of(catalog: &Catalog, path: impl AsRef<Path>) {
    if let Err(error) = is_update().and_then(|update| compare(&catalog.contract(), path.as_ref(), update)) {
        panic!("{error}");
    }
}

/// Whether files are to be written rather than compared. A word that may mean either is an error.
pub(super) fn is_update() -> Result<bool, String> {
    let value = std::env::var_os("MCP_UPDATE").unwrap_or_default();
    let value = value.to_string_lossy();
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("`MCP_UPDATE` is {value:?}; set it to `1` to write files, or remove it to compare them")),
    }
}

fn compare(contract: &Contract, path: &Path, update: bool) -> Result<(), String> {
    let shown = path.display();
    if update {
        let (diff, note) = file::update(path, contract)?;
        // `eprintln!` would be shown only if the test fails. There is nowhere to report an error of stderr.
        let _ = writeln!(io::stderr(), "{diff}{note}");
        return Ok(());
    }
    let lock = file::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("`{shown}` does not exist; run the test with `MCP_UPDATE=1` to create it, and commit it")
        }
        _ => format!("`{shown}` cannot be read: {error}; name another file"),
    })?;
    let lock = String::from_utf8_lossy(&lock);
    let old = Contract::read(&lock).map_err(|error| {
        let advice = || file::advice(&lock, "run the test with `MCP_UPDATE=1` to write it again");
        format!("`{shown}`: {}; {}", error.problem(), error.advice().map_or_else(advice, str::to_owned))
    })?;
    let diff = old.diff(contract);
    if diff.is_acceptable() {
        return Ok(());
    }
    let accept = "run the test with `MCP_UPDATE=1` to accept everything";
    let problem = file::unrelated(&old, contract, &diff);
    let advice = problem
        .map_or_else(|| diff.advice(accept), |problem| format!("the lock {problem}; name another file, or {accept}"));
    Err(format!("the tools do not keep the contract in `{shown}`:\n{diff}{}; {advice}", diff.summary()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::compare;
    use crate::contract::file::tests::{Folder, contract};

    #[test]
    fn a_lock_is_compared_or_updated() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        let (one, two) = (contract(&["a"]), contract(&["a", "b"]));
        let error = compare(&one, &path, false).unwrap_err();
        assert!(
            error.ends_with(
                "mcp.lock.json` does not exist; run the test with `MCP_UPDATE=1` to create it, and commit it"
            ),
            "{error}"
        );
        assert!(!path.exists());
        compare(&two, &path, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), two.to_string());
        compare(&two, &path, false).unwrap();
        let error = compare(&one, &path, false).unwrap_err();
        assert!(error.contains("mcp.lock.json`:\nbreaking[tool-removed] b: "), "{error}");
        assert!(error.contains("\n1 change: 1 breaking, 0 unknown; if this is intended, "), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), two.to_string());
        compare(&one, &path, true).unwrap();
        compare(&two, &path, false).unwrap();
        fs::write(&path, contract(&["c", "d"]).to_string()).unwrap();
        let error = compare(&two, &path, false).unwrap_err();
        let told = "; the lock seems to be from another program: it has `c`, `d`, and not `a`, `b`; name another file, or run \
                    the test with `MCP_UPDATE=1` to accept everything";
        assert!(error.ends_with(told), "{error}");
    }

    #[test]
    fn a_broken_lock_is_reported_and_left_alone() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        let edited = contract(&["a"]).to_string().replace("\"wireName\": \"a\"", "\"wireName\": \"b\"");
        for (text, told) in [
            (
                edited.as_str(),
                "the lock was edited by hand: the digest of `a` does not match its content; restore it from \
                 version control, or run the test with `MCP_UPDATE=1` to write it again",
            ),
            (
                "{",
                "this is not JSON: EOF while parsing an object at line 1 column 1; name another file, or delete it and run \
                 the test with `MCP_UPDATE=1` to write it again",
            ),
            (
                r#"{"format": 2}"#,
                "the lock is in format 2, but this program reads only up to format 1; update its `mcp-registry` dependency",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let error = compare(&contract(&["a"]), &path, false).unwrap_err();
            assert!(error.contains("mcp.lock.json`: ") && error.contains(told), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let error = compare(&contract(&["a"]), &folder.0, false).unwrap_err();
        assert!(error.contains("` cannot be read: "), "{error}");
    }
}
