//! Expansions, kept as files, so that a change in what is generated is seen. `MCP_EXPANSIONS=overwrite cargo test -p
//! mcp-macros` writes them anew.

use std::fs;
use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand;

fn check(name: &str, args: TokenStream, item: &TokenStream) {
    let tokens = expand::tool(args, item, &quote!(::mcp_core));
    let expansion = prettyplease::unparse(&syn::parse2(tokens).expect("an expansion is items"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests-expansions").join(name).with_extension("rs");
    if std::env::var_os("MCP_EXPANSIONS").is_some() {
        fs::write(&path, expansion).expect("the file can be written");
    } else {
        let kept = fs::read_to_string(&path).expect("there is a file for each expansion");
        assert_eq!(expansion, kept, "{} differs", path.display());
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
