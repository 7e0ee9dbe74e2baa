//! What the tools of a program promise, and whether a change breaks a promise.
//!
//! A [`Contract`] says what callers can rely on: the names, schemas, hints, descriptions and versions of all tools. It is
//! written to a file, `mcp.lock.json`, which is committed with the sources. [`Contract::diff`] compares two contracts and
//! decides which changes break callers, and which break readers of results; it shows a call or a result that breaks.
//!
//! ```standalone_crate
//! use mcp_registry::contract::{Contract, Verdict};
//! use mcp_registry::{Catalog, mcp_tool};
//!
//! /// Adds two numbers.
//! #[mcp_tool(module = "calc", version = "1.1.0")]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! let contract = Catalog::linked()?.contract();
//! let lock = contract.to_string(); // `mcp.lock.json`
//! assert_eq!(Contract::read(&lock)?.diff(&contract).verdict(), Verdict::Compatible);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod diff;
pub(crate) mod file;
mod lock;
mod notes;
mod parameters;
pub(crate) mod report;
mod rules;
mod schemas;
pub(crate) mod specification;
mod tools_list;

use mcp_core::message::JsonObject;
use mcp_core::name::{NamePolicy, ToolName, Version};
use serde::Serialize;
use serde_json::Value;

pub use self::change::{Change, Class, Diff, Verdict, Witness};
pub use self::lock::ContractError;
pub use self::specification::{Examples, Field, RegistryError, Specification, SpecificationError};
use crate::util::canonical;

/// What a set of tools promises. `Display` writes it as `mcp.lock.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// Sorted by name.
    tools: Vec<ToolContract>,
    /// Whether it is a list of tools, which has no hidden tools, no aliases, and only what is published of schemas.
    pub(crate) is_list: bool,
}

/// What one tool promises. Two are equal if they promise the same, wherever they are defined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContract {
    /// The canonical name. Other servers have only one name.
    pub name: String,
    /// The name on the wire.
    pub wire_name: String,
    /// The version. Other servers do not state it.
    pub version: Option<Version>,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: String,
    /// Older names by which the tool can still be called.
    pub aliases: Vec<String>,
    /// Whether the tool can be called, but is not listed.
    pub hidden: bool,
    /// The version in which it was deprecated.
    pub deprecated_in: Option<String>,
    /// The tool to use instead.
    pub replaced_by: Option<String>,
    /// How to adapt to the newest major version.
    pub migration: Option<String>,
    /// The annotations of MCP, such as `readOnlyHint`.
    pub hints: JsonObject,
    /// The schema of the arguments, as it is published.
    pub input_schema: Value,
    /// The schema of the results.
    pub output_schema: Option<Value>,
    /// What the tool accepts, if that is not what is published, such as older names of arguments.
    accepted_schema: Option<Value>,
    /// `execution.taskSupport` of other servers: whether calls may, must or must not run as tasks.
    task_support: Option<String>,
    /// Where the tool is defined, if that is known.
    source: Option<String>,
}

impl PartialEq for ToolContract {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && lock::written(self) == lock::written(other)
    }
}

impl Contract {
    fn new(mut tools: Vec<ToolContract>) -> Self {
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Self { tools, is_list: false }
    }

    /// Every tool, sorted by name.
    pub fn tools(&self) -> &[ToolContract] {
        &self.tools
    }

    /// A tool, by its canonical name or its name on the wire.
    pub fn get(&self, name: &str) -> Option<&ToolContract> {
        let exact = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok();
        exact.map(|position| &self.tools[position]).or_else(|| self.tools.iter().find(|tool| tool.wire_name == name))
    }

    /// Whether no tool of the one is a tool of the other: they are probably from different servers.
    pub(crate) fn is_unrelated(&self, new: &Self) -> bool {
        let is_known = |name: &str| new.tools.iter().any(|tool| tool.answers_to(name));
        let is_shared = self.tools.iter().any(|tool| is_known(&tool.name) || is_known(&tool.wire_name));
        !is_shared && !self.tools.is_empty() && !new.tools.is_empty()
    }

    /// The digest of the whole contract. It covers the digests, names, versions and deprecations of all tools.
    pub fn digest(&self) -> String {
        digest(self.tools.iter().map(|tool| {
            let ToolContract { name, version, aliases, hidden, deprecated_in, replaced_by, .. } = tool;
            (name, (tool.digest(), version, aliases, hidden, deprecated_in, replaced_by))
        }))
    }
}

impl ToolContract {
    /// The digest of what hosts and models see of the tool; see [`RegisteredTool::digest`](crate::RegisteredTool::digest).
    pub fn digest(&self) -> String {
        crate::catalog::tool::definition_digest(
            &self.wire_name,
            self.title.as_deref(),
            &self.description,
            &self.input_schema.to_string(),
            self.output_schema.as_ref().map(Value::to_string).as_deref(),
            &self.hints,
        )
    }

    /// Where the tool is defined, as `file:line`, if that is known.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether it can be called by this name.
    pub fn answers_to(&self, name: &str) -> bool {
        let is_alias = |alias: &String| alias == name || self.on_the_wire(alias).is_some_and(|alias| alias == name);
        self.name == name || self.wire_name == name || self.aliases.iter().any(is_alias)
    }

    /// An alias as hosts call it, which follows the same policy as the name of the tool.
    fn on_the_wire(&self, alias: &str) -> Option<String> {
        let wire = |name: &str, policy| Some(ToolName::parse(name).ok()?.wire(policy).ok()?.into_owned());
        let policies = [NamePolicy::HostSafe, NamePolicy::Dotted, NamePolicy::Bare];
        let policy = policies.into_iter().find(|policy| wire(&self.name, *policy).as_ref() == Some(&self.wire_name))?;
        wire(alias, policy)
    }

    /// Whether a registry of this library serves the tool, so that null stands for absent arguments, and trust is required.
    fn is_ours(&self) -> bool {
        self.version.is_some()
    }

    /// Whether callers need to be trusted, as the registry decides it by default.
    fn needs_trust(&self) -> bool {
        self.is_ours() && self.hints.get("destructiveHint").and_then(Value::as_bool) == Some(true)
    }

    /// The schema of everything that the tool accepts.
    fn accepted_schema(&self) -> &Value {
        self.accepted_schema.as_ref().unwrap_or(&self.input_schema)
    }
}

/// The digest of a contract, from what it covers of each tool, in the order of their names: the name, and the digest,
/// version, aliases, whether it is hidden, since when it is deprecated, and what replaces it.
fn digest<T: Serialize>(tools: impl Iterator<Item = T>) -> String {
    // Texts can always be written to memory.
    canonical::digest(&serde_json::to_string(&tools.collect::<Vec<T>>()).unwrap_or_default())
}
