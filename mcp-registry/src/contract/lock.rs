//! The lock: a contract as a file, from the catalog and back.

use std::fmt;

use mcp_core::message::JsonObject;
use mcp_core::name::Version;
use mcp_core::support::cut;
use serde_json::{Value, json};

use super::{Contract, ToolContract, digest};
use crate::catalog::Catalog;
use crate::catalog::tool::RegisteredTool;
use crate::util::canonical;

/// Why a text is not a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContractError {
    /// It is not JSON.
    Json(String),
    /// It is JSON, but neither a lock nor a list of tools.
    Form(String),
    /// It is a lock in which something is missing or has another type.
    Malformed(String),
    /// A newer version of this library wrote it.
    Format {
        /// The format of the lock.
        found: u64,
        /// The newest known format.
        known: u64,
    },
    /// The content does not match its digest.
    Edited(String),
    /// It is one page of a list of tools, and there are more.
    Incomplete,
    /// A server answered with an error.
    Server(String),
}

impl ContractError {
    /// What is wrong.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Json(error) => format!("this is not JSON: {error}"),
            Self::Form(reason) => format!("this is neither a lock nor a `tools/list` response: {reason}"),
            Self::Malformed(reason) => format!("the lock is damaged: {reason}"),
            Self::Format { found, known } => {
                format!("the lock is in format {found}, but this program reads only up to format {known}")
            }
            Self::Edited(part) => {
                format!("the lock was edited by hand: the digest of {part} does not match its content")
            }
            Self::Incomplete => "the list of tools has a `nextCursor`, so more tools are on another page".to_owned(),
            Self::Server(message) => format!("the server answered with an error instead of its tools: {message}"),
        }
    }

    /// What to do, if that does not depend on where the text is from.
    pub(crate) const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) | Self::Form(_) | Self::Malformed(_) | Self::Edited(_) => None,
            Self::Format { .. } => Some("update its `mcp-registry` dependency"),
            Self::Incomplete => Some("append the responses for the remaining pages"),
            Self::Server(_) => Some("correct the request"),
        }
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.problem())?;
        f.write_str(self.advice().unwrap_or("restore it, or fetch it again"))
    }
}

impl std::error::Error for ContractError {}

/// The newest format of the lock.
pub(super) const FORMAT: u64 = 1;

/// The most bytes that are quoted from a lock.
pub(super) const QUOTED: usize = 160;

impl Catalog {
    /// What the tools promise.
    pub fn contract(&self) -> Contract {
        Contract::new(self.list_registered_tools().iter().map(ToolContract::from).collect())
    }

    /// The digest of what the tools promise: that of [`Catalog::contract`]. It is computed on first use.
    pub fn digest(&self) -> &str {
        self.contract_digest.get_or_init(|| {
            digest(self.list_registered_tools().iter().map(|tool| {
                let aliases: Vec<&str> = tool.aliases().collect();
                let (since, instead) = (tool.deprecated_in(), tool.replaced_by());
                (tool.name(), (tool.digest(), tool.version(), aliases, tool.is_hidden(), since, instead))
            }))
        })
    }
}

impl From<&RegisteredTool> for ToolContract {
    fn from(tool: &RegisteredTool) -> Self {
        let origin = tool.origin();
        Self {
            name: tool.name().to_owned(),
            wire_name: tool.wire_name().to_owned(),
            // Versions are checked when the catalog is built.
            version: Some(tool.version().parse().unwrap_or(Version::new(0, 0, 0))),
            title: tool.title().map(str::to_owned),
            description: tool.description().to_owned(),
            aliases: tool.aliases().map(str::to_owned).collect(),
            hidden: tool.is_hidden(),
            deprecated_in: tool.deprecated_in().map(str::to_owned),
            replaced_by: tool.replaced_by().map(str::to_owned),
            migration: tool.migration().map(str::to_owned),
            hints: tool.annotations(),
            input_schema: Value::clone(tool.input_schema()),
            output_schema: tool.output_schema().map(|schema| Value::clone(schema)),
            accepted_schema: tool.definition().accepted_schema().filter(|accepted| *accepted != **tool.input_schema()),
            task_support: None,
            source: Some(format!("{}:{}", origin.file, origin.line)),
        }
    }
}

impl Contract {
    /// Reads a lock.
    pub fn read(json: &str) -> Result<Self, ContractError> {
        let lock: Value =
            serde_json::from_str(without_mark(json)).map_err(|error| ContractError::Json(error.to_string()))?;
        let format = lock.get("format").ok_or_else(|| ContractError::Form("it has no `format`".to_owned()))?;
        let format = format.as_u64().filter(|format| *format > 0);
        let format = format.ok_or_else(|| ContractError::Form("`format` must be a whole number from 1".to_owned()))?;
        if format > FORMAT {
            return Err(ContractError::Format { found: format, known: FORMAT });
        }
        let tools = lock.get("tools").ok_or_else(|| ContractError::Form("it has no `tools`".to_owned()))?;
        let tools =
            tools.as_object().ok_or_else(|| ContractError::Malformed("`tools` must be an object".to_owned()))?;
        let contract = Self::new(tools.iter().map(|(name, tool)| read_tool(name, tool)).collect::<Result<_, _>>()?);
        for (name, tool) in tools {
            let is_intact = contract.get(name).is_some_and(|read| tool["digest"] == read.digest().as_str());
            if !is_intact {
                return Err(ContractError::Edited(format!("`{}`", cut(name, QUOTED))));
            }
        }
        let contract = Self { is_list: lock["list"] == true, ..contract };
        if lock != contract.lock(lock["tools"].clone()) {
            return Err(ContractError::Edited("the whole contract".to_owned()));
        }
        Ok(contract)
    }

    /// The lock with these tools. Its checksum covers everything in them, so that every edit is noticed.
    fn lock(&self, tools: Value) -> Value {
        let checksum = canonical::digest(&json!([self.is_list, tools]).to_string());
        let mut lock = json!({ "format": FORMAT, "digest": self.digest(), "checksum": checksum });
        if self.is_list {
            lock["list"] = true.into();
        }
        lock["tools"] = tools;
        lock
    }

    /// Reads a lock, or a response to `tools/list`.
    pub fn read_any(json: &str) -> Result<Self, ContractError> {
        let value = serde_json::from_str::<Value>(without_mark(json));
        let is_lock = value.is_ok_and(|value| value.get("format").is_some());
        if is_lock { Self::read(json) } else { Self::from_tools_list(json) }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: JsonObject = self.tools.iter().map(|tool| (tool.name.clone(), written(tool).into())).collect();
        let text = serde_json::to_string_pretty(&self.lock(tools.into())).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}

/// The text without a byte order mark, which some editors and shells add.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A tool as the lock has it. What it does not have is left out.
pub(super) fn written(tool: &ToolContract) -> JsonObject {
    let members = [
        ("version", json!(tool.version)),
        ("digest", tool.digest().into()),
        ("wireName", tool.wire_name.as_str().into()),
        ("aliases", if tool.aliases.is_empty() { Value::Null } else { json!(tool.aliases) }),
        ("hidden", if tool.hidden { true.into() } else { Value::Null }),
        ("deprecatedIn", json!(tool.deprecated_in)),
        ("replacedBy", json!(tool.replaced_by)),
        ("migration", json!(tool.migration)),
        ("title", json!(tool.title)),
        ("description", tool.description.as_str().into()),
        ("taskSupport", json!(tool.task_support)),
        ("hints", if tool.hints.is_empty() { Value::Null } else { json!(tool.hints) }),
        ("inputSchema", tool.input_schema.clone()),
        ("acceptedSchema", json!(tool.accepted_schema)),
        ("outputSchema", json!(tool.output_schema)),
    ];
    members.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect()
}

fn read_tool(name: &str, tool: &Value) -> Result<ToolContract, ContractError> {
    let shown = cut(name, QUOTED);
    let malformed =
        |key: &str, expected: &str| ContractError::Malformed(format!("`{key}` of `{shown}` must be {expected}"));
    let text = |key: &str| match tool.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(malformed(key, "a string")),
    };
    let version = text("version")?.map(|version| version.parse().map_err(|_| malformed("version", "a version")));
    let aliases = match tool.get("aliases") {
        None => Vec::new(),
        Some(aliases) => {
            serde_json::from_value(aliases.clone()).map_err(|_| malformed("aliases", "a list of strings"))?
        }
    };
    let hints =
        tool.get("hints").map(|hints| hints.as_object().cloned().ok_or_else(|| malformed("hints", "an object")));
    Ok(ToolContract {
        name: name.to_owned(),
        wire_name: text("wireName")?.ok_or_else(|| malformed("wireName", "a string"))?,
        version: version.transpose()?,
        title: text("title")?,
        description: text("description")?.unwrap_or_default(),
        aliases,
        hidden: tool
            .get("hidden")
            .map_or(Some(false), Value::as_bool)
            .ok_or_else(|| malformed("hidden", "true or false"))?,
        deprecated_in: text("deprecatedIn")?,
        replaced_by: text("replacedBy")?,
        migration: text("migration")?,
        hints: hints.transpose()?.unwrap_or_default(),
        input_schema: tool.get("inputSchema").cloned().ok_or_else(|| malformed("inputSchema", "a schema"))?,
        output_schema: tool.get("outputSchema").cloned(),
        accepted_schema: tool.get("acceptedSchema").cloned(),
        task_support: text("taskSupport")?,
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Contract, ContractError};
    use crate::registry::Registry;
    use crate::{mcp_tool, tools};

    /// Finds orders.
    #[mcp_tool(module = "shop", version = "1.1.0", aliases("shop.find"), read_only, crate = crate)]
    fn search(#[arg(alias = "client")] customer: u32) -> u32 {
        customer
    }

    fn lock() -> String {
        Registry::builder_of(tools![search]).catalog().unwrap().contract().to_string()
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let lock = lock();
        assert!(lock.contains("acceptedSchema") && lock.contains("\"aliases\""), "{lock}");
        for text in [lock.clone(), lock.replace('\n', "\r\n"), format!("\u{feff}{lock}")] {
            assert_eq!(Contract::read(&text).unwrap().to_string(), lock);
            assert_eq!(Contract::read_any(&text).unwrap().to_string(), lock);
        }
    }

    #[test]
    fn a_lock_that_was_edited_by_hand_is_rejected() {
        for (old, new, part) in [
            ("Finds orders", "Finds all orders", "`shop.search`"),
            ("\"minimum\": 0", "\"minimum\": 1", "`shop.search`"),
            ("\"version\": \"1.1.0\"", "\"version\": \"1.2.0\"", "the whole contract"),
            ("\"shop.find\"", "\"shop.look\"", "the whole contract"),
            ("\"wireName\"", "\"hidden\": true, \"wireName\"", "the whole contract"),
            ("\"tools\": {", "\"note\": \"mine\", \"tools\": {", "the whole contract"),
            ("\"tools\": {", "\"list\": false, \"tools\": {", "the whole contract"),
            // A list says nothing about hidden tools and aliases.
            ("\"tools\": {", "\"list\": true, \"tools\": {", "the whole contract"),
        ] {
            let edited = lock().replace(old, new);
            assert_ne!(edited, lock(), "{old}");
            assert_eq!(Contract::read(&edited), Err(ContractError::Edited(part.to_owned())), "{old}");
        }
    }

    #[test]
    fn what_is_not_a_lock_is_rejected_with_the_reason() {
        let read = |text: &str| Contract::read(text).unwrap_err().to_string();
        assert_eq!(
            read("{\n<<<<<<< ours"),
            "this is not JSON: key must be a string at line 2 column 1; restore it, or fetch it again"
        );
        assert_eq!(
            read(r#"{"format": 7, "tools": []}"#),
            "the lock is in format 7, but this program reads only up to format 1; update its `mcp-registry` dependency"
        );
        let tool = |member: &str, value| {
            let mut tool = json!({ "wireName": "a", "inputSchema": {} });
            tool[member] = value;
            json!({ "format": 1, "tools": { "a": tool } }).to_string()
        };
        for (text, reason) in [
            ("[]".to_owned(), "it has no `format`"),
            (r#"{"format": "1"}"#.to_owned(), "`format` must be a whole number from 1"),
            (r#"{"format": 0}"#.to_owned(), "`format` must be a whole number from 1"),
            (r#"{"format": 1}"#.to_owned(), "it has no `tools`"),
        ] {
            assert_eq!(Contract::read(&text), Err(ContractError::Form(reason.to_owned())), "{text}");
        }
        for (text, reason) in [
            (r#"{"format": 1, "tools": []}"#.to_owned(), "`tools` must be an object"),
            (r#"{"format": 1, "tools": {"a": 1}}"#.to_owned(), "`wireName` of `a` must be a string"),
            (tool("hidden", json!("yes")), "`hidden` of `a` must be true or false"),
            (tool("version", json!("1")), "`version` of `a` must be a version"),
            (tool("aliases", json!("b")), "`aliases` of `a` must be a list of strings"),
            (tool("hints", json!([])), "`hints` of `a` must be an object"),
            (tool("title", json!(1)), "`title` of `a` must be a string"),
        ] {
            assert_eq!(Contract::read(&text), Err(ContractError::Malformed(reason.to_owned())), "{text}");
        }
        assert_eq!(
            read(&tool("title", json!(1))),
            "the lock is damaged: `title` of `a` must be a string; restore it, or fetch it again"
        );
        assert_eq!(Contract::read(&tool("digest", json!("sha256:0"))), Err(ContractError::Edited("`a`".to_owned())));
    }
}
