//! `tools/list`: the bytes are made once for each version and set of tools, and only copied out.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use mcp_core::{Id, JsonObject, ProtocolVersion, RpcError};
use serde::Serialize;
use serde_json::{Value, json};

use super::Server;
use super::request::{SERVER_INFO, invalid};
use super::write::{respond, respond_result};
use crate::catalog::Catalog;
use crate::catalog::tool::RegisteredTool;

/// The lists of one set of tools.
pub(super) struct Lists {
    /// Kept, so that no other set can be at its place in memory.
    of: Arc<Catalog>,
    /// By how many of [`CHANGES`] the version has.
    first_pages: [OnceLock<Vec<u8>>; CHANGES.len() + 1],
}

/// The versions that changed the form of the list.
const CHANGES: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28];

/// A tool as clients see it.
#[derive(Serialize)]
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    pub(crate) description: &'a str,
    #[serde(rename = "inputSchema")]
    pub(crate) input_schema: Value,
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) annotations: Value,
    #[serde(rename = "_meta", skip_serializing_if = "Value::is_null")]
    pub(crate) meta: Value,
}

impl<'a> Listed<'a> {
    fn of(tool: &'a RegisteredTool, era: ProtocolVersion) -> Self {
        let schema = |schema: &Value| {
            let mut schema = schema.clone();
            if !era.is_stateless() {
                plain_properties(&mut schema);
            }
            schema
        };
        let is_titled = era >= ProtocolVersion::V2025_06_18;
        let annotations = if era >= ProtocolVersion::V2025_03_26 { tool.annotations() } else { JsonObject::new() };
        let meta = if is_titled { tool.meta() } else { JsonObject::new() };
        Self {
            name: tool.wire_name(),
            title: tool.title().filter(|_| is_titled),
            description: tool.description(),
            input_schema: schema(tool.input_schema()),
            output_schema: tool.output_schema().filter(|_| is_titled).map(|output| schema(output)),
            annotations: if annotations.is_empty() { Value::Null } else { annotations.into() },
            meta: if meta.is_empty() { Value::Null } else { meta.into() },
        }
    }
}

#[cfg(feature = "rmcp")]
impl RegisteredTool {
    /// The tool as clients of a version see it.
    pub(crate) fn listed(&self, era: ProtocolVersion) -> Listed<'_> {
        Listed::of(self, era)
    }
}

#[cfg(feature = "rmcp")]
impl Catalog {
    /// The tools that clients see, sorted by the name that they see.
    pub(crate) fn listed(&self) -> Vec<&RegisteredTool> {
        listed(self)
    }
}

/// In the older versions the schema of a property is an object.
fn plain_properties(schema: &mut Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({ "not": {} }),
            other => plain_properties(other),
        }
    }
}

/// The name behind which a page begins, by its cursor. An empty cursor is the first page's.
pub(super) fn after(cursor: &str) -> Result<String, RpcError> {
    let name = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| invalid("`cursor` is none that was given out here; begin again without one"))
}

fn cursor(after: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(after)
}

impl Server {
    /// Appends a page of the list.
    pub(super) fn write_list(&self, id: &Id<'_>, era: ProtocolVersion, after: Option<&str>, out: &mut Vec<u8>) {
        let lists = self.lists();
        match after.filter(|after| !after.is_empty()) {
            None => {
                let form = CHANGES.iter().filter(|change| era >= **change).count();
                let page = lists.first_pages[form].get_or_init(|| self.page(&lists.of, era, ""));
                respond_result(id, out, |out| out.extend_from_slice(page));
            }
            Some(after) => {
                let page = self.page(&lists.of, era, after);
                respond_result(id, out, |out| out.extend_from_slice(&page));
            }
        }
    }

    /// Appends the list as `list_tools` gives it: every tool, as it is registered.
    pub(super) fn write_whole_list(&self, id: &Id<'_>, out: &mut Vec<u8>) {
        let catalog = self.0.registry.catalog();
        let tools: Vec<Listed<'_>> =
            listed(&catalog).into_iter().map(|tool| Listed::of(tool, ProtocolVersion::V2025_06_18)).collect();
        respond(id, &json!({ "tools": tools }), out);
    }

    /// The lists of the tools as they are now.
    fn lists(&self) -> Arc<Lists> {
        let tools = self.0.registry.snapshot();
        if let Some(lists) = self.0.lists.load().as_ref().filter(|lists| Arc::ptr_eq(&lists.of, &tools.catalog)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists { of: Arc::clone(&tools.catalog), first_pages: Default::default() });
        self.0.lists.store(Some(Arc::clone(&lists)));
        lists
    }

    fn page(&self, catalog: &Catalog, era: ProtocolVersion, after: &str) -> Vec<u8> {
        let tools = listed(catalog);
        let start = tools.partition_point(|tool| tool.wire_name() <= after);
        let end = start.saturating_add(self.0.settings.page_size).min(tools.len());
        let page = &tools[start..end];
        let shown: Vec<Listed<'_>> = page.iter().map(|tool| Listed::of(tool, era)).collect();
        let mut result = json!({ "tools": shown });
        if let Value::Object(result) = &mut result {
            if let Some(last) = page.last().filter(|_| end < tools.len()) {
                result.insert("nextCursor".to_owned(), cursor(last.wire_name()).into());
            }
            if era.is_stateless() {
                let ttl = tools.iter().map(|tool| tool.cache_ttl()).min().unwrap_or_default();
                result.insert("ttlMs".to_owned(), (u64::from(ttl) * 1000).into());
                result.insert("cacheScope".to_owned(), "public".into());
                result.insert("resultType".to_owned(), "complete".into());
                result.insert("_meta".to_owned(), json!({ SERVER_INFO: self.implementation() }));
            }
        }
        result.to_string().into_bytes()
    }
}

/// The tools that clients see, sorted by the name that they see.
fn listed(catalog: &Catalog) -> Vec<&RegisteredTool> {
    let mut tools: Vec<&RegisteredTool> =
        catalog.list_registered_tools().iter().filter(|tool| !tool.is_hidden()).collect();
    tools.sort_by_key(|tool| tool.wire_name());
    tools
}
