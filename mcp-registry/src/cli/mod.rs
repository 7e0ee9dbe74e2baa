//! A command line for the tools of a program: list, schema, spec, call, lint, check, serve.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     mcp_registry::cli::main()
//! }
//! ```
//!
//! | command | what it does |
//! |---|---|
//! | `list [--json] [--tag TAG] [--module MODULE]` | lists the tools |
//! | `schema NAME [--output]` | prints the JSON schema of a tool's arguments, or of its result |
//! | `spec [NAME…] [--module MODULE] [--out DIR [--check]]` | prints the specification of the tools as Markdown; with `--out`, writes a page for each module and an index, or compares them with `--check` |
//! | `call NAME [JSON \| KEY=VALUE…] [--json] [--trust LEVEL]` | calls a tool and prints what it returns: the bare value on a terminal, the flat result as JSON with `--json` or if stdout is not a terminal |
//! | `serve [--stdio [--drain-timeout TIME] \| --http ADDRESS [--token TOKEN]] [--trust LEVEL]` | serves the tools to a host; over HTTP with the feature `http` |
//! | `check [--against FILE \| - \| git:REV] [--update] [--format FORMAT]` | compares the tools with the [contract](crate::contract) in `mcp.lock.json`, and fails if they break it; `--update` writes the file |
//! | `diff OLD NEW [--format FORMAT]` | compares two contracts, of this or any other server |
//! | `lint [--strict] [--host NAME]… [--format text\|json\|github]` | reports what hosts and models could stumble over |
//!
//! Without a command, the program prints an overview if stdin is a terminal. Otherwise, it serves over stdin and
//! stdout, because that is how hosts start a program.
//!
//! **Names.** The last part of a tool's name is enough if it is unambiguous.
//!
//! **Arguments of a call** are one JSON object or a list of pairs. In `key=value`, the value is parsed as JSON if the
//! tool's input schema asks for a number, a boolean, an array or an object, and is plain text otherwise. In
//! `key:=json`, the value is always JSON.
//!
//! **Contracts** are locks or responses to `tools/list`: files, `-` for stdin, or `git:REV` for the `mcp.lock.json` of the
//! current folder as it is committed at a revision (`git:REV:PATH` for another file). A report has the format `text`, `json`,
//! `markdown` for a pull request, or `github` for annotations of a workflow. Changes that break something pass if the
//! versions of the tools announce them.
//!
//! **Exit codes:** 0 is success, 1 means that the tool or the check failed, 2 that the command line is wrong. Results
//! go to stdout, everything else to stderr. (Output that a tool itself prints to stdout stays there, except under
//! `serve`.)
//!
//! **Findings.** `lint --format json` prints `{"findings": […], "errors": n, "warnings": n}`, where a finding has `rule`,
//! `severity`, `tool`, `side` (`input`, `output` or null), `pointer`, `message`, `hosts` (empty: every host), `source` and
//! `fingerprint`. `--format github` prints annotations for GitHub Actions.
//!
//! **Settings.** [`main_with`] or [`Cli::state`] provides the state that calls need. Only `call` and `serve` use it, so
//! listing tools needs no database. [`Cli::builder`] configures the tools and their names, for every command.
//!
//! **Extensions.** [`Cli::on_start`] receives the registry before it is used, for tools that add and remove tools.
//! [`Cli::command`] adds a subcommand.

mod args;
mod call_arguments;
mod commands;
mod contract;
mod contract_render;
mod github;
mod output;
mod render;
mod serve;
mod setup;
mod spec;
mod style;

use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal as _};
use std::panic::Location;
use std::pin::Pin;
use std::process::ExitCode;

pub use clap;
use clap::{ArgMatches, FromArgMatches as _};
use mcp_core::TrustLevel;
use mcp_core::error::BoxError;
use tokio::runtime;

use self::args::{Arguments, Command};
use self::output::Failure;
pub use self::setup::Setup;
use crate::catalog::Catalog;
use crate::protocol::program_name;
use crate::registry::Registry;
use crate::registry::builder::RegistryBuilder;

/// Runs the command line of a program whose tools need no state.
#[track_caller]
pub fn main() -> ExitCode {
    Cli::new().run()
}

/// Runs the command line of a program whose tools need state. The function adds the state to the builder; only `call`
/// and `serve` run it.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// struct Database;
///
/// impl Database {
///     async fn open(url: &str) -> std::io::Result<Self> {
///         # let _ = url;
///         Ok(Self)
///     }
/// }
///
/// fn main() -> ExitCode {
///     mcp_registry::cli::main_with(|builder| async { Ok(builder.state(Database::open("here").await?)) })
/// }
/// ```
#[track_caller]
pub fn main_with<F, Fut>(setup: F) -> ExitCode
where
    F: FnOnce(RegistryBuilder) -> Fut,
    Fut: Future<Output = Result<RegistryBuilder, BoxError>>,
{
    Cli::new().state(setup).run()
}

/// Configures the command line of a program.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use mcp_registry::cli::Cli;
///
/// struct Database;
///
/// fn main() -> ExitCode {
///     Cli::new()
///         .info(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
///         .builder(|builder| builder.exclude("other-tools", "other.tool"))
///         .state(|builder| async { Ok(builder.state(Database)) })
///         .run()
/// }
/// ```
#[must_use = "nothing happens before `run`"]
pub struct Cli<'a> {
    info: Option<(String, String)>,
    instructions: Option<String>,
    setup: Setup<'a>,
    commands: Vec<CustomCommand<'a>>,
}

/// A subcommand that the program adds.
struct CustomCommand<'a> {
    command: clap::Command,
    run: Box<dyn FnOnce(ArgMatches, Setup<'a>) -> SetupFuture<'a, ExitCode> + 'a>,
}

/// The future of a custom command, or of a part of the setup.
type SetupFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + 'a>>;

impl<'a> Cli<'a> {
    /// A command line for the tools that are linked into this program. Its name is that of the program.
    #[track_caller]
    pub fn new() -> Self {
        Self { info: None, instructions: None, setup: Setup::new(Location::caller()), commands: Vec::new() }
    }

    /// Sets the program's name and version, for clients and `--version`.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Some((name.into(), version.into()));
        self
    }

    /// Sets the instructions for the model on how to use the program's tools.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Configures the tools and their names, for every command.
    pub fn builder(mut self, set: impl FnOnce(RegistryBuilder) -> RegistryBuilder + 'a) -> Self {
        self.setup.builder.push(Box::new(set));
        self
    }

    /// Adds the state that calls need. Only `call` and `serve` run this, inside a tokio runtime.
    pub fn state<F, Fut>(mut self, setup: F) -> Self
    where
        F: FnOnce(RegistryBuilder) -> Fut + 'a,
        Fut: Future<Output = Result<RegistryBuilder, BoxError>> + 'a,
    {
        self.setup.state.push(Box::new(|builder| Box::pin(setup(builder))));
        self
    }

    /// Runs this after the registry is built and before `call` and `serve` use it, inside a tokio runtime. A clone of
    /// the registry can add and remove tools as long as the program runs; clients are notified of each change.
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    /// use std::sync::{Arc, OnceLock};
    ///
    /// use mcp_registry::cli::Cli;
    /// use mcp_registry::{Registry, mcp_tool};
    ///
    /// /// The registry that serves the tools, once there is one.
    /// #[derive(Clone, Default)]
    /// struct Handle(Arc<OnceLock<Registry>>);
    ///
    /// /// Removes a plugin.
    /// #[mcp_tool(destructive)]
    /// fn unload(#[ctx] registry: &Handle, name: &str) -> bool {
    ///     registry.0.get().is_some_and(|registry| registry.unregister(name))
    /// }
    ///
    /// fn main() -> ExitCode {
    ///     let handle = Handle::default();
    ///     let state = handle.clone();
    ///     Cli::new()
    ///         .state(|builder| async { Ok(builder.state(state)) })
    ///         .on_start(|registry| async move {
    ///             handle.0.get_or_init(|| registry);
    ///             Ok(())
    ///         })
    ///         .run()
    /// }
    /// ```
    pub fn on_start<F, Fut>(mut self, start: F) -> Self
    where
        F: FnOnce(Registry) -> Fut + 'a,
        Fut: Future<Output = Result<(), BoxError>> + 'a,
    {
        self.setup.on_start.push(Box::new(|registry| Box::pin(start(registry))));
        self
    }

    /// Adds a subcommand. It runs inside a tokio runtime and receives clap's matches and a [`Setup`], which builds the
    /// catalog or the registry if the command needs it. An error is printed, and the program exits with 1. The name
    /// and the aliases must differ from those of other commands.
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    ///
    /// use mcp_registry::cli::{Cli, clap};
    ///
    /// fn main() -> ExitCode {
    ///     let names = clap::Command::new("names").about("Prints the names of the tools");
    ///     Cli::new()
    ///         .command(names, |_matches, setup| async {
    ///             for tool in setup.catalog()?.list_registered_tools() {
    ///                 println!("{}", tool.name());
    ///             }
    ///             Ok(ExitCode::SUCCESS)
    ///         })
    ///         .run()
    /// }
    /// ```
    pub fn command<F, Fut>(mut self, command: clap::Command, run: F) -> Self
    where
        F: FnOnce(ArgMatches, Setup<'a>) -> Fut + 'a,
        Fut: Future<Output = Result<ExitCode, BoxError>> + 'a,
    {
        self.commands.push(CustomCommand { command, run: Box::new(|matches, setup| Box::pin(run(matches, setup))) });
        self
    }

    /// Runs the command that the command line names.
    pub fn run(self) -> ExitCode {
        self.try_run().unwrap_or_else(Failure::report)
    }

    fn try_run(mut self) -> Result<ExitCode, Failure> {
        let mut matches = self.grammar()?.try_get_matches()?;
        let name = matches.subcommand_name();
        let custom = name.and_then(|name| self.commands.iter().position(|custom| custom.command.get_name() == name));
        if let (Some(index), Some((_, matches))) = (custom, custom.and_then(|_| matches.remove_subcommand())) {
            let run = self.commands.swap_remove(index).run;
            return run_async(async { run(matches, self.setup).await.map_err(Failure::error) });
        }
        match Arguments::from_arg_matches(&matches)?.command {
            Some(Command::List { json, tag, module }) => self.list(json, tag.as_deref(), module.as_deref()),
            Some(Command::Schema { name, output }) => self.schema(&name, output),
            Some(Command::Spec { names, module, out, check }) => {
                self.spec(&names, module.as_deref(), out.as_deref(), check)
            }
            Some(Command::Call { name, arguments, json, trust }) => self.call(&name, &arguments, json, trust),
            #[cfg(feature = "http")]
            Some(Command::Serve { trust, http, .. }) if http.address.is_some() => self.serve_http(trust, http),
            Some(Command::Serve { trust, drain_timeout, .. }) => self.serve_stdio(trust, drain_timeout),
            Some(Command::Check { against, update, format }) => self.check(against, update, format),
            Some(Command::Diff { old, new, format }) => contract::diff(&old, &new, format),
            Some(Command::Lint { strict, host, format }) => self.lint(strict, &host, format),
            None if io::stdin().is_terminal() => self.overview(),
            None => self.serve_stdio(None, None),
        }
    }

    /// The grammar of the command line, with the commands that the program adds.
    fn grammar(&self) -> Result<clap::Command, Failure> {
        let version = self.info.as_ref().map(|(_, version)| version.as_str());
        let mut grammar = args::command(&self.name(), version);
        for CustomCommand { command, .. } in &self.commands {
            let name = command.get_name();
            let exists = |name: &&str| *name == "help" || grammar.find_subcommand(name).is_some();
            if let Some(taken) = std::iter::once(name).chain(command.get_all_aliases()).find(exists) {
                let alias = if taken == name { String::new() } else { format!(" with the alias `{taken}`") };
                return Err(Failure::Usage(format!(
                    "the program adds the command `{name}`{alias}, which exists already; give it another name in \
                     `Cli::command`"
                )));
            }
            grammar = grammar.subcommand(command.clone());
        }
        Ok(grammar)
    }

    fn name(&self) -> String {
        self.info.as_ref().map_or_else(program_name, |(name, _)| name.clone())
    }

    fn catalog(self) -> Result<Catalog, Failure> {
        self.setup.catalog().map_err(Failure::failed)
    }

    /// The registry, with the state that the tools need.
    async fn registry(self, trust: Option<TrustLevel>) -> Result<Registry, Failure> {
        self.setup.registry_with(trust).await.map_err(Failure::error)
    }
}

impl Default for Cli<'_> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cli<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cli")
            .field("info", &self.info)
            .field("instructions", &self.instructions)
            .finish_non_exhaustive()
    }
}

/// Runs the future on a new tokio runtime, without waiting for its remaining tasks.
fn run_async<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    if runtime::Handle::try_current().is_ok() {
        return Err(Failure::failed("the command line starts tokio itself; call it in a plain `fn main`"));
    }
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("tokio cannot be started: {error}")))?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use tokio::runtime;

    use super::{Failure, run_async};

    #[test]
    fn a_runtime_inside_a_runtime_is_an_error_and_not_a_panic() {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(async { run_async(async { Ok(()) }) });
        assert!(matches!(result, Err(Failure::Failed(message)) if message.ends_with("in a plain `fn main`")));
        assert!(run_async(async { Ok(()) }).is_ok());
    }
}
