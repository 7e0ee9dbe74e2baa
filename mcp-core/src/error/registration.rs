//! `RegistrationError`: why tools cannot be registered.

use std::borrow::Cow;
use std::fmt;

use crate::name::{NameError, VersionError};

/// Where a tool is defined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Creates a place in the source, as the attribute does.
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

    /// Creates the origin of a tool that is created at run time.
    pub const fn run_time(file: &'static str, line: u32) -> Self {
        Self::new("", "", "", "", file, line)
    }

    /// Returns whether the tool was created at run time, and so belongs to no package.
    pub fn is_run_time(&self) -> bool {
        self.package.is_empty()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, package_version, module_path, function, file, line } = self;
        if self.is_run_time() {
            return write!(f, "{file}:{line} (created at run time)");
        }
        write!(f, "{file}:{line} ({module_path}::{function}, {package} {package_version})")
    }
}

/// Why tools cannot be registered: every problem at once.
///
/// `Display` shows each problem with its places in the source and what to do. `Debug` shows the same, since that is what
/// `unwrap` and a `main` that returns the error print.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct RegistrationError {
    problems: Vec<RegistrationProblem>,
}

/// One reason why tools cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationProblem {
    /// Two tools have the same name.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A name is invalid.
    #[error("{error}\n    at {origin}")]
    Name {
        /// The reason.
        error: NameError,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A version is invalid.
    #[error("`{tool}`: {error}\n    at {origin}")]
    Version {
        /// The tool.
        tool: String,
        /// The reason.
        error: VersionError,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// The metadata has a key that is reserved.
    #[error("`{tool}` has the metadata key `{key}`, which the registry writes itself; rename it\n    at {origin}")]
    Meta {
        /// The tool.
        tool: String,
        /// The key.
        key: &'static str,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A schema is one that hosts reject, or contradicts itself.
    #[error("the {which} schema of `{tool}` {reason}\n    at {origin}")]
    Schema {
        /// The tool.
        tool: String,
        /// `input` or `output`.
        which: &'static str,
        /// The reason, and what to do.
        reason: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// The constraints of a parameter contradict its type or its default.
    #[error("the parameter `{param}` of `{tool}` {reason}\n    at {origin}")]
    Param {
        /// The tool.
        tool: String,
        /// The parameter.
        param: String,
        /// The reason, and what to do.
        reason: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// Values of the return type cannot be serialized.
    #[error("the result of `{tool}` {reason}\n    at {origin}")]
    ReturnType {
        /// The tool.
        tool: String,
        /// The reason, and what to do.
        reason: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A tool needs application state that the builder does not have.
    #[error("`{tool}` needs state of type `{state}`{}\n    at {origin}", without_state(.state, *.given))]
    State {
        /// The tool.
        tool: String,
        /// The type.
        state: &'static str,
        /// The type that the builder has, if only an `Arc` is missing or too much.
        given: Option<&'static str>,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
    /// A package has fewer tools than expected.
    #[error("the package `{package}` has {found} of at least {expected} expected tools: {}\n    expected at {place}", unlinked(.package, *.found, *.named))]
    Unlinked {
        /// The package.
        package: String,
        /// How many tools are expected.
        expected: usize,
        /// How many tools were found.
        found: usize,
        /// Whether the crate was named with `link_tools!`.
        named: bool,
        /// Where the expectation is written.
        place: String,
    },
    /// There is no tool.
    #[error("{}\n    at {place}", empty(*.linked))]
    Empty {
        /// How many tools were linked before the builder excluded all of them.
        linked: usize,
        /// Where the registry is built.
        place: String,
    },
    /// A call of the builder does not match exactly one tool.
    #[error("`{call}` {reason}\n    at {place}")]
    Edit {
        /// The call.
        call: String,
        /// The reason, and what to do.
        reason: String,
        /// Where the call is written.
        place: String,
    },
    /// The builder was given two values of the same type as application state.
    #[error(
        "state of type `{state}` is given twice, but a tool would see only one; wrap one of them in a type of its own\n    at {place}"
    )]
    StateTwice {
        /// The type.
        state: &'static str,
        /// Where the second one is added.
        place: String,
    },
    /// The lint reports an error, under the strict policy.
    #[error("{message}\n    at {origin} (lint rule `{rule}`; `allow(\"{rule}\")` on the tool suppresses it)")]
    Lint {
        /// The rule.
        rule: &'static str,
        /// The problem, and what to do.
        message: String,
        /// Where the tool is defined.
        origin: Box<Origin>,
    },
}

fn without_state(required: &str, given: Option<&str>) -> String {
    match given {
        Some(given) => {
            format!(" and was given `{given}`; take `&{given}` in the tool, or give `.state(…)` a `{required}`")
        }
        None => "; give it with `.state(…)`, or leave the tool out with `.select(…)`".to_owned(),
    }
}

fn unlinked(package: &str, found: usize, named: bool) -> String {
    let krate = package.replace('-', "_");
    match (found, named) {
        (0, true) => format!(
            "it has no `#[mcp_tool]`, or the package has another name; write `link_tools!({krate} = \"the-package\")`"
        ),
        (0, false) => format!(
            "it is not linked, or has no `#[mcp_tool]`; name it in the binary with `link_tools!({krate})`, or its functions with `tools![…]`"
        ),
        _ => "look for tools behind `cfg` or features, or expect fewer".to_owned(),
    }
}

fn empty(linked: usize) -> String {
    match linked {
        0 => "there is no tool in this program: a crate that nothing names is not linked; name it in the binary with `link_tools!(its_name)`, or call `.allow_empty()`".to_owned(),
        n => format!("`.select(…)` and `.exclude(…)` leave none of the {n} tools; keep some, or call `.allow_empty()`"),
    }
}

/// Two tools have the same name. The same tool, found twice, is not a conflict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// The tools have the same name, and different schemas.
    #[error("two tools are named `{name}`, with different schemas{}", Places(.tools))]
    Schema {
        /// The name.
        name: String,
        /// The tools, sorted by name and place.
        tools: Box<[Contender; 2]>,
    },
    /// The tools have the same name and the same schemas, but are defined in different places.
    #[error("two tools are named `{name}`{}", Places(.tools))]
    Duplicate {
        /// The name.
        name: String,
        /// The tools, sorted by name and place.
        tools: Box<[Contender; 2]>,
    },
    /// The tools have different names, but share one on the wire or as an alias.
    #[error("`{}` and `{}` share the name `{wire}`{}", .tools[0].name, .tools[1].name, Places(.tools))]
    WireName {
        /// The name that they share.
        wire: String,
        /// The tools, sorted by name and place.
        tools: Box<[Contender; 2]>,
    },
}

/// One of two tools in a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The name under which it would be registered.
    pub name: String,
    /// Its name in the source, which the builder uses.
    pub defined_as: String,
    /// The conflicting alias, as written in the source.
    pub alias: Option<String>,
    /// Where it is defined.
    pub origin: Origin,
}

/// Shows where the tools are defined, and the solutions that apply to them.
struct Places<'a>(&'a [Contender; 2]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([first, second]) = self;
        write!(f, "\n    first  at {}\n    second at {}\n    ", first.origin, second.origin)?;
        // The tool to change: the one with the alias, else the second; never one that was created at run time.
        let known = [first, second].into_iter().filter(|tool| !tool.origin.is_run_time());
        let Some(tool) = known.max_by_key(|tool| tool.alias.is_some()) else {
            return f.write_str("give one of them another name, or `unregister` the other first");
        };
        let (one, other) = (&first.origin, &second.origin);
        let same_package = one.package == other.package;
        if first.origin.is_run_time() || second.origin.is_run_time() {
            f.write_str("give the tool that is created at run time another name, or ")?;
        } else if tool.alias.is_some() {
            f.write_str("remove the alias, or ")?;
        } else {
            f.write_str("rename one with `name = \"…\"`")?;
            // The builder identifies tools by package and name.
            if same_package && one.package_version == other.package_version && first.defined_as == second.defined_as {
                return f.write_str("; they are in the same package, so the builder cannot tell them apart");
            }
            f.write_str(", or ")?;
        }
        let package = if same_package && one.package_version != other.package_version {
            format!("{}@{}", tool.origin.package, tool.origin.package_version)
        } else {
            tool.origin.package.to_string()
        };
        let name = &tool.defined_as;
        write!(f, "in the builder: ")?;
        if let Some(alias) = &tool.alias {
            return write!(f, ".drop_alias({package:?}, {name:?}, {alias:?}) or .exclude({package:?}, {name:?})");
        }
        write!(f, ".rename({package:?}, {name:?}, \"…\") or .exclude({package:?}, {name:?})")?;
        if same_package { Ok(()) } else { write!(f, " or .prefix({package:?}, \"…\")") }
    }
}

impl RegistrationError {
    /// Returns an error if there are problems.
    pub fn check(problems: Vec<RegistrationProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// Returns every problem; there is at least one.
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

impl fmt::Debug for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RegistrationProblem> for RegistrationError {
    fn from(problem: RegistrationProblem) -> Self {
        Self { problems: vec![problem] }
    }
}
