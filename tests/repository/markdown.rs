//! Shared by tests of Markdown files: the tracked files, and the text of a page without its code.

use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Markdown files of the repository, and `llms.txt`: those that git tracks, or else all outside of `target` folders.
pub(crate) fn pages() -> Vec<String> {
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output();
    let mut pages = match tracked {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let paths = String::from_utf8(output.stdout).unwrap();
            paths.split_terminator('\0').map(str::to_owned).collect()
        }
        _ => files_below(""),
    };
    pages.retain(|path| is_page(path) && workspace().join(path).exists());
    pages
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md") || path == "llms.txt"
}

fn files_below(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(workspace().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && name != "target" && !name.starts_with('.') {
            files.extend(files_below(&path));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files
}

/// The lines of a page outside of fenced code, with their numbers.
pub(crate) fn prose(page: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let text = line.trim_start();
        let marks = text.len() - text.trim_start_matches('`').len();
        match fence {
            Some(open) if marks >= open.len() && text.trim_end() == &text[..marks] => fence = None,
            Some(_) => {}
            None if marks >= 3 => fence = Some(&text[..marks]),
            None => lines.push((number, line)),
        }
    }
    lines
}

#[test]
fn code_is_not_prose() {
    let page = "a\n```rust\nb\n```\nc\n````text\n```\nd\n```\n````\n  ```sh\ne\n  ```\nf";
    assert_eq!(prose(page), [(1, "a"), (5, "c"), (14, "f")]);
}

#[test]
fn the_pages_of_the_repository_are_found() {
    let pages = pages();
    for path in ["README.md", "docs/serving.md", "fuzz/README.md", "llms.txt"] {
        assert!(pages.iter().any(|page| page == path), "{path} is in {pages:?}");
    }
    let mut found = files_below("");
    found.retain(|path| is_page(path));
    assert!(pages.iter().all(|page| found.contains(page)), "{pages:?} are in {found:?}");
}
