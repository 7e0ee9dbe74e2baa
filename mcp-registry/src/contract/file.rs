//! The lock as a file: reads it, and replaces it only by another lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_core::support::cut;
use serde_json::Value;

use super::Contract;
use super::change::Diff;
use super::lock::{ContractError, FORMAT, QUOTED, without_mark};

/// The most bytes of a contract that are read.
pub(crate) const LIMIT: u64 = 64 << 20;

/// Reads a contract from a file. Others than regular ones, such as devices, may never end.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?)
}

/// Reads a contract up to the limit.
pub(crate) fn read_from(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = source.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if size as u64 > LIMIT { Err(too_large()) } else { Ok(bytes) }
}

pub(crate) fn too_large() -> io::Error {
    io::Error::other("it has more than 64 MiB")
}

/// Writes the lock of a contract, unless the file has it already or is something else than a lock. Returns the changes and a
/// note on what was written. Note and error name the file.
pub(crate) fn update(path: &Path, contract: &Contract) -> Result<(Diff, String), String> {
    let lock = contract.to_string();
    let shown = path.display();
    let tools = format!("{} tool{}", contract.tools().len(), if contract.tools().len() == 1 { "" } else { "s" });
    let found = match read(path) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("`{shown}` cannot be read: {error}; name another file")),
    };
    let (diff, remark) = match found.as_deref().map(|text| (Contract::read(text), format_of(text))) {
        None => (Diff::default(), "commit it".to_owned()),
        Some((Ok(old), _)) if old.to_string() == lock => {
            return Ok((Diff::default(), format!("`{shown}` is up to date: {tools}")));
        }
        Some((Ok(old), _)) => {
            let diff = old.diff(contract);
            let mut remark = diff.summary();
            if let Some(problem) = unrelated(&old, contract, &diff) {
                remark = format!("{remark}; the previous lock {problem}; if so, restore it from version control");
            }
            (diff, remark)
        }
        Some((Err(_), None)) => {
            return Err(format!("`{shown}` is not a lock and is not overwritten; name another file, or delete it"));
        }
        Some((Err(_), Some(found))) if found > FORMAT => {
            return Err(format!("`{shown}`: {}", ContractError::Format { found, known: FORMAT }));
        }
        Some((Err(error), Some(_))) => {
            (Diff::default(), format!("the previous file could not be compared: {}", error.problem()))
        }
    };
    match write(path, &lock) {
        Ok(()) => Ok((diff, format!("wrote `{shown}`: {tools}; {remark}"))),
        Err(error) => {
            let remedy = match error.kind() {
                io::ErrorKind::NotFound => "create its folder",
                io::ErrorKind::Other => "make it writable",
                _ => "make its folder writable",
            };
            Err(format!("`{shown}` cannot be written: {error}; {remedy}, or name another file"))
        }
    }
}

/// Says that the old contract seems to be from another program, if the two have no tool in common under any name.
pub(crate) fn unrelated(old: &Contract, new: &Contract, diff: &Diff) -> Option<String> {
    let is_renamed = diff.changes.iter().any(|change| change.rule == "tool-renamed");
    let first = |contract: &Contract| {
        let names: Vec<_> =
            contract.tools().iter().take(3).map(|tool| format!("`{}`", cut(&tool.name, QUOTED))).collect();
        names.join(", ") + if contract.tools().len() > names.len() { ", …" } else { "" }
    };
    (old.is_unrelated(new) && !is_renamed)
        .then(|| format!("seems to be from another program: it has {}, and not {}", first(old), first(new)))
}

/// What to do about a file that is no valid lock. The second text says how to write one.
pub(crate) fn advice(text: &str, write: &str) -> String {
    match format_of(text) {
        Some(..=FORMAT) => format!("restore it from version control, or {write}"),
        _ => format!("name another file, or delete it and {write}"),
    }
}

/// The format of a lock, even if it was edited or cut off, or has the marks of a conflict; `None` if the text is something
/// else. An empty file is a lock of which nothing is left.
fn format_of(text: &str) -> Option<u64> {
    let text = without_mark(text);
    match serde_json::from_str::<Value>(text) {
        Ok(lock) => lock["format"].as_u64().filter(|_| lock.get("tools").is_some()),
        Err(_) if text.trim().is_empty() => Some(FORMAT),
        Err(_) => format_of_lines(text),
    }
}

/// The format of a lock that is cut off, or has the marks of a conflict. A lock begins with it.
fn format_of_lines(text: &str) -> Option<u64> {
    let is_mark = |line: &&str| ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
    let lines: String = text.lines().filter(|line| !is_mark(line)).collect();
    let format = lines.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"format\":")?.trim_start();
    let end = format.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(format.len());
    format[..end].parse().ok()
}

/// Writes a file beside the other and renames it, so that no reader sees a partly written file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    // A symbolic link stays one, even if what it leads to does not exist yet.
    let mut path = path.to_owned();
    while let Ok(target) = fs::read_link(&path) {
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    // Renaming would replace it all the same.
    if fs::metadata(&path).is_ok_and(|found| found.permissions().readonly()) {
        return Err(io::Error::other("it is read-only"));
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
    let result = write_new(&temporary, text, &path).and_then(|()| fs::rename(&temporary, &path));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// Writes a new file with the permissions of another one, if that exists.
fn write_new(path: &PathBuf, text: &str, like: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    match fs::metadata(like) {
        Ok(metadata) => fs::set_permissions(path, metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::update;
    use crate::contract::Contract;

    /// A folder that is removed when it is dropped.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new() -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let name = format!("mcp-contract-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    /// The contract of a server with tools of these names.
    pub(crate) fn contract(names: &[&str]) -> Contract {
        let tools: serde_json::Value = names.iter().map(|name| serde_json::json!({ "name": name })).collect();
        Contract::from_tools_list(&tools.to_string()).unwrap()
    }

    #[test]
    fn a_lock_is_created_changed_and_left_alone_if_it_is_up_to_date() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        let (one, two) = (contract(&["a"]), contract(&["a", "b"]));
        let update = |contract: &Contract| {
            let (diff, note) = update(&path, contract).unwrap();
            (diff.changes.len(), note.replace(folder.0.to_str().unwrap(), "…"))
        };
        assert_eq!(update(&one), (0, "wrote `…/mcp.lock.json`: 1 tool; commit it".to_owned()));
        assert_eq!(fs::read_to_string(&path).unwrap(), one.to_string());
        // Git may check it out with other line ends.
        let with_returns = one.to_string().replace('\n', "\r\n");
        fs::write(&path, &with_returns).unwrap();
        assert_eq!(update(&one), (0, "`…/mcp.lock.json` is up to date: 1 tool".to_owned()));
        assert_eq!(fs::read_to_string(&path).unwrap(), with_returns);
        let note = "wrote `…/mcp.lock.json`: 2 tools; 1 change: 0 breaking, 0 unknown";
        assert_eq!(update(&two), (1, note.to_owned()));
        assert_eq!(fs::read_to_string(&path).unwrap(), two.to_string());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn replacing_a_lock_without_a_common_tool_is_told() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        let (shop, greeter) = (contract(&["search", "buy"]), contract(&["greet"]));
        assert!(shop.is_unrelated(&greeter) && !shop.is_unrelated(&contract(&["greet", "buy"])));
        assert!(!shop.is_unrelated(&contract(&[])) && !contract(&[]).is_unrelated(&shop));
        let update = |contract: &Contract| update(&path, contract).unwrap().1;
        update(&shop);
        let note = update(&greeter);
        let told =
            "; the previous lock seems to be from another program: it has `buy`, `search`, and not `greet`; if so, ";
        assert!(note.contains(told), "{note}");
        let note = update(&contract(&["greet", "buy"]));
        assert!(!note.contains("another program"), "{note}");
    }

    #[test]
    fn what_is_not_a_lock_or_in_a_newer_format_is_not_overwritten() {
        let folder = Folder::new();
        let path = folder.0.join("other");
        let newer = contract(&["a"]).to_string().replace("\"format\": 1", "\"format\": 2");
        let newer_in_conflict = newer.replacen(",\n", ",\n<<<<<<< ours\n", 1);
        for (text, told) in [
            ("fn main() {}", "is not a lock and is not overwritten; name another file, or delete it"),
            (r#"{"name": "shop"}"#, "is not a lock and is not overwritten; name another file, or delete it"),
            (r#"[{"name": "a"}]"#, "is not a lock and is not overwritten; name another file, or delete it"),
            (
                r#"{"jsonrpc": "2.0", "result": {"tools": [{"name": "a", "inputSchema": {"format": "x"}}]}}"#,
                "is not a lock and is not overwritten; name another file, or delete it",
            ),
            (
                r#"{"result": {"tools": [{"name": "a", "inputSchema": {"format":"#,
                "is not a lock and is not overwritten; name another file, or delete it",
            ),
            (
                r#"{"format": "esm", "tools": {}}"#,
                "is not a lock and is not overwritten; name another file, or delete it",
            ),
            (
                newer_in_conflict.as_str(),
                "the lock is in format 2, but this program reads only up to format 1; update its `mcp-registry` dependency",
            ),
            (
                newer.as_str(),
                "the lock is in format 2, but this program reads only up to format 1; update its `mcp-registry` dependency",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let error = update(&path, &contract(&["a"])).unwrap_err();
            assert!(error.contains("other`") && error.ends_with(told), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let error = update(&folder.0, &contract(&["a"])).unwrap_err();
        assert!(error.contains("` cannot be read: ") && error.ends_with("; name another file"), "{error}");
        let error = update(&folder.0.join("none/lock"), &contract(&["a"])).unwrap_err();
        assert!(error.contains("lock` cannot be written: ") && error.contains("; create its folder, or"), "{error}");
    }

    #[test]
    fn a_broken_lock_is_replaced() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        let lock = contract(&["a"]).to_string();
        let edited = lock.replace("\"wireName\": \"a\"", "\"wireName\": \"b\"");
        assert_ne!(edited, lock);
        let (conflict, cut_off) = (lock.replacen('\n', "\n<<<<<<< ours\n", 1), &lock[..lock.len() / 2]);
        for text in ["", &conflict, cut_off, &format!("<<<<<<< ours\n{lock}"), &edited] {
            fs::write(&path, text).unwrap();
            let (_, note) = update(&path, &contract(&["a"])).unwrap();
            assert!(note.contains("1 tool; the previous file could not be compared: th"), "{note}");
            assert_eq!(fs::read_to_string(&path).unwrap(), lock);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_and_the_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = Folder::new();
        let (path, link) = (folder.0.join("real"), folder.0.join("link"));
        fs::write(&path, contract(&["a"]).to_string()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        update(&link, &contract(&["b"])).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), contract(&["b"]).to_string());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_stay_even_if_what_they_lead_to_is_created() {
        use std::os::unix::fs::symlink;

        let folder = Folder::new();
        fs::create_dir(folder.0.join("sub")).unwrap();
        symlink("sub/link", folder.0.join("link")).unwrap();
        symlink("../real", folder.0.join("sub/link")).unwrap();
        update(&folder.0.join("link"), &contract(&["a"])).unwrap();
        for link in ["link", "sub/link"] {
            assert!(fs::symlink_metadata(folder.0.join(link)).unwrap().is_symlink());
        }
        let written = fs::symlink_metadata(folder.0.join("real")).unwrap();
        assert!(written.is_file());
        symlink("circle", folder.0.join("circle")).unwrap();
        let error = update(&folder.0.join("circle"), &contract(&["a"])).unwrap_err();
        assert!(error.contains("circle` cannot be read: "), "{error}");
    }

    #[test]
    fn a_read_only_lock_is_not_replaced() {
        let folder = Folder::new();
        let path = folder.0.join("mcp.lock.json");
        update(&path, &contract(&["a"])).unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let (_, note) = update(&path, &contract(&["a"])).unwrap();
        assert!(note.ends_with("` is up to date: 1 tool"), "{note}");
        let error = update(&path, &contract(&["b"])).unwrap_err();
        assert!(
            error.ends_with("` cannot be written: it is read-only; make it writable, or name another file"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), contract(&["a"]).to_string());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no temporary file is left");
    }
}
