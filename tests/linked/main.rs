//! Tools of other crates that a program links. (A binary of its own: its inventory is what the tests look at.)

mod thousand;
mod toolbox;
