//! The command line of a program of tools, as people, scripts and hosts use it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use mcp_registry::serde_json::{self, Value, json};

/// The output and exit code of a program.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// Runs the program with these arguments, this environment and this input.
pub(crate) fn program(words: &[&str], env: &[(&str, &str)], stdin: &str) -> Ended {
    program_in(Path::new("."), words, env, stdin)
}

/// Runs the program in this folder.
pub(crate) fn program_in(folder: &Path, words: &[&str], env: &[(&str, &str)], stdin: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
    command.args(words).env_remove("MAIN").env_remove("BUILDER").env("GREETING", "Hello").envs(env.iter().copied());
    command
        .current_dir(folder)
        .env_remove("GIT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

pub(crate) fn run(words: &[&str]) -> Ended {
    program(words, &[], "")
}

/// The environment of a program whose state cannot be opened.
pub(crate) const STATELESS: [(&str, &str); 2] = [("MAIN", "main"), ("GREETING", "")];

#[test]
fn tools_are_listed_without_state_and_without_colors() {
    let listed = program(&["list"], &STATELESS, "");
    assert_eq!(
        (listed.code, listed.out.as_str(), listed.err.as_str()),
        (
            Some(0),
            "people.greet        Greets someone.\n\
             people.heads.count  Counts, and tells of it.\n\
             people.remove       Removes everybody. (destructive)\n\
             wrong.fail          Fails.\n\
             wrong.silent\n",
            ""
        )
    );
}

#[test]
fn tools_are_listed_by_tag_and_module() {
    let names = |words: &[&str]| -> Vec<String> {
        let listed = run(words).json();
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["list", "--json", "--tag", "polite"]), ["people.greet"]);
    assert_eq!(names(&["list", "--json", "--module", "people.heads"]), ["people.heads.count"]);
    assert_eq!(names(&["list", "--json", "--module=people"]).len(), 3);
    let none = run(&["list", "--json", "--module", "peop"]);
    assert_eq!((none.code, none.json()), (Some(0), json!([])));
    assert!(none.err.contains("`list` without options"), "{}", none.err);
    let whole = run(&["list", "--json"]).json();
    assert_eq!(whole[0]["inputSchema"]["required"], json!(["name"]));
    assert_eq!(whole[0]["metadata"]["tags"], json!(["polite"]));
}

#[test]
fn a_schema_is_shown_by_any_name_of_the_tool() {
    for name in ["people.greet", "people_greet"] {
        let input = program(&["schema", name], &STATELESS, "");
        assert_eq!((input.code, &input.json()["properties"]["times"]["maximum"]), (Some(0), &json!(9)));
    }
    assert_eq!(run(&["schema", "people.greet", "--output"]).json()["properties"]["result"]["type"], "string");
    let none = run(&["schema", "wrong.fail", "--output"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.starts_with("error: `wrong.fail` has no output schema"), "{}", none.err);
}

#[test]
fn the_error_for_an_unknown_tool_suggests_the_nearest_name() {
    for command in ["schema", "call"] {
        let unknown = run(&[command, "people.great"]);
        assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
        assert!(unknown.err.starts_with("error: ") && unknown.err.contains("`people.greet`"), "{}", unknown.err);
    }
}

#[test]
fn a_call_prints_the_flat_result() {
    let result =
        json!({ "status": "success", "data": { "result": "Hello, 1 and Bo!" }, "error": null, "explanation": null });
    for words in [
        &["call", "people.greet", "name=1", r#"others=["Bo"]"#, "times=1"][..],
        &["call", "people_greet", r#"name:="1""#, r#"others:=["Bo"]"#],
        &["call", "people.greet", r#"{"name": "1", "others": ["Bo"]}"#],
    ] {
        let called = run(words);
        assert_eq!((called.code, called.json(), called.err.as_str()), (Some(0), result.clone(), ""));
        assert_eq!(called.out.lines().count(), 1);
    }
}

/// The program on a terminal, which gets both stdout and stderr.
fn on_terminal(words: &[&str]) -> (Option<i32>, String) {
    let spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = Command::new("python3");
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_program")]).args(words);
    command.env_remove("MAIN").env_remove("BUILDER").env("GREETING", "Hello").env("NO_COLOR", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
}

#[test]
fn on_a_terminal_a_call_prints_the_bare_value_or_the_error() {
    assert_eq!(on_terminal(&["call", "people.greet", "name=Ada"]), (Some(0), "Hello, Ada!\n".to_owned()));
    let (code, json) = on_terminal(&["call", "people.greet", "name=Ada", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["status"], &json["data"]["result"]), (Some(0), &json!("success"), &json!("Hello, Ada!")));
    let (code, error) = on_terminal(&["call", "wrong.fail"]);
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: "), "{error}");
}

#[test]
fn a_tool_is_found_by_the_last_segment_of_its_name() {
    assert_eq!(run(&["call", "greet", "name=Ada"]).json()["data"]["result"], "Hello, Ada!");
    assert_eq!(run(&["schema", "count"]).json(), run(&["schema", "people.heads.count"]).json());
    assert_eq!(run(&["schema", "heads.count"]).json(), run(&["schema", "people.heads.count"]).json());
    assert_eq!(run(&["schema", "ount"]).code, Some(1));
}

#[test]
fn progress_and_log_messages_of_a_tool_go_to_stderr() {
    let counted = run(&["call", "people.heads.count", "to=2"]);
    assert_eq!((counted.code, &counted.json()["data"]["result"]), (Some(0), &json!(2)));
    assert_eq!(counted.err, "1/2 counted\n2/2 counted\nwarning: that is all\n");
}

#[test]
fn a_failed_call_exits_with_1_and_prints_the_error() {
    let failed = run(&["call", "wrong.fail"]);
    assert_eq!((failed.code, &failed.json()["error"]["error_type"]), (Some(1), &json!("ResourceNotFound")));
    let wrong = run(&["call", "people.greet", "times=many", "nam=Ada"]);
    let error = &wrong.json()["error"];
    assert_eq!((wrong.code, &error["error_type"]), (Some(1), &json!("ValidationError")));
    let message = error["error_message"].as_str().unwrap();
    assert!(message.contains("times") && message.contains("did you mean `name`?"), "{message}");
}

#[test]
fn a_destructive_tool_needs_trust() {
    let refused = run(&["call", "people.remove"]);
    assert_eq!((refused.code, &refused.json()["error"]["error_type"]), (Some(1), &json!("PermissionError")));
    assert!(refused.err.contains("--trust trusted"), "{}", refused.err);
    let done = run(&["call", "people.remove", "--trust", "trusted"]);
    assert_eq!((done.code, &done.json()["data"]["result"]), (Some(0), &json!(true)));
}

#[test]
fn a_wrong_command_line_exits_with_2_and_an_error_that_names_it() {
    for (words, said) in [
        (&["lst"][..], "list"),
        (&["schema"], "<NAME>"),
        (&["call", "people.greet", "Ada"], "`Ada` is not an argument"),
        (&["call", "people.greet", "others=[1"], "`others` is not JSON"),
        (&["call", "people.greet", "{name}"], "not a JSON object"),
        (&["serve", "--trust", "fully"], "trusted, verified, untrusted"),
    ] {
        let wrong = run(words);
        assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(wrong.err.starts_with("error: ") && wrong.err.contains(said), "{}", wrong.err);
    }
}

#[test]
fn help_shows_examples_and_the_version_is_the_programs() {
    let help = run(&["--help"]);
    assert!(help.code == Some(0) && help.out.contains("Usage: program [COMMAND]"), "{}", help.out);
    assert!(!help.out.contains('\u{1b}'));
    let call = run(&["call", "--help"]);
    assert!(call.out.contains("Examples:\n  people call notes.add text="), "{}", call.out);
    assert_eq!(run(&["--version"]).out, "people 1.2.3\n");
}

#[test]
fn the_lint_fails_on_errors_and_if_strict_on_warnings() {
    let lint = run(&["lint"]);
    assert_eq!(lint.code, Some(1));
    assert!(lint.out.contains("\nerror[missing-description]: `wrong.silent` has no description"), "{}", lint.out);
    assert!(lint.err.starts_with("5 tools: 1 error, "), "{}", lint.err);
    let bare = [("BUILDER", "bare")];
    let (lax, strict) = (program(&["lint"], &bare, ""), program(&["lint", "--strict"], &bare, ""));
    assert_eq!((lax.code, strict.code), (Some(0), Some(1)));
    assert!(lax.out.starts_with("warning[") && lax.out == strict.out, "{}", lax.out);
}

/// The line of the program in which a tool is written.
fn line_of(tool: &str) -> usize {
    let source = include_str!("../fixtures/program.rs");
    let function = source.lines().position(|line| line.starts_with(&format!("fn {tool}("))).unwrap();
    let attribute = source.lines().take(function).enumerate().filter(|(_, line)| line.starts_with("#[mcp_tool"));
    attribute.last().unwrap().0 + 1
}

#[test]
fn findings_are_printed_as_json() {
    let lint = run(&["lint", "--format", "json"]);
    let report = lint.json();
    assert_eq!((lint.code, &report["errors"]), (Some(1), &json!(1)));
    let findings = report["findings"].as_array().unwrap();
    let warnings = findings.iter().filter(|finding| finding["severity"] == "warning").count();
    assert!(warnings > 0 && report["warnings"] == warnings, "{report:#}");
    let mut silent = findings.iter().find(|finding| finding["rule"] == "missing-output-schema").unwrap().clone();
    let fingerprint = silent["fingerprint"].take();
    assert_eq!(fingerprint.as_str().unwrap().len(), 16);
    let message = silent["message"].take();
    assert!(message.as_str().unwrap().starts_with("`wrong.fail` has no output schema: "), "{message}");
    let expected = json!({
        "rule": "missing-output-schema",
        "severity": "note",
        "tool": "wrong.fail",
        "side": "output",
        "pointer": "",
        "message": null,
        "hosts": [],
        "source": format!("tests/fixtures/program.rs:{}", line_of("fail")),
        "fingerprint": null,
    });
    assert_eq!(silent, expected);
    assert_eq!(run(&["lint", "--format=json"]).out, lint.out);
}

#[test]
fn findings_are_printed_as_annotations() {
    let lint = run(&["lint", "--format", "github"]);
    assert_eq!(lint.code, Some(1));
    let place = format!("file=tests/fixtures/program.rs,line={}", line_of("silent"));
    let expected = format!("::error {place},title=missing-description::`wrong.silent` has no description: ");
    assert!(lint.out.lines().any(|line| line.starts_with(&expected)), "{}", lint.out);
    assert!(lint.out.lines().any(|line| line.starts_with("::notice title=closed-arguments::")), "{}", lint.out);
    let is_annotation =
        |line: &str| ["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start));
    assert!(lint.out.lines().all(is_annotation), "{}", lint.out);
    assert!(lint.err.starts_with("5 tools: 1 error, "), "{}", lint.err);
}

#[test]
fn findings_can_be_limited_to_hosts_and_an_unknown_host_is_a_wrong_command_line() {
    let rules = |words: &[&str]| -> Vec<String> {
        let report = run(&[&["lint", "--format", "json"], words].concat()).json();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
    };
    let has = |words: &[&str], rule: &str| rules(words).iter().any(|other| other == rule);
    for words in [&[][..], &["--host", "gemini"], &["--host", "openai"], &["--host", "openai", "--host", "gemini"]] {
        assert!(has(words, "missing-description"), "every host is affected");
        assert_eq!(has(words, "closed-arguments"), words.is_empty() || words.contains(&"gemini"), "{words:?}");
    }
    assert!(has(&["--host", "claude"], "missing-title") && !has(&["--host", "gemini"], "missing-title"));
    let unknown = run(&["lint", "--host", "netscape"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(2), ""));
    for host in ["netscape", "claude-desktop", "cursor", "gemini", "openai", "vscode"] {
        assert!(unknown.err.contains(host), "{}", unknown.err);
    }
    assert_eq!(run(&["lint", "--format", "yaml"]).code, Some(2));
}

#[test]
fn the_settings_of_the_builder_apply_to_every_command() {
    let bare = [("BUILDER", "bare")];
    assert!(!program(&["list"], &bare, "").out.contains("wrong.silent"));
    assert_eq!(program(&["schema", "greet"], &bare, "").code, Some(0));
    assert_eq!(program(&["call", "greet", "name=Ada"], &bare, "").code, Some(0));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(program(&[], &bare, list).json()["result"]["tools"][0]["name"], "count");
}

#[test]
fn every_problem_with_the_tools_is_reported_at_once() {
    for words in
        [&["list"][..], &["lint"], &["check"], &["schema", "people.greet"], &["call", "wrong.fail"], &["serve"], &[]]
    {
        let broken = program(words, &[("BUILDER", "broken")], "");
        assert_eq!((broken.code, broken.out.as_str()), (Some(1), ""), "{words:?}");
        assert!(broken.err.starts_with("error: the tools cannot be registered, for 2 reasons:\n"), "{}", broken.err);
        assert!(broken.err.contains("no.tool") && broken.err.contains("not a name"), "{}", broken.err);
    }
}

#[test]
fn a_registration_error_names_the_line_of_the_program() {
    let source = include_str!("../fixtures/program.rs");
    for (main, code) in [("cli", "_ => Cli::new()"), ("full", "let cli = Cli::new()")] {
        let lines: Vec<usize> =
            (1..).zip(source.lines()).filter(|(_, line)| line.contains(code)).map(|(n, _)| n).collect();
        let [line] = lines[..] else { panic!("`{code}` is in the lines {lines:?}") };
        for words in [&["list"][..], &["call", "people.remove"]] {
            let empty = program(words, &[("BUILDER", "none"), ("MAIN", main)], "");
            assert_eq!(empty.code, Some(1));
            assert!(empty.err.contains(&format!("tests/fixtures/program.rs:{line}:")), "{}", empty.err);
            assert!(!empty.err.contains("cli.rs"), "{}", empty.err);
        }
    }
}

/// A program that uses the registry itself and has a command of its own.
const FULL: (&str, &str) = ("MAIN", "full");

#[test]
fn a_program_gets_the_registry_before_the_first_call() {
    let late = program(&["call", "people.late"], &[FULL], "");
    assert_eq!((late.code, &late.json()["data"]["result"]), (Some(0), &json!("late")), "{}", late.err);
    let served = program(&["serve"], &[FULL], concat!(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "\n"));
    assert!(served.out.contains(r#""name":"people_late""#), "{}{}", served.out, served.err);
    let listed = program(&["list"], &[FULL, ("START_FAILS", "1")], "");
    assert!(listed.code == Some(0) && !listed.out.contains("late"), "`list` needs no registry: {}", listed.err);
    for words in [&["call", "people.late"][..], &["serve"], &["greet-all", "Ada"]] {
        let failed = program(words, &[FULL, ("START_FAILS", "1")], "");
        assert_eq!((failed.code, failed.out.as_str()), (Some(1), ""), "{words:?}");
        assert_eq!(failed.err, "error: the plugins cannot be read; correct their folder\n");
    }
}

#[test]
fn a_program_can_add_a_command() {
    let greeted = program(&["greet-all", "Ada", "Bo"], &[FULL], "");
    assert_eq!((greeted.code, greeted.err.as_str()), (Some(7), ""));
    assert!(greeted.out.contains("Hello, Ada!") && greeted.out.contains("Hello, Bo!"), "{}", greeted.out);
    assert!(program(&["--help"], &[FULL], "").out.contains("greet-all  Greets several people"));
    let wrong = program(&["greet-all"], &[FULL], "");
    assert!(wrong.code == Some(2) && wrong.err.contains("<names>"), "{}", wrong.err);
}

#[test]
fn a_command_that_exists_cannot_be_added() {
    for name in ["list", "help", "greet-all"] {
        let twice = program(&["list"], &[FULL, ("TWICE", name)], "");
        let told = format!("error: the program adds the command `{name}`, which exists already; give it another name");
        assert!(twice.code == Some(2) && twice.err.starts_with(&told), "{}", twice.err);
    }
    // A name that is an alias of another command, and aliases that are names or aliases of others.
    for (name, alias, told) in [
        ("greet-everyone", "again", "`greet-everyone`"),
        ("again", "list", "`again` with the alias `list`"),
        ("again", "help", "`again` with the alias `help`"),
        ("again", "greet-everyone", "`again` with the alias `greet-everyone`"),
    ] {
        let twice = program(&["list"], &[FULL, ("TWICE", name), ("ALIAS", alias)], "");
        let told = format!("error: the program adds the command {told}, which exists already; give it another name");
        assert!(twice.code == Some(2) && twice.err.starts_with(&told), "{}", twice.err);
    }
    let other = program(&["again", "Ada"], &[FULL, ("TWICE", "another"), ("ALIAS", "again")], "");
    assert_eq!(other.code, Some(7), "{}", other.err);
}

#[test]
fn state_that_cannot_be_created_is_reported() {
    for main in ["main_with", "cli"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
        command.args(["call", "people.remove"]).env("MAIN", main).env_remove("GREETING");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "error: GREETING: environment variable not found; set it\n"
        );
    }
    let forgotten = program(&["call", "people.remove"], &STATELESS, "");
    assert_eq!(forgotten.code, Some(1));
    assert!(forgotten.err.contains("Greeting"), "{}", forgotten.err);
}

/// A host that starts the program, initializes it, and makes a call.
const HOST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"people_remove"}}"#,
    "\n",
);

/// The answers by their ids.
fn answer(ended: &Ended, id: &Value) -> Value {
    let answers = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.into_iter().find(|answer| answer["id"] == *id).unwrap_or_else(|| panic!("{}{}", ended.out, ended.err))
}

#[test]
fn with_piped_stdin_the_program_serves_over_stdio() {
    for words in [&[][..], &["serve"], &["serve", "--stdio"]] {
        let served = program(words, &[], HOST);
        assert_eq!((served.code, served.err.as_str()), (Some(0), ""), "{words:?}");
        let greeted = answer(&served, &json!(0));
        assert_eq!(greeted["result"]["serverInfo"], json!({ "name": "people", "version": "1.2.3" }));
        assert_eq!(greeted["result"]["instructions"], "Be polite.");
        assert_eq!(answer(&served, &json!("b"))["result"]["isError"], true);
    }
    let named = answer(&program(&[], &[("MAIN", "main_with")], HOST), &json!(0));
    assert_eq!(named["result"]["serverInfo"]["name"], "program");
}

#[test]
fn trust_can_be_set_on_the_command_line() {
    let trusted = program(&["serve", "--trust", "trusted"], &[], HOST);
    assert_eq!(answer(&trusted, &json!("b"))["result"]["isError"], false);
}

#[test]
fn without_input_the_program_exits_successfully() {
    let output = Command::new(env!("CARGO_BIN_EXE_program")).env("GREETING", "Hello").stdin(Stdio::null()).output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
}

#[cfg(unix)]
#[test]
fn a_closed_stdout_is_not_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_program"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_failure_exits_with_1_even_if_stdout_is_closed() {
    for words in [&["call", "wrong.fail"][..], &["lint", "--strict"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
        command.args(words).env("GREETING", "Hello").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{words:?}");
    }
}

/// A program that serves over HTTP, and its address.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(words: &[&str], token: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
        command.args(["serve", "--http", "127.0.0.1:0"]).args(words).env("GREETING", "Hello").env_remove("MCP_TOKEN");
        let mut child = command.envs(token.map(|token| ("MCP_TOKEN", token))).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
        Self { child, address }
    }

    /// The status line and all that follows.
    fn ask(&self, headers: &str) -> String {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "people_greet", "arguments": { "name": "Ada" } } });
        let (body, address) = (call.to_string(), &self.address);
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn over_http_the_program_prints_its_address_and_serves() {
    let answer = Serving::start(&[], None).ask("");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Hello, Ada!"), "{answer}");
}

#[cfg(unix)]
#[test]
fn over_http_the_program_handles_signals_as_soon_as_it_has_printed_its_address() {
    for signal in ["-INT", "-TERM"] {
        for _ in 0..10 {
            let mut serving = Serving::start(&[], None);
            let id = serving.child.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
            assert_eq!(serving.child.wait().unwrap().code(), Some(0), "{signal}");
        }
    }
}

#[test]
fn over_http_a_token_can_be_required() {
    for serving in [Serving::start(&["--token", "s3cret"], None), Serving::start(&[], Some("s3cret"))] {
        let refused = serving.ask("");
        assert!(refused.starts_with("HTTP/1.1 401 ") && !refused.contains("Ada"), "{refused}");
        let answer = serving.ask("Authorization: Bearer s3cret\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Hello, Ada!"), "{answer}");
    }
}

#[test]
fn an_address_that_is_unsafe_invalid_or_taken_is_refused() {
    for (words, said) in [
        (&["--http", "0.0.0.0:0"][..], "can be reached by others; set `MCP_TOKEN`, add `--token`"),
        (
            &["--http", "0.0.0.0:0", "--token", ""],
            "the token is empty, or contains something other than visible ASCII; choose one",
        ),
        (&["--http", "nowhere"], "cannot listen on nowhere: invalid socket address; give"),
        (&["--http", "99999"], "cannot listen on 99999: invalid socket address; give"),
    ] {
        let refused = program(&[&["serve"][..], words].concat(), &[], "");
        assert_eq!(refused.code, Some(1), "{words:?}");
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let serving = Serving::start(&[], None);
    let taken = program(&["serve", "--http", &serving.address], &[], "");
    assert!(taken.err.contains("the address is in use; choose another port"), "{}", taken.err);
}

#[test]
fn an_origin_that_no_browser_sends_is_rejected() {
    for origin in ["*", "app.example.com", "https://app.example.com/app"] {
        let refused = program(&["serve", "--http", "nowhere", "--allow-origin", origin], &[], "");
        assert_eq!(refused.code, Some(2), "{origin}");
        let told = [
            format!("invalid value '{origin}' for '--allow-origin <ORIGIN>'"),
            "such as `https://app.example.com`".to_owned(),
        ];
        assert!(told.iter().all(|told| refused.err.contains(told)), "{}", refused.err);
    }
}

#[cfg(unix)]
#[test]
fn a_token_that_is_not_utf_8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;

    let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
    command.args(["serve", "--http", "0"]).env("GREETING", "Hello");
    let token = std::ffi::OsStr::from_bytes(b"\xff");
    let output = command.env("MCP_TOKEN", token).stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && err.contains("`MCP_TOKEN` is not valid UTF-8; set another token"),
        "{err}"
    );
}
