//! The fuzz targets: each module has a `run` that takes an input and panics at a finding.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod contract;
mod dice;
pub mod explicit_schema;
pub mod flat;
mod generate;
pub mod http;
pub mod lines;
mod loose;
mod message;
pub mod protocol;
pub mod schema;
mod served;
mod typed;

/// Shows an input in a finding.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
