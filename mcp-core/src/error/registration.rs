//! `RegistrationError`: tools that cannot be registered together.

use std::borrow::Cow;
use std::fmt;

use crate::name::NameError;
use crate::version::VersionError;

/// Where a tool was defined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The package.
    pub package: Cow<'static, str>,
    /// The package's version.
    pub package_version: Cow<'static, str>,
    /// The Rust module.
    pub module_path: Cow<'static, str>,
    /// The function.
    pub function: Cow<'static, str>,
    /// The source file.
    pub file: Cow<'static, str>,
    /// The line in it.
    pub line: u32,
}

impl Origin {
    /// A place in the source, as the attribute notes it.
    pub const fn new(
        package: &'static str,
        package_version: &'static str,
        module_path: &'static str,
        function: &'static str,
        file: &'static str,
        line: u32,
    ) -> Self {
        Self {
            package: Cow::Borrowed(package),
            package_version: Cow::Borrowed(package_version),
            module_path: Cow::Borrowed(module_path),
            function: Cow::Borrowed(function),
            file: Cow::Borrowed(file),
            line,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, package_version, module_path, function, file, line } = self;
        write!(f, "{file}:{line} ({module_path}::{function}, {package} {package_version})")
    }
}

/// Everything that stands against a registration, found in one go.
///
/// Its `Display` is a page for the person who has to act: each problem with the places in the source and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationError {
    problems: Vec<RegistrationProblem>,
}

/// One reason why a set of tools cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationProblem {
    /// Two tools that would answer to one name.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A name that no tool may have.
    #[error("{error}\n    at {origin}")]
    Name {
        /// What is wrong with it.
        error: NameError,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A version that is none.
    #[error("`{tool}`: {error}\n    at {origin}")]
    Version {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        error: VersionError,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A schema that hosts refuse, or that contradicts itself.
    #[error("the {which} schema of `{tool}` {reason}\n    at {origin}")]
    Schema {
        /// The tool.
        tool: String,
        /// `input` or `output`.
        which: &'static str,
        /// What is wrong with it, and what to do.
        reason: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A parameter whose constraints contradict its type or its default.
    #[error("the parameter `{param}` of `{tool}` {reason}\n    at {origin}")]
    Param {
        /// The tool.
        tool: String,
        /// The parameter.
        param: String,
        /// What is wrong with it, and what to do.
        reason: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// Application state that a tool needs and the builder was not given.
    #[error(
        "`{tool}` needs state of type `{state}`; give it with `.state(…)`, or leave the tool out with `.select(…)`\n    at {origin}"
    )]
    State {
        /// The tool.
        tool: String,
        /// The type.
        state: &'static str,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A package that brought fewer tools than it should.
    #[error(
        "the package `{package}` brought {found} of at least {expected} tools{}: name it in the binary with `link_tools!({})`, or its functions with `tools![…]`{}",
        if *.found == 0 { "; it is not linked, or has no `#[mcp_tool]`" } else { "" },
        .package.replace('-', "_"),
        .place.as_ref().map(|place| format!("\n    expected at {place}")).unwrap_or_default(),
    )]
    Unlinked {
        /// The package.
        package: String,
        /// How many tools it should bring.
        expected: usize,
        /// How many it brought.
        found: usize,
        /// Where the expectation is written, if that is known.
        place: Option<String>,
    },
    /// No tool at all.
    #[error(
        "there is no tool in this program: a crate that nothing names is not linked; name it in the binary with `link_tools!(its_name)`, or say `.allow_empty()`"
    )]
    Empty,
    /// An instruction to the builder that concerns no tool.
    #[error("`{call}` concerns no tool: {reason}; correct it, or remove it")]
    Edit {
        /// The instruction.
        call: String,
        /// What does not exist.
        reason: String,
    },
    /// A lint error, under the strict policy.
    #[error("{message}\n    at {origin} (lint rule `{rule}`; `allow(\"{rule}\")` on the tool sets it aside)")]
    Lint {
        /// The rule.
        rule: &'static str,
        /// What is wrong, and what to do.
        message: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
}

/// Two tools that would answer to one name. The same tool reached twice is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// One name, two schemas.
    #[error("two tools are named `{name}`, with different schemas{}", Places(.places, .name))]
    Schema {
        /// The name.
        name: String,
        /// Both places, in the order of their text.
        places: Box<[Origin; 2]>,
    },
    /// One name and one schema, from two places: only one of them can be the tool.
    #[error("two tools are named `{name}`{}", Places(.places, .name))]
    Duplicate {
        /// The name.
        name: String,
        /// Both places, in the order of their text.
        places: Box<[Origin; 2]>,
    },
    /// Two names that hosts cannot tell apart.
    #[error("`{}` and `{}` are both called by `{wire}`{}", .names[0], .names[1], Places(.places, &.names[1]))]
    WireName {
        /// The name on the wire, or the alias, in which they meet.
        wire: String,
        /// The canonical names.
        names: [String; 2],
        /// Where each is defined.
        places: Box<[Origin; 2]>,
    },
}

/// The indented places and the way out, by the second of them.
struct Places<'a>(&'a [Origin; 2], &'a str);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([first, second], name) = self;
        let same_package = first.package == second.package;
        let package = if same_package && first.package_version != second.package_version {
            Cow::Owned(format!("{}@{}", second.package, second.package_version))
        } else {
            Cow::Borrowed(&*second.package)
        };
        writeln!(f, "\n    first  at {first}\n    second at {second}")?;
        write!(f, "    rename one with `name = \"…\"`")?;
        write!(f, ", or in the builder: .rename({package:?}, {name:?}, \"…\") or .exclude({package:?}, {name:?})")?;
        if same_package { Ok(()) } else { write!(f, " or .prefix({package:?}, \"…\")") }
    }
}

impl RegistrationError {
    /// An error if there are problems.
    pub fn check(problems: Vec<RegistrationProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// Every problem; at least one.
    pub fn problems(&self) -> &[RegistrationProblem] {
        &self.problems
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.len() {
            1 => f.write_str("the tools cannot be registered:")?,
            count => write!(f, "the tools cannot be registered, for {count} reasons:")?,
        }
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

impl std::error::Error for RegistrationError {}

impl From<RegistrationProblem> for RegistrationError {
    fn from(problem: RegistrationProblem) -> Self {
        Self { problems: vec![problem] }
    }
}
