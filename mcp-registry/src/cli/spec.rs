//! The command that writes and checks specification pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use super::Cli;
use super::commands::{find_tool, in_module};
use super::output::{Failure, print, print_note};
use crate::catalog::tool::RegisteredTool;
use crate::contract::Specification;
use crate::contract::specification::examples::quoted;
use crate::contract::specification::{MARKER, differences, is_generated, page, summary};

/// The file that lists all pages.
const INDEX: &str = "README.md";

/// What belongs to each file, by its name.
type Files<T> = BTreeMap<String, T>;

impl Cli<'_> {
    pub(super) fn spec(
        self,
        names: &[String],
        module: Option<&str>,
        out: Option<&Path>,
        check: bool,
    ) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let mut selected: Vec<&RegisteredTool> = match names {
            [] => catalog.list_registered_tools().iter().collect(),
            names => names.iter().map(|name| find_tool(&catalog, name)).collect::<Result<_, _>>()?,
        };
        let mut seen = BTreeSet::new();
        selected.retain(|tool| module.is_none_or(|module| in_module(tool, module)) && seen.insert(tool.name()));
        let specifications = Specification::all_checked(selected).map_err(Failure::failed)?;
        if let (true, Some(module)) = (specifications.is_empty(), module) {
            return Err(Failure::failed(format!(
                "no tool of the module `{module}` is selected; `list` shows all tools"
            )));
        }
        let Some(directory) = out else {
            let texts: Vec<String> = specifications.iter().map(ToString::to_string).collect();
            return print(&texts.join("\n"));
        };
        let files = files(specifications, module.is_none())?;
        if check { check_files(directory, &files, module) } else { write_files(directory, &files) }
    }
}

/// The content of each file: a page for each module, and the index if the pages of all modules are written.
fn files(specifications: Vec<Specification>, with_index: bool) -> Result<Files<String>, Failure> {
    let mut pages: Files<Vec<Specification>> = Files::new();
    for specification in specifications {
        let file = format!("{}.md", specification.module.as_deref().unwrap_or("tools"));
        // Many file systems ignore case, so that one file would replace the other.
        let is_taken = |name: &&str| name.eq_ignore_ascii_case(&file) && (*name == INDEX || *name != file);
        if let Some(other) = pages.keys().map(String::as_str).chain([INDEX]).find(is_taken) {
            return Err(Failure::failed(format!(
                "the page of the module of `{}` would have the name of `{other}` where case is ignored; rename the module, \
                 or print the page without `--out`",
                specification.name
            )));
        }
        pages.entry(file).or_default().push(specification);
    }
    let index = with_index.then(|| (INDEX.to_owned(), index(&pages)));
    let pages = pages.into_iter().map(|(file, specifications)| (file, page(&specifications)));
    Ok(pages.chain(index).collect())
}

/// The index: each page with its tools.
fn index(pages: &Files<Vec<Specification>>) -> String {
    let mut text = format!("{MARKER}\n\n# MCP Tool Specifications\n");
    for (file, specifications) in pages {
        let _ = write!(text, "\n## [{file}]({file})\n\n");
        text.extend(specifications.iter().map(|tool| summary(file, tool)));
    }
    text
}

/// A file, if there is one.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::failed(format!("{} cannot be read: {error}; check the path", path.display()))),
    }
}

fn write_files(directory: &Path, files: &Files<String>) -> Result<ExitCode, Failure> {
    // Nothing is written unless everything can be.
    for file in files.keys() {
        let path = directory.join(file);
        if read(&path)?.is_some_and(|found| !is_generated(&found)) {
            let path = path.display();
            return Err(Failure::failed(format!("{path} was not generated; move it away, or choose another folder")));
        }
    }
    let failed = |path: &Path, error: io::Error| {
        Failure::failed(format!("{} cannot be written: {error}; check the path", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    for (file, text) in files {
        let path = directory.join(file);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
        print_note(&format!("wrote {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares committed pages with those that would be written.
fn check_files(directory: &Path, files: &Files<String>, module: Option<&str>) -> Result<ExitCode, Failure> {
    let (mut problems, mut remedies) = (Vec::new(), Vec::new());
    for (file, expected) in files {
        let path = directory.join(file);
        match read(&path)? {
            None => problems.push(format!("missing: {}", path.display())),
            Some(found) if !is_generated(&found) => {
                remedies = vec!["move away what was not generated".to_owned()];
                problems.push(format!("not generated: {}", path.display()));
            }
            Some(found) => {
                let differences = differences(expected, &found).into_iter();
                let stale = |part: String| {
                    let part = if file == INDEX { "the list of tools" } else { &*part };
                    format!("stale: {}: {part}", path.display())
                };
                problems.extend(differences.map(stale));
            }
        }
    }
    if !problems.is_empty() {
        let module = module.map_or_else(String::new, |module| format!("--module {} ", quoted(module)));
        let directory = quoted(&directory.display().to_string());
        remedies.push(format!("write the pages again with `spec {module}--out {directory}`"));
    }
    let left_over = if module.is_none() { left_over(directory, files)? } else { Vec::new() };
    if !left_over.is_empty() {
        problems.extend(left_over.iter().map(|path| format!("left over: {}", path.display())));
        remedies.push("delete what is left over".to_owned());
    }
    if problems.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print(&problems.join("\n"))?;
    print_note(&remedies.join(", and "));
    Ok(ExitCode::FAILURE)
}

/// Generated pages of modules that are no longer there.
fn left_over(directory: &Path, files: &Files<String>) -> Result<Vec<PathBuf>, Failure> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Failure::failed(format!("{} cannot be read: {error}; check the path", directory.display())));
        }
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_page = path.extension().is_some_and(|extension| extension == "md") && path.is_file();
        if is_page && !name.to_str().is_some_and(|name| files.contains_key(name)) {
            found.extend(read(&path)?.filter(|text| is_generated(text)).map(|_| path));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use clap::FromArgMatches as _;

    use super::files;
    use crate::catalog::Catalog;
    use crate::cli::args::{self, Arguments};
    use crate::cli::call_arguments::CallArguments;
    use crate::cli::output::Failure;
    use crate::contract::Specification;
    use crate::{mcp_tool, tools};

    #[mcp_tool(module = "odd", destructive, crate = crate)]
    fn quoted(
        #[arg(example = "it's a \"test\"; $(rm) `x` \\ * ~ é")] text: &str,
        #[arg(example = "a\nb\0c")] control: &str,
        #[arg(example = "")] empty: &str,
        #[arg(example = "-5")] dashes: &str,
        #[arg(example = -5)] number: i64,
        #[arg(example = ["a b", "{c}"])] list: Vec<String>,
        #[arg(example = "5")] value: serde_json::Value,
    ) {
        let _ = (text, control, empty, dashes, number, list, value);
    }

    #[mcp_tool(module = "odd", crate = crate)]
    fn renamed(#[arg(rename = "a=b", example = "x'y")] _one: &str, #[arg(rename = "--json", example = 1)] _two: u8) {}

    #[mcp_tool(module = "odd", crate = crate)]
    fn none() {}

    #[mcp_tool(module = "a.B", crate = crate)]
    fn upper() {}

    #[mcp_tool(module = "a.b", crate = crate)]
    fn lower() {}

    #[test]
    fn pages_whose_names_differ_only_in_case_are_an_error() {
        let catalog = Catalog::from_entries(tools![none, upper, lower]).unwrap();
        let all = Specification::all_checked(catalog.list_registered_tools()).unwrap();
        let Err(Failure::Failed(error)) = files(all, true) else { panic!("one page would replace the other") };
        let told = "the page of the module of `a.b.lower` would have the name of `a.B.md` where case is ignored; ";
        assert!(error.starts_with(told), "{error}");
        let one = Specification::all_checked(&catalog.list_registered_tools()[..1]).unwrap();
        assert_eq!(files(one, false).ok().map(|files| files.len()), Some(1));
    }

    #[test]
    fn a_shell_and_the_argument_parser_read_the_arguments_of_the_example() {
        let catalog = Catalog::from_entries(tools![quoted, renamed, none]).unwrap();
        for tool in catalog.list_registered_tools() {
            let specification = tool.specification();
            let line = specification.command_line("my program").unwrap();
            let script = format!("for word in {line}; do printf '%s\\0' \"$word\"; done");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let words = String::from_utf8(output.stdout).unwrap();
            let words: Vec<&str> = words.split_terminator('\0').collect();
            let matches = args::command("program", None).try_get_matches_from(words);
            let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
            let Some(args::Command::Call { name, arguments, trust, json: false }) =
                arguments.unwrap_or_else(|error| panic!("{error}: {line}")).command
            else {
                panic!("{line}")
            };
            assert_eq!((name.as_str(), trust.is_some()), (tool.name(), tool.is_destructive()));
            let arguments = CallArguments::parse(&arguments).and_then(|arguments| arguments.into_json(tool));
            let arguments: serde_json::Value = serde_json::from_str(&arguments.unwrap()).unwrap();
            assert_eq!(arguments, specification.examples.call.unwrap().arguments, "{line}");
        }
    }
}
