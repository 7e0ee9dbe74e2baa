//! Tools of other crates that a program links. (A binary of its own, because the tests look at its whole inventory.)

mod thousand;
mod toolbox;
