//! The floors of `mcp-core` and `mcp-registry`: a folder uses only itself and the folders below it. `ARCHITECTURE.md` lists
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The folders and files of `mcp-core/src`, lowest first. `private` is what the macro's expansion uses.
const FLOORS_OF_CORE: [&str; 13] = [
    "util", "name", "error", "message", "rpc", "mcp", "context", "schema", "param", "output", "entry", "support",
    "private",
];

/// The folders of `mcp-registry/src`, lowest first.
const FLOORS_OF_REGISTRY: [&str; 12] = [
    "util",
    "runtime",
    "validate",
    "catalog",
    "contract",
    "call",
    "registry",
    "protocol",
    "transport",
    "rmcp",
    "cli",
    "testing",
];

/// The sources of a crate, its floors, and a lower bound for the number of its files.
const CRATES: [(&str, &[&str], usize); 2] =
    [("mcp-core/src", &FLOORS_OF_CORE, 45), ("mcp-registry/src", &FLOORS_OF_REGISTRY, 80)];

/// The first of the floors that nothing may use.
const ENTRY_POINTS: &str = "rmcp";

/// The forbidden edges of a tree of sources: pairs of a path below `src` and a text.
fn forbidden(floors: &[&str], sources: &[(String, String)]) -> BTreeSet<String> {
    let rank = |name: &str| floors.iter().position(|floor| *floor == name);
    let mut found = BTreeSet::new();
    for (path, text) in sources {
        let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let Some(own) = module.first().cloned() else { continue };
        let Some(own_rank) = rank(&own) else {
            found.insert(format!("{path} is on no floor"));
            continue;
        };
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut edges = Edges { module, targets: BTreeSet::new() };
        edges.visit_file(&file);
        for target in edges.targets.into_iter().filter(|target| *target != own) {
            match rank(&target) {
                Some(rank)
                    if rank < own_rank
                        && rank < floors.iter().position(|it| *it == ENTRY_POINTS).unwrap_or(usize::MAX) => {}
                Some(_) => _ = found.insert(format!("{path} uses `{target}`, which is on a higher floor")),
                None => _ = found.insert(format!("{path} uses `crate::{target}`, which is no floor: name the module")),
            }
        }
    }
    found
}

/// The folders and names of the crate's root that a file uses.
struct Edges {
    /// The current module.
    module: Vec<String>,
    targets: BTreeSet<String>,
}

impl Edges {
    /// Notes a path by its segments.
    fn note(&mut self, segments: &[String]) {
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        let rest = &segments[supers..];
        let target = match segments.first().map(String::as_str) {
            Some("crate") => segments.get(1),
            Some("super") if supers >= self.module.len() => rest.first(),
            _ => None,
        };
        self.targets.extend(target.cloned());
    }

    /// Notes what the tokens of a macro call name: `crate::…`, but not `$crate::…`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut before: [String; 3] = Default::default();
        let mut is_dollar = false;
        for token in tokens {
            if let TokenTree::Group(group) = &token {
                self.tokens(group.stream());
            }
            let text = token.to_string();
            let is_path = before[0] == "crate" && before[1] == ":" && before[2] == ":";
            if let (true, TokenTree::Ident(name)) = (is_path && !is_dollar, &token) {
                self.targets.insert(name.to_string());
            }
            if text == "crate" {
                is_dollar = before[2] == "$";
            }
            before.rotate_left(1);
            before[2] = text;
        }
    }

    fn use_tree(&mut self, prefix: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.use_tree(prefix, &path.tree);
                prefix.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.use_tree(prefix, tree)),
            syn::UseTree::Name(syn::UseName { ident, .. }) | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                prefix.push(ident.to_string());
                self.note(prefix);
                prefix.pop();
            }
            syn::UseTree::Glob(_) => self.note(prefix),
        }
    }
}

pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_cfg_test = |meta: &syn::Meta| match meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            list.tokens.to_string() == "test" || list.tokens.to_string().starts_with("all (test")
        }
        meta => meta.path().is_ident("test"),
    };
    attributes.iter().any(|attribute| is_cfg_test(&attribute.meta))
}

impl<'ast> Visit<'ast> for Edges {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.use_tree(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every source below a folder, except for files of unit tests.
pub(crate) fn sources(root: &Path) -> Vec<(String, String)> {
    let mut left: Vec<PathBuf> = vec![root.to_owned()];
    let mut sources = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            sources.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    sources
}

#[test]
fn each_folder_uses_only_lower_floors() {
    for (folder, floors, files) in CRATES {
        let mut sources = sources(&workspace().join(folder));
        assert!(sources.len() > files, "the sources are where the test looks");
        // The guide has pages, and no code.
        sources.retain(|(path, _)| path != "lib.rs" && path != "guide.rs");
        let forbidden: Vec<String> = forbidden(floors, &sources).into_iter().collect();
        assert!(forbidden.is_empty(), "{folder}: {}", forbidden.join("\n"));
    }
}

/// The forbidden edges in a tree of one file.
fn in_file(path: &str, text: &str) -> Vec<String> {
    forbidden(&["low", "middle", "high", ENTRY_POINTS], &[(path.to_owned(), text.to_owned())]).into_iter().collect()
}

#[test]
fn a_use_of_a_lower_floor_is_allowed() {
    assert!(
        in_file("middle/a.rs", "use crate::low::Thing; fn f() { crate::low::g(); super::super::low::h() }").is_empty()
    );
    assert!(
        in_file("middle/mod.rs", "use self::a::B; use super::low::C; mod a { use super::super::low::D; }").is_empty()
    );
}

#[test]
fn a_use_of_a_higher_floor_is_found_however_it_is_written() {
    for text in [
        "use crate::high::Thing;",
        "use crate::{low::A, high::{B, C}};",
        "use crate::high as other;",
        "use crate::high::*;",
        "fn f() { crate::high::g() }",
        "fn f(_: &dyn crate::high::Trait) {}",
        "type T = Vec<crate::high::Thing>;",
        "fn f() { println!(\"{}\", [crate::high::g()]) }",
        "use super::super::high::Thing;",
        "mod inner { use super::super::super::high::Thing; }",
        "impl crate::high::Trait for u8 {}",
    ] {
        assert_eq!(in_file("middle/a.rs", text), ["middle/a.rs uses `high`, which is on a higher floor"], "{text}");
    }
}

#[test]
fn nothing_may_use_an_entry_point() {
    assert_eq!(in_file("high/a.rs", "use crate::rmcp::x;").len(), 1);
    let floors = ["low", ENTRY_POINTS, "cli"];
    let source = ("cli/mod.rs".to_owned(), "use crate::rmcp::x;".to_owned());
    assert_eq!(forbidden(&floors, &[source]).len(), 1);
}

#[test]
fn a_name_of_the_root_and_a_file_on_no_floor_are_found() {
    assert_eq!(in_file("middle/a.rs", "use crate::Thing;").len(), 1);
    assert_eq!(in_file("other.rs", ""), ["other.rs is on no floor"]);
    let of_macro = "macro_rules! m { () => { $crate::__private::f() } }";
    assert!(in_file("middle/a.rs", of_macro).is_empty(), "`$crate` is for other crates");
}

#[test]
fn tests_may_use_anything() {
    assert!(in_file("low/a.rs", "#[cfg(test)] mod tests { use crate::high::Thing; }").is_empty());
}

/// What is wrong with a page that describes crates: paths that do not exist, and tables that are not the floors.
fn problems(page: &str, crates: &[(&str, &[&str], usize)], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let is_of_path = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    let mut problems = Vec::new();
    let mut section = "";
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for line in page.lines() {
        if line.starts_with('#') {
            section = line.split('`').nth(1).unwrap_or_default();
        }
        if let Some(floor) = line.strip_prefix("| `").and_then(|row| row.split('`').next()) {
            listed.push((section, floor));
            if !exists(&format!("{section}/{floor}")) {
                problems.push(format!("`{floor}` is not in {section}"));
            }
        }
        for path in line.split(|character| !is_of_path(character)).map(|path| path.trim_end_matches('.')) {
            // Not `tools/call`, which is a method.
            let is_below = |(folder, _): (&str, &str)| !folder.is_empty() && exists(folder);
            let is_file = Path::new(path).extension().is_some_and(|extension| extension == "rs" || extension == "md");
            let is_path = is_file || path.split_once('/').is_some_and(is_below);
            if is_path && !exists(path) && !exists(&format!("{section}/{path}")) {
                problems.push(format!("`{path}` does not exist"));
            }
        }
    }
    for (folder, floors, _) in crates {
        let rows = listed.iter().filter(|(section, _)| section == folder);
        let rows: Vec<&str> = rows.map(|(_, row)| row.trim_end_matches('/').trim_end_matches(".rs")).collect();
        if rows != *floors {
            problems.push(format!("the floors of {folder} are {floors:?}, not {rows:?}"));
        }
    }
    problems
}

#[test]
fn architecture_md_lists_the_floors_and_names_only_files_that_exist() {
    let page = fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let mut problems = problems(&page, &CRATES, |path| workspace().join(path).exists());
    // `mcp-macros` has too few files for floors.
    let files = sources(&workspace().join("mcp-macros/src")).into_iter().map(|(path, _)| path);
    let unlisted = files.filter(|path| path != "lib.rs" && !page.contains(&format!("| `{path}` |")));
    problems.extend(unlisted.map(|path| format!("`{path}` of mcp-macros is not listed")));
    assert!(problems.is_empty(), "ARCHITECTURE.md: {}", problems.join("\n"));
}

#[test]
fn a_wrong_path_and_a_wrong_list_of_floors_are_found() {
    let crates: [(&str, &[&str], usize); 1] = [("one/src", &["low", "high"], 0)];
    let exists = |path: &str| ["one", "one/src", "one/src/low/", "one/src/high.rs", "one/src/low/a.rs"].contains(&path);
    let page =
        "## `one/src`\n| floor |\n| `low/` | reads |\n| `high.rs` | writes |\n## Walk\nat[one/src/low/a.rs<br>here]";
    assert_eq!(problems(page, &crates, exists), [""; 0]);
    for (before, after, problem) in [
        ("low/a.rs", "low/b.rs", "`one/src/low/b.rs` does not exist"),
        ("here", "old.rs", "`old.rs` does not exist"),
        ("| `low/` | reads |\n", "", "the floors of one/src are [\"low\", \"high\"], not [\"high\"]"),
    ] {
        assert_eq!(problems(&page.replace(before, after), &crates, exists), [problem]);
    }
    let swapped = "## `one/src`\n| `high.rs` | writes |\n| `low/` | reads |";
    assert_eq!(problems(swapped, &crates, exists).len(), 1);
}
