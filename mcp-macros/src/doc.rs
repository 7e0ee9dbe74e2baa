//! Doc comments → description, sections, and what an `# Arguments` list says of each parameter.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// What a function's documentation says.
#[derive(Default)]
pub(crate) struct Docs {
    /// All before the first heading.
    pub(crate) description: String,
    /// The other sections, by heading.
    pub(crate) sections: Vec<(String, String)>,
    /// The items of `# Arguments`: name and text.
    pub(crate) arguments: Vec<(String, String)>,
}

/// The text of an item's doc comments, whatever stands between them.
pub(crate) fn text(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    // An empty comment is an empty line, which `str::lines` would not give.
    let lines: Vec<String> = lines.flat_map(|text| text.split('\n').map(unindented).collect::<Vec<_>>()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn unindented(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

pub(crate) fn is_doc(attr: &Attribute) -> bool {
    attr.path().is_ident("doc")
}

/// Takes a function's documentation apart at its headings.
pub(crate) fn read(attrs: &[Attribute]) -> Docs {
    let text = text(attrs);
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
            "" => docs.description = body,
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
