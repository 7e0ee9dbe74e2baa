//! The budget: how many names, keys, features and lines a reader has to know. If a change exceeds a cap,
//! remove something or merge two into one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::visit::{self, Visit};

/// The public modules of `mcp-registry`: its floors, those of `mcp-core`, the subjects of `call` and `transport`,
/// and the guide.
const MODULES: [&str; 28] = [
    "audit", "catalog", "cli", "context", "contract", "entry", "error", "gate", "guide", "http", "layer", "limit",
    "lint", "mcp", "message", "metrics", "name", "observe", "output", "param", "protocol", "registry", "rmcp", "rpc",
    "runtime", "schema", "stdio", "testing",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parse(path: &str) -> syn::File {
    syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust source below a folder.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut left = vec![repository().join(folder)];
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    assert!(!found.is_empty(), "{folder} has sources");
    found
}

fn has(attributes: &[syn::Attribute], name: &str, tokens: &str) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident(name) && list.tokens.to_string().contains(tokens),
        meta => tokens.is_empty() && meta.path().is_ident(name),
    })
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// The names that a `use` imports.
fn leaves(tree: &syn::UseTree, found: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, found),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, found)),
        syn::UseTree::Name(name) => found.push(name.ident.to_string()),
        syn::UseTree::Rename(rename) => found.push(rename.rename.to_string()),
        syn::UseTree::Glob(_) => found.push("*".to_owned()),
    }
}

/// The names and the modules at the root of a crate.
fn root(file: &syn::File) -> (Vec<String>, Vec<String>) {
    let mut names = Vec::new();
    for item in &file.items {
        match item {
            syn::Item::Use(item) if is_public(&item.vis) && !has(&item.attrs, "doc", "hidden") => {
                leaves(&item.tree, &mut names);
            }
            syn::Item::Mod(item) if is_public(&item.vis) && !has(&item.attrs, "doc", "hidden") => {
                names.push(item.ident.to_string());
            }
            syn::Item::Type(syn::ItemType { vis, ident, .. })
            | syn::Item::Struct(syn::ItemStruct { vis, ident, .. })
            | syn::Item::Enum(syn::ItemEnum { vis, ident, .. })
            | syn::Item::Trait(syn::ItemTrait { vis, ident, .. })
            | syn::Item::Const(syn::ItemConst { vis, ident, .. })
            | syn::Item::Fn(syn::ItemFn { vis, sig: syn::Signature { ident, .. }, .. })
                if is_public(vis) =>
            {
                names.push(ident.to_string());
            }
            _ => {}
        }
    }
    names.into_iter().partition(|name| !MODULES.contains(&name.as_str()))
}

/// The macros that a crate exports by `macro_rules!`.
fn exported_macros(folder: &str) -> usize {
    #[derive(Default)]
    struct Exported(usize);

    impl<'ast> Visit<'ast> for Exported {
        fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
            self.0 += usize::from(has(&item.attrs, "macro_export", "") && !has(&item.attrs, "doc", "hidden"));
            visit::visit_item_macro(self, item);
        }
    }

    let mut exported = Exported::default();
    for source in sources(folder) {
        exported.visit_file(&syn::parse_file(&fs::read_to_string(source).unwrap()).unwrap());
    }
    exported.0
}

fn is_borrowed(receiver: &syn::Receiver) -> bool {
    matches!(receiver.kind, syn::ReceiverKind::Reference(..))
}

/// The number of public methods of a type that take `self` in this way.
fn methods(file: &syn::File, of: &str, takes: impl Fn(&syn::Receiver) -> bool) -> usize {
    let mut count = 0;
    for item in &file.items {
        let syn::Item::Impl(item) = item else { continue };
        let syn::Type::Path(path) = &*item.self_ty else { continue };
        if item.trait_.is_some() || !path.path.is_ident(of) {
            continue;
        }
        for item in &item.items {
            let syn::ImplItem::Fn(method) = item else { continue };
            let is_visible = is_public(&method.vis) && !has(&method.attrs, "doc", "hidden");
            count += usize::from(is_visible && method.sig.receiver().is_some_and(&takes));
        }
    }
    count
}

#[test]
fn the_root_of_mcp_registry_has_at_most_40_names() {
    let (names, modules) = root(&parse("mcp-registry/src/lib.rs"));
    let count = names.len() + exported_macros("mcp-registry/src");
    assert!(names.contains(&"Registry".to_owned()) && modules.contains(&"gate".to_owned()), "{names:?} {modules:?}");
    assert!(!names.contains(&"*".to_owned()), "every name of the root is listed");
    assert!(count <= 40, "{count} names: {names:?}");
    // A lower-case name is a function, a macro or a crate that is known here, or else a module that has to be listed.
    let functions = [
        "get_tool_schema",
        "list_registered_tools",
        "mcp_tool",
        "router",
        "schemars",
        "serde_json",
        "serve_http",
        "serve_stdio",
        "tools",
    ];
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with(char::is_lowercase) && !functions.contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_name_a_module_and_a_glob_are_distinguished() {
    let file = syn::parse_str(
        "pub mod gate; mod call; pub use a::{B, c::{self as D, E}, lint}; use f::G; pub use h::*; #[doc(hidden)] pub use i::J; pub fn k() {} struct L;",
    );
    let (names, modules) = root(&file.unwrap());
    assert_eq!(names, ["B", "D", "E", "*", "k"]);
    assert_eq!(modules, ["gate", "lint"]);
}

#[test]
fn there_are_at_most_6_attributes_and_macros() {
    let own = parse("mcp-macros/src/lib.rs").items.into_iter().filter(|item| match item {
        syn::Item::Fn(item) => {
            // One attribute under two names: the crate that it refers to differs.
            item.sig.ident != "mcp_tool_of_registry"
                && (has(&item.attrs, "proc_macro_attribute", "") || has(&item.attrs, "proc_macro", ""))
        }
        _ => false,
    });
    let count = own.count() + exported_macros("mcp-registry/src") + exported_macros("mcp-core/src");
    assert!((3..=6).contains(&count), "{count}");
}

#[test]
fn tool_context_has_at_most_22_methods_for_tools() {
    let count = methods(&parse("mcp-core/src/context/mod.rs"), "ToolContext", is_borrowed);
    assert!((10..=22).contains(&count), "{count}");
}

#[test]
fn registry_builder_has_at_most_31_setters() {
    let count = methods(&parse("mcp-registry/src/registry/builder.rs"), "RegistryBuilder", |it| !is_borrowed(it));
    // One of them is `build`.
    assert!((20..=32).contains(&count), "{count}");
}

#[test]
fn mcp_registry_has_at_most_10_features() {
    let manifest = read("mcp-registry/Cargo.toml");
    let (_, features) = manifest.split_once("[features]\n").expect("there is a table of features");
    let features = features.split("\n[").next().unwrap_or_default();
    let names = features.lines().filter(|line| line.contains(" = [") && !line.starts_with("default "));
    let count = names.count();
    assert!((5..=10).contains(&count), "{count}");
}

/// What a program of tools prints.
fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_program")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_command_line_has_at_most_12_subcommands_and_serve_13_flags() {
    let text = help(&["--help"]);
    let (_, commands) = text.split_once("Commands:\n").unwrap_or_else(|| panic!("{text}"));
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let count = commands.filter(|line| !line.trim_start().starts_with("help ")).count();
    assert!((5..=12).contains(&count), "{text}");
    let text = help(&["serve", "--help"]);
    let flags = text.lines().filter(|line| line.trim_start().starts_with("--")).count();
    assert!((5..=13).contains(&flags), "{text}");
}

/// The lines of a source that are neither blank nor comments, up to its unit tests.
fn lines_of_code(text: &str) -> usize {
    let code = text.lines().map(str::trim).take_while(|line| !line.ends_with("mod tests {"));
    let is_code =
        |line: &&str| !line.is_empty() && !line.starts_with("//") && !["#[cfg(test)]", "mod tests;"].contains(line);
    code.filter(is_code).count()
}

#[test]
fn the_sources_have_at_most_35_600_lines_of_code_and_the_macros_1_210() {
    let count = |folder: &str| -> usize {
        let is_test = |path: &PathBuf| {
            let within = path.iter().skip_while(|part| *part != "src");
            within.into_iter().any(|part| part == "tests" || part == "tests.rs")
        };
        let is_code = |path: &PathBuf| !is_test(path) && !path.ends_with("expansions.rs");
        sources(folder)
            .iter()
            .filter(|path| is_code(path))
            .map(|path| lines_of_code(&fs::read_to_string(path).unwrap()))
            .sum()
    };
    let macros = count("mcp-macros/src");
    let all = macros + count("mcp-core/src") + count("mcp-registry/src");
    assert!((500..=1_210).contains(&macros), "{macros}");
    assert!((10_000..=35_600).contains(&all), "{all}");
}

#[test]
fn comments_and_unit_tests_are_not_lines_of_code() {
    assert_eq!(lines_of_code("//! Doc.\n\nfn f() {\n    // why\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n}\n"), 3);
    assert_eq!(lines_of_code("fn f() {}\n\n#[cfg(test)]\npub(crate) mod tests {\n    fn g() {}\n}\n"), 1);
    assert_eq!(lines_of_code("#[cfg(test)]\nmod tests;\n\nfn f() {}\n"), 1);
}
