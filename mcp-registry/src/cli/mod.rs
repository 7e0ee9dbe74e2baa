//! The command line of a program of tools: list, schema, call, lint, serve.
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
//! | `schema NAME [--output]` | shows what a tool takes, or what it returns |
//! | `call NAME [JSON \| KEY=VALUE…] [--trust LEVEL]` | calls a tool and prints the flat result |
//! | `serve [--stdio [--drain-timeout TIME] \| --http ADDRESS [--token TOKEN]] [--trust LEVEL]` | serves the tools to a host; over HTTP with the feature `http` |
//! | `lint [--strict]` | says what hosts and models could stumble over |
//!
//! Without a command it shows an overview where stdin is a terminal, and serves over stdin and stdout otherwise, since
//! that is how hosts start a program.
//!
//! **Arguments of a call** are one JSON object, or words. `key=value` is read by the tool's input schema: where it asks
//! for a number, a boolean, an array or an object the value is JSON, anywhere else it is the text as it stands.
//! `key:=json` is JSON whatever the schema says.
//!
//! **Exit codes:** 0 is fine, 1 says that the tool or the check failed, 2 that the command line is wrong. Results go to
//! stdout, and all that is said beside them to stderr. (What a tool prints by itself goes where it prints it, but under
//! `serve`.)
//!
//! **Settings.** What the tools need to be called is given by [`main_with`] or [`Cli::state`], and only `call` and
//! `serve` ask for it: nobody needs a database to list tools. What decides which tools there are, and under which names,
//! belongs to every command, and is said with [`Cli::builder`].
//!
//! **Programs that do more.** [`Cli::on_start`] hands out the registry before it is used, for tools that add and remove
//! tools. [`Cli::command`] adds a subcommand of the program's own.

mod args;
mod output;
mod setup;
mod show;
mod style;
mod words;

#[cfg(feature = "http")]
use std::env::VarError;
use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal as _};
use std::panic::Location;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

pub use clap;
use clap::{ArgMatches, FromArgMatches as _};
#[cfg(feature = "http")]
use mcp_core::TransportError;
use mcp_core::{BoxError, CallOptions, ErrorType, ToolCall, ToolResult, TrustLevel};
use tokio::runtime;

#[cfg(feature = "http")]
use self::args::HttpArguments;
use self::args::{Arguments, Command};
use self::output::{Failure, pretty, print, say, tell};
pub use self::setup::Setup;
use self::style::Styles;
use self::words::Words;
use crate::catalog::Catalog;
use crate::catalog::lint::Severity;
use crate::catalog::tool::RegisteredTool;
use crate::protocol::{Server, program};
use crate::registry::Registry;
use crate::registry::builder::RegistryBuilder;
#[cfg(feature = "http")]
use crate::transport::http::Http;
use crate::transport::stdio::serve_stdio;

/// Runs the command line of a program whose tools need no state.
#[track_caller]
pub fn main() -> ExitCode {
    Cli::new().run()
}

/// Runs the command line of a program whose tools need state. The function gives it to the builder; it runs for `call`
/// and `serve` alone.
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

/// The command line of a program of tools, with all that can be said about it.
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
    commands: Vec<Own<'a>>,
}

/// A subcommand of the program's own.
struct Own<'a> {
    command: clap::Command,
    run: Box<dyn FnOnce(ArgMatches, Setup<'a>) -> Running<'a> + 'a>,
}

/// A subcommand of the program's own, in flight.
type Running<'a> = Pin<Box<dyn Future<Output = Result<ExitCode, BoxError>> + 'a>>;

impl<'a> Cli<'a> {
    /// The tools that are linked into this program, under the name of the program.
    #[track_caller]
    pub fn new() -> Self {
        Self { info: None, instructions: None, setup: Setup::new(Location::caller()), commands: Vec::new() }
    }

    /// Sets the program's name and version, which clients and `--version` see.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Some((name.into(), version.into()));
        self
    }

    /// Sets what a model is told of the program's tools as a whole.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets what every command goes by: which tools there are, and under which names.
    pub fn builder(mut self, set: impl FnOnce(RegistryBuilder) -> RegistryBuilder + 'a) -> Self {
        self.setup.builder(set);
        self
    }

    /// Gives the tools what they need to be called; for `call` and `serve` alone, inside a tokio runtime.
    pub fn state<F, Fut>(mut self, setup: F) -> Self
    where
        F: FnOnce(RegistryBuilder) -> Fut + 'a,
        Fut: Future<Output = Result<RegistryBuilder, BoxError>> + 'a,
    {
        self.setup.state(setup);
        self
    }

    /// Runs this with the registry once it is built, before `call` and `serve` use it, inside a tokio runtime. A clone of
    /// the registry can add and remove tools as long as the program runs; clients are told of each change.
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
        self.setup.on_start(start);
        self
    }

    /// Adds a subcommand. It runs inside a tokio runtime, and gets what clap read and a [`Setup`], which builds the catalog
    /// or the registry if the command needs one. An error is printed and exits with 1. Its name and aliases must
    /// not be those of another command.
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
        self.commands.push(Own { command, run: Box::new(|matches, setup| Box::pin(run(matches, setup))) });
        self
    }

    /// Does what the command line says.
    pub fn run(self) -> ExitCode {
        self.try_run().unwrap_or_else(Failure::tell)
    }

    fn try_run(mut self) -> Result<ExitCode, Failure> {
        let version = self.info.as_ref().map(|(_, version)| version.as_str());
        let mut grammar = args::command(&self.name(), version);
        for own in &self.commands {
            let name = own.command.get_name();
            let exists = |name: &&str| *name == "help" || grammar.find_subcommand(name).is_some();
            if let Some(taken) = std::iter::once(name).chain(own.command.get_all_aliases()).find(exists) {
                let alias = if taken == name { String::new() } else { format!(" with the alias `{taken}`") };
                return Err(Failure::Usage(format!(
                    "the program adds the command `{name}`{alias}, which exists already; give it another name in \
                     `Cli::command`"
                )));
            }
            grammar = grammar.subcommand(own.command.clone());
        }
        let mut matches = grammar.try_get_matches()?;
        let own = matches
            .subcommand_name()
            .and_then(|name| self.commands.iter().position(|own| own.command.get_name() == name));
        if let (Some(own), Some((_, matches))) = (own, own.and_then(|_| matches.remove_subcommand())) {
            let run = self.commands.swap_remove(own).run;
            return on_tokio(async { run(matches, self.setup).await.map_err(Failure::error) });
        }
        self.obey(Arguments::from_arg_matches(&matches)?.command)
    }

    fn name(&self) -> String {
        self.info.as_ref().map_or_else(program, |(name, _)| name.clone())
    }

    fn obey(self, command: Option<Command>) -> Result<ExitCode, Failure> {
        match command {
            Some(Command::List { json, tag, module }) => self.list(json, tag.as_deref(), module.as_deref()),
            Some(Command::Schema { name, output }) => self.schema(&name, output),
            Some(Command::Call { name, arguments, trust }) => self.call(&name, &arguments, trust),
            #[cfg(feature = "http")]
            Some(Command::Serve { trust, http, .. }) if http.address.is_some() => self.serve_http(trust, http),
            Some(Command::Serve { trust, drain_timeout, .. }) => self.serve(trust, drain_timeout),
            Some(Command::Lint { strict }) => self.lint(strict),
            None if io::stdin().is_terminal() => self.overview(),
            None => self.serve(None, None),
        }
    }

    fn catalog(self) -> Result<Catalog, Failure> {
        self.setup.catalog().map_err(Failure::failed)
    }

    fn overview(self) -> Result<ExitCode, Failure> {
        let name = self.name();
        print(&show::overview(&name, &self.catalog()?, Styles::for_stream(&io::stdout())))
    }

    fn list(self, json: bool, tag: Option<&str>, module: Option<&str>) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let is_in = |tool: &RegisteredTool, module: &str| {
            let rest = tool.name().strip_prefix(module);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let wanted = |tool: &&RegisteredTool| {
            tag.is_none_or(|tag| tool.has_tag(tag)) && module.is_none_or(|module| is_in(tool, module))
        };
        let tools: Vec<&RegisteredTool> = catalog.list_registered_tools().iter().filter(wanted).collect();
        if tools.is_empty() && !catalog.is_empty() {
            say("no tool is like that; `list` without options shows all of them");
        }
        print(&if json { pretty(&tools) } else { show::list(&tools, Styles::for_stream(&io::stdout())) })
    }

    fn schema(self, name: &str, output: bool) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let tool = catalog.get(name).map_err(Failure::failed)?;
        if !output {
            return print(&pretty(tool.input_schema()));
        }
        match tool.output_schema() {
            Some(schema) => print(&pretty(schema)),
            None => Err(Failure::failed(format!(
                "`{}` has no output schema; `call` it to see what it returns",
                tool.name()
            ))),
        }
    }

    fn lint(self, strict: bool) -> Result<ExitCode, Failure> {
        let catalog = self.catalog()?;
        let findings = catalog.lint();
        let code = print(&show::findings(&findings, Styles::for_stream(&io::stdout())))?;
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        say(&show::count(catalog.len(), errors, warnings));
        Ok(if errors > 0 || (strict && warnings > 0) { ExitCode::FAILURE } else { code })
    }

    fn call(self, name: &str, arguments: &[String], trust: Option<TrustLevel>) -> Result<ExitCode, Failure> {
        let words = Words::read(arguments).map_err(Failure::Usage)?;
        let result = on_tokio(async {
            let registry = self.registry(trust).await?;
            let tool = registry.get(name).map_err(Failure::failed)?;
            let arguments = words.arguments(&tool).map_err(Failure::Usage)?;
            let options = CallOptions::new().on_event(|event| tell(&event));
            let result = registry.call_with(&ToolCall::new(name, arguments), &options).await;
            if trust.is_none() && tool.is_destructive() && is_refused(&result) {
                say(&format!("if `{}` is to do that, add `--trust trusted`", tool.name()));
            }
            Ok(result)
        })?;
        let code = print(&if io::stdout().is_terminal() { pretty(&result) } else { result.to_json() })?;
        Ok(if result.is_failure() { ExitCode::FAILURE } else { code })
    }

    fn serve(self, trust: Option<TrustLevel>, drain_timeout: Option<Duration>) -> Result<ExitCode, Failure> {
        on_tokio(async {
            let mut server = self.server(trust).await?;
            if let Some(timeout) = drain_timeout {
                server = server.drain_timeout(timeout);
            }
            if io::stdin().is_terminal() {
                say("serving over stdin and stdout, one JSON-RPC message a line, until stdin ends");
            }
            serve_stdio(server).await.map_err(Failure::failed)
        })?;
        Ok(ExitCode::SUCCESS)
    }

    #[cfg(feature = "http")]
    fn serve_http(self, trust: Option<TrustLevel>, arguments: HttpArguments) -> Result<ExitCode, Failure> {
        let HttpArguments { address, token, auth_outside, allow_host, allow_origin, no_sessions } = arguments;
        let address = address.unwrap_or_default();
        let is_port = address.parse::<u16>().is_ok();
        let address = if is_port { format!("127.0.0.1:{address}") } else { address };
        on_tokio(async {
            let mut http = Http::new(self.server(trust).await?);
            let token = match (token, std::env::var("MCP_TOKEN")) {
                (Some(token), _) | (None, Ok(token)) => Some(token),
                (None, Err(VarError::NotPresent)) => None,
                (None, Err(VarError::NotUnicode(_))) => {
                    return Err(Failure::failed("`MCP_TOKEN` is no text; set one that is"));
                }
            };
            if let Some(token) = token {
                http = http.token(token);
            }
            if auth_outside {
                http = http.auth_outside();
            }
            http = http.sessions(!no_sessions);
            http = allow_host.into_iter().fold(http, Http::allow_host);
            http = allow_origin.into_iter().fold(http, Http::allow_origin);
            let refuse = |source| Failure::failed(TransportError::Bind { address: address.clone(), source });
            let listener = tokio::net::TcpListener::bind(&address).await.map_err(refuse)?;
            http.check(&listener).map_err(|error| match error {
                TransportError::Open { address } => Failure::failed(format!(
                    "{address} can be reached by others; set `MCP_TOKEN` or say `--token`, say `--auth-outside`, or serve \
                     at 127.0.0.1"
                )),
                other => Failure::failed(other),
            })?;
            say(&format!("serving http://{}/mcp until Ctrl-C", listener.local_addr().map_err(refuse)?));
            http.serve_on(listener).await.map_err(Failure::failed)
        })?;
        Ok(ExitCode::SUCCESS)
    }

    async fn server(mut self, trust: Option<TrustLevel>) -> Result<Server, Failure> {
        let (info, instructions) = (self.info.take(), self.instructions.take());
        let mut server = Server::new(self.registry(trust).await?);
        if let Some((name, version)) = info {
            server = server.info(name, version);
        }
        if let Some(text) = instructions {
            server = server.instructions(text);
        }
        Ok(server)
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

/// Runs it on tokio, and does not wait for what it leaves behind.
fn on_tokio<T>(run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    if runtime::Handle::try_current().is_ok() {
        return Err(Failure::failed("the command line starts tokio itself; call it in a plain `fn main`"));
    }
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("tokio cannot be started: {error}")))?;
    let done = runtime.block_on(run);
    runtime.shutdown_background();
    done
}

fn is_refused(result: &ToolResult) -> bool {
    result.error.as_ref().is_some_and(|error| error.error_type == ErrorType::PERMISSION_ERROR)
}

#[cfg(test)]
mod tests {
    use tokio::runtime;

    use super::{Failure, on_tokio};

    #[test]
    fn a_runtime_inside_a_runtime_is_refused_before_tokio_panics() {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        let done = runtime.block_on(async { on_tokio(async { Ok(()) }) });
        assert!(matches!(done, Err(Failure::Failed(message)) if message.ends_with("in a plain `fn main`")));
        assert!(on_tokio(async { Ok(()) }).is_ok());
    }
}
