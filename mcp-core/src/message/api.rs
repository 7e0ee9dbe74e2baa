//! Methods that all messages have.

/// Methods that parse and serialize a message. The module has to define `FIELDS` and `DEPTH`; the type has to implement
/// `Serialize` and `fn read(Entries, Strictness) -> Result<Self, ValidationError>`.
macro_rules! message_api {
    ($message:ident, $what:literal) => {
        impl $message {
            #[doc = concat!("Parses ", $what, " from JSON text or bytes. Unknown fields are kept.")]
            pub fn parse(json: impl AsRef<[u8]>) -> Result<Self, ValidationError> {
                let entries = $crate::message::parse_entries(json.as_ref(), &FIELDS, DEPTH)?;
                Self::read(entries, Strictness::Lenient)
            }

            #[doc = concat!("Reads ", $what, " from a JSON value. Unknown fields are kept.")]
            pub fn from_value(value: Value) -> Result<Self, ValidationError> {
                Self::read($crate::message::entries_of(value)?, Strictness::Lenient)
            }

            /// Converts the message to a JSON value.
            pub fn to_value(&self) -> Value {
                ::serde_json::to_value(self).expect("a message is made of JSON values")
            }

            /// Converts the message to compact JSON.
            pub fn to_json(&self) -> String {
                ::serde_json::to_string(self).expect("a message is made of JSON values")
            }

            /// Converts the message to indented JSON.
            pub fn to_json_pretty(&self) -> String {
                ::serde_json::to_string_pretty(self).expect("a message is made of JSON values")
            }
        }

        impl ::std::str::FromStr for $message {
            type Err = ValidationError;

            fn from_str(json: &str) -> Result<Self, Self::Err> {
                Self::parse(json)
            }
        }

        impl TryFrom<Value> for $message {
            type Error = ValidationError;

            fn try_from(value: Value) -> Result<Self, Self::Error> {
                Self::from_value(value)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $message {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = $crate::message::read_value(deserializer)?;
                Self::from_value(value).map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// Methods that validate a flat message. The type has to implement
/// `fn read_fields(Entries, Strictness, &mut Violations) -> Self`, which checks the types of the fields, and
/// `fn check(&self, Strictness, &mut Violations)`, which checks their values.
macro_rules! message_rules {
    ($message:ident) => {
        impl $message {
            /// Validates the message. A message that was parsed is valid; one that was built by hand may not be.
            pub fn validate(&self) -> Result<(), ValidationError> {
                self.validate_with(Strictness::Lenient)
            }

            /// Validates the message, in strict mode also its exact form.
            pub fn validate_with(&self, strictness: Strictness) -> Result<(), ValidationError> {
                let mut violations = Violations::default();
                self.check(strictness, &mut violations);
                violations.finish(Some(()))
            }

            /// Parses the message from JSON text or bytes, with this strictness.
            pub fn parse_with(json: impl AsRef<[u8]>, strictness: Strictness) -> Result<Self, ValidationError> {
                Self::read($crate::message::parse_entries(json.as_ref(), &FIELDS, DEPTH)?, strictness)
            }

            /// Reads the message from a JSON value, with this strictness.
            pub fn from_value_with(value: Value, strictness: Strictness) -> Result<Self, ValidationError> {
                Self::read($crate::message::entries_of(value)?, strictness)
            }

            fn read(entries: Entries, strictness: Strictness) -> Result<Self, ValidationError> {
                let mut violations = Violations::default();
                let message = Self::read_fields(entries, strictness, &mut violations);
                message.check(strictness, &mut violations);
                violations.finish(Some(message))
            }
        }
    };
}
