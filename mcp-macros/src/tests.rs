//! Tests of the generated code and of the tables of keys. The generated code is kept in files, so that a review shows
//! how it changes; `MCP_EXPANSIONS=overwrite cargo test -p mcp-macros` updates them.

use std::fs;
use std::path::Path;

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};

use crate::errors::Errors;
use crate::expand;
use crate::keys::{ARG_KEYS, Keys, TOOL_KEYS, names};

fn check(name: &str, args: TokenStream, item: &TokenStream) {
    let tokens = expand::tool(args, item, &quote!(::mcp_core));
    let expansion = prettyplease::unparse(&syn::parse2(tokens).expect("the expansion consists of items"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests-expansions").join(name).with_extension("rs");
    if std::env::var_os("MCP_EXPANSIONS").is_some() {
        fs::write(&path, expansion).expect("the file can be written");
    } else {
        let expected = fs::read_to_string(&path).expect("there is a file for each expansion");
        assert_eq!(expansion, expected, "{} differs", path.display());
    }
}

#[test]
fn nothing() {
    check(
        "nothing",
        quote!(name = "test.nothing"),
        &quote!(
            fn nothing() {}
        ),
    );
}

#[test]
fn arguments() {
    let item = quote! {
        /// Reads a text file.
        ///
        /// # Errors
        /// - `FileNotFoundError`: there is none.
        pub fn read(
            /// Where it is.
            #[arg(min_length = 1, example = "src/main.rs")]
            path: &Path,
            #[arg(default = "utf-8")] encoding: String,
            #[arg(min = 1)] limit: Option<u64>,
            filter: Option<&str>,
        ) -> Result<Text, Error> {
            Ok(Text)
        }
    };
    check("arguments", quote!(module = "files", read_only, tags("files"), timeout = "5s"), &item);
}

#[test]
fn injected() {
    let item = quote! {
        async fn search(#[ctx] cx: &ToolContext, #[ctx] db: &Db, #[ctx] user: User, query: String) -> Vec<Content> {
            Vec::new()
        }
    };
    check("injected", quote!(module = "notes"), &item);
}

#[test]
fn mistakes() {
    let item = quote! {
        fn wrong(#[arg(minimum = 1)] a: i32, b: &[&str]) {}
    };
    check("mistakes", quote!(readonly), &item);
}

/// Each further key makes the attributes harder to learn.
#[test]
fn the_number_of_keys_is_limited() {
    assert!(TOOL_KEYS.len() <= 28, "{} keys of `#[mcp_tool]`", TOOL_KEYS.len());
    assert!(ARG_KEYS.len() <= 20, "{} keys of `#[arg]`", ARG_KEYS.len());
}

/// The keys in the first column of the table that follows a heading or sentence of the documentation.
fn documented(before: &str) -> Vec<String> {
    let (_, page) = include_str!("mcp_tool.md").split_once(before).expect("the documentation has this part");
    let rows =
        page.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split(" | ").next().expect("a row has a first cell"));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned)).collect()
}

#[test]
fn the_documentation_has_every_key_with_valid_syntax() {
    for (before, table) in [("# Keys of the attribute", &TOOL_KEYS[..]), ("`#[arg(…)]` has these keys", &ARG_KEYS[..])]
    {
        let mut names_in_docs = Vec::new();
        for syntax in documented(before) {
            let mut errors = Errors::default();
            let keys = Keys::read(table, vec![syntax.parse().expect("the syntax consists of tokens")], &mut errors);
            assert!(errors.is_empty(), "`{syntax}`: {}", errors.to_token_stream());
            names_in_docs.extend(keys.settings.iter().map(|setting| setting.key.name));
        }
        names_in_docs.dedup();
        assert_eq!(names_in_docs, names(table).collect::<Vec<_>>());
    }
}
