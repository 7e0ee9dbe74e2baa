//! The documents that others rely on exist, and what they name exists.

use std::fs;
use std::path::Path;

use crate::markdown::{read, workspace};
use crate::requirements::has_test;

/// The code spans of a page.
fn spans(page: &str) -> impl Iterator<Item = &str> {
    page.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// What a page names and the repository does not have: paths, and tests as `path: test`.
fn missing(page: &str) -> Vec<String> {
    let is_path = |text: &str| {
        let folders = ["docs/", "examples/", "fuzz/", "mcp-core/", "mcp-macros/", "mcp-registry/", "soak/", "tests/"];
        folders.iter().any(|folder| text.starts_with(folder)) && !text.contains([' ', '*'])
    };
    let is_missing = |span: &&str| match span.split_once(": ") {
        Some((path, test)) if is_path(path) => {
            !fs::read_to_string(workspace().join(path)).is_ok_and(|source| has_test(&source, test))
        }
        _ => is_path(span) && !workspace().join(span).exists(),
    };
    spans(page).filter(is_missing).map(str::to_owned).collect()
}

#[test]
fn s3_11_s3_53_what_the_documents_name_exists() {
    for path in ["AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md"] {
        assert_eq!(missing(&read(path)), [""; 0], "{path}");
    }
    let named = spans(&read("SECURITY.md")).filter(|span| span.contains(".rs: ")).count();
    assert!(named > 15, "SECURITY.md names the tests that show its promises: {named}");
}

#[test]
fn a_path_and_a_test_that_do_not_exist_are_found() {
    let page = "`tests/repository/documents.rs: a_path_and_a_test_that_do_not_exist_are_found` and `tests/README.md`, `fuzz/`\n\
                `tests/no.rs`, `tests/repository/documents.rs: no_test`, `tests/golden/*.json`, `tools/list`";
    assert_eq!(missing(page), ["tests/no.rs", "tests/repository/documents.rs: no_test"]);
}

/// What is wrong with a file in the format of llmstxt.org: a title, a summary, and sections of links with descriptions.
fn problems_of_llms_txt(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    if !lines.next().is_some_and(|line| line.starts_with("# ")) {
        problems.push("the first line is not a title".to_owned());
    }
    if !lines.next().is_some_and(|line| line.starts_with("> ")) {
        problems.push("the title is not followed by a summary".to_owned());
    }
    let sections = text.split("\n## ").skip(1);
    if sections.clone().next().is_none() {
        problems.push("there are no sections".to_owned());
    }
    for section in sections {
        let is_link = |line: &&str| {
            let link = line.strip_prefix("- [").and_then(|link| link.split_once("]("));
            link.and_then(|(_, rest)| rest.split_once("): ")).is_some_and(|(_, description)| !description.is_empty())
        };
        let others = section.lines().skip(1).filter(|line| !line.is_empty() && !is_link(line));
        problems.extend(others.map(|line| format!("`{line}` is not a link with a description")));
    }
    problems
}

#[test]
fn llms_txt_keeps_to_its_format_and_lists_every_page_of_the_guide() {
    let text = read("llms.txt");
    assert_eq!(problems_of_llms_txt(&text), [""; 0]);
    for entry in fs::read_dir(workspace().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_page = Path::new(&name).extension().is_some_and(|extension| extension == "md");
        assert!(!is_page || text.contains(&format!("](docs/{name})")), "docs/{name} is not in llms.txt");
    }
}

#[test]
fn mistakes_in_llms_txt_are_found() {
    let good = "# Title\n\n> Summary\n> of two lines.\n\nMore.\n\n## Section\n\n- [a](a.md): what it is\n";
    assert_eq!(problems_of_llms_txt(good), [""; 0]);
    for (before, after) in [
        ("# Title\n", ""),
        ("> Summary\n> of two lines.\n", ""),
        ("\n## Section\n\n- [a](a.md): what it is\n", ""),
        (": what it is", ""),
        ("- [a](a.md): what it is", "text"),
    ] {
        assert_eq!(problems_of_llms_txt(&good.replacen(before, after, 1)).len(), 1, "{before:?} → {after:?}");
    }
}

/// The parts of a message that are the same for every name, number and type.
fn fixed_words(message: &str) -> Vec<String> {
    let outside_of_code = message.split('`').step_by(2);
    let parts = outside_of_code.flat_map(|text| text.split(['"', '\'', ';', ':', ',', '?', '.']));
    parts.map(|part| part.trim().to_owned()).filter(|part| part.len() > 6).collect()
}

#[test]
fn troubleshooting_has_each_compile_error_of_the_attribute() {
    let page = read("docs/troubleshooting.md").replace('`', "");
    let mut messages = 0;
    for file in fs::read_dir(workspace().join("tests/compile_errors/ui")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        let output = fs::read_to_string(&path).unwrap();
        for message in output.lines().filter_map(|line| line.strip_prefix("error: ")) {
            messages += 1;
            let is_there = fixed_words(message).iter().any(|words| page.contains(words.as_str()));
            assert!(is_there, "docs/troubleshooting.md lacks: {message}");
        }
    }
    assert!(messages > 90, "the messages are where the test looks: {messages}");
}
