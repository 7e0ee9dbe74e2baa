//! Helpers that several modules share.

pub(crate) mod canonical;
pub(crate) mod held;
pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod panic;
pub(crate) mod wait;
