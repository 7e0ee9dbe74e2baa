//! The cases of the JSON-Schema-Test-Suite, drafts 2020-12 and 7, and those of the formats.
//!
//! `.ci/run suite` fetches the suite, and names its folder in `MCP_SCHEMA_SUITE`.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_core::support::faults::RESULT;
use mcp_core::support::schema::Model;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::validate::check::{How, Schema, Secrets};

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

/// The schemas that we reject: what the error says, what the schema has, how many there are, and why.
const REJECTED: [(&str, &str, usize, &str); 7] = [
    ("`$ref` leads to another document", "$ref", 51, "nothing is fetched, and one schema is one document"),
    ("`$ref` in a schema that has an `$id` of its own", "$id", 19, "one schema is one document"),
    ("`$dynamicRef` is not supported", "$dynamicRef", 10, "no type is generic over the schema that refers to it"),
    ("`unevaluatedItems` is not supported", "unevaluatedItems", 27, "`items` says it about a list of types"),
    ("2020-12 ignores `dependencies`", "dependencies", 7, "what its author means would be ignored"),
    ("uses `\\p{", "\\p{", 8, "no tables of Unicode"),
    ("`$schema` is ", "$schema", 4, "another draft may have other rules"),
];

/// The tests that we do not pass: the file, the value, and why.
const FAILED: [(&str, &str, &str); 5] = [
    ("optional/format/idn-email", "\"2962\"", "the format is a note"),
    ("optional/format/iri-reference", "", "the format is a note"),
    ("optional/format/iri", "", "the format is a note"),
    ("optional/format/idn-hostname", r#""\u0903hello""#, "no tables of Unicode"),
    ("optional/content", "", "`contentEncoding` and `contentMediaType` are notes, as 2020-12 has it"),
];

#[derive(Deserialize)]
struct Case {
    description: String,
    schema: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    description: String,
    data: Box<RawValue>,
    valid: bool,
}

fn read(case: &Case, draft7: bool, checks_formats: bool) -> Result<Schema, String> {
    let mut schema = case.schema.clone();
    if let Value::Object(schema) = &mut schema {
        if draft7 {
            schema.entry("$schema").or_insert_with(|| DRAFT_7.into());
        }
    }
    Schema::new(Model::read(&schema, checks_formats).map_err(|error| error.to_string())?)
}

/// Whether both ways to check a value say the same as the test.
fn passes(schema: &Schema, test: &Test) -> bool {
    let strict = How { document: RESULT, lenient: false, secrets: Secrets::None };
    let data = test.data.get();
    schema.accepts(schema.model().root(), data) == test.valid && schema.check(data, &strict).is_ok() == test.valid
}

/// The files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a file").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
#[ignore = "`.ci/run suite` fetches the suite and runs this"]
fn cases_of_the_test_suite() {
    let folder = std::env::var("MCP_SCHEMA_SUITE").expect("`MCP_SCHEMA_SUITE` is the folder `tests` of the suite");
    let (mut passed, mut failed, mut rejected) = (0, [0; FAILED.len()], [0; REJECTED.len()]);
    let mut findings = Vec::new();
    // In the main folder of 2020-12, formats are notes.
    let folders = [("draft2020-12", "", false), ("draft7", "", false)];
    let optional =
        ["draft2020-12", "draft7"].map(|draft| [(draft, "optional", true), (draft, "optional/format", true)]);
    for (draft, inner, checks_formats) in folders.into_iter().chain(optional.into_iter().flatten()) {
        for path in files(&Path::new(&folder).join(draft).join(inner)) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{draft}/{inner}/{stem}");
            let cases = fs::read_to_string(&path).expect("a file of the suite");
            let cases: Vec<Case> = serde_json::from_str(&cases).expect("cases");
            for case in cases {
                let schema = match read(&case, draft == "draft7", checks_formats) {
                    Ok(schema) => schema,
                    Err(reason) => {
                        let text = case.schema.to_string().replace("\\\\", "\\");
                        let known =
                            REJECTED.iter().position(|(said, has, ..)| reason.contains(said) && text.contains(has));
                        match known {
                            Some(index) => rejected[index] += 1,
                            None => findings.push(format!("{name}: {}: rejected: {reason}", case.description)),
                        }
                        continue;
                    }
                };
                for test in &case.tests {
                    let is_known = |(file, value, _): &(&str, &str, &str)| {
                        name.ends_with(file) && (value.is_empty() || *value == test.data.get())
                    };
                    match (passes(&schema, test), FAILED.iter().position(is_known)) {
                        (true, _) => passed += 1,
                        (false, Some(index)) => failed[index] += 1,
                        (false, None) => {
                            let Test { description, data, valid } = test;
                            findings.push(format!("{name}: {}: {description}: {data} fits: {valid}", case.description));
                        }
                    }
                }
            }
        }
    }
    println!("{passed} tests passed; failed as listed: {failed:?}; schemas rejected as listed: {rejected:?}");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert_eq!(rejected, REJECTED.map(|(_, _, count, _)| count), "how many schemas are rejected");
    assert!(failed.iter().all(|count| *count > 0), "passes by now, so remove it from the list: {failed:?}");
    assert!(passed > 2_500, "{passed}");
}
