//! Reads doc comments: the description, the sections, and the items of an `# Arguments` list.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta};

use crate::errors::Errors;
use crate::kinds::ungrouped;

/// The text of doc comments.
#[derive(Clone)]
pub(crate) enum Text {
    /// Literal text.
    Written(String),
    /// An expression that the compiler evaluates, since a part comes from a macro such as `include_str!`.
    Macro(TokenStream),
}

impl Text {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Written(text) if text.is_empty())
    }

    /// Uses the key `description` if there is no doc comment.
    pub(crate) fn take_key(&mut self, key: Option<LitStr>, item: &str, errors: &mut Errors) {
        match key {
            Some(text) if self.is_empty() => *self = Self::Written(text.value()),
            Some(text) => errors.at(text, format!("the {item} has a doc comment as well; keep one of them")),
            None => {}
        }
    }
}

/// A function's documentation.
pub(crate) struct Docs {
    /// The text before the first heading; all of it if the compiler has to split it.
    pub(crate) description: Text,
    /// The other sections, by heading.
    pub(crate) sections: Vec<(String, String)>,
    /// The items of `# Arguments`: name and text.
    pub(crate) arguments: Vec<(String, String)>,
}

/// Joins the doc comments of an item.
pub(crate) fn text(attrs: &[Attribute], errors: &mut Errors) -> Text {
    let (mut written, mut parts, mut has_macro) = (Vec::new(), Vec::new(), false);
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attr.meta else { continue };
        match ungrouped(pair.value.clone()) {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                let unindented = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
                // `str::lines` would drop an empty comment, which is an empty line.
                let text = text.value().split('\n').map(unindented).collect::<Vec<_>>().join("\n");
                parts.push(quote!(#text, "\n"));
                written.push(text);
            }
            value @ Expr::Macro(_) => {
                parts.push(quote!(#value, "\n"));
                has_macro = true;
            }
            value => {
                let message = "a doc comment is a string; write a literal, or a macro such as `include_str!(\"…\")`";
                errors.at(value, message);
            }
        }
    }
    if has_macro {
        return Text::Macro(quote!(::core::concat!(#(#parts),*)));
    }
    Text::Written(written.join("\n").trim_matches('\n').to_owned())
}

/// Splits a function's documentation at its headings.
pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Docs {
    let mut docs = Docs { description: text(attrs, errors), sections: Vec::new(), arguments: Vec::new() };
    let Text::Written(text) = docs.description.clone() else { return docs };
    if text.lines().any(|line| ["##", "~~~", "````", "--", "=="].iter().any(|it| line.trim_start().starts_with(it))) {
        // Sections in sections, other fences and underlined headings are left to the compiler.
        return Docs { description: Text::Macro(quote!(#text)), ..docs };
    }
    let (mut parts, mut in_code) = (vec![(String::new(), Vec::new())], false);
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        match line.strip_prefix("# ").filter(|_| !in_code) {
            Some(heading) => parts.push((heading.trim().to_owned(), Vec::new())),
            None => parts.last_mut().expect("the first part has no heading").1.push(line),
        }
    }
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

/// Reads the items of a list: ``- `name`: text``, `* name - text`, with their continuation lines.
fn list(lines: &[&str]) -> Vec<(String, String)> {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in lines {
        if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            let item = item.trim_start_matches('`');
            let end = item.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(item.len());
            let text = item[end..].trim_start_matches('`').trim_start();
            let text = text.strip_prefix([':', '-', '–', '—']).unwrap_or(text).trim_start();
            items.push((item[..end].to_owned(), text.to_owned()));
        } else if let (Some((_, text)), false) = (items.last_mut(), line.trim().is_empty()) {
            text.extend(["\n", line.trim()]);
        }
    }
    items
}
