//! Doc comments → description, sections, and what an `# Arguments` list says of each parameter.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::args::ungrouped;
use crate::errors::Errors;

/// The text of doc comments.
pub(crate) enum Text {
    /// It is written out.
    Written(String),
    /// A part of it comes from a macro such as `include_str!`: an expression that the compiler makes a literal of.
    Macro(TokenStream),
}

impl Default for Text {
    fn default() -> Self {
        Self::Written(String::new())
    }
}

impl Text {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Written(text) if text.is_empty())
    }
}

/// What a function's documentation says.
#[derive(Default)]
pub(crate) struct Docs {
    /// All before the first heading; where a macro is in it, everything.
    pub(crate) description: Text,
    /// The other sections, by heading.
    pub(crate) sections: Vec<(String, String)>,
    /// The items of `# Arguments`: name and text.
    pub(crate) arguments: Vec<(String, String)>,
}

/// The text of an item's doc comments, whatever stands between them.
pub(crate) fn text(attrs: &[Attribute], errors: &mut Errors) -> Text {
    let (mut written, mut parts, mut has_macro) = (Vec::new(), Vec::new(), false);
    for attr in attrs {
        let Meta::NameValue(pair) = &attr.meta else { continue };
        if !pair.path.is_ident("doc") {
            continue;
        }
        match ungrouped(pair.value.clone()) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                // An empty comment is an empty line, which `str::lines` would not give.
                let text = text.value().split('\n').map(unindented).collect::<Vec<_>>().join("\n");
                parts.push(quote!(#text, "\n"));
                written.push(text);
            }
            value @ Expr::Macro(_) => {
                parts.push(quote!(#value, "\n"));
                has_macro = true;
            }
            value => {
                let message = "a doc comment is a text; write a literal, or a macro such as `include_str!(\"…\")`";
                errors.at(value, message);
            }
        }
    }
    if has_macro {
        return Text::Macro(quote!(::core::concat!(#(#parts),*)));
    }
    Text::Written(written.join("\n").trim_matches('\n').to_owned())
}

fn unindented(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

pub(crate) fn is_doc(attr: &Attribute) -> bool {
    attr.path().is_ident("doc")
}

/// Takes a function's documentation apart at its headings.
pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Docs {
    let text = match text(attrs, errors) {
        Text::Written(text) => text,
        description @ Text::Macro(_) => return Docs { description, ..Docs::default() },
    };
    let mut parts: Vec<(String, Vec<&str>)> = vec![(String::new(), Vec::new())];
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        match line.strip_prefix('#').filter(|_| !in_code).map(|rest| rest.trim_start_matches('#')) {
            Some(heading) if heading.starts_with(' ') => parts.push((heading.trim().to_owned(), Vec::new())),
            _ => parts.last_mut().expect("there is a first part").1.push(line),
        }
    }
    let mut docs = Docs::default();
    for (heading, lines) in parts {
        let body = lines.join("\n").trim_matches('\n').to_owned();
        match heading.as_str() {
            "" => docs.description = Text::Written(body),
            "Arguments" | "Parameters" => docs.arguments = list(&lines),
            _ => docs.sections.push((heading, body)),
        }
    }
    docs
}

/// The items of a list: ``- `name`: text``, `* name - text`, with lines that go on.
fn list(lines: &[&str]) -> Vec<(String, String)> {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in lines {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        match (item, items.last_mut()) {
            (Some(item), _) => {
                let end = item.trim_start_matches('`').find(|c: char| !(c.is_alphanumeric() || c == '_'));
                let bare = item.trim_start_matches('`');
                let (name, rest) = bare.split_at(end.unwrap_or(bare.len()));
                let rest = rest.trim_start_matches(['`', ' ', ':', '-', '–', '—']);
                items.push((name.to_owned(), rest.to_owned()));
            }
            (None, Some((_, text))) if !line.trim().is_empty() => {
                text.push('\n');
                text.push_str(line.trim());
            }
            _ => {}
        }
    }
    items
}
