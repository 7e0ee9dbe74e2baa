//! Colours, where someone sees them.

use std::io::IsTerminal;

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// Paints where the stream is a terminal that shows colours, unless `NO_COLOR` is set.
    pub(super) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(stream.is_terminal() && !refused && !dumb)
    }

    /// A name.
    pub(super) fn name(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Something beside the matter.
    pub(super) fn aside(self, text: &str) -> String {
        self.with("2", text)
    }

    /// What is wrong.
    pub(super) fn error(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// What could be better.
    pub(super) fn warning(self, text: &str) -> String {
        self.with("1;33", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Paints, whoever sees it.
    #[cfg(test)]
    pub(super) fn always(yes: bool) -> Self {
        Self(yes)
    }
}
