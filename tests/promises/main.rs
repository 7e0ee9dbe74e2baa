//! The promises, along every way in.

mod user_code;
