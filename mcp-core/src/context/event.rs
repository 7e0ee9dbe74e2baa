//! Progress and log messages of a running tool.

use serde::Serialize;

use crate::util::text::display_as;

/// Progress and log messages of a running tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEvent {
    /// Progress.
    Progress {
        /// How much is done.
        done: f64,
        /// How much there is to do, if that is known.
        total: Option<f64>,
        /// What the tool is doing.
        message: Option<String>,
    },
    /// A log message.
    Log {
        /// The severity.
        level: LogLevel,
        /// The message.
        message: String,
    },
}

/// The severity of a log message: the levels of syslog, which MCP uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal, but significant.
    Notice,
    /// Something unexpected.
    Warning,
    /// An operation failed.
    Error,
    /// A component failed.
    Critical,
    /// Action must be taken immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, from the least severe to the most severe.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the name of the level on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Returns the level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

display_as!(LogLevel, as_str);

/// How much is done: a number of any type.
pub trait Amount {
    /// The number as a float.
    fn amount(self) -> f64;
}

/// How much there is to do: a number of any type, or `None` if it is unknown.
pub trait Total {
    /// The number as a float.
    fn total(self) -> Option<f64>;
}

macro_rules! amounts {
    ($($number:ty),*) => {$(
        #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress needs no such precision")]
        impl Amount for $number {
            fn amount(self) -> f64 {
                self as f64
            }
        }

        impl Total for $number {
            fn total(self) -> Option<f64> {
                Some(self.amount())
            }
        }
    )*};
}

amounts!(f32, f64, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl Total for Option<f64> {
    fn total(self) -> Option<f64> {
        self
    }
}

/// What a tool is doing: a string, or `None`.
pub trait Remark {
    /// The string.
    fn remark(self) -> Option<String>;
}

impl Remark for &str {
    fn remark(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl Remark for &String {
    fn remark(self) -> Option<String> {
        Some(self.clone())
    }
}

impl Remark for String {
    fn remark(self) -> Option<String> {
        Some(self)
    }
}

impl Remark for Option<&str> {
    fn remark(self) -> Option<String> {
        self.map(str::to_owned)
    }
}
