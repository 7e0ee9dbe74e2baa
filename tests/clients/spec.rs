//! The command `spec`: prints, writes and checks specification pages.

use std::fs;
use std::path::PathBuf;

use mcp_registry::serde_json::{self, Value};

use crate::cli::{Ended, STATELESS, program, run};

/// A folder for pages, deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("spec-{name}-{}", std::process::id())))
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn spec(&self, words: &[&str]) -> Ended {
        run(&[&["spec", "--out", self.0.to_str().unwrap()], words].concat())
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let page = fs::read_to_string(self.path(file)).unwrap();
        assert!(page.contains(from), "{page}");
        fs::write(self.path(file), page.replacen(from, to, 1)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let deleted = fs::remove_dir_all(&self.0);
        assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
    }
}

fn headings(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("## Tool: ")).collect()
}

#[test]
fn specifications_are_printed_without_state_all_or_some() {
    let all = program(&["spec"], &STATELESS, "");
    assert_eq!((all.code, all.err.as_str()), (Some(0), ""));
    let names = ["`people.greet`", "`people.heads.count`", "`people.remove`", "`wrong.fail`", "`wrong.silent`"];
    assert_eq!(headings(&all.out), names);
    let twice = run(&["spec", "silent", "people_greet", "wrong.silent"]);
    assert_eq!(headings(&twice.out), ["`wrong.silent`", "`people.greet`"], "each once");
    assert_eq!(headings(&run(&["spec", "--module", "people.heads"]).out), ["`people.heads.count`"]);
}

#[test]
fn an_unknown_tool_or_module_is_an_error_and_a_wrong_command_line_another() {
    let unknown = run(&["spec", "people.great"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert!(unknown.err.contains("did you mean `people.greet`"), "{}", unknown.err);
    let none = run(&["spec", "--module", "peop"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.contains("no tool of the module `peop` is selected; `list` shows all tools"), "{}", none.err);
    for words in [
        &["spec", "--check"][..],
        &["spec", "--module", "people", "--check"],
        &["spec", "greet", "--check"],
        &["spec", "--check", "greet"],
        &["spec", "greet", "--out", "x"],
        &["spec", "greet", "--out", "x", "--check"],
    ] {
        let refused = run(words);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{words:?}");
    }
}

#[test]
fn s4_1_pages_and_an_index_are_written_and_checked() {
    let folder = Folder::new("written");
    let missing = folder.spec(&["--check"]);
    assert_eq!(missing.code, Some(1));
    assert_eq!(missing.err, format!("write the pages again with `spec --out {}`\n", folder.0.display()));
    assert_eq!(missing.out.lines().filter(|line| line.starts_with("missing: ")).count(), 4);
    assert!(!folder.0.exists(), "a check writes nothing");

    assert_eq!(folder.spec(&[]).code, Some(0));
    let mut files: Vec<String> =
        fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["README.md", "people.heads.md", "people.md", "wrong.md"]);
    let index = fs::read_to_string(folder.path("README.md")).unwrap();
    assert!(
        index.contains(
            "\n## [people.md](people.md)\n\n- [`people.greet`](people.md#tool-peoplegreet) 1.0.0: Greets someone.\n"
        ),
        "{index}"
    );
    let page = fs::read_to_string(folder.path("people.md")).unwrap();
    assert_eq!(headings(&page), ["`people.greet`", "`people.remove`"]);
    let checked = folder.spec(&["--check"]);
    assert_eq!((checked.code, checked.out.as_str(), checked.err.as_str()), (Some(0), "", ""));
    assert_eq!(folder.spec(&[]).code, Some(0), "generated pages are overwritten");
}

#[test]
fn a_check_names_the_page_the_tool_and_the_section() {
    let folder = Folder::new("stale");
    folder.spec(&[]);
    folder.edit("people.md", "How often.", "How seldom.");
    folder.edit("people.md", "**Version**: 1.0.0", "**Version**: 0.9.0");
    folder.edit("wrong.md", "## Tool: `wrong.silent`", "## Tool: `wrong.loud`");
    fs::write(folder.path("gone.md"), fs::read(folder.path("people.heads.md")).unwrap()).unwrap();
    fs::write(folder.path("mine.md"), "My own page.\n").unwrap();
    fs::remove_file(folder.path("people.heads.md")).unwrap();
    let before = fs::read_to_string(folder.path("people.md")).unwrap();
    let checked = folder.spec(&["--check"]);
    let at = |file: &str| folder.path(file).display().to_string();
    let expected = [
        format!("missing: {}", at("people.heads.md")),
        format!("stale: {}: `people.greet`: heading and version", at("people.md")),
        format!("stale: {}: `people.greet`: Input Schema (Parameters)", at("people.md")),
        format!("stale: {}: `wrong.silent` is missing", at("wrong.md")),
        format!("stale: {}: `wrong.loud` is no longer there", at("wrong.md")),
        format!("left over: {}", at("gone.md")),
    ];
    assert_eq!(
        (checked.code, checked.out.lines().collect::<Vec<_>>()),
        (Some(1), expected.iter().map(String::as_str).collect())
    );
    assert_eq!(fs::read_to_string(folder.path("people.md")).unwrap(), before, "a check writes nothing");
    let remedy =
        format!("write the pages again with `spec --out {}`, and delete what is left over\n", folder.0.display());
    assert_eq!(checked.err, remedy);
    let module = folder.spec(&["--check", "--module", "people.heads"]);
    assert_eq!(module.out.lines().count(), 1, "one module");
    let remedy = format!("write the pages again with `spec --module people.heads --out {}`\n", folder.0.display());
    assert_eq!(module.err, remedy);
}

#[test]
fn the_remedy_for_pages_is_what_helps() {
    let folder = Folder::new("remedy");
    folder.spec(&[]);
    fs::copy(folder.path("people.md"), folder.path("gone.md")).unwrap();
    let left_over = folder.spec(&["--check"]);
    assert_eq!((left_over.code, left_over.err.as_str()), (Some(1), "delete what is left over\n"));
    fs::remove_file(folder.path("gone.md")).unwrap();

    // A page by hand would not be overwritten.
    fs::write(folder.path("wrong.md"), "My own page.\n").unwrap();
    let foreign = folder.spec(&["--check"]);
    assert_eq!(foreign.out, format!("not generated: {}\n", folder.path("wrong.md").display()));
    let remedy = format!(
        "move away what was not generated, and write the pages again with `spec --out {}`\n",
        folder.0.display()
    );
    assert_eq!((foreign.code, &foreign.err), (Some(1), &remedy));

    folder.edit("README.md", "Greets someone", "Greets nobody");
    let stale = folder.spec(&["--check"]);
    let expected = format!("stale: {}: the list of tools\n", folder.path("README.md").display());
    assert!(stale.out.starts_with(&expected), "{}", stale.out);
    assert_eq!(stale.err, remedy);
}

#[test]
fn a_tool_that_is_missing_at_the_end_of_a_page_makes_no_other_one_stale() {
    let folder = Folder::new("end");
    folder.spec(&[]);
    let page = fs::read_to_string(folder.path("people.md")).unwrap();
    let (before, _) = page.split_once("\n## Tool: `people.remove`").unwrap();
    fs::write(folder.path("people.md"), before).unwrap();
    let expected = format!("stale: {}: `people.remove` is missing", folder.path("people.md").display());
    assert_eq!(folder.spec(&["--check"]).out.lines().collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_file_that_was_not_generated_is_not_overwritten() {
    let folder = Folder::new("foreign");
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.path("wrong.md"), "My own page.\n").unwrap();
    let refused = folder.spec(&[]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("wrong.md was not generated; move it away"), "{}", refused.err);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is written");
    assert_eq!(fs::read_to_string(folder.path("wrong.md")).unwrap(), "My own page.\n");
    assert_eq!(folder.spec(&["--module", "people"]).code, Some(0), "other pages can be written");
    assert!(!folder.path("README.md").exists(), "the index lists all modules or is not written");
    let inside_a_file = run(&["spec", "--out", folder.path("wrong.md").to_str().unwrap()]);
    assert_eq!(inside_a_file.code, Some(1));
    assert!(inside_a_file.err.contains("check the path"), "{}", inside_a_file.err);
}

#[cfg(unix)]
#[test]
fn s1_30_each_command_line_on_a_page_calls_the_tool_with_the_arguments_of_the_example() {
    let mut called = 0;
    for page in run(&["spec"]).out.split("## Tool: ").skip(1) {
        let block = |start: &str| page.split(start).nth(1).and_then(|rest| rest.split("\n```").next());
        let line = block("```sh\n").expect("a command line");
        let call: Value = serde_json::from_str(block("flat message:\n\n```json\n").expect("a call")).unwrap();
        let script = format!("program() {{ \"$PROGRAM\" \"$@\"; }}; {line} --json");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).env("PROGRAM", env!("CARGO_BIN_EXE_program")).env("GREETING", "Hello");
        let output = shell.output().unwrap();
        let result: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let by_json =
            run(&["call", call["tool_name"].as_str().unwrap(), &call["arguments"].to_string(), "--trust", "trusted"]);
        assert_eq!(result, by_json.json(), "{line}");
        called += 1;
    }
    assert_eq!(called, 5);
}
