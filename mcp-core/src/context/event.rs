//! What a tool tells while it runs.

use serde::Serialize;

use crate::util::text::shown_as;

/// What a tool tells while it runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEvent {
    /// How far it is.
    Progress {
        /// How much is done.
        done: f64,
        /// How much there is to do, where that is known.
        total: Option<f64>,
        /// What it is at.
        message: Option<String>,
    },
    /// A remark for the log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// The remark.
        message: String,
    },
}

/// How much a remark matters: the levels of syslog, as MCP has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// For whoever looks for a mistake.
    Debug,
    /// What goes on.
    Info,
    /// What goes on and is worth a look.
    Notice,
    /// Something is odd.
    Warning,
    /// Something failed.
    Error,
    /// A part is out of order.
    Critical,
    /// Someone has to act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// All of them, from the least on.
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

    /// The level's name on the wire.
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

    /// The level of a name on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

shown_as!(LogLevel, as_str);

/// How much is done: any number.
pub trait Amount {
    /// As a number of JSON.
    fn amount(self) -> f64;
}

/// How much there is to do: any number, or `None` where that is not known.
pub trait Total {
    /// As a number of JSON.
    fn total(self) -> Option<f64>;
}

macro_rules! amounts {
    ($($number:ty),*) => {$(
        #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "nobody counts that far")]
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

/// What a tool is at: a text, or `None`.
pub trait Remark {
    /// As a text.
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
