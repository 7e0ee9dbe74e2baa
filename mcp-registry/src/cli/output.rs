//! Prints the results and failures of commands.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use mcp_core::context::ToolEvent;
use mcp_core::error::BoxError;

use super::style::{Styles, styled};

/// The reason why a command stopped.
pub(super) enum Failure {
    /// The command failed.
    Failed(String),
    /// The command line is wrong.
    Usage(String),
    /// An error from clap, or the requested help.
    Clap(clap::Error),
}

impl Failure {
    const USAGE: u8 = 2;

    pub(super) fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    pub(super) fn error(error: impl Into<BoxError>) -> Self {
        Self::Failed(chain(&*error.into()))
    }

    /// Prints the failure to stderr.
    pub(super) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Failed(message) => (message, ExitCode::FAILURE),
            Self::Usage(message) => (message, Self::USAGE.into()),
            Self::Clap(error) => {
                // There is nowhere to report an error of stderr.
                let _ = error.print();
                return if error.use_stderr() { Self::USAGE.into() } else { ExitCode::SUCCESS };
            }
        };
        let label = styled(Styles::for_stream(&io::stderr()).error, "error:");
        print_note(&format!("{label} {message}"));
        code
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

/// An error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

pub(super) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string())
}

/// Prints the result of a command to stdout.
pub(super) fn print(text: &str) -> Result<ExitCode, Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::failed(format!("stdout cannot be written: {error}"))),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Prints a note to stderr.
pub(super) fn print_note(text: &str) {
    // There is nowhere to report an error of stderr.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an event of a running tool to stderr.
pub(super) fn print_event(event: &ToolEvent) {
    match event {
        ToolEvent::Progress { done, total, message } => {
            let total = total.map_or_else(String::new, |total| format!("/{total}"));
            let message = message.as_ref().map_or_else(String::new, |message| format!(" {message}"));
            print_note(&format!("{done}{total}{message}"));
        }
        ToolEvent::Log { level, message } => print_note(&format!("{}: {message}", level.as_str())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::chain;

    #[test]
    fn an_error_is_printed_with_its_sources() {
        #[derive(Debug)]
        struct Outer(io::Error);

        impl std::fmt::Display for Outer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the database cannot be opened")
            }
        }

        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }

        assert_eq!(chain(&Outer(io::Error::other("it is gone"))), "the database cannot be opened: it is gone");
    }
}
