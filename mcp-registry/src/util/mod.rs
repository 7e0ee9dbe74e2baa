//! What several floors need and no crate provides.

pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod panic;
pub(crate) mod spin;
