//! The promises of `SECURITY.md` and of the guide, along every way in.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tools take what they take"
)]

#[macro_use]
mod world;

mod arguments;
mod calls;
mod errors;
mod matrix;
mod pairs;
mod permissions;
mod records;
mod user_code;
mod ways;
