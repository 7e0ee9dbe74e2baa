//! The arguments that HTTP clients repeat in headers.

use mcp_core::param::Param;
use serde_json::Value;

/// An argument that a client repeats in a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeaderArgument {
    /// The name of the header.
    pub(crate) header: String,
    /// The names of the nested properties that lead to the argument.
    pub(crate) path: Vec<String>,
    /// Aliases of the first name.
    aliases: &'static [&'static str],
}

impl HeaderArgument {
    /// Finds them in a schema. Only properties are searched, no array items and no references.
    pub(crate) fn from_schema(schema: &Value, params: &[Param]) -> Vec<Self> {
        let mut found = Vec::new();
        collect(schema, &mut Vec::new(), &mut found);
        for argument in &mut found {
            let param = params.iter().find(|param| argument.path.first().is_some_and(|name| name == param.name));
            argument.aliases = param.map(|param| param.aliases).unwrap_or_default();
        }
        found
    }

    /// The argument, by the name or the alias under which it was sent.
    pub(crate) fn find<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let (first, rest) = self.path.split_first()?;
        let mut names = std::iter::once(first.as_str()).chain(self.aliases.iter().copied());
        names.find_map(|name| rest.iter().try_fold(arguments.get(name)?, |value, name| value.get(name)))
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderArgument>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str).filter(|header| is_header_name(header));
        found.extend(header.map(|header| HeaderArgument {
            header: format!("mcp-param-{}", header.to_ascii_lowercase()),
            path: path.clone(),
            aliases: &[],
        }));
        collect(property, path, found);
        path.pop();
    }
}

fn is_header_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
