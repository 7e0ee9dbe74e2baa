//! Checks each tool on its own. A schema is generated only if there is something to check in it.

use mcp_core::error::RegistrationProblem;
use mcp_core::name::Version;
use mcp_core::param::{Constraint, Param};
use mcp_core::support::schema::Types;
use serde_json::Value;

use crate::catalog::tool::{RegisteredTool, TOOL_META};
use crate::validate::{self, unreadable};

pub(crate) fn check_tool(tool: &RegisteredTool) -> Vec<RegistrationProblem> {
    let (name, origin) = (|| tool.name().to_owned(), || Box::new(tool.origin().clone()));
    let schema_problem =
        |(which, reason)| RegistrationProblem::Schema { tool: name(), which, reason, origin: origin() };
    let mut problems = Vec::new();
    let entry = tool.definition().entry();
    if entry.is_none_or(|entry| entry.input_schema.is_some() || entry.flatten) {
        let fault = object_fault(tool.input_schema()).or_else(|| union_fault(tool.input_schema()));
        problems.extend(fault.map(|reason| schema_problem(("input", reason))));
    }
    if entry.is_none_or(|entry| entry.output_schema.is_some()) {
        let fault = tool.output_schema().and_then(|schema| object_fault(schema));
        problems.extend(fault.map(|reason| schema_problem(("output", reason))));
    }
    if entry.is_none() {
        // The attribute has already checked the version of a tool with an entry.
        let error = Version::parse(tool.version()).err();
        problems.extend(error.map(|error| RegistrationProblem::Version { tool: name(), error, origin: origin() }));
    }
    // The keys that the attribute accepts are identifiers.
    if entry.is_some_and(|entry| entry.meta.iter().any(|(key, _)| *key == TOOL_META)) {
        problems.push(RegistrationProblem::Meta { tool: name(), key: TOOL_META, origin: origin() });
    }
    // Do not report the same invalid schema twice.
    if problems.is_empty() {
        problems.extend(validate::schema_faults(tool).into_iter().map(schema_problem));
    }
    for param in tool.params() {
        let faults = validate::param_faults(param).into_iter().chain(param_faults(param));
        let param = param.name;
        problems.extend(faults.map(|reason| RegistrationProblem::Param {
            tool: name(),
            param: param.to_owned(),
            reason,
            origin: origin(),
        }));
    }
    let faults = entry.into_iter().flat_map(|entry| (entry.output)(false).0.keys);
    problems.extend(faults.map(|fault| RegistrationProblem::ReturnType {
        tool: name(),
        reason: fault.to_string(),
        origin: origin(),
    }));
    problems
}

/// The reason why a schema is not a valid object schema.
fn object_fault(schema: &Value) -> Option<String> {
    let Some(object) = schema.as_object() else {
        return Some("is not an object; write a JSON Schema".to_owned());
    };
    if object.is_empty() {
        return Some("is empty; write an object schema, or leave it to the signature".to_owned());
    }
    if object.get("type").is_none_or(|kind| kind != "object") {
        return Some(
            "does not have `\"type\": \"object\"` at its root, which every host requires; use a struct".to_owned(),
        );
    }
    let properties = object.get("properties").map_or(Some(None), |value| value.as_object().map(Some));
    let Some(properties) = properties else {
        return Some("has `properties` that are not an object; write a schema for each name".to_owned());
    };
    let odd = properties.into_iter().flatten().find(|(_, schema)| !schema.is_object() && !schema.is_boolean());
    if let Some((name, _)) = odd {
        return Some(format!("has a property `{name}` that is not a schema; write an object"));
    }
    let required = object.get("required").map_or(Some(Vec::new()), |value| {
        value.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
    });
    let Some(required) = required else {
        return Some("has `required` that is not a list of names; write `[\"…\"]`".to_owned());
    };
    let unknown = required.into_iter().find(|name| properties.is_some_and(|known| !known.contains_key(*name)));
    unknown.map(|name| format!("requires `{name}`, which is not among its properties; add it there, or remove it"))
}

/// The reason why hosts would reject the root of an input schema.
fn union_fault(schema: &Value) -> Option<String> {
    // Draft 2020-12 allows a union next to `properties`; hosts reject one in place of them.
    let bare = schema.get("properties").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    let key = ["oneOf", "anyOf", "allOf"].iter().find(|key| bare && schema.get(key).is_some())?;
    Some(format!("has `{key}` at its root, which hosts refuse; put the enum into a field of a struct"))
}

/// Contradictions in the definition of a parameter.
fn param_faults(param: &Param) -> Vec<String> {
    let mut faults = Vec::new();
    if param.explicit_schema.is_some_and(|schema| !schema().is_object()) {
        faults.push("has a schema that is not an object; write a JSON Schema".to_owned());
        return faults;
    }
    faults.extend(unreadable(param).iter().map(ToString::to_string));
    if !param.constraints.is_empty() && !param.fitted {
        faults.extend(misfits(param));
    }
    if param.examples.iter().any(|example| example().is_null()) {
        faults.push("has an example that is null or cannot become JSON; use another".to_owned());
    }
    let Some(default) = param.default.map(|default| default()) else { return faults };
    if default.is_null() && !(param.ty.accepts_absent)() {
        faults.push("has a default that cannot become JSON; use another".to_owned());
    }
    let json = default.to_string();
    let broken = param.constraints.iter().filter(|constraint| constraint.broken(&json).is_some());
    faults.extend(broken.map(|constraint| {
        format!("has the default {json}, which breaks its own `{}`; change one of them", constraint.key().0)
    }));
    faults
}

/// The constraints that do not fit the type of the parameter, according to its schema.
fn misfits(param: &Param) -> Vec<String> {
    let Ok(model) = param.generate_model() else { return Vec::new() };
    let types = model[model.resolved(model.root())].types;
    let kinds: Vec<&str> = types.names().collect();
    if types == Types::ALL {
        return Vec::new();
    }
    let misfit = |constraint: &Constraint| {
        let (key, fitting) = constraint.key();
        let fits = kinds.iter().any(|kind| fitting.contains(kind));
        (!fits).then(|| format!("has `{key}`, which does not fit its type ({}); remove it", kinds.join(" or ")))
    };
    param.constraints.iter().filter_map(misfit).collect()
}
