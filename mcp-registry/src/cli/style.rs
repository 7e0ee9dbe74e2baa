//! Text styles, for terminals that support them.

use std::fmt::Display;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

/// The styles for the parts of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Styles {
    pub(super) name: Style,
    pub(super) note: Style,
    pub(super) warning: Style,
    pub(super) error: Style,
}

impl Styles {
    pub(super) const PLAIN: Self =
        Self { name: Style::new(), note: Style::new(), warning: Style::new(), error: Style::new() };

    pub(super) const COLORED: Self = Self {
        name: Style::new().bold(),
        note: Style::new().dimmed(),
        warning: AnsiColor::Yellow.on_default().bold(),
        error: AnsiColor::Red.on_default().bold(),
    };

    /// Colors on a terminal that supports them, unless `NO_COLOR` is set.
    pub(super) fn for_stream(stream: &impl IsTerminal) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if stream.is_terminal() && !no_color && !dumb { Self::COLORED } else { Self::PLAIN }
    }
}

/// The text in a style.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
