//! The schemas of tools: each as it is published, against real values, and against what the tool itself takes.
//!
//! `UPDATE_GOLDEN=1 cargo test -p mcp-tests --test schema golden` writes the files anew.

#![allow(clippy::needless_pass_by_value, reason = "a tool owns what it takes")]

#[allow(clippy::unreadable_literal, clippy::option_option, reason = "values as they stand in JSON")]
mod cases;
mod hosts;
mod tools;
mod types;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use cases::{Case, cases};
use jsonschema::Validator;
use mcp_core::ToolContext;
use mcp_core::entry::{Call, ToolEntry, entries};
use mcp_core::error::CallError;
use mcp_core::output::Returned;
use mcp_core::serde_json::{self, Value, json};

/// The tools of this folder.
pub(crate) fn golden_entries() -> impl Iterator<Item = &'static ToolEntry> {
    entries().filter(|entry| entry.name.starts_with("golden."))
}

/// A tool of this folder.
pub(crate) fn entry(name: &str) -> &'static ToolEntry {
    entries().find(|entry| entry.name == name).unwrap_or_else(|| panic!("there is no tool {name}"))
}

/// What the tool makes of its arguments: JSON, or faults.
pub(crate) fn call(entry: &ToolEntry, arguments: &Value) -> Result<Option<Value>, String> {
    let mut out = Vec::new();
    let Call::Sync(function) = entry.call else { panic!("{} is async", entry.name) };
    match function(&ToolContext::for_test(), mcp_core::entry::Input::new(&arguments.to_string()), &mut out) {
        Ok(Returned::Json) => Ok(Some(serde_json::from_slice(&out).expect("a result is JSON"))),
        Ok(_) => Ok(None),
        Err(CallError::Arguments(faults)) => Err(format!("{faults:?}")),
        Err(error) => panic!("{}: {error:?}", entry.name),
    }
}

/// The schema, compiled, if it is one.
pub(crate) fn validator(schema: &Value) -> Validator {
    assert!(jsonschema::draft202012::meta::is_valid(schema), "no schema: {schema:#}");
    jsonschema::draft202012::new(schema).unwrap_or_else(|error| panic!("{error}: {schema:#}"))
}

fn check(case: &Case) -> Result<(), String> {
    let entry = entry(case.name);
    let input = validator(&entry.generate_input_schema());
    let output = entry.generate_output_schema().map(|output| validator(&output.to_value()));
    let mut wrong = String::new();
    let lists = [
        (&case.good, true, true),
        (&case.bad, false, false),
        (&case.tool_only, false, true),
        (&case.schema_only, true, false),
    ];
    for (values, by_schema, by_tool) in lists {
        for value in values {
            let arguments = json!({ "value": value });
            let called = call(entry, &arguments);
            if input.is_valid(&arguments) != by_schema {
                let _ = writeln!(wrong, "{}: the schema takes {value}: {}", case.name, !by_schema);
            }
            if called.is_ok() != by_tool {
                let _ = writeln!(wrong, "{}: the tool takes {value}: {called:?}", case.name);
            }
            if let (Ok(Some(result)), Some(output)) = (called, &output) {
                let result = if (case.wraps)() { json!({ "result": result }) } else { result };
                if let Err(error) = output.validate(&result) {
                    let _ = writeln!(wrong, "{}: {result} is not as its schema says: {error}", case.name);
                }
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

#[test]
fn each_type_takes_what_its_schema_takes() {
    let wrong: Vec<String> = cases().iter().filter_map(|case| check(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

fn golden(name: &str) -> PathBuf {
    let file = format!("{}.json", name.trim_start_matches("golden."));
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(file)
}

/// The first lines in which two texts differ, with what stands around them.
fn difference(kept: &str, made: &str) -> String {
    let same = kept.lines().zip(made.lines()).take_while(|(kept, made)| kept == made).count();
    let from = same.saturating_sub(3);
    let part = |text: &str, sign: &str| -> String {
        text.lines().skip(from).take(10).flat_map(|line| [sign, " ", line, "\n"]).collect()
    };
    format!("from line {}:\n{}{}", from + 1, part(kept, "-"), part(made, "+"))
}

#[test]
fn each_schema_is_the_one_that_is_kept() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = String::new();
    for entry in golden_entries() {
        let schemas = json!({ "input": entry.generate_input_schema(), "output": entry.generate_output_schema().map(|output| output.to_value()) });
        let made = format!("{schemas:#}\n");
        let path = golden(entry.name);
        if update {
            fs::write(&path, &made).expect("the file can be written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept != made {
            let _ = writeln!(wrong, "{} is another, {}", path.display(), difference(&kept, &made));
        }
    }
    assert!(wrong.is_empty(), "{wrong}if that is meant, run it with UPDATE_GOLDEN=1");
}

#[test]
fn each_kept_file_has_its_tool() {
    let directory = golden("x").parent().expect("a file is in a directory").to_owned();
    for file in fs::read_dir(directory).expect("the directory is there") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            assert!(entries().any(|entry| entry.name == format!("golden.{name}")), "{} is left over", path.display());
        }
    }
}

/// Every reference, wherever it stands.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn each_reference_resolves_and_each_definition_is_used() {
    for entry in golden_entries() {
        for schema in
            [Some(entry.generate_input_schema()), entry.generate_output_schema().map(|output| output.to_value())]
                .into_iter()
                .flatten()
        {
            let mut found = Vec::new();
            references(&schema, &mut found);
            for reference in &found {
                let pointer = reference.strip_prefix('#').expect("a reference within the schema");
                assert!(schema.pointer(pointer).is_some(), "{}: {reference}", entry.name);
            }
            for name in schema["$defs"].as_object().into_iter().flat_map(serde_json::Map::keys) {
                assert!(found.contains(&format!("#/$defs/{name}").as_str()), "{}: {name} is not used", entry.name);
            }
        }
    }
}

#[test]
fn each_schema_is_one() {
    for entry in golden_entries() {
        validator(&entry.generate_input_schema());
        if let Some(output) = entry.generate_output_schema() {
            validator(&output.to_value());
        }
    }
}
