//! `requirements.md` and the tests agree: every requirement is shown by an existing test, or marked as open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents that requirements are from, by the beginning of their ids, and how many each has.
const DOCUMENTS: [(&str, u32); 7] =
    [("S0-", 20), ("S1-", 63), ("S2-", 33), ("S3-", 55), ("S4-", 14), ("K-", 6), ("C", 34)];

/// A row of the list: `| id | requirement | shown by |`.
struct Requirement {
    id: String,
    /// The files and tests that it names, as `` `path: test` ``.
    tests: Vec<(String, String)>,
    is_open: bool,
}

fn requirements(list: &str) -> Vec<Requirement> {
    let rows = list.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split(" | ").map(str::trim).collect();
        let [id, .., shown_by] = cells[..] else { return None };
        let tests = shown_by.split('`').skip(1).step_by(2).filter_map(|test| test.split_once(": "));
        Some(Requirement {
            id: ids(id).pop()?,
            tests: tests.map(|(path, test)| (path.to_owned(), test.to_owned())).collect(),
            is_open: shown_by.split_once("open: ").is_some_and(|(_, reason)| reason.trim().len() > 3),
        })
    });
    rows.collect()
}

/// The ids in a text, such as `S1-7`, `K-3` and `C12`.
fn ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| document_of(word).is_some()).map(str::to_owned).collect()
}

/// The document and number of an id.
fn document_of(id: &str) -> Option<(&'static str, u32)> {
    let (document, number) = DOCUMENTS.iter().find_map(|(name, _)| Some((*name, id.strip_prefix(name)?)))?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok().map(|number| (document, number)))?
}

/// The ids at the beginning of a test's name: `s1_7_s1_9_to_s1_11_c4_the_rest` has S1-7, S1-9, S1-10, S1-11 and C4.
fn ids_of_name(name: &str) -> Vec<String> {
    let (mut ids, mut rest, mut is_range) = (Vec::<String>::new(), name, false);
    loop {
        let Some((id, after)) = id_at_start(rest) else { return ids };
        if let (true, Some((document, last))) = (is_range, document_of(&id)) {
            let first = ids.last().and_then(|id| document_of(id)).map_or(last, |(_, first)| first + 1);
            ids.extend((first..last).map(|number| format!("{document}{number}")));
        }
        ids.push(id);
        is_range = after.starts_with("to_");
        rest = after.strip_prefix("to_").unwrap_or(after);
    }
}

/// The id at the start of a name, and what follows it.
fn id_at_start(name: &str) -> Option<(String, &str)> {
    DOCUMENTS.iter().find_map(|(document, _)| {
        let start = document.to_ascii_lowercase().replace('-', "_");
        let rest = name.strip_prefix(&start)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest[digits..].strip_prefix('_').filter(|_| digits > 0)?;
        Some((format!("{document}{}", &rest[..digits]), after))
    })
}

/// Every id that a source file names: in the name of a test, or in a comment.
fn named(source: &str) -> Vec<String> {
    let mut named = Vec::new();
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("//") {
            named.extend(ids(line));
        } else if let Some(name) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            named.extend(ids_of_name(name));
        }
    }
    named
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// Whether a source has a function of this name that is a test, and is not ignored.
pub(crate) fn has_test(source: &str, name: &str) -> bool {
    let (mut is_test, mut is_ignored) = (false, false);
    for line in source.lines().map(str::trim_start) {
        let signature = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if is_test
            && !is_ignored
            && signature.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
        {
            return true;
        }
        let is_before = line.starts_with("#[") || line.starts_with("//");
        is_test = is_before && (is_test || line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        is_ignored = is_before && (is_ignored || line.starts_with("#[ignore") || line.contains(", ignore"));
    }
    false
}

/// What is wrong with a list, given the sources by their paths.
fn problems(list: &str, sources: &BTreeMap<String, String>) -> Vec<String> {
    let requirements = requirements(list);
    let mut problems = Vec::new();
    for (path, source) in sources.iter().filter(|(path, _)| is_rust(path)) {
        for id in named(source) {
            if !requirements.iter().any(|requirement| requirement.id == id) {
                problems.push(format!("{path} names {id}, which is not in the list; add it, or correct the name"));
            }
        }
    }
    for (document, count) in DOCUMENTS {
        for number in 1..=count {
            let id = format!("{document}{number}");
            match requirements.iter().filter(|requirement| requirement.id == id).count() {
                1 => {}
                0 => problems.push(format!("{id} is not in the list; add it")),
                _ => problems.push(format!("{id} is in the list more than once; remove one")),
            }
        }
    }
    for Requirement { id, tests, is_open } in &requirements {
        if tests.is_empty() && !is_open {
            problems.push(format!("{id} is neither shown by a test nor open; name a test, or write `open: ` and why"));
        }
        for (path, test) in tests {
            let is_there = |source: &String| if is_rust(path) { has_test(source, test) } else { source.contains(test) };
            if !sources.get(path).is_some_and(is_there) {
                problems.push(format!("{id} names `{path}: {test}`, which is not there; name one that is"));
            }
        }
    }
    problems
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every file that can hold a test: Rust sources, and the steps of CI.
fn sources() -> BTreeMap<String, String> {
    fn add(folder: PathBuf, sources: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_hidden = name.starts_with('.') && name != ".ci";
            if path.is_dir() && name != "target" && !is_hidden {
                add(path, sources);
                continue;
            }
            let inside = path.strip_prefix(workspace()).unwrap().to_string_lossy().replace('\\', "/");
            if is_rust(&inside) || inside.starts_with(".ci/") {
                sources.insert(inside, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut sources = BTreeMap::new();
    add(workspace().to_owned(), &mut sources);
    sources
}

#[test]
fn every_requirement_is_shown_by_a_test_or_marked_as_open() {
    let list = fs::read_to_string(workspace().join("tests/requirements.md")).unwrap();
    let problems = problems(&list, &sources());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// A valid list in which one row is replaced.
fn list_with(id: &str, row: &str) -> String {
    let rows = DOCUMENTS.into_iter().flat_map(|(document, count)| (1..=count).map(move |n| format!("{document}{n}")));
    let rows = rows.map(|other| {
        let is_open = || format!("| {other} | Is so. | open: not built |");
        if other == id { row.to_owned() } else { is_open() }
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// What is wrong with a list that has this row, given a file of tests.
fn found(row: &str, tests: &str) -> Vec<String> {
    problems(&list_with("S1-2", row), &BTreeMap::from([("tests/a.rs".to_owned(), tests.to_owned())]))
}

#[test]
fn a_list_that_agrees_has_no_problems() {
    let test = "#[test]\nfn s1_2_c3_it_is_so() {}";
    assert_eq!(found("| S1-2 | Is so. | `tests/a.rs: s1_2_c3_it_is_so` |", test), [""; 0]);
    assert_eq!(found("| S1-2 | Is so. | `tests/a.rs: s1_2_c3_it_is_so`; open: half of it |", test), [""; 0]);
    assert_eq!(found("| S1-2 | Is a | b. | open: not built |", test), [""; 0]);
}

#[test]
fn a_test_that_names_an_id_that_is_not_listed_is_found() {
    let row = "| S1-2 | Is so. | open: not built |";
    let of_name = |name: &str| found(row, &format!("fn {name}() {{}}"));
    assert_eq!(
        of_name("s1_99_it_is_so"),
        ["tests/a.rs names S1-99, which is not in the list; add it, or correct the name"]
    );
    assert_eq!(of_name("s1_2_k_7_it_is_so").len(), 1);
    assert_eq!(of_name("c34_to_c36_it_is_so").len(), 2, "C35 and C36");
    assert_eq!(of_name("as_s1_99_says"), [""; 0], "only the beginning of a name is ids");
    assert_eq!(found(row, "    async fn s9_1_it_is_so() {}"), [""; 0], "there is no such document");
    assert_eq!(found(row, "    async fn s4_15_it_is_so() {}").len(), 1);
    assert_eq!(found(row, "/// Shows S2-40 and C2.\nfn it_is_so() {}").len(), 1);
    assert_eq!(found(row, "let text = \"S2-40\";"), [""; 0]);
}

#[test]
fn a_requirement_that_is_neither_shown_nor_open_is_found() {
    let message = "S1-2 is neither shown by a test nor open; name a test, or write `open: ` and why";
    for shown_by in ["", "yes", "`tests/a.rs`", "open", "open: ", "shown by many tests"] {
        assert_eq!(found(&format!("| S1-2 | Is so. | {shown_by} |"), ""), [message], "{shown_by:?}");
    }
}

#[test]
fn a_named_test_that_is_not_there_is_found() {
    let row = "| S1-2 | Is so. | `tests/a.rs: it_is_so`, `tests/b.rs: it_is_so` |";
    assert_eq!(
        found(row, "#[test]\nfn it_is_so_too() {}"),
        [
            "S1-2 names `tests/a.rs: it_is_so`, which is not there; name one that is",
            "S1-2 names `tests/b.rs: it_is_so`, which is not there; name one that is",
        ]
    );
    for test in ["#[test]\nfn it_is_so() {}", "#[tokio::test]\n#[cfg(unix)]\nasync fn it_is_so() {}"] {
        assert_eq!(found(row, test).len(), 1, "{test}");
    }
    for other in ["fn it_is_so() {}", "#[test]\nfn other() {}\nfn it_is_so() {}", "#[test]\n// fn it_is_so() {}"] {
        assert_eq!(found(row, other).len(), 2, "{other}");
    }
    for ignored in ["#[test]\n#[ignore]", "#[ignore = \"slow\"]\n#[test]", "#[test]\n#[cfg_attr(unix, ignore)]"] {
        assert_eq!(found(row, &format!("{ignored}\nfn it_is_so() {{}}")).len(), 2, "{ignored}");
        let next = format!("{ignored}\nfn other() {{}}\n#[test]\nfn it_is_so() {{}}");
        assert_eq!(found(row, &next).len(), 1, "{ignored}");
    }
}

#[test]
fn a_requirement_that_is_missing_or_listed_twice_is_found() {
    assert_eq!(found("", ""), ["S1-2 is not in the list; add it"]);
    let twice = "| S1-2 | Is so. | open: not built |\n| S1-2 | Is so. | open: not built |";
    assert_eq!(found(twice, ""), ["S1-2 is in the list more than once; remove one"]);
}

#[test]
fn k_1_k_2_the_workspace_has_the_crates_and_the_layout_of_the_card() {
    for path in ["Cargo.toml", "mcp-core", "mcp-macros", "mcp-registry", "examples", "tests", "README.md"] {
        assert!(workspace().join(path).exists(), "{path}");
    }
    let manifests = ["Cargo.toml", "mcp-core/Cargo.toml", "mcp-macros/Cargo.toml", "mcp-registry/Cargo.toml"];
    let manifests = manifests.map(|path| fs::read_to_string(workspace().join(path)).unwrap()).join("\n");
    for name in ["syn", "quote", "proc-macro2", "inventory", "serde", "serde_json", "schemars", "thiserror"] {
        let is_used = |line: &str| line.starts_with(&format!("{name} ")) || line.starts_with(&format!("{name}."));
        assert!(manifests.lines().any(is_used), "{name}");
    }
}
