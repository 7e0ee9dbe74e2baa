//! A tool with its final names.

use std::collections::HashSet;
use std::fmt;
use std::iter;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use mcp_core::context::StateType;
use mcp_core::entry::{Hints, Timeout, ToolEntry};
use mcp_core::error::{Contender, Fault, Origin};
use mcp_core::message::JsonObject;
use mcp_core::name::{NameError, ToolName};
use mcp_core::param::Param;
use mcp_core::support::schema::{Model, ReadError};
use mcp_core::{ErrorType, NamePolicy, ToolError, ToolResult};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::catalog::definition::{Definition, Handler};
#[cfg(feature = "http")]
use crate::catalog::header::HeaderArgument;
use crate::util::canonical;
use crate::validate::{ResultCheck, Subject, counterexample, sample};

/// The member of `_meta` in which a listed tool has its canonical name and its version.
pub(crate) const TOOL_META: &str = "mcp-registry/tool";

/// The number of seconds for which a listing may be cached (default).
const CACHE_TTL: u32 = 300;

/// A registered tool; cheap to clone.
///
/// It serialises to its registration entry: name, description, schemas, annotations, version, digest and metadata.
#[derive(Clone)]
pub struct RegisteredTool(Arc<Inner>);

struct Inner {
    name: ToolName,
    wire: String,
    aliases: Vec<Alias>,
    definition: Arc<Definition>,
    /// The canonical name, shared with the contexts of calls.
    shared_name: Arc<str>,
    input: OnceLock<ToolSchema>,
    output: OnceLock<Option<Output>>,
    digest: OnceLock<String>,
    result_check: ResultCheck,
    #[cfg(feature = "http")]
    header_arguments: OnceLock<Vec<HeaderArgument>>,
}

/// An older name by which a tool can still be called.
struct Alias {
    /// As written in the source.
    defined_as: String,
    name: String,
    /// Its name on the wire.
    wire: String,
}

/// A definition with its final names.
pub(crate) struct NamedDefinition {
    pub(crate) definition: Arc<Definition>,
    pub(crate) name: String,
    /// Each as written in the source, and its final name.
    pub(crate) aliases: Vec<(String, String)>,
}

/// What hosts can pin of a tool, as its `_meta` has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolMeta<'a> {
    name: &'a str,
    version: &'a str,
    digest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated_in: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    migration: Option<&'a str>,
}

/// What a tool returns.
struct Output {
    schema: ToolSchema,
    wraps: bool,
}

/// A tool's schema; cheap to clone.
#[derive(Clone)]
pub struct ToolSchema(Arc<SchemaInner>);

struct SchemaInner {
    json: Arc<str>,
    /// Parsed on first use.
    value: OnceLock<Value>,
}

impl ToolSchema {
    fn new(json: Arc<str>) -> Self {
        Self(Arc::new(SchemaInner { json, value: OnceLock::new() }))
    }

    /// The schema as JSON.
    pub fn json(&self) -> &str {
        &self.0.json
    }
}

impl PartialEq for ToolSchema {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json() || **self == **other
    }
}

impl Eq for ToolSchema {}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Deref for ToolSchema {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_str(self.json()).unwrap_or_default())
    }
}

impl Serialize for ToolSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl fmt::Display for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl RegisteredTool {
    pub(crate) fn new(named: NamedDefinition, policy: NamePolicy) -> Result<Self, NameError> {
        let NamedDefinition { definition, name, aliases } = named;
        let name = ToolName::try_from(name)?;
        let wire = name.wire(policy)?.into_owned();
        let alias = |(defined_as, name): (String, String)| {
            let name = ToolName::try_from(name)?;
            // No host can have used an alias that is too long for the wire.
            let wire = name.wire(policy).unwrap_or_else(|_| name.canonical().into()).into_owned();
            Ok(Alias { defined_as, name: name.into(), wire })
        };
        let aliases = aliases.into_iter().map(alias).collect::<Result<_, NameError>>()?;
        let shared_name = name.canonical().into();
        Ok(Self(Arc::new(Inner {
            name,
            wire,
            aliases,
            definition,
            shared_name,
            input: OnceLock::new(),
            output: OnceLock::new(),
            digest: OnceLock::new(),
            result_check: ResultCheck::default(),
            #[cfg(feature = "http")]
            header_arguments: OnceLock::new(),
        })))
    }

    /// Whether the two are clones of one.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.0.shared_name)
    }

    /// Whether this is the tool's canonical name or its name on the wire. Aliases do not count.
    #[inline]
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name() == name || self.wire_name() == name
    }

    /// The arguments that HTTP clients repeat in headers.
    #[cfg(feature = "http")]
    pub(crate) fn header_arguments(&self) -> &[HeaderArgument] {
        self.0.header_arguments.get_or_init(|| HeaderArgument::from_schema(self.input_schema(), self.params()))
    }

    /// Whether it is `inline`, and runs on the caller's thread.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.definition().handler, Handler::Inline(_))
    }

    /// The definition of the tool.
    pub(crate) fn definition(&self) -> &Definition {
        &self.0.definition
    }

    /// The parameters; empty if the tool has only a schema.
    pub(crate) fn params(&self) -> &'static [Param] {
        self.entry().map_or(&[], |entry| entry.params)
    }

    /// The types of state that the tool needs, each once.
    pub(crate) fn needs(&self) -> Vec<StateType> {
        let mut needs = Vec::new();
        self.definition().needs().iter().for_each(|need| need(&mut needs));
        let mut seen = HashSet::new();
        needs.retain(|need| seen.insert(need.id));
        needs
    }

    /// The canonical name, such as `file_utility.read_file_content`.
    pub fn name(&self) -> &str {
        self.0.name.canonical()
    }

    /// The canonical name, parsed.
    pub fn tool_name(&self) -> &ToolName {
        &self.0.name
    }

    /// The name that hosts see.
    pub fn wire_name(&self) -> &str {
        &self.0.wire
    }

    /// The title: a name for people.
    pub fn title(&self) -> Option<&str> {
        self.definition().title.as_deref()
    }

    /// The description, which a model reads before it calls the tool.
    pub fn description(&self) -> &str {
        &self.definition().description
    }

    /// The other sections of its documentation, by heading.
    pub fn sections(&self) -> &[(&'static str, &'static str)] {
        self.entry().map_or(&[], |entry| entry.sections)
    }

    /// How to adapt to the newest major version: the section `# Migration` of its documentation.
    pub fn migration(&self) -> Option<&str> {
        self.section("Migration")
    }

    /// A section of its documentation, by its heading.
    pub(crate) fn section(&self, heading: &str) -> Option<&'static str> {
        let sections = self.entry()?.sections;
        sections.iter().find(|(known, _)| known.eq_ignore_ascii_case(heading)).map(|(_, text)| *text)
    }

    /// The tool's version.
    pub fn version(&self) -> &str {
        &self.definition().version
    }

    /// The author's hints about its effects.
    pub fn hints(&self) -> Hints {
        self.definition().hints
    }

    /// Whether its author marked it as destructive.
    pub fn is_destructive(&self) -> bool {
        self.hints().destructive == Some(true)
    }

    /// The version in which it was deprecated.
    pub fn deprecated_in(&self) -> Option<&str> {
        self.entry()?.deprecated_in
    }

    /// The tool to use instead.
    pub fn replaced_by(&self) -> Option<&str> {
        self.entry()?.replaced_by
    }

    /// Older names by which it can still be called.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.0.aliases.iter().map(|alias| alias.name.as_str())
    }

    /// Every name by which it can be called: canonical and wire names, its own and those of its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.canonical_and_wire_names().flatten()
    }

    pub(crate) fn canonical_and_wire_names(&self) -> impl Iterator<Item = [&str; 2]> {
        let aliases = self.0.aliases.iter().map(|alias| [alias.name.as_str(), alias.wire.as_str()]);
        iter::once([self.name(), self.wire_name()]).chain(aliases)
    }

    /// Whether it can be called by this name.
    #[inline]
    pub fn answers_to(&self, name: &str) -> bool {
        self.is_named(name) || self.0.aliases.iter().any(|alias| alias.name == name || alias.wire == name)
    }

    /// Describes the tool as one side of a conflict over a name.
    pub(crate) fn contender(&self, name: &str) -> Contender {
        let by_alias = !self.is_named(name);
        let alias = self.0.aliases.iter().find(|alias| by_alias && (alias.name == name || alias.wire == name));
        Contender {
            name: self.name().to_owned(),
            defined_as: self.definition().name.clone().into_owned(),
            alias: alias.map(|alias| alias.defined_as.clone()),
            origin: self.origin().clone(),
        }
    }

    /// Tags to select tools by.
    pub fn tags(&self) -> Vec<&str> {
        self.definition().tags.iter().map(AsRef::as_ref).collect()
    }

    /// Whether it has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.definition().tags.iter().any(|known| known == tag)
    }

    /// The author's metadata.
    pub fn meta(&self) -> JsonObject {
        let meta = self.entry().into_iter().flat_map(|entry| entry.meta);
        meta.map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()
    }

    /// Whether it can be called but is not listed on the wire.
    pub fn is_hidden(&self) -> bool {
        self.entry().is_some_and(|entry| entry.hidden)
    }

    /// Its own time limit, if it has one.
    pub fn timeout(&self) -> Option<Timeout> {
        self.definition().timeout
    }

    /// Its own limit on the bytes of JSON that it returns, if it has one.
    pub fn max_result(&self) -> Option<usize> {
        self.definition().max_result
    }

    /// The number of seconds for which a listing of the tool may be cached.
    pub fn cache_ttl(&self) -> u32 {
        self.entry().map_or(CACHE_TTL, |entry| entry.cache_ttl)
    }

    /// The Rust module in which it is defined.
    pub fn module_path(&self) -> &str {
        &self.origin().module_path
    }

    /// The package in which it is defined.
    pub fn package(&self) -> &str {
        &self.origin().package
    }

    /// Where it is defined.
    pub fn origin(&self) -> &Origin {
        &self.definition().origin
    }

    /// Whether the tool is allowed to break a lint rule.
    pub(crate) fn allows(&self, rule: &str) -> bool {
        self.definition().allow.iter().any(|allowed| allowed == rule)
    }

    /// The schema of its arguments, created on first use.
    pub fn input_schema(&self) -> &ToolSchema {
        self.0.input.get_or_init(|| ToolSchema::new(self.definition().input_schema()))
    }

    /// The schema of its results, created on first use.
    pub fn output_schema(&self) -> Option<&ToolSchema> {
        self.output().map(|output| &output.schema)
    }

    /// Whether its return value is wrapped in `{"result": …}`.
    pub(crate) fn wraps_output(&self) -> bool {
        self.output().is_some_and(|output| output.wraps)
    }

    fn output(&self) -> Option<&Output> {
        let output = self.0.output.get_or_init(|| {
            let output = self.definition().output_schema();
            output.map(|output| Output { schema: ToolSchema::new(Arc::clone(output.json())), wraps: output.wraps() })
        });
        output.as_ref()
    }

    /// The digest of what hosts and models see of the tool: `sha256:` and the hash of its name on the wire, title, description,
    /// schemas and annotations, as `tools/list` has them, in canonical JSON ([RFC 8785](https://www.rfc-editor.org/rfc/rfc8785)).
    pub fn digest(&self) -> &str {
        self.0.digest.get_or_init(|| {
            definition_digest(
                self.wire_name(),
                self.title(),
                self.description(),
                self.input_schema().json(),
                self.output_schema().map(ToolSchema::json),
                &self.annotations(),
            )
        })
    }

    /// What hosts can pin.
    pub(crate) fn pinned(&self) -> ToolMeta<'_> {
        ToolMeta {
            name: self.name(),
            version: self.version(),
            digest: self.digest(),
            deprecated_in: self.deprecated_in(),
            replaced_by: self.replaced_by(),
            migration: self.migration(),
        }
    }

    /// A small value that fits the schema of the arguments, such as for a form or a test; `None` if none was found. It
    /// consists of defaults and examples where there are any.
    pub fn sample_arguments(&self) -> Option<Value> {
        sample(self.input_model().ok()?)
    }

    /// A value that the schema of the arguments rejects, close to one that fits; `None` if none was found.
    pub fn invalid_arguments(&self) -> Option<Value> {
        counterexample(self.input_model().ok()?)
    }

    /// A small value that fits the schema of the results; `None` if there is no schema, or none was found.
    pub fn sample_result(&self) -> Option<Value> {
        sample(self.output_model()?.ok()?)
    }

    /// A value that the schema of the results rejects, close to one that fits; `None` if there is no schema, or none was
    /// found.
    pub fn invalid_result(&self) -> Option<Value> {
        counterexample(self.output_model()?.ok()?)
    }

    /// Checks whether the data of a result fits the schema of the results. A failure fits, and so does every result of a tool
    /// without a schema. The error is the one of a call whose result the registry has checked.
    ///
    /// ```standalone_crate
    /// use mcp_registry::serde_json::json;
    /// use mcp_registry::{Registry, ToolResult, mcp_tool};
    ///
    /// /// Adds two numbers.
    /// #[mcp_tool(module = "calc")]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let add = Registry::linked()?.get("calc.add")?;
    /// assert!(add.check_result(&ToolResult::data(json!({ "result": 5 }))).is_ok());
    /// assert!(add.check_result(&ToolResult::data(json!({ "result": "five" }))).is_err());
    /// # Ok::<(), mcp_registry::Error>(())
    /// ```
    pub fn check_result(&self, result: &ToolResult) -> Result<(), ToolError> {
        self.check_result_as(self.name(), result)
    }

    /// Checks a result. The error names the tool as its caller did.
    pub(crate) fn check_result_as(&self, called_as: &str, result: &ToolResult) -> Result<(), ToolError> {
        if result.is_failure() {
            return Ok(());
        }
        let faults = match &result.data {
            Some(data) => self.result_faults(&data.to_string()),
            None if self.output_schema().is_none() => Vec::new(),
            None => vec![Fault::new("", "data", "there is no data, but the schema promises some")],
        };
        Self::mismatch(called_as, &faults)
    }

    /// What is wrong with the data of a result, as JSON.
    pub(crate) fn result_faults(&self, data: &str) -> Vec<Fault> {
        self.0.result_check.check(self, data).faults
    }

    /// Checks the data of a result, as JSON. The error names the tool as its caller did.
    pub(crate) fn check_data(&self, called_as: &str, data: &str) -> Result<(), ToolError> {
        Self::mismatch(called_as, &self.result_faults(data))
    }

    /// The error for a result with faults, if it has any.
    fn mismatch(called_as: &str, faults: &[Fault]) -> Result<(), ToolError> {
        if faults.is_empty() {
            return Ok(());
        }
        let text = |Fault { path, message, .. }: &Fault| {
            if path.is_empty() { message.clone() } else { format!("`{path}`: {message}") }
        };
        let texts: Vec<String> = faults.iter().map(text).collect();
        let message = format!(
            "`{called_as}` returned a value that its output schema does not allow: {}; this is a mistake in the tool, \
             tell its author",
            texts.join("; ")
        );
        let details = json!({ "tool": called_as, "faults": faults });
        Err(ToolError::new(ErrorType::TOOL_EXECUTION_ERROR, message).details(details))
    }

    /// Whether the two have the same schemas.
    pub(crate) fn has_schemas_of(&self, other: &Self) -> bool {
        self.input_schema() == other.input_schema() && self.output_schema() == other.output_schema()
    }

    /// The hints as MCP annotations; hints that the author did not give are left out.
    pub fn annotations(&self) -> JsonObject {
        let Hints { read_only, destructive, idempotent, open_world, .. } = self.hints();
        let hints = [
            ("readOnlyHint", read_only),
            ("destructiveHint", destructive),
            ("idempotentHint", idempotent),
            ("openWorldHint", open_world),
        ];
        let hints = hints.into_iter().filter_map(|(key, hint)| Some((key.to_owned(), Value::from(hint?))));
        let title = self.title().map(|title| ("title".to_owned(), Value::from(title)));
        title.into_iter().chain(hints).collect()
    }
}

/// The digest of a tool as clients see it. The schemas are JSON.
pub(crate) fn definition_digest(
    wire_name: &str,
    title: Option<&str>,
    description: &str,
    input_schema: &str,
    output_schema: Option<&str>,
    annotations: &JsonObject,
) -> String {
    let annotations = (!annotations.is_empty()).then(|| json!(annotations).to_string());
    let texts = [Some(description), Some(input_schema), output_schema];
    let mut writer =
        canonical::Writer::with_capacity(256 + texts.iter().flatten().map(|text| text.len()).sum::<usize>());
    // In the order of the keys.
    match &annotations {
        Some(annotations) => {
            writer.raw("{\"annotations\":");
            writer.json(annotations);
            writer.raw(",\"description\":");
        }
        None => writer.raw("{\"description\":"),
    }
    writer.text(description);
    writer.raw(",\"inputSchema\":");
    writer.json(input_schema);
    writer.raw(",\"name\":");
    writer.text(wire_name);
    if let Some(schema) = output_schema {
        writer.raw(",\"outputSchema\":");
        writer.json(schema);
    }
    if let Some(title) = title {
        writer.raw(",\"title\":");
        writer.text(title);
    }
    writer.raw("}");
    writer.digest()
}

impl Subject for RegisteredTool {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn entry(&self) -> Option<&'static ToolEntry> {
        self.definition().entry()
    }

    fn input_model(&self) -> Result<Model, ReadError> {
        self.definition().input_model()
    }

    fn output_model(&self) -> Option<Result<Model, ReadError>> {
        // Types enforce their own formats, and may write more than those allow.
        let checks_formats = self.definition().has_explicit_output();
        self.output_schema().map(|schema| Model::read(schema, checks_formats))
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, wire, .. } = &*self.0;
        f.debug_struct("RegisteredTool")
            .field("name", name)
            .field("wire", wire)
            .field("origin", self.origin())
            .finish_non_exhaustive()
    }
}

impl Serialize for RegisteredTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name())?;
        if let Some(title) = self.title() {
            map.serialize_entry("title", title)?;
        }
        map.serialize_entry("description", self.description())?;
        map.serialize_entry("inputSchema", self.input_schema())?;
        if let Some(schema) = self.output_schema() {
            map.serialize_entry("outputSchema", schema)?;
        }
        let annotations = self.annotations();
        if !annotations.is_empty() {
            map.serialize_entry("annotations", &annotations)?;
        }
        map.serialize_entry("version", self.version())?;
        map.serialize_entry("digest", self.digest())?;
        let Origin { package, file, line, .. } = self.origin();
        let mut metadata = json!({
            "module": self.module_path(),
            "destructive": self.is_destructive(),
            "deprecated_in": self.deprecated_in(),
            "cache_ttl": self.cache_ttl(),
            "tags": self.tags(),
            "source": format!("{file}:{line}"),
            "crate": package,
        });
        if let Some(replaced_by) = self.replaced_by() {
            metadata["replaced_by"] = replaced_by.into();
        }
        if let Some(migration) = self.migration() {
            metadata["migration"] = migration.into();
        }
        let meta = self.meta();
        if !meta.is_empty() {
            metadata["meta"] = meta.into();
        }
        map.serialize_entry("metadata", &metadata)?;
        map.end()
    }
}
