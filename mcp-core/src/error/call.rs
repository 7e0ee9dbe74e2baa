//! The error of calling a tool's function.

use super::{Error, Fault, SchemaError, SerializationError, ToolError};

/// Why a call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The arguments are invalid.
    Arguments(Vec<Fault>),
    /// The tool returned an error.
    Tool(ToolError),
    /// The result cannot be serialized.
    Serialization(SerializationError),
}

impl CallError {
    /// Converts this to the error for a call of the named tool.
    pub fn into_error(self, tool: &str) -> Error {
        match self {
            Self::Arguments(faults) => SchemaError::new(tool, faults).into(),
            Self::Tool(error) => error.into(),
            Self::Serialization(error) => error.into(),
        }
    }
}

impl From<ToolError> for CallError {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<Vec<Fault>> for CallError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Arguments(faults)
    }
}
