//! `check`, `diff` and `assert_contract`: the tools of a program compared with what they promised.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_registry::serde_json::{Value, json};
use mcp_registry::testing::assert_contract_of;
use mcp_registry::{Registry, mcp_tool, tools};

use super::cli::{Ended, program_in};

const LOCK: &str = "mcp.lock.json";

/// A program without `wrong.silent`.
const FEWER: (&str, &str) = ("BUILDER", "fewer");

const LIST: &str = concat!(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "\n");

/// A folder that is removed when it is dropped. Git does not look for a repository above it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("mcp-check-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, &[], "")
    }

    fn run_with(&self, words: &[&str], env: &[(&str, &str)], stdin: &str) -> Ended {
        let above = std::env::temp_dir();
        let alone = [("GIT_CEILING_DIRECTORIES", above.to_str().unwrap()), ("LC_ALL", "C")];
        program_in(&self.0, words, &[&alone, env].concat(), stdin)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn git(&self, words: &[&str]) {
        let settings = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").args(settings).args(words).current_dir(&self.0).env_remove("GIT_DIR").output();
        let output = output.expect("git is installed");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Asserts that a command failed with this one message, and nothing else.
#[track_caller]
fn assert_error(ended: &Ended, code: i32, message: &str) {
    assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{}", ended.err);
    assert_eq!(ended.err, format!("error: {message}\n"));
}

#[test]
fn a_lock_is_created_checked_and_updated() {
    let folder = Folder::new();
    let missing = folder.run(&["check"]);
    assert_error(&missing, 1, "`mcp.lock.json` does not exist; create it with `check --update`, and commit it");
    assert_eq!(folder.files(), [""; 0]);

    let created = folder.run_with(&["check", "--update"], &[FEWER], "");
    assert_eq!((created.code, created.err.as_str()), (Some(0), "wrote `mcp.lock.json`: 4 tools; commit it\n"));
    assert_eq!(folder.files(), [LOCK]);
    let lock = folder.read(LOCK);

    let same = folder.run_with(&["check"], &[FEWER], "");
    assert_eq!((same.code, same.out.as_str(), same.err.as_str()), (Some(0), "", "nothing has changed\n"));

    let more = folder.run(&["check"]);
    assert!(more.code == Some(0) && more.out.starts_with("wording[tool-added] wrong.silent: "), "{}", more.out);
    assert_eq!(
        more.err,
        "1 change: 0 breaking, 0 unknown\n`mcp.lock.json` is not up to date; write it with `check --update`\n"
    );
    assert_eq!(folder.read(LOCK), lock);

    let updated = folder.run(&["check", "--update"]);
    assert_eq!((updated.code, updated.out), (Some(0), more.out));
    assert_eq!(updated.err, "wrote `mcp.lock.json`: 5 tools; 1 change: 0 breaking, 0 unknown\n");
    let again = folder.run(&["check", "--update"]);
    assert_eq!((again.code, again.err.as_str()), (Some(0), "`mcp.lock.json` is up to date: 5 tools\n"));

    let lock = folder.read(LOCK);
    let fewer = folder.run_with(&["check"], &[FEWER], "");
    assert!(fewer.code == Some(1) && fewer.out.starts_with("breaking[tool-removed] wrong.silent: "), "{}", fewer.out);
    assert_eq!(
        fewer.err,
        "1 change: 1 breaking, 0 unknown\n\
         if this is intended, accept everything with `check --update`\n"
    );
    assert_eq!((folder.read(LOCK), folder.files().len()), (lock, 1));
}

/// What the guide's page says that a command prints.
fn shown_in_the_guide(command: &str) -> String {
    let page = include_str!("../../docs/contracts.md");
    let start = page.find(&format!("$ {command}")).unwrap_or_else(|| panic!("{command} is not on the page"));
    let lines = page[start..].lines().skip(1).take_while(|line| !line.trim_start().starts_with("```"));
    // The blocks of a list are indented.
    let first = lines.clone().next().unwrap_or_default();
    let indent = first.len() - first.trim_start().len();
    lines.map(|line| line.get(indent..).unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn the_walkthrough_of_the_guide_ends_as_it_says() {
    let folder = Folder::new();
    let step = |step: &str, words: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_shop")).args(words).env("STEP", step).current_dir(&folder.0).output();
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, _, note) = step("before", &["check", "--update"]);
    assert_eq!((code, note.as_str()), (Some(0), shown_in_the_guide("cargo run -q -- check --update").as_str()));

    let (code, report, summary) = step("changed", &["check"]);
    let shown = shown_in_the_guide("cargo run -q -- check\n").replace("src/main.rs:12", "tests/fixtures/shop.rs:17");
    assert_eq!((code, format!("{report}{summary}")), (Some(1), shown));

    let (code, report, _) = step("announced", &["check"]);
    assert_eq!(code, Some(0), "{report}");
    assert!(
        report.contains("shop.search says 2.0.0, which is enough") && !report.contains("missing-migration"),
        "{report}"
    );

    assert_eq!(step("announced", &["check", "--update"]).0, Some(0));
    assert_eq!(step("announced", &["check"]), (Some(0), String::new(), "nothing has changed\n".to_owned()));
}

#[test]
fn the_report_has_four_formats() {
    let folder = Folder::new();
    folder.run(&["check", "--update"]);
    let report = |format: &str| {
        let report = folder.run_with(&["check", "--format", format], &[FEWER], "");
        assert_eq!(report.code, Some(1));
        report
    };
    assert!(report("text").out.starts_with("breaking[tool-removed] wrong.silent: "));
    let json = report("json").json();
    assert_eq!((&json["verdict"], json.as_object().unwrap().len()), (&json!("breaking"), 2));
    let finding = &json["findings"][0];
    assert_eq!((&finding["tool"], &finding["breaking"]), (&json!("wrong.silent"), &json!(true)));
    assert_eq!((&finding["called"], &finding["witness"]), (&json!("wrong.silent"), &json!({})));
    let page = include_str!("../../docs/contracts.md");
    for member in finding.as_object().unwrap().keys() {
        let row =
            |line: &str| line.starts_with("| ") && line.split(" | ").next().unwrap().contains(&format!("`{member}`"));
        assert!(page.lines().any(row), "{member} is not in the table of the guide");
    }
    assert!(report("markdown").out.starts_with("## Contract of the tools: breaking\n"));
    let github = report("github").out;
    assert!(
        github.starts_with("::error ") && github.contains("title=breaking[tool-removed] wrong.silent::"),
        "{github}"
    );
    let same = folder.run(&["check", "--format", "json"]);
    assert_eq!((same.code, same.json()), (Some(0), json!({ "verdict": "compatible", "findings": [] })));
}

#[test]
fn a_response_to_tools_list_can_be_piped_into_check() {
    let folder = Folder::new();
    let listed = folder.run_with(&[], &[], LIST).out;
    for text in [listed.clone(), format!("event: message\r\ndata: {}\r\n\r\n", listed.trim())] {
        let piped = folder.run_with(&["check", "--against", "-", "--format", "json"], &[], &text);
        assert_eq!((piped.code, &piped.json()["verdict"]), (Some(0), &json!("compatible")), "{}", piped.err);
    }
    let removed = folder.run_with(&["check", "--against", "-"], &[FEWER], &listed);
    assert!(removed.code == Some(1) && removed.out.contains("wrong.silent"), "{}", removed.out);
    assert!(!removed.err.contains("--update"), "{}", removed.err);
    folder.run(&["check", "--update"]);
    let lock = folder.run_with(&["check", "--against", "-"], &[], &folder.read(LOCK));
    assert_eq!((lock.code, lock.err.as_str()), (Some(0), "nothing has changed\n"));
}

#[test]
fn two_contracts_of_any_servers_are_compared() {
    let folder = Folder::new();
    folder.write("old.json", r#"{"tools": [{"name": "a"}, {"name": "b"}]}"#);
    folder.write("new.json", r#"[{"name": "a"}]"#);
    let removed = folder.run(&["diff", "old.json", "new.json"]);
    assert!(removed.code == Some(1) && removed.out.starts_with("breaking[tool-removed] b: "), "{}", removed.out);
    assert_eq!(removed.err, "1 change: 1 breaking, 0 unknown\n");
    // Comparing needs no tools of the program itself.
    let added = folder.run_with(&["diff", "new.json", "-"], &[("BUILDER", "broken")], &folder.read("old.json"));
    assert!(added.code == Some(0) && added.out.starts_with("wording[tool-added] b: "), "{}{}", added.out, added.err);
    folder.write("other.json", r#"[{"name": "c", "description": "Cuts."}]"#);
    let other = folder.run(&["diff", "new.json", "other.json"]);
    assert_eq!(other.code, Some(1));
    let warning = "warning: `new.json` seems to be from another program: it has `a`, and not `c`, as `other.json` has; name \
                   two contracts of the same server\n";
    assert!(other.err.starts_with(warning), "{}", other.err);
    folder.write("renamed.json", r#"[{"name": "c"}]"#);
    let renamed = folder.run(&["diff", "new.json", "renamed.json"]);
    assert!(
        renamed.out.starts_with("breaking[tool-renamed] a: ") && !renamed.err.contains("warning"),
        "{}",
        renamed.err
    );
    assert_error(
        &folder.run(&["diff", "new.json", "none.json"]),
        1,
        "`none.json` does not exist; name a lock, or a file with a response to `tools/list`",
    );
    assert_error(
        &folder.run(&["diff", "-", "-"]),
        2,
        "only one of OLD and NEW can be `-`; name a file for the other contract",
    );
}

#[test]
fn a_lock_that_cannot_be_used_is_one_message_and_is_left_alone() {
    let folder = Folder::new();
    folder.run(&["check", "--update"]);
    let lock = folder.read(LOCK);
    let restore = "restore it from version control, or write it again with `check --update`";
    let delete = "name another file, or delete it and write it again with `check --update`";
    let edited = lock.replace("Removes everybody", "Removes somebody");
    for (text, message) in [
        (
            lock.replace("\"format\": 1", "\"format\": 2"),
            "the lock is in format 2, but this program reads only up to format 1; update its `mcp-registry` dependency"
                .to_owned(),
        ),
        (
            edited,
            format!("the lock was edited by hand: the digest of `people.remove` does not match its content; {restore}"),
        ),
        (
            lock.replacen('\n', "\n<<<<<<< HEAD\n", 1),
            format!("this is not JSON: key must be a string at line 2 column 1; {restore}"),
        ),
        (
            "{}".to_owned(),
            format!("this is neither a lock nor a `tools/list` response: it has no list of `tools`; {delete}"),
        ),
        (
            r#"{"tools": [], "nextCursor": "2"}"#.to_owned(),
            "the list of tools has a `nextCursor`, so more tools are on another page; append the responses for the \
             remaining pages"
                .to_owned(),
        ),
    ] {
        assert_ne!(text, lock);
        folder.write(LOCK, &text);
        assert_error(&folder.run(&["check"]), 1, &format!("`mcp.lock.json`: {message}"));
        assert_eq!(folder.read(LOCK), text);
    }
    fs::write(folder.path(LOCK), [0xff]).unwrap();
    assert_error(&folder.run(&["check"]), 1, &format!("`mcp.lock.json` is not valid UTF-8; {delete}"));

    let error = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "who are you?"}}"#;
    let refused = folder.run_with(&["check", "--against", "-"], &[], error);
    assert_error(
        &refused,
        1,
        "stdin: the server answered with an error instead of its tools: who are you?; correct the request",
    );
    let pipe = "pipe a lock or a complete response to `tools/list` into the command";
    let empty = folder.run(&["check", "--against", "-"]);
    assert_error(&empty, 1, &format!("stdin: this is not JSON: it is empty; {pipe}"));

    folder.write("notes.txt", "buy milk");
    assert_error(
        &folder.run(&["check", "--against", "notes.txt", "--update"]),
        1,
        "`notes.txt` is not a lock and is not overwritten; name another file, or delete it",
    );
    assert_eq!(folder.read("notes.txt"), "buy milk");
    assert_error(
        &folder.run(&["check", "--against", "none.json"]),
        1,
        "`none.json` does not exist; create it with `check --against none.json --update`, and commit it",
    );
    assert_eq!(folder.files(), [LOCK, "notes.txt"]);
    let url = folder.run(&["check", "--against", "https://example.com/mcp"]);
    assert_eq!(url.code, Some(2), "{}", url.err);
    let told = "it is a URL; pipe the response to `tools/list` into the command, and write `-`";
    assert!(url.err.contains(told), "{}", url.err);
    for words in [&["check", "--against", ""][..], &["check", "--update", "--against="], &["diff", "", LOCK]] {
        let empty = folder.run(words);
        let told = "it is empty; name a file, `-` for stdin, or `git:REV`";
        assert!(empty.code == Some(2) && empty.err.contains(told), "{}", empty.err);
    }
}

#[test]
fn the_contract_of_another_program_is_pointed_out_first() {
    let folder = Folder::new();
    let names = ["buy", "search", "sell", "store"].map(|name| json!({ "name": name, "description": name }));
    folder.write("shop.json", &json!(names).to_string());
    let mut shop = Command::new(env!("CARGO_BIN_EXE_shop"));
    shop.args(["check", "--update"]).env("STEP", "before").current_dir(&folder.0).output().unwrap();
    let not = "not `people.greet`, `people.heads.count`, `people.remove`, …";
    for (words, message) in [
        // A list is not overwritten, so nobody is told to do so.
        (
            &["check", "--against", "shop.json"][..],
            format!(
                "`shop.json` seems to be from another program: it has `buy`, `search`, `sell`, …, and {not}; name a \
                 contract of this program"
            ),
        ),
        (
            &["check"],
            format!(
                "`mcp.lock.json` seems to be from another program: it has `shop.search`, and {not}; name a \
                 contract of this program, or accept the change with `check --update` if every tool was replaced"
            ),
        ),
    ] {
        let other = folder.run(words);
        assert_eq!((other.code, other.out.contains("breaking[tool-removed] ")), (Some(1), true));
        assert_eq!(other.err.lines().next(), Some(&*format!("warning: {message}")), "{}", other.err);
        assert!(other.err.lines().count() == 2 && other.err.ends_with(" breaking, 0 unknown\n"), "{}", other.err);
    }
}

#[test]
fn what_may_never_end_is_not_read() {
    const LIMIT: usize = 64 << 20;
    let folder = Folder::new();
    let sparse = fs::File::create(folder.path("large.json")).unwrap();
    sparse.set_len(LIMIT as u64 + 1).unwrap();
    let large = "`large.json` cannot be read: it has more than 64 MiB; name another file";
    for words in [
        &["check", "--against", "large.json"][..],
        &["check", "--against", "large.json", "--update"],
        &["diff", "large.json", "large.json"],
    ] {
        assert_error(&folder.run(words), 1, large);
    }
    let piped = folder.run_with(&["check", "--against", "-"], &[], &" ".repeat(LIMIT + 1));
    let message = "stdin cannot be read: it has more than 64 MiB; name another file";
    assert_error(&piped, 1, message);
    folder.git(&["init", "--quiet"]);
    folder.git(&["add", "large.json"]);
    folder.git(&["commit", "--quiet", "-m", "Add"]);
    let committed = folder.run(&["check", "--against", "git:HEAD:large.json"]);
    assert_error(&committed, 1, "`git:HEAD:large.json` cannot be read: it has more than 64 MiB; name another file");
    for words in [&["check", "--against", "/dev/zero"][..], &["check", "--against", "/dev/full", "--update"]] {
        if cfg!(unix) {
            let message = format!("`{}` cannot be read: it has more than 64 MiB; name another file", words[2]);
            assert_error(&folder.run(words), 1, &message);
        }
    }
}

#[cfg(unix)]
#[test]
fn two_contracts_can_be_read_from_pipes() {
    let folder = Folder::new();
    let lock = Registry::builder_of(tools![]).allow_empty().build().unwrap().catalog().contract().to_string();
    let pipe = |name: &str| {
        let path = folder.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let lock = lock.clone();
        std::thread::spawn(move || fs::write(path, lock).unwrap())
    };
    let writers = [pipe("old"), pipe("new")];
    let ended = folder.run(&["diff", "old", "new"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "nothing has changed\n"));
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn only_a_file_can_be_updated() {
    let folder = Folder::new();
    for (source, shown) in [("-", "stdin"), ("git:HEAD", "`git:HEAD:mcp.lock.json`")] {
        let refused = folder.run(&["check", "--against", source, "--update"]);
        let message =
            format!("`--update` needs a file to write to; {shown} is not one; leave out `--update`, or name a file");
        assert_error(&refused, 2, &message);
    }
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn the_lock_of_a_revision_is_read_from_git() {
    let folder = Folder::new();
    folder.git(&["init", "--quiet"]);
    folder.git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    folder.git(&["tag", "empty"]);
    folder.run(&["check", "--update"]);
    fs::create_dir(folder.path("sub")).unwrap();
    fs::copy(folder.path(LOCK), folder.path("sub/other.json")).unwrap();
    folder.write("broken.json", "{");
    folder.git(&["add", "."]);
    folder.git(&["commit", "--quiet", "-m", "Promise"]);
    folder.git(&["tag", "v1"]);
    fs::remove_file(folder.path(LOCK)).unwrap();

    for source in ["git:v1", "git:HEAD", "git:v1:sub/other.json", "git:v1:./mcp.lock.json"] {
        let same = folder.run(&["check", "--against", source]);
        assert_eq!((same.code, same.err.as_str()), (Some(0), "nothing has changed\n"), "{source}");
        let fewer = folder.run_with(&["check", "--against", source], &[FEWER], "");
        assert_eq!((fewer.code, fewer.err.as_str()), (Some(1), "1 change: 1 breaking, 0 unknown\n"), "{source}");
    }
    // The path is relative to the current folder.
    let below = program_in(&folder.path("sub"), &["check", "--against", "git:v1:other.json"], &[], "");
    assert_eq!((below.code, below.err.as_str()), (Some(0), "nothing has changed\n"));
    let same = folder.run(&["diff", "git:v1", "git:HEAD:sub/other.json", "--format", "json"]);
    assert_eq!((same.code, same.json()["verdict"].as_str()), (Some(0), Some("compatible")));

    for (source, message) in [
        (
            "git:v2",
            "there is no revision `v2`; name another, or fetch it first: CI often clones the last commit alone".to_owned(),
        ),
        (
            "git:empty",
            "there is no `mcp.lock.json` at the revision `empty` (path 'mcp.lock.json' does not exist in 'empty'); name \
             another revision, another path with `git:empty:PATH`, or commit what `check --update` writes"
                .to_owned(),
        ),
        (
            "git:v1:broken.json",
            "`git:v1:broken.json`: this is not JSON: EOF while parsing an object at line 1 column 1; name another \
             revision"
                .to_owned(),
        ),
    ] {
        assert_error(&folder.run(&["check", "--against", source]), 1, &message);
    }
    let option = folder.run(&["check", "--against", "git:--output=stolen"]);
    assert_error(
        &option,
        2,
        "`git:--output=stolen` names no revision; write `git:REVISION`, or `git:REVISION:PATH` for another file than \
         `mcp.lock.json`",
    );
    let nothing = folder.run(&["check", "--against", "git:v1:"]);
    assert_error(&nothing, 2, "`git:v1:` names no file; write `git:v1:PATH`");
    let foreign = [("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"), ("LC_ALL", "de_DE.UTF-8")];
    let foreign = folder.run_with(&["check", "--against", "git:v1"], &foreign, "");
    let told = "error: `git:v1` cannot be read: detected dubious ownership in repository at ";
    assert!(foreign.code == Some(1) && foreign.err.starts_with(told), "{}", foreign.err);
    assert!(foreign.err.contains("git config --global --add safe.directory"), "{}", foreign.err);
    assert!(!foreign.err.contains("run the command in the repository"), "{}", foreign.err);
    let missing = folder.run_with(&["check", "--against", "git:v1"], &[("PATH", "")], "");
    assert_error(&missing, 1, "`git:v1` cannot be read: git is not installed; install git, or name a file");
    assert_eq!(folder.files(), [".git", "broken.json", "sub"]);

    let outside = Folder::new().run(&["check", "--against", "git:v1"]);
    assert_error(
        &outside,
        1,
        "`git:v1` cannot be read: not a git repository (or any of the parent directories): .git; run the command in the \
         repository",
    );
}

/// Finds orders.
#[mcp_tool(module = "shop", read_only)]
fn search(customer: u32) -> u32 {
    customer
}

/// Buys something.
#[mcp_tool(module = "shop")]
fn buy() {}

/// Greets someone.
#[mcp_tool(module = "people")]
fn greet() {}

#[test]
fn a_test_asserts_the_contract_and_updates_it_if_the_environment_says_so() {
    let assert = |path: &Path, all: bool| {
        let tools = if all { tools![search, buy].to_vec() } else { tools![search].to_vec() };
        assert_contract_of(&Registry::builder_of(tools).catalog().unwrap(), path);
    };
    // The environment cannot be changed here: the test runs itself once more.
    if let Some(path) = std::env::var_os("MCP_CONTRACT_TO_UPDATE") {
        return assert(Path::new(&path), true);
    }
    let folder = Folder::new();
    let path = folder.path(LOCK);
    let failure = |all: bool| {
        let panic = catch_unwind(|| assert(&path, all)).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap()
    };
    assert!(failure(true).ends_with("does not exist; run the test with `MCP_UPDATE=1` to create it, and commit it"));
    let run = |update: &str| {
        let name = "contract::a_test_asserts_the_contract_and_updates_it_if_the_environment_says_so";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact"]).env("MCP_CONTRACT_TO_UPDATE", &path).env("MCP_UPDATE", update);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stderr) + &text(output.stdout))
    };
    for update in ["0", "false", "NO", "off", "", "yes", "2"] {
        let (passed, told) = run(update);
        assert_eq!((passed, path.exists()), (false, false), "{update}: {told}");
        let expected = "; set it to `1` to write files, or remove it to compare them";
        assert_eq!(told.contains(expected), ["yes", "2"].contains(&update), "{told}");
    }
    for update in ["True", "1"] {
        let (passed, told) = run(update);
        assert_eq!((passed, path.exists()), (true, true), "{update}: {told}");
    }
    // A test that passes shows what it has accepted.
    let one_more = Registry::builder_of(tools![search, buy, greet]).catalog().unwrap().contract();
    fs::write(&path, one_more.to_string()).unwrap();
    let (passed, told) = run("1");
    assert!(passed && told.starts_with("breaking[tool-removed] people.greet: "), "{told}");
    assert!(told.contains("mcp.lock.json`: 2 tools; 1 change: 1 breaking, 0 unknown\n"), "{told}");
    assert(&path, true);
    let lock = folder.read(LOCK);
    let lock_json: Value = mcp_registry::serde_json::from_str(&lock).unwrap();
    assert_eq!(lock_json["tools"].as_object().unwrap().len(), 2);
    let report = failure(false);
    assert!(report.contains("mcp.lock.json`:\nbreaking[tool-removed] shop.buy: "), "{report}");
    assert!(report.ends_with("if this is intended, run the test with `MCP_UPDATE=1` to accept everything"), "{report}");
    assert_eq!(folder.read(LOCK), lock);
}
