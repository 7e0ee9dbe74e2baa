//! Every relative link and image of a page leads to a file, and to a heading if it names one.

use std::collections::HashMap;

use crate::markdown::{pages, prose, read, workspace};

/// The targets of the links and images in a line, without those in code: `[text](target)`, `![text](target "title")` and
/// `[label]: target`.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut targets = Vec::new();
    let definition = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    if let Some((label, target)) = definition
        && !label.contains(']')
    {
        targets.push(target);
    }
    let mut rest = line.as_str();
    while let Some((_, after)) = rest.split_once("](") {
        targets.push(closed(after));
        rest = after;
    }
    let without_title = |target: &str| target.split_whitespace().next().unwrap_or_default().to_owned();
    targets.into_iter().map(without_title).map(|target| target.trim_matches(['<', '>']).to_owned()).collect()
}

/// The text up to the bracket that closes it.
fn closed(text: &str) -> &str {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return &text[..at],
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// A line with its code spans blanked out.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let marks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (before, code) = (&rest[..start], &rest[start + marks..]);
        text.push_str(before);
        match code.find(&rest[start..start + marks]) {
            Some(end) => rest = &code[end + marks..],
            None => rest = code,
        }
        text.push_str("code");
    }
    text + rest
}

/// The anchors of a page's headings, as GitHub names them.
fn anchors(page: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, line) in prose(page) {
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        if (1..=6).contains(&level) && text.starts_with(' ') {
            let anchor = anchor(text);
            let count = counts.entry(anchor.clone()).or_default();
            anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
            *count += 1;
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    // The text of a link is in the anchor, its target is not.
    let mut text = String::new();
    let mut rest = heading.trim();
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = &after[(closed(after).len() + 1).min(after.len())..];
    }
    text.push_str(rest);
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.map(|character| if character == ' ' { '-' } else { character }).collect()
}

/// The path of a link's target, from the root of the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if target.is_empty() { vec![page] } else { folder.split_terminator('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a target is on the web, or an item: rustdoc checks those of pages that are part of the API documentation.
fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.contains("::")
}

/// What is wrong with the links of a page. `file` returns the text of a file, and an empty text for a folder.
fn problems(path: &str, page: &str, file: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in prose(page) {
        for target in targets(line).into_iter().filter(|target| !is_elsewhere(target)) {
            let (to, heading) = target.split_once('#').map_or((target.as_str(), None), |(to, it)| (to, Some(it)));
            let linked = resolve(path, to).and_then(|to| file(&to));
            match (linked, heading) {
                (None, _) => problems.push(format!("{path}:{number}: `{target}` does not exist")),
                (Some(text), Some(heading)) if !anchors(&text).iter().any(|anchor| anchor == heading) => {
                    problems.push(format!("{path}:{number}: `{target}` names a heading that does not exist"));
                }
                _ => {}
            }
        }
    }
    problems
}

/// The text of a file of the repository, or an empty one for a folder or an image.
fn text_of(path: &str) -> Option<String> {
    let file = workspace().join(path);
    file.exists().then(|| std::fs::read_to_string(file).unwrap_or_default())
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let pages = pages();
    let links: usize = pages.iter().map(|path| read(path).lines().map(|line| targets(line).len()).sum::<usize>()).sum();
    assert!(links > 50, "the links are where the test looks");
    let problems: Vec<String> = pages.iter().flat_map(|path| problems(path, &read(path), text_of)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_and_images_are_found_outside_of_code() {
    let found = |line: &str| targets(line);
    assert_eq!(found("see [a](b.md), ![c](d.svg \"title\") and [e](<f.md>)"), ["b.md", "d.svg", "f.md"]);
    assert_eq!(found("[![badge](badge.svg)](page.md)"), ["badge.svg", "page.md"]);
    assert_eq!(found("[a]: b.md"), ["b.md"]);
    assert_eq!(found("[wiki](a_(b).md) (and so on)"), ["a_(b).md"]);
    assert_eq!(found("`[a](b.md)` and ``[`c`](d.md)`` and [`e`](f.md)"), ["f.md"]);
    assert_eq!(found("nothing [here] (or there)"), [""; 0]);
}

#[test]
fn headings_have_the_anchors_of_github() {
    let page = "# The Title\n## `serve --http`, or *not*\n## A & B\n## The title\n```\n# no heading\n```\n#hash\n## [x](y.md) é";
    assert_eq!(anchors(page), ["the-title", "serve---http-or-not", "a--b", "the-title-1", "x-é"]);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let file = |path: &str| match path {
        "docs/a.md" | "b.md" => Some("# Here\n".to_owned()),
        "docs" => Some(String::new()),
        _ => None,
    };
    let of_page = |page: &str| problems("docs/a.md", page, file);
    let good = "[a](a.md) [a](./a.md#here) [b](../b.md#here) [docs](../docs) [top](#here) [x](https://example.com/y.md) [y](crate::y)\n# Here";
    assert_eq!(of_page(good), [""; 0]);
    for (link, problem) in [
        ("b.md", "docs/a.md:1: `b.md` does not exist"),
        ("../../b.md", "docs/a.md:1: `../../b.md` does not exist"),
        ("../b.md#there", "docs/a.md:1: `../b.md#there` names a heading that does not exist"),
        ("#there", "docs/a.md:1: `#there` names a heading that does not exist"),
    ] {
        assert_eq!(of_page(&format!("[text]({link})")), [problem]);
    }
}
