//! Mistakes, and what the compiler says of them: one mistake, one error.

use std::process::Command;

/// What the errors look like is the compiler's, so they are those of one.
const TOOLCHAIN: &str = "rustc 1.95.";

#[test]
fn every_mistake_has_its_error() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if version.starts_with(TOOLCHAIN) {
        trybuild::TestCases::new().compile_fail("ui/*.rs");
    } else {
        eprintln!("left out: the errors are those of {TOOLCHAIN}x, and this is {version}");
    }
}
