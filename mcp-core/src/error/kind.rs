//! The table of errors: kind, `error_type`, JSON-RPC code, HTTP status.

use super::{ErrorType, code};

/// Which codes the errors of tools have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeProfile {
    /// 40000 for execution, 40100 for authentication, 40300 for permissions. The default of the legacy dialect.
    #[default]
    Extended,
    /// -32000, -32001 and -32003 instead, which are in JSON-RPC's range for servers.
    Standard,
}

struct Row {
    kind: ErrorKind,
    error_type: ErrorType,
    extended: i64,
    standard: i64,
    http: u16,
    short: &'static str,
}

const PARSE: (i64, i64) = (code::PARSE_ERROR, code::PARSE_ERROR);
const PARAMS: (i64, i64) = (code::INVALID_PARAMS, code::INVALID_PARAMS);
const INTERNAL: (i64, i64) = (code::INTERNAL_ERROR, code::INTERNAL_ERROR);
const TOOL: (i64, i64) = (code::TOOL_EXECUTION_ERROR, code::SERVER_ERROR);
const AUTHENTICATION: (i64, i64) = (code::AUTHENTICATION_ERROR, code::SERVER_AUTHENTICATION_ERROR);
const PERMISSION: (i64, i64) = (code::PERMISSION_DENIED, code::SERVER_PERMISSION_DENIED);

/// Codes for invalid messages, which are not in the table.
const MALFORMED: [i64; 4] =
    [code::INVALID_REQUEST, code::HEADER_MISMATCH, code::MISSING_CLIENT_CAPABILITY, code::UNSUPPORTED_PROTOCOL_VERSION];

macro_rules! error_kinds {
    ($(#[$about:meta])* pub enum ErrorKind {
        $($(#[$doc:meta])* $kind:ident: $error_type:ident, $codes:ident, $http:literal, $short:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
        }

        /// The rows, in the order of the variants. If several rows share an `error_type` or a code, it is read as the
        /// first one.
        static TABLE: &[Row] = &[$(Row {
            kind: ErrorKind::$kind,
            error_type: ErrorType::$error_type,
            extended: $codes.0,
            standard: $codes.1,
            http: $http,
            short: $short,
        }),*];
    };
}

error_kinds! {
    /// The kind of an error: a row of the table that maps every error of this crate to the wire.
    ///
    /// | kind | `error_type` | code | standard code | HTTP | short code |
    /// |---|---|---|---|---|---|
    /// | `Validation` | `ValidationError` | -32602 | -32602 | 400 | `VALIDATION_ERROR` |
    /// | `Parse` | `ValidationError` | -32700 | -32700 | 400 | `VALIDATION_ERROR` |
    /// | `Schema` | `SchemaError` | -32602 | -32602 | 400 | `VALIDATION_ERROR` |
    /// | `ToolNotFound` | `ToolNotFoundError` | -32602 | -32602 | 404 | `NOT_FOUND` |
    /// | `Execution` | `ToolExecutionError` | 40000 | -32000 | 500 | `EXECUTION_ERROR` |
    /// | `Authentication` | `AuthenticationError` | 40100 | -32001 | 401 | `ACCESS_DENIED` |
    /// | `Permission` | `PermissionError` | 40300 | -32003 | 403 | `ACCESS_DENIED` |
    /// | `LimitExceeded` | `ApiLimitExceeded` | 40000 | -32000 | 429 | `RATE_LIMITED` |
    /// | `Timeout` | `TimeoutError` | 40000 | -32000 | 504 | `TIMEOUT` |
    /// | `Transport` | `TransportError` | 40000 | -32000 | 502 | `INTERNAL` |
    /// | `FileNotFound` | `FileNotFoundError` | 40000 | -32000 | 404 | `NOT_FOUND` |
    /// | `ResourceNotFound` | `ResourceNotFound` | 40000 | -32000 | 404 | `NOT_FOUND` |
    /// | `UnsupportedEncoding` | `UnsupportedEncodingError` | 40000 | -32000 | 415 | `EXECUTION_ERROR` |
    /// | `FileTooLarge` | `FileTooLargeError` | 40000 | -32000 | 413 | `EXECUTION_ERROR` |
    /// | `Serialization` | `SerializationError` | -32603 | -32603 | 500 | `INTERNAL` |
    /// | `Registration` | `RegistrationError` | -32603 | -32603 | 500 | `INTERNAL` |
    /// | `ResultTooLarge` | `ResultTooLargeError` | 40000 | -32000 | 500 | `EXECUTION_ERROR` |
    pub enum ErrorKind {
        /// A message is invalid.
        Validation: VALIDATION_ERROR, PARAMS, 400, "VALIDATION_ERROR";
        /// A message is not JSON.
        Parse: VALIDATION_ERROR, PARSE, 400, "VALIDATION_ERROR";
        /// A call's arguments do not match the tool's schema.
        Schema: SCHEMA_ERROR, PARAMS, 400, "VALIDATION_ERROR";
        /// There is no tool with the name.
        ToolNotFound: TOOL_NOT_FOUND_ERROR, PARAMS, 404, "NOT_FOUND";
        /// The tool failed for another reason.
        Execution: TOOL_EXECUTION_ERROR, TOOL, 500, "EXECUTION_ERROR";
        /// The caller is not authenticated.
        Authentication: AUTHENTICATION_ERROR, AUTHENTICATION, 401, "ACCESS_DENIED";
        /// The caller, or the program, lacks permission.
        Permission: PERMISSION_ERROR, PERMISSION, 403, "ACCESS_DENIED";
        /// A rate or size limit was reached.
        LimitExceeded: API_LIMIT_EXCEEDED, TOOL, 429, "RATE_LIMITED";
        /// The call exceeded its deadline.
        Timeout: TIMEOUT_ERROR, TOOL, 504, "TIMEOUT";
        /// The connection failed, or the response was invalid.
        Transport: TRANSPORT_ERROR, TOOL, 502, "INTERNAL";
        /// A file does not exist.
        FileNotFound: FILE_NOT_FOUND_ERROR, TOOL, 404, "NOT_FOUND";
        /// Another resource does not exist.
        ResourceNotFound: RESOURCE_NOT_FOUND, TOOL, 404, "NOT_FOUND";
        /// The tool does not support a text encoding.
        UnsupportedEncoding: UNSUPPORTED_ENCODING_ERROR, TOOL, 415, "EXECUTION_ERROR";
        /// A file is too large for the tool.
        FileTooLarge: FILE_TOO_LARGE_ERROR, TOOL, 413, "EXECUTION_ERROR";
        /// A value cannot be serialized.
        Serialization: SERIALIZATION_ERROR, INTERNAL, 500, "INTERNAL";
        /// A tool cannot be registered.
        Registration: REGISTRATION_ERROR, INTERNAL, 500, "INTERNAL";
        /// A result is too large.
        ResultTooLarge: RESULT_TOO_LARGE_ERROR, TOOL, 500, "EXECUTION_ERROR";
    }
}

impl ErrorKind {
    /// Returns every kind, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|row| row.kind)
    }

    /// Whether the text of such an error comes from elsewhere, such as the system or an implementation of `Serialize`.
    pub(crate) fn is_internal(self) -> bool {
        matches!(self, Self::Registration | Self::Serialization | Self::Transport)
    }

    /// Returns the kind of an `error_type`. A custom type is an [`Execution`](Self::Execution) error.
    pub fn from_error_type(error_type: &ErrorType) -> Self {
        if error_type == "FileNotFound" {
            // One source document has this spelling.
            return Self::FileNotFound;
        }
        TABLE.iter().find(|row| row.error_type == *error_type).map_or(Self::Execution, |row| row.kind)
    }

    /// Returns the kind of a JSON-RPC code, for errors without an `error_type`.
    pub fn from_code(code: i64) -> Self {
        let found = TABLE.iter().find(|row| code == row.extended || code == row.standard);
        match found {
            Some(row) if code != code::INTERNAL_ERROR => row.kind,
            None if MALFORMED.contains(&code) => Self::Validation,
            _ => Self::Execution,
        }
    }

    /// Returns the name of this kind in messages.
    pub fn error_type(self) -> ErrorType {
        self.row().error_type.clone()
    }

    /// Returns the JSON-RPC code.
    pub fn code(self, profile: CodeProfile) -> i64 {
        match profile {
            CodeProfile::Extended => self.row().extended,
            CodeProfile::Standard => self.row().standard,
        }
    }

    /// Returns the HTTP status for a plain HTTP API.
    pub fn http_status(self) -> u16 {
        self.row().http
    }

    /// Returns the upper-case code that older agents use, such as `ACCESS_DENIED`.
    pub fn short_code(self) -> &'static str {
        self.row().short
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeProfile, ErrorKind, TABLE};

    #[test]
    fn rows_are_in_the_order_of_the_variants() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, index, "{:?}", row.kind);
        }
        assert_eq!(ErrorKind::ResultTooLarge as usize + 1, TABLE.len());
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let documented: Vec<String> = include_str!("kind.rs")
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("/// | `"))
            .map(|line| line.replace('`', ""))
            .collect();
        let actual: Vec<String> = TABLE
            .iter()
            .map(|r| {
                let (code, standard) = (r.kind.code(CodeProfile::Extended), r.kind.code(CodeProfile::Standard));
                format!("{:?} | {} | {code} | {standard} | {} | {} |", r.kind, r.error_type, r.http, r.short)
            })
            .collect();
        assert_eq!(documented, actual);
    }
}
