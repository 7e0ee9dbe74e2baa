//! The repository itself: its floors, its budget, its list of requirements, its changelog, and the links in its pages.

mod architecture;
mod budget;
mod changelog;
mod documents;
mod links;
mod markdown;
mod requirements;
