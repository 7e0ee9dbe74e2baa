//! What can be said on the command line.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand};
use mcp_core::TrustLevel;

/// The command line.
#[derive(Debug, PartialEq, Eq, Parser)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// What to do.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Command {
    /// Lists the tools
    List {
        /// As JSON, with schemas and all that is known of each
        #[arg(long)]
        json: bool,
        /// Only tools with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Only tools of this module: `notes` takes `notes.add` and `notes.old.add`
        #[arg(long)]
        module: Option<String>,
    },
    /// Shows what a tool takes, as a JSON schema
    Schema {
        /// The tool
        name: String,
        /// Shows what it returns instead
        #[arg(long)]
        output: bool,
    },
    /// Calls a tool and prints its result as JSON
    Call {
        /// The tool
        name: String,
        /// One JSON object; or words: `key=value`, which is read as the tool's schema asks, or `key:=json`
        #[arg(value_name = "JSON | KEY=VALUE")]
        arguments: Vec<String>,
        /// How far you are trusted; tools that may destroy something ask for `trusted`
        #[arg(long, value_name = "LEVEL", value_parser = level())]
        trust: Option<TrustLevel>,
    },
    /// Serves the tools to a host, by the Model Context Protocol
    Serve {
        /// Over stdin and stdout, one message a line; this is so without saying
        #[arg(long)]
        stdio: bool,
        #[cfg(feature = "http")]
        #[command(flatten)]
        http: HttpArguments,
        /// How far clients are trusted; tools that may destroy something ask for `trusted`
        #[arg(long, value_name = "LEVEL", value_parser = level())]
        trust: Option<TrustLevel>,
        /// How long calls in flight may go on when the server shuts down, such as `30s` or `500ms` (default: 5s)
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        #[cfg_attr(feature = "http", arg(conflicts_with = "address"))]
        drain_timeout: Option<Duration>,
    },
    /// Says what hosts and models could stumble over; fails if some hosts refuse a tool
    Lint {
        /// Fails on warnings too
        #[arg(long)]
        strict: bool,
    },
}

/// How to serve over HTTP.
#[cfg(feature = "http")]
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(super) struct HttpArguments {
    /// Over HTTP at this address, such as `127.0.0.1:3000`; a port alone is one of this machine
    #[arg(long = "http", value_name = "ADDRESS", conflicts_with = "stdio")]
    pub(super) address: Option<String>,
    /// Serves only clients that know this token. Better said in the variable `MCP_TOKEN`, where nobody sees it
    #[arg(long, requires = "address")]
    pub(super) token: Option<String>,
    /// Someone in front knows who asks: serves at any address without a token, under the hosts that are allowed
    #[arg(long, requires = "address")]
    pub(super) auth_outside: bool,
    /// Also serves requests to this host, such as `tools.example.com`
    #[arg(long, value_name = "HOST", requires = "address")]
    pub(super) allow_host: Vec<String>,
    /// Also serves web pages of this origin, such as `https://app.example.com`: their browsers let them send requests and
    /// read the answers
    #[arg(long, value_name = "ORIGIN", requires = "address", value_parser = crate::transport::http::parse_origin)]
    pub(super) allow_origin: Vec<String>,
    /// Gives clients of versions before 2026-07-28 no session, so that any of several servers behind a load balancer can
    /// answer any request. Such clients can then neither cancel a call nor set the level of log messages
    #[arg(long, requires = "address")]
    pub(super) no_sessions: bool,
}

fn level() -> impl TypedValueParser<Value = TrustLevel> {
    let names = [TrustLevel::Trusted, TrustLevel::Verified, TrustLevel::Untrusted].map(TrustLevel::as_str);
    PossibleValuesParser::new(names).try_map(|name| TrustLevel::named(&name).ok_or("no such level"))
}

/// The examples in the help of each command.
const EXAMPLES: [(&str, &[&str]); 5] = [
    ("list", &["list --tag files", "list --json"]),
    ("schema", &["schema notes.add", "schema notes.add --output"]),
    (
        "call",
        &[
            r#"call notes.add text="buy milk" priority=2 tags='["home"]'"#,
            "call notes.add text:=null",
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
    ("lint", &["lint --strict"]),
];

/// The grammar, for a program of this name.
pub(super) fn command(program: &str, version: Option<&str>) -> clap::Command {
    let command = Arguments::command()
        .name(program.to_owned())
        .about(format!("The tools of {program}: lists, calls and serves them"))
        .after_help(
            "Without a command it shows an overview on a terminal; otherwise it serves over stdin and stdout, since that \
             is how hosts start it.\nExit codes: 0 fine, 1 the tool or the check failed, 2 the command line is wrong.",
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

    use super::{Arguments, Command, EXAMPLES, command};

    fn read(line: &[&str]) -> Result<Option<Command>, ErrorKind> {
        let words = ["notes"].iter().chain(line);
        let matches = command("notes", Some("1.2.3")).try_get_matches_from(words);
        let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
        arguments.map(|arguments| arguments.command).map_err(|error| error.kind())
    }

    #[test]
    fn the_grammar_is_sound() {
        command("notes", None).debug_assert();
    }

    #[test]
    fn each_command_is_read() {
        let text = |text: &str| text.to_owned();
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(
            read(&["list", "--json", "--tag", "a", "--module=b"]),
            Ok(Some(Command::List { json: true, tag: Some(text("a")), module: Some(text("b")) }))
        );
        assert_eq!(read(&["schema", "a.b", "--output"]), Ok(Some(Command::Schema { name: text("a.b"), output: true })));
        assert_eq!(
            read(&["call", "a.b", "x=1", "--trust", "trusted", "y:=-2"]),
            Ok(Some(Command::Call {
                name: text("a.b"),
                arguments: vec![text("x=1"), text("y:=-2")],
                trust: Some(TrustLevel::Trusted)
            }))
        );
        assert_eq!(
            read(&["serve", "--stdio", "--trust=untrusted", "--drain-timeout", "1m 30s"]),
            Ok(Some(Command::Serve {
                stdio: true,
                #[cfg(feature = "http")]
                http: super::HttpArguments::default(),
                trust: Some(TrustLevel::Untrusted),
                drain_timeout: Some(Duration::from_secs(90)),
            }))
        );
        assert_eq!(read(&["lint", "--strict"]), Ok(Some(Command::Lint { strict: true })));
    }

    #[cfg(feature = "http")]
    #[test]
    fn http_is_read() {
        let line = ["serve", "--http", "3000", "--token=t", "--allow-host", "a", "--allow-host=b", "--auth-outside"];
        let Ok(Some(Command::Serve { http, stdio: false, trust: None, .. })) = read(&line) else {
            panic!("it is read")
        };
        assert_eq!((http.address.as_deref(), http.token.as_deref()), (Some("3000"), Some("t")));
        assert_eq!((http.allow_host, http.auth_outside), (vec!["a".to_owned(), "b".to_owned()], true));
        assert!(!http.no_sessions);
        let Ok(Some(Command::Serve { http, .. })) = read(&["serve", "--http", "3000", "--no-sessions"]) else {
            panic!("it is read")
        };
        assert!(http.no_sessions);
        assert_eq!(read(&["serve", "--http", "3000", "--stdio"]), Err(ErrorKind::ArgumentConflict));
        assert_eq!(read(&["serve", "--token", "t"]), Err(ErrorKind::MissingRequiredArgument));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert_eq!(read(&["lst"]), Err(ErrorKind::InvalidSubcommand));
        assert_eq!(read(&["schema"]), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(read(&["list", "--yaml"]), Err(ErrorKind::UnknownArgument));
        assert_eq!(read(&["serve", "--trust", "fully"]), Err(ErrorKind::InvalidValue));
        assert_eq!(read(&["serve", "--drain-timeout", "soon"]), Err(ErrorKind::ValueValidation));
        assert_eq!(read(&["--version"]), Err(ErrorKind::DisplayVersion));
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
        let refused = command("notes", None).try_get_matches_from(["notes", "--version"]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UnknownArgument);
    }
}
