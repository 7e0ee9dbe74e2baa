//! The documents that others rely on exist, and what they name exists.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::architecture::{is_test, sources};
use crate::markdown::{prose, read, workspace};
use crate::requirements::has_test;

const TROUBLESHOOTING: &str = "docs/troubleshooting.md";

/// The text before the first code span of a line, the span, and the rest of the line.
fn split_at_span(line: &str) -> Option<(&str, &str, &str)> {
    let (before, code) = line.split_at(line.find('`')?);
    let (fence, code) = code.split_at(code.len() - code.trim_start_matches('`').len());
    let (span, rest) = code.split_once(fence)?;
    Some((before, span.trim(), rest))
}

/// The code spans of a page.
fn spans(page: &str) -> impl Iterator<Item = &str> {
    page.lines().flat_map(|mut line| {
        std::iter::from_fn(move || {
            let (_, span, rest) = split_at_span(line)?;
            line = rest;
            Some(span)
        })
    })
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

/// The outputs of rustc that the tests of compile errors expect.
fn compiler_output() -> String {
    let files = fs::read_dir(workspace().join("tests/compile_errors/ui")).unwrap().map(|file| file.unwrap().path());
    let outputs = files.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    outputs.map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn troubleshooting_has_each_compile_error_of_the_attribute() {
    let page = read(TROUBLESHOOTING).replace('`', "");
    let output = compiler_output();
    let messages: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert!(messages.len() > 90, "the messages are where the test looks: {}", messages.len());
    for message in messages {
        let is_there = fixed_words(message).iter().any(|words| page.contains(words.as_str()));
        assert!(is_there, "{TROUBLESHOOTING} lacks: {message}");
    }
}

/// The string literals of a source outside of its documentation and its unit tests, as [`pattern`]s.
#[derive(Default)]
struct Literals(Vec<String>);

impl Literals {
    /// Adds the literals in the tokens of a macro or an attribute.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut is_attribute = false;
        for token in tokens {
            match &token {
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) {
                        self.visit_lit_str(&text);
                    }
                }
                TokenTree::Group(group) if !(is_attribute && group.stream().to_string().starts_with("doc ")) => {
                    self.tokens(group.stream());
                }
                _ => {}
            }
            is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.tokens(list.tokens.clone());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push(pattern(&text.value()));
    }
}

/// A message with `…` for each placeholder, and without backticks.
fn pattern(text: &str) -> String {
    let text = text.replace('`', "");
    let mut pattern = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        pattern.push_str(before);
        let end = brace.find('}').filter(|_| !brace.starts_with("{{") && !brace.starts_with('}'));
        pattern.push_str(if end.is_some() { "…" } else { &brace[..1] });
        let is_double = brace.starts_with("{{") || brace.starts_with("}}");
        rest = &brace[end.map_or(if is_double { 2 } else { 1 }, |end| end + 1)..];
    }
    pattern + rest
}

/// The messages of the public errors in a source: those of `#[error("…")]`, and the first of a `Display` written by hand.
fn messages_of_errors(file: &syn::File) -> Vec<String> {
    let mut types = Vec::new();
    let mut messages: Vec<Literals> = Vec::new();
    for item in &file.items {
        let (name, visibility, mut attributes): (_, _, Vec<&syn::Attribute>) = match item {
            syn::Item::Struct(item) => (&item.ident, &item.vis, item.attrs.iter().collect()),
            syn::Item::Enum(item) => {
                let of_variants = item.variants.iter().flat_map(|variant| &variant.attrs);
                (&item.ident, &item.vis, item.attrs.iter().chain(of_variants).collect())
            }
            _ => continue,
        };
        if matches!(visibility, syn::Visibility::Public(_)) {
            types.push(name);
            attributes.retain(|attribute| attribute.path().is_ident("error"));
            messages.extend(attributes.into_iter().map(|attribute| {
                let mut literals = Literals::default();
                literals.visit_attribute(attribute);
                literals
            }));
        }
    }
    for item in &file.items {
        let syn::Item::Impl(item) = item else { continue };
        let (Some((path, ..)), syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) else { continue };
        let is_display = path.segments.last().is_some_and(|segment| segment.ident == "Display");
        if is_display && types.iter().any(|name| of.path.is_ident(*name) && name.to_string().ends_with("Error")) {
            let mut literals = Literals::default();
            literals.visit_item_impl(item);
            messages.push(literals);
        }
    }
    messages.into_iter().filter_map(|literals| literals.0.into_iter().next()).collect()
}

/// The messages in the tables of a page, as [`pattern`]s, with their lines and sections.
fn messages(page: &str) -> Vec<(usize, &str, String)> {
    let mut messages = Vec::new();
    let (mut section, mut has_messages, mut is_inside) = ("", false, false);
    for (number, line) in prose(page) {
        section = line.strip_prefix("## ").unwrap_or(section);
        let row = line.strip_prefix('|').map(str::trim_start);
        let mut cell = row.and_then(|row| row.split(" | ").next()).unwrap_or_default();
        if row.is_some() && !is_inside {
            has_messages = cell == "Message";
        }
        is_inside = row.is_some();
        // A comma separates two messages. A word explains them, and ends their list.
        while let Some(("" | ", ", message, rest)) = split_at_span(cell).filter(|_| has_messages) {
            messages.push((number, section, pattern(message)));
            cell = rest;
        }
    }
    messages
}

/// The words of a message between names, numbers and types.
fn parts(message: &str) -> impl Iterator<Item = &str> {
    message.split('…').map(str::trim).filter(|part| !part.is_empty())
}

/// Whether a text has the words of a message, in their order.
fn has(text: &str, message: &str) -> bool {
    let rest = parts(message).try_fold(text, |rest, part| rest.split_once(part).map(|(_, rest)| rest));
    rest.is_some()
}

/// The messages of the tables that are not in the sources. A message is in one literal, or put together from several: then
/// each part of it has several words and is in one. Compile errors may also be in the output of rustc.
fn stale_messages(page: &str, literals: &[String], output: &str) -> Vec<String> {
    let output: Vec<String> = output.lines().map(|line| line.replace('`', "")).collect();
    let is_there = |section: &str, message: &str| {
        let output = if section.starts_with("When you compile") { output.as_slice() } else { &[] };
        let texts = || literals.iter().chain(output);
        let mut pieces = parts(message).flat_map(|part| part.split([',', ':', ';', '?'])).map(str::trim);
        let is_found = |piece: &str| piece.contains(' ') && texts().any(|text| text.contains(piece));
        texts().any(|text| has(text, message)) || pieces.all(|piece| piece.is_empty() || is_found(piece))
    };
    let mut messages = messages(page);
    messages.retain(|(_, section, message)| !section.contains("rustc's own") && !is_there(section, message));
    let stale = messages.into_iter().map(|(number, _, message)| format!("line {number}: {message}"));
    stale.collect()
}

/// The messages of errors that a page lacks. The page may have the beginning of a message, or more than the error itself.
fn missing_messages(page: &str, of_errors: &[String]) -> Vec<String> {
    let has_words = |text: &String| parts(text).any(|part| part.len() > 6);
    let on_page: Vec<String> = spans(page).map(pattern).filter(has_words).collect();
    let is_there = |message: &String| on_page.iter().any(|span| has(message, span) || has(span, message));
    of_errors.iter().filter(|message| has_words(message) && !is_there(message)).cloned().collect()
}

/// The literals of sources, and the messages of their errors.
fn literals_of<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Vec<String>, Vec<String>) {
    let (mut literals, mut of_errors) = (Literals::default(), Vec::new());
    for (path, text) in sources {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        literals.visit_file(&file);
        of_errors.extend(messages_of_errors(&file));
    }
    (literals.0, of_errors)
}

#[test]
fn s4_14_each_message_of_troubleshooting_is_in_the_sources_and_each_error_on_the_page() {
    let folders = ["mcp-core/src", "mcp-macros/src", "mcp-registry/src"];
    let files: Vec<_> = folders.iter().flat_map(|folder| sources(&workspace().join(folder))).collect();
    let (literals, of_errors) = literals_of(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let page = read(TROUBLESHOOTING);
    let messages = messages(&page).len();
    assert!(messages > 200 && of_errors.len() > 45, "{messages} messages, {} of errors", of_errors.len());
    let stale = stale_messages(&page, &literals, &compiler_output());
    assert!(stale.is_empty(), "{TROUBLESHOOTING} has messages that are not in the sources:\n{}", stale.join("\n"));
    let missing = missing_messages(&page, &of_errors);
    assert!(missing.is_empty(), "{TROUBLESHOOTING} lacks messages of errors:\n{}", missing.join("\n"));
}

#[test]
fn messages_that_the_sources_and_a_page_do_not_share_are_found() {
    let source = r#"
        /// documented only
        #[derive(thiserror::Error)]
        pub enum PublicError {
            #[error("the {what} is `full`; wait {time:?}\n at {0}")]
            Full,
            #[error(transparent)]
            Other,
        }
        #[error("not for others")]
        struct Private;
        pub struct PortError;
        impl fmt::Display for PortError {
            fn fmt(&self) { f.write_str("the port is taken: ")?; write!(f, "choose another") }
        }
        fn f() { g(format!("use \
            {{braces}}, {}", "joined text")); }
        #[cfg(test)]
        mod tests { const TEXT: &str = "tested only"; }
    "#;
    let (literals, of_errors) = literals_of([("a.rs", source)]);
    assert_eq!(of_errors, ["the … is full; wait …\n at …", "the port is taken: "]);

    let good = "## A\n| Message | Fix |\n|---|---|\n| `the … is full`, `` use {braces}, `…` `` and `not this` | `nor this` |\n\
                | `the port is taken: choose another` | wait |\n\n| Symptom | Fix |\n|---|---|\n| `nor that` | wait |\n";
    assert_eq!(stale_messages(good, &literals, ""), [""; 0]);
    assert_eq!(missing_messages(good, &of_errors), [""; 0]);

    for message in ["the … is empty", "full … the", "documented only", "tested only", "the port is taken: choose"] {
        let page = format!("| Message | Fix |\n|---|---|\n| `{message}` | wait |");
        assert_eq!(stale_messages(&page, &literals, ""), [format!("line 3: {message}")]);
    }
    assert_eq!(missing_messages("`the port is taken`", &of_errors), ["the … is full; wait …\n at …"]);

    let rustc = "| Message | Fix |\n|---|---|\n| `cannot find …` | add it |";
    assert_eq!(
        stale_messages(&format!("## When you compile: types\n{rustc}"), &literals, "error: cannot find `x`").len(),
        0
    );
    assert_eq!(stale_messages(&format!("## During a call\n{rustc}"), &literals, "error: cannot find `x`").len(), 1);
    assert_eq!(stale_messages(&format!("## When you compile: rustc's own messages\n{rustc}"), &literals, "").len(), 0);
}

#[test]
fn every_rule_of_the_diff_is_explained_in_the_guide() {
    let page = read("docs/contracts.md");
    let (_, rules) = page.split_once("### Rules").expect("the page has a section about rules");
    let mut known = 0;
    for source in ["diff", "schemas", "rules", "notes"] {
        let text = read(&format!("mcp-registry/src/contract/{source}.rs"));
        let literals = text.split('"').skip(1).step_by(2);
        let is_rule =
            |text: &&str| text.contains('-') && text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        for rule in literals.filter(is_rule).filter(|rule| *rule != "parameter-default") {
            assert!(rules.contains(&format!("`{rule}`")), "{rule} is not explained");
            known += 1;
        }
    }
    assert!(known > 50, "{known}");
}
