//! What all versions of the compiler have in common: which errors they find, and in which lines.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use mcp_core::serde_json::{Deserializer, Value};

/// An error that a program should have.
#[derive(Debug, PartialEq)]
pub(crate) struct Expected {
    /// Our own message; none for an error with the compiler's own words.
    pub(crate) message: Option<String>,
    pub(crate) line: u64,
}

/// An error that a compiler has found.
pub(crate) struct Found {
    /// Its message, notes and labels.
    text: String,
    lines: Vec<u64>,
}

/// The errors of a kept `.stderr` file.
pub(crate) fn expected_errors(kept: &str) -> Vec<Expected> {
    let mut lines = kept.lines();
    let mut expected = Vec::new();
    while let Some(line) = lines.next() {
        if let Some((code, message)) = line.strip_prefix("error").and_then(|error| error.split_once(": ")) {
            let place = lines.next().unwrap_or_default();
            let line = place.rsplit(':').nth(1).and_then(|line| line.parse().ok());
            let line = line.unwrap_or_else(|| panic!("no place: `{place}` after `{message}`"));
            expected.push(Expected { message: own_message(code, message), line });
        }
    }
    expected
}

/// Our part of an error: a message of the macro, that of a trait that is not implemented, or the panic of a constant.
/// Everything else is the compiler's.
fn own_message(code: &str, message: &str) -> Option<String> {
    let own = match code {
        "" if message != "future cannot be sent between threads safely" => message,
        "[E0277]" if !message.starts_with("the trait bound ") => message,
        "[E0080]" => message.strip_prefix("evaluation panicked: ")?,
        _ => return None,
    };
    Some(own.to_owned())
}

/// Which of the expected errors were not found.
pub(crate) fn problems(expected: &[Expected], found: &[Found]) -> Vec<String> {
    if expected.is_empty() {
        return vec!["no errors are kept".to_owned()];
    }
    let is_missing = |Expected { message, line }: &&Expected| {
        let is_message = |text: &str| message.as_ref().is_none_or(|message| text.contains(message.as_str()));
        !found.iter().any(|found| found.lines.contains(line) && is_message(&found.text))
    };
    let missing = expected.iter().filter(is_missing).map(|Expected { message, line }| {
        let message = message.as_ref().map(|message| format!(" `{message}`")).unwrap_or_default();
        let others: Vec<String> = found.iter().map(|it| format!("{:?}: {}", it.lines, it.text)).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join("; ") };
        format!("there is no error{message} at line {line}, but: {others}")
    });
    missing.collect()
}

/// A version of the compiler, and what programs are compiled with.
pub(crate) struct Compiler {
    rustc: OsString,
    version: String,
    arguments: Vec<OsString>,
}

impl Compiler {
    pub(crate) fn new(rustc: OsString) -> Self {
        let version = Command::new(&rustc).arg("--version").output().expect("the compiler runs").stdout;
        let version = String::from_utf8(version).expect("a version is text").trim().to_owned();
        Self { rustc, version, arguments: Vec::new() }
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The same, for programs that use `mcp_core`, `schemars`, `semver` and `serde`, which are compiled first.
    pub(crate) fn with_mcp_core(&self) -> Self {
        let number = self.version.split(' ').nth(1).expect("a version has a number");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rustc-{number}"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.env("RUSTC", &self.rustc).current_dir(env!("CARGO_MANIFEST_DIR")).arg("check").arg("--target-dir");
        cargo.arg(&target).args(["--package=mcp-core", "--message-format=json"]);
        let checked = cargo.output().expect("cargo runs");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let mut arguments = vec!["-L".into(), search_path(&target.join("debug/deps"))];
        for message in messages(&checked.stdout) {
            let name = message["target"]["name"].as_str().unwrap_or_default();
            let file = message["filenames"][0].as_str().unwrap_or_default();
            // Dependencies of macros are compiled, not only checked.
            let is_checked = Path::new(file).extension().is_some_and(|extension| extension == "rmeta");
            if is_checked && ["mcp_core", "schemars", "semver", "serde"].contains(&name) {
                arguments.extend(["--extern".into(), format!("{name}={file}").into()]);
            }
        }
        assert_eq!(arguments.len(), 2 + 2 * 4, "{arguments:?}");
        Self { rustc: self.rustc.clone(), version: self.version.clone(), arguments }
    }

    /// The errors of a program.
    pub(crate) fn errors(&self, program: &Path) -> Vec<Found> {
        let mut rustc = Command::new(&self.rustc);
        rustc.args(["--edition=2024", "--crate-type=bin", "--crate-name=program", "--emit=metadata"]);
        rustc
            .arg("--error-format=json")
            .args(["--out-dir", env!("CARGO_TARGET_TMPDIR")])
            .args(&self.arguments)
            .arg(program);
        let output = rustc.output().expect("the compiler runs");
        let errors = messages(&output.stderr).filter(|message| message["level"] == "error" && has_place(message));
        let found: Vec<Found> = errors.map(|error| Found::new(&error, program)).collect();
        assert_eq!(output.status.success(), found.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        found
    }
}

/// The folder of the dependencies of those libraries.
fn search_path(folder: &Path) -> OsString {
    let mut path = OsString::from("dependency=");
    path.push(folder);
    path
}

fn messages(lines: &[u8]) -> impl Iterator<Item = Value> {
    Deserializer::from_slice(lines).into_iter().map(|message| message.expect("messages are JSON"))
}

/// Whether an error is about a place, and not a count of errors.
fn has_place(message: &Value) -> bool {
    message["spans"].as_array().is_some_and(|spans| !spans.is_empty())
}

impl Found {
    fn new(error: &Value, program: &Path) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut texts: Vec<String> = error["message"].as_str().map(str::to_owned).into_iter().collect();
        let mut lines = Vec::new();
        for span in list(&error["spans"]) {
            texts.extend(span["label"].as_str().map(str::to_owned));
            if span["is_primary"] == true {
                lines.extend(line_in(&span, program));
            }
        }
        texts.extend(list(&error["children"]).iter().filter_map(|child| child["message"].as_str().map(str::to_owned)));
        Self { text: texts.join("\n"), lines }
    }
}

/// The line of the program that has the span, or the macro call that the span is in.
fn line_in(span: &Value, program: &Path) -> Option<u64> {
    let file = PathBuf::from(span["file_name"].as_str()?);
    if file == program { span["line_start"].as_u64() } else { line_in(span["expansion"].get("span")?, program) }
}
