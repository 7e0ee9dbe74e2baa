//! The grammar of the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use mcp_core::TrustLevel;

use super::contract::Source;
use crate::catalog::lint::hosts;

/// The command line.
#[derive(Debug, PartialEq, Eq, Parser)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// The subcommand.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Command {
    /// Lists the tools
    List {
        /// Prints JSON, with schemas and metadata
        #[arg(long)]
        json: bool,
        /// Only tools with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Only tools of this module: `notes` matches `notes.add` and `notes.old.add`
        #[arg(long)]
        module: Option<String>,
    },
    /// Prints the JSON schema of a tool's arguments
    Schema {
        /// The tool: its name, or just the last part if that is unambiguous
        name: String,
        /// Prints the schema of its result instead
        #[arg(long)]
        output: bool,
    },
    /// Prints or writes the specification of the tools as Markdown
    Spec {
        /// The tools: their names, or just the last parts if they are unambiguous (default: all tools)
        #[arg(value_name = "NAME", conflicts_with = "out")]
        names: Vec<String>,
        /// Only tools of this module, and only its page
        #[arg(long)]
        module: Option<String>,
        /// Writes a page for each module and an index to this folder. Only generated files are overwritten
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Writes nothing, and fails if a page in the folder is missing, stale or left over
        // Clap does not look for a required argument that conflicts with a given one, so names are ruled out, too.
        #[arg(long, requires = "out", conflicts_with = "names")]
        check: bool,
    },
    /// Calls a tool and prints what it returns
    Call {
        /// The tool: its name, or just the last part if that is unambiguous
        name: String,
        /// One JSON object, or pairs: `key=value`, which is parsed by the tool's schema, or `key:=json`
        #[arg(value_name = "JSON | KEY=VALUE")]
        arguments: Vec<String>,
        /// Prints the whole result as JSON (default if stdout is not a terminal)
        #[arg(long)]
        json: bool,
        /// Your trust level; destructive tools require `trusted`
        #[arg(long, value_name = "LEVEL", value_parser = trust_level())]
        trust: Option<TrustLevel>,
    },
    /// Serves the tools to a host over the Model Context Protocol
    Serve {
        /// Serves over stdin and stdout, one message per line (default)
        #[arg(long)]
        stdio: bool,
        #[cfg(feature = "http")]
        #[command(flatten)]
        http: HttpArguments,
        /// The trust level of clients; destructive tools require `trusted`
        #[arg(long, value_name = "LEVEL", value_parser = trust_level())]
        trust: Option<TrustLevel>,
        /// How long the server waits for calls in flight when it shuts down, such as `30s` or `500ms` (default: 5s)
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        #[cfg_attr(feature = "http", arg(conflicts_with = "address"))]
        drain_timeout: Option<Duration>,
    },
    /// Reports what hosts and models could stumble over; fails if some hosts reject a tool
    Lint {
        /// Fails on warnings too
        #[arg(long)]
        strict: bool,
        /// Reports only what affects this host; can be repeated
        #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(hosts()))]
        host: Vec<String>,
        /// How findings are printed: for people, for programs, or as annotations of GitHub Actions
        #[arg(long, value_enum, default_value_t)]
        format: LintFormat,
    },
    /// Compares the tools with the contract in `mcp.lock.json`; fails if they break it
    Check {
        /// The contract: a file, `git:REV` for the lock that is committed there, or `-` for a lock or a `tools/list`
        /// response on stdin (default: mcp.lock.json)
        #[arg(long, value_name = "FILE | - | git:REV")]
        against: Option<Source>,
        /// Writes the lock of the tools as they are now to the file
        #[arg(long)]
        update: bool,
        /// The form of the report
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Compares two contracts, from this or any other server
    Diff {
        /// A lock or a `tools/list` response: a file, `-` for stdin, or `git:REV[:PATH]`
        old: Source,
        /// The newer one
        new: Source,
        /// The form of the report
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
    /// For a pull request
    Markdown,
    /// Annotations of a workflow
    Github,
}

/// The format of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LintFormat {
    #[default]
    Text,
    Json,
    Github,
}

/// The flags of `serve` over HTTP.
#[cfg(feature = "http")]
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(super) struct HttpArguments {
    /// Serves over HTTP at this address, such as `127.0.0.1:3000`; a port alone is bound on 127.0.0.1
    #[arg(long = "http", value_name = "ADDRESS", conflicts_with = "stdio")]
    pub(super) address: Option<String>,
    /// Serves only clients that send this token. Prefer the variable `MCP_TOKEN`, which process lists do not show
    #[arg(long, requires = "address")]
    pub(super) token: Option<String>,
    /// A server in front authenticates requests: serves at any address without a token, for the allowed hosts
    #[arg(long, requires = "address")]
    pub(super) external_auth: bool,
    /// Also serves requests to this host, such as `tools.example.com`
    #[arg(long, value_name = "HOST", requires = "address")]
    pub(super) allow_host: Vec<String>,
    /// Also serves web pages of this origin, such as `https://app.example.com`: browsers let them send requests and
    /// read the responses
    #[arg(long, value_name = "ORIGIN", requires = "address", value_parser = crate::transport::http::parse_origin)]
    pub(super) allow_origin: Vec<String>,
    /// Creates no sessions for clients of versions before 2026-07-28, so that any of several servers behind a load
    /// balancer can answer any request. Such clients can then neither cancel a call nor set the log level
    #[arg(long, requires = "address")]
    pub(super) no_sessions: bool,
}

fn trust_level() -> impl TypedValueParser<Value = TrustLevel> {
    let names = [TrustLevel::Trusted, TrustLevel::Verified, TrustLevel::Untrusted].map(TrustLevel::as_str);
    PossibleValuesParser::new(names).try_map(|name| TrustLevel::from_name(&name).ok_or("no such level"))
}

/// The examples in the help of each command.
const EXAMPLES: [(&str, &[&str]); 8] = [
    ("list", &["list --tag files", "list --json"]),
    ("schema", &["schema notes.add", "schema notes.add --output"]),
    ("spec", &["spec notes.add", "spec --out docs/tools", "spec --out docs/tools --check"]),
    (
        "call",
        &[
            r#"call notes.add text="buy milk" priority=2 tags='["home"]'"#,
            "call add text:=null --json",
            r#"call notes.add '{"text": "buy milk"}'"#,
        ],
    ),
    (
        "serve",
        if cfg!(feature = "http") {
            &["serve", "serve --trust trusted", "serve --http 3000", "serve --http 0.0.0.0:3000 --token TOKEN"]
        } else {
            &["serve", "serve --trust trusted"]
        },
    ),
    ("check", &["check", "check --update", "check --against git:origin/main --format markdown"]),
    ("diff", &["diff old.json new.json", "diff git:v1.0.0 mcp.lock.json --format json"]),
    ("lint", &["lint --strict", "lint --host gemini --host cursor", "lint --format github"]),
];

/// The grammar, for a program of this name.
pub(super) fn command(program: &str, version: Option<&str>) -> clap::Command {
    let command = Arguments::command()
        .name(program.to_owned())
        .about(format!("The tools of {program}: lists, calls and serves them"))
        .after_help(
            "Without a command, prints an overview on a terminal and serves over stdin and stdout otherwise, since that \
             is how hosts start it.\nExit codes: 0 success, 1 the tool or the check failed, 2 the command line is wrong.",
        );
    let command = match version {
        Some(version) => command.version(version.to_owned()),
        None => command,
    };
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let start = "Examples:".to_owned();
        let text = examples.iter().fold(start, |text, example| format!("{text}\n  {program} {example}"));
        command.mut_subcommand(name, |command| command.after_help(text))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::FromArgMatches as _;
    use clap::error::ErrorKind;
    use mcp_core::TrustLevel;

    use super::{Arguments, Command, EXAMPLES, Format, LintFormat, Source, command};

    fn parse(line: &[&str]) -> Result<Option<Command>, ErrorKind> {
        let words = ["notes"].iter().chain(line);
        let matches = command("notes", Some("1.2.3")).try_get_matches_from(words);
        let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
        arguments.map(|arguments| arguments.command).map_err(|error| error.kind())
    }

    #[test]
    fn the_grammar_is_valid() {
        command("notes", None).debug_assert();
    }

    #[test]
    fn each_command_is_parsed() {
        let text = |text: &str| text.to_owned();
        assert_eq!(parse(&[]), Ok(None));
        assert_eq!(
            parse(&["list", "--json", "--tag", "a", "--module=b"]),
            Ok(Some(Command::List { json: true, tag: Some(text("a")), module: Some(text("b")) }))
        );
        assert_eq!(
            parse(&["schema", "a.b", "--output"]),
            Ok(Some(Command::Schema { name: text("a.b"), output: true }))
        );
        let names = vec![text("a.b"), text("c")];
        let spec = Command::Spec { names, module: None, out: None, check: false };
        assert_eq!(parse(&["spec", "a.b", "c"]), Ok(Some(spec)));
        let spec = Command::Spec { names: Vec::new(), module: Some(text("m")), out: Some("d".into()), check: true };
        assert_eq!(parse(&["spec", "--module=m", "--out", "d", "--check"]), Ok(Some(spec)));
        assert_eq!(
            parse(&["call", "a.b", "x=1", "--trust", "trusted", "--json", "y:=-2"]),
            Ok(Some(Command::Call {
                name: text("a.b"),
                arguments: vec![text("x=1"), text("y:=-2")],
                json: true,
                trust: Some(TrustLevel::Trusted)
            }))
        );
        assert_eq!(
            parse(&["serve", "--stdio", "--trust=untrusted", "--drain-timeout", "1m 30s"]),
            Ok(Some(Command::Serve {
                stdio: true,
                #[cfg(feature = "http")]
                http: super::HttpArguments::default(),
                trust: Some(TrustLevel::Untrusted),
                drain_timeout: Some(Duration::from_secs(90)),
            }))
        );
        assert_eq!(
            parse(&["lint", "--strict", "--host", "gemini", "--host=cursor", "--format=json"]),
            Ok(Some(Command::Lint {
                strict: true,
                host: vec![text("gemini"), text("cursor")],
                format: LintFormat::Json
            }))
        );
        assert_eq!(
            parse(&["check", "--against", "git:main", "--format=github"]),
            Ok(Some(Command::Check { against: "git:main".parse().ok(), update: false, format: Format::Github }))
        );
        assert_eq!(
            parse(&["diff", "-", "new.json"]),
            Ok(Some(Command::Diff {
                old: Source::Stdin,
                new: Source::File("new.json".to_owned()),
                format: Format::Text
            }))
        );
    }

    #[cfg(feature = "http")]
    #[test]
    fn http_is_parsed() {
        let line = ["serve", "--http", "3000", "--token=t", "--allow-host", "a", "--allow-host=b", "--external-auth"];
        let Ok(Some(Command::Serve { http, stdio: false, trust: None, .. })) = parse(&line) else {
            panic!("it is parsed")
        };
        assert_eq!((http.address.as_deref(), http.token.as_deref()), (Some("3000"), Some("t")));
        assert_eq!((http.allow_host, http.external_auth), (vec!["a".to_owned(), "b".to_owned()], true));
        assert!(!http.no_sessions);
        let Ok(Some(Command::Serve { http, .. })) = parse(&["serve", "--http", "3000", "--no-sessions"]) else {
            panic!("it is parsed")
        };
        assert!(http.no_sessions);
        assert_eq!(parse(&["serve", "--http", "3000", "--stdio"]), Err(ErrorKind::ArgumentConflict));
        assert_eq!(parse(&["serve", "--token", "t"]), Err(ErrorKind::MissingRequiredArgument));
    }

    #[test]
    fn mistakes_are_rejected() {
        assert_eq!(parse(&["lst"]), Err(ErrorKind::InvalidSubcommand));
        assert_eq!(parse(&["schema"]), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(parse(&["list", "--yaml"]), Err(ErrorKind::UnknownArgument));
        assert_eq!(parse(&["serve", "--trust", "fully"]), Err(ErrorKind::InvalidValue));
        assert_eq!(parse(&["serve", "--drain-timeout", "soon"]), Err(ErrorKind::ValueValidation));
        assert_eq!(parse(&["check", "--format", "yaml"]), Err(ErrorKind::InvalidValue));
        assert_eq!(parse(&["diff", "old.json"]), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(parse(&["lint", "--host", "netscape"]), Err(ErrorKind::InvalidValue));
        assert_eq!(parse(&["lint", "--format", "yaml"]), Err(ErrorKind::InvalidValue));
        assert_eq!(parse(&["spec", "--check"]), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(parse(&["spec", "a.b", "--out", "d"]), Err(ErrorKind::ArgumentConflict));
        assert_eq!(parse(&["spec", "a.b", "--check"]), Err(ErrorKind::ArgumentConflict));
        assert_eq!(parse(&["spec", "--check", "a.b"]), Err(ErrorKind::ArgumentConflict));
        assert_eq!(parse(&["--version"]), Err(ErrorKind::DisplayVersion));
    }

    #[test]
    fn the_command_line_keeps_to_its_budget() {
        let command = command("notes", None);
        assert!(command.get_subcommands().count() <= 12);
        assert!(command.find_subcommand("serve").unwrap().get_arguments().count() <= 13);
    }

    #[test]
    fn every_command_has_examples() {
        let command = command("notes", None);
        for sub in command.get_subcommands() {
            let (_, examples) = EXAMPLES.iter().find(|(name, _)| *name == sub.get_name()).expect("examples");
            assert!(examples.iter().all(|example| example.starts_with(sub.get_name())));
        }
    }

    #[test]
    fn a_program_without_a_version_has_no_such_option() {
        let error = command("notes", None).try_get_matches_from(["notes", "--version"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownArgument);
    }
}
