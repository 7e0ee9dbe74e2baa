//! The commands that compare contracts.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::str::FromStr;

use mcp_core::support::cut;

use super::Cli;
use super::args::Format;
use super::contract_render as render;
use super::output::{Failure, pretty, print, print_note};
use crate::contract::specification::examples::quoted;
use crate::contract::{Contract, Diff, file};

/// The lock, unless the command line names another.
const DEFAULT_PATH: &str = "mcp.lock.json";

/// Where a contract is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Stdin,
    File(String),
    /// A file as it was committed; `path` is relative to the current folder.
    Git {
        revision: String,
        path: String,
    },
}

impl FromStr for Source {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err("it is empty; name a file, `-` for stdin, or `git:REV`");
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return Err("it is a URL; pipe the response to `tools/list` into the command, and write `-`");
        }
        Ok(match text.strip_prefix("git:") {
            None if text == "-" => Self::Stdin,
            None => Self::File(text.to_owned()),
            Some(place) => {
                let (revision, path) = place.split_once(':').unwrap_or((place, DEFAULT_PATH));
                Self::Git { revision: revision.to_owned(), path: path.to_owned() }
            }
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) => write!(f, "`{path}`"),
            Self::Git { revision, path } => write!(f, "`git:{revision}:{path}`"),
        }
    }
}

impl Cli<'_> {
    pub(super) fn check(self, against: Option<Source>, update: bool, format: Format) -> Result<ExitCode, Failure> {
        let source = against.unwrap_or_else(|| Source::File(DEFAULT_PATH.to_owned()));
        let command = source.update_command();
        if update && command.is_none() {
            return Err(Failure::Usage(format!(
                "`--update` needs a file to write to; {source} is not one; leave out `--update`, or name a file"
            )));
        }
        let contract = self.catalog()?.contract();
        if let (Source::File(path), true) = (&source, update) {
            let (diff, note) = file::update(Path::new(path), &contract).map_err(Failure::Failed)?;
            let code = print(&rendered(&diff, format))?;
            print_note(&note);
            return Ok(code);
        }
        let old = source.read(command.as_deref())?;
        let diff = old.diff(&contract);
        // A list of tools is not overwritten.
        let command = command.filter(|_| !old.is_list);
        if let Some(problem) = file::unrelated(&old, &contract, &diff) {
            let accept = |command| format!(", or accept the change with `{command}` if every tool was replaced");
            let accept = command.map(accept).unwrap_or_default();
            print_note(&format!("warning: {source} {problem}; name a contract of this program{accept}"));
            return report(&diff, format);
        }
        let code = report(&diff, format)?;
        if let Some(command) = command {
            if !diff.is_acceptable() {
                print_note(&diff.advice(&format!("accept everything with `{command}`")));
            } else if old.to_string() != contract.to_string() {
                print_note(&format!("{source} is not up to date; write it with `{command}`"));
            }
        }
        Ok(code)
    }
}

/// Compares two contracts, neither of which has to be of this program.
pub(super) fn diff(old: &Source, new: &Source, format: Format) -> Result<ExitCode, Failure> {
    if *old == Source::Stdin && *new == Source::Stdin {
        return Err(Failure::Usage(
            "only one of OLD and NEW can be `-`; name a file for the other contract".to_owned(),
        ));
    }
    let (before, after) = (old.read(None)?, new.read(None)?);
    let diff = before.diff(&after);
    if let Some(problem) = file::unrelated(&before, &after, &diff) {
        print_note(&format!("warning: {old} {problem}, as {new} has; name two contracts of the same server"));
    }
    report(&diff, format)
}

/// Prints the changes to stdout, and their numbers to stderr.
fn report(diff: &Diff, format: Format) -> Result<ExitCode, Failure> {
    let code = print(&rendered(diff, format))?;
    print_note(&diff.summary());
    Ok(if diff.is_acceptable() { code } else { ExitCode::FAILURE })
}

fn rendered(diff: &Diff, format: Format) -> String {
    match format {
        Format::Text => diff.to_string(),
        Format::Json => pretty(diff),
        Format::Markdown => render::markdown(diff),
        Format::Github => render::github(diff),
    }
}

impl Source {
    /// The command that writes the lock, if it is a file.
    fn update_command(&self) -> Option<String> {
        match self {
            Self::File(path) if path == DEFAULT_PATH => Some("check --update".to_owned()),
            Self::File(path) => Some(format!("check --against {} --update", quoted(path))),
            Self::Stdin | Self::Git { .. } => None,
        }
    }

    /// What to do about a text that is no contract. The command writes it, if that is what the user may want.
    fn advice(&self, text: &str, command: Option<&str>) -> String {
        match (self, command) {
            (Self::Stdin, _) => "pipe a lock or a complete response to `tools/list` into the command".to_owned(),
            (Self::Git { .. }, _) => "name another revision".to_owned(),
            (Self::File(_), None) => "name a lock, or a file with a response to `tools/list`".to_owned(),
            (Self::File(_), Some(command)) => file::advice(text, &format!("write it again with `{command}`")),
        }
    }

    fn read(&self, command: Option<&str>) -> Result<Contract, Failure> {
        let bytes = match self {
            Self::Stdin => file::read_from(io::stdin().lock()),
            Self::File(path) => file::read(Path::new(path)),
            Self::Git { revision, path } => committed(revision, path)?,
        };
        let problem = match (bytes.map(String::from_utf8), command) {
            (Ok(Ok(text)), _) => match Contract::read_any(&text) {
                Ok(contract) => return Ok(contract),
                Err(error) => {
                    let advice = error.advice().map_or_else(|| self.advice(&text, command), str::to_owned);
                    format!(": {}; {advice}", error.problem())
                }
            },
            (Ok(Err(error)), _) => {
                let advice = self.advice(&String::from_utf8_lossy(error.as_bytes()), command);
                format!(" is not valid UTF-8; {advice}")
            }
            (Err(error), Some(command)) if error.kind() == io::ErrorKind::NotFound => {
                format!(" does not exist; create it with `{command}`, and commit it")
            }
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
                format!(" does not exist; {}", self.advice("", None))
            }
            (Err(error), _) => format!(" cannot be read: {error}; name another file"),
        };
        Err(Failure::failed(format_args!("{self}{problem}")))
    }
}

/// A file as it was committed.
fn committed(revision: &str, path: &str) -> Result<io::Result<Vec<u8>>, Failure> {
    // Git would take it for an option, or for the index.
    if revision.is_empty() || revision.starts_with('-') {
        return Err(Failure::Usage(format!(
            "`git:{revision}` names no revision; write `git:REVISION`, or `git:REVISION:PATH` for another file than \
             `{DEFAULT_PATH}`"
        )));
    }
    if path.is_empty() {
        return Err(Failure::Usage(format!("`git:{revision}:` names no file; write `git:{revision}:PATH`")));
    }
    let from_here = if path.starts_with("./") || path.starts_with("../") { "" } else { "./" };
    let place = format!("{revision}:{from_here}{path}");
    let size = git(revision, &["cat-file", "-s", &place])?;
    if String::from_utf8_lossy(&size.stdout).trim().parse().is_ok_and(|size: u64| size > file::LIMIT) {
        return Ok(Err(file::too_large()));
    }
    let file = git(revision, &["cat-file", "blob", &place])?;
    if file.status.success() {
        return Ok(Ok(file.stdout));
    }
    let folder = git(revision, &["rev-parse", "--git-dir"])?;
    if !folder.status.success() {
        let message = git_message(&folder);
        // Of other problems, such as another owner, git says what to do.
        let advice =
            if message.starts_with("not a git repository") { "; run the command in the repository" } else { "" };
        return Err(Failure::failed(format_args!("`git:{revision}` cannot be read: {message}{advice}")));
    }
    if !git(revision, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{tree}}")])?.status.success() {
        return Err(Failure::failed(format_args!(
            "there is no revision `{revision}`; name another, or fetch it first: CI often clones the last commit alone"
        )));
    }
    Err(Failure::failed(format_args!(
        "there is no `{path}` at the revision `{revision}` ({}); name another revision, another path with \
         `git:{revision}:PATH`, or commit what `check --update` writes",
        git_message(&file)
    )))
}

fn git(revision: &str, words: &[&str]) -> Result<Output, Failure> {
    // Messages are compared, so they must be in English.
    let mut command = Command::new("git");
    command.args(words).env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => format!("git cannot be started: {error}"),
        };
        Failure::failed(format_args!("`git:{revision}` cannot be read: {reason}; install git, or name a file"))
    })
}

/// What git says, in one line.
fn git_message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if text.is_empty() { "git gives no reason" } else { &text };
    cut(text.strip_prefix("fatal: ").unwrap_or(text), 500).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Source, diff};
    use crate::cli::args::Format;
    use crate::cli::output::Failure;

    #[test]
    fn a_contract_is_read_from_stdin_a_file_or_a_revision() {
        let source = |text: &str| text.parse::<Source>().unwrap();
        let git = |revision: &str, path: &str| Source::Git { revision: revision.to_owned(), path: path.to_owned() };
        assert_eq!(source("-"), Source::Stdin);
        assert_eq!(source("./git:main"), Source::File("./git:main".to_owned()));
        assert_eq!(source("git:v1.0"), git("v1.0", "mcp.lock.json"));
        assert_eq!(source("git:HEAD~1:a/b.json"), git("HEAD~1", "a/b.json"));
        assert_eq!(source("git:v1").to_string(), "`git:v1:mcp.lock.json`");
    }

    #[test]
    fn a_revision_that_git_would_take_for_something_else_is_a_usage_error() {
        let names_no_revision = "names no revision; write `git:REVISION`";
        for (text, told) in [
            ("git:", names_no_revision),
            ("git:--output=x", names_no_revision),
            ("git::mcp.lock.json", names_no_revision),
            ("git:main:", "`git:main:` names no file; write `git:main:PATH`"),
        ] {
            let Err(Failure::Usage(error)) = text.parse::<Source>().unwrap().read(None) else { panic!("{text}") };
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn stdin_can_be_read_once() {
        let Err(Failure::Usage(error)) = diff(&Source::Stdin, &Source::Stdin, Format::Text) else { panic!("it fails") };
        assert_eq!(error, "only one of OLD and NEW can be `-`; name a file for the other contract");
    }

    #[test]
    fn the_command_that_writes_a_lock_names_it_unless_it_is_the_default() {
        let command = |text: &str| text.parse::<Source>().unwrap().update_command();
        assert_eq!(command("mcp.lock.json").as_deref(), Some("check --update"));
        assert_eq!(command("a/b.json").as_deref(), Some("check --against a/b.json --update"));
        assert_eq!(command("a b.json").as_deref(), Some("check --against 'a b.json' --update"));
        assert_eq!((command("-"), command("git:main")), (None, None));
    }
}
