//! The repository itself: its floors, and its list of requirements.

mod architecture;
mod requirements;
