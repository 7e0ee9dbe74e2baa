//! The repository itself: its floors, its budget, and its list of requirements.

mod architecture;
mod budget;
mod requirements;
